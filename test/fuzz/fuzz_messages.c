/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes as a file of messages, and the same bytes as the output of an importer. What
 * is found in the output by the messages of the file and by the built-in ones is explained, and
 * looked for in a model. */
#include <onnxsurg/explain.h>

#include "fuzz.h"
#include "target/messages.h"

static void place(void *user, const char *where, const char *text) {
  (void)user;
  require(where && text);
}

static void explained(void *model, const surg_explanation *e) {
  require(e->id && e->line && e->number > 0);
  const surg_status s = surg_explanation_look(e, model, place, NULL, NULL);
  require(s == SURG_OK || s == SURG_ENOTFOUND || s == SURG_EINVALID || fuzz_resource(s));
}

static void explain(surg_context *ctx, surg__messages *all, const char *text, size_t n) {
  surg_model *m = fuzz_model(ctx, fuzz_sample, sizeof fuzz_sample - 1);
  require(m != NULL);
  const surg_status s = surg_explain(all, text, n, NULL, explained, m, NULL);
  require(s == SURG_OK || fuzz_resource(s));
  surg_model_free(m);
}

/* The built-in messages are read once: that takes longer than the rest of a run. */
static surg__messages *builtin(void) {
  static surg__messages *all;
  if (!all) {
    all = surg__messages_new(fuzz_context());
    require(all && surg__messages_read_builtin(all) == SURG_OK);
  }
  return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char samples[] =
      "[E] Node (Conv_12) Op (Resize) not implemented: type FLOAT16 at input 'x'\n"
      "Unsupported operator com.acme.Custom, node y: d1, z; opset 17 is not supported\n"
      "While parsing node number 12 [Resize]: ERROR: builtin_op_importers.cpp:2593: failed\n";
  surg_context *ctx = fuzz_context();
  surg__messages *all = surg__messages_new(ctx);
  require(all != NULL);
  const surg_status s = surg__messages_read(all, (const char *)data, size, "fuzz");
  require(s != SURG_EINTERNAL && (s == SURG_OK || surg_context_error(ctx)));
  if (s == SURG_OK)
    explain(ctx, all, samples, sizeof samples - 1);
  else
    explain(ctx, builtin(), (const char *)data, size);
  surg__messages_free(all);
  surg_context_free(ctx);
  return 0;
}
