/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the elements of tensors by digests, and digests by elements. */
#include "weights/strip.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/dtype.h"

#define DEFAULT_THRESHOLD 256u
#define PIECE ((size_t)1 << 20)
#define LOCATION "stripped" /* no file is read: the digest says that there is none */

/* A tensor of a model and where it is. */
typedef struct spot {
  surg_value *value; /* of an initializer; else NULL */
  surg_node *node;   /* with the TENSOR attribute `attr` */
  const char *name, *attr;
  const surg_tensor *t;
  bool known; /* `digest` is computed */
  char digest[SURG__DIGEST_TEXT];
} spot;
typedef struct spots {
  surg_context *ctx;
  SURG_VEC(spot) all;
} spots;

static bool add_spot(spots *l, const surg_tensor *t, spot s) {
  s.t = t;
  return !t || t->view == SURG__VIEW_SPARSE || t->dtype == SURG_STRING ||
         surg__vec_push(l->ctx, &l->all, s);
}

/* Lists the dense numeric tensors of initializers and of attributes. */
static surg_status list_spots(surg_model *m, spots *l) {
  *l = (spots){.ctx = m->ctx};
  bool ok = true;
  for (surg_graph *g = NULL; ok && (g = surg_model_next_graph(m, g)) != NULL;) {
    for (surg_value *v = g->first_init; ok && v; v = v->init_next)
      ok = add_spot(l, v->tensor, (spot){.value = v, .name = v->name});
    for (surg_node *n = g->first; n; n = n->next)
      for (uint32_t i = 0; ok && i < n->n_attr; i++)
        if (n->attrs[i]->kind == SURG_ATTR_TENSOR && n->attrs[i]->count == 1)
          ok = add_spot(l, n->attrs[i]->u.tensors[0],
                        (spot){.node = n,
                               .name = n->n_out && n->out[0] ? n->out[0]->name : n->name,
                               .attr = n->attrs[i]->name});
  }
  return ok ? SURG_OK : surg__oom(m->ctx, surg_model_path(m));
}

static surg_status set_spot(const spot *s, surg_tensor *t) {
  return s->value ? surg_value_set_initializer(s->value, t)
                  : surg_node_set_tensor(s->node, s->attr, t);
}

/* --- entries --- */

static bool add_entry(surg_model *m, surg_str *keys, surg_str *values, uint32_t *n, const char *key,
                      const char *value) {
  keys[*n] = (surg_str){surg__intern(m, key, strlen(key)), strlen(key)};
  values[*n] = (surg_str){surg__intern(m, value, strlen(value)), strlen(value)};
  return keys[*n].p && values[(*n)++].p;
}

/* A real number as its bits: the text is exact, and the same in every locale. */
static void put_real(char *text, size_t room, double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  snprintf(text, room, "0x%016" PRIx64, bits);
}

static const char *const reals[] = {"onnxsurg.low", "onnxsurg.high", "onnxsurg.mean",
                                    "onnxsurg.deviation"};

/* The tensor without elements. */
static surg_tensor *stripped(surg_model *m, const surg_tensor *t, const char *digest,
                             const surg__spread *x) {
  enum { MOST = 10 };
  surg_tensor *out = surg__tensor_alloc(m, t->dtype, t->dims, t->rank);
  surg__codec *c = surg__arena_zalloc(&m->arena, sizeof *c);
  surg_str *keys = surg__arena_array(&m->arena, MOST, sizeof *keys);
  surg_str *values = surg__arena_array(&m->arena, MOST, sizeof *values);
  char text[40];
  if (!out || !c || !keys || !values) return NULL;
  bool ok = add_entry(m, keys, values, &c->n, "location", LOCATION) &&
            add_entry(m, keys, values, &c->n, SURG__STRIPPED_KEY, digest);
  const double r[] = {x->low, x->high, x->mean, x->deviation};
  const int64_t i[] = {x->least, x->most};
  const bool integer = surg__dtype_is_int(t->dtype) || t->dtype == SURG_BOOL;
  for (size_t k = 0; ok && k < (integer ? SURG_COUNT(i) : SURG_COUNT(r)); k++) {
    if (integer)
      snprintf(text, sizeof text, "%" PRId64, i[k]);
    else
      put_real(text, sizeof text, r[k]);
    ok = add_entry(m, keys, values, &c->n, reals[k], text);
  }
  if (!ok) return NULL;
  c->name = "";
  c->keys = keys;
  c->values = values;
  out->codec = c;
  out->view = SURG__VIEW_ABSENT;
  out->lost = true;
  return out;
}

