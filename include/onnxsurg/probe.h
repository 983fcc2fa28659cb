/* SPDX-License-Identifier: Apache-2.0 */
/* Learns what an engine supports by asking its importer. Since 0.2. */
#ifndef ONNXSURG_PROBE_H
#define ONNXSURG_PROBE_H

#include <onnxsurg/command.h>
#include <onnxsurg/target.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One question and its answer. Texts last until the callback returns. */
typedef struct surg_probe_answer {
  uint32_t size;        /* set by the library */
  const char *op;       /* the operator; NULL: a question about the engine */
  int since;            /* its version, by the opset that brought it; 0: about the engine */
  const char *question; /* "form", "type", "attribute", "rank", "opset", ... */
  const char *name;     /* of the domain, type parameter, input, output or attribute; "": none */
  const char *value;    /* what was tried, as text */
  const char *model;    /* the model of one node as a line of passes/targets/probe.cases, or NULL */
  bool accepted;
  const char *message; /* of the importer; NULL: it accepts, and computes as expected */
} surg_probe_answer;

typedef struct surg_probe_options {
  uint32_t size;              /* sizeof(surg_probe_options) */
  const surg_target *inherit; /* what it states correctly is left out; NULL: none */
  const char *ops;            /* ask about these operators alone, "A+B"; NULL: all */
  const char *title;          /* the name of the engine for people; NULL: none */
  uint64_t timeout_ms;        /* stop asking then, and learn from the answers so far; 0: none */
  void (*progress)(void *user, size_t asked, size_t all); /* after each batch; may be NULL */
  void (*answer)(void *user, const surg_probe_answer *a); /* may be NULL */
  void *user;                                             /* of both */
  bool outputs; /* for each model FILE, also write FILE.data/input_K.pb and FILE.data/output_K.pb,
                 * as in ONNX's test suite, where the built-in evaluator computes it. A command with
                 * "{...}" may then print "differs: MESSAGE" for a model that it imports and
                 * computes differently. */
} surg_probe_options;

typedef struct surg_probe_report {
  uint32_t size;          /* set by the caller: sizeof(surg_probe_report) */
  size_t asked, accepted; /* models */
  size_t left;         /* questions that were not asked, because time was up or it was cancelled */
  size_t known, right; /* answers that the inherited target forecast, and forecast correctly */
} surg_probe_report;

/* Asks the importer about models of one node, for every version, element type and form of every
 * operator, and puts a target named `name` into *text: JSON, *n bytes and a NUL, to free with
 * surg_context_free_bytes. A cancelled importer stops the questions, as time does. `options` and
 * `report` may be NULL. Makes some 10,000 runs of a command that gets one file, some 100 of one
 * that gets several. SURG_EUSAGE, reported: the command cannot be run. SURG_EINVALID, reported: it
 * accepts no model at all. SURG_EIO, SURG_ENOMEM, SURG_ELIMIT: a question could not be written or
 * made. */
SURG_EXPORT surg_status surg_probe(surg_importer *im, const char *name,
                                   const surg_probe_options *options, char **text, size_t *n,
                                   surg_probe_report *report);

#ifdef __cplusplus
}
#endif
#endif
