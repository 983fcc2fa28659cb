/* SPDX-License-Identifier: Apache-2.0 */
/* Copying parts of one model into another (clone.c): nothing is shared. False or NULL: out of
 * memory, with the model failed. */
#ifndef SURG_COPY_H
#define SURG_COPY_H

#include "ir/ir.h"

bool surg__copy_type(surg_model *to, const surg_type *t, const surg_type **out);
/* Elements are read and written anew; SURG_EUNSUPPORTED fails the model for sparse ones. */
bool surg__copy_tensor(surg_model *to, const surg_tensor *t, surg_tensor **out);
/* The value of an attribute that holds no graph. */
bool surg__copy_payload(surg_model *to, const surg_attr *a, surg_attr *n);

#endif
