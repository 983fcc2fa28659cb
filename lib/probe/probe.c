/* SPDX-License-Identifier: Apache-2.0 */
/* Probes an importer in rounds of questions and returns the target learned from the answers. */
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/diag.h"
#include "base/hush.h"
#include "base/os/os.h"
#include "probe/probe.h"

#define BASES_MAX 5u /* most bases of a version beside the first */

static bool late(const surg__probe *p) {
  return surg__child_cancelled(&p->im->child) ||
         (p->deadline_ns && surg__os_now_ns() > p->deadline_ns);
}

bool surg__probe_left(const surg__probe *p, size_t i) {
  const surg__probe_case *c = &p->cases.items[i];
  return !c->asked && !c->impossible && (i >= p->asked || c->placed);
}

/* Generates the model of a case and saves it at `path`. False: no such model exists, or p->failure
 * is set. */
static bool place(surg__probe *p, surg__probe_case *c, const char *path) {
  const surg__hush hush = surg__hush_begin(p->ctx);
  surg_model *m = c->impossible ? NULL : surg__probe_model(p, c);
  const surg_save_options save = {.size = sizeof save, .no_fsync = true};
  surg_status s = m ? SURG_OK : SURG_ENOTFOUND;
  if (!c->impossible && p->ctx->alloc_status != SURG_OK) p->failure = p->ctx->alloc_status;
  if (m && p->inherit && c->schema)
    c->forecast = surg__target_node(p->inherit, surg__probe_node(m), NULL, NULL);
  if (m) s = surg_model_save(m, path, &save);
  if (s == SURG_OK && p->options.outputs && c->schema) surg__probe_write_data(p, m, path);
  if (m) surg_model_free(m);
  p->models += s == SURG_OK;
  if (s == SURG_EIO || s == SURG_ENOMEM) p->failure = s;
  if (p->failure)
    surg__hush_fail(p->ctx, hush, p->failure);
  else
    surg__hush_end(p->ctx, hush);
  return s == SURG_OK;
}

static void tell(const surg__probe *p, const surg__probe_case *c) {
  static const char *const words[] = {
      [SURG__PROBE_OPSET] = "opset",         [SURG__PROBE_IR] = "IR",
      [SURG__PROBE_DYNAMIC] = "open sizes",  [SURG__PROBE_FUNCTION] = "function",
      [SURG__PROBE_ORDER] = "order",         [SURG__PROBE_BASE] = "form",
      [SURG__PROBE_TYPE] = "type",           [SURG__PROBE_TYPES] = "types",
      [SURG__PROBE_INPUT] = "input",         [SURG__PROBE_GIVEN] = "given",
      [SURG__PROBE_VALUE] = "attribute",     [SURG__PROBE_SET] = "attribute",
      [SURG__PROBE_LEFT] = "left out",       [SURG__PROBE_RANK] = "rank",
      [SURG__PROBE_FED] = "constants alone", [SURG__PROBE_CONST] = "constant",
      [SURG__PROBE_OPEN] = "open sizes"};
  _Static_assert(SURG_COUNT(words) == SURG__PROBE_OPEN + 1, "a word for each question");
  char number[32];
  if (!p->options.answer || !c->asked) return;
  snprintf(number, sizeof number, "%lld",
           (long long)(c->what == SURG__PROBE_BASE ? (int64_t)c->form : c->number));
  const surg_probe_answer a = {.size = sizeof a,
                               .op = c->schema ? c->schema->name : NULL,
                               .since = c->schema ? c->schema->since : 0,
                               .question = words[c->what],
                               .name = c->name ? c->name : "",
                               .value = c->value ? c->value : number,
                               .model = c->schema ? surg__probe_models[c->line] : NULL,
                               .accepted = c->taken,
                               .message = c->why};
  p->options.answer(p->options.user, &a);
}

