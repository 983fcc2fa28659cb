/* SPDX-License-Identifier: Apache-2.0 */
#include "outlook.h"

#include <stdlib.h>
#include <string.h>

static void put_command(cli_text *b, const surg_outlook *o, const char *path) {
  cli_text_puts(b, "onnxsurg mend ");
  if (o->allow > SURG_ROUNDING) cli_text_puts(b, "--allow approx ");
  if (o->allow_interface) cli_text_puts(b, "--interface ");
  char *name = cli_escaped(path, 0);
  cli_text_puts(b, name ? name : "IN");
  free(name);
  cli_text_puts(b, " OUT");
}

void outlook_put(cli_text *b, const surg_outlook *o, const char *path) {
  if (o->mended == SURG_MENDED_NONE) return;
  put_command(b, o, path);
  if (o->mended == SURG_MENDED_ALL)
    cli_text_puts(b, " cures all errors");
  else if (o->errors)
    cli_text_printf(b, " makes the model writable; %zu error%s remain%s", o->errors,
                    o->errors == 1 ? "" : "s", o->errors == 1 ? "s" : "");
  else
    cli_text_printf(b, " cures %zu warning%s", o->warnings, o->warnings == 1 ? "" : "s");
}

json_t *outlook_json(const surg_outlook *o) {
  static const char *const kinds[] = {
      [SURG_MENDED_NONE] = "none", [SURG_MENDED_SOME] = "some", [SURG_MENDED_ALL] = "all"};
  _Static_assert(CLI_COUNT(kinds) == SURG_MENDED_ALL + 1, "a word for each kind");
  char with[64];
  consent_spell(with, sizeof with, (repair_consent){(surg_exactness)o->allow, o->allow_interface});
  return json_pack("{s:s,s:s,s:I}", "cures", kinds[o->mended], "consent", with, "remain",
                   (json_int_t)o->errors);
}
