/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs defects that a lenient load tolerated: where the file has only one meaning, or the
 * alternatives are equivalent, the assumption of the loader becomes the content of the model.
 * See mend.h. */
#include <string.h>

#include "../util/same.h"
#include "mend.h"

typedef struct reading {
  const char *where, *text;
  size_t index;
  bool certain;
  surg_node *copied; /* the original that `node` duplicates, or NULL */
  surg_node *node;
} reading;

static bool has_output(const surg_node *n) {
  for (size_t i = 0; i < surg_node_output_count(n); i++)
    if (surg_node_output(n, i) && surg_value_is_output(surg_node_output(n, i))) return true;
  return false;
}

/* Whether the uses of each output of `from` can become uses of the same output of `to`. */
static bool can_replace_all(const surg_node *from, const surg_node *to) {
  for (size_t i = 0; i < surg_node_output_count(from); i++) {
    const surg_value *old = surg_node_output(from, i), *by = surg_node_output(to, i);
    if (!old || !surg_value_use_count(old, 1)) continue;
    if (!by || (surg_value_is_output(old) && surg_value_is_output(by))) return false;
  }
  return true;
}

/* The node that first defined a name which an equal node defines again (E113): the name may refer
 * to either. NULL: none, or neither can be removed. An equal node that defines other names proves
 * nothing: the name may be that of a third node. */
static surg_node *copy_of(const surg_finding *f) {
  surg_node *n = f->value ? surg_value_producer(f->value, NULL) : NULL;
  surg_node *a = f->first ? surg_value_producer(f->first, NULL) : NULL;
  if (!n || !a || strcmp(f->code, "E113") != 0 || surg_node_graph(n) != surg_node_graph(a))
    return NULL;
  if (strcmp(surg_node_op_type(a), surg_node_op_type(n)) != 0 ||
      strcmp(surg_node_domain(a), surg_node_domain(n)) != 0 || surg_node_subgraph(n, 0) ||
      surg_node_nondeterministic(a) || same_parts(a, n) != 1)
    return NULL;
  return has_output(n) ? (can_replace_all(a, n) ? a : NULL) : can_replace_all(n, a) ? a : NULL;
}

static bool is_certain(const mending *k, const surg_finding *f) {
  if (f->reading == SURG_READING_CERTAIN) return true;
  if (!f->function && strcmp(f->code, "E138") == 0) return mend_opset_certain(k, f->text);
  return copy_of(f) != NULL;
}

/* The text with single quotes, because notes escape double ones. NULL: out of memory. */
static const char *plain(mending *k, const char *text) {
  char *out = surg_pass_alloc(k->p, strlen(text) + 1), *to = out;
  for (const char *p = text; out && *p; p++) {
    if (*p == '\\' && p[1] == '"') continue;
    *to++ = *p == '"' ? '\'' : *p;
  }
  return out;
}

/* Collects the open findings for which the loader made an assumption; returns their number. NULL
 * in *out: failure. */
static size_t collect(mending *k, reading **out) {
  const size_t count = surg_model_finding_count(k->m);
  reading *list = *out = surg_pass_alloc(k->p, count * sizeof *list);
  size_t n = 0;
  for (size_t i = 0; list && i < count; i++) {
    surg_finding f = {.size = sizeof f};
    if (!surg_model_finding(k->m, i, &f)) break;
    if (f.cured || f.reading == SURG_READING_NONE) continue;
    list[n++] = (reading){
        plain(k, f.where), plain(k, f.text), i,
        is_certain(k, &f), copy_of(&f),      f.value ? surg_value_producer(f.value, NULL) : NULL};
    if (!list[n - 1].where || !list[n - 1].text) *out = NULL;
  }
  return n;
}

/* Gives the outputs of n these names where possible. */
static bool rename_all(surg_node *n, char **names) {
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    surg_value *v = surg_node_output(n, i);
    if (v && names[i] && surg_value_can_rename(v, names[i]) &&
        surg_value_rename(v, names[i]) != SURG_OK)
      return false;
  }
  return true;
}

/* Removes the first of two equal nodes, because the second one has an output of the graph: the
 * second moves to its place and gets its names. */
static bool keep_second(mending *k, surg_node *n, surg_node *first) {
  const size_t count = surg_node_output_count(first);
  char **names = surg_pass_alloc(k->p, (count + 1) * sizeof *names);
  if (!names || surg_node_move(n, first) != SURG_OK) return false;
  for (size_t i = 0; i < count; i++) {
    surg_value *old = surg_node_output(first, i), *by = surg_node_output(n, i);
    if (!old || !by) continue;
    if (!surg_value_is_output(by)) {
      names[i] = surg_pass_alloc(k->p, strlen(surg_value_name(old)) + 1);
      if (!names[i]) return false;
      strcpy(names[i], surg_value_name(old));
    }
    if (surg_value_use_count(old, 1) && surg_value_replace(old, by) != SURG_OK) return false;
  }
  return surg_node_erase(first) == SURG_OK && rename_all(n, names);
}

/* Removes the second of two equal nodes: only the first can keep a name that inputs of bodies
 * may have too. */
static bool keep_first(surg_node *n, surg_node *first) {
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    surg_value *by = surg_node_output(first, i), *old = surg_node_output(n, i);
    if (old && by && surg_value_use_count(old, 1) && surg_value_replace(old, by) != SURG_OK)
      return false;
  }
  return surg_node_erase(n) == SURG_OK;
}

static bool drop_copy(mending *k, surg_node *n, surg_node *first) {
  mend_did(k, n, SURG_EXACT, "the node was there twice: one is removed");
  return has_output(n) ? keep_second(k, n, first) : keep_first(n, first);
}

static bool accept(mending *k, const reading *r, surg_exactness e) {
  if (r->copied && !surg_node_erased(r->copied) && !surg_node_erased(r->node) &&
      !drop_copy(k, r->node, r->copied))
    return false;
  if (r->copied) return surg_model_accept_finding(k->m, r->index) == SURG_OK;
  if (surg_model_accept_finding(k->m, r->index) != SURG_OK) return false;
  mend_did(k, NULL, e, "%s: %s: rewritten as %s", r->where, r->text,
           r->certain ? "its only possible meaning" : "its most likely meaning");
  return true;
}

bool mend_findings(mending *k) {
  reading *list = NULL;
  const size_t n = surg_model_finding_count(k->m) ? collect(k, &list) : 0;
  if (n && !list) return false;
  for (size_t i = 0; i < n; i++) {
    const reading *r = &list[i];
    const surg_exactness e = r->certain ? SURG_EXACT : SURG_APPROX;
    if (!mend_allows(k, e))
      mend_leaves(k, NULL, "%s: %s: several readings; --allow approx selects the most likely one",
                  r->where, r->text);
    if (mend_may(k, e) && !accept(k, r, e)) return false;
  }
  return surg_model_status(k->m) == SURG_OK;
}
