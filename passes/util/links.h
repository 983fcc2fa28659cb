/* SPDX-License-Identifier: Apache-2.0 */
/* Values that pass between graphs: from operands of Loop, Scan and calls to inputs of bodies and
 * functions, from outputs of these and of branches to results, and from one iteration to the next.
 */
#ifndef SURG_PASSES_LINKS_H
#define SURG_PASSES_LINKS_H

#include <onnxsurg/onnxsurg.h>

/* Called for two values, neither NULL: `to` is `from`, or one of several. False: stop. */
typedef bool (*links_fn)(void *user, surg_value *from, surg_value *to);
/* Calls fn for all values that pass between n and the graphs that it runs. False: fn did so. */
bool links_visit(surg_node *n, links_fn fn, void *user);

typedef struct link {
  surg_value *to, *from;
} link;

typedef struct links {
  link *all; /* sorted by `to` */
  size_t n;
} links;

/* Finds those of all nodes, in memory of the pass. False: out of memory. O(n log n) */
bool links_find(links *l, surg_pass_ctx *p, surg_model *m);
/* The values that v is, one after the other: *at begins as 0. NULL: no more. */
surg_value *links_next(const links *l, const surg_value *v, size_t *at);

#endif
