/* SPDX-License-Identifier: Apache-2.0 */
/* Implementation of verify.h. An input set on which the first model fails proves nothing: it is
 * counted as skipped. */
#include "run/verify.h"

#include <math.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/limits.h"
#include "eval/core/number.h"
#include "eval/core/piece.h"

typedef struct side {
  surg_graph *g;
  const surg__engine *engine;
  surg__exec runner;
  surg__array *in, *out;
  size_t n_in, n_out;
} side;

#define SYMBOLS 64 /* most symbols that are given separate sizes */
#define ALONE 8    /* most of them that are tried large while the others are small */
#define VARIED (1u << 20) /* most bytes of a default that is varied */

/* Further ranges of inputs, used if outputs were all NaN or all equal. */
static const struct other_range {
  double low, high;
  int64_t whole; /* integers are from 0 to whole - 1 */
} other_ranges[] = {{0, 1, 2}, {-10, 10, 16}, {0, 255, 256}, {-1000, 1000, 4096}};

typedef struct verify {
  surg_context *ctx;
  const surg__verify_options *o;
  surg__verify_report *report;
  surg_model *models[2];
  side sides[2];
  surg__engine own;  /* used where the options have no engine */
  size_t *in_first;  /* for each input of the second model its index in the first, or n_in */
  size_t *out_other; /* for each output of the first model its index in the second, or n_out */
  /* For each input of the second model that is named as an inner value of the first, and as none
   * of its inputs: that value, and its result in the last run. */
  surg_value **inner;
  surg__array *computed;
  bool any_inner;
  bool open;         /* an input has a dimension whose size is chosen here */
  bool made;         /* an input was made up */
  bool any_given;    /* the caller gives an input */
  const char *symbols[SYMBOLS];
  size_t n_symbols;
  const struct other_range *range; /* current range of inputs; NULL: the default */
  bool *random[2], *depends;       /* indexed by output */
  bool mixing;
  surg__array *shaken[SURG__SHAKES]; /* outputs of the first model as rounding moves them */
  bool shook;   /* they are of the current set */
  size_t alone; /* the symbol that is large, counted from 1; 0: all have the same size */
  unsigned turn;  /* number of the set */
  bool steady;    /* the first model does not run with other values than its defaults */
  bool varied;    /* an input of the current set has another value than its default */
} verify;

static void drop(surg__array *a, size_t n) {
  for (size_t i = 0; a && i < n; i++) surg__array_drop(&a[i]);
}

static surg_status open_side(verify *v, int k) {
  side *s = &v->sides[k];
  s->g = surg_model_graph(v->models[k]);
  s->engine = v->o->engines[k] ? v->o->engines[k] : &v->own;
  s->n_in = surg_graph_input_count(s->g);
  s->n_out = surg_graph_output_count(s->g);
  s->in = surg__calloc(v->ctx, s->n_in + 1, sizeof *s->in);
  s->out = surg__calloc(v->ctx, s->n_out + 1, sizeof *s->out);
  return s->in && s->out ? SURG_OK : SURG_ENOMEM;
}

static surg_status match(verify *v) {
  const side *a = &v->sides[0], *b = &v->sides[1];
  for (size_t i = 0; v->o->in && i < a->n_in; i++) v->any_given |= v->o->given[i];
  v->in_first =
      surg__match_names(v->ctx, b->n_in, surg__input_name, b->g, a->n_in, surg__input_name, a->g);
  v->out_other = surg__match_names(v->ctx, a->n_out, surg__output_name, a->g, b->n_out,
                                   surg__output_name, b->g);
  return v->in_first && v->out_other ? SURG_OK : SURG_ENOMEM;
}

/* Finds the inputs of the second model that the first computes: those of a part that was cut out,
 * or numbers that the first draws. */
