/* SPDX-License-Identifier: Apache-2.0 */
/* Models of one node that ask an importer what it supports, and what is learned. */
#ifndef SURG_PROBE_INTERNAL_H
#define SURG_PROBE_INTERNAL_H

#include <jansson.h>
#include <onnxsurg/probe.h>

#include "probe/importer.h"
#include "schema/schema.h"
#include "target/target.h"

#define SURG__PROBE_PATH (64 + 4096) /* bytes of the path of a question */

/* What a model asks. */
typedef enum surg__probe_what {
  SURG__PROBE_OPSET, /* an opset of a domain */
  SURG__PROBE_IR,
  SURG__PROBE_DYNAMIC,  /* sizes of inputs that are not fixed: 1 the batch, 2 all */
  SURG__PROBE_FUNCTION, /* 0 a function of the model, 1 an operator that nobody knows */
  SURG__PROBE_ORDER,    /* a node before the one it reads */
  SURG__PROBE_BASE,     /* a version of an operator, in one of its forms */
  SURG__PROBE_TYPE,     /* an element type of a type parameter */
  SURG__PROBE_TYPES,    /* ... and of all others that have the same one in the base */
  SURG__PROBE_INPUT,    /* an input that is constant in the base comes from outside */
  SURG__PROBE_GIVEN,    /* an optional input or output that the base leaves out */
  SURG__PROBE_VALUE,    /* a value of an attribute */
  SURG__PROBE_SET,      /* an attribute with a value that is no single number or text */
  SURG__PROBE_LEFT,     /* an attribute of the base is left out */
  SURG__PROBE_RANK,
  SURG__PROBE_FED, /* all inputs are constants */
  SURG__PROBE_OPEN /* open sizes of inputs: 1 the first of each, 2 all */
} surg__probe_what;

/* Forms of a base: bits. */
#define SURG__PROBE_CONSTANTS 1u /* all inputs but the first are constants */
#define SURG__PROBE_REQUIRED 2u  /* optional inputs and outputs are left out */
#define SURG__PROBE_FORMS 4u

typedef struct surg__probe_case {
  surg__probe_what what;
  const surg_schema *schema; /* of the version; NULL: about the engine */
  size_t line;               /* of surg__probe_models */
  unsigned form;
  const char *name;              /* of a domain, type parameter, input, output, attribute */
  const char *value;             /* of a text attribute */
  int64_t number;                /* element type, rank, opset ... or of a number attribute */
  bool base;                     /* the case whose form others of the version start from */
  bool taken, asked, impossible; /* impossible: the engine's IR versions have no such thing */
  char *why;                     /* heap; NULL where taken */
  surg__verdict forecast;        /* of the target that is inherited */
} surg__probe_case;

typedef struct surg__probe {
  surg_context *ctx;
  surg_importer *im;
  const surg__target *inherit; /* NULL: none */
  int64_t ir_low, ir_high;
  SURG_VEC(surg__tspan) opsets; /* by domain, as asked */
  SURG_VEC(surg__probe_case) cases;
  size_t asked;         /* cases of before */
  uint64_t models;      /* that were made */
  uint64_t deadline_ns; /* 0: none */
  const char *only;     /* operators to ask about, "A+B"; NULL: all */
  surg_status failure;  /* a question could not be written or held in memory: no answer is right */
  surg_probe_options options;
} surg__probe;

/* --- models.c --- */
/* Operators by the lines that show them: the op id of a line, 0 where the text does not hold. */
int surg__probe_line_op(surg__probe *p, size_t line);
/* The model of a case, types inferred; NULL: there is none. */
surg_model *surg__probe_model(surg__probe *p, const surg__probe_case *c);
/* Its node under test. */
surg_node *surg__probe_node(surg_model *m);

/* --- cases.c: rounds, each of what was accepted in those before --- */
bool surg__probe_add_engine(surg__probe *p);
bool surg__probe_add_ir(surg__probe *p);
bool surg__probe_add_rest(surg__probe *p); /* open sizes, functions */
bool surg__probe_add_bases(surg__probe *p);
bool surg__probe_add_forms(surg__probe *p);
/* The rank of a value, -1 where it is not known. */
int64_t surg__probe_rank(const surg_value *v);

/* --- surg__probe_learn.c --- */
/* The opsets and IR versions of the cases asked so far. */
void surg__probe_learn_windows(surg__probe *p);
/* The target as JSON text. */
json_t *surg__probe_learn(const surg__probe *p, const char *name);
/* Writes it so that people can read it. */
void surg__probe_put(surg__buf *f, const json_t *target);

#endif
