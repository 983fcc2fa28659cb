/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter: sequences, optionals, control flow, functions, and what it keeps in memory. */
#include <stdlib.h>

#include "base/context.h"
#include "interpret_rows.h"
#include "../unit.h"

#define AB "a = Constant<value_ints=[1,2]>() b = Constant<value_ints=[3]>() "

#define GRADIENT                                                                            \
  "<ir_version: 8, opset_import: [\"\" : 20, \"ai.onnx.preview.training\" : 1]>\n"          \
  "g () => (float dx, float dw) { x = Constant<value_floats=[2.0, 3.0]>() "                  \
  "w = Constant<value_float=5.0>() p = Constant<value_floats=[0.5, 1.0]>() "
#define OF(inputs, y) \
  "dx, dw = ai.onnx.preview.training.Gradient<xs=[\"x\", \"w\"], y=\"" y "\">(" inputs ") }"

static const interpret_row gradients[] = {
    {"a product, broadcast", GRADIENT "y = Mul(x, w) " OF("x, w", "y"),
     "float[2]: 5 5\nfloat[]: 5"},
    {"one value twice", GRADIENT "q = Mul(x, x) y = Sub(q, w) " OF("x, w", "y"),
     "float[2]: 4 6\nfloat[]: -2"},
    {"a quotient of what is kept and what is not",
     GRADIENT "k = Constant<value_float=12.0>() q = Div(k, x) y = Mul(q, w) " OF("x, w", "y"),
     "float[2]: -15 -6.66667\nfloat[]: 10"},
    {"at other points than those of the graph",
     GRADIENT "r = Reciprocal(x) y = Add(r, w) " OF("p, w", "y"), "float[2]: -4 -1\nfloat[]: 2"},
    {"a chain", GRADIENT "n = Neg(x) r = Relu(n) e = Exp(r) s = Sum(e, w, x) y = Identity(s) "
     OF("x, w", "y"), "float[2]: 1 1\nfloat[]: 2"},
    {"the point itself", GRADIENT OF("x, w", "x"), "float[2]: 1 1\nfloat[]: 0"},
    {"no derivative", GRADIENT "y = MatMul(x, x) " OF("x, w", "y"),
     "!unsupported: no derivative of an operator on the way"},
    {"no such value", GRADIENT OF("x, w", "z"),
     "!invalid model: y names no value, or outputs are not xs"},
    {"too few points", GRADIENT "y = Mul(x, w) " OF("x", "y"),
     "!invalid model: xs or zs names a value that is not there, or has no input"},
    {"no floats", GRADIENT "i = Cast<to=7>(x) y = Cast<to=1>(i) " OF("x, w", "y"),
     "!unsupported: a derivative of a value that is not float"},
};

START_TEST(test_gradients) {
  INTERPRET_CHECK(gradients);
}
END_TEST

