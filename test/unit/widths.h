/* SPDX-License-Identifier: Apache-2.0 */
/* Loops compiled into a test once more, with the choice of the variant in the test's hands: include
 * this before the .c file they are in. */
#ifndef SURG_TEST_WIDTHS_H
#define SURG_TEST_WIDTHS_H

#include "eval/fast/hot.h"

static int variant; /* 0: plain, 1: AVX2, 2: AVX-512 */

/* How many this machine has. */
static inline int count_variants(void) {
  return surg__cpu_widest() ? 3 : surg__cpu_wide() ? 2 : 1;
}

#define surg__cpu_wide() (variant >= 1)
#define surg__cpu_widest() (variant >= 2)

#endif
