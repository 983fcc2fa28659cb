/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the tensors of data files, finds equal ones, and places them. */
#include "io/save/save.h"

/* Default alignment in bytes; large tensors start at pages, so that a runtime can map them. */
#define ALIGN_SMALL 64u
#define ALIGN_LARGE 4096u
#define LARGE_TENSOR ((uint64_t)1 << 20)
#define SLOTS_MOST (UINT32_MAX / 4)
#define FIRST_CELLS 64u
#define NAME_MOST 100u /* bytes of the name of a tensor in the name of its file */

void surg__layout_init(surg__layout *l, surg_context *ctx, const char *where) {
  memset(l, 0, sizeof *l);
  l->ctx = ctx;
  l->where = where;
}

static void drop_files(surg__layout *l) {
  for (size_t i = 0; i < l->files.count; i++) {
    surg__free(l->ctx, l->files.items[i].location);
    surg__rope_free(&l->files.items[i].rope);
  }
  l->files.count = 0;
}

void surg__layout_free(surg__layout *l) {
  if (!l->ctx) return;
  surg__layout_remove(l);
  drop_files(l);
  surg__vec_free(l->ctx, &l->files);
  surg__vec_free(l->ctx, &l->slots);
  surg__vec_free(l->ctx, &l->made);
  surg__free(l->ctx, l->by_tensor.cells);
  surg__free(l->ctx, l->by_bytes.cells);
  memset(l, 0, sizeof *l);
}

/* --- tables --- */

static uint64_t mix(uint64_t h) {
  h *= UINT64_C(0x9E3779B97F4A7C15);
  return h ^ h >> 29;
}

static uint64_t tensor_key(const surg_tensor *t) {
  return mix((uint64_t)(uintptr_t)t);
}

static void put_cell(surg__slot_table *t, uint64_t hash, uint32_t cell) {
  size_t i = (size_t)hash & (t->capacity - 1);
  while (t->cells[i]) i = (i + 1) & (t->capacity - 1);
  t->cells[i] = cell;
}

/* Makes room for one more slot: at most half of the cells are used. */
static bool grow(surg__layout *l, surg__slot_table *t, bool by_bytes) {
  if (l->slots.count < t->capacity / 2) return true;
  surg__slot_table next = {NULL, t->capacity ? t->capacity * 2 : FIRST_CELLS};
  next.cells = surg__calloc(l->ctx, next.capacity, sizeof *next.cells);
  if (!next.cells) return false;
  for (uint32_t i = 0; i < l->slots.count; i++) {
    const surg__slot *s = &l->slots.items[i];
    if (!by_bytes)
      put_cell(&next, tensor_key(s->t), i + 1);
    else if (s->first == i)
      put_cell(&next, s->key, i + 1);
  }
  surg__free(l->ctx, t->cells);
  *t = next;
  return true;
}

static const surg__slot *find_tensor(const surg__layout *l, const surg_tensor *t) {
  const surg__slot_table *b = &l->by_tensor;
  if (!b->capacity) return NULL;
  for (size_t i = (size_t)tensor_key(t) & (b->capacity - 1); b->cells[i];
       i = (i + 1) & (b->capacity - 1))
    if (l->slots.items[b->cells[i] - 1].t == t) return &l->slots.items[b->cells[i] - 1];
  return NULL;
}

const surg__slot *surg__layout_find(const surg__layout *l, const surg_tensor *t) {
  const surg__slot *s = find_tensor(l, t);
  return s ? &l->slots.items[s->first] : NULL;
}

/* --- equal tensors --- */

/* Encoded bytes are not decoded to be compared: they are equal where they are the same range. */
static surg_status key_of(const surg_tensor *t, uint64_t *key) {
  if (!t->codec) return surg_tensor_hash(t, key);
  *key = mix(t->file->ino ^ mix(t->data.off));
  return SURG_OK;
}

static surg_status is_same(const surg_tensor *a, const surg_tensor *b, bool *same) {
  if (!a->codec && !b->codec) return surg_tensor_same(a, b, same);
  *same = a->codec && b->codec && a->file->ino == b->file->ino && a->file->dev == b->file->dev &&
          a->data.off == b->data.off && a->data.len == b->data.len;
  return SURG_OK;
}

