/* SPDX-License-Identifier: Apache-2.0 */
/* The entry point: selects the command, and turns fatal signals into errors. */
#include <stdlib.h>
#include <string.h>

#include "base/os/ending.h"
#include "base/os/os.h"
#include "base/os/program.h"
#include "surgery/surgery.h"

#define STACK_PER_LEVEL (64u << 10) /* bytes of stack per nesting level of graphs */

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
} commands[] = {
    /* clang-format off */
    {"attach", cmd_attach},
    {"bisect", cmd_bisect},
    {"cat", cmd_cat},
    {"check", cmd_check},
    {"data", cmd_data},
    {"diff", cmd_diff},
    {"doctor", cmd_doctor},
    {"edit", cmd_edit},
    {"explain", cmd_explain},
    {"find", cmd_find},
    {"info", cmd_info},
    {"isolate", cmd_isolate},
    {"merge", cmd_merge},
    {"nodes", cmd_nodes},
    {"ops", cmd_ops},
    {"passes", cmd_passes},
    {"patch", cmd_patch},
    {"probe", cmd_probe},
    {"profile", cmd_profile},
    {"reduce", cmd_reduce},
    {"repair", cmd_repair},
    {"restore", cmd_restore},
    {"rules", cmd_rules},
    {"run", cmd_run},
    {"split", cmd_split},
    {"strip", cmd_strip},
    {"targets", cmd_targets},
    {"verify", cmd_verify},
    {"view", cmd_view},
    {"weights", cmd_weights},
    /* clang-format on */
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
  for (size_t i = 0; i < CLI_COUNT(parts); i++) surg__os_say(parts[i], strlen(parts[i]));
  surg__os_exit(EXIT_INTERNAL);
}

/* Runs at exit(), which only a plugin calls while it runs. */
static void exit_in_plugin(void) {
  char plugin[256];
  if (put_plugin(plugin, sizeof plugin)) blame(plugin, "called exit");
}

/* Handles what would end the program. Output files have no name until complete, so none must be
 * deleted. */
static void on_fault(surg__os_fault fault) {
  static const char bus[] = "onnxsurg: error: a file shrank while it was read\n";
  static const char internal[] = "onnxsurg: error: internal fault; please report it\n";
  char plugin[256];
  const bool of_file = fault == SURG__FAULT_FILE;
  if (!of_file && put_plugin(plugin, sizeof plugin)) blame(plugin, surg__os_fault_text(fault));
  const char *text = of_file ? bus : internal;
  surg__os_say(text, strlen(text));
  surg__os_exit(of_file ? EXIT_IO : EXIT_INTERNAL);
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

/* Whether a word that is neither a file nor near a command is meant as a command: it has no
 * suffix, and a file or nothing follows. */
static bool meant_as_command(int argc, char **argv) {
  return !strpbrk(argv[1], "./\\") && (argc == 2 || surg__os_exists(argv[2]));
}

/* Handles `help`, `version`, and a misspelt command: a first word that is not a file. Returns -1
 * for none of them. */
static int no_command(int argc, char **argv) {
  const char *word = argv[1];
  if (!*word || *word == '-' || surg__os_exists(word)) return -1;
  char *help[] = {argv[0], (char *)(uintptr_t) "--help", NULL};
  if (strcmp(word, "help") == 0 && argc <= 3) {
    if (argc == 3) help[0] = argv[2];
    int code = argc == 3 ? run_command(argv[2], 2, help) : -1;
    return code < 0 ? cmd_surgery(2, help) : code;
  }
  if (strcmp(word, "version") == 0 && argc == 2) {
    help[1] = (char *)(uintptr_t) "--version";
    return cmd_surgery(2, help);
  }
  const char *near = surg_nearest_name(word, commands, CLI_COUNT(commands), command_at);
  if (!near) near = cmd_pass_nearest(word);
  if (!near && !meant_as_command(argc, argv)) return -1;
  cli_text t = {0};
  cli_text_puts(&t, "no command and no file ");
  cli_text_escape(&t, word, 0);
  if (near)
    cli_text_printf(&t, ": did you mean `onnxsurg %s`?", near);
  else
    cli_text_puts(&t, " (try `onnxsurg --help`)");
  cli_error_text(NULL, &t);
  return EXIT_USAGE;
}

static bool is_command(const char *word) {
  for (size_t i = 0; i < CLI_COUNT(commands); i++)
    if (strcmp(word, commands[i].name) == 0) return true;
  return false;
}

/* The option of the main form that a word of the command line spells, also abbreviated; or NULL. */
static const struct option *main_option(const char *word) {
  const size_t n = strcspn(word, "=");
  for (const struct option *o = surgery_table; o->name; o++)
    if (strncmp(o->name, word, n) == 0) return o;
  return NULL;
}

/* The first word that is no option of the main form and no value of one, or NULL. */
static const char *first_word(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--") == 0) return NULL;
    if (argv[i][0] != '-' || !argv[i][1]) return argv[i];
    const struct option *o = argv[i][1] == '-' ? main_option(argv[i] + 2) : NULL;
    const bool long_value = o && o->has_arg == required_argument && !strchr(argv[i], '=');
    if (long_value || strcmp(argv[i], "-o") == 0) i++;
  }
  return NULL;
}

