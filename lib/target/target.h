/* SPDX-License-Identifier: Apache-2.0 */
/* Targets: what an engine takes, read from JSON (doc/targets.md), and what a model has that it does
 * not take. What a target does not say is unknown, not legal. */
#ifndef SURG_TARGET_H
#define SURG_TARGET_H

#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/target.h>

#include "base/base.h"
#include "schema/schema.h"

#define SURG__DTYPES 32 /* element types are bits of 32 */

/* Whole numbers from `low` to `high`; INT64_MIN and INT64_MAX are open ends. */
typedef struct surg__tspan {
  const char *name; /* of an input, an attribute or a domain; NULL: of nothing */
  int64_t low, high;
} surg__tspan;

/* Element types that a type parameter may be; `name` "0" is the first input, "out" the first
 * output. */
typedef struct surg__type_facts {
  const char *name;
  uint32_t mask;
} surg__type_facts;

typedef struct surg__tlist {
  const char **items;
  size_t n;
} surg__tlist;

/* The values an attribute may have: texts, or numbers as text. */
typedef struct surg__tattr {
  const char *name;
  surg__tlist values;
} surg__tattr;

/* How an input may be repeated to the shape of the first output; axes are counted from the right.
 */
typedef enum surg__tspread {
  SURG__S_LAST,    /* it equals it from its first axis on, till only ones remain */
  SURG__S_CHANNEL, /* ... from axis 1 on; before that is one or nothing */
  SURG__S_FRONT,   /* ... from axis 0 on, and that itself is equal */
  SURG__S_SINGLE,  /* behind axis 1 are ones alone */
  SURG__S_ONCE,    /* along one axis at most */
  SURG__S_EARLY,   /* ... and that is axis 0 or 1 */
  SURG__S_PLANES   /* along the last two of four axes or more, and the first is one */
} surg__tspread;
typedef struct surg__tspreads {
  const char *name; /* of the input */
  surg__tspread how;
} surg__tspreads;

/* One row of an operator: the versions it is about, and what they must keep to. */
typedef struct surg__tfact {
  bool refused, fixed; /* fixed: all dims of all inputs must be known, */
  bool misread;        /* what keeps to it is imported, and computed otherwise than ONNX says */
  bool open_first;     /* ... but the first of each */
  bool fed;            /* an input must be no constant */
  bool same;           /* all inputs must have one shape, */
  bool but_two;        /* ... but for the last two dims of each */
  bool whole;          /* no input may be left blank, at the end neither */
  bool folds;          /* inputs computed from constants count as constants here */
  bool plain_equation; /* Einsum: no ellipsis, no label twice in one operand */
  bool branch_ranks;   /* If: outputs of both branches have one rank, */
  bool branch_spread;  /* ... or can be broadcast to each other */
  bool distinct;       /* If: no output of one branch is named as its counterpart */
  bool still;          /* Loop: carried values keep their shape, scan outputs are of fixed size */
  int64_t batch;       /* dim 0 of the first input must be it; 0: any */
  const surg__tspan *versions, *ranks, *values, *sizes; /* sizes: of elements */
  const surg__tspan *opsets; /* which the model must import, whatever the version of the operator */
  const surg__tspan *known; /* elements of inputs that are constant */
  const surg__tspan *each;  /* elements of attributes */
  const surg__tspan *dims;  /* "X.1": size of axis 1 of X; negative axes count from the end */
  const surg__type_facts *types, *not_types;
  const surg__tattr *attrs;
  const surg__tspreads *spreads;
  size_t n_versions, n_ranks, n_values, n_sizes, n_types, n_attrs, n_spreads;
  size_t n_known, n_each, n_dims, n_not_types, n_opsets;
  surg__tlist constants, absent, no_attrs;
  surg__tlist variable, given; /* inputs that must be no constants; that must be there */
  surg__tlist shaped;          /* inputs that must have the shape of the first output */
  surg__tlist row;             /* constants whose elements must follow each other */
  surg__tlist iota;            /* attributes whose elements must be 0, 1, 2, ... */
  surg__tlist halves;          /* attributes whose second half must equal the first */
  /* Attributes that must stand in the node, or must not, default or not. */
  surg__tlist written, unwritten;
  const char *says;   /* a limit in words, that nothing here decides */
  const char *source; /* of the target that states it */
} surg__tfact;

