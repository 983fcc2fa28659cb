/* SPDX-License-Identifier: Apache-2.0 */
/* Low-rank adapters: w becomes w + scale * B A, for each pair of matrices A (down) and B (up) of a
 * file. A pair belongs to the weight whose name, or whose consumer's name, has the most trailing
 * words in common with the name of the pair, and the same numbers. The products are nodes, which
 * `fold` computes, or which stay if A and B become inputs. (Hu et al., LoRA: Low-Rank Adaptation of
 * Large Language Models, 2021.) */
#include <ctype.h>
#include <onnxsurg/ops.h>
#include <onnxsurg/run.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "base/os/os.h"
#include "weights/weights.h"

#define WORDS 64u       /* most words of a name that are compared */
#define NAME_BYTES 512u /* longest name that is compared */
#define ALPHA_BYTES 64u /* largest tensor that may be an alpha */

/* A name as lower-case words: "/Model/layers.0/q_proj/MatMul" is model layers 0 q proj matmul. */
typedef struct words {
  char text[NAME_BYTES];
  const char *at[WORDS];
  size_t n;
} words;

typedef struct pair {
  words name;
  const surg__stored *down, *up, *alpha;
} pair;

/* A weight that a pair may change, under one of its names. */
typedef struct candidate {
  words name;
  surg_value *weight;
} candidate;

typedef struct adapting {
  surg_model *m;
  surg_context *ctx;
  surg_lora_options o;
  surg__storage file;
  SURG_VEC(pair *) pairs;
  SURG_VEC(candidate *) candidates;
  surg__datafile *data;
  surg_node *first; /* before which new nodes are added */
  uint64_t changed;
} adapting;

/* --- names --- */

static void split(const char *name, size_t n, words *w) {
  size_t k = 0;
  bool inside = false;
  *w = (words){.n = 0};
  for (size_t i = 0; i < n && k + 2 < sizeof w->text; i++) {
    const unsigned char c = (unsigned char)name[i];
    if (!isalnum(c)) {
      if (inside) w->text[k++] = 0;
      inside = false;
      continue;
    }
    if (!inside && w->n == WORDS) break;
    if (!inside) w->at[w->n++] = w->text + k;
    inside = true;
    w->text[k++] = (char)tolower(c);
  }
  w->text[k] = 0;
}

static bool is_number(const char *s) {
  for (; *s; s++)
    if (!isdigit((unsigned char)*s)) return false;
  return true;
}

/* Drops words that state the kind of the object: "weight", the operator, and a number after it. */
static void drop_kind(words *w) {
  static const char *const kinds[] = {"weight", "kernel", "matmul", "gemm", "conv"};
  size_t n = w->n;
  if (n > 1 && is_number(w->at[n - 1])) n--;
  for (bool more = true, first = true; more && n > 0; first = false) {
    more = false;
    for (size_t i = 0; i < SURG_COUNT(kinds) && !more; i++)
      more = strcmp(w->at[n - 1], kinds[i]) == 0;
    if (more) w->n = --n;
    if (!more && first) return; /* the number is a part of the name */
  }
}

/* The number of trailing words in common; 0 if the numbers in the names differ. */
static size_t likeness(const words *a, const words *b) {
  size_t i = a->n, j = b->n, same = 0;
  while (same < a->n && same < b->n && !strcmp(a->at[a->n - 1 - same], b->at[b->n - 1 - same]))
    same++;
  while (true) { /* numbers, from the end */
    while (i > 0 && !is_number(a->at[i - 1])) i--;
    while (j > 0 && !is_number(b->at[j - 1])) j--;
    if (!i || !j) return i || j ? 0 : same;
    if (strcmp(a->at[i - 1], b->at[j - 1]) != 0) return 0;
    i--;
    j--;
  }
}

/* --- the file --- */

static const struct {
  const char *text;
  bool up;
} marks[] = {{".lora_A", false},    {".lora_B", true},  {".lora_down", false}, {".lora_up", true},
             {".lora.down", false}, {".lora.up", true}, {"_lora.down", false}, {"_lora.up", true}};

/* The place in the name where the mark of one half starts, or NULL. */
static const char *mark_of(const char *name, bool *up) {
  for (size_t i = 0; i < SURG_COUNT(marks); i++) {
    const char *at = strstr(name, marks[i].text);
    if (!at) continue;
    *up = marks[i].up;
    return at;
  }
  return NULL;
}

