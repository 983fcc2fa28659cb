/* SPDX-License-Identifier: Apache-2.0 */
/* See bodies.h. */
#include "bodies.h"

#include <onnxsurg/ops.h>

surg_graph *bodies_graph(const surg_node *n, const char *attr) {
  const surg_attr *a = surg_node_attr(n, attr);
  return a && !surg_attr_ref(a) && surg_attr_get_kind(a) == SURG_ATTR_GRAPH ? surg_attr_graph(a, 0)
                                                                            : NULL;
}

surg_value *bodies_origin(surg_value *v) {
  const surg_node *by;
  while (v && (by = surg_value_producer(v, NULL)) != NULL && surg_node_op(by) == SURG_OP_Identity)
    v = surg_node_input(by, 0);
  return v;
}

bool bodies_read(const surg_node *n, size_t i) {
  const surg_value *v = surg_node_output(n, i);
  return v && surg_value_use_count(v, 1) > 0;
}

bool bodies_loop_of(bodies_loop *l, surg_node *n) {
  const bool scan = surg_node_op(n) == SURG_OP_Scan;
  const size_t count = surg_node_input_count(n);
  *l = (bodies_loop){.n = n,
                     .body = bodies_graph(n, "body"),
                     .scan = scan,
                     .first_in = scan ? 0 : 2,
                     .first_out = scan ? 0 : 1};
  if (!l->body || count != surg_graph_input_count(l->body) || count < l->first_in) return false;
  const int64_t slices = scan ? surg_node_int(n, "num_scan_inputs", 0) : 0;
  if (scan && (slices < 1 || (uint64_t)slices > count)) return false;
  if (scan && surg_graph_opset(surg_node_graph(n), "") < 9) return false;
  l->slices = (size_t)slices;
  l->states = count - l->first_in - l->slices;
  return surg_graph_output_count(l->body) >= l->first_out + l->states;
}
