/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel interface. A kernel computes one node from complete inputs. It is pure, deterministic
 * and bounded: before it computes, it requests every output (surg__k_out) and its work
 * (surg__k_work), and it allocates memory only through its context.
 *
 * Arrays are unpacked, aligned, in native byte order: one byte per element for bool and for
 * sub-byte types (sign-extended if signed), uint16_t bits for FLOAT16 and BFLOAT16, uint8_t bits
 * for float8 and float4, surg_str for STRING, pairs for complex. Conversions use only base/dtype.h.
 * int64 is never converted to double: integers wrap at the width of their type.
 *
 * Floats: + - * / are those of the element type (half and bfloat16 in float, which rounds to the
 * same result). Every other function, and every sum or product of float, half and bfloat16
 * elements, is computed in double, in index order, and rounded once at the end. The code is
 * compiled with -ffp-contract=off, so results differ between machines at most in the last bit of C
 * library functions. */
#ifndef SURG_EVAL_H
#define SURG_EVAL_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"

/* The dtype of arrays that are not tensors: `data` is a surg__list of `count` arrays (value.h). A
 * map has two, its keys and its values. The numbers are above every SURG_DTYPE. */
enum { SURG__V_SEQUENCE = 64, SURG__V_OPTIONAL = 65, SURG__V_MAP = 66 };

typedef struct surg__array {
  int dtype; /* SURG_UNDEFINED: absent optional */
  uint32_t rank;
  const int64_t *dims;
  uint64_t count;
  void *data;
  struct surg__cell *cell; /* owner of data and dims; NULL: they outlive the array */
  const struct surg__stream *stream; /* the elements, if `data` is NULL (stream.h); else NULL */
} surg__array;

typedef enum surg__kstatus {
  SURG__K_OK = 0,
  SURG__K_CANNOT, /* not defined here, or not portable: `why` is set */
  SURG__K_BUDGET,
  SURG__K_NOMEM,
  SURG__K_INVALID /* the inputs violate the rules of the operator: `why` is set */
} surg__kstatus;

typedef struct surg_kctx {
  surg_context *ctx;
  surg__arena *arena;    /* memory of this evaluation */
  const surg_node *node; /* for attributes: surg_node_int(k->node, "axis", 0) ... */
  int op, since;         /* the operator and the since-version in force */
  const surg__array *in; /* n_in entries */
  uint32_t n_in, n_out;
  surg__array *out;   /* n_out entries; filled by surg__k_out */
  const bool *wanted; /* whether output i is present on the node */
  uint64_t max_bytes, max_work, bytes, work;
  const char *why;        /* static text, set with CANNOT and INVALID */
  /* True when a model is run, false when one node is folded. If the standard leaves a result
   * undefined, a fold is refused and a run computes the result of runtimes. In a run, outputs are
   * cells. */
  bool running;
  const char *open; /* set in a run: the first undefined result, static text */
  const uint64_t *seed; /* for random operators; NULL: they are not computed */
  /* Runs a subgraph of the node; the caller drops `outputs`. */
  surg__kstatus (*call)(struct surg_kctx *k, surg_graph *g, const surg__array *inputs,
                        size_t n_inputs, surg__array *outputs, size_t n_outputs);
  void *machine;
  bool lacking; /* set: there is no kernel for the operator */
  /* Asked by surg__k_stopped; NULL: only the context is asked. */
  surg_status (*late)(struct surg_kctx *k);
  surg_status stopped; /* why the kernel must end; its results are not used */
} surg_kctx;

struct surg__taught_operator;

typedef surg__kstatus (*surg__kernel)(surg_kctx *k);

/* The kernel of an operator version, or NULL. The table is lib/eval/core/kernels.def. */
surg__kernel surg__kernel_find(int op, int since);

/* Computes a node by the callback of a registered operator (base/taught.h). */
surg__kstatus surg__taught_kernel(surg_kctx *k, const struct surg__taught_operator *o);

