/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of signal processing, and of Einsum. */
#include "infer/rules.h"

/* The single element of input i as a dimension; false: the node is invalid. */
static bool scalar_dim(surg__infer *c, size_t i, surg_dim *d) {
  surg__elem buf[SURG__ELEMS];
  uint32_t n;
  bool negative = false;
  *d = surg__dim_unknown();
  const surg__elem *e = surg__infer_elems(c, i, buf, &n);
  if (e && n == 1) *d = surg__dim_of(e[0], &negative);
  if (negative) surg__infer_bad(c);
  return !negative;
}

/* The number of bins in the one-sided spectrum of a real signal of n points. */
static surg_dim half(surg_dim n) {
  return surg__dim_add(surg__dim_over(n, 2), 1);
}

void surg__infer_signal_window(surg__infer *c) {
  surg_dim d;
  const int64_t dtype = surg_node_int(c->n, "output_datatype", SURG_FLOAT);
  if (dtype > 0 && dtype < SURG_DTYPE_COUNT && scalar_dim(c, 0, &d))
    surg__infer_put(c, 0, (int)dtype, &d, 1);
}

void surg__infer_mel_weights(surg__infer *c) {
  surg_dim bins, length;
  const int64_t dtype = surg_node_int(c->n, "output_datatype", SURG_FLOAT);
  if (dtype <= 0 || dtype >= SURG_DTYPE_COUNT) return;
  if (!scalar_dim(c, 0, &bins) || !scalar_dim(c, 1, &length)) return;
  const surg_dim dims[2] = {half(length), bins};
  surg__infer_put(c, 0, (int)dtype, dims, 2);
}

/* A DFT along an unknown axis: every dimension but the last is unknown if the length may change. */
static void dft_somewhere(surg__infer *c, const surg__fact *x, bool onesided, bool inverse) {
  surg_dim dims[SURG_LIMIT_RANK];
  memcpy(dims, x->dims, x->rank * sizeof *dims);
  if (onesided || surg__infer_has(c, 1))
    for (uint32_t i = 0; i + 1 < x->rank; i++) dims[i] = surg__dim_unknown();
  dims[x->rank - 1] = surg__dim(inverse && onesided ? 1 : 2);
  surg__infer_put(c, 0, x->dtype, dims, x->rank);
}

void surg__infer_dft(surg__infer *c) {
  surg__fact x;
  surg_dim dims[SURG_LIMIT_RANK], length;
  int64_t axis = -2;
  size_t at;
  const bool onesided = surg_node_int(c->n, "onesided", 0) != 0;
  const bool inverse = surg_node_int(c->n, "inverse", 0) != 0;
  if (!surg__infer_ranked(c, 0, &x)) return;
  if (x.rank < 2) {
    surg__infer_bad(c);
    return;
  }
  const size_t rank = x.rank;
  memcpy(dims, x.dims, rank * sizeof *dims);
  if (surg__schema_attr(c->schema, "axis")) {
    axis = surg_node_int(c->n, "axis", 1);
  } else if (surg__infer_has(c, 2) && !surg__infer_int(c, 2, &axis)) {
    dft_somewhere(c, &x, onesided, inverse);
    return;
  }
  if (!surg__infer_axis(c, axis, rank, &at)) return;
  if (at == rank - 1) return;
  if (surg__infer_has(c, 1)) {
    if (!scalar_dim(c, 1, &length)) return;
    dims[at] = length;
  }
  /* The one-sided spectrum of n points has n / 2 + 1 bins; its inverse has 2 * (bins - 1) points,
   * unless the length is given. */
  if (onesided && !inverse) dims[at] = half(dims[at]);
  if (onesided && inverse && !surg__infer_has(c, 1)) {
    if (dims[at].value == 0) surg__infer_bad(c); /* it would have -2 points */
    dims[at] = surg__dim_times(surg__dim_add(dims[at], -1), 2);
  }
  dims[rank - 1] = surg__dim(inverse && onesided ? 1 : 2);
  surg__infer_put(c, 0, x.dtype, dims, rank);
}

void surg__infer_stft(surg__infer *c) {
  surg__fact x, window;
  surg_dim length, step, frame = surg__dim_unknown(), frames = surg__dim_unknown();
  if (!surg__infer_ranked(c, 0, &x)) return;
  if (x.rank != 2 && x.rank != 3) {
    surg__infer_bad(c);
    return;
  }
  const surg_dim batch = x.dims[0];
  length = x.dims[1];
  if (!scalar_dim(c, 1, &step)) return;
  if (surg__infer_has(c, 3)) {
    if (!scalar_dim(c, 3, &frame)) return;
  } else if (surg__infer_ranked(c, 2, &window) && window.rank == 1) {
    frame = window.dims[0];
  }
  if (surg__dim_known(length) && surg__dim_known(frame) && step.value > 0 &&
      frame.value <= length.value)
    frames = surg__dim((length.value - frame.value) / step.value + 1);
  else if (surg__dim_known(frame) && step.value > 0)
    frames = surg__dim_add(surg__dim_over(surg__dim_add(length, -frame.value), step.value), 1);
  const bool onesided = surg_node_int(c->n, "onesided", 1) != 0;
  const surg_dim dims[4] = {batch, frames, onesided ? half(frame) : frame, surg__dim(2)};
  surg__infer_put(c, 0, x.dtype, dims, 4);
}

