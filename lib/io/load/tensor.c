/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProto: the header is decoded, the payload only measured. The payload must have exactly
 * the size that element type and dims require, whether it is in the model or in a data file. */
#include <stdlib.h>

#include "base/dtype.h"
#include "base/taught.h"
#include "io/load/load.h"

/* Numbers of the fields of TensorProto that contain elements. */
enum { FLOATS = 4, INT32S = 5, STRINGS = 6, INT64S = 7, RAW = 9, DOUBLES = 10, UINT64S = 11 };
#define LISTS \
  (1u << FLOATS | 1u << INT32S | 1u << STRINGS | 1u << INT64S | 1u << DOUBLES | 1u << UINT64S)
#define PAYLOAD ((uint64_t)LISTS | 1u << RAW)

typedef struct payload {
  uint32_t lists;   /* bit set of the list fields that have entries */
  bool raw;         /* raw_data is present, possibly empty */
  surg__span bytes; /* of raw_data */
} payload;

static bool find_payload(surg__loader *L, const surg__field *t, payload *p) {
  *p = (payload){0};
  surg__cursor c = surg__load_cursor(L, t->body);
  surg__field f;
  while (surg__load_next(L, &c, &f)) {
    if (f.number == RAW) {
      p->raw = true;
      p->bytes = f.body;
    } else if (f.number < 32 && (LISTS >> f.number & 1)) {
      bool empty = f.number != STRINGS && f.wire == SURG__WIRE_BYTES && f.body.len == 0;
      if (!empty) p->lists |= 1u << f.number;
    }
  }
  return L->status == SURG_OK;
}

/* The list field for elements of a type. */
static uint32_t list_of(int dtype) {
  switch (dtype) {
    case SURG_FLOAT:
    case SURG_COMPLEX64:
      return FLOATS;
    case SURG_DOUBLE:
    case SURG_COMPLEX128:
      return DOUBLES;
    case SURG_INT64:
      return INT64S;
    case SURG_UINT32:
    case SURG_UINT64:
      return UINT64S;
    case SURG_STRING:
      return STRINGS;
    default:
      return INT32S;
  }
}

/* The number of list entries for n elements; false on overflow. */
static bool list_entries(int dtype, uint64_t n, uint64_t *out) {
  if (dtype == SURG_COMPLEX64 || dtype == SURG_COMPLEX128) return surg__mul_u64(n, 2, out);
  unsigned bits = surg__dtype_bits(dtype);
  unsigned per_entry = bits != 0 && bits < 8 ? 8 / bits : 1;
  *out = n / per_entry + (n % per_entry != 0);
  return true;
}

static const char *field_name(uint32_t number) {
  return protobuf_c_message_descriptor_get_field(&onnx__tensor_proto__descriptor, number)->name;
}

/* The entries of external_data, in scratch memory. */
static surg__extkey *external_keys(surg__loader *L, const Onnx__TensorProto *p) {
  surg__extkey *keys = surg__arena_array(&L->scratch, p->n_external_data + 1, sizeof *keys);
  if (!keys) {
    surg__load_oom(L);
    return NULL;
  }
  for (size_t i = 0; i < p->n_external_data; i++) {
    const Onnx__StringStringEntryProto *e = p->external_data[i];
    keys[i].key = (surg_str){e->key ? e->key : "", e->key ? strlen(e->key) : 0};
    keys[i].value = (surg_str){e->value ? e->value : "", e->value ? strlen(e->value) : 0};
  }
  return keys;
}

static bool is_key(const surg__extkey *k, const char *name) {
  return k->key.n == strlen(name) && memcmp(k->key.p, name, k->key.n) == 0;
}

/* Of a lenient load: reports faults of the external_data entries themselves, which can be cured.
 * True to continue; *wrong: there was a fault, so no file is opened. */
