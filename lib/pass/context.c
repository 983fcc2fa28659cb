/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that a pass calls while it runs. Those that read options are in options.c. */
#include "base/os/os.h"
#include "ir/ir.h" /* for surg__locate_node and surg_node.kept only */
#include "pass/internal.h"

surg_model *surg_pass_model(const surg_pass_ctx *p) {
  return p ? p->run->model : NULL;
}

void *surg_pass_user(const surg_pass_ctx *p) {
  return p ? p->pass->user : NULL;
}

surg_context *surg_pass_context(const surg_pass_ctx *p) {
  return p ? p->run->ctx : NULL;
}

bool surg_pass_keeps_value(const surg_pass_ctx *p, const surg_value *v) {
  if (!p || !v || p->run->options->n_keep == 0) return false;
  const surg_node *n = surg_value_producer(v, NULL);
  return (n && n->kept) || surg__keep_name(&p->run->keep, surg_value_name(v));
}

bool surg_pass_keeps_node(const surg_pass_ctx *p, const surg_node *n) {
  if (!p || !n || p->run->options->n_keep == 0) return false;
  const surg__keep *k = &p->run->keep;
  if (n->kept || surg__keep_name(k, surg_node_name(n)) || surg__keep_op(k, n)) return true;
  for (size_t i = 0; i < surg_node_output_count(n); i++)
    if (surg_pass_keeps_value(p, surg_node_output(n, i))) return true;
  return false;
}

bool surg__run_late(surg__runner *r) {
  const surg__run_options *o = r->options;
  if (r->deadline && !r->timed_out && surg__os_now_ns() > r->deadline) r->timed_out = true;
  if (!r->cancelled && ((o->cancel && o->cancel(o->cancel_user)) || surg__cancelled(r->ctx)))
    r->timed_out = r->cancelled = true;
  return r->timed_out;
}

bool surg_pass_allow(surg_pass_ctx *p) {
  if (!p || surg_model_status(p->run->model)) return false;
  surg__runner *r = p->run;
  if (surg__run_late(r)) return false;
  if (r->options->has_rewrite_limit && r->report->rewrites >= r->options->rewrite_limit) {
    r->report->limit_reached = true;
    return false;
  }
  r->report->rewrites++;
  r->report->passes.items[p->report].rewrites++;
  r->ctx->last_rule = NULL; /* until a rule says that it is its rewrite */
  return true;
}

void surg_pass_give_back(surg_pass_ctx *p) {
  if (!p || !p->run->report->passes.items[p->report].rewrites) return;
  p->run->report->rewrites--;
  p->run->report->passes.items[p->report].rewrites--;
}

/* Appends a sentence with its quotes. Other bytes that are unsafe in a terminal are escaped. */
static void put_sentence(surg__buf *b, const char *text) {
  static const char own[] = "\"\\";
  while (*text) {
    const size_t n = strcspn(text, own);
    surg__buf_escape(b, text, n, 0);
    text += n;
    if (*text) surg__buf_putc(b, *text++);
  }
}

/* "where: text", prefixed with the location of the node if there is one. Heap; NULL: out of
 * memory. */
static char *located(surg_pass_ctx *p, const surg_node *at, const char *text) {
  surg__buf b;
  surg__buf_init(&b, p->run->ctx);
  if (at) surg__buf_printf(&b, "%s: ", surg__locate_node(at));
  put_sentence(&b, text);
  if (b.failed) surg__buf_free(&b);
  return b.p;
}

static surg_pass_result fail(surg_pass_ctx *p, surg_status status, const surg_node *at,
                             const char *text) {
  surg_context *ctx = p->run->ctx;
  /* Report lack of memory as such, even if the pass gives another reason. */
  p->no_memory |= ctx->alloc_status == SURG_ENOMEM;
  if (p->no_memory) return SURG_PASS_FAILED;
  char *line = located(p, at, text ? text : "failed");
  if (line)
    surg__error(ctx, status, surg_model_path(p->run->model), "%s: %s",
                surg__pass_title(p->run, p->pass), line);
  else
    p->no_memory = true;
  surg__free(ctx, line);
  if (!p->failed) p->failed = status;
  return SURG_PASS_FAILED;
}

surg_pass_result surg_pass_fail(surg_pass_ctx *p, const surg_node *at, const char *text) {
  return p ? fail(p, SURG_EINVALID, at, text) : SURG_PASS_FAILED;
}

surg_pass_result surg_pass_usage(surg_pass_ctx *p, const char *text) {
  return p ? fail(p, SURG_EUSAGE, NULL, text) : SURG_PASS_FAILED;
}

void surg_pass_note(surg_pass_ctx *p, const surg_node *at, const char *text) {
  if (!p || !text) return;
  surg__runner *r = p->run;
  surg__pass_report *report = &r->report->passes.items[p->report];
  if (report->n_notes >= SURG__NOTES) at = NULL; /* locating a node is linear in its position */
  char *line = located(p, at, text);
  if (!line || !surg__report_note(r->report, p->report, line)) p->no_memory = true;
  if (line) surg__log_note(r->log, line);
  surg__free(r->ctx, line);
}

void surg_pass_named(surg_pass_ctx *p, const char *what, bool found) {
  if (!p || !what) return;
  surg__buf b;
  surg__buf_init(&b, p->run->ctx);
  put_sentence(&b, what);
  surg__buf_putc(&b, 0);
  const surg__undone one = {.step = p->step, .pass = p->pass, .text = b.p, .found = found};
  if (b.failed || !surg__report_undone(p->run->report, &one)) p->no_memory = true;
  surg__buf_free(&b);
}

