/* SPDX-License-Identifier: Apache-2.0 */
/* Ropes: lengths of nested messages, joined ranges, and what comes out of them. */
#include "io/rope.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/os/os.h"
#include "../unit.h"
#include "wire_build.h"

static surg_context *ctx;
static surg__source *source;
static uint8_t image[5000];

static void setup(void) {
  surg_config config = {.size = sizeof config, .seed = 3};
  ctx = surg_context_new(&config);
  for (size_t i = 0; i < sizeof image; i++) image[i] = (uint8_t)(i * 7 + i / 256);
  ck_assert_int_eq(surg__source_memory(ctx, image, sizeof image, "image", &source), SURG_OK);
}

static void teardown(void) {
  surg__source_unref(source);
  ck_assert_uint_eq(surg_context_memory(ctx, NULL), 0);
  surg_context_free(ctx);
}

/* What the rope holds equals `want`; frees both. */
static void expect(surg__rope *r, wire want) {
  ck_assert(!r->failed);
  ck_assert_uint_eq(r->total, want.n);
  uint8_t *out = malloc(want.n + 1);
  ck_assert_int_eq(surg__rope_write(r, &(surg__sink){"memory", -1, false, out}), SURG_OK);
  ck_assert_mem_eq(out, want.p, want.n);
  int fd;
  ck_assert_int_eq(surg__os_temp(&fd), 0);
  ck_assert_int_eq(surg__rope_write(r, &(surg__sink){"file", fd, true, NULL}), SURG_OK);
  memset(out, 0, want.n);
  ck_assert_int_eq(surg__os_pread(fd, out, want.n, 0), 0);
  ck_assert_mem_eq(out, want.p, want.n);
  close(fd);
  free(out);
  free(want.p);
  surg__rope_free(r);
}

START_TEST(adjacent_ranges_become_one_piece) {
  surg__rope r;
  surg__rope_init(&r, ctx, source);
  for (uint64_t off = 100; off < 3000; off += 10) surg__rope_source(&r, off, 10);
  ck_assert_uint_eq(r.pieces.count, 1);
  surg__rope_source(&r, 4000, 0); /* nothing */
  ck_assert_uint_eq(r.pieces.count, 1);
  wire want = {0};
  wire_put(&want, image + 100, 2900);
  expect(&r, want);
}
END_TEST

START_TEST(small_ranges_join_the_bytes_around_them) {
  surg__rope r;
  surg__rope_init(&r, ctx, source);
  wire want = {0};
  for (uint64_t i = 0; i < 50; i++) {
    surg__rope_source(&r, 90 * i, 20);
    surg__rope_bytes(&r, "abc", 3);
    wire_put(&want, image + 90 * i, 20);
    wire_put(&want, "abc", 3);
  }
  ck_assert_uint_eq(r.pieces.count, 1);
  expect(&r, want);
}
END_TEST

/* Bodies around every size where a length takes a byte more, made of bytes, of source ranges and
 * of both, three messages deep. */
START_TEST(nested_lengths) {
  static const size_t sizes[] = {0, 1, 100, 126, 127, 128, 129, 255, 256, 257, 4090, 4097, 5000};
  size_t n = sizes[_i];
  for (int mix = 0; mix < 3; mix++) {
    surg__rope r;
    surg__rope_init(&r, ctx, source);
    wire inner = {0}, middle = {0}, outer = {0};
    surg__rope_varint(&r, 1, 9);
    surg__open a = surg__rope_begin(&r, 7);
    surg__rope_string(&r, 2, "name", 4);
    surg__open b = surg__rope_begin(&r, 100000);
    if (mix == 2) surg__rope_varint(&r, 3, (uint64_t)-1);
    surg__open c = surg__rope_begin(&r, 5);
    if (mix == 0)
      surg__rope_bytes(&r, image, n);
    else
      surg__rope_source(&r, 0, n);
    if (mix == 2) surg__rope_bytes(&r, image, 3);
    surg__rope_end(&r, c);
    surg__rope_end(&r, b);
    surg__rope_string(&r, 3, "after", 5);
    surg__rope_end(&r, a);
    wire_put(&inner, image, n);
    if (mix == 2) wire_put(&inner, image, 3);
    if (mix == 2) wire_int(&middle, 3, (uint64_t)-1);
    wire_message(&middle, 5, inner);
    wire all = {0};
    wire_int(&all, 1, 9);
    wire_str(&outer, 2, "name");
    wire_message(&outer, 100000, middle);
    wire_str(&outer, 3, "after");
    wire_message(&all, 7, outer);
    expect(&r, all);
  }
}
END_TEST

