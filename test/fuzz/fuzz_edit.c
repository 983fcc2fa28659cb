/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes as what a user writes about a model. The first byte chooses: an address of
 * nodes or values, a pattern, nodes as text, a tensor as text, or a pipeline. What is read selects
 * and adds what exists, and the model verifies; what is not read has a reason, and changes nothing. */
#include <onnxsurg/edit.h>

#include "fuzz.h"

enum { WHY = 300, ROOM = 8 };

static bool known(surg_status s) {
  return s == SURG_OK || s == SURG_EUSAGE || s == SURG_ENOTFOUND || fuzz_resource(s);
}

static void nodes(surg_model *m, const char *text) {
  surg_node *found[ROOM];
  size_t count = 0;
  char why[WHY] = "";
  const surg_status s = surg_select_nodes(m, text, found, ROOM, &count, why, sizeof why);
  require(known(s) && (s == SURG_OK || *why || fuzz_resource(s)));
  for (size_t i = 0; s == SURG_OK && i < count && i < ROOM; i++)
    require(surg_node_op_type(found[i]) != NULL);
}

static void values(surg_model *m, const char *text) {
  surg_value *found[ROOM];
  size_t count = 0;
  char why[WHY] = "";
  const surg_status s = surg_select_values(m, text, found, ROOM, &count, why, sizeof why);
  require(known(s) && (s == SURG_OK || *why || fuzz_resource(s)));
  for (size_t i = 0; s == SURG_OK && i < count && i < ROOM; i++)
    require(surg_value_graph(found[i]) != NULL);
}

static void pattern(surg_model *m, const char *text) {
  surg_matches *all = NULL;
  char why[WHY] = "";
  const surg_status s = surg_find(m, text, &all, why, sizeof why);
  require(known(s) && (s == SURG_OK) == (all != NULL));
  require(s == SURG_OK || *why || fuzz_resource(s));
  for (size_t i = 0; i < surg_matches_count(all); i++) {
    require(surg_matches_node(all, i, 0) != NULL);
    for (size_t k = 0; surg_matches_name(all, k); k++)
      require(!surg_matches_value(all, i, k) || !surg_matches_text(all, i, k));
  }
  surg_matches_free(all);
}

static void fragment(surg_model *m, const char *text) {
  surg_fragment *f = NULL;
  char why[WHY] = "";
  surg_graph *g = surg_model_graph(m);
  surg_status s = surg_fragment_new(g, text, &f, why, sizeof why);
  require(known(s) && (s == SURG_OK) == (f != NULL));
  require(s == SURG_OK || *why || fuzz_resource(s));
  if (!f) return;
  s = surg_fragment_insert(f, NULL);
  require(s != SURG_EINTERNAL && s != SURG_EERASED);
  for (size_t i = 0; s == SURG_OK && surg_fragment_name(f, i); i++)
    require(surg_fragment_made(f, i) != NULL);
  surg_fragment_free(f);
}

static void tensor(surg_model *m, const char *text) {
  surg_tensor *t = NULL;
  char why[WHY] = "";
  const surg_status s =
      surg_tensor_from_text(m, text, SURG_FLOAT, NULL, 0, &t, why, sizeof why);
  require(known(s) && (s == SURG_OK) == (t != NULL));
  require(s == SURG_OK || *why || fuzz_resource(s));
}

static void pipeline(surg_context *ctx, const char *text) {
  surg_pipeline *p = NULL, *q = NULL;
  char *printed = NULL, *twice = NULL;
  surg_status s = surg_pipeline_parse(ctx, text, "fuzz", &p);
  require(s != SURG_EINTERNAL && (s == SURG_OK) == (p != NULL));
  require(s == SURG_OK || surg_context_error(ctx));
  if (!p) return;
  s = surg_pipeline_text(p, &printed);
  require(s == SURG_OK || fuzz_resource(s));
  if (s == SURG_OK) {
    s = surg_pipeline_parse(ctx, printed, "again", &q);
    require(s == SURG_OK || fuzz_resource(s));
    if (s == SURG_OK) s = surg_pipeline_text(q, &twice);
    require(s != SURG_OK || strcmp(printed, twice) == 0);
  }
  surg_context_free_bytes(ctx, printed);
  surg_context_free_bytes(ctx, twice);
  surg_pipeline_free(p);
  surg_pipeline_free(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  surg_context *ctx = fuzz_shared_context();
  char *text = malloc(size);
  require(text != NULL);
  memcpy(text, data + 1, size - 1);
  text[size - 1] = 0;
  surg_model *m = fuzz_model(ctx, fuzz_sample, sizeof fuzz_sample - 1);
  require(m != NULL);
  switch (data[0] % 6) {
    case 0: nodes(m, text); break;
    case 1: values(m, text); break;
    case 2: pattern(m, text); break;
    case 3: fragment(m, text); break;
    case 4: tensor(m, text); break;
    default: pipeline(ctx, text);
  }
  if (surg_model_status(m) == SURG_OK) require(surg_model_verify(m) == SURG_OK);
  surg_model_free(m);
  free(text);
  return 0;
}
