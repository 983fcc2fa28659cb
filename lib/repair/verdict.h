/* SPDX-License-Identifier: Apache-2.0 */
/* What repairs can achieve for a model and a target: two searches, without consent and with all of
 * it. */
#ifndef SURG_REPAIR_VERDICT_H
#define SURG_REPAIR_VERDICT_H

#include "repair/repair.h"

/* The assessment of a model for a target, and the search that led to it. */
typedef struct surg__verdict_search {
  surg_assessment kind;
  surg__repair_counts before, after;
  surg__repair search; /* its model is as far as it can be cured, its pipeline the changes made */
  bool mended;         /* `mend` changed the model before the search */
} surg__verdict_search;

/* Searches on copies of the model. Free `search` with surg__repair_free, also after a failure. */
surg_status surg__verdict_find(surg__verdict_search *v, const surg__target *t, const surg_model *m);

#endif
