/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes symbolic and unknown sizes of inputs for engines that require fixed ones: as the user gives
 * them, or by a guess that the shapes of the model do not contradict. */
#include <string.h>

#include "base/sizes.h"
#include "check/check.h"
#include "pass/pass.h"
#include "repair/repair.h"

#define BATCH 1
#define SIDE 224  /* height and width of images */
#define LENGTH 16 /* of sequences and all other axes */
#define MOST 256  /* most sizes that are fixed */

/* The guess for a size. Rank 4 with two symbolic or unknown sizes after the batch is an image; with
 * one it is a decoder's cache. */
static int64_t guess_of(const surg_type *t, size_t axis) {
  size_t open = 0;
  if (axis == 0 && surg_type_rank(t) > 1) return BATCH;
  for (size_t i = 1; i < surg_type_rank(t); i++) open += surg_type_dim(t, i)->value < 0;
  return surg_type_rank(t) == 4 && open >= 2 ? SIDE : LENGTH;
}

static bool put_size(surg__buf *out, const char *name, int64_t size) {
  surg__buf_puts(out, out->n ? "," : "freeze{");
  surg__pipeline_quote(out, name);
  surg__buf_printf(out, "=%lld", (long long)size);
  return !out->failed;
}

/* The pipeline being written, and the symbols it already fixes. */
typedef struct freezing {
  surg_context *ctx;
  const surg__sizes *given;
  bool guess, ones;
  const char *met[MOST];
  size_t n;
  surg__buf *out;
} freezing;

static bool was_met(const freezing *f, const char *symbol) {
  for (size_t i = 0; i < f->n; i++)
    if (f->met[i] && !strcmp(f->met[i], symbol)) return true;
  return false;
}

static bool size_of(const surg__sizes *given, const char *name, int64_t *out) {
  for (size_t i = 0; i < given->n; i++) {
    const surg_size *s = surg__size_at(given->items, i);
    if (!s->name || strcmp(s->name, name) != 0) continue;
    *out = s->value;
    return true;
  }
  return false;
}

/* Adds the size of an axis that is not fixed. `freeze` names it by its symbol, or as
 * "input.axis". */
static bool put_axis(freezing *f, const surg_value *v, size_t axis) {
  const surg_type *t = surg_value_declared_type(v);
  const surg_dim d = *surg_type_dim(t, axis);
  const char *symbol = d.param && *d.param ? d.param : NULL;
  int64_t size = f->ones ? 1 : guess_of(t, axis);
  surg__buf place;
  if (d.value >= 0 || (symbol && was_met(f, symbol))) return true;
  if (f->n == MOST) return false;
  surg__buf_init(&place, f->ctx);
  surg__buf_printf(&place, "%s.%zu", surg_value_name(v), axis);
  surg__buf_putc(&place, 0);
  bool put = f->guess, good = !place.failed;
  if (good && f->given)
    put |= (symbol && size_of(f->given, symbol, &size)) || size_of(f->given, place.p, &size);
  if (good && put) {
    f->met[f->n++] = symbol;
    good = put_size(f->out, symbol ? symbol : place.p, size);
  }
  surg__buf_free(&place);
  return good;
}

bool surg__repair_freeze(const surg_model *m, const surg__sizes *given, bool guess, bool ones,
                   surg__buf *out) {
  const surg_graph *g = surg_model_graph(m);
  freezing f = {.ctx = surg_model_context(m), .out = out};
  f.given = given;
  f.guess = guess;
  f.ones = ones;
  bool good = true;
  out->n = 0;
  for (size_t i = 0; i < surg_graph_input_count(g) && good; i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_declared_type(v);
    if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t)) continue;
    for (size_t k = 0; k < surg_type_rank(t) && good; k++) good = put_axis(&f, v, k);
  }
  if (out->n) surg__buf_putc(out, '}');
  surg__buf_putc(out, 0);
  return good && !out->failed;
}

/* Whether the name is a symbol or an "input.axis" that freeze accepts. */
static bool is_open(const surg_model *m, const surg_size *d) {
  const surg__sizes one = {d, 1};
  surg__buf text;
  surg__buf_init(&text, surg_model_context(m));
  const bool open = surg__repair_freeze(m, &one, false, false, &text) && text.n > 1;
  surg__buf_free(&text);
  return open;
}

const char *surg__repair_no_size(const surg_model *m, const surg__sizes *given) {
  for (size_t i = 0; i < given->n; i++) {
    const surg_size *s = surg__size_at(given->items, i);
    if (!is_open(m, s)) return s->name;
  }
  return NULL;
}

static void contradiction(void *user, const surg__finding *f) {
  *(size_t *)user +=
      surg__check_severity(f->code) == SURG_ERROR || !strcmp(f->code, "W206");
}

size_t surg__repair_contradictions(surg_model *m) {
  size_t n = 0;
  return surg__check_model(m, true, 0, contradiction, &n) == SURG_OK ? n : SIZE_MAX;
}
