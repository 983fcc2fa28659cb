/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on arrays longer than the pieces they work in, against the plain meaning of the
 * operator, bit for bit, on random shapes. */
#include <math.h>

#include "eval/core/piece.h"
#include "kernel_arrays.h"

/* --- one input --- */

static double clamp01(double y) {
  return y < 0 ? 0 : y > 1 ? 1 : y;
}

static double plain(const char *op, double x) {
  if (strcmp(op, "Neg") == 0) return -x;
  if (strcmp(op, "Abs") == 0) return fabs(x);
  if (strcmp(op, "Relu") == 0) return x < 0 ? 0 : x;
  if (strcmp(op, "Sqrt") == 0) return sqrt(x);
  if (strcmp(op, "Floor") == 0) return floor(x);
  if (strcmp(op, "Ceil") == 0) return ceil(x);
  if (strcmp(op, "Round") == 0) return nearbyint(x);
  if (strcmp(op, "Reciprocal") == 0) return 1 / x;
  if (strcmp(op, "Sign") == 0) return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x;
  if (strcmp(op, "LeakyRelu") == 0) return x < 0 ? (double)0.01f * x : x;
  if (strcmp(op, "ThresholdedRelu") == 0) return x > 1 ? x : 0;
  if (strcmp(op, "HardSigmoid") == 0) return clamp01((double)0.2f * x + 0.5);
  if (strcmp(op, "HardSwish") == 0) return x * clamp01(1.0 / 6.0 * x + 0.5);
  ck_assert_str_eq(op, "Softsign");
  return x / (1 + fabs(x));
}

START_TEST(one_input) {
  static const char *const ops[] = {"Neg",        "Abs",         "Relu",        "Sqrt",
                                    "Floor",      "Ceil",        "Round",       "Reciprocal",
                                    "Sign",       "LeakyRelu",   "HardSigmoid", "Softsign",
                                    "HardSwish",  "ThresholdedRelu"};
  for (size_t o = 0; o < SURG_COUNT(ops); o++) {
    int64_t dims[] = {(int64_t)unit_between(900, 1100)};
    surg__array in = array(SURG_FLOAT, dims, 1, true), out = {0};
    surg_status s = compute(node(ops[o], 1), &in, &out);
    ck_assert_int_eq(s, SURG_OK);
    for (uint64_t i = 0; i < in.count; i++) {
      double want = rounded(SURG_FLOAT, plain(ops[o], number(&in, i)));
      ck_assert_msg(same(want, number(&out, i)), "%s of %a is %a, not %a", ops[o], number(&in, i),
                    number(&out, i), want);
    }
    done(&out);
  }
}
END_TEST

/* --- casts --- */

static surg_status cast(const surg__array *in, int to, bool running, surg__array *out) {
  surg_kctx k = {.arena = &arena, .max_bytes = UINT64_MAX, .max_work = UINT64_MAX,
                 .running = running};
  surg_node *n = node("Cast", 1);
  surg_node_set_int(n, "to", to);
  *out = (surg__array){0};
  return surg__node_compute(n, &k, in, out);
}

START_TEST(halves) {
  const int64_t all[] = {65536};
  for (int b = 0; b < 2; b++) {
    const int dtype = b ? SURG_BFLOAT16 : SURG_FLOAT16;
    surg__array in = array(dtype, all, 1, false);
    double *wide = room(65536 * sizeof *wide);
    for (uint32_t i = 0; i < 65536; i++) ((uint16_t *)in.data)[i] = (uint16_t)i;
    surg__load_run(dtype, in.data, 0, 1, 65536, wide);
    for (uint32_t i = 0; i < 65536; i++)
      ck_assert_msg(same(number(&in, i), wide[i]) && !signbit(number(&in, i)) == !signbit(wide[i]),
                    "%x", i);
    /* Back: numbers at, between and around those of the narrow type. */
    for (uint32_t i = 0; i < 65536; i++) {
      float f = (float)wide[i];
      uint32_t bits;
      memcpy(&bits, &f, 4);
      bits += (uint32_t)unit_between(0, 4) - 2 +
              (uint32_t)(unit_random() % 3) * (b ? 0x8000u : 0x1000u);
      memcpy(&f, &bits, 4);
      wide[i] = (double)f;
      if (i % 3 == 0 && !isnan(f)) wide[i] = nextafter(wide[i], i % 2 ? INFINITY : -INFINITY);
    }
    surg__store_reals(dtype, in.data, 0, 65536, wide);
    for (uint32_t i = 0; i < 65536; i++) {
      uint16_t want = b ? surg__double_to_bf16(wide[i]) : surg__double_to_half(wide[i]);
      ck_assert_msg(want == ((const uint16_t *)in.data)[i], "%a: %x, not %x", wide[i],
                    ((const uint16_t *)in.data)[i], want);
    }
    done(&(surg__array){0});
  }
}
END_TEST

