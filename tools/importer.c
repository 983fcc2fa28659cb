/* SPDX-License-Identifier: Apache-2.0 */
/* Runs importers on files and reads what they say. */
#include "importer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"

#define ANSWERS_MAX (4u << 20) /* bytes of output that are read */

/* Importers that many have at hand, by a word. */
static const struct shortcut {
  const char *word, *command;
} shortcuts[] = {
    {"ort", "python3 -c \"import onnxruntime, sys; "
            "onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])\" {}"},
    {"opencv", "python3 -c \"import cv2, sys; cv2.dnn.readNetFromONNX(sys.argv[1])\" {}"},
};

static bool make_folder(importer *im) {
  char folder[4096];
  const char *temp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%.3800s/onnxsurg-ask-XXXXXX", temp && *temp ? temp : "/tmp");
  if (!mkdtemp(folder)) {
    fprintf(stderr, "onnxsurg: error: no temporary folder in $TMPDIR: %s\n", strerror(errno));
    return false;
  }
  im->folder = strdup(folder);
  return im->folder != NULL;
}

int importer_open(importer *im, const char *text) {
  im->answers = -1;
  for (size_t i = 0; i < SURG_COUNT(shortcuts); i++)
    if (!strcmp(text, shortcuts[i].word)) text = shortcuts[i].command;
  if (!im->command.seconds) im->command.seconds = IMPORTER_SECONDS;
  if (!child_parse(text, &im->command))
    return cli_usage("the importer's command: a quote is not closed, or no command");
  im->many = child_takes_many(&im->command);
  im->text = malloc(ANSWERS_MAX + 1);
  if (!im->text) return EXIT_LIMIT;
  if (!make_folder(im)) return EXIT_IO;
  char path[4200];
  snprintf(path, sizeof path, "%s/answers-XXXXXX", im->folder);
  im->answers = mkstemp(path);
  if (im->answers < 0) return EXIT_IO;
  unlink(path);
  return EXIT_DONE;
}

void importer_close(importer *im) {
  child_free(&im->command);
  if (im->answers >= 0) close(im->answers);
  if (im->folder) rmdir(im->folder);
  free(im->folder);
  free(im->text);
  im->folder = im->text = NULL;
}

/* A message without paths of ours and with single blanks, cut where it is long. */
static char *tidy(const char *text, const char *file) {
  char *out = malloc(IMPORTER_WHY + 1);
  const size_t path = strlen(file);
  size_t n = 0;
  bool blank = false;
  for (const char *p = text; out && *p && n < IMPORTER_WHY; p++) {
    if (!strncmp(p, file, path)) {
      static const char instead[] = "FILE";
      if (blank && n + 1 < IMPORTER_WHY) out[n++] = ' ';
      for (size_t i = 0; instead[i] && n < IMPORTER_WHY; i++) out[n++] = instead[i];
      p += path - 1;
      blank = false;
    } else if ((unsigned char)*p <= ' ') {
      blank = n > 0;
    } else {
      if (blank && n + 1 < IMPORTER_WHY) out[n++] = ' ';
      blank = false;
      out[n++] = *p;
    }
  }
  if (out) out[n] = 0;
  return out;
}

static int run_on(importer *im, const importer_case *cases, size_t n) {
  const char *files[IMPORTER_BATCH];
  for (size_t i = 0; i < n; i++) files[i] = cases[i].file;
  if (ftruncate(im->answers, 0) || lseek(im->answers, 0, SEEK_SET)) return -1;
  im->runs++;
  const int code = child_run_on(&im->command, files, n, im->answers, !im->many);
  size_t have = 0;
  for (ssize_t got; have < ANSWERS_MAX; have += (size_t)got) {
    got = pread(im->answers, im->text + have, ANSWERS_MAX - have, (off_t)have);
    if (got <= 0) break;
  }
  /* Bytes of 0 would end the text before it ends. */
  for (size_t i = 0; i < have; i++)
    if (!im->text[i]) im->text[i] = ' ';
  im->text[have] = 0;
  return code;
}

static void refuse(importer_case *c, const char *why) {
  c->asked = true;
  c->why = tidy(why, c->file);
}

static void refuse_code(importer_case *c, int code, const char *said) {
  char text[64];
  if (code == CHILD_LATE)
    snprintf(text, sizeof text, "time was up");
  else if (code > 128)
    snprintf(text, sizeof text, "ended by signal %d", code - 128);
  else
    snprintf(text, sizeof text, "exit code %d", code);
  /* A command for many files says the file first. */
  const size_t path = strlen(c->file);
  if (!strncmp(said, c->file, path) && said[path] == '\t') said += path + 1;
  refuse(c, code <= 128 && code != CHILD_LATE && *said ? said : text);
}

/* Takes the lines `FILE<TAB>ok` and `FILE<TAB>MESSAGE`; how many cases from the first on are
 * answered. */
static size_t take_lines(importer *im, importer_case *cases, size_t n) {
  size_t done = 0;
  for (char *line = im->text, *end; done < n && *line; line = end) {
    end = line + strcspn(line, "\n");
    if (*end) *end++ = 0;
    const size_t path = strlen(cases[done].file);
    if (strncmp(line, cases[done].file, path) != 0 || line[path] != '\t') continue;
    cases[done].taken = !strcmp(line + path + 1, "ok");
    cases[done].asked = true;
    if (!cases[done].taken) refuse(&cases[done], line + path + 1);
    done++;
  }
  return done;
}

/* A command with "{...}" that says nothing of the first file, and did not die of it. */
static bool speechless(const importer *im, int code) {
  fprintf(stderr, "onnxsurg: error: ");
  cli_put(stderr, im->command.words[0]);
  fprintf(stderr, " said of no file `FILE<TAB>ok` or `FILE<TAB>MESSAGE` (exit code %d)\n", code);
  return false;
}

static bool cannot_run(const importer *im) {
  fprintf(stderr, "onnxsurg: error: cannot run ");
  cli_put(stderr, im->command.words[0]);
  fprintf(stderr, "\n");
  return false;
}

bool importer_ask(importer *im, importer_case *cases, size_t n) {
  for (size_t i = 0; i < n && !(im->command.stop && *im->command.stop);) {
    const size_t batch = !im->many ? 1 : n - i < IMPORTER_BATCH ? n - i : IMPORTER_BATCH;
    const int code = run_on(im, cases + i, batch);
    if (code < 0) return cannot_run(im);
    if (im->command.stop && *im->command.stop) break;
    size_t done = 0;
    if (im->many) {
      done = take_lines(im, cases + i, batch);
      if (!done && code < 128 && code != CHILD_LATE) return speechless(im, code);
      /* The one it died of, or did not answer. */
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
  return true;
}
