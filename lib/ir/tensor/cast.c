/* SPDX-License-Identifier: Apache-2.0 */
/* Converting the elements of a tensor to another type, and their extent, in pieces. */
#include <float.h>
#include <math.h>

#include <onnxsurg/precision.h>

#include "base/limits.h"
#include "base/real.h"
#include "ir/tensor.h"
#include "ir/tensor/loops.h"
#include "ir/tensor/origin.h"

/* Elements at a time: few calls of the system, and a piece stays in the cache of the processor. */
#define PIECE ((size_t)SURG_LIMIT_PIECE / 2)

static bool takes(int dtype) {
  return dtype == SURG_FLOAT || dtype == SURG_DOUBLE || dtype == SURG_FLOAT16 ||
         dtype == SURG_BFLOAT16;
}

surg_status surg_dtype_limits(int dtype, surg_float_limits *out) {
  surg_float_limits l = {.size = sizeof l};
  if (!out || out->size < sizeof l) return SURG_EUSAGE;
  switch (dtype) {
    case SURG_FLOAT16:
      l = (surg_float_limits){sizeof l, 65504, 0x1p-14, 0x1p-25, 0x1p-11};
      break;
    case SURG_BFLOAT16:
      l = (surg_float_limits){sizeof l, 0x1.fep127, 0x1p-126, 0x1p-134, 0x1p-8};
      break;
    case SURG_FLOAT:
      l = (surg_float_limits){sizeof l, (double)FLT_MAX, (double)FLT_MIN, 0x1p-150, 0x1p-24};
      break;
    case SURG_DOUBLE:
      l = (surg_float_limits){sizeof l, DBL_MAX, DBL_MIN, 0, 0x1p-53};
      break;
    default:
      return SURG_EUNSUPPORTED;
  }
  *out = l;
  return SURG_OK;
}

static double clamp(const surg_float_limits *l, double v, bool *clamped) {
  const double size = fabs(v);
  double to = size;
  if (size > l->top && size <= DBL_MAX) to = l->top;
  if (size > 0 && size <= l->zero) to = l->normal;
  *clamped = *clamped || to > size || to < size;
  return copysign(to, v);
}

/* The frequent conversions; false: another one. */
static bool convert_fast(int from, int to, const void *in, void *out, size_t n) {
  if (from == SURG_FLOAT && to == SURG_FLOAT16)
    surg__floats_to_halves(in, out, n);
  else if (from == SURG_FLOAT && to == SURG_BFLOAT16)
    surg__floats_to_bf16(in, out, n);
  else if (from == SURG_FLOAT16 && to == SURG_FLOAT)
    surg__halves_to_floats(in, out, n);
  else if (from == SURG_BFLOAT16 && to == SURG_FLOAT)
    surg__bf16_to_floats(in, out, n);
  else
    return false;
  return true;
}

/* uint8 and int8, 128 apart. */
static void flip_signs(const uint8_t *in, uint8_t *out, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = in[i] ^ 0x80;
}

static void convert(int from, int to, const void *in, void *out, size_t n, bool *clamped) {
  surg_float_limits l = {.size = sizeof l};
  surg_dtype_limits(to, &l); /* integers have none */
  if (from == SURG_UINT8 || from == SURG_INT8) {
    flip_signs(in, out, n);
    return;
  }
  if (from == SURG_INT64) {
    surg__narrow_ints(in, out, n);
    return;
  }
  if (from == SURG_INT32) {
    for (size_t i = 0; i < n; i++) ((int64_t *)out)[i] = ((const int32_t *)in)[i];
    return;
  }
  if (!clamped && convert_fast(from, to, in, out, n)) return;
  for (size_t i = 0; i < n; i++) {
    const double v = surg__load_f64(from, in, i);
    surg__store_f64(to, out, i, clamped ? clamp(&l, v, clamped) : v);
  }
}

/* A conversion in pieces: memory does not grow with the tensor. */
typedef struct job {
  surg_context *ctx;
  const surg_tensor *t; /* the elements to convert; NULL: of `origin` */
  surg__origin origin;
  int from, to;
  size_t in_size, size; /* of an element */
  uint64_t count;
  uint8_t *in, *native, *out, *packed; /* a piece each */
} job;

static job job_of(surg_context *ctx, const surg_tensor *t, int to) {
  job j = {.ctx = ctx, .t = t, .from = t->dtype, .to = to, .count = t->count};
  j.in_size = surg__dtype_bits(j.from) / 8;
  j.size = surg__dtype_bits(to) / 8;
  assert(j.in_size > 0 && j.size > 0);
  return j;
}

/* Pieces of up to n elements. */
static bool open_pieces(job *j, uint64_t n) {
  const size_t most = n < PIECE ? (size_t)n : PIECE;
  j->in = surg__alloc(j->ctx, most * j->in_size);
  j->native = surg__alloc(j->ctx, most * j->in_size);
  j->out = surg__alloc(j->ctx, most * j->size);
  j->packed = surg__alloc(j->ctx, most * j->size);
  return j->in && j->native && j->out && j->packed;
}