static surg_status find_pair(adapting *x, const char *name, size_t n, pair **out) {
  words w;
  split(name, n, &w);
  for (size_t i = 0; i < x->pairs.count; i++) {
    const words *own = &x->pairs.items[i]->name;
    size_t k = 0;
    while (k < w.n && k < own->n && strcmp(w.at[k], own->at[k]) == 0) k++;
    if (k != w.n || k != own->n) continue;
    *out = x->pairs.items[i];
    return SURG_OK;
  }
  pair *p = surg__calloc(x->ctx, 1, sizeof *p);
  if (!p || !surg__vec_push(x->ctx, &x->pairs, p)) {
    surg__free(x->ctx, p);
    return surg__oom(x->ctx, x->file.path);
  }
  split(name, n, &p->name);
  *out = p;
  return SURG_OK;
}

static surg_status take_tensor(adapting *x, const surg__stored *e) {
  static const char end[] = ".alpha";
  bool up = false;
  pair *p = NULL;
  const size_t n = strlen(e->name);
  const char *at = mark_of(e->name, &up);
  const bool alpha = !at && n > sizeof end && strcmp(e->name + n - sizeof end + 1, end) == 0;
  if (!at && !alpha) {
    if (x->o.skip) return SURG_OK;
    return surg__error(x->ctx, SURG_EINVALID, x->file.path,
                       "tensor %s is not part of an adapter (lora_A, lora_B, alpha); --skip leaves "
                       "it out",
                       surg__q(x->ctx, e->name));
  }
  const surg_status s =
      find_pair(x, e->name, alpha ? n - sizeof end + 1 : (size_t)(at - e->name), &p);
  if (s != SURG_OK) return s;
  const surg__stored **slot = alpha ? &p->alpha : up ? &p->up : &p->down;
  if (*slot)
    return surg__error(x->ctx, SURG_EINVALID, x->file.path, "two tensors are one half: %s and %s",
                       surg__q(x->ctx, (*slot)->name), surg__q(x->ctx, e->name));
  *slot = e;
  return SURG_OK;
}

static surg_status check_pair(const adapting *x, const pair *p) {
  const surg__stored *a = p->down, *b = p->up, *any = a ? a : b ? b : p->alpha;
  if (!a || !b)
    return surg__error(x->ctx, SURG_EINVALID, x->file.path,
                       "the other half of tensor %s is missing", surg__q(x->ctx, any->name));
  if (a->rank >= 2 && b->rank >= 2 && a->dims[0] == b->dims[1] && a->dims[0] > 0) return SURG_OK;
  return surg__error(x->ctx, SURG_EINVALID, x->file.path,
                     "tensors %s and %s do not have one rank: expected [r,in] and [out,r]",
                     surg__q(x->ctx, a->name), surg__q(x->ctx, b->name));
}

/* The elements of a tensor of the file. */
static surg_status load(adapting *x, const surg__stored *e, surg_tensor **out) {
  *out = NULL;
  if (!e->plain) return surg__npz_load(&x->file, e, x->m, out);
  if (!x->data) {
    int fd;
    const int err = surg__os_open_read(-1, x->file.path, &fd);
    if (err) return surg__error(x->ctx, SURG_EIO, x->file.path, "cannot open: %s", strerror(err));
    x->data = surg__datafile_add(x->m, surg__os_base_name(x->file.path), fd, SURG__LOAN_IN);
  }
  if (x->data) *out = surg__tensor_in_file(x->m, e->dtype, e->dims, e->rank, x->data, e->off);
  return *out ? SURG_OK : surg_model_status(x->m);
}

/* alpha / r, or what the caller gives. */
static surg_status scale_of(adapting *x, const pair *p, double *out) {
  double alpha = x->o.alpha;
  *out = x->o.scale;
  if (x->o.scale != 0) return SURG_OK;
  if (p->alpha && alpha == 0) {
    surg_tensor *t;
    surg_status s = p->alpha->bytes <= ALPHA_BYTES ? load(x, p->alpha, &t) : SURG_EINVALID;
    if (s == SURG_OK && surg_tensor_count(t) != 1) s = SURG_EINVALID;
    if (s == SURG_OK && t->dtype != SURG_DOUBLE) t = surg_tensor_cast(x->m, t, SURG_DOUBLE);
    if (s == SURG_OK) s = t ? surg_tensor_read_numbers(t, 0, &alpha, 1) : SURG_EINVALID;
    if (s != SURG_OK)
      return surg__error(x->ctx, SURG_EINVALID, x->file.path, "tensor %s is not a number",
                         surg__q(x->ctx, p->alpha->name));
  }
  *out = alpha / (double)p->down->dims[0];
  if (alpha != 0) return SURG_OK;
  return surg__error(x->ctx, SURG_EUSAGE, x->file.path,
                     "does not state alpha: give --alpha (lora_alpha of the adapter's "
                     "configuration) or --scale");
}

