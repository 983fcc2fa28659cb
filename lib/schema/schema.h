/* SPDX-License-Identifier: Apache-2.0 */
/* The operator table: all versions of all operators, from the tables in this folder. */
#ifndef SURG_SCHEMA_H
#define SURG_SCHEMA_H

#include <onnxsurg/onnxsurg.h>

/* Flags of an operator version. */
#define SURG__OP_COMMUTATIVE 1u      /* its two inputs can be swapped */
#define SURG__OP_ELEMENTWISE 2u      /* supports broadcasting, one output */
#define SURG__OP_DATA_MOVER 4u       /* output elements are input elements */
#define SURG__OP_CONTROL_FLOW 8u     /* has subgraphs; nondeterministic only if they are */
#define SURG__OP_NONDETERMINISTIC 16u
#define SURG__OP_DEPRECATED 32u
#define SURG__OP_TRAINING_MODE 64u   /* nondeterministic only with training_mode set */
#define SURG__OP_VARIADIC_IN 128u
#define SURG__OP_VARIADIC_OUT 256u
#define SURG__OP_HAS_BODY 512u       /* the specification defines a function body */
#define SURG__OP_CONTRIB 1024u       /* defined by a runtime; may change within a version */

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
  const int64_t *ints; /* INTS default; for FLOATS and STRINGS defaults see ops.table */
  const char *const *strings;
  const float *floats;
  uint32_t n;
} surg__attr_def;
/* A type parameter: the types it allows, as a bit set of tensor types and as strings. */
typedef struct surg__type_param {
  const char *name;
  const char *const *types; /* "tensor(float)", "seq(tensor(int64))" ...; NULL-terminated */
  uint32_t tensor_mask;     /* bit d: tensors of dtype d are allowed */
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
/* Whether both attributes exist and omitting either has the same meaning. */
bool surg__attr_default_same(const surg__attr_def *a, const surg__attr_def *b);
/* The formal parameter of input or output i; a variadic one for all later positions; NULL: none. */
const surg__param *surg__schema_formal(const surg_schema *s, bool output, size_t i);
/* The type parameter of a formal parameter, or NULL if its type is a literal. */
const surg__type_param *surg__schema_type_param(const surg_schema *s, const surg__param *p);
/* The versions of an operator, oldest first; NULL if `op` is not an operator of the table. */
const surg_schema *surg__schema_versions(int op, size_t *count);
/* Whether ONNX withdrew this experimental operator: its checker accepts it, and some runtimes
 * implement it. */
bool surg__schema_withdrawn(const char *domain, const char *op_type);
/* All versions, grouped by operator, with increasing since-versions. */
extern const surg_schema surg__schemas[];
extern const size_t surg__schema_count;
/* The name of an operator id, e.g. "Relu", for messages. */
const char *surg__op_name(int op);
/* The operator of the domain ("" for ONNX) whose name is most similar to a word; NULL: none is. */
const char *surg__schema_nearest(const char *domain, const char *word);

#endif
