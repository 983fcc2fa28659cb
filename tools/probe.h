/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg probe`: models of one node that ask an importer what it takes, and what is learned. */
#ifndef SURG_PROBE_H
#define SURG_PROBE_H

#include "cli.h"
#include "probe/importer.h"
#include "schema/schema.h"
#include "target/target.h"

/* What a model asks. */
typedef enum probe_what {
  PROBE_OPSET,    /* an opset of a domain */
  PROBE_IR,
  PROBE_DYNAMIC,  /* sizes of inputs that are not fixed: 1 the batch, 2 all */
  PROBE_FUNCTION, /* 0 a function of the model, 1 an operator that nobody knows */
  PROBE_ORDER,    /* a node before the one it reads */
  PROBE_BASE,     /* a version of an operator, in one of its forms */
  PROBE_TYPE,     /* an element type of a type parameter */
  PROBE_TYPES,    /* ... and of all others that have the same one in the base */
  PROBE_INPUT,    /* an input that is constant in the base comes from outside */
  PROBE_GIVEN,    /* an optional input or output that the base leaves out */
  PROBE_VALUE,    /* a value of an attribute */
  PROBE_SET,      /* an attribute with a value that is no single number or text */
  PROBE_LEFT,     /* an attribute of the base is left out */
  PROBE_RANK,
  PROBE_FED,      /* all inputs are constants */
  PROBE_OPEN      /* open sizes of inputs: 1 the first of each, 2 all */
} probe_what;

/* Forms of a base: bits. */
#define PROBE_CONSTANTS 1u /* all inputs but the first are constants */
#define PROBE_REQUIRED 2u  /* optional inputs and outputs are left out */
#define PROBE_FORMS 4u

typedef struct probe_case {
  probe_what what;
  const surg_schema *schema; /* of the version; NULL: about the engine */
  size_t line;               /* of surg__probe_models */
  unsigned form;
  const char *name;   /* of a domain, type parameter, input, output, attribute */
  const char *value;  /* of a text attribute */
  int64_t number;     /* element type, rank, opset ... or of a number attribute */
  bool base;          /* the case whose form others of the version start from */
  bool taken, asked, impossible; /* impossible: the engine's IR versions have no such thing */
  char *why;          /* heap; NULL where taken */
  surg__verdict forecast; /* of the target that is inherited */
} probe_case;

typedef struct probe {
  surg_context *ctx;
  surg_importer *im;
  surg__target *inherit; /* NULL: none */
  int64_t ir_low, ir_high;
  SURG_VEC(surg__tspan) opsets; /* by domain, as asked */
  SURG_VEC(probe_case) cases;
  size_t asked;          /* cases of before */
  uint64_t models;       /* that were made */
  uint64_t deadline_ns;  /* 0: none */
  const char *only;      /* operators to ask about, "A+B"; NULL: all */
  surg_status failure;   /* a question could not be written or held in memory: no answer is right */
  bool quiet;
  FILE *log;             /* of answers; NULL: none */
} probe;

/* --- probe_models.c --- */
/* Operators by the lines that show them: the op id of a line, 0 where the text does not hold. */
int probe_line_op(probe *p, size_t line);
/* The model of a case, types inferred; NULL: there is none. */
surg_model *probe_model(probe *p, const probe_case *c);
/* Its node under test. */
surg_node *probe_node(surg_model *m);

/* --- probe_cases.c: rounds, each of what was accepted in those before --- */
bool probe_add_engine(probe *p);
bool probe_add_ir(probe *p);
bool probe_add_rest(probe *p); /* open sizes, functions */
bool probe_add_bases(probe *p);
bool probe_add_forms(probe *p);
/* The rank of a value, -1 where it is not known. */
int64_t probe_rank(const surg_value *v);

/* --- probe_learn.c --- */
/* The opsets and IR versions of the cases asked so far. */
void probe_learn_windows(probe *p);
/* The target as JSON text. */
json_t *probe_learn(const probe *p, const char *name);
/* Writes it so that people can read it. */
void probe_put(surg__buf *f, const json_t *target);

#endif
