/* SPDX-License-Identifier: Apache-2.0 */
/* Stores a matrix and its transpose once, such as the embedding and the output projection of a
 * language model: the readers of one read a Transpose of the other. The one that a Gather reads
 * stays, otherwise the first.
 *
 *   before: <float[9,4] e, float[4,9] h> { x = Gather (e, ids) ... y = MatMul (t, h) }
 *   after:  <float[9,4] e> { h = Transpose <perm = [1, 0]> (e)  x = Gather (e, ids) ...
 *             y = MatMul (t, h) }
 *
 * Every bit is compared. Not merged: initializers that a caller can override or that are inputs
 * (IR versions below 4), outputs, annotated and protected ones, and small ones. `fold` keeps the
 * Transpose, as its result would be a second copy, unless --max-growth permits that.
 *
 * Needs nothing. Keeps sorted. Exact. */
#include <assert.h>
#include <onnxsurg/ops.h>
#include <stdlib.h>
#include <string.h>

#include "../util/give.h"
#include "../util/table.h"
#include "../util/values.h"

#define SAMPLES 32       /* elements that decide whether two matrices are compared */
#define TRIES 16         /* most matrices of one signature that are compared with one */
#define BLOCK (1u << 20) /* bytes of a matrix that are compared at once */
#define ELEMENT 16       /* most bytes of an element */

/* A matrix; `plain` and `turned` are hashes of some elements, of it and of its transpose. */
typedef struct matrix {
  surg_value *v;
  const surg_tensor *t;
  uint64_t plain, turned;
  size_t rows, columns, size; /* size: bytes of an element */
  size_t order;               /* number in the file */
} matrix;

static bool gathered(const surg_value *v) {
  for (const surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
    if (n && surg_node_class(n) == SURG_OP_CLASS_BUILTIN && surg_node_op(n) == SURG_OP_Gather &&
        surg_use_index(u) == 0)
      return true;
  }
  return false;
}

/* The hash of elements at places that depend on the size only, or of the transpose. */
static bool sample(const matrix *x, bool turned, uint64_t *hash) {
  const size_t rows = turned ? x->columns : x->rows, columns = turned ? x->rows : x->columns;
  unsigned char e[ELEMENT] = {0};
  uint64_t seed = 88172645463325252u;
  *hash = table_mix(table_mix((uint64_t)surg_tensor_dtype(x->t), rows), columns);
  for (size_t i = 0; i < SAMPLES; i++) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    const size_t r = (size_t)(seed % rows), c = (size_t)((seed >> 20) % columns);
    const uint64_t at = turned ? (uint64_t)c * rows + r : (uint64_t)r * columns + c;
    uint64_t word[2] = {0, 0};
    if (surg_tensor_read(x->t, at * x->size, e, x->size) != SURG_OK) return false;
    memcpy(word, e, x->size);
    *hash = table_mix(table_mix(*hash, word[0]), word[1]);
  }
  return true;
}

/* Fills in x from an initializer; false: it is no candidate. */
static bool read_matrix(surg_pass_ctx *p, surg_value *v, uint64_t least, matrix *x) {
  const surg_tensor *t = surg_value_settled(v);
  if (!t || surg_value_is_input(v) || surg_tensor_is_sparse(t) || surg_tensor_rank(t) != 2 ||
      surg_tensor_bytes(t) < least || surg_value_is_pinned(v) || surg_pass_keeps_value(p, v))
    return false;
  const uint64_t count = surg_tensor_count(t), bytes = surg_tensor_bytes(t);
  if (count == 0 || bytes % count || bytes / count > ELEMENT ||
      surg_tensor_dtype(t) == SURG_STRING || bytes > SIZE_MAX / 2)
    return false;
  *x = (matrix){.v = v, .t = t, .size = (size_t)(bytes / count)};
  x->rows = (size_t)surg_tensor_dims(t)[0];
  x->columns = (size_t)surg_tensor_dims(t)[1];
  return sample(x, false, &x->plain) && sample(x, true, &x->turned);
}

/* Whether b is the transpose of a, bit for bit: 1, 0, or -1 if memory ran out. Blocks of rows of b
 * are compared with the same columns of a. */
static int is_transpose(surg_pass_ctx *p, const matrix *a, const matrix *b) {
  if (a->rows != b->columns || a->columns != b->rows || a->size != b->size ||
      surg_tensor_dtype(a->t) != surg_tensor_dtype(b->t))
    return 0;
  const size_t line = b->columns * b->size, size = a->size;
  size_t step = BLOCK / line ? BLOCK / line : 1;
  if (step > b->rows) step = b->rows;
  unsigned char *rows = surg_pass_alloc(p, step * line), *part = surg_pass_alloc(p, step * size);
  if (!rows || !part) return -1;
  for (size_t from = 0; from < b->rows; from += step) {
    const size_t n = b->rows - from < step ? b->rows - from : step;
    if (surg_tensor_read(b->t, (uint64_t)from * line, rows, n * line) != SURG_OK) return 0;
    for (size_t r = 0; r < a->rows; r++) {
      const uint64_t at = ((uint64_t)r * a->columns + from) * size;
      if (surg_tensor_read(a->t, at, part, n * size) != SURG_OK) return 0;
      for (size_t k = 0; k < n; k++)
        if (memcmp(part + k * size, rows + k * line + r * size, size) != 0) return 0;
    }
  }
  return 1;
}

