/* SPDX-License-Identifier: Apache-2.0 */
/* Custom operators that a user defines in a schema file (doc/schema-files.md): signature,
 * attributes, types and shapes. They belong to a context. Their nodes have class CUSTOM, which
 * passes do not change. */
#ifndef SURG_CUSTOM_H
#define SURG_CUSTOM_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"
#include "base/limits.h"

/* One step of a dim expression in postfix order. */
typedef enum surg__custom_code {
  SURG__C_NUM,  /* pushes `n` */
  SURG__C_NAME, /* pushes the symbol `name`, or else the attribute */
  SURG__C_ITEM, /* pushes element `n` of the attribute `name` */
  SURG__C_ADD,  /* pops two operands and pushes the result, as do the next ones */
  SURG__C_SUB,
  SURG__C_MUL,
  SURG__C_DIV, /* rounded down, or up if `n` is set */
  SURG__C_MOD,
  SURG__C_MIN,
  SURG__C_MAX
} surg__custom_code;
typedef struct surg__custom_step {
  surg__custom_code code;
  int64_t n;
  const char *name;
} surg__custom_step;

/* One dim: `count` steps; 0: unknown. */
typedef struct surg__custom_dim {
  const surg__custom_step *steps;
  uint32_t count;
} surg__custom_dim;

typedef enum surg__custom_shape {
  SURG__SHAPE_OPEN, /* unspecified */
  SURG__SHAPE_DIMS,
  SURG__SHAPE_LIKE /* the shape of an input */
} surg__custom_shape;

typedef struct surg__custom_param {
  const char *name, *type; /* a type parameter, an element type, or "any" */
  bool optional, variadic;
  surg__custom_shape shape;
  const surg__custom_dim *dims;
  uint32_t rank;
  uint32_t like; /* index of that input */
} surg__custom_param;

typedef struct surg__custom_attr {
  const char *name;
  surg_attr_kind kind; /* UNDEFINED: any kind */
  bool required;
  uint32_t n; /* number of integers in an INT or INTS default */
  int64_t ints[SURG_LIMIT_SCHEMA_INTS];
} surg__custom_attr;

typedef struct surg__custom_type {
  const char *name;
  uint32_t mask; /* bit d: dtype d */
} surg__custom_type;

typedef struct surg__custom {
  const char *domain, *op;
  const surg__custom_param *inputs, *outputs;
  const surg__custom_attr *attrs;
  const surg__custom_type *types;
  uint32_t n_inputs, n_outputs, n_attrs, n_types;
  size_t place; /* number of operators that were added before it */
} surg__custom;

/* The definition of a CUSTOM operator in the context, or NULL. O(log operators). */
const surg__custom *surg__custom_find(const surg_context *ctx, const char *domain, const char *op);
const surg__custom_attr *surg__custom_attr_find(const surg__custom *s, const char *name);
/* The element types of a parameter as a bit set; "any": all. */
uint32_t surg__custom_mask(const surg__custom *s, const char *type);
/* The formal parameter at position i; a variadic last one also for later positions; or NULL. */
const surg__custom_param *surg__custom_formal(const surg__custom_param *list, uint32_t n, size_t i);

/* Number of operators of the context, for surg__customs_cut. */
size_t surg__customs_count(const surg_context *ctx);
/* Removes all but the `keep` operators that were added first. */
void surg__customs_cut(surg_context *ctx, size_t keep);

/* --- for custom_parse.c --- */
struct surg__customs {
  surg_context *ctx;
  surg__arena arena;
  SURG_VEC(surg__custom *) list; /* sorted by domain, operator */
};
/* Reads a file into c; reports SURG_EINVALID with the line number. */
surg_status surg__customs_parse(struct surg__customs *c, const char *text, size_t n,
                                const char *name);

#endif
