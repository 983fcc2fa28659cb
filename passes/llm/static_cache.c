/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the key and value caches of a language model a fixed length. A cache is an input that is
 * joined with new rows, and whose result is an output. It becomes a buffer: each run gets it
 * together with the number of rows in use, a new input, and returns it with the new rows written
 * after those, or, as a window, at its end, with the oldest ones removed.
 *
 *   before: (past[1,2,P,8], q) => (present[1,2,P + 1,8], y) { present = Concat <axis = 2> (past, k)
 *             s = MatMul (q, Transpose (present))   w = Softmax (s) ... }
 *   after:  (past[1,2,64,8], q, past_length[1]) => (present[1,2,64,8], y) {
 *             all = Concat <axis = 2> (past, k)   present = Gather <axis = 2> (all, index)
 *             s = MatMul (q, Transpose (all))   w = Softmax (Where (valid, s, -inf)) ... }
 *
 * Empty rows of a buffer may contain any finite numbers: scores of them are replaced by -inf.
 * Shapes that depend on the number of past rows have the length of the buffer; positions that are
 * computed from it depend on the new input instead. An input such as an attention mask with a
 * number for each row has `length` numbers for the buffer, then those of new rows. Refused, with
 * the node, is what may mix rows in another way.
 *
 * Needs sorted, types. Keeps sorted. Rounding, within the length: an engine may add more zeros.
 * With a window, runs after it is full read fewer rows. Changes the interface. */
#include "static_cache.h"

#include <stdio.h>
#include <string.h>

#include "../util/declared.h"

#define TEXT 700
#define LENGTH_MAX (1 << 24)

bool sc_refuse(sc *x, const surg_node *at, const char *text) {
  if (at)
    surg_pass_fail(x->p, at, text);
  else
    surg_pass_usage(x->p, text);
  return false;
}

/* ---- finding caches ---- */

static bool is_main_output(const sc *x, const surg_value *v) {
  const size_t n = surg_graph_output_count(x->g);
  for (size_t i = 0; i < n; i++)
    if (surg_graph_output(x->g, i) == v) return true;
  return false;
}

/* Input i of an attention operator is a cache: the output that it grows to; NULL: it is none. */
static surg_value *attention_output(const surg_node *n, size_t i, sc_kind *kind) {
  size_t first = 0;
  *kind = SC_FUSED;
  switch (surg_node_op(n)) {
    case SURG_OP_Attention:
      first = 4;
      break;
    case SURG_OP_ms_MultiHeadAttention:
      first = 6;
      break;
    case SURG_OP_ms_GroupQueryAttention:
      first = 3;
      *kind = SC_PLACED;
      break;
    default:
      return NULL;
  }
  return i == first || i == first + 1 ? surg_node_output(n, i - first + 1) : NULL;
}

/* Reads a use of an input as a cache. */
static bool read_cache(const sc *x, surg_value *past, const surg_use *u, sc_cache *c) {
  surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
  const surg_type *t = surg_value_declared_type(past);
  if (!n || surg_node_graph(n) != x->g || surg_node_class(n) != SURG_OP_CLASS_BUILTIN || !t ||
      surg_type_get_kind(t) != SURG_TYPE_TENSOR || surg_type_rank(t) > SC_RANK)
    return false;
  const int64_t rank = (int64_t)surg_type_rank(t), a = surg_node_int(n, "axis", 0);
  const size_t axis = (size_t)(a < 0 ? a + rank : a);
  *c = (sc_cache){.kind = SC_CONCAT, .at = n, .past = past, .axis = axis};
  if (surg_node_op(n) == SURG_OP_Concat && surg_node_input_count(n) == 2 &&
      surg_use_index(u) == 0 && surg_node_input(n, 1) != past) {
    c->grown = surg_node_output(n, 0);
    c->added = surg_node_input(n, 1);
    c->added_axis = axis;
  } else {
    c->grown = attention_output(n, surg_use_index(u), &c->kind);
    const bool key = c->grown && c->grown == surg_node_output(n, 1);
    c->added = surg_node_input(n, key ? 1 : 2);
    c->axis = 2;
    const surg_type *k = c->added ? surg_value_type(c->added) : NULL;
    c->added_axis = k && surg_type_rank(k) == 4 ? 2 : 1;
  }
  return c->grown && c->added && c->axis < (size_t)rank && is_main_output(x, c->grown);
}

