/* SPDX-License-Identifier: Apache-2.0 */
/* Examines step by step why an engine rejects a model (onnxsurg/doctor.h). All results are from
 * the checker, the target and the known messages; this file combines them. */
#include <onnxsurg/doctor.h>
#include <onnxsurg/names.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/diag.h"
#include "base/hush.h"
#include "check/check.h"
#include "diagnose/checked.h"

typedef enum row_id {
  R_MESSAGE,
  R_LOADS,
  R_VALID,
  R_TYPES,
  R_DYNAMIC,
  R_VERSIONS,
  R_CUSTOM,
  R_OPS,
  R_FLOW,
  R_DTYPES,
  R_CONSTANT,
  R_TRAINING,
  R_TIDY,
  ROWS
} row_id;

static const struct row_info {
  const char *title;
  const char *cure; /* used if the finding suggests none */
} infos[ROWS] = {
    [R_MESSAGE] = {"message", NULL},
    [R_LOADS] = {"loads", "fetch or export it again"},
    [R_VALID] = {"valid", "onnxsurg check lists all"},
    [R_TYPES] = {"types and shapes", "onnxsurg check lists what contradicts"},
    [R_DYNAMIC] = {"dynamic shapes", "onnxsurg freeze --symbol NAME=N IN OUT"},
    [R_VERSIONS] = {"opset and IR", "--opset N, --ir N"},
    [R_CUSTOM] = {"custom operators", "--schema FILE, --pass inline, replace or move-domain"},
    [R_OPS] = {"operators", NULL},
    [R_FLOW] = {"control flow", "--pass fold replaces it by the known branch"},
    [R_DTYPES] = {"element types", NULL},
    [R_CONSTANT] = {"constant inputs", "--pass fold; fix dynamic shapes first (onnxsurg freeze)"},
    [R_TRAINING] = {"training mode", "export after model.eval(), or --pass inference"},
    [R_TIDY] = {"unused parts", "--pass prune"},
};
_Static_assert(SURG_COUNT(infos) == R_TIDY + 1, "a title for each row");

typedef struct row {
  size_t open, notes;
  char *first; /* text of the first open problem, else of the first note */
  bool first_open;
  const char *pass; /* the pass that fixes `first` */
} row;

struct surg_diagnosis {
  surg_context *ctx;
  const surg_target *t;
  surg_checked *file;
  surg_checked_summary sum;
  surg_model *m; /* of `file`; NULL: it does not load */
  row rows[ROWS];
  row_id now;          /* row for objections of the target built for the current question */
  bool has_message;    /* the engine's message is given */
  surg__buf passes;    /* passes that fix the open problems, each once */
  int opset;           /* lowest opset with all operators that are too new; 0: none is */
  char opset_pass[32]; /* the pass that converts the model to it */
  surg_outlook mend;   /* result of trying `mend` */
  bool judged;
  surg_assessment assessment;
  surg_repair *found;
  surg_diag_fn diag; /* of the context, for lines about a file that cannot be read */
  void *diag_user;
  bool failed; /* out of memory */
};

/* --- points --- */

static void note(surg_diagnosis *d, row_id id, bool open, const char *where, const char *text,
                 const char *pass) {
  row *r = &d->rows[id];
  ++*(open ? &r->open : &r->notes);
  if (r->first && (r->first_open || !open)) return;
  surg_context_free_bytes(d->ctx, r->first);
  surg__buf b;
  surg__buf_init(&b, d->ctx);
  surg__buf_printf(&b, "%s%s%s", where ? where : "", where ? ": " : "", text ? text : "");
  if (surg__buf_give(&b, &r->first) != SURG_OK) d->failed = true;
  r->first_open = open;
  r->pass = pass;
}

/* Adds a pass to the suggested pipeline, once. A pass with a placeholder ("ir{to=N}") is not
 * runnable and is skipped. */
static void take_pass(surg_diagnosis *d, const char *pass) {
  if (!pass || strstr(pass, "=N") || strstr(pass, "NAME")) return;
  if (d->passes.p && strstr(d->passes.p, pass)) return;
  surg__buf_printf(&d->passes, "%s%s", d->passes.n ? "," : "", pass);
}

/* --- findings --- */

