/* SPDX-License-Identifier: Apache-2.0 */
/* Moves a model to another opset, version by version, so that at any time every node is of the
 * version in force or of the next one. A node whose operator changes at a step
 * - stays, if the table of steps has the same meaning on both sides (attributes unknown to the
 *   target version that equal their default are dropped, defaults that differ are written as
 *   attributes),
 * - or is rewritten by a rule of group `opset`, or of group `substitute`, that emits operators of
 *   the target version,
 * - or blocks. All blockers are reported, then the pass fails; there is no partial result. */
#include <stdio.h>
#include <stdlib.h>

#include "base/ptrs.h"
#include "infer/infer.h"
#include "ir/edit.h" /* only for surg__default_domain */
#include "ir/ir.h" /* only for surg__types_hold and surg__locate_node */
#include "measure/measure.h"
#include "rewrite/lang/rule.h"
#include "opset/widen.h"

#define MOST_TOLD 50u

typedef struct blocker {
  surg_node *node;
  char *why;
} blocker;

typedef struct mover {
  surg_pass_ctx *pass;
  surg_context *ctx;
  surg_model *m;
  SURG_VEC(const surg_rule *) rules; /* usable ones, by operator, in order of their list */
  const char *domain;
  surg_function *function; /* the function whose body is moved; NULL: the main graph */
  int64_t at, next;        /* the current import, and the version this step leads to */
  surg__arena arena;
  surg__match *match;
  surg__made made;
  SURG_VEC(surg_node *) nodes;
  SURG_VEC(blocker) blockers;
  surg__ptrs blocked, around; /* their nodes, and the nodes with bodies that contain one */
  char lacked[240]; /* not empty: a rule was not applied since ONNX Runtime has no kernel for what
                     * it emits */
  bool trial; /* runs on a copy of the model: nothing is reported */
  bool failed, changed, structure; /* structure: nodes were added, types are stale */
} mover;

/* --- which graphs belong together --- */

static const surg_graph *scope(const mover *v) {
  return v->function ? surg_function_graph(v->function) : surg_model_graph(v->m);
}

static int64_t import_of(const mover *v, const char *domain) {
  return v->function ? surg_function_opset(v->function, domain) : surg_model_opset(v->m, domain);
}

/* --- counters --- */

static void count(mover *v, const char *what, uint64_t by) {
  if (!v->trial) surg_pass_count(v->pass, what, by);
}

static void used(mover *v, surg_exactness e) {
  if (!v->trial) surg_pass_used(v->pass, e);
}

/* --- blockers --- */

/* Adds a blocker to the sets; false: out of memory. */
static bool mark_blocker(mover *v, const surg_node *n) {
  bool added = true;
  if (!surg__ptrs_add(v->ctx, &v->blocked, n, NULL)) return false;
  for (n = surg_graph_parent_node(surg_node_graph(n)); n && added;
       n = surg_graph_parent_node(surg_node_graph(n)))
    if (!surg__ptrs_add(v->ctx, &v->around, n, &added)) return false;
  return true;
}

static void block(mover *v, surg_node *n, const char *why) {
  if (surg__ptrs_has(&v->blocked, n)) return;
  char *text = surg__strdup(v->ctx, why);
  if (!text || !surg__vec_push(v->ctx, &v->blockers, ((blocker){n, text}))) {
    surg__free(v->ctx, text);
    v->failed = true;
  } else if (!mark_blocker(v, n)) {
    v->failed = true;
  }
}

static bool blocked(const mover *v, const surg_node *n) {
  return surg__ptrs_has(&v->blocked, n);
}

/* --- a node that stays --- */

static bool spell(surg_node *n, const surg__attr_def *d) {
  switch (d->kind) {
    case SURG_ATTR_INT:
      return !surg_node_set_int(n, d->name, d->i);
    case SURG_ATTR_FLOAT:
      return !surg_node_set_float(n, d->name, d->f);
    case SURG_ATTR_STRING:
      return !surg_node_set_string(n, d->name, d->s);
    default:
      return true;
  }
}