static bool reads_shape(const surg_use *u) {
  const surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
  return n && surg_node_class(n) == SURG_OP_CLASS_BUILTIN &&
         (surg_node_op(n) == SURG_OP_Shape || surg_node_op(n) == SURG_OP_Size);
}

/* Adds the input to the list if it is a cache. False after an error. */
static bool find_cache(sc *x, surg_value *past) {
  sc_cache found = {0}, c;
  const surg_node *other = NULL;
  if (surg_value_is_initializer(past) || surg_value_is_output(past)) return true;
  for (const surg_use *u = surg_value_first_use(past); u; u = surg_use_next(u)) {
    if (!found.at && read_cache(x, past, u, &c))
      found = c;
    else if (surg_use_get_kind(u) == SURG_USE_NODE && !reads_shape(u))
      other = surg_use_node(u);
  }
  if (!found.at) return true;
  char text[TEXT];
  snprintf(text, sizeof text, "the cache '%.200s' has a fixed length (`dynamic` makes it symbolic)",
           surg_value_name(past));
  if (surg_type_dim(surg_value_declared_type(past), found.axis)->value >= 0)
    return sc_refuse(x, NULL, text);
  if (other) return sc_refuse(x, other, "it reads a cache beside the node that extends it");
  x->caches[x->n_caches++] = found;
  return true;
}

/* A node that reads an input and computes an output of the same rank from it, as a node does that
 * extends a cache in another form: com.microsoft.Attention. */
static surg_node *unknown_form(const sc *x) {
  for (size_t i = 0; i < surg_graph_input_count(x->g); i++) {
    const surg_value *past = surg_graph_input(x->g, i);
    const size_t rank = surg_type_rank(surg_value_declared_type(past));
    for (const surg_use *u = surg_value_first_use(past); u && rank >= 4; u = surg_use_next(u)) {
      surg_node *n = surg_use_get_kind(u) == SURG_USE_NODE ? surg_use_node(u) : NULL;
      for (size_t k = 0; n && k < surg_node_output_count(n); k++) {
        const surg_value *v = surg_node_output(n, k);
        if (v && is_main_output(x, v) && surg_type_rank(surg_value_declared_type(v)) == rank &&
            surg_node_input_count(n) > 2)
          return n;
      }
    }
  }
  return NULL;
}

static bool find_caches(sc *x) {
  const size_t n = surg_graph_input_count(x->g);
  x->caches = surg_pass_alloc(x->p, (n + 1) * sizeof *x->caches);
  x->total_symbols = surg_pass_alloc(x->p, (n * SC_RANK + 1) * sizeof(const char *));
  x->room_totals = n * SC_RANK;
  if (!x->caches || !x->total_symbols) return false;
  for (size_t i = 0; i < n; i++)
    if (!find_cache(x, surg_graph_input(x->g, i))) return false;
  surg_node *other = x->n_caches ? NULL : unknown_form(x);
  if (other) return sc_refuse(x, other, "caches of this operator are not supported");
  return x->n_caches || sc_refuse(x, NULL,
                                  "no cache found: an input that is joined with new rows, and "
                                  "whose result is an output (simplify and inline may help)");
}

/* ---- types ---- */

/* Declares one dimension of a type. NULL: out of memory. */
static const surg_type *with_dim(const sc *x, const surg_type *t, size_t axis, surg_dim dim) {
  surg_dim dims[SC_RANK];
  const size_t rank = surg_type_rank(t);
  for (size_t i = 0; i < rank; i++) {
    dims[i] = i == axis ? dim : *surg_type_dim(t, i);
    if (dims[i].value < 0 && !dims[i].param) dims[i] = (surg_dim){.value = -1};
    dims[i].expr = NULL;
  }
  return surg_type_tensor(x->m, surg_type_dtype(t), dims, rank);
}

