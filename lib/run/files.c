/* SPDX-License-Identifier: Apache-2.0 */
/* Reads values from files and from messages. */
#include <errno.h>

#include "base/context.h"
#include "base/diag.h"
#include "base/os/os.h"
#include "eval/core/message.h"
#include "run/run.h"

surg_status surg__file_read(surg_context *ctx, const char *path, uint8_t **bytes, size_t *n) {
  surg__stat st;
  int fd;
  int why = surg__os_open_read(-1, path, &fd);
  if (why) return surg__error(ctx, SURG_EIO, path, "cannot read: %s", strerror(why));
  why = surg__os_stat_fd(fd, &st);
  if (!why && st.regular && st.size >= SIZE_MAX) why = EFBIG;
  uint8_t *p = !why && st.regular ? surg__alloc(ctx, (size_t)st.size + 1) : NULL;
  if (p) why = surg__os_pread(fd, p, (size_t)st.size, 0);
  surg__os_close(fd);
  if (p && !why) {
    *bytes = p;
    *n = (size_t)st.size;
    return SURG_OK;
  }
  surg__free(ctx, p);
  if (why) return surg__error(ctx, SURG_EIO, path, "cannot read: %s", strerror(why));
  return st.regular ? surg__oom(ctx, path) : surg__error(ctx, SURG_EIO, path, "is not a file");
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

surg_status surg__value_load_as(surg_context *ctx, const char *path, const surg_type *type,
                                surg__array *out) {
  const surg_status s = surg__value_load(ctx, path, type, out);
  if (s == SURG_OK && out->dtype == SURG_UINT16 && surg_type_dtype(type) == SURG_BFLOAT16)
    out->dtype = SURG_BFLOAT16;
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