START_TEST(a_million_small_messages_stay_small) {
  surg__rope r;
  surg__rope_init(&r, ctx, source);
  surg__open graph = surg__rope_begin(&r, 7);
  for (int i = 0; i < 1000000; i++) {
    surg__open node = surg__rope_begin(&r, 1);
    surg__rope_string(&r, 1, "x", 1);
    surg__rope_string(&r, 4, "Relu", 4);
    surg__rope_end(&r, node);
  }
  surg__rope_end(&r, graph);
  ck_assert(!r.failed);
  ck_assert_uint_le(r.pieces.count, 2);
  ck_assert_uint_eq(r.total, 11000000 + 1 + 4);
  surg__rope_free(&r);
}
END_TEST

START_TEST(zeros_and_borrowed_bytes) {
  surg__rope r;
  surg__rope_init(&r, ctx, NULL);
  static const uint8_t zero[3000];
  surg__rope_zero(&r, 3000);
  surg__rope_borrow(&r, image, 2000);
  surg__rope_bytes(&r, image, 5);
  wire want = {0};
  wire_put(&want, zero, sizeof zero);
  wire_put(&want, image, 2000);
  wire_put(&want, image, 5);
  expect(&r, want);
}
END_TEST

START_TEST(a_full_disk_is_an_error) {
  int fd;
  if (surg__os_open_write("/dev/full", &fd) != 0) return;
  surg__rope r;
  surg__rope_init(&r, ctx, source);
  surg__rope_source(&r, 0, sizeof image);
  ck_assert_int_eq(surg__rope_write(&r, &(surg__sink){"out.onnx", fd, false, NULL}), SURG_EIO);
  ck_assert_str_eq(surg_context_error(ctx),
                   "out.onnx: error: cannot write: No space left on device");
  surg__rope_free(&r);
  close(fd);
}
END_TEST

/* Every allocation may be the one that fails: the rope says so and holds no memory afterwards. */
START_TEST(memory_runs_out) {
  for (uint64_t limit = 16; limit < 40000; limit += 16) {
    surg_config config = {.size = sizeof config, .seed = 3, .max_memory = limit};
    surg_context *small = surg_context_new(&config);
    surg__rope r;
    surg__rope_init(&r, small, NULL);
    for (int i = 0; i < 300; i++) {
      surg__open open = surg__rope_begin(&r, 1);
      surg__rope_bytes(&r, image, 10);
      surg__rope_borrow(&r, image, 10);
      surg__rope_end(&r, open);
    }
    if (limit < 20000) ck_assert(r.failed);
    surg__rope_free(&r);
    ck_assert_uint_eq(surg_context_memory(small, NULL), 0);
    surg_context_free(small);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("rope");
  TCase *c = tcase_create("all");
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, adjacent_ranges_become_one_piece);
  tcase_add_test(c, small_ranges_join_the_bytes_around_them);
  tcase_add_loop_test(c, nested_lengths, 0, 13);
  tcase_add_test(c, a_million_small_messages_stay_small);
  tcase_add_test(c, zeros_and_borrowed_bytes);
  tcase_add_test(c, a_full_disk_is_an_error);
  tcase_add_test(c, memory_runs_out);
  suite_add_tcase(s, c);
  return unit_run(s);
}
