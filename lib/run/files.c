/* SPDX-License-Identifier: Apache-2.0 */
/* Values from files and as messages. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/diag.h"
#include "base/dtype.h"
#include "eval/message.h"
#include "run/run.h"

static surg_status failed(surg_context *ctx, const char *path, int why) {
  return surg__error(ctx, SURG_EIO, path, "cannot read: %s", strerror(why));
}

/* The whole file in memory of the context. */
static surg_status read_all(surg_context *ctx, const char *path, uint8_t **out, size_t *n) {
  struct stat st;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed(ctx, path, errno);
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    close(fd);
    return surg__error(ctx, SURG_EIO, path, "is no file");
  }
  const size_t size = (size_t)st.st_size;
  uint8_t *p = surg__alloc(ctx, size + 1);
  size_t at = 0;
  int why = 0;
  while (p && at < size) {
    const ssize_t got = read(fd, p + at, size - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      why = got ? errno : EIO;
      break;
    }
    at += (size_t)got;
  }
  close(fd);
  if (!p) return surg__oom(ctx, path);
  if (why) {
    surg__free(ctx, p);
    return failed(ctx, path, why);
  }
  *out = p;
  *n = size;
  return SURG_OK;
}

surg_status surg__value_load(surg_context *ctx, const char *path, const surg_type *type,
                             surg__array *out) {
  uint8_t *bytes = NULL;
  size_t n = 0;
  surg_status s = read_all(ctx, path, &bytes, &n);
  if (s != SURG_OK) return s;
  if (n >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0)
    s = surg__npy_read(ctx, path, bytes, n, out);
  else
    s = surg__value_from_message(ctx, path, bytes, n, type, out);
  surg__free(ctx, bytes);
  return s;
}

surg_tensor *surg_tensor_load(surg_model *m, const char *path) {
  surg__array a = {0};
  surg_context *ctx = surg_model_context(m);
  if (!m || !path || surg_model_status(m) != SURG_OK) return NULL;
  surg_tensor *t = NULL;
  if (surg__value_load(ctx, path, NULL, &a) == SURG_OK) t = surg__array_to_tensor(m, &a);
  surg__array_drop(&a);
  return t;
}

/* --- TensorProto --- */

static void varint(surg__buf *b, uint64_t v) {
  for (; v > 0x7f; v >>= 7) surg__buf_putc(b, (char)((v & 0x7f) | 0x80));
  surg__buf_putc(b, (char)v);
}

static void bytes_field(surg__buf *b, uint32_t number, const void *p, size_t n) {
  varint(b, (uint64_t)number << 3 | 2);
  varint(b, n);
  surg__buf_put(b, p, n);
}

surg_status surg__tensor_message(const surg__array *a, const char *name, surg__buf *b) {
  uint64_t stored = 0;
  if (surg__array_is_list(a) || a->dtype == SURG_UNDEFINED) return SURG_EUNSUPPORTED;
  for (uint32_t i = 0; i < a->rank; i++) {
    varint(b, 1u << 3);
    varint(b, (uint64_t)a->dims[i]);
  }
  varint(b, 2u << 3);
  varint(b, (uint64_t)a->dtype);
  if (a->dtype == SURG_STRING) {
    const surg_str *s = a->data;
    for (uint64_t i = 0; i < a->count; i++) bytes_field(b, 6, s[i].p, s[i].n);
    bytes_field(b, 8, name, strlen(name));
    return b->failed ? SURG_ENOMEM : SURG_OK;
  }
  bytes_field(b, 8, name, strlen(name));
  if (!surg__dtype_bytes(a->dtype, a->count, &stored)) return SURG_EUNSUPPORTED;
  void *raw = surg__alloc(b->ctx, stored ? (size_t)stored : 1);
  if (!raw) return SURG_ENOMEM;
  surg__pack(a->dtype, a->count, a->data, raw);
  bytes_field(b, 9, raw, (size_t)stored);
  surg__free(b->ctx, raw);
  return b->failed ? SURG_ENOMEM : SURG_OK;
}