/* --- Einsum --- */

typedef struct einsum {
  surg_dim label[128];
  uint32_t uses[128];             /* number of occurrences of each label in the terms */
  surg_dim rest[SURG_LIMIT_RANK]; /* the dimensions of the ellipsis */
  size_t n_rest;
  bool dots;
} einsum;

/* Reads one term of the left side, up to ',', '-' or the end. False: it does not match `f`. */
static bool einsum_term(einsum *s, const char **p, const char *end, const surg__fact *f) {
  size_t letters = 0, at = 0;
  bool dots = false;
  const char *q;
  for (q = *p; q < end && *q != ',' && *q != '-'; q++) letters += *q != ' ' && *q != '.';
  if (letters > f->rank) return false;
  const size_t rest = f->rank - letters;
  assert(s->n_rest <= SURG_LIMIT_RANK);
  for (; *p < end && **p != ',' && **p != '-'; (*p)++) {
    const unsigned char l = (unsigned char)**p;
    if (l == ' ') continue;
    if (l == '.') {
      if (dots || end - *p < 3 || (*p)[1] != '.' || (*p)[2] != '.') return false;
      dots = s->dots = true;
      *p += 2;
      if (!surg__dims_broadcast(s->rest, &s->n_rest, f->dims + at, rest)) return false;
      at += rest;
      continue;
    }
    if (l >= 128 || !((l >= 'a' && l <= 'z') || (l >= 'A' && l <= 'Z'))) return false;
    if (!s->uses[l])
      s->label[l] = f->dims[at];
    else if (!surg__dim_broadcast(s->label[l], f->dims[at], &s->label[l]))
      return false;
    s->uses[l]++;
    at++;
  }
  return at == f->rank;
}

/* The right side of the equation, or if it is absent the implicit one: the ellipsis, then the
 * labels that occur once, in alphabetic order. */
static bool einsum_result(const einsum *s, const char *p, const char *end, bool written,
                          surg_dim *dims, size_t *rank) {
  size_t n = 0;
  if (!written) {
    memcpy(dims, s->rest, s->n_rest * sizeof *dims);
    n = s->n_rest;
    for (size_t l = 0; l < SURG_COUNT(s->uses); l++) {
      if (s->uses[l] != 1) continue;
      if (n == SURG_LIMIT_RANK) return false;
      dims[n++] = s->label[l];
    }
  }
  for (; written && p < end; p++) {
    const unsigned char l = (unsigned char)*p;
    if (l == ' ') continue;
    if (l == '.') {
      if (end - p < 3 || p[1] != '.' || p[2] != '.') return false;
      if (s->n_rest > SURG_LIMIT_RANK - n) return false;
      p += 2;
      memcpy(dims + n, s->rest, s->n_rest * sizeof *dims);
      n += s->n_rest;
    } else {
      if (l >= 128 || !s->uses[l] || n == SURG_LIMIT_RANK) return false;
      dims[n++] = s->label[l];
    }
  }
  *rank = n;
  return true;
}

void surg__infer_einsum(surg__infer *c) {
  einsum s = {.n_rest = 0};
  const surg_str equation = surg_node_string(c->n, "equation", "");
  const char *p = equation.p, *end = p + equation.n;
  const size_t inputs = surg_node_input_count(c->n);
  surg_dim dims[SURG_LIMIT_RANK];
  size_t rank;
  const int dtype = surg__infer_dtype(c, 0);
  if (!equation.n) return;
  for (size_t i = 0; i < inputs; i++) {
    surg__fact f;
    if (!surg__infer_ranked(c, i, &f)) return;
    if (i && (p == end || *p++ != ',')) {
      surg__infer_bad(c);
      return;
    }
    if (!einsum_term(&s, &p, end, &f)) {
      surg__infer_bad(c);
      return;
    }
  }
  const bool written = p < end;
  if ((written && (end - p < 2 || p[0] != '-' || p[1] != '>')) ||
      !einsum_result(&s, written ? p + 2 : p, end, written, dims, &rank))
    surg__infer_bad(c);
  else
    surg__infer_put(c, 0, dtype, dims, rank);
}
