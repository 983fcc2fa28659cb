/* SPDX-License-Identifier: Apache-2.0 */
/* Printer of ONNX text: types and tensors. */
#include "io/text/codec.h"

/* Members of the oneof in TypeProto. */
#define TYPE_TENSOR 1
#define TYPE_SEQUENCE 4
#define TYPE_MAP 5
#define TYPE_OPAQUE 7
#define TYPE_SPARSE 8
#define TYPE_OPTIONAL 9
#define TYPE_MEMBERS                                                                   \
  (SURG__BIT(TYPE_TENSOR) | SURG__BIT(TYPE_SEQUENCE) | SURG__BIT(TYPE_MAP) |           \
   SURG__BIT(TYPE_OPAQUE) | SURG__BIT(TYPE_SPARSE) | SURG__BIT(TYPE_OPTIONAL))

static const char *dtype_word(uint64_t v) {
  return (int32_t)v > 0 ? surg__dtype_name((int32_t)v) : NULL;
}

/* Finds the member that is set: the last one in the message. */
static bool member(surg__tmsg type, surg__tfield *out) {
  surg__tfield f;
  bool found = false;
  while (surg__text_next(&type, &f) > 0) {
    if (f.number > 63 || !(TYPE_MEMBERS & SURG__BIT(f.number)) || f.wire != SURG__WIRE_BYTES)
      continue;
    *out = f;
    found = true;
  }
  return found;
}

static bool only(const surg__desc *d, surg__tmsg m, uint64_t allowed, uint64_t needed) {
  bool unknown;
  uint64_t seen = surg__text_seen(d, m, &unknown);
  return !unknown && !(seen & ~allowed) && (seen & needed) == needed;
}

static bool shape_plain(surg__tmsg m) {
  return only(&onnx__tensor_shape_proto__descriptor, m, SURG__BIT(1), 0);
}

static bool tensor_plain(const surg__desc *d, surg__tmsg m) {
  surg__tfield f;
  if (!only(d, m, SURG__BIT(1) | SURG__BIT(2), SURG__BIT(1))) return false;
  if (!surg__text_get(m, 1, SURG__WIRE_VARINT, &f) || !dtype_word(f.value)) return false;
  return !surg__text_get(m, 2, SURG__WIRE_BYTES, &f) || shape_plain(f.bytes);
}

/* Whether the opaque type can be printed in official text, where its names have no quotes. */
static bool opaque_plain(surg__tmsg m) {
  surg__tfield f;
  bool name = surg__text_get(m, 2, SURG__WIRE_BYTES, &f);
  if (name && !surg__text_is_ident((const char *)f.bytes.p, f.bytes.n)) return false;
  bool domain = surg__text_get(m, 1, SURG__WIRE_BYTES, &f);
  if (domain && (!name || !surg__text_is_ident((const char *)f.bytes.p, f.bytes.n))) return false;
  return only(&onnx__type_proto__opaque__descriptor, m, SURG__BIT(1) | SURG__BIT(2), 0);
}

/* Whether the grammar has a form for the member itself; nested types may still need `type_proto
 * @{...}`. */
bool surg__print_type_plain(surg__tmsg type) {
  surg__tfield m, f;
  if (!member(type, &m)) return false;
  switch (m.number) {
    case TYPE_TENSOR:
      return tensor_plain(&onnx__type_proto__tensor__descriptor, m.bytes);
    case TYPE_SPARSE:
      return tensor_plain(&onnx__type_proto__sparse_tensor__descriptor, m.bytes);
    case TYPE_SEQUENCE:
      return only(&onnx__type_proto__sequence__descriptor, m.bytes, SURG__BIT(1), SURG__BIT(1));
    case TYPE_OPTIONAL:
      return only(&onnx__type_proto__optional__descriptor, m.bytes, SURG__BIT(1), SURG__BIT(1));
    case TYPE_MAP:
      return only(&onnx__type_proto__map__descriptor, m.bytes, SURG__BIT(1) | SURG__BIT(2),
                  SURG__BIT(1) | SURG__BIT(2)) &&
             surg__text_get(m.bytes, 1, SURG__WIRE_VARINT, &f) && dtype_word(f.value);
    default:
      return opaque_plain(m.bytes);
  }
}

static void put_dim(surg__tprint *p, surg__tmsg dim) {
  surg__tmsg rest = dim;
  surg__tfield f, last = {0};
  while (surg__text_next(&rest, &f) > 0)
    if ((f.number == 1 && f.wire == SURG__WIRE_VARINT) ||
        (f.number == 2 && f.wire == SURG__WIRE_BYTES))
      last = f;
  if (last.number == 1)
    surg__buf_printf(p->out, "%lld", (long long)last.value);
  else if (last.number == 2)
    surg__print_ident(p, last.bytes);
  else
    surg__buf_putc(p->out, '?');
  surg__print_suffix(p, &onnx__tensor_shape_proto__dimension__descriptor, dim,
                     SURG__BIT(1) | SURG__BIT(2), 0, false);
}

