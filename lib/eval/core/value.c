/* SPDX-License-Identifier: Apache-2.0 */
/* Cells: reference-counted memory of the arrays of a running model. */
#include "eval/core/value.h"

#include <stdio.h>

#include "base/context.h"
#include "base/dtype.h"
#include "eval/core/stream.h"

struct surg__cell {
  size_t refs;
  surg_context *ctx;
  surg__cell *base;  /* owner of the elements; never a view itself */
  surg__arena arena; /* memory that is not part of this block */
  bool loose;        /* text may be in memory that the cell does not own */
  bool list;         /* data is a surg__list of n_items */
  surg__stream *stream; /* in `data`; NULL: none */
  uint64_t n_items;
  max_align_t data[];
};

/* A cell with n bytes of data in the same block; its arena allocates exactly the requested
 * sizes. */
static surg__cell *new_cell(surg_context *ctx, size_t n) {
  size_t total;
  if (!surg__add(n, sizeof(surg__cell), &total)) {
    ctx->alloc_status = SURG_ELIMIT;
    return NULL;
  }
  surg__cell *c = surg__alloc(ctx, total);
  if (!c) return NULL;
  *c = (surg__cell){.refs = 1, .ctx = ctx};
  surg__arena_init(&c->arena, ctx);
  c->arena.next_size = 0;
  return c;
}

static size_t dims_bytes(uint32_t rank) {
  size_t n = (size_t)rank * sizeof(int64_t), unit = sizeof(max_align_t);
  return (n + unit - 1) / unit * unit;
}

static const int64_t *put_dims(surg__cell *c, const int64_t *dims, uint32_t rank) {
  if (rank > 0) memcpy(c->data, dims, rank * sizeof *dims);
  return (const int64_t *)c->data;
}

surg_status surg__array_make(surg_context *ctx, int dtype, const int64_t *dims, uint32_t rank,
                             surg__array *out) {
  uint64_t count;
  size_t bytes, head = dims_bytes(rank), total;
  if (!surg__dims_product(dims, rank, &count) || count > SIZE_MAX ||
      !surg__mul((size_t)count, surg__dtype_unpacked(dtype), &bytes) ||
      !surg__add(bytes, head, &total)) {
    ctx->alloc_status = SURG_ELIMIT;
    return SURG_ELIMIT;
  }
  surg__cell *c = new_cell(ctx, total);
  if (!c) return surg__alloc_status(ctx);
  c->loose = dtype == SURG_STRING;
  const int64_t *own = put_dims(c, dims, rank);
  void *data = (char *)c->data + head;
  if (c->loose) memset(data, 0, bytes);
  *out = (surg__array){dtype, rank, own, count, data, c, NULL};
  return SURG_OK;
}

surg_status surg__array_stream(surg_context *ctx, int dtype, const int64_t *dims, uint32_t rank,
                               surg__array *out, surg__stream **s) {
  uint64_t count;
  const size_t head = dims_bytes(rank);
  if (!surg__dims_product(dims, rank, &count)) {
    ctx->alloc_status = SURG_ELIMIT;
    return SURG_ELIMIT;
  }
  surg__cell *c = new_cell(ctx, head + sizeof **s);
  if (!c) return surg__alloc_status(ctx);
  *s = c->stream = (surg__stream *)(void *)((char *)c->data + head);
  **s = (surg__stream){0};
  *out = (surg__array){dtype, rank, put_dims(c, dims, rank), count, NULL, c, *s};
  return SURG_OK;
}

surg_status surg__array_view(surg_context *ctx, const surg__array *a, const int64_t *dims,
                             uint32_t rank, surg__array *out) {
  bool same = rank == a->rank && a->cell;
  for (uint32_t i = 0; same && i < rank; ++i) same = dims[i] == a->dims[i];
  if (same) {
    *out = surg__array_ref(a);
    return SURG_OK;
  }
  surg__cell *c = new_cell(ctx, dims_bytes(rank));
  if (!c) return surg__alloc_status(ctx);
  if (a->cell) {
    c->base = a->cell->base ? a->cell->base : a->cell;
    ++c->base->refs;
  }
  *out = (surg__array){a->dtype, rank, put_dims(c, dims, rank), a->count, a->data, c, NULL};
  return SURG_OK;
}