/* The first slot with the bytes of t; the number of slots if there is none. */
static surg_status find_same(const surg__layout *l, const surg_tensor *t, uint64_t key,
                             uint32_t *first) {
  const surg__slot_table *b = &l->by_bytes;
  *first = (uint32_t)l->slots.count;
  for (size_t i = (size_t)key & (b->capacity - 1); b->cells[i]; i = (i + 1) & (b->capacity - 1)) {
    const surg__slot *s = &l->slots.items[b->cells[i] - 1];
    bool same = false;
    if (s->key != key) continue;
    const surg_status status = is_same(s->t, t, &same);
    if (status != SURG_OK) return status;
    if (!same) continue;
    *first = b->cells[i] - 1;
    return SURG_OK;
  }
  return SURG_OK;
}

uint64_t surg__layout_bytes(const surg_tensor *t) {
  return t->codec ? t->data.len : t->bytes;
}

surg_status surg__layout_add(surg__layout *l, const surg_tensor *t, const char *name) {
  if (find_tensor(l, t)) return SURG_OK;
  if (l->slots.count >= SLOTS_MOST)
    return surg__error(l->ctx, SURG_ELIMIT, l->where, "has too many tensors for data files");
  if (!grow(l, &l->by_tensor, false) || !grow(l, &l->by_bytes, true) ||
      !surg__vec_reserve(l->ctx, &l->slots, l->slots.count + 1))
    return surg__oom(l->ctx, l->where);
  surg__slot s = {.t = t, .name = name ? name : ""};
  surg_status status = key_of(t, &s.key);
  s.key = mix(s.key);
  if (status == SURG_OK) status = find_same(l, t, s.key, &s.first);
  if (status != SURG_OK) return status;
  const uint32_t at = (uint32_t)l->slots.count;
  put_cell(&l->by_tensor, tensor_key(t), at + 1);
  if (s.first == at) put_cell(&l->by_bytes, s.key, at + 1);
  l->slots.items[l->slots.count++] = s;
  if (s.first != at) {
    l->equal++;
    l->equal_bytes += surg__layout_bytes(t);
  }
  return SURG_OK;
}

/* --- places --- */

static uint64_t align_of(const surg__layout *l, const surg_tensor *t) {
  if (l->rules.align) return l->rules.align;
  return surg__layout_bytes(t) >= LARGE_TENSOR ? ALIGN_LARGE : ALIGN_SMALL;
}

/* Zeros before the next tensor. */
static uint64_t padding(const surg__layout *l, const surg__part *p, const surg_tensor *t) {
  const uint64_t align = align_of(l, t);
  return (align - p->rope.total % align) % align;
}

static bool fits(const surg__layout *l, const surg__part *p, const surg_tensor *t) {
  if (l->rules.each || !p) return false;
  if (!l->rules.shard || !p->rope.total) return true;
  uint64_t end;
  return surg__add_u64(p->rope.total, padding(l, p, t), &end) &&
         surg__add_u64(end, surg__layout_bytes(t), &end) && end <= l->rules.shard;
}

static surg__part *new_part(surg__layout *l) {
  if (!surg__vec_push(l->ctx, &l->files, (surg__part){0})) return NULL;
  surg__part *p = &l->files.items[l->files.count - 1];
  surg__rope_init(&p->rope, l->ctx, NULL);
  return p;
}

static surg_status place(surg__layout *l, uint32_t at) {
  surg__slot *s = &l->slots.items[at];
  surg__part *p = l->files.count ? &l->files.items[l->files.count - 1] : NULL;
  if (!fits(l, p, s->t)) p = new_part(l);
  if (!p) return surg__oom(l->ctx, l->where);
  surg__rope_zero(&p->rope, padding(l, p, s->t));
  s->file = (uint32_t)(l->files.count - 1);
  s->off = p->rope.total;
  if (s->t->codec) /* encoded bytes move as they are */
    surg__rope_file(&p->rope, s->t->file, s->t->data.off, s->t->data.len);
  else
    surg__rope_tensor(&p->rope, s->t);
  p->last = at + 1;
  return p->rope.failed ? surg__oom(l->ctx, l->where) : SURG_OK;
}

