/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of the user that judge a model, run as child processes without a shell: tests and
 * importers. Each run has a limit on time and, if wanted, on memory, and a process group of its
 * own, which is ended with it. Needs a system with child processes. A command belongs to one
 * thread, as its context does. Since 0.2. */
#ifndef ONNXSURG_COMMAND_H
#define ONNXSURG_COMMAND_H

#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A command of the user, to run on files. */
typedef struct surg_command surg_command;
/* A command of the user that accepts or rejects models, as an engine's importer does. */
typedef struct surg_importer surg_importer;

/* What surg_command_run reports of a run that was ended: time was up, it was cancelled, or it wrote
 * over 64 MiB. */
#define SURG_COMMAND_ENDED 124

typedef struct surg_command_options {
  uint32_t size;              /* sizeof(surg_command_options) */
  uint64_t seconds;           /* of one run; 0: 60 */
  uint64_t memory;            /* bytes of address space of one run; 0: no limit */
  bool (*cancel)(void *user); /* asked during runs, often; true: ends the run. May be NULL */
  void *user;
} surg_command_options;

/* A command from text: words between blanks, '...' and "..." keep blanks in a word. The word {} is
 * replaced by the path of the file; without it the path is the last word. `options` may be NULL;
 * both are copied. SURG_EUSAGE, reported: a quote is not closed, or there is no word. Free with
 * surg_command_free before the context. */
SURG_EXPORT surg_status surg_command_new(surg_context *ctx, const char *text,
                                         const surg_command_options *options, surg_command **out);
/* Frees a command; NULL is allowed. */
SURG_EXPORT void surg_command_free(surg_command *c);
/* Runs the command on a file, its output discarded. *code: its exit code, 128 + the signal that
 * ended it, or SURG_COMMAND_ENDED. SURG_EUSAGE, reported: it cannot be started. */
SURG_EXPORT surg_status surg_command_run(surg_command *c, const char *file, int *code);
/* The program: the first word, borrowed from the command. */
SURG_EXPORT const char *surg_command_program(const surg_command *c);

/* An importer from the text of a command (see surg_command_new), whose exit code 0 means that it
 * accepts the model, or from the words "ort" or "opencv": those that `python3` has installed, or
 * from "npm:PACKAGE@VERSION": an engine that npm distributes (doc/targets.md), which the first use
 * downloads into the user's cache; needs node and npm. A command with the word {...} gets several
 * files at once and prints `FILE<TAB>ok` or `FILE<TAB>MESSAGE` for each. Makes a folder in $TMPDIR
 * or /tmp, removed by surg_importer_free. SURG_EUSAGE, SURG_EIO, SURG_ENOMEM, reported. */
SURG_EXPORT surg_status surg_importer_new(surg_context *ctx, const char *text,
                                          const surg_command_options *options, surg_importer **out);
/* Frees an importer and removes its folder; NULL is allowed. */
SURG_EXPORT void surg_importer_free(surg_importer *im);
/* Asks whether the importer accepts a model: *accepted, and else its message in *message (may be
 * NULL; borrowed, until the next question; NULL where it accepts). A crash, an exit code other than
 * 0 and SURG_COMMAND_ENDED are rejections. The model is written to the importer's folder: O(bytes).
 * SURG_EUSAGE, reported: the command cannot be run; SURG_EIO, SURG_EINVALID: the model cannot be
 * written; SURG_ELIMIT: cancelled before there was an answer. */
SURG_EXPORT surg_status surg_importer_ask(surg_importer *im, surg_model *model, bool *accepted,
                                          const char **message);
/* The same for a file that is there. Errors and ownership as of surg_importer_ask. */
SURG_EXPORT surg_status surg_importer_ask_file(surg_importer *im, const char *path, bool *accepted,
                                               const char **message);

#ifdef __cplusplus
}
#endif
#endif
