/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the program `wild`. */
#ifndef SURG_TEST_WILD_H
#define SURG_TEST_WILD_H

#include "gen_core.h"

#define WILD_TEXT 128 /* of a pipeline */

void wild_quoted(const char *text); /* prints it as JSON */
/* Edits the model for --probe or --nudge, and prints the line. */
void wild_probe(surg_model *m, const char *output, bool nudge, const char *name);
/* Chooses a pass, with options where it requires them, or a preset. */
void wild_alone(gen *g, const surg_model *m, char text[WILD_TEXT]);

#endif
