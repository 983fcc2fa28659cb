/* SPDX-License-Identifier: Apache-2.0 */
/* Values from files and as messages. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/diag.h"
#include "eval/message.h"
#include "run/run.h"

static surg_status failed(surg_context *ctx, const char *path, int why) {
  return surg__error(ctx, SURG_EIO, path, "cannot read: %s", strerror(why));
}

surg_status surg__file_read(surg_context *ctx, const char *path, uint8_t **bytes, size_t *n) {
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
  *bytes = p;
  *n = size;
  return SURG_OK;
}

surg_status surg__value_load(surg_context *ctx, const char *path, const surg_type *type,
                             surg__array *out) {
  uint8_t *bytes = NULL;
  size_t n = 0;
  surg_status s = surg__file_read(ctx, path, &bytes, &n);
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
