/* SPDX-License-Identifier: Apache-2.0 */
/* Characters of UTF-8 text, and their case. The tables are built in, so that the locale has no
 * effect. */
#ifndef SURG_UNICODE_H
#define SURG_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SURG__NO_CHAR UINT32_MAX /* a byte that is not valid UTF-8 */

/* Decodes the character at p, with n > 0 bytes left, and sets its length in bytes. For a byte
 * that is not valid UTF-8 returns SURG__NO_CHAR with length 1. */
uint32_t surg__utf8_get(const char *p, size_t n, size_t *length);
size_t surg__utf8_put(char *out, uint32_t c); /* writes at most 4 bytes */
/* Simple case mapping of Latin, Greek, Cyrillic and Armenian letters. Other characters are
 * unchanged. */
uint32_t surg__char_upper(uint32_t c);
uint32_t surg__char_lower(uint32_t c);

#endif