static const interpret_row sequences[] = {
    {"construct and read",
     "g () => (seq(int64[N]) s, int64[N] last, int64 n) {" AB
     "s = SequenceConstruct(a, b) i = Constant<value_int=-1>() last = SequenceAt(s, i)"
     "n = SequenceLength(s) }",
     "[int64[2]: 1 2; int64[1]: 3]\nint64[1]: 3\nint64[]: 2"},
    {"a position out of range",
     "g () => (int64[N] x) {" AB
     "s = SequenceConstruct(a, b) i = Constant<value_int=2>() x = SequenceAt(s, i) }",
     "!invalid model: a position is out of range"},
    {"a position out of range at the front",
     "g () => (int64[N] x) {" AB
     "s = SequenceConstruct(a, b) i = Constant<value_int=-3>() x = SequenceAt(s, i) }",
     "!invalid model: a position is out of range"},
    {"the empty sequence",
     "g () => (seq(float) s, int64 n) {"
     "s = SequenceEmpty() n = SequenceLength(s) }",
     "[]\nint64[]: 0"},
    {"nothing to take from it",
     "g () => (seq(float) s) { e = SequenceEmpty() s = SequenceErase(e) }",
     "!invalid model: the sequence is empty"},
    {"insert at both ends and in the middle",
     "g () => (seq(int64[N]) s) {" AB
     "e = SequenceEmpty<dtype=7>() s1 = SequenceInsert(e, a) z = Constant<value_int=0>()"
     "s2 = SequenceInsert(s1, b, z) m = Constant<value_int=-1>() s = SequenceInsert(s2, a, m) }",
     "[int64[1]: 3; int64[2]: 1 2; int64[2]: 1 2]"},
    {"insert behind the end",
     "g () => (seq(int64[N]) s) {" AB
     "e = SequenceConstruct(a) p = Constant<value_int=2>() s = SequenceInsert(e, b, p) }",
     "!invalid model: a position is out of range"},
    {"insert another type",
     "g () => (seq(float) s) {" AB "e = SequenceEmpty() s = SequenceInsert(e, a) }",
     "!invalid model: the sequence has another element type"},
    {"construct from two types",
     "g () => (seq(float) s) {" AB "f = Constant<value_float=1.0>() s = SequenceConstruct(a, f) }",
     "!invalid model: inputs that must have one type differ"},
    {"erase",
     "g () => (seq(int64[N]) s) {" AB
     "e = SequenceConstruct(a, b, a) p = Constant<value_int=1>() s = SequenceErase(e, p) }",
     "[int64[2]: 1 2; int64[2]: 1 2]"},
    {"split: sizes, scalar, none",
     "g () => (seq(int64[N]) x, seq(int64[N]) y, seq(int64) z) {"
     "a = Constant<value_ints=[1,2,3]>() p = Constant<value_ints=[0,3]>()"
     "x = SplitToSequence(a, p) q = Constant<value_int=2>() y = SplitToSequence(a, q)"
     "z = SplitToSequence<keepdims=0>(a) }",
     "[int64[0]:; int64[3]: 1 2 3]\n[int64[2]: 1 2; int64[1]: 3]\n"
     "[int64[]: 1; int64[]: 2; int64[]: 3]"},
    {"split: sizes that do not add up",
     "g () => (seq(int64[N]) x) {"
     "a = Constant<value_ints=[1,2,3]>() p = Constant<value_ints=[1,1]>()"
     "x = SplitToSequence(a, p) }",
     "!invalid model: the sizes do not add up to the axis"},
    {"split strings, join them again",
     "g () => (seq(string[N]) x, string[N] y) {"
     "a = Constant<value_strings=[\"a\", \"\", \"long enough for two\"]>()"
     "x = SplitToSequence(a) y = ConcatFromSequence<axis=0>(x) }",
     "[string[1]: \"a\"; string[1]: \"\"; string[1]: \"long enough for two\"]\n"
     "string[3]: \"a\" \"\" \"long enough for two\""},
    {"concat along a new axis",
     "g () => (int64[N,M] y) {" AB
     "s = SequenceConstruct(a, a) y = ConcatFromSequence<axis=-1, new_axis=1>(s) }",
     "int64[2,2]: 1 1 2 2"},
    {"concat of shapes that differ",
     "g () => (int64[N,M] y) {" AB
     "s = SequenceConstruct(a, b) y = ConcatFromSequence<axis=0, new_axis=1>(s) }",
     "!invalid model: the inputs differ beside the axis"},
    {"concat of nothing",
     "g () => (float[N] y) {"
     "s = SequenceEmpty() y = ConcatFromSequence<axis=0>(s) }",
     "!invalid model: the sequence is empty"},
    {"identity", "g () => (seq(int64[N]) y) {" AB "s = SequenceConstruct(a, b) y = Identity(s) }",
     "[int64[2]: 1 2; int64[1]: 3]"},
};

