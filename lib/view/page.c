/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the data of a page as JSON: scenes, findings, and the details of nodes and values. */
#include "view/page.h"

#include <onnxsurg/info.h>
#include <onnxsurg/names.h>
#include <stdio.h>

#define MARKS_MOST 2000u /* findings that are listed */

void surg__page_string(surg__page *p, const char *text) {
  surg__buf escaped; /* of text that is no UTF-8 */
  surg__buf_init(&escaped, p->v->ctx);
  const size_t n = strlen(text);
  if (surg__utf8_valid((const uint8_t *)text, n)) {
    surg__buf_json(p->b, text, n);
  } else {
    surg__buf_escape(&escaped, text, n, 0);
    if (escaped.failed) p->b->failed = true;
    surg__buf_json(p->b, escaped.p ? escaped.p : "", escaped.n);
  }
  surg__buf_free(&escaped);
}

void surg__page_key(surg__page *p, const char *key) {
  const bool first = !p->b->n || p->b->p[p->b->n - 1] == '{';
  surg__buf_printf(p->b, "%s\"%s\":", first ? "" : ",", key);
}

void surg__page_comma(surg__page *p, size_t i) {
  if (i) surg__buf_putc(p->b, ',');
}

int64_t surg__page_id(const surg__view_map *map, const void *key) {
  const uint32_t id = key ? surg__view_map_find(map, key) : VIEW_NONE;
  return id == VIEW_NONE ? -1 : (int64_t)id;
}

/* ---- what is in the page -----------------------------------------------------------------------
 */

static bool add(surg__page *p, surg__view_map *map, const void *key) {
  return !key || surg__view_map_add(p->v->ctx, map, key) != VIEW_NONE;
}

static bool add_node(surg__page *p, const surg_node *n) {
  bool ok = add(p, &p->nodes, n);
  for (size_t i = 0; ok && i < surg_node_input_count(n) && i < VIEW_MOST_ENDS; i++)
    ok = add(p, &p->values, surg_node_input(n, i));
  for (size_t i = 0; ok && i < surg_node_output_count(n) && i < VIEW_MOST_ENDS; i++)
    ok = add(p, &p->values, surg_node_output(n, i));
  return ok;
}

static bool collect(surg__page *p) {
  surg__view *v = p->v;
  bool ok = true;
  p->places = surg__view_array(v, v->n_nodes, sizeof *p->places);
  if (!p->places) return false;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(v->m, g));) {
    uint32_t i = 0;
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      p->places[surg__view_number(v, n)] = i++;
  }
  for (size_t i = 0; ok && i < v->scenes.count; i++) {
    const surg__scene *s = v->scenes.items[i];
    for (size_t k = 0; ok && k < s->lay.n; k++) {
      if (s->boxes[k].node) ok = add_node(p, s->boxes[k].node);
      ok = ok && add(p, &p->values, s->boxes[k].value);
    }
    for (size_t k = 0; ok && k < s->lay.m; k++) ok = add(p, &p->values, s->links[k].value);
  }
  return ok;
}

/* ---- scenes ------------------------------------------------------------------------------------
 */

static long long scene_id(uint32_t scene) {
  return scene == VIEW_NONE ? -1 : (long long)scene;
}

static void put_box(surg__page *p, const surg__scene *s, size_t i) {
  const surg__box *b = &s->boxes[i];
  const surg__lay_box *l = &s->lay.boxes[i];
  const int64_t ref =
      b->node ? surg__page_id(&p->nodes, b->node) : surg__page_id(&p->values, b->value);
  surg__buf_printf(p->b, "[%d,%lld,%d,%d,%d,%d,%d,%d,[", (int)b->kind, (long long)ref,
                   l->x - l->w / 2, l->y, l->w, l->h, (int)b->family, b->mark);
  size_t put = 0;
  for (size_t k = 0; k < b->n_lines; k++) {
    const surg__line *line = &b->lines[k];
    if (!*line->text) continue;
    surg__page_comma(p, put++);
    surg__buf_printf(p->b, "[%d,", (int)line->kind);
    surg__page_string(p, line->text);
    surg__buf_printf(p->b, ",%lld]",
                     line->kind == SURG__LINE_INNER
                         ? scene_id(line->scene)
                         : (long long)surg__page_id(&p->values, line->value));
  }
  surg__buf_puts(p->b, "],[");
  for (size_t k = 0; k < b->n_labels; k++) {
    surg__page_comma(p, k);
    surg__buf_printf(p->b, "[%d,", l->w / 2 + b->labels[k].at);
    surg__page_string(p, b->labels[k].text);
    surg__buf_printf(p->b, ",%lld]", (long long)surg__page_id(&p->values, b->labels[k].value));
  }
  surg__buf_printf(p->b, "],%u]", (unsigned)b->change);
}

