/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin registers apart from passes: presets and their extensions, rules, schemas,
 * operators, targets, messages. */
#include <onnxsurg/explain.h>
#include <onnxsurg/target.h>

#include "base/taught.h"
#include "pass/internal.h"
#include "schema/custom.h"

/* Reports why something of this name cannot be registered. */
static surg_status refuse(surg_registry *r, const char *what, const char *name, const char *fault) {
  r->refused = true;
  if (fault == surg__opt_nomem) return surg__oom(r->ctx, r->path);
  return surg__error(r->ctx, SURG_EPLUGIN, r->path, "cannot register %s %s: %s", what,
                     surg__q(r->ctx, name ? name : "?"), fault);
}

/* The status of a failed registration whose reason is reported already. */
static surg_status passed_on(surg_registry *r, surg_status s) {
  if (s == SURG_OK) return s;
  r->refused = true;
  return s == SURG_ENOMEM || s == SURG_ELIMIT ? s : SURG_EPLUGIN;
}

/* --- presets --- */

surg_status surg_registry_add_preset(surg_registry *r, const surg_preset *preset) {
  surg_preset p;
  if (!r) return SURG_EUSAGE;
  if (!preset || preset->size < sizeof p)
    return refuse(r, "preset", NULL, "its struct is too small");
  surg__struct_in(&p, sizeof p, preset);
  if (!p.name || !surg__name_valid(p.name))
    return refuse(r, "preset", p.name, "it has no valid name");
  if (!p.pipeline || !p.help) return refuse(r, "preset", p.name, "it has no pipeline or no help");
  if (surg__name_taken(r, p.name)) return refuse(r, "preset", p.name, "the name is in use");
  if (!surg__vec_reserve(r->ctx, &r->owned_presets, r->owned_presets.count + 1) ||
      !surg__vec_reserve(r->ctx, &r->presets, r->presets.count + 1))
    return refuse(r, "preset", p.name, surg__opt_nomem);
  surg__preset *own = surg__calloc(r->ctx, 1, sizeof *own);
  if (!own) return refuse(r, "preset", p.name, surg__opt_nomem);
  *own = (surg__preset){p.name, p.pipeline, p.help};
  r->owned_presets.items[r->owned_presets.count++] = own;
  r->presets.items[r->presets.count++] = own;
  return SURG_OK;
}

bool surg__preset_owned(const surg_registry *r, const surg__preset *preset) {
  for (size_t i = 0; i < r->owned_presets.count; i++)
    if (r->owned_presets.items[i] == preset) return true;
  return false;
}

static bool preset_exists(const surg_registry *r, const char *name) {
  for (size_t i = 0; i < r->presets.count; i++)
    if (strcmp(r->presets.items[i]->name, name) == 0) return true;
  return false;
}

/* Parses "first", "last", "before PASS", "after PASS"; false: it is none. */
static bool parse_point(const char *point, surg__extension *e) {
  static const char before[] = "before ", after[] = "after ";
  e->pass = NULL;
  if (strcmp(point, "first") == 0) {
    e->at = SURG__AT_FIRST;
  } else if (strcmp(point, "last") == 0) {
    e->at = SURG__AT_LAST;
  } else if (strncmp(point, before, sizeof before - 1) == 0) {
    e->at = SURG__AT_BEFORE;
    e->pass = point + sizeof before - 1;
  } else if (strncmp(point, after, sizeof after - 1) == 0) {
    e->at = SURG__AT_AFTER;
    e->pass = point + sizeof after - 1;
  } else {
    return false;
  }
  return true;
}

surg_status surg_registry_extend(surg_registry *r, const char *preset, const char *point,
                                 const char *pipeline) {
  surg__extension e = {.preset = preset, .pipeline = pipeline};
  if (!r) return SURG_EUSAGE;
  if (preset && !preset_exists(r, preset))
    return refuse(r, "an extension of", preset, "there is no such preset");
  if (!point || !pipeline || !parse_point(point, &e))
    return refuse(
        r, "an extension at", point,
        "expected \"first\", \"last\", \"before PASS\" or \"after PASS\", and a pipeline");
  if (e.pass && !surg__pass_find(r, e.pass))
    return refuse(r, "an extension at", point, "there is no such pass");
  if (e.pass) e.pass = surg__pass_find(r, e.pass)->name;
  if (!surg__vec_push(r->ctx, &r->extensions, e))
    return refuse(r, "an extension at", point, surg__opt_nomem);
  return SURG_OK;
}

/* --- texts --- */

surg_status surg_registry_add_rules(surg_registry *r, const char *text, size_t n,
                                    const char *name) {
  if (!r) return SURG_EUSAGE;
  return passed_on(r, surg_context_load_rules(r->ctx, text, n, name));
}

surg_status surg_registry_add_schemas(surg_registry *r, const char *text, size_t n,
                                      const char *name) {
  if (!r) return SURG_EUSAGE;
  return passed_on(r, surg_context_load_schemas(r->ctx, text, n, name));
}

static bool builtin_target(const char *name) {
  for (size_t i = 0; i < surg_target_count(); i++)
    if (strcmp(surg_target_name_at(i), name) == 0) return true;
  return false;
}

surg_status surg_registry_add_target(surg_registry *r, const char *text, size_t n,
                                     const char *name) {
  surg_target *t = NULL;
  if (!r) return SURG_EUSAGE;
  if (!text || !name) return refuse(r, "target", name, "it has no text or no name");
  surg_status s = surg_target_parse(r->ctx, text, n, name, &t);
  if (s != SURG_OK) return passed_on(r, s);
  const char *own = surg_target_name(t);
  if (builtin_target(own) || surg__taught_target(r->ctx, own))
    s = refuse(r, "target", own, "the name is in use");
  else
    s = passed_on(r, surg__taught_target_add(r->ctx, own, text, n));
  surg_target_free(t);
  return s;
}

