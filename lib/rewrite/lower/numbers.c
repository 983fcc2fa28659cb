/* SPDX-License-Identifier: Apache-2.0 */
/* Casts of integers and booleans to float without a node Cast; Casts and DequantizeLinear before
 * nodes of many inputs. */
#include "rewrite/lower/terms.h"

#define TABLE 65536 /* integers that a table has: 0, 1, ... */

/* y = LAST (OP (a, b, ...), ...) with a node LAST of each input of OP instead. */
static surg_status of_parts(surg__builder *b) {
  const surg_node *last = surg__b_matched(b);
  const surg_value *joined = surg_node_input(last, 0);
  const surg_node *n = joined ? surg_value_producer(joined, NULL) : NULL;
  if (surg__b_bad(b, !n, "the node before is unknown")) return SURG_EUNSUPPORTED;
  const size_t count = surg_node_input_count(n), more = surg_node_input_count(last);
  surg_value **in = surg__arena_array(b->m->arena, count + 1, sizeof *in);
  surg_value **each = surg__arena_array(b->m->arena, more + 1, sizeof *each);
  if (!in || !each) return SURG_ENOMEM;
  for (size_t i = 0; i < count; i++) /* before any node is made: a refusal undoes nothing */
    if (surg__b_bad(b, !surg_node_input(n, i), "an input is absent")) return SURG_EUNSUPPORTED;
  for (size_t i = 0; i < count; i++) {
    each[0] = surg_node_input(n, i);
    for (size_t k = 1; k < more; k++) each[k] = surg_node_input(last, k);
    in[i] = surg__b_node(b, surg_node_op_type(last), each, more);
    surg__b_copy_attrs(b, in[i], last, NULL);
  }
  surg_value *y = surg__b_node(b, surg_node_op_type(n), in, count);
  surg__b_copy_attrs(b, y, n, NULL);
  surg__b_result(b, "y", y);
  return b->status;
}

/* y = Cast (x) as a look-up: element x of a table of 0, 1, ... */
static surg_status cast_table(surg__builder *b) {
  const int to = dtype_of(surg__b_get(b, "y"));
  const int64_t dims[1] = {TABLE};
  double *rows = surg__arena_array(b->m->arena, TABLE, sizeof *rows);
  if (!rows) return SURG_ENOMEM;
  for (size_t i = 0; i < TABLE; i++) rows[i] = (double)i;
  surg_value *in[2] = {numbers(b, to, rows, dims, 1), surg__b_get(b, "x")};
  surg__b_result(b, "y", surg__b_node(b, "Gather", in, 2));
  return b->status;
}

const surg__native surg__natives_numbers[] = {
    {"cast_parts", of_parts, "a Cast of each input of the node that joins them"},
    {"dequantize_parts", of_parts, "a DequantizeLinear of each input of the node that joins them"},
    {"cast_table", cast_table, "a Gather from a table of integers"},
    {NULL, NULL, NULL},
};
