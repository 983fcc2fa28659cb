/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the models of the unit test of inference to a folder, so that `infer` can run them.
 *
 *   infer_rows_save FOLDER
 */
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <string.h>

#include "../unit/infer/infer_rows.h"

static bool save(surg_context *ctx, const infer_row *r, const char *folder, const char *list,
                 unsigned i) {
  char text[4096], path[4096];
  surg_model *m = NULL;
  snprintf(path, sizeof path, "%s/%s_%03u.onnx", folder, list, i);
  bool ok = infer_row_text(r, text, sizeof text) &&
            surg_model_load_text(ctx, text, strlen(text), "row", &m) == SURG_OK;
  /* The type of the output in the text is a stopgap. */
  if (ok) {
    surg_graph *g = surg_model_graph(m);
    for (size_t k = 0; k < surg_graph_output_count(g); k++)
      ok = ok && surg_value_set_declared_type(surg_graph_output(g, k), NULL) == SURG_OK;
    ok = ok && surg_model_save(m, path, NULL) == SURG_OK;
  }
  if (!ok) fprintf(stderr, "%s: %s\n", path, surg_context_error(ctx));
  surg_model_free(m);
  return ok;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    const infer_row *rows;
    const unsigned *count;
  } lists[] = {{"row", infer_rows, &infer_row_count},
               {"symbolic", infer_symbolic, &infer_symbolic_count},
               {"contrib", infer_contrib, &infer_contrib_count}};
  if (argc != 2) return 2;
  surg_context *ctx = surg_context_new(NULL);
  bool ok = ctx != NULL;
  for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
    for (unsigned i = 0; i < *lists[l].count; i++)
      ok = save(ctx, &lists[l].rows[i], argv[1], lists[l].name, i) && ok;
  surg_context_free(ctx);
  return ok ? 0 : 1;
}
