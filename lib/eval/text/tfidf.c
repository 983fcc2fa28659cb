/* SPDX-License-Identifier: Apache-2.0 */
/* TfIdfVectorizer: counts the n-grams of a pool in rows of words (strings or integers). Words
 * are mapped to numbers first, so that n-grams are compared as numbers and found by binary
 * search. */
#include "eval/core/kernels.h"
#include "eval/move/move.h"

typedef struct words {
  const int64_t *ints; /* the other one is NULL */
  const surg_str *strings;
} words;

typedef struct grams {
  words pool;
  uint64_t n_pool, n_words;
  uint64_t *sorted;        /* pool positions of the distinct words, in sorted order */
  uint64_t *word;          /* the word at each pool position, as an index into `sorted` */
  const int64_t *start;    /* pool position of the first n-gram of each size */
  const int64_t *index;    /* output column of each n-gram, over all sizes */
  size_t n_sizes, n_index;
  uint64_t columns;
  const float *weights;
  size_t n_weights;
  int64_t least, most, skips; /* lengths of n-grams, and most words skipped in between */
} grams;

/* The n-grams of one size, sorted. */
typedef struct table {
  const grams *g;
  uint64_t length, n, first; /* first: index of its first n-gram over all sizes */
  const uint64_t *begin;     /* word j of n-gram i: begin[i * length + j] */
  uint64_t *order;
} table;

static int compare_words(words a, uint64_t i, words b, uint64_t j) {
  if (a.ints) return a.ints[i] < b.ints[j] ? -1 : a.ints[i] > b.ints[j];
  surg_str s = a.strings[i], t = b.strings[j];
  size_t n = s.n < t.n ? s.n : t.n;
  int c = n > 0 ? memcmp(s.p, t.p, n) : 0;
  return c != 0 ? c : s.n < t.n ? -1 : s.n > t.n;
}

static int pool_order(const void *user, uint64_t a, uint64_t b) {
  const grams *g = user;
  return compare_words(g->pool, a, g->pool, b);
}

static int gram_order(const void *user, uint64_t a, uint64_t b) {
  const table *t = user;
  const uint64_t *p = t->begin + a * t->length, *q = t->begin + b * t->length;
  for (uint64_t i = 0; i < t->length; ++i) {
    if (p[i] != q[i]) return p[i] < q[i] ? -1 : 1;
  }
  return 0;
}

static surg__kstatus read_pool(surg_kctx *k, grams *g) {
  size_t n = 0;
  const surg_attr *ints = surg_node_attr(k->node, "pool_int64s");
  const surg_attr *strings = surg_node_attr(k->node, "pool_strings");
  bool text = k->in[0].dtype == SURG_STRING;
  if (text ? !strings : !ints) return surg__k_invalid(k, "there is no pool of the input's type");
  if (text)
    g->pool.strings = surg_attr_strings(strings, &n);
  else
    g->pool.ints = surg_attr_ints(ints, &n);
  if (n == 0 || (!g->pool.strings && !g->pool.ints)) return surg__k_invalid(k, "an empty pool");
  g->n_pool = n;
  return SURG__K_OK;
}

static surg__kstatus read_lists(surg_kctx *k, grams *g) {
  g->start = surg_node_ints(k->node, "ngram_counts", &g->n_sizes);
  g->index = surg_node_ints(k->node, "ngram_indexes", &g->n_index);
  const surg_attr *weights = surg_node_attr(k->node, "weights");
  if (weights) g->weights = surg_attr_floats(weights, &g->n_weights);
  g->least = surg_node_int(k->node, "min_gram_length", 0);
  g->most = surg_node_int(k->node, "max_gram_length", 0);
  g->skips = surg_node_int(k->node, "max_skip_count", 0);
  if (g->least < 1 || g->most < g->least || g->skips < 0 || g->n_sizes == 0 || g->n_index == 0) {
    return surg__k_invalid(k, "lengths of n-grams out of range");
  }
  for (size_t i = 0; i < g->n_index; ++i) {
    if (g->index[i] < 0 || g->index[i] == INT64_MAX) return surg__k_invalid(k, "a bad column");
    if ((uint64_t)g->index[i] >= g->columns) g->columns = (uint64_t)g->index[i] + 1;
  }
  for (size_t i = 0; i < g->n_sizes; ++i) {
    int64_t before = i == 0 ? 0 : g->start[i - 1];
    if (g->start[i] < before || (uint64_t)g->start[i] > g->n_pool) {
      return surg__k_invalid(k, "ngram_counts does not fit the pool");
    }
  }
  if (g->n_weights > 0 && g->n_weights < g->columns) {
    return surg__k_invalid(k, "fewer weights than columns");
  }
  return SURG__K_OK;
}

