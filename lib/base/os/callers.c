/* SPDX-License-Identifier: Apache-2.0 */
/* Names the callers of an allocation, for tests that make each place fail once (base/fault.h). */
#include "base/fault.h"

#if defined SURG_FAULT_INJECTION && defined __GLIBC__
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>

#define FRAMES 6 /* callers that tell one place of a call from another */
#define OWN 3    /* this function, surg__fault_hit and the allocator */

void surg__fault_site(void) {
  static FILE *to;
  static bool read;
  void *frames[FRAMES + OWN] = {0};
  uint64_t hash = 0;
  const char *path = read ? NULL : getenv("SURG_FAULT_SITES");
  read = true;
  if (path) to = fopen(path, "we");
  if (!to) return;
  const int n = backtrace(frames, FRAMES + OWN);
  /* Those of the program alone: libraries are elsewhere in each run. */
  for (int i = OWN; i < n; i++) {
    const int64_t at = (int64_t)((intptr_t)frames[i] - (intptr_t)&surg__fault_site);
    if (at < INT32_MAX && at > INT32_MIN) hash = (hash ^ (uint64_t)at) * UINT64_C(0x100000001b3);
  }
  fprintf(to, "%llx\n", (unsigned long long)hash);
}
#else
typedef int surg__no_callers; /* ISO C requires a declaration */
#endif
