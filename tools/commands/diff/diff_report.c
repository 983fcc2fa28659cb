/* SPDX-License-Identifier: Apache-2.0 */
/* See diff_report.h. */
#include "diff_report.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

static const char *const kinds[] = {[SURG_DIFF_IR_VERSION] = "ir-version",
                                    [SURG_DIFF_OPSET] = "opset",
                                    [SURG_DIFF_METADATA] = "metadata",
                                    [SURG_DIFF_HEADER] = "header",
                                    [SURG_DIFF_FUNCTION] = "function",
                                    [SURG_DIFF_INPUT] = "input",
                                    [SURG_DIFF_OUTPUT] = "output",
                                    [SURG_DIFF_NODE] = "node",
                                    [SURG_DIFF_OPERATOR] = "operator",
                                    [SURG_DIFF_ATTRIBUTE] = "attribute",
                                    [SURG_DIFF_EDGE] = "edge",
                                    [SURG_DIFF_RESULT] = "result",
                                    [SURG_DIFF_WEIGHT] = "weight",
                                    [SURG_DIFF_STORAGE] = "storage",
                                    [SURG_DIFF_NODE_NAME] = "node-name",
                                    [SURG_DIFF_VALUE_NAME] = "value-name",
                                    [SURG_DIFF_SYMBOL_NAME] = "symbol-name",
                                    [SURG_DIFF_TEXT] = "text",
                                    [SURG_DIFF_DECLARED] = "declared-type",
                                    [SURG_DIFF_ORDER] = "order",
                                    [SURG_DIFF_EXTRA] = "extra"};
_Static_assert(CLI_COUNT(kinds) == SURG_DIFF_EXTRA + 1, "a name for each kind");
static const char *const changes[] = {
    [SURG_DIFF_CHANGED] = "changed", [SURG_DIFF_REMOVED] = "removed", [SURG_DIFF_ADDED] = "added"};
static const char *const levels[] = {[SURG_DIFF_EDIT] = "edit",
                                     [SURG_DIFF_NAME] = "name",
                                     [SURG_DIFF_REMARK] = "remark",
                                     [SURG_DIFF_UNKNOWN] = "unknown"};

const char *diff_kind_name(int32_t kind) {
  return kind >= 0 && (size_t)kind < CLI_COUNT(kinds) ? kinds[kind] : NULL;
}

const char *diff_level_name(int32_t level) {
  return level >= 0 && (size_t)level < CLI_COUNT(levels) ? levels[level] : NULL;
}

static surg_diff_summary summary_of(const diff_view *v) {
  surg_diff_summary s = {.size = sizeof s};
  surg_diff_get(v->diff, &s);
  return s;
}

static bool item_at(const diff_view *v, size_t i, surg_diff_item *x) {
  *x = (surg_diff_item){.size = sizeof *x};
  return surg_diff_item_at(v->diff, i, x) == SURG_OK;
}

static bool is_listed(const diff_view *v, const surg_diff_item *x) {
  return x->level == SURG_DIFF_EDIT || x->level == SURG_DIFF_UNKNOWN ||
         (x->level == SURG_DIFF_NAME && v->names) || (x->level == SURG_DIFF_REMARK && v->remarks);
}

/* --- parts of a line --- */

/* The place without the main graph before it. */
static const char *place(const char *where) {
  static const char main_graph[] = "graph";
  const size_t n = sizeof main_graph - 1;
  return strncmp(where, main_graph, n) == 0 && (where[n] == '.' || where[n] == ' ') ? where + n + 1
                                                                                    : where;
}

/* Two places that differ in nothing but the index of a node are one. */
static bool same_place(const surg_diff_item *x) {
  const char *a = strchr(x->where[0], ' '), *b = strchr(x->where[1], ' ');
  return strcmp(x->where[0], x->where[1]) == 0 || (a && b && strcmp(a, b) == 0);
}

/* What is compared: "attribute "pads"", "input 1", "opset "ai.onnx"". */
static void put_part(cli_text *t, const surg_diff_item *x) {
  switch (x->kind) {
    case SURG_DIFF_OPSET:
    case SURG_DIFF_METADATA:
    case SURG_DIFF_ATTRIBUTE:
      cli_text_printf(t, "%s %s", kinds[x->kind], x->what);
      return;
    case SURG_DIFF_WEIGHT:
      cli_text_puts(t, *x->text[0] && *x->text[1] ? "elements" : "weight");
      return;
    case SURG_DIFF_STORAGE:
      cli_text_puts(t, "stored as");
      return;
    case SURG_DIFF_DECLARED:
      cli_text_puts(t, "declared type");
      return;
    case SURG_DIFF_SYMBOL_NAME:
      cli_text_puts(t, "symbol");
      return;
    case SURG_DIFF_VALUE_NAME:
      cli_text_printf(t, "name of %s", x->what);
      return;
    case SURG_DIFF_ORDER:
      cli_text_puts(t, "order of nodes");
      return;
    default:
      cli_text_puts(t, x->what);
  }
}

