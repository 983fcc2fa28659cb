/* SPDX-License-Identifier: Apache-2.0 */
/* Type and shape inference: what the rules of lib/infer share.
 *
 * A rule reads facts about the inputs of one node and states facts about its outputs. It states
 * only what is true in every run that does not fail: a dimension that may differ between runs is
 * unknown, never guessed. Axioms are the types of the main graph's inputs and the tensors of
 * initializers; value_info and declared output types are claims, and are not read. A rule whose
 * inputs contradict it calls surg__infer_bad, and the outputs get no type. */
#ifndef SURG_INFER_H
#define SURG_INFER_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"
#include "base/dtype.h"
#include "sym/expr.h"
#include "ir/ir.h"
#include "schema/schema.h"

/* Limits on tracked elements of integer tensors: for one tensor, and for one model. */
#define SURG__ELEMS 1024u
#define SURG__ELEMS_TOTAL (4u << 20)

/* Limit on tracked elements of a float tensor: scale factors and sizes used to compute a shape. */
#define SURG__REALS 64u

/* What is known of one element: a number (for a float, its bits as a double), an expression, or
 * nothing. For a float with an expression, `value` is the divisor of the expression. */
typedef surg_elem surg__elem;

/* What is known of one value. */
typedef struct surg__fact {
  surg_type_kind kind; /* SURG_TYPE_UNKNOWN: nothing is known */
  int dtype;           /* of a TENSOR */
  bool ranked;
  uint32_t rank; /* at most SURG_LIMIT_RANK */
  const surg_dim *dims;
  const surg_type *type; /* the type this was read from; NULL for a tensor */
} surg__fact;

/* Callback for a call of a function, after the function's body was walked for this call: until it
 * returns, the values of the body have their types in this call. A call inside a body is reported
 * once for each enclosing call, the last time with the final types, and before the enclosing
 * one. */
typedef void (*surg__call_fn)(void *user, const surg_node *call);
/* Infers the model and calls on_call for every call of a function. */
surg_status surg__infer_calls(surg_model *m, surg__call_fn on_call, void *user);
/* Notes what inference proves to be at least 1 (surg__expr_note_filled). */
void surg__infer_filled(surg_model *m);
/* Infers the model so that the values of a function's body have the types common to all calls in
 * the model. surg_model_infer states what is true for any possible call, and overwrites these types
 * when it runs next. */
surg_status surg__infer_functions(surg_model *m);

/* How declared types are used (believe.c). */
typedef struct surg__beliefs {
  bool complete; /* what is not inferred is as declared */
  bool merge;    /* ... and of declared and inferred types that contradict each other, only what
                  * they have in common is known */
  bool again;    /* an inference was made before: the types that it left take the place of declared
                  * ones, as an engine infers again after it edited the model */
  bool of_calls; /* join the types of function bodies over all calls */
  /* With `merge`: nodes of which the engine may infer no shapes: where their results are declared
   * otherwise, the declared types are used. NULL: there is none. */
  bool (*hides)(const surg_node *n);
  bool least; /* ... and it does not: of their results, and of inputs of bodies, nothing but what is
               * declared is known */
} surg__beliefs;
/* Infers the model as an engine does that uses declared types. The types are not proven: set
 * m->inferred_epoch to 0 afterwards. */
surg_status surg__infer_believed(surg_model *m, surg__beliefs beliefs);
/* Of an inferred model: whether the declared shape of a result contradicts the inferred one, and
 * whether the declared type states what is not inferred. */
bool surg__infer_is_contradicted(const surg_value *v);
bool surg__infer_is_completed(const surg_value *v);

/* The state of one inference. It has two uses: inferring a model, where results are stored in the
 * values, and measuring the result of one node, where `states` is NULL. */
