/* SPDX-License-Identifier: Apache-2.0 */
/* Inference: one row a rule (infer_rows.c), then what rows cannot say: bodies, functions, edits,
 * constants that callers can override, sizes of results. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "infer_rows.h"
#include "sym/expr.h"
#include "../unit.h"

static surg_context *ctx;
static surg_model *model;

static void setup(void) { ctx = surg_context_new(NULL); }
static void teardown(void) {
  surg_model_free(model);
  model = NULL;
  surg_context_free(ctx);
}

static void load(const char *text) {
  surg_model_free(model);
  model = NULL;
  const surg_status s = surg_model_load_text(ctx, text, strlen(text), "test", &model);
  ck_assert_msg(s == SURG_OK, "%s\n%s", surg_context_error(ctx), text);
}

/* An expression, without spaces. */
static size_t spell_symbolic(char *out, size_t cap, const char *comma, surg_dim d) {
  size_t n = (size_t)snprintf(out, cap, "%s", comma);
  for (const char *p = surg_dim_text(model, &d); *p; p++)
    if (*p != ' ' && n + 1 < cap) out[n++] = *p;
  out[n] = 0;
  return n;
}

static void spell(const surg_type *t, char *out, size_t cap) {
  size_t n = 0;
  if (!t) {
    snprintf(out, cap, "-");
    return;
  }
  if (surg_type_get_kind(t) != SURG_TYPE_TENSOR) {
    static const char *const names[] = {"?",   "tensor",   "sparse", "seq",
                                        "map", "optional", "opaque"};
    char elem[256];
    spell(surg_type_elem(t), elem, sizeof elem);
    const bool map = surg_type_get_kind(t) == SURG_TYPE_MAP;
    n = (size_t)snprintf(out, cap, "%s(%s%s%s)", names[surg_type_get_kind(t)],
                         map ? surg_dtype_name(surg_type_dtype(t)) : "", map ? "," : "", elem);
    ck_assert_uint_lt(n, cap);
    return;
  }
  n += (size_t)snprintf(out + n, cap - n, "%s", surg_dtype_name(surg_type_dtype(t)));
  if (!surg_type_has_rank(t)) {
    snprintf(out + n, cap - n, "*");
    return;
  }
  n += (size_t)snprintf(out + n, cap - n, "[");
  for (size_t i = 0; i < surg_type_rank(t); i++) {
    const surg_dim d = *surg_type_dim(t, i);
    const char *comma = i ? "," : "";
    if (d.value >= 0)
      n += (size_t)snprintf(out + n, cap - n, "%s%lld", comma, (long long)d.value);
    else if (!d.expr || (d.expr->kind == SURG__EXPR_SYM &&
                          d.expr->symbol == SURG__SYMBOL_ANONYMOUS))
      n += (size_t)snprintf(out + n, cap - n, "%s?", comma);
    else
      n += spell_symbolic(out + n, cap - n, comma, d);
  }
  snprintf(out + n, cap - n, "]");
}

static surg_value *value(const char *name) {
  surg_value *v = surg_graph_find_value(surg_model_graph(model), name);
  ck_assert_msg(v != NULL, "no value %s", name);
  return v;
}

/* Compares "name type; name type". */
static void expect(const char *types) {
  char want[512], *save = NULL;
  snprintf(want, sizeof want, "%s", types);
  for (char *w = strtok_r(want, ";", &save); w; w = strtok_r(NULL, ";", &save)) {
    char name[64], type[128], got[256];
    ck_assert_int_eq(sscanf(w, " %63s %127s", name, type), 2);
    spell(surg_value_type(value(name)), got, sizeof got);
    ck_assert_msg(!strcmp(got, type), "%s: got %s, expected %s", name, got, type);
  }
}

static void infer(const char *types) {
  ck_assert_int_eq(surg_model_infer(model), SURG_OK);
  expect(types);
}

static void check_row(const infer_row *r) {
  char text[4096];
  ck_assert(infer_row_text(r, text, sizeof text));
  load(text);
  ck_assert_int_eq(surg_model_infer(model), SURG_OK);
  char want[512], *save = NULL;
  snprintf(want, sizeof want, "%s", r->types);
  for (char *w = strtok_r(want, ";", &save); w; w = strtok_r(NULL, ";", &save)) {
    char name[64], type[128], got[256];
    ck_assert_int_eq(sscanf(w, " %63s %127s", name, type), 2);
    spell(surg_value_type(value(name)), got, sizeof got);
    ck_assert_msg(!strcmp(got, type), "%s: got %s, expected %s\n%s", name, got, type, text);
  }
}