static void put_numbers(cli_text *t, const surg_diff_item *x) {
  if (!x->elements) return;
  cli_text_printf(t, "; %llu of %llu elements differ, max abs %.3g, max rel %.3g",
                  (unsigned long long)x->differing, (unsigned long long)x->elements, x->max_abs,
                  x->max_rel);
}

/* The part with both texts. */
static void put_change(cli_text *t, const surg_diff_item *x) {
  put_part(t, x);
  const char *a = x->text[0], *b = x->text[1];
  if (*a || *b) {
    cli_text_printf(t, ": %s -> %s", *a ? a : "none", *b ? b : "none");
  }
  if (*x->note) cli_text_printf(t, "%s%s", *a || *b ? "; " : ": ", x->note);
  put_numbers(t, x);
}

static char sign_of(const surg_diff_item *x) {
  return x->level == SURG_DIFF_UNKNOWN                     ? '?'
         : x->change == SURG_DIFF_ADDED && !*x->where[0]   ? '+'
         : x->change == SURG_DIFF_REMOVED && !*x->where[1] ? '-'
                                                           : '~';
}

/* Prints a paragraph that begins in column `start`. */
static void flush(cli_text *t, size_t start, size_t indent) {
  cli_text out = {0};
  for (size_t i = 0; i < start; i++) cli_text_putc(&out, ' ');
  cli_text_wrap(&out, cli_text_of(t), start, indent);
  cli_text_print(&out);
  cli_text_free(t);
}

/* What made the difference, if a log says it. */
static void put_by(cli_text *t, const diff_view *v, const surg_diff_item *x) {
  const char *by = diff_log_of(&v->log, x);
  if (by) cli_text_printf(t, " (by %s)", by);
}

/* --- text --- */

/* Weights that were not compared for one reason. */
typedef struct unread {
  const char *note;
  uint64_t n, bytes; /* of the first model */
} unread;

#define UNREAD_REASONS 4
#define UNREAD_LISTED 4u /* as many are listed, more are counted */

typedef struct printing {
  const diff_view *v;
  size_t *first, *next; /* lists of what an item implies: index + 1 */
  size_t n;
  const char *last; /* the place printed last */
  uint64_t shown, hidden;
  unread unread[UNREAD_REASONS];
} printing;

/* The count that a weight which was not compared belongs to; NULL: it is listed by itself. */
static unread *unread_of(printing *p, const surg_diff_item *x) {
  if (x->kind != SURG_DIFF_WEIGHT || x->level != SURG_DIFF_UNKNOWN || p->v->remarks || !x->value[0])
    return NULL;
  for (size_t i = 0; i < UNREAD_REASONS; i++) {
    unread *u = &p->unread[i];
    if (u->note && strcmp(u->note, x->note) != 0) continue;
    u->note = x->note;
    return u;
  }
  return NULL;
}

static void count_unread(printing *p, const surg_diff_item *x) {
  unread *u = unread_of(p, x);
  const surg_tensor *t = u ? surg_value_constant(x->value[0]) : NULL;
  if (!u) return;
  u->n++;
  u->bytes += t ? surg_tensor_bytes(t) : 0;
}

static void print_unread(const printing *p) {
  for (size_t i = 0; i < UNREAD_REASONS; i++) {
    const unread *u = &p->unread[i];
    if (u->n <= UNREAD_LISTED) continue;
    cli_text t = {0};
    cli_text_printf(&t, "? %llu weights of %s: %s", (unsigned long long)u->n, cli_bytes(u->bytes),
                    u->note);
    flush(&t, 0, 4);
  }
}

static bool open_printing(printing *p) {
  surg_diff_item x;
  while (item_at(p->v, p->n, &x)) p->n++;
  p->first = calloc(p->n + 1, sizeof *p->first);
  p->next = calloc(p->n + 1, sizeof *p->next);
  if (!p->first || !p->next) return false;
  for (size_t i = p->n; i-- > 0;) {
    item_at(p->v, i, &x);
    count_unread(p, &x);
    if (x.cause == SURG_DIFF_NO_ITEM || x.cause >= p->n) continue;
    p->next[i] = p->first[x.cause];
    p->first[x.cause] = i + 1;
  }
  return true;
}

