/* SPDX-License-Identifier: Apache-2.0 */
/* See diff_log.h. The log has one event a line; names follow renames, so that a value of the first
 * model is found by its first name, one of the second by its last. */
#include "diff_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"

#define MOST_GRAPHS 128u

typedef struct reading {
  diff_log *log;
  json_t *first; /* name now -> name in the first model, of values that were renamed */
  const char *rule, *pass;
} reading;

static const char *text_of(const json_t *j, const char *key) {
  const char *s = json_string_value(json_object_get(j, key));
  return s ? s : "";
}

static const char *key_of(cli_text *t, const char *graph, const char *name) {
  cli_text_free(t);
  *t = (cli_text){0};
  cli_text_printf(t, "%s %s", graph, name);
  return cli_text_of(t);
}

static void note(const json_t *event, json_t *map, const char *key, bool keep) {
  const char *rule = text_of(event, "rule"), *pass = text_of(event, "pass");
  cli_text t = {0};
  if (!*pass || (keep && json_object_get(map, key))) return;
  cli_text_printf(&t, "%s%s%s", pass, *rule ? ": " : "", rule);
  json_object_set_new(map, key, cli_text_json(cli_text_of(&t)));
  cli_text_free(&t);
}

/* The key of a value in the first model. */
static const char *first_key(const reading *r, const char *key) {
  const char *first = json_string_value(json_object_get(r->first, key));
  return first ? first : key;
}

static void read_rename(reading *r, const json_t *j, const char *key) {
  cli_text old = {0};
  const char *was = key_of(&old, text_of(j, "graph"), text_of(j, "old"));
  json_t *made = json_object_get(r->log->made, was);
  json_object_set_new(r->first, key, json_string(first_key(r, was)));
  if (made) json_object_set(r->log->made, key, made);
  json_object_del(r->log->made, was);
  json_object_del(r->first, was);
  cli_text_free(&old);
}

static void read_event(reading *r, const json_t *j) {
  const char *event = text_of(j, "event"), *value = text_of(j, "value");
  cli_text t = {0};
  const char *key = key_of(&t, text_of(j, "graph"), *value ? value : text_of(j, "node"));
  const bool is_set = !strncmp(event, "set-", 4) || !strcmp(event, "rename-node") ||
                      !strcmp(event, "erase-node");
  if (!strcmp(event, "rename-value"))
    read_rename(r, j, key);
  else if (!strcmp(event, "erase-value") || !strcmp(event, "replace"))
    note(j, r->log->gone, first_key(r, key), true);
  else if (!strcmp(event, "create-value"))
    note(j, r->log->made, key, false);
  else if (is_set && *text_of(j, "node"))
    note(j, r->log->nodes, key_of(&t, text_of(j, "graph"), text_of(j, "node")), false);
  cli_text_free(&t);
}

static int read_lines(reading *r, FILE *f, const char *path) {
  char *text = NULL;
  size_t cap = 0;
  int code = EXIT_DONE;
  for (size_t line = 1; code == EXIT_DONE && surg__os_read_line(f, &text, &cap); line++) {
    json_t *j = json_loads(text, 0, NULL);
    if (json_is_object(j)) {
      read_event(r, j);
    } else {
      cli_error(path, "line %zu is not a line of a log; make one with `onnxsurg --log FILE`", line);
      code = EXIT_MODEL;
    }
    json_decref(j);
  }
  free(text);
  return code;
}

int diff_log_load(diff_log *log, const char *path) {
  reading r = {.log = log, .first = json_object()};
  FILE *f = surg__os_fopen(path, "r");
  *log = (diff_log){json_object(), json_object(), json_object()};
  int code = EXIT_DONE;
  if (!f) {
    cli_error(path, "cannot read: %s", strerror(errno));
    code = EXIT_IO;
  } else {
    code = read_lines(&r, f, path);
    fclose(f);
  }
  json_decref(r.first);
  return code;
}

void diff_log_free(diff_log *log) {
  json_decref(log->gone);
  json_decref(log->made);
  json_decref(log->nodes);
}

/* The path of a graph as the log writes it: `main`, `main/If_5.then_branch`, `com.acme.F`. */
static void put_graph(cli_text *t, const surg_graph *g) {
  const surg_graph *chain[MOST_GRAPHS];
  size_t n = 0;
  for (; g && surg_graph_parent_node(g) && n < MOST_GRAPHS; g = surg_graph_parent(g))
    chain[n++] = g;
  const surg_function *f = g ? surg_graph_function(g) : NULL;
  if (f)
    cli_text_printf(t, "%s.%s", surg_function_domain(f), surg_function_name(f));
  else
    cli_text_puts(t, "main");
  while (n-- > 0)
    cli_text_printf(t, "/%s.%s", surg_node_name(surg_graph_parent_node(chain[n])),
                    surg_graph_parent_attr(chain[n]));
}

static const char *find(const json_t *map, const surg_graph *g, const char *name) {
  cli_text t = {0};
  if (!name || !*name) return NULL;
  put_graph(&t, g);
  cli_text_putc(&t, ' ');
  cli_text_puts(&t, name);
  const char *found = json_string_value(json_object_get(map, cli_text_of(&t)));
  cli_text_free(&t);
  return found;
}

static const char *of_value(const diff_log *log, int k, const surg_value *v) {
  if (!v) return NULL;
  const char *by = find(k ? log->made : log->gone, surg_value_graph(v), surg_value_name(v));
  /* The name of what was replaced is that of what replaced it. */
  return by || !k ? by : find(log->gone, surg_value_graph(v), surg_value_name(v));
}

const char *diff_log_of(const diff_log *log, const surg_diff_item *x) {
  const char *by = NULL;
  if (!log->gone) return NULL;
  for (int k = 0; k < 2 && !by; k++) {
    const surg_node *n = x->node[k];
    const bool alone = n && !x->node[!k];
    by = of_value(log, k, x->value[k]);
    for (size_t i = 0; alone && !by && i < surg_node_output_count(n); i++)
      by = of_value(log, k, surg_node_output(n, i));
    if (!by && n && (!alone || !k)) by = find(log->nodes, surg_node_graph(n), surg_node_name(n));
  }
  return by;
}
