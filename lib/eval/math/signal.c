/* SPDX-License-Identifier: Apache-2.0 */
/* DFT, STFT and MelWeightMatrix. Transforms are computed in double by the prime factors of their
 * length: a power of two costs O(n log n), a prime O(n^2). */
#include <math.h>

#include "eval/core/kernels.h"
#include "eval/move/move.h"
#include "eval/core/number.h"

#define QUARTER_TURN 1.57079632679489661923

/* Memory for the transform of `n` complex points. */
typedef struct transform {
  uint64_t n;
  uint32_t n_factors;
  uint64_t factor[64];
  double *wave;       /* n pairs cos, sin of -turn * i / n; the sign is reversed for the inverse */
  double *from, *to;  /* n pairs each; `from` has the input and, at the end, the result */
} transform;

static void find_factors(transform *t) {
  uint64_t rest = t->n;
  for (uint64_t p = 2; p * p <= rest; p += p == 2 ? 1 : 2) {
    for (; rest % p == 0; rest /= p) t->factor[t->n_factors++] = p;
  }
  if (rest > 1) t->factor[t->n_factors++] = rest;
}

/* Stores cos and sin of i / n turns; multiples of a quarter turn are exact. */
static void put_wave(double *to, uint64_t i, uint64_t n, bool inverse) {
  uint64_t quarter = 4 * i / n, rest = 4 * i % n;
  bool far = 2 * rest > n; /* closer to the next quarter */
  double angle = QUARTER_TURN * (double)(far ? n - rest : rest) / (double)n;
  double x = far ? sin(angle) : cos(angle), y = far ? cos(angle) : sin(angle);
  double re = quarter % 2 == 0 ? x : y, im = quarter % 2 == 0 ? y : x;
  to[0] = quarter == 1 || quarter == 2 ? -re : re;
  to[1] = (quarter >= 2) != !inverse ? -im : im;
}

/* Requests the work of `count` transforms, then allocates memory. */
static surg__kstatus prepare(surg_kctx *k, transform *t, uint64_t n, uint64_t count, bool inverse) {
  uint64_t each = 4, work;
  if (n > UINT64_C(1) << 40) return SURG__K_BUDGET; /* limits the search for factors too */
  *t = (transform){.n = n};
  find_factors(t);
  for (uint32_t i = 0; i < t->n_factors; ++i) {
    if (!surg__add_u64(each, t->factor[i], &each)) return SURG__K_BUDGET;
  }
  if (!surg__mul_u64(each, n, &work) || !surg__mul_u64(work, count, &work)) return SURG__K_BUDGET;
  SURG__K_TRY(surg__k_work(k, work));
  t->wave = surg__k_scratch(k, (size_t)n, 2 * sizeof *t->wave);
  t->from = surg__k_scratch(k, (size_t)n, 2 * sizeof *t->from);
  t->to = surg__k_scratch(k, (size_t)n, 2 * sizeof *t->to);
  if (!t->wave || !t->from || !t->to) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < n; ++i) put_wave(t->wave + 2 * i, i, n, inverse);
  return SURG__K_OK;
}

/* One step, for the factor p: `from` has n / length transforms of every (n/length)-th point; `to`
 * receives n / (length * p) transforms that are p times as long. */
static void merge(const transform *t, uint64_t length, uint64_t p) {
  uint64_t longer = length * p, rest = t->n / longer;
  for (uint64_t r = 0; r < rest; ++r) {
    for (uint64_t j = 0; j < longer; ++j) {
      double re = 0, im = 0;
      uint64_t turn = 0;
      for (uint64_t q = 0; q < p; ++q) {
        const double *x = t->from + 2 * ((r + rest * q) * length + j % length);
        const double *w = t->wave + 2 * turn * rest;
        re += x[0] * w[0] - x[1] * w[1];
        im += x[0] * w[1] + x[1] * w[0];
        turn += j;
        if (turn >= longer) turn -= longer;
      }
      t->to[2 * (r * longer + j)] = re;
      t->to[2 * (r * longer + j) + 1] = im;
    }
  }
}

