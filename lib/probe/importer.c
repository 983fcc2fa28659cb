/* SPDX-License-Identifier: Apache-2.0 */
/* Runs importers on files and reads their answers. */
#include "probe/importer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/os/os.h"

#define ANSWERS_MAX (4u << 20) /* most bytes of output that are read */

/* Commands for common importers, by a short name. */
static const struct shortcut {
  const char *word, *command;
} shortcuts[] = {
    {"ort",
     "python3 -c \"import onnxruntime, sys; "
     "onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])\" {}"},
    {"opencv", "python3 -c \"import cv2, sys; cv2.dnn.readNetFromONNX(sys.argv[1])\" {}"},
};

static const char npm[] = "npm:"; /* before a package */

static surg_status make_folder(surg_importer *im) {
  char folder[4096];
  const int e = surg__os_temp_folder("onnxsurg-ask", folder, sizeof folder);
  if (e)
    return surg__error(im->ctx, SURG_EIO, "onnxsurg", "no temporary folder in $TMPDIR: %s",
                       strerror(e));
  im->folder = strdup(folder);
  if (!im->folder) surg__os_remove_folder(folder);
  return im->folder ? SURG_OK : surg__oom(im->ctx, NULL);
}

static surg_status open_answers(surg_importer *im) {
  const int e = surg__os_temp(&im->answers);
  if (!e) return SURG_OK;
  im->answers = -1;
  return surg__error(im->ctx, SURG_EIO, "onnxsurg", "no temporary file in $TMPDIR: %s",
                     strerror(e));
}

surg_status surg_importer_new(surg_context *ctx, const char *text,
                              const surg_command_options *options, surg_importer **out) {
  if (!ctx || !text || !out) return SURG_EUSAGE;
  *out = NULL;
  surg_importer *im = surg__calloc(ctx, 1, sizeof *im);
  if (!im) return surg__oom(ctx, NULL);
  im->ctx = ctx;
  im->answers = -1;
  for (size_t i = 0; i < SURG_COUNT(shortcuts); i++)
    if (!strcmp(text, shortcuts[i].word)) text = shortcuts[i].command;
  const char *spec = strncmp(text, npm, sizeof npm - 1) == 0 ? text + sizeof npm - 1 : NULL;
  surg__command_limits(&im->child, options);
  surg_status s =
      spec ? surg__npm_command(ctx, &im->child, spec) : surg__command_words(ctx, &im->child, text);
  if (s == SURG_OK) {
    im->many = surg__child_takes_many(&im->child);
    im->text = malloc(ANSWERS_MAX + 1);
    if (!im->text) s = surg__error(ctx, SURG_ENOMEM, NULL, "out of memory");
  }
  if (s == SURG_OK) s = make_folder(im);
  if (s == SURG_OK) s = open_answers(im);
  if (s == SURG_OK && spec) s = surg__npm_install(im, spec);
  if (s == SURG_OK)
    *out = im;
  else
    surg_importer_free(im);
  return s;
}

void surg_importer_free(surg_importer *im) {
  if (!im) return;
  surg__child_free(&im->child);
  if (im->answers >= 0) surg__os_close(im->answers);
  if (im->folder) surg__os_remove_folder(im->folder);
  free(im->folder);
  free(im->text);
  free(im->why);
  surg__free(im->ctx, im);
}

/* A copy of a message with "FILE" instead of the model's path and single blanks, at most
 * SURG__IMPORTER_WHY bytes. Heap; NULL: out of memory. */
static char *tidy(const char *text, const char *file) {
  char *out = malloc(SURG__IMPORTER_WHY + 1);
  const size_t path = strlen(file);
  size_t n = 0;
  bool blank = false;
  for (const char *p = text; out && *p && n < SURG__IMPORTER_WHY; p++) {
    if (!strncmp(p, file, path)) {
      static const char instead[] = "FILE";
      if (blank && n + 1 < SURG__IMPORTER_WHY) out[n++] = ' ';
      for (size_t i = 0; instead[i] && n < SURG__IMPORTER_WHY; i++) out[n++] = instead[i];
      p += path - 1;
      blank = false;
    } else if ((unsigned char)*p <= ' ') {
      blank = n > 0;
    } else {
      if (blank && n + 1 < SURG__IMPORTER_WHY) out[n++] = ' ';
      blank = false;
      out[n++] = *p;
    }
  }
  if (out) out[n] = 0;
  return out;
}

static surg_status no_answers(surg_importer *im, int e) {
  return surg__error(im->ctx, SURG_EIO, "onnxsurg", "the temporary file of answers: %s",
                     strerror(e));
}

surg_status surg__importer_run(surg_importer *im, const char *const *files, size_t n, int *code) {
  int e = surg__os_empty(im->answers);
  if (e) return no_answers(im, e);
  *code = surg__child_run_on(&im->child, files, n, im->answers, !im->many);
  surg__stat st = {0};
  e = surg__os_stat_fd(im->answers, &st);
  const size_t have = st.size < ANSWERS_MAX ? (size_t)st.size : ANSWERS_MAX;
  if (!e && have) e = surg__os_pread(im->answers, im->text, have, 0);
  if (e) return no_answers(im, e);
  /* NUL bytes would end the text early. */
  for (size_t i = 0; i < have; i++)
    if (!im->text[i]) im->text[i] = ' ';
  im->text[have] = 0;
  return SURG_OK;
}

