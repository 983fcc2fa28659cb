/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the findings of `check` as text, JSON or SARIF (OASIS format, version 2.1.0). */
#include "check_report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const severities[] = {
    [SURG_NOTE] = "note", [SURG_WARNING] = "warning", [SURG_ERROR] = "error"};
_Static_assert(CLI_COUNT(severities) == SURG_ERROR + 1, "a word for each severity");

bool report_lines(const report *r) {
  return r->out->form != FORM_TEXT;
}

/* --- locations in the model --- */

typedef struct place {
  size_t graph;     /* bytes of the path of the graph that contains the node */
  long long index;  /* of the node; -1: the location is not inside a node */
  const char *name; /* NULL: the node has no name */
  const char *op;
  size_t name_len, op_len;
} place;

/* The end of the quoted text that starts at p. */
static const char *quote_end(const char *p) {
  for (p++; *p && *p != '"'; p++)
    if (*p == '\\' && p[1]) p++;
  return p;
}

/* Parses `node[3] "a" (Add)` at p. */
static void read_node(const char *p, place *out) {
  char *end;
  out->index = strtoll(p + strlen("node["), &end, 10);
  out->name = out->op = NULL;
  if (strncmp(end, "] \"", 3) == 0) {
    out->name = end + 3;
    end = (char *)(uintptr_t)quote_end(end + 2);
    out->name_len = (size_t)(end - out->name);
  }
  const char *op = end[0] ? end + 1 : end;
  if (strncmp(op, " (", 2) != 0) return;
  out->op = op + 2;
  out->op_len = strcspn(out->op, ")");
}

/* The innermost node of a location such as `graph.node[5] "If_5" (If).then_branch.node[2]
 * (Add).input[0]`. */
static place parse_place(const char *where) {
  place out = {.graph = 0, .index = -1};
  const char *start = where;
  for (const char *p = where; *p; p++) {
    if (*p == '"') p = quote_end(p);
    if (!*p) break;
    if (*p != '.') continue;
    if (!out.graph) out.graph = (size_t)(p - start); /* name of the main graph or a function */
    if (strncmp(p, ".node[", 6) == 0) {
      out.graph = (size_t)(p - start);
      read_node(p + 1, &out);
    }
  }
  if (!out.graph) out.graph = strlen(where);
  if (strncmp(where, "graph", 5) != 0 && strncmp(where, "function[", 9) != 0) out.graph = 0;
  return out;
}

static json_t *text_n(const char *p, size_t n) {
  return p ? json_stringn(p, n) : json_null();
}

/* --- JSON --- */

static json_t *node_json(const place *p) {
  if (p->index < 0) return json_null();
  json_t *j = json_object();
  json_object_set_new(j, "index", json_integer(p->index));
  json_object_set_new(j, "name", text_n(p->name, p->name_len));
  json_object_set_new(j, "op", text_n(p->op, p->op_len));
  return j;
}

static json_t *finding_json(surg_severity severity, const char *code, const char *where,
                            const char *text, const char *pass) {
  surg_check_rule rule = {.size = sizeof rule, .hint = ""};
  json_t *f = json_object();
  surg_check_find_rule(code, NULL, &rule);
  json_object_set_new(f, "severity", json_string(severities[severity]));
  json_object_set_new(f, "code", json_string(code));
  json_object_set_new(f, "where", where ? cli_text_json(where) : json_null());
  if (where) {
    const place p = parse_place(where);
    json_object_set_new(f, "graph", text_n(p.graph ? where : NULL, p.graph));
    json_object_set_new(f, "node", node_json(&p));
  } else {
    json_object_set_new(f, "graph", json_null());
    json_object_set_new(f, "node", json_null());
  }
  json_object_set_new(f, "text", cli_text_json(text));
  json_object_set_new(f, "hint", json_string(rule.hint));
  json_object_set_new(f, "pass", pass ? json_string(pass) : json_null());
  return f;
}

static json_t *file_json(const report *r, int code) {
  json_t *j = json_object();
  json_object_set_new(j, "file", cli_text_json(r->path));
  json_object_set(j, "findings", r->list);
  json_object_set_new(j, "hidden", json_integer((json_int_t)r->hidden));
  json_object_set_new(j, "errors", json_integer((json_int_t)r->counts[SURG_ERROR]));
  json_object_set_new(j, "warnings", json_integer((json_int_t)r->counts[SURG_WARNING]));
  json_object_set_new(j, "notes", json_integer((json_int_t)r->counts[SURG_NOTE]));
  const bool unread = code > EXIT_MODEL && code != EXIT_UNKNOWN;
  json_object_set_new(j, "verdict",
                      json_string(unread                    ? "unread"
                                  : r->verdict              ? r->verdict
                                  : code != EXIT_DONE       ? "bad"
                                  : r->counts[SURG_WARNING] ? "doubtful"
                                                            : "good"));
  if (r->with_data) json_object_set_new(j, "verdict_with_data", json_string(r->with_data));
  if (r->target) json_object_set(j, "target", r->target);
  if (r->mend) json_object_set(j, "mend", r->mend);
  return j;
}

/* --- SARIF --- */

