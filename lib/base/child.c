/* SPDX-License-Identifier: Apache-2.0 */
/* Running commands of the user. */
#include "base/child.h"

#include <stdlib.h>
#include <string.h>

bool surg__child_cancelled(const surg__child *c) {
  return c->cancel && c->cancel(c->cancel_user);
}

bool surg__child_parse(const char *text, surg__child *out) {
  size_t n = strlen(text);
  /* At most one word per two characters, plus two NULLs at the end. */
  out->words = calloc(n / 2 + 3, sizeof *out->words);
  char *copy = malloc(n + 1);
  if (!out->words || !copy) {
    free(copy);
    surg__child_free(out);
    return false;
  }
  size_t count = 0;
  char *to = copy;
  for (const char *p = text; *(p += strspn(p, " \t"));) {
    out->words[count++] = to;
    for (char quote = 0; *p && (quote || !strchr(" \t", *p)); p++) {
      if (quote ? *p == quote : *p == '\'' || *p == '"') {
        quote = quote ? 0 : *p;
        if (quote && !strchr(p + 1, quote)) count = 0;
      } else {
        *to++ = *p;
      }
    }
    if (!count) break;
    *to++ = 0;
  }
  if (count) return true;
  free(copy);
  out->words[0] = NULL;
  surg__child_free(out);
  return false;
}

bool surg__child_set(surg__child *out, const char *const *words, size_t n) {
  size_t bytes = 0;
  for (size_t i = 0; i < n; i++) bytes += strlen(words[i]) + 1;
  out->words = calloc(n + 1, sizeof *out->words);
  char *to = out->words && n ? malloc(bytes) : NULL;
  const bool done = out->words && (to || !n);
  for (size_t i = 0; i < n && done; i++) {
    out->words[i] = to;
    to = stpcpy(to, words[i]) + 1;
  }
  if (done) return true;
  surg__child_free(out);
  return false;
}

void surg__child_free(surg__child *c) {
  if (c->words) free(c->words[0]); /* all words are in one block */
  free(c->words);
  c->words = NULL;
}

bool surg__child_takes_many(const surg__child *c) {
  for (size_t i = 0; c->words[i]; i++)
    if (strcmp(c->words[i], "{...}") == 0) return true;
  return false;
}

int surg__child_run(const surg__child *c, const char *file) {
  return surg__child_run_on(c, &file, 1, -1, false);
}

char **surg__child_arguments(const surg__child *c, const char *const *files, size_t n) {
  size_t words = 0, at = 0;
  while (c->words[words]) words++;
  size_t most;
  if (__builtin_mul_overflow(words + 1, n + 1, &most)) return NULL;
  char **args = calloc(most + 1, sizeof *args);
  bool placed = false;
  for (size_t i = 0; args && i < words; i++) {
    const bool one = strcmp(c->words[i], "{}") == 0, many = strcmp(c->words[i], "{...}") == 0;
    placed |= one || many;
    if (!one && !many) args[at++] = c->words[i];
    for (size_t k = 0; (one && k < 1) || (many && k < n); k++)
      args[at++] = (char *)(uintptr_t)files[k];
  }
  if (args && !placed) args[at] = (char *)(uintptr_t)files[0];
  return args;
}
