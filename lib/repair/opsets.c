/* SPDX-License-Identifier: Apache-2.0 */
/* The opset to which a search converts a model. */
#include <onnxsurg/info.h>
#include <stdio.h>
#include <string.h>

#include "repair/repair.h"

const surg__tspan *surg__repair_window(const surg__target *t) {
  for (size_t i = 0; i < t->opsets.count; i++)
    if (!t->opsets.items[i].name[0]) return &t->opsets.items[i];
  return NULL;
}

/* Appends the version of each of these operators ("A+B") in an opset, as text. */
static void put_versions(const surg__buf *ops, int64_t opset, surg__buf *out) {
  for (size_t i = 0, n; i < ops->n; i += n + 1) {
    char name[256];
    for (n = 0; i + n < ops->n && ops->p[i + n] != '+';) n++;
    snprintf(name, sizeof name, "%.*s", (int)n, ops->p + i);
    const surg_schema *s = surg_schema_find("", name, (int)opset);
    surg__buf_printf(out, "%d ", s ? surg_schema_since(s) : 0);
  }
  surg__buf_putc(out, '\n');
}

/* The opsets that a look-ahead search need not try: in them the rejected operators have the same
 * versions as in the model or in a nearer opset, so that a conversion changes these nodes no more.
 * Returns whether to leave out `to`, which counts as seen now. */
static bool is_seen(const surg__buf *ops, int64_t to, surg__buf *seen) {
  const size_t at = seen->n;
  put_versions(ops, to, seen);
  for (size_t i = 0, n = seen->n - at; i < at && !seen->failed; i++)
    if ((!i || seen->p[i - 1] == '\n') && at - i >= n && !memcmp(seen->p + i, seen->p + at, n)) {
      seen->n = at;
      return true;
    }
  return false;
}

bool surg__repair_best_opset(surg__repair *r, surg__consent given, const surg__repair_counts *now,
                             char *best, size_t size) {
  const surg__tspan *w = surg__repair_window(r->t);
  const int64_t have = surg_model_opset(r->m, ""), newest = surg_schema_newest("");
  const int64_t low = w && w->low > SURG__REPAIR_OLDEST ? w->low : SURG__REPAIR_OLDEST;
  const int64_t high = w && w->high < newest ? w->high : newest;
  size_t least = now->all;
  char text[64];
  surg__repair_ops ops;
  surg__buf seen;
  surg__repair_counts unused;
  surg__repair_ops_init(&ops, r->ctx);
  surg__buf_init(&seen, r->ctx);
  const bool some = r->depth && !now->count[SURG__C_OPSET] &&
                    surg__repair_count(r->t, r->m, &unused, &ops) == SURG_OK;
  if (some) put_versions(&ops.names, have, &seen);
  for (int64_t step = 1; step <= newest && least > 0; step++)
    for (int side = 0; side < 2; side++) {
      const int64_t to = side ? have + step : have - step;
      surg__repair_counts after;
      surg__consent needed = {SURG_EXACT, false};
      if (to < low || to > high || (some && is_seen(&ops.names, to, &seen))) continue;
      snprintf(text, sizeof text, "opset{to=%lld}", (long long)to);
      surg_model *copy = surg__repair_try(r, text, given, least, &after, &needed);
      if (copy && after.all < least && surg__repair_covers(given, needed)) {
        least = after.all;
        snprintf(best, size, "%s", text);
      }
      if (copy) surg_model_free(copy);
    }
  surg__repair_ops_free(&ops);
  surg__buf_free(&seen);
  return least < now->all;
}