static const char *entry_of(const surg_tensor *t, const char *key) {
  const surg__codec *c = t->view == SURG__VIEW_ABSENT ? t->codec : NULL;
  for (uint32_t i = 0; c && i < c->n; i++)
    if (strcmp(c->keys[i].p, key) == 0) return c->values[i].p;
  return NULL;
}

/* Reads what is known of the elements; entries that are missing or invalid are 0. */
static void read_spread(const surg_tensor *t, surg__spread *x) {
  double *const r[] = {&x->low, &x->high, &x->mean, &x->deviation};
  int64_t *const i[] = {&x->least, &x->most};
  *x = (surg__spread){0};
  for (size_t k = 0; k < SURG_COUNT(r); k++) {
    const char *text = entry_of(t, reals[k]);
    if (!text) continue;
    if (strncmp(text, "0x", 2) == 0) {
      const uint64_t bits = strtoull(text, NULL, 16);
      memcpy(r[k], &bits, sizeof bits);
    } else if (k < SURG_COUNT(i)) {
      *i[k] = strtoll(text, NULL, 10);
    }
  }
  if (!(x->low <= x->high) || !(x->mean >= x->low && x->mean <= x->high) ||
      !(x->deviation >= 0 && x->deviation <= x->high - x->low))
    x->low = x->high = x->mean = x->deviation = 0;
  if (x->least > x->most) x->most = x->least;
}

/* --- stripping --- */

static surg_status strip_one(surg_model *m, const spot *s) {
  char digest[SURG__DIGEST_TEXT];
  surg__spread x;
  surg_status status = surg__tensor_digest(s->t, digest);
  if (status == SURG_OK) status = surg__tensor_spread(s->t, &x);
  if (status != SURG_OK) return status;
  surg_tensor *t = stripped(m, s->t, digest, &x);
  return t ? set_spot(s, t) : surg__fail(m, surg__oom(m->ctx, surg_model_path(m)));
}

surg_status surg_weights_strip(surg_model *m, uint64_t threshold, surg_weights_report *report) {
  surg_weights_report r = {0};
  spots l;
  if (!m) return SURG_EUSAGE;
  surg_status s = surg_model_status(m);
  if (s != SURG_OK) return s;
  if (!threshold) threshold = DEFAULT_THRESHOLD;
  s = list_spots(m, &l);
  for (size_t i = 0; s == SURG_OK && i < l.all.count; i++) {
    const surg_tensor *t = l.all.items[i].t;
    if (t->bytes < threshold) continue;
    if (t->view == SURG__VIEW_ABSENT) {
      r.skipped += entry_of(t, SURG__STRIPPED_KEY) == NULL;
      continue;
    }
    s = strip_one(m, &l.all.items[i]);
    r.tensors++;
    r.bytes += t->bytes;
  }
  surg__vec_free(m->ctx, &l.all);
  if (s == SURG_OK) surg__struct_out(report, &r, sizeof r);
  return s;
}

/* --- restoring --- */

typedef struct restoring {
  surg_model *m;
  const surg_restore_options *o;
  spots from;      /* tensors of the original */
  spot **by_name;  /* ... sorted by name */
  spot **by_shape; /* ... by element type and shape; ranges that were asked for by digest, too */
  size_t *ends;    /* by place in by_shape: the end of the range that starts here, which is sorted
                    * by digest; 0: not yet */
  surg_weights_report r;
  surg_status status;
} restoring;

