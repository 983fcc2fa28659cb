/* SPDX-License-Identifier: Apache-2.0 */
/* A rope: the content of a file as a list of pieces that refer to bytes instead of copying them.
 * Building one costs O(graph), independent of the size of the weights: adjacent ranges of the
 * source become one piece, and the length of a nested message is the difference of two running
 * totals. */
#ifndef SURG_ROPE_H
#define SURG_ROPE_H

#include "io/io.h"

typedef enum surg__piece_kind {
  SURG__PIECE_MEMORY,   /* bytes [off, off+len) of the rope's own buffer */
  SURG__PIECE_HEADER,   /* as MEMORY, of an unfinished message: tag and length are not yet known */
  SURG__PIECE_SOURCE,   /* a range of the source file */
  SURG__PIECE_FILE,     /* a range of a data file */
  SURG__PIECE_TENSOR,   /* the elements of a tensor, in the format of raw_data */
  SURG__PIECE_BORROWED, /* memory that outlives the rope */
  SURG__PIECE_ZERO
} surg__piece_kind;

typedef struct surg__piece {
  surg__piece_kind kind;
  uint64_t off, len;
  const void *object; /* FILE: surg__datafile; TENSOR: surg_tensor; BORROWED: the bytes */
} surg__piece;

typedef struct surg__rope {
  surg_context *ctx;
  surg__source *source; /* borrowed; NULL: the rope has no SOURCE pieces */
  SURG_VEC(surg__piece) pieces;
  surg__buf bytes;
  uint64_t total;
  bool failed; /* out of memory, or the total overflows; never reset */
} surg__rope;

/* A message whose end is not yet written. */
typedef struct surg__open {
  size_t piece;
  uint64_t start;
  uint32_t number;
} surg__open;

void surg__rope_init(surg__rope *r, surg_context *ctx, surg__source *source);
void surg__rope_free(surg__rope *r);
void surg__rope_clear(surg__rope *r);
void surg__rope_bytes(surg__rope *r, const void *p, size_t n);
void surg__rope_borrow(surg__rope *r, const void *p, size_t n);
void surg__rope_source(surg__rope *r, uint64_t off, uint64_t n);
void surg__rope_file(surg__rope *r, const surg__datafile *f, uint64_t off, uint64_t n);
void surg__rope_tensor(surg__rope *r, const surg_tensor *t);
void surg__rope_zero(surg__rope *r, uint64_t n);

/* Append fields in the wire format. */
void surg__rope_varint(surg__rope *r, uint32_t number, uint64_t value);
void surg__rope_fixed32(surg__rope *r, uint32_t number, uint32_t value);
void surg__rope_string(surg__rope *r, uint32_t number, const void *p, size_t n);
void surg__rope_tag(surg__rope *r, uint32_t number, uint64_t len); /* for a body of len bytes */
surg__open surg__rope_begin(surg__rope *r, uint32_t number);
void surg__rope_end(surg__rope *r, surg__open open);

/* The destination of a rope: a file or stream, or a buffer large enough for all of it. */
typedef struct surg__sink {
  const char *path; /* for messages */
  int fd;           /* -1: memory */
  bool plain_file;  /* the kernel can copy file ranges into it */
  uint8_t *memory;
  const surg_sink *callback; /* if not NULL, it takes the bytes */
} surg__sink;
/* Writes the rope to the sink; failures are reported. */
surg_status surg__rope_write(surg__rope *r, const surg__sink *sink);

#endif
