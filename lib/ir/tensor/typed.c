/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of typed lists (float_data, int32_data, ...): walks the TensorProto in the source and
 * decodes its list, packed or not, from one or several fields. */
#include "base/dtype.h"
#include "ir/tensor.h"

/* Fields of TensorProto. */
enum {
  FLOAT_DATA = 4,
  INT32_DATA = 5,
  STRING_DATA = 6,
  INT64_DATA = 7,
  DOUBLE_DATA = 10,
  UINT64_DATA = 11
};

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_LEN = 2, WIRE_32 = 5 };

/* A buffered reader for a range of the source. */
typedef struct stream {
  const surg__source *src;
  uint64_t pos, end; /* the range that is not in the buffer yet */
  size_t at, n;
  uint8_t buf[4096];
} stream;

static uint64_t left(const stream *s) {
  return s->n - s->at + (s->end - s->pos);
}

static surg_status truncated(const stream *s) {
  return surg__error(s->src->ctx, SURG_EINVALID, s->src->name, "byte %llu: tensor data cut off",
                     (unsigned long long)s->pos);
}

static surg_status fill(stream *s) {
  assert(s->at == s->n); /* the buffer was used up */
  if (s->pos >= s->end) return truncated(s);
  size_t n = s->end - s->pos < sizeof s->buf ? (size_t)(s->end - s->pos) : sizeof s->buf;
  surg_status st = surg__source_read(s->src, s->pos, s->buf, n);
  if (st != SURG_OK) return st;
  s->pos += n;
  s->at = 0;
  s->n = n;
  return SURG_OK;
}

static surg_status take(stream *s, void *out, uint64_t n) {
  uint8_t *to = out;
  if (n > left(s)) return truncated(s);
  while (n) {
    if (s->at == s->n) {
      surg_status st = fill(s);
      if (st != SURG_OK) return st;
    }
    size_t part = s->n - s->at < n ? s->n - s->at : (size_t)n;
    memcpy(to, s->buf + s->at, part);
    s->at += part;
    to += part;
    n -= part;
  }
  return SURG_OK;
}

static surg_status skip(stream *s, uint64_t n) {
  if (n > left(s)) return truncated(s);
  uint64_t buffered = s->n - s->at;
  if (n <= buffered) {
    s->at += (size_t)n;
  } else {
    s->at = s->n;
    s->pos += n - buffered;
  }
  return SURG_OK;
}

static surg_status varint(stream *s, uint64_t *out) {
  uint64_t v = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (s->at == s->n) {
      surg_status st = fill(s);
      if (st != SURG_OK) return st;
    }
    uint8_t b = s->buf[s->at++];
    if (shift < 64) v |= (uint64_t)(b & 0x7F) << shift;
    if (!(b & 0x80)) {
      *out = v;
      return SURG_OK;
    }
  }
  return truncated(s);
}

static surg_status skip_field(stream *s, uint32_t wire) {
  uint64_t n;
  surg_status st;
  switch (wire) {
    case WIRE_VARINT:
      return varint(s, &n);
    case WIRE_64:
      return skip(s, 8);
    case WIRE_32:
      return skip(s, 4);
    case WIRE_LEN:
      st = varint(s, &n);
      return st != SURG_OK ? st : skip(s, n);
    default:
      return truncated(s);
  }
}

static stream open_stream(const surg_tensor *t) {
  stream s;
  s.src = t->model->source;
  s.pos = t->msg.off;
  s.end = t->msg.off + t->msg.len;
  s.at = s.n = 0;
  return s;
}

/* The destination of decoded bytes: memory, or a blob through a buffer. */
typedef struct sink {
  uint8_t *out;
  surg__blob *blob;
  uint64_t done, total;
  size_t n;
  uint8_t buf[4096];
} sink;

static surg_status flush(sink *k) {
  assert(k->n <= k->done && (k->n == 0 || k->blob));
  surg_status s = k->n ? surg__blob_write(k->blob, k->done - k->n, k->buf, k->n) : SURG_OK;
  k->n = 0;
  return s;
}

static surg_status put(sink *k, uint64_t bits, unsigned width, const stream *s) {
  assert(k->done <= k->total && width <= sizeof bits);
  if (width > k->total - k->done) return truncated(s);
  if (!k->out && k->n + width > sizeof k->buf) {
    surg_status st = flush(k);
    if (st != SURG_OK) return st;
  }
  uint8_t *to = k->out ? k->out + k->done : k->buf + k->n;
  for (unsigned i = 0; i < width; i++) to[i] = (uint8_t)(bits >> (8 * i));
  k->done += width;
  if (!k->out) k->n += width;
  return SURG_OK;
}