void surg_pass_left(surg_pass_ctx *p, const surg_node *at, const char *why) {
  if (!p || !why) return;
  surg__run_report *report = p->run->report;
  if (report->n_undone >= SURG__NOTES) at = NULL; /* locating a node is linear in its position */
  char *text = located(p, at, why);
  const surg__undone one = {.step = p->step, .pass = p->pass, .text = text, .node = true};
  if (!text || !surg__report_undone(report, &one)) p->no_memory = true;
  if (text) surg__log_note(p->run->log, text);
  surg__free(p->run->ctx, text);
}

void surg_pass_count(surg_pass_ctx *p, const char *what, uint64_t by) {
  if (p && what && !surg__report_count(p->run->report, p->report, what, by)) p->no_memory = true;
}

uint64_t surg_pass_counted(const surg_pass_ctx *p, const char *what) {
  if (!p || !what) return 0;
  const surg__pass_report *r = &p->run->report->passes.items[p->report];
  for (size_t i = 0; i < r->counters.count; i++)
    if (strcmp(r->counters.items[i].what, what) == 0) return r->counters.items[i].n;
  return 0;
}

void surg_pass_used(surg_pass_ctx *p, surg_exactness e) {
  if (!p || (unsigned)e > SURG_LOSSY) return;
  p->told_used = true;
  if (e > p->used) p->used = e;
  if (e > p->needs) p->needs = e;
}

surg_status surg__pass_shelter(surg_pass_ctx *p) {
  const surg_status s = p->sheltered ? SURG_OK : surg_model_shelter(surg_pass_model(p));
  p->sheltered = s == SURG_OK;
  return s;
}

void surg__pass_used_own(surg_pass_ctx *p, surg_exactness e) {
  const surg_exactness needs = p->needs;
  surg_pass_used(p, e);
  if (!surg__pass_limited(p)) p->needs = needs;
}

static bool declares(const surg_pass_ctx *p, const char *option) {
  const surg_pass *pass = p->run->report->passes.items[p->report].pass;
  for (size_t i = 0; i < pass->option_count; i++)
    if (strcmp(pass->options[i].name, option) == 0) return true;
  return false;
}

/* Reads the option `allow` of the pass; *given: set by the user, not a default. */
static bool own_limit(const surg_pass_ctx *p, surg_exactness *out, bool *given) {
  const surg_pass *pass = p->pass;
  for (size_t i = 0; i < pass->option_count; i++) {
    const surg__optval *v = &p->step->options[i];
    if (strcmp(pass->options[i].name, "allow") != 0 || !v->s) continue;
    *given = v->given;
    return surg__exactness_from_name(v->s, out);
  }
  return false;
}

static surg_exactness least(surg_exactness a, surg_exactness b) {
  return a < b ? a : b;
}

surg_exactness surg__pass_limit(const surg_pass_ctx *p) {
  const surg__runner *r = p->run;
  surg_exactness own = SURG_LOSSY;
  bool given = false;
  const bool has_own = own_limit(p, &own, &given);
  surg_exactness most = SURG_ROUNDING;
  if (r->options->has_allow)
    most = r->options->allow;
  else if (given || r->has_allow || p->pass->edits)
    most = SURG_LOSSY; /* the pipeline consents */
  if (has_own) most = least(most, own);
  return r->has_allow ? least(most, r->allow) : most;
}

bool surg__pass_limited(const surg_pass_ctx *p) {
  surg_exactness own;
  bool given = false;
  if (own_limit(p, &own, &given) && given) return true;
  return p->run->options->has_allow || p->run->has_allow;
}

bool surg_pass_allows(const surg_pass_ctx *p, surg_exactness e) {
  return p && e <= surg__pass_limit(p);
}

bool surg_pass_keeps_copy(const surg_pass_ctx *p, const surg_tensor *t) {
  if (!p || !t || !declares(p, "max-growth")) return false;
  const int64_t most = surg_pass_int(p, "max-growth");
  const bool fits = most > 0 && surg_tensor_bytes(t) <= (uint64_t)most;
  if (!fits) p->run->report->grows = true;
  return fits;
}

void *surg_pass_alloc(surg_pass_ctx *p, size_t n) {
  if (!p) return NULL;
  void *out = surg__arena_zalloc(&p->scratch, n ? n : 1);
  if (!out) p->no_memory = true;
  return out;
}

static const char *name_at(const void *list, size_t i) {
  return ((const char *const *)list)[i];
}

const char *surg_pass_nearest(const char *name, const char *const *list, size_t n) {
  return name && list && n ? surg__nearest(name, list, n, name_at) : NULL;
}

const char *surg_pass_nearest_value(surg_pass_ctx *p, const surg_graph *g, const char *name) {
  if (!p || !g || !name) return NULL;
  surg_context *ctx = p->run->ctx;
  SURG_VEC(const char *) names = {0};
  const char *best = NULL;
  bool ok = true;
  for (const surg_value *v = surg_graph_next_value(g, NULL); v && ok;
       v = surg_graph_next_value(g, v))
    if (*surg_value_name(v)) ok = surg__vec_push(ctx, &names, surg_value_name(v));
  if (ok && names.count) best = surg__nearest(name, names.items, names.count, name_at);
  if (!ok) p->no_memory = true;
  surg__vec_free(ctx, &names);
  return best;
}
