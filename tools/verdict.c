/* SPDX-License-Identifier: Apache-2.0 */
/* Prints verdicts on a model for an engine as text and JSON. */
#include "verdict.h"

#include <onnxsurg/names.h>
#include <string.h>

#include "consent.h"

#define SHOWN 5u /* most blocking objections printed */

/* --- finding --- */

/* The consent that the repair requires. None unless the repair makes the model supported and
 * needs consent for it. */
static repair_consent needed(const verdict *v) {
  const bool wanted = v->kind == SURG_ASSESS_CONSENT || v->kind == SURG_ASSESS_UNCERTAIN;
  const repair_consent used = {v->result.used, v->result.used_interface};
  return wanted ? used : (repair_consent){SURG_EXACT, false};
}

/* The exactness class of a repair that needs no consent: exact, ulp or rounding. */
static const char *repair_class(const verdict *v) {
  return surg_exactness_name(v->result.used);
}

static void spell(verdict *v) {
  char with[64];
  consent_spell(with, sizeof with, needed(v));
  snprintf(v->with, sizeof v->with, "%s%s%s",
           v->kind == SURG_ASSESS_REPAIR      ? repair_class(v)
           : v->kind == SURG_ASSESS_BLOCKED   ? "no"
           : v->kind == SURG_ASSESS_UNCERTAIN ? "unknown"
                                              : "",
           with[0] ? v->kind == SURG_ASSESS_UNCERTAIN ? ", with " : "with " : "", with);
}

void verdict_borrow(verdict *v, surg_assessment kind, const surg_repair *found) {
  *v = (verdict){.kind = kind, .found = found, .result.size = sizeof v->result};
  surg_repair_get(found, &v->result);
  spell(v);
}

surg_status verdict_find(verdict *v, const surg_target *t, const surg_model *m) {
  surg_assessment kind = SURG_ASSESS_BLOCKED;
  surg_repair *found = NULL;
  *v = (verdict){.result.size = sizeof v->result};
  const surg_status s = surg_repair_assess(m, t, &kind, &found);
  if (s != SURG_OK) return s;
  verdict_borrow(v, kind, found);
  v->own = found;
  return SURG_OK;
}

void verdict_free(verdict *v) {
  surg_repair_free(v->own);
  v->own = NULL;
  v->found = NULL;
}

surg_verdict verdict_with_data(const verdict *v) {
  return v->result.unsupported_before ? SURG_UNSUPPORTED
         : v->result.unknown_before   ? SURG_SUPPORT_UNKNOWN
                                      : SURG_SUPPORTED;
}

surg_verdict verdict_of(const verdict *v) {
  const surg_verdict with = verdict_with_data(v), data = (surg_verdict)v->result.data_verdict;
  return data > with ? data : with;
}

const char *verdict_repair(const verdict *v) {
  return v->with;
}

/* --- what blocks --- */

typedef struct blocking {
  json_t *list; /* NULL: print text */
  size_t all;
  int32_t of; /* surg_verdict of what is listed */
} blocking;

static void blocks(void *user, const surg_objection *o) {
  blocking *b = user;
  if (o->verdict != b->of || o->data) return;
  if (b->list)
    json_array_append_new(b->list, json_pack("{s:o,s:o}", "where", cli_text_json(o->where), "text",
                                             cli_text_json(o->text)));
  else if (b->all < SHOWN)
    printf("    %s: %s\n", o->where, o->text);
  b->all++;
}

/* --- the cut --- */

static void print_part(FILE *out, const verdict *v, const surg_cut *cut, surg_cut_part part,
                       const char *name) {
  char *text;
  if (surg_cut_pipeline(cut, part, &text) != SURG_OK) return;
  fprintf(out, "    onnxsurg --pass '%s' all.onnx %s.onnx\n", text, name);
  surg_context_free_bytes(surg_model_context(surg_repair_model(v->found)), text);
}

/* The repair of the middle part, if it needs one. */
static void print_core_repair(FILE *out, const surg_cut *cut, const char *target) {
  surg_exactness allow;
  bool with_interface;
  char with[64];
  if (!surg_cut_consent(cut, &allow, &with_interface)) return;
  consent_spell(with, sizeof with, (repair_consent){allow, with_interface});
  fprintf(out, "    onnxsurg repair --target %s %s%score.onnx repaired.onnx\n", target, with,
          with[0] ? " " : "");
}

