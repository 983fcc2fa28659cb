/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of the wire format, and the source image they are read from. */
#include "io/wire.h"

#include <stdio.h>
#include <unistd.h>

#include "../unit.h"
#include "wire_build.h"

static surg_context *ctx;

static void setup(void) {
  ctx = surg_context_new(NULL);
}

static void teardown(void) {
  surg_context_free(ctx); /* asserts that nothing is left */
}

static surg__source *source(const void *p, size_t n) {
  surg__source *s = NULL;
  ck_assert_int_eq(surg__source_memory(ctx, p, n, "bytes", &s), SURG_OK);
  return s;
}

/* Why reading the first field fails; "" when it does not. */
static const char *reason(const void *p, size_t n) {
  surg__source *s = source(p, n);
  surg__field f;
  uint64_t next;
  const char *why = NULL;
  int r = surg__wire_read(s, 0, s->size, &f, &next, &why);
  surg__source_unref(s);
  ck_assert((r == 1) == (why == NULL));
  return why ? why : "";
}

START_TEST(fields_are_read) {
  wire w = {0};
  wire_int(&w, 1, UINT64_MAX);
  wire_str(&w, 2, "abc");
  uint8_t fixed[] = {3 << 3 | 5, 1, 2, 3, 4, 4 << 3 | 1, 1, 0, 0, 0, 0, 0, 0, 0x80};
  wire_put(&w, fixed, sizeof fixed);
  wire_int(&w, 536870911, 7);
  surg__source *s = source(w.p, w.n);
  surg__cursor c = {s, 0, s->size};
  surg__field f;
  ck_assert_int_eq(surg__wire_next(&c, &f), 1);
  ck_assert(f.number == 1 && f.wire == 0 && f.value == UINT64_MAX && f.off == 0);
  ck_assert_int_eq(surg__wire_next(&c, &f), 1);
  ck_assert(f.number == 2 && f.wire == 2 && f.off == 11 && f.body.off == 13 && f.body.len == 3);
  ck_assert_int_eq(surg__wire_next(&c, &f), 1);
  ck_assert(f.wire == 5 && f.value == 0x04030201);
  ck_assert_int_eq(surg__wire_next(&c, &f), 1);
  ck_assert(f.wire == 1 && f.value == 0x8000000000000001u);
  ck_assert_int_eq(surg__wire_next(&c, &f), 1);
  ck_assert(f.number == 536870911 && f.value == 7);
  ck_assert_int_eq(surg__wire_next(&c, &f), 0);
  surg__source_unref(s);
  free(w.p);
}
END_TEST

