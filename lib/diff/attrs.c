/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes: digests, comparison, text. */
#include <onnxsurg/names.h>
#include <onnxsurg/schema.h>

#include "diff/diff.h"
#include "schema/schema.h"

#define LIST_SHOWN 12u /* elements of a list that a text shows */

static uint64_t hash(const surg_diff *d, const void *p, size_t n) {
  return n ? surg__hash(d->ctx, p, n) : 0;
}

static uint64_t hash_tensor(const surg_diff *d, const surg_tensor *t, bool content) {
  uint64_t h = 0;
  if (content && !d->no_weights && surg_tensor_hash(t, &h) == SURG_OK) return h;
  h = surg__diff_mix((uint64_t)surg_tensor_dtype(t), surg_tensor_rank(t));
  return surg__diff_mix(h, hash(d, surg_tensor_dims(t), surg_tensor_rank(t) * sizeof(int64_t)));
}

static uint64_t hash_type(const surg_type *t) {
  uint64_t h = 1;
  for (; t; t = surg_type_elem(t)) {
    h = surg__diff_mix(h, (uint64_t)surg_type_get_kind(t));
    h = surg__diff_mix(h, (uint64_t)surg_type_dtype(t) << 32 | surg_type_rank(t));
  }
  return h;
}

static uint64_t hash_value(const surg_diff *d, const surg_attr *a, bool content) {
  size_t n = 0;
  const surg_attr_kind kind = surg_attr_get_kind(a);
  uint64_t h = kind;
  if (surg_attr_ref(a)) return surg__diff_mix(h, hash(d, a->ref, strlen(a->ref)));
  switch (kind) {
    case SURG_ATTR_INT:
      return surg__diff_mix(h, (uint64_t)surg_attr_int(a));
    case SURG_ATTR_FLOAT: {
      const float f = surg_attr_float(a);
      return surg__diff_mix(h, hash(d, &f, sizeof f));
    }
    case SURG_ATTR_STRING:
      return surg__diff_mix(h, hash(d, a->u.s.p, a->u.s.n));
    case SURG_ATTR_INTS: {
      const int64_t *p = surg_attr_ints(a, &n);
      return surg__diff_mix(h, hash(d, p, n * sizeof *p));
    }
    case SURG_ATTR_FLOATS: {
      const float *p = surg_attr_floats(a, &n);
      return surg__diff_mix(h, hash(d, p, n * sizeof *p));
    }
    case SURG_ATTR_STRINGS: {
      const surg_str *p = surg_attr_strings(a, &n);
      for (size_t i = 0; i < n; i++) h = surg__diff_mix(h, hash(d, p[i].p, p[i].n));
      return h;
    }
    default:
      break;
  }
  const surg_tensor *t;
  for (size_t i = 0; (t = surg_attr_tensor(a, i)); i++)
    h = surg__diff_mix(h, hash_tensor(d, t, content));
  const surg_type *type;
  for (size_t i = 0; (type = surg_attr_type(a, i)); i++) h = surg__diff_mix(h, hash_type(type));
  return h;
}

uint64_t surg__diff_attrs(const surg_diff *d, const surg_node *n, bool content) {
  uint64_t sum = 0; /* the order of attributes means nothing */
  for (size_t i = 0; i < surg_node_attr_count(n); i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    if (surg__diff_attr_default(n, a)) continue;
    sum += surg__diff_mix(hash(d, a->name, strlen(a->name)), hash_value(d, a, content));
  }
  return sum;
}

/* --- comparison --- */

static bool same_text(surg_str a, surg_str b) {
  return a.n == b.n && (!a.n || memcmp(a.p, b.p, a.n) == 0);
}

static bool same_bytes(const void *a, size_t n, const void *b, size_t k, size_t size) {
  return n == k && (!n || memcmp(a, b, n * size) == 0);
}

static bool same_floats(const surg_attr *a, const surg_attr *b) {
  size_t n, k;
  const float *x = surg_attr_floats(a, &n), *y = surg_attr_floats(b, &k);
  return same_bytes(x, n, y, k, sizeof *x);
}

