/* SPDX-License-Identifier: Apache-2.0 */
/* Converts values to and from those of ONNX Runtime. */
#include <stdio.h>

#include "base/context.h"
#include "base/dtype.h"
#include "run/ort.h"

surg_status surg__ort_status(surg__ort *o, void *status, char *why) {
  if (!status) return SURG_OK;
  const int code = SURG__ORT(o->api, GetErrorCode)(status);
  if (why) {
    snprintf(why, SURG__ORT_WHY, "%s", SURG__ORT(o->api, GetErrorMessage)(status));
    /* It may contain names from the model, which are untrusted, and line breaks. */
    for (char *c = why; *c; c++)
      if (*c < ' ' || *c > '~') *c = *c == '\n' || *c == '\t' ? ' ' : '?';
  }
  SURG__ORT(o->api, ReleaseStatus)(status);
  return code == SURG__ORT_NOT_IMPLEMENTED ? SURG_EUNSUPPORTED : SURG_EINVALID;
}

/* The runtime numbers its newest element types differently from ONNX. */
static const struct {
  int dtype, type;
} younger[] = {{SURG_UINT2, 24}, {SURG_INT2, 25}, {SURG_FLOAT8E8M0, 26}};

static int type_of(int dtype) {
  for (size_t i = 0; i < SURG_COUNT(younger); i++)
    if (younger[i].dtype == dtype) return younger[i].type;
  return dtype;
}

static int dtype_of(int type) {
  for (size_t i = 0; i < SURG_COUNT(younger); i++)
    if (younger[i].type == type) return younger[i].dtype;
  return type > 0 && type < 24 ? type : SURG_UNDEFINED;
}

/* --- to the runtime --- */

static surg_status refuse(char *why, const char *text) {
  snprintf(why, SURG__ORT_WHY, "%s", text);
  return SURG_EUNSUPPORTED;
}

static surg_status give_strings(surg__ort *o, const surg__array *a, void *value, char *why) {
  const surg_str *s = a->data;
  size_t size = 0, pointers;
  for (uint64_t i = 0; i < a->count; i++) {
    if (s[i].n && memchr(s[i].p, 0, s[i].n))
      return refuse(why, "cannot be given a string with a zero byte");
    if (!surg__add(size, s[i].n + 1, &size)) return SURG_ELIMIT;
  }
  if (!surg__mul((size_t)a->count, sizeof(char *), &pointers) ||
      !surg__add(size, pointers, &size))
    return SURG_ELIMIT;
  const char **list = surg__alloc(o->ctx, size ? size : 1);
  if (!list) return surg__alloc_status(o->ctx);
  char *text = (char *)list + pointers;
  for (uint64_t i = 0; i < a->count; i++) {
    list[i] = text;
    if (s[i].n) memcpy(text, s[i].p, s[i].n);
    text += s[i].n;
    *text++ = 0;
  }
  const surg_status status = surg__ort_status(
      o, SURG__ORT(o->api, FillStringTensor)(value, list, (size_t)a->count), why);
  surg__free(o->ctx, list);
  return status;
}

/* ONNX Runtime has the byte order of the machine, and packs elements below a byte as files do. */
static void to_runtime(const surg__array *a, void *data) {
  if (surg__dtype_bits(a->dtype) < 8)
    surg__pack(a->dtype, a->count, a->data, data);
  else
    memcpy(data, a->data, (size_t)a->count * surg__dtype_unpacked(a->dtype));
}

static void from_runtime(const void *data, surg__array *a) {
  if (surg__dtype_bits(a->dtype) < 8)
    surg__unpack(a->dtype, a->count, data, a->data);
  else
    memcpy(a->data, data, (size_t)a->count * surg__dtype_unpacked(a->dtype));
}

static surg_status give_tensor(surg__ort *o, const surg__array *a, void **value, char *why) {
  void *made = NULL, *data = NULL;
  surg_status s = surg__ort_status(o,
                                   SURG__ORT(o->api, CreateTensorAsOrtValue)(
                                       o->allocator, a->dims, a->rank, type_of(a->dtype), &made),
                                   why);
  if (s != SURG_OK) return s;
  if (a->count == 0) {
    *value = made;
    return SURG_OK;
  }
  if (a->dtype == SURG_STRING) {
    s = give_strings(o, a, made, why);
  } else {
    s = surg__ort_status(o, SURG__ORT(o->api, GetTensorMutableData)(made, &data), why);
    if (s == SURG_OK) to_runtime(a, data);
  }
  if (s == SURG_OK)
    *value = made;
  else
    SURG__ORT(o->api, ReleaseValue)(made);
  return s;
}

/* Converts sequences of tensors or maps, and maps; deeper nesting is not supported. */
static surg_status give_list(surg__ort *o, const surg__array *a, void **value, char *why) {
  const surg__array *items = surg__list_of(a)->items;
  const int kind = a->dtype == SURG__V_MAP ? SURG__ORT_MAP : SURG__ORT_SEQUENCE;
  void **made = surg__calloc(o->ctx, (size_t)a->count + 1, sizeof *made);
  if (!made) return surg__alloc_status(o->ctx);
  surg_status s = SURG_OK;
  size_t n = 0;
  while (s == SURG_OK && n < a->count) {
    if (items[n].dtype == SURG__V_SEQUENCE || items[n].dtype == SURG__V_OPTIONAL)
      s = refuse(why, "does not support sequences of sequences");
    else
      s = surg__ort_give(o, &items[n], &made[n], why);
    n += s == SURG_OK;
  }
  if (s == SURG_OK)
    s = surg__ort_status(o,
                         SURG__ORT(o->api, CreateValue)((const void *const *)made,
                                                        (size_t)a->count, kind, value),
                         why);
  /* The runtime copies the items, so these are released here. */
  for (size_t i = 0; i < n; i++) SURG__ORT(o->api, ReleaseValue)(made[i]);
  surg__free(o->ctx, made);
  return s;
}