START_TEST(row) { check_row(&infer_rows[_i]); }
END_TEST
START_TEST(symbolic) { check_row(&infer_symbolic[_i]); }
END_TEST
START_TEST(contrib) { check_row(&infer_contrib[_i]); }
END_TEST

#define HEAD "<ir_version: 8, opset_import: [\"\": 17]>\n"

START_TEST(loops_carry_sequences) {
  load(HEAD "g (int64 n, bool c, float[2] x) => (float y) {\n"
            "s = SequenceConstruct(x)\n"
            "y = Loop (n, c, s) <body = b (int64 i, bool ci, seq(float) a)\n"
            "=> (bool co, seq(float) a2) {\n"
            "co = Identity(ci)\n e = SequenceAt(a, i)\n a2 = SequenceInsert(a, e) }>\n}");
  infer("s seq(float[2]); y seq(float*)");
}
END_TEST

START_TEST(sequence_map_seeds_its_body) {
  load(HEAD "g (float[2,N] x, float[3] z) => (float y) {\n"
            "s = SplitToSequence <axis = 1> (x)\n"
            "y = SequenceMap (s, z) <body = b (float a, float d) => (float e) {\n"
            "e = Add(a, d) }>\n}");
  infer("s seq(float[2,1]); y seq(float[2,3])");
}
END_TEST

START_TEST(branches_give_one_kind_of_sequence) {
  load(HEAD "g (bool c, float[2] x, float[3] z) => (float y) {\n"
            "y = If (c) <then_branch = a () => (seq(float) p) { p = SequenceConstruct(x) },\n"
            "else_branch = b () => (seq(float) q) { q = SequenceConstruct(z) }>\n}");
  infer("y seq(float[?])");
}
END_TEST

/* value_info and declared outputs are claims, and lies here. */
START_TEST(claims_are_not_read) {
  load(HEAD "g (float[2] x, float[3] z) => (double[7] y) <float[9] t> {\n"
            "t = Foreign(x)\n y = Relu(t)\n u = Relu(x)\n}");
  infer("t -; y -; u float[2]");
}
END_TEST

START_TEST(if_joins_branches) {
  load(HEAD "g (bool c, float[N,3] x) => (float y) {\n"
            "y, z, w = If (c) <then_branch = a () => (float p, float q, float r) {\n"
            "p = Relu(x)\n q = Relu(x)\n k = Constant <value = float[3] {1,2,3}> ()\n"
            "r = Identity(k) },\n"
            "else_branch = b () => (float p2, float q2, float r2) {\n"
            "p2 = Neg(x)\n q2 = Transpose(x)\n o = Constant <value_float = 1.0> ()\n"
            "r2 = Identity(o) }>\n}");
  infer("y float[N,3]; z float[?,?]; w float*");
}
END_TEST

START_TEST(if_with_other_types_has_none) {
  load(HEAD "g (bool c, float[N] x) => (float y) {\n"
            "y = If (c) <then_branch = a () => (float p) { p = Relu(x) },\n"
            "else_branch = b () => (int64 p2) { p2 = Shape(x) }>\n}");
  infer("y -");
}
END_TEST

START_TEST(loop_states_may_change_shape) {
  load(HEAD "g (int64 n, bool c, float[2] x, float[2] k, int64[1] ax) => (float y) {\n"
            "y, z, s = Loop (n, c, x, k) <body = b (int64 i, bool ci, float[2] a, float[2] d)\n"
            "=> (bool co, float a2, float d2, float s2) {\n"
            "co = Identity(ci)\n a2 = Unsqueeze(a, ax)\n d2 = Identity(k)\n"
            "s2 = Neg(k) }>\n}");
  infer("y float*; z float[2]; s float[?,2]");
}
END_TEST

/* ONNX Runtime takes its own operators from models that do not import their domain. */
START_TEST(own_operators_need_no_import) {
  load(HEAD
       "g (float[N,3] x) => (float y) {\n y = com.microsoft.Gelu(x)\n z = com.example.Gelu(x) }");
  infer("y float[N,3]; z -");
  ck_assert_int_eq(surg_node_op(surg_value_producer(value("y"), NULL)), SURG_OP_ms_Gelu);
}
END_TEST

/* Runtimes make the counter of the rank the body declares; of a larger one they refuse the model.
 */