/* --- the weights of the model --- */

static bool add_candidate(adapting *x, const char *name, surg_value *weight) {
  const surg_tensor *t = surg_value_constant(weight);
  if (surg_value_graph(weight) != surg_model_graph(x->m)) return true; /* one for many calls */
  if (!t || !*name || t->rank < 2 || !surg__dtype_is_float(t->dtype)) return true;
  candidate *c = surg__calloc(x->ctx, 1, sizeof *c);
  if (!c || !surg__vec_push(x->ctx, &x->candidates, c)) {
    surg__free(x->ctx, c);
    return false;
  }
  split(name, strlen(name), &c->name);
  drop_kind(&c->name);
  c->weight = weight;
  return true;
}

/* The weight that a node multiplies with: its second input, or what a Transpose of it reads. */
static surg_value *weight_of(const surg_node *n) {
  const int op = surg_node_op(n);
  if (op != SURG_OP_MatMul && op != SURG_OP_Gemm && op != SURG_OP_Conv) return NULL;
  surg_value *w = surg_node_input(n, 1);
  const surg_node *p = w ? surg_value_producer(w, NULL) : NULL;
  return p && surg_node_op(p) == SURG_OP_Transpose ? surg_node_input(p, 0) : w;
}

static surg_status list_candidates(adapting *x) {
  bool ok = true;
  for (surg_graph *g = surg_model_next_graph(x->m, NULL); g && ok;
       g = surg_model_next_graph(x->m, g)) {
    if (surg_graph_function(g)) continue;
    for (surg_value *v = surg_graph_next_initializer(g, NULL); v && ok;
         v = surg_graph_next_initializer(g, v))
      ok = add_candidate(x, surg_value_name(v), v);
    for (const surg_node *n = surg_graph_first_node(g); n && ok; n = surg_node_next(n)) {
      surg_value *w = weight_of(n);
      if (w && surg_value_is_initializer(w)) ok = add_candidate(x, surg_node_name(n), w);
    }
  }
  return ok ? SURG_OK : surg__oom(x->ctx, x->file.path);
}

static surg_status find_weight(const adapting *x, const pair *p, surg_value **out) {
  size_t best = 0;
  const surg_value *other = NULL;
  *out = NULL;
  for (size_t i = 0; i < x->candidates.count; i++) {
    const candidate *c = x->candidates.items[i];
    const size_t same = likeness(&p->name, &c->name);
    if (same == 0 || same < best) continue;
    if (same > best) other = NULL;
    if (same == best && *out != c->weight) other = c->weight;
    if (same > best) *out = c->weight;
    best = same;
  }
  if (*out && !other) return SURG_OK;
  if (other)
    return surg__error(x->ctx, SURG_EINVALID, x->file.path,
                       "tensor %s: weights %s and %s fit its name alike",
                       surg__q(x->ctx, p->down->name), surg__q(x->ctx, surg_value_name(*out)),
                       surg__q(x->ctx, surg_value_name(other)));
  if (x->o.skip) return SURG_OK;
  return surg__error(x->ctx, SURG_ENOTFOUND, x->file.path,
                     "tensor %s: no weight and no node of the model has a name like it; --skip "
                     "leaves it out",
                     surg__q(x->ctx, p->down->name));
}

/* Whether the first axis of the weight is that of results: 1 yes, 0 no, -1 unknown. */
static int out_first(const surg_value *w) {
  for (const surg_use *u = surg_value_first_use(w); u; u = surg_use_next(u)) {
    const surg_node *n = surg_use_node(u);
    if (!n || surg_use_get_kind(u) != SURG_USE_NODE) continue;
    const int op = surg_node_op(n);
    if (op == SURG_OP_MatMul) return surg_use_index(u) == 0;
    if (op == SURG_OP_Gemm && surg_use_index(u) == 1) return surg_node_int(n, "transB", 0) != 0;
    if (op == SURG_OP_Conv || op == SURG_OP_Transpose) return 1;
  }
  return -1;
}

