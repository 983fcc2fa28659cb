/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes symbolic and unknown sizes of inputs for engines that require fixed ones: as the user gives
 * them, or by a guess that the shapes of the model do not contradict. */
#include <string.h>

#include <onnxsurg/ops.h>

#include "base/sizes.h"
#include "check/check.h"
#include "pass/pass.h"
#include "repair/repair.h"

#define BATCH 1
#define SIDE 224  /* height and width of images */
#define LENGTH 16 /* of sequences and all other axes */
#define LONG 512  /* the same, of signals: what is padded or cut to frames */
#define MOST 256  /* most sizes that are fixed */
#define AXES_MOST 16
#define USES 1024    /* most uses of an input that are asked for a size: it is a guess */
#define OPERANDS 256 /* most operands that one is compared with */

/* The guess for a size. Rank 4 with two symbolic or unknown sizes after the batch is an image; with
 * one it is a decoder's cache. */
static int64_t guess_of(const surg_type *t, size_t axis, surg__guess guess, int64_t seen) {
  size_t open = 0;
  if (guess == SURG__GUESS_BATCH && seen > 1 && axis == 0) return seen;
  if (guess == SURG__GUESS_ONES || (axis == 0 && surg_type_rank(t) > 1)) return BATCH;
  for (size_t i = 1; i < surg_type_rank(t); i++) open += surg_type_dim(t, i)->value < 0;
  if (surg_type_rank(t) == 4 && open >= 2) return SIDE;
  if (guess == SURG__GUESS_SEEN && seen > 1) return seen;
  return guess == SURG__GUESS_LONG ? LONG : LENGTH;
}

/* The size of an axis of a value of known rank; -1: not known. */
static int64_t size_at(const surg_value *v, size_t axis) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t)) return -1;
  return axis < surg_type_rank(t) ? surg_type_dim(t, axis)->value : -1;
}

static size_t rank_of(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  const bool known = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t);
  return known ? surg_type_rank(t) : 0;
}

/* The size, above 1, that an operand of a node that broadcasts has where another operand has `back`
 * axes from there to the end; 0: none. */
static int64_t size_beside(const surg_node *n, size_t but, size_t back) {
  for (size_t i = 0; i < surg_node_input_count(n) && i < OPERANDS; i++) {
    const size_t rank = rank_of(surg_node_input(n, i));
    if (i == but || rank < back) continue;
    const int64_t size = size_at(surg_node_input(n, i), rank - back);
    if (size > 1) return size;
  }
  return 0;
}

/* The size that a node requires of an axis of input i; 0: it accepts any, or is not known. */
static int64_t required_by(const surg_node *n, size_t i, size_t axis) {
  const surg_value *v = surg_node_input(n, i), *w = surg_node_input(n, 1);
  const size_t rank = rank_of(v);
  switch (surg_node_op(n)) {
    case SURG_OP_Conv: {
      const int64_t group = surg_node_int(n, "group", 1), size = size_at(w, 1);
      return i || axis != 1 || size < 0 || group < 1 || size > INT32_MAX / group ? 0 : size * group;
    }
    case SURG_OP_ConvTranspose:
      return i || axis != 1 ? 0 : size_at(w, 0);
    case SURG_OP_MatMul: {
      const surg_value *other = surg_node_input(n, 1 - i);
      const size_t of = rank_of(other);
      if (i > 1 || rank < 2 || of < 2) return 0;
      if (axis + (i ? 2 : 1) == rank) return size_at(other, of - (i ? 1 : 2));
      return axis + 2 < rank ? size_beside(n, i, rank - axis) : 0;
    }
    case SURG_OP_Concat: {
      const int64_t along = surg_node_int(n, "axis", 1);
      const bool fixed = (size_t)(along < 0 ? along + (int64_t)rank : along) != axis;
      return fixed ? size_beside(n, i, rank - axis) : 0;
    }
    case SURG_OP_ScatterElements:
      return i == 1 || i == 2 ? size_at(surg_node_input(n, 3 - i), axis) : 0;
    case SURG_OP_ScatterND:
      return i == 2 && axis + 1 < rank_of(w) ? size_at(w, axis) : 0;
    default:
      return surg_node_axes_effect(n) == SURG_AXES_BROADCAST ? size_beside(n, i, rank - axis) : 0;
  }
}

/* The size that a node that reads v requires of an axis; 0: none does. */
static int64_t required(const surg_value *v, size_t axis) {
  size_t left = USES;
  for (const surg_use *u = surg_value_first_use(v); u && left--; u = surg_use_next(u)) {
    const bool read = surg_use_get_kind(u) == SURG_USE_NODE;
    const int64_t size = read ? required_by(surg_use_node(u), surg_use_index(u), axis) : 0;
    if (size > 0) return size;
  }
  return 0;
}

static bool put_size(surg__buf *out, const char *name, int64_t size) {
  surg__buf_puts(out, out->n ? "," : "freeze{");
  surg__pipeline_quote(out, name);
  surg__buf_printf(out, "=%lld", (long long)size);
  return !out->failed;
}

/* The pipeline being written, and the symbols it already fixes. */
typedef struct freezing {
  surg_context *ctx;
  const surg__sizes *given;
  surg__guess guess;
  int64_t seen; /* a fixed size of an input, that of a mask, say; 0: none */
  const char *met[MOST];
  size_t n;
  surg__buf *out;
} freezing;

static bool was_met(const freezing *f, const char *symbol) {
  for (size_t i = 0; i < f->n; i++)
    if (f->met[i] && !strcmp(f->met[i], symbol)) return true;
  return false;
}

