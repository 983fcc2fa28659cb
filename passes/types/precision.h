/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of element types with the fewest Casts: what to-float16 and its relatives share.
 *
 * Every type parameter of a node is a *slot*: all inputs and outputs that share it have one element
 * type. A slot moves to the new type or stays. A value is made in one slot and read in others; it
 * needs one Cast if a reader decides otherwise than its producer. Constants are converted where
 * they are stored and are made in no slot. Slots that must stay are pinned with a reason
 * (precision_pins.c); a minimum cut decides the others (precision_cut.c). */
#ifndef SURG_PASSES_PRECISION_H
#define SURG_PASSES_PRECISION_H

#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/precision.h>
#include <onnxsurg/schema.h>

#include "../util/phases.h"
#include "../util/samples.h"
#include "../util/table.h"

#define PREC_NONE UINT32_MAX
#define PREC_TEXT 400 /* bytes of a line of the report */

/* What a value was before the conversion and is after it, in all runs together. */
typedef struct prec_difference {
  double signal, noise; /* squares of finite elements before, and of differences */
  bool met, wrong;      /* compared; sizes, kinds, infinities or NaN differ */
} prec_difference;

/* Why a slot stays. */
typedef enum prec_why {
  PREC_FREE = 0, /* it may move */
  PREC_INTERFACE,
  PREC_KEPT,     /* protected by the user */
  PREC_UNCHOSEN, /* not among the nodes that the user chose */
  PREC_OPERATOR, /* the operator has no schema */
  PREC_SCHEMA,   /* the operator does not accept the type */
  PREC_IR,       /* the IR version does not have the type */
  PREC_TARGET,   /* the target has no such kernel */
  PREC_TYPES,    /* types of other inputs are unknown or differ */
  PREC_FIXED,    /* the type of an output cannot be set */
  PREC_RANDOM,
  PREC_SPARSE,
  PREC_BITS,     /* the operator reads the bits of elements */
  PREC_ABSENT,   /* the elements are not available */
  PREC_BOUND,    /* a value passes the range of the type */
  PREC_MEASURED, /* a measured value is near the end of the range */
  PREC_TINY,     /* values are too small for all digits of the type */
  PREC_UNPROVEN, /* integers: no proof that a value fits */
  PREC_LARGE,    /* a constant passes the range of the type */
  PREC_SMALL,    /* a constant would lose its digits or become 0 */
  PREC_ATTR_LARGE,
  PREC_ATTR_SMALL,
  PREC_RARE,      /* hardly any engine has it in the type */
  PREC_SENSITIVE, /* the operator loses digits or overflows in the type */
  PREC_QUANTIZED,
  PREC_WIDTH,   /* integers: the result may depend on the width */
  PREC_INTEGER, /* it computes numbers that become integers */
  PREC_CHOICE,  /* it is compared to choose other elements */
  PREC_STATE,   /* a loop adds to it */
  PREC_FINE,    /* an operator magnifies errors of its small elements */
  PREC_PHASE,   /* only its part within a period matters */
  PREC_PLACE,   /* a position in an image */
  PREC_CANCEL,  /* a difference of much larger values */
  PREC_TIED,    /* a value that cannot be cast connects it with one that stays */
  PREC_CASTS,   /* fewer Casts so */
  PREC_ERROR,   /* the tolerance: the node adds too large an error */
  PREC_WHYS
} prec_why;

typedef struct prec_slot {
  uint32_t parent; /* union-find: slots that decide together */
  surg_node *n;    /* of an operator, or of control flow; NULL: an interface */
  uint8_t why;     /* prec_why; if not FREE, it stays */
  bool holds;      /* some value is of the new type already: it prefers to remain so */
  bool gains;      /* staying is not supported, or the new type is worth Casts */
  bool moves;      /* the decision */
  bool io;         /* it is an input or output of the model */
  uint32_t weight; /* what staying costs, in units of the cut */
} prec_slot;

/* A reading of a value: an input of `n`, or an output of `g`. */
typedef struct prec_read {
  surg_node *n;
  surg_graph *g;
  size_t index;
  uint32_t slot;
  uint32_t next;    /* of the same value */
  uint32_t sibling; /* the next reading in the same slot */
} prec_read;

