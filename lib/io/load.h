/* SPDX-License-Identifier: Apache-2.0 */
/* The loader, which turns a scanned file into a model. Graphs are read one after the other, outer
 * before inner: first everything a graph defines, then what its nodes read; so a name may be
 * looked up in all graphs around the one at hand, whatever the order in the file. */
#ifndef SURG_LOAD_H
#define SURG_LOAD_H

#include "io/wire.h"
#include "onnx.pb-c.h"

/* A domain that a function, or the model (NULL), does not import. */
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
  uint32_t findings, repairs, most; /* most: findings that are listed */
  bool all;     /* what ONNX forbids is found even where a model can be read without it (CHECK,
                 * LENIENT) */
  bool lenient; /* findings become defects of the model, and nothing is left out */
  const char *probe; /* a code that is asked for: nothing is reported, `probed` tells whether the
                      * things that are checked break this rule */
  bool probed;
  char *cycle, *cycle_text; /* what the sort says of a cycle: the line, and its text in it */
  const char *alike_from, *alike_to; /* of the last data file that is meant by another name */
  struct surg__twin *twins; /* second definitions of names: a hash by the first one */
  /* What is being read. A node with a finding is none that anybody may rely on: under CHECK it is
   * made opaque in the end. */
  surg_node *node;
  bool no_import; /* an import was left out, with a finding */
  bool broken;  /* a finding that only CHECK goes on after */
  bool endless; /* calls of functions do not end, or not soon */
  const surg_function *names_of; /* whose attributes are in `names`, sorted by address */
  const char **names;
  SURG_VEC(surg__missing) missing;
} surg__loader;

/* --- findings (load_report.c); `off` is the byte of the tag of the thing, `code` the rule of
 * doc/check.md that the thing breaks --- */
/* A finding: true to go on (under SURG_LOAD_CHECK), false: loading has ended. */
bool surg__load_bad(surg__loader *L, uint64_t off, const char *code, const char *fmt, ...)
    SURG_PRINTF(4, 5);
/* The same for a finding that was reported with its own status. */
bool surg__load_found(surg__loader *L, surg_status status);
/* The same where all that is wrong stands outside of the model: nothing of it is left out. */
bool surg__load_counted(surg__loader *L, surg_status status);
/* Of a lenient load: what the last finding is about, and what the model contains instead. Fields
 * that are NULL stay as they are. */
void surg__load_about(surg__loader *L, const surg__defect *about);
/* The value or attribute that all findings since the `first` are about. */
void surg__load_own(surg__loader *L, size_t first, surg_value *v, surg_attr *a);
/* A finding about the file as a whole, without a place. */
bool surg__load_bad_model(surg__loader *L, const char *code, const char *fmt, ...)
    SURG_PRINTF(3, 4);
/* A finding under SURG_LOAD_CHECK and SURG_LOAD_LENIENT, nothing otherwise: true to go on. */
bool surg__load_unclean(surg__loader *L, uint64_t off, const char *code, const char *fmt, ...)
    SURG_PRINTF(4, 5);
void surg__load_warn(surg__loader *L, uint64_t off, const char *code, const char *fmt, ...)
    SURG_PRINTF(4, 5);
/* Something was repaired (SURG_LOAD_REPAIR). */
void surg__load_repaired(surg__loader *L, uint64_t off, const char *fmt, ...) SURG_PRINTF(3, 4);
bool surg__load_oom(surg__loader *L);                   /* false */
bool surg__load_stop(surg__loader *L, surg_status why); /* false; reported already */
/* `graph.node[3]...` of a byte, in scratch memory. */
const char *surg__load_path(surg__loader *L, uint64_t off);
/* What defines a value, for messages: `an input`, `an initializer`, `an output of graph.node[2]`.
 */
const char *surg__load_definition(surg__loader *L, const surg_value *v);

/* --- decoding (load_leaf.c) --- */
/* Decodes a message into scratch memory, leaving out the fields whose bit (by number) is set in
 * `skip`. NULL: loading has ended. */
