/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that join models must not make an invalid one of valid ones. */
#ifndef SURG_JOINED_H
#define SURG_JOINED_H

#include "cli.h"

/* Clears *valid if the model has an error, as surg_check_base_compare finds it. O(model). */
surg_status joined_look(surg_model *m, bool *valid);
/* Checks a joined model if its parts were `valid`. Returns EXIT_DONE, or an exit code after
 * printing the first error. */
int joined_check(surg_model *m, const char *path, bool valid);

#endif
