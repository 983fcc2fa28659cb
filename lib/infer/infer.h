/* SPDX-License-Identifier: Apache-2.0 */
/* Types and shapes: what the rules of lib/infer share.
 *
 * A rule reads facts about the inputs of one node and states facts about its outputs. It states
 * only what holds in every run that does not fail: a dim that may differ is unknown, never guessed.
 * Axioms are the types of the main graph's inputs and the tensors of initializers; value_info and
 * declared outputs are claims and never read. A rule whose inputs contradict it calls
 * surg__infer_bad, and the outputs get no type. */
#ifndef SURG_INFER_H
#define SURG_INFER_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"
#include "base/dtype.h"
#include "sym/expr.h"
#include "ir/ir.h"
#include "schema/schema.h"

/* Elements of an integer tensor that are tracked one by one, and how many in one model. */
#define SURG__ELEMS 1024u
#define SURG__ELEMS_TOTAL (4u << 20)

/* Elements of a tensor of floats that is tracked: factors and sizes on their way to a shape. */
#define SURG__REALS 64u

/* What is known of one element: a number (of a float the bits of it as a double), an expression, or
 * nothing. Of a float with an expression, `value` is what the expression is divided by. */
typedef surg_elem surg__elem;

/* What is known of one value. */
typedef struct surg__fact {
  surg_type_kind kind; /* SURG_TYPE_UNKNOWN: nothing is */
  int dtype;           /* of a TENSOR */
  bool ranked;
  uint32_t rank; /* at most SURG_LIMIT_RANK */
  const surg_dim *dims;
  const surg_type *type; /* the type this was read from; NULL for a tensor's */
} surg__fact;

/* Told of a call when its function's body was walked for it: until it returns, the values of the
 * body have the types they have in this call. A call in a body is told of for each call around it,
 * the last time with the final types; before the call around it is. */
typedef void (*surg__call_fn)(void *user, const surg_node *call);
/* An inference that tells of calls. */
surg_status surg__infer_calls(surg_model *m, surg__call_fn on_call, void *user);
/* An inference after which the values of a function's body have what holds in all calls that the
 * model makes of it; surg_model_infer states what holds in any call there could be, and does so
 * anew when it is asked next. */
surg_status surg__infer_functions(surg_model *m);

/* One inference of a node. `states` distinguishes the two users: a model being inferred, where
 * results go into the values, and one node whose result is measured. */
typedef struct surg__infer {
  surg_model *m;
  const surg_node *n;
  const surg_schema *schema;
  int op, since;
  bool bad;             /* the inputs contradict the operator */
  bool nomem;
  struct surg__istate *states; /* NULL: measuring; else value->scratch points into it */
  surg__arena keep;     /* elements, until the next inference */
  surg__arena scratch;  /* nodes as they are in a call */
  size_t work_left;     /* nodes that may be walked more than once */
  bool no_calls;        /* functions are walked for no call */
  const surg_value *assumed; /* a condition that is taken to be `assumed_as`; NULL: none is */
  bool assumed_as;
  const surg_graph *watched; /* `failing`: the first node of it whose inputs contradict it */
  surg_node *failing;
  bool of_calls;        /* bodies get what holds in all calls */
  SURG_VEC(surg_function *) missed; /* a call of it was not walked: nothing is known of all */
  surg__call_fn on_call; /* or NULL */
  void *user;            /* of it */
  size_t elems_left;
  size_t measured;      /* outputs with a known size, and their bytes */
  uint64_t bytes;
  bool as_file;         /* also: what those with readers take in the file as constants */
  uint64_t in_file;
  uint32_t mask[16];    /* a type parameter's possible dtypes, as far as inputs narrow it */
  int64_t dims_buf[SURG_LIMIT_RANK];
  surg_dim in_dims[4][SURG_LIMIT_RANK]; /* dims of constants, by input index modulo 4 */
} surg__infer;

/* Inference's own state of a value, behind value->scratch. */
typedef struct surg__istate {
  const surg_type *old; /* what the last inference found: used again where it is equal */
  const surg__elems *elems;
  bool has_elems; /* they are settled: `elems`, or NULL for none */
  bool refuted;   /* what was assumed of an input of a body did not hold */
  const surg_type *seed; /* of an input of a body in the next round */
  bool joined;           /* a call was walked for which... */
  const surg_type *all;  /* ... and all before it this holds, of a value in a function */
  const surg__elems *all_elems;
} surg__istate;

typedef void (*surg__infer_fn)(surg__infer *c);
/* The rule of an operator, or NULL (lib/infer/rules.c). */
surg__infer_fn surg__infer_find(int op);

