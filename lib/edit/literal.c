/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and tensors as text. */
#include <stdio.h>
#include <stdlib.h>

#include "base/hush.h"
#include "edit/edit.h"
#include "io/io.h"
#include "rewrite/lang/rule.h"

static surg_tensor *copy_strings(surg_model *m, const surg_tensor *t) {
  const surg_str *s;
  if (surg_tensor_strings(t, &s) != SURG_OK) return NULL;
  return surg_tensor_new_strings(m, surg_tensor_dims(t), surg_tensor_rank(t), s);
}

surg_tensor *surg__tensor_copy(surg_model *m, const surg_tensor *t) {
  surg_context *ctx = surg_model_context(m);
  const uint64_t bytes = surg_tensor_bytes(t);
  if (surg_tensor_dtype(t) == SURG_STRING) return copy_strings(m, t);
  if (bytes > SIZE_MAX - 1) return NULL;
  void *data = surg__alloc(ctx, (size_t)bytes + 1);
  surg_tensor *out = NULL;
  if (data && surg_tensor_read(t, 0, data, (size_t)bytes) == SURG_OK)
    out = surg_tensor_new(m, surg_tensor_dtype(t), surg_tensor_dims(t), surg_tensor_rank(t), data,
                          (size_t)bytes);
  surg__free(ctx, data);
  return out;
}

/* Element types that numbers without a type can have. */
static bool plain(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_DOUBLE || dtype == SURG_FLOAT16 ||
         dtype == SURG_BFLOAT16 || dtype == SURG_BOOL ||
         (surg__dtype_is_int(dtype) && surg__dtype_bits(dtype) >= 8);
}

surg_tensor *surg__literal_as(surg_model *m, const surg_tensor *t, int dtype, const int64_t *dims,
                              size_t rank, size_t *bad) {
  surg_context *ctx = surg_model_context(m);
  const size_t n = (size_t)surg_tensor_count(t), size = surg__dtype_bits(dtype) / 8;
  const bool real = surg_tensor_dtype(t) == SURG_DOUBLE;
  surg_tensor *out = NULL;
  *bad = 0;
  if (!plain(dtype)) return NULL;
  assert(real || surg_tensor_dtype(t) == SURG_INT64);
  *bad = SIZE_MAX;
  uint8_t *from = surg__calloc(ctx, n + 1, 8), *to = surg__calloc(ctx, n + 1, size);
  bool ok = from && to && surg_tensor_read(t, 0, from, n * 8) == SURG_OK;
  for (size_t i = 0; i < n && ok; i++) {
    surg__rnum v = {.known = true};
    surg__unpack(real ? SURG_DOUBLE : SURG_INT64, 1, from + 8 * i,
                 real ? (void *)&v.f : (void *)&v.i);
    ok = surg__rput_number(dtype, real, &v, to + i * size);
    if (!ok) *bad = i;
  }
  if (ok) out = surg_tensor_new(m, dtype, dims, rank, to, n * size);
  surg__free(ctx, from);
  surg__free(ctx, to);
  return out;
}

static bool same_count(const surg_tensor *t, const int64_t *dims, size_t rank) {
  uint64_t n = 1;
  for (size_t i = 0; i < rank; i++)
    if (dims[i] < 0 || !surg__mul_u64(n, (uint64_t)dims[i], &n)) return false;
  return dims && n == surg_tensor_count(t);
}

/* Whether the text is a list without brackets: `1, 2`. */
static bool bare_list(const char *text) {
  return strchr(text, ',') && !text[strspn(text, "0123456789+-.,eE infa")];
}

