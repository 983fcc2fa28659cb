/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of single messages: protobuf-c decodes one leaf message at a time, without its large
 * payloads, into a scratch arena. */
#include "io/load/load.h"

static void *scratch_alloc(void *arena, size_t n) {
  return surg__arena_alloc(arena, n ? n : 1);
}

static void scratch_free(void *arena, void *p) {
  (void)arena;
  (void)p;
}

surg__cursor surg__load_cursor(const surg__loader *L, surg__span body) {
  return (surg__cursor){L->src, body.off, body.off + body.len};
}

#define TICK 256u /* steps between two calls of the user's callbacks */

bool surg__load_tick(surg__loader *L, uint64_t at) {
  const uint64_t all = L->src ? L->src->size : 0;
  if (L->status != SURG_OK) return false;
  const bool ends = at == all && L->reached < all;
  if (at > L->reached) L->reached = at;
  if (!L->src || (L->ticks++ % TICK && !ends)) return true;
  if (!surg__tick(L->ctx, SURG_PHASE_BUILD, L->reached, all)) return true;
  return surg__load_stop(L, surg__error(L->ctx, SURG_ECANCELLED, L->src->name, "cancelled"));
}

bool surg__load_next(surg__loader *L, surg__cursor *c, surg__field *f) {
  if (!surg__load_tick(L, c->pos)) return false;
  int r = surg__wire_next(c, f);
  if (r < 0) return surg__load_stop(L, (surg_status)r);
  return r == 1;
}

static bool skipped(const surg__field *f, uint64_t skip) {
  return f->number < 64 && (skip >> f->number & 1);
}

/* The bytes of a message without the fields in `skip`: in place if there are none, else copied.
 * Valid until the next read of the source. */
static const uint8_t *gather(surg__loader *L, surg__span body, uint64_t skip, size_t *n) {
  surg__cursor c = surg__load_cursor(L, body);
  surg__field f;
  uint64_t left_out = 0, start = c.pos;
  while (surg__load_next(L, &c, &f)) {
    if (skipped(&f, skip)) left_out += c.pos - start;
    start = c.pos;
  }
  if (L->status != SURG_OK) return NULL;
  *n = (size_t)(body.len - left_out);
  if (left_out == 0) {
    const uint8_t *p;
    const surg_status status = surg__source_peek(L->src, body.off, body.len, &p);
    if (status == SURG_OK) return p;
    surg__load_stop(L, status);
    return NULL;
  }
  uint8_t *copy = surg__arena_alloc(&L->scratch, *n + 1), *to = copy;
  if (!copy) {
    surg__load_oom(L);
    return NULL;
  }
  c = surg__load_cursor(L, body);
  start = c.pos;
  while (surg__load_next(L, &c, &f)) {
    size_t len = (size_t)(c.pos - start);
    if (!skipped(&f, skip)) {
      const uint8_t *p;
      const surg_status status = surg__source_peek(L->src, start, len, &p);
      if (status != SURG_OK)
        surg__load_stop(L, status);
      else
        memcpy(to, p, len);
      to += len;
    }
    start = c.pos;
  }
  return L->status == SURG_OK ? copy : NULL;
}

void *surg__load_leaf(surg__loader *L, const ProtobufCMessageDescriptor *type, surg__span body,
                      uint64_t skip) {
  size_t n;
  const uint8_t *bytes = gather(L, body, skip, &n);
  if (!bytes) return NULL;
  if (n > SURG_LIMIT_SKELETON) {
    surg__load_stop(L, surg__error(L->ctx, SURG_ELIMIT, L->src->name, "byte %llu: %s is too large",
                                   (unsigned long long)body.off, type->short_name));
    return NULL;
  }
  ProtobufCAllocator allocator = {scratch_alloc, scratch_free, &L->scratch};
  L->ctx->alloc_status = SURG_OK;
  void *p = protobuf_c_message_unpack(type, &allocator, n, bytes);
  if (p) return p;
  if (L->ctx->alloc_status != SURG_OK)
    surg__load_oom(L);
  else
    surg__load_stop(L, surg__wire_error(L->src, body.off, "this message cannot be decoded"));
  return NULL;
}

const char *surg__load_name(surg__loader *L, const surg__field *f) {
  const uint8_t *p;
  const surg_status status = surg__source_peek(L->src, f->body.off, f->body.len, &p);
  if (status != SURG_OK) {
    surg__load_stop(L, status);
    return NULL;
  }
  const char *s = surg__intern(L->m, (const char *)p, (size_t)f->body.len);
  if (!s) surg__load_oom(L);
  return s;
}

const char *surg__load_intern(surg__loader *L, const char *s) {
  const char *name = surg__intern(L->m, s ? s : "", s ? strlen(s) : 0);
  if (!name) surg__load_oom(L);
  return name;
}
