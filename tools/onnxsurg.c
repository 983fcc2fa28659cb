/* SPDX-License-Identifier: Apache-2.0 */
/* The program: which command, and no death by signal. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
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
} commands[] = {
    {"cat", cmd_cat},
    {"check", cmd_check},
    {"explain", cmd_explain},
    {"info", cmd_info},
    {"isolate", cmd_isolate},
    {"merge", cmd_merge},
    {"ops", cmd_ops},
    {"passes", cmd_passes},
    {"probe", cmd_probe},
    {"reduce", cmd_reduce},
    {"repair", cmd_repair},
    {"rules", cmd_rules},
    {"run", cmd_run},
    {"targets", cmd_targets},
    {"verify", cmd_verify},
};

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
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    sigaction(signals[i], &action, NULL);
}

/* A closed standard stream would lend its number to a model file. What takes its place is open the
 * wrong way round, so that using it is an error. */
static void open_streams(void) {
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
      _exit(EXIT_IO);
}

static const char *command_at(const void *list, size_t i) {
  (void)list;
  return commands[i].name;
}

static int run_command(const char *name, int argc, char **argv) {
  for (size_t i = 0; i < SURG_COUNT(commands); i++)
    if (strcmp(name, commands[i].name) == 0) return commands[i].run(argc, argv);
  return *name && *name != '-' && !strchr(name, '/') ? cmd_pass(argc, argv) : -1;
}

/* `help`, or a command misspelt: a first word that is no file. -1: neither. */
static int no_command(int argc, char **argv) {
  const char *word = argv[1];
  if (!*word || *word == '-' || access(word, F_OK) == 0) return -1;
  char *help[] = {argv[0], (char *)(uintptr_t) "--help", NULL};
  if (strcmp(word, "help") == 0 && argc <= 3) {
    if (argc == 3) help[0] = argv[2];
    int code = argc == 3 ? run_command(argv[2], 2, help) : -1;
    return code < 0 ? cmd_surgery(2, help) : code;
  }
  const char *near = surg__nearest(word, commands, SURG_COUNT(commands), command_at);
  if (!near) near = cmd_pass_nearest(word);
  if (!near) return -1;
  fprintf(stderr, "onnxsurg: error: no command and no file ");
  cli_put(stderr, word);
  fprintf(stderr, ": did you mean `onnxsurg %s`?\n", near);
  return EXIT_USAGE;
}

int main(int argc, char **argv) {
  open_streams();
  arrange_signals();
  int code = argc > 1 ? run_command(argv[1], argc - 1, argv + 1) : -1;
  if (code < 0 && argc > 1) code = no_command(argc, argv);
  return code < 0 ? cmd_surgery(argc, argv) : code;
}
