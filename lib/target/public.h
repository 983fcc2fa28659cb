/* SPDX-License-Identifier: Apache-2.0 */
/* What the public functions about targets share. */
#ifndef SURG_TARGET_PUBLIC_H
#define SURG_TARGET_PUBLIC_H

#include <onnxsurg/target.h>

#include "target/verdict.h"

/* An objection as callers see it; texts and the place last as long as those of `o`. */
surg_objection surg__objection_public(const surg__objection *o);
/* The severity of an objection of that code and verdict. */
surg_severity surg__objection_severity(const char *code, surg__verdict v);

#endif
