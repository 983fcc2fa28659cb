/* SPDX-License-Identifier: Apache-2.0 */
/* See except.h. */
#include "except.h"

#include <stdio.h>
#include <string.h>

bool except_has(surg_pass_ctx *p, const surg_value *v) {
  for (size_t i = 0; i < surg_pass_list_count(p, "except"); i++)
    if (!strcmp(surg_pass_list_at(p, "except", i), surg_value_name(v))) return true;
  return false;
}

void except_check(surg_pass_ctx *p, const surg_graph *g, bool outputs) {
  for (size_t i = 0; i < surg_pass_list_count(p, "except"); i++) {
    const char *name = surg_pass_list_at(p, "except", i);
    const surg_value *v = surg_graph_find_value(g, name);
    char what[300];
    snprintf(what, sizeof what, "input%s '%.200s' to leave", outputs ? " or output" : "", name);
    surg_pass_named(p, what,
                    v && (surg_value_is_input(v) || (outputs && surg_value_is_output(v))));
  }
}
