/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of lib/pass share. */
#ifndef SURG_PASS_PRIVATE_H
#define SURG_PASS_PRIVATE_H

#include <regex.h>

#include "base/context.h"
#include "pass/pass.h"

typedef struct surg__plugin {
  void *handle;     /* of dlopen; never closed */
  const char *name; /* lives in the plugin */
} surg__plugin;

typedef struct surg__entry {
  const surg_pass *pass;
  const char *origin; /* plugin name, or NULL */
} surg__entry;

struct surg_registry {
  surg_context *ctx;
  SURG_VEC(surg__entry) passes;
  SURG_VEC(const surg__preset *) presets;
  SURG_VEC(surg__plugin) plugins;
  const surg__former *former; /* of built-in passes */
  size_t n_former;
  const char *origin; /* the plugin whose init runs now */
  const char *path;   /* its file, for messages */
  bool refused;       /* a registration failed since origin was set */
  bool builtins;      /* surg_context_passes registered them, */
  bool lacking;       /* ... or failed to */
  bool running;       /* a pipeline runs: runs do not nest */
};

typedef struct surg__named_words {
  const char *name;
  const char **list;
  size_t n;
} surg__named_words;

#define SURG__PAIRS 1000u /* most of one pass in a pipeline */

/* The value of one option of one scheduled pass. */
typedef struct surg__optval {
  bool given;       /* by the user, not the fallback */
  const char *text; /* canonical, for printing; NULL when unset */
  int64_t i;        /* BOOL and INT */
  const char *s;    /* STRING */
  const char **list;
  size_t n;
  surg__named_words *pairs; /* PAIRS; room for SURG__PAIRS from the first on */
  size_t n_pairs;
} surg__optval;

typedef struct surg__pipeline_step {
  struct surg__pipeline_step *next;
  const surg_pass *pass; /* NULL: repeat, or guard */
  surg__optval *options; /* as many as the pass declares */
  struct surg__pipeline_step *body;
  int64_t max; /* rounds of a repeat; 0: a guard, or allow */
  bool size;   /* of a guard: judges bytes, too */
  bool allows; /* allow{...}: the class that its body may use is */
  surg_exactness allow;
} surg__pipeline_step;

struct surg__pipeline {
  surg_context *ctx;
  surg__arena arena;
  surg__pipeline_step *first;
};

/* One word of pipeline text: a bare or quoted string. */
typedef struct surg__word {
  const char *s;
  bool quoted;
} surg__word;

/* --- options.c --- */
/* Fills `out` from the words of `name=a+b`; n 0 stands for a bare `name`. Returns NULL, or what is
 * wrong with the value (static text), or SURG__OPT_NOMEM. Copies into the arena. */
const char *surg__option_parse(surg__arena *arena, const surg_option *opt, const surg__word *words,
                               size_t n, surg__optval *out);
extern const char surg__opt_nomem[];
/* Adds `name=a+b` to a PAIRS option. Same results; what is wrong may be the name. */
const char *surg__option_pair(surg__arena *arena, const char *name, const surg__word *words,
                              size_t n, surg__optval *out);
/* Fills `out` with the option's fallback. Same results. */
const char *surg__option_fallback(surg__arena *arena, const surg_option *opt, surg__optval *out);
bool surg__name_valid(const char *s); /* of a pass, preset or option */

/* --- keep.c: what the user protects --- */
typedef struct surg__keep {
  surg_context *ctx;
  SURG_VEC(const char *) names; /* sorted */
  SURG_VEC(const char *) ops;   /* sorted; "Type" or "domain.Type" */
  SURG_VEC(regex_t *) patterns;
} surg__keep;
surg_status surg__keep_init(surg__keep *k, surg_context *ctx, const char *const *specs, size_t n);
void surg__keep_free(surg__keep *k);
bool surg__keep_name(const surg__keep *k, const char *name);
/* Pins the weights of a model: initializers that hold numbers other than sizes and places. */
void surg__pin_weights(surg_model *m);
void surg__unpin_weights(surg_model *m);
bool surg__keep_op(const surg__keep *k, const surg_node *n);

/* --- log.c: --log and --map, fed by the events of the model --- */
typedef struct surg__log surg__log;
/* Opens the files and listens to the model. *out NULL when neither is asked for. */
surg_status surg__log_open(surg_model *m, const char *log_path, const char *map_path,
                           surg__log **out);
void surg__log_pass(surg__log *l, const char *pass, uint64_t round);
void surg__log_pass_end(surg__log *l, const char *result, uint64_t ns);
void surg__log_note(surg__log *l, const char *text);
/* Goes on with another model, as if nothing had been done so far. False: no memory. */
bool surg__log_restart(surg__log *l, surg_model *m);
/* Stops listening, writes the map when `ok`, closes. The model must still be alive. */
surg_status surg__log_close(surg__log *l, bool ok);

/* --- runner.c, context.c --- */
typedef struct surg__runner {
  surg_context *ctx;
  surg_registry *registry;
  surg_model *model;
  const surg__run_options *options;
  surg__run_report *report;
  surg__keep keep;
  surg__log *log;
  uint64_t deadline; /* 0: none */
  bool timed_out;
  bool sorted; /* every graph is known to be in order */
  uint64_t epoch; /* of the model when the run began */
  bool has_allow; /* inside of allow{...}: the least of those around */
  surg_exactness allow;
} surg__runner;

struct surg_pass_ctx {
  surg__runner *run;
  const surg_pass *pass;
  const surg__pipeline_step *step;
  size_t report; /* index of its surg__pass_report */
  surg__arena scratch;
  surg_status told;    /* of surg_pass_fail or surg_pass_usage, once called */
  bool told_used;      /* surg_pass_used was called */
  surg_exactness used, needs; /* the worst that it said; of what the user must consent to */
  bool no_memory;      /* a call of the pass ran out of memory */
  char undeclared[64]; /* an option it asked for and did not declare, or empty */
};

/* SURG_EUSAGE, located at `flag`: a name is neither a pass nor `also` (NULL: none). */
surg_status surg__check_pass_names(const surg_registry *r, const char *flag,
                                   const char *const *names, size_t n, const char *also);
/* Whether the deadline is over; remembers. */
bool surg__run_late(surg__runner *r);
/* `pass "x"`, or `pass "x" of plugin "p"`; one of the context's rotating texts. */
const char *surg__pass_title(surg__runner *r, const surg_pass *pass);
/* Checks what the pass left behind: order, cycles, and all that surg_model_verify checks. */
surg_status surg__check_after(surg__runner *r, const surg_pass *pass);
surg_status surg__sort_all(surg__runner *r);

/* Notes and warnings of the context go nowhere in between: they are said once, when it counts. */
typedef struct surg__mute {
  surg_context *ctx;
  surg_diag_fn diag;
  void *user;
} surg__mute;
void surg__mute_begin(surg_context *ctx, surg__mute *m);
void surg__mute_end(const surg__mute *m);

/* --- report.c --- */
/* The entry of a pass, made when it is new; false: out of memory. */
bool surg__report_entry(surg__run_report *report, const surg_pass *pass, size_t *index);
bool surg__report_count(surg__run_report *report, size_t index, const char *what, uint64_t by);
bool surg__report_note(surg__run_report *report, size_t index, const char *line);
/* Keeps a copy; false: out of memory. */
bool surg__report_undone(surg__run_report *report, const surg__undone *one);
/* A step begins: nodes that its last call left are looked at again. */
void surg__report_begin(surg__run_report *report, const surg__pipeline_step *step);
/* The run is over: what was found is no longer listed. */
void surg__report_end(surg__run_report *report);

#endif
