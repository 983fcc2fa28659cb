/* SPDX-License-Identifier: Apache-2.0 */
/* Views of models (onnxsurg/view.h). */
#include <onnxsurg/context.h>

#include "base/context.h"
#include "base/diag.h"
#include "base/os/locale.h"
#include "view/view.h"

static bool valid(const surg_view_options *o, const surg_model *m) {
  if (o->form < SURG_VIEW_HTML || o->form > SURG_VIEW_DOT) return false;
  if (o->layout < SURG_VIEW_LAYOUT_AUTO || o->layout > SURG_VIEW_LAYOUT_DOT) return false;
  if (o->against && (o->form != SURG_VIEW_HTML || o->against == m ||
                     surg_model_context(o->against) != surg_model_context(m)))
    return false;
  return !o->graph || surg_graph_model(o->graph) == m;
}

static void write(surg__view *views, size_t n, surg__buf *b) {
  const surg__scene *first = views[0].scenes.items[0];
  switch ((surg_view_form)views[0].o.form) {
    case SURG_VIEW_HTML:
      for (size_t i = 0; i < surg__view_page_count; i++) {
        surg__buf_puts(b, surg__view_page[i]);
        if (i == 0) surg__view_put_data(views, n, b);
      }
      return;
    case SURG_VIEW_SVG:
      surg__view_put_svg(&views[0], first, b);
      return;
    case SURG_VIEW_DOT:
      surg__view_put_dot(&views[0], first, false, b);
      return;
  }
}

/* Draws a model. */
static surg_status draw(surg__view *v) {
  /* Of an invalid model some types stay unknown. */
  const surg_status inferred = surg_model_infer(v->m);
  const bool ends =
      inferred == SURG_ENOMEM || inferred == SURG_ELIMIT || inferred == SURG_ECANCELLED;
  if (ends) v->status = inferred;
  if (!ends) surg__view_scenes(v);
  return v->status;
}

static void open_view(surg__view *v, surg_model *m, const surg_view_options *o, size_t side) {
  *v = (surg__view){.m = m, .ctx = surg_model_context(m), .o = *o, .side = side};
  v->judgement.size = sizeof v->judgement;
  if (side || !v->o.title) v->o.title = surg_model_path(m);
  surg__arena_init(&v->arena, v->ctx);
}

/* Draws the models, and writes them. */
static surg_status draw_all(surg__view *views, size_t n, surg_diff **diff, surg__buf *b) {
  surg_status s = n > 1 ? surg_diff_new(views[0].m, views[1].m, NULL, diff) : SURG_OK;
  for (size_t i = 0; i < n && s == SURG_OK; i++) {
    views[i].diff = *diff;
    if (i && views[0].o.graph) views[i].o.graph = surg_diff_graph(*diff, views[0].o.graph);
    s = draw(&views[i]);
  }
  if (s != SURG_OK) return s;
  write(views, n, b);
  for (size_t i = 0; i < n && s == SURG_OK; i++)
    s = views[i].status != SURG_OK ? views[i].status : surg_model_status(views[i].m);
  return s;
}

surg_status surg_view(surg_model *model, const surg_view_options *options, char **text, size_t *n) {
  surg_view_options o;
  surg__view views[2];
  surg_diff *diff = NULL;
  surg__os_locale plain;
  surg__buf b;
  if (text) *text = NULL;
  if (n) *n = 0;
  if (!model || !text) return SURG_EUSAGE;
  surg__struct_in(&o, sizeof o, options);
  if (!valid(&o, model)) return SURG_EUSAGE;
  surg_context *ctx = surg_model_context(model);
  const size_t count = o.against ? 2 : 1;
  if (surg_model_status(model) != SURG_OK) return surg_model_status(model);
  if (o.against && surg_model_status(o.against) != SURG_OK) return surg_model_status(o.against);
  if (!surg__os_locale_begin(&plain)) return surg__oom(ctx, surg_model_path(model));
  for (size_t i = 0; i < count; i++) open_view(&views[i], i ? o.against : model, &o, i);
  surg__buf_init(&b, ctx);
  const surg_status before = ctx->alloc_status;
  surg_status s = draw_all(views, count, &diff, &b);
  /* Some texts become "?" without memory: such a page is not given out. */
  if (s == SURG_OK && before == SURG_OK) s = ctx->alloc_status;
  if (s == SURG_OK) {
    const size_t length = b.n;
    s = surg__buf_give(&b, text); /* which frees it on failure */
    if (s == SURG_OK && n) *n = length;
  } else {
    surg__buf_free(&b);
  }
  for (size_t i = 0; i < count; i++) {
    surg__vec_free(ctx, &views[i].scenes);
    surg__arena_free(&views[i].arena);
  }
  surg_diff_free(diff);
  surg__os_locale_end(&plain);
  return surg__oom_reported(ctx, s, surg_model_path(model));
}