static bool size_of(const surg__sizes *given, const char *name, int64_t *out) {
  for (size_t i = 0; i < given->n; i++) {
    const surg_size *s = surg__size_at(given->items, i);
    if (!s->name || strcmp(s->name, name) != 0) continue;
    *out = s->value;
    return true;
  }
  return false;
}

/* Adds the size of an axis that is not fixed. `freeze` names it by its symbol, or as
 * "input.axis". */
static bool put_axis(freezing *f, const surg_value *v, size_t axis) {
  const surg_type *t = surg_value_declared_type(v);
  const surg_dim d = *surg_type_dim(t, axis);
  const char *symbol = d.param && *d.param ? d.param : NULL;
  surg__buf place;
  if (d.value >= 0 || (symbol && was_met(f, symbol))) return true;
  if (f->n == MOST) return false;
  const int64_t stated = f->guess == SURG__GUESS_USUAL ? required(v, axis) : 0;
  int64_t size = stated > 0 ? stated : guess_of(t, axis, f->guess, f->seen);
  surg__buf_init(&place, f->ctx);
  surg__buf_printf(&place, "%s.%zu", surg_value_name(v), axis);
  surg__buf_putc(&place, 0);
  bool put = f->guess != SURG__GUESS_NONE, good = !place.failed;
  if (good && f->given)
    put |= (symbol && size_of(f->given, symbol, &size)) || size_of(f->given, place.p, &size);
  if (good && put) {
    f->met[f->n++] = symbol;
    good = put_size(f->out, symbol ? symbol : place.p, size);
  }
  surg__buf_free(&place);
  return good;
}

/* The first fixed size above 1 of this axis of an input of two or three; 0: none. */
static int64_t seen_size(const surg_graph *g, size_t axis) {
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_is_initializer(v) ? NULL : surg_value_declared_type(v);
    if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t)) continue;
    if (surg_type_rank(t) < 2 || surg_type_rank(t) > 3) continue;
    if (surg_type_dim(t, axis)->value > 1) return surg_type_dim(t, axis)->value;
  }
  return 0;
}

bool surg__repair_freeze(const surg_model *m, const surg__sizes *given, surg__guess guess,
                         surg__buf *out) {
  const surg_graph *g = surg_model_graph(m);
  freezing f = {.ctx = surg_model_context(m), .out = out};
  f.given = given;
  f.guess = guess;
  f.seen = seen_size(g, guess != SURG__GUESS_BATCH);
  bool good = true;
  out->n = 0;
  for (size_t i = 0; i < surg_graph_input_count(g) && good; i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_declared_type(v);
    if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t)) continue;
    for (size_t k = 0; k < surg_type_rank(t) && good; k++) good = put_axis(&f, v, k);
  }
  if (out->n) surg__buf_putc(out, '}');
  surg__buf_putc(out, 0);
  return good && !out->failed;
}

/* Whether the name is a symbol or an "input.axis" that freeze accepts. */
static bool is_open(const surg_model *m, const surg_size *d) {
  const surg__sizes one = {d, 1};
  surg__buf text;
  surg__buf_init(&text, surg_model_context(m));
  const bool open = surg__repair_freeze(m, &one, SURG__GUESS_NONE, &text) && text.n > 1;
  surg__buf_free(&text);
  return open;
}

const char *surg__repair_no_size(const surg_model *m, const surg__sizes *given) {
  for (size_t i = 0; i < given->n; i++) {
    const surg_size *s = surg__size_at(given->items, i);
    if (!is_open(m, s)) return s->name;
  }
  return NULL;
}

static void contradiction(void *user, const surg__finding *f) {
  *(size_t *)user += surg__check_severity(f->code) == SURG_ERROR || !strcmp(f->code, "W206");
}

/* The i-th pad of a node, if it is known; else 0. */
static int64_t pad_at(const surg_node *n, size_t i, size_t count) {
  surg_elem pads[2 * AXES_MOST];
  size_t had = 0, attr = 0;
  const surg_attr *a = surg_node_attr(n, "pads");
  const int64_t *list = a ? surg_attr_ints(a, &attr) : NULL;
  if (list) return attr == count ? list[i] : 0;
  const surg_value *v = surg_node_input(n, 1);
  const bool known = v && surg_value_elements(v, pads, SURG_COUNT(pads), &had) == SURG_OK;
  return known && had == count && pads[i].known ? pads[i].value : 0;
}

/* Whether the node pads a tensor by reflection beyond its size, which runtimes reject. */
static bool is_beyond(const surg_node *n) {
  const surg_attr *mode = surg_node_attr(n, "mode");
  const surg_value *x = surg_node_input(n, 0);
  const surg_type *t = x ? surg_value_type(x) : NULL;
  if (surg_node_op(n) != SURG_OP_Pad || !mode || surg_attr_ref(mode) || surg_node_input(n, 3))
    return false;
  const surg_str word = surg_attr_string(mode);
  if (word.n != 7 || memcmp(word.p, "reflect", 7) != 0) return false;
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || !surg_type_has_rank(t)) return false;
  const size_t rank = surg_type_rank(t);
  for (size_t i = 0; rank <= AXES_MOST && i < 2 * rank; i++) {
    const int64_t size = surg_type_dim(t, i % rank)->value;
    if (size >= 0 && pad_at(n, i, 2 * rank) >= size && pad_at(n, i, 2 * rank) > 0) return true;
  }
  return false;
}

size_t surg__repair_contradictions(surg_model *m) {
  size_t n = 0;
  if (surg__check_model(m, true, 0, contradiction, &n) != SURG_OK) return SIZE_MAX;
  for (const surg_graph *g = NULL; (g = surg_model_next_graph(m, g));)
    for (const surg_node *k = surg_graph_first_node(g); k; k = surg_node_next(k)) n += is_beyond(k);
  return n;
}