static bool check_entries(surg__loader *L, const surg__field *f, const surg__extkey *keys, size_t n,
                          const surg_tensor *t, bool *wrong) {
  const char *location = "";
  const bool format = surg__external_format(keys, n) != NULL;
  *wrong = false;
  for (size_t i = 0; i < n; i++)
    if (is_key(&keys[i], "location")) location = surg__qn(L->ctx, keys[i].value.p, keys[i].value.n);
  for (size_t i = 0; L->lenient && i < n && !*wrong; i++) {
    const surg_str v = keys[i].value;
    char *end;
    const unsigned long long length = strtoull(v.p, &end, 10);
    if (is_key(&keys[i], "location") && memchr(v.p, '\\', v.n)) {
      *wrong = true;
      if (!surg__load_bad(L, f->off, "E111", "external data %s: the location contains a backslash",
                          location))
        return false;
    } else if (is_key(&keys[i], "length") && !format && v.n && v.n < 20 &&
               strspn(v.p, "0123456789") >= v.n && length && length != t->bytes) {
      *wrong = true;
      if (!surg__load_bad(L, f->off, "E111",
                          "external data %s: length %llu where type and dims need %llu", location,
                          length, (unsigned long long)t->bytes))
        return false;
    }
  }
  return true;
}

/* Of a lenient load: if the data file is missing and exactly one file has a similar name, uses
 * that file. */
static bool find_alike(surg__loader *L, const surg__field *f, surg__extkey *keys, size_t n,
                       surg_tensor *t) {
  char found[SURG_LIMIT_LOCATION + 1];
  surg_str *location = NULL;
  for (size_t i = 0; i < n; i++)
    if (is_key(&keys[i], "location")) location = &keys[i].value;
  if (!L->lenient || !location || location->n > SURG_LIMIT_LOCATION) return true;
  if (!L->alike_from || strcmp(L->alike_from, location->p) != 0) {
    if (!surg__external_alike(L->m, location->p, found)) return true;
    L->alike_from = surg__load_intern(L, location->p);
    L->alike_to = surg__load_intern(L, found);
    if (!L->alike_from || !L->alike_to) return false;
    surg__load_warn(L, f->off, NULL, "external data %s: the file is named %s",
                    surg__q(L->ctx, L->alike_from), surg__q(L->ctx, L->alike_to));
  }
  if (!surg__load_unclean(L, f->off, "E111", "external data %s: the file is named %s",
                          surg__q(L->ctx, L->alike_from), surg__q(L->ctx, L->alike_to)))
    return false;
  surg__load_about(L, &(surg__defect){.tensor = t, .reading = SURG_READING_CERTAIN});
  *location = (surg_str){L->alike_to, strlen(L->alike_to)};
  t->defective = true;
  return true;
}

/* The first key that ONNX does not define, interned; NULL: none. */
static const char *odd_key(surg__loader *L, const surg__extkey *keys, size_t n) {
  static const char *const known[] = {"location", "offset", "length", "checksum"};
  for (size_t i = 0; i < n; i++) {
    size_t k = 0;
    while (k < SURG_COUNT(known) && !is_key(&keys[i], known[k])) k++;
    if (k == SURG_COUNT(known)) return surg__load_intern(L, keys[i].key.p);
  }
  return NULL;
}

/* Copies of all entries, for the tensor to keep. */
static bool copy_entries(surg__loader *L, const Onnx__TensorProto *p, const surg__extkey *keys,
                         surg__codec c, surg_tensor *t) {
  const size_t n = p->n_external_data;
  surg_str *texts = surg__arena_array(&L->scratch, 2 * n + 1, sizeof *texts);
  if (!texts) return surg__load_oom(L);
  for (size_t i = 0; i < n; i++) texts[i] = keys[i].key, texts[n + i] = keys[i].value;
  c.name = p->name ? p->name : "";
  c.keys = texts;
  c.values = texts + n;
  c.n = (uint32_t)n;
  t->codec = surg__codec_copy(L->m, &c);
  return t->codec || surg__load_oom(L);
}

/* Whether the elements were replaced by a digest. */
static bool is_stripped(const surg__extkey *keys, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (is_key(&keys[i], SURG__STRIPPED_KEY)) return true;
  return false;
}

static bool read_stripped(surg__loader *L, const surg__field *f, const Onnx__TensorProto *p,
                          const surg__extkey *keys, surg_tensor *t) {
  static const char what[] = "weights are stripped: `onnxsurg restore` fills them in";
  t->view = SURG__VIEW_ABSENT;
  t->lost = true;
  t->missing = true;
  if (!copy_entries(L, p, keys, (surg__codec){.n = 0}, t)) return false;
  if (!L->m->absent) return surg__load_bad(L, f->off, "E111", "%s", what);
  if (L->stripped) return true;
  L->stripped = true;
  surg__load_warn(L, f->off, "E111", "%s", what);
  if (L->lenient) surg__load_about(L, &(surg__defect){.tensor = t});
  return true;
}

