/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of importers: patterns read from JSON (doc/messages.md), what a message means for a
 * model, and whether the model is so. */
#ifndef SURG_MESSAGES_H
#define SURG_MESSAGES_H

#include <regex.h>

#include <onnxsurg/explain.h>

#include "target/target.h"

/* One known message. Texts that say so are templates: $1 .. $9 stand for what the pattern's groups
 * caught, $op, $node and $value for what the entry says of those. */
typedef struct surg__message {
  const char *id;       /* "tensorrt-resize-scales" */
  const char *engine;   /* "tensorrt"; "onnx" (checker, converter), "torch" (its exporter) */
  const char *versions; /* where it was seen, for people; or NULL */
  const char *when;     /* "import", "export" (no file exists yet), "run" */
  const char *pattern;
  const char *op, *node, *value; /* templates, or NULL */
  const char *opset;             /* template of the opset it names, or NULL */
  const char *cause;             /* template */
  const char *cure; /* template of a command or advice; also $in $out $target; or NULL */
  const char *allow;             /* consent that the cure needs: "approx", "lossy", "interface" */
  const char *target;            /* the built-in target to repair for, or NULL */
  const char *means;             /* what the engine refuses, as the JSON of a target; or NULL */
  const char *refs;              /* reports, or NULL */
  surg__tlist passes;            /* templates of pipelines that cure it, what changes least first */
  surg__tlist checks;            /* codes of `check` that tell of the same fault */
  surg__tlist seen;              /* real messages */
  bool general;                  /* told where no other is found; else lends op, node and value */
  regex_t regex;
  bool compiled;
} surg__message;

typedef surg_messages surg__messages;
struct surg_messages {
  surg_context *ctx;
  surg__arena arena;
  SURG_VEC(surg__message *) items; /* in the order in which they are tried */
};

/* The built-in files, by name; passes/messages. */
extern const surg__target_text surg__message_texts[];
extern const size_t surg__message_count;

/* No message. NULL without memory. */
surg__messages *surg__messages_new(surg_context *ctx);
/* Adds those of a JSON text, behind those there are. SURG_EINVALID after `name: ...`. */
surg_status surg__messages_read(surg__messages *all, const char *text, size_t n, const char *name);
/* Adds the built-in ones: last, so that a file of the user comes before them. */
surg_status surg__messages_read_builtin(surg__messages *all);
void surg__messages_free(surg__messages *all);

/* A message found in a text, templates filled in. */
typedef struct surg__explained {
  const surg__message *message;
  const char *line;              /* of the text, cut */
  size_t number;                 /* of the line, from 1 */
  const char *op, *node, *value; /* or NULL: not told */
  const char *cause;
  const char *cure;              /* or NULL; words of the text are quoted for a shell */
  const char *means;             /* JSON of a target, or NULL */
  surg__tlist passes;            /* words of the text are quoted for pipelines */
} surg__explained;
typedef struct surg__explanations {
  surg__arena arena;
  SURG_VEC(surg__explained) items; /* in the order of the text, each thing once */
} surg__explanations;

/* The opset that brought an operator of ONNX; 0: there is none, or op is NULL. */
int64_t surg__schema_first(const char *op);

/* `engine` prefers the messages of a target or engine, by its name, to those of others; NULL: any.
 * A line is explained by the first entry that matches it; where no line is known, the text as one
 * line. General entries ("while parsing node 7 [Resize]") lend what they name to the others, and
 * are told themselves where there is no other. */
surg_status surg__messages_explain(const surg__messages *all, const char *text, size_t n,
                                   const char *engine, surg__explanations *out);
void surg__explanations_free(surg__explanations *e);

/* What it says the engine refuses, to judge and repair by; NULL: nothing, or after a diagnostic. */
surg__target *surg__explained_target(surg_context *ctx, const surg__explained *e);
/* Tells every place of the model that is as the message says (by what it means, and by the findings
 * of `check`); *seen counts them. SURG_ENOTFOUND: the message says nothing that could be seen. */
typedef void (*surg__seen_fn)(void *user, const char *where, const char *text);
surg_status surg__explained_seen(const surg__explained *e, surg_model *m, surg__seen_fn fn,
                                 void *user, size_t *seen);

#endif
