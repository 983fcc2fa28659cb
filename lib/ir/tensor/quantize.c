/* SPDX-License-Identifier: Apache-2.0 */
/* Quantizing the elements of a tensor, in pieces: each region is read twice, once for its extent
 * and once for the result. */
#include <float.h>
#include <math.h>

#include "ir/tensor/loops.h"
#include "ir/tensor/scaled.h"

#define PIECE SURG__SCALED_PIECE

typedef struct job {
  const surg_tensor *t;
  surg_context *ctx;
  surg__scaled s;
  surg_quantization how;
  double low, high; /* range of the integers, or of float8 */
  int64_t middle;   /* the zero point of symmetric types */
  uint8_t *raw, *native;
  float *room;
  const float *window; /* elements [at, at + n) */
  uint64_t at, n;
  float *least, *most; /* by key */
  float *scales;       /* by key, as stored */
  float *zeros;        /* by key */
  surg_tensor *q, *scale, *zero;
  uint8_t *out, *packed; /* results that are not yet written, and their form in the file */
  uint64_t pending, written;
} job;

/* --- reading --- */

static const float *to_floats(int dtype, const void *in, float *room, size_t n) {
  if (dtype == SURG_FLOAT) return in;
  if (dtype == SURG_FLOAT16)
    surg__halves_to_floats(in, room, n);
  else
    surg__bf16_to_floats(in, room, n);
  return room;
}

/* The elements from `at` on; *n: how many, at most, are wanted; set to how many there are. */
static const float *elements(job *j, uint64_t at, uint64_t *n, surg_status *s) {
  const int dtype = surg_tensor_dtype(j->t);
  const size_t size = surg__dtype_bits(dtype) / 8;
  if (*n > PIECE) *n = PIECE;
  if (at < j->at || at + *n > j->at + j->n) {
    const uint64_t left = j->s.count - at;
    j->at = at;
    j->n = left < PIECE ? left : PIECE;
    *s = surg_tensor_read(j->t, at * size, j->raw, (size_t)j->n * size);
    if (*s != SURG_OK) return NULL;
    const void *native = surg__unpacked(dtype, j->n, j->raw, j->native);
    j->window = to_floats(dtype, native, j->room, (size_t)j->n);
  }
  return j->window + (at - j->at);
}

/* --- extents --- */

/* Takes the elements of a run into the extents of their keys. False: one is no finite number. */
static bool meet(const job *j, const float *x, surg__scaled_run r) {
  float *least = j->least + r.key, *most = j->most + r.key;
  surg__float_extent e = {.least = INT32_MAX};
  if (r.step) {
    surg__extend_each(least, most, x, (size_t)r.n, &e.top);
    return e.top < SURG__INF_BITS;
  }
  surg__extend_floats(&e, x, (size_t)r.n);
  if (e.top >= SURG__INF_BITS) return false;
  *least = fminf(*least, -surg__bits_float((uint32_t)e.below));
  *most = fmaxf(*most, surg__bits_float((uint32_t)e.above));
  return true;
}

static surg_status measure(job *j, uint64_t from, uint64_t to) {
  surg_status s = SURG_OK;
  for (uint64_t k = 0; k < j->s.keys; k++) j->least[k] = j->most[k] = 0;
  while (from < to) {
    uint64_t n = to - from;
    const float *x = elements(j, from, &n, &s);
    for (uint64_t done = 0; x && done < n;) {
      const surg__scaled_run r = surg__scaled_at(&j->s, from + done, from + n);
      if (!meet(j, x + done, r)) return SURG_EINVALID;
      done += r.n;
    }
    if (s != SURG_OK) return s;
    from += n;
  }
  return SURG_OK;
}

/* --- scales --- */

/* The scale as its type stores it, never 0. */
static float stored(int dtype, double scale) {
  if (!(scale > 0)) return 1;
  if (dtype == SURG_FLOAT16) {
    const float f = surg__half_to_float(surg__double_to_half(scale));
    return f > 0 ? f : 0x1p-14f;
  }
  if (dtype == SURG_BFLOAT16) {
    const float f = surg__bf16_to_float(surg__double_to_bf16(scale));
    return f >= FLT_MIN ? f : FLT_MIN;
  }
  return scale >= (double)FLT_MIN ? (float)scale : FLT_MIN;
}

static void choose(job *j) {
  const int dtype = surg_tensor_dtype(j->t);
  for (uint64_t k = 0; k < j->s.keys; k++) {
    const double low = j->least[k], high = j->most[k], size = fmax(-low, high);
    if (j->how.symmetric) {
      j->scales[k] = stored(dtype, size / (j->high - (double)j->middle));
      j->zeros[k] = (float)j->middle;
      continue;
    }
    const double scale = (double)stored(dtype, (high - low) / (j->high - j->low));
    const double zero = nearbyint(j->low - low / scale);
    j->scales[k] = (float)scale;
    j->zeros[k] = (float)fmin(fmax(zero, j->low), j->high);
  }
}

/* --- results --- */