/* Whether an absent attribute must be written, since its default differs in the other version. */
static bool spelled_out(const surg_node *n, const surg__attr_def *a, const surg_schema *to) {
  const surg__attr_def *b = surg__schema_attr(to, a->name);
  if (!b || !a->has_default || surg_node_attr(n, a->name)) return false;
  return b->kind == a->kind && !surg__attr_default_same(a, b);
}

static bool spell_defaults(mover *v, surg_node *n, const surg_schema *from, const surg_schema *to) {
  for (uint32_t i = 0; i < from->n_attrs; i++) {
    const surg__attr_def *a = &from->attrs[i];
    if (!spelled_out(n, a, to)) continue;
    if (!spell(n, a)) return false;
    surg__types_hold(n);
    v->changed = true;
  }
  return true;
}

/* Removes trailing absent inputs (empty names) beyond the last input of the target version. */
static bool drop_absent(mover *v, surg_node *n, const surg_schema *to) {
  size_t count = surg_node_input_count(n);
  const size_t was = count;
  while (count > to->max_in && !surg_node_input(n, count - 1)) count--;
  if (count == was) return true;
  v->changed = true;
  if (surg_node_trim_inputs(n, count)) return false;
  surg__types_hold(n);
  return true;
}

/* Removes attributes unknown to the other version; the caller checked that this is allowed. */
static bool drop_attrs(mover *v, surg_node *n, const surg_schema *to) {
  for (size_t i = surg_node_attr_count(n); i-- > 0;) {
    const char *name = surg_attr_name(surg_node_attr_at(n, i));
    if (surg__schema_attr(to, name)) continue;
    if (surg_node_remove_attr(n, name)) return false;
    surg__types_hold(n);
    v->changed = true;
  }
  return true;
}

/* --- a node that is rewritten --- */

static bool usable(const surg_rule *r) {
  return !strcmp(r->group, "opset") || !strcmp(r->group, "substitute");
}

static int by_operator(const void *a, const void *b) {
  const surg_rule *x = *(const surg_rule *const *)a, *y = *(const surg_rule *const *)b;
  if (x->op != y->op) return x->op < y->op ? -1 : 1;
  return (x->place > y->place) - (x->place < y->place);
}

/* Lists the usable rules, so that a node does not search all of them. */
static bool list_rules(mover *v) {
  const surg__rules *all = surg__rules_of(v->ctx);
  for (size_t i = 0; all && i < all->list.count; i++) {
    const surg_rule *r = all->list.items[i];
    if (usable(r) && !surg__vec_push(v->ctx, &v->rules, r)) return false;
  }
  if (v->rules.count)
    qsort(v->rules.items, v->rules.count, sizeof *v->rules.items, by_operator);
  return all != NULL;
}

