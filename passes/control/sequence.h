/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces reads of sequences and optionals by the stored values: the pass `sequence`, and the
 * first step of a conversion to an opset without these types. */
#ifndef SURG_PASSES_SEQUENCE_H
#define SURG_PASSES_SEQUENCE_H

#include <onnxsurg/onnxsurg.h>

/* Processes the whole model; types must be inferred. `grow`: also where it adds more nodes than
 * it removes. */
surg_pass_result sequence_read(surg_pass_ctx *p, bool grow);

#endif
