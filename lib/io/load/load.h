/* SPDX-License-Identifier: Apache-2.0 */
/* The loader, which turns a scanned file into a model. It reads outer graphs before inner ones.
 * For each graph it first reads all definitions, then the references of its nodes, so a name can
 * be resolved in all enclosing graphs whatever the order of the file. */
#ifndef SURG_LOAD_H
#define SURG_LOAD_H

#include "io/wire.h"
#include "onnx.pb-c.h"

/* A domain that a function does not import, or the model if `function` is NULL. */
typedef struct surg__missing {
  const char *domain; /* interned */
  const surg_function *function;
} surg__missing;

typedef struct surg__loader {
  surg_context *ctx;
  surg__source *src;
  surg_model *m;
  surg_load_policy policy;
  surg__arena scratch; /* for messages being decoded */
  surg_status status;  /* not OK: loading has ended */
  surg_status worst;   /* under CHECK: the worst finding */
  uint32_t ticks;      /* steps since the start, for surg__load_tick */
  uint64_t reached;    /* the place that is furthest in the file so far */
  uint32_t findings, repairs, most; /* most: how many findings are listed */
  bool all;     /* CHECK, LENIENT: also report violations that do not prevent reading the model */
  bool stripped; /* reported: elements were replaced by digests */
  bool lenient; /* findings become defects of the model; nothing is left out */
  const char *probe; /* the code of the one rule to test: nothing is reported, and `probed` is
                      * set if a checked thing violates the rule */
  bool probed;
  surg__judge_fn judge; /* if set, with `probe` "": receives every violation */
  void *judge_user;
  char *cycle, *cycle_text; /* report of the sort about a cycle: the line, and the part after the
                             * location */
  const char *alike_from, *alike_to; /* of the last data file found under a similar name */
  struct surg__twin *twins; /* further definitions of names, hashed by the first one */
  /* The node being read. A node with a finding is unreliable: under CHECK it becomes opaque when
   * loading ends. */
  surg_node *node;
  bool no_import; /* an import was left out, with a finding */
  bool broken;  /* a finding that only CHECK continues after */
  bool endless; /* function calls are too deep, or too many when inlined */
  const surg_function *names_of; /* the function whose attributes are in `names`, sorted by
                                  * address */
  const char **names;
  SURG_VEC(surg__missing) missing;
  /* Of the graph being read: ranges of consecutive initializers, in order. Linking passes over
   * them, so that a large file is not read once more. */
  SURG_VEC(surg__span) inits;
} surg__loader;

/* --- findings (report.c); `off` is the byte offset of the element's tag, `code` the
 * violated rule (doc/check.md) --- */
/* Reports a finding: true to continue (under SURG_LOAD_CHECK), false: loading has ended. */
bool surg__load_bad(surg__loader *L, uint64_t off, const char *code, const char *fmt, ...)
    SURG_PRINTF(4, 5);
/* Whether findings with this code leave the types of the results of a node known: such a node is
 * not faulty. */
bool surg__load_leaves_types(const char *code);
/* As surg__load_bad, for a finding that was already reported with its own status. */
bool surg__load_found(surg__loader *L, surg_status status);
/* As surg__load_found, for a fault outside of the model file, so nothing of the model is left
 * out. */
bool surg__load_counted(surg__loader *L, surg_status status);
/* Of a lenient load: sets what the last finding is about and what the model contains instead.
 * Fields of `about` that are NULL are left unchanged. */
void surg__load_about(surg__loader *L, const surg__defect *about);
/* Sets the kind of the finding that was just reported; returns go_on. */
bool surg__load_kind(surg__loader *L, surg__defect_kind kind, bool go_on);
/* Sets the value or attribute that all findings from index `first` on are about. */
void surg__load_own(surg__loader *L, size_t first, surg_value *v, surg_attr *a);
/* Reports a finding about the file as a whole, without a location. */
bool surg__load_bad_model(surg__loader *L, const char *code, const char *fmt, ...)
    SURG_PRINTF(3, 4);
/* Reports a finding under SURG_LOAD_CHECK and SURG_LOAD_LENIENT, nothing otherwise: true to
 * continue. */
bool surg__load_unclean(surg__loader *L, uint64_t off, const char *code, const char *fmt, ...)
    SURG_PRINTF(4, 5);
void surg__load_warn(surg__loader *L, uint64_t off, const char *code, const char *fmt, ...)
    SURG_PRINTF(4, 5);
/* Reports a repair (SURG_LOAD_REPAIR). */
void surg__load_repaired(surg__loader *L, uint64_t off, const char *fmt, ...) SURG_PRINTF(3, 4);
bool surg__load_oom(surg__loader *L);                   /* returns false */
bool surg__load_stop(surg__loader *L, surg_status why); /* returns false; `why` was already
                                                         * reported */
