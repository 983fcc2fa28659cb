/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of passes and presets. Built-in passes and those of plugins are registered by the
 * same function under the same rules. */
#include "pass/internal.h"

static void registry_free(surg_context *ctx, surg_registry *r) {
  for (size_t i = 0; i < r->passes.count; i++) surg__free(ctx, r->passes.items[i].copy);
  for (size_t i = 0; i < r->owned_presets.count; i++) surg__free(ctx, r->owned_presets.items[i]);
  surg__vec_free(ctx, &r->owned_presets);
  surg__vec_free(ctx, &r->extensions);
  surg__vec_free(ctx, &r->passes);
  surg__vec_free(ctx, &r->presets);
  surg__vec_free(ctx, &r->plugins);
  surg__free(ctx, r);
}

surg_registry *surg__registry(surg_context *ctx) {
  if (!ctx) return NULL;
  if (ctx->registry) return ctx->registry;
  surg_registry *r = surg__calloc(ctx, 1, sizeof *r);
  if (!r) return NULL;
  r->ctx = ctx;
  ctx->registry = r;
  ctx->registry_free = registry_free;
  return r;
}

size_t surg__pass_count(const surg_registry *r) {
  return r ? r->passes.count : 0;
}

const surg_pass *surg__pass_at(const surg_registry *r, size_t i) {
  return r && i < r->passes.count ? r->passes.items[i].pass : NULL;
}

static const surg_pass *named(const surg_registry *r, const char *name) {
  for (size_t i = 0; r && i < r->passes.count; i++)
    if (strcmp(r->passes.items[i].pass->name, name) == 0) return r->passes.items[i].pass;
  return NULL;
}

const surg_pass *surg__pass_find(const surg_registry *r, const char *name) {
  const surg_pass *p = named(r, name); /* current names first: a plugin may reuse a former name of a
                                        * built-in pass */
  for (size_t i = 0; !p && r && i < r->n_former; i++)
    if (strcmp(r->former[i].former, name) == 0) p = named(r, r->former[i].name);
  return p;
}

void surg__register_former(surg_registry *r, const surg__former *table, size_t count) {
  r->former = table;
  r->n_former = count;
}

const char *surg__pass_origin(const surg_registry *r, const surg_pass *pass) {
  for (size_t i = 0; r && i < r->passes.count; i++)
    if (r->passes.items[i].pass == pass) return r->passes.items[i].origin;
  return NULL;
}

size_t surg__preset_count(const surg_registry *r) {
  return r ? r->presets.count : 0;
}

const surg__preset *surg__preset_at(const surg_registry *r, size_t i) {
  return r && i < r->presets.count ? r->presets.items[i] : NULL;
}

bool surg__name_taken(const surg_registry *r, const char *name) {
  if (strcmp(name, "repeat") == 0 || strcmp(name, "guard") == 0 || strcmp(name, "allow") == 0 ||
      named(r, name))
    return true;
  for (size_t i = 0; i < r->presets.count; i++)
    if (strcmp(r->presets.items[i]->name, name) == 0) return true;
  return false;
}

/* The fault of one option of a pass, or NULL. */
static const char *option_fault(surg_registry *r, const surg_pass *pass, size_t i) {
  const surg_option *o = &pass->options[i];
  if (!o->name || !surg__name_valid(o->name)) return "an option has no valid name";
  if (!o->help) return "an option has no help";
  if ((unsigned)o->kind > SURG_OPTION_PAIRS) return "an option is of no known kind";
  for (size_t k = 0; k < i; k++)
    if (strcmp(pass->options[k].name, o->name) == 0) return "two options have the same name";
  for (size_t k = 0; k < i && o->kind == SURG_OPTION_PAIRS; k++)
    if (pass->options[k].kind == o->kind) return "two of its options are of kind pairs";
  if (o->kind == SURG_OPTION_PAIRS)
    return o->fallback ? "the default of an option does not fit its kind" : NULL;
  surg__arena arena;
  surg__optval value;
  surg__arena_init(&arena, r->ctx);
  const char *fault = surg__option_fallback(&arena, o, &value);
  surg__arena_free(&arena);
  if (fault == surg__opt_nomem) return fault;
  return fault ? "the default of an option does not fit its kind" : NULL;
}

