/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg repair --target T IN OUT`: finds the passes after which an engine supports the model
 * (repair.h), runs them, and prints the pipeline, which can be run again with --pass. */
#include <onnxsurg/info.h>
#include <onnxsurg/names.h>
#include <onnxsurg/repair.h>
#include <onnxsurg/run.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_target.h"
#include "consent.h"
#include "explain.h"
#include "fleet.h"
#include "quiet.h"
#include "verdict.h"

#define SHOWN 20u /* most remaining objections that are printed */
#define SAID 300u /* most bytes printed of an importer's message */

static const char help[] =
    "usage: onnxsurg repair --target T [options] IN OUT\n"
    "       onnxsurg repair --target T [options] --out-dir DIR IN...\n"
    "       onnxsurg repair [options] IN OUT\n"
    "       onnxsurg repair --until 'CMD {}' [--target T] [options] IN OUT\n"
    "Finds passes that make engine T support the model, and runs them. Inputs and\n"
    "outputs keep their names and types. If something unsupported remains, lists it\n"
    "and writes nothing. An invalid model is mended first (see onnxsurg mend);\n"
    "without a target, nothing else is done. doc/targets.md explains how to add an\n"
    "engine.\n"
    "  --target T          engine: a name (onnxsurg targets) or a file T.target\n"
    "  --until CMD         run the importer itself: {} is replaced by the file, exit\n"
    "                      code 0 means accepted, no shell; its messages select the\n"
    "                      next passes\n"
    "  --import ort|opencv|CMD  the same; ort, opencv: the packages of python3\n"
    "  --import npm:PACKAGE@VERSION  an engine that npm distributes (doc/targets.md)\n"
    "  --import-timeout S  time limit for one run of CMD, in seconds (60)\n"
    "  --import-memory N   memory limit for one run of CMD, such as 4GiB\n"
    "  --messages FILE     load further messages of importers (doc/messages.md)\n"
    "  --allow A,B         permit: approx or lossy rewrites; interface: inputs and\n"
    "                      outputs may change, dynamic dimensions may become fixed\n"
    "                      (exact: only bit-exact rewrites)\n" CLI_SIZE_HELP
    "  --precision P       after the repair, convert to fp16, bf16 or int8 where T\n"
    "                      has kernels of the type (doc/precision.md); permits approx\n"
    "  --inputs A,B        with --precision: inputs to measure ranges and errors\n"
    "                      (folders or .npz files; default: generated inputs)\n"
    "  --tolerance X       with --precision: convert fewer nodes until no output\n"
    "                      differs by more than X\n"
    "  --partial           write the best result even if T does not support it\n"
    "  --check[=N]         run the model before and after and compare (N seeds)\n"
    "  --verify-each       verify the graph after every pass\n"
    "  --certificate FILE  write what tools/certify needs to prove the result\n"
    "  --no-fsync          do not wait until the disk has the data\n"
    "  --dry-run           print the passes, write nothing\n"
    "  -o, --output OUT    the output file, or an existing folder as --out-dir\n"
    "  --out-dir DIR       write each output to DIR, under the name of its input\n" CLI_JOBS_HELP
        JUDGING_HELP
    "  --quiet, --json     print nothing, or JSON\n"
    "exit codes: 0 supported, 1 unsupported, 6 support unknown (OUT is written),\n"
    "2 usage error, 3 file error, 4 limit. If data files are missing, 0, 1 and 6 are\n"
    "for the model with its data.\n";

enum {
  OPT_TARGET = OPT_OWN,
  OPT_ALLOW,
  OPT_PARTIAL,
  OPT_CHECK,
  OPT_DRY_RUN,
  OPT_VERIFY,
  OPT_NO_FSYNC,
  OPT_DIM,
  OPT_UNTIL,
  OPT_ASK_TIMEOUT,
  OPT_ASK_MEMORY,
  OPT_MESSAGES,
  OPT_PRECISION,
  OPT_INPUTS,
  OPT_TOLERANCE,
  OPT_OUT_DIR,
  OPT_CERTIFICATE
};

typedef struct repairing {
  cli_common common;
  const char *target_name, *in, *out, *out_dir, *certificate;
  char *output; /* of -o */
  judging how;
  repair_consent given; /* --allow */
  bool partial, dry_run, verify_each, no_fsync;
  bool told;                 /* the result was printed */
  uint64_t check;            /* input sets of --check; 0: no check */
  cli_dims dims;             /* --dim, and what --input-shape fixes */
  cli_fixed fixed;           /* --input-shape */
  cli_words names;           /* of the dimensions that --input-shape fixes */
  surg_context *ctx, *quiet; /* quiet: prints nothing; for the search */
  surg_target *t;
  surg_repair *found;
  const char *importer, *messages;            /* --until, --messages */
  surg_command_options limits;                /* limits of the importer */
  const char *precision, *inputs, *tolerance; /* --precision and its options */
  cli_text then;                              /* the pass that converts, with options */
} repairing;

/* --- output --- */

typedef struct printing {
  size_t objections, misread, fed;
} printing;

static void print_objection(void *user, const surg_objection *o) {
  printing *p = user;
  if (o->verdict == SURG_UNSUPPORTED && !o->data && p->objections++ < SHOWN)
    fprintf(stderr, "  %s: %s\n", o->where, o->text);
}

static void list_objection(void *user, const surg_objection *o) {
  json_t *list = user;
  if (o->verdict == SURG_UNSUPPORTED && !o->data && json_array_size(list) < SHOWN)
    json_array_append_new(list, json_pack("{s:o,s:o}", "where", cli_text_json(o->where), "text",
                                          cli_text_json(o->text)));
}

static void count_fed(void *user, const surg_objection *o) {
  printing *p = user;
  p->fed += o->fed;
}

static void print_misread(void *user, const surg_objection *o) {
  printing *p = user;
  if (o->misread && p->misread++ < SHOWN) fprintf(stderr, "  %s: %s\n", o->where, o->text);
}

/* Reports the nodes that the engine imports but computes differently: accepted with --allow
 * lossy, or, if nothing else is unsupported, listed. */
static void tell_misread(const repairing *r, const surg_repair_result *x) {
  printing shown = {0};
  if (!x->misread) return;
  if (x->unsupported == x->misread && r->given.most < SURG_LOSSY)
    surg_target_judge(r->t, surg_repair_model(r->found), count_fed, &shown, NULL);
  if (x->unsupported == x->misread && r->given.most < SURG_LOSSY && !shown.fed)
    fprintf(stderr,
            "  the engine imports the model and computes something else in what remains: "
            "accepted with --allow lossy\n");
  if (x->unsupported) return;
  surg_target_judge(r->t, surg_repair_model(r->found), print_misread, &shown, NULL);
  if (shown.misread > SHOWN) fprintf(stderr, "  and %zu more\n", shown.misread - SHOWN);
}

/* The verdict on the repaired model as it is, also if weights are not available. */
static surg_verdict verdict_on_file(const surg_repair_result *x) {
  return (surg_verdict)(x->data_verdict > x->verdict ? x->data_verdict : x->verdict);
}

/* --- what to do about an unsuccessful repair --- */

/* Prints what each further consent would gain. */
static void tell_gains(const repairing *r) {
  surg_repair_gain g = {.size = sizeof g};
  char with[64];
  for (size_t i = 0; surg_repair_gain_get(r->found, i, &g) == SURG_OK; i++) {
    consent_spell(with, sizeof with, (repair_consent){g.allow, g.allow_interface});
    fprintf(stderr, "  with %s: ", with);
    if (g.unsupported)
      fprintf(stderr, "%zu reason%s remain%s\n", g.unsupported, g.unsupported == 1 ? "" : "s",
              g.unsupported == 1 ? "s" : "");
    else
      fprintf(stderr, "%s\n", g.verdict == SURG_SUPPORTED ? "supported" : "support unknown");
  }
}

static json_t *gains_json(const repairing *r) {
  surg_repair_gain g = {.size = sizeof g};
  json_t *list = json_array();
  char with[64];
  for (size_t i = 0; surg_repair_gain_get(r->found, i, &g) == SURG_OK; i++) {
    consent_spell(with, sizeof with, (repair_consent){g.allow, g.allow_interface});
    json_array_append_new(list, json_pack("{s:s,s:s,s:I}", "consent", with, "verdict",
                                          surg_verdict_name((surg_verdict)g.verdict), "remain",
                                          (json_int_t)g.unsupported));
  }
  return list;
}

static json_t *changes_json(const repairing *r) {
  json_t *list = json_array();
  const char *text;
  for (size_t i = 0; (text = surg_repair_change(r->found, i)); i++)
    json_array_append_new(list, cli_text_json(text));
  return list;
}

static void tell_cut(const repairing *r) {
  verdict v;
  verdict_borrow(&v, SURG_ASSESS_BLOCKED, r->found);
  verdict_print_cut(stderr, &v, r->t, r->target_name, r->in);
  verdict_free(&v);
}

static json_t *cut_of(const repairing *r) {
  verdict v;
  verdict_borrow(&v, SURG_ASSESS_BLOCKED, r->found);
  json_t *j = verdict_cut_json(&v, r->t);
  verdict_free(&v);
  return j;
}

static void tell_json(const repairing *r, const surg_repair_result *x) {
  const char *host = surg_target_host(r->t);
  char with[64];
  consent_spell(with, sizeof with, (repair_consent){x->wanted, x->wanted_interface});
  json_t *all =
      json_pack("{s:i,s:s,s:s,s:s,s:I,s:I,s:I,s:I}", "schema", 1, "target", surg_target_name(r->t),
                "verdict", surg_verdict_name(verdict_on_file(x)), "pipeline", x->pipeline, "before",
                (json_int_t)x->unsupported_before, "after", (json_int_t)x->unsupported, "unknown",
                (json_int_t)x->unknown, "misread", (json_int_t)x->misread);
  if (x->data)
    json_object_set_new(all, "verdict_with_data",
                        json_string(surg_verdict_name((surg_verdict)x->verdict)));
  json_object_set_new(all, "exactness", json_string(surg_exactness_name(x->used)));
  json_object_set_new(all, "interface", json_boolean(x->used_interface));
  if (x->used_interface) json_object_set_new(all, "interface_changes", changes_json(r));
  if (r->precision) json_object_set_new(all, "converted", json_boolean(x->then_done));
  if (x->unsupported) {
    json_t *remain = json_array();
    surg_target_judge(r->t, surg_repair_model(r->found), list_objection, remain, NULL);
    json_object_set_new(all, "remain", remain);
    json_object_set_new(all, "would_help", cli_text_json(x->refused));
    json_object_set_new(all, "consent", json_string(x->refused[0] ? with : ""));
    json_object_set_new(all, "gains", gains_json(r));
    json_t *cut = cut_of(r);
    if (cut) json_object_set_new(all, "cut", cut);
  }
  if (host && !x->unsupported)
    json_object_set_new(
        all, "on_cpu",
        json_pack("{s:s,s:I,s:I,s:I}", "host", host, "before", (json_int_t)x->on_host_before,
                  "after", (json_int_t)x->on_host, "nodes", (json_int_t)x->nodes));
  cli_print_json(all);
}

static void tell_verdict(const repairing *r, const surg_repair_result *x) {
  const char *name = surg_target_name(r->t);
  const size_t before = x->unsupported_before;
  cli_put(stderr, r->in);
  if (!before && x->unknown)
    fprintf(stderr, ": %ssupport by %s is unknown\n", x->mended ? "mended; " : "", name);
  else if (!before && x->unknown_before && x->pipeline[0])
    fprintf(stderr, ": support by %s was unknown; now supported\n", name);
  else if (!before)
    fprintf(stderr, ": %s%s by %s\n", x->mended ? "mended; " : "",
            x->mended                        ? "now supported"
            : x->on_host_before > x->on_host ? "now more of it is supported"
                                             : "already supported",
            name);
  else
    fprintf(stderr, ": unsupported by %s for %zu reason%s; %s\n", name, before,
            before == 1 ? "" : "s",
            x->unsupported             ? "some reasons remain"
            : x->misread && x->unknown ? "some of it is computed otherwise, if it is imported"
            : x->misread               ? "now imported, and some of it computed otherwise"
            : x->unknown               ? "now support is unknown"
                                       : "now supported");
}

/* Reports the defects that the repair leaves: `mend` cannot cure them, and the engine does not
 * reject them. */
static void tell_defects(const repairing *r) {
  surg_model *m = surg_repair_model(r->found);
  surg_finding f = {.size = sizeof f};
  size_t left = 0;
  for (size_t i = 0; surg_model_finding(m, i, &f); i++)
    left += !f.cured && f.severity == SURG_ERROR;
  if (left)
    fprintf(stderr, "  %zu defect%s of the model remain%s (onnxsurg check lists %s)\n", left,
            left == 1 ? "" : "s", left == 1 ? "s" : "", left == 1 ? "it" : "them");
}

static void tell(const repairing *r, const surg_repair_result *x) {
  const char *host = surg_target_host(r->t);
  char with[64];
  if (r->common.json) {
    tell_json(r, x);
    return;
  }
  if (r->common.quiet && !x->unsupported && (!r->precision || x->then_done)) return;
  tell_verdict(r, x);
  consent_spell(with, sizeof with, (repair_consent){x->used, x->used_interface});
  if (x->pipeline[0])
    fprintf(stderr, "  did: %s%s--pass '%s'\n", with, with[0] ? " " : "", x->pipeline);
  const char *change;
  for (size_t i = 0; i < SHOWN && (change = surg_repair_change(r->found, i)); i++)
    fprintf(stderr, "  interface: %s\n", change);
  if (surg_repair_change(r->found, SHOWN)) fprintf(stderr, "  interface: and more\n");
  if (r->precision && !x->then_done)
    fprintf(stderr, "  not converted to %s: the target has more objections then\n", r->precision);
  tell_misread(r, x);
  if (host && !x->unsupported)
    fprintf(stderr, "  supported by %s: %zu of %zu node%s on the CPU (before: %zu)\n", host,
            x->on_host, x->nodes, x->nodes == 1 ? "" : "s", x->on_host_before);
  if (x->data)
    fprintf(stderr, "  weights are not available: the verdict is for the model with its data\n");
  if (x->unknown)
    fprintf(stderr, "  %zu fact%s unknown (onnxsurg check --target %s lists them)\n", x->unknown,
            x->unknown == 1 ? "" : "s", surg_target_name(r->t));
  tell_defects(r);
  const bool more =
      (surg_exactness)x->wanted > r->given.most || (x->wanted_interface && !r->given.interface);
  consent_spell(with, sizeof with, (repair_consent){x->wanted, x->wanted_interface});
  if (x->refused[0] && (x->unsupported || (x->unknown && more)))
    fprintf(stderr, "  would help, and needs consent (%s): %s\n", with, x->refused);
  if (!x->unsupported) return;
  printing shown = {0};
  fprintf(stderr, "  remain:\n");
  surg_target_judge(r->t, surg_repair_model(r->found), print_objection, &shown, NULL);
  if (shown.objections > SHOWN) fprintf(stderr, "  and %zu more\n", shown.objections - SHOWN);
  tell_gains(r);
  tell_cut(r);
}

/* Replaces *m by the model of the search if the target judges *m worse. Passes that run with
 * more consent than the search gave them may change more, but the model that is written must
 * have the verdict that is reported. */
static surg_status keep_judged(const repairing *r, surg_model **m) {
  surg_judgement now = {.size = sizeof now};
  surg_repair_result found = {.size = sizeof found};
  if (!r->found || surg_target_judge(r->t, *m, NULL, NULL, &now) != SURG_OK) return SURG_OK;
  surg_repair_get(r->found, &found);
  if (now.verdict_with_data <= found.verdict) return SURG_OK;
  if (r->certificate) {
    cli_error(r->in, "no certificate: the pipeline, run again, has another result");
    return SURG_ELIMIT;
  }
  surg_model_free(*m);
  *m = surg_repair_take(r->found);
  return SURG_OK;
}

/* Writes the model, and the end of its certificate. */
static surg_status write_result(const repairing *r, surg_model *m) {
  const surg_save_options save = {.size = sizeof save, .no_fsync = r->no_fsync};
  if (r->dry_run) return SURG_OK;
  const surg_status s = surg_model_save(m, r->out, &save);
  if (s != SURG_OK || !r->certificate) return s;
  return surg_certificate_seal(r->ctx, r->certificate, r->out);
}

/* Loads the model again, runs the pipeline on it, with a check by runs if requested, and writes
 * it. */
static int apply(repairing *r, const char *pipeline) {
  /* A pipeline with a conversion limits its other parts to the consent that is given. */
  const bool more = r->precision && r->given.most < SURG_APPROX;
  const surg_run_options options = {.size = sizeof options,
                                    .verify_each = r->verify_each,
                                    .has_allow = true,
                                    .allow = more ? SURG_APPROX : r->given.most,
                                    .check = (uint32_t)r->check,
                                    .certificate_path = r->certificate};
  surg_run_summary all = {.size = sizeof all};
  surg_run_report *done = NULL;
  surg_model *m = NULL;
  surg_status s = cli_load_any(r->ctx, &r->common, r->in, &m);
  if (s == SURG_OK) s = surg_run(&m, pipeline, &options, &done);
  if (s == SURG_OK) surg_model_note_weights(m);
  if (s == SURG_OK && !r->check) s = keep_judged(r, &m);
  if (s == SURG_OK && r->check && !r->common.quiet) {
    surg_run_get(done, &all);
    if (all.checked)
      fprintf(stderr, "  checked on %u sets of inputs: equal\n", all.checked);
    else
      fprintf(stderr, "  not checked: %s\n", all.unchecked);
  }
  if (s == SURG_OK) s = write_result(r, m);
  surg_run_report_free(done);
  surg_model_free(m);
  return cli_exit_code(s);
}

static const char *mend_text(const repairing *r) {
  return r->given.interface ? "mend{interface}" : "mend";
}

/* Runs `mend` alone: without a target, or to report what remains invalid. */
static int mend_only(repairing *r) {
  const surg_run_options options = {.size = sizeof options,
                                    .verify_each = r->verify_each,
                                    .has_allow = true,
                                    .allow = r->given.most,
                                    .certificate_path = r->certificate};
  const bool json = r->common.json;
  surg_run_report *done = NULL;
  surg_model *m = NULL;
  char *text = NULL;
  surg_status s = cli_load_any(r->ctx, &r->common, r->in, &m);
  if (s == SURG_OK) s = surg_run(&m, mend_text(r), &options, &done);
  if (s == SURG_OK) surg_model_note_weights(m);
  if (s == SURG_OK && (json || !r->common.quiet)) s = surg_run_print(done, json, &text);
  if (text) fputs(text, json ? stdout : stderr);
  if (text && json) putchar('\n');
  r->told = text != NULL;
  if (s == SURG_OK) s = write_result(r, m);
  surg_context_free_bytes(r->ctx, text);
  surg_run_report_free(done);
  surg_model_free(m);
  return cli_exit_code(s);
}

static surg_repair_options options_of(const repairing *r) {
  return (surg_repair_options){.size = sizeof(surg_repair_options),
                               .has_allow = true,
                               .allow = r->given.most,
                               .allow_interface = r->given.interface,
                               .verify_each = r->verify_each,
                               .then = r->precision ? r->then.p : NULL,
                               .sizes = r->dims.items,
                               .n_sizes = r->dims.n};
}

/* Reports the weights that the search asked for in vain, if something remains unsupported. */
static void tell_weights(const repairing *r) {
  surg_model *m = NULL, *found = surg_repair_model(r->found);
  if (surg_model_require_weights(found, "repair") == SURG_OK) return;
  if (cli_load_any(r->ctx, &r->common, r->in, &m) == SURG_OK) {
    surg_model_learn_weights(m, found);
    surg_model_note_weights(m);
  }
  surg_model_free(m);
}

/* Converts --input-shape to sizes of the dimensions that the model leaves open. */
static int take_shapes(repairing *r) {
  surg_model *m = NULL;
  if (!r->fixed.shapes.n) return EXIT_DONE;
  const surg_status s = cli_load_any(r->quiet, &r->common, r->in, &m);
  if (s != SURG_OK) return cli_exit_code(quiet_tell(r->quiet, s));
  const int code = cli_fixed_sizes(m, &r->fixed.shapes, &r->dims, &r->names);
  surg_model_free(m);
  return code;
}

/* Spells the pass of --precision. */
static int spell_precision(repairing *r) {
  static const struct {
    const char *name, *pass;
  } known[] = {{"fp16", "to-float16{"},
               {"float16", "to-float16{"},
               {"bf16", "to-bfloat16{"},
               {"bfloat16", "to-bfloat16{"},
               {"int8", "quantize{static,"}};
  cli_text *b = &r->then;
  size_t i = 0;
  if (!r->precision) return EXIT_DONE;
  while (i < sizeof known / sizeof *known && strcmp(known[i].name, r->precision) != 0) i++;
  if (i == sizeof known / sizeof *known)
    return cli_usage("--precision expects fp16, bf16 or int8, not \"%s\"", r->precision);
  cli_text_printf(b, "%starget=", known[i].pass);
  /* A file of a target is found by its path. */
  const bool file = strchr(r->target_name, '/') || strstr(r->target_name, ".target");
  cli_put_word(r->ctx, b, file ? r->target_name : surg_target_name(r->t));
  if (r->tolerance) cli_text_printf(b, ",tolerance=");
  if (r->tolerance) cli_put_word(r->ctx, b, r->tolerance);
  for (const char *at = r->inputs; at; at = strchr(at, ',')) {
    if (at != r->inputs) at++;
    char *word = strndup(at, strcspn(at, ","));
    cli_text_puts(b, at == r->inputs ? ",inputs=" : "+");
    cli_put_word(r->ctx, b, word);
    free(word);
  }
  cli_text_puts(b, "}");
  return b->failed ? cli_no_memory() : EXIT_DONE;
}

static int run(repairing *r) {
  int code = EXIT_DONE;
  r->t = cli_target(r->ctx, r->target_name, &code);
  if (!r->t) return code;
  code = spell_precision(r);
  if (code != EXIT_DONE) return code;
  surg_status s = judging_apply(&r->how, r->t);
  const surg_repair_options options = options_of(r);
  surg_repair_result result = {.size = sizeof result};
  /* The model is loaded twice: here in the quiet context, and with diagnostics when the pipeline
   * runs. */
  surg_model *m = NULL;
  if (s == SURG_OK) s = cli_load_any(r->quiet, &r->common, r->in, &m);
  if (s != SURG_OK) return cli_exit_code(quiet_tell(r->quiet, s));
  s = surg_repair_find(m, r->t, &options, &r->found);
  if (s == SURG_OK) {
    const surg_status weighed = surg_repair_weigh(r->found, m, &options);
    if (weighed == SURG_ELIMIT && !r->common.quiet)
      fprintf(stderr, "onnxsurg: note: further consents are not tried, as the search is long\n");
    else if (weighed != SURG_ELIMIT)
      s = weighed;
  }
  surg_model_free(m);
  if (s == SURG_EINVALID) return mend_only(r);
  if (s != SURG_OK) return cli_exit_code(quiet_tell(r->quiet, s));
  surg_repair_get(r->found, &result);
  tell(r, &result);
  r->told = true;
  if (result.unsupported && !r->partial) tell_weights(r);
  const bool converted = !r->precision || result.then_done;
  if ((!result.unsupported && converted) || r->partial) code = apply(r, result.pipeline);
  if (code == EXIT_DONE && !converted) return EXIT_MODEL;
  return code == EXIT_DONE ? judging_exit(&r->how, result.verdict) : code;
}

/* --- repair by running an importer (--until) --- */

static json_t *until_json(const surg_until *u, const surg_until_result *x) {
  json_t *steps = json_array();
  surg_until_step s = {.size = sizeof s};
  for (size_t i = 0; surg_until_change(u, i, &s) == SURG_OK; i++)
    json_array_append_new(
        steps, json_pack("{s:o,s:o,s:s}", "pipeline", cli_text_json(s.pipeline), "message",
                         cli_text_json(s.message), "exactness", surg_exactness_name(s.used)));
  return json_pack("{s:i,s:b,s:o,s:o,s:o,s:I}", "schema", 1, "taken", x->accepted, "pipeline",
                   cli_text_json(x->pipeline), "steps", steps, "message", cli_text_json(x->message),
                   "asked", (json_int_t)x->asked);
}

static void put_message(const char *text) {
  char *escaped = cli_escaped(text && *text ? text : "nothing", SAID);
  fprintf(stderr, "%s\n", escaped ? escaped : "");
  free(escaped);
}

/* Prints each change and the message that it answers. *used is the consent that the changes
 * required. */
static void tell_changes(const surg_until *u, repair_consent *used) {
  surg_until_step s = {.size = sizeof s};
  for (size_t i = 0; surg_until_change(u, i, &s) == SURG_OK; i++) {
    if (s.used > (int32_t)used->most) used->most = (surg_exactness)s.used;
    used->interface |= s.used_interface;
    fprintf(stderr, "  %s, for: ", s.pipeline);
    put_message(s.message);
  }
}

static void tell_until(const repairing *r, const surg_until *u, const surg_until_result *x) {
  repair_consent used = {SURG_EXACT, false};
  char with[64];
  if (r->common.json) {
    cli_print_json(until_json(u, x));
    return;
  }
  if (r->common.quiet && x->accepted) return;
  cli_put(stderr, r->in);
  fprintf(stderr,
          x->accepted ? x->changes ? ": the importer accepts the model after %zu change%s\n"
                                   : ": the importer accepts the model as it is\n"
                      : ": the importer still rejects the model after %zu change%s\n",
          x->changes, x->changes == 1 ? "" : "s");
  tell_changes(u, &used);
  consent_spell(with, sizeof with, used);
  if (x->changes)
    fprintf(stderr, "  %s: %s%s--pass '%s'\n", x->accepted ? "did" : "tried", with,
            with[0] ? " " : "", x->pipeline);
  if (x->accepted) return;
  fprintf(stderr, "  its message: ");
  put_message(x->message);
  if (!x->known) fprintf(stderr, "  unknown message: try onnxsurg check --target\n");
  consent_spell(with, sizeof with, (repair_consent){x->wanted, x->wanted_interface});
  if (x->refused) fprintf(stderr, "  not tried, needs consent (%s):", with);
  for (size_t i = 0; i < x->refused; i++) fprintf(stderr, " %s", surg_until_refused(u, i));
  if (x->refused) fprintf(stderr, "\n");
}

static int ask(repairing *r, surg_importer *im, const surg_messages *messages) {
  const surg_repair_options consent = options_of(r);
  const surg_until_options options = {.size = sizeof options,
                                      .consent = &consent,
                                      .target = r->t,
                                      .messages = messages,
                                      .load = &r->common.load};
  surg_until_result x = {.size = sizeof x};
  surg_until *u = NULL;
  const surg_status s = surg_until_find(im, r->in, &options, &u);
  if (s != SURG_OK) return cli_exit_code(s);
  surg_until_get(u, &x);
  tell_until(r, u, &x);
  r->told = true;
  int code = x.accepted || r->partial ? apply(r, x.pipeline) : EXIT_DONE;
  if (code == EXIT_DONE && !x.accepted) code = EXIT_MODEL;
  surg_until_free(u);
  return code;
}

static int run_until(repairing *r) {
  surg_messages *messages = NULL;
  surg_importer *im = NULL;
  int code = EXIT_DONE;
  if (r->target_name && !(r->t = cli_target(r->ctx, r->target_name, &code))) return code;
  code = explain_messages(r->ctx, r->messages, &messages);
  cli_stop_on_signals();
  r->limits.cancel = cli_interrupted;
  if (code == EXIT_DONE)
    code = cli_exit_code(surg_importer_new(r->ctx, r->importer, &r->limits, &im));
  if (code == EXIT_DONE) code = ask(r, im, messages);
  surg_messages_free(messages);
  surg_importer_free(im);
  return code;
}

static int take(void *user, int o, char *arg) {
  repairing *r = user;
  switch (o) {
    case OPT_TARGET:
      r->target_name = arg;
      return EXIT_DONE;
    case OPT_PARTIAL:
      r->partial = true;
      return EXIT_DONE;
    case OPT_DRY_RUN:
      r->dry_run = true;
      return EXIT_DONE;
    case OPT_NO_FSYNC:
      r->no_fsync = true;
      return EXIT_DONE;
    case OPT_VERIFY:
      r->verify_each = true;
      return EXIT_DONE;
    case OPT_REGISTERED:
    case OPT_ASSUME_UNKNOWN:
      return judging_take(&r->how, o, arg);
    case OPT_ALLOW:
      return consent_take(arg, &r->given);
    case OPT_DIM:
      if (cli_dims_take(&r->dims, arg)) return EXIT_DONE;
      return cli_usage("--dim expects NAME=N, not \"%s\"", arg);
    case OPT_FIX_SHAPE:
      return cli_fixed_take(&r->fixed, o, arg);
    case OPT_PRECISION:
      r->precision = arg;
      return EXIT_DONE;
    case OPT_INPUTS:
      r->inputs = arg;
      return EXIT_DONE;
    case OPT_OUT_DIR:
      r->out_dir = arg;
      return EXIT_DONE;
    case 'o':
      r->output = arg;
      return EXIT_DONE;
    case OPT_CERTIFICATE:
      r->certificate = arg;
      return EXIT_DONE;
    case OPT_TOLERANCE:
      r->tolerance = arg;
      return EXIT_DONE;
    case OPT_UNTIL:
      r->importer = arg;
      return EXIT_DONE;
    case OPT_MESSAGES:
      r->messages = arg;
      return EXIT_DONE;
    case OPT_ASK_TIMEOUT:
      if (cli_number(arg, &r->limits.seconds)) return EXIT_DONE;
      return cli_usage("--import-timeout expects seconds");
    case OPT_ASK_MEMORY:
      if (cli_number(arg, &r->limits.memory)) return EXIT_DONE;
      return cli_usage("--import-memory expects bytes");
    default: /* OPT_CHECK */
      r->check = 1;
      if (arg && (!cli_number(arg, &r->check) || r->check < 1 || r->check > 1000))
        return cli_usage("--check expects a number from 1 to 1000, not \"%s\"", arg);
      return EXIT_DONE;
  }
}

static int check_use(const repairing *r, int files) {
  if (!r->target_name && !r->importer && (r->check || r->dims.n || r->fixed.shapes.n))
    return cli_usage("--check, --dim and --input-shape need --target T or --until CMD");
  if (r->precision && (!r->target_name || r->importer))
    return cli_usage("--precision needs --target T, without --until (or: onnxsurg convert)");
  if (!r->precision && (r->inputs || r->tolerance))
    return cli_usage("--inputs and --tolerance need --precision");
  if (r->certificate && r->precision)
    return cli_usage("--certificate excludes --precision: certify the conversion separately");
  if (r->out_dir ? !files : files != 2 && !(r->dry_run && files == 1))
    return cli_usage("repair expects a model and an output file: `repair --target T IN OUT`");
  return EXIT_DONE;
}

/* Prints the JSON of a repair that failed before it had a result. */
static void tell_failure(const repairing *r, int code) {
  const char *line = r->ctx ? surg_context_error(r->ctx) : NULL;
  if (!line && r->quiet) line = surg_context_error(r->quiet);
  json_t *all = json_pack("{s:i,s:s,s:i,s:o}", "schema", 1, "verdict", "unknown", "exit", code,
                          "error", line ? cli_text_json(line) : json_null());
  if (r->t) json_object_set_new(all, "target", json_string(surg_target_name(r->t)));
  cli_print_json(all);
}

/* Repairs one model; `one` has the options. */
static int repair(repairing one, const char *in, const char *out) {
  repairing *r = &one;
  const cli_dims shared = one.dims; /* --input-shape adds sizes that fit this model */
  r->in = in;
  r->out = out;
  r->dims = (cli_dims){calloc(shared.n + 1, sizeof *shared.items), shared.n};
  if (!r->dims.items) return cli_no_memory();
  if (shared.n) memcpy(r->dims.items, shared.items, shared.n * sizeof *shared.items);
  r->ctx = cli_context(&r->common);
  r->quiet = r->ctx ? quiet_context(&r->common, r->ctx) : NULL;
  int code = r->quiet && surg_context_passes(r->ctx) ? take_shapes(r) : EXIT_LIMIT;
  if (code == EXIT_DONE) code = r->importer ? run_until(r) : r->target_name ? run(r) : mend_only(r);
  if (code != EXIT_DONE && r->common.json && !r->told) tell_failure(r, code);
  surg_repair_free(r->found);
  cli_text_free(&r->then);
  surg_target_free(r->t);
  surg_context_free(r->quiet);
  surg_context_free(r->ctx);
  cli_dims_free(&r->dims);
  cli_fixed_free_names(&r->names);
  return code;
}

static int repair_one(void *user, const fleet_model *m) {
  return repair(*(const repairing *)user, m->in, m->out);
}

static int repair_all(repairing *r, char **files, int n) {
  const fleet f = {.common = &r->common,
                   .good = r->target_name ? "supported" : "ok",
                   .bad = r->target_name ? "unsupported" : "invalid",
                   .writes = !r->dry_run,
                   .work = repair_one,
                   .user = r};
  const bool folder = !r->out_dir && n == 2 && fleet_is_folder(files[0]);
  fleet_list list = {0};
  if (folder) r->out_dir = files[--n];
  int code = fleet_find(files, n, r->out_dir, &list);
  if (code == EXIT_DONE) code = fleet_distinct(&list);
  if (code == EXIT_DONE && r->out_dir && list.n && !r->dry_run)
    code = cli_need_folder(r->out_dir, "--out-dir", true);
  if (code == EXIT_DONE)
    code =
        fleet_is_many(&r->common, files, n) ? fleet_run(&f, &list) : repair_one(r, &list.items[0]);
  fleet_free(&list);
  return code;
}

int cmd_repair(int argc, char **argv) {
  static const struct option options[] = {
      {"target", required_argument, NULL, OPT_TARGET},
      {"allow", required_argument, NULL, OPT_ALLOW},
      {"dim", required_argument, NULL, OPT_DIM},
      CLI_SHAPE_OPTION,
      {"partial", no_argument, NULL, OPT_PARTIAL},
      {"check", optional_argument, NULL, OPT_CHECK},
      {"dry-run", no_argument, NULL, OPT_DRY_RUN},
      {"no-fsync", no_argument, NULL, OPT_NO_FSYNC},
      {"until", required_argument, NULL, OPT_UNTIL},
      {"precision", required_argument, NULL, OPT_PRECISION},
      {"inputs", required_argument, NULL, OPT_INPUTS},
      {"tolerance", required_argument, NULL, OPT_TOLERANCE},
      {"import", required_argument, NULL, OPT_UNTIL},
      {"import-timeout", required_argument, NULL, OPT_ASK_TIMEOUT},
      {"import-memory", required_argument, NULL, OPT_ASK_MEMORY},
      {"messages", required_argument, NULL, OPT_MESSAGES},
      {"verify-each", no_argument, NULL, OPT_VERIFY},
      {"out-dir", required_argument, NULL, OPT_OUT_DIR},
      {"output", required_argument, NULL, 'o'},
      {"certificate", required_argument, NULL, OPT_CERTIFICATE},
      JUDGING_OPTIONS,
      CLI_JOBS_OPTION,
      CLI_COMMON_OPTIONS,
      {0}};
  repairing r = {.given = REPAIR_NO_CONSENT, .limits.size = sizeof r.limits};
  int code = EXIT_DONE;
  const cli_command command = {options, "o:", help, take, &r, &r.common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  char **files = argv + optind, *both[2];
  int n = argc - optind;
  if (r.output && !r.out_dir && fleet_is_folder(r.output)) {
    r.out_dir = r.output;
  } else if (r.output && n == 1 && !r.out_dir) {
    both[0] = files[0];
    both[1] = r.output;
    files = both;
    n = 2;
  } else if (r.output) {
    code = cli_usage("-o replaces OUT, so repair expects one model: `repair --target T IN -o OUT`");
  }
  if (code == EXIT_DONE) code = check_use(&r, n);
  if (code == EXIT_DONE)
    code =
        cli_check_certificate(r.certificate, !r.out_dir && !r.dry_run && !fleet_is_folder(files[0]),
                              files[0], n == 2 ? files[1] : NULL);
  if (code == EXIT_DONE && (r.out_dir || fleet_is_folder(files[0]))) {
    code = repair_all(&r, files, n);
  } else if (code == EXIT_DONE) {
    code = r.dry_run ? EXIT_DONE : cli_check_folder(files[1]);
    if (code == EXIT_DONE) code = repair(r, files[0], files[1]);
  }
  cli_dims_free(&r.dims);
  cli_fixed_free(&r.fixed);
  judging_free(&r.how);
  return cli_flush(code);
}
