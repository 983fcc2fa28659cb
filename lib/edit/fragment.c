/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that a user writes as text, added to a graph. The text becomes a model of its own, in which
 * names without a definition are inputs; its nodes are then copied into the graph. */
#include <stdio.h>

#include "base/dtype.h"
#include "base/hush.h"
#include "edit/edit.h"
#include "io/io.h"

/* An input of the model of the text: a value of the graph, or a literal. */
typedef struct entry {
  surg_value *own;   /* in the model of the text */
  surg_value *value; /* in the graph; NULL: a literal that is not added yet */
  const char *name;  /* of a literal: what its constant is named after */
} entry;

struct surg_fragment {
  surg_context *ctx;
  surg_graph *g;
  surg_model *x; /* the text */
  SURG_VEC(entry) inputs;
  SURG_VEC(const char *) names; /* of the values that the nodes define */
  surg_value **made;            /* as `names`, after the insertion */
  size_t n_values;              /* entries of `inputs` that are values, the first ones */
};

static surg_status why_not(char *why, size_t room, const char *what, const char *name) {
  if (why && room) snprintf(why, room, "%s %s", what, name);
  return SURG_EUSAGE;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void put_varint(surg__buf *b, uint64_t v) {
  do {
    surg__buf_putc(b, (char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0)));
    v >>= 7;
  } while (v);
}

static void put_import(surg__buf *b, const char *domain, int64_t version) {
  surg__buf one;
  surg__buf_init(&one, b->ctx);
  surg__buf_putc(&one, 0x0a);
  put_varint(&one, strlen(domain));
  surg__buf_puts(&one, domain);
  surg__buf_putc(&one, 0x10);
  put_varint(&one, (uint64_t)version);
  surg__buf_putc(b, 0x42);
  put_varint(b, one.n);
  surg__buf_put(b, one.p, one.n);
  if (one.failed) b->failed = true;
  surg__buf_free(&one);
}

/* The header of the text's model: IR version and opset imports as they are in the graph. */
static void put_head(surg__buf *b, const surg_graph *g) {
  const surg_model *m = surg_graph_model(g);
  const surg_function *f = surg_graph_function(g);
  const int64_t ir = surg_model_ir_version(m);
  const size_t n = f ? surg_function_import_count(f) : surg_model_import_count(m);
  surg__buf_putc(b, 0x08);
  put_varint(b, (uint64_t)(ir > 4 ? ir : 4)); /* literals are constants from version 4 on */
  for (size_t i = 0; i < n; i++)
    put_import(b, f ? surg_function_import_domain(f, i) : surg_model_import_domain(m, i),
               f ? surg_function_import_version(f, i) : surg_model_import_version(m, i));
}

static surg_status load_text(surg_fragment *f, const char *text) {
  surg__buf head, wire;
  surg__buf_init(&head, f->ctx);
  surg__buf_init(&wire, f->ctx);
  put_head(&head, f->g);
  surg_status s = head.failed ? surg__oom(f->ctx, NULL) : SURG_OK;
  if (s == SURG_OK) s = surg__text_parse_fragment(f->ctx, text, strlen(text), "text", &head, &wire);
  const surg_load_options lenient = {.size = sizeof lenient, .policy = SURG_LOAD_LENIENT};
  if (s == SURG_OK) s = surg_model_load_memory(f->ctx, wire.p, wire.n, "text", &lenient, &f->x);
  surg__buf_free(&head);
  surg__buf_free(&wire);
  return s;
}

