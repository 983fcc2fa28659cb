/* SPDX-License-Identifier: Apache-2.0 */
/* Subgraphs, captures, functions, soft references, hoisting and clones. */
#include "base/counted.h"
#include "ir_common.h"

#include "ir/ir.h"

static surg_context *ctx;
static surg_model *m;
static surg_graph *g, *then, *other;
static surg_value *x;
static surg_node *cond, *branch;

/* x -> Relu; If with two branches. */
static void setup_ir(int64_t ir) {
  ctx = new_context();
  m = surg_model_new(ctx, ir, 17);
  g = surg_model_graph(m);
  x = surg_graph_add_input(g, "x", f32(m));
  cond = add1(g, "Not", x);
  branch = add1(g, "If", out0(cond));
  surg_node_set_name(branch, "If_5");
  then = surg_node_set_graph(branch, "then_branch", "t");
  other = surg_node_set_graph(branch, "else_branch", "e");
  ck_assert_ptr_nonnull(other);
}
static void setup(void) { setup_ir(10); }
static void teardown(void) {
  surg_model_free(m);
  surg_context_free(ctx);
}

static surg_value *named(surg_node *n, const char *name) {
  ck_ok(surg_value_rename(out0(n), name));
  return out0(n);
}

START_TEST(scopes) {
  ck_assert_ptr_eq(surg_graph_parent(then), g);
  ck_assert_ptr_eq(surg_graph_parent_node(then), branch);
  ck_assert_str_eq(surg_graph_parent_attr(other), "else_branch");
  ck_assert_ptr_null(surg_graph_parent(g));
  ck_assert_ptr_eq(surg_node_subgraph(branch, 0), then);
  ck_assert_ptr_eq(surg_node_subgraph(branch, 1), other);
  ck_assert_ptr_null(surg_node_subgraph(branch, 2));
  ck_assert_ptr_eq(surg_graph_lookup_value(then, "x"), x);
  ck_assert_ptr_null(surg_graph_find_value(then, "x"));
  surg_node *inner = add1(then, "Neg", x);
  ck_ok(surg_graph_add_output(then, out0(inner), NULL));
  ck_ok(surg_graph_add_output(other, x, NULL)); /* an outer value as output */
  ck_assert_uint_eq(surg_value_use_count(x, 9), 3);
  /* The other branch does not see it, nor does the graph around. */
  surg_node *n = add1(other, "Neg", x), *o = add1(g, "Neg", x);
  ck_refused(ctx, surg_node_set_input(n, 0, out0(inner)), SURG_EUSAGE, "not visible");
  ck_refused(ctx, surg_node_set_input(o, 0, out0(inner)), SURG_EUSAGE, "not visible");
  ck_refused(ctx, surg_graph_add_output(g, out0(inner), NULL), SURG_EUSAGE, "not visible");
  ck_ok(surg_model_verify(m));
  size_t graphs = 0;
  for (surg_graph *k = NULL; (k = surg_model_next_graph(m, k));) graphs++;
  ck_assert_uint_eq(graphs, 3);
}
END_TEST

START_TEST(erase_tree) {
  surg_node *deep = add1(then, "If", x);
  const surg_graph *replaced = surg_node_set_graph(deep, "then_branch", "r");
  surg_graph *inner = surg_node_set_graph(deep, "then_branch", "i");
  ck_assert_ptr_null(surg_graph_next_inner(g, replaced));
  surg_node *leaf = add1(inner, "Neg", out0(cond));
  ck_ok(surg_graph_add_output(inner, out0(leaf), NULL));
  const surg_graph *const all[] = {g, then, inner, other, NULL}, *const own[] = {then, inner, NULL};
  const surg_graph *k = NULL, *j = NULL;
  for (size_t i = 0; i < 5; i++) ck_assert_ptr_eq((k = surg_graph_next_inner(g, k)), all[i]);
  for (size_t i = 0; i < 3; i++) ck_assert_ptr_eq((j = surg_graph_next_inner(then, j)), own[i]);
  surg_value *v = out0(leaf);
  ck_refused(ctx, surg_node_erase(cond), SURG_EINVALID, "in use");
  ck_ok(surg_node_erase(branch));
  ck_assert(surg_value_erased(v));
  ck_assert(surg_node_erased(leaf));
  ck_assert_int_eq(surg_node_erase(leaf), SURG_EERASED);
  ck_assert_uint_eq(surg_graph_node_count(inner), 0);
  ck_assert_ptr_null(surg_graph_add_node(inner, NULL, "", "Neg", 1));
  ck_assert_ptr_null(surg_model_next_graph(m, g));
  ck_ok(surg_model_verify(m));
  ck_ok(surg_node_erase(cond));
  ck_assert_uint_eq(surg_value_use_count(x, 9), 0);
}
END_TEST

