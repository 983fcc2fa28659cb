/* SPDX-License-Identifier: Apache-2.0 */
/* Targets: the models that an engine supports, read from JSON (doc/targets.md), and the parts of a
 * model that it does not support. What a target does not state is unknown, not supported. */
#ifndef SURG_TARGET_H
#define SURG_TARGET_H

#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/target.h>

#include "base/base.h"
#include "schema/schema.h"

#define SURG__DTYPES 32 /* element types are bits of a uint32_t */

/* An inclusive range of integers; INT64_MIN and INT64_MAX mean no limit. */
typedef struct surg__tspan {
  const char *name; /* of an input, an attribute or a domain; NULL: none */
  int64_t low, high;
} surg__tspan;

/* The element types allowed for a type parameter. `name` is the parameter or a formal input or
 * output; "0" is the first input, "out" the first output. */
typedef struct surg__type_facts {
  const char *name;
  uint32_t mask;
} surg__type_facts;

/* A list of strings, in the arena of the target. */
typedef struct surg__tlist {
  const char **items;
  size_t n;
} surg__tlist;
/* Whether the list has the word, or the beginning of it and `*`. */
bool surg__listed(const surg__tlist *list, const char *word);

/* The allowed values of an attribute: strings, or numbers written as strings. */
typedef struct surg__tattr {
  const char *name;
  surg__tlist values;
} surg__tattr;

/* How an input may broadcast to the shape of the first output. Shapes are aligned at their last
 * axes, as in ONNX; missing leading axes have size 1. */
typedef enum surg__tspread {
  SURG__S_LAST,    /* equal from the input's own first axis on, then size 1 up to the last axis */
  SURG__S_CHANNEL, /* the same from axis 1 of the output on; axis 0 has size 1 */
  SURG__S_FRONT,   /* the same from axis 0 of the output on, and axis 0 itself is equal */
  SURG__S_SINGLE,  /* all axes of the input after its axis 1 have size 1 */
  SURG__S_ONCE,    /* repeated along at most one axis */
  SURG__S_EARLY,   /* repeated along axis 0 or axis 1 only */
  SURG__S_PLANES,  /* repeated along exactly the last two of four or more axes, at batch size 1 */
  SURG__S_GAP,     /* repeated along at most one axis between its first and last of size above 1 */
  SURG__S_INNER    /* likewise, and no axis of size 1 is added in front */
} surg__tspread;
/* An input and how it may broadcast. */
typedef struct surg__tspreads {
  const char *name; /* of the input */
  surg__tspread how;
} surg__tspreads;

/* An operator and opsets of the model. */
typedef struct surg__tapart {
  const char *name;
  const surg__tspan *opsets;
  size_t n;
} surg__tapart;

