/* SPDX-License-Identifier: Apache-2.0 */
/* Loading of tensors: sizes of every element type in every place, external data, sparse tensors,
 * and weights of large files, which stay there. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/counted.h"
#include "base/dtype.h"
#include "load_common.h"

static wire model_of(wire tensor) {
  wire g = {0};
  wire_message(&g, 1, mb_node_in("d", "Use", "w", "y"));
  wire_str(&g, 2, "g");
  wire_message(&g, 5, tensor);
  wire_message(&g, 12, mb_value("y", SURG_FLOAT, 2));
  return mb_model(g);
}

static uint8_t zeros[4096];

/* Loads or refuses a tensor of n elements with `bytes` bytes of raw data. */
static void try_raw(int dtype, int64_t n, size_t bytes, bool good) {
  wire t = mb_tensor("w", dtype, &n, 1);
  wire_bytes(&t, 9, zeros, bytes);
  if (good)
    load_ok(model_of(t));
  else
    refused(model_of(t), "graph.initializer[0] \"w\"");
}

START_TEST(raw_sizes_are_exact) {
  for (int dtype = 1; dtype < SURG_DTYPE_COUNT; dtype++)
    for (int64_t n = 0; n < 10; n++) {
      uint64_t bytes;
      if (dtype == SURG_STRING) {
        try_raw(dtype, n, 1, false);
        continue;
      }
      ck_assert(surg__dtype_bytes(dtype, (uint64_t)n, &bytes));
      try_raw(dtype, n, (size_t)bytes, true);
      try_raw(dtype, n, (size_t)bytes + 1, false);
      if (bytes) try_raw(dtype, n, (size_t)bytes - 1, false);
    }
  try_raw(0, 1, 4, false);
  try_raw(-1, 1, 4, false);
  try_raw(SURG_DTYPE_COUNT, 1, 4, false);
}
END_TEST

/* Entries of the list field for n elements, by the text of the format. */
static size_t entries_of(int dtype, size_t n) {
  unsigned bits = surg__dtype_bits(dtype);
  if (dtype == SURG_COMPLEX64 || dtype == SURG_COMPLEX128) return 2 * n;
  if (bits == 4) return (n + 1) / 2;
  if (bits == 2) return (n + 3) / 4;
  return n;
}

static unsigned list_of(int dtype) {
  switch (dtype) {
    case SURG_FLOAT:
    case SURG_COMPLEX64:
      return 4;
    case SURG_DOUBLE:
    case SURG_COMPLEX128:
      return 10;
    case SURG_STRING:
      return 6;
    case SURG_INT64:
      return 7;
    case SURG_UINT32:
    case SURG_UINT64:
      return 11;
    default:
      return 5;
  }
}

/* A tensor with `count` zero entries in list `field`, packed or one by one. */
static wire typed(int dtype, int64_t n, unsigned field, size_t count, bool packed) {
  wire t = mb_tensor("w", dtype, &n, 1);
  size_t size = field == 4 ? 4 : field == 10 ? 8 : 1;
  if (packed && field != 6) wire_bytes(&t, field, zeros, size * count);
  for (size_t i = 0; i < count && (!packed || field == 6); i++) {
    if (field == 6)
      wire_str(&t, field, "s");
    else if (size == 1)
      wire_int(&t, field, 0);
    else {
      wire_varint(&t, field << 3 | (size == 4 ? 5 : 1));
      wire_put(&t, zeros, size);
    }
  }
  return t;
}

START_TEST(list_sizes_are_exact) {
  static const unsigned fields[] = {4, 5, 6, 7, 10, 11};
  for (int dtype = 1; dtype < SURG_DTYPE_COUNT; dtype++)
    for (int packed = 0; packed < 2; packed++)
      for (int64_t n = 1; n < 8; n++) {
        size_t count = entries_of(dtype, (size_t)n);
        unsigned field = list_of(dtype);
        load_ok(model_of(typed(dtype, n, field, count, packed)));
        refused(model_of(typed(dtype, n, field, count + 1, packed)), "entries where");
        refused(model_of(typed(dtype, n, field, count - 1, packed)),
                count == 1 ? "no data" : "entries where");
        for (size_t i = 0; n == 4 && i < SURG_COUNT(fields); i++)
          if (fields[i] != field)
            refused(model_of(typed(dtype, n, fields[i], count, packed)), "keeps its elements in");
      }
}
END_TEST

