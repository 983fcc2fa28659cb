/* SPDX-License-Identifier: Apache-2.0 */
/* `--dim NAME=N` of the commands that run models. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

bool cli_dims_take(cli_dims *d, char *arg) {
  char *eq = strchr(arg, '=');
  uint64_t n;
  if (!eq || eq == arg || !cli_number(eq + 1, &n) || n > INT32_MAX) return false;
  surg_size *grown = realloc(d->items, (d->n + 1) * sizeof *grown);
  if (!grown) return false;
  *eq = 0;
  d->items = grown;
  grown[d->n++] = (surg_size){.size = sizeof(surg_size), .name = arg, .value = (int64_t)n};
  return true;
}

void cli_dims_free(cli_dims *d) {
  free(d->items);
}