/* The tensor of the only literal of `y = Identity (LITERAL)`, as a model of its own. */
static surg_status read_literal(surg_context *ctx, const char *text, surg_model **out) {
  static const char before[] = "y = Identity (", after[] = "\n)";
  surg__buf all, head, wire;
  surg__buf_init(&all, ctx);
  surg__buf_init(&head, ctx);
  surg__buf_init(&wire, ctx);
  surg__buf_puts(&all, before);
  surg__buf_puts(&all, bare_list(text) ? "{" : "");
  surg__buf_puts(&all, text);
  surg__buf_puts(&all, bare_list(text) ? "}" : "");
  surg__buf_puts(&all, after);
  static const uint8_t newest[] = {0x08, 13, 0x42, 0x02, 0x10, 17}; /* ir_version, opset 17 */
  surg__buf_put(&head, newest, sizeof newest);
  surg_status s = all.failed || head.failed ? surg__oom(ctx, NULL) : SURG_OK;
  if (s == SURG_OK) s = surg__text_parse_fragment(ctx, all.p, all.n, "text", &head, &wire);
  const surg_load_options lenient = {.size = sizeof lenient, .policy = SURG_LOAD_LENIENT};
  if (s == SURG_OK) s = surg_model_load_memory(ctx, wire.p, wire.n, "text", &lenient, out);
  surg__buf_free(&all);
  surg__buf_free(&head);
  surg__buf_free(&wire);
  return s;
}

static surg_status convert(surg_model *m, const char *text, const surg_value *v, int dtype,
                           const int64_t *dims, size_t rank, surg_tensor **out, char *why,
                           size_t room) {
  const surg_tensor *t = v ? surg_value_initializer(v) : NULL;
  size_t bad = SIZE_MAX;
  if (!t || surg_value_is_output(v)) {
    if (why)
      snprintf(why, room, "expected numbers or a tensor, such as float[2] {1, 2}, found %s",
               surg__q(surg_model_context(m), text));
    return SURG_EUSAGE;
  }
  const bool typed = strncmp(surg_value_name(v), SURG__LITERAL_TYPED, 2) == 0;
  const bool like = same_count(t, dims, rank);
  if (!typed && dims && !like) {
    uint64_t wanted = 1;
    for (size_t i = 0; i < rank; i++) wanted *= (uint64_t)dims[i]; /* of a tensor that exists */
    if (why)
      snprintf(why, room,
               "expected %llu number%s, found %llu; to change the shape, write the type, as in "
               "float[2] {1, 2}",
               (unsigned long long)wanted, wanted == 1 ? "" : "s",
               (unsigned long long)surg_tensor_count(t));
    return SURG_EUSAGE;
  }
  if (typed)
    *out = surg__tensor_copy(m, t);
  else
    *out = surg__literal_as(m, t, dtype, dims ? dims : surg_tensor_dims(t),
                            dims ? rank : surg_tensor_rank(t), &bad);
  if (*out) return SURG_OK;
  if (surg_model_status(m) != SURG_OK) return surg_model_status(m);
  const char *name = surg_dtype_name(dtype);
  if (why && typed) snprintf(why, room, "the tensor cannot be read");
  if (why && !typed)
    snprintf(why, room, "number %zu is not a valid %s", bad == SIZE_MAX ? 0 : bad,
             name ? name : "number");
  return SURG_EUSAGE;
}

surg_status surg_tensor_from_text(surg_model *m, const char *text, int dtype, const int64_t *dims,
                                  size_t rank, surg_tensor **out, char *why, size_t why_room) {
  if (out) *out = NULL;
  if (!m || !text || !out) return SURG_EUSAGE;
  if (!why_room) why = NULL;
  surg_context *ctx = surg_model_context(m);
  surg_model *x = NULL;
  const surg__hush h = surg__hush_begin(ctx);
  surg_status s = read_literal(ctx, text, &x);
  const char *line = surg_context_error(ctx);
  if (s != SURG_OK && why) surg__reason(line, why, why_room);
  surg__hush_end(ctx, h);
  if (s != SURG_OK) return s == SURG_EINVALID ? SURG_EUSAGE : s;
  const surg_node *n = surg_graph_first_node(surg_model_graph(x));
  const bool one = n && surg_node_input_count(n) == 1 && !surg_node_next(n);
  s = convert(m, text, one ? surg_node_input(n, 0) : NULL, dtype, dims, rank, out, why, why_room);
  surg_model_free(x);
  return s;
}
