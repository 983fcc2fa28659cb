/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of ONNX and of runtimes: every version with its signature, what changed from version to
 * version, function bodies. More getters are in onnxsurg.h (surg_schema_*). Everything here is
 * static. Since 0.2. */
#ifndef ONNXSURG_SCHEMA_H
#define ONNXSURG_SCHEMA_H

#include <onnxsurg/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an operator is by nature; bits of surg_schema_flags. */
#define SURG_SCHEMA_COMMUTATIVE 1u       /* its two inputs can be swapped */
#define SURG_SCHEMA_ELEMENTWISE 2u       /* inputs broadcast; one output */
#define SURG_SCHEMA_DATA_MOVER 4u        /* elements of outputs are elements of inputs */
#define SURG_SCHEMA_CONTROL_FLOW 8u      /* it has subgraphs */
#define SURG_SCHEMA_NONDETERMINISTIC 16u /* two runs on equal inputs may differ */
#define SURG_SCHEMA_DEPRECATED 32u       /* this version removes the operator */
#define SURG_SCHEMA_TRAINING_MODE 64u    /* nondeterministic in training mode */
#define SURG_SCHEMA_HAS_BODY 512u        /* the specification gives a function body */

/* Version i of an operator of onnxsurg/ops.h, oldest first. NULL: past the end, or no such
 * operator.
 */
SURG_EXPORT const surg_schema *surg_schema_version(int op, size_t i);
/* The flags of a version. */
SURG_EXPORT uint32_t surg_schema_flags(const surg_schema *s);

/* How often an input or output occurs. */
typedef enum surg_param_option {
  SURG_PARAM_SINGLE = 0,
  SURG_PARAM_OPTIONAL = 1,
  SURG_PARAM_VARIADIC = 2
} surg_param_option;

/* A formal input or output. */
typedef struct surg_schema_param {
  uint32_t size; /* set by the caller: sizeof(surg_schema_param) */
  const char *name;
  const char *type; /* a type parameter ("T"), or a type ("tensor(int64)") */
  bool is_type_param;
  int32_t option;   /* a surg_param_option */
  bool homogeneous; /* variadic: all of one type */
  size_t at_least;  /* variadic: how many there must be */
} surg_schema_param;
/* Fills in input i, or output i if `output`. SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_schema_param_at(const surg_schema *s, bool output, size_t i,
                                             surg_schema_param *out);

/* A type parameter. */
typedef struct surg_schema_type {
  uint32_t size; /* set by the caller: sizeof(surg_schema_type) */
  const char *name;
  const char *const *types; /* "tensor(float)", "seq(tensor(int64))" ...; ends with NULL */
} surg_schema_type;
/* Fills in type parameter i. SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_schema_type_at(const surg_schema *s, size_t i, surg_schema_type *out);
/* The types that a type parameter or type (`type` of a surg_schema_param) allows as words: `floats,
 * int32, sequences of strings`. To free with surg_context_free_bytes. *groups (may be NULL): the
 * groups that are named, bit g for surg_schema_group(g). SURG_ENOMEM */
SURG_EXPORT surg_status surg_schema_types_text(surg_context *ctx, const surg_schema *s,
                                               const char *type, char **text, uint32_t *groups);
/* The name of a group of element types ("floats"), and in *types its members, bit d for element
 * type d. NULL past the end. Static text. */
SURG_EXPORT const char *surg_schema_group(size_t g, uint32_t *types);

/* The value of an attribute that is absent. */
typedef struct surg_schema_default {
  uint32_t size; /* set by the caller: sizeof(surg_schema_default) */
  int32_t kind;  /* a surg_attr_kind */
  int64_t i;
  float f;
  const char *s;
  const int64_t *ints;
  const float *floats;
  const char *const *strings;
  size_t count; /* of ints, floats or strings */
} surg_schema_default;
/* Fills in the default of attribute i. SURG_ENOTFOUND: it has none. */
SURG_EXPORT surg_status surg_schema_attr_default(const surg_schema *s, size_t i,
                                                 surg_schema_default *out);
/* That default as text: `-1`, `"NOTSET"`, `[1, 2]`; "" if there is none. To free with
 * surg_context_free_bytes. SURG_ENOMEM */
SURG_EXPORT surg_status surg_schema_default_text(surg_context *ctx, const surg_schema *s, size_t i,
                                                 char **text);
/* "int", "floats", ...; NULL for other numbers. Static text. */
SURG_EXPORT const char *surg_attr_kind_name(int32_t kind);

/* The function body i of a version: ONNX text of a function, for models of *opset (may be NULL).
 * NULL past the end; bodies that depend on types are not listed. Static text. */
SURG_EXPORT const char *surg_schema_body_text(const surg_schema *s, size_t i, int64_t *opset);

/* What changed in a version, a line each; "" if nothing but its description. `s` is not the first
 * version: SURG_ENOTFOUND. To free with surg_context_free_bytes. SURG_ENOMEM */
SURG_EXPORT surg_status surg_schema_changes(surg_context *ctx, const surg_schema *s, char **text);
/* Under which conditions an unchanged node means the same in version `s` and the one before it:
 * converted to `s`, or if `down` from it. *possible: it can; *text: `axis >= 0 and input 1 is a
 * scalar`, "" for always. To free with surg_context_free_bytes. SURG_ENOTFOUND: the first version.
 * SURG_ENOMEM */
SURG_EXPORT surg_status surg_schema_step(surg_context *ctx, const surg_schema *s, bool down,
                                         bool *possible, char **text);
/* What a version changes that its signature does not show; NULL: nothing that is known. Static
 * text. */
SURG_EXPORT const char *surg_schema_step_note(const surg_schema *s);

#ifdef __cplusplus
}
#endif
#endif
