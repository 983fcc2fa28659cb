/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of ONNX text: what the grammar means, that text and back is the same message for any
 * message at all, and where errors are seen. */
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "io/io.h"
#include "onnx.pb-c.h"
#include "../unit.h"

static surg_context *ctx;

static void setup(void) {
  ctx = surg_context_new(NULL);
  ck_assert_ptr_nonnull(ctx);
}

static void teardown(void) {
  surg_context_free(ctx);
}

/* Parses text that must be right. */
static surg__buf parse(const char *text) {
  surg__buf wire;
  surg__buf_init(&wire, ctx);
  surg_status s = surg__text_parse(ctx, text, strlen(text), "t", &wire);
  ck_assert_msg(!s, "%s", surg_context_error(ctx));
  return wire;
}

static Onnx__ModelProto *unpack(const surg__buf *wire) {
  Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, wire->n, (const uint8_t *)wire->p);
  ck_assert_ptr_nonnull(m);
  return m;
}

static Onnx__ModelProto *model_of(const char *text) {
  surg__buf wire = parse(text);
  Onnx__ModelProto *m = unpack(&wire);
  surg__buf_free(&wire);
  return m;
}

static void free_model(Onnx__ModelProto *m) {
  onnx__model_proto__free_unpacked(m, NULL);
}

static char *print(const uint8_t *p, size_t n, bool strict) {
  surg__buf text;
  surg__buf_init(&text, ctx);
  surg_status s = surg__text_print(ctx, p, n, strict, "t", &text);
  ck_assert_msg(!s, "%s", surg_context_error(ctx));
  char *copy = strndup(text.p, text.n);
  surg__buf_free(&text);
  return copy;
}

/* Text -> wire -> text is the text given. */
static void same_text(const char *text) {
  surg__buf wire = parse(text);
  char *again = print((const uint8_t *)wire.p, wire.n, false);
  ck_assert_str_eq(again, text);
  free(again);
  surg__buf_free(&wire);
}

/* The one line of the error that text gives. */
static void error_is(const char *text, size_t n, const char *line) {
  surg__buf wire;
  surg__buf_init(&wire, ctx);
  surg_context_clear_error(ctx);
  ck_assert_int_eq(surg__text_parse(ctx, text, n, "t", &wire), SURG_EINVALID);
  ck_assert_str_eq(surg_context_error(ctx), line);
  surg_context_clear_error(ctx);
  surg__buf_free(&wire);
}

static void error_of(const char *text, const char *line) {
  error_is(text, strlen(text), line);
}

/* --- what text means --- */