/* What a cast does to one element, by way of double or of 64-bit integers. */
static bool cast_one(const surg__array *in, uint64_t i, int to, void *out) {
  if (surg__is_real(in->dtype)) {
    double v = number(in, i);
    if (surg__is_real(to)) {
      surg__store_f64(to, out, 0, v);
    } else if (to == SURG_BOOL) {
      surg__store_int(to, out, 0, v != 0);
    } else {
      double high = ldexp(1, (int)surg__dtype_bits(to) - (surg__dtype_is_signed_int(to) ? 1 : 0));
      double low = surg__dtype_is_signed_int(to) ? -high : 0;
      if (!(trunc(v) >= low && trunc(v) < high)) return false;
      surg__store_int(to, out, 0, trunc(v) < 0 ? (uint64_t)(int64_t)v : (uint64_t)v);
    }
    return true;
  }
  uint64_t v = surg__load_int(in->dtype, in->data, i);
  bool negative = surg__dtype_is_signed_int(in->dtype) && (int64_t)v < 0;
  if (!surg__is_real(to)) {
    surg__store_int(to, out, 0, v);
  } else if (to == SURG_DOUBLE) {
    *(double *)out = negative ? (double)(int64_t)v : (double)v;
  } else {
    double d = surg__odd_double(negative ? 0 - v : v);
    surg__store_f64(to, out, 0, negative ? -d : d);
  }
  return true;
}

START_TEST(casts) {
  static const int types[] = {SURG_FLOAT, SURG_DOUBLE, SURG_INT8,   SURG_UINT8,
                              SURG_INT16, SURG_UINT16, SURG_INT32,  SURG_UINT32,
                              SURG_INT64, SURG_UINT64, SURG_BOOL,   SURG_FLOAT16,
                              SURG_BFLOAT16};
  unsigned converted = 0;
  for (size_t f = 0; f < SURG_COUNT(types); f++) {
    for (size_t t = 0; t < SURG_COUNT(types); t++) {
      int64_t dims[] = {(int64_t)unit_between(4000, 4200)};
      if (f == t) continue;
      surg__array in = array(types[f], dims, 1, false), out;
      uint64_t one = 0;
      bool fits = true;
      for (uint64_t i = 0; fits && i < in.count; i++) fits = cast_one(&in, i, types[t], &one);
      ck_assert_int_eq(cast(&in, types[t], true, &out), SURG_OK);
      converted += fits;
      size_t size = surg__dtype_unpacked(types[t]);
      for (uint64_t i = 0; fits && i < in.count; i++) {
        one = 0;
        cast_one(&in, i, types[t], &one);
        ck_assert_msg(memcmp(&one, (char *)out.data + i * size, size) == 0, "%s to %s",
                      surg__dtype_name(types[f]), surg__dtype_name(types[t]));
      }
      done(&out);
    }
  }
  ck_assert_uint_gt(converted, 90);
}
END_TEST

/* Long integers half way between two 16-bit floats, and next to that. */
START_TEST(long_halves) {
  static const int types[] = {SURG_INT64, SURG_UINT64};
  const int64_t dims[] = {6000};
  for (int t = 0; t < 4; t++) {
    const int from = types[t / 2], to = t % 2 ? SURG_BFLOAT16 : SURG_FLOAT16;
    surg__array in = array(from, dims, 1, false), out;
    for (uint64_t i = 0; i < in.count; i++) {
      const unsigned up = (unsigned)unit_between(0, 63);
      uint64_t v = (unit_between(256, 1023) << 54) >> up;
      v += unit_between(0, 2) - 1;
      ((uint64_t *)in.data)[i] = from == SURG_INT64 && i % 2 ? 0 - (v >> 1) : v;
    }
    ck_assert_int_eq(cast(&in, to, true, &out), SURG_OK);
    for (uint64_t i = 0; i < in.count; i++) {
      uint16_t want = 0;
      cast_one(&in, i, to, &want);
      ck_assert_msg(((const uint16_t *)out.data)[i] == want, "%llx",
                    (unsigned long long)((const uint64_t *)in.data)[i]);
    }
    done(&out);
  }
}
END_TEST

