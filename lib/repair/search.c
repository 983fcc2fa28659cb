/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for a repair: tries cures one by one on a copy, the smallest change first, and keeps a
 * cure if the target has fewer objections afterwards. */
#include "repair/repair.h"

#include <onnxsurg/info.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "pass/pass.h"

#define ROUNDS 8u /* most rounds over all cures; each must leave fewer objections */
#define SETTLE ",fold{max-growth=inf},prune" /* after a rule that may leave nodes of constants */
#define OUTPUTS 64u                          /* most outputs that get a node at once */
#define AHEAD 2u   /* nesting of look-ahead searches: sizes, an operator, what replaces it */
#define DOUBTS 16u /* most unknown objections that are searched for cures */
#define USUAL 13   /* the opset that a model without one gets */

/* --- trying a cure --- */

/* Whether cures that need more consent than is given are looked for. */
static bool asks(const surg__repair *r) {
  return r->given.most < SURG_LOSSY && !r->is_plain;
}

/* Records a cure that requires more consent, once; not if it is one recorded before, and `fold`. */
static void would_help(surg__repair *r, const char *text, surg__consent needed) {
  const char *settled = strstr(text, SETTLE);
  const size_t n = settled && !settled[sizeof SETTLE - 1] ? (size_t)(settled - text) : strlen(text);
  r->wanted = surg__repair_both(r->wanted, needed);
  for (size_t i = 0; i + n <= r->refused.n; i++)
    if (!memcmp(r->refused.p + i, text, n)) return;
  surg__buf_printf(&r->refused, "%s%s", r->refused.n ? ", " : "", text);
}

/* Applies the cure if it leaves fewer objections and the consent covers it; *now is updated.
 * Records it if it helps with more consent only. Returns whether it was applied. */
static bool cure(surg__repair *r, const char *text, surg__repair_counts *now) {
  surg__repair_counts after;
  surg__consent needed = {SURG_EXACT, false};
  surg_model *copy = surg__repair_try(r, text, r->given, now->all, &after, &needed);
  bool helps = copy && after.all < now->all && (!r->is_strict || after.unknown <= now->unknown);
  const bool may = helps && surg__repair_covers(r->given, needed);
  if (!helps && asks(r)) {
    surg__repair_counts other;
    surg_model *more = surg__repair_try(r, text, SURG__ALL_CONSENT, now->all, &other, &needed);
    helps = more && other.all < now->all;
    if (more) surg_model_free(more);
  }
  if (helps && !may) would_help(r, text, needed);
  if (!may) {
    if (copy) surg_model_free(copy);
    return false;
  }
  surg__repair_take(r, copy, text, needed);
  *now = after;
  return true;
}

/* --- the cures --- */

static bool cure_opset(surg__repair *r, surg__repair_counts *now) {
  char best[64];
  if (surg__repair_best_opset(r, r->given, now, best, sizeof best)) return cure(r, best, now);
  /* cure() tries it with all consents and records the consent it requires. */
  return asks(r) && surg__repair_best_opset(r, SURG__ALL_CONSENT, now, best, sizeof best) &&
         cure(r, best, now);
}

/* An operator of the domain may stand in the way: replaces those of each kind in the main graph,
 * and converts the opset then. */
static bool cure_domain_ops(surg__repair *r, const char *domain, const char *convert,
                            surg__repair_counts *now) {
  const char *tried[8];
  size_t n_tried = 0;
  const surg_graph *g = surg_model_graph(r->m);
  for (surg_node *n = surg_graph_first_node(g); n && n_tried < SURG_COUNT(tried);
       n = surg_node_next(n)) {
    const char *op = surg_node_op_type(n);
    char text[400];
    size_t k = 0;
    if (strcmp(surg_node_domain(n), domain) != 0) continue;
    while (k < n_tried && strcmp(tried[k], op) != 0) k++;
    if (k < n_tried) continue;
    tried[n_tried++] = op;
    snprintf(text, sizeof text, "replace{op=%.80s.%.80s},%s", domain, op, convert);
    if (cure(r, text, now)) return true;
  }
  return false;
}

/* Converts other domains to the nearest supported opset. */
static bool cure_domains(surg__repair *r, surg__repair_counts *now) {
  bool any = false;
  for (size_t i = 0; i < r->t->opsets.count; i++) {
    const surg__tspan *w = &r->t->opsets.items[i];
    const int64_t have = w->name[0] ? surg_model_opset(r->m, w->name) : 0;
    char text[200];
    if (have < 1 || (have >= w->low && have <= w->high)) continue;
    snprintf(text, sizeof text, "opset{domain=%.100s,to=%lld}", w->name,
             (long long)(have > w->high ? w->high : w->low));
    any |= cure(r, text, now) || cure_domain_ops(r, w->name, text, now);
  }
  return any;
}

