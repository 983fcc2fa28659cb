/* SPDX-License-Identifier: Apache-2.0 */
/* Saving to files: the old file or the new one, data files beside it, and nothing else left. */
#include <dirent.h>
#include <fcntl.h>
#include <onnxsurg/onnxsurg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit.h"
#include "wire_build.h"

static surg_context *ctx;
static char root[64]; /* a folder of the test's own, with `in` and `out` below */

/* --- files --- */

static const char *path(const char *name) {
  static char text[8][256];
  static unsigned next;
  char *p = text[next++ % 8];
  snprintf(p, sizeof text[0], "%s/%s", root, name);
  return p;
}

static void write_file(const char *name, const void *p, size_t n) {
  FILE *f = fopen(path(name), "wb");
  ck_assert_ptr_nonnull(f);
  ck_assert_uint_eq(fwrite(p, 1, n, f), n);
  ck_assert_int_eq(fclose(f), 0);
}

static wire read_file(const char *name) {
  wire w = {0};
  FILE *f = fopen(path(name), "rb");
  ck_assert_msg(f != NULL, "%s is not there", name);
  uint8_t part[4096];
  for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) wire_put(&w, part, n);
  fclose(f);
  return w;
}

static void expect_file(const char *name, const void *p, size_t n) {
  wire w = read_file(name);
  ck_assert_uint_eq(w.n, n);
  ck_assert_mem_eq(w.p, p, n);
  free(w.p);
}

static bool exists(const char *name) {
  struct stat st;
  return lstat(path(name), &st) == 0;
}

/* The number of entries of a folder: nothing may be left behind. */
static int entries(const char *name) {
  int n = 0;
  DIR *d = opendir(path(name));
  ck_assert_ptr_nonnull(d);
  while (readdir(d)) n++;
  closedir(d);
  return n - 2;
}

static void setup(void) {
  surg_config config = {.size = sizeof config, .seed = 5};
  ctx = surg_context_new(&config);
  snprintf(root, sizeof root, "/tmp/onnxsurg-save-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(root));
  ck_assert_int_eq(mkdir(path("in"), 0777), 0);
  ck_assert_int_eq(mkdir(path("out"), 0777), 0);
}

static void teardown(void) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", root);
  ck_assert_int_eq(system(command), 0);
  surg_context_free(ctx);
}

/* --- models --- */

static wire entry(const char *key, const char *value) {
  wire e = {0};
  wire_str(&e, 1, key);
  wire_str(&e, 2, value);
  return e;
}

static wire external_tensor(const char *name, const char *location, uint64_t off, uint64_t floats) {
  wire t = {0};
  char number[24];
  wire_int(&t, 1, floats);
  wire_int(&t, 2, SURG_FLOAT);
  wire_str(&t, 8, name);
  wire_message(&t, 13, entry("location", location));
  snprintf(number, sizeof number, "%llu", (unsigned long long)off);
  wire_message(&t, 13, entry("offset", number));
  snprintf(number, sizeof number, "%llu", (unsigned long long)floats * 4);
  wire_message(&t, 13, entry("length", number));
  wire_int(&t, 14, 1);
  return t;
}

static wire raw_tensor(const char *name, const float *data, uint64_t floats) {
  wire t = {0};
  wire_int(&t, 1, floats);
  wire_int(&t, 2, SURG_FLOAT);
  wire_str(&t, 8, name);
  wire_bytes(&t, 9, data, (size_t)floats * 4);
  return t;
}

static wire packed_ints(const char *name, const int64_t *data, uint64_t count) {
  wire t = {0}, packed = {0};
  for (uint64_t i = 0; i < count; i++) wire_varint(&packed, (uint64_t)data[i]);
  wire_int(&t, 1, count);
  wire_int(&t, 2, SURG_INT64);
  wire_message(&t, 7, packed);
  wire_str(&t, 8, name);
  return t;
}