static surg_status read_text(surg_fragment *f, const char *text, char *why, size_t room) {
  const surg__hush h = surg__hush_begin(f->ctx);
  surg_status s = load_text(f, text);
  if (s != SURG_OK && why && room) surg__reason(surg_context_error(f->ctx), why, room);
  surg__hush_end(f->ctx, h);
  if (s == SURG_EINVALID) s = SURG_EUSAGE;
  if (s == SURG_OK && !surg_graph_first_node(surg_model_graph(f->x)))
    s = why_not(why, room, "the text has no node;", "write y = Relu (x)");
  return s;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_literal(const surg_value *v, const char *prefix) {
  return strncmp(surg_value_name(v), prefix, 2) == 0;
}

/* Whether the graph sees the value. */
static bool visible(const surg_graph *g, const surg_value *v) {
  for (; g; g = surg_graph_parent(g))
    if (surg_value_graph(v) == g) return true;
  return false;
}

/* The value of the graph that a name of the text means. */
static surg_status find(surg_fragment *f, const char *name, surg_value **out, char *why,
                        size_t room) {
  size_t n;
  *out = surg_graph_lookup_value(f->g, name);
  if (*out) return SURG_OK;
  surg_status s = surg_select_values(surg_graph_model(f->g), name, out, 1, &n, why, room);
  if (s == SURG_ENOTFOUND) return SURG_EUSAGE;
  if (s == SURG_ELIMIT)
    return why_not(why, room, "several values have the address", surg__q(f->ctx, name));
  if (s == SURG_OK && !visible(f->g, *out))
    return why_not(why, room, "a value of another graph:", surg__q(f->ctx, name));
  return s;
}

/* A type with only the element type, in the model of the text; NULL: it is no tensor. */
static const surg_type *element_type(surg_model *x, const surg_value *v) {
  const surg_type *t = surg_value_type(v);
  if (!t || surg_type_get_kind(t) == SURG_TYPE_UNKNOWN) t = surg_value_declared_type(v);
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR) return NULL;
  return surg_type_tensor_unranked(x, surg_type_dtype(t));
}

/* Makes names without a definition inputs of the model of the text. */
static surg_status bind_names(surg_fragment *f, char *why, size_t room) {
  surg_graph *xg = surg_model_graph(f->x);
  surg_status s = SURG_OK;
  for (surg_value *v = surg_graph_next_value(xg, NULL), *next; v && s == SURG_OK; v = next) {
    next = surg_graph_next_value(xg, v);
    entry e = {.own = v};
    if (!surg_value_is_undefined(v)) continue;
    s = find(f, surg_value_name(v), &e.value, why, room);
    if (s == SURG_OK) s = surg_value_become_input(v, element_type(f->x, e.value));
    if (s == SURG_OK && !surg__vec_push(f->ctx, &f->inputs, e)) s = surg__oom(f->ctx, NULL);
  }
  f->n_values = f->inputs.count;
  return s;
}

static surg_status list_names(surg_fragment *f) {
  surg_graph *xg = surg_model_graph(f->x);
  for (surg_node *n = surg_graph_first_node(xg); n; n = surg_node_next(n))
    for (size_t i = 0; i < surg_node_output_count(n); i++) {
      surg_value *v = surg_node_output(n, i);
      if (!v) continue;
      if (!surg__vec_push(f->ctx, &f->names, surg_value_name(v))) return surg__oom(f->ctx, NULL);
      const surg_status s = surg_graph_add_output(xg, v, NULL);
      if (s != SURG_OK) return s;
    }
  return SURG_OK;
}

/* The first finding of the text that is still an error. */
static surg_status refuse_errors(surg_fragment *f, char *why, size_t room) {
  surg_finding x = {.size = sizeof x};
  if (!surg_model_open_findings(f->x)) return SURG_OK;
  for (size_t i = 0; surg_model_finding(f->x, i, &x); i++)
    if (!x.cured && x.severity == SURG_ERROR) {
      if (why && room) snprintf(why, room, "%s: %s", x.where, x.text);
      return SURG_EUSAGE;
    }
  return why_not(why, room, "the text", "is invalid");
}

/* ---- literals -------------------------------------------------------------------------------- */

static int dtype_of(const surg_value *v) {
  const surg_type *t = v ? surg_value_type(v) : NULL;
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR) return 0;
  return surg_type_dtype(t);
}

/* The element type of a number at input i of a node: that of an input that must have the same one,
 * otherwise the first of the usual ones that the operator accepts; 0 if it is not known. */