START_TEST(loop_counters_have_the_declared_rank) {
  static const char *const ranks[][2] = {
      {"int64 i", "y float[2]; s int64[?]"},      {"int64[1] i", "y float[2]; s int64[?,1]"},
      {"int64[N] i", "y float[2]; s int64[?,1]"}, {"int64[] i", "y float[2]; s int64*"},
      {"int64[2,2] i", "y float[2]; s int64*"},
  };
  for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++) {
    char text[512];
    snprintf(text, sizeof text,
             HEAD "g (int64 n, bool c, float[2] x) => (float y) {\n"
                  "y, s = Loop (n, c, x) <body = b (%s, bool ci, float[2] a)\n"
                  "=> (bool co, float a2, int64 s2) {\n"
                  "co = Identity(ci)\n a2 = Neg(a)\n s2 = Add(i, i) }>\n}",
             ranks[k][0]);
    load(text);
    infer(ranks[k][1]);
  }
}
END_TEST

/* A dim that is born in a body is another one in each step, and outside. */
START_TEST(dims_born_in_bodies_stay_there) {
  load(HEAD
       "g (int64 n, bool c, float[2] x) => (float y) {\n"
       "y, s = Loop (n, c, x) <body = b (int64 i, bool ci, float[2] a)\n"
       "=> (bool co, int64 a2, int64 s2) {\n"
       "co = Identity(ci)\n z = NonZero(a)\n a2 = Identity(x)\n s2 = Add(z, z) }>\n"
       "q = Add(s, s)\n p, r = If (c) <then_branch = t () => (int64 u, int64 w) {\n"
       "u = NonZero(x)\n w = Identity(q) },\n"
       "else_branch = e () => (int64 u2, int64 w2) { u2 = NonZero(x)\n w2 = Identity(q) }>\n}");
  infer("s int64[?,1,?]; q int64[?,1,?]; r int64[?,1,?]");
  const surg_type *s = surg_value_type(value("s")), *q = surg_value_type(value("q"));
  const surg_type *r = surg_value_type(value("r"));
  ck_assert_str_eq(surg_dim_text(model, surg_type_dim(s, 2)), "dim(\"s\", 2)");
  ck_assert(surg_dim_equal(surg_type_dim(s, 2), surg_type_dim(q, 2)));
  ck_assert(surg_dim_equal(surg_type_dim(s, 2), surg_type_dim(r, 2)));
  const surg_type *p = surg_value_type(value("p"));
  ck_assert_str_eq(surg_dim_text(model, surg_type_dim(p, 1)), "dim(\"p\", 1)");
}
END_TEST

/* What elementwise nodes do not change stays provably equal, known or not. */
START_TEST(unknown_dims_are_symbols_of_their_own) {
  load(HEAD "g (float[?,3] x, float[] z, int64[2] t) => (float y) {\n"
            "a = Relu(x)\n b = Add(a, x)\n n = NonZero(b)\n m = Neg(n)\n"
            "k = Concat <axis = 1> (n, m)\n r = Reshape(z, t)\n y = Relu(r)\n}");
  ck_assert_int_eq(surg_model_infer(model), SURG_OK);
  const surg_dim x = *surg_type_dim(surg_value_type(value("x")), 0);
  const surg_dim b = *surg_type_dim(surg_value_type(value("b")), 0);
  ck_assert(surg_dim_equal(&x, &b));
  ck_assert_str_eq(surg_dim_text(model, &b), "dim(\"x\", 0)");
  const surg_type *k = surg_value_type(value("k"));
  ck_assert_str_eq(surg_dim_text(model, surg_type_dim(k, 1)), "2*dim(\"n\", 1)");
  const surg_type *r = surg_value_type(value("r")), *y = surg_value_type(value("y"));
  ck_assert(surg_dim_equal(surg_type_dim(r, 1), surg_type_dim(y, 1)));
  ck_assert(!surg_dim_equal(surg_type_dim(r, 0), surg_type_dim(r, 1)));
}
END_TEST

