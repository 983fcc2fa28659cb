/* SPDX-License-Identifier: Apache-2.0 */
/* The public API of onnxsurg. api.def lists and documents the functions. */
#ifndef ONNXSURG_ONNXSURG_H
#define ONNXSURG_ONNXSURG_H

#include <onnxsurg/abi.h>
#include <onnxsurg/ops.h>
#include <onnxsurg/pass.h>
#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef SURG_PLUGIN
#define SURG_FN(slot, ret, name, params, args) SURG_EXPORT ret name params;
#define SURG_PROC(slot, name, params, args) SURG_EXPORT void name params;
#include <onnxsurg/api.def>
#undef SURG_FN
#undef SURG_PROC
#endif

/* A function of the table, to be cast to its type in api.def. */
typedef void (*surg_function_ptr)(void);

/* The function table that a plugin receives. A function of api.def is at its slot. The table only
 * grows; `size` is the size of the table that the program has. */
typedef struct surg_api {
  uint32_t size;
  uint16_t abi_major, abi_minor;
  surg_function_ptr slots[SURG_API_SLOTS];
} surg_api;

#ifdef __cplusplus
}
#endif
#endif
