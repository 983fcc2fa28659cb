/* SPDX-License-Identifier: Apache-2.0 */
/* The public API of onnxsurg. api.def lists and documents the functions. */
#ifndef ONNXSURG_ONNXSURG_H
#define ONNXSURG_ONNXSURG_H

#include <onnxsurg/ops.h>
#include <onnxsurg/pass.h>
#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef SURG_PLUGIN
#define SURG_FN(ret, name, params, args) SURG_EXPORT ret name params;
#define SURG_PROC(name, params, args) SURG_EXPORT void name params;
#include <onnxsurg/api.def>
#undef SURG_FN
#undef SURG_PROC
#endif

/* The function table that a plugin receives, in the order of api.def. The table only grows at its
 * end; `size` is the size of the table that the program has. */
typedef struct surg_api {
  uint32_t size;
  uint16_t abi_major, abi_minor;
#define SURG_FN(ret, name, params, args) ret(*name) params;
#define SURG_PROC(name, params, args) void(*name) params;
#include <onnxsurg/api.def>
#undef SURG_FN
#undef SURG_PROC
} surg_api;

#ifdef __cplusplus
}
#endif
#endif
