/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces nodes that repeat one after another, such as the layers of a transformer, by calls of a
 * function of the model. The repetitions have the same operators, attributes and connections;
 * small constants that are equal in all of them are constants of the function, other values that
 * they read are its inputs. `inline` is the inverse.
 *
 *   before: (x) => (y) { a = MatMul (x, w1)  b = Relu (a)  c = MatMul (b, w2)  y = Relu (c) }
 *   after:  (x) => (y) { b = local.block (x, w1)  y = local.block (b, w2) }  outline{min-nodes=2}
 *           block (x, w) => (b) { a = MatMul (x, w)  b = Relu (a) }
 *
 * Nodes are letters of a text. Where a letter occurs again after L letters, L may be a period; the
 * run of a period that saves most nodes is outlined, until none saves any. Nodes with subgraphs and
 * random nodes are never part of a repetition.
 *
 * Needs sorted. Keeps sorted. Exact. */
#include <onnxsurg/ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/same.h"
#include "../util/table.h"
#include "../util/values.h"

#define TEXT 400
#define PERIODS 64    /* most periods that are tried in one round */
#define OFFSETS 128   /* most places of the first cut that are tried */
#define ROUNDS 64     /* most functions that one run makes */
#define LONGEST 20000 /* most nodes of a function */
#define SMALL 64      /* most elements of a constant that moves into the function */

typedef struct letter {
  surg_node *node;
  size_t symbol;
} letter;

typedef struct place {
  const surg_node *node;
  size_t at; /* in the text */
} place;

typedef struct outliner {
  surg_pass_ctx *p;
  surg_model *m;
  surg_graph *g;
  letter *text;
  place *places; /* sorted by address */
  size_t n;
} outliner;

/* Repetitions: `count` times `period` letters from `start` on. */
typedef struct repeat {
  size_t start, period, count;
} repeat;

/* An input of a node of a repetition: an output of an earlier one, or an argument. */
typedef struct source {
  size_t node, output; /* node SIZE_MAX: argument `output`; both SIZE_MAX: absent */
} source;

typedef struct shape {
  source *in;                /* of all nodes, one after the other */
  surg_value **args;         /* count x n_args */
  const surg_tensor **fixed; /* of each argument that is one small constant; else NULL */
  size_t n_args, n_out, count;
  size_t *out_node, *out_index;
} shape;

/* ---- letters --------------------------------------------------------------------------------- */

static int equal_nodes(void *user, const void *x, const void *y) {
  const surg_node *a = ((const letter *)x)->node, *b = ((const letter *)y)->node;
  (void)user;
  if (surg_node_op(a) != surg_node_op(b) || surg_node_input_count(a) != surg_node_input_count(b) ||
      surg_node_output_count(a) != surg_node_output_count(b) ||
      surg_node_attr_count(a) != surg_node_attr_count(b))
    return 0;
  for (size_t i = 0; i < surg_node_input_count(a); i++)
    if (!surg_node_input(a, i) != !surg_node_input(b, i)) return 0;
  for (size_t i = 0; i < surg_node_output_count(a); i++)
    if (!surg_node_output(a, i) != !surg_node_output(b, i)) return 0;
  for (size_t i = 0; i < surg_node_attr_count(a); i++) {
    const surg_attr *own = surg_node_attr_at(a, i);
    const surg_attr *other = surg_node_attr(b, surg_attr_name(own));
    const int same = other ? same_attr(own, other) : 0;
    if (same != 1) return same;
  }
  return 1;
}

static uint64_t hash_of(const surg_node *n) {
  uint64_t h = table_mix((uint64_t)surg_node_op(n), surg_node_input_count(n));
  h = table_mix(h, surg_node_output_count(n) * 256 + surg_node_attr_count(n));
  for (size_t i = 0; i < surg_node_attr_count(n); i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    size_t count;
    const int64_t *v = surg_attr_ints(a, &count);
    uint64_t one = (uint64_t)surg_attr_int(a);
    for (size_t k = 0; k < count; k++) one = table_mix(one, (uint64_t)v[k]);
    h += one; /* attributes have no order */
  }
  return h;
}

