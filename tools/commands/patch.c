/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg patch A D OUT`: makes the second model of a difference from the first one. */
#include <onnxsurg/diff.h>
#include <string.h>

#include "cli.h"

static const char help[] =
    "usage: onnxsurg patch A PATCH OUT\n"
    "Writes the model B that `onnxsurg diff --patch PATCH A B` compared with A, byte\n"
    "for byte, with its data files. Refuses any other model than A. Data files are\n"
    "not overwritten.\n";

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
  if (s == SURG_OK) s = surg_patch_apply(m, args[1], args[2]);
  surg_model_free(m);
  surg_context_free(ctx);
  return cli_flush(cli_exit_code(s));
}
