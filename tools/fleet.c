/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command on each of several models; see fleet.h. Each model has a copy of the process, so
 * that a crash, a limit or a plugin ends one model and not the others. A copy prints into temporary
 * files, which are passed on in the order of the models. */
#include "fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/copies.h"
#include "base/os/os.h"
#include "base/os/program.h"

#define AHEAD 64u        /* models that may be finished before one that is still at work */
#define PAUSE_LEAST 100u /* us between two looks at the copies, and the most after many */
#define PAUSE_MOST 5000u
#define ERROR_PRINT 1000u /* most bytes of an error in JSON */

typedef enum state { FREE, WORKING, ENDED } state;

/* A model that is started and not yet printed. */
typedef struct slot {
  state at;
  size_t model;
  long id;
  int out, err; /* temporary files */
  surg__os_ended end;
  char fault[96]; /* the text of end.fault */
} slot;

typedef struct crew {
  const fleet *f;
  const fleet_list *list;
  slot *slots; /* a ring: model i is in slots[i % width] */
  size_t width, next, shown, working;
  size_t tally[8]; /* by kind of end */
  int code;
} crew;

typedef enum kind { GOOD, UNCHANGED, BAD, UNKNOWN, FAILED, KINDS } kind;

/* --- one model --- */

typedef struct call {
  const fleet *f;
  const fleet_model *m;
} call;

static int work(void *user) {
  const call *c = user;
  cli_limit_time(c->f->common);
  return cli_flush(c->f->work(c->f->user, c->m));
}

/* Reports an error about a model in place of its work. */
static void fail(slot *s, int why) {
  snprintf(s->fault, sizeof s->fault, "%s", strerror(why));
  s->end = (surg__os_ended){.fault = s->fault};
  s->at = ENDED;
}

/* Works on the model in this process, because it cannot be copied. */
static void work_here(slot *s, call *c) {
  int kept[2];
  const int why = surg__os_redirect(s->out, s->err, kept);
  if (why) {
    fail(s, why);
    return;
  }
  s->end = (surg__os_ended){.code = work(c)};
  surg__os_restore(kept);
  s->at = ENDED;
}

static void close_files(slot *s) {
  if (s->out >= 0) surg__os_close(s->out);
  if (s->err >= 0) surg__os_close(s->err);
  s->out = s->err = -1;
}

/* Starts the next model. False: not now, other models must end first. */
static bool start(crew *w) {
  const fleet *f = w->f;
  slot *s = &w->slots[w->next % w->width];
  call c = {f, &w->list->items[w->next]};
  *s = (slot){.at = WORKING, .model = w->next, .out = -1, .err = -1};
  cli_progress_clear(); /* or the copy would clear it */
  int why = surg__os_temp(&s->out);
  if (!why) why = surg__os_temp(&s->err);
  if (!why && f->writes && c.m->out) why = cli_make_folders(c.m->out);
  const int copied = why ? why : surg__os_start_copy(work, &c, s->out, s->err, &s->id);
  if (copied && w->working) { /* perhaps for lack of processes or files */
    close_files(s);
    s->at = FREE;
    return false;
  }
  w->next++;
  if (why)
    fail(s, why);
  else if (copied)
    work_here(s, &c);
  else
    w->working++;
  return true;
}

/* --- output --- */

/* The content of a temporary file, for the caller to free. NULL: it cannot be read. */
static char *content(int fd, size_t *n) {
  surg__stat st;
  *n = 0;
  if (fd < 0 || surg__os_stat_fd(fd, &st) != 0 || st.size >= SIZE_MAX) return NULL;
  char *text = malloc((size_t)st.size + 1);
  if (!text || surg__os_pread(fd, text, (size_t)st.size, 0) != 0) {
    free(text);
    return NULL;
  }
  text[ *n = (size_t)st.size] = 0;
  return text;
}

static void pass_on(int fd, FILE *to) {
  static char bytes[1u << 16];
  surg__stat st;
  if (fd < 0 || surg__os_stat_fd(fd, &st) != 0) return;
  for (uint64_t at = 0; at < st.size;) {
    const size_t n = st.size - at < sizeof bytes ? (size_t)(st.size - at) : sizeof bytes;
    if (surg__os_pread(fd, bytes, n, at) != 0) return;
    fwrite(bytes, 1, n, to);
    at += n;
  }
}

static int code_of(const slot *s) {
  if (!s->end.fault) return s->end.code == FLEET_UNCHANGED ? EXIT_DONE : s->end.code;
  if (s->id == 0) return EXIT_IO; /* not started */
  return s->end.killed ? EXIT_LIMIT : EXIT_INTERNAL;
}

static kind kind_of(const slot *s) {
  if (!s->end.fault && s->end.code == FLEET_UNCHANGED) return UNCHANGED;
  const int code = code_of(s);
  return code == EXIT_DONE      ? GOOD
         : code == EXIT_MODEL   ? BAD
         : code == EXIT_UNKNOWN ? UNKNOWN
                                : FAILED;
}

/* The last line of the errors of a model, or what ended its process. */
static json_t *error_json(const slot *s) {
  size_t n;
  if (s->end.fault) return cli_text_json(s->end.fault);
  char *text = content(s->err, &n), *line = text;
  if (!text) return json_null();
  while (n && text[n - 1] == '\n') text[--n] = 0;
  for (char *p; (p = strchr(line, '\n'));) line = p + 1;
  if (strlen(line) > ERROR_PRINT) line[ERROR_PRINT] = 0;
  json_t *j = *line ? cli_text_json(line) : json_null();
  free(text);
  return j;
}