static surg_status match_inner(verify *v) {
  const side *a = &v->sides[0], *b = &v->sides[1];
  v->inner = surg__calloc(v->ctx, b->n_in + 1, sizeof *v->inner);
  v->computed = surg__calloc(v->ctx, b->n_in + 1, sizeof *v->computed);
  if (!v->inner || !v->computed) return SURG_ENOMEM;
  for (size_t i = 0; i < b->n_in; i++) {
    if (v->in_first[i] < a->n_in) continue;
    surg_value *x = surg_graph_find_value(a->g, surg_value_name(surg_graph_input(b->g, i)));
    if (!x || !surg_value_producer(x, NULL)) continue;
    v->inner[i] = x;
    if (!v->any_inner) v->report->computed = x;
    v->any_inner = true;
  }
  return SURG_OK;
}

/* Keeps the values that are inputs of the second model. */
static surg_status keep_inner(void *user, const surg_node *n, size_t output, const surg__array *x) {
  verify *v = user;
  for (size_t i = 0; i < v->sides[1].n_in; i++) {
    if (!v->inner[i] || v->inner[i] != surg_node_output(n, output)) continue;
    surg__array_drop(&v->computed[i]);
    v->computed[i] = surg__array_ref(x);
  }
  return SURG_OK;
}

static void close_side(verify *v, int k) {
  side *s = &v->sides[k];
  surg__exec_close(&s->runner);
  drop(s->in, s->n_in);
  drop(s->out, s->n_out);
  surg__free(v->ctx, s->in);
  surg__free(v->ctx, s->out);
}

/* --- one set of inputs --- */

/* One set of inputs: how they are filled, and the size of open dimensions. */
typedef struct set {
  surg__fill fill;
  int64_t size;
  uint64_t seed;
} set;

/* The value of the second model that matches input i of the first: by name, else by index. */
static surg_value *twin_of(const verify *v, const surg_value *x, bool by_place, size_t i) {
  const side *a = &v->sides[0], *b = &v->sides[1];
  surg_value *twin = surg_graph_find_value(b->g, surg_value_name(x));
  if (twin) return twin;
  return by_place && a->n_in == b->n_in && !v->inner[i] ? surg_graph_input(b->g, i) : NULL;
}

/* A surg__dim_of: the caller's size if there is one, else the current size. While mixing, the
 * symbols have three sizes in turn; while one symbol is large, the others have size 2. */
static bool size_of(void *user, const char *symbol, int64_t *out) {
  verify *v = user;
  size_t i = 0;
  while (i < v->n_symbols && strcmp(v->symbols[i], symbol) != 0) i++;
  if (i == v->n_symbols && i < SYMBOLS) v->symbols[v->n_symbols++] = symbol;
  if (v->mixing) *out += (int64_t)(i % 3);
  if (v->alone && i + 1 != v->alone) *out = 2;
  const bool said = v->o->dim_of && v->o->dim_of(v->o->user, symbol, out);
  return said || v->mixing || v->alone;
}

/* Makes input i of the first model: the value of the constant that replaces it in the second, or
 * a made-up value. */
static surg_status make_input(verify *v, surg__maker *maker, size_t i) {
  side *a = &v->sides[0];
  const surg_value *x = surg_graph_input(a->g, i);
  const surg_value *twin = twin_of(v, x, true, i);
  const surg_tensor *t = twin ? surg_value_constant(twin) : NULL;
  if (twin && !t && !surg_value_is_input(twin)) t = surg_value_initializer(twin);
  if (t && strcmp(surg_value_name(twin), surg_value_name(x)) == 0)
    return surg__array_read(v->ctx, t, &a->in[i]);
  maker->also = twin && surg_value_is_input(twin) ? surg_value_declared_type(twin) : NULL;
  return surg__input_make(v->ctx, maker, x, &a->in[i]);
}

/* Makes an input of the first model that has a default, if it is an input of the second, too: its
 * default, or values near it, so that a model that ignores them is found. Half of the sets use the
 * defaults of both models. */
