/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of the built-in evaluator on the inputs that the options `inputs` and `draws` of a pass
 * give: folders or .npz files, folders of folders test_data_set_0, 1 ..., or drawn inputs. */
#ifndef SURG_PASSES_SAMPLES_H
#define SURG_PASSES_SAMPLES_H

#include <onnxsurg/evaluate.h>
#include <onnxsurg/onnxsurg.h>

/* A model that can run, and the results of its last run. */
typedef struct samples_runs {
  surg_model *m;
  surg_engine *engine;
  surg_session *session;
  surg_array **out;
  size_t n_out;
} samples_runs;

/* Whether the user gives inputs. */
bool samples_given(const surg_pass_ctx *p);
/* The inputs of sample i for a model. SURG_ENOTFOUND: there is no such sample; other failures are
 * reported. */
surg_status samples_inputs(surg_pass_ctx *p, surg_model *m, uint64_t i, surg_inputs **in);
/* Prepares runs of m, which stays with the caller. Close it also after a failure: EINVALID and
 * EUNSUPPORTED: the evaluator cannot run the model. */
surg_status samples_open(surg_pass_ctx *p, surg_model *m, const surg_engine_options *how,
                         samples_runs *r);
/* Runs it on sample i, and gives the inputs in *in if `in` is not NULL. Without such a sample
 * (SURG_ENOTFOUND) the results of the last one stay. */
surg_status samples_run(surg_pass_ctx *p, samples_runs *r, uint64_t i, surg_inputs **in);
/* Frees the results of the last run. */
void samples_clear(samples_runs *r);
void samples_close(samples_runs *r);

#endif