static void put_tensor_type(surg__tprint *p, surg__tmsg m) {
  surg__tfield f;
  (void)surg__text_get(m, 1, SURG__WIRE_VARINT, &f);
  surg__buf_puts(p->out, dtype_word(f.value));
  if (!surg__text_get(m, 2, SURG__WIRE_BYTES, &f)) {
    surg__buf_put(p->out, "[]", 2);
    return;
  }
  surg__tmsg shape = f.bytes;
  bool first = true;
  while (surg__text_next(&shape, &f) > 0) {
    surg__buf_puts(p->out, first ? "[" : ", ");
    first = false;
    put_dim(p, f.bytes);
  }
  if (!first) surg__buf_putc(p->out, ']');
}

static void put_inner(surg__tprint *p, surg__tmsg m, uint32_t number) {
  surg__tfield f;
  (void)surg__text_get(m, number, SURG__WIRE_BYTES, &f);
  surg__print_type(p, f.bytes);
}

static void put_opaque(surg__tprint *p, surg__tmsg m) {
  surg__tfield f;
  surg__buf_puts(p->out, "opaque(");
  if (surg__text_get(m, 1, SURG__WIRE_BYTES, &f)) {
    surg__buf_put(p->out, f.bytes.p, f.bytes.n);
    surg__buf_put(p->out, ", ", 2);
  }
  if (surg__text_get(m, 2, SURG__WIRE_BYTES, &f)) surg__buf_put(p->out, f.bytes.p, f.bytes.n);
}

void surg__print_type(surg__tprint *p, surg__tmsg type) {
  surg__tfield m, f;
  if (!surg__print_type_plain(type)) {
    surg__buf_puts(p->out, p->strict ? "undefined" : "type_proto");
    surg__print_suffix(p, &onnx__type_proto__descriptor, type, 0, 0, true);
    return;
  }
  (void)member(type, &m);
  switch (m.number) {
    case TYPE_TENSOR:
      put_tensor_type(p, m.bytes);
      break;
    case TYPE_SPARSE:
      surg__buf_puts(p->out, "sparse_tensor(");
      put_tensor_type(p, m.bytes);
      break;
    case TYPE_SEQUENCE:
    case TYPE_OPTIONAL:
      surg__buf_puts(p->out, m.number == TYPE_SEQUENCE ? "seq(" : "optional(");
      put_inner(p, m.bytes, 1);
      break;
    case TYPE_MAP:
      (void)surg__text_get(m.bytes, 1, SURG__WIRE_VARINT, &f);
      surg__buf_printf(p->out, "map(%s, ", dtype_word(f.value));
      put_inner(p, m.bytes, 2);
      break;
    default:
      put_opaque(p, m.bytes);
  }
  if (m.number != TYPE_TENSOR) surg__buf_putc(p->out, ')');
  surg__print_suffix(p, &onnx__type_proto__descriptor, type, TYPE_MEMBERS, 0, false);
}

/* --- tensors --- */

#define TENSOR &onnx__tensor_proto__descriptor
#define RAW_SHOWN 16 /* most elements of raw_data that are printed as values */

/* Bytes per printed number of raw_data, or 0: only hex. With `strict` every type that has a
 * typed list is printed as numbers; the small ones as bit patterns, as in int32_data. */
static size_t element_bytes(int dtype, bool strict) {
  switch (dtype) {
    case SURG_FLOAT:
    case SURG_INT32:
    case SURG_UINT32:
      return 4;
    case SURG_DOUBLE:
    case SURG_INT64:
    case SURG_UINT64:
      return 8;
    case SURG_INT16:
    case SURG_UINT16:
      return 2;
    case SURG_INT8:
    case SURG_UINT8:
    case SURG_BOOL:
      return 1;
    case SURG_FLOAT16:
    case SURG_BFLOAT16:
      return strict ? 2 : 0;
    case SURG_COMPLEX64:
      return strict ? 4 : 0;
    case SURG_COMPLEX128:
      return strict ? 8 : 0;
    default:
      return strict && dtype != SURG_STRING ? 1 : 0;
  }
}

static void put_raw_element(surg__tprint *p, int dtype, const uint8_t *at) {
  surg__buf *out = p->out;
  switch (dtype) {
    case SURG_FLOAT:
    case SURG_COMPLEX64:
      surg__print_float(p, surg__le32(at));
      break;
    case SURG_DOUBLE:
    case SURG_COMPLEX128:
      surg__print_double(p, surg__le64(at));
      break;
    case SURG_INT64:
      surg__buf_printf(out, "%lld", (long long)surg__le64(at));
      break;
    case SURG_UINT64:
      surg__buf_printf(out, "%llu", (unsigned long long)surg__le64(at));
      break;
    case SURG_INT32:
      surg__buf_printf(out, "%d", (int)(int32_t)surg__le32(at));
      break;
    case SURG_UINT32:
      surg__buf_printf(out, "%u", (unsigned)surg__le32(at));
      break;
    case SURG_INT16:
      surg__buf_printf(out, "%d", (int)(int16_t)(at[0] | at[1] << 8));
      break;
    case SURG_UINT16:
    case SURG_FLOAT16:
    case SURG_BFLOAT16:
      surg__buf_printf(out, "%d", at[0] | at[1] << 8);
      break;
    case SURG_INT8:
      surg__buf_printf(out, "%d", (int)(int8_t)at[0]);
      break;
    default:
      surg__buf_printf(out, "%d", at[0]);
  }
}

