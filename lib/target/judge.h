/* SPDX-License-Identifier: Apache-2.0 */
/* Internal interface of the judging code: a node against one fact (judge.c, judge_constant.c,
 * judge_forms.c, judge_shapes.c), a node against the target (judge_node.c), a model against the
 * target (judge_model.c). */
#ifndef SURG_TARGET_JUDGE_H
#define SURG_TARGET_JUDGE_H

#include "target/target.h"

/* The state of judging one node: `f` is the fact being checked, `s` the schema of the node (or
 * NULL). `why` and `o` receive the reason of `worst`, the worst verdict so far; each may be
 * NULL. */
typedef struct surg__judge {
  const surg__target *t;
  const surg_node *n;
  const surg_schema *s;
  const surg__tfact *f;
  surg__buf *why;
  surg__objection *o;
  surg__verdict worst;
  unsigned passed; /* conditions of `f` that the node fulfils, in the order of checking */
} surg__judge;

struct surg__defect;
/* Records an objection if its verdict is worse than the worst one so far. Returns true if it was
 * recorded and is ILLEGAL, so that no later objection can be worse. */
bool surg__judge_object(surg__judge *j, surg__verdict v, surg__cause cause, const surg_value *about,
                        const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The name of a value, quoted for messages, in a rotating buffer of the context. */
const char *surg__judge_name(const surg__judge *j, const surg_value *v);
/* The input or output with this formal name in the schema, or the input with this index ("0", "1"
 * ...). NULL: the node has none. */
const surg_value *surg__judge_formal(const surg__judge *j, const char *name, bool output);
/* The elements that the engine treats as constant, with the defaults of inputs if the target has
 * `defaults`. NULL: the value is computed at run time. */
const surg_tensor *surg__judge_elements(const surg__judge *j, const surg_value *v);
/* Marks the functions that some node calls (engines do not read the others), and what the calls
 * pass: for surg__judge_is_left_out. O(nodes), times the nesting of calls */
void surg__judge_mark_calls(surg_model *m);
/* Whether v is an input of a function that calls leave out and none passes. */
bool surg__judge_is_left_out(const surg_value *v);
/* Judges what calls of functions leave out: a call, and a node of a function. */
void surg__judge_arguments(surg__judge *j);
/* Prefix of the reason where the engine imports a node and computes something else than ONNX
 * does. */
#define SURG__JUDGE_OTHERWISE "imported, and computed otherwise: "

/* Checks the node against the fact j->f. False: the node is rejected. The verdict and its reason
 * are recorded in j, also for parts whose support is unknown. */
bool surg__judge_keeps_to(surg__judge *j);
/* Whether the attributes of the node are among those of the fact. */
bool surg__judge_fits_attrs(surg__judge *j);
/* Reports that support of a node is unknown, as nothing states that the engine has an element type
 * of it (key `elements`). For a node that fits the fact j->f. */
void surg__judge_open_types(surg__judge *j);
/* What a judgement of a copy said: the worst verdict, and its first text. surg__judge_hear collects
 * it as surg__objection_fn. */
typedef struct surg__judge_heard {
  surg__verdict worst;
  char text[300];
} surg__judge_heard;
void surg__judge_hear(void *user, const surg__objection *o);
/* Whether it is a Constant, by name: a node with an error finding has no schema, and judges ask
 * about such nodes. */
bool surg__judge_is_constant(const surg_node *n);
/* Whether the engine makes an initializer of the node by its name alone, in any domain. */
bool surg__judge_made_initializer(const surg__target *t, const surg_node *n);
/* Whether a fact applies to the operator version introduced in opset `since`. */
bool surg__judge_speaks_of(const surg__tfact *f, int since);
/* The element type of a tensor; 0: unknown, or no tensor. */
int surg__judge_element(const surg_value *v);
/* A copy of the host of the target, with the options of the target (lenient, registered
 * operators). */
surg__target surg__judge_host(const surg__target *t);
/* Checks the limits of the fact on ranks, sizes, shapes and values. */
bool surg__judge_shapes(surg__judge *j);
/* Checks the limits of the fact that follow from the shapes an engine tracks itself
 * (judge_tracked.c). */
bool surg__judge_tracked(surg__judge *j);
/* The type of a tensor of known rank, or NULL. */
const surg_type *surg__judge_shape(const surg_value *v);
/* Whether the importer makes one layer of an Add and the MatMul before it. */
bool surg__judge_fused(const surg_node *n);
/* Checks sizes that the importer does not know (judge_open.c). */
bool surg__judge_open(surg__judge *j);
/* Checks vectors that the importer computes (judge_vectors.c). */
bool surg__judge_vectors(surg__judge *j);
/* Checks which elements Resize reads (judge_samples.c), and words of the key `samples`. */
bool surg__judge_samples(surg__judge *j);
bool surg__judge_sample_words(const char *text);
/* Checks inputs that the importer may read as scalars (judge_picked.c). */
bool surg__judge_picked(surg__judge *j);
/* Whether there is a form of a reader of this name (key `not_before`). */
bool surg__judge_form(const char *how);
/* Likewise: axes that are reduced or padded, and the producer of the model. */
bool surg__judge_axes(surg__judge *j);
/* The limit on axes of this name (key `axes` of a fact), as a number; -1: there is none. */
int surg__judge_axis_limit(const char *name);
/* Checks the limits of the fact on elements of attributes, Einsum equations, and subgraphs. */
bool surg__judge_forms(surg__judge *j);
typedef struct surg__import_kept {
  struct surg_function *function;
  size_t index;
  int64_t version;
} surg__import_kept;
/* Replaces the imports of the model by those the engine uses (judge_imports.c), until
 * surg__imports_end restores them. Call that also after a failure. */
typedef struct surg__imports_as_read {
  size_t count; /* of the imports in the file */
  bool swapped;
  SURG_VEC(struct surg__import_kept) bodies; /* imports of functions, with their versions */
} surg__imports_as_read;
surg_status surg__imports_begin(const surg__target *t, surg_model *m, surg__imports_as_read *kept);
void surg__imports_end(surg_model *m, surg__imports_as_read *kept);
/* Whether the engine uses a version of the domain other than the one that the loader checked the
 * nodes against: the domain is not imported, or twice (between surg__imports_begin and
 * surg__imports_end). */
bool surg__imports_replaced(const surg_model *m, const char *domain);
/* Whether the defect is an import of version 0 or less of a domain that no node uses. Engines that
 * look up versions for nodes only (`last_import`) do not read it. */
bool surg__judge_idle_import(surg_model *m, const struct surg__defect *d);
/* Resolves calls of functions as the engine does (judge_reads.c), until surg__calls_end. Call that
 * also after a failure. */
surg_status surg__calls_begin(const surg__target *t, surg_model *m);
void surg__calls_end(surg_model *m);
#define SURG__PASSED_MOST SURG_COUNT(((surg_function *)0)->calls) /* calls that are judged */
typedef struct surg__passed {
  SURG_VEC(struct surg__passed_one) all;
  bool failed; /* memory ran out */
} surg__passed;
/* Gives nodes of functions the attributes that calls pass (judge_passed.c), until surg__passed_end:
 * those of call `variant` of the calls that differ. Returns how many such variants there are, at
 * most one more than SURG__PASSED_MOST.
 * O(nodes), times the nesting of calls */
uint32_t surg__passed_begin(surg_model *m, surg__passed *p, uint32_t variant);
void surg__passed_end(surg_model *m, surg__passed *p);
/* The function in whose body the graph is, or NULL. */
surg_function *surg__judge_function_around(const surg_graph *g);
/* Whether the engine uses an operator, or nothing, in place of the function. */
bool surg__judge_hides(const surg__target *t, const struct surg_function *f);
/* The state of judging a model. */
typedef struct surg__walk {
  const surg__target *t;
  surg_model *m;
  surg__objection_fn fn;
  void *user;
  surg__buf text; /* of the next objection */
} surg__walk;
/* Reports an objection with w->text, and empties that. */
void surg__walk_tell(surg__walk *w, surg__objection o);
/* Judges the functions of a model, except for the operators of their nodes. */
surg_status surg__judge_functions(const surg__target *t, surg_model *m, surg__objection_fn fn,
                                  void *user);
/* Whether the engine ignores the node, or everything in the graph: a node with neither inputs nor
 * outputs, or one that such a node contains. */
bool surg__judge_drops(const surg__target *t, const surg_node *n);
bool surg__judge_drops_graph(const surg__target *t, const surg_graph *g);
/* Judges a model as surg__target_model does, without `lax_attributes`. */
typedef surg_status (*surg__judge_model_fn)(const surg__target *t, surg_model *m,
                                            surg__objection_fn fn, void *user);
/* As surg__target_model, for a version between those that are known (between.c). */
surg_status surg__judge_between(const surg__target *t, surg_model *model, surg__objection_fn fn,
                                void *user);
/* Calls `judge` for the model, or for copies with the attributes that the engine reads in place of
 * those that ONNX forbids (judge_lax.c). */
surg_status surg__judge_lax(const surg__target *t, surg_model *m, surg__judge_model_fn judge,
                            surg__objection_fn fn, void *user);
/* Whether the defect is a reference to an attribute that its function does not have. */
bool surg__judge_unset_reference(const struct surg__defect *d);
/* Whether the defect is a reference to an attribute of a function, outside functions. */
bool surg__judge_stray_reference(const struct surg__defect *d);
/* Whether it is one beside a value in a subgraph. An engine that has ONNX's checker examine
 * subgraphs rejects it. */
bool surg__judge_is_checked_reference(const surg_model *m, const struct surg__defect *d);
/* Whether the engine reads the value of an attribute that the loader read, although the attribute
 * has other values, too, or none of its type (judge_fields.c). */
bool surg__judge_reads_field(const surg__target *t, const struct surg__defect *d);
/* Whether the attribute has a value in the field of its type, beside others. */
bool surg__judge_has_own_field(const struct surg__defect *d);
bool surg__judge_is_field(const char *name);
/* Whether the engine converts a number of another kind than the operator expects; and what makes
 * the attribute of a copy one of that kind. False: out of memory. */
bool surg__judge_converts(const surg__target *t, const struct surg__defect *d);
bool surg__judge_convert(struct surg__defect *d);
/* Whether it rejects the kind: several numbers for one, or a fraction for an integer. */
bool surg__judge_refuses_kind(const surg__target *t, const struct surg__defect *d);
/* Whether the engine accepts the defect, whatever the target states of its code (verdict.c). */
bool surg__judge_is_among(const surg__target *t, const struct surg__defect *d);
/* Whether the target accepts some defects of a code: "E117/untyped" (verdict.c). */
bool surg__judge_accepts_some(const surg__target *t, const char *what);
/* Whether the defect is of a Constant node that the engine makes an initializer of all the same
 * (judge_values.c). */
bool surg__judge_made_value(const surg__target *t, const struct surg__defect *d);
/* Makes a Constant of the first attribute, under the name that fits its kind. False: out of
 * memory. */
bool surg__judge_make_value(struct surg__defect *d);
/* Whether the engine rejects a finding in this graph that it accepts elsewhere (judge_bodies.c). */
bool surg__judge_rejects_inside(const surg__target *t, const char *code, const surg_graph *g);
/* Judges initializers of old IR versions, and what subgraphs declare of outer values. */
void surg__judge_bodies(const surg__target *t, const surg_model *m, surg__objection_fn fn,
                        void *user);
/* Whether an engine notices that a node contradicts itself as it imports the model. Otherwise the
 * node fails when it runs. */
typedef enum surg__noticed {
  SURG__UNNOTICED,
  SURG__NOTICED_IF_INFERRED, /* if ONNX's inference gives its inputs the shapes that contradict */
  SURG__NOTICED
} surg__noticed;
/* `code` is the finding (judge_late.c). */
surg__noticed surg__judge_notices(const surg__target *t, const char *code, const surg_node *n);
/* Whether ONNX's inference gives the outputs of the node shapes (judge_late.c). */
bool surg__judge_is_plain(const surg_node *n);
/* Whether the list has the operator of the node, by name or with its version: Squeeze-11. */
bool surg__judge_listed(const surg__tlist *list, const surg_node *n);
/* Judges constants in data files that give a shape (judge_external.c). */
void surg__judge_shape_files(surg__judge *j);
/* Reports weights whose elements are not available: their data file is missing or too short, or
 * they were stripped. */
void surg__judge_lost(const surg__target *t, const surg_model *m, surg__objection_fn fn,
                      void *user);
/* The first weight of the graph whose data file has an entry that the engine does not know, or
 * NULL; *key: that entry. */
const surg_value *surg__judge_odd_key(const surg__target *t, const surg_graph *g, const char **key);
/* --- judge_limits.c --- */
/* How many messages the file of the model nests below its root. */
uint64_t surg__judge_nesting(surg_model *m);
/* The number of subgraphs of a model that are one in the other. */
uint64_t surg__judge_levels(surg_model *m);
/* Whether a sparse tensor, made dense, has less than 2 GiB. */
bool surg__judge_dense(const surg_tensor *c);
/* What expanding all calls of functions gives. */
typedef struct surg__expanded {
  uint64_t nodes;                       /* nodes of functions; UINT64_MAX: beyond 2^64 */
  bool large;                           /* more than engines expand quickly */
  const struct surg_function *repeated; /* one that is expanded twice, calls another function and
                                         * has a value of its own; NULL: none */
} surg__expanded;
surg_status surg__judge_expansion(surg_model *m, surg__expanded *out);
/* The first node of a function whose spelling of the default domain the engine does not resolve, or
 * NULL. */
const surg_node *surg__judge_spelling(const surg__target *t, const surg_graph *g);
/* Calls `judge` for the model, and for a copy with the integer attributes cut to 32 bits that
 * exceed them, if the engine infers as ONNX does (judge_wide.c). */
surg_status surg__judge_wide(const surg__target *t, surg_model *m, surg__judge_model_fn judge,
                             surg__objection_fn fn, void *user);
/* Judges pads, strides and the like beyond 32 bits of operators of which the checker does not
 * compute the sizes (judge_wide.c). */
void surg__judge_sizes(surg__judge *j);
/* Judges a cast from float16 to float16 (judge_half.c). */
void surg__judge_half(surg__judge *j);
/* As surg__target_node, for the target alone: its host is ignored. */
surg__verdict surg__judge_own(const surg__target *t, const surg_node *n, surg__buf *why,
                              surg__objection *o);
/* Whether the value is a constant for the engine: YES, NO, or UNSAID if more than FOLD_NODES nodes
 * compute it. */
surg__tri surg__judge_constant(const surg__judge *j, const surg_value *v);
/* Whether the engine computes the value as it imports the model: from constants and from sizes, of
 * which it may know open ones wrongly. */
bool surg__judge_of_sizes(const surg__judge *j, const surg_value *v);

#endif
