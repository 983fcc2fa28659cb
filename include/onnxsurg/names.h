/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that messages and pipelines are made of: places, types, escaped names. Since 0.2. */
#ifndef ONNXSURG_NAMES_H
#define ONNXSURG_NAMES_H

#include <onnxsurg/pass.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The place of a node as messages spell it, escaped: `graph.node[3] "a" (Add)`. It belongs to the
 * context, and lasts for the next few calls. O(nodes before it in its graph) */
SURG_EXPORT const char *surg_node_where(const surg_node *n);
/* The place of a graph as messages spell it: `graph`, `graph.node[3] "a" (If).then_branch`. It
 * lasts as surg_node_where. */
SURG_EXPORT const char *surg_graph_where(const surg_graph *g);
/* A type as messages spell it: `float[N, 3, ?]`, `seq(int64[])`, `?` for NULL. NUL-terminated, to
 * free with surg_context_free_bytes. SURG_ENOMEM. O(rank) */
SURG_EXPORT surg_status surg_type_text(surg_context *ctx, const surg_type *type, char **text);
/* Escapes untrusted text for a line of output: `\n` `\t` `\\` `\"`, `\xNN` for other bytes that
 * do not print; at most `max` bytes of the text (0: all), then "...". Writes at most `room` bytes
 * to `out` (may be NULL), NUL included, and returns the length of the whole, as snprintf does. O(n)
 */
SURG_EXPORT size_t surg_text_escape(const char *text, size_t n, size_t max, char *out, size_t room);
/* Entry i of a list, or NULL. */
typedef const char *(*surg_name_fn)(const void *list, size_t i);
/* The name of a list of n that is most similar to a word, for "did you mean": the one with the
 * fewest characters to change, otherwise the shortest of which the word is a part (`Add_1` of
 * `/net/Add_1`); NULL: none is. The result is one that `at` returned. O(n) */
SURG_EXPORT const char *surg_nearest_name(const char *word, const void *list, size_t n,
                                          surg_name_fn at);
/* "exact", "ulp", "rounding", "approx" or "lossy"; NULL for other numbers. Static text. */
SURG_EXPORT const char *surg_exactness_name(surg_exactness e);
/* The class of that name; false: there is none. */
SURG_EXPORT bool surg_exactness_from_name(const char *name, surg_exactness *out);
/* A word (a name of a value, a path) as a pipeline spells it, quoted where it must be.
 * NUL-terminated, to free with surg_context_free_bytes. SURG_ENOMEM */
SURG_EXPORT surg_status surg_pipeline_word(surg_context *ctx, const char *word, char **text);
/* The name of a pair of a SURG_OPTION_PAIRS option as a pipeline spells it: as surg_pipeline_word,
 * after `OPTION.` where another option of the pass has this name. Free *text with
 * surg_context_free_bytes. */
SURG_EXPORT surg_status surg_pipeline_pair(surg_context *ctx, const surg_pass *pass,
                                           const char *option, const char *name, char **text);

#ifdef __cplusplus
}
#endif
#endif
