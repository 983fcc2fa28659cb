/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel tests as tables. A row is one node: operator (`domain:Operator` outside ai.onnx), opset,
 * attributes, inputs, and its outputs or the refusal expected (`unsupported`, `invalid`, `limit`; a
 * digit behind it is the number of outputs). Tensors are written `int64[2,3]: 1 2 3 4 5 6`,
 * separated by `|`; `-` is an absent input or output; outputs that start with `~` need to agree to
 * one part in a million (a thousand for 16-bit floats), others exactly, any NaN with any NaN; a `!`
 * before all says that a fold refuses the node and a run computes it. Attributes are written
 * `axis=1; perm=[1,0]; alpha=0.5; mode=edge; value=float[1]: 5`;
 * a list with a point in it has floats, one with letters strings. Nodes that are never made
 * constants (random, training) are computed as in a run. */
#ifndef SURG_KERNEL_ROWS_H
#define SURG_KERNEL_ROWS_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"
#include "../unit.h"

typedef struct kernel_row {
  const char *op;
  int opset;
  const char *attrs, *inputs, *outputs;
} kernel_row;

/* Of a test: every test has a new one, and gives all of its memory back. */
extern surg_context *kernel_ctx;
/* A case of such tests. */
TCase *kernel_case(void);
/* The test `name`, which checks the rows of `name_rows`, and how it gets into a case. */
#define KERNEL_TEST(name)                           \
  START_TEST(name) {                                \
    kernel_row_check(kernel_ctx, &name##_rows[_i]); \
  }                                                 \
  END_TEST
#define KERNEL_ADD(c, name) tcase_add_loop_test(c, name, 0, (int)SURG_COUNT(name##_rows))

/* Builds the node in a model of its own, evaluates it and aborts the test where it differs; then
 * shakes it, ONNXSURG_ROUNDS times. */
void kernel_row_check(surg_context *ctx, const kernel_row *r);
/* The node of a row in a new model. */
surg_node *kernel_row_build(surg_context *ctx, const kernel_row *r, size_t n_out, surg_model **m);
/* kernel_shake.c: the node with other shapes, elements and attributes, `rounds` times: it must
 * answer, and a run gives what a fold does. */
void kernel_row_shake(surg_context *ctx, const kernel_row *r, unsigned rounds);
/* eval_edges.c: the node at every version of its operator, with axes of 0 and 1 elements and with
 * scalars, `rounds` times: it answers, a refusal says why, and a result has the type and shape that
 * inference proves, its inputs constants or inputs of the model. */
void kernel_row_edges(surg_context *ctx, const kernel_row *r, unsigned rounds);
/* eval_edges_faults.c: the node where memory runs out, at every allocation in builds that inject
 * failures, else at ever higher limits: it says so, keeps nothing, and computes the next time. */
void kernel_row_starve(surg_context *ctx, const kernel_row *r);
/* Computes a node from its constants as a run does: random ones too. */
surg_status kernel_node_run(surg_context *ctx, surg_node *node, surg_tensor **out, size_t n_out,
                            const char **why);

#endif