/* Whether the node must stay where it is. */
static bool is_bound(const outliner *x, const surg_node *n) {
  const bool random = surg_node_class(n) == SURG_OP_CLASS_BUILTIN && surg_node_nondeterministic(n);
  if (surg_node_subgraph(n, 0) || random || surg_pass_keeps_node(x->p, n)) return true;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    if (v && (surg_value_is_pinned(v) || values_annotated(v) || surg_pass_keeps_value(x->p, v)))
      return true;
  }
  return false;
}

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t)((const place *)a)->node, y = (uintptr_t)((const place *)b)->node;
  return x < y ? -1 : x > y;
}

static size_t place_of(const outliner *x, const surg_node *n) {
  const place key = {n, 0};
  const place *found = n ? bsearch(&key, x->places, x->n, sizeof key, by_address) : NULL;
  return found ? found->at : SIZE_MAX;
}

static bool read_text(outliner *x) {
  const size_t most = surg_graph_node_count(x->g);
  table t;
  x->n = 0;
  x->text = surg_pass_alloc(x->p, (most + 1) * sizeof *x->text);
  x->places = surg_pass_alloc(x->p, (most + 1) * sizeof *x->places);
  if (!x->text || !x->places || !table_make(&t, x->p, most + 1)) return false;
  for (surg_node *n = surg_graph_first_node(x->g); n; n = surg_node_next(n)) {
    if (surg_node_op(n) == SURG_OP_Constant) continue; /* read like a weight */
    letter *l = &x->text[x->n];
    l->node = n;
    const letter *first = is_bound(x, n) ? l : table_meet(&t, hash_of(n), l, equal_nodes, NULL);
    if (!first) return false;
    l->symbol = (size_t)(first - x->text);
    x->places[x->n] = (place){n, x->n};
    x->n++;
  }
  qsort(x->places, x->n, sizeof *x->places, by_address);
  return true;
}

/* ---- periods --------------------------------------------------------------------------------- */

typedef struct period {
  size_t length, seen;
} period;

static int by_count(const void *a, const void *b) {
  const period *x = a, *y = b;
  if (x->seen != y->seen) return x->seen > y->seen ? -1 : 1;
  return x->length < y->length ? -1 : x->length > y->length;
}

/* The distances between a letter and its next occurrence, the most frequent first. */
static period *find_periods(outliner *x) {
  size_t *last = surg_pass_alloc(x->p, (x->n + 1) * sizeof *last); /* plus 1; 0: none */
  period *all = surg_pass_alloc(x->p, (x->n + 1) * sizeof *all);
  if (!last || !all) return NULL;
  for (size_t i = 0; i <= x->n; i++) all[i].length = i;
  for (size_t i = 0; i < x->n; i++) {
    const size_t s = x->text[i].symbol;
    if (last[s]) all[i + 1 - last[s]].seen++;
    last[s] = i + 1;
  }
  qsort(all, x->n + 1, sizeof *all, by_count);
  return all;
}

static size_t saving(const repeat *r) {
  return r->count > 1 ? r->period * (r->count - 1) - 1 : 0;
}

/* The run of a period that saves most; *slack receives how far it can be shifted. */
static repeat best_run(const outliner *x, size_t length, size_t *slack) {
  repeat best = {0, length, 0};
  size_t run = 0;
  *slack = 0;
  for (size_t i = length; i <= x->n; i++) {
    if (i < x->n && x->text[i].symbol == x->text[i - length].symbol) {
      run++;
      continue;
    }
    const repeat r = {i - run - length, length, run / length + 1};
    if (run >= length && saving(&r) > saving(&best)) {
      best = r;
      *slack = run % length;
    }
    run = 0;
  }
  return best;
}

/* ---- connections ----------------------------------------------------------------------------- */

static surg_node *node_at(const outliner *x, const repeat *r, size_t k, size_t i) {
  return x->text[r->start + k * r->period + i].node;
}