static bool same_ints(const surg_attr *a, const surg_attr *b) {
  size_t n, k;
  const int64_t *x = surg_attr_ints(a, &n), *y = surg_attr_ints(b, &k);
  return same_bytes(x, n, y, k, sizeof *x);
}

static bool same_strings(const surg_attr *a, const surg_attr *b) {
  size_t n, k;
  const surg_str *x = surg_attr_strings(a, &n), *y = surg_attr_strings(b, &k);
  bool same = n == k;
  for (size_t i = 0; same && i < n; i++) same = same_text(x[i], y[i]);
  return same;
}

static int same_tensors(surg_diff *d, const surg_attr *a, const surg_attr *b) {
  int answer = a->count == b->count;
  for (uint32_t i = 0; answer == 1 && i < a->count; i++) {
    surg__dweights w;
    surg__diff_weights(d, a->u.tensors[i], b->u.tensors[i], &w);
    answer = w.same ? 1 : w.unknown ? -1 : 0;
  }
  return answer;
}

static bool same_types(surg_diff *d, const surg_attr *a, const surg_attr *b) {
  for (size_t i = 0;; i++) {
    const surg_type *x = surg_attr_type(a, i), *y = surg_attr_type(b, i);
    if (!x || !y) return x == y;
    if (!surg__diff_type_same(d, x, y)) return false;
  }
}

int surg__diff_attr_same(surg_diff *d, const surg_attr *a, const surg_attr *b) {
  const surg_attr_kind kind = surg_attr_get_kind(a);
  if (kind != surg_attr_get_kind(b)) return 0;
  if (a->ref || b->ref) return a->ref && b->ref && strcmp(a->ref, b->ref) == 0;
  switch (kind) {
    case SURG_ATTR_INT:
      return surg_attr_int(a) == surg_attr_int(b);
    case SURG_ATTR_FLOAT:
      return memcmp(&a->u.f, &b->u.f, sizeof a->u.f) == 0;
    case SURG_ATTR_STRING:
      return same_text(a->u.s, b->u.s);
    case SURG_ATTR_INTS:
      return same_ints(a, b);
    case SURG_ATTR_FLOATS:
      return same_floats(a, b);
    case SURG_ATTR_STRINGS:
      return same_strings(a, b);
    case SURG_ATTR_TENSOR:
    case SURG_ATTR_TENSORS:
    case SURG_ATTR_SPARSE_TENSOR:
    case SURG_ATTR_SPARSE_TENSORS:
      return same_tensors(d, a, b);
    case SURG_ATTR_TYPE_PROTO:
    case SURG_ATTR_TYPE_PROTOS:
      return same_types(d, a, b);
    case SURG_ATTR_GRAPH:
    case SURG_ATTR_GRAPHS:
      return a->count == b->count; /* their content is compared as graphs */
    default:
      return -1;
  }
}

bool surg__diff_attr_default(const surg_node *n, const surg_attr *a) {
  const surg_schema *s = surg_node_schema(n);
  const surg__attr_def *def = s && !a->ref ? surg__schema_attr(s, a->name) : NULL;
  if (!def || !def->has_default || def->kind != a->kind) return false;
  switch (a->kind) {
    case SURG_ATTR_INT:
      return a->u.i == def->i;
    case SURG_ATTR_FLOAT:
      return memcmp(&a->u.f, &def->f, sizeof def->f) == 0;
    case SURG_ATTR_STRING:
      return def->s && same_text(a->u.s, (surg_str){def->s, strlen(def->s)});
    case SURG_ATTR_INTS:
      return def->ints && same_bytes(a->u.ints, a->count, def->ints, def->n, sizeof *def->ints);
    default:
      return false;
  }
}

/* --- text --- */

static void put_tensor(surg__buf *b, const surg_tensor *t) {
  const char *type = surg_dtype_name(surg_tensor_dtype(t));
  surg__buf_printf(b, "%s[", type ? type : "?");
  for (size_t i = 0; i < surg_tensor_rank(t); i++)
    surg__buf_printf(b, "%s%lld", i ? ", " : "", (long long)surg_tensor_dims(t)[i]);
  surg__buf_putc(b, ']');
}