START_TEST(test_sequences) {
  INTERPRET_CHECK(sequences);
}
END_TEST

static const interpret_row optionals[] = {
    {"with and without",
     "g () => (bool x, bool y, bool z, int64[N] e) {" AB
     "o = Optional(a) x = OptionalHasElement(o) n = Optional<type=int64[2]>()"
     "y = OptionalHasElement(n) z = OptionalHasElement() e = OptionalGetElement(o) }",
     "bool[]: 1\nbool[]: 0\nbool[]: 0\nint64[2]: 1 2"},
    {"of a sequence",
     "g () => (optional(seq(int64[N])) o, int64 n) {" AB
     "s = SequenceConstruct(a, b) o = Optional(s) t = OptionalGetElement(o)"
     "n = SequenceLength(t) }",
     "some([int64[2]: 1 2; int64[1]: 3])\nint64[]: 2"},
    {"nothing in it",
     "g () => (int64[N] e) {"
     "n = Optional<type=int64[2]>() e = OptionalGetElement(n) }",
     "!invalid model: the optional has no element"},
    {"a tensor is its own element", "g () => (int64[N] e) {" AB "e = OptionalGetElement(a) }",
     "int64[2]: 1 2"},
    {"an optional of an optional",
     "g () => (optional(int64[N]) p) {" AB "o = Optional(a) p = Optional(o) }",
     "!invalid model: an input has a type the operator does not accept"},
};

START_TEST(test_optionals) {
  INTERPRET_CHECK(optionals);
}
END_TEST

#define TURNS(n) "t = Constant<value_int=" #n ">() c = Constant<value=bool {1}>() "

