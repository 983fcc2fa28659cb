/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the program `wild`. */
#ifndef SURG_TEST_WILD_H
#define SURG_TEST_WILD_H

#include "gen_core.h"

#define WILD_TEXT 128 /* of a pipeline */
#define WILD_WHY 400  /* of an error */
#define WILD_RUNS 5
#define WILD_PIPELINES 8 /* at most, of one model */
#define WILD_INPUTS 16
#define WILD_SEEN 256

/* What the generator knows of the values of the main graph. */
typedef struct wild_seen {
  gen_value input[WILD_INPUTS], items[WILD_SEEN];
  size_t inputs, count;
} wild_seen;

/* The model of a seed, in a context of its own (wild_free frees both); NULL: the reason is printed
 * as a line. Errors of the context go to `why` (WILD_WHY bytes) until it is not empty. `drawn`
 * draws the pipelines and then the inputs. */
surg_model *wild_model(uint64_t seed, const char *kind, char *why, wild_seen *known, gen *drawn);
void wild_free(surg_model *m);
/* Draws the pipelines; returns how many. */
unsigned wild_pipelines(gen *g, const surg_model *m, bool alone,
                        char text[WILD_PIPELINES][WILD_TEXT]);
/* The elements of an input in a run, to be freed, and their size in bytes. */
uint8_t *wild_draw(gen *g, const gen_value *v, unsigned run, int64_t dims[GEN_RANK], size_t *n);
/* Runs a pipeline on a copy of the model; NULL if it fails. Prints the object of JSON about it, still
 * open. *exact: whether its class is exact. */
surg_model *wild_apply(surg_model *before, const char *text, bool *exact, char *why);
/* Judges models in this process by ONNX Runtime, whose library is named; returns an exit code. */
int wild_screen(const char *library, uint64_t first, uint64_t count, const char *kind, bool alone);


void wild_quoted(const char *text); /* prints it as JSON */
/* Edits the model for --probe or --nudge, and prints the line. */
void wild_probe(surg_model *m, const char *output, bool nudge, const char *name);
/* Chooses a pass, with options where it requires them, or a preset. */
void wild_alone(gen *g, const surg_model *m, char text[WILD_TEXT]);

#endif
