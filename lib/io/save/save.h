/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of saving. An unchanged message is copied as one range, tag included. A changed
 * message is *spliced*: the fields of its source message are visited in order; changed fields
 * are written anew at the position of their first occurrence, all others (unknown ones too) are
 * copied verbatim. A message without a source is written in order of field numbers. So unchanged
 * content is never decoded, and each message has one writer, with or without a source. */
#ifndef SURG_SAVE_H
#define SURG_SAVE_H

#include <onnxsurg/weights.h>

#include "io/layout.h"

/* Field numbers of onnx.proto. */
enum {
  MODEL_IR_VERSION = 1,
  MODEL_GRAPH = 7,
  MODEL_IMPORT = 8,
  MODEL_METADATA = 14,
  MODEL_TRAINING = 20,
  MODEL_FUNCTION = 25,
  GRAPH_NODE = 1,
  GRAPH_NAME = 2,
  GRAPH_INITIALIZER = 5,
  GRAPH_INPUT = 11,
  GRAPH_OUTPUT = 12,
  GRAPH_VALUE_INFO = 13,
  GRAPH_ANNOTATION = 14,
  GRAPH_SPARSE = 15,
  FUNCTION_NAME = 1,
  FUNCTION_INPUT = 4,
  FUNCTION_OUTPUT = 5,
  FUNCTION_ATTRIBUTE = 6,
  FUNCTION_NODE = 7,
  FUNCTION_IMPORT = 9,
  FUNCTION_DOMAIN = 10,
  FUNCTION_DEFAULT = 11,
  FUNCTION_VALUE_INFO = 12,
  FUNCTION_OVERLOAD = 13,
  NODE_INPUT = 1,
  NODE_OUTPUT = 2,
  NODE_NAME = 3,
  NODE_OP_TYPE = 4,
  NODE_ATTRIBUTE = 5,
  NODE_DOMAIN = 7,
  NODE_OVERLOAD = 8,
  NODE_DEVICES = 10,
  DEVICES_SHARDING = 2,
  SHARDING_TENSOR = 1,
  ATTR_NAME = 1,
  ATTR_F = 2,
  ATTR_I = 3,
  ATTR_S = 4,
  ATTR_T = 5,
  ATTR_G = 6,
  ATTR_FLOATS = 7,
  ATTR_INTS = 8,
  ATTR_STRINGS = 9,
  ATTR_TENSORS = 10,
  ATTR_GRAPHS = 11,
  ATTR_TP = 14,
  ATTR_TPS = 15,
  ATTR_TYPE = 20,
  ATTR_REF = 21,
  ATTR_SPARSE = 22,
  ATTR_SPARSES = 23,
  INFO_NAME = 1,
  INFO_TYPE = 2,
  TENSOR_DIMS = 1,
  TENSOR_DTYPE = 2,
  TENSOR_SEGMENT = 3,
  TENSOR_FLOATS = 4,
  TENSOR_INT32S = 5,
  TENSOR_STRINGS = 6,
  TENSOR_INT64S = 7,
  TENSOR_NAME = 8,
  TENSOR_RAW = 9,
  TENSOR_DOUBLES = 10,
  TENSOR_UINT64S = 11,
  TENSOR_EXTERNAL = 13,
  TENSOR_LOCATION = 14,
  SPARSE_VALUES = 1,
  ANNOTATION_TENSOR = 1,
  ANNOTATION_PARAM = 2,
  ENTRY_KEY = 1,
  ENTRY_VALUE = 2,
  IMPORT_DOMAIN = 1,
  IMPORT_VERSION = 2
};

/* Which tensors move to new data files. */
typedef struct surg__placing {
  bool active;
  bool all;            /* every large tensor, including those that are already external */
  bool inline_too;     /* large initializers in the model file */
  bool attributes_too; /* tensors of attributes as well */
  bool embed;          /* instead: every external tensor moves into the model file */
  uint64_t threshold;
} surg__placing;

typedef SURG_VEC(const surg__datafile *) surg__datafiles;

typedef struct surg__saver {
  surg_model *m;
  surg_context *ctx;
  const char *where; /* the output, for messages */
  surg__rope rope;   /* the model */
  surg__placing placing;
  surg__layout *layout;   /* new data files, borrowed; NULL: there are none */
  surg__datafiles gather; /* data files whose tensors move to the new data file, sorted by
                           * address */
  unsigned depth;
  uint32_t nodes;     /* nodes that were written since the start */
  surg_status status; /* first failure; never reset */
} surg__saver;

/* Fills `rope` (model.c). */
surg_status surg__save_build(surg__saver *s);

/* --- wire.c --- */
surg_status surg__save_fail(surg__saver *s, surg_status status);
static inline bool surg__save_made_here(surg__src src) {
  return src.body.off == 0;
}
/* Visits the fields of a source message; false at its end or after a failure. */
surg__cursor surg__save_cursor(surg__saver *s, surg__span body);
bool surg__save_next(surg__saver *s, surg__cursor *c, surg__field *f);
/* Appends the field verbatim, tag included. */
void surg__save_keep(surg__saver *s, const surg__cursor *c, const surg__field *f);
/* The payload of a length-delimited field; NULL after a failure. */
const char *surg__save_text(surg__saver *s, const surg__field *f);
/* Appends a source message as field `number`: verbatim if it had that number, else with a new
 * tag. */
void surg__save_copy(surg__saver *s, uint32_t number, surg__src src);
/* Begins and ends a nested message; begin checks the depth limit. */
surg__open surg__save_begin(surg__saver *s, uint32_t number);
void surg__save_end(surg__saver *s, surg__open open);
/* Appends field `number`, a string, of a message being spliced: copies the field if its text is
 * equal, else writes `text`. */