static row_id row_of_code(const char *code) {
  static const struct {
    const char *codes;
    row_id id;
  } map[] = {{"E001 E100 E111 E119 E120 E137", R_LOADS},
             {"W214 W215 W217 W218 E133", R_VERSIONS},
             {"E103 E104 W220", R_CUSTOM},
             {"E201 E202 E203 E204 E205 E208 E209 E210 W206 W207 W211 W213", R_TYPES},
             {"N307", R_DYNAMIC}};
  for (size_t i = 0; i < SURG_COUNT(map); i++)
    if (strstr(map[i].codes, code)) return map[i].id;
  return code[0] == 'E' ? R_VALID : R_TIDY;
}

/* For a finding about an operator that is newer than the imported opset: the pass that converts
 * the model to the latest opset such operators need. NULL for any other finding. */
static const char *newer(surg_diagnosis *d, const surg_check_finding *f) {
  static const char came[] = "it came with opset ";
  const char *at = f->text && !strcmp(f->code, "E103") ? strstr(f->text, came) : NULL;
  const int opset = at ? atoi(at + sizeof came - 1) : 0;
  if (opset > d->opset) d->opset = opset;
  snprintf(d->opset_pass, sizeof d->opset_pass, "opset{to=%d}", d->opset);
  return at ? d->opset_pass : NULL;
}

static void found(void *user, const surg_check_finding *f) {
  surg_diagnosis *d = user;
  const char *move = newer(d, f);
  if (f->line && d->diag) d->diag(d->diag_user, SURG_ERROR, f->line);
  note(d, move ? R_VERSIONS : row_of_code(f->code), f->severity == SURG_ERROR, f->where, f->text,
       move ? move : f->pass);
  if (f->severity != SURG_NOTE) take_pass(d, f->pass);
}

/* --- objections of the target --- */

static row_id row_of_fact(const char *code) {
  static const struct {
    const char *code;
    row_id id;
  } map[] = {{"E401", R_VERSIONS}, {"E402", R_VERSIONS}, {"E405", R_DTYPES},
             {"E406", R_CONSTANT}, {"E410", R_DYNAMIC},  {"E411", R_CUSTOM},
             {"E412", R_CUSTOM},   {"E415", R_LOADS},    {"E416", R_LOADS}};
  for (size_t i = 0; i < SURG_COUNT(map); i++)
    if (!strcmp(map[i].code, code)) return map[i].id;
  return R_OPS;
}

static void objected(void *user, const surg_objection *o) {
  surg_diagnosis *d = user;
  if (!o->fact) return; /* a finding: already counted in its row */
  note(d, row_of_fact(o->fact), o->verdict == SURG_UNSUPPORTED, o->where, o->text, NULL);
}

/* --- topics judged with a small target of their own --- */

static const struct question {
  row_id id;
  bool open;
  const char *target;
} questions[] = {
    {R_TRAINING, true,
     "{\"name\": \"inference\", \"source\": \"\", \"ops\": {"
     "\"BatchNormalization\": [{\"versions\": \"1-6\", \"attrs\": {\"is_test\": [1]}},"
     " {\"versions\": \"7-9\"}, {\"versions\": \"14+\", \"attrs\": {\"training_mode\": [0]}}],"
     "\"Dropout\": [{\"versions\": \"1-6\", \"attrs\": {\"is_test\": [1]}}, {\"versions\": "
     "\"7-10\"},"
     " {\"versions\": \"12+\", \"values\": {\"training_mode\": [0, 0]}}]}}"},
    {R_FLOW, false,
     "{\"name\": \"flow\", \"source\": \"\", \"ops\": {"
     "\"If\": {\"refused\": true, \"says\": \"runs one of two branches\"},"
     "\"Loop\": {\"refused\": true, \"says\": \"runs its body over and over\"},"
     "\"Scan\": {\"refused\": true, \"says\": \"runs its body over and over\"}}}"},
};

static void answered(void *user, const surg_objection *o) {
  surg_diagnosis *d = user;
  if (o->verdict != SURG_UNSUPPORTED || !o->fact || !o->node) return;
  for (size_t i = 0; i < SURG_COUNT(questions); i++)
    if (questions[i].id == d->now) note(d, d->now, questions[i].open, o->where, o->text, NULL);
}

static surg_status ask(surg_diagnosis *d, const struct question *q) {
  surg_target *t = NULL;
  d->now = q->id;
  surg_status s = surg_target_parse(d->ctx, q->target, strlen(q->target), "doctor", &t);
  if (s == SURG_OK) s = surg_target_judge(t, d->m, answered, d, NULL);
  surg_target_free(t);
  return s;
}

