/* SPDX-License-Identifier: Apache-2.0 */
/* What the messages of importers, checkers and exporters mean. doc/messages.md describes the
 * entries. Since 0.2. */
#ifndef ONNXSURG_EXPLAIN_H
#define ONNXSURG_EXPLAIN_H

#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Known messages: those of a file of the user, then the built-in ones. Belongs to a context. */
typedef struct surg_messages surg_messages;

/* A message that was found in a text. Texts last until the callback returns; NULL: not named. */
typedef struct surg_explanation {
  uint32_t size;                 /* set by the library */
  const char *id;                /* of the entry: "tensorrt-resize-scales" */
  const char *engine, *versions; /* that print it; versions: where it was seen */
  const char *when;              /* "import", "export" or "run" */
  const char *line;              /* of the text, shortened */
  size_t number;                 /* of the line, from 1 */
  const char *op, *node, *value; /* that it names */
  const char *cause;             /* one sentence */
  const char *cure; /* a command or advice; replace $in, $out and $target */
  const char *const *passes; /* pipelines that cure it, what changes least first */
  size_t n_passes;
  const char *const *checks; /* codes of `check` for the same fault */
  size_t n_checks;
  const char *allow;  /* the consent that the cure needs: "approx", "lossy", "interface" */
  const char *target; /* the built-in target to repair for */
  bool general;       /* it names a place, and no cause */
  const void *entry;  /* of the library */
} surg_explanation;
typedef void (*surg_explanation_fn)(void *user, const surg_explanation *e);
typedef void (*surg_place_fn)(void *user, const char *where, const char *text);

/* The known messages; `path` is a file of entries that come first, or NULL. SURG_EINVALID,
 * SURG_EIO, reported: the file. Free with surg_messages_free before the context. O(entries) */
SURG_EXPORT surg_status surg_messages_new(surg_context *ctx, const char *path, surg_messages **out);
/* Frees messages; NULL is allowed. */
SURG_EXPORT void surg_messages_free(surg_messages *all);

/* Calls `fn` for each known message in a text, in the order of the text, each once. `engine`
 * prefers the messages of a target or engine, by its name; NULL: any. *count (may be NULL): how
 * many. `fn` may be NULL. SURG_EUSAGE for NULL, SURG_ENOMEM. O(lines x entries) */
SURG_EXPORT surg_status surg_explain(const surg_messages *all, const char *text, size_t n,
                                     const char *engine, surg_explanation_fn fn, void *user,
                                     size_t *count);
/* In the callback: calls `fn` (may be NULL) for every place of a model that the message is about,
 * and counts them in *seen (may be NULL). Infers types. SURG_ENOTFOUND: the message names nothing
 * that could be looked for. SURG_EINVALID, reported: the facts by which its file describes it are
 * no target. O(model) */
SURG_EXPORT surg_status surg_explanation_look(const surg_explanation *e, surg_model *model,
                                              surg_place_fn fn, void *user, size_t *seen);

#ifdef __cplusplus
}
#endif
#endif