void surg__save_retext(surg__saver *s, const surg__cursor *c, const surg__field *f,
                       const char *text);
void surg__save_str(surg__saver *s, uint32_t number, const char *text);
/* Whether the message's string field `number` equals `text` ("" if the field is absent). */
bool surg__save_reads(surg__saver *s, surg__span body, uint32_t number, const char *text);

/* --- leaf.c --- */
void surg__save_type(surg__saver *s, uint32_t number, const surg_type *t);
void surg__save_decl(surg__saver *s, uint32_t number, const surg__decl *d, const char *name);
void surg__save_import(surg__saver *s, uint32_t number, const surg__import *i);
/* Writes the doc_string or the metadata_props that were set. */
void surg__save_about(surg__saver *s, const surg__about *a, uint32_t number, bool doc);
void surg__save_entry(surg__saver *s, uint32_t number, const char *key, const char *value);
void surg__save_metadata(surg__saver *s, const surg__metadata *e);
void surg__save_annotation(surg__saver *s, const surg__annotation *a);
/* Appends the NodeDeviceConfigurationProto in field f of a node, with the current names of
 * renamed values. */
void surg__save_devices(surg__saver *s, const surg_node *n, const surg__field *f);

/* --- tensor.c --- */
/* Whether the tensor moves to a new data file, or from one into the model file. */
bool surg__save_moves(const surg__saver *s, const surg_tensor *t);
/* Appends a tensor as field `number`. `extras`: the TensorProto whose other fields (doc_string,
 * metadata, unknown ones) are copied, or an empty span. `name` NULL: the name is unchanged, or
 * absent. */
void surg__save_tensor(surg__saver *s, uint32_t number, const surg_tensor *t, surg__span extras,
                       const char *name);
void surg__save_initializer(surg__saver *s, const surg_value *v);

/* --- node.c --- */
void surg__save_node(surg__saver *s, uint32_t number, const surg_node *n);
void surg__save_attr(surg__saver *s, uint32_t number, const surg_attr *a);

/* --- graph.c --- */
void surg__save_graph(surg__saver *s, uint32_t number, const surg_graph *g);
void surg__save_function(surg__saver *s, const surg_function *f);

/* --- save.c --- */
void surg__saver_init(surg__saver *s, surg_model *m, const char *where);
void surg__saver_free(surg__saver *s);
surg_status surg__save_io_error(surg__saver *s, int e);
surg_status surg__save_too_large(surg__saver *s);

/* --- files.c --- */
/* Writes models to files. `place`: weights are stored where the options state; otherwise they stay,
 * and the options say what happens to those that cannot. */
surg_status surg__save_files(surg_model *const *models, const char *const *paths, size_t n,
                             const surg_data_options *o, bool place, bool keep_defects,
                             surg_data_report *report);

/* --- layout_write.c --- */
/* Publishes a data file and records it, provisional until surg__layout_keep; becomes the owner of
 * `path`, allocated. *taken: a file has the path, so the draft stays. No data file replaces
 * another: the model of another process may refer to it. */
typedef struct surg__draft surg__draft;
surg_status surg__layout_publish(surg__layout *l, surg__draft *d, char *path, bool *taken);

/* --- place.c --- */
/* Decides what happens to the model's data files when it is written to `path` in folder `dir`;
 * rejects a path that is one of them. Fills `gather`, and `copies` with the files to copy along
 * under their own name; `copies` NULL: such files are gathered instead. */
surg_status surg__place_plan(surg__saver *s, const char *path, const char *dir,
                             surg__datafiles *copies);
/* Decides again for file f, as its path in `dir` is taken meanwhile; *moved: its tensors move to a
 * new data file. */
surg_status surg__place_taken(surg__saver *s, const surg__datafile *f, const char *dir,
                              bool *moved);
/* Whether all data files of the model are reachable from folder `dir` unchanged. */
bool surg__place_stays(const surg_model *m, const char *dir);
bool surg__place_gathered(const surg__saver *s, const surg__datafile *f);
/* Adds to the layout all tensors of the model that move to data files. */
surg_status surg__place_collect(surg__saver *s);
/* A finished file without a final name; fd -1: none. */
struct surg__draft {
  int fd;
  char *temp; /* allocated by surg__os_temp_in */
};
void surg__draft_drop(surg__draft *d);
/* Writes the rope to a new file in folder `dir` and syncs it unless `no_fsync`. The file gets
 * the mode of the file `like`, if that exists. */
surg_status surg__draft_write(surg__rope *rope, const char *dir, const char *where,
                              const char *like, bool no_fsync, surg__draft *out);
surg_status surg__draft_publish(surg_context *ctx, surg__draft *d, const char *path,
                                const char *where);
/* The same where no file has the path; else *taken, and the draft stays. */
surg_status surg__draft_publish_new(surg_context *ctx, surg__draft *d, const char *path,
                                    const char *where, bool *taken);
/* Chooses the name for a data file of `size` bytes: `want`, or a variant if another file has
 * that name. If a file of that name has the same bytes and no other process may remove it, it is
 * reused and the draft is dropped.
 * The caller frees *name and *path with surg__free. */
surg_status surg__draft_name(surg_context *ctx, const char *where, const char *dir,
                             const char *want, surg__draft *d, uint64_t size, char **name,
                             char **path);
char *surg__path_join(surg_context *ctx, const char *dir, const char *name);

#endif
