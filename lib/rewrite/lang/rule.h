/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrite rules: the parsed form of a rule (doc/rules.md), the state of a match, and the functions
 * shared by the files of lib/rewrite. */
#ifndef SURG_RULE_H
#define SURG_RULE_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"
#include "base/context.h"
#include "base/dtype.h"
#include "schema/schema.h"

/* --- values that guards and emissions compute --- */

typedef enum surg__rkind {
  SURG__R_UNKNOWN = 0, /* unknown, or known only at run time */
  SURG__R_BOOL,
  SURG__R_INT,
  SURG__R_FLOAT,
  SURG__R_STRING,
  SURG__R_DTYPE,
  SURG__R_INTS,
  SURG__R_FLOATS,
  SURG__R_STRINGS,
  SURG__R_OPAQUE /* an attribute that is only copied */
} surg__rkind;

/* One number. An integer without a known value may still be symbolic: it equals itself. */
typedef struct surg__rnum {
  bool known;
  int64_t i;
  double f;
  surg_dim dim; /* of an integer whose value is not known */
} surg__rnum;

/* A value of an expression. Lists and strings are not owned. */
typedef struct surg__rvalue {
  surg__rkind kind;
  surg__rnum one;          /* BOOL and DTYPE: the value is in `i` */
  surg_str s;
  const surg__rnum *items; /* INTS, FLOATS */
  const surg_str *strings;
  size_t n;
  const int64_t *dims;     /* shape of the constant to create; NULL: rank 0, or 1 for a list */
  size_t rank;
} surg__rvalue;

/* --- expressions --- */

typedef enum surg__rop {
  SURG__E_LITERAL,
  SURG__E_VAR, /* an attribute, or a name defined by `let` */
  SURG__E_CALL,
  SURG__E_LIST,
  SURG__E_INDEX,
  SURG__E_NEG,
  SURG__E_NOT,
  SURG__E_ADD,
  SURG__E_SUB,
  SURG__E_MUL,
  SURG__E_DIV, /* of integers: rounds towards minus infinity */
  SURG__E_MOD,
  SURG__E_EQ,
  SURG__E_NE,
  SURG__E_LT,
  SURG__E_LE,
  SURG__E_GT,
  SURG__E_GE,
  SURG__E_IN,
  SURG__E_AND,
  SURG__E_OR
} surg__rop;

/* An expression, in the arena of the rules. */
typedef struct surg__rexpr {
  surg__rop op;
  uint16_t var;                  /* VAR; of a CALL: the graph value that is its first argument */
  const struct surg__rule_fn *fn;    /* CALL */
  surg__rvalue literal;
  struct surg__rexpr **args;
  surg_str text; /* source text of a part of a guard (an operand of `and`), for reports */
  uint16_t n, depth;
} surg__rexpr;

/* --- rules --- */

#define SURG__RULE_NODES 64u  /* per pattern or emission */
#define SURG__RULE_VARS 200u  /* names per rule */
#define SURG__RULE_DEPTH 64u  /* nesting of an expression */
#define SURG__RULE_EXPR 1000u /* depth of an expression; each operator of a + b + c counts */
#define SURG__RULE_LIST 1024u /* elements per list */
#define SURG__RULE_ELEMENTS 4096u /* elements read of a constant, such as per-channel data */
#define SURG__RULE_SWAPS 6u   /* commutative nodes of a pattern that are tried in both orders */
#define SURG__RULE_USERS 32u  /* readers of a value tried when a pattern is matched downstream */
#define SURG__RULE_ASKED 4u  /* value ranges reported per rewrite */
#define SURG__NO_VAR UINT16_MAX

/* A name of a rule. */
typedef struct surg__rvar {
  const char *name;
  bool value;    /* a graph value; otherwise data: an attribute or a name defined by `let` */
  bool optional; /* may be absent */
  bool hidden;   /* defined by an earlier emission; later emissions cannot see it */
  int16_t match_node, match_out; /* producer in the pattern; -1: outside */
  int16_t emit_node;             /* producer in the emission parsed last; -1: none */
  const struct surg__rexpr *early; /* conjunct of the pattern's guard about this alone */
} surg__rvar;