/* The first rule of an operator, or of a later one. */
static size_t first_rule(const mover *v, int op) {
  size_t low = 0, high = v->rules.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (v->rules.items[middle]->op < op)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The best reason so far why no rule applied to a node: missing consent ranks above a failed guard
 * or builder, and that above a pattern that does not match. */
typedef struct reason {
  enum { NO_REASON, OF_PATTERN, OF_GUARD, OF_CONSENT } kind;
  char text[360];
} reason;

static void give_reason(reason *to, int kind, const surg_rule *r, const char *why) {
  if (kind < (int)to->kind) return;
  to->kind = kind;
  snprintf(to->text, sizeof to->text, "rule %.90s: %s", r->name, why);
}

static const char *const consent[] = {
    [SURG_EXACT] = "it is exact",
    [SURG_ULP] = "its class is ulp, which needs --allow ulp",
    [SURG_ROUNDING] = "its class is rounding, which needs --allow rounding",
    [SURG_APPROX] = "its class is approx, which needs --allow approx",
    [SURG_LOSSY] = "its class is lossy, which needs --allow lossy"};
_Static_assert(SURG_COUNT(consent) == SURG_LOSSY + 1, "a text for each class");

/* Whether a node in a body of n blocks: then n is kept, so that the blocker can be reported. */
static bool blocked_inside(const mover *v, const surg_node *n) {
  return surg__ptrs_has(&v->around, n);
}

/* Applies a rule that emits operators of the target version; false, with *why: it does not
 * match. */
static bool apply(mover *v, surg_node *n, const surg_rule *r, reason *why) {
  surg__match *m = v->match;
  const surg__mark mark = surg__arena_mark(&v->arena);
  m->rule = r;
  surg_status s = SURG_EUNSUPPORTED;
  if (surg__match_at(m, n, v->next)) {
    v->made.count = 0;
    m->lacked = false;
    if (surg_pass_allows_rule(v->pass, r))
      s = v->trial ? surg__emit_any(m, &v->made) : surg__emit_stated(v->pass, m, &v->made);
    else
      give_reason(why, OF_CONSENT, r, consent[r->exactness]);
    if (m->lacked)
      snprintf(v->lacked, sizeof v->lacked, "rule %.90s: %.120s", r->name, m->why ? m->why : "");
    if (s == SURG_EUNSUPPORTED && m->why) give_reason(why, OF_GUARD, r, m->why);
  } else {
    give_reason(why, m->why_stmt < 0 ? OF_GUARD : OF_PATTERN, r, m->why ? m->why : "no match");
  }
  surg__arena_reset(&v->arena, mark);
  if (s == SURG_EUNSUPPORTED) return false;
  v->failed = s != SURG_OK;
  v->changed = v->structure = true;
  used(v, r->exactness);
  count(v, r->name, 1);
  return true;
}

/* Tries the rules for a node. The opset range of a rule guarantees that the operators it emits are
 * of the target version; this is checked when rules are loaded. Rules of group `opset` are tried
 * first, approximate ones last. */
static bool try_rules(mover *v, surg_node *n, bool approximate, reason *why) {
  const int op = surg_node_op(n);
  if (v->domain[0]) return false; /* rules are written for opsets of the default domain */
  const size_t first = first_rule(v, op);
  for (int round = 0; round < 2; round++) {
    for (size_t i = first; i < v->rules.count && v->rules.items[i]->op == op; i++) {
      const surg_rule *r = v->rules.items[i];
      v->failed = !surg__rule_read(r);
      if (v->failed) return false;
      if (v->at < r->match.lo || v->at > r->match.hi) continue;
      if (!strcmp(r->group, "opset") != (round == 0)) continue;
      if ((r->exactness >= SURG_APPROX) != approximate) continue;
      if (apply(v, n, r, why)) return true;
    }
  }
  return false;
}

/* Prefers replacements that ONNX Runtime has kernels for. */
static bool rewrite(mover *v, surg_node *n, bool approximate, reason *why) {
  v->match->any_kernel = false;
  v->lacked[0] = 0;
  if (try_rules(v, n, approximate, why)) return true;
  if (v->failed || !v->lacked[0]) return false;
  char text[480];
  snprintf(text, sizeof text, "%.150s: %.280s; replaced nevertheless", surg__locate_node(n),
           v->lacked);
  v->match->any_kernel = true;
  if (!try_rules(v, n, approximate, why)) return false;
  if (!v->trial) surg_pass_note(v->pass, NULL, text);
  return true;
}

/* Whether ONNX Runtime has a kernel for a node that stays, but none in the other version. */
static bool loses_kernel(const surg_node *n, const surg_schema *from, const surg_schema *to) {
  return surg__node_lacks_kernel(n, to) && !surg__node_lacks_kernel(n, from);
}

/* Replaces such a node, if there is a replacement with kernels. */
static bool keep_kernels(mover *v, surg_node *n) {
  reason why = {.kind = NO_REASON};
  v->match->any_kernel = false;
  return try_rules(v, n, false, &why);
}

/* Inserts Casts to types that the other version accepts. */
static bool widen(mover *v, surg_node *n, const surg_schema *from, const surg_schema *to) {
  const surg_exactness most = surg_pass_allows(v->pass, SURG_ULP) ? SURG_ULP : SURG_EXACT;
  surg_exactness worst;
  const int64_t opset = v->domain[0] ? import_of(v, "") : v->next;
  const surg_status s = surg__widen(v->ctx, n, from, to, opset, most, &v->made, &worst);
  if (s == SURG_EUNSUPPORTED) return false;
  v->failed = s != SURG_OK || !drop_attrs(v, n, to) || !drop_absent(v, n, to);
  v->changed = v->structure = true;
  used(v, worst);
  count(v, "nodes computed in a wider type", 1);
  return true;
}

/* Rewrites leave unused producers of axes and sizes: such nodes are erased instead of moved. */
static bool drop_unread(mover *v, surg_node *n) {
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *o = surg_node_output(n, i);
    if (o && (surg_value_first_use(o) || surg_value_is_pinned(o))) return false;
  }
  if (surg_node_erase(n)) return false;
  v->changed = true;
  count(v, "nodes without a consumer", 1);
  return true;
}

