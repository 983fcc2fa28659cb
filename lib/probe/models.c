/* SPDX-License-Identifier: Apache-2.0 */
/* Builds models of one node from the lines of passes/targets/probe.cases. */
#include <stdio.h>
#include <stdlib.h>

#include "base/counted.h"
#include "base/dtype.h"
#include "infer/infer.h"
#include "probe/probe.h"

#define LINE_IR 4      /* first IR version in which initializers need not be inputs */
#define ELEMENTS 4096u /* most elements of a generated constant */

surg_node *surg__probe_node(surg_model *m) {
  return surg_graph_last_node(surg_model_graph(m));
}

/* --- from text --- */

/* Reads the domain ("" for the default one) and the name of the operator of a line; false:
 * invalid. */
static bool op_of_line(const char *line, char *domain, char *name, size_t size) {
  const char *node = strstr(line, " | ");
  node = node ? strstr(node + 3, "| ") : NULL;
  const char *eq = node ? strstr(node, " = ") : NULL;
  if (!eq) return false;
  eq += 3;
  const size_t n = strcspn(eq, " <(");
  if (n + 1 > size) return false;
  memcpy(domain, eq, n);
  domain[n] = 0;
  char *dot = strrchr(domain, '.');
  snprintf(name, size, "%s", dot ? dot + 1 : domain);
  *(dot ? dot : domain) = 0;
  return true;
}

int surg__probe_line_op(surg__probe *p, size_t line) {
  char domain[128], name[128];
  (void)p;
  if (!op_of_line(surg__probe_models[line], domain, name, sizeof name)) return 0;
  const surg_schema *s = surg_schema_find(domain, name, strtol(surg__probe_models[line], NULL, 10));
  return s ? s->op : 0;
}

static int64_t high_of(const surg__probe *p, const char *domain) {
  for (size_t i = 0; i < p->opsets.count; i++)
    if (!strcmp(p->opsets.items[i].name, domain)) return p->opsets.items[i].high;
  return surg_schema_newest(domain);
}

static int64_t low_of(const surg__probe *p, const char *domain) {
  for (size_t i = 0; i < p->opsets.count; i++)
    if (!strcmp(p->opsets.items[i].name, domain)) return p->opsets.items[i].low;
  return 1;
}

static surg_model *load_line(surg__probe *p, size_t line) {
  const char *text = surg__probe_models[line];
  char domain[128], name[128];
  if (!op_of_line(text, domain, name, sizeof name)) return NULL;
  const char *inputs = strchr(text, '|') + 2, *node = strstr(inputs - 1, "| ");
  const long opset = strtol(text, NULL, 10);
  surg__buf b;
  surg__buf_init(&b, p->ctx);
  surg__buf_printf(&b, "<ir_version: %d, opset_import: [", LINE_IR);
  if (domain[0])
    surg__buf_printf(&b, "\"\" : %lld, \"%s\" : %ld", (long long)high_of(p, ""), domain, opset);
  else
    surg__buf_printf(&b, "\"\" : %ld", opset);
  surg__buf_puts(&b, "]> probe (");
  if (node > inputs) surg__buf_put(&b, inputs, (size_t)(node - inputs));
  surg__buf_printf(&b, ") => () { %s }", node + 2);
  surg_model *m = NULL;
  if (!b.failed) surg_model_load_text(p->ctx, b.p, b.n, "probe.cases", &m);
  surg__buf_free(&b);
  return m;
}

/* Turns inputs with a default into constants. */
static void settle_defaults(surg_model *m) {
  surg_graph *g = surg_model_graph(m);
  for (size_t i = surg_graph_input_count(g); i--;)
    if (surg_value_initializer(surg_graph_input(g, i))) surg_graph_remove_input(g, i);
}

/* Converts the model to the version of the case, at the nearest opset that has this version. False:
 * impossible. */