static surg_status make_default(verify *v, surg__maker *maker, const surg_value *x,
                                surg__array *out, bool *made) {
  const surg_tensor *t = surg_value_constant(x) ? NULL : surg_value_initializer(x);
  const surg_value *twin = t ? surg_graph_find_value(v->sides[1].g, surg_value_name(x)) : NULL;
  if (!twin || !surg_value_is_input(twin) || surg_value_constant(twin)) return SURG_OK;
  const bool may = !v->any_given && !v->steady && surg_tensor_bytes(t) <= VARIED;
  const bool vary = may && ((v->turn ^ v->turn >> 1) & 1);
  *made |= may;
  v->varied |= vary;
  if (!vary && surg_value_is_initializer(twin)) return SURG_OK;
  const surg_status s = surg__input_near(v->ctx, maker, t, vary, out);
  if (s == SURG_OK) surg__input_limit(x, out);
  return s == SURG_ENOMEM ? s : SURG_OK; /* elements that are not available: the run will tell */
}

/* A surg__make. */
static surg_status make_inputs(void *user, surg__maker *maker, surg__array *in, bool *made) {
  verify *v = user;
  side *a = &v->sides[0];
  v->varied = false;
  for (size_t i = 0; i < a->n_in; i++) {
    const surg_value *x = surg_graph_input(a->g, i);
    surg__array_drop(&in[i]);
    if (v->o->in && v->o->given[i]) in[i] = surg__array_ref(&v->o->in[i]);
    if (in[i].dtype != SURG_UNDEFINED) continue;
    const bool has_default = surg_value_is_initializer(x);
    const surg_status s =
        has_default ? make_default(v, maker, x, &in[i], made) : make_input(v, maker, i);
    if (s == SURG_OK && has_default) continue;
    *made |= !has_default;
    v->open |= maker->open;
    if (s == SURG_OK) {
      surg__input_limit(twin_of(v, x, false, i), &in[i]);
      continue;
    }
    snprintf(a->runner.why, sizeof a->runner.why, "input %s %s",
             surg__q(v->ctx, surg_value_name(x)), surg__input_unmade(x, s));
    return s == SURG_ENOMEM ? s : SURG_EUNSUPPORTED; /* no other range helps */
  }
  return SURG_OK;
}

/* Why a value of the first model is not valid for an input of type t; NULL: it is. */
static const char *misfit(const surg__array *a, const surg_type *t) {
  static const char type[] = "of another type than the first";
  const surg_type_kind kind = surg_type_get_kind(t);
  if (kind == SURG_TYPE_UNKNOWN) return NULL;
  if (surg__array_is_list(a)) return kind == SURG_TYPE_TENSOR ? type : NULL;
  const int dtype = surg_type_dtype(t);
  if (kind != SURG_TYPE_TENSOR || (dtype && dtype != a->dtype)) return type;
  bool same = !surg_type_has_rank(t) || surg_type_rank(t) == a->rank;
  for (size_t i = 0; same && surg_type_has_rank(t) && i < a->rank; i++) {
    const int64_t d = surg_type_dim(t, i)->value;
    same = d < 0 || d == a->dims[i];
  }
  return same ? NULL : "of another shape than the first";
}

/* Reports input i of the second model if the first has no matching input. */
static void check_input(verify *v, size_t i) {
  const side *b = &v->sides[1];
  const surg_value *x = surg_graph_input(b->g, i);
  surg__verify_report *r = v->report;
  const char *what = NULL;
  if (b->in[i].dtype != SURG_UNDEFINED)
    what = misfit(&b->in[i], surg_value_declared_type(x));
  else if (!surg_value_is_initializer(x))
    what = "that the first does not have";
  if (what && !*r->failure)
    snprintf(r->failure, sizeof r->failure, "has an input %s %s",
             surg__q(v->ctx, surg_value_name(x)), what);
}

/* Sets the inputs of the second model from those of the first, or from its inner values: by name,
 * else by index. */