static void put_raw(surg__tprint *p, int dtype, surg__tmsg raw) {
  size_t size = element_bytes(dtype, p->strict);
  bool whole = size && raw.n % size == 0;
  if (p->strict && !whole && raw.n) {
    surg__print_dropped(p, NULL, NULL, "raw_data dropped that have no form", 1);
    raw.n = 0;
  } else if (p->strict) {
    surg__print_dropped(p, NULL, NULL, "raw_data written as lists of values", 1);
  } else if (!whole || raw.n / size > RAW_SHOWN) {
    static const char digits[] = "0123456789abcdef";
    surg__buf_puts(p->out, "0x");
    for (size_t i = 0; i < raw.n && !p->out->failed; i++) {
      surg__buf_putc(p->out, digits[raw.p[i] >> 4]);
      surg__buf_putc(p->out, digits[raw.p[i] & 15]);
    }
    return;
  }
  surg__buf_puts(p->out, p->strict ? "{" : "raw {");
  for (size_t i = 0; i < raw.n; i += size) {
    if (i) surg__buf_put(p->out, ", ", 2);
    put_raw_element(p, dtype, raw.p + i);
  }
  surg__buf_putc(p->out, '}');
}

static void put_strings(surg__tprint *p, surg__tmsg m) {
  surg__tfield f;
  bool first = true;
  while (surg__text_next(&m, &f) > 0) {
    if (f.number != 6 || f.wire != SURG__WIRE_BYTES) continue;
    if (!first) surg__buf_put(p->out, ", ", 2);
    first = false;
    surg__print_quoted(p, f.bytes.p, f.bytes.n);
  }
}

/* Prints the first form of the data that the grammar supports; returns the fields it covers. */
static uint64_t put_data(surg__tprint *p, surg__tmsg m, int dtype, uint64_t seen) {
  surg__tfield f;
  uint32_t list = surg__text_list_field(dtype);
  if ((seen & SURG__BIT(13)) && surg__text_get(m, 14, SURG__WIRE_VARINT, &f) && f.value == 1) {
    surg__print_pairs(p, m, 13);
    return SURG__BIT(13) | SURG__BIT(14);
  }
  if (dtype && surg__text_get(m, 9, SURG__WIRE_BYTES, &f)) {
    put_raw(p, dtype, f.bytes);
    return SURG__BIT(9);
  }
  surg__buf_putc(p->out, '{');
  if (list == 6)
    put_strings(p, m);
  else if (list)
    surg__print_list(p, m, TENSOR, list);
  surg__buf_putc(p->out, '}');
  return list ? SURG__BIT(list) : 0;
}

static void put_dims(surg__tprint *p, surg__tmsg m) {
  surg__tnums it = surg__text_nums(m, TENSOR, 1);
  uint64_t v;
  if (!surg__text_nums_next(&it, &v)) return; /* an empty packed list is rank 0 */
  surg__buf_putc(p->out, '[');
  surg__print_list(p, m, TENSOR, 1);
  surg__buf_putc(p->out, ']');
}

/* Whether a preview leaves out the elements. */
static bool is_cut(const surg__tprint *p, surg__tmsg m) {
  surg__tnums dims = surg__text_nums(m, TENSOR, 1);
  uint64_t n = 1, d;
  if (!p->cut) return false;
  while (surg__text_nums_next(&dims, &d))
    if (!surg__mul_u64(n, d, &n)) return true;
  return n > p->most;
}

void surg__print_tensor(surg__tprint *p, surg__tmsg m, bool initializer) {
  surg__tfield f, name = {0};
  bool unknown, named = surg__text_get(m, 8, SURG__WIRE_BYTES, &name);
  uint64_t seen = surg__text_seen(TENSOR, m, &unknown), said = SURG__BIT(8), missing = 0;
  int dtype = 0;
  if (surg__text_get(m, 2, SURG__WIRE_VARINT, &f) && dtype_word(f.value)) {
    dtype = (int32_t)f.value;
    said |= SURG__BIT(1) | SURG__BIT(2);
  }
  surg__buf_puts(p->out, dtype ? dtype_word(f.value) : p->strict ? "undefined" : "tensor_proto");
  if (dtype) put_dims(p, m);
  if (named || initializer) {
    surg__buf_putc(p->out, ' ');
    surg__print_name(p, name.bytes);
    if (!named) missing |= SURG__BIT(8);
  }
  surg__buf_puts(p->out, " = ");
  if (is_cut(p, m)) {
    surg__buf_puts(p->out, "...");
    return;
  }
  said |= put_data(p, m, dtype, seen);
  surg__print_suffix(p, TENSOR, m, said, missing, false);
}
