/* SPDX-License-Identifier: Apache-2.0 */
/* A number for the content of a model, made of the pieces of its file without writing it: pieces of
 * files that were read count by their place, those in memory by their bytes. */
#include "io/save/save.h"

#define IN_MEMORY (UINT64_C(1) << 20) /* most bytes of elements in memory */

static uint64_t mix(const surg_context *ctx, uint64_t h, uint64_t x) {
  const uint64_t both[2] = {h, x};
  return surg__hash(ctx, both, sizeof both);
}

/* Adds a piece to *h and its elements in memory to *bytes. */
static surg_status add(const surg__rope *r, const surg__piece *p, uint64_t *h, uint64_t *bytes) {
  surg_status s = SURG_OK;
  uint64_t content = p->off;
  switch (p->kind) {
    case SURG__PIECE_MEMORY:
    case SURG__PIECE_HEADER:
      content = surg__hash(r->ctx, r->bytes.p + p->off, (size_t)p->len);
      break;
    case SURG__PIECE_BORROWED:
    case SURG__PIECE_TENSOR:
      *bytes += p->len;
      if (*bytes > IN_MEMORY) return SURG_ELIMIT;
      if (p->kind == SURG__PIECE_BORROWED)
        content = surg__hash(r->ctx, p->object, (size_t)p->len);
      else
        s = surg_tensor_hash(p->object, &content);
      break;
    case SURG__PIECE_FILE:
      content = mix(r->ctx, p->off, (uint64_t)(uintptr_t)p->object);
      break;
    case SURG__PIECE_SOURCE:
    case SURG__PIECE_ZERO:
      break;
  }
  *h = mix(r->ctx, mix(r->ctx, *h, p->kind), mix(r->ctx, content, p->len));
  return s;
}

surg_status surg__model_fingerprint(surg_model *m, uint64_t *out) {
  surg__saver s;
  uint64_t h = 0, bytes = 0;
  surg__saver_init(&s, m, surg_model_path(m));
  surg_status r = surg_model_status(m);
  if (r == SURG_OK) r = surg__save_build(&s);
  for (size_t i = 0; i < s.rope.pieces.count && r == SURG_OK; i++)
    r = add(&s.rope, &s.rope.pieces.items[i], &h, &bytes);
  surg__saver_free(&s);
  *out = h;
  return r;
}
