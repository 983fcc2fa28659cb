/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of models and of their data files, and digests of them. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "diff/patch.h"

#define PIECE ((size_t)1 << 18)

static surg_status read_source(const void *of, uint64_t at, void *out, size_t n) {
  return surg__source_read(of, at, out, n);
}

static surg_status read_file(const void *of, uint64_t at, void *out, size_t n) {
  const surg__datafile *f = of;
  const int e = surg__datafile_pread(f, out, n, at);
  return e ? surg__error(f->ctx, SURG_EIO, f->location, "cannot read: %s", strerror(e)) : SURG_OK;
}

surg_status surg__patch_source(const surg_model *m, surg__bytes *out) {
  if (!m->source || m->epoch != m->read_epoch)
    return surg__error(m->ctx, SURG_EINVALID, surg_model_path(m),
                       "a patch needs models as they are in files, without edits");
  *out = (surg__bytes){m->source, m->source->size, 0, read_source};
  return SURG_OK;
}

bool surg__patch_file(const surg_model *m, size_t i, surg__bytes *out, const char **name) {
  size_t k = 0;
  const surg__datafile *f = m->files;
  while (f && k < i) {
    f = f->next;
    k++;
  }
  if (!f) return false;
  *out = (surg__bytes){f, f->size, (uint32_t)(i + 1), read_file};
  *name = f->location;
  return true;
}

surg_status surg__patch_digest(surg_context *ctx, const surg__bytes *b,
                               char text[SURG__PATCH_DIGEST]) {
  static const char hex[] = "0123456789abcdef";
  XXH3_state_t *state = XXH3_createState();
  uint8_t *p = surg__alloc(ctx, PIECE);
  surg_status s = state && p ? SURG_OK : surg__oom(ctx, NULL);
  if (s == SURG_OK) XXH3_128bits_reset(state);
  for (uint64_t at = 0; s == SURG_OK && at < b->size; at += PIECE) {
    const size_t n = b->size - at < PIECE ? (size_t)(b->size - at) : PIECE;
    s = b->read(b->of, at, p, n);
    if (s == SURG_OK) XXH3_128bits_update(state, p, n);
  }
  XXH128_canonical_t c;
  if (s == SURG_OK) XXH128_canonicalFromHash(&c, XXH3_128bits_digest(state));
  for (size_t i = 0; s == SURG_OK && i < sizeof c.digest; i++) {
    text[2 * i] = hex[c.digest[i] >> 4];
    text[2 * i + 1] = hex[c.digest[i] & 15];
  }
  text[SURG__PATCH_DIGEST - 1] = 0;
  surg__free(ctx, p);
  XXH3_freeState(state);
  return s;
}