/* Elements stay known after inference, until the value is edited. */
START_TEST(elements_are_kept) {
  surg_elem e[4];
  load(HEAD
       "g (float[N,3] x, int64[2] t) => (float y) <int64[2] k = {2, -1}> {\n"
       "s = Shape(x)\n p = Mul(s, k)\n y = Reshape(x, p)\n}");
  ck_assert_int_eq(surg__known_elements(value("p"), e, 4), -1);
  ck_assert_int_eq(surg_model_infer(model), SURG_OK);
  ck_assert_int_eq(surg__known_elements(value("k"), e, 4), 2);
  ck_assert(e[1].known && e[1].value == -1);
  ck_assert_int_eq(surg__known_elements(value("p"), e, 4), 2);
  ck_assert(!e[0].known && e[1].known && e[1].value == -3);
  ck_assert_str_eq(surg_dim_text(model, &(surg_dim){-1, NULL, e[0].expr}), "2*N");
  ck_assert_int_eq(surg__known_elements(value("p"), e, 1), -1);
  ck_assert_int_eq(surg__known_elements(value("t"), e, 4), -1);
  ck_assert_int_eq(surg__known_elements(NULL, e, 4), -1);
  surg_model *copy = surg_model_clone(model);
  const surg_value *p = surg_graph_find_value(surg_model_graph(copy), "p");
  ck_assert_int_eq(surg__known_elements(p, e, 4), 2);
  ck_assert_str_eq(surg_dim_text(copy, &(surg_dim){-1, NULL, e[0].expr}), "2*N");
  surg_model_free(copy);
  surg_node_set_input(surg_value_producer(value("p"), NULL), 0, value("k"));
  ck_assert_int_eq(surg__known_elements(value("p"), e, 4), -1);
  ck_assert_int_eq(surg_model_infer(model), SURG_OK);
  ck_assert_int_eq(surg__known_elements(value("p"), e, 4), 2);
  ck_assert(e[0].known && e[0].value == 4);
}
END_TEST

START_TEST(scan_slices_and_stacks) {
  load(HEAD "g (float[3] h, float[T,4,3] x) => (float y) {\n"
            "y, s = Scan <num_scan_inputs = 1, scan_input_axes = [1],\n"
            "body = b (float a, float e) => (float a2, float s2) {\n"
            "a2 = Identity(h)\n s2 = Relu(e) }> (h, x)\n}");
  infer("y float[3]; s float[4,T,3]");
}
END_TEST

START_TEST(deep_nesting_is_walked) {
  load(HEAD "g (bool c, float[N] x) => (float y) {\n"
            "y = If (c) <then_branch = a () => (float p) {\n"
            "p = If (c) <then_branch = a2 () => (float q) { q = Relu(x) },\n"
            "else_branch = b2 () => (float q2) { q2 = Neg(x) }> },\n"
            "else_branch = b () => (float p2) { p2 = Abs(x) }>\n}");
  infer("y float[N]");
}
END_TEST

/* Each call is inferred with what is known of it; the body keeps what holds for all calls. */
START_TEST(functions_are_inferred_per_call) {
  char got[64];
  load(
      "<ir_version: 8, opset_import: [\"\": 17, \"f\": 1]>\n"
      "g (float[N,2] x, int64[3] z) => (float y) {\n"
      "y = f.F <to = 7> (x)\n w = f.F <to = 1> (z)\n v = f.F(x)\n"
      "s = Shape(x)\n r = f.G <k = 2> (x, s)\n q = f.G(x, s)\n n = f.H(x)\n"
      "a = Add(n, n)\n }\n"
      "<domain: \"f\", opset_import: [\"\": 17]>\n"
      "F <to> (a) => (b) { k = Constant <value_ints = [1, 2]> ()\n b = Cast <to: int = @to> (a) }\n"
      "<domain: \"f\", opset_import: [\"\": 17, \"f\": 1]>\n"
      "G <k: int = 3> (a, s) => (b) { c = Constant <value_int: int = @k> ()\n t = Mul(s, c)\n"
      "e = ConstantOfShape(t)\n b = f.F <to: int = @k> (e) }\n"
      "<domain: \"f\", opset_import: [\"\": 17]>\n"
      "H (a) => (b) { b = NonZero(a) }");
  infer("y int64[N,2]; w float[3]; v -; r uint8[2*N,4]; q int8[3*N,6]; n int64[2,?]; a int64[2,?]");
  const surg_type *n = surg_value_type(value("n"));
  ck_assert_str_eq(surg_dim_text(model, surg_type_dim(n, 1)), "dim(\"n\", 1)");
  surg_graph *body = surg_function_graph(surg_model_function(model, 0));
  spell(surg_value_type(surg_graph_find_value(body, "k")), got, sizeof got);
  ck_assert_str_eq(got, "int64[2]");
  ck_assert_ptr_null(surg_value_type(surg_graph_find_value(body, "b")));
  ck_assert_ptr_null(surg_value_type(surg_graph_find_value(body, "a")));
}
END_TEST