static bool cure_ir(surg__repair *r, surg__repair_counts *now) {
  char text[64];
  /* Within the range: initializers that are not inputs, which version 4 permits. */
  const int64_t have = surg_model_ir_version(r->m), to = have > r->t->ir.high  ? r->t->ir.high
                                                         : have < r->t->ir.low ? r->t->ir.low
                                                                               : 4;
  snprintf(text, sizeof text, "ir{to=%lld}", (long long)to);
  return cure(r, text, now);
}

/* Looks ahead: runs a pipeline, searches for cures of its result, and applies both together if they
 * leave fewer objections. For pipelines whose result alone is rejected. */
static bool cure_ahead(surg__repair *r, const char *text, surg__repair_counts *now) {
  surg__repair_counts before, after;
  surg__consent needed;
  if (r->depth >= (r->is_wider ? AHEAD : 1)) return false;
  char what[40];
  size_t left;
  snprintf(what, sizeof what, "ahead %u %d", r->depth, r->is_wider);
  const uint64_t trial = surg__repair_trial(r, text, what, r->given);
  if (surg__memo_find(surg__repair_memo(r), trial, &left) && left >= now->all) return false;
  surg_model *copy = surg__repair_try(r, text, r->given, SIZE_MAX, &after, &needed);
  if (!copy || !surg__repair_covers(r->given, needed)) {
    if (copy) surg_model_free(copy);
    return false;
  }
  surg__repair deeper;
  surg__buf all;
  bool done = false;
  surg__repair_init(&deeper, r->ctx, r->t, copy, r->given);
  surg__buf_init(&all, r->ctx);
  deeper.verify_each = r->verify_each;
  deeper.depth = r->depth + 1;
  deeper.origin = r->origin;
  deeper.work = r->work ? r->work : r->worked;
  deeper.memo = surg__repair_memo(r);
  deeper.rules = surg__repair_rules(r);
  deeper.replaced = r->replaced ? r->replaced : &r->own_replaced;
  deeper.is_wider = r->is_wider;
  deeper.is_plain = r->is_plain;
  const bool found = surg__repair_find(&deeper, &before, &after) == SURG_OK;
  if (found && !surg__repair_spent(r))
    surg__memo_note(r->ctx, surg__repair_memo(r), trial, after.all);
  if (found && after.all < now->all) {
    surg__buf_printf(&all, "%s,%s", text, deeper.pipeline.p);
    surg__buf_putc(&all, 0);
    done = !all.failed && cure(r, all.p, now);
  }
  if (deeper.failure) r->failure = deeper.failure;
  surg__buf_free(&all);
  surg__repair_free(&deeper);
  return done;
}

/* Replaces rejected operators one by one, as some may have no replacement. */
static bool cure_ops(surg__repair *r, surg__repair_counts *now, bool ahead) {
  surg__repair_ops ops;
  surg__buf text;
  surg__repair_counts unused;
  bool any = false;
  surg__repair_ops_init(&ops, r->ctx);
  surg__buf_init(&text, r->ctx);
  if (surg__repair_count(r->t, r->m, &unused, &ops) == SURG_OK && ops.names.n) {
    surg__buf_putc(&ops.names, 0);
    for (char *word = ops.names.failed ? NULL : ops.names.p, *end; word && *word; word = end) {
      end = word + strcspn(word, "+");
      const bool more = *end;
      *end = 0;
      end += more;
      text.n = 0;
      if (!surg__repair_replaces(r, word)) continue;
      surg__buf_puts(&text, "replace{op=");
      surg__pipeline_quote(&text, word);
      surg__buf_puts(&text, "}");
      surg__buf_putc(&text, 0);
      any |= !text.failed && (ahead ? cure_ahead(r, text.p, now) : cure(r, text.p, now));
    }
  }
  surg__repair_ops_free(&ops);
  surg__buf_free(&text);
  return any;
}

/* Collects all rejected operators. `note_form`: only those rejected in their present form, such as
 * a type or attribute. */
static void note_any(void *user, const surg__objection *o) {
  if (o->verdict == SURG__ILLEGAL && o->node && o->cause != SURG__C_DYNAMIC)
    surg__repair_add_op(user, o->node);
}

static void note_form(void *user, const surg__objection *o) {
  static const surg__cause forms[] = {SURG__C_TYPE,  SURG__C_ATTR,     SURG__C_RANGE,
                                      SURG__C_PLACE, SURG__C_CONSTANT, SURG__C_FED};
  bool form = false;
  for (size_t i = 0; i < SURG_COUNT(forms); i++)
    form |= surg__repair_may_be_for(surg__repair_causes(o), forms[i]);
  if (o->verdict == SURG__ILLEGAL && o->node && form) surg__repair_add_op(user, o->node);
}

/* Of the rules that may be applied and leave fewer objections, the one that needs the least
 * consent; of these the one that leaves the fewest; of these the one that leaves the fewest nodes,
 * the first of equal ones. NULL: none. */
