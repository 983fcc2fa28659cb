/* SPDX-License-Identifier: Apache-2.0 */
/* The part of ONNX Runtime's C API that is used here. The library returns a table of functions
 * that is only ever extended at its end, so each function is identified by its slot; handles are
 * opaque. Functions with a result of type void * return a status unless noted otherwise, NULL on
 * success. */
#ifndef SURG_ORT_API_H
#define SURG_ORT_API_H

#include <stddef.h>
#include <stdint.h>

/* Versions of the table: 1.10 was the first with all slots below; a library of version 1.N
 * supports the tables up to N. */
#define SURG__ORT_OLDEST 10u
#define SURG__ORT_NEWEST 30u

typedef void (*surg__ort_slot)(void);
typedef struct surg__ort_base {
  const surg__ort_slot *(*get_api)(uint32_t version); /* NULL: too new for the library */
  const char *(*version)(void);
} surg__ort_base;

/* X(slot, result, name, parameters) */
#define SURG__ORT_SLOTS(X)                                                                       \
  X(1, int, GetErrorCode, (const void *status))                                                  \
  X(2, const char *, GetErrorMessage, (const void *status))                                      \
  X(3, void *, CreateEnv, (int level, const char *id, void **env))                               \
  X(6, void *, DisableTelemetryEvents, (const void *env))                                        \
  X(7, void *, CreateSession, (void *env, const char *path, const void *options, void **session)) \
  X(8, void *, CreateSessionFromArray,                                                           \
    (void *env, const void *bytes, size_t n, const void *options, void **session))               \
  X(9, void *, Run,                                                                              \
    (void *session, const void *options, const char *const *input_names,                         \
     const void *const *inputs, size_t n_in, const char *const *output_names, size_t n_out,      \
     void **outputs))                                                                            \
  X(10, void *, CreateSessionOptions, (void **options))                                          \
  X(23, void *, SetSessionGraphOptimizationLevel, (void *options, int level))                    \
  X(24, void *, SetIntraOpNumThreads, (void *options, int n))                                    \
  X(25, void *, SetInterOpNumThreads, (void *options, int n))                                    \
  X(48, void *, CreateTensorAsOrtValue,                                                          \
    (void *allocator, const int64_t *dims, size_t rank, int type, void **value))                 \
  X(51, void *, GetTensorMutableData, (void *value, void **data))                                \
  X(52, void *, FillStringTensor, (void *value, const char *const *text, size_t n))              \
  X(53, void *, GetStringTensorDataLength, (const void *value, size_t *n))                       \
  X(54, void *, GetStringTensorContent,                                                          \
    (const void *value, void *text, size_t n, size_t *offsets, size_t n_offsets))                \
  X(60, void *, GetTensorElementType, (const void *info, int *type))                             \
  X(61, void *, GetDimensionsCount, (const void *info, size_t *rank))                            \
  X(62, void *, GetDimensions, (const void *info, int64_t *dims, size_t rank))                   \
  X(65, void *, GetTensorTypeAndShape, (const void *value, void **info))                         \
  X(67, void *, GetValueType, (const void *value, int *kind))                                    \
  X(78, void *, GetAllocatorWithDefaultOptions, (void **allocator))                              \
  X(80, void *, GetValue, (const void *value, int i, void *allocator, void **item))              \
  X(81, void *, GetValueCount, (const void *value, size_t *n))                                   \
  X(82, void *, CreateValue, (const void *const *items, size_t n, int kind, void **value))       \
  X(92, void, ReleaseEnv, (void *env))                                                           \
  X(93, void, ReleaseStatus, (void *status))                                                     \
  X(95, void, ReleaseSession, (void *session))                                                   \
  X(96, void, ReleaseValue, (void *value))                                                       \
  X(99, void, ReleaseTensorTypeAndShapeInfo, (void *info))                                       \
  X(100, void, ReleaseSessionOptions, (void *options))                                           \
  X(192, void *, HasValue, (const void *value, int *has))

#define X(slot, result, name, parameters)            \
  typedef result(*surg__ort_fn_##name) parameters;   \
  enum { SURG__ORT_SLOT_##name = slot };
SURG__ORT_SLOTS(X)
#undef X

/* SURG__ORT(api, CreateEnv)(level, id, &env) */
#define SURG__ORT(api, name) ((surg__ort_fn_##name)(api)[SURG__ORT_SLOT_##name])

enum { /* kinds of values */
  SURG__ORT_TENSOR = 1,
  SURG__ORT_SEQUENCE = 2,
  SURG__ORT_MAP = 3
};
enum { /* status codes with a special treatment */
  SURG__ORT_NOT_IMPLEMENTED = 9
};

#endif