/* Whether a node that is valid in the other version still needs an edit. */
static bool needs_edit(const surg_node *n, const surg_schema *from, const surg_schema *to) {
  if (surg_node_input_count(n) > to->max_in) return true;
  for (size_t i = 0; i < surg_node_attr_count(n); i++)
    if (!surg__schema_attr(to, surg_attr_name(surg_node_attr_at(n, i)))) return true;
  for (uint32_t i = 0; i < from->n_attrs; i++)
    if (spelled_out(n, &from->attrs[i], to)) return true;
  return false;
}

/* Whether the node has an attribute that only the other version defines. What its author meant is
 * unknown, so no rule may ignore it either. */
static bool has_stranger(const surg_node *n, const surg_schema *from, const surg_schema *to) {
  for (size_t i = 0; to && i < surg_node_attr_count(n); i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    const surg__attr_def *d = surg__schema_attr(to, surg_attr_name(a));
    if (d && !surg__schema_attr(from, surg_attr_name(a)) && !surg__attr_says_default(a, d))
      return true;
  }
  return false;
}

/* Whether a node is of the domain that moves, and of no operator of it yet: the operator may come
 * with a later opset. */
static bool is_unknown(const mover *v, const surg_node *n) {
  const char *domain = surg__default_domain(surg_node_domain(n)) ? "" : surg_node_domain(n);
  return surg_node_class(n) == SURG_OP_CLASS_CUSTOM && !strcmp(domain, v->domain);
}

/* Whether an operator accepts the form of a node. */
static bool accepts(const surg_schema *s, const surg_node *n) {
  const size_t in = surg_node_input_count(n), out = surg_node_output_count(n);
  bool fits = in >= s->min_in && in <= s->max_in && out >= s->min_out && out <= s->max_out;
  for (size_t i = 0; fits && i < in; i++) {
    const surg__param *p = surg__schema_formal(s, false, i);
    fits = surg_node_input(n, i) || (p && p->option == SURG__OPTIONAL);
  }
  for (size_t i = 0; fits && i < surg_node_attr_count(n); i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    const surg__attr_def *d = surg__schema_attr(s, surg_attr_name(a));
    fits = d && (d->kind == surg_attr_get_kind(a) || surg_attr_ref(a));
  }
  for (uint32_t i = 0; fits && i < s->n_attrs; i++)
    fits = !s->attrs[i].required || surg_node_attr(n, s->attrs[i].name);
  return fits;
}

/* A node of no operator becomes one that the other version defines, if it has its form. */
static void visit_unknown(mover *v, surg_node *n) {
  const surg_schema *to =
      is_unknown(v, n) ? surg_schema_find(v->domain, surg_node_op_type(n), v->next) : NULL;
  if (to && !accepts(to, n))
    block(v, n, "the other version defines an operator of this name that does not accept the node");
}

