/* SPDX-License-Identifier: Apache-2.0 */
/* Declares every kernel in the kernels*.def files. */
#ifndef SURG_KERNELS_H
#define SURG_KERNELS_H

#include "eval/core/eval.h"

#define KERNEL(op, first, last, fn) surg__kstatus fn(surg_kctx *k);
#include "eval/core/kernels.def"
#include "eval/core/kernels_move.def"
#include "eval/core/kernels_value.def"
#include "eval/core/kernels_net.def"
#undef KERNEL

#endif