static const surg_rule *best_rule(surg__repair *r, const surg__rule_set *c,
                                  const surg__repair_counts *now) {
  const surg_rule *best = NULL;
  size_t least = now->all, small = SIZE_MAX;
  surg__consent worst = r->given;
  char text[200];
  for (size_t i = 0; i < c->n; i++) {
    surg__repair_counts after;
    surg__consent needed = {SURG_EXACT, false};
    snprintf(text, sizeof text, "rewrite{rule=%s}", surg_rule_name(c->items[i]));
    surg_model *copy = surg__repair_try(r, text, r->given, now->all, &after, &needed);
    const bool helps = copy && after.all < now->all &&
                       (!r->is_strict || after.unknown <= now->unknown) &&
                       surg__repair_covers(worst, needed);
    const size_t nodes = helps ? surg_graph_node_count(surg_model_graph(copy)) : 0;
    if (helps && (after.all < least || !surg__repair_covers(needed, worst) ||
                  (after.all == least && nodes < small))) {
      least = after.all;
      small = nodes;
      worst = needed;
      best = c->items[i];
    }
    if (copy) surg_model_free(copy);
  }
  return best;
}

/* Applies the best of these rules while one leaves fewer objections. If none does, each is tried by
 * cure(), which records those that need more consent; with `settle`, followed by `fold`, since a
 * rule may leave nodes whose inputs are all constant. */
static bool cure_candidates(surg__repair *r, const surg__rule_set *c, surg__repair_counts *now,
                            bool settle) {
  char text[200];
  bool any = false;
  for (size_t k = 0; k < c->n && c->n > 1 && now->all; k++) {
    const surg_rule *best = best_rule(r, c, now);
    snprintf(text, sizeof text, "rewrite{rule=%s}", best ? surg_rule_name(best) : "");
    if (!best || !cure(r, text, now)) break;
    any = true;
  }
  if (any || (!settle && c->n > 1 && !asks(r))) return any;
  for (size_t i = 0; i < c->n && now->all; i++) {
    const char *name = surg_rule_name(c->items[i]);
    snprintf(text, sizeof text, "rewrite{rule=%s}", name);
    if (!surg__repair_fires(r, text)) continue;
    snprintf(text, sizeof text, "rewrite{rule=%s}%s", name, settle ? SETTLE : "");
    any |= cure(r, text, now);
  }
  return any;
}

/* Tries the rewrite rules of the groups `forms` and `substitute` that start from a rejected
 * operator. One rule at a time, since a whole group would also change supported nodes. `all`: also
 * for operators that are unsupported in every form. */
static bool cure_forms(surg__repair *r, surg__repair_counts *now, bool all) {
  surg__repair_ops ops;
  bool any = false;
  surg__repair_ops_init(&ops, r->ctx);
  surg__target_model(r->t, r->m, all ? note_any : note_form, &ops);
  const surg__rule_sets *sets = ops.names.n ? surg__repair_rules(r) : NULL;
  const size_t n = sets ? sets->count : 0;
  if (all && n) any |= cure(r, &SETTLE[1], now);
  /* Rules of the group `forms`, which keep the operator, come first. All rules are tried strictly
   * first (no new unknown objections), then leniently. */
  for (size_t i = 0; now->all && i < 2 * n; i++) {
    const surg__rule_set *c = &sets->items[i % n];
    r->is_strict = i < n;
    if (surg__repair_has_op(&ops, c->op)) any |= cure_candidates(r, c, now, all && !r->is_strict);
  }
  r->is_strict = false;
  surg__repair_ops_free(&ops);
  return any;
}

/* Whether a trial that was made before left exactly as many objections as there are. */
static bool is_even(surg__repair *r, const char *text, const surg__repair_counts *now) {
  size_t left;
  return surg__memo_find(surg__repair_memo(r), surg__repair_trial(r, text, "", r->given), &left) &&
         left == now->all;
}

/* Rules that exchange objections for as many others, which may have cures. */
static bool cure_forms_ahead(surg__repair *r, surg__repair_counts *now) {
  surg__repair_ops ops;
  bool done = false;
  if (r->depth) return false;
  surg__repair_ops_init(&ops, r->ctx);
  surg__target_model(r->t, r->m, note_any, &ops);
  const surg__rule_sets *sets = ops.names.n ? surg__repair_rules(r) : NULL;
  for (size_t i = 0; sets && i < sets->count && !done; i++) {
    const surg__rule_set *c = &sets->items[i];
    char text[200];
    if (!surg__repair_has_op(&ops, c->op)) continue;
    for (size_t k = 0; k < c->n && !done; k++) {
      snprintf(text, sizeof text, "rewrite{rule=%s}", surg_rule_name(c->items[k]));
      done = is_even(r, text, now) && cure_ahead(r, text, now);
    }
  }
  surg__repair_ops_free(&ops);
  return done;
}