/* A fact: one row of an operator, with the versions it applies to and the limits of a node. */
typedef struct surg__tfact {
  bool refused, fixed; /* fixed: all dimensions of all inputs must be fixed */
  bool misread;        /* nodes that fit are imported, but computed differently from ONNX */
  bool bare;           /* the row is empty: it states the name of the operator and nothing else */
  bool open_first;     /* with `fixed`: except dimension 0 of each input */
  bool fed;            /* at least one input must not be constant */
  bool live;           /* of constants alone: all nodes that read it must read others, too */
  bool same;           /* all inputs must have the same shape */
  bool but_two;        /* with `same`: except the last two dimensions */
  bool whole;          /* no input name may be empty, not even the last one */
  bool inner;          /* the dimensions that MatMul sums over must be fixed */
  bool agree;          /* no operand may lack a size, for the importer, that one before it has */
  bool settled;        /* inputs must have fixed sizes, unless at most batch sizes of the model's
                        * inputs are open */
  bool columns;        /* the importer reads constant vectors as columns: it may mistake the shape
                        * of a result of one axis */
  bool no_lone_input;  /* not an input that nothing else reads, beside constants: Concat */
  bool lone_vectors;   /* computed vectors must only be combined with such */
  bool vectors_alike;  /* operands of rank 1 must be vectors of one kind for the importer */
  bool tiled_first;    /* of axes with more than one element, Tile repeats the first ones */
  bool pads_within;    /* no pad may be larger than the axis */
  bool lone_chain;     /* of a chain of nodes that the importer makes one layer of, no result but
                        * the last may be read elsewhere */
  bool when_known;     /* `rank` and `dims` apply where the rank and the size are known */
  bool axis_last;      /* `axis` must be the last axis, of a vector counted from the front */
  bool axis_inside;    /* the attribute `axis` must be below the rank of the first input */
  bool even_pads;      /* ConvTranspose: auto_pad makes as many pads before as after */
  bool even;           /* all outputs must have the same shape */
  bool batch_of_one;   /* Reshape: the target must fit a batch of 1, if the batch is open */
  bool whole_target;   /* Reshape of constants: no -1 where an input has an open size other than
                        * that of a batch */
  bool keeps_open;     /* GlobalAveragePool: the importer takes sizes that are pooled for open where
                        * those of the input are */
  bool folds;          /* inputs computed from constants count as constants */
  bool paired_labels;  /* Einsum: each label that is summed over is in two operands */
  bool plain_equation; /* Einsum: no ellipsis, no repeated label in one operand */
  bool branch_ranks;   /* If: outputs of both branches must have equal ranks */
  bool branch_spread;  /* If: outputs of both branches must broadcast to each other */
  bool distinct;       /* If: outputs with the same index must have different names in the
                        * branches */
  bool still;          /* Loop: carried values must keep their shape, scan outputs need fixed
                        * sizes */
  int64_t batch;       /* required size of dimension 0 of the first input; 0: any */
  const surg__tspan *versions, *ranks, *values, *sizes; /* sizes: numbers of elements */
  const surg__tspan *opsets; /* opsets that the model must import, whatever the operator version */
  const surg__tspan *known;  /* ranges of elements of constant inputs */
  const surg__tspan *counts; /* numbers of elements of attributes */
  const surg__tspan *each;   /* ranges of elements of attributes */
  const surg__tspan *dims;   /* "X.1": size of axis 1 of X; negative axes count from the end */
  const surg__tspan *axes;   /* "reduced": number of axes after the first that a reduction lists,
                              * "kept": that it leaves; "padded": axes with pads, none negative */
  const surg__type_facts *types, *not_types;
  const surg__tattr *attrs;
  const surg__tspreads *spreads;
  size_t n_versions, n_ranks, n_values, n_sizes, n_types, n_attrs, n_spreads;
  size_t n_known, n_each, n_dims, n_not_types, n_opsets, n_counts, n_axes;
  surg__tlist constants, absent, no_attrs;
  surg__tlist variable, given; /* inputs that must not be constant; inputs that are required */
  surg__tlist together;        /* inputs of which all must be given, or none */
  surg__tlist shaped;          /* inputs that must have the shape of the first output */
  surg__tlist beside_axis;     /* likewise, except along the axis of the attribute `axis` */
  surg__tlist within;          /* inputs of which no size may be above that of the first output */
  surg__tlist square;          /* inputs that must be square matrices */
  surg__tlist normalized;      /* inputs that must have an element for each of the elements that are
                                * normalized together, or one */
  surg__tlist stored;          /* inputs that must not be vectors computed from constants */
  surg__tlist ranked;          /* constant inputs whose rank the importer must know: not computed,
                                * except by Cast and by Concat, from such in the first place */
  surg__tlist picked;          /* inputs of rank 1 that must not be elements of a Shape */
  surg__tlist nodes;           /* constant inputs that must be the output of a Constant node */
  surg__tlist unshared;        /* inputs whose constants no element-wise node may read, too */
  surg__tlist layers;          /* inputs (*: all) whose constants become layers of their names */
  surg__tlist initializers;    /* inputs that must not be the output of a Constant node */
  surg__tlist not_before;      /* operators that must not be the only reader of the first output;
                                * Mul/const: with a constant operand, Mul/wide: a large one */
  surg__tlist only_before;     /* operators of which one must be the only reader of it */
  surg__tlist not_after;       /* operators that must not produce the first input */
  surg__tlist producers, not_producers; /* producer_name of the model, or none of these */
  surg__tlist row;    /* constant inputs whose elements must be consecutive integers */
  surg__tlist iota;   /* attributes whose elements must be 0, 1, 2, ... */
  surg__tlist halves; /* attributes whose two halves must be equal */
  surg__tlist odd;    /* attributes whose elements must be odd */
  surg__tlist samples; /* of Resize: the coordinate mode by which the importer computes, and of mode
                        * nearest its rounding: "half_pixel", "asymmetric/floor" */
  /* Attributes that must be, or must not be, present in the node, even with their default value. */
  surg__tlist written, unwritten;
  const char *says;   /* a limit as prose, which is not checked; for `refused`: the reason */
  const char *source; /* reference to the documentation or code that states the fact */
} surg__tfact;