typedef struct surg__infer {
  surg_model *m;
  const surg_node *n;
  const surg_schema *schema;
  int op, since;
  bool bad;             /* the inputs contradict the operator */
  bool nomem, cancelled;
  uint32_t ticks; /* visits of nodes */
  struct surg__istate *states; /* NULL: one node is measured; else value->scratch points into it */
  surg__arena keep;     /* elements, kept until the next inference */
  surg__arena scratch;  /* copies of nodes with the attributes of a call */
  size_t work_left;     /* nodes that may still be visited again */
  bool no_calls;        /* walk functions once, without a call */
  const surg_value *assumed; /* a condition assumed to be `assumed_as`; NULL: none */
  bool assumed_as;
  const surg_graph *watched; /* `failing`: its first node whose inputs contradict the operator */
  surg_node *failing;
  bool of_calls;        /* join the types of bodies over all calls */
  surg__beliefs beliefs;
  SURG_VEC(surg_function *) missed; /* functions for which some call was not walked */
  surg__call_fn on_call; /* or NULL */
  void *user;            /* passed to on_call */
  size_t elems_left;
  const surg_type *shared[64]; /* types that were made last, by a hash of what they state */
  size_t measured;      /* outputs with a known size, and their bytes */
  uint64_t bytes;
  bool as_file;         /* also count the file size of constants that have consumers */
  uint64_t in_file;
  uint32_t mask[16];    /* possible dtypes of a type parameter, narrowed by the inputs */
  int64_t dims_buf[SURG_LIMIT_RANK];
  surg_dim in_dims[4][SURG_LIMIT_RANK]; /* dims of constants, by input index modulo 4 */
} surg__infer;

/* Inference's own state of a value; value->scratch points to it. */
typedef struct surg__istate {
  const surg_type *old; /* what the previous inference found: reused where it is equal */
  const surg__elems *elems;
  const surg_type *seed; /* the type of an input of a body in the next round */
  const surg_type *all;  /* for a value in a function: what is common to all walks so far */
  const surg__elems *all_elems;
  bool has_elems; /* the elements are final: `elems`, or NULL for none */
  bool refuted;   /* the assumption about an input of a body is wrong */
  bool joined;    /* a walk for some call has reached this value */
} surg__istate;

typedef void (*surg__infer_fn)(surg__infer *c);
/* The rule of an operator, or NULL (lib/infer/rules.c). */
surg__infer_fn surg__infer_find(int op);

/* The element type that the schema states of a result, given the types of the inputs; 0: none. Also
 * of a node whose shapes contradict each other, of which nothing else is inferred. Requires an
 * inferred model. */
int surg__infer_stated_dtype(const surg_value *v);
/* Whether the proven types of a node's inputs contradict its operator. Requires an inferred
 * model. */
bool surg__infer_contradicts(const surg_node *n);

/* Infers the outputs of one node in an inferred model. Only outputs of which nothing is known yet
 * are stated. Does nothing for calls and for nodes with bodies. The model fails when memory runs
 * out. */
void surg__infer_one(surg_node *n);

/* Declares that v is no longer exactly what it was: facts derived from its elements are unknown
 * until the model is inferred again. The model fails when memory runs out. */
void surg__infer_doubt(surg_value *v);

/* --- walking (walk.c) --- */
/* Budget of one inference: it visits at most this many times the nodes of the model, plus a
 * constant. Once it is spent, no body and no function is walked twice. */
#define SURG__WORK 8u
#define SURG__WORK_LEAST 65536u
#define SURG__ROUNDS 4u /* walks of a loop body; in the last one the shapes of states are unknown */
void surg__infer_walk(surg__infer *c, surg_graph *g);
/* Attaches a state to a value that has none. Stale facts about an output are removed, those about
 * an input are hidden until its state is detached. */
void surg__infer_attach(surg_value *v, surg__istate *s, bool output);
/* Infers the outputs of one node, with `bodies` after what is in its subgraphs. All values that it
 * reads have states. */
void surg__infer_again(surg__infer *c, surg_node *n, bool bodies);
size_t surg__infer_work(const surg_model *m);
/* Sets c->n to the node; false: it has no rule, or its attributes are unknown. */
bool surg__infer_prepare(surg__infer *c, const surg_node *n);
/* Removes all stated facts from a graph and the bodies in it. */
void surg__infer_forget(surg__infer *c, surg_graph *g);
/* Use the declared types of the outputs of a node, and of the inputs of its bodies, as c->beliefs
 * states. */
