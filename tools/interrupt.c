/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C handling for commands that run programs of the user; the time limit of a command. */
#include <signal.h>

#include "base/os/deadline.h"
#include "base/os/program.h"
#include "base/os/unfinished.h"
#include "cli.h"

#define SECOND 1000000000ull /* ns */

static volatile sig_atomic_t interrupted;

static void interrupt(void) {
  interrupted = 1;
}

void cli_stop_on_signals(void) {
  surg__os_on_stop(interrupt);
}

bool cli_interrupted(void *user) {
  (void)user;
  return interrupted != 0;
}

/* Ends the program in a phase that does not look at a clock, or while it cleans up after one that
 * did and has reported that. */
static void late(void) {
  static const char text[] = "onnxsurg: error: out of time (--timeout)\n";
  surg__os_remove_unfinished();
  if (!cli_reported()) surg__os_say(text, sizeof text - 1);
  surg__os_exit(EXIT_LIMIT);
}

void cli_limit_time(const cli_common *c) {
  /* A twentieth more: a phase that looks at the clock gives a better message. */
  const uint64_t ns = c->timeout_seconds * (SECOND + SECOND / 20);
  if (!surg__os_deadline(ns, late) && !c->quiet)
    fprintf(stderr, "onnxsurg: warning: --timeout is checked between steps only\n");
}

void cli_unlimit_time(void) {
  surg__os_deadline(0, late);
}

uint64_t cli_milliseconds(uint64_t seconds) {
  return seconds > UINT64_MAX / 1000 ? UINT64_MAX : seconds * 1000;
}