START_TEST(loops_keep_the_shape_of_states) {
  load(HEAD
       "g (int64 n, bool c, float[N,2] x, float[3] k, float[1] e) => (float y)\n"
       "<int64 five = {5}, bool yes = {1}, bool no = {0}> {\n"
       "y, z, w, s = Loop (n, c, x, k, e) <body = b (int64 i, bool ci, float a, float d, float f)\n"
       "=> (bool co, float a2, float d2, float f2, float s2) {\n"
       "co = Identity(ci)\n a2 = Relu(a)\n d2 = Concat <axis = 0> (d, e)\n"
       "f2 = Concat <axis = 0> (f, d)\n s2 = Transpose(a) }>\n"
       "p, q = Loop (five, yes, x) <body = b2 (int64 i, bool ci, float a)\n"
       "=> (bool co, float a2, float s2) {\n"
       "co = Identity(ci)\n a2 = Neg(a)\n s2 = Abs(a2) }>\n"
       "u, v = Loop (five, , x) <body = b3 (int64 i, bool ci, float a)\n"
       "=> (bool co, float a2, float s2) {\n"
       "co = Not(ci)\n a2 = Neg(a)\n s2 = Abs(a2) }>\n"
       "o, m = Loop (five, no, x) <body = b4 (int64 i, bool ci, float a)\n"
       "=> (bool co, float a2, float s2) { co = Identity(ci)\n a2 = Neg(a)\n s2 = Abs(a2) }>\n"
       "j, h = Loop (five, , x) <body = b5 (int64 i, bool ci, float a)\n"
       "=> (bool co, float a2, float s2) { co = Identity(ci)\n a2 = Neg(a)\n s2 = Abs(a2) }>\n}");
  infer("y float[N,2]; z float[?]; w float[?]; s float[?,2,N]; p float[N,2]; q float[5,N,2];"
        " u float[N,2]; v float[?,N,2]; m float[0,N,2]; h float[5,N,2]");
}
END_TEST

/* What one state is hangs on another: the fixed point takes a round for each. */
START_TEST(loops_settle_round_by_round) {
  load(HEAD
       "g (int64 n, bool c, float[2] x, float[2] k, float[3] e) => (float y) {\n"
       "y, z, w = Loop (n, c, x, k, e) <body = b (int64 i, bool ci, float a, float d, float f)\n"
       "=> (bool ci, float d, float f, float a) { }>\n"
       "p, q, r, s, t, u = Loop (n, c, x, x, x, x, x, e) <body = b2 (int64 i, bool ci,\n"
       "float a1, float a2, float a3, float a4, float a5, float a6)\n"
       "=> (bool co, float b1, float b2, float b3, float b4, float b5, float b6) {\n"
       "co = Identity(ci)\n b1 = Relu(a2)\n b2 = Relu(a3)\n b3 = Relu(a4)\n"
       "b4 = Relu(a5)\n b5 = Relu(a6)\n b6 = Concat <axis = 0> (a6, a6) }>\n}");
  infer("y float[?]; z float[?]; w float[?]; p float*; u float*");
  ck_assert(!surg_dim_equal(surg_type_dim(surg_value_type(value("y")), 0),
                            surg_type_dim(surg_value_type(value("z")), 0)));
}
END_TEST

/* Loops in loops would be walked 4^depth times. */
START_TEST(nested_loops_are_bounded) {
  static char text[40000];
  size_t n = 0;
  const int depth = 30; /* as deep as a text nests */
  n += (size_t)sprintf(text, HEAD "g (int64 n, bool c, float[2] x) => (float y) {\n");
  for (int i = 0; i < depth; i++)
    n += (size_t)sprintf(text + n,
                         "%s%d = Loop (n, c, %s%d) <body = b%d (int64 i%d, bool c%d, float a%d)"
                         " => (bool d%d, float r%d) { d%d = Identity(c%d)\n",
                         i ? "q" : "y", i, i ? "a" : "x", i ? i - 1 : 0, i, i, i, i, i, i, i, i);
  n += (size_t)sprintf(text + n, "r%d = Concat <axis = 0> (a%d, a%d)\n", depth - 1, depth - 1,
                       depth - 1);
  for (int i = depth - 1; i > 0; i--)
    n += (size_t)sprintf(text + n, "}>\n r%d = Relu(q%d)\n", i - 1, i);
  sprintf(text + n, "}>\n}");
  /* The outer names are those of the graph. */
  char *p = strstr(text, "y0 = Loop (n, c, x0)");
  memcpy(p, "y  = Loop (n, c, x )", 20);
  load(text);
  infer("y float*");
}
END_TEST