/* The pending elements as the file stores them. */
static const void *packed(job *j) {
  if (surg__dtype_bits(j->how.dtype) != 4)
    return surg__packed(j->how.dtype, j->pending, j->out, j->packed);
  if (j->pending & 1) j->out[j->pending] = 0;
  surg__pack_nibbles(j->out, j->packed, (size_t)(j->pending + 1) / 2);
  return j->packed;
}

static surg_status flush(job *j) {
  if (!j->pending) return SURG_OK;
  uint64_t bytes, before;
  surg__dtype_bytes(j->how.dtype, j->pending, &bytes);
  surg__dtype_bytes(j->how.dtype, j->written, &before);
  const void *p = packed(j);
  j->written += j->pending;
  j->pending = 0;
  return surg__blob_write(j->q->blob, before, p, (size_t)bytes);
}

#define RUN ((size_t)1024) /* elements at a time */

static void convert(job *j, const float *x, surg__scaled_run run) {
  const bool real = surg__dtype_is_float(j->how.dtype);
  surg__noise sum = {j->how.signal, j->how.noise};
  float r[RUN];
  for (uint64_t done = 0; done < run.n; done += RUN) {
    const size_t n = run.n - done < RUN ? (size_t)(run.n - done) : RUN;
    const uint64_t key = run.key + done * run.step;
    const surg__quantizer q = {(float)j->low, (float)j->high, j->scales + key, j->zeros + key,
                               (size_t)run.step};
    const float *in = x + done;
    if (real) {
      for (size_t i = 0; i < n; i++) {
        const uint8_t b = surg__float_to_fp8(j->how.dtype, in[i] / q.scale[i * run.step], true);
        j->out[j->pending + i] = b;
        r[i] = surg__fp8_to_float(j->how.dtype, b);
      }
    } else {
      surg__quantize_floats(&q, in, r, n);
      if (surg__dtype_bits(j->how.dtype) == 16)
        surg__floats_to_words(r, (uint16_t *)(void *)j->out + j->pending, n);
      else
        surg__floats_to_bytes(r, j->out + j->pending, n);
    }
    surg__measure_noise(&sum, &q, in, r, n);
    j->pending += n;
  }
  j->how.signal = sum.signal;
  j->how.noise = sum.noise;
}

static surg_status quantize_region(job *j, uint64_t from, uint64_t to) {
  surg_status s = SURG_OK;
  while (from < to) {
    uint64_t n = to - from;
    const float *x = elements(j, from, &n, &s);
    for (uint64_t done = 0; x && s == SURG_OK && done < n;) {
      const uint64_t room = PIECE - j->pending;
      const uint64_t end = n - done < room ? n : done + room;
      const surg__scaled_run r = surg__scaled_at(&j->s, from + done, from + end);
      convert(j, x + done, r);
      done += r.n;
      if (j->pending == PIECE) s = flush(j);
    }
    if (s != SURG_OK) return s;
    from += n;
  }
  return SURG_OK;
}

/* Writes the scales and zero points of a region. Zero points of 4 bits may begin within a byte:
 * they are all collected first (write_zeros). The elements that were read stay: `packed` is the
 * room, a half for each form. */
static surg_status write_scales(job *j, uint64_t region, uint8_t *zeros) {
  const int dtype = surg_tensor_dtype(j->t);
  const size_t size = surg__dtype_bits(dtype) / 8;
  const uint64_t most = PIECE / sizeof(float);
  uint8_t *native = j->packed, *raw = j->packed + PIECE;
  surg_status s = SURG_OK;
  for (uint64_t at = 0; at < j->s.keys && s == SURG_OK; at += most) {
    const uint64_t n = j->s.keys - at < most ? j->s.keys - at : most;
    for (uint64_t i = 0; i < n; i++) surg__store_f64(dtype, native, i, (double)j->scales[at + i]);
    surg__pack(dtype, n, native, raw);
    s = surg__blob_write(j->scale->blob, (region * j->s.keys + at) * size, raw, (size_t)n * size);
  }
  for (uint64_t k = 0; k < j->s.keys; k++) {
    const int32_t z = (int32_t)j->zeros[k];
    const uint64_t i = region * j->s.keys + k;
    if (surg__dtype_bits(j->how.dtype) == 16)
      ((uint16_t *)(void *)zeros)[i] = (uint16_t)z;
    else
      zeros[i] = (uint8_t)z;
  }
  return s;
}

static surg_status all_regions(job *j, uint8_t *zeros) {
  const uint64_t regions = surg__scaled_regions(&j->s);
  surg_status s = SURG_OK;
  for (uint64_t i = 0; i < regions && s == SURG_OK; i++) {
    uint64_t from, to;
    surg__scaled_region(&j->s, i, &from, &to);
    s = measure(j, from, to);
    if (s != SURG_OK) break;
    choose(j);
    s = write_scales(j, i, zeros);
    if (s == SURG_OK) s = quantize_region(j, from, to);
  }
  return s == SURG_OK ? flush(j) : s;
}

/* --- the whole --- */

