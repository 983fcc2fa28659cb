/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on a model and a target: supported, unsupported or unknown. `check --target`, `check
 * --targets`, `repair` and `doctor` count the objections of surg__target_model and derive the
 * verdict here. */
#ifndef SURG_TARGET_VERDICT_H
#define SURG_TARGET_VERDICT_H

#include "target/target.h"

/* The verdict for these numbers of objections. A model with an unknown part is never supported. */
surg__verdict surg__verdict_of(size_t unsupported, size_t unknown);
const char *surg__verdict_word(surg__verdict v); /* "supported", "unsupported", "unknown" */

/* The verdict on a finding of `check`. LEGAL: the target states that it accepts such models, or
 * states nothing and the finding is no error. ILLEGAL: the target states that it rejects them, or
 * no engine can accept them. Else UNKNOWN. */
surg__verdict surg__target_finding(const surg__target *t, const char *code);
/* Whether the target states that the engine accepts models with a finding. */
bool surg__target_accepts(const surg__target *t, const char *code);
/* Whether the facts of the target already cover the finding, so that it must not count twice. */
bool surg__target_judges(const char *code);

/* Reports the invalid parts of a model, with the verdict of the engine on each (verdict.c). Types
 * must be inferred. */
surg_status surg__target_valid(const surg__target *t, surg_model *m, surg__objection_fn fn,
                               void *user);

#endif
