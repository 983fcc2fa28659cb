/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: why the last call failed, plugins, rules and schemas from files, the passes that are
 * registered. Since 0.2. */
#ifndef ONNXSURG_CONTEXT_H
#define ONNXSURG_CONTEXT_H

#include <onnxsurg/pass.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most that surg_config.max_depth may be. */
#define SURG_DEPTH_MOST 4000u

/* The status of the error that surg_context_error returns; SURG_OK: there is none. */
SURG_EXPORT surg_status surg_context_error_status(const surg_context *ctx);
/* Whether an allocation failed since the last pass began: SURG_ENOMEM, or SURG_ELIMIT for
 * max_memory; else SURG_OK. Texts that were made since then may lack parts. */
SURG_EXPORT surg_status surg_context_memory_status(const surg_context *ctx);
/* Reports the failed allocation: "WHERE: error: out of memory", or the limit. Returns its status.
 */
SURG_EXPORT surg_status surg_context_report_memory(surg_context *ctx, const char *where);

/* As surg_context_load_rules, from a file of at most 16 MiB. SURG_EIO, reported: it cannot be read.
 */
SURG_EXPORT surg_status surg_context_load_rules_file(surg_context *ctx, const char *path);
/* Parses and checks all rules of a context; otherwise a built-in rule is read when a run needs it.
 * SURG_EINVALID, reported with file and line: a rule is invalid. SURG_ENOMEM. O(text of the rules)
 */
SURG_EXPORT surg_status surg_context_check_rules(surg_context *ctx);
/* As surg_context_load_schemas, from a file of at most 1 MiB. SURG_EIO, reported: it cannot be
 * read.
 */
SURG_EXPORT surg_status surg_context_load_schemas_file(surg_context *ctx, const char *path);
/* Writes a file, which is replaced at once or stays as it is. SURG_EIO, SURG_ENOMEM, reported.
 * O(n) */
SURG_EXPORT surg_status surg_file_write(surg_context *ctx, const char *path, const void *bytes,
                                        size_t n);
/* Loads a plugin (doc/plugin-abi.md) for the rest of the process and registers its passes; loading
 * it again does nothing. A path without '/' is relative to the working folder. SURG_EPLUGIN,
 * reported: no such file, no entry function, another ABI, a name that is in use, a failed init. */
SURG_EXPORT surg_status surg_context_load_plugin(surg_context *ctx, const char *path);

/* Whether all runs of the context have surg_run_options.isolate_plugins, those inside searches for
 * repairs too. Operators, decoders and `init` of plugins always run in this process. Off at first.
 */
SURG_EXPORT void surg_context_isolate_plugins(surg_context *ctx, bool on);

/* What code of a plugin the calling thread runs now: a `kind` ("pass", "operator", "init") with a
 * name. False: none. For messages about crashes; safe in signal handlers. The texts are those of
 * the plugin and last as long as the process. */
SURG_EXPORT bool surg_plugin_running(const char **plugin, const char **kind, const char **name);

/* Number of passes of a registry (surg_context_passes): the built-in ones, then those of plugins.
 */
SURG_EXPORT size_t surg_registry_pass_count(const surg_registry *r);
/* Pass i; NULL past the end. Borrowed from its plugin, or static. */
SURG_EXPORT const surg_pass *surg_registry_pass(const surg_registry *r, size_t i);
/* The pass of this name, or of this former name; NULL: there is none. */
SURG_EXPORT const surg_pass *surg_registry_find(const surg_registry *r, const char *name);
/* The name of the plugin that registered a pass; NULL: a built-in pass. Borrowed from the
 * plugin. */
SURG_EXPORT const char *surg_registry_plugin_of(const surg_registry *r, const surg_pass *pass);
/* Fills in preset i. SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_registry_preset(const surg_registry *r, size_t i, surg_preset *out);
/* Fills in the preset of that name. SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_registry_find_preset(const surg_registry *r, const char *name,
                                                  surg_preset *out);

#ifdef __cplusplus
}
#endif
#endif