static const interpret_row control[] = {
    {"Loop: carried, scanned, captured",
     "g () => (int64 s, int64[N] all) {" TURNS(
         4) "z = Constant<value_int=0>() k = Constant<value_int=10>()"
            "s, all = Loop(t, c, z) <body = b (int64 i, bool go, int64 x) => (bool go2, int64 y, "
            "int64 o) {"
            "go2 = Identity(go) y = Add(x, i) o = Mul(y, k) }> }",
     "int64[]: 6\nint64[4]: 0 10 30 60"},
    {"Loop: the condition ends it",
     "g () => (int64 s) {" TURNS(
         100) "z = Constant<value_int=0>()"
              "s = Loop(t, c, z) <body = b (int64 i, bool go, int64 x) => (bool go2, int64 y) {"
              "y = Add(x, i) m = Constant<value_int=10>() go2 = Less(y, m) }> }",
     "int64[]: 10"},
    {"Loop: no turn, scan output of the declared shape",
     "g () => (int64 s, float[N,2] all) {" TURNS(
         0) "z = Constant<value_int=7>()"
            "s, all = Loop(t, c, z) <body = b (int64 i, bool go, int64 x) => "
            "(bool go2, int64 y, float[2] o) { go2 = Identity(go) y = Identity(x)"
            "o = Constant<value_floats=[1.0, 2.0]>() }> }",
     "int64[]: 7\nfloat[0,2]:"},
    {"Loop: without bound and condition",
     "g () => (int64 s) { z = Constant<value_int=0>()"
     "s = Loop(, , z) <body = b (int64 i, bool go, int64 x) => (bool go2, int64 y) {"
     "go2 = Identity(go) y = Add(x, i) }> }",
     "!limit reached: the run exceeds its work limit"},
    {"Loop: carries a sequence",
     "g () => (seq(int64) s) {" TURNS(3) "z = SequenceEmpty<dtype=7>()"
                                         "s = Loop(t, c, z) <body = b (int64 i, bool go, "
                                         "seq(int64) x) => (bool go2, seq(int64) y) {"
                                         "go2 = Identity(go) y = SequenceInsert(x, i) }> }",
     "[int64[]: 0; int64[]: 1; int64[]: 2]"},
    {"Loop: scan outputs of different shapes",
     "g () => (int64[N,M] all) {" TURNS(
         2) "all = Loop(t, c) <body = b (int64 i, bool go) => (bool go2, int64[K] o) {"
            "go2 = Identity(go) u = Constant<value_ints=[0]>() s = Unsqueeze(i, u)"
            "o = ConstantOfShape(s) }> }",
     "!invalid model: scan outputs differ in shape"},
    {"Loop: swaps what it carries",
     "g () => (int64 x, int64 y) {" TURNS(
         3) "p = Constant<value_int=1>() q = Constant<value_int=2>()"
            "x, y = Loop(t, c, p, q) <body = b (int64 i, bool go, int64 u, int64 v) => "
            "(bool go, int64 v, int64 u) { }> }",
     "int64[]: 2\nint64[]: 1"},
    {"If: a branch gives an outer value",
     "g () => (int64[N] x) {" AB "c = Constant<value=bool {0}>()"
     "x = If(c) <then_branch = t () => (int64[N] p) { p = Identity(a) },"
     "else_branch = e () => (int64[N] q) { q = Add(b, b) }> y = Add(a, b) }",
     "int64[1]: 6"},
    {"If: a sequence",
     "g () => (seq(int64[N]) x) {" AB "c = Constant<value=bool {1}>()"
     "x = If(c) <then_branch = t () => (seq(int64[N]) p) { p = SequenceConstruct(a, b) },"
     "else_branch = e () => (seq(int64[N]) q) { q = SequenceEmpty<dtype=7>() }> }",
     "[int64[2]: 1 2; int64[1]: 3]"},
    {"If: two conditions",
     "g () => (int64[N] x) {" AB "c = Constant<value=bool[2] {1, 1}>()"
     "x = If(c) <then_branch = t () => (int64[N] p) { p = Identity(a) },"
     "else_branch = e () => (int64[N] q) { q = Identity(b) }> }",
     "!invalid model: a condition is not a single boolean"},
    {"SequenceMap",
     "g () => (seq(int64[N]) x, seq(int64) n) {" AB "s = SequenceConstruct(a, b)"
     "x, n = SequenceMap(s, b) <body = m (int64[N] u, int64[1] v) => (int64[N] p, int64 q) {"
     "p = Add(u, v) q = Size(u) }> }",
     "[int64[2]: 4 5; int64[1]: 6]\n[int64[]: 2; int64[]: 1]"},
    {"SequenceMap: a second sequence that is shorter",
     "g () => (seq(int64[N]) x) {" AB "s = SequenceConstruct(a, b) r = SequenceConstruct(b)"
     "x = SequenceMap(s, r) <body = m (int64[N] u, int64[1] v) => (int64[N] p) {"
     "p = Add(u, v) }> }",
     "!invalid model: a sequence is shorter than the first one"},
    {"SequenceMap: of nothing",
     "g () => (seq(float) x) { s = SequenceEmpty()"
     "x = SequenceMap(s) <body = m (float u) => (float p) { p = Neg(u) }> }",
     "[]"},
};

START_TEST(test_control) {
  INTERPRET_CHECK(control);
}
END_TEST

#define SUM_BODY                                                     \
  "body = b (int64 s, int64[2] x) => (int64 t, int64[2] y) {"        \
  "ax = Constant<value_ints=[0]>() r = ReduceSum<keepdims=0>(x, ax)" \
  "t = Add(s, r) y = Mul(x, s) }"