/* Initializers, one node, one output. */
static wire model_of(wire initializers, const char *doc) {
  wire m = {0}, g = {0}, n = {0}, y = {0}, x = {0}, import = {0};
  wire_str(&n, 1, "x");
  wire_str(&n, 2, "y");
  wire_str(&n, 4, "Relu");
  wire_message(&g, 1, n);
  wire_str(&g, 2, "g");
  wire_put(&g, initializers.p, initializers.n);
  free(initializers.p);
  wire_str(&x, 1, "x");
  wire_str(&x, 3, "");
  wire type = {0}, tensor = {0};
  wire_int(&tensor, 1, SURG_FLOAT);
  wire_message(&type, 1, tensor);
  wire_message(&x, 2, type);
  wire_message(&g, 11, x);
  wire_str(&y, 1, "y");
  type = (wire){0};
  tensor = (wire){0};
  wire_int(&tensor, 1, SURG_FLOAT);
  wire_message(&type, 1, tensor);
  wire_message(&y, 2, type);
  wire_message(&g, 12, y);
  wire_int(&m, 1, 8);
  wire_str(&m, 6, doc);
  wire_message(&m, 7, g);
  wire_str(&import, 1, "");
  wire_int(&import, 2, 17);
  wire_message(&m, 8, import);
  return m;
}

static wire one_external(const char *location) {
  wire inits = {0};
  wire_message(&inits, 5, external_tensor("w", location, 64, 500));
  return model_of(inits, "");
}

#define FLOATS 1000
static float numbers[FLOATS];

/* `in/m.onnx` with one tensor in a data file of FLOATS numbers. */
static wire put_external(const char *location) {
  for (size_t i = 0; i < FLOATS; i++) numbers[i] = (float)i - 0.25f;
  wire m = one_external(location);
  write_file("in/m.onnx", m.p, m.n);
  char name[128];
  snprintf(name, sizeof name, "in/%s", location);
  write_file(name, numbers, sizeof numbers);
  return m;
}

static surg_model *load(const char *name) {
  surg_model *m = NULL;
  surg_status s = surg_model_load(ctx, path(name), NULL, &m);
  ck_assert_msg(s == SURG_OK, "%s", surg_context_error(ctx));
  return m;
}

static surg_value *value(surg_model *m, const char *name) {
  surg_value *v = surg_graph_find_value(surg_model_graph(m), name);
  ck_assert_ptr_nonnull(v);
  return v;
}

static void save(surg_model *m, const char *name, const surg_save_options *o) {
  surg_status s = surg_model_save(m, path(name), o);
  ck_assert_msg(s == SURG_OK, "%s", surg_context_error(ctx));
}

/* The file loads, and its tensor `w` has the 500 numbers from number 16 on. */
static void expect_weights(const char *name) {
  surg_model *m = load(name);
  surg_tensor *t = surg_value_initializer(value(m, "w"));
  ck_assert_uint_eq(surg_tensor_bytes(t), 2000);
  float got[500];
  ck_assert_int_eq(surg_tensor_read(t, 0, got, sizeof got), SURG_OK);
  ck_assert_mem_eq(got, numbers + 16, sizeof got);
  surg_model_free(m);
}

/* Where the tensor lies, from the wire. */
static void expect_entry(const char *name, const char *key, const char *want) {
  wire w = read_file(name), e = {0};
  wire_message(&e, 13, entry(key, want));
  ck_assert_msg(wire_has(w.p, w.n, e.p, e.n), "%s is not %s", key, want);
  free(w.p);
  free(e.p);
}

/* --- one file --- */

START_TEST(the_file_is_replaced_and_keeps_its_mode) {
  wire m = model_of((wire){0}, "doc");
  write_file("in/m.onnx", m.p, m.n);
  ck_assert_int_eq(chmod(path("in/m.onnx"), 0640), 0);
  surg_model *model = load("in/m.onnx");
  save(model, "in/m.onnx", NULL);
  expect_file("in/m.onnx", m.p, m.n);
  ck_assert_int_eq(surg_value_rename(value(model, "y"), "why"), SURG_OK);
  save(model, "in/m.onnx", NULL);
  struct stat st;
  ck_assert_int_eq(stat(path("in/m.onnx"), &st), 0);
  ck_assert_int_eq(st.st_mode & 0777, 0640);
  ck_assert_int_eq(entries("in"), 1);
  surg_model_free(model);
  surg_model_free(load("in/m.onnx"));
  free(m.p);
}
END_TEST