static void visit(mover *v, surg_node *n) {
  const surg_schema *from = surg_node_schema(n);
  if (!from) visit_unknown(v, n);
  if (!from || strcmp(from->domain, v->domain) || surg_node_class(n) != SURG_OP_CLASS_BUILTIN)
    return;
  /* An operator of a runtime is not in any opset. */
  if ((from->flags & SURG__OP_CONTRIB) || surg__node_early(n)) return;
  const surg_schema *to = surg_schema_find(v->domain, from->name, v->next);
  if (to && (to->flags & SURG__OP_DEPRECATED)) to = NULL;
  if (to == from || blocked(v, n) || blocked_inside(v, n)) return;
  surg__buf text;
  surg__buf_init(&text, v->ctx);
  const bool kept = surg_pass_keeps_node(v->pass, n);
  reason rule_why = {.kind = NO_REASON};
  bool done = false;
  if (to) {
    if (!kept && !spell_defaults(v, n, from, to)) v->failed = true;
    done = !v->failed && surg__node_fits(n, from, to, &text);
    if (done && !kept && loses_kernel(n, from, to) && keep_kernels(v, n)) to = NULL;
    if (done && to && kept && needs_edit(n, from, to)) {
      surg__buf_printf(&text, "its attributes would change");
      done = false;
    }
    if (done && to && !kept && (!drop_attrs(v, n, to) || !drop_absent(v, n, to))) v->failed = true;
  } else {
    surg__buf_printf(&text, "opset %d has no such operator", (int)v->next);
  }
  if (!done && !v->failed && kept)
    surg__buf_puts(&text, "; the node is protected (--keep)");
  else if (!done && !v->failed && !has_stranger(n, from, to))
    done = drop_unread(v, n) || rewrite(v, n, false, &rule_why) ||
           (to && !v->failed && widen(v, n, from, to)) ||
           (!v->failed && rewrite(v, n, true, &rule_why));
  if (!done && !v->failed) {
    if (rule_why.kind) surg__buf_printf(&text, "; %s", rule_why.text);
    block(v, n, text.failed || !text.p ? "it cannot be moved" : text.p);
  }
  surg__buf_free(&text);
}

/* --- a step --- */

static bool collect(mover *v) {
  v->nodes.count = 0;
  const surg_graph *all = scope(v);
  for (surg_graph *g = NULL; (g = surg_graph_next_inner(all, g));)
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (!surg__vec_push(v->ctx, &v->nodes, n)) return false;
  return true;
}

/* Whether any node's operator changes between opsets a and b, or comes with one of them. */
static bool any_changes(const mover *v, int64_t a, int64_t b) {
  bool seen[SURG_OP_COUNT] = {false};
  for (size_t i = 0; i < v->nodes.count; i++) {
    const surg_node *n = v->nodes.items[i];
    const surg_schema *s = surg_node_schema(n);
    if (s ? strcmp(s->domain, v->domain) || seen[s->op] : !is_unknown(v, n)) continue;
    if (s) seen[s->op] = true;
    const char *name = s ? s->name : surg_node_op_type(n);
    if (surg_schema_find(v->domain, name, a) != surg_schema_find(v->domain, name, b)) return true;
  }
  return false;
}

static bool set_import(mover *v, int64_t version) {
  const surg_status s = v->function ? surg_function_set_opset(v->function, v->domain, version)
                                    : surg_model_set_opset(v->m, v->domain, version);
  v->changed = true;
  return s == SURG_OK;
}

/* Whether a node with subgraphs stays; asked while the types in its subgraphs are known. */
static bool stays(const mover *v, const surg_node *n) {
  const surg_schema *from = surg_node_schema(n);
  if (!from || strcmp(from->domain, v->domain)) return false;
  const surg_schema *to = surg_schema_find(v->domain, from->name, v->next);
  return to && to != from && surg__node_fits(n, from, to, NULL);
}

/* Visits the nodes of a step in four rounds. Nodes that stay are first: whether they stay depends
 * on types in their bodies. Nodes with bodies follow the plain ones, inner ones first: a rewrite
 * may copy a body, which must be of the next version then. Constants are last: the consumer of a
 * rewritten Constant has no type until the step is done, and types cannot be inferred before, since
 * the model has nodes of two versions. */