/* Notes inputs with symbolic or unknown dimensions. An objection of the target to them is listed
 * in place of the note. */
static void look_at_inputs(surg_diagnosis *d) {
  const surg_graph *g = surg_model_graph(d->m);
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_declared_type(v);
    if (surg_value_is_initializer(v) || !t || surg_type_get_kind(t) != SURG_TYPE_TENSOR) continue;
    if (surg_type_static(t, NULL)) continue;
    char *type = NULL;
    if (surg_type_text(d->ctx, t, &type) != SURG_OK) d->failed = true;
    surg__buf b;
    surg__buf_init(&b, d->ctx);
    surg__buf_printf(&b, "input \"%s\" is %s", surg_value_name(v), type ? type : "?");
    surg_context_free_bytes(d->ctx, type);
    if (b.failed)
      d->failed = true;
    else
      note(d, R_DYNAMIC, false, NULL, b.p, NULL);
    surg__buf_free(&b);
  }
}

static surg_status examine(surg_diagnosis *d) {
  surg_status s = surg_checked_look(d->file);
  for (size_t i = 0; i < SURG_COUNT(questions) && s == SURG_OK; i++) s = ask(d, &questions[i]);
  if (s == SURG_OK && d->t) s = surg_target_judge(d->t, d->m, objected, d, NULL);
  if (s == SURG_OK) look_at_inputs(d);
  return s;
}

/* --- the importer's message --- */

static void explained(void *user, const surg_explanation *e) {
  surg_diagnosis *d = user;
  size_t seen = 0;
  const surg_status s = d->m ? surg_explanation_look(e, d->m, NULL, NULL, &seen) : SURG_ENOTFOUND;
  char text[400];
  snprintf(text, sizeof text, "%.300s%s", e->cause,
           s != SURG_OK ? ""
           : seen       ? " (present in this model)"
                        : " (not present in this model)");
  note(d, R_MESSAGE, seen || s != SURG_OK, e->op, text, NULL);
  if (seen && e->n_passes) take_pass(d, e->passes[0]);
}

static surg_status hear_message(surg_diagnosis *d, const surg_doctor_options *o) {
  size_t count = 0;
  surg_messages *own = NULL;
  surg_status s = o->messages ? SURG_OK : surg_messages_new(d->ctx, NULL, &own);
  if (s == SURG_OK)
    s = surg_explain(o->messages ? o->messages : own, o->message, o->message_length,
                     d->t ? surg_target_name(d->t) : NULL, explained, d, &count);
  if (s == SURG_OK && !count)
    note(d, R_MESSAGE, false, NULL, "no message that is known here is in it", NULL);
  surg_messages_free(own);
  return s;
}

/* --- what can be reached --- */

/* Tries `mend` if the checker reported errors, or warnings that it may fix. */
static surg_status look_ahead(surg_diagnosis *d) {
  const bool valid = !d->sum.errors;
  if (!d->m || (valid && !d->rows[R_TIDY].notes)) return SURG_OK;
  return surg_checked_outlook(d->file, &d->mend);
}

/* Searches for a repair for the target. */
static surg_status judge(surg_diagnosis *d) {
  surg_model *m = NULL;
  if (!d->t || !d->m) return SURG_OK;
  const surg__hush h = surg__hush_begin(d->ctx);
  surg_status s = surg__checked_load(d->file, &m);
  if (s == SURG_OK) s = surg_repair_assess(m, d->t, &d->assessment, &d->found);
  surg_model_free(m);
  if (s != SURG_OK) return surg__hush_fail(d->ctx, h, s);
  surg__hush_end(d->ctx, h);
  d->judged = true;
  return s;
}

/* --- the object --- */

static surg_status diagnose(surg_diagnosis *d, const char *path, const surg_doctor_options *o) {
  const surg_check_options check = {.size = sizeof check,
                                    .bytes = o->bytes,
                                    .n_bytes = o->n_bytes,
                                    .load = o->load,
                                    .fn = found,
                                    .user = d};
  d->diag = d->ctx->config.diag;
  d->diag_user = d->ctx->config.diag_user;
  surg_status s = surg_check_file(d->ctx, path, &check, &d->file);
  if (s == SURG_OK) s = surg_checked_get(d->file, &d->sum);
  d->m = surg_checked_model(d->file);
  if (s == SURG_OK && !d->m && d->sum.status != SURG_EINVALID && d->sum.status != SURG_OK)
    return SURG_OK; /* the file cannot be read: nothing else can be said */
  if (s == SURG_OK && d->m) s = examine(d);
  if (s == SURG_OK) s = surg_checked_get(d->file, &d->sum);
  if (s == SURG_OK && o->message) s = hear_message(d, o);
  if (s == SURG_OK && !d->failed) s = look_ahead(d);
  if (s == SURG_OK && !d->failed) s = judge(d);
  if (d->opset) take_pass(d, d->opset_pass);
  surg__buf_putc(&d->passes, 0);
  return s == SURG_OK && (d->failed || d->passes.failed) ? surg__oom(d->ctx, NULL) : s;
}

