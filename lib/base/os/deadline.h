/* SPDX-License-Identifier: Apache-2.0 */
/* The time limit of a program, in every phase: also inside kernels, inference and plugins, which do
 * not look at a clock. */
#ifndef SURG_OS_DEADLINE_H
#define SURG_OS_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

/* Calls `late` from another thread when `ns` have passed from now on; a later call replaces the
 * time, and 0 ends it. `late` must end the process and may only call surg__os_say and
 * surg__os_exit. One thread calls this. False: there are no threads. */
bool surg__os_deadline(uint64_t ns, void (*late)(void));

/* An output gets its name now: from here on the time limit no longer ends the process, since it
 * would report a failure that did not happen. Does not return if the limit was reached before. */
void surg__os_deadline_commit(void);

#endif
