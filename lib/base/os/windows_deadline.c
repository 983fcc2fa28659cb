/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: the time limit of a program, by a timer of the system. */
#include "base/os/deadline.h"
#include "base/os/windows.h"

#define MS 1000000u /* ns */

/* The handler is called with the lock held, which is never released: a caller that changes the
 * limit or names an output after that waits until the process has ended. */
static SRWLOCK lock = SRWLOCK_INIT;
static HANDLE timer;
static bool limited;
static void (*handler)(void);

static VOID CALLBACK on_limit(PVOID user, BOOLEAN fired) {
  (void)user, (void)fired;
  AcquireSRWLockExclusive(&lock);
  if (limited) handler();
  ReleaseSRWLockExclusive(&lock);
}

bool surg__os_deadline(uint64_t ns, void (*late)(void)) {
  surg__os_deadline_commit();
  if (timer) DeleteTimerQueueTimer(NULL, timer, INVALID_HANDLE_VALUE); /* waits for the handler */
  timer = NULL;
  if (!ns) return true;
  handler = late;
  AcquireSRWLockExclusive(&lock);
  limited = true;
  ReleaseSRWLockExclusive(&lock);
  const uint64_t ms = ns / MS + 1;
  const DWORD due = ms < INFINITE ? (DWORD)ms : INFINITE - 1;
  if (CreateTimerQueueTimer(&timer, NULL, on_limit, NULL, due, 0, WT_EXECUTEONLYONCE)) return true;
  timer = NULL;
  return false;
}

void surg__os_deadline_commit(void) {
  AcquireSRWLockExclusive(&lock);
  limited = false;
  ReleaseSRWLockExclusive(&lock);
}