/* Another form of an operator may be exact where a replacement is not. */
static bool cure_forms_exactly(surg__repair *r, surg__repair_counts *now) {
  const surg__consent given = r->given, wanted = r->wanted;
  const size_t refused = r->refused.n;
  r->given = (surg__consent){SURG_EXACT, false};
  const bool any = cure_forms(r, now, false);
  r->given = given;
  r->wanted = wanted;
  r->refused.n = refused;
  return any;
}

/* Computes nodes in element types that the engine supports. */
static bool cure_wraps(surg__repair *r, surg__repair_counts *now) {
  surg__repair_texts texts = {0};
  bool any = false;
  surg__repair_wraps(r->t, r->m, &texts);
  for (size_t i = 0; i < texts.n; i++) {
    if (surg__repair_may_be_for(now->causes, SURG__C_TYPE)) any |= cure(r, texts.items[i], now);
    free(texts.items[i]);
  }
  return any;
}

/* Leaves quantization out of a model whose QuantizeLinear or DequantizeLinear is rejected, or with
 * operators that compute quantized numbers. */
static bool cure_quantized(surg__repair *r, surg__repair_counts *now) {
  surg__buf text;
  surg__buf_init(&text, r->ctx);
  bool any = surg__repair_rounds(r) && cure(r, SURG__UNQUANTIZE, now);
  if (now->all && surg__repair_may_be_for(now->causes, SURG__C_OP) &&
      surg__repair_unquantized(r->m, &text))
    any |= cure(r, text.p, now);
  surg__buf_free(&text);
  return any;
}

/* Nodes that only training needs may have unsupported inputs. */
static bool cure_training(surg__repair *r, surg__repair_counts *now) {
  static const char text[] = "inference,rewrite{group=simplify},prune";
  return surg__repair_fires(r, "inference") && cure(r, text, now);
}

/* Fixes symbolic and unknown sizes by a guess, so that values the engine requires to be constant
 * can be folded. A guess that makes shapes contradict each other is discarded. */
static bool cure_sizes(surg__repair *r, surg__repair_counts *now, bool ahead) {
  surg__buf text;
  bool done = false;
  const size_t before = surg__repair_contradictions(r->m);
  surg__buf_init(&text, r->ctx);
  for (surg__guess guess = SURG__GUESS_USUAL; guess <= SURG__GUESS_ONES && !done; guess++) {
    surg__repair_counts unused;
    surg__consent needed;
    if (!surg__repair_freeze(r->m, r->sizes, guess, &text) || text.n == 1) break;
    surg_model *copy = surg__repair_try(r, text.p, SURG__ALL_CONSENT, SIZE_MAX, &unused, &needed);
    const bool holds = copy && surg__repair_contradictions(copy) <= before;
    if (copy) surg_model_free(copy);
    text.n--;
    surg__buf_puts(&text, ",fold{max-growth=inf},prune");
    surg__buf_putc(&text, 0);
    if (text.failed) break;
    done = holds && (ahead ? cure_ahead(r, text.p, now) : cure(r, text.p, now));
    if (holds) break;
  }
  surg__buf_free(&text);
  return done;
}

static void put_identity(surg__buf *text, const surg_value *v) {
  surg__buf_puts(text, text->n ? ",insert{op=Identity,at=" : "insert{op=Identity,at=");
  surg__pipeline_quote(text, surg_value_name(v));
  surg__buf_putc(text, '}');
}

/* Inserts an Identity before model outputs that are initializers, for targets that reject these, or
 * after the first input that a Concat reads: some engines overwrite it. */
static bool cure_ends(surg__repair *r, surg__repair_counts *now, bool inputs) {
  const surg_graph *g = surg_model_graph(r->m);
  surg__buf text;
  surg__buf_init(&text, r->ctx);
  for (size_t i = 0, n = 0; i < surg_graph_output_count(g) && n < OUTPUTS && !inputs; i++) {
    const surg_value *v = surg_graph_output(g, i);
    if (surg_value_producer(v, NULL) || surg_value_is_input(v)) continue;
    put_identity(&text, v);
    n++;
  }
  for (size_t i = 0; i < surg_graph_input_count(g) && !text.n && inputs; i++) {
    const surg_use *use = surg_value_first_use(surg_graph_input(g, i));
    const surg_node *n = use ? surg_use_node(use) : NULL;
    if (n && surg_node_op(n) == SURG_OP_Concat) put_identity(&text, surg_graph_input(g, i));
  }
  const bool any = text.n > 0;
  surg__buf_putc(&text, 0);
  const bool done = any && !text.failed && cure(r, text.p, now);
  surg__buf_free(&text);
  return done;
}

/* Cures that change inputs and outputs: Casts are left to the caller, inputs with defaults become
 * constants, unsupported element types are replaced everywhere, after it was tried whether to
 * simplify is enough. */
