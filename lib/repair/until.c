/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for a repair by running an importer. Cures are, in this order: those of a known message,
 * a repair for the target's objections, and passes that often help. A change is kept if the
 * importer then accepts the model or prints a new message. At the end each change is removed if the
 * importer accepts the model without it. */
#include "repair/until.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/diag.h"
#include "base/os/os.h"
#include "pass/pass.h"

/* Pipelines that often help when the message is unknown, roughly the smallest change first. */
static const char *const families[] = {"mend",         "prune",        "ir{to=8}",
                                       "ir{to=7}",     "opset{to=17}",
                                       "opset{to=15}", "opset{to=13}",
                                       "opset{to=12}", "opset{to=11}",
                                       "opset{to=9}",  "fold,prune",
                                       "inline,prune", "fold{max-growth=inf},prune",
                                       "simplify",     "opset{to=11},simplify"};

/* --- running the importer --- */

static uint64_t hash_of(const surg__until *u, const char *text) {
  return surg__hash(u->ctx, text, strlen(text));
}

/* Whether the importer accepts the file; if not, *why is its message, to free(). *ran is false if
 * the importer cannot be run. */
static bool ask_file(surg__until *u, const char *path, char **why, bool *ran) {
  surg__importer_case c = {.file = path};
  *why = NULL;
  u->asked++;
  *ran = surg__importer_ask(u->im, &c, 1) == SURG_OK && c.asked;
  *why = c.why;
  return *ran && c.taken;
}

static bool ask_model(surg__until *u, surg_model *m, char **why, bool *ran) {
  char path[4200];
  const surg_save_options save = {.size = sizeof save, .no_fsync = true};
  snprintf(path, sizeof path, "%s/candidate.onnx", u->im->folder);
  *why = NULL;
  *ran = true;
  const surg_status s = surg_model_save(m, path, &save);
  if (s == SURG_EIO || s == SURG_ENOMEM) u->failure = s;
  if (s != SURG_OK) {
    if (s != SURG_EIO) surg_context_clear_error(u->ctx);
    return false;
  }
  const bool taken = ask_file(u, path, why, ran);
  surg__os_unlink(path);
  char data[4300];
  snprintf(data, sizeof data, "%s.data", path);
  surg__os_unlink(data);
  return taken;
}

/* --- trying --- */

static void note_refused(surg__until *u, const char *pipeline, surg__consent needed) {
  if (needed.most > u->wanted.most) u->wanted.most = needed.most;
  u->wanted.interface |= needed.interface;
  for (size_t i = 0; i < u->refused.count; i++)
    if (!strcmp(u->refused.items[i], pipeline)) return;
  char *copy = strdup(pipeline);
  if (copy && !surg__vec_push(u->ctx, &u->refused, copy)) free(copy);
}

/* A copy of the model after a pipeline; NULL: it fails, changes nothing, or requires more consent,
 * which is recorded. */
static surg_model *changed(surg__until *u, surg_model *from, const char *pipeline,
                           surg__consent *needed) {
  surg_model *copy = surg_model_clone(from);
  if (!copy) u->failure = SURG_ENOMEM;
  if (!copy) return NULL;
  const uint64_t epoch = surg_model_epoch(copy);
  const surg_status s = surg__repair_run(u->ctx, &copy, pipeline, u->given, false, needed);
  const bool good = s == SURG_OK;
  if (s == SURG_ENOMEM) u->failure = s;
  const bool may = good && surg__repair_covers(u->given, *needed);
  if (good && !may) note_refused(u, pipeline, *needed);
  if (may && surg_model_epoch(copy) != epoch) return copy;
  if (copy) surg_model_free(copy);
  return NULL;
}

static bool was_said(const surg__until *u, uint64_t h) {
  for (size_t i = 0; i < u->said.count; i++)
    if (u->said.items[i] == h) return true;
  return false;
}

static bool spent(const surg__until *u) {
  return u->failure || u->asked >= SURG__UNTIL_ASKED || u->steps.count >= SURG__UNTIL_STEPS ||
         surg__child_cancelled(&u->im->child);
}

/* Applies a pipeline and keeps the change if the importer then accepts the model or prints a new
 * message. */
