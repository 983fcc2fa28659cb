/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of a lenient load in the public API. */
#include "check/check.h"
#include "io/io.h"

size_t surg_model_finding_count(const surg_model *m) {
  return m && m->status == SURG_OK ? m->defects.count : 0;
}

bool surg_model_finding(surg_model *m, size_t i, surg_finding *out) {
  if (!m || !out || i >= surg_model_finding_count(m)) return false;
  if (surg__model_settle(m) != SURG_OK) return false;
  surg__defect *d = &m->defects.items[i];
  const char *where = surg__defect_place(m, d);
  const surg_finding f = {
      .size = sizeof f,
      .severity = d->severity,
      .code = d->code,
      .where = where ? where : "model",
      .text = d->text,
      .cure = surg__check_rule(d->code)->hint,
      .reading = d->reading,
      .cured = d->cured,
      .graph = d->graph,
      .node = d->node,
      .value = d->value,
      .attribute = d->attr ? d->attr->name : NULL,
      .function = d->function,
      .first = d->first && !d->first->erased ? d->first : NULL,
  };
  const size_t n = out->size && out->size < sizeof f ? out->size : sizeof f;
  const uint32_t size = out->size;
  memcpy(out, &f, n);
  out->size = size;
  return true;
}
