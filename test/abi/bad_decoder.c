/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: its decoder of the format "bad" misbehaves. -DFAULT=NAME selects how. */
#include <onnxsurg/plugin.h>
#include <stdlib.h>
#include <string.h>

#define SHORT 1
#define LONG 2
#define PAST_END 3
#define FAILS 4
#define CRASH 5

static surg_status decode(void *user, const surg_encoded *e, uint64_t *written) {
  (void)user;
  memset(e->out, 0, (size_t)e->room);
  *written = e->room;
  switch (FAULT) {
    case SHORT:
      *written = e->room - 1;
      return SURG_OK;
    case LONG:
      *written = UINT64_MAX;
      return SURG_OK;
    case PAST_END:
      ((char *)e->out)[e->room] = 1;
      return SURG_OK;
    case FAILS:
      return SURG_EINVALID;
    default:
      abort();
  }
}

static const surg_decoder decoder = {.size = sizeof decoder, .format = "bad", .decode = decode};
static surg_status init(surg_registry *r) {
  return surg_registry_add_decoder(r, &decoder);
}
SURG_PLUGIN_ENTRY("bad", "1", init)