static void visit_all(mover *v) {
  enum { STAYING, PLAIN, AROUND, CONSTANTS, ROUNDS };
  const size_t count = v->nodes.count;
  for (int round = STAYING; round < ROUNDS; round++) {
    for (size_t i = 0; i < count && !v->failed; i++) {
      surg_node **at = &v->nodes.items[round == AROUND ? count - 1 - i : i], *n = *at;
      if (!n || surg_node_erased(n)) continue;
      const int kind = surg_node_op(n) == SURG_OP_Constant ? CONSTANTS
                       : !surg_node_subgraph(n, 0)         ? PLAIN
                       : round == STAYING && stays(v, n)   ? STAYING
                                                           : AROUND;
      if (kind != round) continue;
      visit(v, n);
      if (round == STAYING) *at = NULL;
    }
  }
}

/* Whether the next version of Constant does not support the element type of this node. */
static bool holds_too_much(const mover *v, const surg_node *n) {
  const surg_value *y = surg_node_output_count(n) ? surg_node_output(n, 0) : NULL;
  const surg_tensor *t = y ? surg_value_constant(y) : NULL;
  const surg_schema *to = surg_schema_find(v->domain, "Constant", v->next);
  const surg__param *p = to ? surg__schema_formal(to, true, 0) : NULL;
  const surg__type_param *types = p ? surg__schema_type_param(to, p) : NULL;
  const int dtype = t ? surg_tensor_dtype(t) : 0;
  return types && dtype > 0 && dtype < SURG_DTYPE_COUNT && !(types->tensor_mask >> dtype & 1);
}

/* Old exporters wrote Constants with types that only a later version supports. No step changes
 * them; they are corrected after the last step, or the model would stay invalid. */
static void mend_constants(mover *v) {
  if (!collect(v)) v->failed = true;
  for (size_t i = 0; i < v->nodes.count && !v->failed; i++) {
    surg_node *n = v->nodes.items[i];
    if (surg_node_erased(n) || surg_node_op(n) != SURG_OP_Constant || blocked(v, n) ||
        !holds_too_much(v, n))
      continue;
    reason why = {.kind = NO_REASON};
    const bool kept = surg_pass_keeps_node(v->pass, n);
    if (kept || (!rewrite(v, n, false, &why) && !v->failed))
      block(v, n, kept       ? "the node is protected (--keep)"
                  : why.kind ? why.text
                             : "Constant supports no numbers of this type");
  }
}

/* Infers types; in functions, those common to all calls. */
static void find_types(mover *v) {
  const bool functions = surg_model_function_count(v->m) > 0;
  if (functions ? surg__infer_functions(v->m) : surg_model_infer(v->m)) v->failed = true;
  v->structure = false;
}

/* Drops blockers that were erased by the rewrite of another node. */
static void forget_erased(mover *v) {
  size_t kept = 0;
  for (size_t i = 0; i < v->blockers.count; i++) {
    const blocker b = v->blockers.items[i];
    if (surg_node_erased(b.node))
      surg__free(v->ctx, b.why);
    else
      v->blockers.items[kept++] = b;
  }
  if (kept == v->blockers.count) return;
  v->blockers.count = kept;
  surg__ptrs_free(v->ctx, &v->blocked);
  surg__ptrs_free(v->ctx, &v->around);
  for (size_t i = 0; i < kept; i++)
    if (!mark_blocker(v, v->blockers.items[i].node)) v->failed = true;
}

/* The version after `at` on the way to another one. Those above the newest known
 * are passed at once: no operator differs there, and a caller may name any number. */
static int64_t step(const mover *v, int64_t at, int64_t to) {
  const int64_t newest = surg_schema_newest(v->domain);
  if (to < at) {
    const int64_t end = at > newest ? newest : at - 1;
    return to > end ? to : end;
  }
  return at >= newest ? to : at + 1;
}

/* Moves the main graph or a function to the next version that changes one of its operators. */
static void move_step(mover *v, int64_t to) {
  if (!collect(v)) v->failed = true;
  v->next = step(v, v->at, to);
  while (v->next != to && !v->failed && !any_changes(v, v->at, v->next))
    v->next = step(v, v->next, to);
  visit_all(v);
  forget_erased(v);
  if (v->next == to) mend_constants(v);
  if (!v->failed && !set_import(v, v->next)) v->failed = true;
  if (!v->trial) surg__state_step(v->pass);
  v->at = v->next;
}