static bool move_version(surg__probe *p, surg_model **m, const surg__probe_case *c) {
  size_t count;
  const surg_schema *all = surg__schema_versions(c->schema->op, &count);
  const char *domain = c->schema->domain;
  int64_t last = high_of(p, domain), to = surg_model_opset(*m, domain), first = c->schema->since;
  for (size_t i = 0; i < count; i++)
    if (all[i].since > c->schema->since && all[i].since <= last) last = all[i].since - 1;
  if (first < low_of(p, domain)) first = low_of(p, domain);
  if (first > last) return false;
  to = to < first ? first : to > last ? last : to;
  if (to != surg_model_opset(*m, domain)) {
    char pipeline[160];
    snprintf(pipeline, sizeof pipeline, "opset{%s%.100s%sto=%lld}", domain[0] ? "domain=" : "",
             domain, domain[0] ? "," : "", (long long)to);
    if (surg_model_run(m, pipeline) != SURG_OK || !*m) return false;
  }
  const surg_node *n = surg__probe_node(*m);
  return n && surg_graph_node_count(surg_model_graph(*m)) == 1 && surg_node_schema(n) == c->schema;
}

/* --- changes of the base model --- */

static void put_one(uint8_t *out, size_t bytes, int dtype) {
  static const struct {
    int dtype;
    uint8_t size, bytes[8];
  } ones[] = {{SURG_FLOAT, 4, {0, 0, 0x80, 0x3f}},
              {SURG_DOUBLE, 8, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
              {SURG_FLOAT16, 2, {0, 0x3c}},
              {SURG_BFLOAT16, 2, {0x80, 0x3f}},
              {SURG_COMPLEX64, 8, {0, 0, 0x80, 0x3f}}};
  size_t unit = surg__dtype_bits(dtype) / 8;
  uint8_t one[16] = {1};
  if (surg__dtype_bits(dtype) < 8) one[0] = 0x11;
  if (surg__dtype_bits(dtype) == 8 && surg__dtype_is_float(dtype)) one[0] = 0x38;
  for (size_t i = 0; i < SURG_COUNT(ones); i++)
    if (ones[i].dtype == dtype) memcpy(one, ones[i].bytes, sizeof ones[i].bytes);
  if (dtype == SURG_COMPLEX128) memcpy(one, ones[1].bytes, 8);
  if (!unit) unit = 1;
  for (size_t i = 0; i + unit <= bytes; i += unit) memcpy(out + i, one, unit);
}

/* A tensor of ones, or of the integers `ints` if the element type is an integer type and n_ints is
 * the number of elements. NULL: too large. */
static surg_tensor *make_tensor(surg_model *m, int dtype, const int64_t *dims, size_t rank,
                                const int64_t *ints, int64_t n_ints) {
  static const uint8_t zeros[ELEMENTS * 16];
  uint64_t count, bytes;
  if (!surg__dims_product(dims, rank, &count) || count > ELEMENTS) return NULL;
  if (dtype == SURG_STRING) {
    surg_str *texts = calloc(count + 1, sizeof *texts);
    for (uint64_t i = 0; texts && i < count; i++) texts[i] = (surg_str){"a", 1};
    surg_tensor *t = texts ? surg_tensor_new_strings(m, dims, rank, texts) : NULL;
    free(texts);
    return t;
  }
  uint8_t *data =
      surg__dtype_bytes(dtype, count, &bytes) && bytes <= sizeof zeros ? malloc(bytes + 1) : NULL;
  if (!data) return NULL;
  put_one(data, bytes, dtype);
  const bool whole = surg__dtype_is_signed_int(dtype) || surg__dtype_is_unsigned_int(dtype);
  const size_t unit = surg__dtype_bits(dtype) / 8;
  for (int64_t i = 0; whole && unit && n_ints == (int64_t)count && i < n_ints; i++)
    for (size_t k = 0; k < unit; k++)
      data[(size_t)i * unit + k] = (uint8_t)((uint64_t)ints[i] >> (8 * k));
  surg_tensor *t = surg_tensor_new(m, dtype, dims, rank, data, bytes);
  free(data);
  return t;
}

static size_t place_of(const surg_graph *g, const surg_value *v) {
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    if (surg_graph_input(g, i) == v) return i;
  return SIZE_MAX;
}

/* Replaces input i of the node, a graph input, by a constant of ones. */
static bool make_constant(surg_node *n, size_t i) {
  surg_graph *g = surg_node_graph(n);
  surg_value *v = surg_node_input(n, i);
  const surg_type *t = surg_value_declared_type(v);
  int64_t dims[16];
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || surg_type_rank(t) > 16) return false;
  for (size_t k = 0; k < surg_type_rank(t); k++) dims[k] = surg_type_dim(t, k)->value;
  surg_tensor *ones =
      make_tensor(surg_graph_model(g), surg_type_dtype(t), dims, surg_type_rank(t), NULL, 0);
  surg_value *c = ones ? surg_graph_constant(g, n, NULL, ones) : NULL;
  if (!c || surg_node_set_input(n, i, c) != SURG_OK) return false;
  return surg_value_use_count(v, 1) || surg_graph_remove_input(g, place_of(g, v)) == SURG_OK;
}

