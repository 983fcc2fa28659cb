/* SPDX-License-Identifier: Apache-2.0 */
/* What judging is spread over: a node against one row (judge.c, judge_constant.c, judge_forms.c,
 * judge_shapes.c), a node against the target (judge_node.c), a model (judge_model.c). */
#ifndef SURG_TARGET_JUDGE_H
#define SURG_TARGET_JUDGE_H

#include "target/target.h"

typedef struct surg__judge {
  const surg__target *t;
  const surg_node *n;
  const surg_schema *s;
  const surg__tfact *f;
  surg__buf *why;
  surg__objection *o;
  surg__verdict worst;
} surg__judge;

/* Notes an objection if it weighs more than what was found; true where the verdict is final. */
bool surg__judge_object(surg__judge *j, surg__verdict v, surg__cause cause, const surg_value *about,
                        const char *fmt, ...) __attribute__((format(printf, 5, 6)));
const char *surg__judge_name(const surg__judge *j, const surg_value *v);
/* The input or output that the schema calls so, or "0", "1" ... by place; NULL: it is not there. */
const surg_value *surg__judge_formal(const surg__judge *j, const char *name, bool output);
/* What the engine takes for the elements of a constant; NULL: of what is computed. */
const surg_tensor *surg__judge_elements(const surg__judge *j, const surg_value *v);
/* Before the reason, where the engine imports something and computes something else. */
#define SURG__JUDGE_OTHERWISE "imported, and computed otherwise: "

/* Whether the node keeps to the row j->f; else the verdict and its reason are noted. */
bool surg__judge_keeps_to(surg__judge *j);
/* Whether a row is of that version of its operator. */
bool surg__judge_speaks_of(const surg__tfact *f, int since);
/* The element type of a tensor; 0: not known. */
int surg__judge_element(const surg_value *v);
/* The host as it judges for the target. */
surg__target surg__judge_host(const surg__target *t);
/* Ranks, sizes, shapes and values. */
bool surg__judge_shapes(surg__judge *j);
/* Elements of attributes, equations, branches. */
bool surg__judge_forms(surg__judge *j);
/* As surg__target_node, of the target alone, whatever its host runs. */
surg__verdict surg__judge_own(const surg__target *t, const surg_node *n, surg__buf *why,
                              surg__objection *o);
/* Whether the engine has a constant there: YES, NO, or UNSAID where too many nodes compute it. */
surg__tri surg__judge_constant(const surg__judge *j, const surg_value *v);

#endif
