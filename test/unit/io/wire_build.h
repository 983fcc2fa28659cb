/* SPDX-License-Identifier: Apache-2.0 */
/* A few lines that build wire bytes by hand, so that tests of reading and writing do not rest on
 * the code they test. */
#ifndef SURG_TEST_WIRE_BUILD_H
#define SURG_TEST_WIRE_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct wire {
  uint8_t *p;
  size_t n;
} wire;

/* The bytes that a wire of n bytes has room for. */
static inline size_t wire_room(size_t n) {
  size_t room = n ? 16 : 0;
  while (room < n) room *= 2;
  return room;
}

static inline void wire_put(wire *w, const void *p, size_t n) {
  if (n == 0) return;
  if (wire_room(w->n + n) != wire_room(w->n)) w->p = realloc(w->p, wire_room(w->n + n));
  memcpy(w->p + w->n, p, n);
  w->n += n;
}

static inline void wire_varint(wire *w, uint64_t v) {
  uint8_t b;
  while (v >= 0x80) {
    b = (uint8_t)(v | 0x80);
    wire_put(w, &b, 1);
    v >>= 7;
  }
  b = (uint8_t)v;
  wire_put(w, &b, 1);
}

static inline void wire_int(wire *w, unsigned number, uint64_t v) {
  wire_varint(w, (uint64_t)number << 3);
  wire_varint(w, v);
}

static inline void wire_bytes(wire *w, unsigned number, const void *p, size_t n) {
  wire_varint(w, (uint64_t)number << 3 | 2);
  wire_varint(w, n);
  wire_put(w, p, n);
}

static inline void wire_str(wire *w, unsigned number, const char *s) {
  wire_bytes(w, number, s, strlen(s));
}

/* The same with a length one byte longer than it needs to be, as some writers make it. */
static inline void wire_str_long(wire *w, unsigned number, const char *s) {
  uint8_t len[2] = {(uint8_t)(strlen(s) | 0x80), 0};
  wire_varint(w, (uint64_t)number << 3 | 2);
  wire_put(w, len, 2);
  wire_put(w, s, strlen(s));
}

/* Adds `part` as a message and frees it. */
static inline void wire_message(wire *w, unsigned number, wire part) {
  wire_bytes(w, number, part.p, part.n);
  free(part.p);
}

static inline bool wire_has(const void *p, size_t n, const void *part, size_t k) {
  return memmem(p, n, part, k) != NULL;
}

#endif