static const surg_dim *past_dim(const sc_cache *c) {
  return surg_type_dim(surg_value_declared_type(c->past), c->axis);
}

/* All caches have the same number of past rows: one symbol. */
static bool name_rows(sc *x) {
  const char *name = past_dim(&x->caches[0])->param;
  bool one = name != NULL;
  for (size_t i = 0; one && i < x->n_caches; i++) {
    const char *param = past_dim(&x->caches[i])->param;
    one = param && strcmp(param, name) == 0;
  }
  x->past_symbol = one ? name : "static_cache_rows";
  for (size_t i = 0; !one && i < x->n_caches; i++) {
    const sc_cache *c = &x->caches[i];
    const surg_dim dim = {.value = -1, .param = x->past_symbol};
    const surg_type *t = with_dim(x, surg_value_declared_type(c->past), c->axis, dim);
    if (!t || surg_value_set_declared_type(c->past, t) != SURG_OK) return false;
  }
  return surg_model_infer(x->m) == SURG_OK;
}

/* How well a dimension is known. */
static int clarity(const surg_dim *d) {
  return d->value >= 0 ? 3 : d->param ? 2 : d->expr ? 1 : 0;
}

/* The number of new rows where all operators write into buffers by themselves. */
static void read_placed(sc *x) {
  x->added = (surg_dim){.value = -1};
  for (size_t i = 0; i < x->n_caches; i++) {
    const surg_type *t = surg_value_type(x->caches[i].added);
    const size_t axis = x->caches[i].added_axis;
    if (!t || surg_type_rank(t) <= axis) continue;
    const surg_dim *d = surg_type_dim(t, axis);
    if (clarity(d) > clarity(&x->added)) x->added = *d;
  }
}

/* The numbers of new rows and of all rows: those of the cache where they are known best. Shapes are
 * not known well enough to prove that all caches grow alike; if one does not, a product or a mask
 * of the result fails when it runs. */
static bool read_sizes(sc *x) {
  char text[TEXT];
  int best = -1;
  for (size_t i = 0; i < x->n_caches; i++) {
    const sc_cache *c = &x->caches[i];
    const surg_type *added = surg_value_type(c->added), *grown = surg_value_type(c->grown);
    if (c->kind == SC_PLACED) continue;
    snprintf(text, sizeof text, "the shapes of the cache '%.200s' are unknown",
             surg_value_name(c->past));
    if (!added || !grown || !surg_type_has_rank(added) || !surg_type_has_rank(grown))
      return sc_refuse(x, NULL, text);
    const surg_dim *a = surg_type_dim(added, c->added_axis), *t = surg_type_dim(grown, c->axis);
    snprintf(text, sizeof text, "the cache '%.200s' does not grow like others",
             surg_value_name(c->past));
    if (best >= 0 && a->value >= 0 && x->added.value >= 0 && a->value != x->added.value)
      return sc_refuse(x, NULL, text);
    if (clarity(a) <= best) continue;
    best = clarity(a);
    x->added = *a;
    x->total = *t;
  }
  if (best < 0) read_placed(x);
  return true;
}

/* A type with a symbol replaced by a number; itself if it has none. NULL: out of memory. */
static const surg_type *numbered(const sc *x, const surg_type *t, const char *symbol,
                                 int64_t number) {
  const bool tensor = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR;
  if (!tensor || surg_type_rank(t) > SC_RANK) return t;
  for (size_t axis = 0; t && axis < surg_type_rank(t); axis++) {
    const char *param = surg_type_dim(t, axis)->param;
    if (param && strcmp(param, symbol) == 0) t = with_dim(x, t, axis, (surg_dim){.value = number});
  }
  return t;
}