/* A path as a URI reference. */
static json_t *uri_json(const char *path) {
  static const char hex[] = "0123456789ABCDEF";
  const size_t n = strlen(path);
  char *uri = malloc(3 * n + sizeof "file://"), *to = uri;
  if (!uri) return json_null();
  if (path[0] == '/') to = stpcpy(to, "file://");
  for (size_t i = 0; i < n; i++) {
    const unsigned char b = (unsigned char)path[i];
    if ((b < 128 && isalnum(b)) || strchr("/-._~", b)) {
      *to++ = (char)b;
      continue;
    }
    *to++ = '%';
    *to++ = hex[b >> 4];
    *to++ = hex[b & 15];
  }
  json_t *j = json_stringn(uri, (size_t)(to - uri));
  free(uri);
  return j;
}

static json_t *message_json(const char *where, const char *text) {
  char *line = NULL;
  if (!where || asprintf(&line, "%s: %s", where, text) < 0) line = NULL;
  json_t *j = json_pack("{s:o}", "text", cli_text_json(line ? line : text));
  free(line);
  return j;
}

static json_t *result_json(const report *r, surg_severity severity, const char *code,
                           const char *where, const char *text, const char *pass) {
  surg_check_rule rule = {.size = sizeof rule, .hint = ""};
  size_t index = 0;
  surg_check_find_rule(code, &index, &rule);
  json_t *at = json_pack("{s:{s:{s:o}}}", "physicalLocation", "artifactLocation", "uri",
                         uri_json(strcmp(r->path, "-") ? r->path : "stdin"));
  if (where)
    json_object_set_new(at, "logicalLocations",
                        json_pack("[{s:o}]", "fullyQualifiedName", cli_text_json(where)));
  json_t *properties = json_pack("{s:s}", "hint", rule.hint);
  if (pass) json_object_set_new(properties, "pass", json_string(pass));
  return json_pack("{s:s, s:I, s:s, s:o, s:[o], s:o}", "ruleId", code, "ruleIndex",
                   (json_int_t)index, "level", severities[severity], "message",
                   message_json(where, text), "locations", at, "properties", properties);
}

static json_t *rules_json(void) {
  surg_check_rule rule = {.size = sizeof rule};
  json_t *list = json_array();
  for (size_t i = 0; surg_check_rule_at(i, &rule) == SURG_OK; i++)
    json_array_append_new(
        list, json_pack("{s:s, s:{s:s}, s:{s:s}, s:{s:s}}", "id", rule.code, "shortDescription",
                        "text", rule.finding, "help", "text", rule.hint, "defaultConfiguration",
                        "level", severities[rule.severity]));
  return list;
}

static json_t *sarif_json(const output *o, int code) {
  return json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:[{s:b, s:i}], s:O}]}", "$schema",
                   "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs",
                   "tool", "driver", "name", "onnxsurg", "version", surg_version(), "rules",
                   rules_json(), "invocations", "executionSuccessful",
                   code <= EXIT_MODEL || code == EXIT_UNKNOWN, "exitCode", code, "results",
                   o->list);
}

/* --- all forms --- */

void output_start(output *o) {
  o->list = o->form == FORM_TEXT ? NULL : json_array();
}

void output_finish(output *o, int code) {
  if (o->form == FORM_TEXT) return;
  json_t *j = o->form == FORM_SARIF ? sarif_json(o, code)
                                    : json_pack("{s:i, s:O}", "schema", 1, "files", o->list);
  cli_stdout_used();
  json_dumpf(j, stdout, JSON_INDENT(2));
  putchar('\n');
  json_decref(j);
  json_decref(o->list);
}

void report_start(report *r, output *o, const char *path) {
  *r = (report){.out = o, .path = path};
  if (o->form == FORM_JSON) r->list = json_array();
}

static void tell(report *r, surg_severity severity, const char *code, const char *where,
                 const char *text, const char *pass) {
  switch (r->out->form) {
    case FORM_JSON:
      json_array_append_new(r->list, finding_json(severity, code, where, text, pass));
      break;
    case FORM_SARIF:
      json_array_append_new(r->out->list, result_json(r, severity, code, where, text, pass));
      break;
    default:
      cli_put(stdout, r->path);
      printf(": %s: %s%s%s [%s]\n", severities[severity], where ? where : "", where ? ": " : "",
             text, code);
  }
}

void report_show(report *r, const char *code, const char *where, const char *text,
                 const char *pass) {
  surg_check_rule rule = {.size = sizeof rule, .severity = SURG_ERROR};
  surg_check_find_rule(code, NULL, &rule);
  report_show_as(r, (surg_severity)rule.severity, code, where, text, pass);
}

void report_show_as(report *r, surg_severity severity, const char *code, const char *where,
                    const char *text, const char *pass) {
  r->counts[severity]++;
  if (r->out->quiet && severity != SURG_ERROR) return;
  if (!text || r->shown >= r->out->most) {
    r->hidden++;
    return;
  }
  r->shown++;
  tell(r, severity, code, where, text, pass);
}

void report_finish(report *r, int code) {
  if (r->hidden && r->out->form != FORM_JSON) {
    char text[80];
    snprintf(text, sizeof text, "%zu or more findings are not shown", r->hidden);
    tell(r, SURG_NOTE, "N399", NULL, text, NULL);
  }
  if (r->out->form == FORM_JSON) {
    json_array_append_new(r->out->list, file_json(r, code));
    json_decref(r->list);
  }
  json_decref(r->target);
  json_decref(r->mend);
}