/* Replaces input i of the node, a constant, by a graph input. */
static bool make_input(surg_node *n, size_t i) {
  surg_model *m = surg_graph_model(surg_node_graph(n));
  const surg_tensor *t = surg_value_constant(surg_node_input(n, i));
  surg_dim dims[16] = {{0}};
  if (!t || surg_tensor_rank(t) > 16) return false;
  for (size_t k = 0; k < surg_tensor_rank(t); k++) dims[k].value = surg_tensor_dims(t)[k];
  const surg_type *type = surg_type_tensor(m, surg_tensor_dtype(t), dims, surg_tensor_rank(t));
  surg_value *v = surg_graph_add_input(surg_node_graph(n), "given", type);
  return v && surg_node_set_input(n, i, v) == SURG_OK;
}

static void drop_unused(surg_model *m) {
  surg_graph *g = surg_model_graph(m);
  for (size_t i = surg_graph_input_count(g); i--;)
    if (!surg_value_use_count(surg_graph_input(g, i), 1)) surg_graph_remove_input(g, i);
  for (surg_value *v = surg_graph_next_initializer(g, NULL), *next; v; v = next) {
    next = surg_graph_next_initializer(g, v);
    if (!surg_value_use_count(v, 1)) surg_value_erase_initializer(v);
  }
}

/* Omits optional inputs and outputs of the node, except the one named `keep` (or NULL). */
static bool only_required(surg_node *n, const char *keep) {
  const surg_schema *s = surg_node_schema(n);
  size_t last = 0;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg__param *f = surg__schema_formal(s, false, i);
    if (f && f->option == SURG__OPTIONAL && (!keep || strcmp(f->name, keep) != 0))
      surg_node_set_input(n, i, NULL);
    if (surg_node_input(n, i)) last = i + 1;
  }
  surg_node_trim_inputs(n, last);
  for (size_t i = surg_node_output_count(n); i-- > 1;) {
    const surg__param *f = surg__schema_formal(s, true, i);
    if (f && f->option == SURG__OPTIONAL && (!keep || strcmp(f->name, keep) != 0))
      surg_node_drop_output(n, i);
  }
  drop_unused(surg_graph_model(surg_node_graph(n)));
  return true;
}

/* Changes the element type of input i. */
static bool retype(surg_node *n, size_t i, int dtype) {
  surg_model *m = surg_graph_model(surg_node_graph(n));
  surg_value *v = surg_node_input(n, i);
  const surg_tensor *c = surg_value_constant(v);
  if (c) {
    int64_t ints[64], count = surg__read_ints(c, ints, SURG_COUNT(ints));
    surg_tensor *t = make_tensor(m, dtype, surg_tensor_dims(c), surg_tensor_rank(c), ints, count);
    return t && surg_value_set_initializer(v, t) == SURG_OK;
  }
  const surg_type *t = surg_value_declared_type(v);
  surg_dim dims[16];
  if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || surg_type_rank(t) > 16) return false;
  for (size_t k = 0; k < surg_type_rank(t); k++) dims[k] = *surg_type_dim(t, k);
  t = surg_type_tensor(m, dtype, dims, surg_type_rank(t));
  return surg_value_set_declared_type(v, t) == SURG_OK;
}

static int dtype_of(const surg_value *v) {
  const surg_tensor *c = v ? surg_value_constant(v) : NULL;
  const surg_type *t = v && !c ? surg_value_declared_type(v) : NULL;
  if (c) return surg_tensor_dtype(c);
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : 0;
}

/* Changes the element type of all inputs that have the type of the parameter in question, if their
 * own type parameters allow it. False: only that parameter has the type. */