/* Checks that the product fits; *flip: it is added transposed. */
static surg_status check_fit(const adapting *x, const pair *p, const surg_value *w, bool *flip) {
  const surg_tensor *t = surg_value_constant(w);
  const int64_t out = p->up->dims[0], rank = p->down->dims[0];
  int64_t in = 1;
  for (uint32_t i = 1; i < p->down->rank; i++) in *= p->down->dims[i];
  const bool whole = p->down->rank > 2, unit = surg_tensor_count(t) == (uint64_t)(out * in);
  const bool plain = unit && t->dims[0] == out && (t->rank == 2 || whole || t->dims[1] == in);
  const bool turned = unit && t->rank == 2 && t->dims[0] == in && t->dims[1] == out;
  int first = out_first(w);
  uint64_t tail = 1;
  for (uint32_t i = 2; i < p->up->rank; i++) tail *= (uint64_t)p->up->dims[i];
  if (first < 0 && plain != turned) first = plain;
  *flip = first == 0;
  if (rank > 0 && tail == 1 && first >= 0 && (first ? plain : turned)) return SURG_OK;
  return surg__error(x->ctx, SURG_EINVALID, x->file.path,
                     "tensors %s and %s: their product [%lld,%lld] does not fit weight %s",
                     surg__q(x->ctx, p->down->name), surg__q(x->ctx, p->up->name), (long long)out,
                     (long long)in, surg__q(x->ctx, surg_value_name(w)));
}

/* --- nodes --- */

static surg_value *add(adapting *x, const char *op, surg_value *a, surg_value *b) {
  surg_node *n = a ? surg_graph_add_node(surg_model_graph(x->m), x->first, "", op, 1) : NULL;
  if (!n || surg_node_set_input(n, 0, a) != SURG_OK) return NULL;
  if (b && surg_node_set_input(n, 1, b) != SURG_OK) return NULL;
  return surg_node_output(n, 0);
}

static surg_value *cast(adapting *x, surg_value *v, int from, int to) {
  if (from == to || !v) return v;
  surg_value *out = add(x, "Cast", v, NULL);
  surg_node *n = out ? surg_value_producer(out, NULL) : NULL;
  return n && surg_node_set_int(n, "to", to) == SURG_OK ? out : NULL;
}

static surg_value *constant(adapting *x, const char *name, surg_tensor *t) {
  return t ? surg_graph_constant(surg_model_graph(x->m), x->first, name, t) : NULL;
}

static surg_value *reshape(adapting *x, surg_value *v, const int64_t *dims, size_t n) {
  const int64_t count = (int64_t)n;
  surg_tensor *t = surg_tensor_new_numbers(x->m, SURG_INT64, &count, 1, dims, n);
  surg_value *shape = constant(x, NULL, t);
  return shape ? add(x, "Reshape", v, shape) : NULL;
}

/* Half of an adapter as a matrix of `type`: an input of the model, or a constant. */
static surg_value *half(adapting *x, const surg__stored *e, int type) {
  surg_value *v = NULL;
  if (x->o.lift) {
    surg_dim dims[8];
    if (e->rank > SURG_COUNT(dims)) return NULL;
    for (uint32_t i = 0; i < e->rank; i++) dims[i] = (surg_dim){.value = e->dims[i]};
    const surg_type *t = surg_type_tensor(x->m, e->dtype, dims, e->rank);
    v = t ? surg_graph_add_input(surg_model_graph(x->m), e->name, t) : NULL;
  } else {
    surg_tensor *t;
    if (load(x, e, &t) != SURG_OK) return NULL;
    v = constant(x, e->name, t);
  }
  v = cast(x, v, e->dtype, type);
  const int64_t flat[2] = {e->dims[0], -1};
  return v && e->rank > 2 ? reshape(x, v, flat, 2) : v;
}