static void hand_inputs(verify *v) {
  side *a = &v->sides[0], *b = &v->sides[1];
  drop(b->in, b->n_in);
  for (size_t i = 0; i < b->n_in; i++) {
    size_t k = v->in_first[i];
    if (v->inner[i]) b->in[i] = surg__array_ref(&v->computed[i]);
    if (k == a->n_in && a->n_in == b->n_in && !v->inner[i]) k = i;
    if (k < a->n_in && a->in[k].dtype != SURG_UNDEFINED) b->in[i] = surg__array_ref(&a->in[k]);
    check_input(v, i);
  }
}

/* Whether an input of the second model is a value that the run of the first did not show: only the
 * interpreter shows inner values, and no large constants. The run then proves nothing. */
static bool is_hidden(verify *v) {
  surg__verify_report *r = v->report;
  for (size_t i = 0; i < v->sides[1].n_in; i++) {
    if (!v->inner[i] || v->computed[i].dtype != SURG_UNDEFINED) continue;
    r->skipped++;
    if (!*r->skip_why)
      snprintf(r->skip_why, sizeof r->skip_why,
               "input %.100s of the second model is computed by the first, and not shown",
               surg__q(v->ctx, surg_value_name(v->inner[i])));
    return true;
  }
  return false;
}

/* Prepares model k at its first run; a failure is reported like a failed run. */
static surg_status ready(verify *v, int k) {
  side *s = &v->sides[k];
  drop(s->out, s->n_out);
  if (s->runner.engine) return surg__exec_opened(&s->runner) ? SURG_OK : SURG_EUNSUPPORTED;
  const surg_status status = surg__exec_open(&s->runner, s->engine, v->models[k]);
  if (k == 0 && v->any_inner && !s->engine->ort && !s->engine->chain)
    s->runner.watched = (surg__session){.watch = keep_inner, .arrays_only = true, .user = v};
  return status == SURG_EINVALID ? SURG_EUNSUPPORTED : status; /* no other input helps */
}

/* Whether output i was renamed: neither model has a value with the name of the other's output.
 * An exchanged output, in contrast, is an existing value. */
static bool renamed(const verify *v, size_t i) {
  const side *a = &v->sides[0], *b = &v->sides[1];
  return !surg_graph_find_value(b->g, surg_value_name(surg_graph_output(a->g, i))) &&
         !surg_graph_find_value(a->g, surg_value_name(surg_graph_output(b->g, i)));
}

/* Merges a distance into the worst one so far. */
static void worsen(surg__distance *w, const surg__distance *d) {
  if (d->max_abs > w->max_abs) w->max_abs = d->max_abs;
  if (d->max_rel > w->max_rel) w->max_rel = d->max_rel;
  if (d->max_ulp > w->max_ulp) w->max_ulp = d->max_ulp;
  if (d->cosine < w->cosine) w->cosine = d->cosine;
  w->other_shape |= d->other_shape;
  if (d->differing > w->differing) {
    w->differing = d->differing;
    w->first = d->first;
  }
  if (!*w->why) memcpy(w->why, d->why, sizeof w->why);
  if (d->elements > w->elements) w->elements = d->elements;
}

/* The index in the second model of output i of the first: by name, else by index; n_out: none. */
static size_t other_of(const verify *v, size_t i) {
  const side *a = &v->sides[0], *b = &v->sides[1];
  const size_t k = v->out_other[i];
  const bool by_place = k == b->n_out && a->n_out == b->n_out && (!v->o->may_lose || renamed(v, i));
  return by_place ? i : k;
}

static void drop_shaken(verify *v) {
  for (size_t k = 0; k < SURG__SHAKES; k++) drop(v->shaken[k], v->sides[0].n_out);
  v->shook = false;
}

