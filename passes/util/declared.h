/* SPDX-License-Identifier: Apache-2.0 */
/* Declared types, as opposed to inferred ones, for the passes that refine them. */
#ifndef SURG_PASSES_DECLARED_H
#define SURG_PASSES_DECLARED_H

#include <onnxsurg/onnxsurg.h>

#define DECLARED_TEXT 256

/* Whether v is an output of its own graph and declares its type there; *type is that type. */
bool declared_at_output(const surg_value *v, const surg_type **type);
/* The declared type of a value: of the output entry if it is an output and not an input, else of
 * its input or value_info entry. */
const surg_type *declared_type(const surg_value *v);
/* Declares the sizes inferred for an output of its own graph that declares none; expressions become
 * unknown sizes. False: out of memory. */
bool declared_shape(surg_value *v);
/* Writes a type as ONNX text to `out`, cut if too long. `out` has room for DECLARED_TEXT bytes. */
const char *declared_text(const surg_type *t, char *out);
/* After an edit that computes something else: values whose declared type contradicts the inferred
 * one get the inferred one, outputs of the main graph with a note. Infers types. */
bool declared_fit_outputs(surg_pass_ctx *p);
/* The same for one output whose value had the inferred type `before` (may be NULL): it gets its new
 * inferred type if that is another one. Types must be inferred. */
bool declared_follow(surg_pass_ctx *p, surg_value *v, const surg_type *before);
/* Adds a note that a declared type was replaced: `what 'name': before is now after`. */
void declared_note(surg_pass_ctx *p, const surg_value *v, const char *what,
                   const surg_type *before, const surg_type *after);

#endif
