/* SPDX-License-Identifier: Apache-2.0 */
/* Injected failures, in builds with -Dfault_injection=true only. SURG_FAULT_ALLOC=n makes the n-th
 * allocation fail, n:p it and all after it; SURG_FAULT_SYS does so for system calls. With
 * SURG_FAULT_COUNT=1 the numbers of calls are printed at the end: `faults: sys N alloc M`. */
#ifndef SURG_FAULT_H
#define SURG_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum { SURG__FAULT_ALLOC = 0, SURG__FAULT_SYS = 1, SURG__FAULT_KINDS = 2 };

#ifdef SURG_FAULT_INJECTION
/* Counts one call of a kind; true: it must fail. */
bool surg__fault_hit(int which);
void surg__fault_report(void);
/* For tests inside a process: counts from 0 again and fails call `at` (0: none). */
void surg__fault_plan(int which, uint64_t at);
uint64_t surg__fault_calls(int which);
#endif

#endif