static bool set_types(surg_node *n, const surg__probe_case *c) {
  int was = 0;
  bool others = false;
  for (size_t i = 0; i < surg_node_input_count(n) && !was; i++) {
    const surg__param *f = surg__schema_formal(c->schema, false, i);
    if (f && !strcmp(f->type, c->name)) was = dtype_of(surg_node_input(n, i));
  }
  for (size_t i = 0; was && i < surg_node_input_count(n); i++) {
    const surg__param *f = surg__schema_formal(c->schema, false, i);
    const surg__type_param *t = f ? surg__schema_type_param(c->schema, f) : NULL;
    if (!t || !(t->tensor_mask >> c->number & 1) || dtype_of(surg_node_input(n, i)) != was)
      continue;
    if (!retype(n, i, (int)c->number)) return false;
    others |= strcmp(f->type, c->name) != 0;
  }
  return others;
}

static bool set_type(surg_node *n, const surg__probe_case *c) {
  bool bound = false;
  static const char *const by[] = {"to", "dtype", "output_dtype"};
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg__param *f = surg__schema_formal(c->schema, false, i);
    if (!f || !surg_node_input(n, i) || strcmp(f->type, c->name) != 0) continue;
    if (!retype(n, i, (int)c->number)) return false;
    bound = true;
  }
  for (size_t i = 0; i < SURG_COUNT(by) && !bound; i++)
    if (surg__schema_attr(c->schema, by[i]) &&
        surg__schema_attr(c->schema, by[i])->kind == SURG_ATTR_INT)
      return surg_node_set_int(n, by[i], c->number) == SURG_OK;
  return bound;
}

/* Changes the rank of all inputs; all dimensions become 2. False: they differ in rank. */
static bool set_rank(surg_node *n, int64_t rank) {
  surg_model *m = surg_graph_model(surg_node_graph(n));
  const surg_type *first = surg_value_declared_type(surg_node_input(n, 0));
  surg_dim dims[16] = {{0}};
  if (!first || surg_type_get_kind(first) != SURG_TYPE_TENSOR || rank > 16) return false;
  const size_t was = surg_type_rank(first);
  for (size_t k = 0; k < 16; k++) dims[k].value = 2;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    surg_value *v = surg_node_input(n, i);
    const surg_type *t = v && !surg_value_constant(v) ? surg_value_declared_type(v) : NULL;
    if (v && (!t || surg_type_rank(t) != was)) return false;
    if (v && surg_value_set_declared_type(
                 v, surg_type_tensor(m, surg_type_dtype(t), dims, (size_t)rank)))
      return false;
  }
  return true;
}

/* Makes sizes of inputs symbolic: the first of each input (1), all (2), or those that are open in
 * models: all but the last axis and the channels, axis 1 of three or more (3). */
static bool set_open(surg_model *m, int64_t which) {
  surg_graph *g = surg_model_graph(m);
  bool any = false;
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_declared_type(v);
    static const char *const names[] = {"N", "C", "H", "W", "D", "E", "F", "G"};
    surg_dim dims[8] = {{0}};
    if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR || surg_type_rank(t) > 8) continue;
    for (size_t k = 0; k < surg_type_rank(t); k++) {
      dims[k] = *surg_type_dim(t, k);
      const bool weighed = (k == 1 && surg_type_rank(t) > 2) || k + 1 == surg_type_rank(t);
      if (k && (which < 2 || (which == 3 && weighed))) continue;
      dims[k] = (surg_dim){.value = -1, .param = names[k]};
      any = true;
    }
    if (surg_value_set_declared_type(
            v, surg_type_tensor(m, surg_type_dtype(t), dims, surg_type_rank(t))))
      return false;
  }
  return any;
}

static size_t input_called(const surg_node *n, const surg_schema *s, const char *name) {
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg__param *f = surg__schema_formal(s, false, i);
    if (f && !strcmp(f->name, name) && surg_node_input(n, i)) return i;
  }
  return SIZE_MAX;
}

/* Makes all inputs of the node constants. A Relu is added so that the model still has an input and
 * an output that depends on it. */
