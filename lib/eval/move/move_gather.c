/* SPDX-License-Identifier: Apache-2.0 */
/* Gather, GatherElements, GatherND, Compress and ReverseSequence. */
#include "eval/core/stream.h"
#include "eval/move/move.h"

/* Reads the indices into an axis of size `dim` into scratch memory. */
static surg__kstatus read_indices(surg_kctx *k, uint32_t in, int64_t dim, int64_t **out) {
  SURG__K_TRY(surg__need(k, in));
  const surg__array *a = &k->in[in];
  if (a->dtype != SURG_INT32 && a->dtype != SURG_INT64)
    return surg__k_invalid(k, "the indices are not int32 or int64");
  int64_t *p = surg__k_scratch(k, a->count, sizeof *p);
  if (!p) return SURG__K_NOMEM;
  for (uint64_t i = 0; i < a->count; i++) SURG__K_TRY(surg__index_at(k, a, i, dim, &p[i]));
  *out = p;
  return SURG__K_OK;
}

/* Reads blocks of adjacent elements, `n` for each of `outer` slices. */
static surg__kstatus gather_stream(surg_kctx *k, uint64_t outer, const int64_t *index, uint64_t n,
                                   uint64_t block) {
  const surg__array *a = &k->in[0];
  const uint64_t length = outer && block ? a->count / outer / block : 0;
  uint8_t *to = k->out[0].data;
  surg_status s = SURG_OK;
  for (uint64_t o = 0; o < outer; o++) {
    for (uint64_t i = 0; i < n && s == SURG_OK; i++, to += (size_t)block * surg__element_size(a))
      s = surg__stream_read(a, (o * length + (uint64_t)index[i]) * block, block, to);
    if (s != SURG_OK || surg__k_stopped(k)) break;
  }
  surg__k_unread(k, s);
  return SURG__K_OK;
}