static void close_pieces(job *j) {
  surg__free(j->ctx, j->in);
  surg__free(j->ctx, j->native);
  surg__free(j->ctx, j->out);
  surg__free(j->ctx, j->packed);
  j->in = j->native = j->out = j->packed = NULL;
}

/* Elements [at, at + n), converted, as they are stored. */
static surg_status piece(const job *j, uint64_t at, size_t n, bool *clamped, const uint8_t **made) {
  const uint64_t from = at * j->in_size;
  const surg_status s = j->t ? surg_tensor_read(j->t, from, j->in, n * j->in_size)
                             : surg__origin_read(&j->origin, from, j->in, n * j->in_size);
  if (s != SURG_OK) return s;
  convert(j->from, j->to, surg__unpacked(j->from, n, j->in, j->native), j->out, n, clamped);
  *made = surg__packed(j->to, n, j->out, j->packed);
  return SURG_OK;
}

static surg_status convert_all(const surg_tensor *t, surg_tensor *made, bool *clamped) {
  job j = job_of(made->model->ctx, t, made->dtype);
  surg_status s = open_pieces(&j, j.count) ? SURG_OK : surg__alloc_status(j.ctx);
  for (uint64_t at = 0; s == SURG_OK && at < j.count; at += PIECE) {
    const size_t n = j.count - at < PIECE ? (size_t)(j.count - at) : PIECE;
    const uint8_t *p;
    s = piece(&j, at, n, clamped, &p);
    if (s == SURG_OK) s = surg__blob_write(made->blob, at * j.size, p, n * j.size);
  }
  close_pieces(&j);
  return s;
}

/* --- tensors that are converted when they are read --- */

/* Bytes [off, off + n), which may begin and end within an element. They are mostly read in order:
 * the pieces stay until the end is. */
static surg_status derive(void *user, uint64_t off, void *out, size_t n) {
  job *j = user;
  const uint64_t end = (off + n - 1) / j->size + 1;
  uint8_t *to = out;
  surg_status s = j->packed || open_pieces(j, j->count) ? SURG_OK : surg__alloc_status(j->ctx);
  for (uint64_t at = off / j->size; s == SURG_OK && at < end; at += PIECE) {
    const size_t some = end - at < PIECE ? (size_t)(end - at) : PIECE;
    const uint64_t skip = off > at * j->size ? off - at * j->size : 0;
    const uint8_t *p;
    s = piece(j, at, some, NULL, &p);
    if (s != SURG_OK) break;
    const uint64_t have = some * j->size - skip, left = n - (uint64_t)(to - (uint8_t *)out);
    const size_t part = (size_t)(have < left ? have : left);
    memcpy(to, p + skip, part);
    to += part;
  }
  if (s != SURG_OK || end == j->count) close_pieces(j);
  return s;
}

static void release(void *user, const void *data) {
  job *j = user;
  (void)data;
  close_pieces(j);
  surg__origin_drop(&j->origin);
  surg__free(j->ctx, j);
}

/* Elements that do not fit into memory stay where they are, and are converted as often as they are
 * read: mostly once, for the file. NULL, with the model as it is: this needs an own copy. */
static surg_tensor *derived(surg_model *m, const surg_tensor *t, int dtype) {
  uint64_t bytes;
  surg__origin origin;
  if (!surg__dtype_bytes(dtype, t->count, &bytes) || !surg__blob_spills(m, bytes)) return NULL;
  if (!surg__origin_of(&origin, t)) return NULL;
  surg_tensor *made = surg__tensor_alloc(m, dtype, surg_tensor_dims(t), surg_tensor_rank(t));
  job *j = made ? surg__alloc(m->ctx, sizeof *j) : NULL;
  if (j) *j = job_of(m->ctx, t, dtype);
  if (j) j->t = NULL, j->origin = origin;
  if (j) made->blob = surg__blob_derive(m, bytes, derive, release, j);
  if (j && made->blob) {
    made->view = SURG__VIEW_OWNED;
    return made;
  }
  surg__origin_drop(&origin);
  surg__free(m->ctx, j);
  return NULL;
}

/* A tensor of another type, converted. */
static surg_tensor *made_of(surg_model *m, const surg_tensor *t, int dtype, bool *clamped) {
  surg_tensor *made = clamped ? NULL : derived(m, t, dtype);
  if (made || !surg__model_ok(m)) return made;
  made = surg__tensor_blank(m, dtype, surg_tensor_dims(t), surg_tensor_rank(t));
  const surg_status s = made && made->bytes ? convert_all(t, made, clamped) : SURG_OK;
  if (s == SURG_OK) return made;
  surg__fail(m, s);
  return NULL;
}

