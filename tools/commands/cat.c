/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg cat IN`: prints the model as text. */
#include <onnxsurg/edit.h>

#include "base/os/program.h"
#include "cli.h"

static const char help[] =
    "usage: onnxsurg cat [--strict] [--weights | --no-weights] IN\n"
    "Prints a model as ONNX text (doc/text.md), which can be read back: a name that\n"
    "ends in .onnxtxt is text. `-` is standard input. On a terminal, tensors of more\n"
    "than 8 elements are printed as `...`.\n"
    "\n"
    "  --weights     print all elements: the default for files and pipes\n"
    "  --no-weights  print no tensor of more than 8 elements\n"
    "  --strict  plain ONNX text without extensions; lists what it dropped\n"
    "  --json    print a JSON object {\"schema\", \"file\", \"text\"}\n";

enum { OPT_STRICT = OPT_OWN, OPT_WEIGHTS, OPT_NO_WEIGHTS };

#define ELEMENTS_SHOWN 8u /* of a tensor without --weights */

typedef struct request {
  bool strict, weights, no_weights;
} request;

static int take(void *user, int o, char *arg) {
  request *r = user;
  (void)arg;
  if (o == OPT_STRICT) r->strict = true;
  if (o == OPT_WEIGHTS) r->weights = true;
  if (o == OPT_NO_WEIGHTS) r->no_weights = true;
  return EXIT_DONE;
}

int cmd_cat(int argc, char **argv) {
  static const struct option options[] = {{"strict", no_argument, NULL, OPT_STRICT},
                                          {"weights", no_argument, NULL, OPT_WEIGHTS},
                                          {"no-weights", no_argument, NULL, OPT_NO_WEIGHTS},
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  cli_common common;
  request r = {.strict = false};
  int code;
  const cli_command command = {options, NULL, help, take, &r, &common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (argc - optind != 1) return cli_usage("cat expects one model: `onnxsurg cat IN`");
  if (r.no_weights && (r.weights || r.strict))
    return cli_usage("--no-weights excludes --weights and --strict");
  const bool terminal = surg__os_is_terminal(fileno(stdout));
  const bool cut = r.no_weights || (terminal && !r.weights && !r.strict && !common.json);
  surg_context *ctx = cli_context(&common);
  if (!ctx) return EXIT_LIMIT;
  surg_model *m = NULL;
  char *text = NULL;
  size_t n = 0;
  surg_status s = cli_load_any(ctx, &common, argv[optind], &m);
  if (s == SURG_OK)
    s = cut ? surg_model_preview(m, ELEMENTS_SHOWN, &text, &n)
            : surg_model_save_text(m, r.strict, &text, &n);
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