/* An operator that the target lists, with its facts. */
typedef struct surg__op_facts {
  const char *name; /* "Conv", "com.microsoft.Gelu" */
  const surg__tfact *facts;
  size_t n;
} surg__op_facts;

/* Whether the engine supports something. UNSAID: the target does not state it; MISREAD: imported,
 * and computed differently from ONNX. */
typedef enum surg__tri { SURG__UNSAID = 0, SURG__NO, SURG__YES, SURG__MISREAD } surg__tri;
/* Which dimensions of model inputs may be symbolic or unknown: not stated, none, only dimension 0,
 * all. */
typedef enum surg__tdynamic {
  SURG__D_UNSAID = 0,
  SURG__D_NONE,
  SURG__D_BATCH,
  SURG__D_ALL
} surg__tdynamic;

/* Whether the engine accepts models with a finding of `check`. */
typedef struct surg__taccept {
  char code[8]; /* "E113" */
  bool accepted;
} surg__taccept;

typedef surg_target surg__target;
struct surg_target {
  surg_context *ctx;
  surg__arena arena;
  const char *name, *title, *source;
  const char *date;         /* the day of its facts, YYYY-MM-DD; NULL: not stated */
  struct surg_target *host; /* runs the nodes that this target does not run; NULL: no fallback */
  bool between;              /* the facts are of another version than is meant: `older` */
  bool certain;              /* with `between`: objects to what any version rejects; set by the
                              * caller that judges */
  bool silent;               /* texts of objections are not made; set by the caller that counts */
  bool sure;                 /* unknown objections count as certain; set by the caller that
                              * judges */
  const char *older;         /* with `between`: the target whose facts these are */
  struct surg_target *newer; /* with `between`: the next newer version; NULL: none is known */
  SURG_VEC(surg__tspan) opsets; /* supported opsets by domain */
  surg__tspan ir;
  surg__tri optional; /* model inputs and outputs may be of optional type */
  surg__tri bare;     /* model outputs may be inputs or initializers, without a producer */
  surg__tri fixed;    /* model outputs may be constant */
  surg__tri unsorted; /* nodes may precede their producers */
  surg__tri external; /* weights may be in external data files */
  surg__tri sparse;   /* weights may be sparse tensors */
  bool folds;         /* values computed from constants and fixed shapes count as constants */
  bool defaults;      /* inputs with a default count as constants */
  bool declared;      /* model inputs and outputs must be tensors of declared rank */
  surg__tri empty;    /* model inputs may have zero elements */
  surg__tri unread;   /* model inputs may be without a reader */
  uint32_t weights;   /* element types allowed for constants; 0: not stated */
  surg__tspan within[SURG__DTYPES]; /* by element type: range of elements of constants; name NULL:
                                     * any */
  int64_t nesting;     /* most messages one inside the other in a file; 0: not stated */
  int64_t onnx_level;   /* of the release of ONNX that infers shapes, if it is newer than the one
                         * of its newest opset; 0: it is that one */
  int64_t quick_levels; /* levels of subgraphs beyond which each doubles the time; 0: none */
  int64_t weight_rank; /* highest rank of a constant; 0: not stated */
  uint32_t ends;       /* element types allowed for model inputs and outputs; 0: not stated */
  uint32_t elements;   /* element types that rows which state none are known to support; 0: all */
  surg__tri functions, custom;
  surg__tri nested;  /* calls in function bodies may read values that the body computes */
  surg__tri absent_results; /* nodes with subgraphs may have absent outputs */
  surg__tri unused;  /* functions may have inputs that their body does not read */
  surg__tri idle;    /* functions may have Constant nodes that nothing reads */
  surg__tri bodied;  /* functions may have nodes with subgraphs */
  surg__tri passed;  /* outputs of functions may be their inputs, or one value twice */
  surg__tri windows; /* imports of functions may be out of the range of opsets */
  surg__tri spelled; /* nodes of functions may spell the default domain "ai.onnx", if the function
                      * imports it so; UNSAID: spellings do not matter */
  surg__tri repeats; /* functions that call others and have values may be expanded twice */
  surg__tri overloads; /* of functions: YES, NO: ignored */
  surg__tri outside; /* functions may call functions of domains that the model does not import */
  surg__tri empty_lists;       /* attributes may be lists without elements */
  surg__tri function_absent;   /* nodes of functions may have absent inputs */
  surg__tri function_variadic; /* inputs and outputs of functions may be any of many of a node */
  surg__tri repeated_inputs;   /* functions may have two inputs of one name */
  bool typed_weights;          /* below IR version 4 value_info must not contradict a weight */
  surg__tri absent_arguments;  /* calls may leave out inputs of functions */
  surg__tri bodies; /* operators with a function body in the ONNX standard need no kernel */
  surg__tdynamic dynamic;
  bool rest_refused;       /* operators that are not listed are unsupported, not unknown */
  bool unsorted_main;      /* `unsorted` applies to the main graph, not to subgraphs */
  bool unsorted_functions; /* ... and to functions */
  bool saturates;          /* products of uint8 and int8 saturate on some processors */
  bool names_only;         /* empty rows are names from a list: what forms the engine accepts is not
                            * stated */
  const char *says;    /* a limit in words on the whole list: no model is proven to be supported;
                        * NULL: none */
  bool closed;         /* operators of other domains must be registered by the user */
  bool inlined;        /* nodes of functions are of the opsets that the model imports */
  bool last_import;    /* of two imports of a domain the engine uses the last */
  bool last_function;  /* likewise of two functions of one name */
  bool operators_first; /* functions of the name of a listed operator, or of the default domain,
                         * are not used */
  bool typed_tensors;   /* declared tensors without an element type are rejected */
  bool onnx_inference; /* models are inferred by the release of ONNX of the newest opset */
  bool merges_declared; /* declared types complete inferred ones (lib/infer/believe.c) */
  bool lax_attributes; /* references outside functions and further values of a Constant are not
                        * rejected (judge_lax.c) */
  bool strict_shapes;  /* at its newest opset it rejects declared shapes that contradict
                        * inference */
  surg__tlist external_keys;  /* accepted keys of external_data, "prepacked_*"; empty: not stated */
  surg__tri missing_files;    /* accepts models with a weight whose data file is missing */
  surg__tri short_files;      /* accepts models with a weight beyond the end of its data file */
  bool shapes_inside;         /* constants that shape inference reads must be in the model */
  surg__tlist late;           /* operators whose matrix sizes or axes are compared as they run */
  surg__tlist inferred_bodies; /* operators whose results are inferred from their function body */
  surg__tlist kept;           /* deprecated operators that the engine has all the same */
  surg__tlist rejects_some;   /* findings (CODE/KIND) that are rejected all the same */
  surg__tlist flags;          /* attributes (Op.attr) of which any value but 0 counts as 1 */
  surg__tlist lax_values;     /* operators, or attributes (Op.attr), that may have any value */
  surg__tlist attribute_order; /* fields of AttributeProto: the engine reads the first that is
                                * present, whatever the type is. Empty: it reads by type */
  surg__tlist operator_domains; /* of `operators_first`: domains whose functions are not used */
  surg__tlist list_attributes; /* attributes that it reads from `ints` all the same */
  surg__tlist spare_inputs;    /* operators that ignore absent inputs after those that they have */
  surg__tlist unnamed_layers;  /* operators of which the engine makes no layer of the node's name */
  surg__tlist undefined_types; /* attributes (Op.attr) with an element type that may be 0: the
                                * result is as declared */
  surg__tlist shapes_outside; /* operators to which `shapes_inside` does not apply */
  surg__tlist checked_bodies; /* findings that are accepted, except in subgraphs */
  surg__tlist checked_functions; /* likewise, except in functions */
  bool absent_operands; /* operands of Sum, Concat and the like may be absent, but the first */
  bool same_references; /* in functions an attribute may only refer to one of its own name */
  bool import_calls;    /* functions must be of a domain that the model imports */
  bool needs_value;     /* a model must have an output, or an input and a node */
  bool unchecked;       /* the engine does not check models: what no run can compute is unknown */
  bool drops_bare;      /* nodes with neither inputs nor outputs are ignored */
  bool short_domain;    /* nodes of subgraphs must not write the default domain as "ai.onnx" */
  const char *const *registered; /* "com.acme" or "com.acme:Foo"; set by the caller that judges */
  size_t n_registered;
  SURG_VEC(surg__taccept) accepts; /* by code of a finding */
  surg__tlist unimported;   /* operators that may be imported without an import of their domain;
                             * others are not. Empty: not stated */
  surg__tlist accepts_some; /* findings that it accepts in some places, whatever `accepts` states of
                             * the code: "E110/output", "E113/named", "E117/untyped" */
  surg__tlist half; /* operators computed in float16 if their inputs are; the others in float,
                     * between casts that the engine inserts. Empty: not stated */
  bool half_any; /* `half`: a cast to the same type may fail if one neighbor is computed in float */
  const surg__tspan *early; /* opsets in which the engine has ONNX operators that ONNX adds later */
  size_t n_early;
  bool lenient;                 /* misread nodes count as supported where no node reads their
                                 * results; set by the caller that judges */
  uint8_t as[SURG__DTYPES];     /* the type to which the engine converts an element type; 0:
                                 * unchanged */
  SURG_VEC(surg__tapart) apart; /* operators for whose inputs and outputs it does not, by opset */
  surg__tlist notes;
  SURG_VEC(const char *) own;   /* listed operators without a schema: "Crop", "com.acme.*", "*" */
  SURG_VEC(surg__op_facts) ops; /* sorted by name */
};

