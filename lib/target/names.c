/* SPDX-License-Identifier: Apache-2.0 */
/* Checks names in a target: operators, and the inputs, outputs, attributes and type parameters in
 * their facts. A name that no version of the operator has would never match, so it is an error. */
#include <stdio.h>
#include <stdlib.h>

#include <onnxsurg/ops.h>

#include "base/context.h"
#include "schema/custom.h"
#include "target/names.h"

/* --- operators --- */

bool surg__target_name(const char *key, char *out, size_t cap) {
  const char *end = key + strlen(key);
  while (end > key && end[-1] != '.' && end[-1] != ':') end--;
  const size_t domain = end > key ? (size_t)(end - key) - 1 : 0;
  const bool standard = (domain == 7 && !strncmp(key, "ai.onnx", 7)) || (end > key && !domain);
  const int n = standard || !domain ? snprintf(out, cap, "%s", end)
                                    : snprintf(out, cap, "%.*s.%s", (int)domain, key, end);
  return n > 0 && (size_t)n < cap && *end;
}

static const char *op_at(const void *list, size_t i) {
  (void)list;
  return surg__op_name((int)i + 1);
}

/* The id of an operator in the schema tables, by its canonical name; 0: none. */
static int op_of(const char *name) {
  const char *dot = strrchr(name, '.');
  char domain[128] = "";
  if (dot &&
      (size_t)snprintf(domain, sizeof domain, "%.*s", (int)(dot - name), name) >= sizeof domain)
    return 0;
  const surg_schema *s = surg_schema_find(domain, dot ? dot + 1 : name, surg_schema_newest(domain));
  return s ? surg_schema_op(s) : 0;
}

/* Whether the user registered a schema for the operator. */
static bool is_custom(const surg_context *ctx, const char *name) {
  const char *dot = strrchr(name, '.');
  char domain[128] = "";
  if (dot &&
      (size_t)snprintf(domain, sizeof domain, "%.*s", (int)(dot - name), name) >= sizeof domain)
    return false;
  return surg__custom_find(ctx, domain, dot ? dot + 1 : name) != NULL;
}

/* Whether the target's `own` list has the operator: as "Crop", "com.acme.*" or "*". */
static bool is_own(const surg__target *t, const char *name) {
  for (size_t i = 0; i < t->own.count; i++) {
    const char *own = t->own.items[i];
    const size_t n = strlen(own);
    if (!strcmp(own, name) || !strcmp(own, "*")) return true;
    if (n > 2 && !strcmp(own + n - 2, ".*") && !strncmp(own, name, n - 1) &&
        !strchr(name + n - 1, '.'))
      return true;
  }
  return false;
}

bool surg__target_knows(const surg__target *t, const char *name, int *op, char *why, size_t cap) {
  *op = op_of(name);
  if (*op || is_own(t, name) || is_custom(t->ctx, name)) return true;
  const char *dot = strrchr(name, '.');
  const char *near = surg__nearest(dot ? dot + 1 : name, t, SURG_OP_COUNT - 1, op_at);
  snprintf(why, cap,
           "no operator has this name%s%s%s; list one that ONNX does not define in \"own\"",
           near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
  return false;
}

/* --- parts of an operator --- */

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_param(const surg_schema *s, const char *name, bool output) {
  const surg__param *list = output ? s->outputs : s->inputs;
  for (size_t i = 0; i < (output ? s->n_outputs : s->n_inputs); i++)
    if (!strcmp(list[i].name, name)) return true;
  return false;
}

static bool is_type(const surg_schema *s, const char *name) {
  for (size_t i = 0; i < s->n_params; i++)
    if (!strcmp(s->params[i].name, name)) return true;
  return false;
}

static bool has_part(const surg_schema *s, unsigned kinds, const char *name) {
  return ((kinds & SURG__N_INPUT) && is_param(s, name, false)) ||
         ((kinds & SURG__N_OUTPUT) && is_param(s, name, true)) ||
         ((kinds & SURG__N_TYPE) && is_type(s, name)) ||
         ((kinds & SURG__N_ATTR) && surg__schema_attr(s, name));
}

bool surg__target_part(int op, unsigned kinds, const char *name) {
  size_t n = 0;
  const surg_schema *versions = surg__schema_versions(op, &n);
  if ((kinds & (SURG__N_INPUT | SURG__N_OUTPUT)) && is_digit(name[0])) return true;
  if ((kinds & SURG__N_INPUT) && !strcmp(name, "*")) return true;
  if ((kinds & SURG__N_TYPE) && !strcmp(name, "out")) return true;
  for (size_t i = 0; i < n; i++) /* operators of runtimes may be extended without a new version */
    if ((versions[i].flags & SURG__OP_CONTRIB) || has_part(&versions[i], kinds, name)) return true;
  return n == 0;
}

/* --- entries of lists --- */

/* All attributes of an operator, of all versions. */
typedef struct attributes {
  const surg_schema *versions;
  size_t n;
} attributes;

static size_t count_attributes(const attributes *a) {
  size_t n = 0;
  for (size_t i = 0; i < a->n; i++) n += a->versions[i].n_attrs;
  return n;
}

static const char *attribute_at(const void *list, size_t i) {
  const attributes *a = list;
  size_t v = 0;
  while (i >= a->versions[v].n_attrs) i -= a->versions[v++].n_attrs;
  return a->versions[v].attrs[i].name;
}

static bool has_attribute(int op, const char *op_name, const char *attr, char *why, size_t cap) {
  attributes a = {0};
  a.versions = surg__schema_versions(op, &a.n);
  if (surg__target_part(op, SURG__N_ATTR, attr)) return true;
  const char *near = surg__nearest(attr, &a, count_attributes(&a), attribute_at);
  snprintf(why, cap, "no version of %s has an attribute \"%.60s\"%s%s%s", op_name, attr,
           near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
  return false;
}

/* Removes the version of "Squeeze-11". */
static void drop_version(char *name) {
  char *dash = strrchr(name, '-');
  const char *p = dash ? dash + 1 : "";
  while (is_digit(*p)) p++;
  if (dash && dash[1] && !*p) *dash = 0;
}

bool surg__target_names(const surg__target *t, const char *name, surg__name_form form, char *why,
                        size_t cap) {
  char op_name[256];
  int op;
  if ((size_t)snprintf(op_name, sizeof op_name, "%s", name) >= sizeof op_name) {
    snprintf(why, cap, "is too long for a name");
    return false;
  }
  if (form == SURG__NAME_OP) drop_version(op_name);
  if (form != SURG__NAME_ATTR && surg__target_knows(t, op_name, &op, why, cap)) return true;
  char *dot = strrchr(op_name, '.');
  if (form == SURG__NAME_OP || (!dot && form == SURG__NAME_OP_OR_ATTR)) return false;
  if (!dot) {
    snprintf(why, cap, "must be an operator and its attribute: \"Cast.to\"");
    return false;
  }
  *dot = 0;
  return surg__target_knows(t, op_name, &op, why, cap) &&
         has_attribute(op, op_name, dot + 1, why, cap);
}