/* Prints the JSON of a model on one line, after its path and its exit code. */
static void print_line(const slot *s, const fleet_model *m, const char *text, size_t n) {
  const int code = code_of(s);
  json_t *all = json_object(), *own = text && n ? json_loadb(text, n, 0, NULL) : NULL;
  json_object_set_new(all, "file", cli_text_json(m->in));
  json_object_set_new(all, "exit", json_integer(code));
  if (code != EXIT_DONE && !json_is_object(own)) json_object_set_new(all, "error", error_json(s));
  if (json_is_object(own)) json_object_update_missing(all, own);
  cli_stdout_used();
  json_dumpf(all, stdout, JSON_COMPACT);
  putchar('\n');
  json_decref(own);
  json_decref(all);
}

/* Prints what the oldest model printed, and frees its slot. */
static void show(crew *w) {
  const fleet *f = w->f;
  slot *s = &w->slots[w->shown++ % w->width];
  const fleet_model *m = &w->list->items[s->model];
  const bool lines = f->common->json && !f->no_json;
  const int code = code_of(s);
  cli_progress_clear();
  if (lines || f->take) {
    size_t n;
    char *text = content(s->out, &n);
    if (lines)
      print_line(s, m, text, n);
    else
      f->take(f->user, m, code, text ? text : "", n);
    free(text);
  } else {
    pass_on(s->out, stdout);
  }
  fflush(stdout); /* before the errors, which may go to the same terminal */
  pass_on(s->err, stderr);
  if (s->end.fault) {
    cli_error(m->in, "%s%s%s", s->id ? "the process for this model " : "", s->end.fault,
              s->id && !s->end.killed ? "; please report it" : "");
  }
  close_files(s);
  w->tally[kind_of(s)]++;
  w->code = cli_worse(w->code, code);
  s->at = FREE;
}

/* --- all models --- */

static bool look(crew *w) {
  bool any = false;
  for (size_t i = w->shown; i < w->next; i++) {
    slot *s = &w->slots[i % w->width];
    if (s->at != WORKING || !surg__os_copy_ended(s->id, &s->end)) continue;
    if (s->end.fault) {
      snprintf(s->fault, sizeof s->fault, "%s", s->end.fault);
      s->end.fault = s->fault;
    }
    s->at = ENDED;
    w->working--;
    any = true;
  }
  return any;
}

static void tell_progress(const crew *w) {
  static char labels[2][40];
  static unsigned turn;
  char *label = labels[turn++ % 2];
  snprintf(label, sizeof labels[0], "%zu of %zu models", w->shown, w->list->n);
  cli_progress(label);
}

static bool broken(void) {
  return ferror(stdout) != 0;
}

static void run_all(crew *w, size_t jobs) {
  unsigned pause = PAUSE_LEAST;
  while (w->shown < w->list->n && !cli_interrupted(NULL) && !broken()) {
    bool moved = false;
    while (w->next < w->list->n && w->working < jobs && w->next - w->shown < w->width && start(w)) {
      moved = true;
      if (w->slots[(w->next - 1) % w->width].at == ENDED) break;
    }
    moved |= look(w);
    while (w->shown < w->next && w->slots[w->shown % w->width].at == ENDED) {
      show(w);
      tell_progress(w);
      moved = true;
    }
    pause = moved ? PAUSE_LEAST : pause * 2 < PAUSE_MOST ? pause * 2 : PAUSE_MOST;
    if (!moved && w->working) surg__os_pause(pause);
  }
}

/* Ends the models at work, after an interruption. */
static void stop(crew *w) {
  for (size_t i = w->shown; i < w->next; i++) {
    slot *s = &w->slots[i % w->width];
    if (s->at == WORKING) surg__os_end_copy(s->id);
    close_files(s);
  }
}

static const char *many(size_t n) {
  return n == 1 ? "" : "s";
}

static void total(const crew *w) {
  const fleet *f = w->f;
  const char *const words[KINDS] = {f->good, "unchanged", f->bad, "support unknown", "failed"};
  const char *before = ": ";
  fprintf(stderr, "%zu model%s", w->list->n, many(w->list->n));
  for (size_t i = 0; i < KINDS; i++) {
    if (!w->tally[i]) continue;
    fprintf(stderr, "%s%zu %s", before, w->tally[i], words[i]);
    before = ", ";
  }
  if (w->shown < w->list->n) fprintf(stderr, "%s%zu not processed", before, w->list->n - w->shown);
  if (w->list->others)
    fprintf(stderr, "; %zu other file%s skipped", w->list->others, many(w->list->others));
  fputc('\n', stderr);
}

static bool wants_total(const crew *w) {
  const cli_common *c = w->f->common;
  if (c->quiet || !w->list->n) return false;
  return w->list->folders || c->jobs || c->summary || w->shown < w->list->n ||
         surg__os_is_terminal(fileno(stderr));
}

int fleet_run(const fleet *f, const fleet_list *list) {
  const size_t jobs = f->common->jobs ? f->common->jobs : 1;
  crew w = {.f = f, .list = list, .width = jobs + AHEAD, .code = list->code};
  w.slots = calloc(w.width, sizeof *w.slots);
  if (!w.slots) return cli_no_memory();
  cli_unlimit_time();
  cli_stop_on_signals();
  if (!f->common->quiet && list->n) cli_progress_start("starting");
  run_all(&w, jobs);
  stop(&w);
  cli_progress_stop();
  if (wants_total(&w)) total(&w);
  if (w.shown < list->n) w.code = cli_worse(w.code, EXIT_LIMIT);
  free(w.slots);
  return w.code;
}
