/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a model; its last bytes choose edits that every writer of a message meets (names,
 * types, documentation, metadata, imports, attributes, weights). What is saved after them is read
 * again as the same model: saved once more it has the same bytes, and as text the same text. */
#include "fuzz.h"

typedef struct bytes {
  void *p;
  size_t n;
} bytes;

/* Edits the graph by one byte of the input; a mutation may be refused. */
static void edit(surg_model *m, unsigned byte) {
  surg_graph *g = surg_model_graph(m);
  surg_node *n = surg_graph_first_node(g);
  for (unsigned skip = byte >> 3; n && skip; skip--) n = surg_node_next(n);
  char name[16];
  snprintf(name, sizeof name, "e%u", byte);
  switch (byte & 7) {
    case 0:
      if (n) surg_node_set_name(n, name);
      break;
    case 1:
      if (n) surg_node_set_int(n, name, (int64_t)byte << 40);
      break;
    case 2:
      if (n) surg_node_set_string(n, name, "\n\"\\");
      break;
    case 3:
      if (n && surg_node_attr_count(n))
        surg_node_remove_attr(n, surg_attr_name(surg_node_attr_at(n, 0)));
      break;
    case 4:
      if (n && surg_node_input_count(n)) surg_node_set_input(n, 0, NULL);
      break;
    case 5:
      if (n && surg_node_output_count(n) && surg_node_output(n, 0))
        surg_value_rename(surg_node_output(n, 0), name);
      break;
    case 6:
      surg_model_set_metadata(m, name, "value");
      break;
    default:
      if (n) surg_node_erase(n);
  }
}

static bool save(surg_model *m, bytes *out) {
  const surg_status s = surg_model_save_memory(m, &out->p, &out->n);
  require(s == SURG_OK || fuzz_resource(s));
  return s == SURG_OK;
}

/* The text of a model; its caller frees it. */
static char *text_of(surg_model *m, size_t *n) {
  char *text = NULL;
  const surg_status s = surg_model_save_text(m, true, &text, n);
  require(s == SURG_OK || fuzz_resource(s));
  return text;
}

static void compare(surg_context *ctx, surg_model *m, const bytes *first) {
  const surg_load_options options = {.size = sizeof options, .no_external = true};
  surg_model *again = NULL;
  bytes second = {NULL, 0};
  const surg_status s =
      surg_model_load_memory(ctx, first->p, first->n, "again", &options, &again);
  require(s != SURG_EINTERNAL);
  if (s != SURG_OK) return; /* an edit may make a model that the rules of ONNX forbid */
  if (save(again, &second)) {
    require(second.n == first->n && memcmp(second.p, first->p, first->n) == 0);
    surg_context_free_bytes(ctx, second.p);
  }
  size_t na = 0, nb = 0;
  char *a = text_of(m, &na), *b = text_of(again, &nb);
  require(!a || !b || (na == nb && memcmp(a, b, na) == 0));
  surg_context_free_bytes(ctx, a);
  surg_context_free_bytes(ctx, b);
  surg_model_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 4) return 0;
  surg_context *ctx = fuzz_shared_context();
  surg_model *m = fuzz_model(ctx, data, size);
  if (!m) return 0;
  bytes out = {NULL, 0};
  for (size_t i = 1; i <= 3; i++) edit(m, data[size - i]);
  require(surg_model_status(m) == SURG_OK || fuzz_resource(surg_model_status(m)));
  if (surg_model_status(m) == SURG_OK) {
    require(surg_model_verify(m) == SURG_OK);
    if (save(m, &out)) compare(ctx, m, &out);
    surg_context_free_bytes(ctx, out.p);
  }
  surg_model_free(m);
  return 0;
}