/* --- for kernels (lib/eval/core/kctx.c) --- */
static inline bool surg__k_has(const surg_kctx *k, uint32_t i) {
  return i < k->n_in && k->in[i].dtype != SURG_UNDEFINED;
}
/* Allocates output i (uninitialised); an output that is not wanted gets data NULL. Checks
 * dimensions, budget and memory. */
surg__kstatus surg__k_out(surg_kctx *k, uint32_t i, int dtype, const int64_t *dims, uint32_t rank);
/* Makes output i a view of input `in` with another shape, without a copy. */
surg__kstatus surg__k_alias(surg_kctx *k, uint32_t i, uint32_t in, const int64_t *dims,
                            uint32_t rank);
surg__kstatus surg__k_work(surg_kctx *k, uint64_t operations);
/* Whether the kernel must end at once: the user cancels, or time is up. A kernel that computes for
 * long asks between pieces of some ms and then returns anything. */
bool surg__k_stopped(surg_kctx *k);
/* Requests the work of nested loops: the product of their counts. */
surg__kstatus surg__k_work_product(surg_kctx *k, const uint64_t *counts, size_t n);
surg__kstatus surg__k_cannot(surg_kctx *k, const char *why);
surg__kstatus surg__k_invalid(surg_kctx *k, const char *why);
/* For a result that the standard defines and that common runtimes compute differently: OK in a run;
 * CANNOT in a fold, which would replace the result of the runtime. */
surg__kstatus surg__k_disputed(surg_kctx *k, const char *why);
/* As surg__k_disputed, for an operator that is defined only by a runtime. */
surg__kstatus surg__k_own(surg_kctx *k);
void *surg__k_scratch(surg_kctx *k, size_t count, size_t size); /* NULL: out of memory */
/* Converts an axis in [-rank, rank) to 0 <= axis < rank; false: out of range. */
bool surg__k_axis(int64_t axis, uint32_t rank, uint32_t *out);
/* Index of a string attribute (absent: `fallback`) in a list of `n` words; n: not in the list. */
int surg__node_word(const surg_node *node, const char *name, const char *fallback,
                    const char *const *words, int n);
int surg__k_word(const surg_kctx *k, const char *name, const char *fallback,
                 const char *const *words, int n);
/* Elements of an INT32 or INT64 array as int64 in scratch memory; NULL: wrong type or no memory. */
const int64_t *surg__k_ints(surg_kctx *k, uint32_t in, uint64_t *count);
/* The common shape under multidirectional broadcasting; false: the shapes do not match. `dims` has
 * room for SURG_LIMIT_RANK entries. */
bool surg__broadcast_dims(const surg__array *const *arrays, uint32_t n, int64_t *dims,
                          uint32_t *rank);
/* Strides of `a`, in elements, for each axis of the broadcast shape (0 where `a` is repeated). */
void surg__broadcast_strides(const surg__array *a, const int64_t *dims, uint32_t rank,
                             int64_t *strides);

/* Reads a tensor into an array in `arena`, external and typed data included; strings are
 * borrowed. */
surg_status surg__array_from_tensor(surg_context *ctx, surg__arena *arena, const surg_tensor *t,
                                    surg__array *out);
/* A new tensor of the model with the elements of an array. NULL: out of memory. */
surg_tensor *surg__array_to_tensor(surg_model *m, const surg__array *a);

/* Computes one node in a run: as surg_node_evaluate, on arrays. `in` and `out` have an entry for
 * each input and output of the node (absent ones UNDEFINED). `run` provides the scratch arena,
 * limits, seed and call; its work and, on failure, its `why` are set. The caller drops the
 * results. */
surg_status surg__node_compute(surg_node *n, surg_kctx *run, const surg__array *in,
                               surg__array *out);

#define SURG__K_TRY(e)                         \
  do {                                         \
    surg__kstatus surg__s = (e);               \
    if (surg__s != SURG__K_OK) return surg__s; \
  } while (0)

#endif
