/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the inputs and outputs before and after a run: added, removed, renamed. */
#include <stdlib.h>
#include <string.h>

#include "surgery.h"

bool interface_read(const surg_model *m, bool outputs, interface_names *to) {
  const surg_graph *g = surg_model_graph(m);
  const size_t n = outputs ? surg_graph_output_count(g) : surg_graph_input_count(g);
  *to = (interface_names){.items = calloc(n + 1, sizeof *to->items)};
  for (size_t i = 0; i < n && to->items; i++) {
    const surg_value *v = outputs ? surg_graph_output(g, i) : surg_graph_input(g, i);
    if (!outputs && surg_value_is_initializer(v)) continue;
    to->items[to->n] = strdup(surg_value_name(v));
    if (!to->items[to->n++]) return false;
  }
  return to->items != NULL;
}

void interface_free(interface_names *names) {
  for (size_t i = 0; i < names->n; i++) free(names->items[i]);
  free(names->items);
  free(names->inner);
  *names = (interface_names){0};
}

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t hash_of(const char *name) {
  uint64_t h = UINT64_C(14695981039346656037);
  for (; *name; name++) h = (h ^ (uint8_t)*name) * UINT64_C(1099511628211);
  return h;
}

bool interface_read_inner(const surg_model *m, interface_names *to) {
  const surg_graph *g = surg_model_graph(m);
  size_t n = 0;
  for (const surg_node *k = surg_graph_first_node(g); k; k = surg_node_next(k))
    n += surg_node_output_count(k);
  to->inner = calloc(n + 1, sizeof *to->inner);
  if (!to->inner) return false;
  for (const surg_node *k = surg_graph_first_node(g); k; k = surg_node_next(k))
    for (size_t i = 0; i < surg_node_output_count(k); i++) {
      const surg_value *v = surg_node_output(k, i);
      if (v && !surg_value_is_output(v)) to->inner[to->n_inner++] = hash_of(surg_value_name(v));
    }
  return true;
}

static bool was_inner(const interface_names *names, const char *name) {
  const uint64_t h = hash_of(name);
  for (size_t i = 0; i < names->n_inner; i++)
    if (names->inner[i] == h) return true;
  return false;
}

static bool has(const interface_names *names, const char *name) {
  for (size_t i = 0; i < names->n; i++)
    if (strcmp(names->items[i], name) == 0) return true;
  return false;
}

/* The change of a name. Lists of equal length are compared by position: a name replaced by a new
 * one at the same index is renamed, unless a node computed a value of that name before. */
typedef enum fate { STAYED, REMOVED, ADDED, RENAMED } fate;

static fate fate_of(const interface_names *from, const interface_names *to, size_t i, bool added) {
  const interface_names *own = added ? to : from, *other = added ? from : to;
  if (has(other, own->items[i])) return STAYED;
  const bool in_place =
      from->n == to->n && !has(own, other->items[i]) && !was_inner(from, to->items[i]);
  return in_place ? RENAMED : added ? ADDED : REMOVED;
}

static void print_list(FILE *f, const interface_names lists[2], const char *what, fate wanted) {
  static const char *const words[] = {
      [STAYED] = "", [REMOVED] = "removed", [ADDED] = "added", [RENAMED] = "renamed"};
  _Static_assert(CLI_COUNT(words) == RENAMED + 1, "a word for each fate");
  const bool added = wanted == ADDED;
  bool any = false;
  for (size_t i = 0; i < lists[added].n; i++) {
    if (fate_of(&lists[0], &lists[1], i, added) != wanted) continue;
    if (!any) fprintf(f, "  %s %s:", what, words[wanted]);
    fputs(any ? ", " : " ", f);
    any = true;
    cli_put(f, lists[added].items[i]);
    if (wanted != RENAMED) continue;
    fputs(" -> ", f);
    cli_put(f, lists[1].items[i]);
  }
  if (any) fputc('\n', f);
}

void interface_print(FILE *f, const outcome *o) {
  for (fate wanted = REMOVED; wanted <= RENAMED; wanted++) {
    print_list(f, o->inputs, "inputs", wanted);
    print_list(f, o->outputs, "outputs", wanted);
  }
}

static json_t *list_json(const interface_names lists[2], fate wanted) {
  const bool added = wanted == ADDED;
  json_t *list = json_array();
  for (size_t i = 0; i < lists[added].n; i++) {
    if (fate_of(&lists[0], &lists[1], i, added) != wanted) continue;
    json_t *name = cli_text_json(lists[added].items[i]);
    json_array_append_new(list, wanted == RENAMED ? json_pack("{s:o,s:o}", "old", name, "new",
                                                              cli_text_json(lists[1].items[i]))
                                                  : name);
  }
  return list;
}

json_t *interface_json(const outcome *o) {
  return json_pack("{s:{s:o,s:o,s:o},s:{s:o,s:o,s:o}}", "inputs", "removed",
                   list_json(o->inputs, REMOVED), "added", list_json(o->inputs, ADDED), "renamed",
                   list_json(o->inputs, RENAMED), "outputs", "removed",
                   list_json(o->outputs, REMOVED), "added", list_json(o->outputs, ADDED), "renamed",
                   list_json(o->outputs, RENAMED));
}
