/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the models to ask about: first the engine, then a base for every version of every
 * operator, then models that differ from a base in one respect. */
#include <stdio.h>

#include "probe/probe.h"

/* Adds a case without an answer, derived from `c`. */
static bool add(surg__probe *p, const surg__probe_case *c) {
  surg__probe_case fresh = *c;
  fresh.base = fresh.taken = fresh.asked = fresh.differs = fresh.narrow = fresh.formed = false;
  fresh.why = NULL;
  fresh.forecast = SURG__LEGAL;
  return surg__vec_push(p->ctx, &p->cases, fresh);
}

/* --- the engine --- */

bool surg__probe_add_engine(surg__probe *p) {
  /* Several operators: an engine may lack old versions of one but support the opset. */
  static const struct by {
    const char *domain, *op;
  } by[] = {{"", "Relu"}, {"", "Identity"}, {"ai.onnx.ml", "Normalizer"}};
  for (size_t i = 0; i < SURG_COUNT(by); i++)
    for (int64_t v = 1; v <= surg_schema_newest(by[i].domain); v++) {
      const surg__probe_case c = {
          .what = SURG__PROBE_OPSET, .name = by[i].domain, .value = by[i].op, .number = v};
      if (!add(p, &c)) return false;
    }
  return true;
}

bool surg__probe_add_ir(surg__probe *p) {
  for (int64_t v = 3; v <= surg_dtype_ir_version(SURG_DTYPE_COUNT - 1); v++)
    if (!add(p, &(surg__probe_case){.what = SURG__PROBE_IR, .name = "", .number = v})) return false;
  return true;
}

bool surg__probe_add_rest(surg__probe *p) {
  return add(p, &(surg__probe_case){.what = SURG__PROBE_DYNAMIC, .name = "", .number = 1}) &&
         add(p, &(surg__probe_case){.what = SURG__PROBE_DYNAMIC, .name = "", .number = 2}) &&
         add(p, &(surg__probe_case){.what = SURG__PROBE_ORDER, .name = ""}) &&
         add(p, &(surg__probe_case){.what = SURG__PROBE_FUNCTION, .name = ""}) &&
         add(p, &(surg__probe_case){.what = SURG__PROBE_FUNCTION, .name = "", .number = 1});
}

/* --- versions --- */

static bool in_window(const surg__probe *p, const surg_schema *s) {
  if (s->flags & SURG__OP_DEPRECATED) return false;
  for (size_t i = 0; i < p->opsets.count; i++)
    if (!strcmp(p->opsets.items[i].name, s->domain)) return s->since <= p->opsets.items[i].high;
  return true;
}

static bool add_base_of(surg__probe *p, size_t line, const surg_schema *s) {
  for (unsigned form = 0; form < SURG__PROBE_FORMS; form++)
    if (!add(p, &(surg__probe_case){
                    .what = SURG__PROBE_BASE, .schema = s, .line = line, .form = form}))
      return false;
  return true;
}

/* Whether the operator is in the list to probe. */
static bool is_wanted(const surg__probe *p, int op) {
  if (!p->only) return true;
  size_t count;
  const char *name = surg__schema_versions(op, &count)->name;
  const size_t n = strlen(name);
  for (const char *at = p->only; (at = strstr(at, name)); at++)
    if ((at == p->only || at[-1] == '+') && (!at[n] || at[n] == '+')) return true;
  return false;
}

bool surg__probe_add_bases(surg__probe *p) {
  for (size_t i = 0; i < surg__probe_model_count; i++) {
    size_t count = 0;
    int op = surg__probe_line_op(p, i);
    if (op && !is_wanted(p, op)) op = 0;
    const surg_schema *all = op ? surg__schema_versions(op, &count) : NULL;
    for (size_t k = 0; k < count; k++)
      if (in_window(p, &all[k]) && !add_base_of(p, i, &all[k])) return false;
  }
  return true;
}

/* --- forms of a version, from its base --- */

/* Whether element types of the operator can be varied independently: not for sequences, which
 * contain element types, nor if the type selects the attribute (keys_int64s, keys_strings). */
static bool types_move(const surg_schema *s) {
  for (uint32_t i = 0; i < s->n_params; i++)
    for (const char *const *t = s->params[i].types; t && *t; t++)
      if (strncmp(*t, "tensor(", 7) != 0) return false;
  for (uint32_t i = 0; i < s->n_attrs; i++) {
    const char *name = s->attrs[i].name;
    if (strstr(name, "_int64s") || (strstr(name, "_strings") && !strcmp(s->domain, "ai.onnx.ml")))
      return false;
  }
  return true;
}

