/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that join models must not make an invalid one of valid ones. */
#ifndef SURG_JOINED_H
#define SURG_JOINED_H

#include "cli.h"

/* Adds what makes a model invalid to *errors: errors of `check`, and nodes of which no run can
 * succeed (W206). O(model). */
surg_status joined_count(surg_model *m, size_t *errors);
/* Checks a joined model; `before` counts the errors of its parts. Returns EXIT_DONE, or an exit
 * code after printing the first error that a model of valid parts has. */
int joined_check(surg_model *m, const char *path, size_t before);

#endif