/* Declares a symbol of inputs and outputs as a number. */
static bool fix_symbol(sc *x, const char *symbol, int64_t number) {
  const size_t n = surg_graph_input_count(x->g), n_out = surg_graph_output_count(x->g);
  for (size_t i = 0; i < n + n_out; i++) {
    surg_value *v = i < n ? surg_graph_input(x->g, i) : surg_graph_output(x->g, i - n);
    const surg_type *t = i < n ? surg_value_declared_type(v) : surg_graph_output_type(x->g, i - n);
    const surg_type *now = numbered(x, t, symbol, number);
    if (t && !now) return false;
    if (now != t && surg_value_set_declared_type(v, now) != SURG_OK) return false;
  }
  return true;
}

/* The number of new rows of each run: from shapes, or the option `new`. */
static bool fix_new(sc *x) {
  const int64_t n = surg_pass_int(x->p, "new");
  x->new_rows = x->added.value;
  if (n == 0 || x->new_rows == n) return true;
  if (n < 0 || n > LENGTH_MAX)
    return sc_refuse(x, NULL, "new: expected a number of rows, from 1 on");
  if (x->new_rows >= 0) return sc_refuse(x, NULL, "new: the model adds another number of rows");
  x->new_rows = n;
  if (!x->added.param) return true; /* the symbols of all rows, see declare_totals */
  if (!fix_symbol(x, x->added.param, n)) return false;
  return surg_model_infer(x->m) == SURG_OK && read_sizes(x);
}

static bool add_position(sc *x) {
  const surg_dim one = {.value = 1};
  const char *name = surg_pass_string(x->p, "position");
  char text[TEXT];
  const surg_type *t = surg_type_tensor(x->m, SURG_INT64, &one, 1);
  snprintf(text, sizeof text, "position: the name '%.300s' is in use", name);
  if (surg_graph_find_value(x->g, name)) return sc_refuse(x, NULL, text);
  x->position = t ? surg_graph_add_input(x->g, name, t) : NULL;
  return x->position != NULL;
}

/* ---- outputs ---- */

/* The value that has the rows of an output gets another name; `by` gets its name. */
static bool take_name(sc *x, surg_value *v, surg_value *by) {
  const size_t n = strlen(surg_value_name(v)) + 1;
  char *name = surg_pass_alloc(x->p, n), text[TEXT];
  if (!name) return false;
  memcpy(name, surg_value_name(v), n);
  snprintf(text, sizeof text, "%.500s_all", name);
  const char *fresh = surg_graph_fresh_name(x->g, text);
  return fresh && surg_value_rename(v, fresh) == SURG_OK && surg_value_rename(by, name) == SURG_OK;
}

static bool declare_buffer(sc *x, const sc_cache *c, surg_value *out) {
  const surg_dim dim = {.value = x->length};
  const surg_type *t = with_dim(x, surg_value_declared_type(c->past), c->axis, dim);
  return t && surg_value_set_declared_type(c->past, t) == SURG_OK &&
         surg_value_set_declared_type(out, t) == SURG_OK;
}

/* The output is the next buffer. */
static bool return_buffer(sc *x, const sc_cache *c) {
  surg_value *index = sc_index(x);
  surg_value *out = index ? sc_make(x, "Gather", "cache", c->grown, index, NULL) : NULL;
  surg_node *n = out ? surg_value_producer(out, NULL) : NULL;
  if (!n || surg_node_set_int(n, "axis", (int64_t)c->axis) != SURG_OK) return false;
  for (size_t i = 0; i < surg_graph_output_count(x->g); i++)
    if (surg_graph_output(x->g, i) == c->grown && surg_graph_set_output(x->g, i, out) != SURG_OK)
      return false;
  return surg_value_set_declared_type(c->grown, NULL) == SURG_OK && take_name(x, c->grown, out) &&
         declare_buffer(x, c, out);
}

