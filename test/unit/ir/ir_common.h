/* SPDX-License-Identifier: Apache-2.0 */
/* Building small models for the tests of the graph IR. */
#ifndef IR_COMMON_H
#define IR_COMMON_H

#include <check.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"

#define ck_ok(call) ck_assert_int_eq((call), SURG_OK)
/* The status, and one error line that holds the text. */
#define ck_refused(ctx, call, want, text)                                     \
  do {                                                                        \
    surg_context_clear_error(ctx);                                            \
    ck_assert_int_eq((call), (want));                                         \
    ck_assert_ptr_nonnull(surg_context_error(ctx));                           \
    ck_assert_msg(strstr(surg_context_error(ctx), (text)) != NULL, "%s",      \
                  surg_context_error(ctx));                                   \
    surg_context_clear_error(ctx);                                            \
  } while (0)

static inline surg_context *new_context(void) {
  surg_config config = {.size = sizeof config, .seed = 7};
  surg_context *ctx = surg_context_new(&config);
  ck_assert_ptr_nonnull(ctx);
  return ctx;
}

static inline surg_node *add1(surg_graph *g, const char *op, surg_value *in) {
  surg_node *n = surg_graph_add_node(g, NULL, NULL, op, 1);
  if (in) surg_node_set_input(n, 0, in);
  return n;
}

static inline surg_value *out0(surg_node *n) {
  return surg_node_output(n, 0);
}

static inline const surg_type *f32(surg_model *m) {
  surg_dim dims[2] = {{2, NULL}, {-1, "N"}};
  return surg_type_tensor(m, SURG_FLOAT, dims, 2);
}

static inline surg_tensor *i64(surg_model *m, int64_t v) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)((uint64_t)v >> (8 * i));
  return surg_tensor_new(m, SURG_INT64, NULL, 0, bytes, 8);
}

#endif