/* The main graph (NULL) or a function, and its import. */
typedef struct place {
  surg_function *function;
  int64_t at;
} place;

/* Moves all places, a step of each in turn: types are inferred once for a step of all. */
static void move_places(mover *v, place *places, size_t count, int64_t to) {
  for (bool more = true; more && !v->failed;) {
    more = false;
    for (size_t i = 0; i < count && !v->failed; i++) {
      if (!places[i].at || places[i].at == to) continue;
      if (!more && v->structure) find_types(v);
      if (v->failed) return;
      v->function = places[i].function;
      v->at = places[i].at;
      move_step(v, to);
      places[i].at = v->at;
      more = true;
    }
  }
}

/* --- the pass --- */

static void tell(mover *v, int64_t to) {
  for (size_t i = 0; i < v->blockers.count && i < MOST_TOLD; i++) {
    const blocker *b = &v->blockers.items[i];
    surg__error(v->ctx, SURG_EINVALID, surg_model_path(v->m), "%s: not valid in %s%sopset %d: %s",
                surg__locate_node(b->node), v->domain, *v->domain ? " " : "", (int)to, b->why);
  }
  if (v->blockers.count > MOST_TOLD)
    surg__error(v->ctx, SURG_EINVALID, surg_model_path(v->m), "... and %zu more nodes",
                v->blockers.count - MOST_TOLD);
}

/* The IR version that was released with an opset of the default domain. */
static int64_t ir_of_opset(int64_t opset) {
  static const struct {
    uint8_t opset, ir;
  } steps[] = {{26, 13}, {25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9},
               {15, 8},  {12, 7},  {11, 6},  {10, 5},  {0, 4}};
  size_t i = 0;
  while (opset < steps[i].opset) i++;
  return steps[i].ir;
}

/* Programs that read an older opset are older themselves: lowers the IR version to the one released
 * with the opset, or to what the model requires. Never below 4, where initializers would have to be
 * graph inputs. */
static void lower_ir(mover *v, int64_t to) {
  const int64_t now = surg_model_ir_version(v->m);
  const surg_node *where;
  char what[200];
  if (v->structure) find_types(v);
  int64_t ir = v->failed ? now : surg_model_ir_floor(v->m, &where, what, sizeof what);
  if (ir < ir_of_opset(to)) ir = ir_of_opset(to);
  if (ir >= now || v->failed) return;
  if (surg_model_set_ir_version(v->m, ir)) v->failed = true;
  count(v, "IR versions down", (uint64_t)(now - ir));
}

/* Whether the pass has anything to do. The move is one rewrite: all of it is done, or nothing. */
static bool anything_to_move(const mover *v, int64_t to) {
  const int64_t model = surg_model_opset(v->m, v->domain);
  if (model && model != to) return true;
  for (size_t i = 0; i < surg_model_function_count(v->m); i++) {
    const int64_t one = surg_function_opset(surg_model_function(v->m, i), v->domain);
    if (one && one != to) return true;
  }
  return false;
}

static void move_all(mover *v, int64_t to) {
  if (!anything_to_move(v, to) || (!v->trial && !surg_pass_allow(v->pass))) return;
  if (surg_model_function_count(v->m)) find_types(v);
  const int64_t model = surg_model_opset(v->m, v->domain);
  const size_t functions = surg_model_function_count(v->m);
  place *places = surg__calloc(v->ctx, functions + 1, sizeof *places);
  if (!places) {
    v->failed = true;
    return;
  }
  places[0] = (place){NULL, model};
  for (size_t i = 0; i < functions; i++) {
    surg_function *f = surg_model_function(v->m, i);
    places[i + 1] = (place){f, surg_function_opset(f, v->domain)};
  }
  move_places(v, places, functions + 1, to);
  surg__free(v->ctx, places);
  if (v->failed || v->domain[0] || v->blockers.count) return;
  if (to < model) lower_ir(v, to);
}

