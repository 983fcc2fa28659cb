/* SPDX-License-Identifier: Apache-2.0 */
/* A function that calls give different element types: each combination of types gets a function of
 * its own, which then converts alone.
 *
 *   before: a = f.twice (x)  b = f.twice (d)      x: float, d: double
 *   after:  a = f.twice (x)  b = f.twice_2 (d)
 *
 * Nodes of functions have known types once the calls of the function agree, so functions that
 * functions call follow in a later round. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "precision.h"

#define ROUNDS 8    /* functions that call functions */
#define COPIES 64   /* most functions that are added */
#define NUMBERS 999 /* most tries of a name */

typedef struct signature {
  const int *types; /* of the inputs of a call; 0: absent, or unknown */
  surg_function *f; /* that this signature calls */
} signature;

typedef struct special {
  prec *c;
  size_t copies;
  bool failed;
} special;

/* The element types of the inputs of a call. NULL: out of memory. */
static const int *types_of(special *s, const surg_node *n, size_t inputs) {
  int *types = surg_pass_alloc(s->c->p, (inputs + 1) * sizeof *types);
  for (size_t i = 0; types && i < inputs && i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    const surg_tensor *t = v ? surg_value_constant(v) : NULL;
    types[i] = t ? surg_tensor_dtype(t) : v ? prec_dtype(prec_type(v)) : 0;
  }
  return types;
}

static bool converts(const prec *c, const int *types, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (types[i] > 0 && types[i] < 64 && (c->from >> types[i] & 1)) return true;
  return false;
}

/* --- copies --- */

/* A name that no function of the domain has. NULL: none was found, or out of memory. */
static const char *free_name(special *s, const surg_function *f) {
  const char *name = surg_function_name(f), *domain = surg_function_domain(f);
  const size_t room = strlen(name) + 8;
  char *text = surg_pass_alloc(s->c->p, room);
  for (int i = 2; text && i <= NUMBERS; i++) {
    snprintf(text, room, "%s_%d", name, i);
    if (!surg_model_find_function(s->c->m, domain, text, "") &&
        !surg_schema_find(domain, text, surg_function_opset(f, domain)))
      return text;
  }
  return NULL;
}

static bool copy_head(surg_function *to, const surg_function *f) {
  bool ok = true;
  for (size_t i = 0; ok && i < surg_function_import_count(f); i++)
    ok = surg_function_set_opset(to, surg_function_import_domain(f, i),
                                 surg_function_import_version(f, i)) == SURG_OK;
  for (size_t i = 0; ok && i < surg_function_attr_count(f); i++) {
    const surg_attr *a = surg_function_attr_default(f, i);
    ok = (a ? surg_function_add_default(to, a)
            : surg_function_add_attr(to, surg_function_attr_name(f, i))) == SURG_OK;
  }
  if (ok && surg_function_doc(f)[0])
    ok = surg_function_set_doc(to, surg_function_doc(f)) == SURG_OK;
  return ok;
}

static bool copy_body(special *s, surg_function *to, const surg_function *f) {
  surg_graph *g = surg_function_graph(f), *made = surg_function_graph(to);
  const size_t n_in = surg_graph_input_count(g), n_out = surg_graph_output_count(g);
  surg_value **in = surg_pass_alloc(s->c->p, (n_in + 1) * sizeof *in);
  surg_value **out = surg_pass_alloc(s->c->p, (n_out + 1) * sizeof *out);
  if (!in || !out) return false;
  for (size_t i = 0; i < n_in; i++) {
    in[i] = surg_graph_add_input(made, surg_value_name(surg_graph_input(g, i)), NULL);
    if (!in[i]) return false;
  }
  if (surg_graph_splice(made, NULL, g, in, n_in, NULL, out, n_out) != SURG_OK) return false;
  for (size_t i = 0; i < n_out; i++) {
    const char *name = surg_value_name(surg_graph_output(g, i));
    if (!out[i] || surg_graph_add_output(made, out[i], NULL)) return false;
    if (surg_value_producer(out[i], NULL) && surg_value_can_rename(out[i], name) &&
        surg_value_rename(out[i], name))
      return false;
  }
  return true;
}

static surg_function *copy_of(special *s, const surg_function *f) {
  const char *name = free_name(s, f);
  surg_function *to =
      name ? surg_model_add_function(s->c->m, surg_function_domain(f), name, NULL) : NULL;
  if (!to || !copy_head(to, f) || !copy_body(s, to, f)) {
    s->failed = true;
    return NULL;
  }
  s->copies++;
  return to;
}