typedef enum surg__rarg_kind {
  SURG__A_ABSENT,
  SURG__A_VALUE,
  SURG__A_CONST /* in a pattern: a number; in an emission: `expr : dtype` */
} surg__rarg_kind;

/* An input or output of a node in a pattern or emission. */
typedef struct surg__rarg {
  surg__rarg_kind kind;
  bool optional; /* `x?` */
  uint16_t var;
  double number; /* in a pattern */
  const surg__rexpr *expr, *dtype;
} surg__rarg;

/* An attribute of a node in a pattern or emission. */
typedef struct surg__rattr {
  const char *name;
  uint16_t var;            /* the name it is bound to; SURG__NO_VAR: compared with `expr` */
  bool or_default;         /* `k ?= v` */
  const surg__rexpr *expr;  /* in an emission: the value to set */
  const surg__rexpr *dtype; /* the element type, if `expr` becomes a tensor; else NULL */
} surg__rattr;

/* A statement: a node, a forward `y = x`, or `let k = expr`. */
typedef enum surg__rstmt_kind { SURG__S_NODE, SURG__S_FORWARD, SURG__S_LET } surg__rstmt_kind;
typedef struct surg__rstmt {
  surg__rstmt_kind kind;
  uint32_t line;
  const char *domain, *op_type;
  int op; /* SURG_OP_* of a built-in operator, else 0 */
  bool commutative;
  surg__rarg *in;
  surg__rarg *out;
  surg__rattr *attrs;
  uint16_t n_in, n_out, n_attrs;
  bool more_in, more_out, more_attrs; /* `...` */
  const surg__rexpr *expr;            /* LET */
  uint16_t var;                       /* LET: the name it defines; FORWARD: the value forwarded */
} surg__rstmt;

/* The pattern (`match`) or one emission (`emit`) of a rule. */
typedef struct surg__rblock {
  surg__rstmt *stmts;
  uint16_t n;
  uint16_t bound; /* number of names bound before its statements */
  const struct surg__native *native; /* emission in C (no statements); else NULL */
  int64_t lo, hi; /* opset range of the default domain; hi INT64_MAX: no upper limit */
  const surg__rexpr *guard;
  uint32_t line;
} surg__rblock;

/* A rule. Built-in rules are checked at build time; their `match` and `emit` blocks are parsed on
 * first use (surg__rule_read). The members before `vars` are valid without that. */
struct surg_rule {
  const char *name, *group, *file;
  uint32_t line;
  surg_exactness exactness;
  const char *reason;           /* text: the reason of approx, n of ulp(n), k of rounding(k) */
  const char *domain, *op_type; /* operator of the anchor, the node that the search starts from */
  int op;                       /* SURG_OP_* of a built-in operator, else 0 */
  surg_str text;                /* source text of the rule */
  const char *source;           /* contents of the file of a rule not parsed yet */
  surg_str each_op;             /* the operator that replaces OP of `for OP in (...)` */
  struct surg__rules *owner;
  size_t place; /* index in owner->list */
  bool read;
  surg__rvar *vars;
  uint16_t n_vars;
  surg__rblock match;
  surg__rblock *emits;
  uint16_t n_emits;
  uint16_t anchor;  /* statement of the pattern that the search starts from: its last node */
  uint16_t swaps;   /* number of commutative nodes */
  uint16_t more;    /* statement of the pattern that has `...`; SURG__NO_VAR: none */
};

/* What passes/rules/embed.py records about a built-in rule. */
typedef struct surg__rule_entry {
  const char *name, *group, *reason, *domain, *op_type;
  const char *each_op; /* operator of `for OP in (...)`; NULL: the rule has no `for` */
  uint8_t exactness, file;
  uint16_t line;
  uint32_t at, bytes; /* offset and size of its text in the file */
} surg__rule_entry;
typedef struct surg__rule_file {
  const char *name, *text;
} surg__rule_file;

/* A match for which no emission could be built, with the reason. */
typedef struct surg__declined {
  const surg_rule *rule;
  const surg_node *node;
  char why[240];
} surg__declined;
#define SURG__RULE_DECLINED 1000u /* entries kept per graph, for reports */