/* Attention operators get a mask, or a larger one. */
static bool mask_operators(sc *x) {
  for (size_t i = 0; i < x->n_caches; i++) {
    const sc_cache *c = &x->caches[i];
    if (c->kind != SC_FUSED || c->grown != surg_node_output(c->at, 1)) continue;
    const bool bias = surg_node_op(c->at) == SURG_OP_ms_MultiHeadAttention;
    const size_t at = bias ? 5 : 3;
    surg_value *mask = sc_mask_operand(x, c, surg_node_input(c->at, at), bias);
    if (!mask || surg_node_set_input(c->at, at, mask) != SURG_OK) return false;
  }
  return true;
}

/* ---- declared types ---- */

/* Entries of value_info that contradict the new sizes follow them. */
static bool follow_types(sc *x) {
  for (surg_value *v = NULL; (v = surg_graph_next_value(x->g, v)) != NULL;) {
    bool contradicts = false;
    const surg_type *t = surg_value_has_info(v) ? surg_value_declared_type(v) : NULL;
    if (!t || !surg_value_producer(v, NULL)) continue;
    surg_type_refine(x->m, t, surg_value_type(v), &contradicts);
    if (contradicts && surg_value_drop_info(v) != SURG_OK) return false;
  }
  return true;
}

/* Inputs with a number for each row: the length, then the new ones. */
static bool declare_totals(sc *x) {
  for (size_t i = 0; x->new_rows >= 0 && i < x->n_totals; i++)
    if (!fix_symbol(x, x->total_symbols[i], x->length + x->new_rows)) return false;
  return true;
}

/* ---- the pass ---- */

static bool change(sc *x) {
  bool joins = false;
  for (size_t i = 0; i < x->n_caches; i++) {
    joins = joins || x->caches[i].kind != SC_PLACED;
    if (x->window && x->caches[i].kind == SC_PLACED)
      return sc_refuse(x, x->caches[i].at,
                       "it writes rows after those in use, so that its buffer is no window");
  }
  if (!name_rows(x) || !read_sizes(x) || !fix_new(x) || (joins && !add_position(x))) return false;
  if (joins && !(sc_follow_rows(x) && sc_find_positions(x) && sc_mask_rows(x) &&
                 mask_operators(x) && sc_replace_positions(x)))
    return false;
  for (size_t i = 0; i < x->n_caches; i++) {
    const sc_cache *c = &x->caches[i];
    if (!(c->kind == SC_PLACED ? declare_buffer(x, c, c->grown) : return_buffer(x, c)))
      return false;
  }
  return declare_totals(x) && sc_stack_again(x) && surg_graph_toposort(x->g, NULL) == SURG_OK &&
         surg_model_infer(x->m) == SURG_OK && follow_types(x) && declared_fit_outputs(x->p);
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  sc x = {.p = p,
          .m = surg_pass_model(p),
          .length = surg_pass_int(p, "length"),
          .window = surg_pass_bool(p, "window")};
  x.g = surg_model_graph(x.m);
  if (x.length < 1 || x.length > LENGTH_MAX)
    return surg_pass_usage(p, "length: expected the rows of a buffer, from 1 to 2^24");
  if (surg_graph_opset(x.g, "") < 11)
    return surg_pass_usage(p, "needs opset 11 or newer (onnxsurg --opset 17 converts)");
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  if (!sc_unstack(&x) || !find_caches(&x) || !change(&x)) return SURG_PASS_FAILED;
  surg_pass_count(p, "caches", x.n_caches);
  surg_pass_used(p, x.window ? SURG_LOSSY : SURG_ROUNDING);
  return SURG_PASS_CHANGED;
}

static const surg_option options[] = {
    SURG_OPTION(INT, "length", NULL, "rows of each buffer"),
    SURG_OPTION(INT, "new", "0", "new rows of each run; 0: any number"),
    SURG_OPTION(BOOL, "window", "false", "keep the newest rows, at the buffer's end"),
    SURG_OPTION(STRING, "position", "past_length", "new input: rows in use before the run"),
};

const surg_pass surg__pass_static_cache =
    SURG_PASS_EDIT("static-cache", "give caches of language models a fixed length", options, run);
