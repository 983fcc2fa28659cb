/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to the models as a whole: versions, opset imports, metadata, parts that this library
 * does not compare. */
#include "diff/diff.h"

#define PIECE ((size_t)SURG_LIMIT_PIECE)

static surg_diff_item *add(surg_diff *d, surg_diff_kind kind, bool has_a, bool has_b,
                           const char *what, surg_diff_level level) {
  surg_diff_item *x = surg__diff_item(d, kind,
                                      has_a && has_b ? SURG_DIFF_CHANGED
                                      : has_a        ? SURG_DIFF_REMOVED
                                                     : SURG_DIFF_ADDED,
                                      level);
  x->what = what;
  return x;
}

/* Whether a domain of model k is that of its functions, all of which are paired: another name of it
 * is but a name. */
static bool is_of_functions(const surg_diff *d, int k, const char *domain) {
  const surg_model *m = d->side[k].m;
  bool any = false;
  for (size_t i = 0; i < surg_model_function_count(m); i++) {
    const surg_function *f = surg_model_function(m, i);
    const surg__dgraph *g = surg__dgraph_of(&d->side[k], f->body);
    if (strcmp(f->domain, domain) != 0) continue;
    if (!g || g->twin == SURG__NO_TWIN) return false;
    any = true;
  }
  return any;
}

static void compare_opsets(surg_diff *d, bool reverse) {
  const surg_model *a = d->side[0].m, *b = d->side[1].m, *from = reverse ? b : a;
  for (size_t i = 0; i < surg_model_import_count(from); i++) {
    const char *domain = surg_model_import_domain(from, i);
    const int64_t x = surg_model_opset(a, domain), y = surg_model_opset(b, domain);
    if (x == y || (reverse && x)) continue;
    const bool named = (!x || !y) && is_of_functions(d, reverse, domain);
    surg_diff_item *item =
        add(d, SURG_DIFF_OPSET, x, y,
            surg__diff_standard(domain) ? "\"ai.onnx\""
                                        : surg__diff_quote(d, domain, SURG_LIMIT_NAME_PRINT),
            named ? SURG_DIFF_NAME : SURG_DIFF_EDIT);
    if (x) item->text[0] = surg__diff_say(d, "%lld", (long long)x);
    if (y) item->text[1] = surg__diff_say(d, "%lld", (long long)y);
  }
}

static void compare_metadata(surg_diff *d, bool reverse) {
  const surg_model *a = d->side[0].m, *b = d->side[1].m, *from = reverse ? b : a;
  for (size_t i = 0; i < surg_model_metadata_count(from); i++) {
    const char *key = surg_model_metadata_key(from, i);
    const char *x = surg_model_metadata(a, key), *y = surg_model_metadata(b, key);
    if ((reverse && x) || (x && y && strcmp(x, y) == 0)) continue;
    surg_diff_item *item = add(d, SURG_DIFF_METADATA, x, y,
                               surg__diff_quote(d, key, SURG_LIMIT_NAME_PRINT), SURG_DIFF_EDIT);
    if (x) item->text[0] = surg__diff_quote(d, x, SURG__DIFF_SHOWN);
    if (y) item->text[1] = surg__diff_quote(d, y, SURG__DIFF_SHOWN);
  }
}

static void compare_numbers(surg_diff *d, surg_diff_kind kind, const char *what, int64_t a,
                            int64_t b, surg_diff_level level) {
  if (a == b) return;
  surg_diff_item *x = add(d, kind, true, true, what, level);
  x->text[0] = surg__diff_say(d, "%lld", (long long)a);
  x->text[1] = surg__diff_say(d, "%lld", (long long)b);
}

static void compare_texts(surg_diff *d) {
  static const char *const fields[] = {[SURG_MODEL_DOC] = "doc_string",
                                       [SURG_MODEL_PRODUCER] = "producer_name",
                                       [SURG_MODEL_PRODUCER_VERSION] = "producer_version",
                                       [SURG_MODEL_DOMAIN] = "domain"};
  for (surg_model_field f = SURG_MODEL_DOC; f <= SURG_MODEL_DOMAIN; f++) {
    const char *a = surg_model_text(d->side[0].m, f), *b = surg_model_text(d->side[1].m, f);
    if (strcmp(a ? a : "", b ? b : "") == 0) continue;
    surg_diff_item *x = add(d, SURG_DIFF_HEADER, true, true, fields[f], SURG_DIFF_REMARK);
    x->text[0] = surg__diff_quote(d, a ? a : "", SURG__DIFF_SHOWN);
    x->text[1] = surg__diff_quote(d, b ? b : "", SURG__DIFF_SHOWN);
  }
}

/* --- parts that are not compared --- */

static bool is_unedited(const surg_model *m) {
  return m->source && m->epoch == m->read_epoch;
}

