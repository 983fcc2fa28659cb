/* SPDX-License-Identifier: Apache-2.0 */
/* Shared declarations of the pass `prune`: prune.c removes nodes, values and strays,
 * prune_outputs.c unused outputs, prune_model.c functions and imports. */
#ifndef SURG_PRUNE_H
#define SURG_PRUNE_H

#include <onnxsurg/onnxsurg.h>

#define PRUNE_NESTING 1000 /* most levels of subgraphs; the loader's limit is far lower */

typedef struct prune {
  surg_pass_ctx *p;
  surg_model *m;
  const char *domain; /* prune_imports: only this domain; NULL: all */
  bool plain; /* only remove dead nodes and weights; do not change live nodes */
  bool deep;  /* with `plain`: also in subgraphs and functions */
  bool (*wanted)(const struct prune *pr, const surg_value *v); /* values to keep; or NULL */
  const void *user;
  bool changed;
  bool stop; /* the limit of rewrites is reached, or failed */
  bool failed;
} prune;

/* Counts one rewrite with the status s of its edit; false, and failed, if s is not SURG_OK. */
bool prune_did(prune *pr, surg_status s, const char *what);
/* Whether one more rewrite is allowed. */
bool prune_may(prune *pr);
/* Whether the value is unused, no output, and not protected. */
bool prune_unwanted(const prune *pr, const surg_value *v);

/* Runs all parts; `inputs`: also removes unused inputs of the model. */
void prune_all(prune *pr, bool inputs);
void prune_node_outputs(prune *pr, surg_node *n);
void prune_functions(prune *pr);
void prune_imports(prune *pr);

#endif