START_TEST(a_link_is_replaced_not_followed) {
  wire m = model_of((wire){0}, "doc");
  write_file("in/m.onnx", m.p, m.n);
  write_file("in/other", "other", 5);
  ck_assert_int_eq(symlink(path("in/other"), path("out/link.onnx")), 0);
  surg_model *model = load("in/m.onnx");
  save(model, "out/link.onnx", NULL);
  expect_file("in/other", "other", 5);
  expect_file("out/link.onnx", m.p, m.n);
  ck_assert_int_eq(entries("out"), 1);
  surg_model_free(model);
  free(m.p);
}
END_TEST

START_TEST(a_failed_write_leaves_the_old_file) {
  char *doc = calloc(1, 100001);
  memset(doc, 'd', 100000);
  wire m = model_of((wire){0}, doc);
  write_file("in/m.onnx", m.p, m.n);
  write_file("out/m.onnx", "old", 3);
  surg_model *model = load("in/m.onnx");
  struct rlimit small = {50000, 50000};
  signal(SIGXFSZ, SIG_IGN);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
  ck_assert_int_eq(surg_model_save(model, path("out/m.onnx"), NULL), SURG_EIO);
  ck_assert_ptr_nonnull(strstr(surg_context_error(ctx), "m.onnx: error: cannot write: File too"));
  expect_file("out/m.onnx", "old", 3);
  ck_assert_int_eq(entries("out"), 1);
  surg_model_free(model);
  free(m.p);
  free(doc);
}
END_TEST

START_TEST(places_that_cannot_be_written) {
  wire m = model_of((wire){0}, "doc");
  write_file("in/m.onnx", m.p, m.n);
  surg_model *model = load("in/m.onnx");
  ck_assert_int_eq(surg_model_save(model, path("out"), NULL), SURG_EIO);
  ck_assert_int_eq(surg_model_save(model, path("nowhere/m.onnx"), NULL), SURG_EIO);
  ck_assert_int_eq(surg_model_save(model, path("in/m.onnx/m.onnx"), NULL), SURG_EIO);
  ck_assert_int_lt(surg_model_save(model, "", NULL), 0);
  ck_assert_int_eq(surg_model_save(NULL, path("out/m.onnx"), NULL), SURG_EUSAGE);
  ck_assert_int_eq(entries("out"), 0);
  surg_model_free(model);
  free(m.p);
}
END_TEST

START_TEST(a_fifo_is_a_stream) {
  wire m = model_of((wire){0}, "doc");
  write_file("in/m.onnx", m.p, m.n);
  ck_assert_int_eq(mkfifo(path("out/fifo"), 0600), 0);
  int fd = open(path("out/fifo"), O_RDWR | O_NONBLOCK);
  ck_assert_int_ge(fd, 0);
  surg_model *model = load("in/m.onnx");
  save(model, "out/fifo", NULL);
  uint8_t got[4096];
  ck_assert_int_eq((int)read(fd, got, sizeof got), (int)m.n);
  ck_assert_mem_eq(got, m.p, m.n);
  struct stat st;
  ck_assert_int_eq(lstat(path("out/fifo"), &st), 0);
  ck_assert(S_ISFIFO(st.st_mode));
  surg_save_options o = {.size = sizeof o, .external_data = "m.data"};
  ck_assert_int_eq(surg_model_save(model, path("out/fifo"), &o), SURG_EUSAGE);
  close(fd);
  surg_model_free(model);
  free(m.p);
}
END_TEST

START_TEST(text_goes_to_text_files) {
  wire m = model_of((wire){0}, "doc");
  write_file("in/m.onnx", m.p, m.n);
  surg_model *model = load("in/m.onnx");
  save(model, "out/m.onnxtxt", NULL);
  surg_model_free(model);
  wire text = read_file("out/m.onnxtxt");
  ck_assert_int_eq(text.p[0], '<');
  free(text.p);
  model = load("out/m.onnxtxt");
  ck_assert_str_eq(surg_node_op_type(surg_graph_first_node(surg_model_graph(model))), "Relu");
  surg_model_free(model);
  free(m.p);
}
END_TEST

/* --- data files --- */

START_TEST(data_stays_where_the_model_stays) {
  wire m = put_external("weights.bin");
  surg_model *model = load("in/m.onnx");
  ck_assert_int_eq(surg_value_rename(value(model, "y"), "why"), SURG_OK);
  save(model, "in/m.onnx", NULL);
  save(model, "in/second.onnx", NULL);
  surg_model_free(model);
  expect_weights("in/m.onnx");
  expect_weights("in/second.onnx");
  expect_entry("in/second.onnx", "location", "weights.bin");
  expect_file("in/weights.bin", numbers, sizeof numbers);
  ck_assert_int_eq(entries("in"), 3);
  free(m.p);
}
END_TEST

