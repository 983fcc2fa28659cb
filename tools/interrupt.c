/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C handling for commands that run programs of the user. */
#include <signal.h>

#include "cli.h"

static volatile sig_atomic_t interrupted;

static void interrupt(int signal) {
  (void)signal;
  interrupted = 1;
}

void cli_stop_on_signals(void) {
  const struct sigaction action = {.sa_handler = interrupt,
                                   .sa_flags = SA_RESTART | (int)SA_RESETHAND};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

bool cli_interrupted(void *user) {
  (void)user;
  return interrupted != 0;
}

uint64_t cli_milliseconds(uint64_t seconds) {
  return seconds > UINT64_MAX / 1000 ? UINT64_MAX : seconds * 1000;
}