static void put_string(surg__buf *b, surg_str s) {
  surg__buf_putc(b, '"');
  if (s.n) surg__buf_escape(b, s.p, s.n, SURG__DIFF_SHOWN);
  surg__buf_putc(b, '"');
}

static void put_list(surg__buf *b, const surg_attr *a) {
  surg__buf_putc(b, '[');
  for (uint32_t i = 0; i < a->count && i < LIST_SHOWN; i++) {
    if (i) surg__buf_puts(b, ", ");
    if (a->kind == SURG_ATTR_INTS)
      surg__buf_printf(b, "%lld", (long long)a->u.ints[i]);
    else if (a->kind == SURG_ATTR_FLOATS)
      surg__buf_printf(b, "%.9g", (double)a->u.floats[i]);
    else
      put_string(b, a->u.strings[i]);
  }
  if (a->count > LIST_SHOWN) surg__buf_printf(b, ", ... (%u elements)", a->count);
  surg__buf_putc(b, ']');
}

static void put_graph(surg__buf *b, const surg_graph *g) {
  const size_t n = surg_graph_node_count(g);
  surg__buf_printf(b, "graph of %zu node%s", n, n == 1 ? "" : "s");
}

static void put_value(surg_diff *d, surg__buf *b, const surg_attr *a) {
  switch (a->kind) {
    case SURG_ATTR_INT:
      surg__buf_printf(b, "%lld", (long long)a->u.i);
      break;
    case SURG_ATTR_FLOAT:
      surg__buf_printf(b, "%.9g", (double)a->u.f);
      break;
    case SURG_ATTR_STRING:
      put_string(b, a->u.s);
      break;
    case SURG_ATTR_INTS:
    case SURG_ATTR_FLOATS:
    case SURG_ATTR_STRINGS:
      put_list(b, a);
      break;
    case SURG_ATTR_TENSOR:
      put_tensor(b, a->u.tensors[0]);
      break;
    case SURG_ATTR_GRAPH:
      put_graph(b, a->u.graphs[0]);
      break;
    case SURG_ATTR_TYPE_PROTO:
      surg__buf_puts(b, surg__diff_type_text(d, a->u.types[0]));
      break;
    default: {
      const char *kind = surg_attr_kind_name(a->kind);
      surg__buf_printf(b, "%u %s", a->count, kind ? kind : "values");
    }
  }
}

/* Moves a text to the arena. */
static const char *keep(surg_diff *d, surg__buf *b) {
  const char *out = b->failed ? NULL : surg__arena_strn(&d->arena, b->p ? b->p : "", b->n);
  surg__buf_free(b);
  if (!out) surg__diff_fail(d);
  return out ? out : "";
}

const char *surg__diff_attr_text(surg_diff *d, const surg_attr *a) {
  surg__buf b;
  surg__buf_init(&b, d->ctx);
  if (a->ref) {
    surg__buf_putc(&b, '@');
    surg__buf_escape(&b, a->ref, strlen(a->ref), SURG_LIMIT_NAME_PRINT);
  } else if (!a->count) {
    surg__buf_puts(&b, "[]");
  } else {
    put_value(d, &b, a);
  }
  return keep(d, &b);
}

const char *surg__diff_tensor_text(surg_diff *d, const surg_tensor *t) {
  surg__buf b;
  surg__buf_init(&b, d->ctx);
  put_tensor(&b, t);
  return keep(d, &b);
}

const char *surg__diff_type_text(surg_diff *d, const surg_type *t) {
  char *text = NULL;
  if (!t) return "no type";
  if (surg_type_text(d->ctx, t, &text) != SURG_OK) {
    surg__diff_fail(d);
    return "";
  }
  const char *out = surg__diff_say(d, "%s", text);
  surg_context_free_bytes(d->ctx, text);
  return out;
}