/* Handles a command or pass after its options, where it would be taken for a file. Returns -1 for
 * anything else. */
static int late_command(int argc, char **argv) {
  const char *word = argv[1][0] == '-' ? first_word(argc, argv) : NULL;
  if (!word || strcmp(word, "-") == 0 || surg__os_exists(word)) return -1;
  const bool command = is_command(word);
  if (!command && !cmd_pass_known(word, argc, argv)) return -1;
  cli_text t = {0};
  cli_text_puts(&t, "no file ");
  cli_text_escape(&t, word, 0);
  cli_text_printf(&t, "; a %s is the first word: `onnxsurg ", command ? "command" : "pass");
  cli_text_escape(&t, word, 0);
  cli_text_putc(&t, ' ');
  cli_text_escape(&t, argv[1], 0);
  cli_text_puts(&t, " ...`");
  if (!command) {
    cli_text_puts(&t, ", or --pass ");
    cli_text_escape(&t, word, 0);
  }
  cli_error_text(NULL, &t);
  return EXIT_USAGE;
}

typedef struct arguments {
  int argc;
  char **argv;
  int code;
} arguments;

static void run_main(void *user) {
  arguments *a = user;
  a->code = a->argc > 1 ? run_command(a->argv[1], a->argc - 1, a->argv + 1) : -1;
  if (a->code < 0 && a->argc > 1) a->code = no_command(a->argc, a->argv);
  if (a->code < 0 && a->argc > 1) a->code = late_command(a->argc, a->argv);
  if (a->code < 0) a->code = cmd_surgery(a->argc, a->argv);
}

static bool asks_for_depth(int argc, char **argv) {
  static const char option[] = "--max-d";
  for (int i = 1; i < argc; i++)
    if (!strncmp(argv[i], option, sizeof option - 1)) return true;
  return false;
}

int main(int argc, char **argv) {
  if (!surg__os_streams()) surg__os_exit(EXIT_IO);
  surg__os_writes_fail();
  surg__os_clean_at_end();
  if (!SURG__SANITIZED) surg__os_on_fault(on_fault);
  atexit(exit_in_plugin);
  if (!surg__os_arguments(&argc, &argv)) return cli_no_memory();
  arguments a = {argc, argv, EXIT_LIMIT};
  /* The stack of a thread fits the deepest permitted nesting of graphs, which may exceed the
   * system's limit. */
  if (!asks_for_depth(argc, argv))
    run_main(&a);
  else if (!surg__os_with_stack((size_t)CLI_DEPTH_MOST * STACK_PER_LEVEL, run_main, &a))
    cli_error(NULL, "no room for a stack of %u levels", CLI_DEPTH_MOST);
  return cli_json_failure(a.code);
}