static bool add_types(surg__probe *p, const surg__probe_case *base) {
  const surg_schema *s = base->schema;
  if (!types_move(s)) return true;
  for (uint32_t i = 0; i < s->n_params; i++)
    for (int d = 1; d < SURG__DTYPES; d++) {
      if (!(s->params[i].tensor_mask >> d & 1)) continue;
      surg__probe_case c = *base;
      c.what = SURG__PROBE_TYPE;
      c.name = s->params[i].name;
      c.number = d;
      c.impossible = surg_dtype_ir_version(d) > p->ir_high;
      if (!add(p, &c)) return false;
      c.what = SURG__PROBE_TYPES;
      if (s->n_params > 1 && !c.impossible && !add(p, &c)) return false;
    }
  return true;
}

static bool add_places(surg__probe *p, const surg__probe_case *base, const surg__param *list,
                       size_t n) {
  for (size_t i = 0; i < n; i++) {
    surg__probe_case c = *base;
    c.name = list[i].name;
    c.what = SURG__PROBE_INPUT;
    if (list == base->schema->inputs && !add(p, &c)) return false;
    c.what = SURG__PROBE_CONST;
    if (list == base->schema->inputs && n > 1 && !add(p, &c)) return false;
    c.what = SURG__PROBE_GIVEN;
    if (base->form & SURG__PROBE_REQUIRED && list[i].option == SURG__OPTIONAL && !add(p, &c))
      return false;
  }
  return true;
}

/* Values of string attributes; `of` is an operator, or NULL for all. */
static const struct word {
  const char *of, *name;
  const char *values[10];
} words[] = {
    {NULL, "auto_pad", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}},
    {"Pad", "mode", {"constant", "reflect", "edge", "wrap"}},
    {"Resize", "mode", {"nearest", "linear", "cubic"}},
    {"Upsample", "mode", {"nearest", "linear"}},
    {"GridSample", "mode", {"bilinear", "nearest", "bicubic", "linear", "cubic"}},
    {"RoiAlign", "mode", {"avg", "max"}},
    {"DepthToSpace", "mode", {"DCR", "CRD"}},
    {NULL, "padding_mode", {"zeros", "border", "reflection"}},
    {NULL,
     "coordinate_transformation_mode",
     {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
      "tf_half_pixel_for_nn", "half_pixel_symmetric", "output_half_pixel"}},
    {NULL, "nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}},
    {NULL, "reduction", {"none", "add", "mul", "min", "max", "mean", "sum"}},
    {NULL, "approximate", {"none", "tanh"}},
};

static bool add_words(surg__probe *p, const surg__probe_case *base, const char *name) {
  for (size_t i = 0; i < SURG_COUNT(words); i++) {
    if (strcmp(words[i].name, name) != 0) continue;
    if (words[i].of && strcmp(words[i].of, base->schema->name) != 0) continue;
    for (size_t k = 0; k < SURG_COUNT(words[i].values) && words[i].values[k]; k++) {
      surg__probe_case c = *base;
      c.what = SURG__PROBE_VALUE;
      c.name = name;
      c.value = words[i].values[k];
      if (!add(p, &c)) return false;
    }
    break;
  }
  return true;
}

/* Whether an INT attribute is a boolean; others are axes and counts. */
static bool is_switch(const surg__attr_def *a) {
  static const char *const names[] = {"ceil_mode",
                                      "count_include_pad",
                                      "storage_order",
                                      "keepdims",
                                      "noop_with_empty_axes",
                                      "select_last_index",
                                      "transA",
                                      "transB",
                                      "align_corners",
                                      "exclusive",
                                      "reverse",
                                      "largest",
                                      "sorted",
                                      "allowzero",
                                      "training_mode",
                                      "is_test",
                                      "fmod",
                                      "layout",
                                      "input_forget",
                                      "linear_before_reset",
                                      "exclude_outside",
                                      "antialias",
                                      "inverse",
                                      "onesided",
                                      "is_causal",
                                      "spatial",
                                      "broadcast",
                                      "consumed_inputs",
                                      "periodic",
                                      "upper",
                                      "detect_negative",
                                      "detect_positive",
                                      "center_point_box",
                                      "saturate",
                                      "keep_aspect_ratio_policy"};
  for (size_t i = 0; a->kind == SURG_ATTR_INT && i < SURG_COUNT(names); i++)
    if (!strcmp(names[i], a->name)) return true;
  return false;
}

static bool add_attrs(surg__probe *p, const surg__probe_case *base) {
  for (uint32_t i = 0; i < base->schema->n_attrs; i++) {
    const surg__attr_def *a = &base->schema->attrs[i];
    surg__probe_case left = *base;
    left.what = SURG__PROBE_LEFT;
    left.name = a->name;
    if (!a->required && !add(p, &left)) return false;
    if (a->kind == SURG_ATTR_STRING && !add_words(p, base, a->name)) return false;
    for (int64_t v = 0; is_switch(a) && v < 2; v++) {
      surg__probe_case c = *base;
      c.what = SURG__PROBE_VALUE;
      c.name = a->name;
      c.number = v;
      if (!add(p, &c)) return false;
    }
  }
  return true;
}

