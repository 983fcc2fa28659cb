/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a model. Since 0.2. */
#ifndef ONNXSURG_INFO_H
#define ONNXSURG_INFO_H

#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* SURG_OK if the elements of all weights can be read; SURG_EIO, reported with the first weight that
 * lacks its data file: "WHAT needs it". O(model) */
SURG_EXPORT surg_status surg_model_require_weights(surg_model *model, const char *what);
/* Reports a note with the weights whose elements were asked for and cannot be read, so that an edit
 * was left undone. Nothing if there are none. O(model) */
SURG_EXPORT void surg_model_note_weights(surg_model *model);
/* Records in `to` which weights were asked for in `from`, a changed copy of it: by name, in the
 * main graph. O(weights) */
SURG_EXPORT void surg_model_learn_weights(surg_model *to, const surg_model *from);

#ifdef __cplusplus
}
#endif
#endif