typedef struct surg__op_facts {
  const char *name; /* "Conv", "com.microsoft.Gelu" */
  const surg__tfact *facts;
  size_t n;
} surg__op_facts;

typedef enum surg__tri { SURG__UNSAID = 0, SURG__NO, SURG__YES, SURG__MISREAD } surg__tri;
typedef enum surg__tdynamic {
  SURG__D_UNSAID = 0,
  SURG__D_NONE,
  SURG__D_BATCH,
  SURG__D_ALL
} surg__tdynamic;

/* Whether the engine imports models with a finding of `check`. */
typedef struct surg__taccept {
  char code[8]; /* "E113" */
  bool accepted;
} surg__taccept;

typedef surg_target surg__target;
struct surg_target {
  surg_context *ctx;
  surg__arena arena;
  const char *name, *title, *source;
  struct surg_target *host; /* runs the nodes that this one does not; NULL: nothing does */
  SURG_VEC(surg__tspan) opsets; /* by domain */
  surg__tspan ir;
  surg__tri optional; /* inputs and outputs of the model may be of an optional type */
  surg__tri bare;     /* outputs of the model may be inputs or weights of it */
  surg__tri fixed;    /* ... and constant */
  surg__tri unsorted; /* nodes may stand before those they read */
  surg__tri external; /* weights may stand in data files */
  bool folds;         /* what is computed of constants and fixed shapes counts as constant */
  bool defaults;      /* inputs with a default count as constants */
  bool declared;      /* inputs and outputs must be tensors and say their rank */
  surg__tri empty;    /* inputs of the model may have no elements */
  uint32_t weights;   /* element types that constants may have; 0: not said */
  surg__tspan within[SURG__DTYPES]; /* by type: what elements of constants may be; name NULL: any */
  surg__tri functions, custom;
  surg__tri bodies; /* operators with one in the standard need no kernel */
  surg__tdynamic dynamic;
  bool rest_refused;        /* operators that are not listed */
  bool unsorted_main;       /* ... in the main graph alone, not in bodies */
  bool closed;              /* operators of other domains must be registered by the user */
  bool last_import;         /* of two imports of one domain it goes by the last */
  bool strict_shapes;       /* at its newest opset it rejects declared shapes that are not so */
  bool short_domain;        /* nodes of bodies must not spell the default domain "ai.onnx" */
  const char *const *registered; /* "com.acme" or "com.acme:Foo": set by those who judge */
  size_t n_registered;
  SURG_VEC(surg__taccept) accepts; /* by code of a finding */
  const surg__tspan *early; /* opsets in which it has operators of ONNX that ONNX lacks there */
  size_t n_early;
  bool lenient;             /* what is misread counts as taken: set by those who judge */
  uint8_t as[SURG__DTYPES]; /* what the engine makes of an element type; itself where 0 */
  surg__tlist notes;
  SURG_VEC(const char *) own; /* operators listed that no table has: "Crop", "com.acme.*", "*" */
  SURG_VEC(surg__op_facts) ops;    /* by name */
};

/* --- reading (read.c, find.c) --- */
/* A target from JSON text. NULL after a diagnostic `name:line: ...`, or without memory. */
surg__target *surg__target_read(surg_context *ctx, const char *text, size_t n, const char *name);
/* The built-in target that the user means: by its name, an alias of it ("trt8.6"), without version
 * (the newest) or with one nobody knows (the next lower one, with a note). NULL after a diagnostic
 * that names the nearest. */
surg__target *surg__target_find(surg_context *ctx, const char *name);
void surg__target_free(surg__target *t);

/* The built-in ones, by name; passes/targets. */
typedef struct surg__target_text {
  const char *name, *text;
} surg__target_text;
extern const surg__target_text surg__target_texts[];
extern const size_t surg__target_count;

/* Models of one node, a line each: passes/targets/probe.cases. */
extern const char *const surg__probe_models[];
extern const size_t surg__probe_model_count;

