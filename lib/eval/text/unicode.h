/* SPDX-License-Identifier: Apache-2.0 */
/* Characters of UTF-8 text, and their case: a table of its own, so that no locale plays a part. */
#ifndef SURG_UNICODE_H
#define SURG_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SURG__NO_CHAR UINT32_MAX /* a byte that belongs to no character */

/* The character at p (n > 0 bytes left) and its length in bytes; a byte that is not UTF-8 gives
 * SURG__NO_CHAR and length 1. */
uint32_t surg__utf8_get(const char *p, size_t n, size_t *length);
size_t surg__utf8_put(char *out, uint32_t c); /* at most 4 bytes */
/* Simple case mapping of Latin, Greek, Cyrillic and Armenian letters; others are themselves. */
uint32_t surg__char_upper(uint32_t c);
uint32_t surg__char_lower(uint32_t c);

#endif
