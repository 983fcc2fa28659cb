/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the pass static-cache: caches that are stacked in one input, such as [2,B,H,P,D] for key
 * and value. Before the pass each part becomes an input and an output of its own; afterwards they
 * are stacked again, under the old names.
 *
 *   past[2,...]; k = Gather <axis = 0> (past, 0)   v = Gather <axis = 0> (past, 1) ...
 *   present = Concat <axis = 0> (Unsqueeze <axes = 0> (k2), Unsqueeze <axes = 0> (v2))
 *
 * Parts are read by Gather with a constant number, or by Split and Squeeze. */
#include <stdio.h>
#include <string.h>

#include "../util/numbers.h"
#include "static_cache.h"

#define TEXT 700

static bool is(const surg_node *n, int op) {
  return n && surg_node_class(n) == SURG_OP_CLASS_BUILTIN && surg_node_op(n) == op;
}

/* Whether the only axis of a Squeeze or Unsqueeze is 0. */
static bool is_first_axis(const surg_node *n) {
  int64_t axis = -1;
  if (surg_node_input_count(n) > 1 && surg_node_input(n, 1))
    return numbers_one(surg_node_input(n, 1), &axis) && axis == 0;
  size_t count = 0;
  const surg_attr *a = surg_node_attr(n, "axes");
  const int64_t *axes = a ? surg_attr_ints(a, &count) : NULL;
  return axes && count == 1 && axes[0] == 0;
}

static bool is_axis_0(const surg_node *n, size_t rank) {
  const int64_t axis = surg_node_int(n, "axis", 0);
  return axis == 0 || axis == -(int64_t)rank;
}

/* Adds a value that is part `i` of the input. */
static bool add_part(sc_stack *s, size_t i, surg_value *v, surg_node *reader) {
  if (s->n_reads == SC_READS) return false;
  s->reads[s->n_reads++] = (sc_read){v, reader, i};
  s->has |= 1u << i;
  return true;
}

/* Reads a Split into single parts, which Squeeze reads alone. */
static bool read_split(sc_stack *s, surg_node *n) {
  if (surg_node_output_count(n) != s->parts) return false;
  for (size_t i = 0; i < s->parts; i++) {
    const surg_value *v = surg_node_output(n, i);
    const surg_use *u = v ? surg_value_first_use(v) : NULL;
    surg_node *q = u && surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    if (!u || surg_use_next(u) || !is(q, SURG_OP_Squeeze) || !is_first_axis(q) ||
        !add_part(s, i, surg_node_output(q, 0), q))
      return false;
  }
  return s->n_splits < SC_READS && (s->splits[s->n_splits++] = n);
}

/* Reads everything that reads the input as its parts. */
static bool read_parts(const sc *x, sc_stack *s) {
  const size_t rank = surg_type_rank(surg_value_declared_type(s->past));
  for (const surg_use *u = surg_value_first_use(s->past); u; u = surg_use_next(u)) {
    surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    int64_t i = 0;
    if (!n || surg_node_graph(n) != x->g || surg_use_index(u) != 0 || !is_axis_0(n, rank))
      return false;
    if (is(n, SURG_OP_Split)) {
      if (!read_split(s, n)) return false;
      continue;
    }
    const surg_value *index = is(n, SURG_OP_Gather) ? surg_node_input(n, 1) : NULL;
    const surg_tensor *t = index ? surg_value_settled(index) : NULL;
    if (!t || surg_tensor_rank(t) != 0 || !numbers_one(index, &i)) return false;
    if (i < 0) i += (int64_t)s->parts;
    if (i < 0 || i >= (int64_t)s->parts || !add_part(s, (size_t)i, surg_node_output(n, 0), n))
      return false;
  }
  return s->has == (1u << s->parts) - 1;
}

static bool reads_part(const sc_stack *s, const surg_node *n, size_t part) {
  for (size_t i = 0; i < surg_node_input_count(n); i++)
    for (size_t k = 0; k < s->n_reads; k++)
      if (s->reads[k].part == part && s->reads[k].v == surg_node_input(n, i)) return true;
  return false;
}

