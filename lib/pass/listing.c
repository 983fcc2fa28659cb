/* SPDX-License-Identifier: Apache-2.0 */
/* What a context knows and loads, in the public API (onnxsurg/context.h). */
#include <onnxsurg/context.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/file.h"
#include "pass/pass.h"

_Static_assert(SURG_DEPTH_MOST == SURG_LIMIT_DEPTH_MOST, "the public limit is the internal one");

surg_status surg_context_error_status(const surg_context *ctx) {
  return ctx && ctx->error ? ctx->error_status : SURG_OK;
}

surg_status surg_context_memory_status(const surg_context *ctx) {
  return ctx ? ctx->alloc_status : SURG_ENOMEM;
}

surg_status surg_context_report_memory(surg_context *ctx, const char *where) {
  return ctx ? surg__oom(ctx, where) : SURG_ENOMEM;
}

typedef surg_status (*load_fn)(surg_context *ctx, const char *text, size_t n, const char *name);

static surg_status load_file(surg_context *ctx, const char *path, size_t most, load_fn fn) {
  char *text;
  size_t n;
  if (!ctx || !path) return SURG_EUSAGE;
  surg_status s = surg__read_text(ctx, path, most, &text, &n);
  if (s == SURG_OK) {
    s = fn(ctx, text, n, path);
    free(text);
  }
  return s;
}

surg_status surg_context_load_rules_file(surg_context *ctx, const char *path) {
  return load_file(ctx, path, SURG_LIMIT_RULES_BYTES, surg_context_load_rules);
}

surg_status surg_context_load_schemas_file(surg_context *ctx, const char *path) {
  return load_file(ctx, path, SURG_LIMIT_SCHEMA_BYTES, surg_context_load_schemas);
}

surg_status surg_context_load_plugin(surg_context *ctx, const char *path) {
  if (!ctx || !path) return SURG_EUSAGE;
  if (!surg_context_passes(ctx)) return surg__oom(ctx, path);
  return surg__plugin_load(ctx, path);
}

size_t surg_registry_pass_count(const surg_registry *r) {
  return surg__pass_count(r);
}

const surg_pass *surg_registry_pass(const surg_registry *r, size_t i) {
  return surg__pass_at(r, i);
}

const surg_pass *surg_registry_find(const surg_registry *r, const char *name) {
  return r && name ? surg__pass_find(r, name) : NULL;
}

const char *surg_registry_plugin_of(const surg_registry *r, const surg_pass *pass) {
  return surg__pass_origin(r, pass);
}

surg_status surg_registry_preset(const surg_registry *r, size_t i, surg_preset *out) {
  if (!r || !out) return SURG_EUSAGE;
  const surg__preset *p = surg__preset_at(r, i);
  if (!p) return SURG_ENOTFOUND;
  const surg_preset all = {
      .size = sizeof all, .name = p->name, .pipeline = p->pipeline, .help = p->help};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

surg_status surg_registry_find_preset(const surg_registry *r, const char *name, surg_preset *out) {
  if (!r || !name || !out) return SURG_EUSAGE;
  for (size_t i = 0; i < surg__preset_count(r); i++)
    if (strcmp(surg__preset_at(r, i)->name, name) == 0) return surg_registry_preset(r, i, out);
  return SURG_ENOTFOUND;
}