static void run(transform *t) {
  uint64_t length = 1;
  for (uint32_t i = 0; i < t->n_factors; ++i) {
    merge(t, length, t->factor[i]);
    length *= t->factor[i];
    double *swap = t->from;
    t->from = t->to;
    t->to = swap;
  }
}

/* --- DFT --- */

typedef struct dft {
  const surg__array *x, *o;
  uint32_t axis;
  uint64_t points, step, parts; /* of the signal: length, stride, and numbers per point (1 or 2) */
  uint64_t out_points, out_parts;
  bool inverse, half; /* half: one-sided result, or (inverse) one-sided input */
} dft;

static surg__kstatus find_axis(surg_kctx *k, dft *d) {
  int64_t axis = -2;
  if (k->since < 20)
    axis = surg_node_int(k->node, "axis", 1);
  else if (surg__k_has(k, 2))
    SURG__K_TRY(surg__int_input(k, 2, &axis));
  if (d->x->rank < 2 || !surg__k_axis(axis, d->x->rank, &d->axis) || d->axis == d->x->rank - 1) {
    return surg__k_invalid(k, "axis is not an axis of the signal");
  }
  return SURG__K_OK;
}

static surg__kstatus dft_shapes(surg_kctx *k, dft *d, int64_t *length, int64_t *dims) {
  uint32_t rank = d->x->rank;
  d->parts = (uint64_t)d->x->dims[rank - 1];
  if (d->parts != 1 && d->parts != 2) return surg__k_invalid(k, "neither real nor complex numbers");
  d->inverse = surg_node_int(k->node, "inverse", 0) != 0;
  d->half = surg_node_int(k->node, "onesided", 0) != 0;
  if (d->half && (d->parts == 2) != d->inverse) {
    return surg__k_invalid(k, "onesided does not fit the numbers of the signal");
  }
  d->points = (uint64_t)d->x->dims[d->axis];
  *length = (int64_t)d->points;
  if (d->half && d->inverse) *length = d->points > 0 ? 2 * ((int64_t)d->points - 1) : 0;
  if (surg__k_has(k, 1)) SURG__K_TRY(surg__int_input(k, 1, length));
  if (*length < 1) return surg__k_invalid(k, "a transform of no points");
  memcpy(dims, d->x->dims, rank * sizeof *dims);
  d->out_points = (uint64_t)(d->half && !d->inverse ? *length / 2 + 1 : *length);
  d->out_parts = d->half && d->inverse ? 1 : 2;
  dims[d->axis] = (int64_t)d->out_points;
  dims[rank - 1] = (int64_t)d->out_parts;
  return SURG__K_OK;
}

/* Reads the points from element `base` on, truncated or zero-padded to the length of the
 * transform. */
static void read_points(const dft *d, transform *t, uint64_t base) {
  uint64_t side = t->n / 2 + 1, have = d->points;
  if (d->half && d->inverse && have > side) have = side;
  if (have > t->n) have = t->n;
  memset(t->from, 0, (size_t)t->n * 2 * sizeof *t->from);
  for (uint64_t i = 0; i < have; ++i) {
    uint64_t at = base + i * d->step * d->parts;
    t->from[2 * i] = surg__load_f64(d->x->dtype, d->x->data, at);
    if (d->parts == 2) t->from[2 * i + 1] = surg__load_f64(d->x->dtype, d->x->data, at + 1);
  }
  if (!d->half || !d->inverse) return;
  /* The other half is the complex conjugate; points that are their own mirror image are real. */
  t->from[1] = 0;
  if (t->n % 2 == 0) t->from[t->n + 1] = 0;
  for (uint64_t i = 1; i < (t->n + 1) / 2; ++i) {
    t->from[2 * (t->n - i)] = t->from[2 * i];
    t->from[2 * (t->n - i) + 1] = -t->from[2 * i + 1];
  }
}

static void write_points(const dft *d, const transform *t, uint64_t base) {
  double by = d->inverse ? (double)t->n : 1;
  for (uint64_t i = 0; i < d->out_points; ++i) {
    for (uint64_t p = 0; p < d->out_parts; ++p) {
      surg__store_f64(d->o->dtype, d->o->data, base + i * d->step * d->out_parts + p,
                      t->from[2 * i + p] / by);
    }
  }
}

