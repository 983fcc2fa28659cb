/* SPDX-License-Identifier: Apache-2.0 */
/* Generates models of one node, runs an importer on them, and learns from the answers what it
 * supports. */
#ifndef SURG_PROBE_INTERNAL_H
#define SURG_PROBE_INTERNAL_H

#include <jansson.h>
#include <onnxsurg/evaluate.h>
#include <onnxsurg/probe.h>

#include "probe/importer.h"
#include "schema/schema.h"
#include "target/target.h"

#define SURG__PROBE_PATH (64 + 4096) /* bytes of the path of a generated model */

/* The question that a model asks. */
typedef enum surg__probe_what {
  SURG__PROBE_OPSET, /* an opset of a domain */
  SURG__PROBE_IR,
  SURG__PROBE_DYNAMIC,  /* input sizes that are not fixed: 1 the first axis, 2 all */
  SURG__PROBE_FUNCTION, /* 0 a function of the model, 1 an operator that does not exist */
  SURG__PROBE_ORDER,    /* a node precedes its producer */
  SURG__PROBE_BASE,     /* a version of an operator, in one of its forms */
  SURG__PROBE_TYPE,     /* an element type of a type parameter */
  SURG__PROBE_TYPES,    /* ... and of all inputs that have the same type in the base */
  SURG__PROBE_INPUT,    /* an input that is constant in the base is a model input */
  SURG__PROBE_GIVEN,    /* an optional input or output that the base omits */
  SURG__PROBE_VALUE,    /* a value of an attribute */
  SURG__PROBE_SET,      /* an attribute whose value is no single number or string */
  SURG__PROBE_LEFT,     /* an attribute of the base is omitted */
  SURG__PROBE_RANK,
  SURG__PROBE_FED,   /* all inputs are constants */
  SURG__PROBE_CONST, /* an input that is a model input in the base is constant */
  SURG__PROBE_OPEN   /* input sizes that are not fixed: 1 the first of each input, 2 all */
} surg__probe_what;

/* Forms of a base, as bits. */
#define SURG__PROBE_CONSTANTS 1u /* all inputs but the first are constants */
#define SURG__PROBE_REQUIRED 2u  /* optional inputs and outputs are omitted */
#define SURG__PROBE_FORMS 4u

/* A question about the engine or a version of an operator, and its answer. */
typedef struct surg__probe_case {
  surg__probe_what what;
  const surg_schema *schema; /* version of the operator; NULL: a question about the engine */
  size_t line;               /* index into surg__probe_models */
  unsigned form;
  const char *name;  /* of the domain, type parameter, input, output or attribute in
                      * question */
  const char *value; /* value of a string attribute; for OPSET an operator */
  int64_t number;    /* element type, rank, opset, version or value of an INT
                      * attribute */
  bool base;         /* an accepted base case from which other cases of the version are
                      * derived */
  bool narrow;  /* ... for forms that the rows of the bases before it do not describe: its own row
                 * requires its constants, ranks and attributes */
  bool formed;  /* a base whose derived cases were added */
  bool placed;  /* its model was written for the importer */
  size_t root;  /* index of the base case that it is derived from */
  bool differs; /* taken, and computed differently from ONNX */
  bool taken, asked, impossible; /* impossible: needs an IR version that the engine does not
                                  * support */
  char *why;                     /* message; heap; NULL if accepted and computed as expected */
  surg__verdict forecast;        /* verdict of the inherited target */
} surg__probe_case;

/* The state of a probe: all cases, and what is known of the engine so far. */
typedef struct surg__probe {
  surg_context *ctx;
  surg_importer *im;
  surg_engine *engine;         /* computes expected outputs; NULL: not needed yet */
  const surg__target *inherit; /* NULL: none */
  int64_t ir_low, ir_high;
  SURG_VEC(surg__tspan) opsets; /* by domain, as learned */
  SURG_VEC(surg__probe_case) cases;
  size_t asked;         /* cases before this index are processed */
  uint64_t models;      /* number of models generated */
  uint64_t deadline_ns; /* 0: none */
  const char *only;     /* operators to probe, "A+B"; NULL: all */
  surg_status failure;  /* a model could not be generated or written: the answers are unusable */
  surg_probe_options options;
} surg__probe;

/* Whether the probe was stopped before case i was asked. */
bool surg__probe_left(const surg__probe *p, size_t i);

/* --- models.c --- */
/* The operator id of a line of surg__probe_models; 0: the line is invalid. */
int surg__probe_line_op(surg__probe *p, size_t line);
/* The model of a case, with inferred types; owned by the caller. NULL: no valid model exists. */
surg_model *surg__probe_model(surg__probe *p, const surg__probe_case *c);
/* The node under test: the last of the main graph. */
surg_node *surg__probe_node(surg_model *m);

/* --- data.c --- */
/* Writes inputs of the model and the outputs that the built-in evaluator computes to the new folder
 * PATH.data. False: it cannot, or the results are not determined; the folder does not exist then.
 */
bool surg__probe_write_data(surg__probe *p, surg_model *m, const char *path);
/* Removes PATH.data, if it exists. */
void surg__probe_remove_data(const char *path);

/* --- cases.c: each round is derived from the answers of the rounds before; false: no memory --- */
bool surg__probe_add_engine(surg__probe *p);
bool surg__probe_add_ir(surg__probe *p);
bool surg__probe_add_rest(surg__probe *p); /* symbolic sizes, node order, functions */
bool surg__probe_add_bases(surg__probe *p);
bool surg__probe_add_forms(surg__probe *p); /* of bases that have none yet */
/* The rank of a value; -1: unknown. */
int64_t surg__probe_rank(const surg_value *v);

/* --- cover.c --- */
/* Marks one more base for each version that has an accepted form of which the learned target says
 * otherwise. *more: whether there is any. */
surg_status surg__probe_cover(surg__probe *p, bool *more);
/* Adds to the facts of a narrow base what its model has and no case varies: constants, ranks,
 * attributes and optional inputs. */
void surg__probe_pin(const surg__probe *p, const surg__probe_case *base, size_t root,
                     json_t *facts);

/* --- learn.c --- */
/* Learns the supported opsets and IR versions from the cases asked so far. */
void surg__probe_learn_windows(surg__probe *p);
/* The learned target as JSON; owned by the caller. */
json_t *surg__probe_learn(const surg__probe *p, const char *name);
/* Writes a target as readable JSON text. */
void surg__probe_put(surg__buf *f, const json_t *target);

#endif
