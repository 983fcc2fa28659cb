/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing models: the scan of the wire format, the source image, external data,
 * loading for checks, saving, ONNX text. */
#ifndef SURG_IO_H
#define SURG_IO_H

#include "ir/ir.h"

/* --- source image (source.c) --- */
/* Opens a regular file, or standard input for the path "-", which is first copied to a temporary
 * file. A file of up to SURG_LIMIT_RESIDENT bytes is read at once; of a larger file, the image
 * is filled as parts are requested (surg__source_need). */
surg_status surg__source_open(surg_context *ctx, const char *path, surg__source **out);
/* Reads a source from a callback, to its end. */
surg_status surg__source_ask(surg_context *ctx, const surg_source *from, const char *name,
                             surg__source **out);
surg_status surg__source_memory(surg_context *ctx, const void *p, size_t n, const char *name,
                                surg__source **out);
/* Becomes the owner of a file, also on failure. It counts as the file of `like` (NULL: a model that
 * was not read): external data is relative to the same folder. */
surg_status surg__source_take(surg_context *ctx, const surg__source *like, int fd,
                              surg__source **out);
/* Makes the bytes [off, off+n) readable at base + off. */
surg_status surg__source_need(surg__source *s, uint64_t off, uint64_t n);
/* Returns the same bytes in *p, which are valid until the next call with this source. Where the
 * image was dropped, they need not be in it. */
surg_status surg__source_peek(surg__source *s, uint64_t off, uint64_t n, const uint8_t **p);
/* Recognises files that are not ONNX models by their first bytes: LFS pointer, HTML, zip
 * (PyTorch), gzip, ORT flatbuffer, other text, empty. Returns a message that names the format
 * and what to do; NULL: the file may be a model. */
const char *surg__sniff(const uint8_t *p, uint64_t n);
/* Whether these first bytes begin ONNX text: `<` after blanks and comments. */
bool surg__begins_text(const uint8_t *p, uint64_t n);

/* --- loading for `check` (load.c) --- surg_model_load with the policy SURG_LOAD_CHECK, from a
 * path or from n bytes (then `path` is their name in messages), that also returns the model. The
 * model contains what could be read (*partial: some part is missing); nodes with a finding are
 * opaque, as if their operator were unknown. NULL: nothing usable was read. */
surg_status surg__load_check_file(surg_context *ctx, const char *path, const void *bytes, size_t n,
                                  const surg_load_options *options, bool *partial,
                                  surg_model **out);

/* --- handing a model from one process to another, by a file --- */
/* Writes the model, with open findings, and of any size (save.c). External data stays where it is.
 * O(bytes) */
surg_status surg__model_hand_over(surg_model *m, int fd);
/* Loads what was written for `like`, a copy of the model before the edit, with its options,
 * assumptions and place of external data. Becomes the owner of fd (load.c). */
surg_status surg__model_take_over(const surg_model *like, int fd, surg_model **out);

/* The size in bytes of the saved model, including weights in data files (save.c). O(graph). */
surg_status surg__saved_bytes(surg_model *m, uint64_t *bytes);

/* --- defects of a lenient load (defects.c) --- */
/* The location of a defect as text, computed on the first call; NULL: the model as a whole. */
const char *surg__defect_place(surg_model *m, surg__defect *d);
/* SURG_OK if no error finding is open; else reports the first one as an error and its remedy as
 * a note. */
surg_status surg__model_sound(surg_model *m);
/* Re-evaluates which findings are cured. A node without an open finding gets its operator back. */
surg_status surg__model_settle(surg_model *m);

/* Whether the model differs from the file it was read from. A lenient load marks parts dirty
 * that are rewritten only if the model is edited, so there the epoch decides. */
static inline bool surg__edited(const surg_model *m) {
  return m->lenient ? m->epoch != m->read_epoch : m->dirty;
}

/* Warns if encoded weights were decoded and are not in the model any more (decoded.c). O(model) */
void surg__decoded_warn(const surg_model *m);

/* --- weights whose data are missing (lost.c) --- */
/* Tensors of initializers and attributes whose data file is missing or too short. */
typedef struct surg__lost {
  size_t count, asked;   /* asked: those whose elements were requested */
  const char *names[8];  /* the first requested ones, by value or node name */
} surg__lost;
void surg__lost_weights(const surg_model *m, surg__lost *out);
/* Prints a note if an operation was skipped because elements are missing. */
void surg__lost_note(surg_model *m);
/* SURG_OK if all elements are available; else an error that names the first missing tensor. */
surg_status surg__lost_refuse(surg_model *m, const char *what);

/* --- wire (wire.c) --- */
typedef struct surg__cursor {
  surg__source *src;
  uint64_t pos, end;
  bool skim; /* most fields are passed over: their pages are read, and not added to the image */
} surg__cursor;
typedef struct surg__field {
  uint32_t number, wire;
  uint64_t off;    /* of the tag */
  uint64_t value;  /* of a varint, fixed32 or fixed64 */
  surg__span body; /* payload of a length-delimited field */
} surg__field;
/* Reads the next field of a message: 1, 0 at its end, or a negative surg_status (reported, with
 * byte offset and path). */