static wire with_entry(int dtype, unsigned field, int64_t value, bool packed) {
  int64_t n = 1;
  wire t = mb_tensor("w", dtype, &n, 1), list = {0};
  if (!packed) {
    wire_int(&t, field, (uint64_t)value);
    return t;
  }
  wire_varint(&list, (uint64_t)value);
  wire_message(&t, field, list);
  return t;
}

START_TEST(entries_are_in_range) {
  static const struct {
    int dtype;
    unsigned field;
    int64_t low, high;
  } cases[] = {{SURG_UINT8, 5, 0, 255},      {SURG_INT8, 5, -128, 127},
               {SURG_UINT16, 5, 0, 65535},   {SURG_INT16, 5, -32768, 32767},
               {SURG_BOOL, 5, 0, 255},       {SURG_FLOAT16, 5, 0, 65535},
               {SURG_BFLOAT16, 5, 0, 65535}, {SURG_UINT32, 11, 0, UINT32_MAX},
               {SURG_INT4, 5, 0, 255},       {SURG_FLOAT8E5M2, 5, 0, 255}};
  for (int packed = 0; packed < 2; packed++)
    for (size_t i = 0; i < SURG_COUNT(cases); i++) {
      int d = cases[i].dtype;
      unsigned f = cases[i].field;
      load_ok(model_of(with_entry(d, f, cases[i].low, packed)));
      load_ok(model_of(with_entry(d, f, cases[i].high, packed)));
      refused(model_of(with_entry(d, f, cases[i].low - 1, packed)), "out of range");
      refused(model_of(with_entry(d, f, cases[i].high + 1, packed)), "out of range");
    }
  load_ok(model_of(with_entry(SURG_INT32, 5, INT32_MIN, true)));
  load_ok(model_of(with_entry(SURG_UINT64, 11, -1, true)));
}
END_TEST

static void refused_dims(const int64_t *dims, size_t rank) {
  wire t = mb_tensor("w", SURG_FLOAT, dims, rank);
  wire_bytes(&t, 9, zeros, 8);
  refused(model_of(t), "dims");
}

START_TEST(headers_are_checked) {
  refused_dims((int64_t[]){-2}, 1);
  refused_dims((int64_t[]){-1, -2}, 2);
  refused_dims((int64_t[]){(int64_t)1 << 32, (int64_t)1 << 32}, 2);
  refused_dims((int64_t[]){(int64_t)1 << 62, 4, 2}, 3);
  refused_dims((int64_t[]){(int64_t)1 << 62}, 1); /* as many elements, but not as many bytes */
  wire t = mb_tensor("w", SURG_FLOAT, (int64_t[]){0, INT64_MAX}, 2); /* nothing at all */
  load_ok(model_of(t));
  t = mb_tensor("w", SURG_FLOAT, (int64_t[]){2}, 1);
  refused(model_of(t), "no data for 2 elements");
  t = mb_vector("w", SURG_FLOAT, 2, zeros, 8);
  wire_bytes(&t, 4, zeros, 8);
  refused(model_of(t), "raw_data and float_data");
  t = mb_vector("w", SURG_FLOAT, 2, zeros, 8);
  wire segment = {0};
  wire_int(&segment, 1, 0);
  wire_message(&t, 3, segment);
  refused(model_of(t), "segment");
  t = mb_vector("w", SURG_FLOAT, 2, zeros, 8);
  wire_int(&t, 14, 7);
  refused(model_of(t), "data_location 7");
  /* The same rules in an attribute. */
  wire n = mb_node("Constant", "", "w"), g = {0};
  mb_attr_tensor(&n, "value", mb_vector(NULL, SURG_FLOAT, 3, zeros, 8));
  wire_message(&g, 1, n);
  refused(mb_model(g), "graph.node[0] (Constant).attribute[0] \"value\".t: raw_data has 8 bytes");
}
END_TEST

