/* SPDX-License-Identifier: Apache-2.0 */
/* Scan: iterates over slices of its inputs. In version 8 it also iterates over a batch. */
#include "base/context.h"
#include "base/dtype.h"
#include "eval/core/machine.h"

typedef struct scan {
  surg__machine *m;
  surg_node *node;
  surg_graph *body;
  size_t states, inputs, outputs; /* numbers of states, scanned inputs, scan outputs */
  surg__array *given;             /* borrowed: states, then scanned inputs */
  surg__array *in, *out;          /* of the body, owned */
  uint32_t *axes;                 /* scan axes of the inputs */
  bool *back;
  SURG_VEC(surg__array) turns; /* scan outputs of all iterations */
} scan;

/* Entry i of the list attribute `name`; 0 if the list is absent or short. */
static int64_t entry(const surg_node *n, const char *name, size_t i) {
  size_t count;
  const int64_t *list = surg_attr_ints(surg_node_attr(n, name), &count);
  return list && i < count ? list[i] : 0;
}

/* Slice `index` of an array along an axis; the axis is removed. */
static surg_status slice(surg__machine *m, const surg__array *a, uint32_t axis, int64_t index,
                         surg__array *out) {
  int64_t dims[SURG_LIMIT_RANK];
  size_t outer = 1, inner = 1, unit = surg__dtype_unpacked(a->dtype);
  for (uint32_t i = 0; i < a->rank; ++i) {
    if (i < axis) outer *= (size_t)a->dims[i];
    if (i > axis) inner *= (size_t)a->dims[i];
    if (i != axis) dims[i < axis ? i : i - 1] = a->dims[i];
  }
  surg_status s = surg__array_make(m->ctx, a->dtype, dims, a->rank - 1, out);
  if (s == SURG_OK) s = surg__m_spend(m, out->count);
  if (s != SURG_OK) {
    surg__array_drop(out);
    return s;
  }
  size_t bytes = out->count > 0 ? inner * unit : 0;
  for (size_t i = 0; bytes > 0 && i < outer; ++i) {
    size_t from = (i * (size_t)a->dims[axis] + (size_t)index) * bytes;
    memcpy((char *)out->data + i * bytes, (const char *)a->data + from, bytes);
  }
  s = surg__array_settle(m->ctx, out);
  if (s != SURG_OK) surg__array_drop(out);
  return s;
}

static surg_status axis_of(scan *c, const surg__array *a, int64_t axis, uint32_t *out) {
  if (a->dtype == SURG_UNDEFINED || surg__array_is_list(a)) {
    return surg__m_stop(c->m, SURG_EINVALID, "a scanned input is not a tensor");
  }
  if (surg__k_axis(axis, a->rank, out)) return SURG_OK;
  return surg__m_stop(c->m, SURG_EINVALID, "the axis of a scan input is out of range");
}

static surg_status one_turn(scan *c, int64_t length, int64_t t) {
  surg_status s = surg__m_spend(c->m, 1);
  for (size_t i = 0; s == SURG_OK && i < c->inputs; ++i) {
    surg__array *a = &c->in[c->states + i];
    surg__array_drop(a);
    const surg__array *from = &c->given[c->states + i];
    s = slice(c->m, from, c->axes[i], c->back[i] ? length - 1 - t : t, a);
  }
  if (s == SURG_OK) {
    s = surg__m_subgraph(c->m, c->body, c->in, c->states + c->inputs, c->out,
                         c->states + c->outputs);
  }
  if (s != SURG_OK) return s;
  for (size_t i = 0; i < c->states; ++i) {
    surg__array_drop(&c->in[i]);
    c->in[i] = c->out[i];
  }
  for (size_t i = 0; i < c->outputs; ++i) {
    surg__array *a = &c->out[c->states + i];
    if (s == SURG_OK && surg__vec_push(c->m->ctx, &c->turns, *a)) continue;
    surg__array_drop(a);
    if (s == SURG_OK) s = surg__alloc_status(c->m->ctx);
  }
  return s;
}

static void drop_turns(scan *c) {
  for (size_t i = 0; i < c->turns.count; ++i) surg__array_drop(&c->turns.items[i]);
  c->turns.count = 0;
}