/* *out: the difference of output i, which is k of the second model, is what rounding makes. */
static surg_status by_rounding(verify *v, const surg__tolerance *t, size_t i, size_t k, bool *out) {
  side *a = &v->sides[0];
  surg_status s = SURG_OK;
  for (size_t n = 0; n < SURG__SHAKES; n++) {
    if (v->shaken[n]) continue;
    v->shaken[n] = surg__calloc(v->ctx, a->n_out + 1, sizeof *v->shaken[n]);
    if (!v->shaken[n]) return SURG_ENOMEM;
  }
  if (!v->shook) s = surg__shake(v->models[0], a->engine, a->in, v->o->reorders, v->shaken);
  v->shook = true;
  *out = s == SURG_OK &&
         surg__shake_explains(&v->sides[1].out[k], &a->out[i], i, v->shaken, t);
  return s;
}

/* Compares output i; *differs: it differs. */
static surg_status compare(verify *v, const surg__tolerance *tolerance, size_t i, bool *differs) {
  side *a = &v->sides[0], *b = &v->sides[1];
  surg__verify_output *o = &v->report->outputs[i];
  const char *name = surg_value_name(o->value);
  const size_t k = other_of(v, i);
  surg__distance d;
  if (k == b->n_out && v->o->may_lose) return SURG_OK;
  if (k == b->n_out) {
    snprintf(v->report->failure, sizeof v->report->failure, "output %s is missing",
             surg__q(v->ctx, name));
    return SURG_OK;
  }
  if (o->random || (k < b->n_out && v->random[1][k])) {
    o->random = true; /* the random numbers differ, so the results may */
    return SURG_OK;
  }
  bool same = surg__value_compare(&b->out[k], &a->out[i], tolerance, &d), tied = false;
  bool rounded = false;
  if (!same && v->o->rounds && !d.other_shape) {
    const surg_status s = by_rounding(v, tolerance, i, k, &rounded);
    o->amplified += rounded;
    if (s != SURG_OK || rounded) return s;
  }
  o->compared = true;
  surg__verify_seen(o, &a->out[i]);
  worsen(&o->worst, &d);
  if (!same && !d.other_shape) {
    const surg_status s = surg__indices_tie(v->models[0], a->engine, a->in, i, &b->out[k],
                                            &a->out[i], tolerance, &tied);
    if (s != SURG_OK) return s;
    o->tied += tied;
    same = tied && v->o->ties;
  }
  if (!same) o->differs++;
  *differs |= !same;
  return SURG_OK;
}

static bool both_empty(const surg__array *a, const surg__array *b) {
  return !surg__array_is_list(a) && !surg__array_is_list(b) && a->dtype == b->dtype &&
         a->rank == b->rank && a->count == 0 && b->count == 0;
}

/* Whether a common output differs in a run with a result that the standard does not define. This
 * is not a difference between the models, so the run is not counted. Differing shapes are
 * accepted only for tensors without elements. */
static bool left_open(const verify *v, const surg__tolerance *t) {
  const side *a = &v->sides[0], *b = &v->sides[1];
  surg__distance d;
  if (!a->runner.open) return false;
  for (size_t i = 0; i < a->n_out; i++) {
    const size_t k = other_of(v, i);
    if (v->random[0][i] || (k < b->n_out && v->random[1][k])) continue;
    if (k < b->n_out && !surg__value_compare(&b->out[k], &a->out[i], t, &d) &&
        (!d.other_shape || both_empty(&b->out[k], &a->out[i])))
      return true;
  }
  return false;
}

static surg_status compare_all(verify *v, const surg__tolerance *t) {
  bool differs = false;
  surg_status s = SURG_OK;
  for (size_t i = 0; i < v->sides[0].n_out && s == SURG_OK; i++) s = compare(v, t, i, &differs);
  if (s != SURG_OK || !differs || !v->o->layers || v->report->layer.looked) return s;
  const surg__engine *const engines[2] = {v->sides[0].engine, v->sides[1].engine};
  const surg__array *const in[2] = {v->sides[0].in, v->sides[1].in};
  return surg__verify_layers(v->models, engines, in, t, v->o, &v->report->layer);
}