/* --- sparse tensors: values [n], indices, dims --- */

static wire sparse(int64_t n, wire indices, const int64_t *dims, size_t rank) {
  wire s = {0}, g = {0};
  wire_message(&s, 1, mb_vector("w", SURG_FLOAT, n, zeros, 4 * (size_t)n));
  if (indices.p) wire_message(&s, 2, indices);
  for (size_t i = 0; i < rank; i++) wire_int(&s, 3, (uint64_t)dims[i]);
  wire_message(&g, 1, mb_node_in("d", "Use", "w", "y"));
  wire_message(&g, 15, s);
  wire_message(&g, 12, mb_value("y", SURG_FLOAT, 2));
  return mb_model(g);
}

static wire indices(const int64_t *v, int64_t n) {
  return mb_vector("i", SURG_INT64, n, v, 8 * (size_t)n);
}

static wire rows(const int64_t *v, int64_t n, int64_t columns) {
  wire t = mb_tensor("i", SURG_INT64, (int64_t[]){n, columns}, 2);
  wire_bytes(&t, 9, v, 8 * (size_t)(n * columns));
  return t;
}

START_TEST(sparse_tensors_are_checked) {
  static const int64_t d4[] = {4}, d34[] = {3, 4}, huge[] = {(int64_t)1 << 32, (int64_t)1 << 32};
  load_ok(sparse(2, indices((int64_t[]){0, 3}, 2), d4, 1));
  load_ok(sparse(2, indices((int64_t[]){0, 11}, 2), d34, 2));
  load_ok(sparse(2, rows((int64_t[]){0, 3, 1, 0}, 2, 2), d34, 2));
  refused(sparse(2, indices((int64_t[]){3, 1}, 2), d4, 1), "do not rise");
  refused(sparse(2, indices((int64_t[]){1, 1}, 2), d4, 1), "do not rise");
  refused(sparse(2, rows((int64_t[]){1, 0, 0, 3}, 2, 2), d34, 2), "do not rise");
  refused(sparse(1, indices((int64_t[]){4}, 1), d4, 1), "not within");
  refused(sparse(1, indices((int64_t[]){12}, 1), d34, 2), "not within");
  refused(sparse(1, rows((int64_t[]){0, 4}, 1, 2), d34, 2), "not within");
  refused(sparse(1, indices((int64_t[]){-1}, 1), d4, 1), "not within");
  refused(sparse(2, indices((int64_t[]){1}, 1), d4, 1), "2 values and 1 indices");
  refused(sparse(1, (wire){0}, d4, 1), "no indices");
  refused(sparse(1, rows((int64_t[]){0}, 1, 1), d34, 2), "shape");
  refused(sparse(1, indices((int64_t[]){0}, 1), huge, 2), "overflows");
  refused(sparse(1, indices((int64_t[]){0}, 1), d4, 0), "no dims");
}
END_TEST

/* --- external data --- */

static char folder[64];

