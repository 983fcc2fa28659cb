/* SPDX-License-Identifier: Apache-2.0 */
/* A progress line on a terminal. A timer draws it, so that short runs print nothing and
 * the code that does the work never checks a clock. */
#include <signal.h>
#include <string.h>

#include "base/os/program.h"

#include "cli.h"

#define FIRST_US 500000 /* delay before the first line, in microseconds */
#define LABEL_MAX 40u

/* Shared with the handler of the timer. `doing` points to text that outlives the run. */
static const char *volatile doing;
static volatile sig_atomic_t shown, ticks;

static void draw(void) {
  const char *what = doing;
  if (!what) return;
  char line[96] = "\r\033[Konnxsurg: ";
  size_t n = strlen(line), length = strnlen(what, LABEL_MAX);
  memcpy(line + n, what, length);
  n += length;
  memcpy(line + n, ", ", 2);
  n += 2;
  char digits[16];
  size_t k = 0;
  unsigned seconds = (unsigned)++ticks / 2;
  do digits[k++] = (char)('0' + seconds % 10);
  while (seconds /= 10);
  while (k) line[n++] = digits[--k];
  memcpy(line + n, " s", 2);
  shown = 1;
  surg__os_say(line, n + 2);
}

void cli_progress_start(const char *what) {
  doing = what;
  ticks = 0;
  if (surg__os_is_terminal(fileno(stderr))) surg__os_every(FIRST_US, draw);
}

void cli_progress(const char *what) {
  doing = what;
}

void cli_progress_clear(void) {
  if (!shown) return;
  shown = 0;
  fputs("\r\033[K", stderr);
  fflush(stderr);
}

void cli_progress_stop(void) {
  surg__os_every(0, draw);
  doing = NULL;
  cli_progress_clear();
}