static bool try_cure(surg__until *u, const char *pipeline) {
  surg__consent needed = {SURG_EXACT, false};
  if (spent(u)) return false;
  surg_model *copy = changed(u, u->m, pipeline, &needed);
  if (!copy) return false;
  char *why;
  bool ran;
  const bool taken = ask_model(u, copy, &why, &ran);
  const uint64_t h = why ? hash_of(u, why) : 0;
  const surg__until_step step = {strdup(pipeline), u->last ? strdup(u->last) : NULL, needed};
  if (!ran || (!taken && (!why || was_said(u, h))) || !step.pipeline ||
      !surg__vec_push(u->ctx, &u->steps, step)) {
    free(step.pipeline);
    free(step.why);
    free(why);
    surg_model_free(copy);
    return false;
  }
  if (why) (void)surg__vec_push(u->ctx, &u->said, h);
  surg_model_free(u->m);
  u->m = copy;
  u->taken = taken;
  free(u->last);
  u->last = why;
  return true;
}

/* --- cures --- */

/* Applies the repair that a search for target `t` finds. */
static bool cure_target(surg__until *u, const surg__target *t) {
  surg__repair search;
  surg__repair_counts before, after;
  surg_model *copy = surg_model_clone(u->m);
  if (!copy) return false;
  surg__repair_init(&search, u->ctx, t, copy, u->given);
  bool done = surg__repair_find(&search, &before, &after) == SURG_OK && search.pipeline.n &&
              try_cure(u, search.pipeline.p);
  if (search.failure) u->failure = search.failure;
  if (search.refused.n) note_refused(u, search.refused.p, search.wanted);
  surg__repair_free(&search);
  return done;
}

static bool cure_message(surg__until *u) {
  surg__explanations found = {0};
  bool done = false;
  u->known = false;
  const surg_status s =
      surg__messages_explain(u->messages, u->last, strlen(u->last), NULL, &found);
  if (s != SURG_OK) {
    u->failure = s;
    surg__explanations_free(&found);
    return false;
  }
  for (size_t i = 0; i < found.items.count && !done; i++) {
    const surg__explained *e = &found.items.items[i];
    if (!e->message->general) u->known = true;
    for (size_t k = 0; k < e->passes.n && !done; k++) done = try_cure(u, e->passes.items[k]);
    surg__target *t = done ? NULL : surg__explained_target(u->ctx, e);
    if (t) done = cure_target(u, t);
    surg__target_free(t);
  }
  surg__explanations_free(&found);
  return done;
}

static bool cure_families(surg__until *u) {
  for (size_t i = 0; i < SURG_COUNT(families); i++)
    if (try_cure(u, families[i])) return true;
  return false;
}

static bool one_step(surg__until *u) {
  return cure_message(u) || (u->target && cure_target(u, u->target)) || cure_families(u);
}

/* --- removing unnecessary steps --- */

void surg__until_pipeline(const surg__until *u, surg__buf *out) {
  for (size_t i = 0; i < u->steps.count; i++)
    surg__buf_printf(out, "%s%s", i ? "," : "", u->steps.items[i].pipeline);
}

static surg_status load(surg__until *u, surg_model **m) {
  surg_load_options any = *u->load;
  any.policy = SURG_LOAD_LENIENT;
  return surg_model_load(u->ctx, u->in, &any, m);
}

/* The model after all steps but one; NULL: the importer rejects it. */
static surg_model *without(surg__until *u, size_t left_out) {
  surg_model *m = NULL;
  if (load(u, &m) != SURG_OK) return NULL;
  for (size_t i = 0; i < u->steps.count && m; i++) {
    surg__consent needed;
    if (i != left_out)
      (void)surg__repair_run(u->ctx, &m, u->steps.items[i].pipeline, u->given, false, &needed);
  }
  char *why = NULL;
  bool ran, taken = m && ask_model(u, m, &why, &ran);
  free(why);
  if (taken || !m) return m;
  surg_model_free(m);
  return NULL;
}

/* Removes steps that later ones have made unnecessary. Steps that mend the model or set sizes are
 * kept. */
static void minimise(surg__until *u) {
  for (size_t i = u->kept; u->steps.count > 1 && i < u->steps.count && !spent(u);) {
    surg_model *m = without(u, i);
    if (!m) {
      i++;
      continue;
    }
    surg_model_free(u->m);
    u->m = m;
    free(u->steps.items[i].pipeline);
    free(u->steps.items[i].why);
    memmove(&u->steps.items[i], &u->steps.items[i + 1],
            (--u->steps.count - i) * sizeof *u->steps.items);
  }
}

