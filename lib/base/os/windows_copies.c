/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: see copies.h. Processes are not copied; all work is done in this one. */
#include "base/os/copies.h"

#include <errno.h>
#include <io.h>
#include <stdio.h>

#include "base/os/fault.h"
#include "base/os/windows.h"

unsigned surg__os_processors(void) {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwNumberOfProcessors ? (unsigned)info.dwNumberOfProcessors : 1;
}

void surg__os_pause(unsigned us) {
  Sleep(us / 1000 + 1);
}

int surg__os_redirect(int out, int err, int kept[2]) {
  SURG_SYS_FAULT(EMFILE);
  fflush(NULL);
  kept[0] = _dup(1);
  kept[1] = kept[0] < 0 ? -1 : _dup(2);
  if (kept[1] < 0) {
    const int why = errno;
    if (kept[0] >= 0) _close(kept[0]);
    return why;
  }
  _dup2(out, 1);
  _dup2(err, 2);
  return 0;
}

void surg__os_restore(const int kept[2]) {
  fflush(NULL);
  _dup2(kept[0], 1);
  _dup2(kept[1], 2);
  _close(kept[0]);
  _close(kept[1]);
}

int surg__os_start_copy(int (*work)(void *user), void *user, int out, int err, long *id) {
  (void)work, (void)user, (void)out, (void)err, (void)id;
  return ENOSYS;
}

bool surg__os_copy_ended(long id, surg__os_ended *end) {
  (void)id, (void)end;
  return true;
}

void surg__os_end_copy(long id) {
  (void)id;
}
