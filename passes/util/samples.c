/* SPDX-License-Identifier: Apache-2.0 */
/* See samples.h. */
#include "samples.h"

#include <stdio.h>

#define SETS_MOST 4096 /* folders test_data_set_0, 1 ... of a folder */
#define DRAWS_MOST 1024
#define PATH_MOST 4096

bool samples_given(const surg_pass_ctx *p) {
  return surg_pass_list_count(p, "inputs") > 0;
}

/* Whether sample i exists; `path` becomes its folder or .npz, for drawn inputs "". */
static bool find(surg_pass_ctx *p, uint64_t i, char path[PATH_MOST]) {
  surg_context *ctx = surg_pass_context(p);
  path[0] = 0;
  const int64_t draws = surg_pass_int(p, "draws");
  if (!samples_given(p)) return draws > 0 && i < (uint64_t)draws && i < DRAWS_MOST;
  for (size_t k = 0; k < surg_pass_list_count(p, "inputs"); k++) {
    const char *folder = surg_pass_list_at(p, "inputs", k);
    uint64_t sets = 0;
    for (; sets < SETS_MOST; sets++) {
      char *file = NULL;
      const int n =
          snprintf(path, PATH_MOST, "%s/test_data_set_%llu", folder, (unsigned long long)sets);
      if (n >= PATH_MOST || surg_data_file(ctx, path, "input", 0, &file) != SURG_OK) break;
      surg_context_free_bytes(ctx, file);
      if (sets == i) return true;
    }
    if (!sets) {
      snprintf(path, PATH_MOST, "%s", folder);
      if (i == 0) return true;
      sets = 1;
    }
    i -= sets;
  }
  return false;
}

surg_status samples_inputs(surg_pass_ctx *p, surg_model *m, uint64_t i, surg_inputs **in) {
  char path[PATH_MOST];
  if (!find(p, i, path)) return SURG_ENOTFOUND;
  const surg_inputs_options how = {.size = sizeof how, .fill = SURG_FILL_RANDOM, .seed = i + 1};
  surg_status s = surg_inputs_new(m, &how, in);
  if (s == SURG_OK && path[0]) s = surg_inputs_read_all(*in, path);
  if (s == SURG_OK && path[0]) s = surg_inputs_require_all(*in, path);
  return s;
}

surg_status samples_open(surg_pass_ctx *p, surg_model *m, const surg_engine_options *how,
                         samples_runs *r) {
  *r = (samples_runs){.m = m};
  surg_status s = surg_engine_new(surg_pass_context(p), how, &r->engine);
  if (s == SURG_OK) s = surg_session_new(r->engine, m, &r->session);
  if (s != SURG_OK) return s;
  r->n_out = surg_graph_output_count(surg_model_graph(m));
  r->out = surg_pass_alloc(p, (r->n_out + 1) * sizeof *r->out);
  return r->out ? SURG_OK : SURG_ENOMEM;
}

surg_status samples_run(surg_pass_ctx *p, samples_runs *r, uint64_t i, surg_inputs **in) {
  surg_inputs *own = NULL;
  surg_status s = samples_inputs(p, r->m, i, &own);
  if (s != SURG_ENOTFOUND) samples_clear(r);
  if (s == SURG_OK) s = surg_session_run(r->session, own, r->out, r->n_out);
  if (in)
    *in = own;
  else
    surg_inputs_free(own);
  return s;
}

void samples_clear(samples_runs *r) {
  for (size_t i = 0; r->out && i < r->n_out; i++) {
    surg_array_free(r->out[i]);
    r->out[i] = NULL;
  }
}

void samples_close(samples_runs *r) {
  samples_clear(r);
  surg_session_free(r->session);
  surg_engine_free(r->engine);
  *r = (samples_runs){0};
}