/* One element that does not fit, anywhere, is found. */
START_TEST(misfits) {
  static const struct {
    int to;
    float last, over, least, under;
  } limits[] = {{SURG_INT8, 127.9f, 128, -128.9f, -129},
                {SURG_UINT8, 255.9f, 256, -0.9f, -1},
                {SURG_INT32, 2147483520, 2147483648.0f, -2147483648.0f, -2147483904.0f},
                {SURG_UINT32, 4294967040.0f, 4294967296.0f, -0.9f, -1},
                {SURG_INT64, 0x1.fffffep62f, 0x1p63f, -0x1p63f, -0x1.000002p63f}};
  const int64_t dims[] = {9000};
  surg__array none;
  for (size_t l = 0; l < SURG_COUNT(limits); l++) {
    surg__array in = array(SURG_FLOAT, dims, 1, false), out;
    float *x = in.data, bad[3] = {limits[l].over, limits[l].under, NAN};
    for (int i = 0; i < 9000; i++) x[i] = i % 2 ? limits[l].last : limits[l].least;
    ck_assert_int_eq(cast(&in, limits[l].to, false, &out), SURG_OK);
    for (int i = 0; i < 3; i++) {
      uint64_t at = unit_between(0, 8999);
      float kept = x[at];
      x[at] = bad[i];
      ck_assert_int_ne(cast(&in, limits[l].to, false, &none), SURG_OK);
      x[at] = kept;
    }
    done(&out);
  }
}
END_TEST

/* --- quantization --- */

START_TEST(quantization) {
  static const int types[] = {SURG_INT8, SURG_UINT8, SURG_INT16, SURG_UINT16};
  surg_model_set_opset(model, "", 21);
  for (int round = 0; round < 40; round++) {
    int dtype = types[round % 4];
    int64_t dims[] = {3, (int64_t)unit_between(1, 5), (int64_t)unit_between(1, 40)};
    int64_t lines[] = {dims[1]};
    bool each = unit_random() % 2;
    surg__array in[3] = {array(SURG_FLOAT, dims, 3, true), array(SURG_FLOAT, lines, each, false),
                         array(dtype, lines, each, false)};
    surg__array out = {0}, back = {0};
    for (uint64_t i = 0; i < in[0].count; i++) {
      float *x = (float *)in[0].data + i;
      if (isnan(*x)) *x = (float)i;
    }
    for (uint64_t i = 0; i < in[1].count; i++) {
      ((float *)in[1].data)[i] = (float)unit_between(1, 200) / 16;
    }
    ck_assert_int_eq(compute(node("QuantizeLinear", 3), in, &out), SURG_OK);
    surg__array quantized[3] = {out, in[1], in[2]};
    ck_assert_int_eq(compute(node("DequantizeLinear", 3), quantized, &back), SURG_OK);
    int64_t low = surg__int_min(dtype), high = (int64_t)surg__int_max(dtype);
    for (uint64_t i = 0; i < out.count; i++) {
      uint64_t line = each ? i / (uint64_t)dims[2] % (uint64_t)dims[1] : 0;
      float scale = ((const float *)in[1].data)[line], q = ((const float *)in[0].data)[i] / scale;
      int64_t zero = (int64_t)surg__load_int(dtype, in[2].data, line);
      double v = nearbyint((double)q) + (double)zero;
      int64_t want = v < (double)low ? low : v > (double)high ? high : (int64_t)v;
      int64_t got = (int64_t)surg__load_int(dtype, out.data, i);
      ck_assert_msg(got == want, "%a / %a + %d: %d, not %d", number(&in[0], i), (double)scale,
                    (int)zero, (int)got, (int)want);
      ck_assert(number(&back, i) == (double)((float)(want - zero) * scale));
    }
    surg__array_drop(&back);
    done(&out);
  }
}
END_TEST