void *surg__load_leaf(surg__loader *L, const ProtobufCMessageDescriptor *type, surg__span body,
                      uint64_t skip);
surg__cursor surg__load_cursor(const surg__loader *L, surg__span body);
/* Next field: true, or false at the end or when loading has ended. */
bool surg__load_next(surg__loader *L, surg__cursor *c, surg__field *f);
/* The string of a field, interned; NULL: loading has ended. */
const char *surg__load_name(surg__loader *L, const surg__field *f);
const char *surg__load_intern(surg__loader *L, const char *s); /* NULL s: "" */
static inline surg__src surg__load_src(const surg__field *f) {
  return (surg__src){f->off, f->body};
}

/* --- parts (load_tensor.c, load_sparse.c, load_type.c, load_attr.c, load_graph.c, load_link.c,
 * load_model.c, load_check.c, load_calls.c). bool: false when loading has ended. --- */
/* NULL: a finding, or loading has ended (see status). *name: the interned name, "" when none. */
surg_tensor *surg__load_tensor(surg__loader *L, const surg__field *f, const char **name);
/* Of a lenient load: a tensor whose header is invalid; it is kept, and nothing may rest on it. */
surg_tensor *surg__load_shapeless(surg__loader *L, int dtype, surg__span msg);
surg_tensor *surg__load_sparse(surg__loader *L, const surg__field *f, const char **name);
/* Checks the payload of a typed tensor: kind and number of entries, and their values. */
bool surg__load_typed(surg__loader *L, const surg__field *f, surg_tensor *t, uint32_t field,
                      uint64_t entries);
/* NULL: no type is given, or loading has ended. */
const surg_type *surg__load_type(surg__loader *L, const Onnx__TypeProto *p);
bool surg__load_attr(surg__loader *L, const surg__field *f, surg_node *n, surg_function *fn);
bool surg__load_define(surg__loader *L, surg_graph *g);
/* Whether a value of a subgraph is named like one of an outer graph that is visible there. */
bool surg__load_hides(const surg_value *inner);
surg_value *surg__load_lookup(const surg_graph *g, const char *name, surg_graph **where);
bool surg__load_link(surg__loader *L, surg_graph *g);
/* Of a lenient load (load_twin.c): a further value of the graph for a name that `first` bears; it
 * gets a name of its own when everything is read. NULL: loading has ended. */
surg_value *surg__load_twin(surg__loader *L, surg_value *first);
/* Which definition of a name a reader means: the last one before node `reader` of the graph of v;
 * NULL: an output. */
surg_value *surg__load_meant(surg__loader *L, surg_value *v, const surg_node *reader);
/* A value that nothing defines, in the outermost graph around g. */
surg_value *surg__load_undefined(surg__loader *L, surg_graph *g, const char *name);
/* Gives twins their names and says which of them have one meaning. */
bool surg__load_name_twins(surg__loader *L);
void surg__load_free_twins(surg__loader *L);
bool surg__load_check_node(surg__loader *L, const surg_node *n);
bool surg__load_check_graph(surg__loader *L, const surg_graph *g); /* its name and initializers */
bool surg__load_model(surg__loader *L);
bool surg__load_training(surg__loader *L);
bool surg__load_check(surg__loader *L);
bool surg__load_calls(surg__loader *L);

/* --- rules that CHECK alone asks for (load_header.c); true to go on --- */
bool surg__load_check_header(surg__loader *L);
bool surg__load_check_ref(surg__loader *L, const surg_node *n, const surg_attr *a);
/* A builtin of a function is what it would be by the imports of the model. */
bool surg__load_check_opset(surg__loader *L, const surg_node *n);
/* The type of an input or output of the model; NULL: none. */
bool surg__load_check_interface(surg__loader *L, uint64_t off, const surg_type *t, bool input);
/* An empty dim_param in the type of what stands at `off` (load_type.c). */
void surg__load_check_dims(surg__loader *L, uint64_t off, const Onnx__TypeProto *p);

#endif