static surg_status run_on(surg_importer *im, const surg__importer_case *cases, size_t n,
                          int *code) {
  const char *files[SURG__IMPORTER_BATCH];
  for (size_t i = 0; i < n; i++) files[i] = cases[i].file;
  im->runs++;
  return surg__importer_run(im, files, n, code);
}

static void refuse(surg__importer_case *c, const char *why) {
  c->asked = true;
  c->why = tidy(why, c->file);
}

static void refuse_code(surg__importer_case *c, int code, const char *said) {
  char text[64];
  if (code == SURG__CHILD_LATE)
    snprintf(text, sizeof text, "time was up");
  else if (code > 128)
    snprintf(text, sizeof text, "ended by signal %d", code - 128);
  else
    snprintf(text, sizeof text, "exit code %d", code);
  /* A command for several files prints the file name first. */
  const size_t path = strlen(c->file);
  if (!strncmp(said, c->file, path) && said[path] == '\t') said += path + 1;
  refuse(c, code <= 128 && code != SURG__CHILD_LATE && *said ? said : text);
}

/* Parses the lines `FILE<TAB>ok` and `FILE<TAB>MESSAGE`. Returns the number of cases answered, from
 * the first on. */
static size_t take_lines(surg_importer *im, surg__importer_case *cases, size_t n) {
  size_t done = 0;
  for (char *line = im->text, *end; done < n && *line; line = end) {
    end = line + strcspn(line, "\n");
    if (*end) *end++ = 0;
    const size_t path = strlen(cases[done].file);
    if (strncmp(line, cases[done].file, path) != 0 || line[path] != '\t') continue;
    const char *said = line + path + 1;
    const size_t prefix = strlen(SURG__IMPORTER_DIFFERS);
    cases[done].differs = im->outputs && !strncmp(said, SURG__IMPORTER_DIFFERS, prefix);
    cases[done].taken = cases[done].differs || !strcmp(said, "ok");
    cases[done].asked = true;
    if (cases[done].differs) said += prefix;
    if (cases[done].differs || !cases[done].taken) refuse(&cases[done], said);
    done++;
  }
  return done;
}

/* Reports a command with "{...}" that printed nothing about the first file and did not crash. */
static surg_status speechless(surg_importer *im, int code) {
  return surg__error(im->ctx, SURG_EUSAGE, "onnxsurg",
                     "%s printed no line `FILE<TAB>ok` or `FILE<TAB>MESSAGE` (exit code %d)",
                     surg__q(im->ctx, im->child.words[0]), code);
}

surg_status surg__importer_ask(surg_importer *im, surg__importer_case *cases, size_t n) {
  for (size_t i = 0; i < n && !surg__child_cancelled(&im->child);) {
    const size_t left = n - i;
    const size_t batch = !im->many ? 1 : left < SURG__IMPORTER_BATCH ? left : SURG__IMPORTER_BATCH;
    int code;
    const surg_status s = run_on(im, cases + i, batch, &code);
    if (s != SURG_OK) return s;
    if (code < 0) return surg__command_missing(im->ctx, &im->child);
    if (surg__child_cancelled(&im->child)) break;
    size_t done = 0;
    if (im->many) {
      done = take_lines(im, cases + i, batch);
      if (!done && code < 128 && code != SURG__CHILD_LATE) return speechless(im, code);
      /* The file that crashed, or the first one without an answer. */
      if (done < batch) refuse_code(&cases[i + done++], code, "");
    } else if (code) {
      refuse_code(&cases[i], code, im->text);
      done = 1;
    } else {
      cases[i].taken = cases[i].asked = true;
      done = 1;
    }
    i += done;
  }
  return SURG_OK;
}

surg_status surg_importer_ask_file(surg_importer *im, const char *path, bool *accepted,
                                   const char **message) {
  if (!im || !path || !accepted) return SURG_EUSAGE;
  surg__importer_case c = {.file = path};
  *accepted = false;
  if (message) *message = NULL;
  const surg_status s = surg__importer_ask(im, &c, 1);
  free(im->why);
  im->why = c.why;
  if (message) *message = c.why;
  *accepted = c.taken;
  return s == SURG_OK && !c.asked ? SURG_ELIMIT : s;
}

surg_status surg_importer_ask(surg_importer *im, surg_model *model, bool *accepted,
                              const char **message) {
  if (!im || !model || !accepted) return SURG_EUSAGE;
  char path[4200], data[4300];
  const surg_save_options save = {.size = sizeof save, .no_fsync = true};
  *accepted = false;
  if (message) *message = NULL;
  snprintf(path, sizeof path, "%s/candidate.onnx", im->folder);
  surg_status s = surg_model_save(model, path, &save);
  if (s != SURG_OK) return s;
  s = surg_importer_ask_file(im, path, accepted, message);
  surg__os_unlink(path);
  snprintf(data, sizeof data, "%s.data", path);
  surg__os_unlink(data);
  return s;
}