/* --- reading (read.c, find.c) --- */
/* Reads a target from JSON text. NULL after a diagnostic `name: where: ...`, or out of memory. */
surg__target *surg__target_read(surg_context *ctx, const char *text, size_t n, const char *name);
/* The built-in target for a name given by the user: an exact name, an alias ("trt8.6"), a name
 * without version (the newest), or with an unknown version (`between`, with a note). NULL
 * after a diagnostic that suggests the nearest name. */
surg__target *surg__target_find(surg_context *ctx, const char *name);
void surg__target_free(surg__target *t);

/* The built-in targets, sorted by name (passes/targets). */
typedef struct surg__target_text {
  const char *name, *text;
} surg__target_text;
extern const surg__target_text surg__target_texts[];
extern const size_t surg__target_count;

/* Models of one node, one line each: passes/targets/probe.cases. */
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
  SURG__C_OP,      /* unsupported operator */
  SURG__C_VERSION, /* unsupported version of an operator */
  SURG__C_TYPE,
  SURG__C_CONSTANT, /* an input must be constant */
  SURG__C_ATTR,
  SURG__C_RANGE, /* a rank, dimension or value is out of range */
  SURG__C_PLACE, /* an input or output is unsupported, missing, or a model output without a node */
  SURG__C_DYNAMIC,
  SURG__C_FUNCTION,
  SURG__C_CUSTOM,
  SURG__C_ORDER,    /* a node precedes its producer */
  SURG__C_FED,      /* an input must not be constant, or not all inputs may be */
  SURG__C_EXTERNAL, /* weights in external data files */
  SURG__C_DATA,     /* elements of weights that are not available here, and are elsewhere */
  SURG__C_INVALID,  /* invalid ONNX: a finding of `check` */
  SURG__C_SAYS      /* a limit stated as prose */
} surg__cause;

