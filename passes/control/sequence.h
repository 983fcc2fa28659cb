/* SPDX-License-Identifier: Apache-2.0 */
/* Reading elements of sequences and optionals where they came from: what the pass `sequence` does,
 * and what a move to an opset without them begins with. */
#ifndef SURG_PASSES_SEQUENCE_H
#define SURG_PASSES_SEQUENCE_H

#include <onnxsurg/onnxsurg.h>

/* All of the model, whose types must be inferred; `grow`: also where that takes more nodes than go.
 */
surg_pass_result sequence_read(surg_pass_ctx *p, bool grow);

#endif
