/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest model that still shows a behaviour, by delta debugging. Since 0.2. */
#ifndef ONNXSURG_REDUCE_H
#define ONNXSURG_REDUCE_H

#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a candidate still shows the behaviour. The candidate is borrowed; it may be saved, run or
 * inferred, but not edited. */
typedef bool (*surg_reduce_test)(void *user, surg_model *candidate);

typedef struct surg_reduce_options {
  uint32_t size;              /* sizeof(surg_reduce_options) */
  uint64_t timeout_ms;        /* after which the smallest model so far is the result; 0: none */
  bool (*cancel)(void *user); /* asked before each test; true: as if time was up. May be NULL */
  /* Called after each test: nodes of the smallest model so far, and tests made. May be NULL. */
  void (*progress)(void *user, size_t nodes, size_t tests);
  void *user; /* of cancel and progress */
  /* Then also replace weights by inputs, make sizes of inputs 1, and convert to the oldest opset
   * from 7 on with no more nodes. Since 0.5 */
  bool shrink;
} surg_reduce_options;

typedef struct surg_reduce_report {
  uint32_t size;        /* set by the caller: sizeof(surg_reduce_report) */
  size_t before, after; /* nodes of the main graph */
  size_t tests;         /* candidates that were tested, without the model itself */
  bool stopped;         /* time was up, or it was cancelled */
} surg_reduce_report;

/* Replaces *model, of which the test must be true, by the smallest model found of which it still
 * is. Candidates are clones from which a run of nodes of the main graph is cut out: what others
 * read from the cut becomes a graph input of the type that is known for it, what only left the
 * graph there is no output any more, and where no output would be left, what the cut read becomes
 * one. Then `prune` is run on them. The result is 1-minimal at best: without any one node the test
 * fails. `options` and `report` may be NULL. SURG_EINVALID, reported: the test is false of *model,
 * which stays as it is then. Diagnostics about candidates are not reported. Cost: O(nodes log
 * nodes) tests as a rule, O(nodes^2) at worst, each with a clone. */
SURG_EXPORT surg_status surg_reduce(surg_model **model, surg_reduce_test test, void *user,
                                    const surg_reduce_options *options, surg_reduce_report *report);

#ifdef __cplusplus
}
#endif
#endif
