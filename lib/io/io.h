/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing: the wire scan, the source image, external data, saving. */
#ifndef SURG_IO_H
#define SURG_IO_H

#include "ir/ir.h"

/* --- source image (source.c) --- */
/* Opens a path ("-": standard input, spooled), a regular file. Up to SURG_LIMIT_RESIDENT bytes are
 * read at once; of a larger file the image fills as the scan goes (surg__source_need). */
surg_status surg__source_open(surg_context *ctx, const char *path, surg__source **out);
surg_status surg__source_memory(surg_context *ctx, const void *p, size_t n, const char *name,
                                surg__source **out);
/* Makes [off, off+n) readable at base + off. */
surg_status surg__source_need(surg__source *s, uint64_t off, uint64_t n);
/* First bytes that are no ONNX model: LFS pointer, HTML, zip (PyTorch), gzip, ORT flatbuffer, text,
 * empty. NULL: may be one. The text names what it is and what to do. */
const char *surg__sniff(const uint8_t *p, uint64_t n);

/* --- loading for `check` (load.c): surg_model_load under SURG_LOAD_CHECK, of a path or of bytes
 * (path is their name then), that gives out the model too: as far as it holds (*partial: not all of
 * it does), nodes with a finding as operators nobody knows. NULL where nothing is left to go on.
 * --- */
surg_status surg__load_check_file(surg_context *ctx, const char *path, const void *bytes, size_t n,
                                  const surg_load_options *options, bool *partial,
                                  surg_model **out);

/* surg_model_load of a model to look at: data files need not be there (SURG__ABSENT_WARNING). */
surg_status surg__load_to_look(surg_context *ctx, const char *path,
                               const surg_load_options *options, surg_model **out);

/* What saving the model would take, weights in data files with it (save.c). O(graph). */
surg_status surg__saved_bytes(surg_model *m, uint64_t *bytes);

/* --- defects of a lenient load (defects.c) --- */
/* The place of a defect, named once; NULL: the model as a whole. */
const char *surg__defect_place(surg_model *m, surg__defect *d);
/* SURG_OK where no error finding is open; else the first one is reported as an error, and what to
 * do as a note. */
surg_status surg__model_sound(surg_model *m);
/* Looks again which findings are cured; nodes without an open one count as what they are again. */
surg_status surg__model_settle(surg_model *m);

/* --- weights that are not there (lost.c) --- */
/* Tensors of initializers and attributes whose data file is missing or too short. */
typedef struct surg__lost {
  size_t count, asked;   /* asked: whose elements something wanted */
  const char *names[8];  /* of the first that were asked for: of the value, or of the node */
} surg__lost;
void surg__lost_weights(const surg_model *m, surg__lost *out);
/* Notes what was left undone for want of elements, if anything was. */
void surg__lost_note(surg_model *m);
/* SURG_OK where all elements are there; else an error that names the first of them. */
surg_status surg__lost_refuse(surg_model *m, const char *what);

/* --- wire (wire.c) --- */
typedef struct surg__cursor {
  surg__source *src;
  uint64_t pos, end;
} surg__cursor;
typedef struct surg__field {
  uint32_t number, wire;
  uint64_t off;    /* of the tag */
  uint64_t value;  /* varint, fixed32, fixed64 */
  surg__span body; /* of a length-delimited field */
} surg__field;
/* Next field of a message: 1, 0 at its end, or a negative surg_status (reported, with byte and
 * path). */
int surg__wire_next(surg__cursor *c, surg__field *f);
size_t surg__varint_put(uint8_t *out, uint64_t v); /* at most 10 bytes */
size_t surg__varint_size(uint64_t v);

/* --- scan (scan.c): checks the whole file against the descriptors of protobuf-c: tags, lengths,
 * wire types, depth, UTF-8, duplicate singular messages, estimate of memory. --- */
surg_status surg__scan_model(surg__source *s, uint32_t max_depth);

/* --- external data (external.c) --- */
typedef struct surg__extkey {
  surg_str key, value;
} surg__extkey;
/* Resolves external_data entries for a tensor of `bytes` bytes: checks every key, opens the file
 * (once a location) beneath the model folder, checks the range. `tensor` is the byte in the source
 * that locates the tensor in messages. SURG_ENOTFOUND: the file is not as the model says, and a
 * line has told of it before (surg__absent). */
surg_status surg__external_resolve(surg_model *m, uint64_t tensor, const surg__extkey *keys,
                                   size_t n, uint64_t bytes, surg__datafile **file,
                                   surg__span *range);

/* Where no file of the location is known or there: the one that is meant, by surg__os_alike, in
 * `out` of SURG_LIMIT_LOCATION + 1 bytes. */
bool surg__external_alike(surg_model *m, const char *location, char *out);

/* --- size (size.c) --- */
/* What a tensor takes as a constant of g under that name: an initializer, or a Constant node. Of t
 * only the type and, where it has a source, its message are looked at. UINT64_MAX on failure. */
uint64_t surg__constant_bytes(const surg_graph *g, const char *name, const surg_tensor *t);

/* --- text (text_print.c, text_parse.c): ONNX text <-> wire bytes; know nothing of the IR --- */
surg_status surg__text_print(surg_context *ctx, const uint8_t *wire, size_t n, bool strict,
                             const char *name, surg__buf *out);
surg_status surg__text_parse(surg_context *ctx, const char *text, size_t n, const char *name,
                             surg__buf *wire);

#endif
