/* SPDX-License-Identifier: Apache-2.0 */
/* Loads plugins. The description that a plugin gives of itself is validated first; a rejected
 * plugin leaves no pass registered. Plugins are never unloaded, so that their strings and functions
 * stay valid for the life of the process. */
#include <onnxsurg/context.h>
#include <stdlib.h>

#include "base/calling.h"
#include "base/os/os.h"
#include "base/os/dl.h"

#include "pass/internal.h"

/* The same layout as in <onnxsurg/plugin.h>, which only plugins include. */
typedef struct plugin_info {
  uint32_t size;
  uint16_t abi_major, abi_minor;
  const char *name, *version;
  surg_status (*init)(const surg_api *api, surg_registry *registry);
  uint64_t source;
  const uint32_t *layout;
  size_t layout_count;
} plugin_info;

/* The layout of the public structs, as in plugin.h. */
static const uint32_t own_layout[] = {SURG_ABI_LAYOUT};
static const struct {
  size_t at; /* index of its size in the layout */
  const char *name;
} own_structs[] = {SURG_ABI_STRUCTS};

#define LAYOUT_MOST 4096u /* entries of a layout that a plugin may give */

typedef const plugin_info *(*entry_fn)(void);

static surg_status refuse(surg_context *ctx, const char *path, const char *why) {
  return surg__error(ctx, SURG_EPLUGIN, path, "cannot load plugin: %s", why);
}

/* Reports the text of dlerror(), escaped, without the path at its start. */
static surg_status refuse_dl(surg_context *ctx, const char *path, const char *file) {
  const char *why = surg__os_dl_error();
  size_t n = strlen(file);
  if (!why) why = "unknown error";
  if (strncmp(why, file, n) == 0 && strncmp(why + n, ": ", 2) == 0) why += n + 2;
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__buf_escape(&b, why, strlen(why), 400);
  surg_status s = refuse(ctx, path, b.failed || !b.p ? "out of memory" : b.p);
  surg__buf_free(&b);
  return s;
}

static surg_status check_file(surg_context *ctx, const char *path) {
  surg__stat st;
  int e = surg__os_stat(path, &st); /* dlopen would block on a FIFO */
  if (e) return refuse(ctx, path, strerror(e));
  return st.regular ? SURG_OK : refuse(ctx, path, "not a regular file");
}

/* A number for declarations and layout together (FNV-1a). */
static uint64_t fingerprint(uint64_t source, const uint32_t *layout, size_t count) {
  uint64_t h = source;
  for (size_t i = 0; i < count; i++) h = (h ^ layout[i]) * UINT64_C(0x100000001b3);
  return h;
}

/* The first struct whose layout differs from that of the program, or NULL. */
static const char *differing(const plugin_info *info) {
  const char *name = NULL;
  if (info->layout_count != SURG_COUNT(own_layout)) return NULL;
  for (size_t i = 0, k = 0; i < SURG_COUNT(own_layout); i++) {
    if (k < SURG_COUNT(own_structs) && own_structs[k].at == i) name = own_structs[k++].name;
    if (info->layout[i] != own_layout[i]) return name;
  }
  return NULL;
}

/* Until version 1.0 a plugin must have been compiled with the declarations of the program. */
static surg_status check_fingerprint(surg_context *ctx, const char *path, const plugin_info *info) {
  if (!info->layout || info->layout_count > LAYOUT_MOST)
    return refuse(ctx, path, "its description has no layout of structs");
  const uint64_t own = fingerprint(SURG_ABI_SOURCE, own_layout, SURG_COUNT(own_layout));
  const uint64_t its = fingerprint(info->source, info->layout, info->layout_count);
  if (SURG_ABI_MAJOR > 0 || its == own) return SURG_OK;
  const char *name = differing(info);
  return surg__error(
      ctx, SURG_EPLUGIN, path,
      "cannot load plugin: built with headers of plugin interface %u.%u, fingerprint %016llx%s%s; "
      "this program has %u.%u, fingerprint %016llx; rebuild the plugin with the headers of this "
      "program",
      info->abi_major, info->abi_minor, (unsigned long long)its,
      name ? ", with another layout of struct " : "", name ? name : "", SURG_ABI_MAJOR,
      SURG_ABI_MINOR, (unsigned long long)own);
}