static surg_status ask_batch(surg__probe *p, surg__probe_case **batch, surg__importer_case *ask,
                             size_t n) {
  const surg_status s = surg__importer_ask(p->im, ask, n);
  for (size_t i = 0; i < n; i++) {
    batch[i]->asked = ask[i].asked;
    batch[i]->taken = ask[i].taken;
    batch[i]->differs = ask[i].differs;
    batch[i]->why = ask[i].why;
    surg__os_unlink(ask[i].file);
    surg__probe_remove_data(ask[i].file);
    tell(p, batch[i]);
  }
  return s;
}

/* Asks about all cases added since the last round. */
static surg_status ask(surg__probe *p) {
  char(*paths)[SURG__PROBE_PATH] = surg__calloc(p->ctx, SURG__IMPORTER_BATCH, sizeof *paths);
  surg__probe_case *batch[SURG__IMPORTER_BATCH];
  surg__importer_case files[SURG__IMPORTER_BATCH] = {{0}};
  size_t n = 0;
  surg_status s = paths ? SURG_OK : surg__oom(p->ctx, NULL);
  for (; p->asked < p->cases.count && s == SURG_OK && !late(p); p->asked++) {
    surg__probe_case *c = &p->cases.items[p->asked];
    snprintf(paths[n], sizeof paths[n], "%s/%06zu.onnx", p->im->folder, p->asked);
    c->placed = place(p, c, paths[n]);
    if (c->placed) {
      batch[n] = c;
      files[n] = (surg__importer_case){.file = paths[n]};
      n++;
    }
    if (p->failure) break;
    if (n < SURG__IMPORTER_BATCH) continue;
    s = ask_batch(p, batch, files, n);
    n = 0;
    if (p->options.progress) p->options.progress(p->options.user, p->asked, p->cases.count);
  }
  if (n && s == SURG_OK) s = ask_batch(p, batch, files, n);
  surg__free(p->ctx, paths);
  return s ? s : p->failure;
}

/* Marks the first accepted form of each version as its base, if it has none: first those that are
 * computed correctly, then (`differs`) the others. */
static void choose_bases(surg__probe *p, bool differs) {
  const surg_schema *last = NULL;
  for (size_t i = 0; i < p->cases.count; i++) {
    surg__probe_case *c = &p->cases.items[i];
    if (c->what != SURG__PROBE_BASE || !c->taken || c->schema == last) continue;
    if (c->differs != differs) continue;
    bool first = true;
    for (size_t k = 0; k < p->cases.count && first; k++)
      first = !(p->cases.items[k].base && p->cases.items[k].schema == c->schema);
    last = c->schema;
    if (!first) continue;
    c->base = true;
  }
}

static surg_status round_of(surg__probe *p, bool added) {
  return added ? ask(p) : surg__oom(p->ctx, NULL);
}

/* The error of a probe that was stopped before the versions of the engine are known. */
static surg_status too_early(const surg__probe *p) {
  if (!late(p)) return SURG_OK;
  return surg__error(p->ctx, SURG_ELIMIT, "onnxsurg",
                     "the probe was stopped before the supported opsets were known; no target is "
                     "written");
}

static surg_status all_rounds(surg__probe *p) {
  static const int64_t first_guess[] = {4, 8, 10, 3};
  surg_status s = SURG_OK;
  /* The IR version with which to ask about opsets is found by trying. */
  for (size_t i = 0; i < SURG_COUNT(first_guess) && !p->opsets.count && s == SURG_OK; i++) {
    p->ir_low = p->ir_high = first_guess[i];
    s = round_of(p, surg__probe_add_engine(p));
    if (s == SURG_OK) s = too_early(p);
    surg__probe_learn_windows(p);
  }
  p->ir_low = p->ir_high = 0;
  if (s == SURG_OK) s = round_of(p, surg__probe_add_ir(p));
  if (s == SURG_OK) s = too_early(p);
  if (s != SURG_OK) return s;
  surg__probe_learn_windows(p);
  if (!p->opsets.count || !p->ir_high) return SURG_OK;
  s = round_of(p, surg__probe_add_rest(p) && surg__probe_add_bases(p));
  if (s != SURG_OK) return s;
  choose_bases(p, false);
  choose_bases(p, true);
  s = round_of(p, surg__probe_add_forms(p));
  bool more = true;
  for (size_t i = 0; i < BASES_MAX && more && s == SURG_OK && !late(p); i++) {
    s = surg__probe_cover(p, &more);
    if (s == SURG_OK && more) s = round_of(p, surg__probe_add_forms(p));
  }
  return s;
}