static bool cure_interface(surg__repair *r, surg__repair_counts *now) {
  static const char settle[] = "freeze-inputs,fold,prune";
  static const char *const types[] = {"retype{from=float16}", "retype{from=bfloat16}",
                                      "retype{from=double}"};
  bool any = false;
  surg__buf uncast;
  surg__buf_init(&uncast, r->ctx);
  if ((surg__repair_may_be_for(now->causes, SURG__C_OP) ||
       surg__repair_may_be_for(now->causes, SURG__C_VERSION) ||
       surg__repair_may_be_for(now->causes, SURG__C_TYPE)) &&
      surg__repair_uncast(r->m, r->origin, &uncast))
    any = cure(r, uncast.p, now);
  uncast.n = 0;
  if (now->all && surg__repair_may_be_for(now->causes, SURG__C_OP) &&
      surg__repair_numbers(r->m, &uncast))
    any |= cure(r, uncast.p, now) || cure_ahead(r, uncast.p, now);
  surg__buf_free(&uncast);
  if (now->all && surg__repair_may_be_for(now->causes, SURG__C_OP))
    any |= cure(r, "replace{op=Cast},rewrite{group=tables},fold,prune", now);
  if (now->all && surg__repair_has_maps(r->m)) any |= cure(r, "unwrap-maps,prune", now);
  if (now->all && surg__repair_may_be_for(now->causes, SURG__C_OP) && surg__repair_draws(r->m))
    any |= cure(r, "random-inputs,prune", now);
  if (r->t->optional == SURG__NO && now->count[SURG__C_TYPE])
    any |= cure(r, "unwrap-optionals,fold,prune", now) || cure_ahead(r, "present,fold,prune", now);
  if (now->all && surg__repair_has_defaults(r->m))
    any |= cure(r, settle, now) || cure_ahead(r, settle, now);
  if (now->all) any |= cure(r, "rewrite{group=simplify},prune", now);
  for (size_t i = 0; i < SURG_COUNT(types) && now->all; i++) {
    char text[80];
    snprintf(text, sizeof text, "%s,rewrite{group=simplify},prune", types[i]);
    any |= surg__repair_fires(r, types[i]) && cure(r, text, now);
  }
  return any;
}

/* Removes control flow, sequences and functions; most engines that reject these reject some of the
 * nodes that take their place, too. */
static bool cure_control(surg__repair *r, surg__repair_counts *now) {
  static const char *const tried[] = {"unroll,fold,prune", "sequence,fold,prune",
                                      "unroll,sequence,fold,prune", "inline", "inline{incomplete}"};
  bool any = false;
  for (size_t i = 0; i < SURG_COUNT(tried) && now->all; i++) any |= cure_ahead(r, tried[i], now);
  return any;
}

/* Converts to the opset before the one that introduced a rejected operator or its version: some
 * replacements exist for conversions only. */
static void note_born(void *user, const surg__objection *o) {
  uint64_t *born = user;
  const surg_schema *s = o->node ? surg_node_schema(o->node) : NULL;
  if (o->verdict != SURG__ILLEGAL || !s || surg_node_domain(o->node)[0]) return;
  const int since = surg_schema_since(s);
  if (since > SURG__REPAIR_OLDEST && since < 64) *born |= UINT64_C(1) << since;
}

static bool cure_born(surg__repair *r, surg__repair_counts *now) {
  const surg__tspan *w = surg__repair_window(r->t);
  uint64_t born = 0;
  char text[64];
  bool done = false;
  surg__target_model(r->t, r->m, note_born, &born);
  for (int since = 63; since > SURG__REPAIR_OLDEST && !done; since--) {
    if (!(born >> since & 1) || (w && (since - 1 < w->low || since - 1 > w->high))) continue;
    snprintf(text, sizeof text, "opset{to=%d}", since - 1);
    done = cure_ahead(r, text, now);
  }
  return done;
}

/* Converts to an opset in which more replacements exist, and back if the result is better. */
static bool cure_elsewhere(surg__repair *r, surg__repair_counts *now) {
  static const int64_t tried[] = {13, 18};
  const surg__tspan *w = surg__repair_window(r->t);
  const int64_t have = surg_model_opset(r->m, "");
  bool done = false;
  for (size_t i = 0; i < SURG_COUNT(tried) && !done && have > 0; i++) {
    char text[64];
    if (have >= tried[i] || (w && (tried[i] < w->low || tried[i] > w->high))) continue;
    snprintf(text, sizeof text, "opset{to=%lld}", (long long)tried[i]);
    done = cure_ahead(r, text, now);
  }
  return done;
}