static void put_scene(surg__page *p, const surg__scene *s) {
  surg__buf_putc(p->b, '{');
  surg__page_key(p, "t");
  surg__page_string(p, s->title ? s->title : "");
  surg__page_key(p, "g");
  surg__page_string(p, surg_graph_where(s->graph));
  surg__page_key(p, "up");
  surg__buf_printf(p->b, "%lld", scene_id(s->parent));
  surg__page_key(p, "owner");
  surg__buf_printf(p->b, "%lld", (long long)surg__page_id(&p->nodes, s->owner));
  surg__page_key(p, "w");
  surg__buf_printf(p->b, "%d", s->lay.width);
  surg__page_key(p, "h");
  surg__buf_printf(p->b, "%d", s->lay.height);
  surg__page_key(p, "n");
  surg__buf_printf(p->b, "%zu", s->n_nodes);
  surg__page_key(p, "b");
  surg__buf_puts(p->b, "[\n");
  for (size_t i = 0; i < s->lay.n; i++) {
    if (i) surg__buf_puts(p->b, ",\n");
    put_box(p, s, i);
  }
  surg__buf_putc(p->b, ']');
  surg__page_key(p, "l");
  surg__buf_puts(p->b, "[\n");
  for (size_t i = 0; i < s->lay.m; i++) {
    const surg__lay_link *l = &s->lay.links[i];
    if (i) surg__buf_puts(p->b, ",\n");
    surg__buf_printf(p->b, "[%u,%u,%lld,\"", l->from, l->to,
                     (long long)surg__page_id(&p->values, s->links[i].value));
    if (!l->cut) surg__view_way(s, i, p->b);
    surg__buf_puts(p->b, "\"]");
  }
  surg__buf_puts(p->b, "]}");
}

/* ---- the model --------------------------------------------------------------------------------
 */

static void put_fact(surg__page *p, size_t i, const char *what, const char *text) {
  surg__page_comma(p, i);
  surg__buf_putc(p->b, '[');
  surg__page_string(p, what);
  surg__buf_putc(p->b, ',');
  surg__page_string(p, text);
  surg__buf_putc(p->b, ']');
}

static void put_facts(surg__page *p) {
  surg_model *m = p->v->m;
  surg_stats *stats = NULL;
  surg_stats_summary sum = {.size = sizeof sum};
  surg__buf text;
  size_t n = 0;
  surg__page_key(p, "facts");
  surg__buf_putc(p->b, '[');
  surg__buf_init(&text, p->v->ctx);
  surg__buf_printf(&text, "IR %lld", (long long)surg_model_ir_version(m));
  for (size_t i = 0; i < surg_model_import_count(m); i++) {
    const char *domain = surg_model_import_domain(m, i);
    surg__buf_puts(&text, *domain ? ", " : ", opset");
    surg__buf_escape(&text, domain, strlen(domain), 0);
    surg__buf_printf(&text, " %lld", (long long)surg_model_import_version(m, i));
  }
  if (text.failed) p->b->failed = true;
  put_fact(p, n++, "format", text.failed ? "" : text.p);
  surg__buf_free(&text);
  const char *producer = surg_model_text(m, SURG_MODEL_PRODUCER);
  if (producer && *producer) {
    surg__buf_init(&text, p->v->ctx);
    surg__buf_printf(&text, "%s %s", producer, surg_model_text(m, SURG_MODEL_PRODUCER_VERSION));
    if (text.failed) p->b->failed = true;
    put_fact(p, n++, "producer", text.failed ? "" : text.p);
    surg__buf_free(&text);
  }
  const surg_status counted = surg_stats_new(m, &stats);
  if (counted == SURG_ENOMEM || counted == SURG_ELIMIT) p->b->failed = true;
  if (counted == SURG_OK && surg_stats_get(stats, &sum) == SURG_OK) {
    char number[64];
    snprintf(number, sizeof number, "%zu", sum.nodes);
    put_fact(p, n++, "nodes", number);
    snprintf(number, sizeof number, "%llu, %llu bytes", (unsigned long long)sum.parameters,
             (unsigned long long)sum.weight_bytes);
    put_fact(p, n++, "weights", number);
  }
  surg_stats_free(stats);
  surg__buf_putc(p->b, ']');
}

static void put_marks(surg__page *p) {
  const surg__view *v = p->v;
  if (v->o.target) {
    const char *verdict = surg_verdict_name((surg_verdict)v->judgement.verdict);
    surg__page_key(p, "target");
    surg__page_string(p, surg_target_name(v->o.target));
    surg__page_key(p, "verdict");
    surg__page_string(p, verdict ? verdict : "");
  }
  surg__page_key(p, "hidden");
  surg__buf_printf(p->b, "%zu", v->n_marks > MARKS_MOST ? v->n_marks - MARKS_MOST : 0);
  surg__page_key(p, "marks");
  surg__buf_putc(p->b, '[');
  for (size_t i = 0; i < v->n_marks && i < MARKS_MOST; i++) {
    const surg__mark_of *m = &v->marks[i];
    if (i) surg__buf_puts(p->b, ",\n");
    surg__buf_printf(p->b, "[%lld,%d,", (long long)surg__page_id(&p->nodes, m->node), m->severity);
    surg__page_string(p, m->code ? m->code : "");
    surg__buf_putc(p->b, ',');
    surg__page_string(p, m->text ? m->text : "");
    surg__buf_putc(p->b, ',');
    surg__page_string(p, m->pass ? m->pass : "");
    surg__buf_putc(p->b, ',');
    surg__page_string(p, m->node ? surg_node_where(m->node) : "model");
    surg__buf_putc(p->b, ']');
  }
  surg__buf_putc(p->b, ']');
}