static int literal_dtype(const surg_node *n, size_t i, bool real) {
  static const int usual[] = {SURG_INT64,   SURG_FLOAT, SURG_INT32, SURG_DOUBLE,
                              SURG_FLOAT16, SURG_UINT8, SURG_INT8,  SURG_BOOL};
  const surg_schema *s = surg_node_schema(n);
  bool tied = false;
  for (size_t k = 0; s && k < surg_node_input_count(n); k++) {
    const surg_value *v = surg_node_input(n, k);
    if (k == i || !v || (is_literal(v, SURG__LITERAL_OPEN) && k > i) ||
        !surg_schema_same_type(s, i, k))
      continue;
    if (dtype_of(v)) return dtype_of(v);
    tied = true;
  }
  for (size_t k = 0; s && !tied && k < SURG_COUNT(usual); k++)
    if ((!real || surg__dtype_is_float(usual[k])) && surg_schema_takes(s, i, usual[k]))
      return usual[k];
  return 0;
}

/* Gives an open literal, input i of a node, its element type. */
static surg_status type_literal(surg_fragment *f, const surg_node *n, size_t i, char *why,
                                size_t room) {
  surg_value *v = surg_node_input(n, i);
  const surg_tensor *t = surg_value_initializer(v);
  if (!t) return surg__error(f->ctx, SURG_EINTERNAL, "text", "a literal without elements");
  int dtype = literal_dtype(n, i, surg_tensor_dtype(t) == SURG_DOUBLE);
  size_t bad;
  /* An operator that ONNX lacks is an error of its own, and the checker has the nearest name. */
  if (!dtype && !surg_node_schema(n) && !*surg_node_domain(n))
    dtype = surg_tensor_dtype(t) == SURG_DOUBLE ? SURG_FLOAT : SURG_INT64;
  if (!dtype && why && room)
    snprintf(why, room,
             "input %zu of %s: the type of the number is not known: write it, as in "
             "float {2}",
             i, surg_node_op_type(n));
  if (!dtype) return SURG_EUSAGE;
  surg_tensor *typed =
      surg__literal_as(f->x, t, dtype, surg_tensor_dims(t), surg_tensor_rank(t), &bad);
  if (typed) return surg_value_set_initializer(v, typed);
  if (surg_model_status(f->x) != SURG_OK) return surg_model_status(f->x);
  const char *name = surg_dtype_name(dtype);
  if (why && room)
    snprintf(why, room, "input %zu of %s: the number is not a valid %s", i, surg_node_op_type(n),
             name ? name : "number of its type");
  return SURG_EUSAGE;
}

/* Notes a literal: what its constant is named after. It becomes an input, so that a constant of the
 * graph takes its place. */
static surg_status note_literal(surg_fragment *f, surg_value *v, const surg_node *n) {
  const surg_value *out = surg_node_output(n, 0);
  const entry e = {.own = v, .name = out ? surg_value_name(out) : "constant"};
  if (!surg__vec_push(f->ctx, &f->inputs, e)) return surg__oom(f->ctx, NULL);
  return surg_value_make_input(v);
}

/* Types the literals of each node after those of the nodes before it, on which its types depend. */
static surg_status note_literals(surg_fragment *f, char *why, size_t room) {
  surg_status s = surg_model_infer(f->x);
  for (surg_graph *g = surg_model_next_graph(f->x, NULL); g; g = surg_model_next_graph(f->x, g))
    for (surg_node *n = surg_graph_first_node(g); n && s == SURG_OK; n = surg_node_next(n))
      for (size_t i = 0; i < surg_node_input_count(n) && s == SURG_OK; i++) {
        surg_value *v = surg_node_input(n, i);
        const bool open = v && is_literal(v, SURG__LITERAL_OPEN);
        if (!open && !(v && is_literal(v, SURG__LITERAL_TYPED))) continue;
        if (open) s = type_literal(f, n, i, why, room);
        if (s == SURG_OK) s = note_literal(f, v, n);
        if (s == SURG_OK && open) s = surg_model_infer(f->x);
      }
  return s;
}

