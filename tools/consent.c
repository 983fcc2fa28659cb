/* SPDX-License-Identifier: Apache-2.0 */
/* `--allow` of the commands that repair. */
#include "consent.h"

#include <onnxsurg/names.h>
#include <string.h>

#include "cli.h"

void consent_spell(char *out, size_t size, repair_consent c) {
  out[0] = 0;
  if (c.most > SURG_ROUNDING || c.interface)
    snprintf(out, size, "--allow %s%s%s", c.most > SURG_ROUNDING ? surg_exactness_name(c.most) : "",
             c.most > SURG_ROUNDING && c.interface ? "," : "", c.interface ? "interface" : "");
}

int consent_take(const char *words, repair_consent *c) {
  char word[16];
  for (const char *p = words; *p;) {
    const size_t n = strcspn(p, ",");
    snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), p);
    if (!strcmp(word, "interface"))
      c->interface = true;
    else if (!surg_exactness_from_name(word, &c->most))
      return cli_usage(
          "--allow: expected exact, ulp, rounding, approx, lossy or interface, found \"%s\"", word);
    p += n + (p[n] != 0);
  }
  return EXIT_DONE;
}
