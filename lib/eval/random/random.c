/* SPDX-License-Identifier: Apache-2.0 */
/* RandomUniform, RandomNormal and their Like forms, Bernoulli, Multinomial. Computed only with a
 * seed. */
#include "eval/random/random.h"

#include <math.h>

#include "eval/core/kernels.h"
#include "eval/core/number.h"

/* --- the generator --- */

static void seed_with(surg__random *r, uint32_t seed) {
  r->state[0] = seed;
  for (uint32_t i = 1; i < SURG__TWISTER; ++i) {
    uint32_t before = r->state[i - 1];
    r->state[i] = 1812433253u * (before ^ (before >> 30)) + i;
  }
  r->at = SURG__TWISTER;
}

/* Derives a seed for the node from the seed of the run and the name of its first output, by
 * FNV-1a. */
static uint32_t own_seed(const surg_kctx *k) {
  uint64_t h = *k->seed ^ 14695981039346656037u;
  for (size_t i = 0; i < surg_node_output_count(k->node); ++i) {
    const surg_value *v = surg_node_output(k->node, i);
    for (const char *p = v ? surg_value_name(v) : ""; p && *p; ++p) {
      h = (h ^ (uint8_t)*p) * 1099511628211u;
    }
    if (v) break;
  }
  return (uint32_t)(h ^ h >> 32);
}

surg__kstatus surg__random_init(surg_kctx *k, surg__random *r) {
  const surg_attr *a = surg_node_attr(k->node, "seed");
  if (!a && !k->seed) return surg__k_cannot(k, "a random operator without a seed");
  if (!a) {
    seed_with(r, own_seed(k));
    return SURG__K_OK;
  }
  if (surg_attr_get_kind(a) == SURG_ATTR_INT) {
    seed_with(r, (uint32_t)surg_node_int(k->node, "seed", 0));
    return SURG__K_OK;
  }
  float seed = surg_node_float(k->node, "seed", 0);
  if (!(fabsf(seed) < 0x1p62f)) return surg__k_cannot(k, "a seed that is not a number");
  seed_with(r, (uint32_t)(int64_t)seed);
  return SURG__K_OK;
}

static void turn(surg__random *r) {
  for (uint32_t i = 0; i < SURG__TWISTER; ++i) {
    uint32_t y = (r->state[i] & 0x80000000u) | (r->state[(i + 1) % SURG__TWISTER] & 0x7fffffffu);
    r->state[i] = r->state[(i + 397) % SURG__TWISTER] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
  }
  r->at = 0;
}