START_TEST(a_renamed_external_tensor_stays_external) {
  wire m = put_external("weights.bin");
  surg_model *model = load("in/m.onnx");
  ck_assert_int_eq(surg_value_rename(value(model, "w"), "weight"), SURG_OK);
  ck_assert_int_eq(surg_value_rename(value(model, "weight"), "w"), SURG_OK);
  save(model, "in/m.onnx", NULL);
  surg_model_free(model);
  expect_file("in/m.onnx", m.p, m.n);
  expect_weights("in/m.onnx");
  free(m.p);
}
END_TEST

START_TEST(weights_go_along_to_another_folder) {
  wire m = put_external("weights.bin");
  surg_model *model = load("in/m.onnx");
  save(model, "out/m.onnx", NULL);
  expect_file("out/m.onnx", m.p, m.n);
  expect_file("out/weights.bin", numbers, sizeof numbers);
  /* A second time, they are found there. */
  struct stat before, after;
  ck_assert_int_eq(stat(path("out/weights.bin"), &before), 0);
  save(model, "out/m.onnx", NULL);
  ck_assert_int_eq(stat(path("out/weights.bin"), &after), 0);
  ck_assert_uint_eq(before.st_ino, after.st_ino);
  surg_model_free(model);
  expect_weights("out/m.onnx");
  ck_assert_int_eq(entries("out"), 2);
  free(m.p);
}
END_TEST

/* Names that a model must not put into the user's folder, and a name that another file has. */
START_TEST(other_names_are_gathered) {
  static const char *const names[] = {"Makefile", "setup.py", "sub/weights.bin", ".bin",
                                      "taken.bin"};
  const char *name = names[_i];
  ck_assert_int_eq(mkdir(path("in/sub"), 0777), 0);
  wire m = put_external(name);
  write_file("out/taken.bin", "mine", 4);
  surg_model *model = load("in/m.onnx");
  save(model, "out/m.onnx", NULL);
  surg_model_free(model);
  expect_entry("out/m.onnx", "location", "m.onnx.data");
  expect_entry("out/m.onnx", "offset", "0");
  expect_file("out/m.onnx.data", numbers + 16, 2000);
  expect_weights("out/m.onnx");
  expect_file("out/taken.bin", "mine", 4);
  ck_assert_int_eq(entries("out"), 3);
  free(m.p);
}
END_TEST

/* One file a tensor, more than are kept open, as some exporters write them. */
START_TEST(many_data_files_become_one) {
  enum { FILES = 400 };
  wire inits = {0};
  for (size_t i = 0; i < FLOATS; i++) numbers[i] = (float)i - 0.25f;
  for (int i = 0; i < FILES; i++) {
    char name[32], file[40];
    snprintf(name, sizeof name, "layer.%d.weight_%d", i, i);
    snprintf(file, sizeof file, "in/%s", name);
    write_file(file, numbers + i, 80);
    wire_message(&inits, 5, external_tensor(name, name, 0, 20));
  }
  wire m = model_of(inits, "");
  write_file("in/m.onnx", m.p, m.n);
  surg_model *model = load("in/m.onnx");
  save(model, "out/m.onnx", NULL);
  surg_model_free(model);
  ck_assert_int_eq(entries("out"), 2);
  model = load("out/m.onnx");
  for (int i = 0; i < FILES; i++) {
    char name[32];
    float got[20];
    snprintf(name, sizeof name, "layer.%d.weight_%d", i, i);
    surg_tensor *t = surg_value_initializer(value(model, name));
    ck_assert_int_eq(surg_tensor_read(t, 0, got, sizeof got), SURG_OK);
    ck_assert_mem_eq(got, numbers + i, sizeof got);
  }
  surg_model_free(model);
  free(m.p);
}
END_TEST

START_TEST(a_taken_name_is_passed_over) {
  wire m = put_external("Makefile");
  write_file("out/m.onnx.data", "mine", 4);
  surg_model *model = load("in/m.onnx");
  for (int i = 0; i < 2; i++) { /* twice: the same names, nothing more */
    save(model, "out/m.onnx", NULL);
    expect_entry("out/m.onnx", "location", "m.onnx-1.data");
    expect_weights("out/m.onnx");
    ck_assert_int_eq(entries("out"), 3);
  }
  surg_model_free(model);
  expect_file("out/m.onnx.data", "mine", 4);
  free(m.p);
}
END_TEST

