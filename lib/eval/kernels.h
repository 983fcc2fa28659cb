/* SPDX-License-Identifier: Apache-2.0 */
/* Declares every kernel that the kernels*.def name. */
#ifndef SURG_KERNELS_H
#define SURG_KERNELS_H

#include "eval/eval.h"

#define KERNEL(op, first, last, fn) surg__kstatus fn(surg_kctx *k);
#include "eval/kernels.def"
#include "eval/kernels_move.def"
#include "eval/kernels_value.def"
#include "eval/kernels_net.def"
#undef KERNEL

#endif
