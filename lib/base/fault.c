/* SPDX-License-Identifier: Apache-2.0 */
/* Injected failures; see fault.h. The counters are the only process-wide state of the library, and
 * exist only in fault-injection builds. */
#include "base/fault.h"

#ifdef SURG_FAULT_INJECTION
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif

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

#define SITE_FRAMES 6 /* callers that tell one place of a call from another */

/* Writes a number for the callers of an allocation, the same in each run. */
static void write_site(void) {
#ifdef __GLIBC__
  static FILE *to;
  static bool read;
  void *frames[SITE_FRAMES + 2] = {0};
  uint64_t hash = 0;
  const char *path = read ? NULL : getenv("SURG_FAULT_SITES");
  read = true;
  if (path) to = fopen(path, "we");
  if (!to) return;
  const int n = backtrace(frames, SITE_FRAMES + 2);
  /* Those of the program alone: libraries are elsewhere in each run. */
  for (int i = 2; i < n; i++) {
    const int64_t at = (int64_t)((intptr_t)frames[i] - (intptr_t)&surg__fault_hit);
    if (at < INT32_MAX && at > INT32_MIN) hash = (hash ^ (uint64_t)at) * UINT64_C(0x100000001b3);
  }
  fprintf(to, "%llx\n", (unsigned long long)hash);
#endif
}

bool surg__fault_hit(int which) {
  struct plan *p = &plans[which];
  if (which == SURG__FAULT_ALLOC) write_site();
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