/* Lets all consumers of the weight but the new nodes read `now`, which gets its name. */
static surg_status give(adapting *x, surg_value *w, surg_value *now) {
  surg_graph *g = surg_value_graph(w);
  surg_status s = SURG_OK;
  const surg_node *last = surg_value_producer(now, NULL);
  for (const surg_use *u = surg_value_first_use(w), *next; u && s == SURG_OK; u = next) {
    next = surg_use_next(u);
    surg_node *n = surg_use_node(u);
    if (surg_use_get_kind(u) != SURG_USE_NODE) continue;
    if (surg_node_graph(n) == g && (n == last || surg_node_before(n, last))) continue;
    s = surg_node_set_input(n, surg_use_index(u), now);
  }
  char *name = surg__strdup(x->ctx, surg_value_name(w));
  if (!name) return surg__oom(x->ctx, x->file.path);
  const char *fresh = surg_graph_fresh_name(g, name);
  if (s == SURG_OK) s = fresh ? surg_value_rename(w, fresh) : surg_model_status(x->m);
  if (s == SURG_OK) s = surg_value_rename(now, name);
  surg__free(x->ctx, name);
  return s;
}

static surg_status change(adapting *x, const pair *p) {
  surg_value *w;
  bool flip;
  double scale;
  surg_status s = find_weight(x, p, &w);
  if (s != SURG_OK || !w) return s;
  s = check_fit(x, p, w, &flip);
  if (s == SURG_OK) s = scale_of(x, p, &scale);
  if (s != SURG_OK) return s;
  const surg_tensor *t = surg_value_constant(w);
  const int type = t->dtype == SURG_DOUBLE ? SURG_DOUBLE : SURG_FLOAT;
  const float f = (float)scale;
  surg_value *a = half(x, p->down, type), *b = a ? half(x, p->up, type) : NULL;
  surg_value *d = b ? add(x, "MatMul", b, a) : NULL;
  if (d && flip) d = add(x, "Transpose", d, NULL);
  if (d && t->rank > 2) d = reshape(x, d, t->dims, t->rank);
  const void *by = type == SURG_DOUBLE ? (const void *)&scale : &f;
  surg_value *k =
      d ? constant(x, NULL, surg_tensor_new_numbers(x->m, type, NULL, 0, by, 1)) : NULL;
  d = k ? add(x, "Mul", d, k) : NULL;
  surg_value *sum = d ? add(x, "Add", cast(x, w, t->dtype, type), d) : NULL;
  surg_value *now = sum ? cast(x, sum, type, t->dtype) : NULL;
  if (!now) return surg_model_status(x->m) != SURG_OK ? surg_model_status(x->m) : SURG_EINVALID;
  x->changed++;
  return give(x, w, now);
}

/* --- all --- */

static surg_status adapt(adapting *x, const char *path) {
  surg_status s = surg__storage_open(x->ctx, path, &x->file);
  for (size_t i = 0; s == SURG_OK && i < x->file.all.count; i++)
    s = take_tensor(x, &x->file.all.items[i]);
  for (size_t i = 0; s == SURG_OK && i < x->pairs.count; i++) s = check_pair(x, x->pairs.items[i]);
  if (s == SURG_OK) s = list_candidates(x);
  x->first = surg_graph_first_node(surg_model_graph(x->m));
  for (size_t i = 0; s == SURG_OK && i < x->pairs.count; i++) s = change(x, x->pairs.items[i]);
  if (s == SURG_OK && !x->changed)
    s = surg__error(x->ctx, SURG_ENOTFOUND, path, "no adapter of the file fits the model");
  return s;
}

surg_status surg_weights_lora(surg_model **model, const char *path,
                              const surg_lora_options *options, surg_weights_report *report) {
  if (!model || !*model || !path) return SURG_EUSAGE;
  adapting x = {
      .m = surg_model_clone(*model), .ctx = surg_model_context(*model), .file = {.fd = -1}};
  surg__struct_in(&x.o, sizeof x.o, options);
  surg_status s = x.m ? adapt(&x, path) : surg__alloc_status(x.ctx);
  surg__storage_close(&x.file);
  for (size_t i = 0; i < x.pairs.count; i++) surg__free(x.ctx, x.pairs.items[i]);
  for (size_t i = 0; i < x.candidates.count; i++) surg__free(x.ctx, x.candidates.items[i]);
  const surg_weights_report r = {
      .size = sizeof r, .tensors = x.changed, .skipped = x.pairs.count - x.changed};
  surg__vec_free(x.ctx, &x.pairs);
  surg__vec_free(x.ctx, &x.candidates);
  if (s == SURG_OK && !x.o.lift) s = surg_model_run(&x.m, "fold,prune");
  if (s == SURG_OK) {
    surg_model_free(*model);
    *model = x.m;
    surg__struct_out(report, &r, sizeof r);
  } else {
    surg_model_free(x.m);
  }
  return s;
}