/* Converts to the nearest supported opset, and cures the operators that are rejected there. */
static bool cure_opset_ahead(surg__repair *r, surg__repair_counts *now) {
  const surg__tspan *w = surg__repair_window(r->t);
  const int64_t have = surg_model_opset(r->m, "");
  char text[64];
  if (!w || have < 1 || (have >= w->low && have <= w->high)) return false;
  snprintf(text, sizeof text, "opset{to=%lld}", (long long)(have > w->high ? w->high : w->low));
  return cure_ahead(r, text, now);
}

/* Tries all cures once, the smallest change first. */
static bool round_of(surg__repair *r, surg__repair_counts *now) {
  static const struct simple {
    surg__cause cause;
    const char *pipeline;
  } simple[] = {{SURG__C_OP, "mend"},
                {SURG__C_TYPE, "mend"},
                {SURG__C_INVALID, "mend"},
                {SURG__C_RANGE, "mend"},
                {SURG__C_DYNAMIC, "shapes"},
                {SURG__C_ORDER, "toposort"},
                {SURG__C_INVALID, "names"},
                {SURG__C_INVALID, "shapes"},
                {SURG__C_INVALID, "outputs"},
                {SURG__C_INVALID, "prune"},
                {SURG__C_EXTERNAL, "constants{form=keep,inside}"},
                {SURG__C_FED, "fold"},
                {SURG__C_OPSET, "prune"},
                {SURG__C_VERSION, "prune"},
                {SURG__C_CONSTANT, "fold"},
                {SURG__C_CONSTANT, "constants"},
                {SURG__C_PLACE, "prune"},
                {SURG__C_PLACE, "prune{inputs}"},
                {SURG__C_PLACE, "fold,prune{inputs}"},
                {SURG__C_OP, "prune"},
                {SURG__C_TYPE, "prune"},
                {SURG__C_ATTR, "defaults{drop=all}"},
                {SURG__C_ATTR, "defaults{write=all}"},
                {SURG__C_OP, "identity"},
                {SURG__C_OP, "fold,prune"},
                {SURG__C_VERSION, "fold,prune"},
                {SURG__C_FUNCTION, "inline"},
                {SURG__C_FUNCTION, "inline{incomplete}"},
                {SURG__C_OP, "rewrite{rule=nop-cast}"},
                {SURG__C_OP, "rewrite{group=simplify},prune"},
                {SURG__C_OP, "rewrite{group=fuse},prune"},
                {SURG__C_CONSTANT, "fold{max-growth=inf},prune"},
                {SURG__C_FED, "fold{max-growth=inf},prune"},
                {SURG__C_FED, "fold{dequantize,max-growth=inf},prune"},
                {SURG__C_OP, "fold{dequantize,max-growth=inf},prune"},
                {SURG__C_OP, "rewrite{group=unquantized},fold{max-growth=inf},prune"},
                {SURG__C_OP, "sequence,fold,prune"},
                {SURG__C_OP, "unroll,fold,prune"},
                {SURG__C_TYPE, "fold{max-growth=inf},prune"},
                {SURG__C_TYPE, "fold{dequantize,max-growth=inf},prune"},
                {SURG__C_VERSION, "fold{dequantize,max-growth=inf},prune"},
                {SURG__C_VERSION, "dedup,rewrite{rule=quantization-left-out},prune"},
                {SURG__C_TYPE, "dedup,rewrite{rule=quantization-left-out},prune"},
                {SURG__C_TYPE, "inference,prune"},
                {SURG__C_ATTR, "inference"},
                {SURG__C_PLACE, "inference"},
                {SURG__C_PLACE, "recurrent"},
                {SURG__C_RANGE, "inference"}};
  bool any = false;
  if (now->count[SURG__C_IR]) any |= cure_ir(r, now);
  for (size_t i = 0; i < SURG_COUNT(simple) && now->all; i++)
    if (surg__repair_may_be_for(now->causes, simple[i].cause))
      any |= cure(r, simple[i].pipeline, now);
  if (now->all) any |= cure_quantized(r, now);
  if (now->all && surg__repair_may_be_for(now->causes, SURG__C_PLACE)) any |= cure_training(r, now);
  if (surg__repair_may_be_for(now->causes, SURG__C_PLACE)) {
    if (r->t->bare == SURG__NO) any |= cure_ends(r, now, false);
    any |= cure_ends(r, now, true);
  }
  /* A look-ahead search is about a replacement: replace operators before the opset is converted
   * again. */
  if (r->depth && now->all) any |= cure_ops(r, now, false);
  any |= cure_forms(r, now, false);
  if (surg__repair_may_be_for(now->causes, SURG__C_TYPE)) any |= cure_wraps(r, now);
  const size_t open = now->count[SURG__C_IR] + now->count[SURG__C_DYNAMIC];
  const bool moved = now->all > open && cure_opset(r, now);
  any |= moved;
  if (now->count[SURG__C_OPSET]) any |= cure_domains(r, now);
  if (moved) any |= cure_forms_exactly(r, now);
  if (now->all > now->count[SURG__C_IR] + now->count[SURG__C_OPSET]) any |= cure_ops(r, now, false);
  return any;
}

