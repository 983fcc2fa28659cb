/* SPDX-License-Identifier: Apache-2.0 */
/* Converts `--opset N`, `--opset DOMAIN=N` and `--ir N` to passes. */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "cli.h"
#include "pass/pass.h"

static int move_opset(surg__buf *to, const char *word) {
  const char *number = strrchr(word, '=');
  uint64_t n;
  if (!cli_number(number ? number + 1 : word, &n) || !n || n > 1000 || number == word)
    return cli_usage("--opset expects the number of an opset, or DOMAIN=N");
  surg__buf_puts(to, to->n ? ",opset{" : "opset{");
  char *domain = number ? strndup(word, (size_t)(number - word)) : NULL;
  if (domain && strcmp(domain, "ai.onnx") != 0) {
    surg__buf_puts(to, "domain=");
    surg__pipeline_quote(to, domain);
    surg__buf_puts(to, ",");
  }
  to->failed = to->failed || (number && !domain);
  free(domain);
  surg__buf_printf(to, "to=%u}", (unsigned)n);
  return EXIT_DONE;
}

int cli_moves(surg__buf *to, const char *const *opsets, size_t n, const char *ir) {
  uint64_t version;
  for (size_t i = 0; i < n; i++) {
    const int code = move_opset(to, opsets[i]);
    if (code != EXIT_DONE) return code;
  }
  if (!ir) return EXIT_DONE;
  if (!cli_number(ir, &version) || !version || version > 1000)
    return cli_usage("--ir expects an IR version");
  surg__buf_printf(to, "%sir{to=%u}", to->n ? "," : "", (unsigned)version);
  return EXIT_DONE;
}

int cli_take_allow(surg__run_options *run, const char *word) {
  run->has_allow = true;
  if (surg__exactness_from_name(word, &run->allow)) return EXIT_DONE;
  return cli_usage("--allow: expected exact, ulp, rounding, approx or lossy");
}
