/* SPDX-License-Identifier: Apache-2.0 */
/* The search for passes after which a target objects to nothing; for `repair`, verdicts, `doctor`.
 */
#ifndef SURG_REPAIR_H
#define SURG_REPAIR_H

#include "cli.h"
#include "target/target.h"

/* What the user consents to: the worst that rewrites may be, and whether inputs and outputs may
 * change. */
typedef struct repair_consent {
  surg_exactness most;
  bool interface;
} repair_consent;
#define REPAIR_NO_CONSENT ((repair_consent){SURG_ROUNDING, false})
#define REPAIR_ALL_CONSENT ((repair_consent){SURG_LOSSY, true})
/* Puts "freeze{N=1,x.2=224}", NUL-terminated: open sizes of inputs as they are given (or NULL), and
 * all others by a guess, if that is wanted (the first axis 1, heights and widths 224, others 16;
 * `ones`: all 1). Nothing where none is open; false where there are too many. */
bool repair_freeze(const surg_model *m, const cli_dims *given, bool guess, bool ones,
                   surg__buf *out);
/* The first of what is given that is no open size of an input, or NULL. */
const char *repair_no_size(const surg_model *m, const cli_dims *given);
/* How often shapes contradict each other, or what operators take. */
size_t repair_contradictions(surg_model *m);

/* "approx,interface" (what is not said stays as it is); an exit code after a line. */
int repair_take_consent(const char *words, repair_consent *c);
/* "--allow approx,interface", or nothing where none is needed. */
void repair_spell_consent(char *out, size_t size, repair_consent c);

/* What a target objects to. */
typedef struct repair_counts {
  size_t count[SURG__C_SAYS + 1]; /* by cause, those that refuse */
  size_t all, unknown;
  size_t misread; /* of all: imported, and computed otherwise */
  surg__buf *ops; /* refused operators, as "A+B"; NULL: not asked for */
} repair_counts;
surg_status repair_count(const surg__target *t, surg_model *m, repair_counts *out, surg__buf *ops);

/* Puts what callers see of a model, line by line: which inputs there are and of what type and size,
 * those with a default too, and the element types of outputs. */
surg_status repair_put_interface(surg_model *m, surg__buf *out);
/* Puts the cure that leaves Casts to the caller, NUL-terminated, where he is left none by now: two,
 * one behind the other, he could not make one. False: out of memory. */
bool repair_uncast(surg_model *m, const surg__buf *origin, surg__buf *out);

/* Runs a pipeline on a model, with rewrites that the consents let; *needed: the consents that it
 * took. Not SURG_OK: it cannot be run there, and *m is NULL; SURG_ENOMEM: for want of memory alone.
 */
surg_status repair_run(surg_context *ctx, surg_model **m, const char *text, repair_consent given,
                       bool verify_each, repair_consent *needed);
/* Whether one consent covers another. */
bool repair_covers(repair_consent a, repair_consent b);

typedef struct repair {
  surg_context *ctx; /* of the model; its lines should go nowhere, as cures that fail have some */
  const surg__target *t;
  surg__target lenient; /* the same, where what is misread is left at last */
  surg_model *m;     /* owned; as far as it is cured */
  repair_consent given;
  bool verify_each;
  bool is_strict;        /* now: no cure that leads to what is not known */
  unsigned depth;        /* of a search ahead in a search; 0: of none */
  uint64_t worked[2];    /* nodes of models that were tried: by itself, by searches ahead */
  uint64_t *work;        /* ... of the search that started this one, or NULL */
  bool is_wider;         /* of a search ahead: changes inputs and outputs, too */
  const surg__buf *origin; /* the interface that the model came with; NULL before the search */
  surg__buf first;       /* where `origin` points, in a search that is nobody's */
  const cli_dims *dims;  /* sizes that the user gives, or NULL */
  repair_consent used;   /* that what was done needed */
  repair_consent wanted; /* that the cures need that were not done */
  surg__buf pipeline;    /* what was done; NUL-terminated after the search */
  surg__buf refused;     /* cures that would help with consent, likewise */
  bool is_nearer;        /* for a target with a host: also looks for fewer nodes on the host */
  /* Of a supported model: nodes on its host now and before, and how many nodes there are. */
  size_t elsewhere, was, nodes;
  surg_status failure;   /* memory ran out, so that it is not known what helps */
} repair;

typedef surg_status (*repair_search_fn)(repair *r, repair_counts *after);
/* After the search, for a target with a host (repair_host.c). */
surg_status repair_nearer(repair *r, repair_counts *after, repair_search_fn search);

/* Takes the model. The passes must be registered in the context. */
void repair_init(repair *r, surg_context *ctx, const surg__target *t, surg_model *m,
                 repair_consent given);
surg_status repair_find(repair *r, repair_counts *before, repair_counts *after);
void repair_free(repair *r);

#endif