START_TEST(broken_fields_are_refused) {
  ck_assert_str_eq(reason("\x08\x01", 2), "");
  ck_assert_str_ne(reason("\x00\x01", 2), "");                 /* field 0 */
  ck_assert_str_ne(reason("\x85\x00\x00\x00\x00", 5), "");     /* field 0, spelled long */
  ck_assert_str_eq(reason("\x88\x00\x01", 3), "");             /* field 1, spelled long */
  ck_assert_str_ne(reason("\x88\x80\x80\x80\x10\x01", 6), ""); /* more than 32 bits */
  ck_assert_str_ne(reason("\x0b", 1), "");                     /* a group */
  ck_assert_str_ne(reason("\x0c", 1), "");
  ck_assert_str_ne(reason("\x0e\x01", 2), ""); /* wire types 6 and 7 */
  ck_assert_str_ne(reason("\x0f\x01", 2), "");
  ck_assert_str_ne(reason("\x08", 1), "");
  ck_assert_str_ne(reason("\x08\x80", 2), "");
  ck_assert_str_eq(reason("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), "");
  ck_assert_str_ne(reason("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11), ""); /* 65 bits */
  ck_assert_str_ne(reason("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12), "");
  ck_assert_str_ne(reason("\x0d\x01\x02\x03", 4), "");
  ck_assert_str_ne(reason("\x09\x01\x02\x03\x04\x05\x06\x07", 8), "");
  ck_assert_str_ne(reason("\x0a\x02\x01", 3), "");
  ck_assert_str_eq(reason("\x0a\x00", 2), "");
  ck_assert_str_ne(reason("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), "");
}
END_TEST

START_TEST(varints_round_trip) {
  for (unsigned bit = 0; bit < 64; bit++)
    for (int less = 0; less < 2; less++) {
      uint64_t v = ((uint64_t)1 << bit) - (uint64_t)less, back = 0;
      uint8_t b[10];
      size_t n = surg__varint_put(b, v);
      ck_assert_uint_eq(n, surg__varint_size(v));
      ck_assert_uint_eq(surg__varint_get(b, n, &back), n);
      ck_assert_uint_eq(back, v);
      ck_assert_uint_eq(surg__varint_get(b, n - 1, &back), 0);
    }
}
END_TEST

/* A file above SURG_LIMIT_RESIDENT: read in pages, and only where asked. */
START_TEST(large_files_fill_lazily) {
  char path[] = "/tmp/surg-wire-XXXXXX";
  int fd = mkstemp(path);
  uint64_t size = SURG_LIMIT_RESIDENT + 5000;
  ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
  ck_assert_int_eq(pwrite(fd, "tail", 4, (off_t)size - 4), 4);
  ck_assert_int_eq(pwrite(fd, "page", 4, 1 << 20), 4);
  surg__source *s;
  ck_assert_int_eq(surg__source_open(ctx, path, &s), SURG_OK);
  ck_assert(!s->resident && s->size == size);
  ck_assert_uint_lt(surg_context_memory(ctx, NULL), 1 << 20);
  char b[8] = "";
  ck_assert_int_eq(surg__source_read(s, 1 << 20, b, 4), SURG_OK); /* not in the image */
  ck_assert_str_eq(b, "page");
  ck_assert_int_eq(surg__source_need(s, size - 4, 4), SURG_OK);
  ck_assert_mem_eq(s->base + size - 4, "tail", 4);
  ck_assert_int_eq(pwrite(fd, "gone", 4, (off_t)size - 4), 4);
  ck_assert_int_eq(surg__source_need(s, size - 4, 4), SURG_OK); /* what was read stays */
  ck_assert_mem_eq(s->base + size - 4, "tail", 4);
  ck_assert_int_eq(surg__source_read(s, size - 4, b, 4), SURG_OK);
  ck_assert_mem_eq(b, "tail", 4);
  ck_assert_int_eq(ftruncate(fd, 4096), 0);
  ck_assert_int_eq(surg__source_need(s, 40000, 4), SURG_EIO); /* an error, not a signal */
  ck_assert_ptr_nonnull(strstr(surg_context_error(ctx), "shorter"));
  surg__source_unref(s);
  close(fd);
  unlink(path);
}
END_TEST

/* Pages that were dropped come back, and must be as they were. */
START_TEST(dropped_pages_are_read_again) {
  enum { PAGES = SURG__IMAGE_PAGES + 1 };
  char path[] = "/tmp/surg-wire-XXXXXX", b[8] = "";
  const uint64_t size = SURG_LIMIT_RESIDENT + 5000, at = (PAGES - 1) * SURG__PAGE;
  surg__source *s;
  int fd = mkstemp(path);
  ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
  ck_assert_int_eq(pwrite(fd, "one", 3, 4000), 3);
  ck_assert_int_eq(pwrite(fd, "two", 3, (off_t)at - 1), 3);
  ck_assert_int_eq(pwrite(fd, "end", 3, (off_t)size - 3), 3);
  ck_assert_int_eq(surg__source_open(ctx, path, &s), SURG_OK);
  ck_assert_int_eq(surg__source_need(s, 0, SURG__PAGE), SURG_OK);
  surg__source_drop(s);
  ck_assert_uint_gt(s->n_filled, 0); /* too few to be dropped */
  ck_assert_int_eq(surg__source_need(s, 0, PAGES * SURG__PAGE), SURG_OK);
  ck_assert_int_eq(surg__source_need(s, size - 3, 3), SURG_OK);
  surg__source_drop(s);
  ck_assert(s->fixed || s->n_filled == 0);
  ck_assert_int_eq(surg__source_need(s, 4000, 3), SURG_OK);
  ck_assert_mem_eq(s->base + 4000, "one", 3);
  ck_assert_int_eq(surg__source_need(s, at - 1, 3), SURG_OK); /* of two pages */
  ck_assert_mem_eq(s->base + at - 1, "two", 3);
  ck_assert_int_eq(surg__source_read(s, size - 3, b, 3), SURG_OK); /* the page at the end is short */
  ck_assert_mem_eq(b, "end", 3);
  if (!s->fixed) {
    ck_assert_int_eq(pwrite(fd, "x", 1, 5 * SURG__PAGE), 1);
    ck_assert_int_eq(surg__source_read(s, 5 * SURG__PAGE + 100, b, 3), SURG_EIO);
    ck_assert_ptr_nonnull(strstr(surg_context_error(ctx), "changed while it was read"));
    surg_context_clear_error(ctx);
    ck_assert_int_eq(surg__source_need(s, 5 * SURG__PAGE + 100, 3), SURG_EIO);
    ck_assert_ptr_nonnull(strstr(surg_context_error(ctx), "changed while it was read"));
  }
  surg__source_unref(s);
  close(fd);
  unlink(path);
}
END_TEST

/* After the image was dropped, the header of a page far from the last one is read without an
 * addition to it, and must be the same each time. */
START_TEST(a_window_shows_headers) {
  enum { PAGES = SURG__IMAGE_PAGES + 1, FAR = 3000, FARTHER = 4000 };
  char path[] = "/tmp/surg-wire-XXXXXX";
  const uint64_t size = SURG_LIMIT_RESIDENT + 5000;
  const uint8_t *p;
  surg__source *s;
  int fd = mkstemp(path);
  ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
  ck_assert_int_eq(pwrite(fd, "far", 3, FAR * SURG__PAGE + 7), 3);
  ck_assert_int_eq(pwrite(fd, "edge", 4, FARTHER * SURG__PAGE - 2), 4);
  ck_assert_int_eq(pwrite(fd, "end", 3, (off_t)size - 3), 3);
  ck_assert_int_eq(surg__source_open(ctx, path, &s), SURG_OK);
  ck_assert_int_eq(surg__source_peek(s, FAR * SURG__PAGE + 7, 3, &p), SURG_OK);
  ck_assert_ptr_eq(p, s->base + FAR * SURG__PAGE + 7); /* nothing was dropped before */
  ck_assert_int_eq(surg__source_need(s, 0, PAGES * SURG__PAGE), SURG_OK);
  surg__source_drop(s);
  if (!s->fixed) {
    ck_assert_int_eq(surg__source_peek(s, FAR * SURG__PAGE + 7, 3, &p), SURG_OK);
    ck_assert_mem_eq(p, "far", 3);
    ck_assert_int_eq(surg__source_peek(s, size - 3, 3, &p), SURG_OK);
    ck_assert_mem_eq(p, "end", 3);
    ck_assert_uint_eq(s->n_filled, 0);
    ck_assert_int_eq(surg__source_peek(s, FARTHER * SURG__PAGE - 2, 4, &p), SURG_OK);
    ck_assert_mem_eq(p, "edge", 4); /* of two pages: in the image */
    ck_assert_uint_eq(s->n_filled, 2);
    ck_assert_int_eq(pwrite(fd, "x", 1, FAR * SURG__PAGE), 1);
    ck_assert_int_eq(surg__source_peek(s, FAR * SURG__PAGE + 7, 3, &p), SURG_EIO);
    ck_assert_ptr_nonnull(strstr(surg_context_error(ctx), "changed while it was read"));
    surg_context_clear_error(ctx);
    ck_assert_int_eq(surg__source_need(s, FAR * SURG__PAGE + 7, 3), SURG_EIO);
    surg_context_clear_error(ctx);
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    ck_assert_int_eq(surg__source_peek(s, size - 3, 3, &p), SURG_EIO);
    ck_assert_ptr_nonnull(strstr(surg_context_error(ctx), "shorter"));
  }
  surg__source_unref(s);
  close(fd);
  unlink(path);
}
END_TEST

START_TEST(sources_report_what_they_cannot_open) {
  surg__source *s;
  ck_assert_int_eq(surg__source_open(ctx, "/nonexistent/model.onnx", &s), SURG_EIO);
  ck_assert_ptr_nonnull(strstr(surg_context_error(ctx), "/nonexistent/model.onnx: error:"));
  surg_context_clear_error(ctx);
  ck_assert_int_eq(surg__source_open(ctx, "/tmp", &s), SURG_EIO);
  ck_assert_ptr_nonnull(strstr(surg_context_error(ctx), "directory"));
}
END_TEST

START_TEST(what_is_no_model_is_named) {
  static const struct {
    const char *bytes, *word;
  } cases[] = {{"version https://git-lfs.github.com/spec/v1\n", "LFS"},
               {"<!DOCTYPE html><html>", "HTML"},
               {"PK\3\4....", "zip"},
               {"\x1f\x8b\x08...", "gzip"},
               {"GGUF\3", "GGUF"},
               {"hello world\n", "text"},
               {"{\"a\": 1}", "text"}};
  ck_assert_ptr_nonnull(surg__sniff((const uint8_t *)"", 0));
  for (size_t i = 0; i < SURG_COUNT(cases); i++) {
    const char *what = surg__sniff((const uint8_t *)cases[i].bytes, strlen(cases[i].bytes));
    ck_assert_ptr_nonnull(what);
    ck_assert_ptr_nonnull(strstr(what, cases[i].word));
  }
  ck_assert_ptr_null(surg__sniff((const uint8_t *)"\x08\x08\x3a\x02", 4));
  ck_assert_ptr_nonnull(surg__sniff((const uint8_t *)"\x18\0\0\0ORTM", 8));
  ck_assert_ptr_null(surg__sniff((const uint8_t *)"\x08\x08\x12\x04ORTM", 8));
  ck_assert_ptr_nonnull(surg__sniff((const uint8_t *)"\x00\x20\0\0\0\0\0\0{\"a\"", 12));
  ck_assert_ptr_null(surg__sniff((const uint8_t *)":\x02\x0a\x00", 4));
  ck_assert_ptr_nonnull(surg__sniff((const uint8_t *)"\x0a\x08\x0a\x01x\x12\x03Neg", 10)); /* GraphDef */
  ck_assert_ptr_null(surg__sniff((const uint8_t *)"\n\n\n<ir_version: 8>", 18)); /* ONNX text */
  ck_assert_ptr_null(surg__sniff((const uint8_t *)"B2aaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 31));
}
END_TEST

int main(void) {
  Suite *s = suite_create("wire");
  TCase *t = tcase_create("wire");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, fields_are_read);
  tcase_add_test(t, broken_fields_are_refused);
  tcase_add_test(t, varints_round_trip);
  tcase_add_test(t, large_files_fill_lazily);
  tcase_add_test(t, dropped_pages_are_read_again);
  tcase_add_test(t, a_window_shows_headers);
  tcase_add_test(t, sources_report_what_they_cannot_open);
  tcase_add_test(t, what_is_no_model_is_named);
  suite_add_tcase(s, t);
  return unit_run(s);
}
