/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that teaches a format of weights, com.acme.xor: every byte in the data file is combined
 * with one byte of a key by exclusive or. A tensor is in this format if its external_data has the
 * entries `format` and `key`:
 *
 *   float[4] w = ["location": "w.bin", "offset": "0", "length": "16",
 *                 "format": "com.acme.xor", "key": "90"]
 *
 *   onnxsurg run --plugin ./decoder.so model.onnx */
#include <onnxsurg/plugin.h>
#include <stdlib.h>
#include <string.h>

/* The value of an entry, or NULL. */
static const char *entry(const surg_encoded *e, const char *key) {
  for (size_t i = 0; i < e->n_keys; i++)
    if (strcmp(e->keys[i].p, key) == 0) return e->values[i].p;
  return NULL;
}

static surg_status decode(void *user, const surg_encoded *e, uint64_t *written) {
  const uint8_t *from = e->bytes;
  uint8_t *to = e->out;
  const char *key = entry(e, "key");
  (void)user;
  if (!key) return SURG_EINVALID;
  const uint8_t mask = (uint8_t)atoi(key);
  *written = e->n; /* more than `room`: an error that names this plugin and the tensor */
  for (uint64_t i = 0; i < e->n && i < e->room; i++) to[i] = from[i] ^ mask;
  return SURG_OK;
}

static const surg_decoder decoder = {
    .size = sizeof(surg_decoder), .format = "com.acme.xor", .decode = decode};

static surg_status init(surg_registry *r) {
  return surg_registry_add_decoder(r, &decoder);
}

SURG_PLUGIN_ENTRY("decoder", "1.0", init)