START_TEST(replace_attr_graph) {
  surg_node *leaf = add1(then, "Neg", out0(cond));
  surg_graph *fresh = surg_node_set_graph(branch, "then_branch", "t2");
  ck_assert_ptr_ne(fresh, then);
  ck_assert(surg_node_erased(leaf));
  ck_assert_uint_eq(surg_value_use_count(out0(cond), 9), 1);
  ck_ok(surg_model_verify(m));
  ck_ok(surg_node_remove_attr(branch, "then_branch"));
  ck_assert_ptr_eq(surg_node_subgraph(branch, 0), other);
  ck_assert_int_eq(surg_node_copy_attr(cond, surg_node_attr(branch, "else_branch")),
                   SURG_EUNSUPPORTED);
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(rename_across_scopes) {
  named(add1(then, "Neg", x), "a");
  named(add1(other, "Neg", x), "b");
  ck_refused(ctx, surg_value_rename(x, "a"), SURG_EINVALID, "in use");
  ck_refused(ctx, surg_value_rename(surg_graph_find_value(then, "a"), "x"), SURG_EINVALID,
             "in use");
  /* Siblings do not see each other. */
  ck_ok(surg_value_rename(surg_graph_find_value(then, "a"), "b"));
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(rename_at_once) {
  surg_value *a = named(add1(then, "Neg", x), "a"), *b = named(add1(other, "Neg", x), "b");
  surg_value *const all[] = {x, a, b, a};
  size_t failed = 9;
  const char *const swapped[] = {"a", "x", "b", "c"}; /* the last name of a value counts */
  ck_ok(surg_model_rename_values(m, all, swapped, 4, &failed));
  ck_assert_str_eq(surg_value_name(x), "a");
  ck_assert_str_eq(surg_value_name(a), "c");
  ck_assert_ptr_eq(surg_graph_find_value(then, "c"), a);
  const char *const clash[] = {"x", "c", "x"};
  ck_assert_int_eq(surg_model_rename_values(m, all, clash, 3, &failed), SURG_EINVALID);
  ck_assert_uint_ne(failed, 1);
  ck_assert_str_eq(surg_value_name(x), "a");
  ck_assert_str_eq(surg_value_name(b), "b");
  ck_assert_ptr_eq(surg_graph_find_value(g, "a"), x);
  const char *const one[] = {"same", "same", "b"};
  ck_assert_int_eq(surg_model_rename_values(m, all, one, 3, NULL), SURG_EINVALID);
  const char *const bare[] = {""};
  ck_assert_int_eq(surg_model_rename_values(m, all, bare, 1, NULL), SURG_EUSAGE);
  const char *const back[] = {"c", "a"};
  ck_ok(surg_model_rename_values(m, all, back, 2, NULL));
  ck_ok(surg_model_verify(m));
}
END_TEST

/* Inner value "s" hides an outer one of that name: reading the outer one moves a label away. */
START_TEST(shadowing) {
  surg_value *inner = named(add1(then, "Neg", x), "s");
  /* Files have such names; the API makes none. */
  surg_node *o = surg__node_new(g, branch, "", "Abs", "", "");
  surg_value *outer = surg__value_new(g, inner->name);
  ck_assert(surg__node_link_output(o, 0, outer));
  ck_ok(surg_model_verify(m));
  surg_node *reader = add1(then, "Sqrt", x);
  ck_ok(surg_node_set_input(reader, 0, outer));
  ck_assert_str_ne(surg_value_name(inner), surg_value_name(outer));
  ck_assert_str_eq(surg_value_name(outer), "s");
  ck_assert_ptr_eq(surg_graph_lookup_value(then, "s"), outer);
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(shadowing_at_the_edge) {
  surg_value *inner = named(add1(then, "Neg", x), "s");
  ck_ok(surg_graph_add_output(then, inner, NULL));
  surg_node *o = surg__node_new(g, branch, "", "Abs", "", "");
  surg_value *outer = surg__value_new(g, inner->name);
  ck_assert(surg__node_link_output(o, 0, outer));
  surg_node *a = add1(then, "Sqrt", x);
  /* The inner one is an output, the outer one is plain: the outer one gives way. */
  ck_assert_int_eq(surg_value_can_replace(out0(a), outer), SURG_REPLACE_YES);
  surg_node *r = add1(then, "Exp", out0(a));
  ck_ok(surg_value_replace(out0(a), outer));
  ck_assert_ptr_eq(surg_node_input(r, 0), outer);
  ck_assert_str_eq(surg_value_name(inner), "s");
  ck_assert_str_ne(surg_value_name(outer), "s");
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(replace_across_scopes) {
  surg_node *a = add1(then, "Neg", out0(cond));
  ck_ok(surg_graph_add_output(then, out0(a), NULL));
  surg_node *not2 = surg_graph_add_node(g, branch, "", "Not", 1);
  surg_node_set_input(not2, 0, x);
  /* Captured uses follow. */
  ck_ok(surg_value_replace(out0(cond), out0(not2)));
  ck_assert_ptr_eq(surg_node_input(a, 0), out0(not2));
  ck_assert_ptr_eq(surg_node_input(branch, 0), out0(not2));
  /* An inner value cannot serve a use outside, but can serve inner uses. */
  surg_node *p = surg_graph_add_node(g, branch, "", "Abs", 1), *b = add1(then, "Exp", x);
  surg_node *user = add1(then, "Log", out0(p));
  ck_assert_int_eq(surg_value_can_replace(out0(p), out0(b)), SURG_REPLACE_YES);
  surg_node *outside = add1(g, "Log", out0(p));
  ck_assert_int_eq(surg_value_can_replace(out0(p), out0(b)), SURG_REPLACE_NO);
  ck_assert_int_eq(surg_value_replace(out0(p), out0(b)), SURG_EUNSUPPORTED);
  ck_ok(surg_node_erase(outside));
  ck_ok(surg_value_replace(out0(p), out0(b)));
  ck_assert_ptr_eq(surg_node_input(user, 0), out0(b));
  /* The output of a branch: a captured value needs an Identity. */
  ck_assert_int_eq(surg_value_can_replace(out0(a), out0(not2)), SURG_REPLACE_NEEDS_IDENTITY);
  ck_assert_int_eq(surg_value_can_replace(out0(a), out0(b)), SURG_REPLACE_BY_LABEL);
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(sort_by_capture) {
  surg_node *late = add1(g, "Exp", x);
  surg_node *inner = add1(then, "Neg", x);
  ck_ok(surg_node_set_input(inner, 0, out0(late)));
  ck_refused(ctx, surg_model_verify(m), SURG_EINVALID, "before it is made");
  bool moved;
  ck_ok(surg_graph_toposort(g, &moved));
  ck_assert(moved && surg_node_before(late, branch));
  ck_ok(surg_model_verify(m));
  /* A subgraph that reads what its own node makes is a cycle. */
  ck_refused(ctx, surg_node_set_input(inner, 0, out0(branch)), SURG_EINVALID,
             "computed from this node");
  ck_ok(surg_node_set_input(inner, 0, x));
  ck_ok(surg_graph_add_output(other, out0(branch), NULL));
  ck_refused(ctx, surg_graph_toposort(g, NULL), SURG_EINVALID, "If_5");
}
END_TEST

START_TEST(hoist) {
  surg_value *k = surg_graph_constant(then, NULL, "k", i64(m, 3));
  surg_node *a = add1(then, "Neg", x), *b = add1(then, "Add", out0(a));
  ck_ok(surg_node_set_input(b, 1, k));
  named(a, "same");
  named(add1(other, "Neg", x), "same");
  surg_node *deep = add1(then, "If", out0(cond));
  surg_graph *inner = surg_node_set_graph(deep, "then_branch", "d");
  surg_node *leaf = add1(inner, "Exp", out0(a));
  ck_ok(surg_graph_add_output(inner, out0(leaf), NULL));
  ck_ok(surg_graph_add_output(then, out0(b), NULL));
  ck_ok(surg_graph_add_output(then, x, NULL));
  ck_ok(surg_node_set_name(a, "n"));
  ck_ok(surg_graph_hoist(then, branch));
  ck_assert_ptr_eq(surg_node_graph(a), g);
  ck_assert_ptr_eq(surg_value_graph(k), g);
  ck_assert(surg_value_is_initializer(k));
  ck_assert(surg_node_before(a, b) && surg_node_before(b, deep) && surg_node_before(deep, branch));
  ck_assert_str_ne(surg_value_name(out0(a)), "same");
  ck_assert_ptr_eq(surg_graph_parent(inner), g);
  ck_assert_ptr_eq(surg_graph_find_node(g, "n"), a);
  ck_assert_ptr_eq(surg_graph_output(then, 0), out0(b));
  ck_assert_ptr_eq(surg_graph_output(then, 1), x);
  ck_assert_uint_eq(surg_graph_node_count(then), 0);
  ck_assert_uint_eq(surg_graph_initializer_count(then), 0);
  ck_ok(surg_model_verify(m));
  /* As inlining does: the outputs of the branch take the place of the node's. */
  surg_node *user = add1(g, "Log", out0(branch));
  ck_ok(surg_value_replace(out0(branch), surg_graph_output(then, 0)));
  ck_ok(surg_node_erase(branch));
  ck_assert_ptr_eq(surg_node_input(user, 0), out0(b));
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(hoist_ir3) {
  teardown();
  setup_ir(3);
  /* An initializer in a subgraph, as files have them. */
  surg_value *k = surg__value_new(then, surg__intern(m, "k", 1));
  surg__graph_push_initializer(then, k, i64(m, 3));
  surg_node *a = add1(then, "Neg", k);
  ck_ok(surg_graph_add_output(then, out0(a), NULL));
  ck_ok(surg_graph_hoist(then, branch));
  ck_assert(!surg_value_is_initializer(k));
  ck_assert_int_eq(surg_node_op(surg_value_producer(k, NULL)), SURG_OP_Constant);
  ck_assert_ptr_nonnull(surg_value_constant(k));
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(hoist_refused) {
  surg_value *in = surg_graph_add_input(then, "in", NULL);
  surg_node *a = add1(then, "Neg", in);
  ck_refused(ctx, surg_graph_hoist(then, branch), SURG_EINVALID, "in use");
  ck_refused(ctx, surg_graph_hoist(g, branch), SURG_EUSAGE, "cannot be moved");
  ck_refused(ctx, surg_graph_hoist(then, a), SURG_EUSAGE, "cannot be moved");
  /* Out of two graphs at once, while it reads the one between. */
  surg_node *mid = add1(then, "If", x), *b = add1(then, "Exp", x);
  surg_graph *inner = surg_node_set_graph(mid, "then_branch", "i");
  add1(inner, "Log", out0(b));
  ck_refused(ctx, surg_graph_hoist(inner, branch), SURG_EINVALID, "moved out");
  ck_ok(surg_graph_hoist(inner, mid));
  ck_assert_uint_eq(surg_graph_node_count(then), 4);
}
END_TEST

START_TEST(locate) {
  surg_node *a = add1(then, "Neg", x);
  ck_ok(surg_node_set_name(a, "a\"\n"));
  ck_assert_str_eq(surg__locate_node(a),
                   "graph.node[1] \"If_5\" (If).then_branch.node[0] \"a\\\"\\n\" (Neg)");
  ck_assert_str_eq(surg__locate_graph(other), "graph.node[1] \"If_5\" (If).else_branch");
  surg_node *c = surg_graph_add_node(g, NULL, "acme", "Foo", 0);
  ck_assert_str_eq(surg__locate_node(c), "graph.node[2] (acme.Foo)");
}
END_TEST

/* --- functions --- */

static surg_function *make_function(const char *domain, const char *name) {
  surg_function *f = surg__function_new(m, surg__intern(m, domain, strlen(domain)),
                                        surg__intern(m, name, strlen(name)),
                                        surg__intern(m, "", 0));
  ck_assert_ptr_nonnull(f);
  ck_ok(surg_function_set_opset(f, "", 17));
  return f;
}

START_TEST(functions) {
  surg_function *f = make_function("dom", "F");
  surg_graph *body = surg_function_graph(f);
  surg_value *in = surg_graph_add_input(body, "x", NULL); /* functions see no outer names */
  surg_node *a = add1(body, "Relu", in);
  ck_ok(surg_graph_add_output(body, out0(a), NULL));
  surg_node *call = surg_graph_add_node(g, NULL, "dom", "F", 1);
  ck_assert_int_eq(surg_node_class(call), SURG_OP_CLASS_FUNCTION);
  ck_assert_ptr_eq(surg_node_function(call), f);
  ck_assert_int_ge(surg_node_op(call), 65536);
  ck_assert_ptr_eq(surg_graph_function(body), f);
  ck_assert_int_eq(surg_graph_opset(body, ""), 17);
  ck_assert(!surg_node_nondeterministic(call));
  ck_assert_str_eq(surg__locate_node(a), "function[0] \"dom.F\".node[0] (Relu)");
  /* Types of its inputs and outputs are claims in value_info. */
  ck_ok(surg_value_set_declared_type(in, f32(m)));
  ck_ok(surg_value_set_declared_type(out0(a), f32(m)));
  ck_assert(in->in_value_info && out0(a)->in_value_info);
  ck_assert(surg_type_equal(surg_value_declared_type(in), f32(m)));
  /* Constants in a body are nodes. */
  surg_value *c = surg_graph_constant(body, NULL, "c", i64(m, 1));
  ck_assert_ptr_nonnull(surg_value_producer(c, NULL));
  ck_assert_int_eq(surg_value_set_initializer(in, i64(m, 1)), SURG_EUSAGE);
  ck_ok(surg_function_set_opset(f, "", 13));
  ck_assert_int_eq(surg_function_opset(f, "ai.onnx"), 13);
  add1(body, "RandomNormal", NULL);
  ck_assert(surg_node_nondeterministic(call));
  ck_ok(surg_model_verify(m));
  ck_ok(surg_model_remove_function(m, f));
  ck_assert_int_eq(surg_node_class(call), SURG_OP_CLASS_CUSTOM);
  ck_assert_int_eq(surg_model_remove_function(m, f), SURG_EERASED);
  ck_assert_uint_eq(surg_model_function_count(m), 0);
  ck_assert_ptr_null(surg_function_graph(f));
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(shadowed_builtin) {
  surg_node *r = add1(g, "Relu", x), *k = surg_graph_add_node(g, NULL, "", "Constant", 1);
  ck_ok(surg_node_set_int(k, "value_int", 1));
  ck_assert_ptr_nonnull(surg_value_constant(out0(k)));
  make_function("ai.onnx", "Relu");
  make_function("", "Constant");
  ck_assert_int_eq(surg_node_class(r), SURG_OP_CLASS_FUNCTION);
  ck_assert_ptr_null(surg_node_schema(r));
  ck_assert_ptr_null(surg_value_constant(out0(k)));
  ck_assert_ptr_nonnull(surg_model_find_function(m, "", "Relu", ""));
  ck_assert_ptr_null(surg_model_find_function(m, "", "Relu", "v2"));
  ck_assert_ptr_null(surg_model_find_function(m, "", "Abs", NULL));
}
END_TEST

/* Functions that call each other in a circle must not hang the question. */
START_TEST(calls_in_a_circle) {
  surg_function *f = make_function("d", "F"), *h = make_function("d", "G");
  surg_graph_add_node(surg_function_graph(f), NULL, "d", "G", 1);
  surg_graph_add_node(surg_function_graph(h), NULL, "d", "F", 1);
  surg_node *call = surg_graph_add_node(g, NULL, "d", "F", 1);
  ck_assert(!surg_node_nondeterministic(call));
  ck_assert(!surg_node_nondeterministic(call));
  surg_graph_add_node(surg_function_graph(h), NULL, "", "RandomNormal", 1);
  ck_assert(surg_node_nondeterministic(call));
}
END_TEST

/* --- soft references --- */

static surg__annotation *annotate(surg_value *subject, surg_value *param) {
  surg__annotation *a = surg__arena_zalloc(&m->arena, sizeof *a);
  a->subject = surg__soft_new(m, SURG__SOFT_ANNOTATION, subject);
  a->params = surg__soft_new(m, SURG__SOFT_ANNOTATION, param);
  a->subject->graph = a->params->graph = subject->graph;
  a->subject->annotation = a->params->annotation = a;
  a->next = subject->graph->annotations;
  subject->graph->annotations = a;
  return a;
}

START_TEST(annotations) {
  surg_node *n = add1(g, "Exp", x);
  surg_value *scale = surg_graph_constant(g, NULL, "scale", i64(m, 1));
  surg__annotation *a = annotate(out0(n), scale);
  ck_assert_uint_eq(surg_value_use_count(out0(n), 9), 0); /* soft uses do not count */
  surg_use *u = surg_value_first_use(scale);
  ck_assert_int_eq(surg_use_get_kind(u), SURG_USE_SOFT);
  ck_assert_ptr_eq(surg_use_graph(u), g);
  ck_ok(surg_value_rename(scale, "sc"));
  ck_assert(a->dirty && !a->dropped);
  /* Hard uses go before soft ones, and stay apart. */
  surg_node *r = add1(g, "Log", out0(n));
  ck_ok(surg_graph_add_output(g, out0(n), NULL));
  ck_ok(surg_model_verify(m));
  ck_assert_uint_eq(surg_value_use_count(out0(n), 9), 2);
  surg_node *by = surg_graph_add_node(g, n, NULL, "Abs", 1);
  surg_node_set_input(by, 0, x);
  ck_ok(surg_value_replace(out0(n), out0(by)));
  ck_assert_ptr_eq(a->subject->use.value, out0(n));
  ck_ok(surg_node_erase(n));
  ck_assert(a->dropped);
  ck_assert_ptr_null(surg_value_first_use(scale));
  ck_ok(surg_value_erase_initializer(scale));
  ck_assert_ptr_eq(surg_node_input(r, 0), out0(by));
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(training_pins) {
  surg_node *n = add1(g, "Exp", x), *by = add1(g, "Abs", x);
  surg__soft *s = surg__soft_new(m, SURG__SOFT_TRAINING, out0(n));
  m->training = s;
  ck_assert(surg_value_is_pinned(out0(n)));
  ck_refused(ctx, surg_node_erase(n), SURG_EINVALID, "in use");
  ck_refused(ctx, surg_value_rename(out0(n), "q"), SURG_EINVALID, "training_info");
  ck_assert_int_eq(surg_value_can_replace(out0(n), out0(by)), SURG_REPLACE_NO);
  ck_ok(surg_graph_add_output(g, out0(by), NULL));
  ck_assert_int_eq(surg_value_can_replace(out0(by), out0(n)), SURG_REPLACE_NEEDS_IDENTITY);
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(sharding_follows) {
  surg_node *n = add1(g, "Exp", x), *y = surg_graph_add_node(g, n, "", "Abs", 1);
  surg_node_set_input(y, 0, x);
  surg__soft *s = surg__soft_new(m, SURG__SOFT_SHARDING, x);
  s->node = n;
  n->softs = s;
  ck_ok(surg_node_set_input(n, 0, out0(y)));
  ck_assert_ptr_eq(s->use.value, out0(y));
  surg_node *z = surg_graph_add_node(g, n, "", "Abs", 1);
  surg_node_set_input(z, 0, x);
  ck_ok(surg_value_replace(out0(y), out0(z)));
  ck_assert_ptr_eq(s->use.value, out0(z));
  ck_ok(surg_node_trim_inputs(n, 0));
  ck_assert_ptr_null(s->use.value);
  ck_ok(surg_model_verify(m));
}
END_TEST

START_TEST(hoist_annotations) {
  surg_value *in = surg_graph_add_input(then, "in", NULL);
  surg_node *n = add1(then, "Exp", x), *k = add1(then, "Abs", x);
  surg__annotation *gone = annotate(in, out0(k)), *kept = annotate(out0(n), out0(k));
  ck_ok(surg_graph_hoist(then, branch));
  ck_assert(gone->dropped && !kept->dropped);
  ck_assert_ptr_eq(g->annotations, kept);
  ck_assert_ptr_eq(kept->subject->graph, g);
  ck_ok(surg_model_verify(m));
}
END_TEST

/* A value_info entry without a value does not become the claim of one that takes its name. */
START_TEST(strays) {
  surg__stray *s = surg__arena_zalloc(&m->arena, sizeof *s), *t;
  t = surg__arena_zalloc(&m->arena, sizeof *t);
  s->name = surg__intern(m, "stray", 5);
  t->name = surg__intern(m, "other", 5);
  s->next = t;
  g->strays = s;
  ck_ok(surg_value_rename(surg_graph_constant(then, NULL, NULL, i64(m, 1)), "other"));
  ck_assert(!s->dropped && !t->dropped);
  surg_value *c = surg_graph_constant(g, NULL, "stray", i64(m, 1));
  ck_assert_str_eq(surg_value_name(c), "stray");
  ck_assert(s->dropped && !t->dropped);
}
END_TEST

/* --- dirt --- */

START_TEST(dirt_climbs) {
  surg_node *deep = add1(then, "If", x);
  surg_graph *inner = surg_node_set_graph(deep, "then_branch", "d");
  surg_node *leaf = add1(inner, "Exp", x);
  for (surg_graph *k = m->graph; k; k = k->next) {
    k->dirty = false;
    for (surg_node *n = k->first; n; n = n->next) {
      n->dirty = n->attrs_dirty = n->io_dirty = false;
      for (uint32_t i = 0; i < n->n_attr; i++) n->attrs[i]->dirty = false;
    }
  }
  m->dirty = false;
  ck_ok(surg_node_set_int(leaf, "a", 1));
  ck_assert(leaf->dirty && inner->dirty && deep->dirty && then->dirty && branch->dirty &&
            g->dirty && m->dirty);
  ck_assert(!other->dirty && !cond->dirty);
  ck_assert(deep->attrs[0]->dirty && branch->attrs[0]->dirty && !branch->attrs[1]->dirty);
  ck_ok(surg_model_verify(m));
}
END_TEST

/* Replacement by label leaves readers and the output's entry as they are on disk. */
START_TEST(label_keeps_bytes) {
  surg_node *a = add1(g, "Exp", x), *b = add1(g, "Identity", out0(a)), *r = add1(g, "Log", out0(b));
  ck_ok(surg_graph_add_output(g, out0(b), NULL));
  r->dirty = r->io_dirty = false;
  g->out[0]->decl.dirty = false;
  ck_ok(surg_value_replace(out0(b), out0(a)));
  ck_assert(!r->dirty && !g->out[0]->decl.dirty && a->io_dirty);
  ck_assert_ptr_eq(surg_node_input(r, 0), out0(a));
  ck_ok(surg_model_verify(m));
}
END_TEST

/* --- finding nodes --- */

START_TEST(find_node) {
  surg_node *a = add1(then, "Add", x);
  size_t count;
  ck_assert_ptr_eq(surg_model_find_node(m, "If_5", &count), branch);
  ck_assert_uint_eq(count, 1);
  ck_assert_ptr_eq(surg_model_find_node(m, "graph.node[1]", NULL), branch);
  ck_assert_ptr_eq(surg_model_find_node(m, "graph.node[1] \"If_5\" (If)", NULL), branch);
  ck_assert_ptr_eq(surg_model_find_node(m, "graph.node[1].then_branch.node[0]", NULL), a);
  ck_assert_ptr_eq(surg_model_find_node(m, surg__locate_node(a), NULL), a);
  surg_function *f = make_function("dom", "F");
  surg_value *in = surg_graph_add_input(surg_function_graph(f), "x", NULL);
  surg_node *r = add1(surg_function_graph(f), "Relu", in);
  ck_assert_ptr_eq(surg_model_find_node(m, surg__locate_node(r), NULL), r);
  ck_assert_ptr_eq(surg_model_find_node(m, "function[0].node[0]", NULL), r);
  ck_ok(surg_node_set_name(r, "If_5"));
  ck_assert_ptr_eq(surg_model_find_node(m, "If_5", &count), branch);
  ck_assert_uint_eq(count, 2);
  static const char *const none[] = {"", "graph", "graph.node", "graph.node[]", "graph.node[9]",
      "graph.node[1", "graph.node[-1]", "graph.node[1].else", "graph.node[1].then_branch",
      "graph.node[1].then_branch.node[1]", "graph.node[1].then_branch[0].node[0]",
      "graph.node[1] \"If_5", "graph.node[1]x", "function[1].node[0]", "function.node[0]",
      "graph.node[99999999999999999999999]", "subgraph.node[0]"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    ck_assert_msg(!surg_model_find_node(m, none[i], &count), "%s", none[i]);
    ck_assert_uint_eq(count, 0);
  }
  ck_assert_ptr_null(surg_model_find_node(NULL, "a", NULL));
}
END_TEST

/* --- clones --- */

START_TEST(clone) {
  surg_value *k = surg_graph_constant(then, NULL, "k", i64(m, 3));
  surg_node *a = add1(then, "Add", x);
  ck_ok(surg_node_set_input(a, 2, k));
  ck_ok(surg_graph_add_output(then, out0(a), f32(m)));
  ck_ok(surg_graph_add_output(g, out0(branch), f32(m)));
  ck_ok(surg_graph_add_output(g, x, NULL));
  surg_function *f = make_function("dom", "F");
  add1(surg_function_graph(f), "Relu", surg_graph_add_input(surg_function_graph(f), "x", NULL));
  annotate(out0(cond), x);
  m->training = surg__soft_new(m, SURG__SOFT_TRAINING, x);
  surg_str strings[2] = {{"p", 1}, {"qq", 2}};
  int64_t two = 2;
  surg_graph_constant(g, NULL, "strings", surg_tensor_new_strings(m, &two, 1, strings));
  ck_ok(surg_node_set_strings(a, "ss", strings, 2));
  ck_ok(surg_model_set_metadata(m, "k", "v"));
  ck_ok(surg_node_move(cond, cond));
  ck_ok(surg_model_verify(m));
  surg_model *c = surg_model_clone(m);
  ck_assert_ptr_nonnull(c);
  ck_ok(surg_model_verify(c));
  ck_assert_uint_eq(surg_model_epoch(c), surg_model_epoch(m));
  /* The original may go. */
  surg_model_free(m);
  m = c;
  g = surg_model_graph(m);
  ck_assert_uint_eq(surg_graph_node_count(g), 2);
  surg_node *i = surg_graph_find_node(g, "If_5");
  surg_graph *t = surg_node_subgraph(i, 0);
  surg_node *n = surg_graph_first_node(t);
  ck_assert_ptr_eq(surg_graph_parent(t), g);
  ck_assert_ptr_eq(surg_node_input(n, 0), surg_graph_find_value(g, "x"));
  ck_assert_ptr_null(surg_node_input(n, 1));
  int64_t got = 0;
  ck_assert_int_eq(surg__read_ints(surg_value_constant(surg_node_input(n, 2)), &got, 1), 1);
  ck_assert_int_eq(got, 3);
  ck_assert(surg_value_is_pinned(surg_graph_input(g, 0)));
  ck_assert_ptr_nonnull(g->annotations->subject->use.value);
  ck_assert_uint_eq(surg_model_function_count(m), 1);
  ck_assert_ptr_nonnull(surg_model_find_function(m, "dom", "F", NULL));
  ck_assert_str_eq(surg_model_metadata(m, "k"), "v");
  ck_assert_uint_eq(surg__strings(surg_value_constant(surg_graph_find_value(g, "strings")))[1].n,
                    2);
  ck_assert(surg_type_equal(surg_graph_output_type(g, 0), f32(m)));
  /* It is a model of its own. */
  ck_ok(surg_node_erase(n) == SURG_EINVALID ? SURG_OK : SURG_EINTERNAL);
  surg_graph_remove_output(t, 0);
  ck_ok(surg_node_erase(n));
  ck_ok(surg_model_verify(m));
}
END_TEST

/* A function has no initializers: Constant nodes replace those of the copied graph. */
START_TEST(splice_into_function) {
  surg_function *f = surg_model_add_function(m, "dom", "F", "");
  surg_graph *body = surg_function_graph(f);
  ck_ok(surg_function_set_opset(f, "", 17));
  surg_node *last = surg_graph_add_node(body, NULL, NULL, "Neg", 1);
  surg_value *c = surg_graph_constant(then, NULL, "three", i64(m, 3));
  ck_assert(surg_value_is_initializer(c));
  ck_ok(surg_graph_add_output(then, c, NULL));
  surg_value *out = NULL;
  ck_ok(surg_graph_splice(body, last, then, NULL, 0, NULL, &out, 1));
  ck_assert_uint_eq(surg_graph_initializer_count(body), 0);
  const surg_node *by = surg_value_producer(out, NULL);
  ck_assert_str_eq(surg_node_op_type(by), "Constant");
  ck_assert(surg_node_before(by, last));
  int64_t got = 0;
  ck_assert_int_eq(surg__read_ints(surg_value_constant(out), &got, 1), 1);
  ck_assert_int_eq(got, 3);
  ck_ok(surg_model_verify(m));
  /* Without an opset that has Constant nothing is copied. */
  surg_graph *bare = surg_function_graph(surg_model_add_function(m, "dom", "G", ""));
  const size_t nodes = surg_graph_node_count(bare);
  ck_refused(ctx, surg_graph_splice(bare, NULL, then, NULL, 0, NULL, &out, 1), SURG_EUNSUPPORTED,
             "initializers");
  ck_assert_uint_eq(surg_graph_node_count(bare), nodes);
  ck_ok(surg_model_verify(m));
}
END_TEST

#define SAME 300

static const char *nth(size_t i) {
  static char name[16];
  snprintf(name, sizeof name, "n%zu", i);
  return name;
}

/* Values and nodes of the same names in two branches, some of which are erased or renamed. */
START_TEST(names_of_two_branches) {
  surg_graph *graphs[2] = {then, other};
  surg_node *nodes[2][SAME];
  for (size_t i = 0; i < 2 * SAME; i++) {
    surg_node *n = nodes[i % 2][i / 2] = add1(graphs[i % 2], "Neg", x);
    ck_ok(surg_node_set_name(n, nth(i / 2)));
    named(n, nth(i / 2));
  }
  for (size_t i = 0; i < SAME; i += 3) ck_ok(surg_node_erase(nodes[0][i]));
  for (size_t i = 1; i < SAME; i += 3) {
    ck_ok(surg_node_set_name(nodes[1][i], "all"));
    named(nodes[1][i], i % 2 ? "odd" : "even");
    named(nodes[1][i], nth(i + SAME));
  }
  for (size_t i = 0; i < 2 * SAME; i++)
    for (size_t k = 0; k < 2; k++) {
      surg_node *n = i < SAME && (k ? i % 3 != 1 : i % 3 != 0) ? nodes[k][i] : NULL;
      surg_node *moved = k && i >= SAME && i % 3 == 1 ? nodes[1][i - SAME] : n;
      ck_assert_ptr_eq(surg_graph_find_node(graphs[k], nth(i)), n);
      ck_assert_ptr_eq(surg_graph_find_value(graphs[k], nth(i)), moved ? out0(moved) : NULL);
    }
  size_t ring = 0;
  for (surg_node *n = surg_graph_find_node(other, "all"); n; n = surg_node_next_named(n)) ring++;
  ck_assert_uint_eq(ring, SAME / 3);
  ck_ok(surg_model_verify(m));
}
END_TEST

int main(void) {
  Suite *s = suite_create("ir_scope");
  TCase *t = tcase_create("scope");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, scopes);
  tcase_add_test(t, erase_tree);
  tcase_add_test(t, replace_attr_graph);
  tcase_add_test(t, rename_across_scopes);
  tcase_add_test(t, rename_at_once);
  tcase_add_test(t, shadowing);
  tcase_add_test(t, shadowing_at_the_edge);
  tcase_add_test(t, replace_across_scopes);
  tcase_add_test(t, sort_by_capture);
  tcase_add_test(t, hoist);
  tcase_add_test(t, hoist_ir3);
  tcase_add_test(t, hoist_refused);
  tcase_add_test(t, locate);
  tcase_add_test(t, functions);
  tcase_add_test(t, shadowed_builtin);
  tcase_add_test(t, calls_in_a_circle);
  tcase_add_test(t, annotations);
  tcase_add_test(t, training_pins);
  tcase_add_test(t, sharding_follows);
  tcase_add_test(t, hoist_annotations);
  tcase_add_test(t, strays);
  tcase_add_test(t, dirt_climbs);
  tcase_add_test(t, label_keeps_bytes);
  tcase_add_test(t, find_node);
  tcase_add_test(t, clone);
  tcase_add_test(t, splice_into_function);
  tcase_add_test(t, names_of_two_branches);
  suite_add_tcase(s, t);
  return unit_run(s);
}