/* Runs the first model on the set: SURG_OK if its outputs are available. */
static surg_status run_first(verify *v, const set *how) {
  side *a = &v->sides[0];
  surg__maker maker = {.fill = how->fill,
                       .state = how->seed * 1000003 + (uint64_t)how->size,
                       .huge = v->o->huge,
                       .size = how->size,
                       .dim_of = size_of,
                       .user = v,
                       .most = SURG_LIMIT_MADE_UP};
  if (v->range) {
    maker.low = v->range->low;
    maker.high = v->range->high;
    maker.whole = v->range->whole;
  }
  surg_status s = ready(v, 0);
  if (s != SURG_OK) return s;
  s = surg__run_drawn(&a->runner, &maker, make_inputs, v, a->in, a->out, &v->made);
  if (s == SURG_OK || !v->varied) return s;
  v->steady = true;
  return surg__run_drawn(&a->runner, &maker, make_inputs, v, a->in, a->out, &v->made);
}

static surg_status run_second(verify *v) {
  side *b = &v->sides[1];
  const surg_status s = ready(v, 1);
  return s == SURG_OK ? surg__exec_run(&b->runner, b->in, b->out) : s;
}

static const char *why_not(const side *s, surg_status status) {
  return *s->runner.why ? s->runner.why : surg_status_name(status);
}

/* Whether only one of the models has an operator that is computed as its replacement: if the other
 * has the replacement itself, they are compared with what one was made from. The set then proves
 * nothing, and is not counted. */
static bool circular(verify *v) {
  const surg__exec *a = &v->sides[0].runner, *b = &v->sides[1].runner;
  surg__verify_report *r = v->report;
  if (a->marks == b->marks) return false;
  r->checked--;
  r->skipped++;
  if (!*r->skip_why)
    snprintf(r->skip_why, sizeof r->skip_why,
             "%.60s is computed by its replacement here, so equal results prove nothing",
             a->marks ? a->marked : b->marked);
  return true;
}

/* Runs and compares both models on one set. Only SURG_ENOMEM is returned as a failure; *first is
 * the status of the first model. */
static surg_status one_set(verify *v, const set *how, surg_status *first) {
  const bool adversarial = how->fill == SURG__FILL_ADVERSARIAL && v->o->adversarial;
  surg__verify_report *r = v->report;
  drop_shaken(v);
  drop(v->computed, v->sides[1].n_in);
  *first = run_first(v, how);
  v->turn++;
  if (*first == SURG_ENOMEM) return *first;
  if (*first != SURG_OK) {
    r->skipped++;
    if (!*r->skip_why)
      snprintf(r->skip_why, sizeof r->skip_why, "%.*s", (int)sizeof r->skip_why - 1,
               why_not(&v->sides[0], *first));
    return SURG_OK;
  }
  if (is_hidden(v)) return SURG_OK;
  hand_inputs(v);
  r->checked++;
  if (*r->failure) return SURG_OK;
  const surg_status s = run_second(v);
  if (s == SURG_ENOMEM) return s;
  if (s == SURG_EUNSUPPORTED && v->sides[1].runner.foreign) {
    r->checked--;
    r->skipped++;
    if (!*r->skip_why)
      snprintf(r->skip_why, sizeof r->skip_why, "not comparable: the second model: %.150s",
               why_not(&v->sides[1], s));
    return SURG_OK;
  }
  if (s != SURG_OK) {
    snprintf(r->failure, sizeof r->failure, "does not run: %.250s", why_not(&v->sides[1], s));
    return SURG_OK;
  }
  if (circular(v)) return SURG_OK;
  const surg__tolerance *t = adversarial ? v->o->adversarial : &v->o->tolerance;
  if (!left_open(v, t)) return compare_all(v, t);
  r->checked--;
  r->skipped++;
  if (!*r->skip_why)
    snprintf(r->skip_why, sizeof r->skip_why, "left open: %s", v->sides[0].runner.open);
  return SURG_OK;
}

/* --- all sets --- */

/* Runs all seeds and fills at one size. *ran: the first model ran at least once; *hopeless: no
 * other size helps. */
