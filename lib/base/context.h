/* SPDX-License-Identifier: Apache-2.0 */
/* The context: allocator, limits, hash seed, diagnostics, registry. Only one thread at a time may
 * use it. */
#ifndef SURG_CONTEXT_H
#define SURG_CONTEXT_H

#include "base/diag.h"

#define SURG__QUOTES 8

struct surg_context {
  surg_config config;
  uint64_t seed;
  uint64_t bytes, peak;
  surg_status alloc_status;
  char *error; /* first error line since cleared; separate heap block */
  surg_status error_status;
  uint32_t warnings; /* counted, whether printed or not */
  uint32_t max_warnings; /* maximum number of printed warnings */
  surg_status line_status; /* status of the error that is being reported */
  const char *code;  /* rule of the finding in the next line (doc/check.md), or NULL; only the
                      * callback of that line sees it */
  char *quotes[SURG__QUOTES];
  unsigned quote_next;
  surg_registry *registry;                           /* lib/pass; created on first use */
  void (*registry_free)(surg_context *, surg_registry *); /* no dependency on lib/pass */
  struct surg__rules *rules;                              /* lib/rewrite; created on first use */
  void (*rules_free)(struct surg__rules *);
  size_t (*rules_cut)(struct surg__rules *, size_t keep); /* drops those of the user past `keep` */
  struct surg__customs *customs;                          /* lib/schema/custom.h; NULL: none */
  void (*customs_free)(struct surg__customs *);
  struct surg__taught *taught; /* base/taught.h; NULL: nothing */
  uint64_t deadline;    /* of the pass that runs, as surg__os_now_ns; kernels ask; 0: none */
  const char *rule;     /* name of the rewrite rule that is applied, for the log; or NULL */
  const char *last_rule; /* of the last rewrite; NULL: it was none of a rule */
  bool isolate_plugins; /* passes of plugins run in child processes */
  /* runtime limits, from config or limits.h */
  uint64_t max_memory;
  uint32_t max_depth;
};

/* SURG_ELIMIT: the deadline has passed; SURG_ECANCELLED: the user cancels; else SURG_OK. Costs a
 * call of the user, so kernels ask between pieces of some ms. */
surg_status surg__overdue(surg_context *ctx);

#endif