/* Assigns numbers to the distinct words of the pool. */
static surg__kstatus number_words(surg_kctx *k, grams *g) {
  size_t n = (size_t)g->n_pool;
  g->sorted = surg__k_scratch(k, n, sizeof *g->sorted);
  g->word = surg__k_scratch(k, n, sizeof *g->word);
  uint64_t *spare = surg__k_scratch(k, n, sizeof *spare);
  if (!g->sorted || !g->word || !spare) return SURG__K_NOMEM;
  SURG__K_TRY(surg__k_work(k, g->n_pool * 64));
  for (uint64_t i = 0; i < g->n_pool; ++i) g->sorted[i] = i;
  surg__sort_positions(g->sorted, spare, g->n_pool, pool_order, g);
  for (uint64_t i = 0; i < g->n_pool; ++i) {
    uint64_t at = g->sorted[i];
    bool same = i > 0 && pool_order(g, g->sorted[g->n_words - 1], at) == 0;
    if (!same) g->sorted[g->n_words++] = at;
    g->word[at] = g->n_words - 1;
  }
  return SURG__K_OK;
}

/* The number of input word i, or UINT64_MAX if the pool lacks it. */
static uint64_t find_word(const grams *g, words from, uint64_t i) {
  uint64_t low = 0, high = g->n_words;
  while (low < high) {
    uint64_t mid = low + (high - low) / 2;
    int c = compare_words(from, i, g->pool, g->sorted[mid]);
    if (c == 0) return mid;
    if (c < 0)
      high = mid;
    else
      low = mid + 1;
  }
  return UINT64_MAX;
}

/* Builds the sorted table of each n-gram size of the pool. INVALID if an n-gram is repeated. */
static surg__kstatus make_tables(surg_kctx *k, const grams *g, table *tables) {
  uint64_t first = 0;
  uint64_t *spare = surg__k_scratch(k, (size_t)g->n_pool, sizeof *spare);
  if (!spare) return SURG__K_NOMEM;
  for (size_t s = 0; s < g->n_sizes; ++s) {
    uint64_t end = s + 1 < g->n_sizes ? (uint64_t)g->start[s + 1] : g->n_pool;
    uint64_t begin = (uint64_t)g->start[s], length = s + 1, n = (end - begin) / length;
    table *t = &tables[s];
    *t = (table){g, length, n, first, g->word + begin, NULL};
    first += n;
    if (first > g->n_index) return surg__k_invalid(k, "fewer columns than n-grams");
    t->order = surg__k_scratch(k, (size_t)n, sizeof *t->order);
    if (!t->order) return SURG__K_NOMEM;
    SURG__K_TRY(surg__k_work(k, (end - begin) * 64));
    for (uint64_t i = 0; i < n; ++i) t->order[i] = i;
    surg__sort_positions(t->order, spare, n, gram_order, t);
    for (uint64_t i = 1; i < n; ++i) {
      if (gram_order(t, t->order[i - 1], t->order[i]) == 0) {
        return surg__k_invalid(k, "an n-gram is repeated in the pool");
      }
    }
  }
  return SURG__K_OK;
}

/* The output column of the n-gram w[0], w[skip], ..., or -1. */
static int64_t find_gram(const table *t, const uint64_t *w, uint64_t skip) {
  uint64_t low = 0, high = t->n;
  while (low < high) {
    uint64_t mid = low + (high - low) / 2;
    const uint64_t *p = t->begin + t->order[mid] * t->length;
    int c = 0;
    for (uint64_t i = 0; i < t->length && c == 0; ++i) {
      c = w[i * skip] < p[i] ? -1 : w[i * skip] > p[i];
    }
    if (c == 0) return t->g->index[t->first + t->order[mid]];
    if (c < 0)
      high = mid;
    else
      low = mid + 1;
  }
  return -1;
}

