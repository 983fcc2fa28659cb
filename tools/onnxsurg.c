/* SPDX-License-Identifier: Apache-2.0 */
/* The entry point: selects the command, and turns fatal signals into errors. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#ifndef __EMSCRIPTEN__
#include <pthread.h>
#endif

#define STACK_PER_LEVEL (64u << 10) /* bytes of stack per nesting level of graphs */

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
} commands[] = {
    {"cat", cmd_cat},         {"check", cmd_check},     {"doctor", cmd_doctor},
    {"explain", cmd_explain}, {"info", cmd_info},       {"isolate", cmd_isolate},
    {"merge", cmd_merge},     {"ops", cmd_ops},         {"passes", cmd_passes},
    {"probe", cmd_probe},     {"profile", cmd_profile}, {"reduce", cmd_reduce},
    {"repair", cmd_repair},   {"rules", cmd_rules},     {"run", cmd_run},
    {"targets", cmd_targets}, {"verify", cmd_verify},
};

/* Writes "pass "x" of plugin "y"" or "init of plugin "y"", by calls that are safe in signal
 * handlers. Bytes that do not print are written as '?'. False: no plugin is running. */
static bool put_plugin(char *line, size_t room) {
  const char *plugin, *kind, *name;
  if (!surg_plugin_running(&plugin, &kind, &name)) return false;
  const char *const parts[] = {
      kind, *name ? " \"" : "", name, *name ? "\"" : "", " of plugin \"", plugin, "\""};
  size_t n = 0;
  for (size_t i = 0; i < CLI_COUNT(parts); i++)
    for (const char *p = parts[i]; *p && n + 1 < room; p++)
      line[n++] = (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p;
  line[n] = 0;
  return true;
}

/* Ends the program because of a plugin. */
static void blame(const char *plugin, const char *what) {
  static const char start[] = "onnxsurg: error: ", end[] = "; nothing is written\n";
  const char *const parts[] = {start, plugin, " ", what, end};
  for (size_t i = 0; i < CLI_COUNT(parts); i++)
    if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0) break;
  _exit(EXIT_INTERNAL);
}

static const char *signal_text(int signal) {
  switch (signal) {
    case SIGABRT:
      return "aborted (abort or assert, or a C++ exception left it)";
    case SIGFPE:
      return "crashed (arithmetic error)";
    case SIGILL:
      return "crashed (illegal instruction)";
    default:
      return "crashed (invalid memory access or stack overflow)";
  }
}

/* Runs at exit(), which only a plugin calls while it runs. */
static void exit_in_plugin(void) {
  char plugin[256];
  if (put_plugin(plugin, sizeof plugin)) blame(plugin, "called exit");
}

/* Handles SIGBUS and SIGSEGV. Output files have no name until complete, so none must be deleted. */
static void fault(int signal) {
  static const char bus[] = "onnxsurg: error: a file shrank while it was read\n";
  static const char internal[] = "onnxsurg: error: internal fault; please report it\n";
  char plugin[256];
  if (signal != SIGBUS && put_plugin(plugin, sizeof plugin)) blame(plugin, signal_text(signal));
  const char *text = signal == SIGBUS ? bus : internal;
  ssize_t n = write(STDERR_FILENO, text, strlen(text));
  (void)n;
  _exit(signal == SIGBUS ? EXIT_IO : EXIT_INTERNAL);
}

/* Runs the handlers on a stack of their own: the fault may be a stack overflow. */
static void use_signal_stack(void) {
#ifndef __EMSCRIPTEN__
  static char stack[64 << 10];
  const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  if (!SURG__SANITIZED) sigaltstack(&alternate, NULL);
#endif
}

static void arrange_signals(void) {
  signal(SIGPIPE, SIG_IGN);
#ifdef SIGXFSZ
  signal(SIGXFSZ, SIG_IGN);
#endif
  if (SURG__SANITIZED) return;
  use_signal_stack();
  struct sigaction action = {.sa_handler = fault, .sa_flags = SA_ONSTACK | (int)SA_RESETHAND};
  static const int signals[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    sigaction(signals[i], &action, NULL);
}

/* Opens /dev/null for each closed standard stream; else a model file would get its descriptor.
 * It is opened in the wrong direction, so that using the stream fails. */
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
  for (size_t i = 0; i < CLI_COUNT(commands); i++)
    if (strcmp(name, commands[i].name) == 0) return commands[i].run(argc, argv);
  return *name && *name != '-' && !strchr(name, '/') ? cmd_pass(argc, argv) : -1;
}

/* Handles `help`, and a misspelt command: a first word that is not a file. Returns -1 for
 * neither. */
static int no_command(int argc, char **argv) {
  const char *word = argv[1];
  if (!*word || *word == '-' || access(word, F_OK) == 0) return -1;
  char *help[] = {argv[0], (char *)(uintptr_t) "--help", NULL};
  if (strcmp(word, "help") == 0 && argc <= 3) {
    if (argc == 3) help[0] = argv[2];
    int code = argc == 3 ? run_command(argv[2], 2, help) : -1;
    return code < 0 ? cmd_surgery(2, help) : code;
  }
  const char *near = surg_nearest_name(word, commands, CLI_COUNT(commands), command_at);
  if (!near) near = cmd_pass_nearest(word);
  if (!near) return -1;
  fprintf(stderr, "onnxsurg: error: no command and no file ");
  cli_put(stderr, word);
  fprintf(stderr, ": did you mean `onnxsurg %s`?\n", near);
  return EXIT_USAGE;
}

typedef struct arguments {
  int argc;
  char **argv;
  int code;
} arguments;

static void run_main(arguments *a) {
  a->code = a->argc > 1 ? run_command(a->argv[1], a->argc - 1, a->argv + 1) : -1;
  if (a->code < 0 && a->argc > 1) a->code = no_command(a->argc, a->argv);
  if (a->code < 0) a->code = cmd_surgery(a->argc, a->argv);
}

#ifdef __EMSCRIPTEN__
/* There is one thread; its stack fits CLI_DEPTH_MOST levels. */
static bool in_thread(arguments *a) {
  run_main(a);
  return true;
}
#else
static void *run_deep(void *user) {
  use_signal_stack();
  run_main(user);
  return NULL;
}

/* Runs the program in a thread whose stack fits the deepest permitted nesting of graphs, which
 * may exceed the system's stack limit. Stack memory is committed only when used. */
static bool in_thread(arguments *a) {
  pthread_attr_t how;
  pthread_t thread;
  if (pthread_attr_init(&how)) return false;
  const bool done = !pthread_attr_setstacksize(&how, (size_t)CLI_DEPTH_MOST * STACK_PER_LEVEL) &&
                    !pthread_create(&thread, &how, run_deep, a) && !pthread_join(thread, NULL);
  pthread_attr_destroy(&how);
  return done;
}
#endif

static bool asks_for_depth(int argc, char **argv) {
  static const char option[] = "--max-d";
  for (int i = 1; i < argc; i++)
    if (!strncmp(argv[i], option, sizeof option - 1)) return true;
  return false;
}

int main(int argc, char **argv) {
  arguments a = {argc, argv, EXIT_LIMIT};
  open_streams();
  arrange_signals();
  atexit(exit_in_plugin);
  if (!asks_for_depth(argc, argv)) {
    run_main(&a);
  } else if (!in_thread(&a)) {
    fprintf(stderr, "onnxsurg: error: no room for a stack of %u levels\n", CLI_DEPTH_MOST);
  }
  return a.code;
}