surg__kstatus surg__k_dft(surg_kctx *k) {
  dft d = {.x = &k->in[0], .o = &k->out[0], .step = 1};
  int64_t dims[SURG_LIMIT_RANK], length;
  transform t;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(find_axis(k, &d));
  SURG__K_TRY(dft_shapes(k, &d, &length, dims));
  SURG__K_TRY(surg__k_out(k, 0, d.x->dtype, dims, d.x->rank));
  if (d.o->count == 0) return SURG__K_OK;
  for (uint32_t i = d.axis + 1; i + 1 < d.x->rank; ++i) d.step *= (uint64_t)dims[i];
  uint64_t signals = d.o->count / (d.out_points * d.out_parts);
  SURG__K_TRY(prepare(k, &t, (uint64_t)length, signals, d.inverse));
  for (uint64_t s = 0; s < signals; ++s) {
    uint64_t outer = s / d.step, inner = s % d.step;
    read_points(&d, &t, (outer * d.points * d.step + inner) * d.parts);
    run(&t);
    write_points(&d, &t, (outer * d.out_points * d.step + inner) * d.out_parts);
  }
  return SURG__K_OK;
}

/* --- STFT --- */

typedef struct stft {
  const surg__array *x, *window; /* window NULL: all ones */
  uint64_t batch, points, parts, frames, frame, step, bins;
} stft;

static surg__kstatus stft_shapes(surg_kctx *k, stft *f) {
  int64_t step, frame = -1;
  if (f->x->rank != 2 && f->x->rank != 3) return surg__k_invalid(k, "the signal has another rank");
  f->parts = f->x->rank == 3 ? (uint64_t)f->x->dims[2] : 1;
  if (f->parts != 1 && f->parts != 2) return surg__k_invalid(k, "neither real nor complex numbers");
  SURG__K_TRY(surg__int_input(k, 1, &step));
  if (surg__k_has(k, 2)) {
    f->window = &k->in[2];
    if (f->window->rank != 1) return surg__k_invalid(k, "the window is not a vector");
    frame = f->window->dims[0];
  }
  if (surg__k_has(k, 3)) {
    int64_t wish;
    SURG__K_TRY(surg__int_input(k, 3, &wish));
    if (f->window && wish != frame) return surg__k_invalid(k, "window and frame_length differ");
    frame = wish;
  }
  f->batch = (uint64_t)f->x->dims[0];
  f->points = (uint64_t)f->x->dims[1];
  if (step < 1 || frame < 1 || (uint64_t)frame > f->points) {
    return surg__k_invalid(k, "frames of no size, or larger than the signal");
  }
  f->step = (uint64_t)step;
  f->frame = (uint64_t)frame;
  f->frames = (f->points - f->frame) / f->step + 1;
  bool half = surg_node_int(k->node, "onesided", 1) != 0;
  if (half && f->parts == 2) return surg__k_invalid(k, "onesided does not fit complex numbers");
  f->bins = half ? f->frame / 2 + 1 : f->frame;
  return SURG__K_OK;
}

static void read_frame(const stft *f, transform *t, uint64_t base) {
  for (uint64_t i = 0; i < f->frame; ++i) {
    double by = f->window ? surg__load_f64(f->window->dtype, f->window->data, i) : 1;
    uint64_t at = (base + i) * f->parts;
    t->from[2 * i] = surg__load_f64(f->x->dtype, f->x->data, at) * by;
    t->from[2 * i + 1] =
        f->parts == 2 ? surg__load_f64(f->x->dtype, f->x->data, at + 1) * by : 0;
  }
}

surg__kstatus surg__k_stft(surg_kctx *k) {
  stft f = {.x = &k->in[0]};
  transform t;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(stft_shapes(k, &f));
  const int64_t dims[4] = {(int64_t)f.batch, (int64_t)f.frames, (int64_t)f.bins, 2};
  SURG__K_TRY(surg__k_out(k, 0, f.x->dtype, dims, 4));
  const surg__array *o = &k->out[0];
  if (o->count == 0) return SURG__K_OK;
  SURG__K_TRY(prepare(k, &t, f.frame, f.batch * f.frames, false));
  for (uint64_t s = 0; s < f.batch * f.frames; ++s) {
    read_frame(&f, &t, s / f.frames * f.points + s % f.frames * f.step);
    run(&t);
    for (uint64_t i = 0; i < 2 * f.bins; ++i) {
      surg__store_f64(o->dtype, o->data, s * 2 * f.bins + i, t.from[i]);
    }
  }
  return SURG__K_OK;
}

