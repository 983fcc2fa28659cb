/* SPDX-License-Identifier: Apache-2.0 */
/* doc_string and metadata_props of graphs, nodes, functions and declarations. The IR stores only
 * what differs from the source; the rest is read when it is asked for. */
#ifndef SURG_ABOUT_H
#define SURG_ABOUT_H

#include "ir/ir.h"

/* Field numbers of onnx.proto. */
enum {
  SURG__GRAPH_DOC = 10,
  SURG__GRAPH_ENTRIES = 16,
  SURG__NODE_DOC = 6,
  SURG__NODE_ENTRIES = 9,
  SURG__FUNCTION_DOC = 8,
  SURG__FUNCTION_ENTRIES = 14,
  SURG__INFO_DOC = 3,
  SURG__INFO_ENTRIES = 4,
  SURG__MODEL_PRODUCER = 2,
  SURG__MODEL_PRODUCER_VERSION = 3,
  SURG__MODEL_DOMAIN = 4,
  SURG__MODEL_VERSION = 5,
  SURG__MODEL_DOC = 6
};

/* Fills in doc and entries (interned in the model) from a message of the source; absent fields stay
 * as they are. Defined in lib/io/about.c. */
surg_status surg__about_read(surg_model *m, surg__span body, uint32_t doc, uint32_t entries,
                             surg__about *out);
/* The text of field `number` of the model in its source, interned, or NULL; *value: the number of a
 * varint field. Defined in lib/io/about.c. */
const char *surg__about_header(surg_model *m, uint32_t number, int64_t *value);
/* Copies into another model; *out is NULL for NULL. False: out of memory. */
bool surg__about_copy(surg_model *to, const surg__about *a, const surg__about **out);
/* The field number of a text of the model, or 0. */
uint32_t surg__header_field(int field);

#endif
