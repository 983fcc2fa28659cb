/* SPDX-License-Identifier: Apache-2.0 */
/* What a user means in a model: addresses of nodes and values, patterns, nodes and tensors as text.
 * Since 0.2. */
#ifndef ONNXSURG_EDIT_H
#define ONNXSURG_EDIT_H

#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Selects nodes by an address (doc/surgery.md): the name of a node, its place
 * (`graph.node[5].then_branch.node[2]`, as messages print it), the name of a value (its producer),
 * `op=Conv`, `/regex/`, or a pattern (surg_find), of which all nodes are selected. Names come
 * before all other forms. `out` receives at most `room` nodes in the order of the model (NULL: none
 * are written), *count their number. `why` (may be NULL) receives why nothing is selected, one
 * escaped line, with the nearest name. SURG_ENOTFOUND: nothing has this address.
 * SURG_EUSAGE: several objects have this name or place, or the pattern or expression is invalid.
 * SURG_ELIMIT: there are more than `room`; *count is set. Nothing is reported. O(model) */
SURG_EXPORT surg_status surg_select_nodes(surg_model *m, const char *address, surg_node **out,
                                          size_t room, size_t *count, char *why, size_t why_room);
/* The same for values: the name of a value (of the main graph, otherwise the only one of any
 * graph), its place (`graph.node[5].output[0]`, `conv1.input[1]`, `graph.input[0]`), or an address
 * of nodes, which means their outputs; of a pattern, those of its last node. `/regex/` selects
 * values by name, and if there are none, nodes. */
SURG_EXPORT surg_status surg_select_values(surg_model *m, const char *address, surg_value **out,
                                           size_t room, size_t *count, char *why, size_t why_room);

/* The matches of a pattern. It belongs to the context of the model; the model must not be freed
 * before it. */
typedef struct surg_matches surg_matches;
/* Finds a pattern, the match side of a rewrite rule (doc/rules.md) without braces:
 * `c = Conv (x, w, ...) y = Relu (c) where rank(x) == 4`. Attributes that it does not list may have
 * any value, further outputs may be used. There is at most one match for each node that can be the
 * last one of the pattern. `why` as for surg_select_nodes; without matches it names an operator of
 * the pattern that neither ONNX nor the model has. SURG_EUSAGE: the pattern is invalid.
 * Infers types. Free *out with surg_matches_free. O(nodes) */
SURG_EXPORT surg_status surg_find(surg_model *m, const char *pattern, surg_matches **out, char *why,
                                  size_t why_room);
/* Number of matches. */
SURG_EXPORT size_t surg_matches_count(const surg_matches *ms);
/* Node k of match i, in the order of the pattern; NULL past the end. */
SURG_EXPORT surg_node *surg_matches_node(const surg_matches *ms, size_t i, size_t k);
/* Name k of the pattern, in the order of its first use; NULL past the end. */
SURG_EXPORT const char *surg_matches_name(const surg_matches *ms, size_t k);
/* The value that name k has in match i; NULL for names of attributes and absent values. */
SURG_EXPORT surg_value *surg_matches_value(const surg_matches *ms, size_t i, size_t k);
/* The number, text or list that name k has in match i, in the form of ONNX text; NULL for names of
 * values. Valid as long as the matches. */
SURG_EXPORT const char *surg_matches_text(const surg_matches *ms, size_t i, size_t k);
/* Frees matches; NULL is allowed. */
SURG_EXPORT void surg_matches_free(surg_matches *ms);

/* Nodes that were read from text, to be added to a graph. It belongs to the context; the model must
 * not be freed before it. */
typedef struct surg_fragment surg_fragment;
/* Reads nodes in ONNX text (doc/text.md), `t = Sub (x, 0.5) y = Div (t, 255.0)`, for graph g. Names
 * that they read and do not define are values that g sees, or addresses of one value. Inputs may be
 * literals: a number or list (`[1, -1]`), whose element type is that of the inputs that must have
 * the same type, and tensors (`float16[2] {1, 2}`). `why` as for surg_select_nodes. SURG_EUSAGE:
 * the text is wrong, or no value has a name. Infers types. Free *out with surg_fragment_free. */
SURG_EXPORT surg_status surg_fragment_new(surg_graph *g, const char *text, surg_fragment **out,
                                          char *why, size_t why_room);
/* The values of the model that the nodes read; NULL past the end. */
SURG_EXPORT surg_value *surg_fragment_read(const surg_fragment *f, size_t i);
/* The names that the nodes define, in order; NULL past the end. */
SURG_EXPORT const char *surg_fragment_name(const surg_fragment *f, size_t i);
/* Adds the nodes and constants to the graph before `before` (NULL: at the end), once. Names in use
 * are replaced, opset imports are unchanged. The graph may be unsorted afterwards. */
SURG_EXPORT surg_status surg_fragment_insert(surg_fragment *f, surg_node *before);
/* After surg_fragment_insert: the value that name i has; NULL past the end. */
SURG_EXPORT surg_value *surg_fragment_made(const surg_fragment *f, size_t i);
/* Frees a fragment, not what was added; NULL is allowed. */
SURG_EXPORT void surg_fragment_free(surg_fragment *f);

/* Reads a tensor from text: `float[2] {1, 2}`, or numbers alone (`1.5`, `1, 2`, `[1, 2]`, `{1, 2}`)
 * of type `dtype`. Numbers get the shape `dims`, or if that is NULL, the one of the list. `why` as
 * for surg_select_nodes. SURG_EUSAGE: the text is wrong, a number is not one of the type, or they
 * do not fit the shape. */
SURG_EXPORT surg_status surg_tensor_from_text(surg_model *m, const char *text, int dtype,
                                              const int64_t *dims, size_t rank, surg_tensor **out,
                                              char *why, size_t why_room);

/* The model as ONNX text for people: tensors with more than `elements` elements are `...`, so the
 * text cannot be read back. Free with surg_context_free_bytes. */
SURG_EXPORT surg_status surg_model_preview(surg_model *model, uint64_t elements, char **text,
                                           size_t *n);

#ifdef __cplusplus
}
#endif
#endif