/* --- remainders --- */

/* Pairs whose quotient is whole, nearly whole, moderate, huge, or none. */
START_TEST(remainders) {
  static const int types[] = {SURG_FLOAT, SURG_DOUBLE, SURG_FLOAT16, SURG_BFLOAT16};
  for (int round = 0; round < 40; round++) {
    const int dtype = types[round % 4];
    const bool one = round % 3 == 0;
    int64_t dims[] = {(int64_t)unit_between(1, 9000)};
    surg__array in[2] = {array(dtype, dims, 1, round % 2), array(dtype, dims, 1, round % 5 == 0)};
    surg__array out = {0};
    for (uint64_t i = 0; i < in[0].count; i += 3) {
      const double y = number(&in[1], i), n = (double)unit_between(0, 1u << unit_between(0, 24));
      surg__store_f64(dtype, in[0].data, i, (n + (i % 2 ? 0x1p-30 : -0x1p-52)) * y);
    }
    if (one) in[1].count = 1, in[1].rank = 0;
    surg_node *n = node("Mod", 2);
    surg_node_set_int(n, "fmod", 1);
    ck_assert_int_eq(compute(n, in, &out), SURG_OK);
    for (uint64_t i = 0; i < out.count; i++) {
      const double x = number(&in[0], i), y = number(&in[1], one ? 0 : i);
      ck_assert_msg(same(fmod(x, y), number(&out, i)), "%s: %a modulo %a is %a, not %a",
                    surg__dtype_name(dtype), x, y, number(&out, i), fmod(x, y));
    }
    done(&out);
  }
}
END_TEST

/* --- sums of several inputs --- */

START_TEST(several) {
  static const int types[] = {SURG_FLOAT, SURG_DOUBLE, SURG_FLOAT16, SURG_BFLOAT16};
  for (int round = 0; round < 40; round++) {
    const int dtype = types[round % 4];
    const bool mean = round / 4 % 2;
    const uint32_t n = (uint32_t)unit_between(3, 7);
    const int64_t dims[] = {(int64_t)unit_between(1000, 2100)};
    surg__array in[7], out = {0};
    for (uint32_t i = 0; i < n; i++) in[i] = array(dtype, dims, 1, round % 3 == 0);
    ck_assert_int_eq(compute(node(mean ? "Mean" : "Sum", n), in, &out), SURG_OK);
    for (uint64_t e = 0; e < out.count; e++) {
      double sum = number(&in[0], e);
      for (uint32_t i = 1; i < n; i++) sum += number(&in[i], e);
      const double want = rounded(dtype, mean ? sum / n : sum);
      ck_assert_msg(same(want, number(&out, e)), "%s of %d, type %d: %a, not %a",
                    mean ? "Mean" : "Sum", (int)n, dtype, number(&out, e), want);
    }
    done(&out);
  }
}
END_TEST

/* --- reductions --- */

static double term(const char *op, double v) {
  if (strcmp(op, "ReduceL1") == 0) return fabs(v);
  return strcmp(op, "ReduceL2") == 0 || strcmp(op, "ReduceSumSquare") == 0 ? v * v : v;
}

static double joined(const char *op, double a, double b) {
  if (strcmp(op, "ReduceProd") == 0) return a * b;
  if (strcmp(op, "ReduceMax") == 0) return b > a || isnan(b) ? b : a;
  if (strcmp(op, "ReduceMin") == 0) return b < a || isnan(b) ? b : a;
  return a + b;
}

/* In index order, along whatever axes. */
static double reduced(const char *op, const double *v, uint64_t n) {
  double acc = strcmp(op, "ReduceProd") == 0 ? 1 : 0;
  if (strcmp(op, "ReduceMax") == 0) acc = -INFINITY;
  if (strcmp(op, "ReduceMin") == 0) acc = INFINITY;
  for (uint64_t i = 0; i < n; i++) acc = joined(op, acc, term(op, v[i]));
  if (strcmp(op, "ReduceMean") == 0) return acc / (double)n;
  return strcmp(op, "ReduceL2") == 0 ? sqrt(acc) : acc;
}