#define NO_DECODER "external data is in format %s, which has no decoder (--plugin)"

/* The decoder of the tensor's format, if it has one. Without a decoder the tensor has no elements:
 * an error of a strict load, otherwise a warning. False: loading has ended, or a finding. */
static bool find_codec(surg__loader *L, const surg__field *f, const Onnx__TensorProto *p,
                       const surg__extkey *keys, surg_tensor *t) {
  const size_t n = p->n_external_data;
  const surg_str *format = surg__external_format(keys, n);
  if (!format) return true;
  const surg__taught_decoder *d = surg__taught_decoder_of(L->ctx, format->p, format->n);
  if (!d) {
    t->lost = true;
    const char *name = surg__qn(L->ctx, format->p, format->n);
    if (!L->m->absent) return surg__load_bad(L, f->off, "E111", NO_DECODER, name);
    surg__load_warn(L, f->off, "E111", NO_DECODER, name);
    return true;
  }
  return copy_entries(L, p, keys, (surg__codec){.decoder = d->decoder, .plugin = d->plugin}, t);
}

static bool read_external(surg__loader *L, const surg__field *f, const Onnx__TensorProto *p,
                          const payload *data, surg_tensor *t) {
  if (t->dtype == SURG_STRING)
    return surg__load_bad(L, f->off, "E119", "strings cannot be external data");
  if (data->lists || data->bytes.len)
    return surg__load_kind(
        L, SURG__DEFECT_BESIDE,
        surg__load_bad(L, f->off, "E137", "has external data and data in the model"));
  surg__extkey *keys = external_keys(L, p);
  bool wrong;
  if (keys && is_stripped(keys, p->n_external_data)) return read_stripped(L, f, p, keys, t);
  if (!keys || !find_alike(L, f, keys, p->n_external_data, t)) return false;
  if (!check_entries(L, f, keys, p->n_external_data, t, &wrong)) return false;
  t->lost = wrong;
  t->odd_key = odd_key(L, keys, p->n_external_data);
  if (wrong) return true;
  if (!find_codec(L, f, p, keys, t)) return false;
  if (t->lost) {
    t->view = SURG__VIEW_ABSENT;
    return true;
  }
  t->view = t->bytes ? SURG__VIEW_EXTERNAL : SURG__VIEW_EMPTY;
  const uint32_t warned = L->ctx->warnings;
  surg_status s =
      surg__external_resolve(L->m, f->off, keys, p->n_external_data, t->bytes, &t->file, &t->data);
  if (s == SURG_OK) {
    t->view = SURG__VIEW_EXTERNAL;
    return true;
  }
  const bool fatal = s == SURG_ENOMEM || s == SURG_EINTERNAL || s == SURG_ELIMIT;
  if (L->m->absent == SURG__ABSENT_MISSING && s != SURG_ENOTFOUND) return surg__load_stop(L, s);
  if (!L->m->absent || fatal) return surg__load_found(L, s);
  t->view = SURG__VIEW_ABSENT;
  t->lost = true;
  t->missing = s == SURG_ENOTFOUND;
  t->cut = t->missing && t->file && !t->file->absent;
  if (t->missing && t->file) t->location = surg__load_intern(L, t->file->location);
  t->file = NULL;
  t->codec = NULL;
  if (L->lenient && L->ctx->warnings != warned) { /* a message was printed: once per file */
    surg__load_unclean(L, f->off, "E111", "its data file is missing or does not fit");
    surg__load_about(L, &(surg__defect){.tensor = t});
  }
  return s == SURG_ENOTFOUND || surg__load_counted(L, s);
}

/* Whether each of `count` elements of `wide` bytes is a value of `size` bytes that was extended, by
 * zeros or by its sign. Other bytes are not elements that an exporter wrote wider. */
static bool extended(surg__loader *L, uint64_t at, uint64_t count, unsigned wide, unsigned size) {
  for (uint64_t i = 0; i < count; i++) {
    uint8_t e[8] = {0};
    if (surg__source_read(L->src, at + i * wide, e, wide) != SURG_OK) return false;
    const uint8_t sign = e[size - 1] & 0x80 ? 0xff : 0;
    bool zeros = true, signs = true;
    for (unsigned k = size; k < wide; k++) {
      zeros = zeros && e[k] == 0;
      signs = signs && e[k] == sign;
    }
    if (!zeros && !signs) return false;
  }
  return true;
}