surg_status surg__list_make(surg_context *ctx, int kind, surg__content elem, uint64_t count,
                            surg__array *out) {
  size_t bytes;
  if (count > SIZE_MAX || !surg__mul((size_t)count, sizeof(surg__array), &bytes) ||
      !surg__add(bytes, sizeof(surg__list), &bytes)) {
    ctx->alloc_status = SURG_ELIMIT;
    return SURG_ELIMIT;
  }
  surg__cell *c = new_cell(ctx, bytes);
  if (!c) return surg__alloc_status(ctx);
  memset(c->data, 0, bytes);
  c->list = true;
  c->n_items = count;
  surg__list *l = (surg__list *)c->data;
  l->elem = elem;
  *out = (surg__array){.dtype = kind, .count = count, .data = l, .cell = c};
  return SURG_OK;
}

surg__array surg__array_ref(const surg__array *a) {
  if (a->cell) ++a->cell->refs;
  return *a;
}

/* Frees a cell with its last reference. Lists nest as deep as types do, which bounds the
 * recursion. */
static void release(surg__cell *c) {
  if (!c || --c->refs > 0) return;
  surg__list *l = (surg__list *)c->data;
  for (uint64_t i = 0; c->list && i < c->n_items; ++i) surg__array_drop(&l->items[i]);
  for (uint32_t i = 0; c->stream && i < SURG_COUNT(c->stream->from); ++i)
    surg__array_drop(&c->stream->from[i]);
  release(c->base);
  surg__arena_free(&c->arena);
  surg__free(c->ctx, c);
}

void surg__array_drop(surg__array *a) {
  surg__cell *c = a->cell;
  *a = (surg__array){.dtype = SURG_UNDEFINED};
  release(c);
}

/* Copies the text of `n` strings into the arena, in one block. */
static surg_status copy_text(surg__arena *arena, surg_str *s, uint64_t n) {
  size_t total = 0;
  for (uint64_t i = 0; i < n; ++i) {
    if (!surg__add(total, s[i].n, &total)) return SURG_ELIMIT;
  }
  char *text = surg__arena_alloc(arena, total);
  if (!text) return surg__alloc_status(arena->ctx);
  for (uint64_t i = 0; i < n; ++i) {
    if (s[i].n > 0) memcpy(text, s[i].p, s[i].n);
    s[i].p = text;
    text += s[i].n;
  }
  return SURG_OK;
}

static surg_status own(surg_context *ctx, surg__array *a) {
  surg__array copy;
  surg_status s = surg__array_make(ctx, a->dtype, a->dims, a->rank, &copy);
  if (s != SURG_OK) return s;
  if (a->count > 0) {
    memcpy(copy.data, a->data, (size_t)a->count * surg__dtype_unpacked(a->dtype));
  }
  *a = copy;
  return SURG_OK;
}

surg_status surg__array_settle(surg_context *ctx, surg__array *a) {
  surg_status s = SURG_OK;
  if (a->dtype == SURG_UNDEFINED) return s;
  if (surg__array_is_list(a)) {
    surg__list *l = surg__list_of(a);
    /* A list with other owners is settled already. */
    for (uint64_t i = 0; s == SURG_OK && a->cell && a->cell->refs == 1 && i < a->count; ++i) {
      s = surg__array_settle(ctx, &l->items[i]);
    }
    return s;
  }
  if (!a->cell) s = own(ctx, a);
  if (s == SURG_OK && a->cell->loose) {
    s = copy_text(&a->cell->arena, a->data, a->count);
    a->cell->loose = s != SURG_OK;
  }
  return s;
}

