/* SPDX-License-Identifier: Apache-2.0 */
/* The search for passes after which a target has no objection. onnxsurg/repair.h is its public
 * side. */
#ifndef SURG_REPAIR_INTERNAL_H
#define SURG_REPAIR_INTERNAL_H

#include <onnxsurg/repair.h>

#include "base/base.h"
#include "target/target.h"

/* What the user consents to: the worst that rewrites may be, and whether inputs and outputs may
 * change. */
typedef struct surg__consent {
  surg_exactness most;
  bool interface;
} surg__consent;
#define SURG__NO_CONSENT ((surg__consent){SURG_ROUNDING, false})
#define SURG__ALL_CONSENT ((surg__consent){SURG_LOSSY, true})
/* Sizes that the user gives open dimensions of inputs. */
typedef struct surg__sizes {
  const surg_size *items;
  size_t n;
} surg__sizes;
/* Puts "freeze{N=1,x.2=224}", NUL-terminated: open sizes of inputs as they are given (or NULL), and
 * all others by a guess, if that is wanted (the first axis 1, heights and widths 224, others 16;
 * `ones`: all 1). Nothing where none is open; false where there are too many. */
bool surg__repair_freeze(const surg_model *m, const surg__sizes *given, bool guess, bool ones,
                         surg__buf *out);
/* The first of what is given that is no open size of an input, or NULL. */
const char *surg__repair_no_size(const surg_model *m, const surg__sizes *given);
/* How often shapes contradict each other, or what operators take. */
size_t surg__repair_contradictions(surg_model *m);

/* What a target objects to. */
typedef struct surg__repair_counts {
  size_t count[SURG__C_SAYS + 1]; /* by cause, those that refuse */
  size_t all, unknown;
  size_t misread; /* of all: imported, and computed otherwise */
  surg__buf *ops; /* refused operators, as "A+B"; NULL: not asked for */
} surg__repair_counts;
surg_status surg__repair_count(const surg__target *t, surg_model *m, surg__repair_counts *out,
                               surg__buf *ops);

/* Puts what callers see of a model, line by line: which inputs there are and of what type and size,
 * those with a default too, and the element types of outputs. */
surg_status surg__repair_put_interface(surg_model *m, surg__buf *out);
/* Puts the cure that leaves Casts to the caller, NUL-terminated, where he is left none by now: two,
 * one behind the other, he could not make one. False: out of memory. */
bool surg__repair_uncast(surg_model *m, const surg__buf *origin, surg__buf *out);

/* Runs a pipeline on a model, with rewrites that the consents let; *needed: the consents that it
 * took. Not SURG_OK: it cannot be run there, and *m is NULL; SURG_ENOMEM: for want of memory alone.
 */
surg_status surg__repair_run(surg_context *ctx, surg_model **m, const char *text,
                             surg__consent given, bool verify_each, surg__consent *needed);
/* Reports what is wrong with a model that cannot be mended within the consent. */
void surg__repair_report_defects(const surg_model *model, surg__consent given);
/* Whether one consent covers another. */
bool surg__repair_covers(surg__consent a, surg__consent b);

typedef struct surg__repair {
  surg_context *ctx; /* of the model; its lines should go nowhere, as cures that fail have some */
  const surg__target *t;
  surg__target lenient; /* the same, where what is misread is left at last */
  surg_model *m;        /* owned; as far as it is cured */
  surg__consent given;
  bool verify_each;
  bool is_strict;           /* now: no cure that leads to what is not known */
  unsigned depth;           /* of a search ahead in a search; 0: of none */
  uint64_t worked[2];       /* nodes of models that were tried: by itself, by searches ahead */
  uint64_t *work;           /* ... of the search that started this one, or NULL */
  bool is_wider;            /* of a search ahead: changes inputs and outputs, too */
  const surg__buf *origin;  /* the interface that the model came with; NULL before the search */
  surg__buf first;          /* where `origin` points, in a search that is nobody's */
  const surg__sizes *sizes; /* sizes that the user gives, or NULL */
  surg__consent used;       /* that what was done needed */
  surg__consent wanted;     /* that the cures need that were not done */
  surg__buf pipeline;       /* what was done; NUL-terminated after the search */
  surg__buf refused;        /* cures that would help with consent, likewise */
  bool is_nearer;           /* for a target with a host: also looks for fewer nodes on the host */
  /* Of a supported model: nodes on its host now and before, and how many nodes there are. */
  size_t elsewhere, was, nodes;
  surg_status failure; /* memory ran out, so that it is not known what helps */
} surg__repair;

typedef surg_status (*surg__repair_search_fn)(surg__repair *r, surg__repair_counts *after);
/* After the search, for a target with a host (host.c). */
surg_status surg__repair_nearer(surg__repair *r, surg__repair_counts *after,
                                surg__repair_search_fn search);

/* Takes the model. The passes must be registered in the context. */
void surg__repair_init(surg__repair *r, surg_context *ctx, const surg__target *t, surg_model *m,
                       surg__consent given);
surg_status surg__repair_find(surg__repair *r, surg__repair_counts *before,
                              surg__repair_counts *after);
void surg__repair_free(surg__repair *r);

#endif