/* Functions that call the next one twice: 2^17 calls, of which the budget walks some. */
START_TEST(calls_of_calls_are_bounded) {
  static char text[8000];
  const int depth = 17;
  size_t n = (size_t)sprintf(text, "<ir_version: 8, opset_import: [\"\": 17, \"f\": 1]>\n"
                                   "g (float[N] x) => (float y) { y = f.F0(x)\n z = Relu(x) }\n");
  for (int i = 0; i < depth; i++)
    n += (size_t)sprintf(text + n,
                         "<domain: \"f\", opset_import: [\"\": 17, \"f\": 1]>\n"
                         "F%d (a) => (b) { c = f.F%d(a)\n b = f.F%d(c) }\n",
                         i, i + 1, i + 1);
  sprintf(text + n, "<domain: \"f\", opset_import: [\"\": 17]>\nF%d (a) => (b) { b = Relu(a) }\n",
          depth);
  load(text);
  infer("y -; z float[N]");
}
END_TEST

START_TEST(first_scans_have_batches) {
  load("<ir_version: 4, opset_import: [\"\": 8]>\n"
       "g (float[B,3] h, float[B,T,3] x) => (float y) {\n"
       "y, s = Scan <num_scan_inputs = 1,\n"
       "body = b (float a, float e) => (float a2, float s2) {\n"
       "a2 = Add(a, e)\n s2 = Concat <axis = 0> (a2, e) }> (, h, x)\n}");
  infer("y float[B,3]; s float[B,T,6]");
}
END_TEST

START_TEST(declarations_may_be_trusted) {
  static const char text[] = HEAD
      "g (float[N] x) => (float[N,K,4] y) <float[K,?] t, seq(float[K]) q, int64[2] w> {\n"
      "t = Foreign(x)\n u = Relu(t)\n y = Other(u)\n q = Third(x)\n e = Identity(q)\n"
      "w = Shape(t)\n v = Relu(w)\n}";
  load(text);
  infer("t -; u -; y -; q -");
  ck_assert_int_eq(surg_model_trust_declared(model, true), SURG_OK);
  infer("t float[K,?]; u float[K,?]; y float[N,K,4]; q seq(float[K]); w int64[2]");
  const surg_dim k = *surg_type_dim(surg_value_type(value("y")), 1);
  ck_assert(surg_dim_equal(&k, surg_type_dim(surg_value_type(value("u")), 0)));
  ck_assert_ptr_null(k.param);
  ck_assert_str_eq(surg_type_dim(surg_value_type(value("y")), 0)->param, "N");
  ck_assert_int_eq(surg_model_trust_declared(model, false), SURG_OK);
  infer("t -; y -");
}
END_TEST

/* From IR 4 on an initializer that is an input too can be anything the input's type allows. */
START_TEST(overridable_initializers_are_no_constants) {
  const char *body = "g (float[6] x, int64[2] s = {2, 3}) => (float y) { y = Reshape(x, s) }";
  char text[512];
  snprintf(text, sizeof text, "<ir_version: 8, opset_import: [\"\": 17]>\n%s", body);
  load(text);
  infer("y float[?,?]");
  snprintf(text, sizeof text, "<ir_version: 3, opset_import: [\"\": 8]>\n%s", body);
  load(text);
  infer("y float[2,3]");
}
END_TEST

START_TEST(edits_void_what_was_proven) {
  load(HEAD "g (float[2,3] x) => (float y) { y = Transpose <perm = [1, 0]> (x)\n z = Relu(y) }");
  infer("y float[3,2]; z float[3,2]");
  surg_node *n = surg_value_producer(value("y"), NULL);
  const int64_t perm[2] = {0, 1};
  ck_assert_int_eq(surg_node_set_ints(n, "perm", perm, 2), SURG_OK);
  ck_assert_ptr_null(surg_value_type(value("y")));
  infer("y float[2,3]; z float[2,3]");
  ck_assert_int_eq(surg_node_set_op(n, "", "Shape"), SURG_OK);
  infer("y int64[2]; z int64[2]");
  const surg_dim d = {7, NULL};
  ck_assert_int_eq(surg_value_set_declared_type(
                       value("x"), surg_type_tensor(model, SURG_FLOAT, &d, 1)),
                   SURG_OK);
  ck_assert_ptr_null(surg_value_type(value("x")));
  infer("x float[7]; y int64[1]");
}
END_TEST

