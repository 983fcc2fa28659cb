/* SPDX-License-Identifier: Apache-2.0 */
/* Function bodies of the specification: each reads as a model function that has the operator's
 * signature and holds operators of its opset. That they compute the same is the matter of
 * test/conformance/bodies.c. */
#include "schema/bodies.h"

#include <stdlib.h>

#include "schema/text.h"
#include "../unit.h"

static const surg_schema *schema_of(const surg__body *b) {
  size_t n;
  const surg_schema *v = surg__schema_versions(b->op, &n);
  for (size_t i = 0; i < n; i++)
    if (v[i].since == b->since) return &v[i];
  return NULL;
}

static void same_signature(const surg_schema *s, const surg_function *f) {
  const surg_graph *g = surg_function_graph(f);
  ck_assert_uint_eq(surg_graph_input_count(g), s->n_inputs);
  ck_assert_uint_eq(surg_graph_output_count(g), s->n_outputs);
  for (size_t i = 0; i < s->n_inputs; i++)
    ck_assert_str_eq(surg_value_name(surg_graph_input(g, i)), s->inputs[i].name);
  for (size_t i = 0; i < s->n_outputs; i++)
    ck_assert_str_eq(surg_value_name(surg_graph_output(g, i)), s->outputs[i].name);
  ck_assert_uint_eq(surg_function_attr_count(f), s->n_attrs);
  for (size_t i = 0; i < s->n_attrs; i++) {
    const surg__attr_def *d = surg__schema_attr(s, surg_function_attr_name(f, i));
    const surg_attr *a = surg_function_attr_default(f, i);
    ck_assert(d && a && d->has_default);
    ck_assert_int_eq(surg_attr_get_kind(a), d->kind);
    if (d->kind == SURG_ATTR_INT) ck_assert_int_eq(surg_attr_int(a), d->i);
    if (d->kind == SURG_ATTR_FLOAT) ck_assert(surg_attr_float(a) == d->f);
    if (d->kind == SURG_ATTR_INTS) {
      size_t n;
      const int64_t *ints = surg_attr_ints(a, &n);
      ck_assert_uint_eq(n, d->n);
      ck_assert_int_eq(memcmp(ints, d->ints, n * sizeof *ints), 0);
    }
  }
}

START_TEST(reads) {
  const surg__body *b = &surg__bodies[_i];
  const surg_schema *s = schema_of(b);
  surg_context *ctx = surg_context_new(NULL);
  surg_model *m = surg__body_load(ctx, b);
  ck_assert_msg(m != NULL, "%s: %s", s->name, surg_context_error(ctx));
  ck_assert_int_eq(surg_model_verify(m), SURG_OK);
  ck_assert_uint_eq(surg_model_function_count(m), 1);
  const surg_function *f = surg_model_function(m, 0);
  ck_assert_str_eq(surg_function_name(f), s->name);
  ck_assert_str_eq(surg_function_domain(f), SURG__BODY_DOMAIN);
  ck_assert_int_eq(surg_function_opset(f, ""), b->opset);
  same_signature(s, f);
  size_t nodes = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n), nodes++) {
      const surg_schema *of = surg_node_schema(n);
      ck_assert_msg(of != NULL, "%s: %s", s->name, surg_node_op_type(n));
      ck_assert(!surg_schema_deprecated(of));
      /* Bodies that name themselves would never end; Range of a window is another operator's. */
      ck_assert_msg(of->op != b->op, "%s", s->name);
    }
  ck_assert_uint_gt(nodes, 0);
  surg_model_free(m);
  surg_context_free(ctx);
}
END_TEST

START_TEST(finds) {
  size_t with_body = 0;
  for (size_t i = 0; i < surg__schema_count; i++) {
    const surg_schema *s = &surg__schemas[i];
    const surg__body *b = surg__body_find(s->op, s->since, INT64_MAX);
    if (b) ck_assert(s->flags & SURG__OP_HAS_BODY);
    with_body += b != NULL;
  }
  ck_assert_uint_eq(with_body, 40);
  ck_assert_uint_eq(surg__body_count, 41);
  const int op = surg_schema_op(surg_schema_find("", "MeanVarianceNormalization", 18));
  ck_assert_int_eq(surg__body_find(op, 13, 17)->opset, 13);
  ck_assert_int_eq(surg__body_find(op, 13, 18)->opset, 18);
  ck_assert_int_eq(surg__body_find(op, 13, 28)->opset, 18);
  ck_assert_int_eq(surg__body_find(op, 13, 1)->opset, 13);
  ck_assert_int_eq(surg__body_find(op, 9, 28)->opset, 9);
  ck_assert_ptr_null(surg__body_find(op, 10, 28));
  ck_assert_ptr_null(surg__body_find(0, 1, 28));
  ck_assert_ptr_null(surg__body_load(NULL, &surg__bodies[0]));
}
END_TEST

/* However little memory there is: a body or nothing, and nothing is lost. */
START_TEST(little_memory) {
  bool failed = false, done = false;
  for (uint64_t bytes = 1 << 12; bytes <= (1 << 22); bytes *= 2) {
    surg_config config = {.size = sizeof config, .max_memory = bytes};
    surg_context *ctx = surg_context_new(&config);
    if (!ctx) continue;
    surg_model *m = surg__body_load(ctx, &surg__bodies[0]);
    failed = failed || !m;
    done = done || m;
    surg_model_free(m);
    ck_assert_uint_eq(surg_context_memory(ctx, NULL), 0);
    surg_context_free(ctx);
  }
  ck_assert(failed && done);
}
END_TEST

int main(void) {
  Suite *s = suite_create("bodies");
  TCase *t = tcase_create("bodies");
  tcase_add_loop_test(t, reads, 0, (int)surg__body_count);
  tcase_add_test(t, finds);
  tcase_add_test(t, little_memory);
  suite_add_tcase(s, t);
  return unit_run(s);
}
