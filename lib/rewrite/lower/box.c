/* SPDX-License-Identifier: Apache-2.0 */
/* ScatterND and ScatterElements whose constant indices fill a box in order, as exporters write
 * y[..., 0:2] = u: the parts of x around the box, concatenated axis by axis. */
#include "base/counted.h"
#include "rewrite/lower/native.h"

#define MOST_INDICES (1 << 23) /* numbers that are read of the indices */

/* The elements [from, from + n) along each of the first `rank` axes of a tensor. */
typedef struct box {
  uint32_t rank;
  int64_t from[SURG__BT_RANK], n[SURG__BT_RANK];
} box;

/* Reads constant indices; NULL: not constant, too many, or out of memory. */
static int64_t *indices_of(surg__builder *b, const surg__built *i, uint64_t *count) {
  const surg_tensor *t = surg_value_constant(i->v);
  const bool few = t && surg__built_count(i, MOST_INDICES, count) && *count > 0;
  int64_t *at = few ? surg__arena_array(b->m->arena, (size_t)*count, sizeof *at) : NULL;
  return at && surg__read_ints(t, at, (size_t)*count) == (int64_t)*count ? at : NULL;
}

/* An index, counted from the front; -1: out of range, or the size is unknown. */
static int64_t from_front(int64_t i, const surg__bdim *size) {
  if (i < 0) i += size->n;
  return size->n < 0 || i < 0 || i >= size->n ? -1 : i;
}

/* Whether tuple k of the indices of a ScatterND is element k of the box, for all k. */
static bool tuples_fill(const surg__built *x, const int64_t *at, uint64_t tuples, box *o) {
  uint64_t all = 1;
  for (uint32_t d = 0; d < o->rank; d++) {
    const int64_t last = from_front(at[(tuples - 1) * o->rank + d], &x->d[d]);
    o->from[d] = from_front(at[d], &x->d[d]);
    o->n[d] = last - o->from[d] + 1;
    if (o->from[d] < 0 || o->n[d] < 1 || !surg__mul_u64(all, (uint64_t)o->n[d], &all)) return false;
  }
  if (all != tuples) return false;
  for (uint64_t k = 0; k < tuples; k++) {
    uint64_t rest = k;
    for (uint32_t d = o->rank; d-- > 0; rest /= (uint64_t)o->n[d])
      if (from_front(at[k * o->rank + d], &x->d[d]) !=
          o->from[d] + (int64_t)(rest % (uint64_t)o->n[d]))
        return false;
  }
  return true;
}

/* Whether the indices of a ScatterElements are consecutive along its axis, and equal elsewhere. */
static bool elements_fill(const surg__built *x, const surg__built *i, const int64_t *at,
                          uint64_t count, uint32_t axis, box *o) {
  uint64_t step = 1;
  for (uint32_t d = 0; d < o->rank; d++) {
    o->from[d] = 0;
    o->n[d] = i->d[d].n;
    if (x->d[d].n < o->n[d]) return false;
    if (d > axis) step *= (uint64_t)o->n[d];
  }
  o->from[axis] = from_front(at[0], &x->d[axis]);
  if (o->from[axis] < 0) return false;
  for (uint64_t k = 0; k < count; k++)
    if (from_front(at[k], &x->d[axis]) !=
        o->from[axis] + (int64_t)(k / step % (uint64_t)o->n[axis]))
      return false;
  return true;
}

/* x with the elements of the box replaced by u. From the last axis to the first, `inner` grows by
 * the parts of x before and after it. */
static surg_status put_box(surg__builder *b, surg__built x, surg__built u, const box *o) {
  surg__bdim d[SURG__BT_RANK];
  for (uint32_t i = 0; i < x.rank; i++) d[i] = i < o->rank ? surg__bdim_fixed(o->n[i]) : x.d[i];
  surg__built inner = surg__built_reshape(b, u, d, x.rank);
  for (uint32_t axis = o->rank; axis-- > 0;) {
    surg__built outer = x, parts[3];
    size_t n = 0;
    const int64_t size = x.d[axis].n, end = o->from[axis] + o->n[axis];
    if (o->n[axis] == size) continue;
    for (uint32_t i = 0; i < axis; i++)
      outer = surg__built_slice(b, outer, i, surg__bdim_fixed(o->from[i]),
                                surg__bdim_fixed(o->from[i] + o->n[i]));
    if (o->from[axis] > 0)
      parts[n++] =
          surg__built_slice(b, outer, axis, surg__bdim_fixed(0), surg__bdim_fixed(o->from[axis]));
    parts[n++] = inner;
    if (end < size)
      parts[n++] = surg__built_slice(b, outer, axis, surg__bdim_fixed(end), surg__bdim_fixed(size));
    inner = surg__built_concat(b, parts, n, axis);
  }
  surg__built_result(b, "y", inner);
  return b->status;
}

/* y = ScatterND (x, i, u) */
static surg_status tuples_to_box(surg__builder *b) {
  surg__built x, i, u;
  uint64_t count;
  if (!surg__built_get(b, "x", &x) || !surg__built_get(b, "i", &i) || !surg__built_get(b, "u", &u))
    return SURG_EUNSUPPORTED;
  const int64_t length = i.rank ? i.d[i.rank - 1].n : 0;
  if (surg__b_bad(b, length < 1 || length > x.rank, "the length of the indices is unknown or 0"))
    return SURG_EUNSUPPORTED;
  box o = {.rank = (uint32_t)length};
  const int64_t *at = indices_of(b, &i, &count);
  if (surg__b_bad(b, !at, "the indices are unknown or too many") ||
      surg__b_bad(b, !tuples_fill(&x, at, count / (uint64_t)length, &o),
                  "the indices do not fill a box in order"))
    return SURG_EUNSUPPORTED;
  return put_box(b, x, u, &o);
}

/* y = ScatterElements <axis> (x, i, u) */
static surg_status elements_to_box(surg__builder *b) {
  surg__built x, i, u;
  uint64_t count;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "x", &x) || !surg__built_get(b, "i", &i) ||
      !surg__built_get(b, "u", &u) || surg__b_bad(b, i.rank != x.rank, "x and i: unequal ranks"))
    return SURG_EUNSUPPORTED;
  const int64_t rank = x.rank, wish = surg_node_int(surg__b_matched(b), "axis", 0);
  const int64_t axis = wish < 0 ? wish + rank : wish;
  if (surg__b_bad(b, axis < 0 || axis >= rank, "the axis is out of range"))
    return SURG_EUNSUPPORTED;
  box o = {.rank = x.rank};
  const int64_t *at = indices_of(b, &i, &count);
  if (surg__b_bad(b, !at, "the indices are unknown or too many") ||
      surg__b_bad(b, !elements_fill(&x, &i, at, count, (uint32_t)axis, &o),
                  "the indices do not fill a box in order"))
    return SURG_EUNSUPPORTED;
  return put_box(b, x, u, &o);
}

const surg__native surg__natives_box[] = {
    {"scatter_nd_box", tuples_to_box, "ScatterND to a box by Slice and Concat"},
    {"scatter_elements_box", elements_to_box, "ScatterElements to a box by Slice and Concat"},
    {NULL, NULL, NULL},
};