/* --- the search --- */

/* Fixes the sizes that the user gives, before all cures. They need no other consent. */
static surg_status give_sizes(surg__repair *r) {
  surg__buf text;
  surg__consent needed;
  surg__buf_init(&text, r->ctx);
  surg_status s =
      surg__repair_freeze(r->m, r->sizes, SURG__GUESS_NONE, &text) ? SURG_OK : SURG_ELIMIT;
  if (s == SURG_OK && text.n > 1) {
    surg__buf_printf(&r->pipeline, "%s%s", r->pipeline.n ? "," : "", text.p);
    s = surg__repair_run(r->ctx, &r->m, text.p, SURG__ALL_CONSENT, r->verify_each, &needed);
    if (s != SURG_OK && s != SURG_ENOMEM) {
      s = surg__error(r->ctx, SURG_EUSAGE, "onnxsurg", "--dim: the model cannot have these sizes");
    }
  }
  surg__buf_free(&text);
  return s;
}

/* Imports ONNX's own domain if the model does not, as files of ai.onnx.ml alone: all replacements
 * are made of its operators. */
static surg_status give_opset(surg__repair *r) {
  const surg__tspan *w = surg__repair_window(r->t);
  int64_t to = USUAL;
  char text[64];
  surg__consent needed;
  if (surg_model_opset(r->m, "") > 0) return SURG_OK;
  if (w && w->low > to) to = w->low;
  if (w && w->high < to) to = w->high;
  const uint64_t epoch = surg_model_epoch(r->m);
  snprintf(text, sizeof text, "opset{to=%lld}", (long long)to);
  surg_status s = surg__repair_run(r->ctx, &r->m, text, r->given, r->verify_each, &needed);
  if (s == SURG_OK && surg_model_epoch(r->m) != epoch)
    surg__buf_printf(&r->pipeline, "%s%s", r->pipeline.n ? "," : "", text);
  return s;
}

static surg_status search(surg__repair *r, surg__repair_counts *after) {
  for (unsigned i = 0; i < ROUNDS && after->all; i++) {
    if (round_of(r, after)) continue;
    if (r->depth && !r->is_wider) break;
    if (cure_forms(r, after, true) || cure_ops(r, after, true) || cure_opset_ahead(r, after) ||
        cure_control(r, after) || cure_interface(r, after) || cure_sizes(r, after, false))
      continue;
    /* Last resort, after all cheaper cures, so that they are responsible for fewer changes. */
    r->is_wider = true;
    if (!cure_ops(r, after, true) && !cure_forms_ahead(r, after) && !cure_control(r, after) &&
        !cure_sizes(r, after, true) && !cure_elsewhere(r, after) && !cure_born(r, after))
      break;
  }
  return r->failure;
}

/* With consent to lossy changes: searches again, and leaves misread nodes (imported, computed
 * differently) in the model if that makes it importable. */
static surg_status search_lenient(surg__repair *r, surg__repair_counts *after) {
  if (!after->all || r->depth || r->given.most < SURG_LOSSY || !surg__target_misreads(r->t))
    return SURG_OK;
  const surg__target *strict = r->t;
  surg__repair_counts left = {0};
  r->lenient = *r->t;
  r->lenient.lenient = true;
  r->t = &r->lenient;
  surg__memo_free(r->ctx, &r->tried); /* another target may have been there */
  r->is_wider = false;
  memset(r->worked, 0, sizeof r->worked);
  surg_status s = surg__repair_count(r->t, r->m, after, NULL);
  if (s == SURG_OK) s = search(r, after);
  if (s == SURG_OK) s = surg__repair_count(strict, r->m, &left, NULL);
  if (left.misread) r->used.most = SURG_LOSSY;
  return s;
}

/* Keeps the model before the cures, for surg__repair_shorten. */
static surg_status note_start(surg__repair *r) {
  r->original = surg_model_clone(r->m);
  r->first_step = r->pipeline.n ? r->pipeline.n + 1 : 0;
  r->used_before = r->used;
  return r->original ? SURG_OK : SURG_ENOMEM;
}

/* Cures of unknown objections, as if they were certain; what is computed from constants may be in
 * doubt. */
static void cure_doubts(surg__repair *r, surg__repair_counts *now) {
  static const char settle[] = "fold{max-growth=inf},prune";
  if (!cure(r, settle, now)) cure_ahead(r, settle, now);
  for (unsigned i = 0; i < ROUNDS && now->all; i++)
    if (!round_of(r, now) && !cure_forms(r, now, true) && !cure_interface(r, now) &&
        !cure_sizes(r, now, false))
      break;
}

/* If nothing is left but unknown objections about nodes and sizes: searches for a model without
 * them. What does not end in certain support is undone. */