/* What a float holds exactly hangs on how large a symbol may be. */
START_TEST(ranges_make_floats_exact) {
  load(HEAD "g (float[H,W] x) => (float y) <float[1] k = {2.5}, int64[2] one = {1, 1}> {\n"
            "s = Shape(x)\n f = Cast <to = 1> (s)\n g = Mul(f, k)\n i = Cast <to = 7> (g)\n"
            "y = ConstantOfShape(i)\n m = Max(s, one)\n z = ConstantOfShape(m)\n}");
  infer("y float[?,?]; z float[max(H,1),max(W,1)]");
  ck_assert_int_eq(surg_model_assume_dim(model, "H=1..4096"), SURG_OK);
  ck_assert_int_eq(surg_model_assume_dim(model, "W=64"), SURG_OK);
  infer("x float[H,64]; y float[2*H+floor(H/2),160]; z float[H,64]");
  ck_assert_int_eq(surg_model_assume_dim(model, "H%8"), SURG_OK);
  infer("y float[floor(5*H/2),160]");
}
END_TEST

/* Shape arithmetic that would explode: dims become symbols of their own, and it stays quick. */
START_TEST(expressions_do_not_explode) {
  const int64_t two[2] = {2, 2}, axes[2] = {0, 1};
  load(HEAD "g (float[N,M] x, float[A,B] z) => (float y) { y = Relu(x) }");
  surg_graph *g = surg_model_graph(model);
  surg_value *at = value("y");
  for (int i = 0; i < 3000; i++) {
    surg_node *n = surg_graph_add_node(g, NULL, "", i % 3 == 2 ? "Transpose" : "Concat", 1);
    surg_node_set_input(n, 0, at);
    if (i % 3 != 2) {
      surg_node_set_input(n, 1, i % 3 == 1 ? at : value("z"));
      surg_node_set_int(n, "axis", i % 2);
    }
    at = surg_node_output(n, 0);
    if (i % 7) continue;
    n = surg_graph_add_node(g, NULL, "", "Slice", 1);
    surg_tensor *start = surg_tensor_new(model, SURG_INT64, (const int64_t[]){2}, 1, axes, 16);
    surg_tensor *step = surg_tensor_new(model, SURG_INT64, (const int64_t[]){2}, 1, two, 16);
    surg_tensor *end = surg_tensor_new(model, SURG_INT64, (const int64_t[]){2}, 1,
                                       (const int64_t[]){INT64_MAX, 1000000 + i}, 16);
    surg_tensor *axis = surg_tensor_new(model, SURG_INT64, (const int64_t[]){2}, 1, axes, 16);
    surg_tensor *const t[] = {start, end, axis, step};
    surg_node_set_input(n, 0, at);
    for (size_t k = 0; k < 4; k++)
      surg_node_set_input(n, k + 1, surg_graph_constant(g, NULL, "k", t[k]));
    at = surg_node_output(n, 0);
  }
  ck_assert_int_eq(surg_model_infer(model), SURG_OK);
  const surg_type *t = surg_value_type(at);
  ck_assert_uint_eq(surg_type_rank(t), 2);
  ck_assert_uint_lt(strlen(surg_dim_text(model, surg_type_dim(t, 0))), 2000);
}
END_TEST

/* Inferring again without an edit, or with one that changes nothing, makes no new types. */
START_TEST(types_are_used_again) {
  load(HEAD "g (float[2,3] x) => (float y) { y = Transpose(x)\n z = Concat <axis = 0> (y, y) }");
  infer("z float[6,2]");
  const surg_type *z = surg_value_type(value("z"));
  ck_assert_int_eq(surg_node_set_name(surg_value_producer(value("y"), NULL), "n"), SURG_OK);
  infer("z float[6,2]");
  ck_assert_ptr_eq(surg_value_type(value("z")), z);
}
END_TEST

static surg_node *producer(const char *name) { return surg_value_producer(value(name), NULL); }

