/* SPDX-License-Identifier: Apache-2.0 */
#include "outlook.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "quiet.h"
#include "repair/repair.h"

/* --- trying --- */

typedef struct tally {
  size_t errors, warnings;
} tally;

static void count_one(void *user, const surg__finding *f) {
  tally *t = user;
  const surg_severity s = surg__check_severity(f->code);
  t->errors += s == SURG_ERROR;
  t->warnings += s == SURG_WARNING;
}

/* Counts inputs and outputs without a type or rank, which only the loader reports. */
static void count_bare(const surg_type *t, tally *out) {
  const bool tensor = t && surg_type_get_kind(t) == SURG_TYPE_TENSOR;
  out->errors += !t || (tensor && !surg_type_has_rank(t));
}

static bool is_bare(const char *code) {
  return !strcmp(code, "E108") || !strcmp(code, "E130");
}

/* Counts the findings that the model has now: those of the checker, and those of the loader that
 * are not fixed. */
static surg_status count(surg_model *m, tally *t) {
  const surg_graph *g = surg_model_graph(m);
  *t = (tally){0};
  for (size_t i = 0; i < surg_model_finding_count(m); i++) {
    surg_finding f = {.size = sizeof f};
    if (surg_model_finding(m, i, &f) && !f.cured && !is_bare(f.code))
      count_one(t, &(surg__finding){.code = f.code});
  }
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    count_bare(surg_value_declared_type(surg_graph_input(g, i)), t);
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    count_bare(surg_graph_output_type(g, i), t);
  return surg__check_model(m, true, SIZE_MAX, count_one, t);
}

static bool is_better(const tally *a, const tally *b) {
  return a->errors != b->errors ? a->errors < b->errors : a->warnings < b->warnings;
}

/* Runs `mend` on a copy. If fewer findings remain than in *best, updates *best and the outlook. */
static surg_status try_mend(surg_context *ctx, const surg_model *m, repair_consent given,
                            outlook *o, tally *best) {
  const surg__consent most = {given.most, given.interface};
  surg__consent used = SURG__NO_CONSENT;
  tally now;
  surg_model *copy = surg_model_clone(m);
  if (!copy) return SURG_ENOMEM;
  const uint64_t epoch = surg_model_epoch(copy);
  surg_status s = surg__repair_run(ctx, &copy, given.interface ? "mend{interface}" : "mend", most,
                                   false, &used);
  if (s == SURG_OK && surg_model_epoch(copy) == epoch) s = SURG_EUNSUPPORTED;
  if (s == SURG_OK) s = count(copy, &now);
  if (copy) surg_model_free(copy);
  surg_context_clear_error(ctx);
  if (s != SURG_OK || !is_better(&now, best)) return s == SURG_ENOMEM ? s : SURG_OK;
  o->errors = now.errors;
  o->warnings += best->warnings - now.warnings;
  *best = now;
  o->needed = (repair_consent){used.most, given.interface};
  o->kind = now.errors ? OUTLOOK_SOME : OUTLOOK_ALL;
  return SURG_OK;
}

static surg_status load(surg_context *ctx, const cli_common *common, const findings *f,
                        const char *path, surg_model **m) {
  surg_load_options options = common->load;
  options.policy = SURG_LOAD_LENIENT;
  return f->bytes ? surg_model_load_memory(ctx, f->bytes, f->n_bytes, f->name, &options, m)
                  : surg_model_load(ctx, path, &options, m);
}

surg_status outlook_find(outlook *o, const cli_common *common, const findings *f, const char *path,
                         size_t errors) {
  static const repair_consent all[] = {
      {SURG_EXACT, false}, {SURG_APPROX, false}, {SURG_EXACT, true}, {SURG_APPROX, true}};
  /* A partially loaded model is mostly unchecked: any result that can be written is better. */
  tally best = {f->partial ? SIZE_MAX : errors, SIZE_MAX};
  surg_model *m = NULL;
  *o = (outlook){0};
  surg_context *ctx = quiet_context(common);
  if (!ctx) return SURG_ENOMEM;
  surg_status s = load(ctx, common, f, path, &m);
  if (s == SURG_OK && !errors) s = count(m, &best);
  for (size_t i = 0;
       s == SURG_OK && i < CLI_COUNT(all) && (errors ? best.errors : !all[i].interface); i++)
    s = try_mend(ctx, m, all[i], o, &best);
  if (!errors && o->kind == OUTLOOK_ALL) o->kind = OUTLOOK_SOME;
  if (m) surg_model_free(m);
  surg_context_free(ctx);
  return s == SURG_ENOMEM ? quiet_tell(NULL, s) : SURG_OK;
}

/* --- printing --- */

static void put_command(cli_text *b, const outlook *o, const char *path) {
  cli_text_puts(b, "onnxsurg mend ");
  if (o->needed.most > SURG_ROUNDING) cli_text_puts(b, "--allow approx ");
  if (o->needed.interface) cli_text_puts(b, "--interface ");
  char *name = cli_escaped(path, 0);
  cli_text_puts(b, name ? name : "IN");
  free(name);
  cli_text_puts(b, " OUT");
}

void outlook_put(cli_text *b, const outlook *o, const char *path) {
  if (o->kind == OUTLOOK_NONE) return;
  put_command(b, o, path);
  if (o->kind == OUTLOOK_ALL)
    cli_text_puts(b, " cures all errors");
  else if (o->errors)
    cli_text_printf(b, " makes the model writable; %zu error%s remain%s", o->errors,
                    o->errors == 1 ? "" : "s", o->errors == 1 ? "s" : "");
  else
    cli_text_printf(b, " cures %zu warning%s", o->warnings, o->warnings == 1 ? "" : "s");
}

json_t *outlook_json(const outlook *o) {
  static const char *const kinds[] = {
      [OUTLOOK_NONE] = "none", [OUTLOOK_SOME] = "some", [OUTLOOK_ALL] = "all"};
  _Static_assert(CLI_COUNT(kinds) == OUTLOOK_ALL + 1, "a word for each kind");
  char with[64];
  consent_spell(with, sizeof with, o->needed);
  return json_pack("{s:s,s:s,s:I}", "cures", kinds[o->kind], "consent", with, "remain",
                   (json_int_t)o->errors);
}