START_TEST(a_data_file_is_no_target) {
  wire m = put_external("weights.bin");
  surg_model *model = load("in/m.onnx");
  ck_assert_int_eq(surg_model_save(model, path("in/weights.bin"), NULL), SURG_EUSAGE);
  surg_model_free(model);
  expect_file("in/weights.bin", numbers, sizeof numbers);
  ck_assert_int_eq(entries("in"), 2);
  free(m.p);
}
END_TEST

START_TEST(weights_inside_the_model_file_itself) {
  for (size_t i = 0; i < FLOATS; i++) numbers[i] = (float)i - 0.25f;
  /* The unknown field at the end holds the numbers. */
  wire inits = {0};
  wire_message(&inits, 5, external_tensor("w", "m.onnx", 1064, 500));
  wire m = model_of(inits, "");
  ck_assert_uint_lt(m.n, 990);
  size_t pad = 1000 - m.n - 3;
  char space[1000] = {0};
  wire_bytes(&m, 300, space, pad - 1);
  wire_bytes(&m, 301, numbers, sizeof numbers);
  size_t at = m.n - sizeof numbers;
  free(m.p);
  inits = (wire){0};
  char number[24];
  snprintf(number, sizeof number, "%zu", at + 64);
  ck_assert_uint_eq(strlen(number), 4);
  wire_message(&inits, 5, external_tensor("w", "m.onnx", at + 64, 500));
  m = model_of(inits, "");
  wire_bytes(&m, 300, space, pad - 1);
  wire_bytes(&m, 301, numbers, sizeof numbers);
  write_file("in/m.onnx", m.p, m.n);
  expect_weights("in/m.onnx");
  surg_model *model = load("in/m.onnx");
  ck_assert_int_eq(surg_value_rename(value(model, "y"), "a longer name"), SURG_OK);
  save(model, "in/m.onnx", NULL);
  surg_model_free(model);
  expect_weights("in/m.onnx");
  expect_entry("in/m.onnx", "location", "m.onnx.data");
  free(m.p);
}
END_TEST

/* What is not decoded cannot be moved: sparse tensors whose values lie outside. */
START_TEST(sparse_weights_stay_or_nothing_does) {
  wire sparse = {0}, inits = {0}, indices = {0};
  for (size_t i = 0; i < FLOATS; i++) numbers[i] = (float)i - 0.25f;
  wire_message(&sparse, 1, external_tensor("s", "Makefile", 0, 2));
  static const int64_t at[2] = {1, 3};
  wire_int(&indices, 1, 2);
  wire_int(&indices, 2, SURG_INT64);
  wire_bytes(&indices, 9, at, sizeof at);
  wire_message(&sparse, 2, indices);
  wire_int(&sparse, 3, 8);
  wire_message(&inits, 15, sparse);
  wire_message(&inits, 5, external_tensor("w", "Makefile", 64, 500));
  wire m = model_of(inits, "");
  write_file("in/m.onnx", m.p, m.n);
  write_file("in/Makefile", numbers, sizeof numbers);
  surg_model *model = load("in/m.onnx");
  ck_assert_int_eq(surg_model_save(model, path("out/m.onnx"), NULL), SURG_EUSAGE);
  ck_assert_int_eq(entries("out"), 0);
  ck_assert_int_eq(surg_value_rename(value(model, "s"), "renamed"), SURG_OK);
  save(model, "in/m.onnx", NULL);
  surg_model_free(model);
  model = load("in/m.onnx");
  ck_assert(surg_value_is_initializer(value(model, "renamed")));
  surg_model_free(model);
  free(m.p);
}
END_TEST

/* A file above the limit for reading whole: a tensor of 70 MiB of holes with a mark at its end, and
 * a small one behind it. */
