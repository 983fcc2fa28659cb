/* SPDX-License-Identifier: Apache-2.0 */
/* Injected failures; see fault.h. The counters are the only process-wide state of the library, and
 * exist only in fault-injection builds. */
#include "base/fault.h"

#ifdef SURG_FAULT_INJECTION
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct plan {
  bool read, persists;
  uint64_t at, calls; /* at 0: no call fails */
} plans[SURG__FAULT_KINDS];

static void read_plan(struct plan *p, const char *variable) {
  p->read = true;
  const char *text = getenv(variable);
  if (!text) return;
  char *end;
  p->at = strtoull(text, &end, 10);
  p->persists = strcmp(end, ":p") == 0;
}

bool surg__fault_hit(int which) {
  struct plan *p = &plans[which];
#ifdef __GLIBC__
  if (which == SURG__FAULT_ALLOC) surg__fault_site();
#endif
  if (!p->read) read_plan(p, which == SURG__FAULT_ALLOC ? "SURG_FAULT_ALLOC" : "SURG_FAULT_SYS");
  p->calls++;
  if (!p->at) return false;
  return p->calls == p->at || (p->persists && p->calls > p->at);
}

void surg__fault_plan(int which, uint64_t at) {
  plans[which] = (struct plan){.read = true, .at = at};
}

uint64_t surg__fault_calls(int which) {
  return plans[which].calls;
}

__attribute__((destructor)) void surg__fault_report(void) {
  const char *wanted = getenv("SURG_FAULT_COUNT");
  if (!wanted || strcmp(wanted, "1") != 0) return;
  fprintf(stderr, "faults: sys %llu alloc %llu\n", (unsigned long long)plans[SURG__FAULT_SYS].calls,
          (unsigned long long)plans[SURG__FAULT_ALLOC].calls);
}
#else
typedef int surg__no_faults; /* ISO C requires a declaration */
#endif