/* The order of element types and shapes. */
static int by_type(const surg_tensor *a, const surg_tensor *b) {
  if (a->dtype != b->dtype) return a->dtype < b->dtype ? -1 : 1;
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  return a->rank ? memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) : 0;
}

static int order_names(const void *a, const void *b) {
  return strcmp((*(spot *const *)a)->name, (*(spot *const *)b)->name);
}

static int order_shapes(const void *a, const void *b) {
  return by_type((*(spot *const *)a)->t, (*(spot *const *)b)->t);
}

static int order_digests(const void *a, const void *b) {
  return strcmp((*(spot *const *)a)->digest, (*(spot *const *)b)->digest);
}

/* Sorts the tensors of the original, so that each weight is found in O(log n). */
static surg_status index_original(restoring *x) {
  surg_context *ctx = x->m->ctx;
  const size_t n = x->from.all.count;
  x->by_name = surg__calloc(ctx, n + 1, sizeof *x->by_name);
  x->by_shape = surg__calloc(ctx, n + 1, sizeof *x->by_shape);
  x->ends = surg__calloc(ctx, n + 1, sizeof *x->ends);
  if (!x->by_name || !x->by_shape || !x->ends) return surg__oom(ctx, NULL);
  for (size_t i = 0; i < n; i++) x->by_name[i] = x->by_shape[i] = &x->from.all.items[i];
  qsort(x->by_name, n, sizeof *x->by_name, order_names);
  qsort(x->by_shape, n, sizeof *x->by_shape, order_shapes);
  return SURG_OK;
}

static void free_original(restoring *x) {
  surg__free(x->m->ctx, x->by_name);
  surg__free(x->m->ctx, x->by_shape);
  surg__free(x->m->ctx, x->ends);
}

