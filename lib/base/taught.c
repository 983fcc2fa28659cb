/* SPDX-License-Identifier: Apache-2.0 */
/* Storage of what plugins taught a context. */
#include "base/taught.h"

#include "base/context.h"
#include "base/diag.h"

struct surg__taught *surg__taught(surg_context *ctx) {
  if (!ctx->taught) ctx->taught = surg__calloc(ctx, 1, sizeof *ctx->taught);
  if (!ctx->taught) surg__oom(ctx, NULL);
  return ctx->taught;
}

/* Frees items[from..n); without items both are 0. */
static void free_texts(surg_context *ctx, surg__taught_text *items, size_t from, size_t n) {
  for (size_t i = from; i < n; i++) {
    surg__free(ctx, items[i].name);
    surg__free(ctx, items[i].text);
  }
}

void surg__taught_cut(surg_context *ctx, size_t operators, size_t targets, size_t messages,
                      size_t decoders) {
  struct surg__taught *t = ctx->taught;
  if (!t) return;
  assert(operators <= t->operators.count);
  assert(decoders <= t->decoders.count);
  assert(targets <= t->targets.count && messages <= t->messages.count);
  free_texts(ctx, t->targets.items, targets, t->targets.count);
  free_texts(ctx, t->messages.items, messages, t->messages.count);
  t->operators.count = operators;
  t->decoders.count = decoders;
  t->targets.count = targets;
  t->messages.count = messages;
}

void surg__taught_free(surg_context *ctx) {
  struct surg__taught *t = ctx->taught;
  if (!t) return;
  free_texts(ctx, t->targets.items, 0, t->targets.count);
  free_texts(ctx, t->messages.items, 0, t->messages.count);
  surg__vec_free(ctx, &t->targets);
  surg__vec_free(ctx, &t->messages);
  surg__vec_free(ctx, &t->operators);
  surg__vec_free(ctx, &t->decoders);
  surg__free(ctx, t);
  ctx->taught = NULL;
}

const surg__taught_operator *surg__taught_find(const surg_context *ctx, const char *domain,
                                               const char *op_type) {
  const struct surg__taught *t = ctx->taught;
  for (size_t i = 0; t && i < t->operators.count; i++) {
    const surg__taught_operator *o = &t->operators.items[i];
    if (strcmp(o->op.domain, domain) == 0 && strcmp(o->op.op_type, op_type) == 0) return o;
  }
  return NULL;
}

const surg__taught_decoder *surg__taught_decoder_of(const surg_context *ctx, const char *format,
                                                    size_t n) {
  const struct surg__taught *t = ctx->taught;
  for (size_t i = 0; t && i < t->decoders.count; i++) {
    const char *own = t->decoders.items[i].decoder.format;
    if (strlen(own) == n && memcmp(own, format, n) == 0) return &t->decoders.items[i];
  }
  return NULL;
}

const surg__taught_text *surg__taught_target(const surg_context *ctx, const char *name) {
  const struct surg__taught *t = ctx->taught;
  for (size_t i = 0; t && i < t->targets.count; i++)
    if (strcmp(t->targets.items[i].name, name) == 0) return &t->targets.items[i];
  return NULL;
}

/* A NUL-terminated copy of n bytes; NULL: out of memory. */
static char *copy(surg_context *ctx, const char *text, size_t n) {
  size_t size;
  char *p = surg__add(n, 1, &size) ? surg__alloc(ctx, size) : NULL;
  if (!p) return NULL;
  memcpy(p, text, n);
  p[n] = 0;
  return p;
}

/* Fills in a copy; false: out of memory. */
static bool fill(surg_context *ctx, surg__taught_text *out, const char *name, const char *text,
                 size_t n) {
  *out = (surg__taught_text){copy(ctx, name, strlen(name)), copy(ctx, text, n), n};
  if (out->name && out->text) return true;
  free_texts(ctx, out, 0, 1);
  return false;
}

surg_status surg__taught_target_add(surg_context *ctx, const char *name, const char *text,
                                    size_t n) {
  struct surg__taught *t = surg__taught(ctx);
  surg__taught_text one;
  if (!t) return surg__alloc_status(ctx);
  if (!fill(ctx, &one, name, text, n)) return surg__oom(ctx, name);
  if (surg__vec_push(ctx, &t->targets, one)) return SURG_OK;
  free_texts(ctx, &one, 0, 1);
  return surg__oom(ctx, name);
}

surg_status surg__taught_messages_add(surg_context *ctx, const char *name, const char *text,
                                      size_t n) {
  struct surg__taught *t = surg__taught(ctx);
  surg__taught_text one;
  if (!t) return surg__alloc_status(ctx);
  if (!fill(ctx, &one, name, text, n)) return surg__oom(ctx, name);
  if (surg__vec_push(ctx, &t->messages, one)) return SURG_OK;
  free_texts(ctx, &one, 0, 1);
  return surg__oom(ctx, name);
}
