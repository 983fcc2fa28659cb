/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg passes [NAME]`: what passes there are, and what one takes. */
#include <string.h>

#include "base/base.h"
#include "cli.h"
#include "pass/pass.h"

static const char help[] =
    "usage: onnxsurg passes [--plugin FILE] [NAME]\n"
    "Lists passes and presets, or explains one pass with its options.\n";

static const char *pass_name_at(const void *list, size_t i) {
  return surg__pass_at(list, i)->name;
}

static void explain(const surg_pass *p, const surg_registry *r) {
  static const char *const kinds[] = {"", "=N", "=TEXT", "=A+B"};
  printf("%s: %s\n", p->name, p->help);
  if (surg__pass_origin(r, p)) printf("  from plugin %s\n", surg__pass_origin(r, p));
  printf("  exactness: %s%s\n", surg__exactness_name(p->exactness),
         p->interface ? "; may change inputs or outputs" : "");
  for (size_t i = 0; i < p->option_count; i++) {
    const surg_option *o = &p->options[i];
    char label[64];
    snprintf(label, sizeof label, "%s%s", o->name, kinds[o->kind]);
    printf("  %-22s %s", label, o->help);
    if (o->fallback) printf(" (%s)", o->fallback);
    putchar('\n');
  }
}

static void list(const surg_registry *r) {
  puts("passes");
  for (size_t i = 0; i < surg__pass_count(r); i++) {
    const surg_pass *p = surg__pass_at(r, i);
    printf("  %-14s %s\n", p->name, p->help);
  }
  puts("presets");
  for (size_t i = 0; i < surg__preset_count(r); i++) {
    const surg__preset *p = surg__preset_at(r, i);
    printf("  %-14s %s\n  %-14s   = %s\n", p->name, p->help, "", p->pipeline);
  }
}

static int show(surg_registry *r, const char *name) {
  if (!name) {
    list(r);
    return EXIT_DONE;
  }
  const surg_pass *p = surg__pass_find(r, name);
  if (p) {
    explain(p, r);
    return EXIT_DONE;
  }
  const char *near = surg__nearest(name, r, surg__pass_count(r), pass_name_at);
  fprintf(stderr, "onnxsurg: error: no pass ");
  cli_put(stderr, name);
  if (near) fprintf(stderr, ": did you mean %s?", near);
  fprintf(stderr, " (try `onnxsurg passes`)\n");
  return EXIT_USAGE;
}

int cmd_passes(int argc, char **argv) {
  enum { OPT_PLUGIN = OPT_OWN };
  static const struct option options[] = {
      {"plugin", required_argument, NULL, OPT_PLUGIN}, CLI_COMMON_OPTIONS, {0}};
  cli_common common;
  cli_common_init(&common);
  surg_context *ctx = cli_context(&common);
  if (!ctx) return EXIT_LIMIT;
  surg_registry *r = surg_context_passes(ctx);
  int code = r ? EXIT_DONE : EXIT_LIMIT;
  opterr = 0;
  bool helped = false;
  for (int o; code == EXIT_DONE && (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    if (o == OPT_HELP) {
      fputs(help, stdout);
      helped = true;
      break;
    }
    if (o == OPT_PLUGIN)
      code = surg__plugin_load(ctx, optarg) == SURG_OK ? EXIT_DONE : EXIT_USAGE;
    else
      code = o == '?' ? cli_bad_option(argv, options) : cli_common_option(&common, o, optarg);
  }
  if (code == EXIT_DONE && !helped) {
    if (argc - optind > 1)
      code = cli_usage("passes takes one name at most");
    else
      code = show(r, argv[optind]);
  }
  surg_context_free(ctx);
  return cli_flush(code);
}
