/* SPDX-License-Identifier: Apache-2.0 */
/* Passes of plugins in child processes (--isolate-plugins). The child is a copy of this process: it
 * runs the pass with all checks of the runner, writes the changed model to a temporary file by the
 * ordinary save, and sends what the pass reported through a pipe. This process loads the file. What
 * arrives is checked as any input, since the child may have overwritten its memory. */
#include <errno.h>
#include <stdio.h>

#include "base/child.h"
#include "base/os/os.h"
#include "io/io.h"
#include "pass/internal.h"

#define RECORD_MOST (1u << 20) /* bytes of one record */

/* Kinds of records that the child sends. */
enum { RECORD_LINE, RECORD_COUNTER, RECORD_NOTE, RECORD_UNDONE, RECORD_KEPT, RECORD_END };

typedef struct header {
  uint32_t kind, bytes; /* bytes that follow */
} header;

/* What follows the header, before the text. */
typedef struct line_head {
  int32_t severity, status;
} line_head;
typedef struct undone_head {
  uint32_t node, found;
} undone_head;

/* The last record: the result of the pass, and the report as it is then. */
typedef struct ending {
  int32_t status, used, worst, log_error;
  uint32_t did, changed, interface, limit_reached, timed_out;
  uint64_t runs, ns, rewrites, all_rewrites, n_notes, n_undone;
} ending;

typedef struct apart {
  surg__runner *r;
  const surg__pipeline_step *step;
  size_t report; /* index of the entry of the pass */
  size_t notes;  /* notes of the entry before this run */
  int model;     /* the temporary file */
  int out;       /* in the child: the pipe */
  surg__buf in;  /* in this process: what arrived of a record */
  bool ended, forgotten, no_memory;
  ending end;
  SURG_VEC(uint64_t) kept; /* nodes that --keep protects by their place, as next_node counts */
} apart;

/* The node after n in the order of the file; NULL: the first one. The saved model has the same
 * nodes in this order. */
static surg_node *next_node(const surg_model *m, const surg_node *n) {
  const surg_graph *g = n ? n->graph : surg_model_graph(m);
  if (n && n->next) return n->next;
  if (!n && g->first) return g->first;
  const surg_graph *root = g;
  while (root->parent_node) root = root->parent_node->graph;
  size_t f = 0;
  while (root != surg_model_graph(m) && surg_function_graph(surg_model_function(m, f)) != root) f++;
  if (root != surg_model_graph(m)) f++;
  for (;;) {
    g = surg_graph_next_inner(root, g);
    if (g && g->first) return g->first;
    if (g) continue;
    if (f == surg_model_function_count(m)) return NULL;
    root = surg_function_graph(surg_model_function(m, f++));
    if (root->first) return root->first;
    g = root;
  }
}

/* ---- the child ------------------------------------------------------------------------------- */

static void send(const apart *a, uint32_t kind, const void *head, size_t n_head, const char *text) {
  const size_t room = RECORD_MOST - n_head, n = text ? strlen(text) : 0;
  const header h = {kind, (uint32_t)(n_head + (n < room ? n : room))};
  surg__os_write(a->out, &h, sizeof h);
  surg__os_write(a->out, head, n_head);
  if (text) surg__os_write(a->out, text, h.bytes - n_head);
}

/* Sends a line of diagnostics. */
static void send_line(void *user, surg_severity severity, const char *line) {
  const apart *a = user;
  const line_head h = {(int32_t)severity, (int32_t)a->r->ctx->line_status};
  send(a, RECORD_LINE, &h, sizeof h, line);
}

static void send_report(const apart *a) {
  const surg__run_report *all = a->r->report;
  const surg__pass_report *p = &all->passes.items[a->report];
  for (size_t i = 0; i < p->counters.count; i++)
    send(a, RECORD_COUNTER, &p->counters.items[i].n, sizeof(uint64_t), p->counters.items[i].what);
  for (size_t i = a->notes; i < p->notes.count; i++)
    send(a, RECORD_NOTE, NULL, 0, p->notes.items[i]);
  for (size_t i = 0; i < all->undone.count; i++) {
    const surg__undone *u = &all->undone.items[i];
    const undone_head h = {u->node, u->found};
    if (u->step == a->step) send(a, RECORD_UNDONE, &h, sizeof h, u->text);
  }
}

