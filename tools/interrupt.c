/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C handling for commands that run programs of the user. */
#include <signal.h>

#include "base/os/program.h"
#include "cli.h"

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

uint64_t cli_milliseconds(uint64_t seconds) {
  return seconds > UINT64_MAX / 1000 ? UINT64_MAX : seconds * 1000;
}
