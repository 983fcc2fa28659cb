/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: it lacks the one symbol. */
int some_other_function(void);
__attribute__((visibility("default"))) int some_other_function(void) {
  return 0;
}