static surg_status one_size(verify *v, int64_t size, bool *ran, bool *hopeless) {
  static const surg__fill both[] = {SURG__FILL_RANDOM, SURG__FILL_ADVERSARIAL};
  const surg__fill *fills = v->o->fills ? v->o->fill : both;
  const size_t n_fills = v->o->fills ? v->o->fills : SURG_COUNT(both);
  const unsigned runs = v->o->runs ? v->o->runs : 1;
  for (unsigned k = 0; k < runs; k++)
    for (size_t f = 0; f < n_fills; f++) {
      const set how = {fills[f], size, v->o->seed + k};
      surg_status first;
      const surg_status s = one_set(v, &how, &first);
      if (s != SURG_OK) return s;
      *ran |= first == SURG_OK;
      *hopeless |= first == SURG_EUNSUPPORTED || first == SURG_ELIMIT;
      if (!v->made) return SURG_OK;            /* inputs are given, so there is only one set */
      if (*v->report->failure) return SURG_OK; /* further sets add nothing */
    }
  return SURG_OK;
}

/* Runs with different sizes for different symbols, which detects exchanged axes. */
static surg_status mixed_sizes(verify *v) {
  bool ran = false, hopeless = false;
  if (!v->o->mixed || v->n_symbols < 2) return SURG_OK;
  v->mixing = true;
  return one_size(v, 3, &ran, &hopeless);
}

/* Runs with one symbol large and the others small. Models that split audio into windows need a
 * length that is too large for a batch dimension of the same size. */
static surg_status one_large(verify *v) {
  static const int64_t sizes[] = {32, 512, 1024, 4096};
  bool hopeless = false;
  unsigned held = 0;
  for (size_t k = 1; k <= v->n_symbols && k <= ALONE && !held; k++)
    for (size_t i = 0; i < SURG_COUNT(sizes) && held < 2; i++) {
      bool ran = false;
      v->alone = k;
      const surg_status s = one_size(v, sizes[i], &ran, &hopeless);
      v->alone = 0;
      if (s != SURG_OK || (hopeless && !ran) || *v->report->failure) return s;
      held += ran;
    }
  return SURG_OK;
}

/* Runs at two sizes of open dimensions, the first that the model runs at: images must be larger
 * than the windows over them. Without open dimensions these are two seeds. */
static surg_status all_sets(verify *v) {
  static const int64_t sizes[] = {2, 3, 1, 4, 8, 16, 32, 64, 128, 256};
  unsigned held = 0;
  for (size_t i = 0; i < SURG_COUNT(sizes) && held < 2 && (i < 2 || v->open); i++) {
    bool ran = false, hopeless = false;
    const surg_status s = one_size(v, sizes[i], &ran, &hopeless);
    if (s != SURG_OK || (hopeless && !ran) || !v->made || *v->report->failure) return s;
    held += ran;
  }
  return held ? mixed_sizes(v) : v->open ? one_large(v) : SURG_OK;
}

bool surg__verify_informs(const surg__verify_output *o) {
  return !o->random && (o->varied || (!o->depends && (o->number || !o->any)));
}

/* Whether a common output is not informative so far. */
static bool some_dull(const verify *v) {
  for (size_t i = 0; i < v->report->n_outputs; i++) {
    const surg__verify_output *o = &v->report->outputs[i];
    if (!o->random && other_of(v, i) < v->sides[1].n_out && !surg__verify_informs(o)) return true;
  }
  return false;
}

/* Draws inputs from other ranges while outputs are all NaN or all equal. */
static surg_status draw_again(verify *v) {
  static const int64_t sizes[] = {2, 3, 8, 32, 64};
  surg__verify_report *r = v->report;
  surg_status s = SURG_OK;
  for (size_t k = 0; k < SURG_COUNT(other_ranges) && s == SURG_OK; k++) {
    if (!v->made || !r->checked || *r->failure || !some_dull(v)) return s;
    const unsigned skipped = r->skipped;
    bool ran = false, hopeless = false;
    v->range = &other_ranges[k];
    r->redrawn = true;
    for (size_t i = 0; i < SURG_COUNT(sizes) && s == SURG_OK && !ran && (!i || v->open); i++)
      s = one_size(v, sizes[i], &ran, &hopeless);
    v->range = NULL;
    r->skipped = skipped; /* these runs are extra */
  }
  return s;
}

