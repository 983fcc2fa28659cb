/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on a model and a target: supported, unsupported or unknown. `check --target`,
 * `check --targets`, `repair` and `doctor` all count the objections of surg__target_model and take
 * the verdict from here. */
#ifndef SURG_TARGET_VERDICT_H
#define SURG_TARGET_VERDICT_H

#include "target/target.h"

/* Of that many objections; unknown is never supported. */
surg__verdict surg__verdict_of(size_t unsupported, size_t unknown);
const char *surg__verdict_word(surg__verdict v); /* "supported", "unsupported", "unknown" */

/* What a finding of `check` (its code) means to the engine: LEGAL where the target states that it
 * accepts the model all the same, or where the finding is a warning of which the target states
 * nothing; ILLEGAL where it states that it rejects it, or no engine can accept it; else UNKNOWN. */
surg__verdict surg__target_finding(const surg__target *t, const char *code);
/* Whether nodes are judged for what the finding is about, so that it need not count again. */
bool surg__target_judges(const char *code);

/* Reports what is invalid in the model and what the engine makes of it (valid.c). Types must be
 * inferred. */
surg_status surg__target_valid(const surg__target *t, surg_model *m, surg__objection_fn fn,
                               void *user);

#endif
