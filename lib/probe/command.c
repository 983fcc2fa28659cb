/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of the user as public objects (onnxsurg/command.h). */
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "probe/importer.h"

_Static_assert(SURG_COMMAND_ENDED == SURG__CHILD_LATE, "one number in both");

void surg__command_limits(surg__child *c, const surg_command_options *options) {
  surg_command_options o;
  surg__struct_in(&o, sizeof o, options);
  c->seconds = o.seconds ? o.seconds : SURG__COMMAND_SECONDS;
  c->memory = o.memory;
  c->cancel = o.cancel;
  c->cancel_user = o.user;
}

surg_status surg__command_words(surg_context *ctx, surg__child *c, const char *text) {
  if (surg__child_parse(text, c)) return SURG_OK;
  return surg__error(ctx, SURG_EUSAGE, "onnxsurg",
                     "command %s: a quote is not closed, or no command", surg__q(ctx, text));
}

surg_status surg__command_missing(surg_context *ctx, const surg__child *c) {
  surg__buf name;
  surg__buf_init(&name, ctx);
  surg__buf_escape(&name, c->words[0], strlen(c->words[0]), SURG_LIMIT_NAME_PRINT);
  surg__buf_putc(&name, 0);
  const surg_status s = surg__error(
      ctx, SURG_EUSAGE, "onnxsurg", "cannot run %s: %s", name.failed ? "the command" : name.p,
      SURG__CHILD ? "is it there, and executable?" : "commands are not available in WebAssembly");
  surg__buf_free(&name);
  return s;
}

surg_status surg_command_new(surg_context *ctx, const char *text,
                             const surg_command_options *options, surg_command **out) {
  if (!ctx || !text || !out) return SURG_EUSAGE;
  *out = NULL;
  surg_command *c = surg__calloc(ctx, 1, sizeof *c);
  if (!c) return surg__oom(ctx, NULL);
  c->ctx = ctx;
  surg__command_limits(&c->child, options);
  const surg_status s = surg__command_words(ctx, &c->child, text);
  if (s == SURG_OK)
    *out = c;
  else
    surg__free(ctx, c);
  return s;
}

void surg_command_free(surg_command *c) {
  if (!c) return;
  surg__child_free(&c->child);
  surg__free(c->ctx, c);
}

surg_status surg_command_run(surg_command *c, const char *file, int *code) {
  if (!c || !file || !code) return SURG_EUSAGE;
  *code = surg__child_run(&c->child, file);
  return *code < 0 ? surg__command_missing(c->ctx, &c->child) : SURG_OK;
}

const char *surg_command_program(const surg_command *c) {
  return c ? c->child.words[0] : NULL;
}