static bool can_go(const surg_value *v) {
  return !surg_value_is_output(v) && !values_annotated(v) && surg_value_use_count(v, 1);
}

/* Lets the readers of `gone` read the transpose of `stays`. */
static surg_pass_result tie(surg_pass_ctx *p, surg_graph *g, surg_value *stays, surg_value *gone) {
  const int64_t perm[2] = {1, 0};
  const char *name = surg_value_name(gone);
  char *kept = surg_pass_alloc(p, strlen(name) + 1);
  if (!kept) return SURG_PASS_FAILED;
  strcpy(kept, name);
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  surg_node *n = surg_graph_add_node(g, surg_graph_first_node(g), "", "Transpose", 1);
  if (!n || surg_node_set_input(n, 0, stays) || surg_node_set_ints(n, "perm", perm, 2) ||
      !give_readers(p, gone, surg_node_output(n, 0), NULL) || surg_value_erase_initializer(gone) ||
      surg_value_rename(surg_node_output(n, 0), kept))
    return SURG_PASS_FAILED;
  surg_pass_count(p, "matrices", 1);
  return SURG_PASS_CHANGED;
}

static int by_plain(const void *a, const void *b) {
  const matrix *x = a, *y = b;
  if (x->plain != y->plain) return x->plain < y->plain ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

static int by_order(const void *a, const void *b) {
  const matrix *x = *(matrix *const *)a, *y = *(matrix *const *)b;
  return (x->order > y->order) - (x->order < y->order);
}

/* The first matrix with this hash of its elements, at the end of the list if there is none. */
static size_t lower(const matrix *all, size_t n, uint64_t hash) {
  size_t low = 0, high = n;
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    if (all[mid].plain < hash) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

/* Ties x to the first matrix whose transpose it is. */
static surg_pass_result tie_one(surg_pass_ctx *p, surg_graph *g, matrix *all, size_t n, matrix *x) {
  if (!x->v) return SURG_PASS_UNCHANGED;
  size_t tries = 0;
  for (size_t i = lower(all, n, x->turned); i < n && all[i].plain == x->turned; i++) {
    matrix *other = &all[i];
    if (other == x || !other->v) continue;
    if (++tries > TRIES) break;
    const int same = is_transpose(p, x, other);
    if (same < 0) return SURG_PASS_FAILED;
    if (!same) continue;
    const bool here = gathered(x->v), there = gathered(other->v);
    matrix *gone = here != there ? (there ? x : other) : x->order > other->order ? x : other;
    if (!can_go(gone->v)) gone = gone == x ? other : x;
    if (!can_go(gone->v)) continue;
    const surg_pass_result result = tie(p, g, gone == x ? other->v : x->v, gone->v);
    if (result == SURG_PASS_CHANGED) gone->v = NULL;
    return result;
  }
  return SURG_PASS_UNCHANGED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  const size_t most = surg_graph_initializer_count(g);
  const int64_t least = surg_pass_int(p, "min-bytes");
  surg_pass_result result = SURG_PASS_UNCHANGED;
  size_t n = 0;
  if (least < 0) return surg_pass_usage(p, "min-bytes: expected a number from 0 on");
  if (most < 2 || most > SIZE_MAX / sizeof(matrix) || !give_builtin(g, "Transpose")) return result;
  matrix *all = surg_pass_alloc(p, most * sizeof *all);
  matrix **list = surg_pass_alloc(p, most * sizeof *list);
  if (!all || !list) return SURG_PASS_FAILED;
  for (surg_value *v = surg_graph_next_initializer(g, NULL); v && n < most;
       v = surg_graph_next_initializer(g, v)) {
    if (!read_matrix(p, v, (uint64_t)least, &all[n])) continue;
    all[n].order = n;
    n++;
  }
  if (surg_model_status(surg_graph_model(g)) != SURG_OK) return SURG_PASS_FAILED;
  qsort(all, n, sizeof *all, by_plain);
  for (size_t i = 0; i < n; i++) list[i] = &all[i];
  qsort(list, n, sizeof *list, by_order);
  for (size_t i = 0; i < n; i++) {
    const surg_pass_result one = tie_one(p, g, all, n, list[i]);
    if (one == SURG_PASS_FAILED) return one;
    if (one == SURG_PASS_CHANGED) result = one;
  }
  return result;
}

static const surg_option options[] = {
    SURG_OPTION(INT, "min-bytes", "1KiB", "smallest matrix"),
};

const surg_pass surg__pass_tie_weights = {
    SURG_PASS_HEAD(GRAPH, "tie-weights", "store a matrix and its transpose once"),
    SURG_PASS_OPTIONS(options),
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_EXACT,
    .run = run,
};