static void print_implied(const printing *p, size_t i) {
  surg_diff_item x;
  for (size_t k = p->first[i]; k; k = p->next[k - 1]) {
    item_at(p->v, k - 1, &x);
    if (!is_listed(p->v, &x)) continue;
    cli_text t = {0};
    cli_text_puts(&t, place(*x.where[1] ? x.where[1] : x.where[0]));
    if (*x.where[0] && *x.where[1]) {
      cli_text_puts(&t, ": ");
      put_change(&t, &x);
    } else {
      cli_text_printf(&t, ": %s", *x.text[0] ? x.text[0] : x.text[1]);
    }
    flush(&t, 4, 6);
  }
}

static void print_item(printing *p, const surg_diff_item *x) {
  cli_text t = {0};
  const char *where = *x->where[0] ? x->where[0] : x->where[1];
  const bool both = *x->where[0] && *x->where[1];
  if (!*where) { /* of the models as a whole */
    cli_text_printf(&t, "%c ", sign_of(x));
    put_change(&t, x);
    flush(&t, 0, 4);
    p->last = NULL;
    return;
  }
  if (!both) {
    const char *text = *x->text[0] ? x->text[0] : x->text[1];
    cli_text_printf(&t, "%c %s%s%s", sign_of(x), place(where), *text ? ": " : "", text);
    put_by(&t, p->v, x);
    flush(&t, 0, 4);
    p->last = NULL;
    return;
  }
  if (!p->last || strcmp(p->last, where) != 0) {
    cli_text_printf(&t, "%c %s", sign_of(x), place(where));
    if (!same_place(x)) cli_text_printf(&t, " -> %s", place(x->where[1]));
    flush(&t, 0, 4);
    p->last = where;
  }
  put_change(&t, x);
  put_by(&t, p->v, x);
  flush(&t, 4, 6);
}

static void print_items(printing *p) {
  surg_diff_item x;
  for (size_t i = 0; item_at(p->v, i, &x); i++) {
    if (!is_listed(p->v, &x) || x.cause != SURG_DIFF_NO_ITEM) continue;
    const unread *u = unread_of(p, &x);
    if (u && u->n > UNREAD_LISTED) continue;
    if (p->shown == p->v->most) {
      p->hidden++;
      continue;
    }
    p->shown++;
    print_item(p, &x);
    if (!p->first[i]) continue;
    print_implied(p, i);
    p->last = NULL;
  }
}

/* "nodes: 12 -> 11 (1 removed)" */
static void print_count(const char *what, const uint64_t n[2], uint64_t paired) {
  const uint64_t removed = n[0] - paired, added = n[1] - paired;
  printf("%s: %llu -> %llu", what, (unsigned long long)n[0], (unsigned long long)n[1]);
  if (removed || added) printf(" (");
  if (removed) printf("%llu removed", (unsigned long long)removed);
  if (removed && added) printf(", ");
  if (added) printf("%llu added", (unsigned long long)added);
  printf("%s\n", removed || added ? ")" : "");
}

static void print_verdict(const surg_diff_summary *s) {
  const struct {
    uint64_t n;
    const char *one, *many;
  } parts[] = {{s->edits, "edit", "edits"},
               {s->unknown, "part not compared", "parts not compared"},
               {s->names, "other name", "other names"},
               {s->remarks, "remark", "remarks"}};
  bool any = false;
  printf("%s", s->edits                 ? "different"
               : s->unknown             ? "unknown"
               : s->names || s->remarks ? "the same up to names"
                                        : "the same");
  for (size_t i = 0; i < CLI_COUNT(parts); i++) {
    if (!parts[i].n) continue;
    printf("%s%llu %s", any ? ", " : ": ", (unsigned long long)parts[i].n,
           parts[i].n == 1 ? parts[i].one : parts[i].many);
    any = true;
  }
  putchar('\n');
}

void diff_print_text(const diff_view *v) {
  const surg_diff_summary s = summary_of(v);
  printing p = {.v = v};
  if (open_printing(&p)) {
    print_items(&p);
    print_unread(&p);
  } else {
    cli_no_memory();
  }
  if (p.hidden)
    printf("... %llu more (--most N lists more, --json all)\n", (unsigned long long)p.hidden);
  if (s.edits || s.unknown) {
    print_count("nodes", s.nodes, s.paired_nodes);
    print_count("weights", s.weights, s.paired_weights);
  }
  print_verdict(&s);
  free(p.first);
  free(p.next);
}

/* --- JSON --- */

static json_t *pair_json(const char *const text[2]) {
  return json_pack("[o, o]", *text[0] ? cli_text_json(text[0]) : json_null(),
                   *text[1] ? cli_text_json(text[1]) : json_null());
}

