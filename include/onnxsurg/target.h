/* SPDX-License-Identifier: Apache-2.0 */
/* Targets: what an engine supports, and the verdict on a model. doc/targets.md describes them.
 * Since 0.2. */
#ifndef ONNXSURG_TARGET_H
#define ONNXSURG_TARGET_H

#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an engine supports: read from JSON, built in or the user's own. A target belongs to a
 * context and is freed before it. */
typedef struct surg_target surg_target;

/* Whether an engine supports a model. Unknown is never supported. */
typedef enum surg_verdict {
  SURG_SUPPORTED = 0,
  SURG_SUPPORT_UNKNOWN = 1,
  SURG_UNSUPPORTED = 2
} surg_verdict;

/* One reason against a model. Texts and handles last until the callback returns. */
typedef struct surg_objection {
  uint32_t size;      /* set by the library */
  int32_t verdict;    /* SURG_SUPPORTED: ONNX forbids it, and the engine accepts it all the same;
                         surg_verdict */
  int32_t severity;   /* note: unknown; warning: accepted; error: unsupported; surg_severity */
  const char *code;   /* of doc/check.md: E401 to E416, N401, or the code of a finding */
  const char *fact;   /* E401 to E416, the kind of fact, where it is unknown too; NULL: a finding */
  const char *where;  /* `graph.node[3] "a" (Add)`, escaped; "model": the model as a whole */
  const char *text;   /* one line, escaped */
  const char *source; /* the source of the fact, or NULL */
  const char *pass;   /* a pass that cures it, or NULL */
  bool misread;       /* the engine imports the node and computes something else */
  const surg_node *node;   /* NULL: the model as a whole */
  const surg_value *value; /* the input or output that it is about, or NULL */
  bool data;               /* elements of weights are not available: it ends with their data */
  bool fed; /* misread, and another node reads the results: the import may fail there */
} surg_objection;
typedef void (*surg_objection_fn)(void *user, const surg_objection *o);

/* The sum of the objections to a model. */
typedef struct surg_judgement {
  uint32_t size;               /* set by the caller: sizeof(surg_judgement) */
  int32_t verdict;             /* surg_verdict */
  size_t unsupported, unknown; /* objections of that verdict */
  size_t misread;              /* of the unsupported ones */
  size_t data;                 /* of both: about elements of weights that are not available */
  int32_t verdict_with_data;   /* as soon as they are available; surg_verdict */
} surg_judgement;

/* Number of built-in targets. */
SURG_EXPORT size_t surg_target_count(void);
/* The name of built-in target i; NULL: there is none. Static text. */
SURG_EXPORT const char *surg_target_name_at(size_t i);
/* The name of target i of a context: the built-in ones, then those that plugins registered. NULL:
 * there is none. Valid until the context is freed or a plugin is loaded. */
SURG_EXPORT const char *surg_context_target(const surg_context *ctx, size_t i);
/* The target that a user means: the name of one that a plugin registered; a path with '/' or that
 * ends in ".target" is a file; else the name of a built-in target, an alias ("trt8.6"), a name
 * without version (the newest), or with a version that is not known, which is judged by those
 * around it (with a note). SURG_EUSAGE, reported: no such target, with the nearest name, or a file
 * that is no target; SURG_EIO: it cannot be read. Free *out with surg_target_free. O(size of the
 * target) */
SURG_EXPORT surg_status surg_target_open(surg_context *ctx, const char *name, surg_target **out);
/* A target from JSON text; `name` is used in messages. SURG_EUSAGE, reported with the line: the
 * text is no target. Free *out with surg_target_free. */
SURG_EXPORT surg_status surg_target_parse(surg_context *ctx, const char *text, size_t n,
                                          const char *name, surg_target **out);
/* Frees a target; NULL is allowed. */
SURG_EXPORT void surg_target_free(surg_target *t);
/* Its name, the name of the engine for people (or NULL), and where its facts come from. Borrowed.
 */
SURG_EXPORT const char *surg_target_name(const surg_target *t);
/* The name of the engine for people, or NULL. Borrowed. */
SURG_EXPORT const char *surg_target_title(const surg_target *t);
/* Where its facts come from. Borrowed. */
SURG_EXPORT const char *surg_target_source(const surg_target *t);
/* The day of its facts, as YYYY-MM-DD: that of the document or source code, or the day on which the
 * engine was asked. NULL: not stated. Borrowed. */
SURG_EXPORT const char *surg_target_date(const surg_target *t);
/* The name of the target that runs the nodes this one does not, such as a CPU; NULL: there is
 * none. Borrowed. */
SURG_EXPORT const char *surg_target_host(const surg_target *t);
/* The opsets of a domain that it supports, from *low to *high; INT64_MIN, INT64_MAX: no limit.
 * False: it does not state them. */
SURG_EXPORT bool surg_target_opset(const surg_target *t, const char *domain, int64_t *low,
                                   int64_t *high);
/* The IR versions that it supports, as surg_target_opset. */
SURG_EXPORT bool surg_target_ir(const surg_target *t, int64_t *low, int64_t *high);
/* A range as words: `7 to 13`, `7`, `from 7`, `up to 13`, `not stated`; written as snprintf does.
 */
