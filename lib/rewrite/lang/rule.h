/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrite rules: what one is once its text is read (doc/rules.md), and what the files of
 * lib/rewrite share. */
#ifndef SURG_RULE_H
#define SURG_RULE_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"
#include "base/context.h"
#include "base/dtype.h"
#include "schema/schema.h"

/* --- values of guards and of what an emission computes --- */

typedef enum surg__rkind {
  SURG__R_UNKNOWN = 0, /* not known, or known only when the model runs */
  SURG__R_BOOL,
  SURG__R_INT,
  SURG__R_FLOAT,
  SURG__R_STRING,
  SURG__R_DTYPE,
  SURG__R_INTS,
  SURG__R_FLOATS,
  SURG__R_STRINGS,
  SURG__R_OPAQUE /* an attribute that is only handed on */
} surg__rkind;

/* One number. An integer that is no known number may still be a symbol, equal to itself. */
typedef struct surg__rnum {
  bool known;
  int64_t i;
  double f;
  surg_dim dim; /* of an integer that is not known */
} surg__rnum;

typedef struct surg__rvalue {
  surg__rkind kind;
  surg__rnum one;          /* BOOL and DTYPE: in `i` */
  surg_str s;
  const surg__rnum *items; /* INTS, FLOATS */
  const surg_str *strings;
  size_t n;
  const int64_t *dims;     /* shape of the constant to make; NULL: rank 0, or 1 for a list */
  size_t rank;
} surg__rvalue;

/* --- expressions --- */

