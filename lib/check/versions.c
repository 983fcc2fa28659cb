/* SPDX-License-Identifier: Apache-2.0 */
/* Content of a model that requires a later IR version than the model declares. */
#include <stdio.h>

#include "base/dtype.h"
#include "check/check.h"
#include "ir/ir.h"

/* Sets the pass that fixes the next finding; `text` must remain valid until then. */
static void raise_to(surg__checker *c, char text[32], int64_t ir) {
  snprintf(text, 32, "ir{to=%lld}", (long long)ir);
  c->pass = text;
}

/* Reports an element type newer than the IR version, once per type; `reported` has one bit per
 * type. */
static void check_type(surg__checker *c, const surg_value *v, uint32_t *reported) {
  const surg_type *t = surg_value_type(v);
  const int dtype = t && t->kind == SURG_TYPE_TENSOR ? t->dtype : SURG_UNDEFINED;
  const int64_t ir = surg_dtype_ir_version(dtype);
  if (ir <= c->m->ir_version || (*reported >> dtype & 1)) return;
  *reported |= UINT32_C(1) << dtype;
  char pass[32];
  raise_to(c, pass, ir);
  const char *list = v->input ? "input" : v->initializer ? "initializer" : "value";
  surg__check_found(c, "W214", surg__check_place(c, v->graph, list, v->name),
                    "is of type %s, which came with IR version %lld; this is %lld",
                    surg__dtype_name(dtype), (long long)ir, (long long)c->m->ir_version);
}

typedef struct feature {
  const char *what;
  int64_t ir;
  bool found;
} feature;
enum { FUNCTIONS, DEFAULTS, OVERLOADS, OPTIONALS, SPARSE, SHARDING, TRAINING, FEATURES };

static void find_in_nodes(const surg_graph *g, feature *f) {
  for (const surg_node *n = g->first; n; n = n->next) {
    if (n->overload[0]) f[OVERLOADS].found = true;
    if (n->softs) f[SHARDING].found = true;
  }
}

static void find_in_values(surg__checker *c, const surg_graph *g, feature *f, uint32_t *reported) {
  for (const surg_value *v = g->first_value; v; v = v->next) {
    check_type(c, v, reported);
    if (v->decl.type && v->decl.type->kind == SURG_TYPE_OPTIONAL) f[OPTIONALS].found = true;
    if (v->tensor && surg_tensor_is_sparse(v->tensor)) f[SPARSE].found = true;
  }
}

static void check_all(surg__checker *c) {
  feature f[FEATURES] = {
      [FUNCTIONS] = {"functions", 8, c->m->functions.count > 0},
      [DEFAULTS] = {"functions whose attributes have defaults", 9, false},
      [OVERLOADS] = {"overloads of functions", 10, false},
      [OPTIONALS] = {"values of optional type", 8, false},
      [SPARSE] = {"sparse initializers", 6, false},
      [SHARDING] = {"device configurations", 11, false},
      [TRAINING] = {"training information", 7, c->m->training != NULL},
  };
  for (size_t i = 0; i < c->m->functions.count; i++) {
    const surg_function *fn = c->m->functions.items[i];
    if (fn->defaults.count) f[DEFAULTS].found = true;
    if (fn->overload[0]) f[OVERLOADS].found = true;
  }
  uint32_t reported = 0;
  for (const surg_graph *g = c->m->graph; g; g = g->next) {
    find_in_nodes(g, f);
    find_in_values(c, g, f, &reported);
  }
  for (size_t i = 0; i < FEATURES; i++) {
    char pass[32];
    if (!f[i].found || f[i].ir <= c->m->ir_version) continue;
    raise_to(c, pass, f[i].ir);
    surg__check_found(c, "W215", "model", "has %s, which came with IR version %lld; this is %lld",
                      f[i].what, (long long)f[i].ir, (long long)c->m->ir_version);
  }
}

void surg__check_versions(surg__checker *c) {
  if (c->m->ir_version < 1) return; /* invalid: reported while loading */
  check_all(c);
}
