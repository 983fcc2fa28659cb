/* SPDX-License-Identifier: Apache-2.0 */
/* GatherBlockQuantized of com.microsoft as Gather and arithmetic, equivalent to
 * lib/eval/contrib/contrib_embed.c: rows are selected before they are unpacked. */
#include "rewrite/lower/native.h"

#define MOST_SIZE (1 << 20) /* of the quantized axis: an index is stored for each element */

typedef struct blocks {
  surg__builder *b;
  surg__built data, scales, zeros, indices; /* zeros: v NULL: absent */
  int64_t block, size;                      /* of the quantized axis, before the Gather */
  uint32_t axis, quantized;
  bool packed; /* two numbers a byte along the last axis */
  double middle;
} blocks;

static bool read_axes(blocks *q) {
  const surg_node *n = surg__b_matched(q->b);
  const int64_t rank = q->data.rank;
  int64_t axis = surg_node_int(n, "gather_axis", 0), over = surg_node_int(n, "quantize_axis", 1);
  if (axis < 0) axis += rank;
  if (over < 0) over += rank;
  if (surg__b_bad(q->b, axis < 0 || axis >= rank || over < 0 || over >= rank || axis == over,
                  "the axes are out of range or equal"))
    return false;
  q->axis = (uint32_t)axis;
  q->quantized = (uint32_t)over;
  q->size = q->data.d[over].n;
  if (q->packed && over + 1 == rank && q->size > 0) q->size *= 2;
  return !surg__b_bad(q->b, q->size < 1 || q->size > MOST_SIZE,
                      "the size of the quantized axis is unknown, 0 or too large") &&
         !surg__b_bad(q->b, q->packed && axis + 1 == rank,
                      "a Gather along packed numbers is unsupported") &&
         !surg__b_bad(q->b, q->packed && over + 1 != rank && q->scales.d[rank - 1].n < 0,
                      "the size of the last axis of the scales is unknown");
}

static bool read_blocks(blocks *q) {
  surg__builder *b = q->b;
  const surg_node *n = surg__b_matched(b);
  const int64_t bits = surg_node_int(n, "bits", 4);
  q->block = surg_node_int(n, "block_size", 128);
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "data", &q->data) ||
      !surg__built_get(b, "scales", &q->scales) || !surg__built_get(b, "at", &q->indices) ||
      (surg__b_get(b, "zeros") && !surg__built_get(b, "zeros", &q->zeros)) ||
      surg__b_bad(b, bits != 4 && bits != 8, "bits: expected 4 or 8") ||
      surg__b_bad(b, q->block < 1 || q->block > INT32_MAX, "block_size: expected 1 or more"))
    return false;
  const bool bytes = q->data.dtype == SURG_UINT8;
  q->packed = bytes && bits == 4;
  q->middle = !bytes ? 0 : bits == 8 ? 128 : 8;
  const bool cast = bytes || surg__b_takes(b, "Cast", 0, q->data.dtype);
  return !surg__b_bad(b, !cast, "the element type requires opset 21") &&
         !surg__b_bad(b, q->data.rank < 2 || q->scales.rank != q->data.rank,
                      "data and scales: expected the same rank of 2 or more") &&
         !surg__b_bad(b, q->zeros.v && q->zeros.rank != q->data.rank,
                      "zeros: expected that rank") &&
         !surg__b_bad(b, q->data.rank + q->indices.rank > SURG__BT_RANK, "too many axes") &&
         read_axes(q);
}

surg__built surg__built_nibbles(surg__builder *b, surg__built x, int64_t size) {
  const uint32_t rank = x.rank;
  surg__bdim d[SURG__BT_RANK];
  memcpy(d, x.d, sizeof d);
  x = surg__built_unsqueeze(b, x, rank);
  const surg__built high = surg__built_number(b, "Div", x, 16);
  surg__built parts[2] = {x, high};
  parts[0] = surg__built_binary(b, "Sub", x, surg__built_number(b, "Mul", high, 16));
  d[rank - 1] = surg__bdim_mul(b, d[rank - 1], surg__bdim_fixed(2));
  x = surg__built_reshape(b, surg__built_concat(b, parts, 2, rank), d, rank);
  return size < 0 ? x
                  : surg__built_slice(b, x, rank - 1, surg__bdim_fixed(0), surg__bdim_fixed(size));
}

/* One number a block as one number an element. */
static surg__built spread(const blocks *q, surg__built x, uint32_t axis) {
  surg__builder *b = q->b;
  double *from = surg__arena_array(b->m->arena, (size_t)q->size + 1, sizeof *from);
  if (!from) {
    surg__b_no_memory(b);
    return x;
  }
  for (int64_t i = 0; i < q->size; i++) from[i] = (double)(i / q->block);
  return surg__built_gather(b, x, surg__built_numbers(b, SURG_INT64, &q->size, 1, from), axis);
}

static surg_status gather_blocks(surg__builder *b) {
  blocks q = {.b = b};
  if (!read_blocks(&q)) return SURG_EUNSUPPORTED;
  const uint32_t over = q.quantized < q.axis ? q.quantized : q.quantized + q.indices.rank - 1;
  surg__built x = surg__built_gather(b, q.data, q.indices, q.axis);
  x = surg__built_cast(b, x, SURG_INT32);
  if (q.packed) x = surg__built_nibbles(b, x, -1);
  if (q.zeros.v) {
    surg__built z =
        surg__built_cast(b, surg__built_gather(b, q.zeros, q.indices, q.axis), SURG_INT32);
    if (q.packed) z = surg__built_nibbles(b, z, q.scales.d[q.scales.rank - 1].n);
    x = surg__built_binary(b, "Sub", x, spread(&q, z, over));
  } else if (q.middle > 0) {
    x = surg__built_number(b, "Sub", x, q.middle);
  }
  surg__built s =
      surg__built_cast(b, surg__built_gather(b, q.scales, q.indices, q.axis), SURG_FLOAT);
  s = spread(&q, s, over);
  x = surg__built_binary(b, "Mul", surg__built_cast(b, x, SURG_FLOAT), s);
  surg__built_result(b, "y", surg__built_cast(b, x, q.scales.dtype));
  return b->status;
}

const surg__native surg__natives_blocks[] = {
    {"ms_gather_blocks", gather_blocks, "GatherBlockQuantized as Gather and arithmetic"},
    {NULL, NULL, NULL},
};