static surg_status check_info(surg_context *ctx, const char *path, const plugin_info *info) {
  if (!info) return refuse(ctx, path, "surg_plugin() returned nothing");
  if (info->size < offsetof(plugin_info, name))
    return refuse(ctx, path, "its description is too small");
  /* Major version 0 guarantees nothing between minor versions. */
  if (info->abi_major != SURG_ABI_MAJOR || info->abi_minor > SURG_ABI_MINOR ||
      (SURG_ABI_MAJOR == 0 && info->abi_minor != SURG_ABI_MINOR))
    return surg__error(
        ctx, SURG_EPLUGIN, path,
        "cannot load plugin: built with headers of plugin interface %u.%u; this program has "
        "%u.%u; %s",
        info->abi_major, info->abi_minor, SURG_ABI_MAJOR, SURG_ABI_MINOR,
        info->abi_major > SURG_ABI_MAJOR ||
                (info->abi_major == SURG_ABI_MAJOR && info->abi_minor > SURG_ABI_MINOR)
            ? "the plugin needs a newer onnxsurg"
            : "rebuild the plugin with the headers of this program");
  if (info->size < sizeof *info) return refuse(ctx, path, "its description is too small");
  const surg_status s = check_fingerprint(ctx, path, info);
  if (s) return s;
  if (!info->name || !*info->name || !info->version)
    return refuse(ctx, path, "it has no name or no version");
  return info->init ? SURG_OK : refuse(ctx, path, "it has no init function");
}

static surg_status run_init(surg_registry *r, const char *path, const plugin_info *info) {
  const surg__lesson before = surg__lesson_begin(r);
  r->origin = info->name;
  r->path = path;
  r->refused = false;
  r->ctx->alloc_status = SURG_OK;
  const surg__calling outer = surg__calling_begin(info->name, "init", "");
  /* One init at a time in the process: it writes to variables of the plugin. */
  surg__os_lock();
  surg_status s = info->init(surg__api(), r);
  surg__os_unlock();
  surg__calling_end(outer);
  bool refused = r->refused;
  r->origin = r->path = NULL;
  r->refused = false;
  if (!s && !refused) return SURG_OK;
  surg__lesson_undo(r, &before);
  const surg_status why = r->ctx->alloc_status != SURG_OK ? r->ctx->alloc_status : SURG_EPLUGIN;
  if (refused) return why; /* already reported by surg_registry_add_pass */
  return surg__error(r->ctx, why, path, "cannot load plugin: its init failed (%s)",
                     surg_status_name(s));
}

static surg_status load(surg_registry *r, const char *path, const char *file) {
  surg_context *ctx = r->ctx;
  surg_status s = check_file(ctx, path);
  if (s) return s;
  void *handle = surg__os_dl_open(file);
  if (!handle) return refuse_dl(ctx, path, file);
  for (size_t i = 0; i < r->plugins.count; i++)
    if (r->plugins.items[i].handle == handle) return SURG_OK; /* loaded before */
  entry_fn entry;
  void *symbol = surg__os_dl_symbol(handle, "surg_plugin");
  if (!symbol) return refuse(ctx, path, "it has no function surg_plugin");
  memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from data to function pointers */
  const plugin_info *info = entry();
  s = check_info(ctx, path, info);
  if (s) return s;
  if (!surg__vec_reserve(ctx, &r->plugins, r->plugins.count + 1)) return surg__oom(ctx, path);
  s = run_init(r, path, info);
  if (s) return s;
  r->plugins.items[r->plugins.count++] = (surg__plugin){handle, info->name};
  return SURG_OK;
}

void surg_context_isolate_plugins(surg_context *ctx, bool on) {
  if (ctx) ctx->isolate_plugins = on;
}

bool surg_plugin_running(const char **plugin, const char **kind, const char **name) {
  const surg__calling now = surg__calling_now();
  if (!now.plugin) return false;
  if (plugin) *plugin = now.plugin;
  if (kind) *kind = now.kind;
  if (name) *name = now.name;
  return true;
}

surg_status surg__plugin_load(surg_context *ctx, const char *path) {
  assert(ctx && path);
  surg_registry *r = surg__registry(ctx);
  if (!r) return surg__oom(ctx, path);
  if (surg__os_base_name(path) != path) return load(r, path, path);
  /* Without a slash dlopen would search the system's library folders. */
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__buf_printf(&b, "./%s", path);
  surg_status s = b.failed ? surg__oom(ctx, path) : load(r, path, b.p);
  surg__buf_free(&b);
  return s;
}