START_TEST(reductions) {
  static const char *const ops[] = {"ReduceMean", "ReduceL1",   "ReduceL2",       "ReduceMax",
                                    "ReduceMin",  "ReduceProd", "ReduceSumSquare"};
  static const int types[] = {SURG_FLOAT, SURG_DOUBLE, SURG_FLOAT16, SURG_BFLOAT16};
  for (int round = 0; round < 160; round++) {
    const char *op = ops[round % (int)SURG_COUNT(ops)];
    int dtype = types[unit_between(0, 3)];
    /* [a, b, c] over the middle axis, or over the last one, or over the outer two */
    int64_t dims[3] = {(int64_t)unit_between(1, 4), (int64_t)unit_between(2, 40),
                       (int64_t)unit_between(2, round % 4 == 0 ? 1100 : 40)};
    int which = round % 3;
    int64_t axes[2] = {which == 0 ? 1 : which == 1 ? 2 : 0, 1};
    size_t n_axes = which == 2 ? 2 : 1;
    surg__array in = array(dtype, dims, 3, round % 5 == 0), out = {0};
    surg_node *n = node(op, 1);
    surg_node_set_ints(n, "axes", axes, n_axes);
    surg_node_set_int(n, "keepdims", 0);
    ck_assert_int_eq(compute(n, &in, &out), SURG_OK);
    uint64_t a = (uint64_t)dims[0], b = (uint64_t)dims[1], c = (uint64_t)dims[2];
    uint64_t results = which == 0 ? a * c : which == 1 ? a * b : c;
    ck_assert_uint_eq(out.count, results);
    double *v = room((size_t)(a * b * c) * sizeof *v);
    for (uint64_t r = 0; r < results; r++) {
      uint64_t length = which == 0 ? b : which == 1 ? c : a * b;
      uint64_t first = which == 0 ? r / c * b * c + r % c : which == 1 ? r * c : r;
      uint64_t step = which == 1 ? 1 : c;
      for (uint64_t i = 0; i < length; i++) v[i] = number(&in, first + i * step);
      double want = rounded(dtype, reduced(op, v, length));
      ck_assert_msg(same(want, number(&out, r)) || (want == 0 && number(&out, r) == 0),
                    "%s [%d,%d,%d] way %d: %a, not %a", op, (int)a, (int)b, (int)c, which,
                    number(&out, r), want);
    }
    done(&out);
  }
}
END_TEST

/* --- transposition --- */

START_TEST(transpositions) {
  static const int types[] = {SURG_FLOAT, SURG_DOUBLE, SURG_INT8, SURG_UINT16, SURG_COMPLEX128};
  for (int round = 0; round < 200; round++) {
    uint32_t rank = (uint32_t)unit_between(2, 5);
    int64_t dims[5], perm[5], steps[5], at[5] = {0};
    for (uint32_t d = 0; d < rank; d++) {
      dims[d] = (int64_t)unit_between(1, rank == 2 ? 70 : rank == 3 ? 24 : 9);
      perm[d] = d;
    }
    for (uint32_t d = rank - 1; d > 0; d--) {
      uint32_t other = (uint32_t)unit_between(0, d);
      int64_t swap = perm[d];
      perm[d] = perm[other];
      perm[other] = swap;
    }
    int dtype = types[round % 5];
    surg__array in = array(dtype, dims, rank, false);
    surg__array out = {0};
    size_t size = surg__dtype_unpacked(in.dtype);
    for (size_t i = 0; i < (size_t)in.count * size; i++)
      ((uint8_t *)in.data)[i] = (uint8_t)unit_random();
    surg_node *n = node("Transpose", 1);
    surg_node_set_ints(n, "perm", perm, rank);
    ck_assert_int_eq(compute(n, &in, &out), SURG_OK);
    for (uint32_t d = rank, step = 1; d-- > 0; step *= (uint32_t)dims[d]) steps[d] = step;
    for (uint64_t i = 0; i < out.count; i++) {
      int64_t from = 0;
      for (uint32_t d = 0; d < rank; d++) from += at[d] * steps[perm[d]];
      ck_assert_msg(memcmp((char *)out.data + i * size, (char *)in.data + (size_t)from * size,
                           size) == 0, "round %d element %d", round, (int)i);
      for (uint32_t d = rank; d-- > 0;) {
        if (++at[d] < out.dims[d]) break;
        at[d] = 0;
      }
    }
    done(&out);
  }
}
END_TEST

