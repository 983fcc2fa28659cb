/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes, graphs and constants of a certificate as JSON. The text is canonical: attributes by name,
 * floats as the digits of their bits, elements of tensors as their digest. */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>

#include "base/sha256.h"
#include "pass/certificate_internal.h"

#define SHOWN_BYTES 512u       /* elements of at most this size are in the certificate */
#define PIECE_BYTES (1u << 16) /* elements are read in pieces of this size */

static void put_hex(char *out, const uint8_t *p, size_t n) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < n; i++) {
    out[2 * i] = digits[p[i] >> 4];
    out[2 * i + 1] = digits[p[i] & 15];
  }
  out[2 * n] = 0;
}

static json_t *hex(surg__certificate *c, const void *p, size_t n) {
  char *text = surg__alloc(c->ctx, 2 * n + 1);
  if (!text) return NULL;
  put_hex(text, p, n);
  json_t *j = json_stringn(text, 2 * n);
  surg__free(c->ctx, text);
  return j;
}

static json_t *float_bits(float f) {
  uint32_t bits;
  char text[9];
  memcpy(&bits, &f, sizeof bits);
  snprintf(text, sizeof text, "%08x", (unsigned)bits);
  return json_string(text);
}

/* Adds the elements of a string tensor: each with its length, 8 bytes little-endian. */
static bool add_strings(surg__sha256 *s, const surg_tensor *t) {
  const surg_str *list;
  if (surg_tensor_strings(t, &list)) return false;
  for (uint64_t i = 0; i < surg_tensor_count(t); i++) {
    uint8_t size[8];
    for (size_t k = 0; k < 8; k++) size[k] = (uint8_t)((uint64_t)list[i].n >> (8 * k));
    surg__sha256_add(s, size, sizeof size);
    surg__sha256_add(s, list[i].p, list[i].n);
  }
  return true;
}

/* Adds all elements of a tensor; the first SHOWN_BYTES are also stored in `first`. */
static bool add_elements(surg__certificate *c, surg__sha256 *s, const surg_tensor *t,
                         uint8_t *first) {
  const uint64_t bytes = surg_tensor_bytes(t);
  uint8_t *piece = surg__alloc(c->ctx, PIECE_BYTES);
  bool ok = piece != NULL;
  for (uint64_t at = 0; at < bytes && ok; at += PIECE_BYTES) {
    const size_t n = bytes - at < PIECE_BYTES ? (size_t)(bytes - at) : PIECE_BYTES;
    ok = surg_tensor_read(t, at, piece, n) == SURG_OK;
    if (ok && at == 0) memcpy(first, piece, n < SHOWN_BYTES ? n : SHOWN_BYTES);
    if (ok) surg__sha256_add(s, piece, n);
  }
  surg__free(c->ctx, piece);
  return ok;
}

