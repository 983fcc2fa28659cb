/* SPDX-License-Identifier: Apache-2.0 */
/* The program: which command, and no death by signal. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
} commands[] = {{"cat", cmd_cat}, {"info", cmd_info}, {"passes", cmd_passes}, {"reduce", cmd_reduce}};

/* Output files are unnamed until complete, so nothing has to be removed here. */
static void fault(int signal) {
  static const char bus[] = "onnxsurg: error: a file shrank while it was read\n";
  static const char internal[] = "onnxsurg: error: internal fault; please report it\n";
  const char *text = signal == SIGBUS ? bus : internal;
  ssize_t n = write(STDERR_FILENO, text, strlen(text));
  (void)n;
  _exit(signal == SIGBUS ? EXIT_IO : EXIT_INTERNAL);
}

static void arrange_signals(void) {
  signal(SIGPIPE, SIG_IGN);
#ifdef SIGXFSZ
  signal(SIGXFSZ, SIG_IGN);
#endif
  if (SANITIZED) return;
  static char stack[64 << 10]; /* a fault may be an overrun of the ordinary one */
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, NULL);
  struct sigaction action = {.sa_handler = fault, .sa_flags = SA_ONSTACK | (int)SA_RESETHAND};
  static const int signals[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);
}

/* A closed standard stream would lend its number to a model file. */
static void open_streams(void) {
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd ? O_WRONLY : O_RDONLY) != fd) _exit(EXIT_IO);
}

int main(int argc, char **argv) {
  open_streams();
  arrange_signals();
  if (argc > 1)
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
      if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
  return cmd_surgery(argc, argv);
}
