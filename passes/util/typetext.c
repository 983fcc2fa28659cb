/* SPDX-License-Identifier: Apache-2.0 */
/* See typetext.h. */
#include "typetext.h"

#include <stdlib.h>
#include <string.h>

#define RANK 64   /* largest rank of a type in text */
#define NESTING 8 /* deepest nesting: seq(seq(...)) */

/* Parses a dimension up to a comma or bracket; NULL: invalid. Its name is copied to `buf`. */
static const char *dim(const char *s, surg_dim *out, char *buf, size_t size) {
  const size_t n = strcspn(s, ",]");
  *out = (surg_dim){.value = -1};
  if (!s[n] || n == 0 || n >= size) return NULL;
  memcpy(buf, s, n);
  buf[n] = 0;
  if (buf[0] >= '0' && buf[0] <= '9') {
    char *end;
    const unsigned long long v = strtoull(buf, &end, 10);
    if (*end || v > INT64_MAX) return NULL;
    out->value = (int64_t)v;
  } else if (strcmp(buf, "?") != 0) {
    out->param = buf;
  }
  return s + n;
}

static const surg_type *tensor(surg_pass_ctx *p, const char *s) {
  surg_dim dims[RANK];
  char name[32];
  size_t n = strcspn(s, "["), rank = 0;
  surg_model *m = surg_pass_model(p);
  if (n >= sizeof name) return NULL;
  memcpy(name, s, n);
  name[n] = 0;
  const int dtype = surg_dtype_from_name(name);
  if (dtype == SURG_UNDEFINED) return NULL;
  s += n;
  if (!*s) return surg_type_tensor(m, dtype, dims, 0);
  if (strcmp(s, "[]") == 0) return surg_type_tensor_unranked(m, dtype);
  char *names = surg_pass_alloc(p, 2 * (strlen(s) + 1));
  if (!names) return NULL;
  do {
    const size_t size = strlen(s) + 1;
    if (rank == RANK) return NULL;
    s = dim(s + 1, &dims[rank], names, size);
    if (!s) return NULL;
    names += strlen(names) + 1;
    rank++;
  } while (*s == ',');
  return s[1] ? NULL : surg_type_tensor(m, dtype, dims, rank);
}

const surg_type *typetext_parse(surg_pass_ctx *p, const char *text) {
  static const struct {
    const char *open;
    surg_type_kind kind;
  } wraps[] = {{"seq(", SURG_TYPE_SEQUENCE}, {"optional(", SURG_TYPE_OPTIONAL}};
  surg_type_kind kinds[NESTING];
  size_t depth = 0, len = strlen(text);
  char *copy = surg_pass_alloc(p, len + 1), *s = copy;
  if (!copy) return NULL;
  /* Remove blanks, which have no meaning. */
  for (size_t i = 0; i < len; i++)
    if (text[i] != ' ') *s++ = text[i];
  s = copy;
  for (size_t i = 0; i < sizeof wraps / sizeof *wraps && depth < NESTING;) {
    const size_t n = strlen(wraps[i].open), all = strlen(s);
    if (strncmp(s, wraps[i].open, n) != 0) {
      i++;
      continue;
    }
    if (s[all - 1] != ')') return NULL;
    s[all - 1] = 0;
    s += n;
    kinds[depth++] = wraps[i].kind;
    i = 0;
  }
  const surg_type *t = tensor(p, s);
  while (t && depth > 0) t = surg_type_wrap(surg_pass_model(p), kinds[--depth], t);
  return t;
}

/* Drops expressions over dimensions: the values that they refer to may not exist any more. */
static const surg_type *plain_tensor(surg_pass_ctx *p, const surg_type *t) {
  const size_t rank = surg_type_rank(t);
  if (surg_type_dtype(t) == SURG_UNDEFINED) return NULL;
  if (!surg_type_has_rank(t)) return t;
  surg_dim *dims = surg_pass_alloc(p, (rank + 1) * sizeof *dims);
  if (!dims) return NULL;
  for (size_t i = 0; i < rank; i++) {
    const surg_dim d = *surg_type_dim(t, i);
    dims[i] = (surg_dim){.value = d.value, .param = d.param};
  }
  return surg_type_tensor(surg_pass_model(p), surg_type_dtype(t), dims, rank);
}

const surg_type *typetext_plain(surg_pass_ctx *p, const surg_type *t) {
  surg_type_kind kinds[NESTING];
  size_t depth = 0;
  const surg_type *whole = t;
  surg_type_kind kind = surg_type_get_kind(t);
  while ((kind == SURG_TYPE_SEQUENCE || kind == SURG_TYPE_OPTIONAL) && depth < NESTING) {
    kinds[depth++] = kind;
    t = surg_type_elem(t);
    kind = surg_type_get_kind(t);
  }
  if (kind == SURG_TYPE_UNKNOWN) return NULL;
  if (kind != SURG_TYPE_TENSOR) return whole;
  t = plain_tensor(p, t);
  while (t && depth > 0) t = surg_type_wrap(surg_pass_model(p), kinds[--depth], t);
  return t;
}