static void send_end(const apart *a, surg_status s, bool did) {
  const surg__run_report *all = a->r->report;
  const surg__pass_report *p = &all->passes.items[a->report];
  const ending e = {.status = (int32_t)s,
                    .used = (int32_t)p->used,
                    .worst = (int32_t)all->worst,
                    .log_error = surg__log_flush(a->r->log),
                    .did = did,
                    .changed = p->changed,
                    .interface = all->interface,
                    .limit_reached = all->limit_reached,
                    .timed_out = a->r->timed_out,
                    .runs = p->runs,
                    .ns = p->ns,
                    .rewrites = p->rewrites,
                    .all_rewrites = all->rewrites,
                    .n_notes = p->n_notes,
                    .n_undone = all->n_undone};
  send(a, RECORD_END, &e, sizeof e, NULL);
}

/* Saves the changed model, and says which of its nodes are protected. */
static surg_status hand_over(const apart *a) {
  surg_model *m = a->r->model;
  uint64_t i = 0;
  surg_status s = SURG_OK;
  /* A graph out of order is sorted when it is loaded, and its nodes are counted in that order. */
  for (surg_graph *g = NULL; s == SURG_OK && (g = surg_model_next_graph(m, g));)
    if (a->r->options->n_keep) s = surg_graph_toposort(g, NULL);
  if (s == SURG_OK) s = surg__model_hand_over(m, a->model);
  if (s != SURG_OK || !a->r->options->n_keep) return s;
  for (const surg_node *n = next_node(m, NULL); n; n = next_node(m, n), i++)
    if (n->kept) send(a, RECORD_KEPT, &i, sizeof i, NULL);
  return s;
}

/* Runs the pass. Callbacks of the program stay in its own process. */
static void work(void *user, int out) {
  apart *a = user;
  surg__runner *r = a->r;
  surg__run_options options = *r->options;
  bool did = false;
  a->out = out;
  options.progress = NULL;
  options.print = NULL;
  options.cancel = NULL;
  r->options = &options;
  r->apart = true;
  r->ctx->config.diag = send_line;
  r->ctx->config.diag_user = a;
  r->ctx->config.cancel = NULL;
  surg_status s = surg__run_pass(r, a->step, &did);
  if (s == SURG_OK && did) s = hand_over(a);
  send_report(a);
  send_end(a, s, did);
}

/* ---- this process ---------------------------------------------------------------------------- */

static bool known_status(int32_t s) {
  return s <= SURG_OK && s >= SURG_ECANCELLED;
}

static bool take_line(const apart *a, const char *p, size_t n) {
  line_head h;
  if (n < sizeof h) return false;
  memcpy(&h, p, sizeof h);
  if ((uint32_t)h.severity > SURG_ERROR || !known_status(h.status)) return false;
  surg__diag_again(a->r->ctx, (surg_severity)h.severity, (surg_status)h.status, p + sizeof h);
  return true;
}

/* Replaces the report on the pass by what the child sends. */
static void forget(apart *a) {
  if (!a->forgotten) surg__report_forget(a->r->report, a->report, a->step);
  a->forgotten = true;
}

static bool take_counter(apart *a, const char *p, size_t n) {
  uint64_t count;
  if (n < sizeof count) return false;
  memcpy(&count, p, sizeof count);
  forget(a);
  if (!surg__report_count(a->r->report, a->report, p + sizeof count, count)) a->no_memory = true;
  return true;
}

static bool take_undone(apart *a, const char *p, size_t n) {
  undone_head h;
  if (n < sizeof h) return false;
  memcpy(&h, p, sizeof h);
  forget(a);
  const surg__undone one = {.step = a->step,
                            .pass = a->step->pass,
                            .text = (char *)(uintptr_t)(p + sizeof h),
                            .node = h.node != 0,
                            .found = h.found != 0};
  if (!surg__report_undone(a->r->report, &one)) a->no_memory = true;
  return true;
}