surg_status surg_doctor(surg_context *ctx, const char *path, const surg_doctor_options *options,
                        surg_diagnosis **out) {
  surg_doctor_options o;
  if (out) *out = NULL;
  if (!ctx || !path || !out) return SURG_EUSAGE;
  surg__struct_in(&o, sizeof o, options);
  surg_diagnosis *d = surg__calloc(ctx, 1, sizeof *d);
  if (!d) return surg__oom(ctx, NULL);
  d->ctx = ctx;
  d->t = o.target;
  d->has_message = o.message != NULL;
  d->sum.size = sizeof d->sum;
  d->mend.size = sizeof d->mend;
  surg__buf_init(&d->passes, ctx);
  const surg_status s = surg__oom_reported(ctx, diagnose(d, path, &o), path);
  if (s == SURG_OK)
    *out = d;
  else
    surg_diagnosis_free(d);
  return s;
}

surg_status surg_diagnosis_get(const surg_diagnosis *d, surg_diagnosis_summary *out) {
  if (!d || !out) return SURG_EUSAGE;
  surg_diagnosis_summary all = {.size = sizeof all,
                                .points = ROWS,
                                .loaded = d->m != NULL,
                                .partial = d->sum.partial,
                                .status = d->sum.status,
                                .pipeline = d->passes.p ? d->passes.p : "",
                                .outlook = d->mend,
                                .judged = d->judged,
                                .assessment = (int32_t)d->assessment};
  for (row_id id = R_MESSAGE; id < ROWS; id++) all.open += d->rows[id].open > 0;
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

static surg_point_state state_of(const surg_diagnosis *d, row_id id) {
  const row *r = &d->rows[id];
  if (r->first) return r->open ? SURG_POINT_OPEN : SURG_POINT_NOTE;
  if (id == R_MESSAGE ? !d->has_message : !d->m && id != R_LOADS) return SURG_POINT_NOT_REACHED;
  return d->sum.partial && id != R_LOADS ? SURG_POINT_UNKNOWN : SURG_POINT_OK;
}

/* Whether `mend` fixes problems of this row. It applies to findings of the checker, not to
 * objections of a target, messages or open input sizes. */
static bool is_mended(const surg_diagnosis *d, row_id id) {
  static const bool judged[ROWS] = {
      [R_VALID] = true, [R_TYPES] = true, [R_VERSIONS] = true, [R_CUSTOM] = true};
  return d->mend.mended == SURG_MENDED_ALL && judged[id];
}

surg_status surg_diagnosis_point(const surg_diagnosis *d, size_t i, surg_point *out) {
  if (!d || !out) return SURG_EUSAGE;
  if (i >= ROWS) return SURG_ENOTFOUND;
  const row_id id = (row_id)i;
  const row *r = &d->rows[id];
  const size_t n = r->first_open ? r->open : r->notes;
  const bool pass = r->pass && r->pass[0];
  const surg_point all = {.size = sizeof all,
                          .title = infos[id].title,
                          .state = (int32_t)state_of(d, id),
                          .open = r->open,
                          .notes = r->notes,
                          .more = n > 1 ? n - 1 : 0,
                          .first = r->first,
                          .pass = pass ? r->pass : NULL,
                          .cure = !r->open           ? NULL
                                  : is_mended(d, id) ? "onnxsurg mend"
                                                     : infos[id].cure};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

const surg_repair *surg_diagnosis_repair(const surg_diagnosis *d) {
  return d ? d->found : NULL;
}

void surg_diagnosis_free(surg_diagnosis *d) {
  if (!d) return;
  surg_repair_free(d->found);
  surg_checked_free(d->file);
  for (row_id id = R_MESSAGE; id < ROWS; id++) surg_context_free_bytes(d->ctx, d->rows[id].first);
  surg__buf_free(&d->passes);
  surg__free(d->ctx, d);
}