surg__kstatus surg__k_gather(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  SURG__K_TRY(surg__need(k, 1));
  const surg__array *a = &k->in[0], *ix = &k->in[1];
  uint32_t axis;
  SURG__K_TRY(surg__need_axis(k, surg_node_int(k->node, "axis", 0), a->rank, 11, &axis));
  if (a->rank - 1 + ix->rank > SURG_LIMIT_RANK) return surg__k_cannot(k, "the rank is too high");
  int64_t dims[2 * SURG_LIMIT_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < axis; i++) dims[rank++] = a->dims[i];
  for (uint32_t i = 0; i < ix->rank; i++) dims[rank++] = ix->dims[i];
  for (uint32_t i = axis + 1; i < a->rank; i++) dims[rank++] = a->dims[i];
  SURG__K_TRY(surg__k_work(k, ix->count));
  int64_t *index;
  SURG__K_TRY(read_indices(k, 1, a->dims[axis], &index));
  SURG__K_TRY(surg__k_out(k, 0, a->dtype, dims, rank));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  if (!k->out[0].data || k->out[0].count == 0) return SURG__K_OK;
  uint64_t outer = surg__span_product(a->dims, 0, axis);
  size_t block = surg__span_product(a->dims, axis + 1, a->rank) * surg__element_size(a);
  size_t row = (size_t)a->dims[axis] * block;
  uint8_t *to = k->out[0].data;
  if (a->stream) return gather_stream(k, outer, index, ix->count, block / surg__element_size(a));
  const uint8_t *from = a->data;
  for (uint64_t o = 0; o < outer; o++, from += row) {
    for (uint64_t i = 0; i < ix->count; i++, to += block)
      memcpy(to, from + (size_t)index[i] * block, block);
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_gather_elements(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  SURG__K_TRY(surg__need(k, 1));
  const surg__array *a = &k->in[0], *ix = &k->in[1];
  uint32_t axis;
  if (a->rank != ix->rank) return surg__k_invalid(k, "data and indices differ in rank");
  SURG__K_TRY(surg__need_axis(k, surg_node_int(k->node, "axis", 0), a->rank, 11, &axis));
  for (uint32_t i = 0; i < a->rank; i++) {
    if (i != axis && ix->dims[i] > a->dims[i])
      return surg__k_invalid(k, "the indices are larger than the data");
  }
  SURG__K_TRY(surg__k_work(k, ix->count));
  int64_t *index;
  SURG__K_TRY(read_indices(k, 1, a->dims[axis], &index));
  SURG__K_TRY(surg__k_out(k, 0, a->dtype, ix->dims, ix->rank));
  if (!k->out[0].data || ix->count == 0) return SURG__K_OK;
  int64_t strides[SURG_LIMIT_RANK];
  surg__row_strides(a->dims, a->rank, strides);
  int64_t along = strides[axis];
  strides[axis] = 0;
  size_t size = surg__element_size(a);
  surg__odometer o = {.rank = ix->rank, .dims = ix->dims, .steps = strides};
  for (uint64_t i = 0; i < ix->count; i++) {
    memcpy((uint8_t *)k->out[0].data + i * size,
           (const uint8_t *)a->data + (size_t)(o.offset + index[i] * along) * size, size);
    surg__odometer_next(&o);
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_gather_nd(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  SURG__K_TRY(surg__need(k, 1));
  const surg__array *a = &k->in[0], *ix = &k->in[1];
  int64_t batch = k->since >= 12 ? surg_node_int(k->node, "batch_dims", 0) : 0;
  if (a->rank < 1 || ix->rank < 1 || batch < 0 || batch >= (int64_t)a->rank ||
      batch >= (int64_t)ix->rank)
    return surg__k_invalid(k, "the ranks or batch_dims are out of range");
  uint32_t b = (uint32_t)batch, rank = 0;
  int64_t depth = ix->dims[ix->rank - 1], dims[2 * SURG_LIMIT_RANK], strides[SURG_LIMIT_RANK];
  if (ix->dtype != SURG_INT64) return surg__k_invalid(k, "the indices are not int64");
  if (depth < 1 || depth > (int64_t)(a->rank - b))
    return surg__k_invalid(k, "the last dimension of the indices is out of range");
  for (uint32_t i = 0; i < b; i++) {
    if (a->dims[i] != ix->dims[i]) return surg__k_invalid(k, "the batch dimensions differ");
  }
  for (uint32_t i = 0; i + 1 < ix->rank; i++) dims[rank++] = ix->dims[i];
  for (uint32_t i = b + (uint32_t)depth; i < a->rank; i++) dims[rank++] = a->dims[i];
  SURG__K_TRY(surg__k_out(k, 0, a->dtype, dims, rank));
  SURG__K_TRY(surg__k_work(k, ix->count));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  surg__row_strides(a->dims, a->rank, strides);
  uint64_t tuples = surg__span_product(ix->dims, 0, ix->rank - 1);
  uint64_t batches = surg__span_product(ix->dims, 0, b), each = batches ? tuples / batches : 0;
  size_t block = surg__span_product(a->dims, b + (uint32_t)depth, a->rank) * surg__element_size(a);
  size_t size = surg__element_size(a);
  const int64_t *p = ix->data;
  uint64_t batch_step = surg__span_product(a->dims, b, a->rank);
  for (uint64_t t = 0; t < tuples; t++) {
    uint64_t offset = t / each * batch_step;
    for (int64_t j = 0; j < depth; j++) {
      int64_t v = *p++, dim = a->dims[b + j];
      if (v < -dim || v >= dim) return surg__k_invalid(k, "an index is out of range");
      offset += (uint64_t)(v < 0 ? v + dim : v) * (uint64_t)strides[b + j];
    }
    if (k->out[0].data && block > 0)
      memcpy((uint8_t *)k->out[0].data + t * block, (const uint8_t *)a->data + offset * size,
             block);
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_compress(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  SURG__K_TRY(surg__need(k, 1));
  const surg__array *a = &k->in[0], *c = &k->in[1];
  if (c->dtype != SURG_BOOL || c->rank != 1)
    return surg__k_invalid(k, "the condition is not a list of bool");
  bool flat = !surg_node_attr(k->node, "axis");
  int64_t dims[SURG_LIMIT_RANK] = {0}, dim = (int64_t)a->count, n = 0;
  uint32_t axis = 0, rank = 1;
  uint64_t outer = 1, inner = 1;
  if (!flat) {
    SURG__K_TRY(surg__need_axis(k, surg_node_int(k->node, "axis", 0), a->rank, 11, &axis));
    dim = a->dims[axis];
    rank = a->rank;
    memcpy(dims, a->dims, rank * sizeof *dims);
    outer = surg__span_product(dims, 0, axis);
    inner = surg__span_product(dims, axis + 1, rank);
  }
  const uint8_t *take = c->data;
  for (uint64_t i = 0; i < c->count; i++) {
    if (take[i] && (int64_t)i >= dim)
      return surg__k_invalid(k, "the condition selects beyond the axis");
    n += take[i] != 0;
  }
  dims[axis] = n;
  SURG__K_TRY(surg__k_out(k, 0, a->dtype, dims, rank));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  SURG__K_TRY(surg__k_work(k, c->count));
  if (!k->out[0].data || k->out[0].count == 0) return SURG__K_OK;
  size_t block = inner * surg__element_size(a);
  uint8_t *to = k->out[0].data;
  for (uint64_t o = 0; o < outer; o++) {
    const uint8_t *row = (const uint8_t *)a->data + o * (size_t)dim * block;
    for (uint64_t i = 0; i < c->count; i++) {
      if (!take[i]) continue;
      memcpy(to, row + i * block, block);
      to += block;
    }
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_reverse_sequence(surg_kctx *k) {
  SURG__K_TRY(surg__need(k, 0));
  SURG__K_TRY(surg__need(k, 1));
  const surg__array *a = &k->in[0], *lens = &k->in[1];
  int64_t batch = surg_node_int(k->node, "batch_axis", 1);
  int64_t time = surg_node_int(k->node, "time_axis", 0);
  if (a->rank < 2 || batch < 0 || batch > 1 || time != 1 - batch)
    return surg__k_invalid(k, "the axes are not 0 and 1");
  if (lens->dtype != SURG_INT64 || lens->rank != 1 || lens->dims[0] != a->dims[batch])
    return surg__k_invalid(k, "there is not one length for each sequence");
  const int64_t *len = lens->data;
  for (uint64_t i = 0; i < lens->count; i++) {
    if (len[i] < 0 || len[i] > a->dims[time]) return surg__k_invalid(k, "a length is out of range");
  }
  SURG__K_TRY(surg__k_out(k, 0, a->dtype, a->dims, a->rank));
  SURG__K_TRY(surg__k_work(k, a->count));
  if (!k->out[0].data || a->count == 0) return SURG__K_OK;
  size_t block = surg__span_product(a->dims, 2, a->rank) * surg__element_size(a);
  int64_t n = a->dims[time];
  uint64_t step = time == 0 ? (uint64_t)a->dims[1] : 1;
  uint64_t lane = time == 0 ? 1 : (uint64_t)a->dims[1];
  for (int64_t s = 0; s < a->dims[batch]; s++) {
    for (int64_t t = 0; t < n; t++) {
      int64_t from = t < len[s] ? len[s] - 1 - t : t;
      memcpy((uint8_t *)k->out[0].data + ((uint64_t)t * step + (uint64_t)s * lane) * block,
             (const uint8_t *)a->data + ((uint64_t)from * step + (uint64_t)s * lane) * block,
             block);
    }
  }
  return SURG__K_OK;
}