/* --- pools --- */

/* One window of a plane of `in` by `in` elements with padding `pad` on all sides. */
static double pooled(const char *op, const surg__array *x, uint64_t plane, int64_t in, int64_t y,
                     int64_t xx, const int64_t *a, bool include_pad) {
  double acc = *op == 'M' ? -INFINITY : 0;
  int64_t n = 0, k = a[0], stride = a[1], dilation = a[2], pad = a[3];
  for (int64_t i = 0; i < k * k; i++) {
    int64_t r = y * stride - pad + i / k * dilation, c = xx * stride - pad + i % k * dilation;
    if (r < 0 || c < 0 || r >= in || c >= in) continue;
    double v = number(x, plane * (uint64_t)(in * in) + (uint64_t)(r * in + c));
    if (*op == 'M') acc = v > acc || isnan(v) ? v : acc;
    else acc += *op == 'A' ? v : pow(fabs(v), 3);
    n++;
  }
  if (*op == 'A') return acc / (double)(include_pad ? k * k : n);
  return *op == 'M' ? acc : pow(acc, 1.0 / 3);
}

START_TEST(pools) {
  static const char *const ops[] = {"MaxPool", "AveragePool", "LpPool"};
  for (int round = 0; round < 120; round++) {
    const char *op = ops[round % 3];
    int64_t k = (int64_t)unit_between(1, 4), stride = (int64_t)unit_between(1, 3);
    int64_t pad = (int64_t)unit_between(0, (uint64_t)k - 1);
    int64_t dilation = *op == 'M' ? (int64_t)unit_between(1, 2) : 1;
    if (dilation > 1) pad = 0;
    int64_t in = (int64_t)unit_between((uint64_t)(k * dilation), round % 10 == 0 ? 300 : 20);
    int64_t a[4] = {k, stride, dilation, pad};
    int64_t out_size = (in + 2 * pad - ((k - 1) * dilation + 1)) / stride + 1;
    bool include_pad = *op == 'A' && unit_random() % 2;
    surg_node *n = node(op, 1);
    surg_node_set_ints(n, "kernel_shape", (const int64_t[]){k, k}, 2);
    surg_node_set_ints(n, "strides", (const int64_t[]){stride, stride}, 2);
    surg_node_set_ints(n, "pads", (const int64_t[]){pad, pad, pad, pad}, 4);
    if (*op == 'M') surg_node_set_ints(n, "dilations", (const int64_t[]){dilation, dilation}, 2);
    if (*op == 'L') surg_node_set_int(n, "p", 3);
    if (include_pad) surg_node_set_int(n, "count_include_pad", 1);
    const int64_t dims[] = {1, 2, in, in};
    surg__array x = array(SURG_FLOAT, dims, 4, round % 7 == 0), out = {0};
    ck_assert_int_eq(compute(n, &x, &out), SURG_OK);
    ck_assert_uint_eq(out.count, (uint64_t)(2 * out_size * out_size));
    for (uint64_t i = 0; i < out.count; i++) {
      int64_t at = (int64_t)i % (out_size * out_size);
      double want = pooled(op, &x, i / (uint64_t)(out_size * out_size), in, at / out_size,
                           at % out_size, a, include_pad);
      ck_assert_msg(same(rounded(SURG_FLOAT, want), number(&out, i)), "%s %d: %a, not %a", op,
                    (int)i, number(&out, i), want);
    }
    done(&out);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("kernels_fast");
  TCase *c = tcase_create("loops");
  tcase_set_timeout(c, 120);
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, one_input);
  tcase_add_test(c, halves);
  tcase_add_test(c, casts);
  tcase_add_test(c, long_halves);
  tcase_add_test(c, misfits);
  tcase_add_test(c, quantization);
  tcase_add_test(c, remainders);
  tcase_add_test(c, several);
  tcase_add_test(c, reductions);
  tcase_add_test(c, transpositions);
  tcase_add_test(c, pools);
  suite_add_tcase(s, c);
  return unit_run(s);
}