/* Whether something outside of repetition k reads the value. */
static bool escapes(const outliner *x, const repeat *r, size_t k, const surg_value *v) {
  const size_t start = r->start + k * r->period;
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    if (surg_use_get_kind(u) == SURG_USE_SOFT) continue;
    const size_t at = surg_use_get_kind(u) == SURG_USE_NODE ? place_of(x, surg_use_node(u)) : 0;
    if (surg_use_get_kind(u) != SURG_USE_NODE || at < start || at - start >= r->period) return true;
  }
  return false;
}

/* The values that enter and leave repetition k, as a cost. */
static size_t crossing(const outliner *x, const repeat *r, size_t k) {
  size_t cost = 0;
  const size_t start = r->start + k * r->period;
  for (size_t i = 0; i < r->period; i++) {
    const surg_node *n = node_at(x, r, k, i);
    for (size_t j = 0; j < surg_node_output_count(n); j++) {
      const surg_value *v = surg_node_output(n, j);
      cost += v && escapes(x, r, k, v);
    }
    for (size_t j = 0; j < surg_node_input_count(n); j++) {
      const surg_value *v = surg_node_input(n, j);
      const size_t at = v ? place_of(x, surg_value_producer(v, NULL)) : SIZE_MAX;
      cost += at != SIZE_MAX && at < start;
    }
  }
  return cost;
}

/* Shifts the run to where the fewest values cross. */
static void align(const outliner *x, repeat *r, size_t slack) {
  size_t best = SIZE_MAX, at = r->start;
  for (size_t o = 0; o <= slack && o < OFFSETS; o++) {
    repeat shifted = *r;
    shifted.start += o;
    const size_t cost = crossing(x, &shifted, r->count / 2);
    if (cost < best) {
      best = cost;
      at = shifted.start;
    }
  }
  r->start = at;
}

static size_t count_inputs(const outliner *x, const repeat *r) {
  size_t n = 0;
  for (size_t i = 0; i < r->period; i++) n += surg_node_input_count(node_at(x, r, 0, i));
  return n;
}

static source source_of(const outliner *x, const repeat *r, size_t k, const surg_value *v) {
  size_t index;
  const size_t start = r->start + k * r->period;
  const size_t at = place_of(x, surg_value_producer(v, &index));
  if (at == SIZE_MAX || at < start || at - start >= r->period) return (source){SIZE_MAX, 0};
  return (source){at - start, index};
}

/* The connections of the first repetition. */
static bool read_first(const outliner *x, const repeat *r, shape *s) {
  size_t e = 0;
  const size_t edges = count_inputs(x, r);
  s->in = surg_pass_alloc(x->p, (edges + 1) * sizeof *s->in);
  s->args = surg_pass_alloc(x->p, (edges + 1) * r->count * sizeof *s->args);
  if (!s->in || !s->args) return false;
  for (size_t i = 0; i < r->period; i++) {
    const surg_node *n = node_at(x, r, 0, i);
    for (size_t j = 0; j < surg_node_input_count(n); j++, e++) {
      surg_value *v = surg_node_input(n, j);
      s->in[e] = v ? source_of(x, r, 0, v) : (source){SIZE_MAX, SIZE_MAX};
      if (!v || s->in[e].node != SIZE_MAX) continue;
      size_t a = 0;
      while (a < s->n_args && s->args[a] != v) a++;
      s->args[a] = v;
      s->n_args += a == s->n_args;
      s->in[e].output = a;
    }
  }
  s->count = 1;
  return true;
}

/* Whether repetition k has the connections of the first; its arguments are then row s->count. */
static bool read_next(const outliner *x, const repeat *r, shape *s, size_t k) {
  surg_value **row = s->args + s->count * s->n_args;
  size_t e = 0;
  for (size_t a = 0; a < s->n_args; a++) row[a] = NULL;
  for (size_t i = 0; i < r->period; i++) {
    const surg_node *n = node_at(x, r, k, i);
    for (size_t j = 0; j < surg_node_input_count(n); j++, e++) {
      surg_value *v = surg_node_input(n, j);
      const source want = s->in[e];
      if (!v) continue; /* absent in both: equal letters */
      const source got = source_of(x, r, k, v);
      if (got.node != want.node || (got.node != SIZE_MAX && got.output != want.output))
        return false;
      if (got.node != SIZE_MAX) continue;
      if (row[want.output] && row[want.output] != v) return false;
      row[want.output] = v;
    }
  }
  s->count++;
  return true;
}