SURG_EXPORT size_t surg_target_span(int64_t low, int64_t high, char *out, size_t room);

/* Whether a target states that the engine supports something. */
typedef enum surg_stated {
  SURG_STATED_NOT = 0, /* it is not stated */
  SURG_STATED_NO = 1,
  SURG_STATED_YES = 2,
  SURG_STATED_MISREAD = 3 /* imported, and computed otherwise */
} surg_stated;

/* Which dimensions of inputs may be open. */
typedef enum surg_open_sizes {
  SURG_OPEN_NOT_STATED = 0,
  SURG_OPEN_NONE = 1,
  SURG_OPEN_BATCH = 2, /* dimension 0 */
  SURG_OPEN_ALL = 3
} surg_open_sizes;

/* What a target states as a whole. */
typedef struct surg_target_summary {
  uint32_t size;         /* set by the caller: sizeof(surg_target_summary) */
  int32_t dynamic;       /* a surg_open_sizes */
  int32_t functions;     /* functions of the model; a surg_stated */
  int32_t custom;        /* custom operators; a surg_stated */
  bool rest_unsupported; /* operators that are not listed are unsupported; else unknown */
  bool saturates;        /* products of uint8 and int8 saturate on some processors */
  size_t operators;      /* for surg_target_operator_at */
  size_t domains;        /* for surg_target_domain */
  size_t notes;          /* for surg_target_note */
} surg_target_summary;

/* An operator that a target lists. */
typedef struct surg_target_operator {
  uint32_t size;    /* set by the caller: sizeof(surg_target_operator) */
  const char *name; /* "Conv", "com.microsoft.Gelu"; lasts as long as the target */
  size_t facts;     /* for surg_target_fact */
  bool unsupported; /* no version or form is supported */
} surg_target_operator;

/* Fills in the whole. SURG_EUSAGE for NULL. */
SURG_EXPORT surg_status surg_target_get(const surg_target *t, surg_target_summary *out);
/* Domain i of which it states opsets ("": the default one); NULL past the end. Borrowed. */
SURG_EXPORT const char *surg_target_domain(const surg_target *t, size_t i);
/* Note i for people; NULL past the end. Borrowed. */
SURG_EXPORT const char *surg_target_note(const surg_target *t, size_t i);
/* Fills in operator i, sorted by name. SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_target_operator_at(const surg_target *t, size_t i,
                                                surg_target_operator *out);
/* The number of an operator for surg_target_operator_at. SURG_ENOTFOUND: it is not listed. */
SURG_EXPORT surg_status surg_target_find_operator(const surg_target *t, const char *name,
                                                  size_t *out);
/* Fact k of operator i as a phrase: `versions 7 to 13; types float, float16; B constant`. To free
 * with surg_context_free_bytes. SURG_ENOTFOUND: there is none. SURG_ENOMEM */
SURG_EXPORT surg_status surg_target_fact(const surg_target *t, size_t i, size_t k, char **text);
/* The source of fact k of operator i: its own, or that of the target. NULL: there is no
 * such fact, or no source is stated. Borrowed. */
SURG_EXPORT const char *surg_target_fact_source(const surg_target *t, size_t i, size_t k);

/* States that operators of a domain ("com.acme"), or one of them ("com.acme:Foo"), are registered
 * with the engine. The text is copied. SURG_EUSAGE: it is neither. */
SURG_EXPORT surg_status surg_target_register(surg_target *t, const char *operators);

/* The verdict on a model, of the context of the target. `fn` (may be NULL) receives each objection,
 * the findings of a lenient load among them, in the order of the model. Infers types; nothing else
 * of the model changes. O(model). SURG_EUSAGE, SURG_ENOMEM, SURG_ELIMIT. */
SURG_EXPORT surg_status surg_target_judge(const surg_target *t, surg_model *model,
                                          surg_objection_fn fn, void *user, surg_judgement *out);
/* How a target treats a model with a finding of `check`: *verdict, a surg_verdict, and *severity, a
 * surg_severity: an error where it rejects the model, a note where that is unknown, at most a
 * warning where it accepts it. SURG_ENOTFOUND: it judges this code node by node, as objections of
 * surg_target_judge; both are then those of an accepted model. */
SURG_EXPORT surg_status surg_target_finding(const surg_target *t, const char *code,
                                            int32_t *verdict, int32_t *severity);
/* For a target with a host and a supported model: the nodes that run on the host. *on_host: how
 * many for certain, *unknown: how many may, *nodes: how many run anywhere. All may be NULL.
 * SURG_EUNSUPPORTED: the target has no host. O(model) */
SURG_EXPORT surg_status surg_target_host_nodes(const surg_target *t, surg_model *model,
                                               surg_objection_fn fn, void *user, size_t *on_host,
                                               size_t *unknown, size_t *nodes);
/* "supported", "unknown" or "unsupported"; NULL for other numbers. Static text. */
SURG_EXPORT const char *surg_verdict_name(surg_verdict v);

#ifdef __cplusplus
}
#endif
#endif