/* Whether the file has errors: how they are read decides what was compared. */
static bool has_errors(const surg_model *m) {
  for (size_t i = 0; i < m->defects.count; i++)
    if (m->defects.items[i].severity == SURG_ERROR && !m->defects.items[i].cured) return true;
  return m->unlisted > 0;
}

/* Whether both models are files with the same bytes. */
static bool same_files(surg_diff *d) {
  const surg_model *a = d->side[0].m, *b = d->side[1].m;
  if (!is_unedited(a) || !is_unedited(b) || a->source->size != b->source->size) return false;
  uint8_t *p = surg__alloc(d->ctx, 2 * PIECE);
  bool same = p;
  if (!p) surg__diff_fail(d);
  for (uint64_t at = 0; same && at < a->source->size; at += PIECE) {
    const uint64_t rest = a->source->size - at;
    const size_t n = rest < PIECE ? (size_t)rest : PIECE;
    same = surg__source_read(a->source, at, p, n) == SURG_OK &&
           surg__source_read(b->source, at, p + PIECE, n) == SURG_OK &&
           memcmp(p, p + PIECE, n) == 0;
  }
  surg__free(d->ctx, p);
  return same;
}

static bool is_sharded(const surg__dside *s) {
  for (size_t i = 0; i < s->nodes.count; i++)
    if (s->nodes.items[i].n->softs) return true;
  return false;
}

static bool has_annotations(const surg__dside *s) {
  for (size_t i = 0; i < s->graphs.count; i++)
    for (const surg__annotation *a = s->graphs.items[i].g->annotations; a; a = a->next)
      if (!a->dropped) return true;
  return false;
}

/* Whether two messages of the files have the same bytes. */
static bool same_message(surg_diff *d, const surg__span *a, const surg__span *b) {
  const surg__source *s = d->side[0].m->source, *t = d->side[1].m->source;
  if (!s || !t || !a->len || a->len != b->len || a->len > PIECE) return false;
  uint8_t *p = surg__alloc(d->ctx, 2 * PIECE);
  const size_t n = (size_t)a->len;
  const bool same = p && surg__source_read(s, a->off, p, n) == SURG_OK &&
                    surg__source_read(t, b->off, p + PIECE, n) == SURG_OK &&
                    memcmp(p, p + PIECE, n) == 0;
  if (!p) surg__diff_fail(d);
  surg__free(d->ctx, p);
  return same;
}

static const surg__annotation *live(const surg__annotation *a) {
  while (a && a->dropped) a = a->next;
  return a;
}

/* Whether the annotations of all graphs have the same bytes, in the same order. */
static bool same_annotations(surg_diff *d) {
  for (size_t i = 0; i < d->graphs.count; i++) {
    const surg__annotation *a = live(d->side[0].graphs.items[d->graphs.items[i].a].g->annotations);
    const surg__annotation *b = live(d->side[1].graphs.items[d->graphs.items[i].b].g->annotations);
    for (; a && b; a = live(a->next), b = live(b->next))
      if (a->dirty || b->dirty || !same_message(d, &a->src.body, &b->src.body)) return false;
    if (a || b) return false;
  }
  return true;
}

static void compare_extras(surg_diff *d) {
  static const char *const names[] = {"training_info", "device_configurations of nodes",
                                      "quantization_annotation", "errors that the load found"};
  enum { ANNOTATIONS = 2, ERRORS, ALL };
  bool has[2][ALL];
  for (int k = 0; k < 2; k++) {
    has[k][0] = d->side[k].m->training != NULL;
    has[k][1] = is_sharded(&d->side[k]);
    has[k][ANNOTATIONS] = has_annotations(&d->side[k]);
    has[k][ERRORS] = has_errors(d->side[k].m);
  }
  for (int i = 0; i < ALL; i++) {
    if (!has[0][i] && !has[1][i]) continue;
    if (has[0][i] && has[1][i] && same_files(d)) return;
    if (i == ANNOTATIONS && same_annotations(d)) continue;
    const bool both = (has[0][i] && has[1][i]) || i == ERRORS;
    surg_diff_item *x = add(d, SURG_DIFF_EXTRA, has[0][i], has[1][i], names[i],
                            both ? SURG_DIFF_UNKNOWN : SURG_DIFF_EDIT);
    if (both) x->note = "not compared";
  }
}

void surg__diff_header(surg_diff *d) {
  const surg_model *a = d->side[0].m, *b = d->side[1].m;
  compare_numbers(d, SURG_DIFF_IR_VERSION, "ir_version", surg_model_ir_version(a),
                  surg_model_ir_version(b), SURG_DIFF_EDIT);
  compare_opsets(d, false);
  compare_opsets(d, true);
  compare_metadata(d, false);
  compare_metadata(d, true);
  compare_texts(d);
  compare_numbers(d, SURG_DIFF_HEADER, "model_version", surg_model_version(a),
                  surg_model_version(b), SURG_DIFF_REMARK);
  compare_extras(d);
}