surg_status surg__ort_give(surg__ort *o, const surg__array *a, void **value, char *why) {
  if (a->dtype == SURG__V_OPTIONAL) {
    if (a->count == 0) return refuse(why, "cannot be given an optional without value");
    return surg__ort_give(o, &surg__list_of(a)->items[0], value, why);
  }
  if (surg__array_is_list(a)) return give_list(o, a, value, why);
  return give_tensor(o, a, value, why);
}

/* --- from the runtime --- */

static surg_status take_strings(surg__ort *o, const void *value, surg__array *a, char *why) {
  size_t size = 0, n = (size_t)a->count;
  surg_status s =
      surg__ort_status(o, SURG__ORT(o->api, GetStringTensorDataLength)(value, &size), why);
  if (s != SURG_OK) return s;
  char *text = surg__alloc(o->ctx, size + 1);
  size_t *at = surg__calloc(o->ctx, n + 1, sizeof *at);
  s = text && at ? SURG_OK : surg__alloc_status(o->ctx);
  if (s == SURG_OK)
    s = surg__ort_status(
        o, SURG__ORT(o->api, GetStringTensorContent)(value, text, size, at, n), why);
  if (s == SURG_OK) {
    at[n] = size;
    for (size_t i = 0; i < n; i++)
      ((surg_str *)a->data)[i] = (surg_str){text + at[i], at[i + 1] - at[i]};
    s = surg__array_settle(o->ctx, a);
  }
  surg__free(o->ctx, at);
  surg__free(o->ctx, text);
  return s;
}

/* Reads type and shape of a tensor into an array without elements. */
static surg_status take_shape(surg__ort *o, const void *value, surg__array *a, char *why) {
  void *info = NULL;
  int type = 0;
  size_t rank = 0;
  int64_t dims[SURG_LIMIT_RANK];
  surg_status s =
      surg__ort_status(o, SURG__ORT(o->api, GetTensorTypeAndShape)(value, &info), why);
  if (s != SURG_OK) return s;
  s = surg__ort_status(o, SURG__ORT(o->api, GetTensorElementType)(info, &type), why);
  if (s == SURG_OK)
    s = surg__ort_status(o, SURG__ORT(o->api, GetDimensionsCount)(info, &rank), why);
  if (s == SURG_OK && rank > SURG_LIMIT_RANK) s = refuse(why, "a result has too many dims");
  if (s == SURG_OK)
    s = surg__ort_status(o, SURG__ORT(o->api, GetDimensions)(info, dims, rank), why);
  SURG__ORT(o->api, ReleaseTensorTypeAndShapeInfo)(info);
  if (s == SURG_OK && !dtype_of(type)) s = refuse(why, "a result has an unknown element type");
  return s == SURG_OK ? surg__array_make(o->ctx, dtype_of(type), dims, (uint32_t)rank, a) : s;
}

static surg_status take_tensor(surg__ort *o, const void *value, surg__array *a, char *why) {
  surg_status s = take_shape(o, value, a, why);
  if (s != SURG_OK) return s;
  void *data = NULL;
  if (a->dtype == SURG_STRING) {
    s = take_strings(o, value, a, why);
  } else if (a->count > 0) {
    s = surg__ort_status(
        o, SURG__ORT(o->api, GetTensorMutableData)((void *)(uintptr_t)value, &data), why);
    if (s == SURG_OK) from_runtime(data, a);
  }
  if (s != SURG_OK) surg__array_drop(a);
  return s;
}

static surg_status take_list(surg__ort *o, const void *value, int kind, surg__array *a,
                             char *why) {
  size_t n = 0;
  surg_status s = surg__ort_status(o, SURG__ORT(o->api, GetValueCount)(value, &n), why);
  if (s == SURG_OK && n > INT32_MAX) s = refuse(why, "a result has too many items");
  if (s == SURG_OK)
    s = surg__list_make(o->ctx, kind == SURG__ORT_MAP ? SURG__V_MAP : SURG__V_SEQUENCE,
                        (surg__content){0}, n, a);
  if (s != SURG_OK) return s;
  for (size_t i = 0; s == SURG_OK && i < n; i++) {
    void *item = NULL;
    s = surg__ort_status(
        o, SURG__ORT(o->api, GetValue)(value, (int)i, o->allocator, &item), why);
    if (s == SURG_OK) s = surg__ort_take(o, item, &surg__list_of(a)->items[i], why);
    if (item) SURG__ORT(o->api, ReleaseValue)(item);
  }
  if (s == SURG_OK && n > 0)
    surg__list_of(a)->elem = surg__content_of(&surg__list_of(a)->items[n - 1]);
  if (s != SURG_OK) surg__array_drop(a);
  return s;
}

surg_status surg__ort_take(surg__ort *o, const void *value, surg__array *a, char *why) {
  int has = 0, kind = 0;
  *a = (surg__array){.dtype = SURG_UNDEFINED};
  if (!value) return SURG_OK;
  surg_status s = surg__ort_status(o, SURG__ORT(o->api, HasValue)(value, &has), why);
  if (s != SURG_OK || !has) return s;
  s = surg__ort_status(o, SURG__ORT(o->api, GetValueType)(value, &kind), why);
  if (s != SURG_OK) return s;
  switch (kind) {
    case SURG__ORT_TENSOR:
      return take_tensor(o, value, a, why);
    case SURG__ORT_SEQUENCE:
    case SURG__ORT_MAP:
      return take_list(o, value, kind, a, why);
    default:
      return refuse(why, "a result is of a kind that is not read here");
  }
}
