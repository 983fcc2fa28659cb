/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: functions on text that POSIX has. */
#include "base/os/windows_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

char *surg__os_strndup(const char *text, size_t n) {
  const char *end = memchr(text, 0, n);
  if (end) n = (size_t)(end - text);
  char *out = malloc(n + 1);
  if (!out) return NULL;
  memcpy(out, text, n);
  out[n] = 0;
  return out;
}

char *surg__os_stpcpy(char *to, const char *from) {
  const size_t n = strlen(from);
  memcpy(to, from, n + 1);
  return to + n;
}

void *surg__os_memmem(const void *in, size_t n, const void *what, size_t k) {
  const char *p = in, *end = p + n;
  if (k == 0) return (void *)(uintptr_t)p;
  for (; (size_t)(end - p) >= k; p++) {
    p = memchr(p, *(const unsigned char *)what, (size_t)(end - p) - k + 1);
    if (!p) return NULL;
    if (memcmp(p, what, k) == 0) return (void *)(uintptr_t)p;
  }
  return NULL;
}
