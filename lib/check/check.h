/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about a model that loads: contradictions of operator schemas, stale declarations,
 * unused parts. Structural errors are found while loading (SURG_LOAD_CHECK). rules.def lists
 * every rule; doc/check.md explains them. */
#ifndef SURG_CHECK_H
#define SURG_CHECK_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"
#include "schema/schema.h"

typedef struct surg__rule_info {
  const char *code;    /* "E201"; the meaning of a code never changes */
  const char *finding; /* what the rule finds, in general */
  const char *hint;    /* what to do */
  const char *pass;    /* the pass that fixes it, or NULL */
} surg__rule_info;
size_t surg__check_rules(const surg__rule_info **all);
const surg__rule_info *surg__check_rule(const char *code); /* never NULL */

/* Which releases of ONNX report a contradiction when they infer shapes, by their newest opset (27:
 * builds after the release of opset 26): none up to `until` (UINT8_MAX: none at all), all from
 * `from` on; of those between nothing is known. 0 and 0: all do. Engines that use an earlier
 * release import the model. */
typedef struct surg__since {
  uint8_t until, from;
} surg__since;

typedef struct surg__finding {
  surg_severity severity;
  const char *code;
  const char *where;       /* `graph.node[3] "a" (Add)`, escaped; NULL beyond the limit of full
                            * findings */
  const char *text;        /* one line, escaped; NULL beyond that limit */
  const char *pass;        /* the pass that fixes it, or NULL */
  const surg_node *node;   /* whose types or shapes contradict its operator, or NULL */
  const surg_graph *graph; /* of a type or shape that is wrong, or NULL */
  const surg_value *value; /* whose declaration is wrong, or NULL */
  const char *attr;        /* E206: the attribute, or NULL */
  surg__since since;
} surg__finding;
/* Receives one finding; its strings are valid until the callback returns. */
typedef void (*surg__check_fn)(void *user, const surg__finding *f);

/* Reports every finding of a model from surg__load_check_file: errors, then warnings, then
 * notes. The first `most` have location and text, as locating a node costs a walk. `whole`
 * false: loading met errors, so unused and missing parts are not reported. Infers types. Linear
 * in the size of the model. Returns SURG_OK whatever was found, or an error if memory ran out. */
surg_status surg__check_model(surg_model *m, bool whole, size_t most, surg__check_fn fn,
                              void *user);

/* Reports the findings about types, shapes and values of nodes, with the types that function bodies
 * get from all calls together; surg__check_model knows no types there. Leaves these types. */
surg_status surg__check_calls(surg_model *m, size_t most, surg__check_fn fn, void *user);

/* Marks the nodes with such findings, of the types that the values have now, by their `scratch`. */
surg_status surg__check_mark(surg_model *m);

/* The rule code of the line that the context is currently reporting, or a generic code for
 * `severity` if none is set. The severity of the code may be lower than that of the line. */
const char *surg__check_load_code(const surg_context *ctx, surg_severity severity);
surg_severity surg__check_severity(const char *code);

/* Whether the shape inference of ONNX overlooks sizes of a node that contradict each other, so that
 * engines that use it import the model and fail when the node runs (late.c). */
bool surg__check_late(const surg_node *n);
/* The releases of ONNX that report sizes of a node that its inference here finds to contradict
 * (since.c). */
surg__since surg__check_since(const surg_node *n);
/* Whether it is a convolution or pool, of which the sizes that ONNX infers are computed there. */
bool surg__check_computes_window(const surg_node *n);
/* Whether an input is possibly a shape, list of axes or the like that other nodes compute:
 * inference follows its elements, other runtimes read them only during a run (types.c). */
bool surg__check_computed(const surg_node *n);

/* --- inside lib/check --- */
typedef struct surg__checker {
  surg_model *m;
  surg_context *ctx;
  surg__check_fn fn;
  void *user;
  size_t count, most;
  surg_status failed; /* memory ran out */
  char place[1024];
  const char *pass;      /* for the next finding, if its rule has no fixed pass */
  const surg_node *node; /* the node and graph that are checked, or NULL */
  const surg_graph *graph;
  const surg_value *value; /* whose declaration is checked, or NULL */
  const char *attr;        /* of the next finding, whose value is wrong, or NULL */
  surg__since since;       /* of the next finding */
  bool overlooked;         /* some releases do not report the last finding */
  bool believed;           /* declared shapes are used: findings about shapes are W227 */
} surg__checker;
/* Whether the next finding is reported in full; otherwise the caller need not build its location
 * and text. */
bool surg__check_has_text(const surg__checker *c);
void surg__check_found(surg__checker *c, const char *code, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* `graph.initializer "w"`; valid until the next call. */
const char *surg__check_place(surg__checker *c, const surg_graph *g, const char *list,
                              const char *name);
/* Whether parameter p of the operator accepts tensors of type `dtype`; and the accepted types,
 * for a message. */
bool surg__check_allowed(const surg_schema *s, const surg__param *p, int dtype);
void surg__check_put_allowed(surg__buf *b, const surg_schema *s, const surg__param *p);
/* Resets `scratch` of all nodes. */
void surg__check_unmark(surg_model *m);
void surg__check_types(surg__checker *c); /* types.c: input types against the schema */
void surg__check_values(surg__checker *c, const surg_node *n); /* values.c: constraints of one
                                                                * node */
void surg__check_declared(surg__checker *c);                   /* declared.c: value_info, outputs */
void surg__check_believed(surg__checker *c);                   /* believed.c: declared shapes */
void surg__check_domains(surg__checker *c);                    /* domains.c: unknown domains */
void surg__check_versions(surg__checker *c); /* versions.c: content newer than the IR version */
void surg__check_custom(surg__checker *c);   /* custom.c: nodes against schema files */
void surg__check_usage(surg__checker *c);    /* usage.c: names, dims, outputs */
void surg__check_baked(surg__checker *c);    /* baked.c: sizes fixed by constants */
void surg__check_idle(surg__checker *c);     /* idle.c: unused parts; outputs that do not depend
                                              * on inputs */

/* Whether no value can be of both types: other element types, ranks or fixed dimensions. */
bool surg__check_types_differ(const surg_type *a, const surg_type *b);
/* Whether an output entry of its graph declares a type of the value. Engines then do not read its
 * value_info. */
bool surg__check_is_typed_output(const surg_value *v);

#endif
