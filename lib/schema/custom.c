/* SPDX-License-Identifier: Apache-2.0 */
/* Custom operators of a context: storage and lookup. */
#include "schema/custom.h"

#include <stdlib.h>

#include "base/context.h"

static void customs_free(struct surg__customs *c) {
  surg__vec_free(c->ctx, &c->list);
  surg__arena_free(&c->arena);
  surg__free(c->ctx, c);
}

static int order(const char *domain, const char *op, const surg__custom *s) {
  const int c = strcmp(domain, s->domain);
  return c ? c : strcmp(op, s->op);
}

static int by_name(const void *a, const void *b) {
  const surg__custom *const *x = a, *const *y = b;
  return order((*x)->domain, (*x)->op, *y);
}

static const surg__custom *find(const struct surg__customs *c, const char *domain, const char *op) {
  size_t lo = 0, hi = c ? c->list.count : 0;
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    const int at = order(domain, op, c->list.items[mid]);
    if (at == 0) return c->list.items[mid];
    if (at < 0)
      hi = mid;
    else
      lo = mid + 1;
  }
  return NULL;
}

const surg__custom *surg__custom_find(const surg_context *ctx, const char *domain, const char *op) {
  return find(ctx->customs, domain, op);
}

static struct surg__customs *new_list(surg_context *ctx) {
  struct surg__customs *c = surg__calloc(ctx, 1, sizeof *c);
  if (!c) {
    surg__oom(ctx, NULL);
    return NULL;
  }
  c->ctx = ctx;
  surg__arena_init(&c->arena, ctx);
  return c;
}

/* Reports an operator that is defined twice, in one file or in two. */
static surg_status check_twice(const struct surg__customs *c, const char *name) {
  for (size_t i = 1; i < c->list.count; i++) {
    const surg__custom *s = c->list.items[i];
    if (by_name(&c->list.items[i - 1], &c->list.items[i]) == 0)
      return surg__error(c->ctx, SURG_EINVALID, name, "operator %s of domain %s is described twice",
                         surg__q(c->ctx, s->op), surg__q(c->ctx, s->domain));
  }
  return SURG_OK;
}

surg_status surg_context_load_schemas(surg_context *ctx, const char *text, size_t n,
                                      const char *name) {
  if (!ctx || !text) return SURG_EUSAGE;
  if (!name) name = "schema";
  if (n > SURG_LIMIT_SCHEMA_BYTES)
    return surg__error(ctx, SURG_ELIMIT, name, "more than %u bytes of schemas",
                       SURG_LIMIT_SCHEMA_BYTES);
  if (!surg__utf8_valid((const uint8_t *)text, n))
    return surg__error(ctx, SURG_EINVALID, name, "not UTF-8, or contains a NUL byte");
  if (!ctx->customs) {
    ctx->customs = new_list(ctx);
    ctx->customs_free = customs_free;
  }
  struct surg__customs *c = ctx->customs;
  if (!c) return surg__alloc_status(ctx);
  const size_t before = c->list.count;
  surg_status s = surg__customs_parse(c, text, n, name);
  for (size_t i = before; i < c->list.count; i++) c->list.items[i]->place = i;
  if (c->list.count > before)
    qsort(c->list.items, c->list.count, sizeof *c->list.items, by_name);
  if (s == SURG_OK) s = check_twice(c, name);
  if (s != SURG_OK) surg__customs_cut(ctx, before);
  return s;
}

size_t surg__customs_count(const surg_context *ctx) {
  return ctx->customs ? ctx->customs->list.count : 0;
}

void surg__customs_cut(surg_context *ctx, size_t keep) {
  struct surg__customs *c = ctx->customs;
  size_t n = 0;
  for (size_t i = 0; c && i < c->list.count; i++)
    if (c->list.items[i]->place < keep) c->list.items[n++] = c->list.items[i];
  if (c) c->list.count = n;
}

const surg__custom_attr *surg__custom_attr_find(const surg__custom *s, const char *name) {
  for (uint32_t i = 0; i < s->n_attrs; i++)
    if (strcmp(s->attrs[i].name, name) == 0) return &s->attrs[i];
  return NULL;
}

uint32_t surg__custom_mask(const surg__custom *s, const char *type) {
  for (uint32_t i = 0; i < s->n_types; i++)
    if (strcmp(s->types[i].name, type) == 0) return s->types[i].mask;
  const int dtype = surg_dtype_from_name(type);
  return dtype ? UINT32_C(1) << dtype : UINT32_MAX;
}

const surg__custom_param *surg__custom_formal(const surg__custom_param *list, uint32_t n,
                                              size_t i) {
  if (i < n) return &list[i];
  return n && list[n - 1].variadic ? &list[n - 1] : NULL;
}
