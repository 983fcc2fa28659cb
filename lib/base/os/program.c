/* SPDX-License-Identifier: Apache-2.0 */
/* Standard streams, signals, timers and stacks of a program. */
#include "base/os/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#ifndef __EMSCRIPTEN__
#include <pthread.h>
#endif

#include "base/os/ending.h"
#include "base/os/unfinished.h"

#define SIGNAL_STACK (64u << 10) /* bytes */

static void (*fault_handler)(surg__os_fault fault);
static void (*stop_handler)(void);
static void (*draw_handler)(void);

bool surg__os_arguments(int *argc, char ***argv) {
  (void)argc, (void)argv;
  return true;
}

bool surg__os_streams(void) {
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd) return false;
  return true;
}

bool surg__os_is_terminal(int fd) {
  return isatty(fd) != 0;
}

bool surg__os_pipe_broken(int fd) {
  struct pollfd out = {.fd = fd, .events = POLLOUT};
  return poll(&out, 1, 0) == 1 && out.revents & (POLLERR | POLLHUP);
}

void surg__os_say(const char *text, size_t n) {
  const ssize_t written = write(STDERR_FILENO, text, n);
  (void)written; /* there is no other place to report that */
}

void surg__os_exit(int code) {
  _exit(code);
}

void surg__os_writes_fail(void) {
  signal(SIGPIPE, SIG_IGN);
#ifdef SIGXFSZ
  signal(SIGXFSZ, SIG_IGN);
#endif
}

/* ---- faults -------------------------------------------------------------------------------- */

/* Runs the handlers on a stack of their own: the fault may be a stack overflow. */
static void use_signal_stack(void) {
#ifndef __EMSCRIPTEN__
  static char stack[SIGNAL_STACK];
  const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  if (fault_handler) sigaltstack(&alternate, NULL);
#endif
}

static void on_fault(int signal) {
  surg__os_fault fault = SURG__FAULT_MEMORY;
  surg__os_fault_of(signal, &fault);
  fault_handler(fault);
}

void surg__os_on_fault(void (*handler)(surg__os_fault fault)) {
  static const int signals[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT};
  const struct sigaction action = {.sa_handler = on_fault,
                                   .sa_flags = SA_ONSTACK | (int)SA_RESETHAND};
  fault_handler = handler;
  use_signal_stack();
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    sigaction(signals[i], &action, NULL);
}

/* ---- stopping and timers ------------------------------------------------------------------- */

/* Sets the handler of a signal, unless the one who started the program has it ignored (nohup). */
static void handle(int number, void (*handler)(int)) {
  const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  struct sigaction before;
  if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN) return;
  sigaction(number, &action, NULL);
}

void surg__os_clean_at_end(void) {
  handle(SIGINT, surg__os_end_by);
  handle(SIGTERM, surg__os_end_by);
  handle(SIGHUP, surg__os_end_by);
}

static void on_stop(int signal) {
  handle(signal, surg__os_end_by);
  stop_handler();
}

void surg__os_on_stop(void (*handler)(void)) {
  stop_handler = handler;
  handle(SIGINT, on_stop);
  handle(SIGTERM, on_stop);
}

static void on_alarm(int signal) {
  (void)signal;
  const int kept = errno;
  draw_handler();
  errno = kept;
}

void surg__os_every(unsigned us, void (*draw)(void)) {
  const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  const struct itimerval t = {.it_interval = {.tv_usec = us}, .it_value = {.tv_usec = us}};
  draw_handler = draw;
  if (us) sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &t, NULL);
}

/* ---- stacks -------------------------------------------------------------------------------- */

#ifdef __EMSCRIPTEN__
/* There is one thread with one stack. */
bool surg__os_with_stack(size_t n, void (*run)(void *user), void *user) {
  (void)n;
  run(user);
  return true;
}
#else
typedef struct call {
  void (*run)(void *user);
  void *user;
} call;

static void *run_call(void *user) {
  const call *c = user;
  use_signal_stack();
  c->run(c->user);
  return NULL;
}

bool surg__os_with_stack(size_t n, void (*run)(void *user), void *user) {
  pthread_attr_t how;
  pthread_t thread;
  call c = {run, user};
  if (pthread_attr_init(&how)) return false;
  const bool done = !pthread_attr_setstacksize(&how, n) &&
                    !pthread_create(&thread, &how, run_call, &c) && !pthread_join(thread, NULL);
  pthread_attr_destroy(&how);
  return done;
}
#endif
