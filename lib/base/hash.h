/* SPDX-License-Identifier: Apache-2.0 */
/* uthash as configured for this project: keyed hash, no exit() on out of memory. */
#ifndef SURG_HASH_H
#define SURG_HASH_H

#include "base/base.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(sz) surg__alloc(surg__hash_ctx, (sz))
#define uthash_free(ptr, sz) surg__free(surg__hash_ctx, (ptr))
#define uthash_nonfatal_oom(obj) (surg__hash_failed = true)
#define HASH_FUNCTION(keyptr, keylen, hashv) \
  ((hashv) = (unsigned)surg__hash(surg__hash_ctx, (keyptr), (keylen)))
#include <uthash.h>
/* Initial tables are small, since every subgraph has two. */
#undef HASH_INITIAL_NUM_BUCKETS
#define HASH_INITIAL_NUM_BUCKETS 8U
#undef HASH_INITIAL_NUM_BUCKETS_LOG2
#define HASH_INITIAL_NUM_BUCKETS_LOG2 3U
/* Every function that uses a HASH_ macro must declare these two locals first. */
#define SURG_HASH_LOCALS(ctx)                   \
  surg_context *const surg__hash_ctx = (ctx);   \
  bool surg__hash_failed = false;               \
  (void)surg__hash_ctx;                         \
  (void)surg__hash_failed

#endif
