/* SPDX-License-Identifier: Apache-2.0 */
/* For plugins: include this file, call the functions of api.def as if they were linked, and end
 * the file with SURG_PLUGIN_ENTRY. See doc/plugin-abi.md. */
#ifndef ONNXSURG_PLUGIN_H
#define ONNXSURG_PLUGIN_H

#define SURG_PLUGIN
#include <onnxsurg/onnxsurg.h>

/* The function table; set before the init function of the plugin is called. */
static const surg_api *surg_plugin_api;

#if defined(__GNUC__)
#define SURG_PLUGIN_UNUSED __attribute__((unused))
#else
#define SURG_PLUGIN_UNUSED
#endif

#define SURG_FN(slot, ret, name, params, args)                \
  static inline SURG_PLUGIN_UNUSED ret name params {          \
    return ((ret(*) params)surg_plugin_api->slots[slot])args; \
  }
#define SURG_PROC(slot, name, params, args)              \
  static inline SURG_PLUGIN_UNUSED void name params {    \
    ((void(*) params)surg_plugin_api->slots[slot]) args; \
  }
#include <onnxsurg/api.def>
#undef SURG_FN
#undef SURG_PROC

/* The description that the exported function of a plugin, surg_plugin, returns. */
typedef struct surg_plugin_info {
  uint32_t size;
  uint16_t abi_major, abi_minor;
  const char *name, *version;
  /* Registers what the plugin teaches. A result other than SURG_OK ends the run. */
  surg_status (*init)(const surg_api *api, surg_registry *registry);
  /* What the plugin was compiled with: the declarations (SURG_ABI_SOURCE), and the sizes and
   * offsets of the public structs (SURG_ABI_LAYOUT). Until version 1.0 both must be those of the
   * program. */
  uint64_t source;
  const uint32_t *layout;
  size_t layout_count;
} surg_plugin_info;

#ifdef __cplusplus
#define SURG_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define SURG_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

/* Defines the exported function of a plugin. `init_fn` gets the registry and registers passes. */
#define SURG_PLUGIN_ENTRY(plugin_name, plugin_version, init_fn)                        \
  static surg_status surg_plugin_init(const surg_api *api, surg_registry *registry) {  \
    if (surg_plugin_api != api) surg_plugin_api = api; /* other threads may read it */ \
    return init_fn(registry);                                                          \
  }                                                                                    \
  SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void);                        \
  SURG_PLUGIN_EXPORT const surg_plugin_info *surg_plugin(void) {                       \
    static const uint32_t layout[] = {SURG_ABI_LAYOUT};                                \
    static const surg_plugin_info info = {sizeof(surg_plugin_info),                    \
                                          SURG_ABI_MAJOR,                              \
                                          SURG_ABI_MINOR,                              \
                                          plugin_name,                                 \
                                          plugin_version,                              \
                                          surg_plugin_init,                            \
                                          SURG_ABI_SOURCE,                             \
                                          layout,                                      \
                                          sizeof layout / sizeof *layout};             \
    return &info;                                                                      \
  }

#endif