static const interpret_row scans[] = {
    {"Scan",
     "g () => (int64 s, int64[N,2] y) <int64[3,2] x = {1,2,3,4,5,6}, int64 z = {1}> {"
     "s, y = Scan<num_scan_inputs=1, " SUM_BODY ">(z, x) }",
     "int64[]: 22\nint64[3,2]: 1 2 12 16 55 66"},
    {"Scan: backwards, other axes",
     "g () => (int64 s, int64[2,N] y) "
     "<int64[2,3] x = {1,3,5,2,4,6}, int64 z = {1}> {"
     "s, y = Scan<num_scan_inputs=1, scan_input_axes=[-1], scan_input_directions=[1],"
     "scan_output_axes=[1], scan_output_directions=[1], " SUM_BODY ">(z, x) }",
     "int64[]: 22\nint64[2,3]: 19 36 5 38 48 6"},
    {"Scan: nothing to scan",
     "g () => (int64 s, int64[N,2] y) <int64[0,2] x = {}, int64 z = {1}> {"
     "s, y = Scan<num_scan_inputs=1, " SUM_BODY ">(z, x) }",
     "int64[]: 1\nint64[0,2]:"},
    {"Scan: an axis out of range",
     "g () => (int64 s, int64[N,2] y) "
     "<int64[3,2] x = {1,2,3,4,5,6}, int64 z = {1}> {"
     "s, y = Scan<num_scan_inputs=1, scan_input_axes=[2], " SUM_BODY ">(z, x) }",
     "!invalid model: the axis of a scan input is out of range"},
    {"Scan: lengths differ",
     "g () => (int64[N] y) <int64[3] x = {1,2,3}, int64[2] z = {1,2}> {"
     "y = Scan<num_scan_inputs=2, body = b (int64 u, int64 v) => (int64 w) { w = Add(u, v) }>(x, z)"
     "}",
     "!invalid model: scan inputs differ in length"},
    {"Scan of version 8: a batch with lengths",
     "<ir_version: 8, opset_import: [\"\" : 8]> g () => (float[2] s, float[2,3] y) "
     "<float[2,3] x = {1,2,3,4,5,6}, float[2] z = {0, 10}, int64[2] n = {3, 1}> {"
     "s, y = Scan<num_scan_inputs=1, body = b (float u, float v) => (float t, float w) {"
     "t = Add(u, v) w = Identity(t) }>(n, z, x) }",
     "float[2]: 6 14\nfloat[2,3]: 1 3 6 14 0 0"},
    {"Scan of version 8: too long",
     "<ir_version: 8, opset_import: [\"\" : 8]>"
     "g () => (float[2] s, float[2,3] y) "
     "<float[2,3] x = {1,2,3,4,5,6}, float[2] z = {0, 10}, int64[2] n = {3, 4}> {"
     "s, y = Scan<num_scan_inputs=1, body = b (float u, float v) => (float t, float w) {"
     "t = Add(u, v) w = Identity(t) }>(n, z, x) }",
     "!invalid model: the lengths of sequences do not fit"},
};

START_TEST(test_scan) {
  INTERPRET_CHECK(scans);
}
END_TEST

#define WITH_F "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]>"

static const interpret_row functions[] = {
    {"attributes: given, default, absent",
     WITH_F "g () => (float[2] x, float[2] y) <float[2] a = {-1, 1}> {"
            "x = d.f<alpha = 0.5>(a) y = d.f(a) }"
            "<domain: \"d\", opset_import: [\"\" : 17]> f <alpha: float = 0.25> (p) => (q) {"
            "q = LeakyRelu<alpha : float = @alpha>(p) }",
     "float[2]: -0.5 1\nfloat[2]: -0.25 1"},
    {"an absent attribute has the operator's default",
     WITH_F "g () => (float[2] x) <float[2] a = {-1, 1}> { x = d.f(a) }"
            "<domain: \"d\", opset_import: [\"\" : 17]> f <alpha> (p) => (q) {"
            "q = LeakyRelu<alpha : float = @alpha>(p) }",
     "float[2]: -0.01 1"},
    {"through two calls and a subgraph",
     WITH_F "g () => (float[2] x) <float[2] a = {-1, 1}> { x = d.h<beta = 2.0>(a) }"
            "<domain: \"d\", opset_import: [\"\" : 17, \"d\" : 1]> h <beta> (p) => (q) {"
            "c = Constant<value=bool {1}>()"
            "q = If(c) <then_branch = t () => (r) { r = d.f<alpha : float = @beta>(p) },"
            "else_branch = e () => (s) { s = Identity(p) }> }"
            "<domain: \"d\", opset_import: [\"\" : 17]> f <alpha> (p) => (q) {"
            "q = LeakyRelu<alpha : float = @alpha>(p) }",
     "float[2]: -2 1"},
    {"an input that is not given",
     WITH_F "g () => (float[2] x) <float[2] a = {-1, 1}> { x = d.f(a) }"
            "<domain: \"d\", opset_import: [\"\" : 17]> f (p, low) => (q) { q = Clip(p, low) }",
     "float[2]: -1 1"},
};

