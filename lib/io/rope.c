/* SPDX-License-Identifier: Apache-2.0 */
/* Builds ropes. */
#include "io/rope.h"

/* Source ranges up to this size are copied into the rope: a piece costs more memory. */
#define SMALL_RANGE 256u
/* Reserved bytes for a tag (at most 5) and a length (at most 10). */
#define HEADER_ROOM 16u
/* A body up to this size is moved next to its header, so that a small message is one piece. */
#define SMALL_BODY 4096u

void surg__rope_init(surg__rope *r, surg_context *ctx, surg__source *source) {
  memset(r, 0, sizeof *r);
  r->ctx = ctx;
  r->source = source;
  surg__buf_init(&r->bytes, ctx);
}

void surg__rope_free(surg__rope *r) {
  surg__vec_free(r->ctx, &r->pieces);
  surg__buf_free(&r->bytes);
}

void surg__rope_clear(surg__rope *r) {
  surg__source *source = r->source;
  surg_context *ctx = r->ctx;
  surg__rope_free(r);
  surg__rope_init(r, ctx, source);
}

static surg__piece *last_piece(surg__rope *r) {
  return r->pieces.count ? &r->pieces.items[r->pieces.count - 1] : NULL;
}

static void grow_total(surg__rope *r, uint64_t n) {
  if (!surg__add_u64(r->total, n, &r->total)) {
    r->ctx->alloc_status = SURG_ELIMIT;
    r->failed = true;
  }
}

static void push(surg__rope *r, surg__piece p) {
  if (r->failed) return;
  if (!surg__vec_push(r->ctx, &r->pieces, p)) r->failed = true;
}

/* Appends to the buffer without counting; the caller creates the piece for the bytes. */
static bool append(surg__rope *r, const void *p, size_t n) {
  surg__buf_put(&r->bytes, p, n);
  if (r->bytes.failed) r->failed = true;
  return !r->failed;
}

/* Makes the last n bytes of the buffer a MEMORY piece, merged with the previous piece if
 * possible. */
static void claim(surg__rope *r, size_t n) {
  if (r->failed || n == 0) return;
  uint64_t off = r->bytes.n - n;
  surg__piece *last = last_piece(r);
  if (last && last->kind == SURG__PIECE_MEMORY && last->off + last->len == off)
    last->len += n;
  else
    push(r, (surg__piece){SURG__PIECE_MEMORY, off, n, NULL});
}

/* Copies a small source range into the buffer. Called before another piece follows it. */
static void settle(surg__rope *r) {
  surg__piece *last = last_piece(r);
  if (r->failed || !last || last->kind != SURG__PIECE_SOURCE || last->len > SMALL_RANGE) return;
  uint64_t off = last->off;
  size_t n = (size_t)last->len;
  if (surg__source_need(r->source, off, n) != SURG_OK) return; /* the writer meets the same error */
  if (!append(r, r->source->base + off, n)) return;
  r->pieces.count--;
  claim(r, n);
}

void surg__rope_bytes(surg__rope *r, const void *p, size_t n) {
  if (r->failed || n == 0) return;
  settle(r);
  if (!append(r, p, n)) return;
  claim(r, n);
  grow_total(r, n);
}

void surg__rope_borrow(surg__rope *r, const void *p, size_t n) {
  if (r->failed || n == 0) return;
  settle(r);
  push(r, (surg__piece){SURG__PIECE_BORROWED, 0, n, p});
  grow_total(r, n);
}

void surg__rope_source(surg__rope *r, uint64_t off, uint64_t n) {
  if (r->failed || n == 0) return;
  assert(r->source && off <= r->source->size && n <= r->source->size - off);
  surg__piece *last = last_piece(r);
  if (last && last->kind == SURG__PIECE_SOURCE && last->off + last->len == off) {
    last->len += n;
  } else {
    settle(r);
    push(r, (surg__piece){SURG__PIECE_SOURCE, off, n, NULL});
  }
  grow_total(r, n);
}