/* One reason why a target does not support a model, or why that is unknown. Texts are valid until
 * the callback returns. */
typedef struct surg__objection {
  surg__verdict verdict; /* ILLEGAL or UNKNOWN; LEGAL: invalid ONNX that the engine accepts
                          * (C_INVALID only) */
  surg__cause cause;
  uint32_t causes;  /* bits 1 << cause: why the node fits none of the facts about its version; each
                     * may be cured. 0: for `cause` alone */
  const char *code; /* C_INVALID: of the finding, whose place is in `where`; else NULL */
  const char *where;
  bool misread;            /* the unsupported node is imported, and computed differently from
                            * ONNX */
  bool fed;                /* ... and another node reads its results, so that the import may fail
                            * there */
  const surg_node *node;   /* NULL: the model as a whole */
  const surg_value *value; /* the input or output concerned, or NULL */
  const char *text;
  const char *source; /* reference that states the fact */
} surg__objection;
typedef void (*surg__objection_fn)(void *user, const surg__objection *o);

/* The verdict on a node. The reason for it, the first of that severity, is stored in `why` and `o`
 * (each may be NULL). Types must be inferred. */
surg__verdict surg__target_node(const surg__target *t, const surg_node *n, surg__buf *why,
                                surg__objection *o);
/* Whether the engine computes some form of an operator, constant outputs or empty inputs
 * differently from ONNX. */