static bool feed_constants(surg_model *m, surg_node *n) {
  surg_graph *g = surg_model_graph(m);
  bool any = false;
  for (size_t i = 0; i < surg_node_input_count(n); i++) {
    const surg_value *v = surg_node_input(n, i);
    if (!v || surg_value_constant(v)) continue;
    any = true;
    if (!make_constant(n, i)) return false;
  }
  const surg_dim dims[] = {{2, NULL}, {2, NULL}};
  surg_value *x = surg_graph_add_input(g, "other", surg_type_tensor(m, SURG_FLOAT, dims, 2));
  surg_node *relu = x ? surg_graph_add_node(g, n, "", "Relu", 1) : NULL;
  return any && relu && surg_node_set_input(relu, 0, x) == SURG_OK &&
         surg_graph_add_output(g, surg_node_output(relu, 0), surg_value_declared_type(x)) ==
             SURG_OK;
}

static bool change(surg_model *m, surg_node *n, const surg__probe_case *c) {
  switch (c->what) {
    case SURG__PROBE_TYPE:
      return set_type(n, c);
    case SURG__PROBE_TYPES:
      return set_types(n, c);
    case SURG__PROBE_INPUT: {
      const size_t i = input_called(n, c->schema, c->name);
      return i != SIZE_MAX && make_input(n, i);
    }
    case SURG__PROBE_CONST: {
      const size_t i = input_called(n, c->schema, c->name);
      return i != SIZE_MAX && !surg_value_constant(surg_node_input(n, i)) && make_constant(n, i) &&
             surg_graph_input_count(surg_node_graph(n));
    }
    case SURG__PROBE_VALUE:
      /* Pads are either given or computed. */
      if (!strcmp(c->name, "auto_pad") && strcmp(c->value, "NOTSET") != 0)
        surg_node_remove_attr(n, "pads");
      return (c->value ? surg_node_set_string(n, c->name, c->value)
                       : surg_node_set_int(n, c->name, c->number)) == SURG_OK;
    case SURG__PROBE_LEFT:
      return surg_node_remove_attr(n, c->name) == SURG_OK;
    case SURG__PROBE_RANK:
      return surg_node_input_count(n) && (c->name[0] || set_rank(n, c->number));
    case SURG__PROBE_FED:
      return feed_constants(m, n);
    case SURG__PROBE_DYNAMIC:
      return set_open(m, c->number);
    case SURG__PROBE_OPEN:
      return set_open(m, c->number == 1 ? 1 : 3);
    default:
      return true;
  }
}

/* Whether the node has an input or output with this name in its schema. */
static bool has_place(const surg_node *n, const surg_schema *s, const char *name) {
  if (input_called(n, s, name) != SIZE_MAX) return true;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg__param *f = surg__schema_formal(s, true, i);
    if (f && !strcmp(f->name, name) && surg_node_output(n, i)) return true;
  }
  return false;
}

static bool take_form(surg_node *n, const surg__probe_case *c) {
  if (c->what == SURG__PROBE_GIVEN && !has_place(n, c->schema, c->name)) return false;
  if (c->form & SURG__PROBE_REQUIRED || c->what == SURG__PROBE_GIVEN)
    only_required(n, c->what == SURG__PROBE_GIVEN ? c->name : NULL);
  for (size_t i = 1; c->form & SURG__PROBE_CONSTANTS && i < surg_node_input_count(n); i++)
    if (surg_node_input(n, i) && !surg_value_constant(surg_node_input(n, i)) &&
        !make_constant(n, i))
      return false;
  return true;
}

/* --- a model --- */

static bool add_outputs(surg_model *m) {
  const surg_node *n = surg__probe_node(m);
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    surg_value *v = surg_node_output(n, i);
    if (v && surg_graph_add_output(surg_model_graph(m), v, surg_value_type(v)) != SURG_OK)
      return false;
  }
  return true;
}

/* Sets the lowest supported IR version that has the model's element types; false: none. */
static bool set_ir(const surg__probe *p, surg_model *m, const surg__probe_case *c) {
  int64_t need = LINE_IR;
  const surg_graph *g = surg_model_graph(m);
  if (c->what == SURG__PROBE_IR) return surg_model_set_ir_version(m, c->number) == SURG_OK;
  for (const surg_value *v = surg_graph_next_value(g, NULL); v; v = surg_graph_next_value(g, v)) {
    const surg_type *t = surg_value_type(v);
    if (!t || surg_type_get_kind(t) != SURG_TYPE_TENSOR) continue;
    const int64_t ir = surg_dtype_ir_version(surg_type_dtype(t));
    if (ir > need) need = ir;
  }
  if (need < p->ir_low) need = p->ir_low;
  return need <= p->ir_high && (need == LINE_IR || surg_model_set_ir_version(m, need) == SURG_OK);
}

