/* SPDX-License-Identifier: Apache-2.0 */
/* A model as a picture: one HTML page, SVG, or a graph in the language of Graphviz. Since 0.3. */
#ifndef ONNXSURG_VIEW_H
#define ONNXSURG_VIEW_H

#include <onnxsurg/target.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What surg_view writes. */
typedef enum surg_view_form {
  SURG_VIEW_HTML = 0, /* one page without outside references: all graphs, details, search */
  SURG_VIEW_SVG = 1,  /* one graph as it is at first, folded parts closed */
  SURG_VIEW_DOT = 2   /* the same graph as text for Graphviz, without positions */
} surg_view_form;

/* What computes the positions. */
typedef enum surg_view_layout {
  SURG_VIEW_LAYOUT_AUTO = 0, /* Graphviz for graphs of at most 400 boxes, if it is installed */
  SURG_VIEW_LAYOUT_OWN = 1,  /* the layout of this library: the same on every machine */
  SURG_VIEW_LAYOUT_DOT = 2   /* the program `dot` of Graphviz, which must be installed */
} surg_view_layout;

typedef struct surg_view_options {
  uint32_t size;             /* set by the caller: sizeof(surg_view_options) */
  int32_t form;              /* surg_view_form */
  int32_t layout;            /* surg_view_layout */
  bool fold;                 /* fold nodes by the folders of their names (`/encoder/layer.0/...`),
                              * also in graphs that are small */
  bool no_weights;           /* do not read weights: no statistics of them */
  size_t most_nodes;         /* most nodes of the page; 0: 10000. Others are counted, not drawn */
  surg_graph *graph;         /* the graph that is shown first; NULL: the main graph */
  const surg_target *target; /* marks what this target does not support; may be NULL */
  const char *title;         /* NULL: the path of the model */
  surg_model *against;       /* HTML: a model of the same context at the right side, with what
                              * differs (onnxsurg/diff.h); may be NULL */
} surg_view_options;

/* Draws a model; infers types. Chains of nodes run from top to bottom; constants are lines of the
 * nodes that read them; subgraphs, functions and, in graphs of more than 2500 nodes, folders of
 * names are boxes of their own, which a page opens. Free *text, which is NUL-terminated, with
 * surg_context_free_bytes. SURG_EUSAGE: an option is invalid; failures of surg_diff_new;
 * SURG_EUNSUPPORTED, reported:
 * SURG_VIEW_LAYOUT_DOT without a program `dot` that works; SURG_ENOMEM, SURG_ELIMIT. O(n log n) */
SURG_EXPORT surg_status surg_view(surg_model *model, const surg_view_options *options, char **text,
                                  size_t *n);

#ifdef __cplusplus
}
#endif
#endif