static surg_status make_facts(verify *v) {
  const size_t n[2] = {v->sides[0].n_out, v->sides[1].n_out};
  for (int k = 0; k < 2; k++) v->random[k] = surg__calloc(v->ctx, n[k] + 1, sizeof(bool));
  v->depends = surg__calloc(v->ctx, n[0] + 1, sizeof(bool));
  if (!v->random[0] || !v->random[1] || !v->depends) return SURG_ENOMEM;
  surg__verify_depends(v->models[0], v->depends);
  return surg__verify_random(v->models, v->random);
}

static void judge(verify *v, surg_status s) {
  surg__verify_report *r = v->report;
  bool equal = true, comparable = false;
  for (size_t i = 0; r->outputs && i < r->n_outputs; i++) {
    const surg__verify_output *o = &r->outputs[i];
    equal = equal && !o->differs;
    comparable |= !o->random && other_of(v, i) < v->sides[1].n_out;
    r->informative |= surg__verify_informs(o);
  }
  /* A model without outputs cannot differ. */
  if (!comparable && r->n_outputs == 0) r->informative = true;
  if (comparable && !v->made) r->informative = true; /* all inputs are given */
  r->same = s == SURG_OK && r->checked > 0 && !*r->failure && equal && r->informative;
}

surg_status surg__verify(surg_model *a, surg_model *b, const surg__verify_options *options,
                         surg__verify_report *report) {
  verify v = {.ctx = surg_model_context(a), .o = options, .report = report, .models = {a, b}};
  *report = (surg__verify_report){.ctx = v.ctx};
  v.own = (surg__engine){.max_bytes = options->max_bytes,
                         .max_work = options->max_work,
                         .max_turns = options->max_turns,
                         .seed = options->no_random ? NULL : &options->seed,
                         .cancel = options->cancel,
                         .cancel_user = options->cancel_user};
  surg_status s = open_side(&v, 0);
  if (s == SURG_OK) s = open_side(&v, 1);
  if (s == SURG_OK) s = match(&v);
  if (s == SURG_OK) s = match_inner(&v);
  if (s == SURG_OK) s = make_facts(&v);
  if (s == SURG_OK) {
    report->n_outputs = v.sides[0].n_out;
    report->outputs = surg__calloc(v.ctx, report->n_outputs + 1, sizeof *report->outputs);
    for (size_t i = 0; report->outputs && i < report->n_outputs; i++)
      report->outputs[i] = (surg__verify_output){.value = surg_graph_output(v.sides[0].g, i),
                                                 .random = v.random[0][i],
                                                 .depends = v.depends[i],
                                                 .worst = {.cosine = 1}};
    s = report->outputs ? all_sets(&v) : SURG_ENOMEM;
    if (s == SURG_OK) s = draw_again(&v);
  }
  if (v.random[0] && v.random[1] && v.in_first && v.out_other) judge(&v, s);
  drop_shaken(&v);
  drop(v.computed, v.sides[1].n_in);
  surg__free(v.ctx, v.computed);
  surg__free(v.ctx, v.inner);
  close_side(&v, 0);
  close_side(&v, 1);
  surg__free(v.ctx, v.in_first);
  surg__free(v.ctx, v.out_other);
  for (int k = 0; k < 2; k++) surg__free(v.ctx, v.random[k]);
  surg__free(v.ctx, v.depends);
  for (size_t k = 0; k < SURG__SHAKES; k++) surg__free(v.ctx, v.shaken[k]);
  report->open_dims = v.open;
  return s;
}

void surg__verify_free(surg__verify_report *report) {
  if (report->ctx) surg__free(report->ctx, report->outputs);
  report->outputs = NULL;
}