START_TEST(official) {
  Onnx__ModelProto *m = model_of(
      "# a comment\n<ir_version: 8, opset_import: [\"\" : 17, \"com.acme\" : 1],\n"
      " producer_name: \"me\", metadata_props: [\"k\": \"v\"]>\n"
      "agraph (float[N, 3] x, int64 y = {7}) => (float[N] z)\n"
      "<float[2] w = {1, 2.5}, float[N] t>\n"
      "{ [first] t = Add (x, w) z = com.acme.Foo:over <alpha: float = 1, axes = [1, -2]> (t, , y)\n"
      " , q = Two(z,) }\n");
  Onnx__GraphProto *g = m->graph;
  ck_assert_int_eq(m->ir_version, 8);
  ck_assert_uint_eq(m->n_opset_import, 2);
  ck_assert_int_eq(m->opset_import[1]->version, 1);
  ck_assert_str_eq(m->metadata_props[0]->value, "v");
  ck_assert_str_eq(g->name, "agraph");
  ck_assert_str_eq(g->input[0]->type->tensor_type->shape->dim[0]->dim_param, "N");
  ck_assert_int_eq(g->input[0]->type->tensor_type->shape->dim[1]->dim_value, 3);
  ck_assert_uint_eq(g->input[1]->type->tensor_type->shape->n_dim, 0);
  ck_assert_uint_eq(g->n_initializer, 2);
  ck_assert_str_eq(g->initializer[0]->name, "y");
  ck_assert_int_eq(g->initializer[0]->int64_data[0], 7);
  ck_assert_uint_eq(g->initializer[1]->n_float_data, 2);
  ck_assert_uint_eq(g->n_value_info, 1);
  ck_assert_uint_eq(g->n_node, 3);
  ck_assert_str_eq(g->node[0]->name, "first");
  ck_assert_ptr_null(g->node[0]->domain);
  ck_assert_str_eq(g->node[1]->domain, "com.acme");
  ck_assert_str_eq(g->node[1]->op_type, "Foo");
  ck_assert_str_eq(g->node[1]->overload, "over");
  ck_assert_uint_eq(g->node[1]->n_input, 3);
  ck_assert_str_eq(g->node[1]->input[1], "");
  ck_assert_int_eq(g->node[1]->attribute[0]->type, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
  ck_assert(g->node[1]->attribute[0]->f == 1.0f);
  ck_assert_int_eq(g->node[1]->attribute[1]->ints[1], -2);
  ck_assert_uint_eq(g->node[2]->n_output, 2);
  ck_assert_uint_eq(g->node[2]->n_input, 1);
  free_model(m);
}
END_TEST

START_TEST(functions) {
  Onnx__ModelProto *m = model_of(
      "g () => () {}\n<domain: \"d\", overload: \"o\", opset_import: [\"\" : 17]>\n"
      "f <a, b: int = 3> (x, float[2] y) => (z) <float t> { z = Foo <c: int = @a> (x, y) }\n"
      "h () => () {}");
  Onnx__FunctionProto *f = m->functions[0];
  ck_assert_uint_eq(m->n_functions, 2);
  ck_assert_str_eq(f->overload, "o");
  ck_assert_uint_eq(f->n_attribute, 1);
  ck_assert_uint_eq(f->n_attribute_proto, 1);
  ck_assert_int_eq(f->attribute_proto[0]->i, 3);
  ck_assert_uint_eq(f->n_value_info, 2);
  ck_assert_str_eq(f->value_info[0]->name, "y");
  ck_assert_str_eq(f->node[0]->attribute[0]->ref_attr_name, "a");
  ck_assert_int_eq(f->node[0]->attribute[0]->type, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
  free_model(m);
}
END_TEST

static const char types_text[] =
    "t (seq(float[]) a, map(int64, string) b, optional(seq(int8[?, \"x/y\"])) c,"
    " sparse_tensor(double[2, -1]) d, opaque(dom, nam) e, float f, \"float\", \"seq\") => () "
    "{\n}\n";

START_TEST(types) {
  same_text(types_text);
  same_text("t (type_proto @{tensor_type: {elem_type: 99}} a, type_proto @{} b,"
            " float[N @{denotation: \"D\"}] @{denotation: \"I\"} c) => () {\n}\n");
}
END_TEST

START_TEST(attributes) {
  same_text(
      "g () => () {\n"
      "  = A <a = 1, b = 1.5, c = \"s\\n\\x00\\\"\", d = [1, 2], e = [1.0], f = [\"x\", \"\"],"
      " g: ints = [], h: strings = [], i: type_proto = float[2], j: floats = [],"
      " k: sparse_tensor = {values: float[1] = {1.0}, indices: int64[1] = {0}, dims: [4]},"
      " l = [float = {1.0}, bool n = {0}], m: type_protos = [float], \"odd name\" = 1, o = @p,"
      " q: tensor = @r, s = 1 @{!type}, t @{type: FLOAT}, u @{}, v @{i: 1, type: 99},"
      " w = 1 @{doc_string: \"d\"}> ()\n"
      "  = B () <x = y () => () {\n  } @{} @{doc_string: \"of x\"}, z = [\"a b\" () => () {\n  "
      "}]>\n"
      "}\n");
}
END_TEST

START_TEST(tensors) {
  same_text(
      "g () => () <\n"
      "  float[2] a = {1.0, -0.0},\n"
      "  float[4] b = raw {inf, -nan, nan:0x7fc00001, 1.4013e-45},\n"
      "  double c = {0.1},\n"
      "  float16[2] d = 0x003c00bc,\n"
      "  float16[2] e = {15360, 48128},\n"
      "  string[2] f = {\"a\", \"\\xff\"},\n"
      "  int64[1] g = [\"location\": \"w.bin\", \"offset\": \"0\"],\n"
      "  uint64[1] h = {18446744073709551615},\n"
      "  int4[3] i = 0x2301,\n"
      "  bool[0] j = raw {},\n"
      "  int8[0] k = {},\n"
      "  tensor_proto l = {} @{dims: [2], data_type: 99, raw_data: 0x0102},\n"
      "  float[1] m = {1.0} @{int32_data: [1, 2], doc_string: \"\", data_location: DEFAULT},\n"
      "  complex64[1] n = {1.0, 2.0},\n"
      "  float[1] \"\" = {1.0} @{!name}\n"
      "> {\n}\n");
}
END_TEST

START_TEST(leftovers) {
  same_text(
      "<\n  ir_version: 8,\n  opset_import: [\"\" : 17 @{!domain}, \"\" : 0 @{!version}],\n"
      "  doc_string: \"\"\n> @{training_info: [{algorithm: a () => () {\n},"
      " update_binding: [\"x\": \"y\"]}], 999:2: 0x6869, 1000:0: 0x8100, 1001:5: 0x01020304}\n"
      "\"\" () => () {\n"
      "  [\"\"] a, \"\" = .Op (\"\") @{metadata_props: [\"a\": \"b\"]}\n"
      "  = \"x-y\".\"a.b\":\"\" ()\n"
      "  = \"\" () @{!op_type}\n"
      "} @{!name, quantization_annotation: [{tensor_name: \"a\"}]}\n");
  same_text("<>\n");
  same_text("<> @{functions: [{name: \"f\", node: [{op_type: \"A\"}]}]}\n");
}
END_TEST

START_TEST(input_forms) {
  /* Forms that are read and printed otherwise. */
  Onnx__ModelProto *m = model_of(
      "g () => () <float[3] w = {0x1.8p3, INF, -Infinity}> {"
      " = A <a = [1, 0.5], t = float {2}, u = int32[1] n {3}, s = \"\\q\">() = B()<b = nan> = C <> "
      "() }");
  Onnx__NodeProto *a = m->graph->node[0];
  ck_assert(m->graph->initializer[0]->float_data[0] == 12.0f);
  ck_assert(m->graph->initializer[0]->float_data[2] < -1e38f);
  ck_assert_uint_eq(a->attribute[0]->n_floats, 2);
  ck_assert(a->attribute[0]->floats[1] == 0.5f);
  ck_assert_int_eq(a->attribute[1]->type, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR);
  ck_assert_str_eq(a->attribute[2]->t->name, "n");
  ck_assert_mem_eq(a->attribute[3]->s.data, "q", 1);
  ck_assert(m->graph->node[1]->attribute[0]->f != m->graph->node[1]->attribute[0]->f);
  free_model(m);
}
END_TEST

/* Every finite float pattern of a sample comes back as its bits. */
START_TEST(float_bits) {
  char text[200];
  uint32_t bits = 12345;
  for (int i = 0; i < 2000; i++) {
    bits = bits * 1664525u + 1013904223u;
    uint8_t wire[64], tensor[16];
    size_t n = 0;
    memcpy(tensor, "\x10\x01\x22\x04", 4);
    memcpy(tensor + 4, &bits, 4);
    wire[n++] = 0x3a, wire[n++] = 10, wire[n++] = 0x2a, wire[n++] = 8;
    memcpy(wire + n, tensor, 8);
    char *s = print(wire, n + 8, false);
    surg__buf back = parse(s);
    snprintf(text, sizeof text, "%08x: %s", bits, s);
    ck_assert_msg(back.n >= 4 && memmem(back.p, back.n, &bits, 4), "%s", text);
    surg__buf_free(&back);
    free(s);
  }
}
END_TEST

/* --- strict --- */

START_TEST(strict) {
  surg__buf wire = parse("<ir_version: 8> @{9:0: 0x01}\n g () => (type_proto @{} y) <"
                         "float[1] w = raw {1.0}, float16[1] h = 0x003c> {"
                         " y = .Op <\"a b\" = 1, k: sparse_tensor = {}, s = \"\\n\\\\\"> ()"
                         " @{doc_string: \"d\"} }");
  char *text = print((const uint8_t *)wire.p, wire.n, true);
  ck_assert_str_eq(text, "<\n  ir_version: 8\n>\ng () => (y) <\n  float[1] w = {1.0},\n"
                         "  float16[1] h = {15360}\n> {\n"
                         "  y = Op <a_b: int = 1, s: string = \"\n\\\\\"> ()\n}\n");
  free(text);
  surg__buf_free(&wire);
}
END_TEST

static void count_note(void *user, surg_severity severity, const char *line) {
  ck_assert_int_eq(severity, SURG_NOTE);
  ck_assert_ptr_nonnull(strstr(line, "plain ONNX text: 2 NodeProto.doc_string dropped"));
  ++*(int *)user;
}

START_TEST(strict_says_what_it_drops) {
  int notes = 0;
  surg_config config = {.size = sizeof config, .diag = count_note, .diag_user = &notes};
  surg__buf wire = parse("g () => () { = A () @{doc_string: \"\"} = A () @{doc_string: \"x\"} }");
  surg_context *other = surg_context_new(&config);
  surg__buf text;
  surg__buf_init(&text, other);
  ck_assert_int_eq(surg__text_print(other, (const uint8_t *)wire.p, wire.n, true, "t", &text), 0);
  ck_assert_int_eq(notes, 1);
  surg__buf_free(&text);
  surg_context_free(other);
  surg__buf_free(&wire);
}
END_TEST

/* --- errors --- */

START_TEST(errors) {
  error_of("", "t:1:1: error: expected the name of a graph, found the end");
  error_of("<ir_version: x>\ng () => () {}",
           "t:1:14: error: expected a number, found \"x\"");
  error_of("<ir_version: 1.5>", "t:1:14: error: expected an integer");
  error_of("<graph: 1>", "t:1:2: error: \"graph\" is not allowed here");
  error_of("g ()\n  = () {}", "t:2:3: error: expected '=>', found \"=\"");
  error_of("g (flat[2] x) => () {}", "t:1:8: error: expected ')', found \"[\"");
  error_of("g (seq(flat) x) => () {}", "t:1:8: error: \"flat\" is not a type");
  error_of("g () => () { = A <x = [1, \"a\"]> () }",
           "t:1:27: error: the value is not of type int");
  error_of("g () => () { = A <x: quux = 1> () }",
           "t:1:22: error: \"quux\" is not a type of attributes");
  error_of("g () => () { = A <x = []> () }",
           "t:1:25: error: an empty list needs a type: name: ints = []");
  error_of("g () => () { = A <s = \"abc> () }", "t:1:23: error: the string does not end");
  error_of("g () => () { = A <s = \"\\x0g\"> () }", "t:1:24: error: \\x needs two hex digits");
  error_of("g () => () <float[N] w = {1}> {}",
           "t:1:26: error: a tensor needs a shape of numbers");
  error_of("g () => () <seq(float) w = {1}> {}",
           "t:1:28: error: a tensor needs the type of a tensor");
  error_of("g () => () <float[1] w = {1e39}> {}", "t:1:27: error: the number is out of range");
  error_of("g () => () <int8[1] w = raw {128}> {}", "t:1:30: error: out of range of int8");
  error_of("g () => () <int8[1] w = 0x123> {}",
           "t:1:29: error: bytes in hex need two digits each");
  error_of("g () => () <int32[1] w = {nan:0x1}> {}", "t:1:27: error: expected an integer");
  error_of("g () => () <float[1] w = {nan:0x1}> {}",
           "t:1:27: error: not the bits of a NaN of 32 bits without its sign");
  error_of("g () => () {} @{name: \"h\"}", "t:1:16: error: name is given twice");
  error_of("g () => () {} @{nome: \"h\"}",
           "t:1:17: error: GraphProto has no field \"nome\"");
  error_of("g () => () {} @{5:5: 0x00}", "t:1:17: error: the bytes do not fit the wire type");
  error_of("g () => () {} @{2:2: 0x00}", "t:1:17: error: field 2 is name; write it so");
  error_of("g () => () {} @{0:0: 0x00}", "t:1:17: error: no number of a field");
  error_of("g () => () { x = A (x) ", "t:1:24: error: expected '=', found the end");
  error_is("g () \0", 6, "t:1:6: error: expected '=>', found \"\\x00\"");
}
END_TEST

START_TEST(nesting) {
  /* Nesting without end is an error of the text, not of the stack. */
  size_t n = 100000;
  char *text = malloc(n * 4 + 8);
  memcpy(text, "g (", 3);
  for (size_t i = 0; i < n; i++) memcpy(text + 3 + 4 * i, "seq(", 4);
  surg__buf wire;
  surg__buf_init(&wire, ctx);
  ck_assert_int_eq(surg__text_parse(ctx, text, 3 + 4 * n, "t", &wire), SURG_EINVALID);
  ck_assert_ptr_nonnull(strstr(surg_context_error(ctx), "nested more than 110 deep"));
  surg__buf_free(&wire);
  free(text);
}
END_TEST

START_TEST(bad_wire) {
  static const struct {
    const char *p;
    size_t n;
  } cases[] = {{"\x3a\x05", 2}, {"\x0b", 1}, {"\x08", 1}, {"\x08\xff", 2}, {"\x00", 1},
               {"\x3a\x00\x3a\x00", 4}, {"\x3a\x04\x2a\x02\x22\x01", 6}};
  for (size_t i = 0; i < SURG_COUNT(cases); i++) {
    surg__buf text;
    surg__buf_init(&text, ctx);
    ck_assert_int_eq(surg__text_print(ctx, (const uint8_t *)cases[i].p, cases[i].n, false, "t",
                                      &text),
                     SURG_EINVALID);
    ck_assert_uint_eq(text.n, 0);
    surg__buf_free(&text);
  }
}
END_TEST

/* Memory that ends anywhere is a status, and nothing else. */
START_TEST(out_of_memory) {
  static const char text[] =
      "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[2, 3] x) => (seq(float[N]) y) <\n"
      "  float[6] w = {1, 2, 3, 4, 5, 6}\n> { y = \"a-b\".Op <l = [1, 2], t = float[2] {1, 2},"
      " g = b () => () { q = Add (x, \"long enough to grow what holds strings\") }> (x)"
      " @{doc_string: \"a\\tb\"} }";
  int failures = 0;
  for (uint64_t limit = 1; limit < 6000; limit += 7) {
    surg_config config = {.size = sizeof config, .max_memory = limit};
    surg_context *small = surg_context_new(&config);
    if (!small) continue;
    surg__buf wire, back;
    surg__buf_init(&wire, small);
    surg__buf_init(&back, small);
    surg_status s = surg__text_parse(small, text, strlen(text), "t", &wire);
    if (!s)
      s = surg__text_print(small, (const uint8_t *)wire.p, wire.n, false, "t", &back);
    ck_assert(!s || s == SURG_ELIMIT || s == SURG_ENOMEM);
    failures += s != SURG_OK;
    surg__buf_free(&wire);
    surg__buf_free(&back);
    surg_context_free(small);
  }
  ck_assert_int_gt(failures, 10);
  ck_assert_int_lt(failures, 6000 / 7);
}
END_TEST

/* --- any message at all --- */

typedef struct rng {
  uint64_t s;
} rng;

static uint32_t below(rng *r, uint32_t n) {
  r->s ^= r->s << 13;
  r->s ^= r->s >> 7;
  r->s ^= r->s << 17;
  return (uint32_t)((r->s >> 16) % n);
}

static void put_varint(surg__buf *b, uint64_t v) {
  for (; v > 0x7f; v >>= 7) surg__buf_putc(b, (char)(v | 0x80));
  surg__buf_putc(b, (char)v);
}

static void put_bytes(surg__buf *b, uint32_t number, const void *p, size_t n) {
  put_varint(b, number << 3 | 2);
  put_varint(b, n);
  surg__buf_put(b, p, n);
}

static void random_string(rng *r, surg__buf *b, uint32_t number, bool bytes) {
  static const char *const words[] = {
      "",       "x",         "float", "a b",  "raw",  "com.acme", "nan",      "a.b-c", "\"q\\\"",
      "line\n", "\t\x01\x7f", "seq",  "0x12", "type", "\xc3\xa9", "\xe2\x80\xae", "@x", "#c",
      "tensor_proto", "y", "_z9", "Conv", "\xff\xfe", "graph"};
  const char *w = words[below(r, SURG_COUNT(words))];
  if (bytes && below(r, 3) == 0)
    put_bytes(b, number, "a\0b", 3);
  else
    put_bytes(b, number, w, strlen(w));
}

static uint64_t random_number(rng *r, const ProtobufCFieldDescriptor *fd) {
  static const int64_t odd[] = {0, 1, -1, 2, 7, 16, 127, INT32_MAX, INT32_MIN};
  int64_t v = odd[below(r, SURG_COUNT(odd))];
  if (fd->type == PROTOBUF_C_TYPE_INT64 && below(r, 4) == 0)
    v = below(r, 2) ? INT64_MAX : INT64_MIN;
  if (fd->type == PROTOBUF_C_TYPE_ENUM || strcmp(fd->name, "data_type") == 0 ||
      strcmp(fd->name, "elem_type") == 0)
    v = below(r, 8) ? below(r, 27) : 99;
  if (fd->type == PROTOBUF_C_TYPE_FLOAT) {
    static const uint32_t floats[] = {0, 0x80000000, 0x3f800000, 0x7f800000, 0xff800000,
                                      0x7fc00000, 0xffc00001, 0x7f800001, 1, 0x3dcccccd};
    return floats[below(r, SURG_COUNT(floats))];
  }
  if (fd->type == PROTOBUF_C_TYPE_DOUBLE) {
    static const uint64_t doubles[] = {0, 1ull << 63, 0x7ff8ull << 48, 0xfff0ull << 48,
                                       0x7ff0000000000001ull, 1, 0x3fb999999999999aull};
    return doubles[below(r, SURG_COUNT(doubles))];
  }
  return (uint64_t)v;
}

static void put_scalar(surg__buf *b, const ProtobufCFieldDescriptor *fd, uint64_t v) {
  if (fd->type == PROTOBUF_C_TYPE_FLOAT || fd->type == PROTOBUF_C_TYPE_DOUBLE)
    surg__buf_put(b, &v, fd->type == PROTOBUF_C_TYPE_FLOAT ? 4 : 8);
  else
    put_varint(b, v);
}

static uint32_t wire_of(const ProtobufCFieldDescriptor *fd) {
  return fd->type == PROTOBUF_C_TYPE_FLOAT ? 5 : fd->type == PROTOBUF_C_TYPE_DOUBLE ? 1 : 0;
}

static void random_message(rng *r, surg__buf *b, const ProtobufCMessageDescriptor *d, int depth);

static void random_field(rng *r, surg__buf *b, const ProtobufCFieldDescriptor *fd, int depth) {
  surg__buf inner;
  if (fd->type == PROTOBUF_C_TYPE_STRING || fd->type == PROTOBUF_C_TYPE_BYTES) {
    random_string(r, b, fd->id, fd->type == PROTOBUF_C_TYPE_BYTES);
  } else if (fd->type == PROTOBUF_C_TYPE_MESSAGE) {
    surg__buf_init(&inner, ctx);
    random_message(r, &inner, fd->descriptor, depth - 1);
    put_bytes(b, fd->id, inner.p, inner.n);
    surg__buf_free(&inner);
  } else if (fd->label == PROTOBUF_C_LABEL_REPEATED && below(r, 2)) {
    surg__buf_init(&inner, ctx);
    for (uint32_t i = below(r, 4); i > 0; i--) put_scalar(&inner, fd, random_number(r, fd));
    put_bytes(b, fd->id, inner.p, inner.n);
    surg__buf_free(&inner);
  } else {
    put_varint(b, fd->id << 3 | wire_of(fd));
    put_scalar(b, fd, random_number(r, fd));
  }
}

/* Fields in any number and order, one member of a oneof at most (the last one counts, and unpacking
 * keeps no other), now and then an unknown one. */
static void random_message(rng *r, surg__buf *b, const ProtobufCMessageDescriptor *d, int depth) {
  bool oneof = false;
  uint32_t keep = 1 + below(r, 4);
  for (unsigned i = 0; i < d->n_fields; i++) {
    const ProtobufCFieldDescriptor *fd = &d->fields[below(r, 8) ? i : 0];
    bool many = fd->label == PROTOBUF_C_LABEL_REPEATED;
    if (fd != &d->fields[i] && !many) continue;
    if (depth <= 0 && fd->type == PROTOBUF_C_TYPE_MESSAGE) continue;
    if (below(r, 4) >= keep) continue;
    if (fd->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
      if (oneof || below(r, 3)) continue;
      oneof = true;
    }
    for (uint32_t n = many ? 1 + below(r, 2) : 1; n > 0; n--) random_field(r, b, fd, depth);
  }
  if (below(r, 12) == 0) put_bytes(b, 1000 + below(r, 3), "hi", below(r, 3));
  if (below(r, 12) == 0) {
    put_varint(b, 60 << 3);
    put_varint(b, below(r, 1000));
  }
}

/* Fields in order of their numbers, as protobuf-c packs them. */
static void canonical(const surg__buf *wire, uint8_t **out, size_t *n) {
  Onnx__ModelProto *m = unpack(wire);
  *n = onnx__model_proto__get_packed_size(m);
  *out = malloc(*n + 1);
  onnx__model_proto__pack(m, *out);
  free_model(m);
}

START_TEST(any_message) {
  rng r = {UINT64_C(0x9e3779b97f4a7c15) * (unsigned)(_i + 1)};
  for (int k = 0; k < 60; k++) {
    surg__buf wire, back, text;
    uint8_t *a, *b;
    size_t na, nb;
    surg__buf_init(&wire, ctx);
    surg__buf_init(&back, ctx);
    surg__buf_init(&text, ctx);
    random_message(&r, &wire, &onnx__model_proto__descriptor, 1 + (int)below(&r, 7));
    ck_assert_int_eq(
        surg__text_print(ctx, (const uint8_t *)wire.p, wire.n, false, "t", &text), 0);
    surg_status s = surg__text_parse(ctx, text.p, text.n, "t", &back);
    ck_assert_msg(!s, "%s\n%.2000s", surg_context_error(ctx), text.p);
    canonical(&wire, &a, &na);
    canonical(&back, &b, &nb);
    ck_assert_msg(na == nb && memcmp(a, b, na) == 0, "%zu bytes, %zu back:\n%.2000s", na, nb,
                  text.p);
    free(a);
    free(b);
    surg__buf_free(&wire);
    surg__buf_free(&back);
    surg__buf_free(&text);
    ck_assert_uint_eq(surg__alloc_bytes(ctx), 0);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("text");
  TCase *c = tcase_create("text");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, official);
  tcase_add_test(c, functions);
  tcase_add_test(c, types);
  tcase_add_test(c, attributes);
  tcase_add_test(c, tensors);
  tcase_add_test(c, leftovers);
  tcase_add_test(c, input_forms);
  tcase_add_test(c, float_bits);
  tcase_add_test(c, strict);
  tcase_add_test(c, strict_says_what_it_drops);
  tcase_add_test(c, errors);
  tcase_add_test(c, nesting);
  tcase_add_test(c, bad_wire);
  tcase_add_test(c, out_of_memory);
  tcase_add_loop_test(c, any_message, 0, 30);
  suite_add_tcase(s, c);
  return unit_run(s);
}