void surg__infer_believe(surg__infer *c, const surg_node *n);
void surg__infer_believe_bodies(surg__infer *c, const surg_node *n);
/* Functions (calls.c). After the walk of a call: joins its types with those of earlier calls. */
void surg__infer_called(surg__infer *c, surg_function *f);
/* Records that a call of f was not walked. */
void surg__infer_missed(surg__infer *c, surg_function *f);
/* After the walk of the main graph: stores the final types of every function body. */
void surg__infer_settle_functions(surg__infer *c);
/* States a declared type, without the denotations. */
void surg__infer_state_declared(surg__infer *c, surg_value *v, const surg_type *t,
                            surg__symbol symbol);

/* --- reading --- */
bool surg__infer_has(const surg__infer *c, size_t i); /* input i is present */
/* The fact about input i; kind UNKNOWN when the input is absent or nothing is known. The dimensions
 * stay valid until four more inputs are read. */
surg__fact surg__infer_in(surg__infer *c, size_t i);
/* The fact about any value; its dimensions stay valid until the same slot (0 to 3) is used
 * again. */
surg__fact surg__infer_value(surg__infer *c, const surg_value *v, size_t slot);
/* Reads input i as a ranked tensor; false otherwise. */
bool surg__infer_ranked(surg__infer *c, size_t i, surg__fact *f);
/* The elements of input i, in `buf` or in memory of the inference; NULL: not tracked. */
const surg__elem *surg__infer_elems(surg__infer *c, size_t i, surg__elem buf[SURG__ELEMS],
                                    uint32_t *n);
/* As surg__infer_elems, floats included: for rules that only copy elements. */
const surg__elem *surg__infer_any_elems(surg__infer *c, size_t i, surg__elem buf[SURG__ELEMS],
                                    uint32_t *n);
/* The elements of any value. */
const surg__elem *surg__infer_value_elems(surg__infer *c, const surg_value *v,
                                      surg__elem buf[SURG__ELEMS], uint32_t *n);
/* The single known element of input i; false: there is none. */
bool surg__infer_int(surg__infer *c, size_t i, int64_t *out);
/* Reads all elements of input i as integers, at most `cap`; false: some are unknown. */
bool surg__infer_ints(surg__infer *c, size_t i, int64_t *out, uint32_t cap, uint32_t *n);
/* Reads all elements of input i as floats, at most `cap`; false: some are unknown. */
bool surg__infer_floats(surg__infer *c, size_t i, float *out, uint32_t cap, uint32_t *n);
/* The dtype that the operator's type parameters require for output k, or 0. */
int surg__infer_dtype(const surg__infer *c, size_t k);

/* --- stating --- */
void surg__infer_bad(surg__infer *c);
void surg__infer_put(surg__infer *c, size_t k, int dtype, const surg_dim *dims, size_t rank);
void surg__infer_put_unranked(surg__infer *c, size_t k, int dtype);
/* Output k has the type of `f`, with element type `dtype`. */
void surg__infer_put_like(surg__infer *c, size_t k, int dtype, const surg__fact *f);
void surg__infer_put_type(surg__infer *c, size_t k, const surg_type *type);
/* Output k is a sequence or an optional of elements of type `elem`. */
void surg__infer_put_wrapped(surg__infer *c, size_t k, surg_type_kind kind, const surg__fact *elem);
void surg__infer_set_wrapped(surg__infer *c, surg_value *v, surg_type_kind kind,
                         const surg__fact *elem);
/* What is common to a and b, with the dimensions in `dims`; false: nothing. `out` may be `a` if the
 * dimensions of `a` are `dims`. */
bool surg__fact_join(const surg__fact *a, const surg__fact *b, surg_dim dims[SURG_LIMIT_RANK],
                     surg__fact *out);