/* Reads all repetitions up to the first that differs; r->count is their number. */
static bool read_shape(const outliner *x, repeat *r, shape *s) {
  *s = (shape){.count = 0};
  if (!read_first(x, r, s)) return false;
  while (s->count < r->count && read_next(x, r, s, s->count)) continue;
  r->count = s->count;
  return true;
}

static bool find_fixed(const outliner *x, shape *s) {
  s->fixed = surg_pass_alloc(x->p, (s->n_args + 1) * sizeof *s->fixed);
  for (size_t a = 0; s->fixed && a < s->n_args; a++) {
    const surg_tensor *t = surg_value_settled(s->args[a]);
    bool same = t && surg_tensor_count(t) <= SMALL && surg_tensor_dtype(t) != SURG_STRING &&
                !surg_tensor_is_sparse(t) && !surg_tensor_is_external(t) &&
                values_constant_holds(x->g, true, surg_tensor_dtype(t));
    for (size_t k = 1; same && k < s->count; k++) {
      const surg_tensor *other = surg_value_settled(s->args[k * s->n_args + a]);
      if (!other || surg_tensor_same(t, other, &same) != SURG_OK) same = false;
    }
    if (same) s->fixed[a] = t;
  }
  return s->fixed != NULL;
}

/* Outputs are the values that leave any of the repetitions. */
static bool find_outputs(const outliner *x, const repeat *r, shape *s) {
  size_t most = 1;
  for (size_t i = 0; i < r->period; i++) most += surg_node_output_count(node_at(x, r, 0, i));
  s->out_node = surg_pass_alloc(x->p, most * sizeof *s->out_node);
  s->out_index = surg_pass_alloc(x->p, most * sizeof *s->out_index);
  if (!s->out_node || !s->out_index) return false;
  for (size_t i = 0; i < r->period; i++)
    for (size_t j = 0; j < surg_node_output_count(node_at(x, r, 0, i)); j++) {
      bool leaves = false;
      for (size_t k = 0; k < r->count && !leaves; k++) {
        const surg_value *v = surg_node_output(node_at(x, r, k, i), j);
        leaves = v && escapes(x, r, k, v);
      }
      if (!leaves) continue;
      s->out_node[s->n_out] = i;
      s->out_index[s->n_out++] = j;
    }
  return true;
}

/* ---- the function ---------------------------------------------------------------------------- */

static surg_function *new_function(const outliner *x, const repeat *r, char *name, size_t room) {
  const char *stem = surg_pass_string(x->p, "name");
  for (size_t k = 1; k <= ROUNDS * 2; k++) {
    snprintf(name, room, k == 1 ? "%.200s" : "%.200s_%zu", stem, k);
    if (surg_model_find_function(x->m, surg_pass_string(x->p, "domain"), name, "")) continue;
    surg_function *f = surg_model_add_function(x->m, surg_pass_string(x->p, "domain"), name, NULL);
    for (size_t i = 0; f && i < r->period; i++) {
      const char *domain = surg_node_domain(node_at(x, r, 0, i));
      const int64_t version = surg_model_opset(x->m, domain);
      if (version && !surg_function_opset(f, domain) &&
          surg_function_set_opset(f, domain, version) != SURG_OK)
        return NULL;
    }
    if (f && !surg_function_opset(f, "") && surg_model_opset(x->m, "") &&
        surg_function_set_opset(f, "", surg_model_opset(x->m, "")) != SURG_OK)
      return NULL;
    return f;
  }
  return NULL;
}

