/* SPDX-License-Identifier: Apache-2.0 */
/* Writes random valid models: gen [--seed N] [--count N] [--nodes N] [--opset N] [--ir N] [--plain]
 * [--float] PREFIX writes PREFIX<seed>.onnx for count seeds from N. --plain: no symbols, no empty
 * tensors. --float: float is the only floating type. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen.h"

static void line(void *user, surg_severity severity, const char *text) {
  (void)user;
  (void)severity;
  fprintf(stderr, "%s\n", text);
}

static bool write_one(const gen_options *options, const char *prefix) {
  char path[4096];
  surg_config config = {.size = sizeof config, .diag = line};
  surg_context *ctx = surg_context_new(&config);
  surg_model *m = ctx ? gen_model(ctx, options) : NULL;
  snprintf(path, sizeof path, "%s%llu.onnx", prefix, (unsigned long long)options->seed);
  surg_save_options save = {.size = sizeof save, .no_fsync = true};
  bool ok = m && surg_model_save(m, path, &save) == SURG_OK;
  if (!ok) fprintf(stderr, "seed %llu failed\n", (unsigned long long)options->seed);
  surg_model_free(m);
  surg_context_free(ctx);
  return ok;
}

int main(int argc, char **argv) {
  gen_options options = {.seed = 1};
  uint64_t count = 1;
  const char *prefix = NULL;
  for (int i = 1; i < argc; i++) {
    bool more = i + 1 < argc;
    if (more && strcmp(argv[i], "--seed") == 0) options.seed = strtoull(argv[++i], NULL, 10);
    else if (more && strcmp(argv[i], "--count") == 0) count = strtoull(argv[++i], NULL, 10);
    else if (more && strcmp(argv[i], "--nodes") == 0) options.nodes = strtoul(argv[++i], NULL, 10);
    else if (more && strcmp(argv[i], "--opset") == 0) options.opset = strtol(argv[++i], NULL, 10);
    else if (more && strcmp(argv[i], "--ir") == 0) options.ir = strtol(argv[++i], NULL, 10);
    else if (strcmp(argv[i], "--plain") == 0) options.no_symbols = options.no_empty = true;
    else if (strcmp(argv[i], "--float") == 0) options.float_only = true;
    else if (argv[i][0] != '-' && !prefix) prefix = argv[i];
    else prefix = NULL, i = argc;
  }
  if (!prefix || options.opset < 0 || options.opset > 23 || (options.opset && options.opset < 7)) {
    fprintf(stderr, "usage: gen [--seed N] [--count N] [--nodes N] [--opset 7..23] [--ir N] "
                    "[--plain] [--float] PREFIX\n");
    return 2;
  }
  for (; count > 0; count--, options.seed++)
    if (!write_one(&options, prefix)) return 1;
  return 0;
}