/* --- calls --- */

/* A call of a function, with its number among the calls of the model. */
typedef struct call {
  const surg_function *f;
  surg_node *n;
  size_t order;
} call;

static int by_function(const void *a, const void *b) {
  const call *x = a, *y = b;
  if (x->f != y->f) return (uintptr_t)x->f < (uintptr_t)y->f ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

static size_t list_calls(const special *s, call *out) {
  size_t n = 0;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(s->c->m, g));)
    for (surg_node *k = surg_graph_first_node(g); k; k = surg_node_next(k)) {
      surg_function *f = surg_node_function(k);
      if (f && out) out[n] = (call){f, k, n};
      n += f != NULL;
    }
  return n;
}

/* All calls of the model as it is, those of one function together; those that copies of this round
 * contain are visited in the next. NULL: there is none, or out of memory. */
static call *all_calls(special *s, size_t *count) {
  *count = list_calls(s, NULL);
  call *all = *count ? surg_pass_alloc(s->c->p, *count * sizeof *all) : NULL;
  if (*count && !all) s->failed = true;
  if (!all) return NULL;
  list_calls(s, all);
  qsort(all, *count, sizeof *all, by_function);
  return all;
}

/* The calls of f: *n from the one that is returned on. */
static const call *calls_of(const call *all, size_t count, const surg_function *f, size_t *n) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    if ((uintptr_t)all[mid].f < (uintptr_t)f)
      low = mid + 1;
    else
      high = mid;
  }
  for (*n = 0; low + *n < count && all[low + *n].f == f;) ++*n;
  return all + low;
}

static void direct(special *s, surg_node *n, surg_function *f) {
  if (surg_node_set_overload(n, "") ||
      surg_node_set_op(n, surg_function_domain(f), surg_function_name(f)))
    s->failed = true;
}

/* Whether calls differ in the types of inputs, one of which is converted. */
static bool differs(special *s, const call *calls, size_t n, size_t inputs) {
  const int *first = NULL;
  bool other = false, any = false;
  for (size_t i = 0; i < n && !s->failed; i++) {
    const int *types = types_of(s, calls[i].n, inputs);
    if (!types) s->failed = true;
    if (!types) break;
    any = any || converts(s->c, types, inputs);
    if (!first) first = types;
    other = other || memcmp(first, types, inputs * sizeof *types) != 0;
  }
  return other && any && !s->failed;
}

static void specialize(special *s, surg_function *f, const call *calls, size_t n) {
  const size_t inputs = surg_graph_input_count(surg_function_graph(f));
  size_t n_kinds = 0;
  if (!differs(s, calls, n, inputs)) return;
  signature *kinds = surg_pass_alloc(s->c->p, (n + 1) * sizeof *kinds);
  if (!kinds) s->failed = true;
  for (size_t i = 0; i < n && !s->failed; i++) {
    const int *types = types_of(s, calls[i].n, inputs);
    size_t k = 0;
    if (!types) s->failed = true;
    if (!types) break;
    while (k < n_kinds && memcmp(kinds[k].types, types, inputs * sizeof *types) != 0) k++;
    if (k == n_kinds) {
      if (n_kinds && s->copies == COPIES) return; /* the rest shares the function */
      kinds[k] = (signature){types, k ? copy_of(s, f) : f};
      n_kinds++;
    }
    if (!s->failed && kinds[k].f != f) direct(s, calls[i].n, kinds[k].f);
  }
}

bool prec_specialize(prec *c) {
  special s = {.c = c};
  for (int round = 0; round < ROUNDS && !s.failed; round++) {
    const size_t n = surg_model_function_count(c->m), before = s.copies;
    size_t count, n_calls;
    const call *calls = all_calls(&s, &count);
    for (size_t i = 0; calls && i < n && !s.failed; i++) {
      surg_function *f = surg_model_function(c->m, i);
      const call *own = calls_of(calls, count, f, &n_calls);
      specialize(&s, f, own, n_calls);
    }
    if (s.copies == before || s.failed) break;
    if (surg_model_infer(c->m) || surg_model_infer_calls(c->m)) s.failed = true;
  }
  c->special = s.copies;
  return !s.failed;
}