static surg_status no_model(surg__probe *p) {
  const char *why = p->cases.count ? p->cases.items[0].why : NULL;
  surg__buf text;
  surg__buf_init(&text, p->ctx);
  if (why) surg__buf_escape(&text, why, strlen(why), 0);
  surg__buf_putc(&text, 0);
  const surg_status s = surg__error(p->ctx, SURG_EINVALID, "onnxsurg",
                                    "the importer accepts no model, not even of one Relu%s%s",
                                    why ? ": " : "", text.failed ? "" : text.p);
  surg__buf_free(&text);
  return s;
}

static void sum_up(const surg__probe *p, surg_probe_report *report) {
  surg_probe_report r = {.size = sizeof r};
  for (size_t i = 0; i < p->cases.count; i++) {
    const surg__probe_case *c = &p->cases.items[i];
    r.asked += c->asked;
    r.left += surg__probe_left(p, i);
    r.accepted += c->taken;
    if (!c->asked || !c->schema || c->forecast == SURG__UNKNOWN) continue;
    r.known++;
    r.right += (c->taken && !c->differs) == (c->forecast == SURG__LEGAL);
  }
  surg__struct_out(report, &r, sizeof r);
}

static surg_status put_target(const surg__probe *p, const char *name, char **text, size_t *n) {
  const surg__hush hush = surg__hush_begin(p->ctx);
  json_t *t = surg__probe_learn(p, name);
  surg__hush_end(p->ctx, hush);
  surg__buf b;
  if (t && p->options.title) json_object_set_new(t, "title", json_string(p->options.title));
  surg__buf_init(&b, p->ctx);
  surg__probe_put(&b, t);
  json_decref(t);
  *n = b.n;
  surg__buf_putc(&b, 0);
  if (!b.failed && t) {
    *text = b.p;
    return SURG_OK;
  }
  surg__buf_free(&b);
  return surg__oom(p->ctx, NULL);
}

surg_status surg_probe(surg_importer *im, const char *name, const surg_probe_options *options,
                       char **text, size_t *n, surg_probe_report *report) {
  if (!im || !name || !text || !n) return SURG_EUSAGE;
  surg__probe p = {.ctx = im->ctx, .im = im};
  uint64_t ns;
  *text = NULL;
  *n = 0;
  surg__struct_in(&p.options, sizeof p.options, options);
  p.inherit = p.options.inherit;
  p.only = p.options.ops;
  im->outputs = p.options.outputs;
  if (p.options.timeout_ms && surg__mul_u64(p.options.timeout_ms, 1000000, &ns) &&
      !surg__add_u64(surg__os_now_ns(), ns, &p.deadline_ns))
    p.deadline_ns = 0; /* beyond the range of the clock */
  surg_status s = surg_context_passes(im->ctx) ? all_rounds(&p) : surg__oom(im->ctx, NULL);
  if (s == SURG_OK) s = p.failure;
  if (s == SURG_OK) sum_up(&p, report);
  if (s == SURG_OK && !p.opsets.count) s = no_model(&p);
  if (s == SURG_OK) s = put_target(&p, name, text, n);
  for (size_t i = 0; i < p.cases.count; i++) free(p.cases.items[i].why);
  surg__vec_free(p.ctx, &p.cases);
  surg__vec_free(p.ctx, &p.opsets);
  surg_engine_free(p.engine);
  return surg__oom_reported(im->ctx, s, NULL);
}
