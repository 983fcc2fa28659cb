/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs that run an importer, as public objects (onnxsurg/repair.h). */
#include "base/diag.h"
#include "base/hush.h"
#include "repair/until.h"

struct surg_until {
  surg_context *ctx;
  surg__until search;
  surg__buf pipeline; /* NUL-terminated */
  surg_messages *own; /* the built-in messages, if the caller gave none */
};

static surg_status find(surg_until *u, surg_importer *im, const char *path,
                        const surg_until_options *o) {
  const surg_load_options none = {.size = sizeof none};
  surg_repair_options consent;
  surg__struct_in(&consent, sizeof consent, o->consent);
  const surg__sizes sizes = {consent.sizes, consent.n_sizes};
  surg_status s = o->messages ? SURG_OK : surg_messages_new(u->ctx, NULL, &u->own);
  if (s != SURG_OK) return s;
  u->search = (surg__until){
      .ctx = u->ctx,
      .im = im,
      .messages = o->messages ? o->messages : u->own,
      .target = o->target,
      .in = path,
      .load = o->load ? o->load : &none,
      .given = {consent.has_allow ? consent.allow : SURG_ROUNDING, consent.allow_interface},
      .sizes = &sizes};
  s = surg__until_find(&u->search);
  u->search.sizes = NULL;
  u->search.load = NULL;
  if (s == SURG_OK) surg__until_pipeline(&u->search, &u->pipeline);
  surg__buf_putc(&u->pipeline, 0);
  if (u->search.invalid) return SURG_EINVALID;
  return s == SURG_OK && u->pipeline.failed ? SURG_ENOMEM : s;
}

/* Reports the defects of the model in a file, which cannot be cured within the consent. */
static void report_invalid(surg_context *ctx, const char *path, const surg_load_options *load,
                           surg__consent given) {
  surg_load_options lenient;
  surg_model *m = NULL;
  surg__struct_in(&lenient, sizeof lenient, load);
  lenient.size = sizeof lenient;
  lenient.policy = SURG_LOAD_LENIENT;
  if (surg_model_load(ctx, path, &lenient, &m) == SURG_OK) surg__repair_report_defects(m, given);
  surg_model_free(m);
}

surg_status surg_until_find(surg_importer *im, const char *path, const surg_until_options *options,
                            surg_until **out) {
  if (!im || !path || !out) return SURG_EUSAGE;
  surg_until_options o;
  surg__struct_in(&o, sizeof o, options);
  *out = NULL;
  surg_until *u = surg__calloc(im->ctx, 1, sizeof *u);
  if (!u || !surg_context_passes(im->ctx)) {
    surg__free(im->ctx, u);
    return surg__oom(im->ctx, NULL);
  }
  u->ctx = u->search.ctx = im->ctx;
  surg__buf_init(&u->pipeline, u->ctx);
  const surg__hush hush = surg__hush_begin(u->ctx);
  const surg_status s = find(u, im, path, &o);
  if (s == SURG_OK) {
    surg__hush_end(im->ctx, hush);
    *out = u;
    return s;
  }
  const bool invalid = u->search.invalid;
  const surg__consent given = u->search.given;
  surg_until_free(u);
  if (!invalid) return surg__hush_fail(im->ctx, hush, s);
  surg__hush_end(im->ctx, hush);
  report_invalid(im->ctx, path, o.load, given);
  return s;
}

surg_status surg_until_get(const surg_until *u, surg_until_result *out) {
  if (!u || !out) return SURG_EUSAGE;
  const surg__until *x = &u->search;
  const surg_until_result all = {.size = sizeof all,
                                 .accepted = x->taken,
                                 .known = x->known,
                                 .message = x->last ? x->last : "",
                                 .pipeline = u->pipeline.p,
                                 .changes = x->steps.count,
                                 .asked = x->asked,
                                 .refused = x->refused.count,
                                 .wanted = x->wanted.most,
                                 .wanted_interface = x->wanted.interface};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

surg_status surg_until_change(const surg_until *u, size_t i, surg_until_step *out) {
  if (!u || !out) return SURG_EUSAGE;
  if (i >= u->search.steps.count) return SURG_ENOTFOUND;
  const surg__until_step *x = &u->search.steps.items[i];
  const surg_until_step step = {.size = sizeof step,
                                .pipeline = x->pipeline,
                                .message = x->why ? x->why : "",
                                .used = x->needed.most,
                                .used_interface = x->needed.interface};
  surg__struct_out(out, &step, sizeof step);
  return SURG_OK;
}

const char *surg_until_refused(const surg_until *u, size_t i) {
  return u && i < u->search.refused.count ? u->search.refused.items[i] : NULL;
}

surg_model *surg_until_model(const surg_until *u) {
  return u ? u->search.m : NULL;
}

void surg_until_free(surg_until *u) {
  if (!u) return;
  surg__until_free(&u->search);
  surg_messages_free(u->own);
  surg__buf_free(&u->pipeline);
  surg__free(u->ctx, u);
}