bool surg__target_misreads(const surg__target *t);
/* Infers types, then reports all objections that follow from the facts of the target, for the model
 * and for its nodes, including subgraphs and called functions. */
surg_status surg__target_facts(const surg__target *t, surg_model *m, surg__objection_fn fn,
                               void *user);
/* As surg__target_facts for the target or, if it has one, its host; also reports invalid ONNX
 * (surg__target_valid). The verdict on a model is based on these objections. */
surg_status surg__target_model(const surg__target *t, surg_model *m, surg__objection_fn fn,
                               void *user);

/* Reports the nodes that run on the host instead of the target: those that the target does not
 * support (ILLEGAL), and those whose support is unknown (UNKNOWN). *nodes counts the nodes that run
 * anywhere: all except constants, nodes that the host folds, and calls of functions; 0 if the
 * target has no host. Infers types. */
surg_status surg__target_elsewhere(const surg__target *t, surg_model *m, surg__objection_fn fn,
                                   void *user, size_t *nodes);

/* --- cutting (cut.c) --- */
typedef SURG_VEC(const surg_value *) surg__cut_values;
/* A split of a model into three parts: before, core (no blocked node), after. Parts may be empty.
 * nodes[] counts the nodes of each part, except those that depend on no input of the model: they
 * are copied into each part that needs them. */
typedef struct surg__cut {
  surg_context *ctx;
  size_t nodes[3];
  surg__cut_values pre_out, core_in, core_out, post_in, post_out;
} surg__cut;
#define SURG__CUT_ENDS 64u /* most values that enter or leave a part */
/* Splits the main graph, which must be sorted, so that the core has many nodes, above all those
 * with weights, and few values are between the parts. SURG_ENOTFOUND: no node is blocked, or a
 * blocked node is in a function. */
surg_status surg__target_cut(surg_model *m, const surg_node *const *blocked, size_t n_blocked,
                             surg__cut *out);
void surg__target_cut_free(surg__cut *cut);

/* The facts of an operator ("Conv", "com.microsoft.Gelu"); NULL: the target does not list it. */
const surg__op_facts *surg__target_op(const surg__target *t, const char *domain,
                                      const char *op_type);
/* Whether some fact supports the operator version introduced in opset `since`. */
bool surg__target_takes_version(const surg__op_facts *op, int since);
/* Writes versions as "7-10, 13", including misread ones if `misread`; types as "float, int32". */
void surg__target_put_versions(surg__buf *b, const surg__op_facts *op, bool misread);
void surg__target_put_types(surg__buf *b, uint32_t mask);
/* The text of a way to broadcast, for messages; static. */
const char *surg__target_spread(surg__tspread how);

#endif