static const char *pass_fault(surg_registry *r, const surg_pass *pass) {
  if (!pass->name || !surg__name_valid(pass->name)) return "it has no valid name";
  if (!pass->help) return "it has no help";
  if (!pass->run) return "it has no run function";
  if ((unsigned)pass->scope > SURG_SCOPE_GRAPH) return "its scope is not known";
  if ((unsigned)pass->exactness > SURG_LOSSY) return "its exactness is not known";
  if (((pass->needs & ~SURG_TAKES_DEFECTS) | pass->keeps) & ~(SURG_FACT_SORTED | SURG_FACT_TYPES))
    return "it names facts that are not known";
  for (size_t i = 0; i < pass->option_count; i++) {
    const char *fault = option_fault(r, pass, i);
    if (fault) return fault;
  }
  return NULL;
}

static surg_status refuse(surg_registry *r, const surg_pass *pass, bool named, const char *fault) {
  r->refused = true;
  if (fault == surg__opt_nomem) return surg__oom(r->ctx, r->path);
  return surg__error(r->ctx, SURG_EPLUGIN, r->path, "cannot register pass %s: %s",
                     surg__q(r->ctx, named ? pass->name : "?"), fault);
}

/* Sizes of the structs of version 0.9, the smallest that are accepted. */
#define PASS_SIZE (offsetof(surg_pass, user) + sizeof(void *))
#define OPTION_SIZE (offsetof(surg_option, help) + sizeof(const char *))

/* The fault of the sizes of a pass and its options, or NULL. */
static const char *size_fault(const surg_pass *pass) {
  if (pass->size < PASS_SIZE) return "its struct is too small";
  if (pass->option_count && !pass->options) return "it counts options and lists none";
  const char *at = (const char *)pass->options;
  for (size_t i = 0; i < pass->option_count; i++) {
    const surg_option *o = (const surg_option *)(const void *)at;
    if (o->size < OPTION_SIZE) return "the struct of an option is too small";
    if (o->size != pass->options->size) return "its options are of different sizes";
    at += o->size;
  }
  return NULL;
}

/* The pass and its options with the sizes that this library has, for a plugin that was compiled
 * with other headers. One heap block; NULL: out of memory. */
static surg_pass *adapt(surg_registry *r, const surg_pass *pass) {
  size_t n;
  if (!surg__mul(pass->option_count, sizeof(surg_option), &n) || !surg__add(n, sizeof *pass, &n))
    return NULL;
  surg_pass *copy = surg__alloc(r->ctx, n);
  if (!copy) return NULL;
  surg__struct_in(copy, sizeof *copy, pass);
  surg_option *options = (surg_option *)(void *)(copy + 1);
  for (size_t i = 0; i < pass->option_count; i++)
    surg__struct_in(&options[i], sizeof *options,
                    (const char *)pass->options + i * pass->options->size);
  copy->size = sizeof *copy;
  copy->options = options;
  return copy;
}

static bool same_sizes(const surg_pass *pass) {
  return pass->size == sizeof *pass &&
         (!pass->option_count || pass->options->size == sizeof *pass->options);
}

surg_status surg_registry_add_pass(surg_registry *r, const surg_pass *pass) {
  if (!r) return SURG_EUSAGE;
  if (!pass) return refuse(r, pass, false, "there is no struct");
  const char *fault = size_fault(pass);
  if (fault) return refuse(r, pass, false, fault);
  surg__entry e = {pass, r->origin, same_sizes(pass) ? NULL : adapt(r, pass)};
  if (!same_sizes(pass) && !e.copy) return refuse(r, pass, false, surg__opt_nomem);
  if (e.copy) e.pass = e.copy;
  fault = pass_fault(r, e.pass);
  if (!fault && surg__name_taken(r, e.pass->name)) fault = "the name is in use";
  if (!fault && !surg__vec_push(r->ctx, &r->passes, e)) fault = surg__opt_nomem;
  if (!fault) return SURG_OK;
  const surg_status s = refuse(r, e.pass, e.pass->name != NULL, fault);
  surg__free(r->ctx, e.copy);
  return s;
}

surg_status surg__register_preset(surg_registry *r, const surg__preset *preset) {
  if (!r || !preset) return SURG_EUSAGE;
  assert(preset->name && preset->pipeline && preset->help && surg__name_valid(preset->name));
  assert(!surg__name_taken(r, preset->name));
  if (!surg__vec_push(r->ctx, &r->presets, preset)) return surg__oom(r->ctx, NULL);
  return SURG_OK;
}
