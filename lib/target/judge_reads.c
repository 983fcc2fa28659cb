/* SPDX-License-Identifier: Apache-2.0 */
/* Which function or operator an engine takes for a call, where ONNX leaves it open or forbids the
 * model: a function that has the name of an operator (`operators_first`), two functions of one name
 * (`last_function`), overloads (`overloads`). Until surg__calls_end the nodes of the model are
 * resolved as the engine does it. */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "ir/ir.h"
#include "target/judge.h"

static const char *name_in_file(const surg_function *f) {
  return f->given ? f->given : f->name;
}

static int by_name(const surg_function *a, const surg_function *b) {
  const int domain = strcmp(a->key[0], b->key[0]);
  return domain ? domain : strcmp(name_in_file(a), name_in_file(b));
}

static int last_first(const surg_function *a, const surg_function *b) {
  return (a->number < b->number) - (a->number > b->number);
}

/* Functions that the engine does not distinguish one after the other, the last of the file first:
 * without overloads, or with them. */
static int by_call(const void *x, const void *y) {
  const surg_function *a = *(surg_function *const *)x, *b = *(surg_function *const *)y;
  const int name = by_name(a, b);
  return name ? name : last_first(a, b);
}

static int by_overload(const void *x, const void *y) {
  const surg_function *a = *(surg_function *const *)x, *b = *(surg_function *const *)y;
  const int name = by_name(a, b);
  const int overload = name ? name : strcmp(a->key[2], b->key[2]);
  return overload ? overload : last_first(a, b);
}

static bool same_call(const surg__target *t, const surg_function *a, const surg_function *b) {
  return a->key[0] == b->key[0] && !strcmp(name_in_file(a), name_in_file(b)) &&
         (t->overloads == SURG__NO || a->key[2] == b->key[2]);
}

static bool has_rivals(const surg__target *t, const surg_model *m) {
  for (size_t i = 0; i < m->functions.count; i++) {
    const surg_function *f = m->functions.items[i];
    if ((t->last_function && f->given) || (t->overloads == SURG__NO && *f->overload)) return true;
  }
  return false;
}

/* Sets `instead` of functions of which the engine uses another one of that name. */
static surg_status choose(const surg__target *t, surg_model *m) {
  const size_t n = m->functions.count;
  if (!has_rivals(t, m)) return SURG_OK;
  surg_function **list = surg__calloc(m->ctx, n, sizeof *list);
  if (!list) return surg__alloc_status(m->ctx);
  for (size_t i = 0; i < n; i++) {
    list[i] = m->functions.items[i];
    list[i]->number = i;
  }
  qsort(list, n, sizeof *list, t->overloads == SURG__NO ? by_call : by_overload);
  m->reads.rivals = list;
  m->reads.n_rivals = n;
  for (size_t i = 0, first = 0; i < n; i++) {
    if (!same_call(t, list[i], list[first])) first = i;
    if (t->last_function || t->overloads == SURG__NO)
      list[i]->instead = first < i ? list[first] : NULL;
  }
  return SURG_OK;
}

/* Whether the engine has an operator of the function's name, or looks for nothing else in its
 * domain. */
bool surg__judge_hides(const surg__target *t, const surg_function *f) {
  if (!t->operators_first) return false;
  if (!f->key[0][0] || surg__listed(&t->operator_domains, f->key[0])) return true;
  return surg__target_op(t, f->domain, name_in_file(f)) != NULL;
}

/* The function of the node's name, whatever its overload; NULL: there is none. */
static surg_function *any_overload(const surg_model *m, const surg_node *n) {
  const char *domain = strcmp(n->domain, "ai.onnx") ? n->domain : "";
  size_t low = 0, high = m->reads.n_rivals;
  while (low < high) {
    const size_t at = low + (high - low) / 2;
    const surg_function *f = m->reads.rivals[at];
    int order = strcmp(f->key[0], domain);
    if (!order) order = strcmp(name_in_file(f), n->op_type);
    if (order < 0)
      low = at + 1;
    else
      high = at;
  }
  surg_function *f = low < m->reads.n_rivals ? m->reads.rivals[low] : NULL;
  return f && !strcmp(f->key[0], domain) && !strcmp(name_in_file(f), n->op_type) ? f : NULL;
}

static surg_function *read_call(const surg_model *m, const surg_node *n, surg_function *f) {
  if (!f && m->reads.no_overloads) {
    f = m->reads.n_rivals ? any_overload(m, n)
                          : surg_model_find_function(m, n->domain, n->op_type, "");
  }
  if (f && f->instead) f = f->instead;
  return f && f->hidden ? NULL : f;
}

surg_status surg__calls_begin(const surg__target *t, surg_model *m) {
  bool reads = false;
  if (!m->functions.count) return SURG_OK;
  for (size_t i = 0; i < m->functions.count; i++) {
    surg_function *f = m->functions.items[i];
    f->instead = NULL;
    f->hidden = surg__judge_hides(t, f);
    reads = reads || f->hidden;
  }
  const surg_status s = choose(t, m);
  m->reads.no_overloads = t->overloads == SURG__NO;
  if (reads || m->reads.rivals || m->reads.no_overloads) {
    m->reads.call = read_call;
    surg__model_unresolve(m);
    m->inferred_epoch = 0;
  }
  return s;
}

void surg__calls_end(surg_model *m) {
  if (!m->reads.call) return;
  m->reads.call = NULL;
  surg__free(m->ctx, m->reads.rivals);
  m->reads.rivals = NULL;
  m->reads.n_rivals = 0;
  surg__model_unresolve(m);
  m->inferred_epoch = 0;
}