static json_t *item_json(const diff_view *v, const surg_diff_item *x) {
  json_t *j = json_object();
  json_object_set_new(j, "kind", json_string(kinds[x->kind]));
  json_object_set_new(j, "change", json_string(changes[x->change]));
  json_object_set_new(j, "level", json_string(levels[x->level]));
  json_object_set_new(j, "where", pair_json(x->where));
  if (*x->what) json_object_set_new(j, "what", cli_text_json(x->what));
  json_object_set_new(j, "text", pair_json(x->text));
  if (*x->note) json_object_set_new(j, "note", cli_text_json(x->note));
  const char *by = diff_log_of(&v->log, x);
  if (by) json_object_set_new(j, "by", cli_text_json(by));
  if (x->cause != SURG_DIFF_NO_ITEM)
    json_object_set_new(j, "cause", json_integer((json_int_t)x->cause));
  json_object_set_new(j, "region", json_integer((json_int_t)x->region));
  if (!x->elements) return j;
  json_object_set_new(j, "elements", json_integer((json_int_t)x->elements));
  json_object_set_new(j, "differing", json_integer((json_int_t)x->differing));
  json_object_set_new(j, "max_abs", json_real(x->max_abs));
  json_object_set_new(j, "max_rel", json_real(x->max_rel));
  return j;
}

static json_t *counts_json(const surg_diff_summary *s) {
  return json_pack("{s:I, s:I, s:I, s:I, s:[I, I], s:I, s:[I, I], s:I, s:I}", "edits",
                   (json_int_t)s->edits, "names", (json_int_t)s->names, "remarks",
                   (json_int_t)s->remarks, "unknown", (json_int_t)s->unknown, "nodes",
                   (json_int_t)s->nodes[0], (json_int_t)s->nodes[1], "paired_nodes",
                   (json_int_t)s->paired_nodes, "weights", (json_int_t)s->weights[0],
                   (json_int_t)s->weights[1], "paired_weights", (json_int_t)s->paired_weights,
                   "read", (json_int_t)s->read);
}

void diff_print_json(const diff_view *v, json_t *more) {
  const surg_diff_summary s = summary_of(v);
  json_t *list = json_array();
  surg_diff_item x;
  for (size_t i = 0; item_at(v, i, &x); i++) json_array_append_new(list, item_json(v, &x));
  json_t *j = json_pack("{s:i, s:[o, o], s:b, s:o, s:o}", "schema", 1, "files",
                        cli_text_json(v->paths[0]), cli_text_json(v->paths[1]), "same", (int)s.same,
                        "counts", counts_json(&s), "items", list);
  if (v->patch) json_object_set(j, "patch", v->patch);
  if (more) json_object_update(j, more);
  json_decref(more);
  cli_print_json(j);
}

/* --- SARIF --- */

static json_t *result_json(const diff_view *v, const surg_diff_item *x) {
  const int k = *x->where[1] ? 1 : 0;
  cli_text t = {0};
  if (x->change != SURG_DIFF_CHANGED) cli_text_printf(&t, "%s: ", changes[x->change]);
  put_change(&t, x);
  json_t *j =
      json_pack("{s:o, s:s, s:{s:o}, s:[{s:{s:{s:o}}, s:[{s:o}]}]}", "ruleId",
                json_sprintf("diff/%s", kinds[x->kind]), "level",
                x->level == SURG_DIFF_EDIT || x->level == SURG_DIFF_UNKNOWN ? "warning" : "note",
                "message", "text", cli_text_json(cli_text_of(&t)), "locations", "physicalLocation",
                "artifactLocation", "uri", cli_text_json(v->paths[k]), "logicalLocations",
                "fullyQualifiedName", cli_text_json(*x->where[k] ? x->where[k] : "model"));
  cli_text_free(&t);
  return j;
}

void diff_print_sarif(const diff_view *v, int code) {
  json_t *results = json_array(), *rules = json_array();
  surg_diff_item x;
  for (size_t i = 0; i < CLI_COUNT(kinds); i++)
    json_array_append_new(rules, json_pack("{s:o}", "id", json_sprintf("diff/%s", kinds[i])));
  for (size_t i = 0; item_at(v, i, &x); i++)
    if (is_listed(v, &x)) json_array_append_new(results, result_json(v, &x));
  cli_print_json(json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:[{s:b, s:i}], s:o}]}",
                           "$schema", "https://json.schemastore.org/sarif-2.1.0.json", "version",
                           "2.1.0", "runs", "tool", "driver", "name", "onnxsurg", "version",
                           surg_version(), "rules", rules, "invocations", "executionSuccessful", 1,
                           "exitCode", code, "results", results));
}
