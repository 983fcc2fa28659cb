/* SPDX-License-Identifier: Apache-2.0 */
/* Execution of If, Loop and SequenceMap, and stacking of scan outputs. */
#include "base/context.h"
#include "base/dtype.h"
#include "eval/core/machine.h"

static surg_status truth(surg__machine *m, const surg__array *a, bool *out) {
  if (a->dtype != SURG_BOOL || a->count != 1) {
    return surg__m_stop(m, SURG_EINVALID, "a condition is not a single boolean");
  }
  *out = *(const uint8_t *)a->data != 0;
  return SURG_OK;
}

static surg_status body_of(surg__machine *m, const surg_node *n, const char *attr,
                           surg_graph **out) {
  *out = surg_attr_graph(surg_node_attr(n, attr), 0);
  return *out ? SURG_OK : surg__m_stop(m, SURG_EINVALID, "a subgraph is missing");
}

/* Moves `count` arrays to the outputs of a node, from output `first` on; on failure drops them. */
static surg_status hand_out(surg__machine *m, surg_status s, const surg_node *n, size_t first,
                            surg__array *arrays, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (s == SURG_OK)
      s = surg__m_output(m, n, first + i, &arrays[i]);
    else
      surg__array_drop(&arrays[i]);
  }
  return s;
}

surg_status surg__m_if(surg__machine *m, surg_node *n) {
  surg__array cond;
  bool taken = false;
  surg_graph *g = NULL;
  surg_status s = surg__m_input(m, n, 0, &cond);
  if (s == SURG_OK) s = truth(m, &cond, &taken);
  if (s == SURG_OK) s = body_of(m, n, taken ? "then_branch" : "else_branch", &g);
  if (s != SURG_OK) return s;
  size_t n_out = surg_node_output_count(n);
  surg__array *out = surg__calloc(m->ctx, n_out + 1, sizeof *out);
  if (!out) return surg__alloc_status(m->ctx);
  s = surg__m_subgraph(m, g, NULL, 0, out, n_out);
  s = hand_out(m, s, n, 0, out, n_out);
  surg__free(m->ctx, out);
  return s;
}

/* --- stacking --- */

/* An array of the declared type; unknown dimensions, which the standard does not define, are 0. */
static surg_status empty_like(surg__machine *m, const surg_type *type, surg__array *out) {
  int64_t dims[SURG_LIMIT_RANK];
  if (!type || surg_type_get_kind(type) != SURG_TYPE_TENSOR || !surg_type_dtype(type) ||
      !surg_type_has_rank(type) || surg_type_rank(type) >= SURG_LIMIT_RANK) {
    return surg__m_stop(m, SURG_EUNSUPPORTED, "no iteration ran, and the shape is unknown");
  }
  uint32_t rank = (uint32_t)surg_type_rank(type);
  for (uint32_t i = 0; i < rank; ++i) {
    int64_t d = surg_type_dim(type, i)->value;
    dims[i] = d > 0 ? d : 0;
    if (d < 0 && !m->session->open) m->session->open = "the shape of what no turn has given";
  }
  *out = (surg__array){.dtype = surg_type_dtype(type), .rank = rank};
  int64_t *own = surg__arena_array(&m->arena, (size_t)rank + 1, sizeof *own);
  if (!own) return surg__alloc_status(m->ctx);
  memcpy(own, dims, rank * sizeof *own);
  out->dims = own;
  return SURG_OK;
}

static bool same_shape(const surg__array *a, const surg__array *b) {
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  return a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

static surg_status check_items(surg__machine *m, const surg__array *items, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (items[i].dtype == SURG_UNDEFINED || surg__array_is_list(&items[i])) {
      return surg__m_stop(m, SURG_EINVALID, "a scan output is not a tensor");
    }
    if (!same_shape(&items[0], &items[i])) {
      return surg__m_stop(m, SURG_EINVALID, "scan outputs differ in shape");
    }
  }
  return SURG_OK;
}

surg_status surg__m_stack(surg__machine *m, const surg__array *items, size_t count, int64_t axis,
                          bool reversed, const surg_type *type, surg__array *out) {
  surg__array first = {0};
  surg_status s = check_items(m, items, count);
  if (s == SURG_OK && count > 0) first = items[0];
  if (s == SURG_OK && count == 0) s = empty_like(m, type, &first);
  if (s != SURG_OK) return s;
  uint32_t rank = first.rank + 1, at;
  int64_t dims[SURG_LIMIT_RANK];
  if (rank > SURG_LIMIT_RANK || !surg__k_axis(axis, rank, &at)) {
    return surg__m_stop(m, SURG_EINVALID, "the axis of a scan output is out of range");
  }
  size_t before = 1, unit = surg__dtype_unpacked(first.dtype);
  for (uint32_t i = 0; i < rank; ++i) {
    dims[i] = i < at ? first.dims[i] : i == at ? (int64_t)count : first.dims[i - 1];
    if (i < at) before *= (size_t)first.dims[i];
  }
  uint64_t total;
  if (!surg__dims_product(dims, rank, &total) || total > m->session->max_bytes / unit) {
    return surg__m_stop(m, SURG_ELIMIT, "scan outputs are over the limit");
  }
  s = surg__m_spend(m, total);
  if (s == SURG_OK) s = surg__array_make(m->ctx, first.dtype, dims, rank, out);
  if (s != SURG_OK || total == 0) return s;
  size_t each = (size_t)first.count / before * unit;
  char *to = out->data;
  for (size_t b = 0; b < before; ++b) {
    for (size_t i = 0; i < count; ++i, to += each) {
      const surg__array *from = &items[reversed ? count - 1 - i : i];
      memcpy(to, (const char *)from->data + b * each, each);
    }
  }
  s = surg__array_settle(m->ctx, out);
  if (s != SURG_OK) surg__array_drop(out);
  return s;
}

