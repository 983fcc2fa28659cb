/* SPDX-License-Identifier: Apache-2.0 */
/* Which rewrite of a run is the first one after which a test fails. Since 0.3. */
#ifndef ONNXSURG_BISECT_H
#define ONNXSURG_BISECT_H

#include <onnxsurg/reduce.h>
#include <onnxsurg/run.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct surg_bisect_options {
  uint32_t size;               /* sizeof(surg_bisect_options) */
  const surg_run_options *run; /* of every run; its limit, paths and proof are not used. May be
                                * NULL */
  bool (*cancel)(void *user);  /* asked before each test; true ends the search. May be NULL */
  /* Called after each test: the number of rewrites, and whether the model passed. May be NULL. */
  void (*progress)(void *user, uint64_t rewrites, bool passed);
  void *user; /* of cancel and progress */
} surg_bisect_options;

/* What a search found. It belongs to the context of the model, and owns two models. */
typedef struct surg_bisection surg_bisection;

typedef struct surg_bisect_summary {
  uint32_t size;     /* set by the caller: sizeof(surg_bisect_summary) */
  uint64_t rewrites; /* of the whole run */
  uint64_t first;    /* rewrite after which the test fails, from 1 on; 0: an edit of a pass that
                      * is counted as no rewrite */
  uint64_t tests;
  const char *pass; /* the pass that made it; lasts as long as the bisection, as `rule` does */
  const char *rule; /* the rewrite rule; "": it was none of a rule */
} surg_bisect_summary;

/* Runs a pipeline with limits on the number of rewrites, and finds by bisection two limits that
 * differ by one, of which the test passes the model of the lower one and fails that of the higher
 * one. Runs repeat exactly, so this rewrite makes the test fail, if rewrites before it do not. The
 * test gets a borrowed model that it must not edit. *model is unchanged. SURG_EINVALID, reported:
 * the test fails without any rewrite; SURG_ENOTFOUND: it passes after the whole run;
 * SURG_ECANCELLED; failures of the run, reported. Cost: O(log rewrites) runs and tests. Free *out
 * with surg_bisection_free. */
SURG_EXPORT surg_status surg_bisect(const surg_model *model, const char *pipeline,
                                    surg_reduce_test test, void *user,
                                    const surg_bisect_options *options, surg_bisection **out);
/* Fills in what was found. SURG_EUSAGE for NULL. */
SURG_EXPORT surg_status surg_bisection_get(const surg_bisection *b, surg_bisect_summary *out);
/* The model before (`after` false) or after the rewrite, borrowed. */
SURG_EXPORT surg_model *surg_bisection_model(const surg_bisection *b, bool after);
/* Frees what was found, with both models; NULL is allowed. */
SURG_EXPORT void surg_bisection_free(surg_bisection *b);

#ifdef __cplusplus
}
#endif
#endif