surg_status surg__array_copy(surg__arena *arena, const surg__array *a, surg__array *out) {
  *out = *a;
  out->cell = NULL;
  surg_status s = SURG_OK;
  if (a->dtype == SURG_UNDEFINED) return s;
  if (surg__array_is_list(a)) {
    const surg__list *from = surg__list_of(a);
    surg__list *to = surg__arena_zalloc(arena, sizeof *to + (size_t)a->count * sizeof *to->items);
    if (!to) return surg__alloc_status(arena->ctx);
    to->elem = from->elem;
    out->data = to;
    for (uint64_t i = 0; s == SURG_OK && i < a->count; ++i) {
      s = surg__array_copy(arena, &from->items[i], &to->items[i]);
    }
    return s;
  }
  size_t bytes = (size_t)a->count * surg__dtype_unpacked(a->dtype);
  int64_t *dims = surg__arena_array(arena, (size_t)a->rank + 1, sizeof *dims);
  out->dims = dims;
  out->data = surg__arena_alloc(arena, bytes);
  if (!dims || !out->data) return surg__alloc_status(arena->ctx);
  if (a->rank > 0) memcpy(dims, a->dims, a->rank * sizeof *dims);
  if (bytes > 0) memcpy(out->data, a->data, bytes);
  return a->dtype == SURG_STRING ? copy_text(arena, out->data, out->count) : SURG_OK;
}

surg_status surg__array_read(surg_context *ctx, const surg_tensor *t, surg__array *out) {
  surg__cell *c = new_cell(ctx, 0);
  if (!c) return surg__alloc_status(ctx);
  surg_status s = surg__array_from_tensor(ctx, &c->arena, t, out);
  out->cell = c;
  if (s != SURG_OK) surg__array_drop(out);
  return s;
}

/* --- types --- */

surg__content surg__content_of(const surg__array *a) {
  surg__content e = {.kind = a->dtype};
  if (a->dtype == SURG__V_SEQUENCE) {
    surg__content in = surg__list_of(a)->elem;
    e.dtype = in.kind == SURG__V_MAP ? in.dtype : in.kind;
    e.key = in.key;
  } else if (a->dtype == SURG__V_MAP) {
    const surg__array *items = surg__list_of(a)->items;
    e.key = items[0].dtype;
    e.dtype = items[1].dtype;
  }
  return e;
}

surg__content surg__content_of_type(const surg_type *t) {
  surg__content c = {0};
  switch (surg_type_get_kind(t)) {
    case SURG_TYPE_SEQUENCE:
      c.kind = SURG__V_SEQUENCE;
      c.dtype = surg_type_dtype(surg_type_elem(t));
      break;
    case SURG_TYPE_MAP:
      c.kind = SURG__V_MAP;
      c.key = surg_type_dtype(t);
      c.dtype = surg_type_dtype(surg_type_elem(t));
      break;
    default:
      c.kind = surg_type_dtype(t);
  }
  return c;
}

bool surg__content_equal(surg__content a, surg__content b) {
  if (a.kind == SURG_UNDEFINED || b.kind == SURG_UNDEFINED) return true;
  if (a.kind != b.kind) return false;
  bool same_dtype = !a.dtype || !b.dtype || a.dtype == b.dtype;
  return same_dtype && (!a.key || !b.key || a.key == b.key);
}

#define TYPE_TEXT 96

/* The type of an element as in the schema; "" when it is unknown. */
static void elem_text(surg__content e, char *out, size_t n) {
  out[0] = '\0';
  if (e.kind == SURG__V_MAP) {
    if (!e.key || !e.dtype) return;
    snprintf(out, n, "map(%s, %s)", surg_dtype_name(e.key), surg_dtype_name(e.dtype));
  } else if (e.kind == SURG__V_SEQUENCE) {
    if (!e.dtype) return;
    snprintf(out, n, "seq(tensor(%s))", surg_dtype_name(e.dtype));
  } else if (e.kind != SURG_UNDEFINED) {
    snprintf(out, n, "tensor(%s)", surg_dtype_name(e.kind));
  }
}

bool surg__array_is(const surg__array *a, const char *type) {
  char inner[TYPE_TEXT], text[TYPE_TEXT + 16];
  if (!surg__array_is_list(a)) return false;
  if (a->dtype == SURG__V_MAP) {
    elem_text(surg__content_of(a), text, sizeof text);
    return strcmp(text, type) == 0;
  }
  const char *outer = a->dtype == SURG__V_SEQUENCE ? "seq(" : "optional(";
  elem_text(surg__list_of(a)->elem, inner, sizeof inner);
  if (inner[0] == '\0') return strncmp(type, outer, strlen(outer)) == 0;
  snprintf(text, sizeof text, "%s%s)", outer, inner);
  return strcmp(text, type) == 0;
}
