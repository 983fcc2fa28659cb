/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of new data files: which tensors are stored in which file, and where. Tensors are
 * collected first and placed afterwards, because names and headers of files depend on all of them.
 * Tensors with equal bytes, also of several models, are stored once. */
#ifndef SURG_LAYOUT_H
#define SURG_LAYOUT_H

#include "io/rope.h"

typedef struct surg__layout_rules {
  const char *name; /* of the file; shards and files of one tensor have names made from it */
  uint64_t shard;   /* maximum bytes of a file, except of one tensor; 0: no maximum */
  uint64_t align;   /* of each tensor; 0: 64 bytes, 4096 for a tensor of 1 MiB or more */
  bool each;        /* a file for each tensor */
} surg__layout_rules;

/* A tensor that is stored in a data file. */
typedef struct surg__slot {
  const surg_tensor *t;
  const char *name; /* of the tensor, borrowed; "" if it has none */
  uint64_t key;     /* hash of its bytes */
  uint32_t first;   /* index of the first slot with the same bytes: itself if there is none */
  uint32_t file;    /* of a first slot: index of its file, and place in it */
  uint64_t off;
} surg__slot;

typedef struct surg__part {
  char *location; /* allocated */
  surg__rope rope;
  uint32_t last; /* slot after the last one that is placed here */
} surg__part;

/* A table from hashes to indices of slots, plus 1. */
typedef struct surg__slot_table {
  uint32_t *cells;
  size_t capacity; /* power of 2, or 0 */
} surg__slot_table;

typedef struct surg__layout {
  surg_context *ctx;
  const char *where; /* for messages */
  surg__layout_rules rules;
  SURG_VEC(surg__slot) slots;
  SURG_VEC(surg__part) files;
  surg__slot_table by_tensor, by_bytes;
  SURG_VEC(char *) made;       /* paths of files that were published and may have to be removed */
  bool published;              /* a file was */
  uint64_t equal, equal_bytes; /* tensors that are stored with another one, and their bytes */
  uint64_t kept;               /* files that existed with these bytes */
} surg__layout;

void surg__layout_init(surg__layout *l, surg_context *ctx, const char *where);
void surg__layout_free(surg__layout *l);
/* Adds a tensor, unless it is in the layout. O(bytes) if another one may have the same bytes. */
surg_status surg__layout_add(surg__layout *l, const surg_tensor *t, const char *name);
/* Places all tensors and names the files. */
surg_status surg__layout_finish(surg__layout *l);
/* Bytes of a tensor in a data file. */
uint64_t surg__layout_bytes(const surg_tensor *t);
/* The slot with the place of a tensor, and its file; NULL: the tensor is not in the layout. */
const surg__slot *surg__layout_find(const surg__layout *l, const surg_tensor *t);
/* Whether tensors are written to files at all. */
static inline bool surg__layout_used(const surg__layout *l) {
  return l->slots.count > 0;
}
static inline const char *surg__layout_location(const surg__layout *l, const surg__slot *s) {
  return l->files.items[s->file].location;
}
/* Writes and publishes the files in folder `dir`. *renamed: the name of a file was not free, so its
 * location has changed. */
surg_status surg__layout_write(surg__layout *l, const char *dir, bool no_fsync, bool *renamed);
/* A model is about to get its name: a process that ends from now on leaves its data files. */
void surg__layout_needed(const surg__layout *l);
/* After the models are written: their data files stay. Otherwise surg__layout_free removes them. */
void surg__layout_keep(surg__layout *l);
/* Removes the files that were published. */
void surg__layout_remove(surg__layout *l);

#endif
