/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a model after a pass of a plugin or an edit: an error of loading or of `check` that it did
 * not have before is the fault of the pass. So are two nodes of one name after an edit of a model
 * that had none: ONNX leaves that open, engines reject it. */
#include <onnxsurg/check.h>
#include <onnxsurg/names.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/io.h"
#include "pass/internal.h"

#define DOUBLED_NAME "W212"
#define NO_RUN "W206"     /* no run of the node can succeed */
#define BELIEVED "W227"   /* a declared shape contradicts a node: engines reject that */
#define ERRORS_TEXT 2000u /* errors that are compared by their text; further ones by their code */

/* Collects the errors of a model. With `before`, the first one that it does not contain is kept. */
typedef struct collecting {
  surg_context *ctx;
  surg__errors *out;
  const surg__errors *before;
  bool failed, *matched; /* matched[i]: error i of `before` is still there */
  bool names;            /* two nodes of one name count as an error */
  bool runs;             /* a node that cannot run, too */
  size_t next;           /* the error after the last match: errors come in the order of nodes */
  char *line;
  size_t room;
} collecting;

/* Finds an error of `before` with this hash that is not matched yet. O(1) while the order of errors
 * is the same. */
static bool match(collecting *c, uint64_t hash) {
  const size_t n = c->before->hashes.count;
  for (size_t k = 0; k < n; k++) {
    const size_t i = c->next + k < n ? c->next + k : c->next + k - n;
    if (c->before->hashes.items[i] != hash || c->matched[i]) continue;
    c->matched[i] = true;
    c->next = i + 1;
    return true;
  }
  return false;
}

/* Adds an error, or compares it. `where` NULL: that of the node (NULL: the model). */
static void take(collecting *c, const char *code, const char *text, const char *where,
                 const surg_node *n) {
  if (c->failed) return;
  uint64_t hash = surg__hash(c->ctx, code, strlen(code));
  if (text) hash = hash * 31 + surg__hash(c->ctx, text, strlen(text));
  if (!c->before) {
    if (!surg__vec_push(c->ctx, &c->out->hashes, hash)) c->failed = true;
  } else if (!c->line[0] && !match(c, hash)) {
    if (!where) where = n ? surg_node_where(n) : "model";
    snprintf(c->line, c->room, "%s: %s [%s]", where, text ? text : "error", code);
  }
}

static void collect(void *user, const surg_check_finding *f) {
  collecting *c = user;
  if (strcmp(f->code, DOUBLED_NAME) == 0 && !c->before) c->out->doubled_names = true;
  bool error = f->severity == SURG_ERROR;
  if (c->names && strcmp(f->code, DOUBLED_NAME) == 0) error = true;
  if ((c->runs || !c->before) && (!strcmp(f->code, NO_RUN) || !strcmp(f->code, BELIEVED)))
    error = true;
  if (error && !f->loaded) take(user, f->code, f->text, f->where, NULL);
}

static void judge(void *user, const surg_node *n, const char *code, const char *text) {
  take(user, code, text, NULL, n);
}

/* Reports all errors to `c`. */
static surg_status find_all(surg_model *m, collecting *c) {
  const surg_status s = surg__model_judge(m, judge, c);
  return s == SURG_OK ? surg_check(m, ERRORS_TEXT, collect, c, NULL) : s;
}

surg_status surg__errors_collect(surg_model *m, surg__errors *out) {
  collecting c = {.ctx = surg_model_context(m), .out = out};
  const surg_status s = find_all(m, &c);
  if (s != SURG_OK) return s;
  return c.failed ? surg__oom(c.ctx, surg_model_path(m)) : SURG_OK;
}

surg_status surg__errors_compare(surg_model *m, const surg__errors *before, bool edit, char *line,
                                 size_t room) {
  surg_context *ctx = surg_model_context(m);
  collecting c = {.ctx = ctx, .before = before, .line = line, .room = room};
  c.names = edit && !before->doubled_names;
  c.runs = edit;
  line[0] = 0;
  c.matched = surg__calloc(ctx, before->hashes.count + 1, sizeof *c.matched);
  if (!c.matched) return surg__oom(ctx, surg_model_path(m));
  const surg_status s = find_all(m, &c);
  surg__free(ctx, c.matched);
  return s;
}
