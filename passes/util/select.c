/* SPDX-License-Identifier: Apache-2.0 */
/* See select.h. */
#include "select.h"

#include <onnxsurg/edit.h>
#include <onnxsurg/names.h>
#include <stdio.h>
#include <string.h>

#define WHY 1024
#define TEXT 1200
#define SHOWN 4 /* names that a message lists */

static void refuse(surg_pass_ctx *p, surg_status s, const char *option, const char *why) {
  char text[TEXT];
  if (s == SURG_ENOMEM || s == SURG_ECANCELLED) return; /* reported */
  snprintf(text, sizeof text, "%s: %s", option, why);
  surg_pass_usage(p, text);
}

surg_node **select_nodes(surg_pass_ctx *p, const char *option, const char *address, size_t *count) {
  char why[WHY];
  surg_model *m = surg_pass_model(p);
  surg_status s = surg_select_nodes(m, address, NULL, 0, count, why, sizeof why);
  surg_node **out = s == SURG_OK ? surg_pass_alloc(p, *count * sizeof *out) : NULL;
  if (out) s = surg_select_nodes(m, address, out, *count, count, why, sizeof why);
  if (s != SURG_OK) refuse(p, s, option, why);
  return s == SURG_OK ? out : NULL;
}

surg_value **select_values(surg_pass_ctx *p, const char *option, const char *address,
                           size_t *count) {
  char why[WHY];
  surg_model *m = surg_pass_model(p);
  surg_status s = surg_select_values(m, address, NULL, 0, count, why, sizeof why);
  surg_value **out = s == SURG_OK ? surg_pass_alloc(p, *count * sizeof *out) : NULL;
  if (out) s = surg_select_values(m, address, out, *count, count, why, sizeof why);
  if (s != SURG_OK) refuse(p, s, option, why);
  return s == SURG_OK ? out : NULL;
}

/* Reports that an address that must mean one object means several. */
static void several(surg_pass_ctx *p, const char *option, const char *address, const char *what,
                    const char *const *names, size_t count) {
  char text[TEXT];
  size_t n = (size_t)snprintf(text, sizeof text, "%s: \"%.300s\" selects %zu %s (", option, address,
                              count, what);
  for (size_t i = 0; i < count && i < SHOWN && n < sizeof text; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s\"%.100s\"", i ? ", " : "", names[i]);
  if (n < sizeof text)
    snprintf(text + n, sizeof text - n, "%s): select one", count > SHOWN ? ", ..." : "");
  surg_pass_usage(p, text);
}

surg_node *select_node(surg_pass_ctx *p, const char *option, const char *address) {
  size_t count;
  surg_node **all = select_nodes(p, option, address, &count);
  const char *names[SHOWN];
  if (!all || count == 1) return all ? all[0] : NULL;
  for (size_t i = 0; i < count && i < SHOWN; i++) {
    const surg_value *made = surg_node_output(all[i], 0);
    names[i] = surg_node_name(all[i]);
    if (!*names[i]) names[i] = made ? surg_value_name(made) : surg_node_where(all[i]);
  }
  several(p, option, address, "nodes", names, count);
  return NULL;
}

surg_value *select_value(surg_pass_ctx *p, const char *option, const char *address) {
  size_t count;
  surg_value **all = select_values(p, option, address, &count);
  const char *names[SHOWN];
  if (!all || count == 1) return all ? all[0] : NULL;
  for (size_t i = 0; i < count && i < SHOWN; i++) names[i] = surg_value_name(all[i]);
  several(p, option, address, "values", names, count);
  return NULL;
}

surg_node **select_node_list(surg_pass_ctx *p, const char *option, size_t *count) {
  const size_t n = surg_pass_list_count(p, option);
  surg_node **out = surg_pass_alloc(p, sizeof *out);
  *count = 0;
  for (size_t i = 0; i < n && out; i++) {
    size_t more;
    surg_node **one = select_nodes(p, option, surg_pass_list_at(p, option, i), &more);
    surg_node **all = one ? surg_pass_alloc(p, (*count + more) * sizeof *all) : NULL;
    if (all) memcpy(all, out, *count * sizeof *all);
    if (all) memcpy(all + *count, one, more * sizeof *all);
    *count += all ? more : 0;
    out = all;
  }
  return out;
}

surg_value **select_value_list(surg_pass_ctx *p, const char *option, size_t *count) {
  const size_t n = surg_pass_list_count(p, option);
  surg_value **out = surg_pass_alloc(p, sizeof *out);
  *count = 0;
  for (size_t i = 0; i < n && out; i++) {
    size_t more;
    surg_value **one = select_values(p, option, surg_pass_list_at(p, option, i), &more);
    surg_value **all = one ? surg_pass_alloc(p, (*count + more) * sizeof *all) : NULL;
    if (all) memcpy(all, out, *count * sizeof *all);
    if (all) memcpy(all + *count, one, more * sizeof *all);
    *count += all ? more : 0;
    out = all;
  }
  return out;
}

bool select_in_main(surg_pass_ctx *p, const char *option, const surg_value *v) {
  char text[TEXT];
  if (surg_value_graph(v) == surg_model_graph(surg_pass_model(p))) return true;
  snprintf(text, sizeof text,
           "%s: \"%.300s\" is a value of a subgraph or function, not of the main graph", option,
           surg_value_name(v));
  surg_pass_usage(p, text);
  return false;
}