static surg_tensor *unsupported(surg_model *m) {
  surg__fail(m, SURG_EUNSUPPORTED);
  return NULL;
}

static surg_tensor *cast(surg_model *m, const surg_tensor *t, int dtype, bool *clamped) {
  if (!surg__model_ok(m) || !t || t->view == SURG__VIEW_ABSENT) return NULL;
  const int from = surg_tensor_dtype(t);
  const bool ints =
      (from == SURG_INT64 && dtype == SURG_INT32) || (from == SURG_INT32 && dtype == SURG_INT64);
  if ((!ints && (!takes(dtype) || !takes(from))) || surg_tensor_is_sparse(t)) return unsupported(m);
  return made_of(m, t, dtype, clamped);
}

surg_tensor *surg_tensor_flip_sign(surg_model *m, const surg_tensor *t) {
  if (!surg__model_ok(m) || !t) return NULL;
  const int from = surg_tensor_dtype(t);
  if ((from != SURG_UINT8 && from != SURG_INT8) || surg_tensor_is_sparse(t)) return unsupported(m);
  return made_of(m, t, from == SURG_UINT8 ? SURG_INT8 : SURG_UINT8, NULL);
}

surg_tensor *surg_tensor_cast(surg_model *m, const surg_tensor *t, int dtype) {
  return cast(m, t, dtype, NULL);
}

surg_tensor *surg_tensor_narrow(surg_model *m, const surg_tensor *t, int dtype, bool *clamped) {
  bool any = false;
  surg_tensor *made = cast(m, t, dtype, &any);
  if (clamped) *clamped = any;
  return made;
}

/* --- extent --- */

static void meet_size(surg_extent *e, double size) {
  if (size > e->largest) e->largest = size;
  if (size > 0 && (e->least == 0 || size < e->least)) e->least = size;
}

static void meet(surg_extent *e, double v) {
  const double size = fabs(v);
  if (v != v || size > DBL_MAX) {
    e->nan = e->nan || v != v;
    e->inf = e->inf || v == v;
    return;
  }
  if (v < e->low) e->low = v;
  if (v > e->high) e->high = v;
  meet_size(e, size);
}

/* Takes in what the loops collected. */
static void meet_floats(surg_extent *e, const surg__float_extent *f) {
  const int32_t largest = f->above > f->below ? f->above : f->below;
  e->nan = f->top > SURG__INF_BITS;
  e->inf = f->inf != 0;
  if (largest == 0) return;
  e->least = (double)surg__bits_float((uint32_t)f->least);
  e->largest = (double)surg__bits_float((uint32_t)largest);
  e->low = f->below ? -(double)surg__bits_float((uint32_t)f->below) : 0;
  e->high = (double)surg__bits_float((uint32_t)f->above);
}

static void meet_ints(surg_extent *e, const surg__int_extent *i) {
  if (i->least == UINT64_MAX) return; /* all are 0 */
  e->low = (double)i->low;
  e->high = (double)i->high;
  e->least = (double)(i->least + 1);
  e->largest = fmax(-e->low, e->high);
}

surg_status surg_tensor_extent(const surg_tensor *t, surg_extent *out) {
  if (!t || !out) return SURG_EUSAGE;
  const int dtype = surg_tensor_dtype(t);
  const bool ints = dtype == SURG_INT64;
  if ((!ints && !takes(dtype)) || surg_tensor_is_sparse(t) || t->view == SURG__VIEW_ABSENT)
    return SURG_EUNSUPPORTED;
  surg_context *ctx = t->model->ctx;
  const size_t size = surg__dtype_bits(dtype) / 8;
  surg_extent e = {.size = sizeof e};
  surg__float_extent floats = {.least = INT32_MAX};
  surg__int_extent whole = {.least = UINT64_MAX};
  uint8_t *in = surg__alloc(ctx, PIECE * size), *native = surg__alloc(ctx, PIECE * size);
  surg_status s = in && native ? SURG_OK : surg__alloc_status(ctx);
  for (uint64_t at = 0; s == SURG_OK && at < t->count; at += PIECE) {
    const size_t n = t->count - at < PIECE ? (size_t)(t->count - at) : PIECE;
    s = surg_tensor_read(t, at * size, in, n * size);
    if (s != SURG_OK) break;
    const void *p = surg__unpacked(dtype, n, in, native);
    if (dtype == SURG_FLOAT)
      surg__extend_floats(&floats, p, n);
    else if (ints)
      surg__extend_ints(&whole, p, n);
    else
      for (size_t i = 0; i < n; i++) meet(&e, surg__load_f64(dtype, p, i));
  }
  if (dtype == SURG_FLOAT) meet_floats(&e, &floats);
  if (ints) meet_ints(&e, &whole);
  surg__free(ctx, in);
  surg__free(ctx, native);
  if (s == SURG_OK) surg__struct_out(out, &e, sizeof e);
  return s;
}