static void put_holes(const char *file, const char *name) {
  const uint64_t payload = 70u << 20;
  wire t = {0}, head = {0}, tail = {0}, m = {0}, import = {0};
  wire_int(&t, 1, payload / 4);
  wire_int(&t, 2, SURG_FLOAT);
  wire_str(&t, 8, name);
  wire_varint(&t, 9 << 3 | 2);
  wire_varint(&t, payload);
  wire_str(&head, 2, "g");
  wire_varint(&head, 5 << 3 | 2);
  wire_varint(&head, t.n + payload);
  wire_put(&head, t.p, t.n);
  wire_message(&tail, 5, raw_tensor("other", numbers, 100));
  wire_int(&m, 1, 8);
  wire_str(&import, 1, "");
  wire_int(&import, 2, 17);
  wire_message(&m, 8, import);
  wire_varint(&m, 7 << 3 | 2);
  wire_varint(&m, head.n + payload + tail.n);
  wire_put(&m, head.p, head.n);
  int fd = open(path(file), O_RDWR | O_CREAT | O_TRUNC, 0600);
  off_t end = (off_t)(m.n + payload);
  ck_assert_int_eq((int)pwrite(fd, m.p, m.n, 0), (int)m.n);
  ck_assert_int_eq(ftruncate(fd, end), 0);
  ck_assert_int_eq((int)pwrite(fd, "mark", 4, end - 4), 4);
  ck_assert_int_eq((int)pwrite(fd, tail.p, tail.n, end), (int)tail.n);
  close(fd);
  free(t.p);
  free(head.p);
  free(tail.p);
  free(m.p);
}

/* Its weights are neither read when it is loaded nor held when it is saved. */
START_TEST(a_large_file_is_edited_without_its_weights) {
  put_holes("in/large.onnx", "before");
  put_holes("in/want.onnx", "renamed");
  surg_model *m = load("in/large.onnx");
  ck_assert_int_eq(surg_value_rename(value(m, "before"), "renamed"), SURG_OK);
  surg_save_options o = {.size = sizeof o, .no_fsync = true};
  save(m, "out/large.onnx", &o);
  surg_model_free(m);
  uint64_t peak;
  surg_context_memory(ctx, &peak);
  ck_assert_uint_lt(peak, 8u << 20);
  char command[600];
  snprintf(command, sizeof command, "cmp '%s' '%s'", path("in/want.onnx"), path("out/large.onnx"));
  ck_assert_int_eq(system(command), 0);
}
END_TEST

/* --- weights put outside --- */

/* in/all.onnx: a large raw tensor, a medium one, a typed one, a small one and an external one. */
static float *large;
#define LARGE (300 * 1024u) /* floats: more than 1 MiB */

static void put_all(void) {
  static int64_t ints[200];
  wire inits = {0};
  free(put_external("weights.bin").p);
  large = malloc(LARGE * sizeof *large);
  for (size_t i = 0; i < LARGE; i++) large[i] = (float)i;
  for (int i = 0; i < 200; i++) ints[i] = i % 2 ? -i : i * 1000;
  wire_message(&inits, 5, raw_tensor("medium", numbers, 300));
  wire_message(&inits, 5, packed_ints("typed", ints, 200));
  wire_message(&inits, 5, raw_tensor("large", large, LARGE));
  wire_message(&inits, 5, raw_tensor("small", numbers, 200));
  wire_message(&inits, 5, external_tensor("w", "weights.bin", 64, 500));
  wire m = model_of(inits, "all");
  write_file("in/all.onnx", m.p, m.n);
  free(m.p);
}

static void expect_tensor(surg_model *m, const char *name, bool external, const void *data,
                          size_t n) {
  surg_tensor *t = surg_value_initializer(value(m, name));
  ck_assert_int_eq(surg_tensor_is_external(t), external);
  ck_assert_uint_eq(surg_tensor_bytes(t), n);
  uint8_t *p = malloc(n);
  ck_assert_int_eq(surg_tensor_read(t, 0, p, n), SURG_OK);
  ck_assert_mem_eq(p, data, n);
  free(p);
}

