/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that npm distributes, as importers: "npm:PACKAGE@VERSION". Node runs npm.cjs, which is
 * part of the program. */
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "probe/importer.h"

#define INSTALL_SECONDS 600u /* of one download */

/* Whether text is [@SCOPE/]NAME@VERSION, in characters that need no quotes anywhere. */
static bool is_spec(const char *text) {
  static const char allowed[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+/@";
  const char *version = strrchr(text, '@');
  return version && version > text && version[1] && strspn(text, allowed) == strlen(text) &&
         !strstr(text, "..");
}

surg_status surg__npm_command(surg_context *ctx, surg__child *c, const char *spec) {
  if (!is_spec(spec))
    return surg__error(ctx, SURG_EUSAGE, "onnxsurg",
                       "importer npm:%s: expected a package with its version, such as "
                       "npm:onnxruntime-node@1.22.0",
                       surg__q(ctx, spec));
  const char *const words[] = {"node", "-e", surg__npm_script, "--", spec, "{...}"};
  return surg__child_set(c, words, SURG_COUNT(words)) ? SURG_OK : surg__oom(ctx, NULL);
}

surg_status surg__npm_install(surg_importer *im, const char *spec) {
  const uint64_t seconds = im->child.seconds;
  int code = 0;
  im->child.seconds = INSTALL_SECONDS;
  const surg_status s = surg__importer_run(im, NULL, 0, &code);
  im->child.seconds = seconds;
  if (s != SURG_OK || !code) return s;
  if (code < 0) return surg__command_missing(im->ctx, &im->child);
  im->text[strcspn(im->text, "\n")] = 0;
  return surg__error(im->ctx, SURG_EUSAGE, "onnxsurg", "importer npm:%s: %s", spec,
                     code == SURG__CHILD_LATE ? "npm did not finish in time"
                     : *im->text              ? surg__q(im->ctx, im->text)
                                              : "npm failed");
}
