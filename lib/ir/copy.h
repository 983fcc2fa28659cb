/* SPDX-License-Identifier: Apache-2.0 */
/* Copies parts of one model into another, with nothing shared (clone.c). False or NULL: out of
 * memory, with the model failed. */
#ifndef SURG_COPY_H
#define SURG_COPY_H

#include "ir/ir.h"

bool surg__copy_type(surg_model *to, const surg_type *t, const surg_type **out);
/* Copies the elements too. A sparse tensor fails the model with SURG_EINVALID. */
bool surg__copy_tensor(surg_model *to, const surg_tensor *t, surg_tensor **out);
/* Copies the value of an attribute that has no subgraphs. */
bool surg__copy_payload(surg_model *to, const surg_attr *a, surg_attr *n);

#endif
