/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg passes [NAME]`: lists the passes and presets, or describes one with its options. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define PIPELINE_COLUMNS 54 /* of 80, to the right of the names */

static const char help[] =
    "usage: onnxsurg passes [--plugin FILE] [--json] [NAME]\n"
    "Lists passes and presets, or explains one: a pass with its options, a preset\n"
    "with its pipeline.\n";

static const char *pass_name_at(const void *list, size_t i) {
  return surg_registry_pass(list, i)->name;
}

static void explain(const surg_pass *p, const surg_registry *r) {
  static const char *const kinds[] = {[SURG_OPTION_BOOL] = "",
                                      [SURG_OPTION_INT] = "=N",
                                      [SURG_OPTION_STRING] = "=TEXT",
                                      [SURG_OPTION_LIST] = "=A+B",
                                      [SURG_OPTION_PAIRS] = "=VALUE"};
  _Static_assert(CLI_COUNT(kinds) == SURG_OPTION_PAIRS + 1, "an entry for each kind");
  printf("%s: %s\n", p->name, p->help);
  if (surg_registry_plugin_of(r, p)) printf("  from plugin %s\n", surg_registry_plugin_of(r, p));
  printf("  exactness: %s%s\n", surg_exactness_name(p->exactness),
         p->changes_interface ? "; may change inputs or outputs" : "");
  for (size_t i = 0; i < p->option_count; i++) {
    const surg_option *o = &p->options[i];
    char label[64];
    snprintf(label, sizeof label, "%s%s", o->name, kinds[o->kind]);
    printf("  %-22s %s", label, o->help);
    if (o->fallback) printf(" (%s)", o->fallback);
    putchar('\n');
  }
}

/* Prints a pipeline, wrapped after commas. */
static void print_pipeline(const char *p) {
  const char *mark = "=";
  while (*p) {
    size_t n = strlen(p);
    if (n > PIPELINE_COLUMNS)
      for (n = PIPELINE_COLUMNS; n > 1 && p[n - 1] != ',';) n--;
    printf("  %-19s   %s %.*s\n", "", mark, (int)n, p);
    p += n;
    mark = " ";
  }
}

static void explain_preset(const surg_preset *p) {
  printf("%s: %s\n  a preset: a name for this pipeline\n", p->name, p->help);
  print_pipeline(p->pipeline);
}

static void list(const surg_registry *r) {
  puts("passes");
  for (size_t i = 0; i < surg_registry_pass_count(r); i++) {
    const surg_pass *p = surg_registry_pass(r, i);
    printf("  %-19s %s\n", p->name, p->help);
  }
  puts("presets");
  surg_preset p = {.size = sizeof p};
  for (size_t i = 0; surg_registry_preset(r, i, &p) == SURG_OK; i++) {
    printf("  %-19s %s\n", p.name, p.help);
    print_pipeline(p.pipeline);
  }
}

static json_t *pass_json(const surg_pass *p, const surg_registry *r) {
  static const char *const kinds[] = {[SURG_OPTION_BOOL] = "bool",
                                      [SURG_OPTION_INT] = "int",
                                      [SURG_OPTION_STRING] = "string",
                                      [SURG_OPTION_LIST] = "list",
                                      [SURG_OPTION_PAIRS] = "pairs"};
  _Static_assert(CLI_COUNT(kinds) == SURG_OPTION_PAIRS + 1, "an entry for each kind");
  json_t *j = json_object(), *options = json_array();
  json_object_set_new(j, "name", cli_text_json(p->name));
  json_object_set_new(j, "help", cli_text_json(p->help));
  const char *origin = surg_registry_plugin_of(r, p);
  json_object_set_new(j, "plugin", origin ? cli_text_json(origin) : json_null());
  json_object_set_new(j, "exactness", json_string(surg_exactness_name(p->exactness)));
  json_object_set_new(j, "interface", json_boolean(p->changes_interface));
  for (size_t i = 0; i < p->option_count; i++) {
    const surg_option *o = &p->options[i];
    json_t *e = json_object();
    json_object_set_new(e, "name", cli_text_json(o->name));
    json_object_set_new(e, "kind", json_string(kinds[o->kind]));
    json_object_set_new(e, "default", o->fallback ? cli_text_json(o->fallback) : json_null());
    json_object_set_new(e, "help", cli_text_json(o->help));
    json_array_append_new(options, e);
  }
  json_object_set_new(j, "options", options);
  return j;
}

/* Prints all passes and presets, or only `one` or the given preset. */
static void print_json(const surg_registry *r, const surg_pass *one, const surg_preset *preset) {
  json_t *j = json_object(), *passes = json_array(), *presets = json_object();
  for (size_t i = 0; i < surg_registry_pass_count(r); i++)
    if (preset ? false : !one || one == surg_registry_pass(r, i))
      json_array_append_new(passes, pass_json(surg_registry_pass(r, i), r));
  surg_preset p = {.size = sizeof p};
  for (size_t i = 0; !one && surg_registry_preset(r, i, &p) == SURG_OK; i++)
    if (!preset || !strcmp(preset->name, p.name))
      json_object_set_new(presets, p.name, json_string(p.pipeline));
  json_object_set_new(j, "schema", json_integer(1));
  json_object_set_new(j, "passes", passes);
  json_object_set_new(j, "presets", presets);
  cli_print_json(j);
}

static int show(surg_registry *r, const char *name, bool json) {
  const surg_pass *p = name ? surg_registry_find(r, name) : NULL;
  surg_preset preset = {.size = sizeof preset};
  const bool is_preset = name && !p && surg_registry_find_preset(r, name, &preset) == SURG_OK;
  if (!name || p || is_preset) {
    if (json)
      print_json(r, p, is_preset ? &preset : NULL);
    else if (p)
      explain(p, r);
    else if (is_preset)
      explain_preset(&preset);
    else
      list(r);
    return EXIT_DONE;
  }
  const char *near = surg_nearest_name(name, r, surg_registry_pass_count(r), pass_name_at);
  return cli_error_unknown("pass", name, near, "passes");
}

static int run(const cli_common *common, const char *name) {
  surg_context *ctx = cli_context(common);
  surg_registry *r = ctx ? surg_context_passes(ctx) : NULL;
  int code = r ? EXIT_DONE : EXIT_LIMIT;
  if (code == EXIT_DONE) code = show(r, name, common->json);
  surg_context_free(ctx);
  return cli_flush(code);
}

int cmd_passes(int argc, char **argv) {
  static const struct option options[] = {CLI_COMMON_OPTIONS, {0}};
  cli_common common;
  int code;
  const cli_command command = {options, NULL, help, NULL, NULL, &common};
  if (cli_options(argc, argv, &command, &code))
    code = argc - optind > 1 ? cli_usage("passes expects one name at most")
                             : run(&common, argv[optind]);
  return code;
}