static const char engine_text[] =
    "<ir_version: 4, opset_import: [\"\" : 9]>\n"
    "probe (float[2, 3, 4, 5] x) => (float[2, 3, 4, 5] y) { y = Relu (x) }";
static const char order_text[] =
    "<ir_version: 4, opset_import: [\"\" : 9]>\n"
    "probe (float[2, 3] x) => (float[2, 3] y) { y = Relu (a)  a = Relu (x) }";
static const char ml_text[] =
    "<ir_version: 4, opset_import: [\"\" : 9, \"ai.onnx.ml\" : 1]>\nprobe "
    "(float[2, 3] x) => (float[2, 3] y) { y = ai.onnx.ml.Normalizer (x) }";
static const char function_text[] =
    "<ir_version: 8, opset_import: [\"\" : 9, \"local\" : 1]>\n"
    "probe (float[2, 3] x) => (float[2, 3] y) { y = local.Foo (x) }\n"
    "<domain: \"local\", opset_import: [\"\" : 9]> Foo (a) => (b) { b = Relu (a) }";

static const char custom_text[] =
    "<ir_version: 4, opset_import: [\"\" : 9, \"unheard.of\" : 1]>\nprobe "
    "(float[2, 3] x) => (float[2, 3] y) { y = unheard.of.Foo (x) }";

static surg_model *engine_model(surg__probe *p, const surg__probe_case *c) {
  const bool function = c->what == SURG__PROBE_FUNCTION && !c->number;
  const char *text = function                          ? function_text
                     : c->what == SURG__PROBE_FUNCTION ? custom_text
                     : c->what == SURG__PROBE_ORDER    ? order_text
                     : c->name && c->name[0]           ? ml_text
                                                       : engine_text;
  surg_model *m = NULL;
  if (surg_model_load_text(p->ctx, text, strlen(text), "probe", &m) != SURG_OK) return NULL;
  const int64_t high = high_of(p, ""), low = low_of(p, "");
  const int64_t opset = high < 9 ? high : low > 9 ? low : 9;
  bool good = surg_model_set_opset(m, "", opset) == SURG_OK;
  if (c->value) good = good && surg_node_set_op(surg__probe_node(m), c->name, c->value) == SURG_OK;
  if (c->what == SURG__PROBE_OPSET)
    good = good && surg_model_set_opset(m, c->name, c->number) == SURG_OK;
  if (function)
    good = good && surg_function_set_opset(surg_model_function(m, 0), "", opset) == SURG_OK;
  if (function && p->ir_high < 8) good = false;
  if (!function && c->what != SURG__PROBE_OPSET) good = good && set_ir(p, m, c);
  if (good && change(m, surg__probe_node(m), c)) return m;
  surg_model_free(m);
  return NULL;
}

/* The model of a case about an operator. */
static surg_model *case_model(surg__probe *p, const surg__probe_case *c) {
  surg_model *m = load_line(p, c->line);
  if (!m) return NULL;
  settle_defaults(m);
  bool good = move_version(p, &m, c);
  surg_node *n = good ? surg__probe_node(m) : NULL;
  good = good && take_form(n, c) && change(m, n, c) && surg_model_infer(m) == SURG_OK &&
         !surg__infer_contradicts(n) && add_outputs(m) && set_ir(p, m, c) &&
         surg_model_infer(m) == SURG_OK;
  if (good) return m;
  if (m) surg_model_free(m);
  return NULL;
}

surg_model *surg__probe_model(surg__probe *p, const surg__probe_case *c) {
  surg_context_clear_error(p->ctx);
  p->ctx->alloc_status = SURG_OK;
  surg_model *m = c->schema ? case_model(p, c) : engine_model(p, c);
  if (!m && p->ctx->alloc_status != SURG_OK) p->failure = p->ctx->alloc_status;
  return m;
}
