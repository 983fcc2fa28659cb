/* SPDX-License-Identifier: Apache-2.0 */
/* Injected failures, only in builds with -Dfault_injection=true. SURG_FAULT_ALLOC=n makes the n-th
 * allocation fail, n:p that one and all later ones; SURG_FAULT_SYS does the same for system calls.
 * With SURG_FAULT_COUNT=1 the program prints `faults: sys N alloc M`, the numbers of calls, at
 * exit. SURG_FAULT_SITES=FILE writes a line for each allocation, equal for the same callers (where
 * the C library can name them). */
#ifndef SURG_FAULT_H
#define SURG_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum { SURG__FAULT_ALLOC = 0, SURG__FAULT_SYS = 1, SURG__FAULT_KINDS = 2 };

#ifdef SURG_FAULT_INJECTION
/* Counts one call of this kind; true: the call must fail. */
bool surg__fault_hit(int which);
void surg__fault_report(void);
/* Writes a number for the callers of an allocation, the same in each run (os/callers.c). */
void surg__fault_site(void);
/* For tests in the same process: restarts the count at 0 and makes call `at` fail (0: none). */
void surg__fault_plan(int which, uint64_t at);
uint64_t surg__fault_calls(int which);
#endif

#endif
