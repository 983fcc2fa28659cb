/* SPDX-License-Identifier: Apache-2.0 */
/* Puts parts together: values of one name are connected, and what both have, constants of one name
 * with equal elements, is one again. */
#include <onnxsurg/order.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/diag.h"
#include "ir/edit.h"
#include "split/split.h"

#define PATH 4096u /* longest path of a data file that is compared */

/* Whether both tensors are the same range of one file. */
static bool same_place(const surg_tensor *a, const surg_tensor *b) {
  char path[2][PATH];
  uint64_t at[2], bytes[2];
  if (surg_tensor_dtype(a) != surg_tensor_dtype(b) || surg_tensor_rank(a) != surg_tensor_rank(b) ||
      surg_tensor_count(a) != surg_tensor_count(b) ||
      surg_tensor_file(a, path[0], PATH, &at[0], &bytes[0]) != SURG_OK ||
      surg_tensor_file(b, path[1], PATH, &at[1], &bytes[1]) != SURG_OK)
    return false;
  for (size_t i = 0; i < surg_tensor_rank(a); i++)
    if (surg_tensor_dims(a)[i] != surg_tensor_dims(b)[i]) return false;
  return at[0] == at[1] && bytes[0] == bytes[1] && strcmp(path[0], path[1]) == 0;
}

static const surg_tensor *content(const surg_value *v) {
  const surg_tensor *t = surg_value_initializer(v);
  return t ? t : surg_value_constant(v);
}

/* Whether the value of b is a constant that m has under the same name. */
static bool is_shared(const surg_model *m, const surg_value *v) {
  const surg_value *own = surg_graph_find_value(surg_model_graph(m), surg_value_name(v));
  const surg_tensor *a = own ? content(own) : NULL, *b = content(v);
  bool same = false;
  if (!a || !b || surg_value_is_input(own) != surg_value_is_input(v)) return false;
  return same_place(a, b) || (surg_tensor_same(a, b, &same) == SURG_OK && same);
}

/* Makes a constant of b a plain input of its name, to be connected. */
static surg_status make_input(surg_model *b, surg_value *v) {
  surg_graph *g = surg_model_graph(b);
  surg_node *n = surg_value_producer(v, NULL);
  surg_str name;
  if (surg_value_is_input(v)) return surg_value_erase_initializer(v);
  if (!surg__copy_str(b, (surg_str){surg_value_name(v), strlen(surg_value_name(v))}, &name))
    return surg_model_status(b);
  const char *fresh = surg_graph_fresh_name(g, name.p);
  surg_status s = fresh ? surg_value_rename(v, fresh) : surg_model_status(b);
  surg_value *in = s == SURG_OK ? surg_graph_add_input(g, name.p, NULL) : NULL;
  if (!in) return s != SURG_OK ? s : surg_model_status(b);
  if (surg_value_use_count(v, 1) > 0) s = surg_value_replace(v, in);
  if (s != SURG_OK) return s;
  return n ? surg_node_erase(n) : surg_value_erase_initializer(v);
}

static surg_status share_constants(surg_model *m, surg_model *b) {
  surg_graph *g = surg_model_graph(b);
  surg_status s = SURG_OK;
  surg_value *next;
  for (surg_value *v = surg_graph_next_initializer(g, NULL); v && s == SURG_OK; v = next) {
    next = surg_graph_next_initializer(g, v);
    if (!surg_value_is_pinned(v) && is_shared(m, v)) s = make_input(b, v);
  }
  surg_node *after;
  for (surg_node *n = surg_graph_first_node(g); n && s == SURG_OK; n = after) {
    surg_value *v = surg_node_output(n, 0);
    after = surg_node_next(n);
    if (surg__split_constant(n) && v && !surg_value_is_output(v) && is_shared(m, v))
      s = make_input(b, v);
  }
  return s;
}

surg_status surg__split_join(surg_model *m, surg_model *b) {
  surg_context *ctx = surg_model_context(m);
  surg_status s = share_constants(m, b);
  surg_graph *g = surg_model_graph(b);
  const size_t n = surg_graph_input_count(g);
  const char **names = surg__calloc(ctx, n + 1, sizeof *names);
  if (s == SURG_OK && !names) s = surg__alloc_status(ctx);
  surg_merge_options o = {.size = sizeof o, .from = names, .to = names, .keep_outputs = true};
  for (size_t i = 0; s == SURG_OK && i < n; i++) {
    const char *name = surg_value_name(surg_graph_input(g, i));
    if (surg_graph_find_value(surg_model_graph(m), name)) names[o.n++] = name;
  }
  if (s == SURG_OK) s = surg_model_merge(m, b, &o);
  surg__free(ctx, names);
  return s;
}