/* The first place in a sorted list that is not before the key. */
static size_t first_of(spot *const *list, size_t low, size_t high, const spot *key,
                       int (*order)(const void *, const void *)) {
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (order(&list[middle], &key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Sets the digest of a tensor of the original, once; "" if it has no elements. */
static void need_digest(restoring *x, spot *s) {
  if (s->known || x->status != SURG_OK) return;
  if (s->t->view != SURG__VIEW_ABSENT) x->status = surg__tensor_digest(s->t, s->digest);
  s->known = x->status == SURG_OK;
}

/* The tensor of the same name with the digest, which is most likely. */
static const surg_tensor *find_named(restoring *x, const spot *s, const char *digest) {
  const size_t n = x->from.all.count;
  for (size_t i = first_of(x->by_name, 0, n, s, order_names);
       i < n && strcmp(x->by_name[i]->name, s->name) == 0; i++) {
    spot *c = x->by_name[i];
    if (by_type(c->t, s->t) != 0) continue;
    need_digest(x, c);
    if (x->status == SURG_OK && strcmp(c->digest, digest) == 0) return c->t;
  }
  return NULL;
}

/* One of another name. The digests of all tensors of the shape are computed, and sorted. */
static const surg_tensor *find_shaped(restoring *x, const spot *s, const char *digest) {
  const size_t n = x->from.all.count, from = first_of(x->by_shape, 0, n, s, order_shapes);
  size_t to = from;
  spot key = {.known = true};
  if (from == n || by_type(x->by_shape[from]->t, s->t) != 0) return NULL;
  if (!x->ends[from]) {
    for (; to < n && by_type(x->by_shape[to]->t, s->t) == 0; to++) need_digest(x, x->by_shape[to]);
    if (x->status != SURG_OK) return NULL;
    qsort(&x->by_shape[from], to - from, sizeof *x->by_shape, order_digests);
    x->ends[from] = to;
  }
  to = x->ends[from];
  snprintf(key.digest, sizeof key.digest, "%s", digest);
  const size_t i = first_of(x->by_shape, from, to, &key, order_digests);
  return i < to && strcmp(x->by_shape[i]->digest, digest) == 0 ? x->by_shape[i]->t : NULL;
}

static const surg_tensor *find_original(restoring *x, const spot *s, const char *digest) {
  if (!x->by_name) return NULL; /* there is no original */
  const surg_tensor *t = find_named(x, s, digest);
  return t || x->status != SURG_OK ? t : find_shaped(x, s, digest);
}

static surg_status copy_elements(const surg_tensor *from, surg__blob *b) {
  surg_context *ctx = from->model->ctx;
  uint8_t *p = surg__alloc(ctx, PIECE);
  surg_status s = p ? SURG_OK : surg__oom(ctx, NULL);
  for (uint64_t at = 0; s == SURG_OK && at < from->bytes;) {
    const size_t n = from->bytes - at < PIECE ? (size_t)(from->bytes - at) : PIECE;
    s = surg_tensor_read(from, at, p, n);
    if (s == SURG_OK) s = surg__blob_write(b, at, p, n);
    at += n;
  }
  surg__free(ctx, p);
  return s;
}

/* A seed for the tensor: the same digest gives the same elements, whatever its name. */
static uint64_t seed_of(const restoring *x, const char *digest) {
  uint64_t h = x->o->seed + 1;
  for (; *digest; digest++) h = (h ^ (unsigned char)*digest) * UINT64_C(0x100000001B3);
  return h;
}

static surg_status restore_one(restoring *x, const spot *s, const char *digest) {
  const surg_tensor *from = find_original(x, s, digest);
  if (x->status != SURG_OK) return x->status;
  if (!from && !x->o->draw)
    return surg__error(x->m->ctx, SURG_ENOTFOUND, surg_model_path(x->m),
                       "weight %s: the original has no tensor with its digest, type and shape",
                       surg__q(x->m->ctx, s->name));
  surg_tensor *t = surg__tensor_alloc(x->m, s->t->dtype, s->t->dims, s->t->rank);
  surg__blob *b = t ? surg__blob_new(x->m, t->bytes) : NULL;
  if (!b) return x->m->status != SURG_OK ? x->m->status : surg__oom(x->m->ctx, NULL);
  surg__spread spread;
  read_spread(s->t, &spread);
  surg_status status =
      from ? copy_elements(from, b) : surg__tensor_draw(t, b, &spread, seed_of(x, digest));
  if (status != SURG_OK) return status;
  t->view = SURG__VIEW_OWNED;
  t->blob = b;
  x->r.equal += from != NULL;
  x->r.tensors++;
  x->r.bytes += t->bytes;
  return set_spot(s, t);
}

surg_status surg_weights_restore(surg_model *m, surg_model *original,
                                 const surg_restore_options *options, surg_weights_report *report) {
  surg_restore_options o;
  if (!m) return SURG_EUSAGE;
  surg__struct_in(&o, sizeof o, options);
  restoring x = {.m = m, .o = &o};
  spots l = {0};
  surg_status s = surg_model_status(m);
  if (s == SURG_OK && original) s = surg_model_status(original);
  if (s != SURG_OK) return s;
  s = list_spots(m, &l);
  if (s == SURG_OK && original) s = list_spots(original, &x.from);
  if (s == SURG_OK && original) s = index_original(&x);
  for (size_t i = 0; s == SURG_OK && i < l.all.count; i++) {
    const char *digest = entry_of(l.all.items[i].t, SURG__STRIPPED_KEY);
    if (digest) s = restore_one(&x, &l.all.items[i], digest);
  }
  surg__vec_free(m->ctx, &l.all);
  free_original(&x);
  if (original) surg__vec_free(original->ctx, &x.from.all);
  if (s != SURG_OK && x.r.tensors) surg__fail(m, s); /* some are restored */
  if (s == SURG_OK) surg__struct_out(report, &x.r, sizeof x.r);
  return s;
}