surg_status surg_registry_add_messages(surg_registry *r, const char *text, size_t n,
                                       const char *name) {
  if (!r) return SURG_EUSAGE;
  if (!text || !name) return refuse(r, "messages", name, "they have no text or no name");
  surg_messages *all = NULL;
  const surg__lesson before = surg__lesson_begin(r);
  surg_status s = surg__taught_messages_add(r->ctx, name, text, n);
  if (s == SURG_OK) s = surg_messages_new(r->ctx, NULL, &all); /* reads and checks them */
  surg_messages_free(all);
  if (s != SURG_OK) surg__lesson_undo(r, &before);
  return passed_on(r, s);
}

/* --- operators --- */

/* Size of the struct of version 0.9. */
#define OPERATOR_SIZE (offsetof(surg_operator, evaluate) + sizeof(void (*)(void)))

static const char *operator_fault(const surg_registry *r, const surg_operator *o) {
  if (!o->domain || !*o->domain) return "it has no domain";
  if (!o->infer && !o->evaluate) return "it has neither a shape function nor a kernel";
  if (o->traits & ~(SURG_TRAIT_NONDETERMINISTIC | SURG_TRAIT_TOTAL))
    return "its traits are not known";
  if (o->exactness < SURG_EXACT || o->exactness > SURG_LOSSY) return "its exactness is not known";
  if (surg_schema_find(o->domain, o->op_type, surg_schema_newest(o->domain)))
    return "it is a built-in operator";
  if (!surg__custom_find(r->ctx, o->domain, o->op_type))
    return "it has no schema; call surg_registry_add_schemas before";
  return surg__taught_find(r->ctx, o->domain, o->op_type) ? "it is registered already" : NULL;
}

surg_status surg_registry_add_operator(surg_registry *r, const surg_operator *op) {
  surg__taught_operator one = {0};
  if (!r) return SURG_EUSAGE;
  if (!op || op->size < OPERATOR_SIZE)
    return refuse(r, "operator", NULL, "its struct is too small");
  surg__struct_in(&one.op, sizeof one.op, op);
  one.op.size = sizeof one.op;
  one.plugin = r->origin;
  if (!one.op.op_type || !*one.op.op_type) return refuse(r, "operator", NULL, "it has no name");
  const char *fault = operator_fault(r, &one.op);
  struct surg__taught *t = fault ? NULL : surg__taught(r->ctx);
  if (!fault && (!t || !surg__vec_push(r->ctx, &t->operators, one))) fault = surg__opt_nomem;
  return fault ? refuse(r, "operator", one.op.op_type, fault) : SURG_OK;
}

/* --- decoders --- */

/* Size of the struct of version 0.9. */
#define DECODER_SIZE (offsetof(surg_decoder, decode) + sizeof(void (*)(void)))

surg_status surg_registry_add_decoder(surg_registry *r, const surg_decoder *decoder) {
  surg__taught_decoder one = {0};
  if (!r) return SURG_EUSAGE;
  if (!decoder || decoder->size < DECODER_SIZE)
    return refuse(r, "decoder", NULL, "its struct is too small");
  surg__struct_in(&one.decoder, sizeof one.decoder, decoder);
  one.decoder.size = sizeof one.decoder;
  one.plugin = r->origin;
  const char *format = one.decoder.format, *fault = NULL;
  if (!format || !*format) return refuse(r, "decoder", NULL, "it has no format");
  if (!one.decoder.decode) fault = "it has no function";
  if (!fault && surg__taught_decoder_of(r->ctx, format, strlen(format)))
    fault = "the format has a decoder";
  struct surg__taught *t = fault ? NULL : surg__taught(r->ctx);
  if (!fault && (!t || !surg__vec_push(r->ctx, &t->decoders, one))) fault = surg__opt_nomem;
  return fault ? refuse(r, "decoder", format, fault) : SURG_OK;
}

/* --- taking back --- */

/* Removes rules so that at most `keep` remain; returns their number. */
static size_t rules_cut(surg_context *ctx, size_t keep) {
  return ctx->rules ? ctx->rules_cut(ctx->rules, keep) : 0;
}

surg__lesson surg__lesson_begin(const surg_registry *r) {
  const struct surg__taught *t = r->ctx->taught;
  return (surg__lesson){.passes = r->passes.count,
                        .presets = r->presets.count,
                        .owned_presets = r->owned_presets.count,
                        .extensions = r->extensions.count,
                        .operators = t ? t->operators.count : 0,
                        .targets = t ? t->targets.count : 0,
                        .messages = t ? t->messages.count : 0,
                        .decoders = t ? t->decoders.count : 0,
                        .rules = rules_cut(r->ctx, SIZE_MAX),
                        .schemas = surg__customs_count(r->ctx)};
}

void surg__lesson_undo(surg_registry *r, const surg__lesson *before) {
  for (size_t i = before->passes; i < r->passes.count; i++)
    surg__free(r->ctx, r->passes.items[i].copy);
  for (size_t i = before->owned_presets; i < r->owned_presets.count; i++)
    surg__free(r->ctx, r->owned_presets.items[i]);
  r->passes.count = before->passes;
  r->presets.count = before->presets;
  r->owned_presets.count = before->owned_presets;
  r->extensions.count = before->extensions;
  surg__taught_cut(r->ctx, before->operators, before->targets, before->messages,
                   before->decoders);
  rules_cut(r->ctx, before->rules);
  surg__customs_cut(r->ctx, before->schemas);
}