/* Whether what is proven of a node's inputs contradicts its operator. The model is inferred. */
bool surg__infer_contradicts(const surg_node *n);

/* States the outputs of one node of an inferred model of which nothing is known yet, from what is
 * known of its inputs; what is known of the others stays. Nothing is stated for calls and for nodes
 * with bodies. The model fails when memory runs out. */
void surg__infer_one(surg_node *n);

/* v is no longer exactly what it was: what was proven of all that is computed from its elements is
 * not known until the model is inferred again. The model fails when memory runs out. */
void surg__infer_doubt(surg_value *v);

/* --- walking (walk.c) --- */
/* Nodes that one inference walks: this many times those of the model, and some more. Beyond it no
 * body and no function is walked twice. */
#define SURG__WORK 8u
#define SURG__WORK_LEAST 65536u
#define SURG__ROUNDS 4u /* walks of a loop's body, the last with states of unknown shape */
void surg__infer_walk(surg__infer *c, surg_graph *g);
size_t surg__infer_work(const surg_model *m);
/* Makes c->n a node whose rule may run; false: it has none, or its attributes are not known. */
bool surg__infer_prepare(surg__infer *c, const surg_node *n);
/* Takes back all that was stated in a graph and the bodies in it. */
void surg__infer_forget(surg__infer *c, surg_graph *g);
/* Functions (calls.c). A call was walked: what it found is held against what others found. */
void surg__infer_called(surg__infer *c, surg_function *f);
/* A call was not walked. */
void surg__infer_missed(surg__infer *c, surg_function *f);
/* After the walk of the main graph: what holds of every function's body. */
void surg__infer_settle_functions(surg__infer *c);
/* States a declared type, without what is not a matter of inference (denotations). */
void surg__infer_state_declared(surg__infer *c, surg_value *v, const surg_type *t,
                            surg__symbol symbol);

/* --- reading --- */
bool surg__infer_has(const surg__infer *c, size_t i); /* input i is present */
/* The fact about input i; kind UNKNOWN when absent or nothing is known. The dims hold until four
 * inputs further on are read. */
surg__fact surg__infer_in(surg__infer *c, size_t i);
/* The same of any value; the dims hold until another one is read into the same slot (0 to 3). */
surg__fact surg__infer_value(surg__infer *c, const surg_value *v, size_t slot);
/* Reads input i as a ranked tensor; false otherwise. */
bool surg__infer_ranked(surg__infer *c, size_t i, surg__fact *f);
/* The elements of input i, in `buf` or in memory of the inference; NULL: they are not tracked. */
const surg__elem *surg__infer_elems(surg__infer *c, size_t i, surg__elem buf[SURG__ELEMS],
                                    uint32_t *n);
/* The same of floats, too: for rules that give elements on as they are. */
const surg__elem *surg__infer_any_elems(surg__infer *c, size_t i, surg__elem buf[SURG__ELEMS],
                                    uint32_t *n);
/* Elements of any value. */
const surg__elem *surg__infer_value_elems(surg__infer *c, const surg_value *v,
                                      surg__elem buf[SURG__ELEMS], uint32_t *n);
/* The one known element of input i; false when it is no such thing. */
bool surg__infer_int(surg__infer *c, size_t i, int64_t *out);
/* All elements of input i as numbers, at most `cap`. */
bool surg__infer_ints(surg__infer *c, size_t i, int64_t *out, uint32_t cap, uint32_t *n);
/* The float elements of input i. */
bool surg__infer_floats(surg__infer *c, size_t i, float *out, uint32_t cap, uint32_t *n);
/* The dtype output k must have by the operator's type parameters, or 0. */
int surg__infer_dtype(const surg__infer *c, size_t k);

/* --- stating --- */
void surg__infer_bad(surg__infer *c);
void surg__infer_put(surg__infer *c, size_t k, int dtype, const surg_dim *dims, size_t rank);
void surg__infer_put_unranked(surg__infer *c, size_t k, int dtype);
/* Output k is like `f`, of another dtype perhaps. */
void surg__infer_put_like(surg__infer *c, size_t k, int dtype, const surg__fact *f);
void surg__infer_put_type(surg__infer *c, size_t k, const surg_type *type);
/* Output k is a sequence or an optional of what `elem` says. */
void surg__infer_put_wrapped(surg__infer *c, size_t k, surg_type_kind kind, const surg__fact *elem);
void surg__infer_set_wrapped(surg__infer *c, surg_value *v, surg_type_kind kind,
                         const surg__fact *elem);