static surg_value *fixed_value(const outliner *x, surg_graph *body, const surg_tensor *t,
                               const char *name) {
  const size_t bytes = (size_t)surg_tensor_bytes(t);
  void *data = surg_pass_alloc(x->p, bytes + 1);
  if (!data || (bytes && surg_tensor_read(t, 0, data, bytes) != SURG_OK)) return NULL;
  surg_tensor *copy = surg_tensor_new(x->m, surg_tensor_dtype(t), surg_tensor_dims(t),
                                      surg_tensor_rank(t), data, bytes);
  return copy ? surg_graph_constant(body, NULL, name, copy) : NULL;
}

/* The values of the body that stand for the arguments. */
static surg_value **make_inputs(const outliner *x, const shape *s, surg_graph *body) {
  surg_value **v = surg_pass_alloc(x->p, (s->n_args + 1) * sizeof *v);
  for (size_t a = 0; v && a < s->n_args; a++) {
    if (s->fixed[a]) continue;
    v[a] = surg_graph_add_input(body, surg_value_name(s->args[a]), NULL);
    if (!v[a]) v[a] = surg_graph_add_input(body, NULL, NULL);
    if (!v[a]) return NULL;
  }
  for (size_t a = 0; v && a < s->n_args; a++) {
    if (!s->fixed[a]) continue;
    v[a] = fixed_value(x, body, s->fixed[a], surg_value_name(s->args[a]));
    if (!v[a]) return NULL;
  }
  return v;
}

static surg_node *copy_node(const outliner *x, const surg_node *n, surg_graph *body) {
  const size_t n_out = surg_node_output_count(n);
  surg_node *c = surg_graph_add_node(body, NULL, surg_node_domain(n), surg_node_op_type(n), n_out);
  (void)x;
  if (!c || surg_node_set_name(c, surg_node_name(n)) != SURG_OK ||
      (*surg_node_overload(n) && surg_node_set_overload(c, surg_node_overload(n)) != SURG_OK))
    return NULL;
  for (size_t i = 0; i < surg_node_attr_count(n); i++)
    if (surg_node_copy_attr(c, surg_node_attr_at(n, i)) != SURG_OK) return NULL;
  for (size_t i = n_out; i-- > 0;) {
    const surg_value *v = surg_node_output(n, i);
    if (!v && surg_node_drop_output(c, i) != SURG_OK) return NULL;
    if (v && surg_value_can_rename(surg_node_output(c, i), surg_value_name(v)) &&
        surg_value_rename(surg_node_output(c, i), surg_value_name(v)) != SURG_OK)
      return NULL;
  }
  return c;
}

