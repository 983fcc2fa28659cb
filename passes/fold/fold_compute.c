/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the fold pass: evaluates a node within the limits, and gives the size of the results
 * in the file and their exactness. */
#include "../util/allow.h"
#include "fold.h"

#include <assert.h>

/* Limit on the work of a whole run, in scalar operations; fold_compute counts up to 16 times
 * what was done. */
#define RUN_WORK (UINT64_C(1) << 36)

void fold_used(fold_state *f, const surg_node *n, surg_tensor *const *results, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (results[i])
      surg_pass_used(f->pass, surg_node_result_exactness(n, surg_tensor_dtype(results[i])));
}

/* Whether the user permits the exactness class of the results of n. */
static bool consent(fold_state *f, const surg_node *n) {
  surg_exactness worst = SURG_EXACT;
  if (surg_pass_allows(f->pass, SURG_LOSSY)) return true;
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    const surg_exactness e = v ? surg_node_result_exactness(n, surg_type_dtype(surg_value_type(v)))
                               : SURG_EXACT;
    if (e > worst) worst = e;
  }
  return surg_pass_allows(f->pass, worst) || fold_leave(f, n, allow_cure(worst));
}

/* Evaluates n with a work limit that grows in steps, so that the counted work is close to the
 * actual work. */
static surg_status evaluate(fold_state *f, surg_node *n, surg_tensor *const *in, uint64_t bytes,
                            surg_tensor **out, size_t count, const char **why) {
  surg_status s = SURG_ELIMIT;
  for (uint64_t work = 1 << 12; s == SURG_ELIMIT; work *= 16) {
    if (work > f->max_work) work = f->max_work;
    assert(work <= f->max_work);
    s = surg_node_evaluate_on(n, in, bytes, work, out, count, why);
    if (s == SURG_OK) f->work = fold_plus(f->work, work);
    if (work == f->max_work || work > UINT64_MAX / 16) break;
  }
  return s;
}

surg_tensor **fold_compute(fold_state *f, surg_node *n, surg_tensor *const *in, uint64_t bytes) {
  size_t count = surg_node_output_count(n);
  if (!consent(f, n)) return NULL;
  const char *why = "the run has done as much work as it may";
  surg_status s = SURG_ELIMIT;
  surg_tensor **out = surg_pass_alloc(f->pass, (count + 1) * sizeof *out);
  if (bytes > f->max_bytes) bytes = f->max_bytes;
  assert(bytes <= f->max_bytes);
  if (out && f->work <= RUN_WORK) s = evaluate(f, n, in, bytes, out, count, &why);
  /* An I/O error fails the pass: the data is missing for every user of the model. */
  if (!out || s == SURG_ENOMEM || s == SURG_EIO || surg_model_status(f->model) != SURG_OK)
    f->failed = true;
  else if (s != SURG_OK)
    fold_leave(f, n, why);
  assert(s != SURG_OK || out);
  return s == SURG_OK && !f->failed ? out : NULL;
}

uint64_t fold_bytes(const surg_node *n, surg_tensor *const *results, size_t count) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; i++) {
    const surg_value *v = surg_node_output(n, i);
    if (results[i] && v && surg_value_use_count(v, 1) > 0)
      bytes = fold_plus(bytes, surg_graph_constant_bytes(surg_node_graph(n), surg_value_name(v),
                                                         results[i]));
  }
  return bytes;
}
