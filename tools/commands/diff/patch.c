/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg patch A D OUT`: makes the second model of a difference from the first one. */
#include <onnxsurg/diff.h>
#include <string.h>

#include "patch_text.h"

static const char help[] =
    "usage: onnxsurg patch A PATCH OUT\n"
    "Writes the model B that `onnxsurg diff --patch PATCH A B` compared with A, byte\n"
    "for byte, with its data files. PATCH may also be the JSON of\n"
    "`onnxsurg diff --json --patch - A B`; \"-\" is standard input. Rejects any model\n"
    "other than A. Data files are not overwritten.\n";

int cmd_patch(int argc, char **argv) {
  static const struct option options[] = {CLI_COMMON_OPTIONS, {0}};
  cli_common common;
  int code;
  const cli_command command = {options, NULL, help, NULL, NULL, &common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  char **args = argv + optind;
  if (argc - optind != 3)
    return cli_usage("patch expects a model, a patch and an output: `onnxsurg patch A PATCH OUT`");
  if (strcmp(args[2], "-") == 0) return cli_usage("patch writes files, not standard output");
  code = cli_check_folder(args[2]);
  if (code != EXIT_DONE) return code;
  surg_context *ctx = cli_context(&common);
  if (!ctx) return EXIT_LIMIT;
  surg_model *m = NULL;
  surg_status s = cli_load_any(ctx, &common, args[0], &m);
  code = s == SURG_OK ? patch_text_apply(m, args[1], args[2]) : cli_exit_code(s);
  surg_model_free(m);
  surg_context_free(ctx);
  return cli_flush(code);
}