static surg_status search_sure(surg__repair *r, surg__repair_counts *after) {
  const size_t doubts = after->unknown;
  if (!r->is_minimal || r->depth || after->all || !doubts || doubts > DOUBTS ||
      after->doubts < doubts)
    return SURG_OK;
  const surg__target *usual = r->t;
  surg__target sure = *r->t;
  surg__repair_counts now;
  const size_t steps = r->pipeline.n, refused = r->refused.n;
  const surg__consent used = r->used, wanted = r->wanted;
  surg_model *before = surg_model_clone(r->m);
  if (!before) return SURG_ENOMEM;
  const bool fresh = !r->original;
  surg_status s = fresh ? note_start(r) : SURG_OK;
  const size_t starts = r->starts.count;
  sure.sure = true;
  r->t = &sure;
  surg__memo_free(r->ctx, &r->tried); /* another target may have been there */
  if (s == SURG_OK) s = surg__repair_count(r->t, r->m, &now, NULL);
  if (s == SURG_OK) cure_doubts(r, &now);
  r->t = usual;
  surg__memo_free(r->ctx, &r->tried);
  if (s == SURG_OK) s = r->failure;
  r->refused.n = refused;
  r->wanted = wanted;
  if (s == SURG_OK && !now.all) {
    surg_model_free(before);
    return surg__repair_count(r->t, r->m, after, NULL);
  }
  surg_model_free(r->m);
  surg__repair_put(r, before);
  r->pipeline.n = steps;
  r->starts.count = starts;
  r->used = used;
  if (fresh && r->original) {
    surg_model_free(r->original);
    r->original = NULL;
  }
  return s;
}

static surg_status find(surg__repair *r, surg__repair_counts *before, surg__repair_counts *after) {
  surg_status s = surg__repair_count(r->t, r->m, before, NULL);
  r->failing = before->failing;
  if (s == SURG_OK && !r->origin) {
    s = surg__repair_put_interface(r->m, &r->first);
    r->origin = &r->first;
  }
  *after = *before;
  if (s == SURG_OK && r->sizes && r->sizes->n) {
    s = give_sizes(r);
    if (s == SURG_OK) s = surg__repair_count(r->t, r->m, after, NULL);
  }
  if (s == SURG_OK && after->all && r->is_minimal) s = note_start(r);
  if (s == SURG_OK && after->all) s = give_opset(r);
  if (s == SURG_OK) s = search(r, after);
  if (s == SURG_OK) s = surg__repair_anew(r, after, search);
  if (s == SURG_OK) s = search_lenient(r, after);
  if (s == SURG_OK) s = search_sure(r, after);
  if (s == SURG_OK) s = surg__repair_shorten(r, after);
  if (s == SURG_OK) s = surg__repair_nearer(r, after, search);
  surg__buf_putc(&r->pipeline, 0);
  surg__buf_putc(&r->refused, 0);
  if (r->pipeline.failed || r->refused.failed || r->failure) return SURG_ENOMEM;
  r->pipeline.n--;
  r->refused.n--;
  return s;
}

/* For a version between those that are known: searches for a model that each of them supports. */
static surg_status find_between(surg__repair *r, surg__repair_counts *before,
                                surg__repair_counts *after) {
  const surg__target *t = r->t;
  surg__target certain = *t;
  surg__repair_counts known;
  surg_status s = surg__repair_count(t, r->m, before, NULL);
  certain.certain = true;
  r->t = &certain;
  if (s == SURG_OK) s = find(r, &known, after);
  const bool lenient = r->t->lenient && !t->lenient;
  r->lenient = *t;
  r->lenient.lenient |= lenient;
  r->t = lenient ? &r->lenient : t;
  return s == SURG_OK ? surg__repair_count(r->t, r->m, after, NULL) : s;
}

surg_status surg__repair_find(surg__repair *r, surg__repair_counts *before,
                              surg__repair_counts *after) {
  return r->t->between && !r->t->certain ? find_between(r, before, after) : find(r, before, after);
}

void surg__repair_init(surg__repair *r, surg_context *ctx, const surg__target *t, surg_model *m,
                       surg__consent given) {
  *r = (surg__repair){.ctx = ctx, .t = t, .m = m, .given = given};
  surg__buf_init(&r->first, ctx);
  surg__buf_init(&r->pipeline, ctx);
  surg__buf_init(&r->refused, ctx);
}

void surg__repair_free(surg__repair *r) {
  if (!r->ctx) return;
  if (r->m) surg_model_free(r->m);
  if (r->original) surg_model_free(r->original);
  if (r->spare) surg_model_free(r->spare);
  surg__vec_free(r->ctx, &r->starts);
  surg__buf_free(&r->first);
  surg__buf_free(&r->pipeline);
  surg__buf_free(&r->refused);
  surg__memo_free(r->ctx, &r->tried);
  surg__rule_sets_free(r->ctx, &r->own_rules);
  surg__memo_free(r->ctx, &r->own_replaced);
}