/* --- Loop --- */

typedef struct loop {
  surg_graph *body;
  uint64_t trips; /* UINT64_MAX: unbounded */
  bool going;
  size_t carried, scans;
  surg__array *in;             /* of the body: iteration number, condition, loop-carried values */
  surg__array *out;            /* of the body: condition, loop-carried values, scan outputs */
  SURG_VEC(surg__array) turns; /* scan outputs of all iterations */
} loop;

static surg_status limits(surg__machine *m, const surg_node *n, loop *l) {
  surg__array trips, cond;
  l->trips = UINT64_MAX;
  l->going = true;
  surg_status s = surg__m_input(m, n, 0, &trips);
  if (s == SURG_OK) s = surg__m_input(m, n, 1, &cond);
  if (s != SURG_OK) return s;
  if (cond.dtype != SURG_UNDEFINED) s = truth(m, &cond, &l->going);
  if (s != SURG_OK || trips.dtype == SURG_UNDEFINED) return s;
  if (trips.dtype != SURG_INT64 || trips.count != 1) {
    return surg__m_stop(m, SURG_EINVALID, "the number of iterations is not a single int64");
  }
  int64_t t = *(const int64_t *)trips.data;
  l->trips = t < 0 ? 0 : (uint64_t)t;
  return s;
}

/* Makes input i of the body, the iteration number or the condition: a scalar, or a vector of one
 * element if the body declares that. */
static surg_status body_scalar(surg__machine *m, const loop *l, int dtype, size_t i,
                               surg__array *out) {
  const int64_t one = 1;
  const surg_type *t = surg_graph_input_count(l->body) > i
                           ? surg_value_declared_type(surg_graph_input(l->body, i))
                           : NULL;
  const bool vector = surg_type_has_rank(t) && surg_type_rank(t) == 1;
  return surg__array_make(m->ctx, dtype, &one, vector, out);
}

static surg_status start_loop(surg__machine *m, const surg_node *n, loop *l) {
  size_t inputs = surg_node_input_count(n);
  surg_status s = body_of(m, n, "body", &l->body);
  if (s == SURG_OK) s = limits(m, n, l);
  if (s != SURG_OK) return s;
  l->carried = inputs > 2 ? inputs - 2 : 0;
  size_t n_out = surg_graph_output_count(l->body);
  if (n_out < l->carried + 1) {
    return surg__m_stop(m, SURG_EINVALID, "a Loop and its body do not match");
  }
  l->scans = n_out - 1 - l->carried;
  l->in = surg__calloc(m->ctx, l->carried + 2, sizeof *l->in);
  l->out = surg__calloc(m->ctx, n_out, sizeof *l->out);
  if (!l->in || !l->out) return surg__alloc_status(m->ctx);
  s = body_scalar(m, l, SURG_BOOL, 1, &l->in[1]);
  if (s == SURG_OK) *(uint8_t *)l->in[1].data = 1;
  for (size_t i = 0; s == SURG_OK && i < l->carried; ++i) {
    surg__array a;
    s = surg__m_input(m, n, i + 2, &a);
    if (s == SURG_OK) l->in[i + 2] = surg__array_ref(&a);
  }
  return s;
}

static surg_status turn(surg__machine *m, loop *l, uint64_t index) {
  surg__array_drop(&l->in[0]);
  surg_status s = body_scalar(m, l, SURG_INT64, 0, &l->in[0]);
  if (s != SURG_OK) return s;
  *(int64_t *)l->in[0].data = (int64_t)index;
  s = surg__m_subgraph(m, l->body, l->in, l->carried + 2, l->out, 1 + l->carried + l->scans);
  if (s != SURG_OK) return s;
  s = truth(m, &l->out[0], &l->going);
  surg__array_drop(&l->out[0]);
  for (size_t i = 0; i < l->carried; ++i) {
    surg__array_drop(&l->in[i + 2]);
    l->in[i + 2] = l->out[1 + i];
  }
  for (size_t i = 0; i < l->scans; ++i) {
    surg__array *a = &l->out[1 + l->carried + i];
    if (s == SURG_OK && surg__vec_push(m->ctx, &l->turns, *a)) continue;
    surg__array_drop(a);
    if (s == SURG_OK) s = surg__alloc_status(m->ctx);
  }
  return s;
}