typedef struct prec_value {
  surg_value *v;
  uint32_t made;    /* slot; PREC_NONE: a constant */
  uint32_t reads;   /* the first; PREC_NONE: none */
  int dtype;        /* before the conversion */
  uint8_t why;      /* why it cannot be of the new type, or FREE */
  bool movable;     /* a tensor, in a graph that can have Casts */
  bool absent;      /* a constant whose elements are not available */
  bool clamped;     /* it follows from a constant that is clamped */
  bool bounded;     /* `bound` is proven */
  bool measured;    /* ... is measured */
  double bound;     /* of absolute values */
  double most;      /* the largest measured absolute value, also beside a proven bound; 0: none */
  double least;     /* the smallest measured one other than 0; 0: none */
  double guard;     /* an epsilon that it may be as small as (or large); 0: none */
  double turns;     /* how often its error is in that of a phase; 0: in none */
  uint32_t sibling; /* the next value that is made in the same slot */
  uint32_t path;    /* converted nodes on the longest path to it, within a graph */
  prec_difference error;
} prec_value;

/* How a node sets the type of outputs that no input determines. */
typedef struct prec_setter {
  surg_node *n;
  const prec_value *made;
  const char *attr; /* an element type (INT), or NULL: the tensor `value` */
  uint32_t slot;
  struct prec_setter *next;
} prec_setter;

/* A Cast that the model has between two of the types. */
typedef struct prec_cast {
  surg_node *n;
  const prec_value *from, *made; /* its input and output */
  uint32_t in, out;              /* slots */
  struct prec_cast *next;
} prec_cast;

/* What a pass converts: element types, and limits of the new one. */
typedef struct prec_kind {
  uint64_t from; /* bit d: element type d; may be set by an option */
  int to;
  bool narrows;  /* elements may overflow or lose digits */
  bool small;    /* 16 bits: some operators are not computed in it */
  bool integers; /* every value needs a proof that it fits */
} prec_kind;

typedef struct prec {
  surg_pass_ctx *p;
  surg_model *m;
  surg_target *target; /* NULL: none */
  const prec_kind *kind;
  uint64_t from;
  surg_float_limits limits; /* of the new type; of integers `top` alone */
  double unit;              /* of the report: the largest unit of old and new types */
  int wide;                 /* the type of a value of the new type that has to leave it */
  bool io, aggressive, saturate;
  table chosen; /* set of the nodes of the option `node` */
  prec_value *values;
  prec_read *reads;
  prec_slot *slots;
  uint32_t n_values, n_reads, n_slots, max_values, max_reads, max_slots;
  uint32_t *places; /* hash table of values: index + 1 */
  size_t mask;
  uint32_t *made_in, *read_in; /* by slot: the first value made in it, the first reading */
  uint32_t **functions;        /* by function of the model: slots of its inputs, then outputs */
  prec_setter *setters;
  prec_cast *casts;
  struct prec_assumed *assumed;
  uint64_t added, removed, converted, copied, clamped;
  bool unproven_axis;   /* an index is clamped for an axis of unknown size */
  bool given;           /* the inputs of measured bounds are given, not drawn */
  char unmeasured[160]; /* why bounds are not measured; "": they are, or need not be */
  bool undrawn;         /* no runs are wanted */
  surg_model *original; /* the model before the conversion, with all values as outputs */
  samples_runs before;  /* its runs; the results are those of the last sample */
  uint64_t samples;
  prec_difference *outputs; /* by output of the model */
  double tolerance;         /* of outputs; below 0: none */
  uint64_t special;         /* functions that were added */
  uint64_t left, trials;    /* of the search: nodes that stay, and models that ran */
  char incomparable[160];   /* why errors are unknown; "": they are not */
  bool trial;               /* a copy of the model: nothing is reported */
  bool mixed;               /* only what has mixed types is made to agree */
  uint32_t path;            /* converted nodes on the longest path, within a graph */
  bool exhausted;           /* the cut was given up */
  bool failed;              /* out of memory */
} prec;

/* --- precision.c --- */
/* The options that all passes of this family have. */
#define PREC_OPTIONS                                                           \
  SURG_OPTION(BOOL, "io", "false", "also convert the interface of the model"), \
      SURG_OPTION(LIST, "op", NULL, "convert only nodes of these operators"),  \
      SURG_OPTION(LIST, "node", NULL, "convert only these nodes"),             \
      SURG_OPTION(STRING, "target", NULL, "use only types that the target states")
