/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of lib/check that check constraints on one node. */
#ifndef SURG_CHECK_FORMS_H
#define SURG_CHECK_FORMS_H

#include "check/check.h"
#include "ir/ir.h"

/* Reports E203 for a node: `fmt` describes what was expected and what was found. Reports W206
 * instead if other nodes compute an input of the node: runtimes then detect the fault only
 * during a run. */
void surg__check_wrong(surg__checker *c, const surg_node *n, const char *fmt, ...)
    SURG_PRINTF(3, 4);
/* Reports E206: an invalid attribute value, as text. */
void surg__check_bad_value(surg__checker *c, const surg_node *n, const char *attr,
                           const char *value);

/* The type of input i if it is a tensor of known rank, else NULL. A state of a Loop may have any
 * rank after a round; runtimes check the body with the rank that it declares. */
static inline const surg_type *surg__check_ranked(const surg_node *n, size_t i) {
  const surg_value *v = surg_node_input(n, i);
  const surg_type *t = surg_value_type(v);
  if (v && surg_value_is_input(v) && !surg_type_has_rank(t)) t = surg_value_declared_type(v);
  return t && t->kind == SURG_TYPE_TENSOR && t->has_rank ? t : NULL;
}

/* The size of dimension i, or -1 if unknown. */
static inline int64_t surg__check_dim(const surg_type *t, size_t i) {
  return t && i < t->rank ? t->dims[i].value : -1;
}

/* An attribute with a list of integers; NULL: absent, of another kind, or a reference to a
 * function attribute. */
static inline const surg_attr *surg__check_ints(const surg_node *n, const char *name) {
  const surg_attr *a = surg_node_attr(n, name);
  return a && !a->ref && a->kind == SURG_ATTR_INTS ? a : NULL;
}

/* forms.c: whether input i has that rank, at least that rank, or is a list of `want` elements (want
 * < 0: any number); if not, it is reported. */
bool surg__rank_is(surg__checker *c, const surg_node *n, size_t i, uint32_t want);
bool surg__rank_from(surg__checker *c, const surg_node *n, size_t i, uint32_t least);
bool surg__list_is(surg__checker *c, const surg_node *n, size_t i, int64_t want);
/* Whether a list attribute, if it is present, has `want` entries (want < 0: any number); if not, it
 * is reported. */
bool surg__entries_are(surg__checker *c, const surg_node *n, const char *name, int64_t want);
/* Reports E206: an integer attribute with a value that is not allowed. */
void surg__check_bad_int(surg__checker *c, const surg_node *n, const char *name, int64_t value);

/* forms_bodies.c */
void surg__check_loop(surg__checker *c, const surg_node *n);
void surg__check_scan(surg__checker *c, const surg_node *n);
void surg__check_scan_8(surg__checker *c, const surg_node *n);
void surg__check_sequence_map(surg__checker *c, const surg_node *n);
void surg__check_branches(surg__checker *c, const surg_node *n);

/* forms_sizes.c; `i`: the index of the shape input */
void surg__check_pool(surg__checker *c, const surg_node *n);
void surg__check_kernel(surg__checker *c, const surg_node *n); /* of a convolution */
void surg__check_tile(surg__checker *c, const surg_node *n);
void surg__check_padded(surg__checker *c, const surg_node *n);
void surg__check_requested(surg__checker *c, const surg_node *n, size_t i);

/* forms_tree.c */
void surg__check_trees(surg__checker *c, const surg_node *n, bool classifier);
void surg__check_svm(surg__checker *c, const surg_node *n);
void surg__check_ensemble(surg__checker *c, const surg_node *n);
void surg__check_twice_given(surg__checker *c, const surg_node *n);

void surg__check_forms(surg__checker *c, const surg_node *n);        /* forms.c */
void surg__check_forms_inputs(surg__checker *c, const surg_node *n); /* forms_inputs.c */
void surg__check_forms_ml(surg__checker *c, const surg_node *n);     /* forms_ml.c */
void surg__check_forms_contrib(surg__checker *c, const surg_node *n); /* forms_contrib.c */
void surg__check_ranges(surg__checker *c, const surg_node *n);       /* ranges.c */

#endif