/* --- names --- */

/* The name of a tensor as a part of a file name. */
static void put_plain(surg__buf *b, const char *name) {
  size_t n = 0;
  for (; *name && n < NAME_MOST; name++, n++) {
    const char c = *name;
    const bool word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    surg__buf_putc(b, word || c == '_' || c == '-' || (c == '.' && n) ? c : '_');
  }
}

/* Writes the name of file i: "w.data"; "w-00002-of-00003.data"; "w.conv1.weight.data". Files of
 * one tensor are numbered where the name of the tensor does not make theirs unique. */
static char *name_part(const surg__layout *l, size_t i, const char *tensor, size_t again) {
  const char *name = l->rules.name, *dot = strrchr(name, '.');
  const size_t stem = dot && dot != name ? (size_t)(dot - name) : strlen(name);
  surg__buf b;
  surg__buf_init(&b, l->ctx);
  surg__buf_put(&b, name, stem);
  if (l->rules.each) {
    surg__buf_putc(&b, '.');
    put_plain(&b, *tensor ? tensor : "tensor");
    if (again) surg__buf_printf(&b, "-%zu", again);
  } else if (l->files.count > 1) {
    surg__buf_printf(&b, "-%05zu-of-%05zu", i + 1, l->files.count);
  }
  surg__buf_puts(&b, name + stem);
  surg__buf_putc(&b, 0);
  if (!b.failed) return b.p;
  surg__buf_free(&b);
  return NULL;
}

static uint64_t text_key(const surg_context *ctx, const char *text) {
  uint64_t h = 0;
  for (; *text; text++) { /* some file systems ignore case */
    const char lower = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
    h = mix(h ^ surg__hash(ctx, &lower, 1));
  }
  return h;
}

static bool same_text(const char *a, const char *b) {
  for (; *a && *b; a++, b++) {
    const char x = *a >= 'A' && *a <= 'Z' ? (char)(*a - 'A' + 'a') : *a;
    const char y = *b >= 'A' && *b <= 'Z' ? (char)(*b - 'A' + 'a') : *b;
    if (x != y) return false;
  }
  return *a == *b;
}

/* Whether a file before i has this name; adds it to the table if not. */
static bool name_taken(const surg__layout *l, surg__slot_table *t, size_t i, const char *name) {
  size_t at = (size_t)text_key(l->ctx, name) & (t->capacity - 1);
  for (; t->cells[at]; at = (at + 1) & (t->capacity - 1))
    if (same_text(l->files.items[t->cells[at] - 1].location, name)) return true;
  t->cells[at] = (uint32_t)i + 1;
  return false;
}

static surg_status name_files(surg__layout *l) {
  surg__slot_table names = {NULL, FIRST_CELLS};
  while (names.capacity < l->files.count * 2) names.capacity *= 2;
  names.cells = surg__calloc(l->ctx, names.capacity, sizeof *names.cells);
  surg_status status = names.cells ? SURG_OK : surg__oom(l->ctx, l->where);
  for (size_t i = 0; status == SURG_OK && i < l->files.count; i++) {
    surg__part *p = &l->files.items[i];
    for (size_t again = 0; status == SURG_OK; again = again ? again + 1 : i + 1) {
      p->location = name_part(l, i, l->slots.items[p->last - 1].name, again);
      if (!p->location) status = surg__oom(l->ctx, l->where);
      if (status != SURG_OK || !name_taken(l, &names, i, p->location)) break;
      surg__free(l->ctx, p->location);
      p->location = NULL;
    }
  }
  surg__free(l->ctx, names.cells);
  return status;
}

surg_status surg__layout_finish(surg__layout *l) {
  surg_status status = SURG_OK;
  drop_files(l);
  for (uint32_t i = 0; status == SURG_OK && i < l->slots.count; i++)
    if (l->slots.items[i].first == i) status = place(l, i);
  return status == SURG_OK ? name_files(l) : status;
}