/* Stacks scan output k of all iterations. */
static surg_status scan_output(surg__machine *m, const surg_node *n, loop *l, uint64_t turns,
                               size_t k) {
  if (!surg_node_output(n, l->carried + k)) return SURG_OK;
  surg__array all, *column = surg__calloc(m->ctx, (size_t)turns + 1, sizeof *column);
  if (!column) return surg__alloc_status(m->ctx);
  for (uint64_t i = 0; i < turns; ++i) column[i] = l->turns.items[i * l->scans + k];
  surg_status s = surg__m_stack(m, column, (size_t)turns, 0, false,
                                surg__m_output_type(l->body, 1 + l->carried + k), &all);
  surg__free(m->ctx, column);
  return s == SURG_OK ? surg__m_output(m, n, l->carried + k, &all) : s;
}

surg_status surg__m_loop(surg__machine *m, surg_node *n) {
  loop l = {0};
  uint64_t turns = 0;
  surg_status s = start_loop(m, n, &l);
  for (; s == SURG_OK && l.going && turns < l.trips; ++turns) {
    s = surg__m_turn(m);
    if (s == SURG_OK) s = turn(m, &l, turns);
  }
  if (l.in) {
    surg__array_drop(&l.in[0]);
    surg__array_drop(&l.in[1]);
    s = hand_out(m, s, n, 0, l.in + 2, l.carried);
  }
  for (size_t k = 0; s == SURG_OK && k < l.scans; ++k) s = scan_output(m, n, &l, turns, k);
  for (size_t i = 0; i < l.turns.count; ++i) surg__array_drop(&l.turns.items[i]);
  surg__vec_free(m->ctx, &l.turns);
  surg__free(m->ctx, l.in);
  surg__free(m->ctx, l.out);
  return s;
}

/* --- SequenceMap --- */

/* Inputs of iteration i: item i of each sequence input, and the tensors unchanged. */
static surg_status pick(surg__machine *m, const surg_node *n, uint64_t i, surg__array *in) {
  size_t n_in = surg_node_input_count(n);
  for (size_t k = 0; k < n_in; ++k) {
    surg_status s = surg__m_input(m, n, k, &in[k]);
    if (s != SURG_OK) return s;
    if (in[k].dtype != SURG__V_SEQUENCE) continue;
    if (i >= in[k].count) {
      return surg__m_stop(m, SURG_EINVALID, "a sequence is shorter than the first one");
    }
    in[k] = surg__list_of(&in[k])->items[i];
  }
  return SURG_OK;
}

static surg_status make_lists(surg__machine *m, const surg_graph *g, uint64_t count,
                              surg__array *out, size_t n_out) {
  surg_status s = SURG_OK;
  for (size_t k = 0; s == SURG_OK && k < n_out; ++k) {
    surg__content c = surg__content_of_type(surg__m_output_type(g, k));
    s = surg__list_make(m->ctx, SURG__V_SEQUENCE, c, count, &out[k]);
  }
  return s;
}

static surg_status map_turn(surg__machine *m, surg_node *n, surg_graph *g, uint64_t i,
                            surg__array *in, surg__array *lists, size_t n_out) {
  surg__array *got = in + surg_node_input_count(n);
  surg_status s = pick(m, n, i, in);
  if (s == SURG_OK) s = surg__m_spend(m, 1);
  if (s == SURG_OK) s = surg__m_subgraph(m, g, in, surg_node_input_count(n), got, n_out);
  for (size_t k = 0; s == SURG_OK && k < n_out; ++k) {
    surg__list_of(&lists[k])->items[i] = got[k];
    surg__list_of(&lists[k])->elem = surg__content_of(&got[k]);
  }
  return s;
}

surg_status surg__m_sequence_map(surg__machine *m, surg_node *n) {
  size_t n_in = surg_node_input_count(n), n_out = surg_node_output_count(n);
  surg_graph *g = NULL;
  surg__array sequence;
  surg_status s = body_of(m, n, "body", &g);
  if (s == SURG_OK) s = surg__m_input(m, n, 0, &sequence);
  if (s == SURG_OK && sequence.dtype != SURG__V_SEQUENCE) {
    s = surg__m_stop(m, SURG_EINVALID, "the first input of SequenceMap is not a sequence");
  }
  if (s != SURG_OK) return s;
  surg__array *in = surg__calloc(m->ctx, n_in + n_out + n_out + 1, sizeof *in);
  if (!in) return surg__alloc_status(m->ctx);
  surg__array *lists = in + n_in + n_out;
  s = make_lists(m, g, sequence.count, lists, n_out);
  for (uint64_t i = 0; s == SURG_OK && i < sequence.count; ++i) {
    s = map_turn(m, n, g, i, in, lists, n_out);
  }
  s = hand_out(m, s, n, 0, lists, n_out);
  surg__free(m->ctx, in);
  return s;
}