#define PREC_SATURATE SURG_OPTION(BOOL, "saturate", "false", "clamp constants to the range")
#define PREC_MEASURE_OPTIONS                                                          \
  SURG_OPTION(LIST, "inputs", NULL, "folders or .npz of inputs to measure bounds"),   \
      SURG_OPTION(INT, "draws", "1", "number of generated inputs if none are given"), \
      SURG_OPTION(STRING, "tolerance", NULL, "largest error of outputs; nodes above stay")
#define PREC_NARROW_OPTIONS                                                                \
  PREC_OPTIONS,                                                                            \
      SURG_OPTION(BOOL, "aggressive", "false", "also convert operators that lose digits"), \
      PREC_SATURATE, PREC_MEASURE_OPTIONS
/* What is the same in all passes of this family; `options` and `run` are those of the file. */
#define PREC_PASS(title, text, class)                                             \
  {                                                                               \
    SURG_PASS_HEAD(MODEL, title, text), SURG_PASS_OPTIONS(options),               \
        .needs = SURG_FACT_SORTED | SURG_FACT_TYPES, .keeps = SURG_FACT_SORTED,   \
        .exactness = class, .changes_interface = true, .edits = true, .run = run, \
  }
extern const prec_kind prec_to_float16, prec_to_bfloat16, prec_to_float, prec_to_int32;
/* Converts the model of the pass. `from` 0: that of the kind. */
surg_pass_result prec_run(surg_pass_ctx *p, const prec_kind *kind, uint64_t from);
/* Makes nodes agree whose inputs are of the float types `from` and `to`, the narrower one: they
 * compute in `to`, unless they have computed inputs of `from`, or constants that do not fit `to`.
 * Nothing else changes. The types are inferred before and after. False: reported, or out of memory.
 */
bool prec_reconcile(surg_pass_ctx *p, int from, int to);

/* --- precision_graph.c --- */
/* The element type of a tensor, or of the tensors of a sequence or optional; 0: neither. */
int prec_dtype(const surg_type *t);
/* The inferred type of a value, otherwise the declared one. */
const surg_type *prec_type(const surg_value *v);
/* The type with elements of `dtype`; NULL: out of memory, or not of tensors. */
const surg_type *prec_retyped(prec *c, const surg_type *t, int dtype);
/* NULL: the value is of no type of the conversion. */
prec_value *prec_find(const prec *c, const surg_value *v);
bool prec_collect(prec *c);
uint32_t prec_slot_new(prec *c, surg_node *n);
uint32_t prec_root(prec *c, uint32_t slot);
void prec_join(prec *c, uint32_t a, uint32_t b);
/* Records a reason to stay; the first one is kept, unless the type is impossible. */
void prec_pin(prec *c, uint32_t slot, prec_why why);
bool prec_impossible(prec_why why);
/* Why the slot has to stay, or FREE. What is of the new type already stays so, if that is possible:
 * reasons against a change do not count against it. */
prec_why prec_pinned(prec *c, uint32_t slot);
/* `v` is made in the slot, or read in it by input i of n (or output i of g). Values of other types
 * are ignored. */
void prec_made(prec *c, const surg_value *v, uint32_t slot);
void prec_reads(prec *c, const surg_value *v, uint32_t slot, surg_node *n, surg_graph *g, size_t i);
/* Pins the slot if formal parameter i of n cannot be of the new type. */
void prec_check_formal(prec *c, uint32_t slot, const surg_node *n, bool output, size_t i,
                       const surg_type *t);

/* The formal parameter of input or output i; a variadic one for all later positions. */
bool prec_formal(const surg_schema *s, bool output, size_t i, surg_schema_param *out);

/* --- precision_assume.c --- */
/* Declares values whose types inference leaves open, as nodes before them have mixed types. Both
 * are false if memory runs out. */
bool prec_assume(prec *c);
bool prec_forget_assumed(prec *c);

/* --- precision_control.c --- */
/* Slots of calls of functions, of control flow, and of the interfaces of graphs. */
bool prec_functions(prec *c);
void prec_call(prec *c, surg_node *n);
/* A node that is not understood: its values, and those on the interface of its bodies, stay. */
void prec_opaque(prec *c, surg_node *n);
/* False: the node is no control flow. */
bool prec_control(prec *c, surg_node *n);
void prec_interface(prec *c, surg_graph *g);