/* Stacks scan output k of `turns` iterations, followed by zeros up to `padded`. */
static surg_status stack(scan *c, size_t k, int64_t turns, int64_t padded, int64_t axis, bool back,
                         surg__array *out) {
  surg__array zero = {0}, *column = surg__calloc(c->m->ctx, (size_t)padded + 1, sizeof *column);
  if (!column) return surg__alloc_status(c->m->ctx);
  surg_status s = SURG_OK;
  for (int64_t i = 0; i < turns; ++i) column[i] = c->turns.items[(size_t)i * c->outputs + k];
  if (turns > 0 && turns < padded) {
    s = surg__array_make(c->m->ctx, column[0].dtype, column[0].dims, column[0].rank, &zero);
    if (s == SURG_OK && zero.dtype != SURG_STRING) {
      memset(zero.data, 0, (size_t)zero.count * surg__dtype_unpacked(zero.dtype));
    }
    for (int64_t i = turns; i < padded; ++i) column[i] = zero;
  }
  if (s == SURG_OK) {
    s = surg__m_stack(c->m, column, (size_t)(turns > 0 ? padded : 0), axis, back,
                      surg__m_output_type(c->body, c->states + k), out);
  }
  surg__array_drop(&zero);
  surg__free(c->m->ctx, column);
  return s;
}

/* Runs all iterations over c->given; the final states are in c->in. */
static surg_status run_turns(scan *c, int64_t length) {
  surg_status s = SURG_OK;
  for (size_t i = 0; i < c->states; ++i) c->in[i] = surg__array_ref(&c->given[i]);
  for (int64_t t = 0; s == SURG_OK && t < length; ++t) s = one_turn(c, length, t);
  return s;
}

static surg_status run_9(scan *c) {
  int64_t length = -1;
  surg_status s = SURG_OK;
  for (size_t i = 0; s == SURG_OK && i < c->inputs; ++i) {
    const surg__array *a = &c->given[c->states + i];
    s = axis_of(c, a, entry(c->node, "scan_input_axes", i), &c->axes[i]);
    if (s != SURG_OK) return s;
    c->back[i] = entry(c->node, "scan_input_directions", i) == 1;
    if (length >= 0 && length != a->dims[c->axes[i]]) {
      return surg__m_stop(c->m, SURG_EINVALID, "scan inputs differ in length");
    }
    length = a->dims[c->axes[i]];
  }
  s = run_turns(c, length);
  for (size_t i = 0; s == SURG_OK && i < c->states; ++i) {
    s = surg__m_output(c->m, c->node, i, &c->in[i]);
    c->in[i] = (surg__array){0};
  }
  for (size_t k = 0; s == SURG_OK && k < c->outputs; ++k) {
    surg__array all;
    s = stack(c, k, length, length, entry(c->node, "scan_output_axes", k),
              entry(c->node, "scan_output_directions", k) == 1, &all);
    if (s == SURG_OK) s = surg__m_output(c->m, c->node, c->states + k, &all);
  }
  return s;
}

/* --- version 8: a batch --- */

typedef struct batch {
  int64_t size, length;
  const int64_t *lengths; /* NULL: all have `length` */
  surg__array *whole;     /* the inputs of the node */
  surg__array *done;      /* results of entry b, states first, at b * (states + outputs) */
} batch;

static surg_status measure(scan *c, batch *b) {
  surg__array lengths;
  surg_status s = surg__m_input(c->m, c->node, 0, &lengths);
  if (s != SURG_OK) return s;
  b->size = b->length = -1;
  for (size_t i = 0; i < c->states + c->inputs; ++i) {
    const surg__array *a = &c->given[i];
    uint32_t need = i < c->states ? 1 : 2;
    if (a->dtype == SURG_UNDEFINED || surg__array_is_list(a) || a->rank < need ||
        (b->size >= 0 && b->size != a->dims[0]) ||
        (need == 2 && b->length >= 0 && b->length != a->dims[1])) {
      return surg__m_stop(c->m, SURG_EINVALID, "inputs of Scan do not fit each other");
    }
    b->size = a->dims[0];
    if (need == 2) b->length = a->dims[1];
  }
  if (lengths.dtype == SURG_UNDEFINED) return s;
  bool fits = lengths.dtype == SURG_INT64 && lengths.count == (uint64_t)b->size;
  b->lengths = lengths.data;
  for (int64_t i = 0; fits && i < b->size; ++i) {
    fits = b->lengths[i] >= 0 && b->lengths[i] <= b->length;
  }
  return fits ? s : surg__m_stop(c->m, SURG_EINVALID, "the lengths of sequences do not fit");
}

/* Runs entry `i` of the batch; slices replace the inputs of the node meanwhile. */
static surg_status run_entry(scan *c, batch *b, int64_t i) {
  size_t n_in = c->states + c->inputs, n_out = c->states + c->outputs;
  surg__array *done = b->done + (size_t)i * n_out;
  int64_t length = b->lengths ? b->lengths[i] : b->length;
  surg_status s = SURG_OK;
  for (size_t k = 0; k < c->inputs; ++k) c->back[k] = entry(c->node, "directions", k) == 1;
  for (size_t k = 0; s == SURG_OK && k < n_in; ++k) {
    s = slice(c->m, &b->whole[k], 0, i, &c->given[k]);
  }
  if (s == SURG_OK) s = run_turns(c, length);
  for (size_t k = 0; k < c->states; ++k) {
    done[k] = c->in[k];
    c->in[k] = (surg__array){0};
  }
  for (size_t k = 0; s == SURG_OK && k < c->outputs; ++k) {
    s = stack(c, k, length, b->length, 0, false, &done[c->states + k]);
  }
  drop_turns(c);
  for (size_t k = 0; k < n_in; ++k) surg__array_drop(&c->given[k]);
  return s;
}