static uint32_t next_word(surg__random *r) {
  if (r->at == SURG__TWISTER) turn(r);
  uint32_t y = r->state[r->at++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

double surg__random_next(surg__random *r) {
  uint32_t high = next_word(r) >> 5, low = next_word(r) >> 6;
  return ((double)high * 67108864.0 + (double)low) / 9007199254740992.0;
}

/* Computes two normally distributed numbers from a point inside the unit circle (Marsaglia's
 * polar method). */
static void normal_pair(surg__random *r, double *first, double *second) {
  double x, y, square;
  do {
    x = 2 * surg__random_next(r) - 1;
    y = 2 * surg__random_next(r) - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  double by = sqrt(-2 * log(square) / square);
  *first = by * y;
  *second = by * x;
}

/* --- the operators --- */

/* The element type of the result: the attribute `dtype`, else `fallback`. */
static int result_type(const surg_kctx *k, int fallback) {
  int64_t wish = surg_node_int(k->node, "dtype", fallback);
  return wish > 0 && wish < SURG_DTYPE_COUNT ? (int)wish : SURG_UNDEFINED;
}

/* Creates output 0 and charges its cost to the budget. */
static surg__kstatus make_output(surg_kctx *k, int dtype, const int64_t *dims, uint32_t rank) {
  uint64_t work;
  SURG__K_TRY(surg__k_out(k, 0, dtype, dims, rank));
  if (!surg__mul_u64(k->out[0].count, 8, &work)) return SURG__K_BUDGET;
  return surg__k_work(k, work);
}

static surg__kstatus shaped_output(surg_kctx *k) {
  const int64_t *dims;
  size_t rank = 0;
  int dtype;
  if (k->op == SURG_OP_RandomUniform || k->op == SURG_OP_RandomNormal) {
    dims = surg_node_ints(k->node, "shape", &rank);
    dtype = result_type(k, SURG_FLOAT);
  } else {
    dims = k->in[0].dims;
    rank = k->in[0].rank;
    dtype = result_type(k, k->in[0].dtype);
  }
  if (rank > SURG_LIMIT_RANK) return surg__k_cannot(k, "the result has too many dimensions");
  if (!surg__is_real(dtype)) return surg__k_invalid(k, "random numbers of this type");
  return make_output(k, dtype, dims, (uint32_t)rank);
}

surg__kstatus surg__k_random_uniform(surg_kctx *k) {
  surg__random r;
  double low = surg_node_float(k->node, "low", 0), high = surg_node_float(k->node, "high", 1);
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(surg__random_init(k, &r));
  SURG__K_TRY(shaped_output(k));
  const surg__array *o = &k->out[0];
  for (uint64_t i = 0; i < o->count; ++i) {
    surg__store_f64(o->dtype, o->data, i, low + (high - low) * surg__random_next(&r));
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_random_normal(surg_kctx *k) {
  surg__random r;
  double mean = surg_node_float(k->node, "mean", 0), scale = surg_node_float(k->node, "scale", 1);
  double value[2] = {0, 0};
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(surg__random_init(k, &r));
  SURG__K_TRY(shaped_output(k));
  const surg__array *o = &k->out[0];
  for (uint64_t i = 0; i < o->count; ++i) {
    if (i % 2 == 0) normal_pair(&r, &value[0], &value[1]);
    surg__store_f64(o->dtype, o->data, i, mean + scale * value[i % 2]);
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_bernoulli(surg_kctx *k) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  surg__random r;
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(surg__random_init(k, &r));
  int dtype = result_type(k, x->dtype);
  bool real = surg__is_real(dtype);
  if (!real && !surg__is_int(dtype) && dtype != SURG_BOOL) {
    return surg__k_cannot(k, "booleans of this type");
  }
  SURG__K_TRY(make_output(k, dtype, x->dims, x->rank));
  for (uint64_t i = 0; i < x->count; ++i) {
    double chance = surg__load_f64(x->dtype, x->data, i);
    if (!(chance >= 0 && chance <= 1)) return surg__k_invalid(k, "a probability is not in 0..1");
    bool yes = surg__random_next(&r) < chance;
    if (real)
      surg__store_f64(dtype, o->data, i, yes);
    else
      surg__store_int(dtype, o->data, i, yes);
  }
  return SURG__K_OK;
}

/* Cumulative sums of exp over one row of unnormalized log probabilities. False if the total is
 * not finite and positive. */
static bool cumulate(const surg__array *x, uint64_t base, uint64_t n, double *sums) {
  double top = -INFINITY, sum = 0;
  for (uint64_t i = 0; i < n; ++i) {
    double v = surg__load_f64(x->dtype, x->data, base + i);
    if (isnan(v)) return false;
    if (v > top) top = v;
  }
  for (uint64_t i = 0; i < n; ++i) {
    sum += exp(surg__load_f64(x->dtype, x->data, base + i) - top);
    sums[i] = sum;
  }
  return isfinite(sum) && sum > 0;
}

/* The first index whose cumulative sum exceeds v. Binary search. */
static uint64_t find_sum(const double *sums, uint64_t n, double v) {
  uint64_t low = 0, high = n - 1;
  while (low < high) {
    uint64_t mid = low + (high - low) / 2;
    if (sums[mid] > v)
      high = mid;
    else
      low = mid + 1;
  }
  return low;
}

surg__kstatus surg__k_multinomial(surg_kctx *k) {
  const surg__array *x = &k->in[0], *o = &k->out[0];
  surg__random r;
  int64_t size = surg_node_int(k->node, "sample_size", 1);
  if (!k->wanted[0]) return SURG__K_OK;
  SURG__K_TRY(surg__random_init(k, &r));
  if (x->rank != 2 || size < 0) return surg__k_invalid(k, "no rows of probabilities");
  int dtype = result_type(k, SURG_INT32);
  if (dtype != SURG_INT32 && dtype != SURG_INT64)
    return surg__k_invalid(k, "dtype: expected int32 or int64");
  SURG__K_TRY(make_output(k, dtype, (const int64_t[]){x->dims[0], size}, 2));
  SURG__K_TRY(surg__k_work(k, x->count));
  if (o->count == 0) return SURG__K_OK;
  uint64_t n = (uint64_t)x->dims[1];
  double *sums = surg__k_scratch(k, (size_t)n, sizeof *sums);
  if (!sums) return SURG__K_NOMEM;
  for (int64_t b = 0; b < x->dims[0]; ++b) {
    if (n == 0 || !cumulate(x, (uint64_t)b * n, n, sums)) {
      return surg__k_invalid(k, "the probabilities of a row have no sum");
    }
    for (int64_t i = 0; i < size; ++i) {
      uint64_t found = find_sum(sums, n, surg__random_next(&r) * sums[n - 1]);
      surg__store_int(dtype, o->data, (uint64_t)(b * size + i), found);
    }
  }
  return SURG__K_OK;
}
