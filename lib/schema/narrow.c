/* SPDX-License-Identifier: Apache-2.0 */
/* What operators are to conversions of element types (onnxsurg/precision.h): columns `narrow` and
 * `clamp` of traits.table, and the types that a signature accepts. */
#include <onnxsurg/ops.h>
#include <onnxsurg/precision.h>

#include "base/base.h"
#include "schema/schema.h"
#include "schema/text.h"

enum {
  GAIN = SURG_NARROW_GAIN,
  WIDE = SURG_NARROW_WIDE,
  QUANTIZE = SURG_NARROW_QUANTIZE,
  DEQUANTIZE = SURG_NARROW_DEQUANTIZE,
  BITS = SURG_NARROW_BITS,
  RARE = SURG_NARROW_RARE,
  KINDS = 15,
  WORD = 16
};

static const uint8_t kinds[SURG_OP_COUNT] = {
#define SURG_TRAIT_NARROW(op, kind) [SURG_OP_##op] = kind,
#include "schema/traits.gen.h"
#undef SURG_TRAIT_NARROW
};

static const uint8_t clamped[SURG_OP_COUNT] = {
#define SURG_TRAIT_CLAMP(op, inputs) [SURG_OP_##op] = inputs,
#include "schema/traits.gen.h"
#undef SURG_TRAIT_CLAMP
};

static bool listed(const surg_schema *s) {
  return s && s->op > 0 && s->op < SURG_OP_COUNT;
}

surg_narrow surg_schema_narrow(const surg_schema *s) {
  return listed(s) ? (surg_narrow)(kinds[s->op] & KINDS) : SURG_NARROW_ANY;
}

/* Column `widen`: maps of integers that also hold from a wider type to a narrower one, if all
 * numbers fit. */
enum {
  INJECT = 1,
  ORDER = 2,
  SHIFT = 0,
  WRAP = 4,
  WHOLE = 8,
  ROUND = 0,
  EXACT = 0,
  FILLED = 16 /* without elements the result depends on the type */
};

static const uint8_t maps[SURG_OP_COUNT] = {
#define SURG_TRAIT_WIDEN(op, maps) [SURG_OP_##op] = maps,
#include "schema/traits.gen.h"
#undef SURG_TRAIT_WIDEN
};

bool surg_schema_fits_word(const surg_schema *s) {
  if (!listed(s)) return false;
  if ((kinds[s->op] & WORD) || s->op == SURG_OP_Cast) return true;
  if (s->flags & SURG__OP_DATA_MOVER) return true;
  return maps[s->op] && !(maps[s->op] & FILLED);
}

bool surg_schema_clamps(const surg_schema *s, size_t i) {
  return listed(s) && i < 8 && (clamped[s->op] >> i & 1);
}

bool surg_schema_accepts(const surg_schema *s, bool output, size_t i, const surg_type *like,
                         int dtype) {
  const surg__param *p = s ? surg__schema_formal(s, output, i) : NULL;
  surg__type_set set;
  /* Masks of a set: tensors, sequences, optionals, optional sequences. */
  size_t k = 0;
  if (!p || dtype <= 0 || dtype >= SURG_DTYPE_COUNT) return false;
  const surg_type_kind kind = surg_type_get_kind(like);
  if (kind == SURG_TYPE_TENSOR) {
    const surg__type_param *t = surg__schema_type_param(s, p);
    if (t) return t->tensor_mask >> dtype & 1;
  } else if (kind == SURG_TYPE_SEQUENCE) {
    k = 1;
  } else if (kind == SURG_TYPE_OPTIONAL) {
    k = surg_type_get_kind(surg_type_elem(like)) == SURG_TYPE_SEQUENCE ? 3 : 2;
  } else {
    return false;
  }
  surg__type_set_of(s, p, &set);
  return set.mask[k] >> dtype & 1;
}