START_TEST(results_are_measured) {
  uint64_t n = 0;
  load(HEAD "g (float[N] x) => (float y)\n"
            "<int64[2] s = {1000, 1000}, int64[1] z = {0}, float[3] k = {1, 2, 3},\n"
            "int64[3] huge = {4294967296, 4294967296, 4294967296},\n"
            "int64[3] empty = {4294967296, 4294967296, 0}> {\n"
            "y = Relu(x)\n a = ConstantOfShape(s)\n b, c = Split <axis = 0> (s)\n"
            "d = ConstantOfShape(huge)\n e = ConstantOfShape(empty)\n f = NonZero(k)\n"
            "h = Unknown(k)\n i = Cast <to = 8> (k)\n j = Add(k, s)\n}");
  ck_assert(surg_node_result_bytes(producer("a"), &n));
  ck_assert_uint_eq(n, 4000000);
  ck_assert(surg_node_result_bytes(producer("b"), &n));
  ck_assert_uint_eq(n, 16);
  ck_assert(surg_node_result_bytes(producer("d"), &n));
  ck_assert_uint_eq(n, UINT64_MAX);
  ck_assert(surg_node_result_bytes(producer("e"), &n));
  ck_assert_uint_eq(n, 0);
  ck_assert(!surg_node_result_bytes(producer("y"), &n));
  ck_assert(!surg_node_result_bytes(producer("f"), &n));
  ck_assert(!surg_node_result_bytes(producer("h"), &n));
  ck_assert(!surg_node_result_bytes(producer("i"), &n));
  ck_assert(!surg_node_result_bytes(producer("j"), &n));
  ck_assert(!surg_node_result_bytes(NULL, &n));
}
END_TEST

/* A chain of shape arithmetic as long as this must not cost more than its length. */
START_TEST(long_chains_are_linear) {
  load(HEAD "g (float[N] x) => (float y) { s = Shape(x)\n y = Relu(x) }");
  surg_graph *g = surg_model_graph(model);
  surg_value *at = value("s");
  for (int i = 0; i < 200000; i++) {
    surg_node *n = surg_graph_add_node(g, NULL, "", "Add", 1);
    ck_assert_ptr_nonnull(n);
    surg_node_set_input(n, 0, at);
    surg_node_set_input(n, 1, value("s"));
    at = surg_node_output(n, 0);
  }
  ck_assert_int_eq(surg_model_infer(model), SURG_OK);
  ck_assert(surg_type_static(surg_value_type(at), NULL));
}
END_TEST

int main(void) {
  Suite *suite = suite_create("infer");
  TCase *rows = tcase_create("rows"), *c = tcase_create("model");
  tcase_add_checked_fixture(rows, setup, teardown);
  tcase_add_loop_test(rows, row, 0, (int)infer_row_count);
  tcase_add_loop_test(rows, symbolic, 0, (int)infer_symbolic_count);
  tcase_add_loop_test(rows, contrib, 0, (int)infer_contrib_count);
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_set_timeout(c, 30);
  tcase_add_test(c, claims_are_not_read);
  tcase_add_test(c, if_joins_branches);
  tcase_add_test(c, if_with_other_types_has_none);
  tcase_add_test(c, loop_states_may_change_shape);
  tcase_add_test(c, loop_counters_have_the_declared_rank);
  tcase_add_test(c, own_operators_need_no_import);
  tcase_add_test(c, dims_born_in_bodies_stay_there);
  tcase_add_test(c, unknown_dims_are_symbols_of_their_own);
  tcase_add_test(c, elements_are_kept);
  tcase_add_test(c, scan_slices_and_stacks);
  tcase_add_test(c, loops_carry_sequences);
  tcase_add_test(c, sequence_map_seeds_its_body);
  tcase_add_test(c, branches_give_one_kind_of_sequence);
  tcase_add_test(c, deep_nesting_is_walked);
  tcase_add_test(c, functions_are_inferred_per_call);
  tcase_add_test(c, loops_keep_the_shape_of_states);
  tcase_add_test(c, loops_settle_round_by_round);
  tcase_add_test(c, nested_loops_are_bounded);
  tcase_add_test(c, first_scans_have_batches);
  tcase_add_test(c, calls_of_calls_are_bounded);
  tcase_add_test(c, declarations_may_be_trusted);
  tcase_add_test(c, overridable_initializers_are_no_constants);
  tcase_add_test(c, edits_void_what_was_proven);
  tcase_add_test(c, types_are_used_again);
  tcase_add_test(c, ranges_make_floats_exact);
  tcase_add_test(c, expressions_do_not_explode);
  tcase_add_test(c, results_are_measured);
  tcase_add_test(c, long_chains_are_linear);
  suite_add_tcase(suite, rows);
  suite_add_tcase(suite, c);
  return unit_run(suite);
}