/* Creates the three tensors, without elements. */
static bool make(job *j, surg_model *m) {
  const surg_tensor *t = j->t;
  const size_t rank = surg_tensor_rank(t);
  const int64_t length = (int64_t)j->s.length;
  int64_t *d = surg__alloc(j->ctx, (rank + 1) * sizeof *d);
  if (!d) return false;
  if (rank) memcpy(d, surg_tensor_dims(t), rank * sizeof *d);
  j->q = surg__tensor_blank(m, j->how.dtype, d, rank);
  if (j->s.block) d[j->how.axis] = (int64_t)j->s.groups;
  const int64_t *shape = j->s.block ? d : &length;
  const size_t n = j->s.block ? rank : j->s.each ? 1 : 0;
  j->scale = surg__tensor_blank(m, surg_tensor_dtype(t), shape, n);
  j->zero = surg__tensor_blank(m, j->how.dtype, shape, n);
  surg__free(j->ctx, d);
  return j->q && j->scale && j->zero;
}

static bool allocate(job *j) {
  const size_t keys = (size_t)j->s.keys + 1, piece = (size_t)PIECE;
  j->raw = surg__alloc(j->ctx, piece * sizeof(float));
  j->native = surg__alloc(j->ctx, piece * sizeof(float));
  j->room = surg__alloc(j->ctx, piece * sizeof(float));
  j->out = surg__alloc(j->ctx, piece * 2);
  j->packed = surg__alloc(j->ctx, piece * 2);
  j->least = surg__alloc(j->ctx, keys * 4 * sizeof(float));
  if (!j->raw || !j->native || !j->room || !j->out || !j->packed || !j->least) return false;
  j->most = j->least + keys;
  j->scales = j->most + keys;
  j->zeros = j->scales + keys;
  return true;
}

static void release(job *j) {
  surg__free(j->ctx, j->raw);
  surg__free(j->ctx, j->native);
  surg__free(j->ctx, j->room);
  surg__free(j->ctx, j->out);
  surg__free(j->ctx, j->packed);
  surg__free(j->ctx, j->least);
}

/* The zero points are kept in memory: one byte or two for each scale. */
static surg_status fill(job *j) {
  const uint64_t n = surg_tensor_count(j->zero);
  uint8_t *zeros = surg__calloc(j->ctx, (size_t)n + 1, 2);
  uint8_t *packed = surg__calloc(j->ctx, (size_t)n + 1, 2);
  surg_status s = zeros && packed ? all_regions(j, zeros) : surg__alloc_status(j->ctx);
  if (s == SURG_OK && j->zero->bytes) {
    surg__pack(j->how.dtype, n, zeros, packed);
    s = surg__blob_write(j->zero->blob, 0, packed, (size_t)j->zero->bytes);
  }
  surg__free(j->ctx, zeros);
  surg__free(j->ctx, packed);
  return s;
}

/* Sets the range of the result. False: no type to quantize to. */
static bool find_range(job *j) {
  const int d = j->how.dtype;
  if (d == SURG_FLOAT8E4M3FN) {
    j->high = 448;
    j->low = -448;
    j->how.symmetric = true;
    return true;
  }
  if (!surg__dtype_is_int(d) || surg__dtype_bits(d) > 16 || surg__dtype_bits(d) < 4) return false;
  const int bits = (int)surg__dtype_bits(d) - j->how.reduced;
  const double top = ldexp(1, bits) - 1;
  const bool is_signed = surg__dtype_is_signed_int(d);
  j->low = is_signed ? -ldexp(1, bits - 1) : 0;
  j->high = j->low + top;
  if (j->how.symmetric) {
    j->middle = is_signed ? 0 : (int64_t)ldexp(1, bits - 1);
    j->low++; /* as many numbers below the middle as above */
  }
  return true;
}

surg_status surg_tensor_quantize(surg_model *m, const surg_tensor *t, surg_quantization *how,
                                 surg_tensor **q, surg_tensor **scale, surg_tensor **zero) {
  if (!m || !t || !how || !q || !scale || !zero) return SURG_EUSAGE;
  if (!surg__model_ok(m)) return m->status;
  job j = {.t = t, .ctx = m->ctx, .how = {.size = sizeof j.how}};
  surg__struct_in(&j.how, sizeof j.how, how);
  const int dtype = surg_tensor_dtype(t);
  j.how.signal = j.how.noise = 0;
  if ((dtype != SURG_FLOAT && dtype != SURG_FLOAT16 && dtype != SURG_BFLOAT16) ||
      surg_tensor_is_sparse(t) || t->view == SURG__VIEW_ABSENT || !t->count || !find_range(&j) ||
      !surg__scaled_of(&j.s, t, j.how.each, j.how.axis, j.how.block))
    return SURG_EUNSUPPORTED;
  surg_status s = make(&j, m) && allocate(&j) ? SURG_OK : surg__alloc_status(m->ctx);
  if (s == SURG_OK) s = fill(&j);
  release(&j);
  if (s == SURG_EINVALID || s == SURG_EUNSUPPORTED) return s;
  if (s != SURG_OK) return surg__fail(m, s);
  *q = j.q;
  *scale = j.scale;
  *zero = j.zero;
  surg__struct_out(how, &j.how, sizeof j.how);
  return SURG_OK;
}