static bool take_kept(apart *a, const char *p, size_t n) {
  uint64_t i;
  if (n != sizeof i) return false;
  memcpy(&i, p, sizeof i);
  if (a->kept.count && i <= a->kept.items[a->kept.count - 1]) return false;
  if (!surg__vec_push(a->r->ctx, &a->kept, i)) a->no_memory = true;
  return true;
}

static bool take_end(apart *a, const char *p, size_t n) {
  if (n != sizeof a->end) return false;
  memcpy(&a->end, p, n);
  a->ended = true;
  return known_status(a->end.status) && (uint32_t)a->end.used <= SURG_LOSSY &&
         (uint32_t)a->end.worst <= SURG_LOSSY;
}

/* Handles a record whose n bytes are followed by a NUL. False: it is invalid. */
static bool take_record(apart *a, uint32_t kind, const char *p, size_t n) {
  if (a->ended) return false;
  switch (kind) {
    case RECORD_LINE:
      return take_line(a, p, n);
    case RECORD_COUNTER:
      return take_counter(a, p, n);
    case RECORD_NOTE:
      if (!surg__report_note(a->r->report, a->report, p)) a->no_memory = true;
      return true;
    case RECORD_UNDONE:
      return take_undone(a, p, n);
    case RECORD_KEPT:
      return take_kept(a, p, n);
    case RECORD_END:
      return take_end(a, p, n);
    default:
      return false;
  }
}

/* Collects bytes and handles the records that are complete. */
static bool take(void *user, const void *bytes, size_t n) {
  apart *a = user;
  header h;
  size_t at = 0;
  surg__buf_put(&a->in, bytes, n);
  surg__buf_putc(&a->in, 0); /* room for the NUL after the last record */
  if (!a->in.failed) a->in.n--;
  if (a->in.failed) return !(a->no_memory = true);
  while (a->in.n - at >= sizeof h) {
    memcpy(&h, a->in.p + at, sizeof h);
    if (h.bytes > RECORD_MOST) return false;
    if (a->in.n - at - sizeof h < h.bytes) break;
    char *text = a->in.p + at + sizeof h, *end = text + h.bytes;
    const char after = *end;
    *end = 0;
    const bool ok = take_record(a, h.kind, text, h.bytes);
    *end = after;
    if (!ok) return false;
    at += sizeof h + h.bytes;
  }
  memmove(a->in.p, a->in.p + at, a->in.n - at);
  a->in.n -= at;
  return true;
}

static bool stop(void *user) {
  return surg__run_late(((apart *)user)->r);
}

/* Takes over the report on the pass. */
static void adopt_report(apart *a) {
  surg__run_report *all = a->r->report;
  surg__pass_report *p = &all->passes.items[a->report];
  const ending *e = &a->end;
  forget(a);
  p->used = (surg_exactness)e->used;
  p->changed = e->changed != 0;
  p->runs = e->runs;
  p->ns = e->ns;
  p->rewrites = e->rewrites;
  p->n_notes = e->n_notes > p->notes.count ? e->n_notes : p->notes.count;
  all->worst = (surg_exactness)e->worst;
  all->interface = e->interface != 0;
  all->limit_reached = e->limit_reached != 0;
  all->rewrites = e->all_rewrites;
  all->n_undone = e->n_undone;
  if (e->timed_out) a->r->timed_out = true;
  surg__log_failed(a->r->log, e->log_error);
}

/* Marks the protected nodes of the changed model. False: there is no such node. */
static bool mark_kept(const apart *a, surg_model *m) {
  uint64_t i = 0;
  size_t k = 0;
  for (surg_node *n = next_node(m, NULL); n && k < a->kept.count; n = next_node(m, n), i++)
    if (i == a->kept.items[k]) n->kept = true, k++;
  return k == a->kept.count;
}