surg_pass_result surg_pass_move_opset(surg_pass_ctx *p, int64_t to) {
  return surg_pass_move_domain(p, "", to);
}

static void move(mover *v, int64_t to) {
  v->ctx = surg_pass_context(v->pass);
  v->match = surg__calloc(v->ctx, 1, sizeof *v->match);
  if (v->match) v->match->explain = true;
  surg__arena_init(&v->arena, v->ctx);
  v->failed = !list_rules(v) || !v->match;
  if (v->match) {
    v->match->ctx = v->ctx;
    v->match->pass = v->pass;
    v->match->arena = &v->arena;
  }
  if (!v->failed) move_all(v, to);
}

static void finish(mover *v) {
  for (size_t i = 0; i < v->blockers.count; i++) surg__free(v->ctx, v->blockers.items[i].why);
  surg__vec_free(v->ctx, &v->blockers);
  surg__ptrs_free(v->ctx, &v->blocked);
  surg__ptrs_free(v->ctx, &v->around);
  surg__vec_free(v->ctx, &v->nodes);
  surg__vec_free(v->ctx, &v->rules);
  surg__vec_free(v->ctx, &v->made);
  surg__arena_free(&v->arena);
  surg__free(v->ctx, v->match);
}

/* Whether a model can state the version at all. */
static bool is_version(int64_t v) {
  return v >= 1 && v <= INT32_MAX;
}

surg_pass_result surg_pass_move_domain(surg_pass_ctx *p, const char *domain, int64_t to) {
  if (!p || !domain) return SURG_PASS_FAILED;
  if (!is_version(to)) return surg_pass_usage(p, "no opset has this version");
  mover v = {.pass = p, .m = surg_pass_model(p), .domain = domain};
  move(&v, to);
  const bool blocks = v.blockers.count > 0;
  if (!v.failed) tell(&v, to);
  finish(&v);
  if (v.failed) return SURG_PASS_FAILED;
  if (blocks) {
    char text[160];
    snprintf(text, sizeof text,
             "the model cannot be converted to %.50s%sopset %d; nothing is written",
             domain, *domain ? " " : "", (int)to);
    return surg_pass_fail(p, NULL, text);
  }
  return v.changed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

/* --- trial run on a copy --- */

/* Whether any node of a function must change. */
static bool functions_change(const mover *v, int64_t to) {
  for (surg_graph *g = surg_model_next_graph(v->m, NULL); g; g = surg_model_next_graph(v->m, g)) {
    const surg_function *f = surg_graph_function(g);
    const int64_t at = f ? surg_function_opset(f, v->domain) : 0;
    if (!at || at == to) continue;
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (!strcmp(surg_node_domain(n), v->domain) && !surg_node_fits(n, to)) return true;
  }
  return false;
}

surg_status surg_pass_move_blocked(surg_pass_ctx *p, const char *domain, int64_t to,
                                   bool *blocked) {
  if (!p || !domain || !blocked || !is_version(to)) return SURG_EUSAGE;
  mover v = {.pass = p, .m = surg_pass_model(p), .domain = domain, .trial = true};
  const size_t functions = surg_model_function_count(v.m);
  memset(blocked, 0, functions * sizeof *blocked);
  if (!functions_change(&v, to)) return SURG_OK;
  v.m = surg_model_clone(v.m);
  if (!v.m) return SURG_ENOMEM;
  move(&v, to);
  surg__ptrs stuck = {0};
  for (size_t i = 0; i < v.blockers.count && !v.failed; i++) {
    const surg_function *f = surg_graph_function(surg_node_graph(v.blockers.items[i].node));
    if (f && !surg__ptrs_add(v.ctx, &stuck, f, NULL)) v.failed = true;
  }
  for (size_t k = 0; k < functions; k++)
    blocked[k] = surg__ptrs_has(&stuck, surg_model_function(v.m, k));
  surg__ptrs_free(v.ctx, &stuck);
  const surg_status s = v.failed ? surg_model_status(v.m) : SURG_OK;
  finish(&v);
  surg_model_free(v.m);
  return v.failed && s == SURG_OK ? SURG_ENOMEM : s;
}