/* The rules of a context. */
typedef struct surg__rules {
  surg_context *ctx;
  surg__arena arena;
  SURG_VEC(surg_rule *) list;
  size_t builtins; /* number of built-in rules, the first in the list; 0 until they are listed */
  bool failed;     /* a query could not parse a rule; the next rewrite fails */
  char explained[240]; /* text that surg_rule_explain returned last */
  SURG_VEC(surg__declined)
  declined; /* matches declined since surg_pass_rewrite_graph was called last */
} surg__rules;

/* Returns the rules of a context; lists the built-in rules on first use. NULL: out of memory. */
surg__rules *surg__rules_of(surg_context *ctx);
/* Whether the rule was added by the user (--rules). Built-in rules precede them in the list. */
static inline bool surg__rule_is_own(const surg_rule *r) { return r->place >= r->owner->builtins; }
/* Parses the rest of a rule on first use. Returns false if out of memory, or if built-in text
 * is invalid (reported). */
bool surg__rule_read(const surg_rule *r);
/* Parses all rules, and checks that built-in ones do not undo each other. Faults are reported. */
surg_status surg__rules_read_all(surg__rules *r);
/* Adds rules to the list without parsing them; each is parsed on first use. */
surg_status surg__rules_list(surg__rules *r, const surg__rule_file *files,
                             const surg__rule_entry *entries, size_t n);
/* Parses text and adds its rules. SURG_EINVALID: reported, as `file:line:column: ...`. */
surg_status surg__rules_parse(surg__rules *r, const char *text, size_t n, const char *name);
/* Parses a pattern alone, `c = Conv (x, ...) y = Relu (c) where rank(x) == 4`, into a rule without
 * emissions that matches whatever attributes and further outputs its nodes have. It is in the arena
 * of `rules`, not in their list. NULL: reported, as `name:line:column: ...`, or out of memory. */
surg_rule *surg__rule_query(surg__rules *rules, const char *text, size_t n, const char *name);
/* Lists the rules of passes/rules. Defined there, so that lib/ does not depend on passes/. */
surg_status surg__register_builtin_rules(surg__rules *r);
/* Checks operators, arity and names of a rule. Returns false, with the reason in `why` and its line
 * in *line, if the rule is invalid. */
bool surg__rule_check(surg_context *ctx, surg_rule *r, surg__buf *why, uint32_t *line);

/* Checks a statement against the schema file that describes its operator. Returns true if
 * no schema file does. */
bool surg__rule_check_custom(surg_context *ctx, const surg__rstmt *s, bool emitted,
                             surg__buf *why);

/* Whether the rules from index `from` on can be applied in an endless cycle; *a and *b are then two
 * rules of the cycle. */
bool surg__rules_cyclic(surg__rules *r, size_t from, const surg_rule **a, const surg_rule **b);

/* --- a match --- */

typedef SURG_VEC(surg_node *) surg__made;

/* A value range that a guard queried, for reports. */
typedef struct surg__asked {
  const surg_value *v;
  const char *name; /* interned, since the value may be renamed */
  surg_range r;
} surg__asked;

