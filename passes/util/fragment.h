/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that an option gives as text (onnxsurg/edit.h). */
#ifndef SURG_PASSES_FRAGMENT_H
#define SURG_PASSES_FRAGMENT_H

#include <onnxsurg/edit.h>
#include <onnxsurg/onnxsurg.h>

/* Reads nodes for graph g. NULL after an error that names `option`. */
surg_fragment *fragment_read(surg_pass_ctx *p, surg_graph *g, const char *option,
                             const char *text);
/* The node before which the nodes can be added so that all values of g that they read and `after`
 * (may be NULL) are computed: the one after the last producer, or the first. */
surg_node *fragment_place(const surg_fragment *f, const surg_graph *g, const surg_value *after);
/* Imports the domains of the added nodes that are not imported, with this version, and checks the
 * nodes (domains_takes). False after a failure. */
bool fragment_import(surg_pass_ctx *p, const surg_fragment *f, surg_graph *g, int64_t version);
/* Sorts the graph and those around it, as new nodes may read values that are computed later there.
 * False after a failure: a value is computed from the nodes that read it. */
bool fragment_sort(surg_graph *g);
/* The number of names that the nodes define. */
size_t fragment_names(const surg_fragment *f);

#endif