static void print_cut(FILE *out, const verdict *v, const char *target, const char *in,
                      const surg_cut *cut) {
  const size_t before = surg_cut_nodes(cut, SURG_CUT_BEFORE),
               core = surg_cut_nodes(cut, SURG_CUT_CORE),
               behind = surg_cut_nodes(cut, SURG_CUT_BEHIND);
  char with[64], *text = NULL;
  if (!core || surg_cut_pipeline(cut, SURG_CUT_CORE, &text) != SURG_OK) {
    fprintf(out, "  cut: no part worth cutting out\n");
    return;
  }
  const bool repaired = surg_cut_consent(cut, NULL, NULL);
  bool supported = false;
  if (!repaired) surg_cut_supported(cut, &supported);
  consent_spell(with, sizeof with, (repair_consent){v->result.used, v->result.used_interface});
  fprintf(out, "  cut: a part of %zu of %zu nodes %s; %zu before it, %zu after it\n", core,
          before + core + behind,
          repaired    ? "is supported after a repair of its own"
          : supported ? "is supported"
                      : "may be supported (unknown)",
          before, behind);
  fprintf(out, "    onnxsurg repair --target %s %s%s--partial ", target, with, with[0] ? " " : "");
  cli_put(out, in);
  fprintf(out, " all.onnx\n");
  print_part(out, v, cut, SURG_CUT_BEFORE, "before");
  print_part(out, v, cut, SURG_CUT_CORE, "core");
  print_core_repair(out, cut, target);
  print_part(out, v, cut, SURG_CUT_BEHIND, "after");
  surg_context_free_bytes(surg_model_context(surg_repair_model(v->found)), text);
}

/* The cut with the larger core: one whose core is supported as it is, or one whose core needs a
 * repair. NULL: none. */
static surg_cut *best_cut(const verdict *v, const surg_target *t) {
  surg_cut *plain = NULL, *repaired = NULL;
  if (surg_cut_find(t, surg_repair_model(v->found), &plain) != SURG_OK) return NULL;
  const size_t least = surg_cut_nodes(plain, SURG_CUT_CORE);
  if (surg_cut_find_repaired(t, surg_repair_model(v->found), least, &repaired) != SURG_OK)
    return plain;
  surg_cut_free(plain);
  return repaired;
}

static json_t *names_json(const surg_cut *c, surg_cut_part part, bool outputs) {
  json_t *j = json_array();
  const surg_value *v;
  for (size_t i = 0; (v = surg_cut_value(c, part, outputs, i)); i++)
    json_array_append_new(j, cli_text_json(surg_value_name(v)));
  return j;
}

static json_t *cut_json(const surg_cut *c) {
  return json_pack(
      "{s:I,s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:b}", "before",
      (json_int_t)surg_cut_nodes(c, SURG_CUT_BEFORE), "core",
      (json_int_t)surg_cut_nodes(c, SURG_CUT_CORE), "behind",
      (json_int_t)surg_cut_nodes(c, SURG_CUT_BEHIND), "before_to",
      names_json(c, SURG_CUT_BEFORE, true), "core_from", names_json(c, SURG_CUT_CORE, false),
      "core_to", names_json(c, SURG_CUT_CORE, true), "behind_from",
      names_json(c, SURG_CUT_BEHIND, false), "behind_to", names_json(c, SURG_CUT_BEHIND, true),
      "repair_core", surg_cut_consent(c, NULL, NULL));
}

void verdict_print_cut(FILE *out, const verdict *v, const surg_target *t, const char *target,
                       const char *in) {
  surg_cut *cut = best_cut(v, t);
  if (cut) print_cut(out, v, target, in, cut);
  surg_cut_free(cut);
}

json_t *verdict_cut_json(const verdict *v, const surg_target *t) {
  surg_cut *cut = best_cut(v, t);
  json_t *j = cut ? cut_json(cut) : NULL;
  surg_cut_free(cut);
  return j;
}

/* --- printing --- */