int surg__wire_next(surg__cursor *c, surg__field *f);
size_t surg__varint_put(uint8_t *out, uint64_t v); /* writes at most 10 bytes */
size_t surg__varint_size(uint64_t v);

/* --- scan (scan.c): validates the whole file against the protobuf-c descriptors: tags, lengths,
 * wire types, depth, UTF-8, duplicate singular messages, estimated memory. --- */
/* A form that readers of protocol buffers accept and that is not loaded as it is. */
typedef struct surg__oddity {
  const char *code, *text; /* static strings */
  uint64_t off;            /* of the field */
  bool interface;          /* it is the name of an input or output of the model */
} surg__oddity;
typedef struct surg__oddities {
  SURG_VEC(surg__oddity) list; /* the first SURG_LIMIT_WARNINGS */
  uint64_t all;
} surg__oddities;
/* `odd`: receives the oddities; NULL: the first one is an error. */
surg_status surg__scan_model(surg__source *s, uint32_t max_depth, surg__oddities *odd);
/* A copy of the file as readers of protocol buffers see it (plain.c): messages in several parts
 * are merged, groups and fields of a wrong wire type left out, and text that is not UTF-8 is
 * escaped, so that different texts stay different. O(bytes x depth) */
surg_status surg__source_plain(surg__source *s, surg__source **out);

/* --- the rules of loading, on a model in memory (judge.c) --- */
/* Receives a violation; `n` is NULL if it is not about a node. `text` is not escaped further. */
typedef void (*surg__judge_fn)(void *user, const surg_node *n, const char *code, const char *text);
/* Checks all nodes, and the types of inputs and outputs, as loading does. O(nodes) */
surg_status surg__model_judge(surg_model *m, surg__judge_fn fn, void *user);

/* --- external data (external.c) --- */
typedef struct surg__extkey {
  surg_str key, value;
} surg__extkey;
/* The value of the entry `format`; NULL: the data file has the elements as they are. */
const surg_str *surg__external_format(const surg__extkey *keys, size_t n);
/* Resolves the external_data entries of a tensor of `bytes` bytes: checks every key, opens the
 * file (once per location) beneath the folder of the model and checks the range. `tensor` is the
 * byte offset that locates the tensor in messages. SURG_ENOTFOUND: the file is missing or too
 * short, which the `absent` mode of the model permits; that is reported once per file. */
surg_status surg__external_resolve(surg_model *m, uint64_t tensor, const surg__extkey *keys,
                                   size_t n, uint64_t bytes, surg__datafile **file,
                                   surg__span *range);

/* Finds the file that a location with no matching file probably means (surg__os_alike), for
 * example one that differs in case. `out` has SURG_LIMIT_LOCATION + 1 bytes. */
bool surg__external_alike(surg_model *m, const char *location, char *out);

/* --- size (size.c) --- */
/* The size in bytes of a tensor as a constant of g named `name`: an initializer, or a Constant
 * node where g cannot have initializers. Reads only the type of t and, if it has a source, its
 * message. UINT64_MAX on failure. */
uint64_t surg__constant_bytes(const surg_graph *g, const char *name, const surg_tensor *t);

/* --- text (print.c, parse.c): converts between ONNX text and wire bytes, independent
 * of the IR --- */
surg_status surg__text_print(surg_context *ctx, const uint8_t *wire, size_t n, bool strict,
                             const char *name, surg__buf *out);
/* As surg__text_print, but for people only: tensors above `most` elements are `...`. */
surg_status surg__text_preview(surg_context *ctx, const uint8_t *wire, size_t n, uint64_t most,
                               const char *name, surg__buf *out);
/* Parses nodes alone, as the graph of a model with the fields `head` (ir_version, imports).
 * Numbers, lists and tensors among the inputs become initializers named SURG__LITERAL_OPEN (without
 * an element type: int64 or double) or SURG__LITERAL_TYPED and a number. */
#define SURG__LITERAL_OPEN "\x01?"
#define SURG__LITERAL_TYPED "\x01="
surg_status surg__text_parse_fragment(surg_context *ctx, const char *text, size_t n,
                                      const char *name, const surg__buf *head, surg__buf *wire);
surg_status surg__text_parse(surg_context *ctx, const char *text, size_t n, const char *name,
                             surg__buf *wire);

/* Entry of external_data of a tensor whose elements were replaced by a digest (lib/weights). It has
 * no data file: it is absent, and `codec` has all entries. */
#define SURG__STRIPPED_KEY "onnxsurg.digest"

/* --- fingerprints (save/fingerprint.c) --- */

/* A number for the content of a model. Models of one context, read from the same files, that have
 * the same number have the same bytes when they are saved, but for chance. The number of a model
 * that was freed stays valid. SURG_ELIMIT: too many elements are in memory. O(model), without the
 * elements in files */
surg_status surg__model_fingerprint(surg_model *m, uint64_t *out);

#endif
