/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX text, reading: attribute lists (text_parse_attr.c), for nodes and functions. */
#ifndef SURG_TEXT_ATTR_H
#define SURG_TEXT_ATTR_H

#include "io/text_codec.h"

bool surg__parse_attrs(surg__tparse *t, uint32_t number); /* an optional `<...>` */
/* The same of a function: plain names are `names`, entries with a value `protos`. */
bool surg__parse_function_attrs(surg__tparse *t, uint32_t names, uint32_t protos);

#endif
