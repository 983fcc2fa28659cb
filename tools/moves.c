/* SPDX-License-Identifier: Apache-2.0 */
/* Converts `--opset N`, `--opset DOMAIN=N` and `--ir N` to passes. */
#include <onnxsurg/names.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

void cli_put_word(surg_context *ctx, cli_text *to, const char *word) {
  char *text = NULL;
  const surg_status s = word ? surg_pipeline_word(ctx, word, &text) : SURG_ENOMEM;
  cli_text_take(to, ctx, s, text);
}

static int move_opset(surg_context *ctx, cli_text *to, const char *word) {
  const char *number = strrchr(word, '=');
  uint64_t n;
  if (!cli_number(number ? number + 1 : word, &n) || !n || n > 1000 || number == word)
    return cli_usage("--opset expects the number of an opset, or DOMAIN=N");
  cli_text_puts(to, to->n ? ",opset{" : "opset{");
  char *domain = number ? strndup(word, (size_t)(number - word)) : NULL;
  if (domain && strcmp(domain, "ai.onnx") != 0) {
    cli_text_puts(to, "domain=");
    cli_put_word(ctx, to, domain);
    cli_text_puts(to, ",");
  }
  if (number && !domain) cli_text_fail(to);
  free(domain);
  cli_text_printf(to, "to=%u}", (unsigned)n);
  return EXIT_DONE;
}

int cli_moves(surg_context *ctx, cli_text *to, const char *const *opsets, size_t n,
              const char *ir) {
  uint64_t version;
  for (size_t i = 0; i < n; i++) {
    const int code = move_opset(ctx, to, opsets[i]);
    if (code != EXIT_DONE) return code;
  }
  if (!ir) return EXIT_DONE;
  if (!cli_number(ir, &version) || !version || version > 1000)
    return cli_usage("--ir expects an IR version");
  cli_text_printf(to, "%sir{to=%u}", to->n ? "," : "", (unsigned)version);
  return EXIT_DONE;
}

int cli_take_allow(surg_run_options *run, const char *word) {
  surg_exactness most;
  if (!surg_exactness_from_name(word, &most))
    return cli_usage("--allow: expected exact, ulp, rounding, approx or lossy");
  run->has_allow = true;
  run->allow = most;
  return EXIT_DONE;
}
