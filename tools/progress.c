/* SPDX-License-Identifier: Apache-2.0 */
/* A progress line on a terminal. A timer signal draws it, so that short runs print nothing and
 * the code that does the work never checks a clock. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli.h"

#define FIRST_US 500000 /* delay before the first line, in microseconds */
#define LABEL_MAX 40u

/* Shared with the signal handler. `doing` points to text that outlives the run. */
static const char *volatile doing;
static volatile sig_atomic_t shown, ticks;

static void draw(int signal) {
  (void)signal;
  const char *what = doing;
  if (!what) return;
  int kept = errno;
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
  ssize_t written = write(STDERR_FILENO, line, n + 2);
  (void)written;
  errno = kept;
}

static void arm(long us) {
  struct itimerval t = {.it_interval = {.tv_usec = us}, .it_value = {.tv_usec = us}};
  setitimer(ITIMER_REAL, &t, NULL);
}

void cli_progress_start(const char *what) {
  doing = what;
  ticks = 0;
  if (!isatty(STDERR_FILENO)) return;
  struct sigaction action = {.sa_handler = draw, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  arm(FIRST_US);
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
  arm(0);
  doing = NULL;
  cli_progress_clear();
}