static bool add_ranks(surg__probe *p, const surg__probe_case *base) {
  const surg_schema *s = base->schema;
  if (!(s->flags & SURG__OP_ELEMENTWISE)) return true;
  for (int64_t r = 0; r <= 6; r++) {
    surg__probe_case c = *base;
    c.what = SURG__PROBE_RANK;
    c.name = "";
    c.number = r;
    if (!add(p, &c)) return false;
  }
  return true;
}

static bool has_graph(const surg_schema *s) {
  for (uint32_t i = 0; i < s->n_attrs; i++)
    if (s->attrs[i].kind == SURG_ATTR_GRAPH || s->attrs[i].kind == SURG_ATTR_GRAPHS) return true;
  return false;
}

static bool add_forms_of(surg__probe *p, const surg__probe_case *base) {
  const surg_schema *s = base->schema;
  surg__probe_case open = *base;
  open.what = SURG__PROBE_OPEN;
  for (open.number = 1; open.number <= 2; open.number++)
    if (!add(p, &open)) return false;
  open.what = SURG__PROBE_FED;
  if (!add(p, &open)) return false;
  /* Types of values in subgraphs cannot be varied from outside. */
  if (has_graph(s)) return true;
  return add_types(p, base) && add_places(p, base, s->inputs, s->n_inputs) &&
         add_places(p, base, s->outputs, s->n_outputs) && add_attrs(p, base) && add_ranks(p, base);
}

int64_t surg__probe_rank(const surg_value *v) {
  const surg_tensor *c = v ? surg_value_constant(v) : NULL;
  const surg_type *t = v && !c ? surg_value_type(v) : NULL;
  if (c) return (int64_t)surg_tensor_rank(c);
  const bool known = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR && surg_type_has_rank(t);
  return known ? (int64_t)surg_type_rank(t) : -1;
}

/* The first input whose rank differs between two nodes, or SIZE_MAX. */
static size_t other_rank(const surg_node *x, const surg_node *y) {
  for (size_t i = 0; i < surg_node_input_count(x) && i < surg_node_input_count(y); i++)
    if (surg_node_input(x, i) && surg_node_input(y, i) &&
        surg__probe_rank(surg_node_input(x, i)) != surg__probe_rank(surg_node_input(y, i)))
      return i;
  return SIZE_MAX;
}

/* Adds a question from another line of the same operator if that line differs from the base in the
 * rank of an input or in one INTS attribute. */
static bool add_line(surg__probe *p, const surg__probe_case *base, const surg__probe_case *other) {
  surg_model *a = surg__probe_model(p, base), *b = surg__probe_model(p, other);
  surg__probe_case c = *other;
  const surg_node *x = a ? surg__probe_node(a) : NULL, *y = b ? surg__probe_node(b) : NULL;
  size_t differ = 0;
  for (uint32_t i = 0; x && y && i < c.schema->n_attrs; i++) {
    const char *name = c.schema->attrs[i].name;
    const surg_attr *u = surg_node_attr(x, name), *v = surg_node_attr(y, name);
    if (u && !v) differ += 2;
    if (!v || (u && surg_attr_get_kind(u) == SURG_ATTR_INT && surg_attr_int(u) == surg_attr_int(v)))
      continue;
    if (u && surg_attr_get_kind(u) != SURG_ATTR_INT) continue;
    differ++;
    c.name = name;
    c.number = surg_attr_get_kind(v) == SURG_ATTR_INT ? surg_attr_int(v) : 0;
    c.what = surg_attr_get_kind(v) == SURG_ATTR_INTS ? SURG__PROBE_SET : SURG__PROBE_BASE;
  }
  const size_t place = x && y ? other_rank(x, y) : SIZE_MAX;
  bool good = true;
  if (place != SIZE_MAX && differ < 2 && surg__schema_formal(c.schema, false, place)) {
    c.what = SURG__PROBE_RANK;
    c.name = surg__schema_formal(c.schema, false, place)->name;
    c.number = surg__probe_rank(surg_node_input(y, place));
    good = add(p, &c);
  } else if (differ == 1 && c.what == SURG__PROBE_SET) {
    good = add(p, &c);
  }
  if (a) surg_model_free(a);
  if (b) surg_model_free(b);
  return good;
}

bool surg__probe_add_forms(surg__probe *p) {
  const size_t n = p->asked;
  for (size_t i = 0; i < n; i++) {
    surg__probe_case base = p->cases.items[i];
    if (!base.base || base.formed) continue;
    p->cases.items[i].formed = true;
    base.root = i;
    if (!add_forms_of(p, &base)) return false;
    for (size_t k = 0; k < n; k++) {
      const surg__probe_case *c = &p->cases.items[k];
      if (c->what != SURG__PROBE_BASE || c->schema != base.schema || c->form != base.form ||
          c->line == base.line || !c->asked)
        continue;
      surg__probe_case other = *c;
      other.root = i;
      if (!add_line(p, &base, &other)) return false;
    }
  }
  return true;
}
