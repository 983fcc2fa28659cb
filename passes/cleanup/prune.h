/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the pass `prune` share: prune.c removes nodes, values and strays,
 * prune_outputs.c unused outputs, prune_model.c functions and imports. */
#ifndef SURG_PRUNE_H
#define SURG_PRUNE_H

#include <onnxsurg/onnxsurg.h>

#define PRUNE_NESTING 1000 /* of subgraphs; the reader refuses files far below this */

typedef struct prune {
  surg_pass_ctx *p;
  surg_model *m;
  const char *domain; /* prune_imports: of this domain alone; NULL: of all */
  bool plain; /* nodes that stay are not touched: dead ones and weights alone go */
  bool (*wanted)(const struct prune *pr, const surg_value *v); /* what stays, too; or NULL */
  const void *user;
  bool changed;
  bool stop; /* no more rewrites are allowed, or something failed: see failed */
  bool failed;
} prune;

/* Counts one rewrite that was done or refused; `s` is what the edit returned. */
bool prune_did(prune *pr, surg_status s, const char *what);
/* Whether one more rewrite may be made. */
bool prune_may(prune *pr);
/* Whether nothing needs the value: no reader, no output entry, no wish of the user. */
bool prune_unwanted(const prune *pr, const surg_value *v);

/* All of it; `inputs`: of the model as well. */
void prune_all(prune *pr, bool inputs);
void prune_node_outputs(prune *pr, surg_node *n);
void prune_functions(prune *pr);
void prune_imports(prune *pr);

#endif