static void enter(void) {
  setup();
  strcpy(folder, "/tmp/surg-load-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(chdir(folder), 0);
  ck_assert_int_eq(mkdir("m", 0700), 0);
  FILE *f = fopen("m/w.bin", "w");
  for (int i = 0; i < 64; i++) putc(i, f);
  fclose(f);
  ck_assert_int_eq(system("cp m/w.bin outside.bin"), 0);
}

static void leave(void) {
  ck_assert_int_eq(chdir("/"), 0);
  char command[96];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  ck_assert_int_eq(system(command), 0);
  teardown();
}

static wire external(const char *location, const char *offset, const char *length) {
  static const char *const keys[] = {"location", "offset", "length"};
  const char *values[] = {location, offset, length};
  int64_t two = 2;
  wire t = mb_tensor("w", SURG_FLOAT, &two, 1);
  for (int i = 0; i < 3; i++) {
    if (!values[i]) continue;
    wire e = {0};
    wire_str(&e, 1, keys[i]);
    wire_str(&e, 2, values[i]);
    wire_message(&t, 13, e);
  }
  wire_int(&t, 14, 1);
  return model_of(t);
}

/* Writes the model to a path and loads it from there. */
static surg_model *load_at(const char *path, wire w, surg_status want) {
  FILE *f = fopen(path, "w");
  fwrite(w.p, 1, w.n, f);
  fclose(f);
  free(w.p);
  surg_model *m = NULL;
  forget();
  surg_status got = surg_model_load(ctx, path, &options, &m);
  ck_assert_msg(got == want, "%s\n%s", surg_status_name(got), lines);
  return m;
}

static void external_ok(const char *location, const char *offset, const char *length, int first) {
  surg_model *m = load_at("m/m.onnx", external(location, offset, length), SURG_OK);
  surg_tensor *t = surg_value_constant(surg_graph_find_value(surg_model_graph(m), "w"));
  uint8_t data[8];
  ck_assert(surg_tensor_is_external(t));
  ck_assert_int_eq(surg_tensor_read(t, 0, data, 8), SURG_OK);
  ck_assert_int_eq(data[0], first);
  ck_assert_int_eq(data[7], first + 7);
  surg_model_free(m);
}

static void external_bad(surg_status want, const char *location, const char *offset,
                         const char *length, const char *text) {
  load_at("m/m.onnx", external(location, offset, length), want);
  ck_assert_uint_eq(errors, 1);
  said("graph.initializer[0] \"w\": external data");
  said(text);
}

START_TEST(external_ranges_are_checked) {
  external_ok("w.bin", "0", "8", 0);
  external_ok("w.bin", "56", "8", 56);
  external_ok("w.bin", NULL, NULL, 0);
  external_ok("./w.bin", "4", NULL, 4);
  external_ok("w.bin", "0", "0", 0); /* some writers say so */
  ck_assert_uint_eq(warnings, 1);
  static const char *const numbers[] = {"-4",
                                        "abc",
                                        " 0",
                                        "0x10",
                                        "8abc",
                                        "",
                                        "+1",
                                        "1e1",
                                        "18446744073709551624",
                                        "9223372036854775808"};
  for (size_t i = 0; i < SURG_COUNT(numbers); i++) {
    external_bad(SURG_EINVALID, "w.bin", numbers[i], "8", "offset");
    external_bad(SURG_EINVALID, "w.bin", "0", numbers[i], "length");
  }
  external_bad(SURG_EINVALID, "w.bin", "57", "8", "the file has 64 bytes");
  external_bad(SURG_EINVALID, "w.bin", "9223372036854775804", "8", "the file has 64 bytes");
  external_bad(SURG_EINVALID, "w.bin", "0", "12", "length 12 where");
  external_bad(SURG_EIO, "gone.bin", "0", "8", "No such file");
}
END_TEST

START_TEST(external_places_are_checked) {
  static const char *const locations[] = {
      "../outside.bin", "a/../../outside.bin", "..", "", "..\\outside.bin", "a\\b",
      "/etc/passwd",    "*/_ORT_MEM_ADDR_/*"};
  for (size_t i = 0; i < SURG_COUNT(locations); i++)
    external_bad(SURG_EINVALID, locations[i], "0", "8", "");
  external_bad(SURG_EINVALID, NULL, "0", "8", "names no location");
  external_bad(SURG_EINVALID, ".", "0", "8", "is not a regular file");
  ck_assert_int_eq(symlink("../outside.bin", "m/out.bin") | symlink("..", "m/up") |
                       symlink("/dev/zero", "m/zero") | mkfifo("m/fifo", 0600) |
                       symlink("w.bin", "m/inner.bin") | link("outside.bin", "m/hard.bin"),
                   0);
  external_bad(SURG_EINVALID, "out.bin", "0", "8", "leads out");
  external_bad(SURG_EINVALID, "up/outside.bin", "0", "8", "leads out");
  external_bad(SURG_EINVALID, "zero", "0", "8", "leads out");
  external_bad(SURG_EINVALID, "fifo", "0", "8", "is not a regular file");
  external_ok("inner.bin", "0", "8", 0);
  external_ok("hard.bin", "8", "8", 8);
  options.strict_external = true;
  external_bad(SURG_EINVALID, "hard.bin", "0", "8", "hard links");
  options.strict_external = false;
  options.no_external = true;
  external_bad(SURG_EINVALID, "w.bin", "0", "8", "not allowed");
  options.no_external = false;
  char location[SURG_LIMIT_LOCATION + 2];
  memset(location, 'a', sizeof location - 1);
  location[sizeof location - 1] = 0;
  external_bad(SURG_EINVALID, location, "0", "8", "too long");
}
END_TEST

START_TEST(external_roots_and_memory) {
  ck_assert_ptr_null(load_as(external("w.bin", "0", "8"), SURG_EIO));
  said("not read from a folder");
  options.external_root = "m";
  surg_model_free(load_as(external("w.bin", "0", "8"), SURG_OK));
  options.external_root = "gone";
  ck_assert_ptr_null(load_as(external("w.bin", "0", "8"), SURG_EIO));
}
END_TEST

START_TEST(caches_of_links_load) {
  ck_assert_int_eq(mkdir("blobs", 0700) | mkdir("snapshots", 0700) | mkdir("snapshots/h", 0700) |
                       rename("outside.bin", "blobs/data"),
                   0);
  surg_model_free(load_at("blobs/model", external("m.data", "0", "8"), SURG_EIO));
  ck_assert_int_eq(symlink("../../blobs/model", "snapshots/h/m.onnx") |
                       symlink("../../blobs/data", "snapshots/h/m.data"),
                   0);
  surg_model *m = NULL;
  ck_assert_int_eq(surg_model_load(ctx, "snapshots/h/m.onnx", NULL, &m), SURG_OK);
  surg_model_free(m);
  /* A target in any other folder stays out of reach. */
  ck_assert_int_eq(unlink("snapshots/h/m.data") | symlink("../../m/w.bin", "snapshots/h/m.data"),
                   0);
  ck_assert_int_eq(surg_model_load(ctx, "snapshots/h/m.onnx", NULL, &m), SURG_EINVALID);
}
END_TEST

START_TEST(keys_of_external_data) {
  static const struct {
    const char *key;
    bool good;
    unsigned warnings;
  } cases[] = {{"checksum", true, 0},
               {"basepath", true, 0},
               {"__class__", true, 1},
               {"location", false, 0},
               {"offset", true, 0}};
  for (size_t i = 0; i < SURG_COUNT(cases); i++) {
    int64_t two = 2;
    wire t = mb_tensor("w", SURG_FLOAT, &two, 1);
    for (int k = 0; k < 2; k++) {
      wire e = {0};
      wire_str(&e, 1, k ? cases[i].key : "location");
      wire_str(&e, 2, k ? "0" : "w.bin");
      wire_message(&t, 13, e);
    }
    wire_int(&t, 14, 1);
    surg_model_free(load_at("m/m.onnx", model_of(t), cases[i].good ? SURG_OK : SURG_EINVALID));
    ck_assert_uint_eq(warnings, cases[i].warnings);
  }
}
END_TEST

/* A file for each of many tensors: no more descriptors than a process has. */
START_TEST(many_data_files) {
  enum { COUNT = SURG_LIMIT_OPEN_FILES + 20 };
  struct rlimit limit = {SURG_LIMIT_OPEN_FILES + 16, SURG_LIMIT_OPEN_FILES + 16};
  ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
  wire g = {0};
  wire_message(&g, 1, mb_node_in("d", "Use", "w0", "y"));
  for (int i = 0; i < COUNT; i++) {
    char name[24], path[32];
    snprintf(name, sizeof name, "w%d", i);
    snprintf(path, sizeof path, "m/w%d", i);
    int64_t one = 1;
    int32_t v = i;
    FILE *f = fopen(path, "w");
    fwrite(&v, 4, 1, f);
    fclose(f);
    wire t = mb_tensor(name, SURG_INT32, &one, 1), e = {0};
    wire_str(&e, 1, "location");
    wire_str(&e, 2, name);
    wire_message(&t, 13, e);
    wire_int(&t, 14, 1);
    wire_message(&g, 5, t);
  }
  wire_message(&g, 12, mb_value("y", SURG_FLOAT, 2));
  surg_model *m = load_at("m/m.onnx", mb_model(g), SURG_OK);
  surg_value *v = NULL;
  surg_tensor *last = NULL;
  for (int i = 0; (v = surg_graph_next_initializer(surg_model_graph(m), v)); i++) {
    int64_t got = -1;
    last = surg_value_constant(v);
    ck_assert_int_eq(surg__read_ints(last, &got, 1), 1);
    ck_assert_int_eq(got, i);
  }
  /* Another file under the same name is not read. */
  char path[32];
  snprintf(path, sizeof path, "m/w%d", COUNT - 1);
  ck_assert_int_eq(rename("m/w.bin", path), 0);
  int32_t data;
  ck_assert_int_eq(surg_tensor_read(last, 0, &data, 4), SURG_EIO);
  surg_model_free(m);
}
END_TEST

/* A file of over 64 MiB, nearly all of it one weight: loading reads the rest only. */
START_TEST(weights_stay_in_large_files) {
  uint64_t weight = (uint64_t)96 << 20;
  int64_t n = (int64_t)(weight / 4);
  wire t = mb_tensor("w", SURG_FLOAT, &n, 1), g = {0}, head = {0}, tail = {0};
  wire_varint(&t, 9 << 3 | 2);
  wire_varint(&t, weight);
  wire_message(&g, 1, mb_node_in("d", "Use", "w", "y"));
  wire_message(&tail, 12, mb_value("y", SURG_FLOAT, 2));
  wire_varint(&g, 5 << 3 | 2);
  wire_varint(&g, t.n + weight);
  wire_int(&head, 1, 8);
  mb_import(&head, 8, "", 17);
  wire_varint(&head, 7 << 3 | 2);
  wire_varint(&head, g.n + t.n + weight + tail.n);
  int fd = open("m/m.onnx", O_WRONLY | O_CREAT, 0600);
  ck_assert_int_eq(write(fd, head.p, head.n), (ssize_t)head.n);
  ck_assert_int_eq(write(fd, g.p, g.n), (ssize_t)g.n);
  ck_assert_int_eq(write(fd, t.p, t.n), (ssize_t)t.n);
  off_t at = lseek(fd, 0, SEEK_CUR);
  ck_assert_int_eq(pwrite(fd, "\0\0\x80\x3f", 4, at + 4 * 1000000), 4);
  ck_assert_int_eq(pwrite(fd, tail.p, tail.n, at + (off_t)weight), (ssize_t)tail.n);
  close(fd);
  free(head.p), free(g.p), free(t.p), free(tail.p);
  surg_model *m = NULL;
  ck_assert_int_eq(surg_model_load(ctx, "m/m.onnx", NULL, &m), SURG_OK);
  uint64_t peak;
  surg_context_memory(ctx, &peak);
  ck_assert_uint_lt(peak, 1 << 20);
  surg_tensor *w = surg_value_constant(surg_graph_find_value(surg_model_graph(m), "w"));
  ck_assert_uint_eq(surg_tensor_bytes(w), weight);
  float v[3];
  ck_assert_int_eq(surg_tensor_read(w, 4 * 999999, v, sizeof v), SURG_OK);
  ck_assert(v[0] == 0 && v[1] == 1 && v[2] == 0);
  surg_model_free(m);
}
END_TEST

/* Weights of a size that each has a page of its own for its header: these pages are not kept, and
 * strings of attributes outlast them. `length`: of the string. */
static void load_small_weights(size_t length) {
  enum { COUNT = SURG__IMAGE_PAGES + 500, ELEMENTS = 8192 };
  const int64_t n = ELEMENTS;
  wire g = {0}, all = {0}, attr = {0}, node = mb_node_in("d", "Use", "w0", "y");
  char *text = calloc(length + 1, 1);
  memset(text, 'a', length);
  wire_str(&attr, 1, "s");
  wire_bytes(&attr, 4, text, length);
  wire_int(&attr, 20, 3);
  wire_message(&node, 5, attr);
  wire_message(&g, 1, node);
  float *elements = calloc(ELEMENTS, sizeof *elements);
  for (int i = 0; i < COUNT; i++) {
    char name[16];
    snprintf(name, sizeof name, "w%d", i);
    wire t = mb_tensor(name, SURG_FLOAT, &n, 1);
    wire_bytes(&t, 9, elements, ELEMENTS * sizeof *elements);
    wire_message(&g, 5, t);
  }
  wire_message(&g, 12, mb_value("y", SURG_FLOAT, 2));
  wire_int(&all, 1, 8);
  mb_import(&all, 8, "", 17);
  wire_message(&all, 7, g);
  surg_model *m = load_at("m/m.onnx", all, SURG_OK);
  free(elements);
  const surg_node *n0 = surg_graph_first_node(surg_model_graph(m));
  const surg_str s = surg_attr_string(surg_node_attr(n0, "s"));
  ck_assert_uint_eq(s.n, length);
  ck_assert_mem_eq(s.p, text, length);
  ck_assert(m->source->fixed || m->source->n_filled < SURG__IMAGE_AGAIN + 16);
  ck_assert(length <= SURG__PAGE || m->source->fixed);
  surg_graph_set_name(surg_model_graph(m), "renamed"); /* the graph is written field by field */
  const surg_save_options save = {.size = sizeof save, .no_fsync = true};
  ck_assert_int_eq(surg_model_save(m, "m/out.onnx", &save), SURG_OK);
  ck_assert(m->source->fixed || m->source->n_filled < SURG__IMAGE_AGAIN + 16);
  surg_model *again = NULL;
  ck_assert_int_eq(surg_model_load(ctx, "m/out.onnx", NULL, &again), SURG_OK);
  surg_value *w = surg_graph_find_value(surg_model_graph(again), "w2547");
  ck_assert_uint_eq(surg_tensor_bytes(surg_value_constant(w)), ELEMENTS * sizeof(float));
  surg_model_free(again);
  free(text);
  surg_model_free(m);
}

START_TEST(headers_of_small_weights_are_not_kept) {
  load_small_weights(100);
  load_small_weights(5000);
}
END_TEST

/* Computed data beyond SURG_LIMIT_OWNED_RESIDENT lies in a file, also for a clone. */
START_TEST(computed_data_spills) {
  surg_model *m = surg_model_new(ctx, 8, 17);
  uint64_t n = SURG_LIMIT_OWNED_RESIDENT;
  surg__blob *a = surg__blob_new(m, n), *b = surg__blob_new(m, 100), *c = surg__blob_new(m, n);
  ck_assert(a && a->p && b && !b->p && c && !c->p);
  ck_assert_int_eq(surg__blob_write(b, 10, "hello", 5), SURG_OK);
  ck_assert_int_eq(surg__blob_write(c, n - 3, "end", 3), SURG_OK);
  surg__blob_ref(b);
  surg_model_free(m); /* what is still referred to stays readable */
  char text[6] = "";
  ck_assert_int_eq(surg__blob_read(b, 10, text, 5), SURG_OK);
  ck_assert_str_eq(text, "hello");
  ck_assert_int_eq(surg__blob_read(b, 96, text, 5), SURG_EUSAGE);
  surg__blob_unref(b);
}
END_TEST

int main(void) {
  Suite *s = suite_create("load_data");
  TCase *t = tcase_create("memory"), *f = tcase_create("files");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, raw_sizes_are_exact);
  tcase_add_test(t, list_sizes_are_exact);
  tcase_add_test(t, entries_are_in_range);
  tcase_add_test(t, headers_are_checked);
  tcase_add_test(t, sparse_tensors_are_checked);
  tcase_add_test(t, computed_data_spills);
  tcase_set_timeout(f, 60);
  tcase_add_checked_fixture(f, enter, leave);
  tcase_add_test(f, external_ranges_are_checked);
  tcase_add_test(f, external_places_are_checked);
  tcase_add_test(f, external_roots_and_memory);
  tcase_add_test(f, caches_of_links_load);
  tcase_add_test(f, keys_of_external_data);
  tcase_add_test(f, many_data_files);
  tcase_add_test(f, weights_stay_in_large_files);
  tcase_add_test(f, headers_of_small_weights_are_not_kept);
  suite_add_tcase(s, t);
  suite_add_tcase(s, f);
  return run_tests(s);
}