void verdict_print(const verdict *v, const surg_target *t, const char *target, const char *in) {
  static const char *const lines[] = {
      [SURG_ASSESS_SUPPORTED] = "supported",
      [SURG_ASSESS_UNKNOWN] = "support unknown",
      [SURG_ASSESS_REPAIR] = "unsupported; supported after a repair of class ",
      [SURG_ASSESS_CONSENT] = "unsupported; supported after a repair",
      [SURG_ASSESS_UNCERTAIN] = "unsupported; a repair cures this, then support is unknown",
      [SURG_ASSESS_BLOCKED] = "unsupported, and no repair is known"};
  _Static_assert(CLI_COUNT(lines) == SURG_ASSESS_BLOCKED + 1, "a line for each assessment");
  char with[64];
  consent_spell(with, sizeof with, needed(v));
  /* For a version between those that are known, what is cured may have been unknown. */
  const bool doubt = v->kind == SURG_ASSESS_REPAIR && !v->result.unsupported_before;
  printf("  verdict%s: %s%s%s\n", v->result.data ? " with its data" : "",
         doubt ? "support unknown; supported after a repair of class " : lines[v->kind],
         v->kind == SURG_ASSESS_CONSENT ? " with " : "",
         v->kind == SURG_ASSESS_CONSENT  ? with
         : v->kind == SURG_ASSESS_REPAIR ? repair_class(v)
                                         : "");
  if (v->kind >= SURG_ASSESS_REPAIR && v->kind < SURG_ASSESS_BLOCKED) {
    printf("    onnxsurg repair --target %s %s%s", target, with, with[0] ? " " : "");
    cli_put(stdout, in);
    printf(" OUT\n");
  }
  if (v->kind != SURG_ASSESS_BLOCKED) return;
  blocking b = {.of = SURG_UNSUPPORTED};
  printf("  unsupported%s:\n", v->result.pipeline[0] ? " after all repairs that help" : "");
  surg_model *m = surg_repair_model(v->found);
  if (surg_target_judge(t, m, blocks, &b, NULL) == SURG_OK && b.all > SHOWN)
    printf("    and %zu more\n", b.all - SHOWN);
  verdict_print_cut(stdout, v, t, target, in);
}

json_t *verdict_json(const verdict *v, const surg_target *t) {
  static const char *const repairs[] = {
      [SURG_ASSESS_SUPPORTED] = "none due", [SURG_ASSESS_UNKNOWN] = "none due",
      [SURG_ASSESS_REPAIR] = "exact",       [SURG_ASSESS_CONSENT] = "consent",
      [SURG_ASSESS_UNCERTAIN] = "unknown",  [SURG_ASSESS_BLOCKED] = "none known"};
  _Static_assert(CLI_COUNT(repairs) == SURG_ASSESS_BLOCKED + 1, "a word for each assessment");
  char with[64];
  consent_spell(with, sizeof with, needed(v));
  json_t *j =
      json_pack("{s:s,s:s,s:s,s:s,s:o,s:I,s:I,s:I}", "name", surg_target_name(t), "verdict",
                surg_verdict_name(verdict_of(v)), "repair",
                v->kind == SURG_ASSESS_REPAIR ? repair_class(v) : repairs[v->kind], "consent", with,
                "pipeline", cli_text_json(v->result.pipeline), "refused",
                (json_int_t)v->result.unsupported_before, "unknown",
                (json_int_t)v->result.unknown_before, "remain", (json_int_t)v->result.unsupported);
  if (v->result.data)
    json_object_set_new(j, "verdict_with_data",
                        json_string(surg_verdict_name(verdict_with_data(v))));
  const bool open = v->kind == SURG_ASSESS_UNKNOWN || v->kind == SURG_ASSESS_UNCERTAIN;
  if (v->kind != SURG_ASSESS_BLOCKED && !open) return j;
  blocking b = {.list = json_array(), .of = open ? SURG_SUPPORT_UNKNOWN : SURG_UNSUPPORTED};
  surg_target_judge(t, surg_repair_model(v->found), blocks, &b, NULL);
  json_object_set_new(j, open ? "open" : "blocks", b.list);
  if (open) return j;
  json_t *cut = verdict_cut_json(v, t);
  if (cut) json_object_set_new(j, "cut", cut);
  return j;
}
