/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of wire.c and path.c beyond io.h: read one field without a report, and name the
 * location of a byte. */
#ifndef SURG_WIRE_H
#define SURG_WIRE_H

#include <protobuf-c/protobuf-c.h>

#include "io/io.h"

enum {
  SURG__WIRE_VARINT = 0,
  SURG__WIRE_64 = 1,
  SURG__WIRE_BYTES = 2,
  SURG__WIRE_GROUP = 3, /* up to its end, which is of type 4 */
  SURG__WIRE_32 = 5
};

/* The wire type of a field of a declared type when it is not packed. */
uint32_t surg__wire_of(ProtobufCType type);
/* Reads the field at pos of a message that ends at end: 1 and *next is the offset after it;
 * SURG_EINVALID and *why is the reason, not reported; or another failure, which was reported. */
int surg__wire_read(surg__source *s, uint64_t pos, uint64_t end, surg__field *f, uint64_t *next,
                    const char **why);
/* As surg__wire_read, also of a group: its body is what is between its tags. */
int surg__wire_read_any(surg__source *s, uint64_t pos, uint64_t end, surg__field *f, uint64_t *next,
                        const char **why);
/* Reads a varint from n bytes: its length, or 0 if it is invalid. */
size_t surg__varint_get(const uint8_t *p, size_t n, uint64_t *out);

/* Appends the path of the element whose field starts at byte `off`, or of the innermost element
 * around it: graph.node[5] "If_5" (If).then_branch.node[2] "x" (Relu). O(file before it). */
void surg__wire_path(surg__source *s, uint64_t off, surg__buf *out);
/* Reports `byte N (path): why`; returns SURG_EINVALID. */
surg_status surg__wire_error(surg__source *s, uint64_t off, const char *why);

#endif
