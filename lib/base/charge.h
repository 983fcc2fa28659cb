/* SPDX-License-Identifier: Apache-2.0 */
/* The memory limit of a context for what libraries allocate themselves. */
#ifndef SURG_CHARGE_H
#define SURG_CHARGE_H

#include "base/base.h"

/* Counts bytes against the limit. False: they exceed it; surg__oom reports that. */
bool surg__charge(surg_context *ctx, uint64_t bytes);
void surg__uncharge(surg_context *ctx, uint64_t bytes);

#endif
