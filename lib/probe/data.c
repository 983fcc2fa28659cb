/* SPDX-License-Identifier: Apache-2.0 */
/* Writes inputs and expected outputs beside the models that an importer is asked about. */
#include <onnxsurg/evaluate.h>
#include <onnxsurg/ops.h>
#include <stdio.h>

#include "base/os/os.h"
#include "probe/probe.h"

#define OUTPUTS_MAX 16u /* most outputs of a model whose results are written */
/* Budgets of the run of one model: models of the probe are small. */
#define BYTES_MAX (UINT64_C(1) << 24)
#define WORK_MAX (UINT64_C(1) << 28)
#define TURNS_MAX 1000u
#define DATA_PATH (SURG__PROBE_PATH + 64) /* bytes of the path of a file of data */

void surg__probe_remove_data(const char *path) {
  char file[DATA_PATH], folder[SURG__PROBE_PATH + 8];
  static const char *const stems[] = {"input", "output"};
  snprintf(folder, sizeof folder, "%s.data", path);
  if (!surg__os_exists(folder)) return;
  for (size_t s = 0; s < SURG_COUNT(stems); s++)
    for (size_t i = 0; i < UINT32_MAX; i++) {
      snprintf(file, sizeof file, "%s/%s_%zu.pb", folder, stems[s], i);
      if (surg__os_unlink(file)) break;
    }
  surg__os_remove_folder(folder);
}

static bool save(const char *path, const char *stem, size_t i, const surg_array *a) {
  char file[DATA_PATH];
  snprintf(file, sizeof file, "%s.data/%s_%zu.pb", path, stem, i);
  return a && surg_array_kind(a) == SURG_TYPE_TENSOR &&
         surg_array_save(a, file, SURG_ARRAY_PB, NULL) == SURG_OK;
}

/* Saves the inputs of a run that are made up, and its outputs. */
static bool save_all(const surg_model *m, const surg_inputs *in, surg_array *const *out,
                     size_t n_out, const char *path) {
  const surg_graph *g = surg_model_graph(m);
  bool good = true;
  for (size_t i = 0; good && i < surg_graph_input_count(g); i++) {
    surg_array *a = NULL;
    good = surg_inputs_get(in, i, &a) == SURG_OK && save(path, "input", i, a);
    surg_array_free(a);
  }
  for (size_t i = 0; good && i < n_out; i++) good = save(path, "output", i, out[i]);
  return good;
}

/* Whether the results are constants: how an engine passes on constant outputs is another question.
 */
static bool is_constant(const surg_model *m) {
  const int op = surg_node_op(surg__probe_node((surg_model *)(uintptr_t)m));
  return !surg_graph_input_count(surg_model_graph(m)) || op == SURG_OP_Shape || op == SURG_OP_Size;
}

bool surg__probe_write_data(surg__probe *p, surg_model *m, const char *path) {
  surg_session *session = NULL;
  surg_inputs *in = NULL;
  surg_array *out[OUTPUTS_MAX] = {NULL};
  char folder[SURG__PROBE_PATH + 8];
  const size_t n = surg_graph_output_count(surg_model_graph(m));
  const surg_inputs_options random = {.size = sizeof random, .seed = 1};
  const surg_schema *s = surg_node_schema(surg__probe_node(m));
  if (!n || n > OUTPUTS_MAX || is_constant(m) || (s && s->flags & SURG__OP_NONDETERMINISTIC))
    return false;
  const surg_engine_options budget = {.size = sizeof budget,
                                      .max_bytes = BYTES_MAX,
                                      .max_work = WORK_MAX,
                                      .max_turns = TURNS_MAX,
                                      .no_random = true};
  if (!p->engine && surg_engine_new(p->ctx, &budget, &p->engine) != SURG_OK) return false;
  snprintf(folder, sizeof folder, "%s.data", path);
  bool good = surg_inputs_new(m, &random, &in) == SURG_OK &&
              surg_session_new(p->engine, m, &session) == SURG_OK &&
              surg_session_run(session, in, out, n) == SURG_OK && surg__os_make_folder(folder) == 0;
  if (good && !save_all(m, in, out, n, path)) {
    surg__probe_remove_data(path);
    good = false;
  }
  for (size_t i = 0; i < n; i++) surg_array_free(out[i]);
  surg_session_free(session);
  surg_inputs_free(in);
  return good;
}
