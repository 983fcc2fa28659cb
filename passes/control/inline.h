/* SPDX-License-Identifier: Apache-2.0 */
/* Shared declarations of the pass `inline`. */
#ifndef SURG_PASSES_INLINE_H
#define SURG_PASSES_INLINE_H

#include <onnxsurg/onnxsurg.h>

#define INLINE_TEXT 600

/* The first node of the function whose meaning differs in the opsets of g, or NULL. The reason
 * is written to `text` (INLINE_TEXT bytes), the domain to *domain. */
const surg_node *inline_differs(surg_function *f, const surg_graph *g, char *text,
                                const char **domain);
/* Adds the imports of the function that the scope of g lacks. */
surg_status inline_imports(surg_function *f, surg_graph *g);

typedef bool (*inline_filter)(void *user, const surg_function *f);
/* Inlines the functions for which `want` returns true. */
surg_pass_result inline_functions(surg_pass_ctx *p, inline_filter want, void *user);

/* Selects functions that are called once or consist of one node: inlining them adds no nodes. */
typedef struct inline_once {
  struct table *callees;
} inline_once;
bool inline_once_read(inline_once *once, surg_pass_ctx *p); /* false: out of memory */
bool inline_once_wants(void *once, const surg_function *f); /* an inline_filter */

#endif
