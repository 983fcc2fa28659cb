/* SPDX-License-Identifier: Apache-2.0 */
/* What this thread calls. The only state outside of contexts: a signal handler has no context. */
#include "base/calling.h"

static _Thread_local surg__calling now;

surg__calling surg__calling_begin(const char *plugin, const char *kind, const char *name) {
  const surg__calling before = now;
  now = (surg__calling){plugin, kind, name};
  return before;
}

void surg__calling_end(surg__calling before) {
  now = before;
}

surg__calling surg__calling_now(void) {
  return now;
}