/* Of a lenient load: handles raw_data that is larger than required. Elements written wider than
 * their type (as int32 or int64, by exporters without narrower types) have exactly that size. */
static void read_other_size(surg__loader *L, const payload *data, surg_tensor *t) {
  if (!L->lenient || !t->count || data->bytes.len < t->bytes) return;
  const uint64_t wide = data->bytes.len / t->count;
  const bool narrow = t->dtype == SURG_BOOL || t->dtype == SURG_INT8 || t->dtype == SURG_UINT8 ||
                      t->dtype == SURG_INT16 || t->dtype == SURG_UINT16;
  const unsigned size = surg__dtype_bits(t->dtype) / 8;
  t->defective = true;
  t->data = data->bytes;
  t->view = SURG__VIEW_ABSENT;
  if (narrow && data->bytes.len % t->count == 0 && wide > size && (wide == 4 || wide == 8) &&
      extended(L, data->bytes.off, t->count, (unsigned)wide, size)) {
    t->stored = (uint8_t)wide;
    surg__load_about(L, &(surg__defect){.reading = SURG_READING_CERTAIN});
    return;
  }
  t->view = SURG__VIEW_RAW;
  t->data.len = t->bytes;
  surg__load_about(L, &(surg__defect){.reading = SURG_READING_CERTAIN});
}

static bool read_raw(surg__loader *L, const surg__field *f, const payload *data, surg_tensor *t) {
  if (t->dtype == SURG_STRING)
    return surg__load_bad(L, f->off, "E119", "strings cannot be raw_data");
  if (data->bytes.len != t->bytes) {
    if (!surg__load_bad(L, f->off, "E119", "raw_data has %llu bytes where type and dims need %llu",
                        (unsigned long long)data->bytes.len, (unsigned long long)t->bytes))
      return false;
    surg__load_about(L, &(surg__defect){.kind = SURG__DEFECT_COUNT});
    read_other_size(L, data, t);
    return true;
  }
  t->view = t->bytes ? SURG__VIEW_RAW : SURG__VIEW_EMPTY;
  t->data = data->bytes;
  return true;
}

static bool read_list(surg__loader *L, const surg__field *f, const payload *data, surg_tensor *t) {
  const uint32_t field = list_of(t->dtype), others = data->lists & ~(1u << field);
  const char *other = others ? field_name((uint32_t)__builtin_ctz(others)) : NULL;
  if (data->lists == others)
    return surg__load_bad(L, f->off, "E119", "%s has entries, but type %s keeps its elements in %s",
                          other, surg__dtype_name(t->dtype), field_name(field));
  uint64_t entries;
  if (!list_entries(t->dtype, t->count, &entries))
    return surg__load_bad(L, f->off, "E119", "the number of elements overflows");
  if (others && !surg__load_bad(L, f->off, "E137", "has %s and %s", field_name(field), other))
    return false;
  const uint32_t found = L->findings;
  t->view = SURG__VIEW_TYPED;
  const bool read = surg__load_typed(L, f, t, field, entries);
  if (others && L->lenient && L->findings == found) {
    t->defective = true;
    surg__load_about(L, &(surg__defect){.reading = SURG_READING_CERTAIN});
  }
  return read;
}