/* --- judging (judge.c) --- */
typedef surg_verdict surg__verdict;
#define SURG__LEGAL SURG_SUPPORTED
#define SURG__UNKNOWN SURG_SUPPORT_UNKNOWN
#define SURG__ILLEGAL SURG_UNSUPPORTED
typedef enum surg__cause {
  SURG__C_NONE = 0,
  SURG__C_IR,
  SURG__C_OPSET,
  SURG__C_OP,      /* there is no such operator */
  SURG__C_VERSION, /* none of that version */
  SURG__C_TYPE,
  SURG__C_CONSTANT, /* an input must be the same in every run */
  SURG__C_ATTR,
  SURG__C_RANGE, /* a rank, a dim, a value */
  SURG__C_PLACE, /* an optional input or output it does not take */
  SURG__C_DYNAMIC,
  SURG__C_FUNCTION,
  SURG__C_CUSTOM,
  SURG__C_ORDER,    /* a node stands before one that it reads */
  SURG__C_FED,      /* an input is constant and must not be, or all are */
  SURG__C_EXTERNAL, /* weights in data files */
  SURG__C_INVALID,  /* ONNX forbids it: a finding of `check` */
  SURG__C_SAYS      /* a limit in words */
} surg__cause;

/* One thing that stands between a model and a target. Texts last until the callback returns. */
typedef struct surg__objection {
  surg__verdict verdict; /* ILLEGAL or UNKNOWN; LEGAL: invalid, and accepted (C_INVALID alone) */
  surg__cause cause;
  const char *code;        /* C_INVALID: of the finding, with its place in `where`; else NULL */
  const char *where;
  bool misread;            /* an illegal node is imported all the same, and computed otherwise */
  const surg_node *node;   /* NULL: the model as a whole */
  const surg_value *value; /* the input or output it is about, or NULL */
  const char *text;
  const char *source; /* where the fact comes from */
} surg__objection;
typedef void (*surg__objection_fn)(void *user, const surg__objection *o);

/* The worst of what is known of a node; the reason goes to `why` and `o` (either may be NULL), of
 * the first that weighs so. Types must be inferred. */
surg__verdict surg__target_node(const surg__target *t, const surg_node *n, surg__buf *why,
                                surg__objection *o);
/* Whether some operator is misread in some form. */
bool surg__target_misreads(const surg__target *t);
/* Reports every objection of the facts of the target to the model and its nodes, subgraphs and
 * functions included, and infers types for it. */
surg_status surg__target_facts(const surg__target *t, surg_model *m, surg__objection_fn fn,
                               void *user);
/* The same, and what is invalid in the model (verdict.h): all that the verdict rests on. */
surg_status surg__target_model(const surg__target *t, surg_model *m, surg__objection_fn fn,
                               void *user);

/* The nodes that run on the host instead of the target: those that the target does not support
 * (ILLEGAL), and those of which that is not known (UNKNOWN). `nodes`: how many run anywhere, which
 * are all but constants, what the host folds, and calls of functions. Types must be inferred. */
surg_status surg__target_elsewhere(const surg__target *t, surg_model *m, surg__objection_fn fn,
                                   void *user, size_t *nodes);

/* --- cutting (cut.c) --- */
typedef SURG_VEC(const surg_value *) surg__cut_values;
/* A model in three parts: before, what holds no blocked node, behind. Parts may be empty. */
typedef struct surg__cut {
  surg_context *ctx;
  size_t nodes[3];
  surg__cut_values pre_out, core_in, core_out, post_in, post_out;
} surg__cut;
/* Cuts so that the most nodes of the main graph (which is sorted) remain in the middle.
 * SURG_ENOTFOUND: a blocked node stands in a function. */
surg_status surg__target_cut(surg_model *m, const surg_node *const *blocked, size_t n_blocked,
                             surg__cut *out);
void surg__target_cut_free(surg__cut *cut);

/* What the target says of an operator ("Conv", "com.microsoft.Gelu"); NULL: it is not listed. */
const surg__op_facts *surg__target_op(const surg__target *t, const char *domain,
                                      const char *op_type);
/* Whether a node would be taken in another version of its operator. */
bool surg__target_takes_version(const surg__op_facts *op, int since);
/* Versions as "7-10, 13", those that are misread among them if that is wanted; types as "float,
 * int32". */
void surg__target_put_versions(surg__buf *b, const surg__op_facts *op, bool misread);
void surg__target_put_types(surg__buf *b, uint32_t mask);
const char *surg__target_spread(surg__tspread how);

#endif
