/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the public functions about targets. */
#ifndef SURG_TARGET_PUBLIC_H
#define SURG_TARGET_PUBLIC_H

#include <onnxsurg/target.h>

#include "target/verdict.h"

/* Converts an objection to its public form. Texts and the place are borrowed from `o`. */
surg_objection surg__objection_public(const surg__objection *o);
/* The severity of an objection with that code and verdict. */
surg_severity surg__objection_severity(const char *code, surg__verdict v);

#endif
