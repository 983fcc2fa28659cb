/* SPDX-License-Identifier: Apache-2.0 */
/* Unique names of the initializers of a model. The first initializer of a name keeps it; others, of
 * inner graphs, get the least number that makes theirs unique: "w", "w#2", "w#3". The order of
 * graphs decides, so that a model and its copy agree. */
#include "weights/weights.h"

#include <stdio.h>

typedef struct names {
  const surg__weights *w;
  uint32_t *cells; /* index of a weight plus 1 */
  uint32_t *again; /* by weight: how many names with a number were tried after its own */
  size_t capacity; /* power of 2 */
} names;

/* The cell of a name: the one that has it, or an empty one. */
static uint32_t *cell_of(const names *t, const char *name) {
  size_t i = (size_t)surg__hash(t->w->ctx, name, strlen(name)) & (t->capacity - 1);
  while (t->cells[i] && strcmp(t->w->all.items[t->cells[i] - 1].name, name) != 0)
    i = (i + 1) & (t->capacity - 1);
  return &t->cells[i];
}

static surg_status number(surg__weights *w, names *t, size_t at) {
  surg__weight *x = &w->all.items[at];
  const char *plain = x->name;
  uint32_t *cell = cell_of(t, plain);
  if (*cell) {
    uint32_t *again = &t->again[*cell - 1];
    const size_t n = strlen(plain) + 16;
    char *made = surg__arena_alloc(&w->arena, n);
    if (!made) return surg__oom(w->ctx, NULL);
    do {
      snprintf(made, n, "%s#%u", plain, ++*again + 1);
      x->name = made;
      cell = cell_of(t, made);
    } while (*cell);
  }
  *cell = (uint32_t)at + 1;
  return SURG_OK;
}

/* Names of the main graph come first and are unique; then the numbers. */
static surg_status number_all(surg__weights *w) {
  names t = {.w = w, .capacity = 16};
  while (t.capacity < w->all.count * 2) t.capacity *= 2;
  t.cells = surg__calloc(w->ctx, t.capacity, sizeof *t.cells);
  t.again = surg__calloc(w->ctx, w->all.count + 1, sizeof *t.again);
  surg_status s = t.cells && t.again ? SURG_OK : surg__oom(w->ctx, NULL);
  for (size_t i = 0; s == SURG_OK && i < w->all.count; i++) s = number(w, &t, i);
  surg__free(w->ctx, t.cells);
  surg__free(w->ctx, t.again);
  return s;
}

surg_status surg__weights_list(surg_model *m, surg__weights *out) {
  memset(out, 0, sizeof *out);
  out->ctx = m->ctx;
  surg__arena_init(&out->arena, m->ctx);
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g)) != NULL;)
    for (surg_value *v = surg_graph_next_initializer(g, NULL); v;
         v = surg_graph_next_initializer(g, v)) {
      const surg__weight x = {v, surg_value_name(v), surg_value_initializer(v)};
      if (out->all.count >= UINT32_MAX / 4 || !surg__vec_push(m->ctx, &out->all, x))
        return surg__oom(m->ctx, surg_model_path(m));
    }
  return number_all(out);
}

void surg__weights_free(surg__weights *w) {
  if (!w->ctx) return;
  surg__vec_free(w->ctx, &w->all);
  surg__arena_free(&w->arena);
}

static bool ends_with(const char *s, const char *end) {
  const size_t n = strlen(s), k = strlen(end);
  return n > k && strcmp(s + n - k, end) == 0;
}

surg__weights_format surg__weights_format_of(surg_context *ctx, const char *path) {
  if (ends_with(path, ".safetensors")) return SURG__WEIGHTS_SAFETENSORS;
  if (ends_with(path, ".npz")) return SURG__WEIGHTS_NPZ;
  surg__error(ctx, SURG_EUSAGE, path,
              "is in no known format of weights; expected a name ending in .safetensors or .npz");
  return SURG__WEIGHTS_NONE;
}
