/* SPDX-License-Identifier: Apache-2.0 */
/* See give.h. */
#include "give.h"

#include "values.h"

bool give_builtin(const surg_graph *g, const char *op) {
  return surg_schema_find("", op, surg_graph_opset(g, "")) &&
         !surg_model_find_function(surg_graph_model(g), "", op, "");
}

bool give_identity_stands(const surg_graph *g, const surg_value *v, const surg_value *old) {
  const int64_t opset = surg_graph_opset(g, "");
  if (!give_builtin(g, "Identity")) return false;
  /* If returns sequences from opset 13 and optionals from 16; Identity accepts them from 14 and
   * 16. */
  if (opset < 13 || opset >= 16) return true;
  const surg_type *type = surg_value_type(v);
  if (surg_type_get_kind(type) == SURG_TYPE_UNKNOWN) type = surg_value_declared_type(old);
  const surg_type_kind kind = surg_type_get_kind(type);
  return kind == SURG_TYPE_TENSOR || (kind == SURG_TYPE_SEQUENCE && opset >= 14);
}

surg_status give_uses(surg_pass_ctx *p, surg_node *before, surg_value *old, surg_value *by) {
  const surg_replace how = surg_value_can_replace(old, by);
  if (how == SURG_REPLACE_NO) return SURG_EUNSUPPORTED;
  /* A protected value must keep its name, so it cannot get the name of `old`. */
  const bool named = how == SURG_REPLACE_BY_LABEL && surg_pass_keeps_value(p, by);
  if (!named && how != SURG_REPLACE_NEEDS_IDENTITY) return surg_value_replace(old, by);
  if (!give_builtin(surg_node_graph(before), "Identity")) return SURG_EUNSUPPORTED;
  surg_node *identity = surg_graph_add_node(surg_node_graph(before), before, "", "Identity", 1);
  surg_status s = identity ? surg_node_set_input(identity, 0, by) : SURG_ENOMEM;
  return s == SURG_OK ? surg_value_replace(old, surg_node_output(identity, 0)) : s;
}

/* Whether the replacement would remove a name that the user protects. */
static bool wanted(surg_pass_ctx *p, const surg_node *n, const surg_value *by, surg_replace how) {
  if (surg_pass_keeps_node(p, n)) return true;
  return how == SURG_REPLACE_BY_LABEL && surg_pass_keeps_value(p, by);
}

surg_pass_result give_result(surg_pass_ctx *p, surg_node *n, surg_value *by, const char *what) {
  surg_value *old = surg_node_output(n, 0);
  const surg_replace how = surg_value_can_replace(old, by);
  if (how != SURG_REPLACE_YES && how != SURG_REPLACE_BY_LABEL) return SURG_PASS_UNCHANGED;
  if (values_annotated(old) || wanted(p, n, by, how) || !surg_pass_allow(p))
    return SURG_PASS_UNCHANGED;
  if (surg_value_replace(old, by) || surg_node_erase(n)) return SURG_PASS_FAILED;
  surg_pass_count(p, what, 1);
  return SURG_PASS_CHANGED;
}

bool give_readers(surg_pass_ctx *p, surg_value *old, surg_value *by, const surg_node *except) {
  const size_t n = surg_value_use_count(old, SIZE_MAX);
  surg_use **uses = surg_pass_alloc(p, (n + 1) * sizeof *uses);
  size_t k = 0;
  if (!uses) return false;
  for (surg_use *u = surg_value_first_use(old); u && k < n; u = surg_use_next(u))
    if (surg_use_get_kind(u) == SURG_USE_NODE && surg_use_node(u) != except) uses[k++] = u;
  for (size_t i = 0; i < k; i++)
    if (surg_node_set_input(surg_use_node(uses[i]), surg_use_index(uses[i]), by) != SURG_OK)
      return false;
  return true;
}
