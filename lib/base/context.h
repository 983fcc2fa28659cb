/* SPDX-License-Identifier: Apache-2.0 */
/* The context: allocator, limits, hash seed, diagnostics, registry. One thread at a time. */
#ifndef SURG_CONTEXT_H
#define SURG_CONTEXT_H

#include "base/diag.h"

#define SURG__QUOTES 8

struct surg_context {
  surg_config config;
  uint64_t seed;
  uint64_t bytes, peak;
  surg_status alloc_status;
  char *error; /* first error line since cleared, heap of its own */
  surg_status error_status;
  uint32_t warnings; /* printed or counted */
  uint32_t max_warnings; /* printed at most */
  surg_status line_status; /* of the error that is being told */
  const char *code;  /* rule of the finding that the next line tells (doc/check.md), or NULL; only
                        the callback of that line sees it */
  char *quotes[SURG__QUOTES];
  unsigned quote_next;
  surg_registry *registry;                           /* lib/pass; made on first use */
  void (*registry_free)(surg_context *, surg_registry *); /* so that base need not know pass */
  struct surg__rules *rules;                              /* lib/rewrite; made on first use */
  void (*rules_free)(struct surg__rules *);
  struct surg__customs *customs;                          /* lib/schema/custom.h; NULL: none */
  void (*customs_free)(struct surg__customs *);
  /* runtime limits, from config or limits.h */
  uint64_t max_memory;
  uint32_t max_depth;
};

#endif
