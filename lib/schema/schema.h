/* SPDX-License-Identifier: Apache-2.0 */
/* The operator table: every version of every operator, from the tables of this folder. */
#ifndef SURG_SCHEMA_H
#define SURG_SCHEMA_H

#include <onnxsurg/onnxsurg.h>

/* Flags of an operator version. */
#define SURG__OP_COMMUTATIVE 1u      /* two inputs may be swapped */
#define SURG__OP_ELEMENTWISE 2u      /* broadcasting, one output */
#define SURG__OP_DATA_MOVER 4u       /* output elements are input elements */
#define SURG__OP_CONTROL_FLOW 8u     /* runs subgraphs: nondeterministic only through them */
#define SURG__OP_NONDETERMINISTIC 16u
#define SURG__OP_DEPRECATED 32u
#define SURG__OP_TRAINING_MODE 64u   /* nondeterministic only with training_mode set */
#define SURG__OP_VARIADIC_IN 128u
#define SURG__OP_VARIADIC_OUT 256u
#define SURG__OP_HAS_BODY 512u       /* the spec gives it a function body */
#define SURG__OP_CONTRIB 1024u       /* a runtime's own: its signature may grow under one version */

typedef enum surg__param_option {
  SURG__SINGLE = 0,
  SURG__OPTIONAL = 1,
  SURG__VARIADIC = 2
} surg__param_option;

typedef struct surg__param {
  const char *name;
  const char *type; /* a type parameter of the schema ("T") or a literal type string */
  uint8_t option;
  bool homogeneous;
} surg__param;
typedef struct surg__attr_def {
  const char *name;
  surg_attr_kind kind;
  bool required, has_default;
  int64_t i;
  float f;
  const char *s;
  const int64_t *ints; /* INTS default (FLOATS and STRINGS defaults: see ops.table) */
  const char *const *strings;
  const float *floats;
  uint32_t n;
} surg__attr_def;
/* A type parameter: which types it may be, as a bit set of tensor dtypes plus others by string. */
typedef struct surg__type_param {
  const char *name;
  const char *const *types; /* "tensor(float)", "seq(tensor(int64))" ...; NULL ends */
  uint32_t tensor_mask;     /* bit d: tensor of dtype d is allowed */
} surg__type_param;

struct surg_schema {
  const char *domain, *name;
  int op; /* enum surg_op */
  int since;
  uint32_t flags;
  uint32_t min_in, max_in, min_out, max_out; /* UINT32_MAX: unbounded */
  const surg__param *inputs, *outputs;
  uint32_t n_inputs, n_outputs;
  const surg__attr_def *attrs;
  uint32_t n_attrs;
  const surg__type_param *params;
  uint32_t n_params;
};

const surg__attr_def *surg__schema_attr(const surg_schema *s, const char *name);
/* Whether both are there and to leave them out means the same. */
bool surg__attr_default_same(const surg__attr_def *a, const surg__attr_def *b);
/* The formal parameter of input or output i, a variadic one for all from it on; NULL: none. */
const surg__param *surg__schema_formal(const surg_schema *s, bool output, size_t i);
/* The type parameter that a formal parameter has, or NULL where its type is a literal. */
const surg__type_param *surg__schema_type_param(const surg_schema *s, const surg__param *p);
/* The versions of an operator, the oldest first; NULL where `op` is none. */
const surg_schema *surg__schema_versions(int op, size_t *count);
/* Whether ONNX tried the operator and took it back: its checker lets it be, some runtimes have it.
 */
bool surg__schema_withdrawn(const char *domain, const char *op_type);
/* All versions, grouped by operator, since-versions rising. */
extern const surg_schema surg__schemas[];
extern const size_t surg__schema_count;
/* Operator id -> "Relu", domain; for messages. */
const char *surg__op_name(int op);

#endif
