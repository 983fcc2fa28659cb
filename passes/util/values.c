/* SPDX-License-Identifier: Apache-2.0 */
/* See values.h. */
#include "values.h"

#include <onnxsurg/precision.h>
#include <stdio.h>
#include <string.h>

/* Most bytes by which the length fields of the enclosing protobuf messages grow with a name. */
#define LENGTHS 4

void values_hint(surg_pass_ctx *p, const surg_graph *g, const char *name, char *out, size_t size) {
  const surg_model *m = surg_pass_model(p);
  *out = 0;
  for (surg_graph *h = surg_model_next_graph(m, NULL); h; h = surg_model_next_graph(m, h)) {
    if (h == g || !surg_graph_find_value(h, name)) continue;
    snprintf(out, size, "; it is a value of a subgraph or function");
    return;
  }
  const char *near = surg_pass_nearest_value(p, g, name);
  if (near) snprintf(out, size, "; did you mean '%.300s'?", near);
}

const char *values_near_input(nearest *x, const surg_graph *g) {
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    nearest_offer(x, surg_value_name(surg_graph_input(g, i)));
  return nearest_hint(x);
}

bool values_annotated(const surg_value *v) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u))
    if (surg_use_get_kind(u) == SURG_USE_SOFT && !surg_use_node(u)) return true;
  return false;
}

uint64_t values_respelling(const surg_value *old, const surg_value *by, surg_replace how) {
  const surg_value *v = how == SURG_REPLACE_BY_LABEL ? by : old;
  const size_t was = strlen(surg_value_name(v));
  const size_t is = strlen(surg_value_name(v == by ? old : by));
  if (is <= was) return 0;
  const uint64_t places = (uint64_t)surg_value_use_count(v, SIZE_MAX) + 1;
  const uint64_t each = is - was + LENGTHS;
  return places > UINT64_MAX / each ? UINT64_MAX : places * each;
}

bool values_constant_holds(const surg_graph *g, bool in_function, int dtype) {
  const int64_t opset = surg_graph_opset(g, "");
  const surg_schema *s = surg_schema_find("", "Constant", opset < 9 && !in_function ? 9 : opset);
  const surg_type *t = surg_type_tensor_unranked(surg_graph_model(g), dtype);
  return s && t && surg_schema_accepts(s, true, 0, t, dtype);
}

static bool takes_any_initializer(const surg_graph *g) {
  return surg_graph_get_kind(g) != SURG_GRAPH_FUNCTION &&
         surg_model_ir_version(surg_graph_model(g)) >= 4;
}

bool values_takes_constant(const surg_graph *g, int dtype) {
  if (!surg_graph_takes_constants(g)) return false;
  return takes_any_initializer(g) ||
         values_constant_holds(g, surg_graph_get_kind(g) == SURG_GRAPH_FUNCTION, dtype);
}

bool values_takes_initializers(const surg_graph *g, const surg_graph *from) {
  if (takes_any_initializer(g)) return true;
  for (surg_value *v = surg_graph_next_initializer(from, NULL); v;
       v = surg_graph_next_initializer(from, v)) {
    const surg_tensor *t = surg_value_initializer(v); /* NULL: sparse */
    if (!t || !values_takes_constant(g, surg_tensor_dtype(t))) return false;
  }
  return true;
}