/* ---- public ---------------------------------------------------------------------------------- */

surg_status surg_fragment_new(surg_graph *g, const char *text, surg_fragment **out, char *why,
                              size_t why_room) {
  if (out) *out = NULL;
  if (!g || !text || !out) return SURG_EUSAGE;
  if (why && why_room) why[0] = 0;
  surg_context *ctx = surg_model_context(surg_graph_model(g));
  surg_fragment *f = surg__calloc(ctx, 1, sizeof *f);
  if (!f) return surg__oom(ctx, NULL);
  f->ctx = ctx;
  f->g = g;
  surg_status s = surg_model_infer(surg_graph_model(g));
  if (s == SURG_OK) s = read_text(f, text, why, why_room);
  if (s == SURG_OK) s = bind_names(f, why, why_room);
  if (s == SURG_OK) s = refuse_errors(f, why, why_room);
  if (s == SURG_OK) s = note_literals(f, why, why_room);
  if (s == SURG_OK) s = list_names(f);
  if (s == SURG_OK)
    *out = f;
  else
    surg_fragment_free(f);
  return s;
}

surg_value *surg_fragment_read(const surg_fragment *f, size_t i) {
  return f && i < f->n_values ? f->inputs.items[i].value : NULL;
}

const char *surg_fragment_name(const surg_fragment *f, size_t i) {
  return f && i < f->names.count ? f->names.items[i] : NULL;
}

surg_value *surg_fragment_made(const surg_fragment *f, size_t i) {
  return f && f->made && i < f->names.count ? f->made[i] : NULL;
}

static surg_status add_constants(surg_fragment *f, surg_node *before) {
  for (size_t i = f->n_values; i < f->inputs.count; i++) {
    entry *e = &f->inputs.items[i];
    char name[SURG_LIMIT_NAME_PRINT + 20];
    surg_tensor *t = surg__tensor_copy(surg_graph_model(f->g), surg_value_initializer(e->own));
    snprintf(name, sizeof name, "%.*s_constant", (int)SURG_LIMIT_NAME_PRINT, e->name);
    if (t) e->value = surg_graph_constant(f->g, before, name, t);
    if (!e->value) return surg__oom(f->ctx, NULL);
  }
  return SURG_OK;
}

/* The values of the graph, in the order of the inputs of the text's model. */
static bool arrange(const surg_fragment *f, surg_value **in, size_t n) {
  const surg_graph *xg = surg_model_graph(f->x);
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < f->inputs.count; k++)
      if (f->inputs.items[k].own == surg_graph_input(xg, i)) in[i] = f->inputs.items[k].value;
    if (!in[i]) return false;
  }
  return true;
}

surg_status surg_fragment_insert(surg_fragment *f, surg_node *before) {
  if (!f || f->made) return SURG_EUSAGE;
  surg_graph *xg = surg_model_graph(f->x);
  const size_t n_in = surg_graph_input_count(xg), n_out = f->names.count;
  assert(n_out == surg_graph_output_count(xg));
  surg_value **in = surg__calloc(f->ctx, n_in + 1, sizeof *in);
  f->made = surg__calloc(f->ctx, n_out + 1, sizeof *f->made);
  surg_status s = in && f->made ? SURG_OK : surg__oom(f->ctx, NULL);
  if (s == SURG_OK) s = add_constants(f, before);
  if (s == SURG_OK && !arrange(f, in, n_in)) s = SURG_EINTERNAL;
  if (s == SURG_OK) s = surg_graph_splice(f->g, before, xg, in, n_in, NULL, f->made, n_out);
  surg__free(f->ctx, in);
  return s;
}

void surg_fragment_free(surg_fragment *f) {
  if (!f) return;
  surg_model_free(f->x);
  surg__free(f->ctx, f->made);
  surg__vec_free(f->ctx, &f->inputs);
  surg__vec_free(f->ctx, &f->names);
  surg__free(f->ctx, f);
}
