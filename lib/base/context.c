/* SPDX-License-Identifier: Apache-2.0 */
/* Creating and configuring contexts. */
#include "base/context.h"

#include <jansson.h>
#include <onnxsurg/onnxsurg.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/dtype.h"
#include "base/os/os.h"
#include "base/os/dl.h"
#include "base/taught.h"

/* Lets Jansson choose its hash seed once, before two threads do so at the same time. */
static void seed_json(void) {
  static bool seeded;
  surg__os_lock();
  if (!seeded) json_object_seed(0);
  seeded = true;
  surg__os_unlock();
}

surg_context *surg_context_new(const surg_config *config) {
  surg_config given;
  surg__struct_in(&given, sizeof given, config);
  surg_context *ctx = surg__heap(&given, NULL, sizeof *ctx);
  if (!ctx) return NULL;
  memset(ctx, 0, sizeof *ctx);
  seed_json();
  ctx->config = given;
  ctx->max_memory = ctx->config.max_memory ? ctx->config.max_memory : SURG_LIMIT_MEMORY;
  ctx->max_warnings = SURG_LIMIT_WARNINGS;
  ctx->max_depth = ctx->config.max_depth ? ctx->config.max_depth : SURG_LIMIT_DEPTH;
  ctx->seed = ctx->config.seed;
  /* Without a random seed, use one from time and address: reduced protection is better than
   * failure. */
  if (!ctx->seed && surg__os_random(&ctx->seed, sizeof ctx->seed) != 0)
    ctx->seed = surg__os_now_ns() ^ (uint64_t)(uintptr_t)ctx;
  return ctx;
}

void surg_context_free(surg_context *ctx) {
  if (!ctx) return;
  if (ctx->registry) ctx->registry_free(ctx, ctx->registry);
  if (ctx->rules) ctx->rules_free(ctx->rules);
  if (ctx->customs) ctx->customs_free(ctx->customs);
  surg__taught_free(ctx);
  surg_context_clear_error(ctx);
  for (size_t i = 0; i < SURG__QUOTES; i++) surg__free(ctx, ctx->quotes[i]);
  assert(ctx->bytes == 0);
  const surg_config config = ctx->config;
  surg__heap(&config, ctx, 0);
}

void *surg_context_user(const surg_context *ctx) {
  return ctx ? ctx->config.user : NULL;
}

bool surg__cancelled(surg_context *ctx) {
  return ctx->config.cancel && ctx->config.cancel(ctx->config.user);
}

surg_status surg__overdue(surg_context *ctx) {
  if (ctx->deadline && surg__os_now_ns() > ctx->deadline) return SURG_ELIMIT;
  return surg__cancelled(ctx) ? SURG_ECANCELLED : SURG_OK;
}

bool surg__tick(surg_context *ctx, int32_t phase, uint64_t done, uint64_t total) {
  if (ctx->config.progress) ctx->config.progress(ctx->config.user, phase, done, total);
  return surg__cancelled(ctx);
}

const char *surg_context_error(const surg_context *ctx) {
  return ctx ? ctx->error : NULL;
}

void surg_context_clear_error(surg_context *ctx) {
  if (!ctx) return;
  free(ctx->error);
  ctx->error = NULL;
  ctx->error_status = SURG_OK;
}

uint64_t surg_context_memory(const surg_context *ctx, uint64_t *peak) {
  if (!ctx) return 0;
  if (peak) *peak = ctx->peak;
  return ctx->bytes;
}

uint64_t surg__hash(const surg_context *ctx, const void *p, size_t n) {
  return XXH3_64bits_withSeed(p, n, ctx->seed);
}

const char *surg_status_name(surg_status status) {
  switch (status) {
    case SURG_OK:
      return "ok";
    case SURG_EINVALID:
      return "invalid model";
    case SURG_EUSAGE:
      return "wrong usage";
    case SURG_EIO:
      return "input/output error";
    case SURG_ELIMIT:
      return "limit reached";
    case SURG_ENOMEM:
      return "out of memory";
    case SURG_EINTERNAL:
      return "internal error";
    case SURG_EPLUGIN:
      return "plugin error";
    case SURG_EERASED:
      return "erased";
    case SURG_ENOTFOUND:
      return "not found";
    case SURG_EUNSUPPORTED:
      return "unsupported";
    case SURG_ECANCELLED:
      return "cancelled";
  }
  return "unknown status";
}

const char *surg_dtype_name(int dtype) {
  return surg__dtype_name(dtype);
}

int64_t surg_dtype_ir_version(int dtype) {
  return surg__dtype_ir(dtype);
}

int surg_dtype_from_name(const char *name) {
  return name ? surg__dtype_from_name(name, strlen(name)) : 0;
}
