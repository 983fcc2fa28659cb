/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes as ONNX text, and bytes as a message. What is read as text must print, and
 * what prints must read back as the same message; strict text must never fail to print. */
#include <stdlib.h>

#include "base/context.h"
#include "io/io.h"
#include "io/text/codec.h"
#include "onnx.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
  if (!holds) abort();
}

static bool no_memory(surg_status s) {
  return s == SURG_ENOMEM || s == SURG_ELIMIT;
}

/* Fields in the order of their numbers; NULL when protobuf-c cannot read it. */
static uint8_t *canonical(const uint8_t *p, size_t n, size_t *size) {
  Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, n, p);
  if (!m) return NULL;
  *size = onnx__model_proto__get_packed_size(m);
  uint8_t *out = malloc(*size + 1);
  require(out != NULL);
  onnx__model_proto__pack(m, out);
  onnx__model_proto__free_unpacked(m, NULL);
  return out;
}

static void put_varint(surg__buf *out, uint64_t v) {
  for (; v > 0x7f; v >>= 7) surg__buf_putc(out, (char)(v | 0x80));
  surg__buf_putc(out, (char)v);
}

/* Copies a message with each length in the fewest bytes. Text stores the bytes of an unknown field,
 * not how their length was written, as it does for known fields. protobuf-c normalizes the latter,
 * but keeps the length of an unknown field as bytes. Depth was bounded by surg__text_print. */
static void shorten(const surg__desc *d, surg__tmsg m, surg__buf *out) {
  surg__tfield f;
  while (surg__text_next(&m, &f) > 0) {
    const surg__fdesc *fd = surg__text_known(d, &f);
    surg__buf sub;
    surg__buf_init(&sub, out->ctx);
    if (fd && fd->type == PROTOBUF_C_TYPE_MESSAGE) {
      shorten(fd->descriptor, f.bytes, &sub);
      f.bytes = (surg__tmsg){(const uint8_t *)sub.p, sub.n};
    }
    put_varint(out, (uint64_t)f.number << 3 | f.wire);
    if (f.wire == SURG__WIRE_BYTES) put_varint(out, f.bytes.n);
    surg__buf_put(out, f.bytes.p, f.bytes.n);
    surg__buf_free(&sub);
  }
}

/* Whether two messages are the same, except for the order of fields of different numbers and the
 * number of bytes that tags and lengths have. */
static void require_same(const surg__buf *b, const uint8_t *p, size_t n) {
  size_t na = 0, nb = 0;
  surg__buf wire;
  surg__buf_init(&wire, b->ctx);
  shorten(&onnx__model_proto__descriptor, (surg__tmsg){p, n}, &wire);
  uint8_t *a = wire.failed ? NULL : canonical((const uint8_t *)wire.p, wire.n, &na);
  uint8_t *c = canonical((const uint8_t *)b->p, b->n, &nb);
  require(!a || (c && na == nb && memcmp(a, c, na) == 0));
  surg__buf_free(&wire);
  free(a);
  free(c);
}

/* protobuf-c ends strings at a NUL, so what has one cannot be compared through it. Comparing text
 * with text covers those. */
static void round_trip(surg_context *ctx, const uint8_t *wire, size_t n) {
  surg__buf text, back, again;
  surg__buf_init(&text, ctx);
  surg__buf_init(&back, ctx);
  surg__buf_init(&again, ctx);
  surg_status s = surg__text_print(ctx, wire, n, false, "wire", &text);
  if (!s) {
    s = surg__text_parse(ctx, text.p, text.n, "text", &back);
    require(!s || no_memory(s));
    if (!s) {
      s = surg__text_print(ctx, (const uint8_t *)back.p, back.n, false, "back", &again);
      require(no_memory(s) || (!s && again.n == text.n && !memcmp(again.p, text.p, text.n)));
      require_same(&back, wire, n);
    }
    surg__buf_free(&again);
    s = surg__text_print(ctx, wire, n, true, "wire", &again);
    require(!s || no_memory(s));
  }
  surg__buf_free(&again);
  surg__buf_free(&back);
  surg__buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  surg_config config = {.size = sizeof config, .max_memory = 512u << 20, .seed = 1};
  surg_context *ctx = surg_context_new(&config);
  require(ctx != NULL);
  surg__buf wire;
  surg__buf_init(&wire, ctx);
  surg_status s = surg__text_parse(ctx, (const char *)data, size, "fuzz", &wire);
  if (!s) {
    surg__buf text;
    surg__buf_init(&text, ctx);
    s = surg__text_print(ctx, (const uint8_t *)wire.p, wire.n, false, "fuzz", &text);
    require(!s || no_memory(s));
    surg__buf_free(&text);
    round_trip(ctx, (const uint8_t *)wire.p, wire.n);
  }
  surg__buf_free(&wire);
  round_trip(ctx, data, size);
  surg_context_free(ctx);
  return 0;
}
