/* SPDX-License-Identifier: Apache-2.0 */
/* Public getters in the form that most callers want: whatever prevents the answer is "unknown". */
#ifndef SURG_COUNTED_H
#define SURG_COUNTED_H

#include <onnxsurg/onnxsurg.h>

/* surg_tensor_read_ints: the number of elements, or -1 if they are not in `out`. */
static inline int64_t surg__read_ints(const surg_tensor *t, int64_t *out, size_t cap) {
  size_t n;
  return surg_tensor_read_ints(t, out, cap, &n) == SURG_OK ? (int64_t)n : -1;
}

/* surg_value_elements: the number of elements, or -1 if they are not in `out`. */
static inline int64_t surg__known_elements(const surg_value *v, surg_elem *out, size_t cap) {
  size_t n;
  return surg_value_elements(v, out, cap, &n) == SURG_OK ? (int64_t)n : -1;
}

/* surg_tensor_strings: the strings, or NULL if they cannot be read. */
static inline const surg_str *surg__strings(const surg_tensor *t) {
  const surg_str *s;
  return surg_tensor_strings(t, &s) == SURG_OK ? s : NULL;
}

#endif
