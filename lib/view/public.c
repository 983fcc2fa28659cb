/* SPDX-License-Identifier: Apache-2.0 */
/* Views of models (onnxsurg/view.h). */
#include "base/diag.h"
#include "base/os/locale.h"
#include "view/view.h"

static bool valid(const surg_view_options *o, const surg_model *m) {
  if (o->form < SURG_VIEW_HTML || o->form > SURG_VIEW_DOT) return false;
  if (o->layout < SURG_VIEW_LAYOUT_AUTO || o->layout > SURG_VIEW_LAYOUT_DOT) return false;
  return !o->graph || surg_graph_model(o->graph) == m;
}

static void write(surg__view *v, surg__buf *b) {
  const surg__scene *first = v->scenes.items[0];
  switch ((surg_view_form)v->o.form) {
    case SURG_VIEW_HTML:
      for (size_t i = 0; i < surg__view_page_count; i++) {
        surg__buf_puts(b, surg__view_page[i]);
        if (i) continue;
        surg__buf_puts(b, "{\"models\":[");
        surg__view_put_data(v, b);
        surg__buf_puts(b, "]}");
      }
      return;
    case SURG_VIEW_SVG:
      surg__view_put_svg(v, first, b);
      return;
    case SURG_VIEW_DOT:
      surg__view_put_dot(v, first, false, b);
      return;
  }
}

/* Draws the model and writes it. */
static void draw(surg__view *v, surg__buf *b) {
  /* Of an invalid model some types stay unknown. */
  const surg_status inferred = surg_model_infer(v->m);
  const bool ends =
      inferred == SURG_ENOMEM || inferred == SURG_ELIMIT || inferred == SURG_ECANCELLED;
  if (ends) v->status = inferred;
  if (!ends && surg__view_scenes(v)) write(v, b);
}

surg_status surg_view(surg_model *model, const surg_view_options *options, char **text, size_t *n) {
  surg__view v = {.m = model};
  surg__os_locale plain;
  surg__buf b;
  if (text) *text = NULL;
  if (n) *n = 0;
  if (!model || !text) return SURG_EUSAGE;
  surg__struct_in(&v.o, sizeof v.o, options);
  if (!valid(&v.o, model)) return SURG_EUSAGE;
  if (surg_model_status(model) != SURG_OK) return surg_model_status(model);
  v.ctx = surg_model_context(model);
  if (!surg__os_locale_begin(&plain)) return surg__oom(v.ctx, surg_model_path(model));
  if (!v.o.title) v.o.title = surg_model_path(model);
  v.judgement.size = sizeof v.judgement;
  surg__arena_init(&v.arena, v.ctx);
  surg__buf_init(&b, v.ctx);
  draw(&v, &b);
  if (v.status == SURG_OK) {
    const size_t length = b.n;
    v.status = surg__buf_give(&b, text); /* which frees it on failure */
    if (v.status == SURG_OK && n) *n = length;
  } else {
    surg__buf_free(&b);
  }
  surg__vec_free(v.ctx, &v.scenes);
  surg__arena_free(&v.arena);
  surg__os_locale_end(&plain);
  if (v.status == SURG_ENOMEM || v.status == SURG_ELIMIT)
    return surg__oom(v.ctx, surg_model_path(model));
  return v.status;
}
