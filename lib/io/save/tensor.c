/* SPDX-License-Identifier: Apache-2.0 */
/* Writes tensors. Elements are never decoded: a piece of the rope refers to them, or they remain
 * in their data file. */
#include <stdio.h>

#include "io/save/save.h"

/* Whether the tensor moves from a data file into the model file. Encoded tensors stay where they
 * are. */
static bool comes_in(const surg__saver *s, const surg_tensor *t) {
  return t->view == SURG__VIEW_EXTERNAL && !t->codec &&
         (s->placing.embed || t->file->loan == SURG__LOAN_IN);
}

static const surg__slot *slot_of(const surg__saver *s, const surg_tensor *t) {
  return s->layout && s->placing.active ? surg__layout_find(s->layout, t) : NULL;
}

bool surg__save_moves(const surg__saver *s, const surg_tensor *t) {
  return slot_of(s, t) || comes_in(s, t);
}

/* --- payloads --- */

static void put_number_entry(surg__saver *s, const char *key, uint64_t v) {
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)v);
  surg__save_entry(s, TENSOR_EXTERNAL, key, text);
}

/* Writes the entries of encoded data that are not about its place. */
static void put_format(surg__saver *s, const surg_tensor *t) {
  const surg__codec *c = t->codec;
  for (uint32_t i = 0; c && i < c->n; i++)
    if (strcmp(c->keys[i].p, "location") != 0 && strcmp(c->keys[i].p, "offset") != 0 &&
        strcmp(c->keys[i].p, "length") != 0)
      surg__save_entry(s, TENSOR_EXTERNAL, c->keys[i].p, c->values[i].p);
}

static void put_placed(surg__saver *s, const surg_tensor *t, const surg__slot *slot) {
  surg__save_entry(s, TENSOR_EXTERNAL, "location", surg__layout_location(s->layout, slot));
  put_number_entry(s, "offset", slot->off);
  put_number_entry(s, "length", t->codec ? t->data.len : t->bytes);
  put_format(s, t);
  surg__rope_varint(&s->rope, TENSOR_LOCATION, 1);
}

static void put_raw(surg__saver *s, const surg_tensor *t) {
  surg__rope_tag(&s->rope, TENSOR_RAW, t->bytes);
  surg__rope_tensor(&s->rope, t);
}

static bool holds_payload(uint32_t number) {
  switch (number) {
    case TENSOR_FLOATS:
    case TENSOR_INT32S:
    case TENSOR_STRINGS:
    case TENSOR_INT64S:
    case TENSOR_RAW:
    case TENSOR_DOUBLES:
    case TENSOR_UINT64S:
    case TENSOR_EXTERNAL:
    case TENSOR_LOCATION:
      return true;
    default:
      return false;
  }
}

/* Copies the payload fields of another TensorProto of the source verbatim. */
static void put_as_written(surg__saver *s, surg__span msg) {
  surg__cursor c = surg__save_cursor(s, msg);
  surg__field f;
  while (surg__save_next(s, &c, &f))
    if (holds_payload(f.number)) surg__save_keep(s, &c, &f);
}

/* Writes a reference to a range of a data file that differs from the reference in the message. */
static void put_location(surg__saver *s, const surg_tensor *t) {
  surg__save_entry(s, TENSOR_EXTERNAL, "location", t->file->location);
  put_number_entry(s, "offset", t->data.off);
  put_number_entry(s, "length", t->codec ? t->data.len : t->bytes);
  put_format(s, t);
  surg__rope_varint(&s->rope, TENSOR_LOCATION, 1);
}

/* Whether a lenient load read the payload differently from what the message contains. */
static bool read_otherwise(const surg_tensor *t) {
  return t->defective && t->view != SURG__VIEW_ABSENT;
}

static void put_stripped(surg__saver *s, const surg_tensor *t) {
  for (uint32_t i = 0; i < t->codec->n; i++)
    surg__save_entry(s, TENSOR_EXTERNAL, t->codec->keys[i].p, t->codec->values[i].p);
  surg__rope_varint(&s->rope, TENSOR_LOCATION, 1);
}

static void put_payload(surg__saver *s, const surg_tensor *t) {
  const surg__slot *slot = slot_of(s, t);
  if (slot) {
    put_placed(s, t, slot);
  } else if (comes_in(s, t)) {
    put_raw(s, t);
  } else if (t->view == SURG__VIEW_EXTERNAL && (t->defective || t->linked)) {
    put_location(s, t);
  } else if (t->msg.off == 0 && t->view == SURG__VIEW_ABSENT && t->codec) {
    put_stripped(s, t);
  } else if (t->msg.off != 0 && t->view != SURG__VIEW_OWNED && !read_otherwise(t)) {
    put_as_written(s, t->msg);
  } else if (t->dtype == SURG_STRING) {
    for (uint64_t i = 0; i < t->count; i++)
      surg__rope_string(&s->rope, TENSOR_STRINGS, t->strings[i].p, t->strings[i].n);
  } else {
    put_raw(s, t);
  }
}

