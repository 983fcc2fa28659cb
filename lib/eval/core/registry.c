/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the kernel of an operator version. */
#include "eval/core/kernels.h"

/* Groups the rows of one operator: the compiler turns the chain of tests of `op` into a switch. */
surg__kernel surg__kernel_find(int op, int since) {
#define KERNEL(name, first, last, fn) \
  if (op == SURG_OP_##name && since >= (first) && since <= (last)) return fn;
#include "eval/core/kernels.def"
#include "eval/core/kernels_move.def"
#include "eval/core/kernels_value.def"
#include "eval/core/kernels_net.def"
#undef KERNEL
  return NULL;
}
