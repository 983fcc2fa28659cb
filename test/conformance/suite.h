/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX's backend test suite: folders of model.onnx with test_data_set_*, and comparing results. */
#ifndef SUITE_H
#define SUITE_H

#include "eval/core/interpret.h"
#include "eval/core/message.h"
#include "run/run_engine.h"

#define SUITE_DEFAULT_DIR "/usr/share/libonnx-testdata/data"

/* Calls `visit` for every data set of every model below `dir`, by name. */
void suite_walk(const char *dir, void (*visit)(void *user, const char *model, const char *set),
                void *user);
/* The same for folders separated by colons. */
void suite_walk_list(const char *dirs,
                     void (*visit)(void *user, const char *model, const char *set), void *user);
/* "set/stem_i.pb"; free() it. */
char *suite_file(const char *set, const char *stem, size_t i);
/* A value from a file: SURG_ENOTFOUND when it is not there. Old suites hold the bits of bfloat16
 * as uint16: the type declared in the model then counts. */
surg_status suite_read(surg_context *ctx, const char *path, const surg_type *type,
                       surg__array *out);

/* How well two values agree: floats to one part in a thousand and 1e-7, the tolerance of the suite;
 * CLOSE if only to 1e-7 of the largest element of the tensor: stored results were computed in
 * float, so what should be zero beside it is zero up to its last bits alone. All else exactly. */
typedef enum suite_match { SUITE_DIFFERS, SUITE_CLOSE, SUITE_SAME } suite_match;
/* `why` says where they differ. */
suite_match suite_compare(const surg__array *got, const surg__array *want, char *why, size_t n);

/* Runs a model on the inputs of a set and compares with its outputs; `why` where they differ. */
suite_match suite_run(surg_context *ctx, surg_model *m, const char *set, char *why, size_t n);

/* The same in an engine; *taken: it took the model. */
suite_match suite_run_in(surg_context *ctx, const surg__engine *engine, surg_model *m,
                         const char *set, bool *taken, char *why, size_t n);

/* Why a case that fails does not count: its stored result is one draw of a random generator or was
 * wrong in old suites, or it is outside what is computed at all. NULL: it counts. */
const char *suite_apart(const char *set);

#endif