/* The changed model replaces that of the run. */
static surg_status adopt_model(apart *a) {
  surg__runner *r = a->r;
  surg_model *m = NULL;
  surg__mute mute;
  surg__mute_begin(r->ctx, &mute); /* notes and warnings of the first load */
  surg_status s = surg__model_take_over(r->model, a->model, &m);
  surg__mute_end(&mute);
  a->model = -1;
  if (s != SURG_OK) return s;
  if (!mark_kept(a, m)) {
    surg_model_free(m);
    return surg__misbehaved(r, a->step->pass, "sent an invalid result");
  }
  if (!surg__log_restart(r->log, m)) {
    surg_model_free(m);
    return surg__oom(r->ctx, surg_model_path(r->model));
  }
  surg_model_free(r->model);
  r->model = m;
  r->sorted = false;
  if (r->options->keep_weights) surg__pin_weights(m);
  return surg__check_after(r, a->step->pass, NULL);
}

/* The status of a child that ended without a result. */
static surg_status blame(const apart *a, const surg__copy_end *how) {
  surg__runner *r = a->r;
  const surg_pass *pass = a->step->pass;
  char what[64];
  if (a->no_memory) return surg__oom(r->ctx, surg_model_path(r->model));
  if (r->timed_out && surg_context_error(r->ctx)) return r->ctx->error_status;
  if (r->timed_out) return surg__stopped(r, pass);
  if (how->fault) return surg__misbehaved(r, pass, how->fault);
  if (how->stopped) return surg__misbehaved(r, pass, "sent an invalid result");
  snprintf(what, sizeof what, "ended its process (exit, or exit code %d)", how->code);
  return surg__misbehaved(r, pass, how->code == SURG__COPY_EXIT ? "called exit" : what);
}

static surg_status finish(apart *a, const surg__copy_end *how, bool *changed) {
  surg__runner *r = a->r;
  if (how->stopped || !how->done || !a->ended || a->no_memory) return blame(a, how);
  adopt_report(a);
  if (a->end.status != SURG_OK) {
    const surg_status s = (surg_status)a->end.status;
    return surg_context_error(r->ctx) ? s : surg__misbehaved(r, a->step->pass, "failed");
  }
  surg_status s = a->end.did ? adopt_model(a) : SURG_OK;
  if (s == SURG_OK && a->no_memory) s = surg__oom(r->ctx, surg_model_path(r->model));
  if (s != SURG_OK) return s;
  *changed |= a->end.did != 0;
  surg__print_after(r, a->step->pass, a->end.did != 0);
  return SURG_OK;
}

surg_status surg__run_apart(surg__runner *r, const surg__pipeline_step *step, bool *changed) {
  apart a = {.r = r, .step = step, .model = -1};
  surg__copy_end how = {0};
  if (r->options->map_path)
    return surg__error(r->ctx, SURG_EUSAGE, "--map",
                       "names are not followed into a child process; leave --map or "
                       "--isolate-plugins out");
  if (!surg__report_entry(r->report, step->pass, &a.report)) return surg__oom(r->ctx, NULL);
  a.notes = r->report->passes.items[a.report].notes.count;
  if (r->options->progress) r->options->progress(r->options->progress_user, step->pass->name);
  surg_context_clear_error(r->ctx);
  surg__log_flush(r->log); /* the child writes to the same file */
  const surg__copy copy = {.work = work, .take = take, .stop = stop, .user = &a};
  surg__buf_init(&a.in, r->ctx);
  int err = surg__os_temp(&a.model);
  if (!err) err = surg__os_copy(&copy, &how);
  surg_status s = err ? surg__error(r->ctx, SURG_EIO, surg_model_path(r->model),
                                    "%s cannot run in a child process: %s",
                                    surg__pass_title(r, step->pass), strerror(err))
                      : finish(&a, &how, changed);
  if (a.model >= 0) surg__os_close(a.model);
  surg__buf_free(&a.in);
  surg__vec_free(r->ctx, &a.kept);
  if (s != SURG_OK) r->report->failed = step->pass->name;
  return s;
}
