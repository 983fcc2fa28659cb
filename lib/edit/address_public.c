/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as public functions (onnxsurg/edit.h). */
#include "edit/edit.h"

#define WHY 1024 /* of a caller that does not want the reason: the search reads it */

static surg_status begin(surg__search *s, char *why, size_t why_room, char *own) {
  if (!s->m || !s->text) return SURG_EUSAGE;
  if (surg_model_status(s->m) != SURG_OK) return surg_model_status(s->m);
  s->ctx = surg_model_context(s->m);
  s->why = why && why_room ? why : own;
  s->room = why && why_room ? why_room : WHY;
  s->why[0] = 0;
  return SURG_OK;
}

surg_status surg_select_nodes(surg_model *m, const char *address, surg_node **out, size_t room,
                              size_t *count, char *why, size_t why_room) {
  char own[WHY];
  surg__search s = {.m = m, .text = address};
  if (count) *count = 0;
  surg_status status = begin(&s, why, why_room, own);
  if (status == SURG_OK) status = surg__search_run(&s);
  if (status == SURG_OK && count) *count = s.nodes.count;
  for (size_t i = 0; status == SURG_OK && out && i < s.nodes.count && i < room; i++)
    out[i] = s.nodes.items[i];
  if (status == SURG_OK && out && s.nodes.count > room) status = SURG_ELIMIT;
  if (s.ctx) surg__search_free(&s);
  return status;
}

surg_status surg_select_values(surg_model *m, const char *address, surg_value **out, size_t room,
                               size_t *count, char *why, size_t why_room) {
  char own[WHY];
  surg__search s = {.m = m, .text = address, .want_values = true};
  if (count) *count = 0;
  surg_status status = begin(&s, why, why_room, own);
  if (status == SURG_OK) status = surg__search_run(&s);
  if (status == SURG_OK && count) *count = s.values.count;
  for (size_t i = 0; status == SURG_OK && out && i < s.values.count && i < room; i++)
    out[i] = s.values.items[i];
  if (status == SURG_OK && out && s.values.count > room) status = SURG_ELIMIT;
  if (s.ctx) surg__search_free(&s);
  return status;
}
