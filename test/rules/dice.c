/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers drawn from a seed. */
#include "rules.h"

unsigned roll(dice *d, unsigned n) {
  d->state += 0x9e3779b97f4a7c15u;
  uint64_t z = d->state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (unsigned)((z ^ (z >> 31)) >> 33) % n;
}
bool chance(dice *d, unsigned percent) {
  return roll(d, 100) < percent;
}
