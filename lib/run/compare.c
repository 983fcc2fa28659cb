/* SPDX-License-Identifier: Apache-2.0 */
/* How far two values are apart. */
#include <math.h>

#include "base/dtype.h"
#include "eval/number.h"
#include "run/run.h"

static void differ(surg__distance *d, uint64_t i) {
  if (d->differing++ == 0) d->first = i;
}

static void real(surg__distance *d, const surg__tolerance *t, double got, double want, uint64_t i) {
  if (isnan(got) && isnan(want)) return;
  if (got == want && !(t->signs && signbit(got) != signbit(want))) return;
  const double apart = fabs(got - want);
  const bool finite = isfinite(got) && isfinite(want);
  if (finite && apart > d->max_abs) d->max_abs = apart;
  if (finite && want != 0 && apart / fabs(want) > d->max_rel) d->max_rel = apart / fabs(want);
  if (!finite || (t->signs && got == want) || apart > t->absolute + t->relative * fabs(want)) differ(d, i);
}

static bool same_string(surg_str a, surg_str b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static void tensor(surg__distance *d, const surg__tolerance *t, const surg__array *got,
                   const surg__array *want) {
  const size_t size = surg__dtype_unpacked(got->dtype);
  const bool complex = got->dtype == SURG_COMPLEX64 || got->dtype == SURG_COMPLEX128;
  const int part = got->dtype == SURG_COMPLEX64 ? SURG_FLOAT : SURG_DOUBLE;
  for (uint64_t i = 0; i < got->count; i++) {
    if (got->dtype == SURG_STRING) {
      if (!same_string(((const surg_str *)got->data)[i], ((const surg_str *)want->data)[i]))
        differ(d, i);
    } else if (complex) {
      for (uint64_t k = 2 * i; k < 2 * i + 2; k++)
        real(d, t, surg__load_f64(part, got->data, k), surg__load_f64(part, want->data, k), i);
    } else if (surg__dtype_is_float(got->dtype)) {
      real(d, t, surg__load_f64(got->dtype, got->data, i),
           surg__load_f64(want->dtype, want->data, i), i);
    } else if (memcmp((const char *)got->data + i * size, (const char *)want->data + i * size,
                      size) != 0) {
      differ(d, i);
    }
  }
}

#define NESTING 16

static void value(surg__distance *d, const surg__tolerance *t, const surg__array *got,
                  const surg__array *want, unsigned depth) {
  bool same = got->dtype == want->dtype && got->rank == want->rank && got->count == want->count;
  for (uint32_t i = 0; same && i < got->rank; i++) same = got->dims[i] == want->dims[i];
  if (!same || depth == NESTING) {
    d->other_shape = true;
    return;
  }
  if (got->dtype == SURG_UNDEFINED) return;
  if (!surg__array_is_list(got)) {
    d->elements += got->count;
    tensor(d, t, got, want);
    return;
  }
  for (uint64_t i = 0; i < got->count; i++)
    value(d, t, &surg__list_of(got)->items[i], &surg__list_of(want)->items[i], depth + 1);
}

bool surg__value_compare(const surg__array *got, const surg__array *want, const surg__tolerance *t,
                         surg__distance *out) {
  *out = (surg__distance){0};
  value(out, t, got, want, 0);
  return !out->other_shape && out->differing == 0;
}
