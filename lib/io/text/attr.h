/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of attribute lists in ONNX text (parse_attr.c), for nodes and functions. */
#ifndef SURG_TEXT_ATTR_H
#define SURG_TEXT_ATTR_H

#include "io/text/codec.h"

bool surg__parse_attrs(surg__tparse *t, uint32_t number); /* an optional `<...>` */
/* As surg__parse_attrs, for a function: plain names are written as field `names`, entries with a
 * value as field `protos`. */
bool surg__parse_function_attrs(surg__tparse *t, uint32_t names, uint32_t protos);

#endif
