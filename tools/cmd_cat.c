/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg cat IN`: prints the model as text. */
#include "cli.h"

static const char help[] =
    "usage: onnxsurg cat [--strict] IN\n"
    "Prints a model as ONNX text (doc/text.md), which can be read back: a name that\n"
    "ends in .onnxtxt is text. `-` is standard input.\n"
    "\n"
    "  --strict  plain ONNX text without extensions; lists what it dropped\n"
    "  --json    print a JSON object {\"schema\", \"file\", \"text\"}\n";

enum { OPT_STRICT = OPT_OWN };

static int take(void *strict, int o, char *arg) {
  (void)o, (void)arg; /* the only option */
  *(bool *)strict = true;
  return EXIT_DONE;
}

int cmd_cat(int argc, char **argv) {
  static const struct option options[] = {
      {"strict", no_argument, NULL, OPT_STRICT}, CLI_COMMON_OPTIONS, {0}};
  cli_common common;
  bool strict = false;
  int code;
  const cli_command command = {options, NULL, help, take, &strict, &common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (argc - optind != 1) return cli_usage("cat expects one model: `onnxsurg cat IN`");
  surg_context *ctx = cli_context(&common);
  if (!ctx) return EXIT_LIMIT;
  surg_model *m = NULL;
  char *text = NULL;
  size_t n = 0;
  surg_status s = cli_load_any(ctx, &common, argv[optind], &m);
  if (s == SURG_OK) s = surg_model_save_text(m, strict, &text, &n);
  if (s == SURG_OK && common.json)
    cli_print_json(json_pack("{s:i,s:o,s:o}", "schema", 1, "file", cli_text_json(argv[optind]),
                             "text", json_stringn(text, n)));
  else if (s == SURG_OK)
    fwrite(text, 1, n, stdout);
  surg_context_free_bytes(ctx, text);
  surg_model_free(m);
  surg_context_free(ctx);
  return cli_flush(cli_exit_code(s));
}