static surg_status finish_batch(scan *c, batch *b) {
  size_t n_out = c->states + c->outputs;
  surg__array *column = surg__calloc(c->m->ctx, (size_t)b->size + 1, sizeof *column);
  if (!column) return surg__alloc_status(c->m->ctx);
  surg_status s = SURG_OK;
  for (size_t k = 0; s == SURG_OK && k < n_out; ++k) {
    surg__array all;
    for (size_t i = 0; i < (size_t)b->size; ++i) column[i] = b->done[i * n_out + k];
    s = surg__m_stack(c->m, column, (size_t)b->size, 0, false, surg__m_output_type(c->body, k),
                      &all);
    if (s == SURG_OK) s = surg__m_output(c->m, c->node, k, &all);
  }
  surg__free(c->m->ctx, column);
  return s;
}

static surg_status run_8(scan *c) {
  batch b = {0};
  size_t n_in = c->states + c->inputs, n_out = c->states + c->outputs;
  surg_status s = measure(c, &b);
  if (s != SURG_OK) return s;
  b.whole = surg__calloc(c->m->ctx, n_in + 1, sizeof *b.whole);
  b.done = surg__calloc(c->m->ctx, (size_t)b.size * n_out + 1, sizeof *b.done);
  if (!b.whole || !b.done) s = surg__alloc_status(c->m->ctx);
  for (size_t k = 0; s == SURG_OK && k < n_in; ++k) {
    b.whole[k] = c->given[k];
    c->given[k] = (surg__array){0};
  }
  for (int64_t i = 0; s == SURG_OK && i < b.size; ++i) s = run_entry(c, &b, i);
  if (s == SURG_OK) s = finish_batch(c, &b);
  for (size_t i = 0; b.done && i < (size_t)b.size * n_out; ++i) surg__array_drop(&b.done[i]);
  surg__free(c->m->ctx, b.done);
  surg__free(c->m->ctx, b.whole);
  return s;
}

static surg_status start(scan *c, size_t first) {
  size_t n = surg_node_input_count(c->node);
  n = n > first ? n - first : 0;
  int64_t scanned = surg_node_int(c->node, "num_scan_inputs", 0);
  c->body = surg_attr_graph(surg_node_attr(c->node, "body"), 0);
  if (!c->body || scanned < 1 || (uint64_t)scanned > n) {
    return surg__m_stop(c->m, SURG_EINVALID, "a Scan has no body or nothing to scan");
  }
  c->inputs = (size_t)scanned;
  c->states = n - c->inputs;
  size_t n_out = surg_graph_output_count(c->body);
  if (n_out < c->states) {
    return surg__m_stop(c->m, SURG_EINVALID, "a Scan and its body do not match");
  }
  c->outputs = n_out - c->states;
  c->given = surg__calloc(c->m->ctx, n + 1, sizeof *c->given);
  c->in = surg__calloc(c->m->ctx, n + 1, sizeof *c->in);
  c->out = surg__calloc(c->m->ctx, n_out + 1, sizeof *c->out);
  c->axes = surg__calloc(c->m->ctx, c->inputs, sizeof *c->axes);
  c->back = surg__calloc(c->m->ctx, c->inputs, sizeof *c->back);
  if (!c->given || !c->in || !c->out || !c->axes || !c->back) {
    return surg__alloc_status(c->m->ctx);
  }
  surg_status s = SURG_OK;
  for (size_t i = 0; s == SURG_OK && i < n; ++i) {
    s = surg__m_input(c->m, c->node, first + i, &c->given[i]);
  }
  return s;
}

surg_status surg__m_scan(surg__machine *m, surg_node *n) {
  scan c = {.m = m, .node = n};
  const surg_schema *schema = surg_node_schema(n);
  bool batches = schema && surg_schema_since(schema) < 9;
  surg_status s = start(&c, batches ? 1 : 0);
  if (s == SURG_OK) s = batches ? run_8(&c) : run_9(&c);
  for (size_t i = 0; c.in && i < c.states + c.inputs; ++i) surg__array_drop(&c.in[i]);
  drop_turns(&c);
  surg__vec_free(m->ctx, &c.turns);
  surg__free(m->ctx, c.given);
  surg__free(m->ctx, c.in);
  surg__free(m->ctx, c.out);
  surg__free(m->ctx, c.axes);
  surg__free(m->ctx, c.back);
  return s;
}
