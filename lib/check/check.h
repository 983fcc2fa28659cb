/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about a model that loads: what contradicts its operators, what is stale, what nothing
 * needs. Loading itself finds what does not hold together (SURG_LOAD_CHECK). rules.def lists every
 * rule; doc/check.md explains them. */
#ifndef SURG_CHECK_H
#define SURG_CHECK_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"
#include "schema/schema.h"

typedef struct surg__rule_info {
  const char *code;    /* "E201"; a code keeps its meaning for good */
  const char *finding; /* what the rule finds, in general */
  const char *hint;    /* what to do */
  const char *pass;    /* the pass that does it, or NULL */
} surg__rule_info;
size_t surg__check_rules(const surg__rule_info **all);
const surg__rule_info *surg__check_rule(const char *code); /* never NULL */

typedef struct surg__finding {
  surg_severity severity;
  const char *code;
  const char *where; /* `graph.node[3] "a" (Add)`, escaped; NULL past the number told in full */
  const char *text;  /* one line, escaped; NULL past that */
  const char *pass;  /* that mends it, or NULL */
} surg__finding;
/* The strings last until the callback returns. */
typedef void (*surg__check_fn)(void *user, const surg__finding *f);

/* Reports every finding of a model that surg__load_check_file gave out: errors, then warnings, then
 * notes; `most` of them in full, as naming a place costs a walk. Not `whole`: loading met errors,
 * so what is idle or missing is not looked for. Infers types. Linear in the model. The result is
 * SURG_OK whatever was found; otherwise memory ran out. */
surg_status surg__check_model(surg_model *m, bool whole, size_t most, surg__check_fn fn,
                              void *user);

/* The code of the line that the context is telling just now; its severity may be milder than that
 * of the line. */
const char *surg__check_load_code(const surg_context *ctx, surg_severity severity);
surg_severity surg__check_severity(const char *code);

/* --- inside lib/check --- */
typedef struct surg__checker {
  surg_model *m;
  surg_context *ctx;
  surg__check_fn fn;
  void *user;
  size_t count, most;
  surg_status failed; /* memory ran out */
  char place[1024];
  const char *pass; /* of the next finding, where the rule leaves it open */
} surg__checker;
/* Whether a finding is still told in full: past that, its place and text need not be made. */
bool surg__check_told(const surg__checker *c);
void surg__check_found(surg__checker *c, const char *code, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* `graph.initializer "w"`; holds until the next call. */
const char *surg__check_place(surg__checker *c, const surg_graph *g, const char *list,
                              const char *name);
void surg__check_put_type(surg__buf *b, const surg_type *t); /* `float[N, 3, ?]` */
/* Whether a tensor of `dtype` may stand where the operator has `p`; and which may, for a message.
 */
bool surg__check_allowed(const surg_schema *s, const surg__param *p, int dtype);
void surg__check_put_allowed(surg__buf *b, const surg_schema *s, const surg__param *p);
/* Clears `scratch` of all nodes. */
void surg__check_unmark(surg_model *m);
void surg__check_types(surg__checker *c);    /* types.c: inputs against the schema */
void surg__check_values(surg__checker *c, const surg_node *n); /* values.c: one node's demands */
void surg__check_declared(surg__checker *c); /* declared.c: value_info, outputs */
void surg__check_domains(surg__checker *c);  /* domains.c: unknown domains */
void surg__check_versions(surg__checker *c); /* versions.c: content newer than the IR version */
void surg__check_custom(surg__checker *c);   /* custom.c: nodes against schema files */
void surg__check_usage(surg__checker *c);    /* usage.c: names, dims, outputs */
void surg__check_baked(surg__checker *c);    /* baked.c: sizes fixed by constants */
void surg__check_idle(surg__checker *c);     /* idle.c: what nothing needs, nothing reaches */

#endif