START_TEST(all_weights_to_one_file) {
  put_all();
  int64_t ints[200];
  for (int i = 0; i < 200; i++) ints[i] = i % 2 ? -i : i * 1000;
  surg_save_options o = {.size = sizeof o, .external_data = "all.data"};
  surg_model *m = load("in/all.onnx");
  wire once[2];
  for (int i = 0; i < 2; i++) { /* the second run finds its own file and makes no other */
    save(m, "out/all.onnx", &o);
    once[i] = read_file("out/all.onnx");
    ck_assert_int_eq(entries("out"), 2);
  }
  ck_assert_uint_eq(once[0].n, once[1].n);
  ck_assert_mem_eq(once[0].p, once[1].p, once[0].n);
  surg_model_free(m);
  ck_assert_int_eq(rename(path("out/all.data"), path("out/moved")), 0);
  ck_assert_int_eq(rename(path("out/moved"), path("out/all.data")), 0);
  m = load("out/all.onnx");
  expect_tensor(m, "medium", true, numbers, 1200);
  expect_tensor(m, "typed", true, ints, sizeof ints);
  expect_tensor(m, "large", true, large, LARGE * sizeof *large);
  expect_tensor(m, "small", false, numbers, 800);
  expect_tensor(m, "w", true, numbers + 16, 2000);
  surg_model_free(m);
  /* medium at 0, typed behind it at the next 64, large at a page, w at the next 64 */
  expect_entry("out/all.onnx", "offset", "0");
  expect_entry("out/all.onnx", "offset", "1216");
  expect_entry("out/all.onnx", "offset", "4096");
  char at[24];
  snprintf(at, sizeof at, "%zu", (size_t)4096 + LARGE * 4);
  expect_entry("out/all.onnx", "offset", at);
  free(once[0].p);
  free(once[1].p);
  free(large);
}
END_TEST

START_TEST(in_place_with_all_weights_outside) {
  put_all();
  surg_save_options o = {.size = sizeof o, .external_data = "weights.bin", .external_threshold = 1};
  surg_model *m = load("in/all.onnx");
  save(m, "in/all.onnx", &o);
  surg_model_free(m);
  /* The name is that of the data being read: it stays, for in/m.onnx too. */
  expect_entry("in/all.onnx", "location", "weights-1.bin");
  expect_file("in/weights.bin", numbers, sizeof numbers);
  expect_weights("in/m.onnx");
  m = load("in/all.onnx");
  expect_tensor(m, "small", true, numbers, 800);
  expect_tensor(m, "large", true, large, LARGE * sizeof *large);
  expect_tensor(m, "w", true, numbers + 16, 2000);
  surg_model_free(m);
  free(large);
}
END_TEST

START_TEST(names_that_are_none) {
  static const char *const names[] = {"",     ".",    "..",     "a/b",    "../up",
                                      "/abs", "a\\b", "m.onnx", "bad\xff"};
  wire m = put_external("weights.bin");
  surg_model *model = load("in/m.onnx");
  surg_save_options o = {.size = sizeof o, .external_data = names[_i]};
  ck_assert_int_eq(surg_model_save(model, path("out/m.onnx"), &o), SURG_EUSAGE);
  ck_assert_int_eq(entries("out"), 0);
  surg_model_free(model);
  free(m.p);
}
END_TEST

/* The data file is there, then the model cannot be written: both are gone, the old ones stay. */
START_TEST(data_goes_when_the_model_fails) {
  char *doc = calloc(1, 100001);
  memset(doc, 'd', 100000);
  wire inits = {0};
  wire_message(&inits, 5, raw_tensor("w", numbers, 1000));
  wire m = model_of(inits, doc);
  write_file("in/m.onnx", m.p, m.n);
  write_file("out/m.onnx", "old", 3);
  surg_model *model = load("in/m.onnx");
  struct rlimit small = {50000, 50000};
  signal(SIGXFSZ, SIG_IGN);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
  surg_save_options o = {.size = sizeof o, .external_data = "m.data"};
  ck_assert_int_eq(surg_model_save(model, path("out/m.onnx"), &o), SURG_EIO);
  ck_assert(!exists("out/m.data"));
  expect_file("out/m.onnx", "old", 3);
  ck_assert_int_eq(entries("out"), 1);
  surg_model_free(model);
  free(m.p);
  free(doc);
}
END_TEST

/* Too large for one file: the weights go outside by themselves. The input is a file of holes;
 * the output is 2 GiB, so this runs only where ONNXSURG_LARGE is set. */