static void put_all(surg__page *p) {
  const surg__view *v = p->v;
  surg__buf_putc(p->b, '{');
  surg__page_key(p, "title");
  surg__page_string(p, v->o.title);
  put_facts(p);
  surg__page_key(p, "families");
  surg__buf_putc(p->b, '[');
  for (size_t i = 0; i < SURG__FAMILY_COUNT; i++) {
    surg__page_comma(p, i);
    surg__page_string(p, surg__family_names[i]);
  }
  surg__buf_putc(p->b, ']');
  put_marks(p);
  surg__page_nodes(p);
  surg__page_values(p);
  surg__page_key(p, "scenes");
  surg__buf_puts(p->b, "[\n");
  for (size_t i = 0; i < v->scenes.count; i++) {
    if (i) surg__buf_puts(p->b, ",\n");
    put_scene(p, v->scenes.items[i]);
  }
  surg__buf_puts(p->b, "]}");
}

/* ---- two models -------------------------------------------------------------------------------
 */

#define ITEMS_MOST 2000u /* differences that are listed */

static void put_item(surg__page *a, const surg__page *b, const surg_diff_item *x) {
  surg__buf_printf(a->b, "[%d,%d,%lld,%lld", x->level, x->change,
                   (long long)surg__page_id(&a->nodes, x->node[0]),
                   (long long)surg__page_id(&b->nodes, x->node[1]));
  const char *const texts[] = {*x->where[0] ? x->where[0] : x->where[1], x->what, x->text[0],
                               x->text[1], x->note};
  for (size_t i = 0; i < SURG_COUNT(texts); i++) {
    surg__buf_putc(a->b, ',');
    surg__page_string(a, texts[i]);
  }
  surg__buf_putc(a->b, ']');
}

/* Lists what differs, apart from remarks: edits first. */
static void put_diff(surg__page *a, const surg__page *b) {
  const surg_diff *diff = a->v->diff;
  surg_diff_summary sum = {.size = sizeof sum};
  surg_diff_item x = {.size = sizeof x};
  if (surg_diff_get(diff, &sum) != SURG_OK) return;
  surg__page_key(a, "diff");
  surg__buf_printf(a->b, "{\"same\":%s,\"edits\":%llu,\"names\":%llu,\"unknown\":%llu,\"items\":[",
                   sum.same ? "true" : "false", (unsigned long long)sum.edits,
                   (unsigned long long)sum.names, (unsigned long long)sum.unknown);
  size_t put = 0;
  for (int names = 0; names < 2; names++)
    for (size_t i = 0; put < ITEMS_MOST && surg_diff_item_at(diff, i, &x) == SURG_OK; i++) {
      if (x.level == SURG_DIFF_REMARK || (x.level == SURG_DIFF_NAME) != (names > 0)) continue;
      if (put++) surg__buf_puts(a->b, ",\n");
      put_item(a, b, &x);
    }
  surg__buf_puts(a->b, "]}");
}

/* Appends JSON; `<` occurs in its strings only, where it must not start an end tag of the page. */
static void put_escaped(surg__buf *b, const surg__buf *json) {
  if (json->failed) b->failed = true;
  for (size_t i = 0; !json->failed && i < json->n;) {
    const char *end = memchr(json->p + i, '<', json->n - i);
    const size_t n = end ? (size_t)(end - json->p) - i : json->n - i;
    surg__buf_put(b, json->p + i, n);
    if (end) surg__buf_puts(b, "\\u003c");
    i += n + (end != NULL);
  }
}

void surg__view_put_data(surg__view *views, size_t n, surg__buf *b) {
  surg__buf json;
  surg__page pages[2];
  assert(n >= 1 && n <= SURG_COUNT(pages));
  surg__buf_init(&json, views[0].ctx);
  bool ok = true;
  for (size_t i = 0; i < n; i++)
    pages[i] = (surg__page){.v = &views[i], .b = &json, .other = n > 1 ? &pages[1 - i] : NULL};
  for (size_t i = 0; i < n; i++) ok = collect(&pages[i]) && ok;
  if (!ok) json.failed = true;
  surg__buf_puts(&json, "{\"models\":[");
  for (size_t i = 0; i < n && ok; i++) {
    if (i) surg__buf_puts(&json, ",\n");
    put_all(&pages[i]);
  }
  surg__buf_putc(&json, ']');
  if (n > 1 && ok) put_diff(&pages[0], &pages[1]);
  surg__buf_putc(&json, '}');
  put_escaped(b, &json);
  surg__buf_free(&json);
  for (size_t i = 0; i < n; i++) {
    surg__view_map_free(views[i].ctx, &pages[i].nodes);
    surg__view_map_free(views[i].ctx, &pages[i].values);
    surg__view_map_free(views[i].ctx, &pages[i].schemas);
  }
}