/* Fixes the sizes that the user gives, before all cures. They need no other consent. */
static surg_status give_sizes(surg__until *u) {
  const char *none = surg__repair_no_size(u->m, u->sizes);
  const surg__consent given = u->given;
  surg__until_step step = {.pipeline = NULL};
  surg_model *m = NULL;
  surg__buf text;
  bool ran;
  if (none) {
    return surg__error(u->ctx, SURG_EUSAGE, "onnxsurg",
                       "--dim: no input has a dynamic dimension %s",
                       none);
  }
  surg__buf_init(&text, u->ctx);
  u->given = SURG__ALL_CONSENT;
  if (surg__repair_freeze(u->m, u->sizes, SURG__GUESS_NONE, &text))
    m = changed(u, u->m, text.p, &step.needed);
  u->given = given;
  step.needed = (surg__consent){SURG_EXACT, false};
  step.pipeline = m ? strdup(text.p) : NULL;
  step.why = m ? strdup("the sizes that are given") : NULL;
  surg__buf_free(&text);
  const bool sized = step.pipeline && surg__vec_push(u->ctx, &u->steps, step);
  u->kept = u->steps.count;
  if (!sized) {
    free(step.pipeline);
    free(step.why);
    if (m) surg_model_free(m);
    if (u->failure) return u->failure;
    return surg__error(u->ctx, SURG_EUSAGE, "onnxsurg", "--dim: the model cannot have these sizes");
  }
  surg_model_free(u->m);
  u->m = m;
  free(u->last);
  u->taken = ask_model(u, m, &u->last, &ran);
  return SURG_OK;
}

/* Cures the defects of an invalid model: exactly if possible, otherwise with the given consent. All
 * later steps depend on this one, so it is kept whatever the importer answers. */
static surg_status mend_first(surg__until *u) {
  const surg__consent certain = {SURG_EXACT, u->given.interface};
  const surg__consent *const ways[] = {&certain, &u->given};
  const char *text = u->given.interface ? "mend{interface}" : "mend";
  surg__until_step step = {.pipeline = NULL};
  surg_status s = SURG_EINVALID;
  bool ran;
  for (size_t i = 0; i < SURG_COUNT(ways) && s == SURG_EINVALID; i++) {
    if (!u->m && load(u, &u->m) != SURG_OK) break;
    s = surg__repair_run(u->ctx, &u->m, text, *ways[i], false, &step.needed);
  }
  u->invalid = s == SURG_EINVALID;
  if (s != SURG_OK) return s;
  /* The correction of a wrong declaration does not change the interface. */
  step.needed.interface &= u->given.interface;
  step.pipeline = strdup(text);
  step.why = strdup("the model is invalid");
  if (!step.pipeline || !step.why || !surg__vec_push(u->ctx, &u->steps, step)) {
    free(step.pipeline);
    free(step.why);
    return SURG_ENOMEM;
  }
  u->kept = u->steps.count;
  free(u->last);
  u->taken = ask_model(u, u->m, &u->last, &ran);
  return SURG_OK;
}

surg_status surg__until_find(surg__until *u) {
  bool ran;
  u->taken = ask_file(u, u->in, &u->last, &ran);
  if (!ran) return surg_context_error(u->ctx) ? u->ctx->error_status : SURG_EUSAGE;
  surg_status s = load(u, &u->m);
  u->first = u->last ? strdup(u->last) : NULL;
  if (s == SURG_OK && !u->taken && surg_model_open_findings(u->m)) s = mend_first(u);
  if (s == SURG_OK && u->sizes && u->sizes->n) s = give_sizes(u);
  if (s != SURG_OK || u->taken) return s;
  if (u->last) (void)surg__vec_push(u->ctx, &u->said, hash_of(u, u->last));
  while (!u->taken && u->last && one_step(u)) continue;
  if (u->taken) minimise(u);
  return u->failure;
}

void surg__until_free(surg__until *u) {
  if (u->m) surg_model_free(u->m);
  for (size_t i = 0; i < u->steps.count; i++) {
    free(u->steps.items[i].pipeline);
    free(u->steps.items[i].why);
  }
  for (size_t i = 0; i < u->refused.count; i++) free(u->refused.items[i]);
  surg__vec_free(u->ctx, &u->steps);
  surg__vec_free(u->ctx, &u->refused);
  surg__vec_free(u->ctx, &u->said);
  free(u->first);
  free(u->last);
}