/* The path of a byte offset, such as `graph.node[3]...`, in scratch memory. */
const char *surg__load_path(surg__loader *L, uint64_t off);
/* Describes the definition of a value for messages: `an input`, `an initializer`, `an output of
 * graph.node[2]`. */
const char *surg__load_definition(surg__loader *L, const surg_value *v);

/* --- decoding (leaf.c) --- */
/* Decodes a message into scratch memory without the fields whose bit (by field number) is set in
 * `skip`. NULL: loading has ended. */
void *surg__load_leaf(surg__loader *L, const ProtobufCMessageDescriptor *type, surg__span body,
                      uint64_t skip);
surg__cursor surg__load_cursor(const surg__loader *L, surg__span body);
/* Reports progress now and then; `at` is a place in the file. False: the user cancels, or loading
 * has ended. */
bool surg__load_tick(surg__loader *L, uint64_t at);
/* Reads the next field: true, or false at the end or when loading has ended. */
bool surg__load_next(surg__loader *L, surg__cursor *c, surg__field *f);
/* The string in a field, interned; NULL: loading has ended. */
const char *surg__load_name(surg__loader *L, const surg__field *f);
const char *surg__load_intern(surg__loader *L, const char *s); /* NULL s: "" */
static inline surg__src surg__load_src(const surg__field *f) {
  return (surg__src){f->off, f->body};
}

/* --- parts (tensor.c, sparse.c, type.c, attr.c, graph.c, link.c,
 * model.c, check.c, calls.c). bool: false when loading has ended. --- */
/* NULL: a finding, or loading has ended (see status). *name: the interned name, "" if absent. */
surg_tensor *surg__load_tensor(surg__loader *L, const surg__field *f, const char **name);
/* Of a lenient load: a tensor with an invalid header. It is kept for writing, but its type and
 * elements are unusable. */
surg_tensor *surg__load_shapeless(surg__loader *L, int dtype, surg__span msg);
surg_tensor *surg__load_sparse(surg__loader *L, const surg__field *f, const char **name);
/* Checks the payload in a typed list field of a tensor: field, number of entries, and their
 * range. */
bool surg__load_typed(surg__loader *L, const surg__field *f, surg_tensor *t, uint32_t field,
                      uint64_t entries);
/* NULL: the message has no type, or loading has ended. */
const surg_type *surg__load_type(surg__loader *L, const Onnx__TypeProto *p);
bool surg__load_attr(surg__loader *L, const surg__field *f, surg_node *n, surg_function *fn);
bool surg__load_define(surg__loader *L, surg_graph *g);
/* Whether a value of a subgraph has the name of a value of an enclosing graph that is visible
 * there. */
bool surg__load_hides(const surg_value *inner);
surg_value *surg__load_lookup(const surg_graph *g, const char *name, surg_graph **where);
bool surg__load_link(surg__loader *L, surg_graph *g);
/* Of a lenient load (twin.c): creates another value of the graph for a name that `first`
 * already has. It gets a name of its own when the whole file is read. NULL: loading has ended. */
surg_value *surg__load_twin(surg__loader *L, surg_value *first);
/* The definition of v's name that a reader refers to: the last one before node `reader` in the
 * graph of v; `reader` NULL: a graph output. */
surg_value *surg__load_meant(surg__loader *L, surg_value *v, const surg_node *reader);
/* Creates a value without a definition, in the outermost graph around g. */
surg_value *surg__load_undefined(surg__loader *L, surg_graph *g, const char *name);
/* Names the twins, and determines which of them have only one possible meaning. */
bool surg__load_name_twins(surg__loader *L);
void surg__load_free_twins(surg__loader *L);
bool surg__load_check_node(surg__loader *L, const surg_node *n);
bool surg__load_check_graph(surg__loader *L, const surg_graph *g); /* its name and initializers */
bool surg__load_model(surg__loader *L);
bool surg__load_training(surg__loader *L);
bool surg__load_check(surg__loader *L);
bool surg__load_calls(surg__loader *L);

/* --- rules that only CHECK applies (header.c); true to continue --- */
bool surg__load_check_header(surg__loader *L);
bool surg__load_check_ref(surg__loader *L, const surg_node *n, const surg_attr *a);
/* Checks that a standard operator in a function is the same under the function's and the model's
 * imports. */
bool surg__load_check_opset(surg__loader *L, const surg_node *n);
/* Checks the type of an input or output of the model; NULL: it has no type. */
bool surg__load_check_interface(surg__loader *L, uint64_t off, const surg_type *t, bool input);
/* Reports an empty dim_param in the type of the element at offset `off` (type.c). */
void surg__load_check_dims(surg__loader *L, uint64_t off, const Onnx__TypeProto *p);

#endif
