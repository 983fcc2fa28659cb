/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the pass `inline` share. */
#ifndef SURG_PASSES_INLINE_H
#define SURG_PASSES_INLINE_H

#include <onnxsurg/onnxsurg.h>

#define INLINE_TEXT 600

/* The first node of the function that means another thing in the opsets in force in g, with why in
 * `text` (INLINE_TEXT bytes), or NULL. *domain: the domain whose opset it is. */
const surg_node *inline_differs(surg_function *f, const surg_graph *g, char *text,
                                const char **domain);
/* Imports in the scope of g what the nodes of the function are of and is not imported there. */
surg_status inline_imports(surg_function *f, surg_graph *g);

typedef bool (*inline_filter)(void *user, const surg_function *f);
/* Replaces the calls of functions that `want` says yes to. */
surg_pass_result inline_functions(surg_pass_ctx *p, inline_filter want, void *user);

/* Functions that are called once, or are one node: no node more is left without them. */
typedef struct inline_once {
  struct table *callees;
} inline_once;
bool inline_once_read(inline_once *once, surg_pass_ctx *p); /* false: it failed */
bool inline_once_wants(void *once, const surg_function *f); /* an inline_filter */

#endif