static void put_shape(surg__saver *s, const surg_tensor *t) {
  for (uint32_t i = 0; i < t->rank; i++)
    surg__rope_varint(&s->rope, TENSOR_DIMS, (uint64_t)t->dims[i]);
  surg__rope_varint(&s->rope, TENSOR_DTYPE, (uint64_t)(int64_t)t->dtype);
}

/* --- messages --- */

/* Writes the tensor's own message, with at most another name. */
static void splice_name(surg__saver *s, surg__span body, const char *name) {
  surg__cursor c = surg__save_cursor(s, body);
  surg__field f;
  bool named = false;
  while (surg__save_next(s, &c, &f)) {
    if (f.number != TENSOR_NAME)
      surg__save_keep(s, &c, &f);
    else if (!named)
      surg__save_retext(s, &c, &f, name);
    named = named || f.number == TENSOR_NAME;
  }
  if (!named && *name) surg__save_str(s, TENSOR_NAME, name);
}

/* Writes the elements and shape of t with the other fields of `extras`. */
static void splice_data(surg__saver *s, const surg_tensor *t, surg__span extras, const char *name) {
  surg__cursor c = surg__save_cursor(s, extras);
  surg__field f;
  bool named = false;
  put_shape(s, t);
  while (surg__save_next(s, &c, &f)) {
    if (f.number == TENSOR_DIMS || f.number == TENSOR_DTYPE || f.number == TENSOR_SEGMENT ||
        holds_payload(f.number))
      continue;
    if (f.number == TENSOR_NAME && name) {
      if (!named) surg__save_retext(s, &c, &f, name);
      named = true;
    } else {
      surg__save_keep(s, &c, &f);
    }
  }
  if (!named && name && *name) surg__save_str(s, TENSOR_NAME, name);
  put_payload(s, t);
}

void surg__save_tensor(surg__saver *s, uint32_t number, const surg_tensor *t, surg__span extras,
                       const char *name) {
  surg__open open = surg__save_begin(s, number);
  bool own = extras.off != 0 && extras.off == t->msg.off && extras.len == t->msg.len;
  if (own && !surg__save_moves(s, t) && !read_otherwise(t)) {
    if (name)
      splice_name(s, extras, name);
    else
      surg__rope_source(&s->rope, extras.off, extras.len);
  } else if (extras.off != 0) {
    splice_data(s, t, extras, name);
  } else {
    put_shape(s, t);
    if (name && *name) surg__save_str(s, TENSOR_NAME, name);
    put_payload(s, t);
  }
  surg__save_end(s, open);
}

/* Writes a sparse initializer; its name is the name of its values tensor. */
static void put_sparse(surg__saver *s, const surg_tensor *t, const char *name) {
  surg__open open = surg__save_begin(s, GRAPH_SPARSE);
  surg__cursor c = surg__save_cursor(s, t->msg);
  surg__field f;
  while (surg__save_next(s, &c, &f)) {
    if (f.number != SPARSE_VALUES) {
      surg__save_keep(s, &c, &f);
      continue;
    }
    surg__open values = surg__save_begin(s, SPARSE_VALUES);
    splice_name(s, f.body, name);
    surg__save_end(s, values);
  }
  surg__save_end(s, open);
}

/* The TensorProto that the initializer was read from; empty if it was sparse and no longer is. */
static surg__span dense_source(surg__saver *s, const surg_value *v) {
  const surg__span none = {0, 0};
  if (surg__save_made_here(v->init_src)) return none;
  surg__cursor c = {s->m->source, v->init_src.field_off,
                    v->init_src.body.off + v->init_src.body.len};
  surg__field f;
  if (!surg__save_next(s, &c, &f)) return none;
  return f.number == GRAPH_INITIALIZER ? v->init_src.body : none;
}

void surg__save_initializer(surg__saver *s, const surg_value *v) {
  const surg_tensor *t = v->tensor;
  bool sparse = t->view == SURG__VIEW_SPARSE;
  uint32_t number = sparse ? GRAPH_SPARSE : GRAPH_INITIALIZER;
  bool clean = !surg__save_made_here(v->init_src) && !v->init_dirty && !v->named_here &&
               !surg__save_moves(s, t);
  if (clean)
    surg__save_copy(s, number, v->init_src);
  else if (sparse)
    put_sparse(s, t, v->name);
  else
    surg__save_tensor(s, number, t, dense_source(s, v), v->name);
}