START_TEST(too_large_for_one_file) {
  if (!getenv("ONNXSURG_LARGE")) return;
  const uint64_t half = 1ull << 30;
  wire head = {0}, t = {0}, m = {0}, import = {0};
  wire_int(&t, 1, half / 4 + 16);
  wire_int(&t, 2, SURG_FLOAT);
  uint64_t each = half + 64, tensor = 0, graph = 0;
  for (int pass = 0; pass < 2; pass++) {
    wire name = {0};
    wire_str(&name, 8, "a");
    wire len = {0};
    wire_varint(&len, 9 << 3 | 2);
    wire_varint(&len, each);
    tensor = t.n + name.n + len.n + each;
    free(name.p);
    free(len.p);
  }
  wire init = {0};
  wire_varint(&init, 5 << 3 | 2);
  wire_varint(&init, tensor);
  graph = 3 + 2 * (init.n + tensor);
  wire_int(&m, 1, 8);
  wire_str(&import, 1, "");
  wire_int(&import, 2, 17);
  wire_message(&m, 8, import);
  wire_varint(&m, 7 << 3 | 2);
  wire_varint(&m, graph);
  wire_str(&m, 2, "g");
  int fd = open(path("in/large.onnx"), O_RDWR | O_CREAT, 0600);
  ck_assert_int_eq((int)write(fd, m.p, m.n), (int)m.n);
  off_t end = (off_t)m.n;
  for (int i = 0; i < 2; i++) {
    head.n = 0;
    wire_put(&head, init.p, init.n);
    wire_put(&head, t.p, t.n);
    wire_str(&head, 8, i ? "b" : "a");
    wire_varint(&head, 9 << 3 | 2);
    wire_varint(&head, each);
    ck_assert_int_eq((int)pwrite(fd, head.p, head.n, end), (int)head.n);
    end += (off_t)(head.n + each);
    ck_assert_int_eq(ftruncate(fd, end), 0);
  }
  ck_assert_int_eq((int)pwrite(fd, "mark", 4, end - 4), 4);
  close(fd);
  surg_model *model = load("in/large.onnx");
  surg_save_options o = {.size = sizeof o, .no_fsync = true};
  save(model, "out/large.onnx", &o);
  surg_model_free(model);
  struct stat st;
  ck_assert_int_eq(stat(path("out/large.onnx"), &st), 0);
  ck_assert_int_lt(st.st_size, 1000);
  ck_assert_int_eq(stat(path("out/large.onnx.data"), &st), 0);
  /* two tensors of 1 GiB and 64 bytes, the second at a page */
  ck_assert_uint_eq((uint64_t)st.st_size, half + 4096 + each);
  model = load("out/large.onnx");
  uint8_t got[4];
  surg_tensor *b = surg_value_initializer(value(model, "b"));
  ck_assert_int_eq(surg_tensor_read(b, each - 4, got, 4), SURG_OK);
  ck_assert_mem_eq(got, "mark", 4);
  surg_model_free(model);
  free(head.p);
  free(t.p);
  free(m.p);
  free(init.p);
}
END_TEST

int main(void) {
  Suite *s = suite_create("save_file");
  TCase *c = tcase_create("all");
  tcase_set_timeout(c, 100);
  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, the_file_is_replaced_and_keeps_its_mode);
  tcase_add_test(c, a_link_is_replaced_not_followed);
  tcase_add_test(c, a_failed_write_leaves_the_old_file);
  tcase_add_test(c, places_that_cannot_be_written);
  tcase_add_test(c, a_fifo_is_a_stream);
  tcase_add_test(c, text_goes_to_text_files);
  tcase_add_test(c, data_stays_where_the_model_stays);
  tcase_add_test(c, a_renamed_external_tensor_stays_external);
  tcase_add_test(c, weights_go_along_to_another_folder);
  tcase_add_loop_test(c, other_names_are_gathered, 0, 5);
  tcase_add_test(c, many_data_files_become_one);
  tcase_add_test(c, a_taken_name_is_passed_over);
  tcase_add_test(c, a_data_file_is_no_target);
  tcase_add_test(c, weights_inside_the_model_file_itself);
  tcase_add_test(c, sparse_weights_stay_or_nothing_does);
  tcase_add_test(c, a_large_file_is_edited_without_its_weights);
  tcase_add_test(c, all_weights_to_one_file);
  tcase_add_test(c, in_place_with_all_weights_outside);
  tcase_add_loop_test(c, names_that_are_none, 0, 9);
  tcase_add_test(c, data_goes_when_the_model_fails);
  tcase_add_test(c, too_large_for_one_file);
  suite_add_tcase(s, c);
  return unit_run(s);
}