void surg__rope_file(surg__rope *r, const surg__datafile *f, uint64_t off, uint64_t n) {
  if (r->failed || n == 0) return;
  settle(r);
  push(r, (surg__piece){SURG__PIECE_FILE, off, n, f});
  grow_total(r, n);
}

void surg__rope_tensor(surg__rope *r, const surg_tensor *t) {
  if (r->failed || t->bytes == 0) return;
  settle(r);
  push(r, (surg__piece){SURG__PIECE_TENSOR, 0, t->bytes, t});
  grow_total(r, t->bytes);
}

void surg__rope_zero(surg__rope *r, uint64_t n) {
  if (r->failed || n == 0) return;
  settle(r);
  push(r, (surg__piece){SURG__PIECE_ZERO, 0, n, NULL});
  grow_total(r, n);
}

/* --- wire --- */

static size_t put_key(uint8_t *out, uint32_t number, uint32_t wire) {
  return surg__varint_put(out, (uint64_t)number << 3 | wire);
}

void surg__rope_varint(surg__rope *r, uint32_t number, uint64_t value) {
  uint8_t b[24];
  size_t n = put_key(b, number, 0);
  n += surg__varint_put(b + n, value);
  surg__rope_bytes(r, b, n);
}

void surg__rope_fixed32(surg__rope *r, uint32_t number, uint32_t value) {
  uint8_t b[16];
  size_t n = put_key(b, number, 5);
  for (unsigned i = 0; i < 4; i++) b[n++] = (uint8_t)(value >> (8 * i));
  surg__rope_bytes(r, b, n);
}

void surg__rope_tag(surg__rope *r, uint32_t number, uint64_t len) {
  uint8_t b[24];
  size_t n = put_key(b, number, 2);
  n += surg__varint_put(b + n, len);
  surg__rope_bytes(r, b, n);
}

void surg__rope_string(surg__rope *r, uint32_t number, const void *p, size_t n) {
  surg__rope_tag(r, number, n);
  surg__rope_bytes(r, p, n);
}

surg__open surg__rope_begin(surg__rope *r, uint32_t number) {
  static const uint8_t room[HEADER_ROOM];
  surg__open open = {0, r->total, number};
  if (r->failed) return open;
  settle(r);
  open.piece = r->pieces.count;
  uint64_t off = r->bytes.n;
  if (append(r, room, sizeof room)) push(r, (surg__piece){SURG__PIECE_HEADER, off, 0, NULL});
  return open;
}

/* Whether the whole message is contiguous in the buffer, directly after its header. */
static bool compact(const surg__rope *r, surg__open open) {
  size_t after = r->pieces.count - open.piece - 1;
  if (after == 0) return true;
  const surg__piece *head = &r->pieces.items[open.piece], *body = head + 1;
  return after == 1 && body->kind == SURG__PIECE_MEMORY && body->len <= SMALL_BODY &&
         body->off == head->off + HEADER_ROOM && body->off + body->len == r->bytes.n;
}

void surg__rope_end(surg__rope *r, surg__open open) {
  settle(r);
  if (r->failed) return;
  assert(r->pieces.items[open.piece].kind == SURG__PIECE_HEADER);
  uint64_t len = r->total - open.start;
  uint8_t b[24];
  size_t n = put_key(b, open.number, 2);
  n += surg__varint_put(b + n, len);
  assert(n <= HEADER_ROOM);
  surg__piece *head = &r->pieces.items[open.piece];
  char *at = r->bytes.p + head->off;
  memcpy(at, b, n);
  if (compact(r, open)) {
    memmove(at + n, at + HEADER_ROOM, (size_t)len);
    r->bytes.n = (size_t)head->off + n + (size_t)len;
    r->pieces.count = open.piece;
    claim(r, n + (size_t)len);
  } else {
    head->kind = SURG__PIECE_MEMORY;
    head->len = n;
  }
  grow_total(r, n);
}