static bool read_payload(surg__loader *L, const surg__field *f, const Onnx__TensorProto *p,
                         surg_tensor *t) {
  payload data;
  if (!find_payload(L, f, &data)) return false;
  if (p->has_data_location && p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
    return read_external(L, f, p, &data, t);
  if (p->has_data_location && p->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__DEFAULT)
    return surg__load_bad(L, f->off, "E119", "data_location %d does not exist",
                          (int)p->data_location);
  if (data.lists && data.bytes.len) {
    if (!surg__load_bad(L, f->off, "E137", "has raw_data and %s",
                        field_name((uint32_t)__builtin_ctz(data.lists))))
      return false;
    if (L->lenient && t->dtype != SURG_STRING && data.bytes.len == t->bytes) {
      t->defective = true;
      t->view = SURG__VIEW_RAW;
      t->data = data.bytes;
      surg__load_about(L, &(surg__defect){.reading = SURG_READING_CERTAIN});
    }
    return true;
  }
  if (data.lists) return read_list(L, f, &data, t);
  if (data.raw && (t->dtype != SURG_STRING || data.bytes.len)) return read_raw(L, f, &data, t);
  t->view = SURG__VIEW_EMPTY;
  if (t->count == 0) return true;
  return surg__load_bad(L, f->off, "E119", "has no data for %llu elements",
                        (unsigned long long)t->count);
}

/* Checks element type and dims; false: a finding, or loading has ended. */
static bool check_header(surg__loader *L, const surg__field *f, const Onnx__TensorProto *p) {
  uint64_t count, bytes;
  int dtype = p->has_data_type ? p->data_type : SURG_UNDEFINED;
  const bool exists = dtype != SURG_UNDEFINED && surg__dtype_name(dtype);
  if (dtype == SURG_UNDEFINED)
    surg__load_bad(L, f->off, "E119", "has no element type");
  else if (!exists)
    surg__load_bad(L, f->off, "E119", "element type %d does not exist", dtype);
  else if (!surg__dims_product(p->dims, p->n_dims, &count))
    surg__load_bad(L, f->off, "E119", "dims are negative or their product overflows");
  else if (dtype != SURG_STRING && !surg__dtype_bytes(dtype, count, &bytes))
    surg__load_bad(L, f->off, "E119", "dims ask for more bytes than can be counted");
  else if (p->n_dims > UINT32_MAX)
    surg__load_bad(L, f->off, "E119", "has too many dims");
  else
    return true;
  return surg__load_kind(L, exists ? SURG__DEFECT_DIMS : SURG__DEFECT_DTYPE, false);
}

surg_tensor *surg__load_shapeless(surg__loader *L, int dtype, surg__span msg) {
  surg_tensor *t = surg__arena_zalloc(&L->m->arena, sizeof *t);
  int64_t *none = t ? surg__arena_array(&L->m->arena, 1, sizeof *none) : NULL;
  if (!none) {
    surg__load_oom(L);
    return NULL;
  }
  *t = (surg_tensor){.model = L->m, .dtype = dtype, .dims = none, .view = SURG__VIEW_ABSENT};
  t->shapeless = true;
  t->msg = msg;
  surg__load_about(L, &(surg__defect){.tensor = t});
  return t;
}

/* Of a lenient load: marks elements that do not match type and dims as absent. */
static void keep_faulty(surg__loader *L, surg_tensor *t) {
  if (!t->defective) t->view = SURG__VIEW_ABSENT;
  t->file = NULL;
  surg__load_about(L, &(surg__defect){.tensor = t});
}

surg_tensor *surg__load_tensor(surg__loader *L, const surg__field *f, const char **name) {
  surg__mark mark = surg__arena_mark(&L->scratch);
  if (name) *name = "";
  surg_tensor *t = NULL;
  Onnx__TensorProto *p = surg__load_leaf(L, &onnx__tensor_proto__descriptor, f->body, PAYLOAD);
  if (p && name) *name = surg__load_intern(L, p->name);
  const uint32_t found = L->findings;
  if (p && L->status == SURG_OK && check_header(L, f, p)) {
    t = surg__tensor_alloc(L->m, p->data_type, p->dims, p->n_dims);
    if (!t) surg__load_oom(L);
  } else if (p && L->lenient && L->status == SURG_OK) {
    const bool known = p->has_data_type && surg__dtype_name(p->data_type);
    t = surg__load_shapeless(L, known ? p->data_type : SURG_UNDEFINED, f->body);
  }
  if (t && L->findings == found) {
    surg__dims_product(p->dims, p->n_dims, &t->count);
    t->bytes = 0;
    if (t->dtype != SURG_STRING) surg__dtype_bytes(t->dtype, t->count, &t->bytes);
    t->msg = f->body;
    const bool whole = !p->segment || surg__load_bad(L, f->off, "E142", "is a segment of a tensor");
    if (p->segment && L->lenient) surg__load_about(L, &(surg__defect){.tensor = t});
    uint32_t before = L->findings;
    const bool read = whole && read_payload(L, f, p, t);
    if (L->lenient && read && L->findings != before)
      keep_faulty(L, t);
    else if (!read || (L->findings != before && t->view != SURG__VIEW_ABSENT))
      t = NULL;
  }
  surg__arena_reset(&L->scratch, mark);
  return L->status == SURG_OK ? t : NULL;
}
