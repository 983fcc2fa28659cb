/* SPDX-License-Identifier: Apache-2.0 */
/* What every unit test ends with, and what several begin with. */
#ifndef SURG_TEST_UNIT_H
#define SURG_TEST_UNIT_H

#include <check.h>
#include <stdint.h>

/* How many of n random rounds: a sanitizer, which looks at what is touched and not at what comes
 * out, does with a few. */
#define UNIT_ROUNDS(n) (SURG__SANITIZED ? ((n) + 7) / 8 : (n))

/* Runs the suite and frees it: the exit code of the program. */
static inline int unit_run(Suite *s) {
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  const int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}

/* What random numbers come from; not 0. */
static inline uint64_t *unit_state(void) {
  static uint64_t state = 88172645463325252u;
  return &state;
}

static inline uint64_t unit_random(void) {
  uint64_t *state = unit_state();
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* From low to high, both included. */
static inline uint64_t unit_between(uint64_t low, uint64_t high) {
  return low + (unit_random() >> 11) % (high - low + 1);
}

#endif