START_TEST(test_functions) {
  INTERPRET_CHECK(functions);
}
END_TEST

/* Values are given up after their last use: 100 turns over 64 KiB fit into 1 MiB. */
START_TEST(test_frees) {
  surg_context *ctx = interpret_context();
  surg_model *m = interpret_parse(ctx,
      "g () => (float s) { n = Constant<value_ints=[16384]>() x = ConstantOfShape(n)"
      TURNS(100) "y = Loop(t, c, x) <body = b (int64 i, bool go, float[N] u) => "
      "(bool go2, float[N] v) { go2 = Identity(go) p = Neg(u) q = Exp(p) r = Neg(q)"
      "v = Relu(r) }> s = ReduceSum<keepdims=0>(y) }");
  surg__array none = {0}, out = {0};
  surg__session session = {.max_bytes = 1 << 20, .max_work = 1 << 30};
  uint64_t before = surg__alloc_bytes(ctx);
  ctx->peak = before;
  ck_assert_int_eq(surg__session_run(&session, m, &none, &out), SURG_OK);
  ck_assert_uint_lt(surg__alloc_peak(ctx) - before, 1 << 20);
  surg__array_drop(&out);
  surg_model_free(m);
  surg_context_free(ctx);
}
END_TEST

static surg_status keep_names(void *user, const surg_node *n, size_t output, const surg__array *a) {
  surg__buf *b = user;
  surg__buf_printf(b, "%s:%d ", surg_value_name(surg_node_output(n, output)), a->dtype);
  return SURG_OK;
}

START_TEST(test_watch) {
  surg_context *ctx = interpret_context();
  surg_model *m =
      interpret_parse(ctx, "g () => (int64 s) { a = Constant<value_int=1>() s = Neg(a) }");
  surg__array none = {0}, out = {0};
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__session session = {.max_bytes = 1 << 20, .max_work = 100, .watch = keep_names, .user = &b};
  ck_assert_int_eq(surg__session_run(&session, m, &none, &out), SURG_OK);
  surg__buf_putc(&b, 0);
  ck_assert_str_eq(b.p, "a:7 s:7 ");
  surg__buf_free(&b);
  surg__array_drop(&out);
  surg_model_free(m);
  surg_context_free(ctx);
}
END_TEST

START_TEST(test_starved) {
  INTERPRET_STARVE(gradients);
  INTERPRET_STARVE(sequences);
  INTERPRET_STARVE(optionals);
  INTERPRET_STARVE(control);
  INTERPRET_STARVE(scans);
  INTERPRET_STARVE(functions);
}
END_TEST

int main(void) {
  Suite *s = suite_create("interpret");
  TCase *c = tcase_create("all");
  tcase_add_test(c, test_gradients);
  tcase_add_test(c, test_sequences);
  tcase_add_test(c, test_optionals);
  tcase_add_test(c, test_control);
  tcase_add_test(c, test_scan);
  tcase_add_test(c, test_functions);
  tcase_add_test(c, test_frees);
  tcase_add_test(c, test_watch);
  tcase_add_test(c, test_starved);
  suite_add_tcase(s, c);
  return unit_run(s);
}