/* The state of matching a rule at a node. Nodes are indexed by statement, values by variable. */
typedef struct surg__match {
  surg_context *ctx;
  surg_model *m;
  surg_graph *g;
  const surg_rule *rule;
  surg_pass_ctx *pass;      /* for values and nodes that the user protects; NULL: none */
  surg_node *last;          /* new nodes are inserted before this root of the match */
  int64_t opset;            /* opset that the emission must be valid for */
  const surg__rblock *emit; /* the emission selected: its guard is true */
  surg__arena *arena;       /* memory of lists; reset with the match */
  surg_node *nodes[SURG__RULE_NODES];
  surg_value *values[SURG__RULE_VARS];
  bool bound[SURG__RULE_VARS]; /* values[] may be NULL: absent */
  surg__rvalue data[SURG__RULE_VARS];
  const surg_attr *attrs[SURG__RULE_VARS]; /* the attribute a name is bound to, for copying */
  surg__asked asked[SURG__RULE_ASKED]; /* ranges queried by this attempt; NULL: end */
  const char *why; /* why the match failed: static text, or why_text */
  int why_stmt;
  bool explain;    /* set by the caller: quote a guard that fails (slower) */
  /* Set by the caller: emit nodes also for which ONNX Runtime has no kernel, where it has kernels
   * for the matched ones (schema/kernels.h). Else `lacked` is set where this was the reason. */
  bool any_kernel, lacked;
  char why_text[240];
} surg__match;
/* Records why the match failed, formatted into why_text. Returns false. */
bool surg__match_failed(surg__match *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether the rule matches with its anchor at `n`, and an emission can be made; a rule without
 * emissions matches by its pattern alone. Fills *m, whose arena, ctx and rule must be set. */
bool surg__match_at(surg__match *m, surg_node *n, int64_t opset);
/* Selects the next emission whose guard is true, after the selected one could not be built. */
bool surg__match_next(surg__match *m);
/* surg__match_stands: whether statement k of an emission repeats a node of the pattern unchanged
 * and reads only values from outside the match. surg__match_keeps: whether the emission keeps node
 * n of the match for this reason. Kept nodes are not created again; all their readers are already
 * after them in node order. */
bool surg__match_stands(const surg__match *m, const surg__rblock *b, uint16_t k);
bool surg__match_keeps(const surg__match *m, const surg__rblock *b, const surg_node *n);
/* Builds the selected emission, or the next one that can be built; otherwise as surg__emit_rule.
 * Nodes that an emission made before it declined are removed; an error has been reported, unless
 * memory ran out. */
surg_status surg__emit_any(surg__match *m, surg__made *made);
/* Whether ONNX Runtime has no kernel for the element types of a node, as a node of schema s. */
bool surg__node_lacks_kernel(const surg_node *n, const surg_schema *s);
/* Whether no matched node is known to lack a kernel. */
bool surg__match_has_kernels(const surg__match *m);

/* Whether every consumer of the constant v is one of equal places (of one operator, each after
 * a node of one operator with weights of its own) or is computed from constants alone. A rule that
 * rewrites one of them then rewrites all, and v goes with the last. O(consumers). */
bool surg__read_together(const surg_value *v);
/* Whether v is x * (erf (...) + 1): the factor after it is the last part of a Gelu. */
bool surg__ends_activation(const surg_value *v);
/* Evaluates an expression. UNKNOWN if its value cannot be determined. */
surg__rvalue surg__reval(surg__match *m, const surg__rexpr *e);
bool surg__rtrue(surg__match *m, const surg__rexpr *e); /* NULL: true */
surg__rvalue surg__rvalue_of_attr(surg__match *m, const surg_attr *a);
/* The elements of a small tensor: INTS or FLOATS. */
surg__rvalue surg__rvalue_of_tensor(surg__match *m, const surg_tensor *t);
surg__rvalue surg__rvalue_of_default(surg__match *m, const surg__attr_def *d);
/* The default of an attribute of a node according to its schema file; UNKNOWN if there is none. */
surg__rvalue surg__rvalue_of_custom(surg__match *m, const surg_node *n, const char *name);
bool surg__rvalue_equal(const surg__rvalue *a, const surg__rvalue *b, bool *known);

/* --- functions of guards (functions.c) --- */
/* A function of guards. */
typedef struct surg__rule_fn {
  const char *name;
  bool about_value; /* the first argument is a graph value */
  bool quick;       /* cheap, and does not modify the match */
  uint8_t min, max; /* limits of the number of further arguments */
  surg__rvalue (*call)(surg__match *m, const surg_value *v, const surg__rvalue *args, size_t n);
  const char *help;
} surg__rule_fn;
const surg__rule_fn *surg__rule_fn_find(surg_str name);
const surg__rule_fn *surg__rfn_list(size_t *n);

/* --- expressions (expr.c) --- */
struct surg__tparse;
/* The state of the parser of a rule. */
typedef struct surg__rparse {
  struct surg__tparse *t;
  surg__rules *rules;
  surg_rule *rule;
  bool in_match;
  uint32_t depth;
  void *block;     /* the list of statements that is being parsed */
  unsigned nested; /* nodes inside arguments around the position */
  unsigned blanks; /* values that were named by unnamed_value */
  surg_str each, each_op; /* `for OP in (...)`: the name OP, and its current replacement */
  const char *line_at;    /* position up to which `line` is counted */
  uint32_t line;
} surg__rparse;
surg__rexpr *surg__rexpr_parse(surg__rparse *p);
/* Parses an expression without comparisons, for contexts where `>` ends a list. */
surg__rexpr *surg__rexpr_parse_plain(surg__rparse *p);
/* Parses an element type: `f32`, `float`, `dtype(x)` or a name. */
surg__rexpr *surg__rdtype_parse(surg__rparse *p);
/* Returns the variable of that name; creates it if needed. SURG__NO_VAR: too many, or out
 * of memory (reported). */
uint16_t surg__rvar_get(surg__rparse *p, surg_str name, bool value, bool *is_new);
uint16_t surg__rvar_find(const surg_rule *r, surg_str name);
int surg__rdtype_of(surg_str name); /* "f32", "float" ...; 0: not an element type */
bool surg__rlookahead(surg__rparse *p, const char *punct); /* whether `punct` is next */
bool surg__rword(surg__rparse *p, const char *word);       /* consumes this identifier if next */

/* --- emissions in C (native.c): `emit ... by NAME` --- */
typedef struct surg__builder surg__builder;
/* An emission in C, for what the rule language cannot express. */
typedef struct surg__native {
  const char *name;
  /* Builds the replacement. Checks the match first, and returns SURG_EUNSUPPORTED before
   * it creates anything; otherwise the nodes it creates replace every output of the
   * pattern that has readers. */
  surg_status (*make)(surg__builder *b);
  const char *help;
} surg__native;
const surg__native *surg__native_find(surg_str name);
/* Records the reason (what was expected and what was found) for reports, and returns
 * SURG_EUNSUPPORTED, which `make` returns when it cannot build the replacement. */
surg_status surg__b_decline(surg__builder *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Records that the value `name` lacks `what`, unless there is a reason already. Returns false. */
bool surg__b_lacks(const surg__builder *b, const char *name, const char *what);
/* Returns `bad`. If it is true, `what` is recorded as the reason, unless there is one already. */
bool surg__b_bad(const surg__builder *b, bool bad, const char *what);
/* Whether the replacement must not contain an operator with this first element type, as ONNX
 * Runtime has no kernel for it (any_kernel of surg__match). Recorded as the reason. */
bool surg__b_no_kernel(surg__builder *b, const char *op_type, int dtype);

/* Cache entry: `v` is the size of dimension `axis` of `of`, or its shape if axis is -1. */
typedef struct surg__bsize {
  surg_value *of, *v;
  int64_t axis;
} surg__bsize;
/* State of an emission in C. After a failure (status is not SURG_OK) all calls do nothing. */
struct surg__builder {
  surg__match *m;
  surg__made *made;
  surg_status status;
  surg_graph *g; /* graph and position of new nodes; `before` NULL: at the end */
  surg_node *before;
  surg__bsize sizes[16]; /* sizes requested recently */
  uint32_t n_sizes;
};
/* Returns the value bound to a name of the pattern; NULL: absent. The rule must define the name. */
surg_value *surg__b_get(const surg__builder *b, const char *name);
/* Returns the anchor, the node that the search started from. */
surg_node *surg__b_matched(const surg__builder *b);
/* Whether no attribute of the anchor refers to an attribute of the enclosing function. */
bool surg__b_attrs_known(const surg__builder *b);
/* Returns the value of a name bound to an attribute or defined by `let` in the pattern. */
surg__rvalue surg__b_data(const surg__builder *b, const char *name);
/* Inserts a node before the last root of the match, with these inputs (NULL: absent).
 * Returns its first output. */
surg_value *surg__b_node(surg__builder *b, const char *op_type, surg_value *const *in, size_t n);
surg_value *surg__b_unary(surg__builder *b, const char *op_type, surg_value *x);
surg_value *surg__b_binary(surg__builder *b, const char *op_type, surg_value *x, surg_value *y);
/* Creates an operator with axes: an attribute or an input, as the schema of the opset requires. */
surg_value *surg__b_over(surg__builder *b, const char *op_type, surg_value *x, const int64_t *axes,
                         size_t n);
/* Sets the element type that a Cast produces: before opset 6 it is a name, such as "INT8". */
surg_status surg__rcast_to(surg_node *cast, int64_t opset, int dtype);
/* Set attributes of the node that produces v. */
void surg__b_set_to(surg__builder *b, const surg_value *v, int dtype); /* of a Cast */
void surg__b_set_int(surg__builder *b, const surg_value *v, const char *name, int64_t i);
/* Copies the attributes of a matched node `from` to the producer of v, except those whose names
 * start with a word of `except` (ends with NULL; NULL: none). */
void surg__b_copy_attrs(surg__builder *b, const surg_value *v, const surg_node *from,
                        const char *const *except);
void surg__b_set_ints(surg__builder *b, const surg_value *v, const char *name, const int64_t *i,
                      size_t n);
void surg__b_set_float(surg__builder *b, const surg_value *v, const char *name, float f);
void surg__b_set_string(surg__builder *b, const surg_value *v, const char *name, const char *s);
/* Create constants: a vector of int64, a scalar of a type that can represent v, any tensor. */
surg_value *surg__b_ints(surg__builder *b, const int64_t *i, size_t n);
surg_value *surg__b_scalar(surg__builder *b, int dtype, double v);
surg_value *surg__b_tensor(surg__builder *b, int dtype, const int64_t *dims, size_t rank,
                           const void *raw, size_t bytes);
/* A constant of the tensor; NULL, as `t` is after a failure: out of memory. */
surg_value *surg__b_made(surg__builder *b, surg_tensor *t);
/* Returns output i of the node whose first output is given. */
surg_value *surg__b_output(surg__builder *b, const surg_value *first, size_t i);
/* Subgraphs. surg__b_enter creates a subgraph as an attribute of the node that produces v and makes
 * it the place of new nodes until surg__b_leave. Its inputs and outputs are added in order; its
 * nodes may capture outer values. */
typedef struct surg__bscope {
  surg_graph *g;
  surg_node *before;
} surg__bscope;
surg__bscope surg__b_enter(surg__builder *b, const surg_value *v, const char *attr);
void surg__b_leave(surg__builder *b, surg__bscope outside);
surg_value *surg__b_body_input(surg__builder *b, const char *word, int dtype);
void surg__b_body_output(surg__builder *b, surg_value *v, int dtype);
/* Makes `v` the replacement of the value bound to `name`. Does nothing if that is absent. */
void surg__b_result(surg__builder *b, const char *name, surg_value *v);

/* --- certificates (attest.c) --- */
/* surg__emit_any, and a step of the certificate of the run, if there is one. The emission that is
 * built may be another than the selected one, so the match is stated with its number. */
surg_status surg__emit_stated(const surg_pass_ctx *pass, surg__match *m, surg__made *made);
/* Ends a step of that certificate. */
void surg__state_step(const surg_pass_ctx *pass);

/* --- emission (emit.c) --- */
bool surg__rput_number(int dtype, bool real, const surg__rnum *n, uint8_t *out);
/* The constant `expr : type` of an emission, on the heap of the model. NULL: it has no value, no
 * such type, or a number that does not fit. */
surg_tensor *surg__rtensor(surg__match *m, const surg__rexpr *expr, const surg__rexpr *type);
/* Returns a name unique in the graph, derived from the value replaced and `word`.
 * NULL: out of memory. */
const char *surg__rname(surg__match *m, const char *word);
/* Converts a small tensor of integers to doubles: out[0] alone, or out[0] and out[1], whose sum is
 * exact where double cannot represent an integer. Returns false for other tensors. */
bool surg__rdoubles(surg__match *m, surg_tensor *t, surg_tensor *out[2]);
/* Whether constants of the graph may be initializers. */
bool surg__rinitializers(const surg__match *m);
/* Creates a constant for a node inserted before `before`. Before opset 9, Constant supports floats
 * only: where initializers are not allowed, integers are cast from doubles. NULL: out of memory. */
surg_value *surg__rconstant(surg__match *m, surg_graph *g, surg_node *before, const char *name,
                            surg_tensor *t);
/* Creates the nodes of m->emit and erases the matched nodes. SURG_EUNSUPPORTED: the emission cannot
 * be built here, and nothing changed; other errors leave the model in a failed state. New nodes are
 * appended to `made` (may be NULL). */
surg_status surg__emit_rule(surg__match *m, surg__made *made);
/* Adds an opset import for the domain of a new node if there is none: the oldest valid version. */
surg_status surg__rimport(surg_node *n);

#endif