/* --- MelWeightMatrix --- */

typedef struct mel {
  int64_t bins, length, rate;
  double low, high; /* in mel */
} mel;

static double to_mel(double hertz) {
  return 2595 * log10(1 + hertz / 700);
}

/* The spectrum bin that contains edge i of the triangles. */
static double edge(const mel *m, int64_t i) {
  double at = m->low + (double)i * (m->high - m->low) / (double)(m->bins + 2);
  double hertz = 700 * (pow(10, at / 2595) - 1);
  return floor((double)(m->length + 1) * hertz / (double)m->rate);
}

static surg__kstatus mel_parameters(surg_kctx *k, mel *m) {
  for (uint32_t i = 3; i < 5; ++i) {
    if (k->in[i].count != 1) return surg__k_invalid(k, "a parameter is not a single number");
  }
  SURG__K_TRY(surg__int_input(k, 0, &m->bins));
  SURG__K_TRY(surg__int_input(k, 1, &m->length));
  SURG__K_TRY(surg__int_input(k, 2, &m->rate));
  double low = surg__load_f64(k->in[3].dtype, k->in[3].data, 0);
  double high = surg__load_f64(k->in[4].dtype, k->in[4].data, 0);
  if (m->bins < 1 || m->length < 1 || m->rate < 1 || !(low >= 0) || !(high >= low) ||
      !isfinite(high)) {
    return surg__k_invalid(k, "a parameter is out of range");
  }
  m->low = to_mel(low);
  m->high = to_mel(high);
  return SURG__K_OK;
}

static void put_weight(const surg__array *o, uint64_t i, double v) {
  if (surg__is_real(o->dtype))
    surg__store_f64(o->dtype, o->data, i, v);
  else
    surg__store_int(o->dtype, o->data, i, (uint64_t)(int64_t)v);
}

/* Stores the triangular filter of bin b: rising from its left edge to its centre, then falling. */
static bool put_triangle(const mel *m, const surg__array *o, int64_t b) {
  double lines = (double)(m->length / 2 + 1), at[3];
  for (int i = 0; i < 3; ++i) {
    at[i] = edge(m, b + i);
    if (!(at[i] >= 0 && at[i] <= lines)) return false;
  }
  uint64_t step = (uint64_t)m->bins, left = (uint64_t)at[0], mid = (uint64_t)at[1];
  uint64_t right = (uint64_t)at[2];
  if (mid >= (uint64_t)lines) return false;
  if (mid == left) put_weight(o, mid * step + (uint64_t)b, 1);
  for (uint64_t i = left; mid > left && i <= mid; ++i) {
    put_weight(o, i * step + (uint64_t)b, (double)(i - left) / (double)(mid - left));
  }
  for (uint64_t i = mid; right > mid && i < right; ++i) {
    put_weight(o, i * step + (uint64_t)b, (double)(right - i) / (double)(right - mid));
  }
  return true;
}

surg__kstatus surg__k_mel_weights(surg_kctx *k) {
  mel m;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(mel_parameters(k, &m));
  int64_t type = surg_node_int(k->node, "output_datatype", SURG_FLOAT);
  if (type <= 0 || type >= SURG_DTYPE_COUNT ||
      (!surg__is_real((int)type) && !surg__is_int((int)type))) {
    return surg__k_cannot(k, "weights of this type");
  }
  const int64_t dims[2] = {m.length / 2 + 1, m.bins};
  SURG__K_TRY(surg__k_out(k, 0, (int)type, dims, 2));
  const surg__array *o = &k->out[0];
  SURG__K_TRY(surg__k_work(k, o->count));
  memset(o->data, 0, (size_t)o->count * surg__dtype_unpacked(o->dtype));
  for (int64_t b = 0; b < m.bins; ++b) {
    if (!put_triangle(&m, o, b)) return surg__k_invalid(k, "an edge is outside the spectrum");
  }
  return SURG__K_OK;
}