/* What holds of a tensor that is a or b, its dims in `dims`; false: nothing. `out` may be `a` where
 * its dims are `dims`. */
bool surg__fact_join(const surg__fact *a, const surg__fact *b, surg_dim dims[SURG_LIMIT_RANK],
                     surg__fact *out);
/* The same, of dims whose expressions are the same too (surg_type_equal takes none for any). */
bool surg__type_same(const surg_type *a, const surg_type *b);
/* A type of a value inside of `body` as it holds outside; NULL: nothing does. */
const surg_type *surg__infer_outside(surg__infer *c, const surg_type *t, const surg_graph *body);
/* The type of a value that is no output of the node: an input of its bodies. */
void surg__infer_set(surg__infer *c, surg_value *v, int dtype, const surg_dim *dims, size_t rank);
void surg__infer_set_unranked(surg__infer *c, surg_value *v, int dtype);
void surg__infer_set_elems(surg__infer *c, surg_value *v, const surg__elem *e, uint32_t n);
/* The elements of output k, whose type was stated. */
void surg__infer_put_elems(surg__infer *c, size_t k, const surg__elem *e, uint32_t n);
/* The same of floats, too, where they are those of an input of the type of output k. */
void surg__infer_put_any_elems(surg__infer *c, size_t k, const surg__elem *e, uint32_t n);

/* The elements of output k are those of v, an output of a body; where `or` is given, only what both
 * have in common. */
void surg__infer_put_elems_outside(surg__infer *c, size_t k, const surg_value *v,
                               const surg_value *or, const surg_graph *body);

/* --- dims --- */
static inline surg_dim surg__dim(int64_t v) { return (surg_dim){v, NULL, NULL}; }
static inline surg_dim surg__dim_unknown(void) { return (surg_dim){-1, NULL, NULL}; }
static inline bool surg__dim_known(surg_dim d) { return d.value >= 0; }
bool surg__dim_same(surg_dim a, surg_dim b); /* equal in every run */
/* One dim of two inputs that must be equal: the better known of the two. False: they differ. */
bool surg__dim_unify(surg_dim a, surg_dim b, surg_dim *out);
bool surg__dim_broadcast(surg_dim a, surg_dim b, surg_dim *out);
/* The dim of a value that is a or b, one cannot say which. */
surg_dim surg__dim_join(surg_dim a, surg_dim b);
surg_dim surg__dim_product(const surg_dim *d, size_t n);
surg_dim surg__dim_sum(surg_dim a, surg_dim b);
/* d + k, d * k, and d / k rounded down and up, for k > 0 where it divides. */
surg_dim surg__dim_add(surg_dim d, int64_t k);
surg_dim surg__dim_times(surg_dim d, int64_t k);
surg_dim surg__dim_over(surg_dim d, int64_t k);
surg_dim surg__dim_over_up(surg_dim d, int64_t k);
/* The dim as it is outside of a body: nothing where it hangs on what is inside. */
surg_dim surg__dim_outside(surg_dim d, const surg_graph *body);
surg_dim surg__dim_of(surg__elem e, bool *negative);
surg__elem surg__elem_of(surg_dim d);
static inline surg__elem surg__elem_int(int64_t v) { return (surg__elem){v, NULL, true}; }
/* The element as an expression, NULL for nothing; and the other way. */
const surg_expr *surg__elem_expr(const surg__infer *c, surg__elem e);
surg__elem surg__elem_from(const surg_expr *e);
const surg_expr *surg__dim_as_expr(const surg__infer *c, surg_dim d);
static inline surg__elem surg__elem_real(double v) {
  surg__elem e = {0, NULL, v - v == 0}; /* not known where it is not finite */
  memcpy(&e.value, &v, sizeof v);
  return e;
}
static inline double surg__elem_as_real(surg__elem e) {
  double v;
  memcpy(&v, &e.value, sizeof v);
  return v;
}
static inline surg__elem surg__elem_unknown(void) { return (surg__elem){0, NULL, false}; }
/* Broadcasts shape b into the shape a; false: they do not fit. */
bool surg__dims_broadcast(surg_dim a[SURG_LIMIT_RANK], size_t *rank, const surg_dim *b, size_t n);
/* axis in -rank..rank-1 to 0..rank-1; calls surg__infer_bad and returns false otherwise. */
bool surg__infer_axis(surg__infer *c, int64_t axis, size_t rank, size_t *out);
/* The axes of attribute or input as a bit set over `rank` <= 64 axes. *absent: none are given.
 * False: they are not known, or the node is bad. */
bool surg__infer_axes(surg__infer *c, size_t input, size_t rank, uint64_t *set, bool *absent);

#endif
