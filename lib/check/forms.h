/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of lib/check that look at the form of one node. */
#ifndef SURG_CHECK_FORMS_H
#define SURG_CHECK_FORMS_H

#include "check/check.h"
#include "ir/ir.h"

/* Reports E203 of a node: `fmt` says what was expected and what was found. W206 instead where an
 * input is computed by other nodes: runtimes then find out while they run. */
void surg__check_wrong(surg__checker *c, const surg_node *n, const char *fmt, ...)
    SURG_PRINTF(3, 4);
/* Reports E206: the value of an attribute, as text. */
void surg__check_bad_value(surg__checker *c, const surg_node *n, const char *attr,
                           const char *value);
bool surg__check_computed(const surg_node *n); /* types.c */

/* The type of input i, if it is a tensor of known rank; else NULL. */
static inline const surg_type *surg__check_ranked(const surg_node *n, size_t i) {
  const surg_type *t = surg_value_type(surg_node_input(n, i));
  return t && t->kind == SURG_TYPE_TENSOR && t->has_rank ? t : NULL;
}

/* The size of dimension i, or -1 if it is not known. */
static inline int64_t surg__check_dim(const surg_type *t, size_t i) {
  return t && i < t->rank ? t->dims[i].value : -1;
}

/* A list attribute of integers that is set to values, or NULL. */
static inline const surg_attr *surg__check_ints(const surg_node *n, const char *name) {
  const surg_attr *a = surg_node_attr(n, name);
  return a && !a->ref && a->kind == SURG_ATTR_INTS ? a : NULL;
}

/* forms_sizes.c; `i`: the input that is a shape */
void surg__check_pool(surg__checker *c, const surg_node *n);
void surg__check_tile(surg__checker *c, const surg_node *n);
void surg__check_padded(surg__checker *c, const surg_node *n);
void surg__check_requested(surg__checker *c, const surg_node *n, size_t i);

/* forms_tree.c */
void surg__check_trees(surg__checker *c, const surg_node *n, bool classifier);
void surg__check_svm(surg__checker *c, const surg_node *n);

void surg__check_forms(surg__checker *c, const surg_node *n);    /* forms.c */
void surg__check_forms_ml(surg__checker *c, const surg_node *n); /* forms_ml.c */

#endif
