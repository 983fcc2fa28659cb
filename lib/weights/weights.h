/* SPDX-License-Identifier: Apache-2.0 */
/* Weights by name, in a model and in files of other formats. */
#ifndef SURG_WEIGHTS_H
#define SURG_WEIGHTS_H

#include <onnxsurg/weights.h>

#include "io/save/save.h"
#include "run/run.h"

/* An initializer of a model with a name that is unique in it. */
typedef struct surg__weight {
  surg_value *value;
  const char *name;
  const surg_tensor *t; /* of `value`; NULL: sparse */
} surg__weight;
typedef struct surg__weights {
  surg_context *ctx;
  surg__arena arena; /* names with numbers */
  SURG_VEC(surg__weight) all;
} surg__weights;
/* Lists the initializers of all graphs. The caller frees the list also after a failure. */
surg_status surg__weights_list(surg_model *m, surg__weights *out);
void surg__weights_free(surg__weights *w);

/* A tensor of a file. */
typedef struct surg__stored {
  const char *name;
  int dtype;
  uint32_t rank;
  const int64_t *dims;
  uint64_t off, bytes;   /* of the elements; deflated: of the packed member */
  bool deflated;         /* with its .npy header */
  bool plain;            /* the bytes at `off` are the elements as in raw_data */
  uint64_t member, size; /* of .npz: place of the member with its header, and unpacked size */
} surg__stored;
typedef struct surg__storage {
  surg_context *ctx;
  const char *path;
  int fd;
  uint64_t size;
  surg__arena arena;
  SURG_VEC(surg__stored) all;
} surg__storage;

static inline surg_status surg__storage_bad(const surg__storage *f, const char *why) {
  return surg__error(f->ctx, SURG_EINVALID, f->path, "%s", why);
}
/* Opens a .safetensors or .npz file and lists its tensors. The caller closes it also after a
 * failure, which is reported. */
surg_status surg__storage_open(surg_context *ctx, const char *path, surg__storage *out);
void surg__storage_close(surg__storage *f);
/* Reads a range of the file. */
surg_status surg__storage_read(const surg__storage *f, uint64_t off, void *out, size_t n);
/* Fill in the list of tensors (safetensors.c, zip.c). */
surg_status surg__safetensors_list(surg__storage *f);
surg_status surg__npz_list(surg__storage *f);
/* Reads a tensor of an .npz file that is no plain range: deflated, column-major or big-endian. */
surg_status surg__npz_load(const surg__storage *f, const surg__stored *e, surg_model *m,
                           surg_tensor **out);

/* Whether the format has the element type. */
bool surg__safetensors_has(int dtype);
bool surg__npz_has(int dtype);
/* Write n weights, all of which the format has. */
surg_status surg__safetensors_write(surg_context *ctx, const surg__weight *const *w, size_t n,
                                    const char *dir, const char *path, bool no_fsync,
                                    surg__draft *out);
surg_status surg__npz_write(surg_context *ctx, const surg__weight *const *w, size_t n,
                            const char *dir, const char *path, bool no_fsync, bool compress,
                            surg__draft *out);

typedef enum surg__weights_format {
  SURG__WEIGHTS_NONE = 0,
  SURG__WEIGHTS_SAFETENSORS,
  SURG__WEIGHTS_NPZ
} surg__weights_format;
/* The format of a file by its extension; NONE after reporting an error. */
surg__weights_format surg__weights_format_of(surg_context *ctx, const char *path);

#endif