/* --- precision_pins.c --- */
void prec_pins(prec *c);
/* Whether elements of input i of n, a constant, would overflow in the float type `to`, or become 0
 * or lose digits where that matters. Unknown elements do not. */
bool prec_loses(surg_model *m, const surg_node *n, size_t i, int to);

/* --- precision_choices.c --- */
/* Whether n is a Cast to integers. */
bool prec_makes_integers(const surg_node *n);
/* Pins what becomes an integer or is compared to choose other elements, back to the next products
 * of matrices. False: out of memory. */
bool prec_pin_choices(prec *c);

/* --- precision_states.c --- */
/* Pins states of loops that are added to. False: out of memory. */
bool prec_pin_states(prec *c);

/* Pins every slot that makes or reads a value. */
void prec_pin_value(prec *c, prec_value *x, prec_why why);
/* Whether all elements of x are numbers of the new type: it is of it, or a Cast of such a value. */
bool prec_holds(const prec *c, const prec_value *x);

/* --- precision_flow.c --- */
/* Finds values and readings by slot, after all have been collected. False: out of memory. */
bool prec_flow(prec *c);

/* Where a search among results or sources is; {0}: before the first. */
typedef struct prec_step {
  size_t index;
  uint32_t place;
  bool begun;
} prec_step;
/* The next value that is computed from a reading: an output of its node; of a value that passes to
 * or from a subgraph or function, the values on the other side. NULL: none is left. */
prec_value *prec_next_result(const prec *c, const prec_read *r, prec_step *at);
/* The next value from which x is computed, likewise. */
prec_value *prec_next_source(const prec *c, const prec_value *x, prec_step *at);
/* The node that computes x; NULL: it is constant, passes to or from a subgraph or function, or its
 * operator is unknown. */
const surg_node *prec_producer(const prec *c, const prec_value *x);
/* Pins what is computed from a constant beyond the range, until a range is known; marks it if the
 * constant is clamped. `stack` has room for all values. */
void prec_pin_results(prec *c, prec_value *x, prec_value **stack);
/* Pins the results of readers of an epsilon v, which may be as small as v, and what is computed
 * from them, up to values that have all digits even then: in the new type they might be 0, or their
 * inverse infinite. `stack` has room for all values. */
void prec_pin_epsilon(prec *c, const prec_value *x, double v, prec_value **stack);

/* --- precision_measure.c --- */
/* Measures values without a proven bound, by the options `inputs` and `draws`. */
void prec_measure(prec *c);
/* Pins those that come near the range of the type. */
void prec_pin_measured(prec *c);
/* The limits of runs: those of drawn inputs, which the user did not ask for. */
surg_engine_options prec_engine(const prec *c);

/* --- precision_error.c --- */
/* Runs the original model and `after`, its conversion, on the same inputs, and sets the differences
 * of values and outputs; c->incomparable is the reason where that is not possible. False: out of
 * memory. */
bool prec_compare(prec *c, const surg_model *after);
/* The root of the ratio of squares of differences to those of elements; infinite where infinities
 * or NaN differ. */
double prec_error(const prec_difference *d);
/* The largest error of an output after prec_compare. */
double prec_worst_output(const prec *c);

/* --- precision_search.c --- */
/* Pins the nodes that have to stay so that no output is off by more than the tolerance. The slots
 * have their pins, and are not decided. False: reported, or out of memory. */
bool prec_search(prec *c);

/* --- precision_functions.c --- */
/* Gives calls of a function with different element types functions of their own. False: out of
 * memory. */
bool prec_specialize(prec *c);

/* --- precision_cut.c --- */
/* Decides the slots: prec_slot.moves of all roots. False: out of memory. */
bool prec_cut(prec *c);

/* --- precision_apply.c --- */
/* The element type of a value where a slot decided so. */
int prec_final(prec *c, const prec_value *x, uint32_t slot);
bool prec_apply(prec *c);

/* --- precision_report.c --- */
/* Sets prec.path; before the model is rewritten. */
void prec_measure_path(prec *c);
void prec_report(prec *c);

/* --- precision_damage.c --- */
/* Reports constants that an earlier conversion may have spoilt; before the model is rewritten. */
void prec_report_damage(prec *c);

#endif