typedef enum surg__rop {
  SURG__E_LITERAL,
  SURG__E_VAR, /* an attribute or what `let` named */
  SURG__E_CALL,
  SURG__E_LIST,
  SURG__E_INDEX,
  SURG__E_NEG,
  SURG__E_NOT,
  SURG__E_ADD,
  SURG__E_SUB,
  SURG__E_MUL,
  SURG__E_DIV, /* of integers: towards minus infinity */
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

typedef struct surg__rexpr {
  surg__rop op;
  uint16_t var;                  /* VAR; of a CALL the value it is asked about */
  const struct surg__rule_fn *fn;    /* CALL */
  surg__rvalue literal;
  struct surg__rexpr **args;
  surg_str text; /* as written, of a part of a guard: what `and` joins */
  uint16_t n, depth;
} surg__rexpr;

/* --- rules --- */

#define SURG__RULE_NODES 64u  /* of a pattern or an emission */
#define SURG__RULE_VARS 200u  /* names of a rule */
#define SURG__RULE_DEPTH 64u  /* nesting of an expression */
#define SURG__RULE_EXPR 1000u /* depth of an expression, chains like a + b + c counted */
#define SURG__RULE_LIST 1024u /* elements of a list */
#define SURG__RULE_ELEMENTS 4096u /* of a constant that guards look at: channels of layers */
#define SURG__RULE_SWAPS 6u   /* commutative nodes of a pattern that are tried both ways */
#define SURG__RULE_USERS 32u  /* readers of a value looked at, where a pattern goes downwards */
#define SURG__RULE_ASKED 4u  /* ranges that a rewrite tells of */
#define SURG__NO_VAR UINT16_MAX

typedef struct surg__rvar {
  const char *name;
  bool value;    /* of the graph; else data: an attribute or what `let` names */
  bool optional; /* may be absent */
  bool hidden;   /* of an emission that was read: later ones do not see it */
  int16_t match_node, match_out; /* where the pattern makes it; -1: it comes from outside */
  int16_t emit_node;             /* of the emission looked at last; -1 */
  const struct surg__rexpr *early; /* a part of the guard of the pattern that speaks of it alone */
} surg__rvar;

typedef enum surg__rarg_kind {
  SURG__A_ABSENT,
  SURG__A_VALUE,
  SURG__A_CONST /* in a pattern: a number; in an emission: `expr : dtype` */
} surg__rarg_kind;

typedef struct surg__rarg {
  surg__rarg_kind kind;
  bool optional; /* `x?` */
  uint16_t var;
  double number; /* in a pattern */
  const surg__rexpr *expr, *dtype;
} surg__rarg;

typedef struct surg__rattr {
  const char *name;
  uint16_t var;            /* bound to this name; SURG__NO_VAR: compared with `expr` */
  bool or_default;         /* `k ?= v` */
  const surg__rexpr *expr;  /* in an emission: what it is set to */
  const surg__rexpr *dtype; /* ... as a tensor of that element type; or NULL */
} surg__rattr;

/* A statement: a node, `y = x`, or `let k = expr`. */
typedef enum surg__rstmt_kind { SURG__S_NODE, SURG__S_FORWARD, SURG__S_LET } surg__rstmt_kind;
typedef struct surg__rstmt {
  surg__rstmt_kind kind;
  uint32_t line;
  const char *domain, *op_type;
  int op; /* of a builtin, else 0 */
  bool commutative;
  surg__rarg *in;
  surg__rarg *out;
  surg__rattr *attrs;
  uint16_t n_in, n_out, n_attrs;
  bool more_in, more_out, more_attrs; /* `...` */
  const surg__rexpr *expr;            /* LET */
  uint16_t var;                       /* LET and FORWARD: the name it makes */
} surg__rstmt;

typedef struct surg__rblock {
  surg__rstmt *stmts;
  uint16_t n;
  uint16_t bound; /* names known before its statements */
  const struct surg__native *native; /* of an emission: C makes it; no statements then */
  int64_t lo, hi; /* opset of the default domain; hi INT64_MAX: no end */
  const surg__rexpr *guard;
  uint32_t line;
} surg__rblock;

/* Of a rule that is built in everything is checked before; what stands behind `match` and `emit` is
 * read when the rule is asked (surg__rule_read). What stands above `vars` is known without. */
struct surg_rule {
  const char *name, *group, *file;
  uint32_t line;
  surg_exactness exactness;
  const char *reason;           /* of approx; n of ulp(n), k of rounding(k) as text */
  const char *domain, *op_type; /* of the node that the search starts from */
  int op;                       /* of a builtin, else 0 */
  surg_str text;                /* as written */
  const char *source;           /* the file that a text not yet read stands in */
  surg_str each_op;             /* what `for OP in (...)` stands for here */
  struct surg__rules *owner;
  size_t place; /* in its list */
  bool read;
  surg__rvar *vars;
  uint16_t n_vars;
  surg__rblock match;
  surg__rblock *emits;
  uint16_t n_emits;
  uint16_t anchor;  /* statement of the pattern that the search starts from: the last node */
  uint16_t swaps;   /* commutative nodes */
  uint16_t more;    /* the statement that `...` speaks of; SURG__NO_VAR: none */
};

/* What passes/rules/embed.py writes down of a rule. */
typedef struct surg__rule_entry {
  const char *name, *group, *reason, *domain, *op_type;
  const char *each_op; /* NULL: it is not `for` several */
  uint8_t exactness, file;
  uint16_t line;
  uint32_t at, bytes; /* of its text in the file */
} surg__rule_entry;
typedef struct surg__rule_file {
  const char *name, *text;
} surg__rule_file;

/* A match that no emission could be made for. */
typedef struct surg__declined {
  const surg_rule *rule;
  const surg_node *node;
  char why[240];
} surg__declined;
#define SURG__RULE_DECLINED 1000u /* of one graph that are kept, for reports */

/* The rules of a context. */
typedef struct surg__rules {
  surg_context *ctx;
  surg__arena arena;
  SURG_VEC(surg_rule *) list;
  size_t builtins; /* the first ones in the list; 0 until they are there */
  bool failed;     /* one could not be read by who only asked; the next rewrite fails */
  char explained[240]; /* what surg_rule_explain returned last */
  SURG_VEC(surg__declined)
  declined; /* by builders, since the last call of surg_pass_rewrite_graph */
} surg__rules;

/* The rules of a context, the built-in ones listed on first use. NULL: out of memory. */
surg__rules *surg__rules_of(surg_context *ctx);
/* Whether the user gave it (--rules); built-in ones come first in the list. */
static inline bool surg__rule_is_own(const surg_rule *r) { return r->place >= r->owner->builtins; }
/* Reads what of a rule is not yet read; false: out of memory, or built-in text that does not hold
 * (reported). */
bool surg__rule_read(const surg_rule *r);
bool surg__rules_read_all(surg__rules *r);
/* Puts rules into the list that are read when they are asked. */
surg_status surg__rules_list(surg__rules *r, const surg__rule_file *files,
                             const surg__rule_entry *entries, size_t n);
/* Reads text and adds its rules; SURG_EINVALID with `file:line:column: ...`. */
surg_status surg__rules_parse(surg__rules *r, const char *text, size_t n, const char *name);
/* Lists the rules of passes/rules; defined there, so that nothing in lib/ knows them. */
surg_status surg__register_builtin_rules(surg__rules *r);
/* What a rule of itself does not hold: operators, arity, names. NULL, or a text in `why`. */
bool surg__rule_check(surg_context *ctx, surg_rule *r, surg__buf *why, uint32_t *line);

/* The same of a statement whose operator a schema file describes; one that none does holds. */
bool surg__rule_check_custom(surg_context *ctx, const surg__rstmt *s, bool emitted,
                             surg__buf *why);

/* Whether rules from place `from` on would go round for ever; then which two. */
bool surg__rules_cyclic(surg__rules *r, size_t from, const surg_rule **a, const surg_rule **b);

/* --- a match --- */

typedef SURG_VEC(surg_node *) surg__made;

/* A range that a guard asked for. */
typedef struct surg__asked {
  const surg_value *v;
  const char *name; /* interned: the value may lose it */
  surg_range r;
} surg__asked;

typedef struct surg__match {
  surg_context *ctx;
  surg_model *m;
  surg_graph *g;
  const surg_rule *rule;
  surg_pass_ctx *pass;      /* what the user protects is asked of it; NULL: nothing */
  surg_node *last;          /* the emission stands before this root */
  int64_t opset;            /* the emission must be for this one */
  const surg__rblock *emit; /* the emission whose guard holds */
  surg__arena *arena;       /* lists of values; reset with the match */
  surg_node *nodes[SURG__RULE_NODES];
  surg_value *values[SURG__RULE_VARS];
  bool bound[SURG__RULE_VARS]; /* values[] may be NULL: absent */
  surg__rvalue data[SURG__RULE_VARS];
  const surg_attr *attrs[SURG__RULE_VARS]; /* the attribute a name is bound to, to copy */
  surg__asked asked[SURG__RULE_ASKED]; /* of this attempt; the last ones have no value */
  const char *why; /* why it failed; static text, or why_text */
  int why_stmt;
  bool explain;    /* set by the caller: a guard that fails is quoted, which costs */
  char why_text[240];
} surg__match;
/* States why it failed, with values in it. Returns false. */
bool surg__match_failed(surg__match *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether the rule matches with its anchor at `n`; fills *m, whose arena, ctx and rule are set. */
bool surg__match_at(surg__match *m, surg_node *n, int64_t opset);
/* The next emission whose guard holds, where the one chosen could not be made. */
bool surg__match_next(surg__match *m);
/* Whether statement k of an emission is a node of the pattern as it stands, which reads nothing
 * that goes; and whether the emission keeps the node of the match in this way. Such nodes are not
 * made anew: where they stand, all their readers stand behind them. */
bool surg__match_stands(const surg__match *m, const surg__rblock *b, uint16_t k);
bool surg__match_keeps(const surg__match *m, const surg__rblock *b, const surg_node *n);
/* Makes the emission chosen, or the next that can be made; see surg__emit_rule. */
surg_status surg__emit_any(surg__match *m, surg__made *made);
/* Evaluates; UNKNOWN where it is not known. */
surg__rvalue surg__reval(surg__match *m, const surg__rexpr *e);
bool surg__rtrue(surg__match *m, const surg__rexpr *e); /* NULL: true */
surg__rvalue surg__rvalue_of_attr(surg__match *m, const surg_attr *a);
surg__rvalue surg__rvalue_of_default(surg__match *m, const surg__attr_def *d);
/* The default that a schema file gives an attribute of a node; UNKNOWN where none does. */
surg__rvalue surg__rvalue_of_custom(surg__match *m, const surg_node *n, const char *name);
bool surg__rvalue_equal(const surg__rvalue *a, const surg__rvalue *b, bool *known);

/* --- functions of guards (functions.c) --- */
typedef struct surg__rule_fn {
  const char *name;
  bool about_value; /* the first argument is a value of the graph */
  bool quick;       /* costs little, and leaves nothing behind in the match */
  uint8_t min, max; /* further arguments */
  surg__rvalue (*call)(surg__match *m, const surg_value *v, const surg__rvalue *args, size_t n);
  const char *help;
} surg__rule_fn;
const surg__rule_fn *surg__rule_fn_find(surg_str name);
const surg__rule_fn *surg__rfn_list(size_t *n);

/* --- expressions (expr.c) --- */
struct surg__tparse;
typedef struct surg__rparse {
  struct surg__tparse *t;
  surg__rules *rules;
  surg_rule *rule;
  bool in_match;
  uint32_t depth;
  surg_str each, each_op; /* `for OP in (...)`: the word, and what it stands for now */
  const char *line_at;    /* where `line` was counted to */
  uint32_t line;
} surg__rparse;
surg__rexpr *surg__rexpr_parse(surg__rparse *p);
/* The same without comparisons: where a `>` ends a list. */
surg__rexpr *surg__rexpr_parse_plain(surg__rparse *p);
/* An element type: `f32`, `float`, `dtype(x)` or a name. */
surg__rexpr *surg__rdtype_parse(surg__rparse *p);
/* The variable of that name, made when new; SURG__NO_VAR: too many, or no memory (reported). */
uint16_t surg__rvar_get(surg__rparse *p, surg_str name, bool value, bool *is_new);
uint16_t surg__rvar_find(const surg_rule *r, surg_str name);
int surg__rdtype_of(surg_str name); /* "f32", "float" ...; 0: none */
bool surg__rlookahead(surg__rparse *p, const char *punct); /* the next characters are these */
bool surg__rword(surg__rparse *p, const char *word);       /* takes that identifier */

/* --- emissions in C (native.c): `emit ... by NAME`, for what text cannot say --- */
typedef struct surg__builder surg__builder;
typedef struct surg__native {
  const char *name;
  /* Looks at the match first and returns SURG_EUNSUPPORTED before anything is made, or makes nodes
   * that take over every output of the pattern that has readers. */
  surg_status (*make)(surg__builder *b);
  const char *help;
} surg__native;
const surg__native *surg__native_find(surg_str name);
/* What `make` returns when it cannot make this: SURG_EUNSUPPORTED, with the reason kept for
 * reports: what was expected and what was found. */
surg_status surg__b_decline(surg__builder *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The same from where a value is looked at; keeps a reason that is there. Returns false. */
bool surg__b_lacks(const surg__builder *b, const char *name, const char *what);
/* `bad`; if it is true, `what` is the reason why the builder declines, unless there is one. */
bool surg__b_bad(const surg__builder *b, bool bad, const char *what);

/* Dim `axis` of a value, or -1: its shape, as a value of the model. */
typedef struct surg__bsize {
  surg_value *of, *v;
  int64_t axis;
} surg__bsize;
/* What such a function builds with. After a failure all calls do nothing. */
struct surg__builder {
  surg__match *m;
  surg__made *made;
  surg_status status;
  surg_graph *g; /* where nodes are made, and what they stand before; NULL: at the end */
  surg_node *before;
  surg__bsize sizes[16]; /* asked for lately */
  uint32_t n_sizes;
};
/* The value bound to a name of the pattern; NULL: absent. The name must be one of the rule. */
surg_value *surg__b_get(const surg__builder *b, const char *name);
/* The node the search started from. */
surg_node *surg__b_matched(const surg__builder *b);
/* Whether it has no attribute that refers to one of a function. */
bool surg__b_attrs_known(const surg__builder *b);
/* What an attribute was bound to, or what `let` of the pattern said. */
surg__rvalue surg__b_data(const surg__builder *b, const char *name);
/* A new node before the last root, with these inputs (NULL: absent); its first output. */
surg_value *surg__b_node(surg__builder *b, const char *op_type, surg_value *const *in, size_t n);
surg_value *surg__b_unary(surg__builder *b, const char *op_type, surg_value *x);
surg_value *surg__b_binary(surg__builder *b, const char *op_type, surg_value *x, surg_value *y);
/* An operator over axes, which later versions take as an input: the schema of the opset decides. */
surg_value *surg__b_over(surg__builder *b, const char *op_type, surg_value *x, const int64_t *axes,
                         size_t n);
/* Attributes of the node that made v. */
void surg__b_set_int(surg__builder *b, const surg_value *v, const char *name, int64_t i);
void surg__b_set_ints(surg__builder *b, const surg_value *v, const char *name, const int64_t *i,
                      size_t n);
void surg__b_set_float(surg__builder *b, const surg_value *v, const char *name, float f);
void surg__b_set_string(surg__builder *b, const surg_value *v, const char *name, const char *s);
/* Constants: a vector of int64, a scalar of a type (numbers that fit it), or any tensor. */
surg_value *surg__b_ints(surg__builder *b, const int64_t *i, size_t n);
surg_value *surg__b_scalar(surg__builder *b, int dtype, double v);
surg_value *surg__b_tensor(surg__builder *b, int dtype, const int64_t *dims, size_t rank,
                           const void *raw, size_t bytes);
/* Output i of the node whose first one is given. */
surg_value *surg__b_output(surg__builder *b, const surg_value *first, size_t i);
/* A body of the node that made v, as its attribute: what is made from then on stands in it, until
 * it is left. Its inputs and outputs, in order; a body may read what is outside. */
typedef struct surg__bscope {
  surg_graph *g;
  surg_node *before;
} surg__bscope;
surg__bscope surg__b_enter(surg__builder *b, const surg_value *v, const char *attr);
void surg__b_leave(surg__builder *b, surg__bscope outside);
surg_value *surg__b_body_input(surg__builder *b, const char *word, int dtype);
void surg__b_body_output(surg__builder *b, surg_value *v, int dtype);
/* The node that made `v` takes over the value bound to `name`; nothing where that is absent. */
void surg__b_result(surg__builder *b, const char *name, surg_value *v);

/* --- emission (emit.c) --- */
bool surg__rput_number(int dtype, bool real, const surg__rnum *n, uint8_t *out);
/* A name from the one of what is replaced, borne by nobody; NULL: out of memory. */
const char *surg__rname(surg__match *m, const char *word);
/* The numbers of a small tensor of integers as doubles: one of them, or two whose sum they are
 * where double is too short. False: it is no such tensor. */
bool surg__rdoubles(surg__match *m, surg_tensor *t, surg_tensor *out[2]);
/* Whether constants of the graph may be initializers. */
bool surg__rinitializers(const surg__match *m);
/* A constant for what is made before a node. Before opset 9 a Constant holds floats alone: where no
 * initializer may stand, integers are cast from doubles. NULL: out of memory. */
surg_value *surg__rconstant(surg__match *m, surg_graph *g, surg_node *before, const char *name,
                            surg_tensor *t);
/* Makes the nodes of m->emit and takes the matched ones away. SURG_OK; SURG_EUNSUPPORTED: it cannot
 * be made here and nothing changed; else the model failed. New nodes are put into `made` (may be
 * NULL). */
surg_status surg__emit_rule(surg__match *m, surg__made *made);
/* Imports the domain of a node that is made, where nothing does: in the oldest version that fits.
 */
surg_status surg__rimport(surg_node *n);

#endif
