/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel contract. A kernel computes one node from complete inputs. It is pure, deterministic
 * and bounded: it asks for every output (surg__k_out) and for its work (surg__k_work) before it
 * computes, and never allocates otherwise than through its context.
 *
 * Arrays are unpacked, aligned, in native order: one byte an element for bool and for sub-byte
 * types (sign-extended where signed), uint16_t bits for FLOAT16 and BFLOAT16, uint8_t bits for
 * float8 and float4, surg_str for STRING, pairs for complex. Conversions go through
 * base/dtype.h alone. int64 never passes through double: integers wrap at the width of their type.
 *
 * Floats: + - * / are those of the type (half and bfloat16 in float, which rounds them the same);
 * every other function and every sum or product of float, half and bfloat16 elements is computed
 * in double, in index order, and rounded once at the end. Compiled with -ffp-contract=off, so the
 * only thing that may differ between machines is the last bit of the C library's functions. */
#ifndef SURG_EVAL_H
#define SURG_EVAL_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"

/* What an array is when it is no tensor: `data` is a surg__list of `count` arrays (eval/value.h).
 * A map has two, its keys and its values. Beyond every SURG_DTYPE. */
enum { SURG__V_SEQUENCE = 64, SURG__V_OPTIONAL = 65, SURG__V_MAP = 66 };

typedef struct surg__array {
  int dtype; /* SURG_UNDEFINED: absent optional */
  uint32_t rank;
  const int64_t *dims;
  uint64_t count;
  void *data;
  struct surg__cell *cell; /* what keeps data and dims; NULL: they outlive whoever looks at them */
} surg__array;

typedef enum surg__kstatus {
  SURG__K_OK = 0,
  SURG__K_CANNOT, /* not defined here, or not portable: why is set */
  SURG__K_BUDGET,
  SURG__K_NOMEM,
  SURG__K_INVALID /* the inputs break the operator's rules: why is set */
} surg__kstatus;

typedef struct surg_kctx {
  surg_context *ctx;
  surg__arena *arena;    /* of this evaluation */
  const surg_node *node; /* for attributes: surg_node_int(k->node, "axis", 0) ... */
  int op, since;         /* the operator and the since-version in force */
  const surg__array *in; /* n_in entries */
  uint32_t n_in, n_out;
  surg__array *out;   /* n_out entries; filled by surg__k_out */
  const bool *wanted; /* output i is present on the node */
  uint64_t max_bytes, max_work, bytes, work;
  const char *why;        /* static text after CANNOT and INVALID */
  /* Of a running model; false and NULL when single nodes are folded. Where the standard leaves a
   * result open, a fold is refused and a run computes what runtimes give. Outputs are cells. */
  bool running;
  const char *open; /* set in a run: the first such result, in static text */
  const uint64_t *seed; /* for operators that are random; NULL: they are not computed */
  /* Runs a subgraph of the node; `outputs` are the caller's to drop. */
  surg__kstatus (*call)(struct surg_kctx *k, surg_graph *g, const surg__array *inputs,
                        size_t n_inputs, surg__array *outputs, size_t n_outputs);
  void *machine;
} surg_kctx;

typedef surg__kstatus (*surg__kernel)(surg_kctx *k);

/* The kernel of an operator version, or NULL. Rows stand in lib/eval/core/kernels.def. */
surg__kernel surg__kernel_find(int op, int since);

/* --- for kernels (lib/eval/core/kctx.c) --- */
static inline bool surg__k_has(const surg_kctx *k, uint32_t i) {
  return i < k->n_in && k->in[i].dtype != SURG_UNDEFINED;
}
/* Allocates output i (uninitialised), or does nothing when it is not wanted (data NULL then).
 * Checks dims, budget and memory. */
surg__kstatus surg__k_out(surg_kctx *k, uint32_t i, int dtype, const int64_t *dims, uint32_t rank);
/* Makes output i the elements of input `in` under another shape, without a copy. */
surg__kstatus surg__k_alias(surg_kctx *k, uint32_t i, uint32_t in, const int64_t *dims,
                            uint32_t rank);
surg__kstatus surg__k_work(surg_kctx *k, uint64_t operations);
/* The work of nested loops: the product of their counts. */
surg__kstatus surg__k_work_product(surg_kctx *k, const uint64_t *counts, size_t n);
surg__kstatus surg__k_cannot(surg_kctx *k, const char *why);
surg__kstatus surg__k_invalid(surg_kctx *k, const char *why);
/* For what the standard settles and runtimes in use compute another way: OK when a model is run,
 * CANNOT when it is folded, since the result would take the place of what they gave. */
surg__kstatus surg__k_disputed(surg_kctx *k, const char *why);
/* The same for an operator that nobody but a runtime says what it is. */
surg__kstatus surg__k_own(surg_kctx *k);
void *surg__k_scratch(surg_kctx *k, size_t count, size_t size); /* NULL: out of memory */
/* An axis as ONNX writes it, to 0 <= axis < rank; false when out of range. */
bool surg__k_axis(int64_t axis, uint32_t rank, uint32_t *out);
/* Place of a string attribute (absent: `fallback`) among `n` words; n: it is none of them. */
int surg__node_word(const surg_node *node, const char *name, const char *fallback,
                    const char *const *words, int n);
int surg__k_word(const surg_kctx *k, const char *name, const char *fallback,
                 const char *const *words, int n);
/* Elements of an INT32 or INT64 array as int64 in scratch; NULL: wrong type or no memory. */
const int64_t *surg__k_ints(surg_kctx *k, uint32_t in, uint64_t *count);
/* The common shape under multidirectional broadcasting: false when there is none. `dims` holds
 * SURG_LIMIT_RANK entries. */
bool surg__broadcast_dims(const surg__array *const *arrays, uint32_t n, int64_t *dims,
                          uint32_t *rank);
/* Steps in elements of `a` for each axis of the broadcast shape (0 where it repeats). */
void surg__broadcast_strides(const surg__array *a, const int64_t *dims, uint32_t rank,
                             int64_t *strides);

/* Reads a tensor into an array in `arena` (external and typed data too); strings are borrowed. */
surg_status surg__array_from_tensor(surg_context *ctx, surg__arena *arena, const surg_tensor *t,
                                    surg__array *out);
/* A new tensor of the model from an array. NULL: out of memory. */
surg_tensor *surg__array_to_tensor(surg_model *m, const surg__array *a);

/* surg_node_evaluate of a running model: `in` and `out` have an entry for each input and output of
 * the node (absent ones UNDEFINED). `run` gives the arena for scratch, limits, seed and call; back
 * come work and, on failure, why. The caller drops the results. */
surg_status surg__node_compute(surg_node *n, surg_kctx *run, const surg__array *in,
                               surg__array *out);

#define SURG__K_TRY(e)                         \
  do {                                         \
    surg__kstatus surg__s = (e);               \
    if (surg__s != SURG__K_OK) return surg__s; \
  } while (0)

#endif
