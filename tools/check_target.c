/* SPDX-License-Identifier: Apache-2.0 */
/* `check --target`: what an engine does not take, as findings, and the verdict. */
#include "check_target.h"

#include <string.h>

#include "base/context.h"
#include "base/limits.h"
#include "ir/ir.h" /* for surg__locate_node alone */

surg__target *cli_target(surg_context *ctx, const char *name, int *code) {
  const size_t length = strlen(name);
  const bool file = strchr(name, '/') || (length > 7 && !strcmp(name + length - 7, ".target"));
  char *text = NULL;
  size_t n = 0;
  surg__target *t = NULL;
  *code = EXIT_DONE;
  if (file) *code = cli_read_text(name, SURG_LIMIT_TARGET_BYTES, &text, &n);
  if (*code == EXIT_DONE)
    t = file ? surg__target_read(ctx, text, n, name) : surg__target_find(ctx, name);
  free(text);
  if (*code != EXIT_DONE || t) return t;
  const surg_status s = ctx->error_status;
  *code = s == SURG_EINVALID ? EXIT_USAGE : s ? cli_exit_code(s) : EXIT_LIMIT;
  return NULL;
}

typedef struct telling {
  report *r;
  size_t refused, unknown; /* objections */
} telling;

static const char *code_of(const surg__objection *o) {
  static const char *const codes[] = {
      [SURG__C_NONE] = "E403",     [SURG__C_IR] = "E401",       [SURG__C_OPSET] = "E402",
      [SURG__C_OP] = "E403",       [SURG__C_VERSION] = "E404",  [SURG__C_TYPE] = "E405",
      [SURG__C_CONSTANT] = "E406", [SURG__C_ATTR] = "E407",     [SURG__C_RANGE] = "E408",
      [SURG__C_PLACE] = "E409",    [SURG__C_DYNAMIC] = "E410",  [SURG__C_FUNCTION] = "E411",
      [SURG__C_CUSTOM] = "E412",   [SURG__C_SAYS] = "E403"};
  return o->verdict == SURG__UNKNOWN ? "N401" : codes[o->cause];
}

static void heard(void *user, const surg__objection *o) {
  telling *t = user;
  const char *code = code_of(o);
  ++*(o->verdict == SURG__ILLEGAL ? &t->refused : &t->unknown);
  report_show(t->r, code, o->node ? surg__locate_node(o->node) : "model", o->text,
              surg__check_rule(code)->pass);
}

surg_status check_target(report *r, const surg__target *t, surg_model *m) {
  telling tell = {.r = r};
  const surg_status s = surg__target_model(t, m, heard, &tell);
  if (s || report_lines(r) || r->out->quiet) return s;
  cli_put(stdout, r->path);
  printf(": %s ", t->name);
  if (tell.refused)
    printf("refuses it: %zu reason%s", tell.refused, tell.refused == 1 ? "" : "s");
  else if (tell.unknown)
    printf("may take it: %zu thing%s not known", tell.unknown,
           tell.unknown == 1 ? " is" : "s are");
  else
    printf("takes it");
  printf("\n  by %s\n", t->source);
  return s;
}