static bool make_body(const outliner *x, const repeat *r, const shape *s, surg_function *f) {
  surg_graph *body = surg_function_graph(f);
  surg_value **args = make_inputs(x, s, body);
  surg_node **made = args ? surg_pass_alloc(x->p, r->period * sizeof *made) : NULL;
  size_t e = 0;
  if (!made) return false;
  for (size_t i = 0; i < r->period; i++) {
    const surg_node *n = node_at(x, r, 0, i);
    made[i] = copy_node(x, n, body);
    if (!made[i]) return false;
    for (size_t j = 0; j < surg_node_input_count(n); j++, e++) {
      const source from = s->in[e];
      surg_value *v = from.node != SIZE_MAX     ? surg_node_output(made[from.node], from.output)
                      : from.output == SIZE_MAX ? NULL
                                                : args[from.output];
      if (surg_node_set_input(made[i], j, v) != SURG_OK) return false;
    }
  }
  for (size_t o = 0; o < s->n_out; o++)
    if (surg_graph_add_output(body, surg_node_output(made[s->out_node[o]], s->out_index[o]),
                              NULL) != SURG_OK)
      return false;
  return true;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool call_once(const outliner *x, const repeat *r, const shape *s, const char *name,
                      size_t k) {
  surg_node *last = node_at(x, r, k, r->period - 1);
  surg_node *call = surg_graph_add_node(x->g, surg_node_next(last),
                                        surg_pass_string(x->p, "domain"), name, s->n_out);
  char label[TEXT + 30];
  size_t in = 0;
  snprintf(label, sizeof label, "%s/%zu", name, k);
  if (!call || surg_node_set_name(call, label) != SURG_OK) return false;
  for (size_t a = 0; a < s->n_args; a++)
    if (!s->fixed[a] && surg_node_set_input(call, in++, s->args[k * s->n_args + a]) != SURG_OK)
      return false;
  size_t o = s->n_out;
  for (size_t i = r->period; i-- > 0;) {
    surg_node *n = node_at(x, r, k, i);
    for (; o > 0 && s->out_node[o - 1] == i; o--) {
      surg_value *v = surg_node_output(n, s->out_index[o - 1]);
      if (surg_node_take_output(call, o - 1, v) != SURG_OK) return false;
    }
    if (surg_node_erase(n) != SURG_OK) return false;
  }
  return true;
}

static bool replace(outliner *x, repeat *r, shape *s) {
  char name[TEXT], note[TEXT * 2];
  const char *domain = surg_pass_string(x->p, "domain");
  surg_function *f = new_function(x, r, name, sizeof name);
  if (!f || !make_body(x, r, s, f)) return false;
  if (!surg_model_opset(x->m, domain) && surg_model_set_opset(x->m, domain, 1) != SURG_OK)
    return false;
  for (size_t k = 0; k < r->count; k++)
    if (!call_once(x, r, s, name, k)) return false;
  snprintf(note, sizeof note, "function %s.%s: %zu calls of %zu nodes", domain, name, r->count,
           r->period);
  surg_pass_note(x->p, NULL, note);
  surg_pass_count(x->p, "calls", r->count);
  surg_pass_count(x->p, "functions", 1);
  return true;
}

/* Finds the repetitions that save most. False: out of memory; r->count 0: there are none. */
static bool find_best(outliner *x, repeat *r, shape *s) {
  const size_t least = (size_t)surg_pass_int(x->p, "min-nodes");
  period *periods = find_periods(x);
  *r = (repeat){0};
  if (!periods) return false;
  for (size_t i = 0; i < PERIODS && i <= x->n && periods[i].seen; i++) {
    size_t slack;
    shape found;
    repeat one = best_run(x, periods[i].length, &slack);
    if (one.period < least || one.period > LONGEST || saving(&one) <= saving(r)) continue;
    align(x, &one, slack);
    if (!read_shape(x, &one, &found)) return false;
    if (saving(&one) <= saving(r)) continue;
    *r = one;
    *s = found;
  }
  return !r->count || (find_fixed(x, s) && find_outputs(x, r, s));
}

static surg_pass_result prepare(const outliner *x) {
  const int64_t ir = surg_model_ir_version(x->m);
  if (surg_pass_int(x->p, "min-nodes") < 2)
    return surg_pass_usage(x->p, "min-nodes: expected at least 2");
  if (ir < 4)
    return surg_pass_fail(x->p, NULL, "the IR version is below 4: move it with ir{to=8} first");
  return SURG_PASS_CHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  outliner x = {.p = p, .m = surg_pass_model(p), .g = surg_model_graph(surg_pass_model(p))};
  bool changed = false;
  if (prepare(&x) == SURG_PASS_FAILED) return SURG_PASS_FAILED;
  for (size_t round = 0; round < ROUNDS; round++) {
    repeat r;
    shape s = {0};
    if (!read_text(&x) || !find_best(&x, &r, &s)) return SURG_PASS_FAILED;
    if (r.count < 2 || !s.n_out || !surg_pass_allow(p)) break;
    if (surg_model_ir_version(x.m) < 8 && surg_model_set_ir_version(x.m, 8) != SURG_OK)
      return SURG_PASS_FAILED;
    if (!replace(&x, &r, &s)) return SURG_PASS_FAILED;
    changed = true;
  }
  return changed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(INT, "min-nodes", "4", "least number of nodes of a function"),
    SURG_OPTION(STRING, "domain", "local", "domain of the functions"),
    SURG_OPTION(STRING, "name", "block", "name of the functions; the second is name_2"),
};

const surg_pass surg__pass_outline = {
    SURG_PASS_HEAD(MODEL, "outline", "replace repeated nodes by functions"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