/* Whether output `at` stacks what the parts grow to. */
static bool read_present(const sc *x, sc_stack *s, size_t at) {
  surg_value *v = surg_graph_output(x->g, at);
  surg_node *n = surg_value_producer(v, NULL);
  const surg_type *t = surg_value_declared_type(s->past);
  if (!is(n, SURG_OP_Concat) || surg_node_graph(n) != x->g || surg_value_use_count(v, 2) != 1 ||
      !is_axis_0(n, surg_type_rank(t)) || surg_node_input_count(n) != s->parts)
    return false;
  for (size_t i = 0; i < s->parts; i++) {
    surg_node *u = surg_value_producer(surg_node_input(n, i), NULL);
    if (!is(u, SURG_OP_Unsqueeze) || !is_first_axis(u) || surg_node_graph(u) != x->g) return false;
    s->grown[i] = surg_node_input(u, 0);
    const surg_node *from = surg_value_producer(s->grown[i], NULL);
    if (!from || !reads_part(s, from, i) || surg_value_is_output(s->grown[i])) return false;
  }
  s->stack = n;
  s->at[0] = at;
  return true;
}

static bool read_stack(const sc *x, surg_value *past, sc_stack *s) {
  const surg_type *t = surg_value_declared_type(past);
  *s = (sc_stack){.past = past};
  if (surg_value_is_initializer(past) || surg_value_is_output(past) || !t ||
      surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t) ||
      surg_type_rank(t) < 2 || surg_type_rank(t) > SC_RANK)
    return false;
  const int64_t parts = surg_type_dim(t, 0)->value;
  if (parts < 1 || parts > SC_PARTS) return false;
  s->parts = (size_t)parts;
  bool found = read_parts(x, s);
  const size_t n = surg_graph_output_count(x->g);
  for (size_t i = 0; found && i < n; i++)
    if (read_present(x, s, i)) return true;
  return false;
}

/* ---- apart ---- */

/* The type without its first dimension, or with `first` before it if that is not 0. */
static const surg_type *type_of_part(const sc *x, const surg_type *t, int64_t first) {
  surg_dim dims[SC_RANK + 1] = {{.value = first}};
  const size_t rank = surg_type_rank(t), skip = first == 0, more = first != 0;
  for (size_t i = skip; i < rank; i++) {
    surg_dim *d = &dims[i - skip + more];
    *d = *surg_type_dim(t, i);
    if (d->value < 0 && !d->param) *d = (surg_dim){.value = -1};
    d->expr = NULL;
  }
  return surg_type_tensor(x->m, surg_type_dtype(t), dims, rank - skip + more);
}

static bool take_apart(sc *x, sc_stack *s) {
  const surg_type *t = type_of_part(x, surg_value_declared_type(s->past), 0);
  const char *stack = t ? surg_value_name(surg_node_output(s->stack, 0)) : NULL;
  char text[TEXT];
  s->name = stack ? surg_pass_alloc(x->p, strlen(stack) + 1) : NULL;
  if (!s->name) return false;
  strcpy(s->name, stack);
  for (size_t i = 0; i < s->parts; i++) {
    snprintf(text, sizeof text, "%.500s.%zu", surg_value_name(s->past), i);
    const char *name = surg_graph_fresh_name(x->g, text);
    s->input[i] = name ? surg_graph_add_input(x->g, name, t) : NULL;
    if (!s->input[i]) return false;
    if (i == 0 && surg_graph_set_output(x->g, s->at[0], s->grown[0]) != SURG_OK) return false;
    if (i && surg_graph_add_output(x->g, s->grown[i], NULL) != SURG_OK) return false;
    if (i) s->at[i] = surg_graph_output_count(x->g) - 1;
  }
  for (size_t k = 0; k < s->n_reads; k++)
    if (surg_value_replace(s->reads[k].v, s->input[s->reads[k].part]) != SURG_OK ||
        surg_node_erase(s->reads[k].reader) != SURG_OK)
      return false;
  for (size_t k = 0; k < s->n_splits; k++)
    if (surg_node_erase(s->splits[k]) != SURG_OK) return false;
  surg_node *parts[SC_PARTS];
  for (size_t i = 0; i < s->parts; i++)
    parts[i] = surg_value_producer(surg_node_input(s->stack, i), NULL);
  if (surg_node_erase(s->stack) != SURG_OK) return false;
  for (size_t i = 0; i < s->parts; i++) {
    if (surg_node_erased(parts[i]) || surg_value_use_count(surg_node_output(parts[i], 0), 1))
      continue;
    if (surg_node_erase(parts[i]) != SURG_OK) return false;
  }
  return true;
}