json_t *surg__certificate_tensor(surg__certificate *c, const surg_tensor *t) {
  json_t *j = json_object(), *dims = json_array();
  surg__sha256 s;
  char digest[SURG__SHA256_TEXT];
  uint8_t first[SHOWN_BYTES];
  const uint64_t bytes = surg_tensor_bytes(t);
  for (size_t i = 0; i < surg_tensor_rank(t); i++)
    json_array_append_new(dims, json_integer(surg_tensor_dims(t)[i]));
  json_object_set_new(j, "dtype", json_integer(surg_tensor_dtype(t)));
  json_object_set_new(j, "dims", dims);
  surg__sha256_init(&s);
  const bool text = surg_tensor_dtype(t) == SURG_STRING;
  if (surg_tensor_is_sparse(t) || !(text ? add_strings(&s, t) : add_elements(c, &s, t, first))) {
    json_object_set_new(j, "sha256", json_null());
    return j;
  }
  surg__sha256_text(&s, digest);
  json_object_set_new(j, "sha256", json_string(digest));
  if (!text && bytes <= SHOWN_BYTES) json_object_set_new(j, "hex", hex(c, first, (size_t)bytes));
  return j;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static json_t *numbers(surg__certificate *c, const surg_attr *a, bool real) {
  json_t *list = json_array();
  size_t n = 0;
  (void)c;
  const int64_t *i = real ? NULL : surg_attr_ints(a, &n);
  const float *f = real ? surg_attr_floats(a, &n) : NULL;
  for (size_t k = 0; k < n; k++)
    json_array_append_new(list, real ? float_bits(f[k]) : json_integer(i[k]));
  return list;
}

static json_t *strings(surg__certificate *c, const surg_attr *a) {
  json_t *list = json_array();
  size_t n;
  const surg_str *s = surg_attr_strings(a, &n);
  for (size_t k = 0; k < n; k++) json_array_append_new(list, hex(c, s[k].p, s[k].n));
  return list;
}

static json_t *members(surg__certificate *c, const surg_attr *a, bool graphs) {
  json_t *list = json_array();
  surg_graph *g;
  const surg_tensor *t;
  for (size_t i = 0; graphs && (g = surg_attr_graph(a, i)); i++)
    json_array_append_new(list, surg__cert_graph(c, g));
  for (size_t i = 0; !graphs && (t = surg_attr_tensor(a, i)); i++)
    json_array_append_new(list, surg__certificate_tensor(c, t));
  return list;
}

/* [kind, value], the kind as in AttributeProto; a reference is ["ref", name]. */
static json_t *attribute(surg__certificate *c, const surg_attr *a) {
  const surg_attr_kind kind = surg_attr_get_kind(a);
  json_t *v = NULL;
  if (surg_attr_ref(a))
    return json_pack("[s, o]", "ref", surg__json_text(c->ctx, surg_attr_ref(a)));
  switch (kind) {
    case SURG_ATTR_INT:
      v = json_integer(surg_attr_int(a));
      break;
    case SURG_ATTR_FLOAT:
      v = float_bits(surg_attr_float(a));
      break;
    case SURG_ATTR_STRING:
      v = hex(c, surg_attr_string(a).p, surg_attr_string(a).n);
      break;
    case SURG_ATTR_INTS:
    case SURG_ATTR_FLOATS:
      v = numbers(c, a, kind == SURG_ATTR_FLOATS);
      break;
    case SURG_ATTR_STRINGS:
      v = strings(c, a);
      break;
    case SURG_ATTR_TENSOR:
      v = surg__certificate_tensor(c, surg_attr_tensor(a, 0));
      break;
    case SURG_ATTR_GRAPH:
      v = surg__cert_graph(c, surg_attr_graph(a, 0));
      break;
    case SURG_ATTR_TENSORS:
    case SURG_ATTR_GRAPHS:
      v = members(c, a, kind == SURG_ATTR_GRAPHS);
      break;
    default:
      v = json_null();
      break; /* sparse tensors and types: compared by presence alone */
  }
  return json_pack("[i, o]", (int)kind, v);
}

/* ---- nodes and graphs ------------------------------------------------------------------------ */

json_t *surg__certificate_content(surg__certificate *c, surg_node *n) {
  json_t *j = json_object(), *in = json_array(), *out = json_array(), *attrs = json_object();
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    json_array_append_new(in, surg__certificate_value(c, surg_node_input(n, i)));
  for (size_t i = 0; i < surg_node_output_count(n); i++)
    json_array_append_new(out, surg__certificate_value(c, surg_node_output(n, i)));
  for (size_t i = 0; i < surg_node_attr_count(n); i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    json_object_set_new(attrs, surg_attr_name(a), attribute(c, a));
  }
  json_object_set_new(j, "graph", surg__cert_graph(c, surg_node_graph(n)));
  surg__json_set(c->ctx, j, "domain", surg_node_domain(n));
  surg__json_set(c->ctx, j, "op", surg_node_op_type(n));
  if (*surg_node_overload(n)) surg__json_set(c->ctx, j, "overload", surg_node_overload(n));
  json_object_set_new(j, "in", in);
  json_object_set_new(j, "out", out);
  json_object_set_new(j, "attrs", attrs);
  return j;
}

json_t *surg__cert_graph_content(surg__certificate *c, surg_graph *g) {
  json_t *j = json_object(), *in = json_array(), *out = json_array();
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    json_array_append_new(in, surg__certificate_value(c, surg_graph_input(g, i)));
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    json_array_append_new(out, surg__certificate_value(c, surg_graph_output(g, i)));
  json_object_set_new(j, "in", in);
  json_object_set_new(j, "out", out);
  const surg_function *f = surg_graph_function(g);
  if (f)
    json_object_set_new(j, "function",
                        json_pack("[s, s, s]", surg_function_domain(f), surg_function_name(f),
                                  surg_function_overload(f)));
  return j;
}

json_t *surg__certificate_digest(const json_t *j) {
  char digest[SURG__SHA256_TEXT];
  surg__sha256 s;
  char *text = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
  if (!text) return NULL;
  surg__sha256_init(&s);
  surg__sha256_add(&s, text, strlen(text));
  surg__sha256_text(&s, digest);
  free(text);
  return json_string(digest);
}