/* The list field for an element type, the wire type of its entries, and the bytes decoded from
 * each. */
typedef struct layout {
  uint32_t field, wire;
  unsigned width;
} layout;

static layout layout_of(int dtype) {
  unsigned bits = surg__dtype_bits(dtype);
  switch (dtype) {
    case SURG_FLOAT:
    case SURG_COMPLEX64:
      return (layout){FLOAT_DATA, WIRE_32, 4};
    case SURG_DOUBLE:
    case SURG_COMPLEX128:
      return (layout){DOUBLE_DATA, WIRE_64, 8};
    case SURG_INT64:
      return (layout){INT64_DATA, WIRE_VARINT, 8};
    case SURG_UINT32:
      return (layout){UINT64_DATA, WIRE_VARINT, 4};
    case SURG_UINT64:
      return (layout){UINT64_DATA, WIRE_VARINT, 8};
    default:
      return (layout){INT32_DATA, WIRE_VARINT, bits < 8 ? 1 : bits / 8};
  }
}

static surg_status entry(stream *s, sink *k, const layout *l) {
  uint64_t v = 0;
  surg_status st;
  if (l->wire == WIRE_VARINT) {
    st = varint(s, &v);
  } else {
    uint8_t b[8] = {0};
    assert(l->width <= sizeof b);
    st = take(s, b, l->width);
    v = surg__le64(b);
  }
  return st != SURG_OK ? st : put(k, v, l->width, s);
}

static surg_status packed(stream *s, sink *k, const layout *l) {
  uint64_t n;
  surg_status st = varint(s, &n);
  if (st != SURG_OK) return st;
  if (n > left(s)) return truncated(s);
  if (k->out && l->wire != WIRE_VARINT) {
    if (n % l->width || n > k->total - k->done) return truncated(s);
    st = take(s, k->out + k->done, n);
    if (st == SURG_OK) k->done += n;
    return st;
  }
  uint64_t stop = left(s) - n;
  while (st == SURG_OK && left(s) > stop) st = entry(s, k, l);
  return st != SURG_OK || left(s) == stop ? st : truncated(s);
}

static surg_status decode(const surg_tensor *t, sink *k) {
  stream s = open_stream(t);
  layout l = layout_of(t->dtype);
  surg_status st = SURG_OK;
  while (st == SURG_OK && left(&s)) {
    uint64_t tag;
    st = varint(&s, &tag);
    if (st != SURG_OK) break;
    uint32_t wire = tag & 7;
    if (tag >> 3 != l.field)
      st = skip_field(&s, wire);
    else if (wire == l.wire)
      st = entry(&s, k, &l);
    else
      st = wire == WIRE_LEN ? packed(&s, k, &l) : truncated(&s);
  }
  if (st == SURG_OK && k->done != k->total) st = truncated(&s);
  return st;
}

surg_status surg__typed_read(const surg_tensor *t, void *out) {
  sink k;
  k.out = out;
  k.blob = NULL;
  k.done = 0;
  k.total = t->bytes;
  k.n = 0;
  return decode(t, &k);
}

surg_status surg__typed_to_blob(const surg_tensor *t, surg__blob *b) {
  sink k;
  k.out = NULL;
  k.blob = b;
  k.done = 0;
  k.total = t->bytes;
  k.n = 0;
  surg_status s = decode(t, &k);
  return s != SURG_OK ? s : flush(&k);
}

const surg_str *surg__typed_strings(const surg_tensor *t, uint64_t *bytes) {
  surg_model *m = t->model;
  surg_str *list = surg__array(m, t->count, sizeof *list);
  if (!list) return NULL;
  stream s = open_stream(t);
  uint64_t found = 0;
  *bytes = 0;
  while (left(&s)) {
    uint64_t tag, n;
    if (varint(&s, &tag) != SURG_OK) return NULL;
    if (tag != (STRING_DATA << 3 | WIRE_LEN)) {
      if (skip_field(&s, tag & 7) != SURG_OK) return NULL;
      continue;
    }
    if (varint(&s, &n) != SURG_OK || n > left(&s) || found == t->count) return NULL;
    char *p = surg__arena_alloc(&m->arena, (size_t)n + 1);
    if (!p) return surg__failed(m);
    if (take(&s, p, n) != SURG_OK) return NULL;
    p[n] = 0;
    list[found++] = (surg_str){p, (size_t)n};
    *bytes += n;
  }
  return found == t->count ? list : NULL;
}