bool sc_unstack(sc *x) {
  const size_t n = surg_graph_input_count(x->g);
  sc_stack s;
  for (size_t i = 0; i < n; i++) {
    if (!read_stack(x, surg_graph_input(x->g, i), &s)) continue;
    sc_stack *kept = surg_pass_alloc(x->p, sizeof *kept);
    if (!kept || !take_apart(x, &s)) return false;
    *kept = s;
    kept->next = x->stacks;
    x->stacks = kept;
  }
  return true;
}

/* ---- together ---- */

static surg_value *with_axis(sc *x, surg_value *v) {
  const int64_t zero = 0;
  const bool operand = surg_graph_opset(x->g, "") >= 13;
  surg_value *axes = operand ? sc_vector(x, "cache_axis", &zero, 1) : NULL;
  surg_value *out = !operand || axes ? sc_make(x, "Unsqueeze", "cache_part", v, axes, NULL) : NULL;
  surg_node *n = out ? surg_value_producer(out, NULL) : NULL;
  if (n && !operand && surg_node_set_ints(n, "axes", &zero, 1) != SURG_OK) return NULL;
  return out;
}

/* The parts of the input, in place of the inputs of its own that each had. */
static bool gather_parts(sc *x, const sc_stack *s, const surg_type *whole) {
  if (surg_value_set_declared_type(s->past, whole) != SURG_OK) return false;
  for (size_t i = 0; i < s->parts; i++) {
    surg_node *first = surg_graph_first_node(x->g);
    surg_value *index = numbers_scalar(first, "cache_number", SURG_INT64, (int64_t)i);
    surg_value *v = index ? sc_make(x, "Gather", "cache_of", s->past, index, NULL) : NULL;
    if (!v || surg_node_set_int(surg_value_producer(v, NULL), "axis", 0) != SURG_OK ||
        surg_value_replace(s->input[i], v) != SURG_OK)
      return false;
    size_t at = 0;
    while (surg_graph_input(x->g, at) != s->input[i]) at++;
    if (surg_graph_remove_input(x->g, at) != SURG_OK) return false;
  }
  return true;
}

static bool put_together(sc *x, const sc_stack *s) {
  const surg_type *t = surg_value_declared_type(s->input[0]);
  const surg_type *whole = t ? type_of_part(x, t, (int64_t)s->parts) : NULL;
  surg_value *v = whole ? sc_make(x, "Concat", "cache", NULL, NULL, NULL) : NULL;
  surg_node *n = v ? surg_value_producer(v, NULL) : NULL;
  if (!n || surg_node_set_int(n, "axis", 0) != SURG_OK) return false;
  for (size_t i = 0; i < s->parts; i++) {
    surg_value *part = surg_graph_output(x->g, s->at[i]);
    surg_value *one = with_axis(x, part);
    if (!one || surg_node_set_input(n, i, one) != SURG_OK) return false;
  }
  if (surg_graph_set_output(x->g, s->at[0], v) != SURG_OK) return false;
  for (size_t i = s->parts; i-- > 1;)
    if (surg_graph_remove_output(x->g, s->at[i]) != SURG_OK) return false;
  return surg_value_rename(v, s->name) == SURG_OK &&
         surg_value_set_declared_type(v, whole) == SURG_OK && gather_parts(x, s, whole);
}

bool sc_stack_again(sc *x) {
  for (const sc_stack *s = x->stacks; s; s = s->next) /* the last one first: outputs are its */
    if (!put_together(x, s)) return false;
  return true;
}
