/* SPDX-License-Identifier: Apache-2.0 */
/* inline: compares the opsets of a function body with those at its call. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "inline.h"

const surg_node *inline_differs(surg_function *f, const surg_graph *g, char *text,
                                const char **domain) {
  const surg_graph *body = surg_function_graph(f);
  for (surg_graph *h = NULL; (h = surg_graph_next_inner(body, h));)
    for (surg_node *n = surg_graph_first_node(h); n; n = surg_node_next(n)) {
      const char *d = surg_node_domain(n);
      if (surg_node_class(n) == SURG_OP_CLASS_FUNCTION) continue;
      const int64_t here = surg_graph_opset(g, d), own = surg_function_opset(f, d);
      if (here == own || here == 0) continue;
      if (surg_node_fits(n, here)) continue;
      *domain = d;
      snprintf(text, INLINE_TEXT,
               "%.100s of function %.100s.%.100s is of opset %lld of its domain, but the caller "
               "imports opset %lld",
               surg_node_op_type(n), surg_function_domain(f), surg_function_name(f), (long long)own,
               (long long)here);
      return n;
    }
  return NULL;
}

surg_status inline_imports(surg_function *f, surg_graph *g) {
  assert(f && g && surg_graph_function(g) != f); /* not recursive */
  surg_function *around = surg_graph_function(g);
  surg_status s = SURG_OK;
  for (size_t i = 0; s == SURG_OK && i < surg_function_import_count(f); i++) {
    const char *d = surg_function_import_domain(f, i);
    const int64_t version = surg_function_import_version(f, i);
    if (version < 1 || surg_graph_opset(g, d) != 0) continue;
    s = around ? surg_function_set_opset(around, d, version)
               : surg_model_set_opset(surg_graph_model(g), d, version);
  }
  return s;
}
