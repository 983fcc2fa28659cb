/* SPDX-License-Identifier: Apache-2.0 */
/* Known error messages of importers: patterns read from JSON (doc/messages.md), their meaning for a
 * model, and whether a model has the reported fault. */
#ifndef SURG_MESSAGES_H
#define SURG_MESSAGES_H

#include <regex.h>

#include <onnxsurg/explain.h>

#include "target/target.h"

/* One known message. Fields marked as templates are expanded: $1 .. $9 are the groups of the
 * pattern, $op, $node and $value the expanded fields of these names. */
typedef struct surg__message {
  const char *id;       /* "tensorrt-resize-scales" */
  const char *engine;   /* "tensorrt"; "onnx" (checker, converter), "torch" (its exporter) */
  const char *versions; /* versions that print it, as prose; or NULL */
  const char *when;     /* "import", "export" (before a file exists), "run" */
  const char *pattern;
  const char *op, *node, *value; /* templates, or NULL */
  const char *opset;             /* template of the opset in the message, or NULL */
  const char *cause;             /* template */
  const char *cure; /* template of a command or advice; also $in $out $target; or NULL */
  const char *allow;             /* consent that the cure requires: "approx", "lossy", "interface";
                                  * or NULL */
  const char *target;            /* the built-in target to repair for, or NULL */
  const char *means;             /* what the engine rejects, as the JSON of a target; or NULL */
  const char *refs;              /* reports, or NULL */
  surg__tlist passes;            /* templates of pipelines that cure it, the smallest change
                                  * first */
  surg__tlist checks;            /* codes of `check` that report the same fault */
  surg__tlist seen;              /* messages observed in practice; the pattern must match them */
  bool general;                  /* only gives context (op, node, value) to other entries; reported
                                  * alone if no other entry matches */
  regex_t regex;
  bool compiled;
} surg__message;

typedef surg_messages surg__messages;
struct surg_messages {
  surg_context *ctx;
  surg__arena arena;
  SURG_VEC(surg__message *) items; /* in matching order */
};

/* The built-in message files, sorted by name (passes/messages). */
extern const surg__target_text surg__message_texts[];
extern const size_t surg__message_count;

/* An empty collection of messages; free it with surg__messages_free. NULL: out of memory. */
surg__messages *surg__messages_new(surg_context *ctx);
/* Appends the messages of a JSON text. SURG_EINVALID: the text is invalid; `name: ...` is
 * reported. */
surg_status surg__messages_read(surg__messages *all, const char *text, size_t n, const char *name);
/* Appends the built-in messages. Call it last, so that entries of the user are matched first. */
surg_status surg__messages_read_builtin(surg__messages *all);
void surg__messages_free(surg__messages *all);

/* A message found in a text, with its templates expanded. */
typedef struct surg__explained {
  const surg__message *message;
  const char *line;              /* of the text, truncated */
  size_t number;                 /* of the line, from 1 */
  const char *op, *node, *value; /* or NULL: not in the message */
  const char *cause;
  const char *cure;              /* or NULL; parts of the text are quoted for a shell */
  const char *means;             /* JSON of a target, or NULL */
  surg__tlist passes;            /* parts of the text are quoted for pipelines */
} surg__explained;
typedef struct surg__explanations {
  surg__arena arena;
  SURG_VEC(surg__explained) items; /* in the order of the text, without duplicates */
} surg__explanations;

/* The first opset of the default domain that has the operator; 0: none, or `op` is NULL. */
int64_t surg__schema_first(const char *op);

/* Finds the known messages in a text, line by line. `engine` (or NULL: any) is the name of a target
 * or engine; its messages are preferred, those of other engines are used if none of its own match.
 * The first matching entry explains a line. If no line matches, the text is matched as one line.
 * General entries ("while parsing node 7 [Resize]") add their operator, node and value to other
 * entries, and are reported themselves only if no other entry matches. */
surg_status surg__messages_explain(const surg__messages *all, const char *text, size_t n,
                                   const char *engine, surg__explanations *out);
void surg__explanations_free(surg__explanations *e);

/* The target that describes what the engine rejects, for judging and repair. NULL: the message has
 * none, or after a diagnostic. */
surg__target *surg__explained_target(surg_context *ctx, const surg__explained *e);
/* Reports every place of the model that has the fault of the message, by its `means` and by the
 * findings of `check`; *seen is their number. SURG_ENOTFOUND: the message has neither. */
typedef void (*surg__seen_fn)(void *user, const char *where, const char *text);
surg_status surg__explained_seen(const surg__explained *e, surg_model *m, surg__seen_fn fn,
                                 void *user, size_t *seen);

#endif
