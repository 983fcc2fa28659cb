/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of zip archives (.npz), as PKWARE's APPNOTE.TXT 6.3 defines them. */
#ifndef SURG_BASE_ZIP_H
#define SURG_BASE_ZIP_H

#include "base/base.h"

enum {
  SURG__ZIP_END_SIZE = 22,
  SURG__ZIP_WIDE_LOCATOR_SIZE = 20,
  SURG__ZIP_WIDE_END_SIZE = 56,
  SURG__ZIP_ENTRY_SIZE = 46,
  SURG__ZIP_MEMBER_SIZE = 30,
  SURG__ZIP_STORED = 0,
  SURG__ZIP_DEFLATED = 8,
  SURG__ZIP_RATIO_MOST = 1100 /* deflate compresses at most about 1030:1 */
};
#define SURG__ZIP_END_MARK 0x06054b50u
#define SURG__ZIP_WIDE_LOCATOR_MARK 0x07064b50u
#define SURG__ZIP_WIDE_END_MARK 0x06064b50u
#define SURG__ZIP_ENTRY_MARK 0x02014b50u
#define SURG__ZIP_MEMBER_MARK 0x04034b50u

/* Where the central directory is. */
typedef struct surg__zip_directory {
  uint64_t at, size, count; /* offset in the file, bytes, entries */
} surg__zip_directory;

/* An entry of the central directory. */
typedef struct surg__zip_entry {
  const uint8_t *name;
  size_t name_len, len; /* `len`: bytes of the whole entry */
  unsigned method;      /* SURG__ZIP_STORED or another */
  bool encrypted;
  uint64_t packed, size, at; /* bytes in the file, bytes, offset of the member's own header */
} surg__zip_entry;

static inline unsigned surg__zip_le16(const uint8_t *p) {
  return (unsigned)(p[0] | p[1] << 8);
}

/* Reads 64-bit sizes from the zip64 extra field, which contains in this order those that do not
 * fit 32 bits. `wide`: the size, the packed size and the place of a member, as the entry has them.
 * False: the field is cut off. */
static inline bool surg__zip_wide(const uint8_t *extra, size_t n, uint64_t *const wide[3]) {
  while (n >= 4) {
    const size_t size = surg__zip_le16(extra + 2);
    if (size > n - 4) return false;
    const uint8_t *p = extra + 4;
    size_t left = surg__zip_le16(extra) == 1 ? size : 0;
    for (size_t i = 0; i < 3 && left >= 8; i++) {
      if (*wide[i] != UINT32_MAX) continue;
      *wide[i] = surg__le64(p);
      p += 8;
      left -= 8;
    }
    extra += 4 + size;
    n -= 4 + size;
  }
  return true;
}

/* Finds the end record in the last n bytes of a file; a comment may follow it. *wide is the offset
 * of the zip64 end record in the file, to be read by surg__zip_wide_end; UINT64_MAX: there is
 * none. False: there is no end record. */
static inline bool surg__zip_end(const uint8_t *tail, size_t n, surg__zip_directory *d,
                                 uint64_t *wide) {
  *wide = UINT64_MAX;
  if (n < SURG__ZIP_END_SIZE) return false;
  size_t end = n - SURG__ZIP_END_SIZE;
  while (surg__le32(tail + end) != SURG__ZIP_END_MARK)
    if (end-- == 0) return false;
  const uint8_t *p = tail + end;
  *d = (surg__zip_directory){
      .count = surg__zip_le16(p + 10), .size = surg__le32(p + 12), .at = surg__le32(p + 16)};
  if (end < SURG__ZIP_WIDE_LOCATOR_SIZE) return true;
  p -= SURG__ZIP_WIDE_LOCATOR_SIZE;
  if (surg__le32(p) == SURG__ZIP_WIDE_LOCATOR_MARK) *wide = surg__le64(p + 8);
  return true;
}

/* Reads the SURG__ZIP_WIDE_END_SIZE bytes of a zip64 end record. False: it is none. */
static inline bool surg__zip_wide_end(const uint8_t *p, surg__zip_directory *d) {
  if (surg__le32(p) != SURG__ZIP_WIDE_END_MARK) return false;
  *d = (surg__zip_directory){
      .count = surg__le64(p + 32), .size = surg__le64(p + 40), .at = surg__le64(p + 48)};
  return true;
}

/* Reads the entry at the start of n bytes. False: it is invalid or cut off. */
static inline bool surg__zip_entry_read(const uint8_t *p, uint64_t n, surg__zip_entry *e) {
  if (n < SURG__ZIP_ENTRY_SIZE || surg__le32(p) != SURG__ZIP_ENTRY_MARK) return false;
  const size_t name = surg__zip_le16(p + 28), extra = surg__zip_le16(p + 30),
               comment = surg__zip_le16(p + 32);
  if (n - SURG__ZIP_ENTRY_SIZE < name + extra + comment) return false;
  *e = (surg__zip_entry){.name = p + SURG__ZIP_ENTRY_SIZE,
                         .name_len = name,
                         .len = SURG__ZIP_ENTRY_SIZE + name + extra + comment,
                         .method = surg__zip_le16(p + 10),
                         .encrypted = surg__zip_le16(p + 8) & 1,
                         .packed = surg__le32(p + 20),
                         .size = surg__le32(p + 24),
                         .at = surg__le32(p + 42)};
  return surg__zip_wide(e->name + name, extra, (uint64_t *const[]){&e->size, &e->packed, &e->at});
}

/* Bytes of the header of a member before its content; 0: there is no header. `p` has
 * SURG__ZIP_MEMBER_SIZE bytes. */
static inline size_t surg__zip_member_head(const uint8_t *p) {
  if (surg__le32(p) != SURG__ZIP_MEMBER_MARK) return 0;
  return (size_t)SURG__ZIP_MEMBER_SIZE + surg__zip_le16(p + 26) + surg__zip_le16(p + 28);
}

#endif