/* As surg_type_equal, but expressions of dimensions must be the same too. */
bool surg__type_same(const surg_type *a, const surg_type *b);
/* The type of a value in `body`, as far as it is valid outside of it; NULL: unknown. */
const surg_type *surg__infer_outside(surg__infer *c, const surg_type *t, const surg_graph *body);
/* States the type of a value that is not an output of the node: an input of its bodies. */
void surg__infer_set(surg__infer *c, surg_value *v, int dtype, const surg_dim *dims, size_t rank);
void surg__infer_set_unranked(surg__infer *c, surg_value *v, int dtype);
void surg__infer_set_elems(surg__infer *c, surg_value *v, const surg__elem *e, uint32_t n);
/* States the elements of output k, whose type is stated already. */
void surg__infer_put_elems(surg__infer *c, size_t k, const surg__elem *e, uint32_t n);
/* As surg__infer_put_elems, floats included; requires that an input of the same type as output k
 * has these elements. */
void surg__infer_put_any_elems(surg__infer *c, size_t k, const surg__elem *e, uint32_t n);

/* Copies the elements of v, an output of a body, to output k; with `or`, only those that both have
 * in common. */
void surg__infer_put_elems_outside(surg__infer *c, size_t k, const surg_value *v,
                               const surg_value *or, const surg_graph *body);

/* --- dims --- */
static inline surg_dim surg__dim(int64_t v) { return (surg_dim){v, NULL, NULL}; }
static inline surg_dim surg__dim_unknown(void) { return (surg_dim){-1, NULL, NULL}; }
static inline bool surg__dim_known(surg_dim d) { return d.value >= 0; }
bool surg__dim_same(surg_dim a, surg_dim b); /* equal in every run */
/* A dimension that two inputs must share: the more precise of the two. False: they differ. */
bool surg__dim_unify(surg_dim a, surg_dim b, surg_dim *out);
bool surg__dim_broadcast(surg_dim a, surg_dim b, surg_dim *out);
/* The dimension of a value that is either a or b. */
surg_dim surg__dim_join(surg_dim a, surg_dim b);
surg_dim surg__dim_product(const surg_dim *d, size_t n);
surg_dim surg__dim_sum(surg_dim a, surg_dim b);
/* d + k, d * k, and d / k rounded down and up, for k > 0. */
surg_dim surg__dim_add(surg_dim d, int64_t k);
surg_dim surg__dim_times(surg_dim d, int64_t k);
surg_dim surg__dim_over(surg_dim d, int64_t k);
surg_dim surg__dim_over_up(surg_dim d, int64_t k);
/* The dimension as seen outside of a body; unknown where it depends on symbols of the body. */
surg_dim surg__dim_outside(surg_dim d, const surg_graph *body);
surg_dim surg__dim_of(surg__elem e, bool *negative);
surg__elem surg__elem_of(surg_dim d);
static inline surg__elem surg__elem_int(int64_t v) { return (surg__elem){v, NULL, true}; }
/* The element as an expression, NULL: unknown; and the inverse. */
const surg_expr *surg__elem_expr(const surg__infer *c, surg__elem e);
surg__elem surg__elem_from(const surg_expr *e);
const surg_expr *surg__dim_as_expr(const surg__infer *c, surg_dim d);
static inline surg__elem surg__elem_real(double v) {
  surg__elem e = {0, NULL, v - v == 0}; /* a value that is not finite is unknown */
  memcpy(&e.value, &v, sizeof v);
  return e;
}
static inline double surg__elem_as_real(surg__elem e) {
  double v;
  memcpy(&v, &e.value, sizeof v);
  return v;
}
static inline surg__elem surg__elem_unknown(void) { return (surg__elem){0, NULL, false}; }
/* Broadcasts shape b into shape a; false: the shapes do not match. */
bool surg__dims_broadcast(surg_dim a[SURG_LIMIT_RANK], size_t *rank, const surg_dim *b, size_t n);
/* Converts an axis in [-rank, rank) to [0, rank); otherwise calls surg__infer_bad and returns
 * false. */
bool surg__infer_axis(surg__infer *c, int64_t axis, size_t rank, size_t *out);
/* Reads axes from an attribute or input as a bit set over `rank` <= 64 axes. *absent: no axes are
 * given. False: the axes are unknown, or the node is invalid. */
bool surg__infer_axes(surg__infer *c, size_t input, size_t rank, uint64_t *set, bool *absent);

#endif
