/* SPDX-License-Identifier: Apache-2.0 */
/* target_table MODEL...: what every built-in target makes of each model, without repair. A line for
 * each pair: model, target, verdict (yes, no, maybe, or k/n: k of n nodes on the CPU), then the
 * first reason of each operator with its source, and the number of further ones. */
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "ir/ir.h" /* for surg__locate_node alone */
#include "pass/pass.h"
#include "target/target.h"

#define REASONS 4u

typedef struct reasons {
  surg__verdict worst;
  size_t count[SURG__ILLEGAL + 1];
  char text[SURG__ILLEGAL + 1][REASONS][400];
  size_t n[SURG__ILLEGAL + 1];
} reasons;

static void quiet(void *user, surg_severity severity, const char *line) {
  (void)user, (void)severity, (void)line;
}

/* The reason without names of values, so that equal ones are one. */
static void note(void *user, const surg__objection *o) {
  reasons *r = user;
  char line[400], *to = line;
  const char *op = o->node ? surg_node_op_type(o->node) : "model";
  to += snprintf(line, 64, "%s: ", op);
  for (const char *s = o->text; *s && to < line + 200; s++) {
    if (*s == '"') {
      for (s++; *s && *s != '"'; s++) continue;
      *to++ = '_';
      if (!*s) break;
    } else {
      *to++ = *s;
    }
  }
  snprintf(to, (size_t)(line + sizeof line - to), " [%s]", o->source);
  if (o->verdict > r->worst) r->worst = o->verdict;
  r->count[o->verdict]++;
  for (size_t i = 0; i < r->n[o->verdict]; i++)
    if (!strcmp(r->text[o->verdict][i], line)) return;
  if (r->n[o->verdict] < REASONS)
    memcpy(r->text[o->verdict][r->n[o->verdict]++], line, sizeof line);
}

static void put(const char *model, const surg__target *t, const reasons *r, const reasons *places,
                size_t nodes) {
  static const char *const words[] = {"yes", "maybe", "no"};
  const reasons *why = r->worst == SURG__LEGAL && t->host ? places : r;
  printf("%s\t%s\t", model, t->name);
  if (why == places)
    printf("%zu/%zu", places->count[SURG__ILLEGAL] + places->count[SURG__UNKNOWN], nodes);
  else
    printf("%s", words[r->worst]);
  for (size_t i = 0; i < why->n[why->worst]; i++) printf("\t%s", why->text[why->worst][i]);
  putchar('\n');
}

static bool judge(surg_context *ctx, const surg__target *t, const char *path) {
  static reasons all, places;
  surg_model *m = NULL;
  size_t nodes = 0;
  surg_status s = surg_model_load(ctx, path, NULL, &m);
  memset(&all, 0, sizeof all);
  memset(&places, 0, sizeof places);
  if (!s) s = surg__target_model(t, m, note, &all);
  if (!s && t->host) s = surg__target_elsewhere(t, m, note, &places, &nodes);
  const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  char stem[100];
  snprintf(stem, sizeof stem, "%.*s", (int)strcspn(name, "."), name);
  if (!s) put(stem, t, &all, &places, nodes);
  if (s) fprintf(stderr, "%s: %s: %s\n", path, t->name, surg_context_error(ctx));
  if (m) surg_model_free(m);
  return !s;
}

int main(int argc, char **argv) {
  const surg_config config = {.size = sizeof config, .diag = quiet};
  surg_context *ctx = surg_context_new(&config);
  bool good = ctx && surg_context_passes(ctx);
  for (size_t k = 0; k < surg__target_count && good; k++) {
    const surg__target_text *text = &surg__target_texts[k];
    surg__target *t = surg__target_read(ctx, text->text, strlen(text->text), text->name);
    good = t != NULL;
    for (int i = 1; i < argc && good; i++) good = judge(ctx, t, argv[i]);
    surg__target_free(t);
  }
  surg_context_free(ctx);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
