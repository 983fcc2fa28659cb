/* SPDX-License-Identifier: Apache-2.0 */
/* Rules changed on purpose against the models of golden cases: there a rule must match and make
 * what it did when the case was written and read. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "rules.h"

typedef struct golden {
  char *text; /* the model */
  surg_model *model;
} golden;

static golden *all;
static size_t n_all, room;

static void keep(char *text) {
  if (n_all == room) {
    room = room ? 2 * room : 256;
    all = realloc(all, room * sizeof *all);
    if (!all) abort();
  }
  all[n_all++] = (golden){text, NULL};
}

/* What stands below "--- input" up to the next such line. */
static void read_case(const char *path) {
  FILE *f = fopen(path, "r");
  char *text = NULL, line[1 << 16];
  size_t n = 0;
  bool in = false;
  while (f && fgets(line, sizeof line, f)) {
    const bool title = !strncmp(line, "--- ", 4);
    if (title && in) break;
    if (title) in = !strcmp(line, "--- input\n");
    if (title || !in) continue;
    const size_t more = strlen(line);
    text = realloc(text, n + more + 1);
    if (!text) abort();
    memcpy(text + n, line, more + 1);
    n += more;
  }
  if (f) fclose(f);
  if (text) keep(text);
}

static void read_folder(const char *path, int deep) {
  DIR *d = opendir(path);
  const struct dirent *e;
  while (d && (e = readdir(d)) != NULL) {
    char name[4096];
    struct stat st;
    if (e->d_name[0] == '.' ||
        snprintf(name, sizeof name, "%s/%s", path, e->d_name) >= (int)sizeof name ||
        stat(name, &st))
      continue;
    const size_t n = strlen(name);
    if (S_ISDIR(st.st_mode) && deep > 0) read_folder(name, deep - 1);
    if (S_ISREG(st.st_mode) && n > 4 && !strcmp(name + n - 4, ".txt")) read_case(name);
  }
  if (d) closedir(d);
}

void golden_read(const char *folder) {
  read_folder(folder, 1);
}

static surg_model *model_of(surg_context *ctx, const char *text) {
  surg_model *m = NULL;
  surg_context_clear_error(ctx);
  if (surg_model_load_text(ctx, text, strlen(text), "golden", &m)) return NULL;
  if (surg_model_infer(m)) {
    surg_model_free(m);
    return NULL;
  }
  return m;
}

static surg_node *node_at(surg_model *m, const char *op, size_t k) {
  for (surg_graph *g = surg_model_next_graph(m, NULL); g; g = surg_model_next_graph(m, g))
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      if (!strcmp(surg_node_op_type(n), op) && !k--) return n;
  return NULL;
}

static bool matches(surg_context *ctx, surg__arena *arena, const surg_rule *r, surg_node *n,
                    surg__match **out) {
  surg__match *match = *out = surg__arena_zalloc(arena, sizeof *match);
  if (!match) abort();
  match->ctx = ctx;
  match->arena = arena;
  match->rule = r;
  const int64_t opset = surg_model_opset(surg_graph_model(surg_node_graph(n)), "");
  return surg__match_at(match, n, opset > 0 ? opset : 1);
}

static uint64_t mix(uint64_t h, const char *text) {
  for (; *text; text++) h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
  return h * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* The model that the rule makes at the k-th node of the operator, as a number. */
static uint64_t made(surg_context *ctx, const surg_rule *r, const golden *g, const char *op,
                     size_t k) {
  surg__arena arena;
  surg__match *match;
  char *out = NULL;
  size_t n = 0;
  uint64_t h = 0;
  surg_model *m = model_of(ctx, g->text);
  surg__arena_init(&arena, ctx);
  if (m && matches(ctx, &arena, r, node_at(m, op, k), &match) && !surg__emit_any(match, NULL) &&
      !surg_model_save_text(m, true, &out, &n)) {
    h = mix(1, out);
    surg_context_free_bytes(ctx, out);
  }
  surg_model_free(m);
  surg__arena_free(&arena);
  return h;
}

static uint64_t done_in(surg_context *ctx, const surg_rule *r, golden *g, const char *op,
                        uint64_t h) {
  size_t k = 0;
  if (!g->model) g->model = model_of(ctx, g->text);
  for (surg_graph *in = g->model ? surg_model_next_graph(g->model, NULL) : NULL; in;
       in = surg_model_next_graph(g->model, in))
    for (surg_node *n = surg_graph_first_node(in); n; n = surg_node_next(n)) {
      if (strcmp(surg_node_op_type(n), op)) continue;
      surg__arena arena;
      surg__match *match;
      surg__arena_init(&arena, ctx);
      const bool yes = matches(ctx, &arena, r, n, &match);
      surg__arena_free(&arena);
      h = h * UINT64_C(0x9e3779b97f4a7c15) + (yes ? made(ctx, r, g, op, k) : 0) + 1;
      k++;
    }
  return h;
}

uint64_t golden_done(surg_context *ctx, const surg_rule *r) {
  const char *op = r->match.stmts[r->anchor].op_type;
  uint64_t h = 1;
  for (size_t i = 0; i < n_all; i++)
    if (strstr(all[i].text, op)) h = done_in(ctx, r, &all[i], op, h);
  return h;
}

void golden_forget(void) {
  for (size_t i = 0; i < n_all; i++) {
    surg_model_free(all[i].model);
    free(all[i].text);
  }
  free(all);
}