/* Counts the n-grams of a row. Skips do not apply to n-grams of one word, so these are counted
 * once. */
static surg__kstatus count_row(surg_kctx *k, const grams *g, const table *tables, const uint64_t *w,
                               uint64_t n, float *counts) {
  uint64_t most = (uint64_t)g->most < g->n_sizes ? (uint64_t)g->most : g->n_sizes;
  for (uint64_t skip = 1; skip <= (uint64_t)g->skips + 1 && skip <= n; ++skip) {
    uint64_t length = (uint64_t)g->least;
    if (length == 1 && skip > 1) length = 2;
    for (; length <= most && (length - 1) <= (n - 1) / skip; ++length) {
      uint64_t starts = n - (length - 1) * skip;
      SURG__K_TRY(surg__k_work(k, starts * length));
      for (uint64_t i = 0; i < starts; ++i) {
        int64_t column = find_gram(&tables[length - 1], w + i, skip);
        if (column >= 0) counts[column] += 1;
      }
    }
  }
  return SURG__K_OK;
}

static surg__kstatus weigh(surg_kctx *k, const grams *g) {
  surg_str mode = surg_node_string(k->node, "mode", "");
  bool tf = mode.n == 2 && memcmp(mode.p, "TF", 2) == 0;
  bool idf = mode.n == 3 && memcmp(mode.p, "IDF", 3) == 0;
  bool both = mode.n == 5 && memcmp(mode.p, "TFIDF", 5) == 0;
  if (!tf && !idf && !both) return surg__k_invalid(k, "mode is none of TF, IDF and TFIDF");
  float *out = k->out[0].data;
  for (uint64_t i = 0; i < k->out[0].count && !tf; ++i) {
    float by = g->n_weights > 0 ? g->weights[i % g->columns] : 1;
    out[i] = idf ? (out[i] > 0 ? by : 0) : out[i] * by;
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_tfidf(surg_kctx *k) {
  const surg__array *x = &k->in[0];
  grams g = {0};
  if (!k->wanted[0]) return SURG__K_OK;
  if (x->rank > 2) return surg__k_invalid(k, "rows of words have rank 1 or 2");
  SURG__K_TRY(read_pool(k, &g));
  SURG__K_TRY(read_lists(k, &g));
  uint64_t rows = x->rank == 2 ? (uint64_t)x->dims[0] : 1;
  uint64_t row = x->rank == 0 ? 1 : (uint64_t)x->dims[x->rank - 1];
  const int64_t dims[2] = {(int64_t)rows, (int64_t)g.columns};
  SURG__K_TRY(surg__k_out(k, 0, SURG_FLOAT, dims + (x->rank < 2), x->rank < 2 ? 1 : 2));
  SURG__K_TRY(surg__k_work(k, k->out[0].count));
  SURG__K_TRY(number_words(k, &g));
  table *tables = surg__k_scratch(k, g.n_sizes, sizeof *tables);
  uint64_t *w = surg__k_scratch(k, (size_t)x->count, sizeof *w);
  if (!tables || !w) return SURG__K_NOMEM;
  SURG__K_TRY(make_tables(k, &g, tables));
  words from = {0};
  if (x->dtype == SURG_STRING) from.strings = x->data;
  uint64_t n = 0;
  if (!from.strings) from.ints = surg__k_ints(k, 0, &n);
  if (!from.strings && !from.ints) return SURG__K_NOMEM;
  SURG__K_TRY(surg__k_work(k, x->count * 8));
  for (uint64_t i = 0; i < x->count; ++i) w[i] = find_word(&g, from, i);
  memset(k->out[0].data, 0, (size_t)k->out[0].count * sizeof(float));
  for (uint64_t r = 0; r < rows && row > 0; ++r) {
    float *counts = (float *)k->out[0].data + r * g.columns;
    SURG__K_TRY(count_row(k, &g, tables, w + r * row, row, counts));
  }
  return weigh(k, &g);
}
