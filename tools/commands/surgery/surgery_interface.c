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
  *names = (interface_names){0};
}

static bool has(const interface_names *names, const char *name) {
  for (size_t i = 0; i < names->n; i++)
    if (strcmp(names->items[i], name) == 0) return true;
  return false;
}

/* Whether a node of the original model computes a value of this name. */
static bool was_computed(const outcome *o, const char *name) {
  const surg_value *v =
      o->original ? surg_graph_find_value(surg_model_graph(o->original), name) : NULL;
  return v && surg_value_producer(v, NULL);
}

/* The change of a name. Lists of equal length are compared by position: a name replaced by a new
 * one at the same index is renamed, unless a node computed a value of that name before. */
typedef enum fate { STAYED, REMOVED, ADDED, RENAMED } fate;

static fate fate_of(const outcome *o, const interface_names lists[2], size_t i, bool added) {
  const interface_names *own = &lists[added], *other = &lists[!added];
  if (has(other, own->items[i])) return STAYED;
  const bool in_place = own->n == other->n && !has(own, other->items[i]) &&
                        !was_computed(o, lists[1].items[i]);
  return in_place ? RENAMED : added ? ADDED : REMOVED;
}

static void print_list(FILE *f, const outcome *o, const interface_names lists[2], const char *what,
                       fate wanted) {
  static const char *const words[] = {
      [STAYED] = "", [REMOVED] = "removed", [ADDED] = "added", [RENAMED] = "renamed"};
  _Static_assert(CLI_COUNT(words) == RENAMED + 1, "a word for each fate");
  const bool added = wanted == ADDED;
  bool any = false;
  for (size_t i = 0; i < lists[added].n; i++) {
    if (fate_of(o, lists, i, added) != wanted) continue;
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
    print_list(f, o, o->inputs, "inputs", wanted);
    print_list(f, o, o->outputs, "outputs", wanted);
  }
}

static json_t *list_json(const outcome *o, const interface_names lists[2], fate wanted) {
  const bool added = wanted == ADDED;
  json_t *list = json_array();
  for (size_t i = 0; i < lists[added].n; i++) {
    if (fate_of(o, lists, i, added) != wanted) continue;
    json_t *name = cli_text_json(lists[added].items[i]);
    json_array_append_new(list, wanted == RENAMED ? json_pack("{s:o,s:o}", "old", name, "new",
                                                              cli_text_json(lists[1].items[i]))
                                                  : name);
  }
  return list;
}

static json_t *lists_json(const outcome *o, const interface_names lists[2]) {
  return json_pack("{s:o,s:o,s:o}", "removed", list_json(o, lists, REMOVED), "added",
                   list_json(o, lists, ADDED), "renamed", list_json(o, lists, RENAMED));
}

json_t *interface_json(const outcome *o) {
  return json_pack("{s:o,s:o}", "inputs", lists_json(o, o->inputs), "outputs",
                   lists_json(o, o->outputs));
}
