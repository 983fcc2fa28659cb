/* SPDX-License-Identifier: Apache-2.0 */
/* The graph IR: the structs of the public handles, and the raw builders that lib/io uses to read a
 * model. lib/ir, lib/io, lib/infer and lib/check use the fields of the structs. Other folders of
 * lib/ include this file for functions without a public name: to print the place of a node, to
 * fail a model permanently, to store their own data in the scratch field of a value or graph.
 * Passes, plugins and programs use <onnxsurg/onnxsurg.h>.
 *
 * Invariants (surg_model_verify checks them):
 * - A use is in the use list of its value and in exactly one place: a node's input array, a graph's
 *   output array, or a soft reference.
 * - The value tables contain each named value of a graph once; names of live values of one graph
 *   are unique. The node tables map a name to the first node of a ring of nodes with this name.
 * - Order keys increase strictly along the node list.
 * - A value belongs to the graph it is defined in; a use in an inner graph is a capture.
 * - dirty bits are upward closed: a dirty thing makes everything around it dirty.
 */
#ifndef SURG_IR_H
#define SURG_IR_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"
#include "base/context.h"
#include "base/hash.h"

/* An interned string: equal strings of one model are one pointer. Public names are `s`. */
typedef struct surg__name {
  uint32_t len;
  uint32_t values; /* live values of the model that bear it, in any graph */
  bool stray;      /* an entry of value_info that names no value may bear it, too */
  bool node;       /* a node may bear it */
  struct surg_value *last; /* the live value that came to bear it last, or NULL. Where it is the
                            * only one, it need not stand in the table of its graph. */
  char s[];
} surg__name;
/* The table of all names: open addressing, with the hash beside the pointer, so that a lookup in a
 * model of a million names touches one foreign line and not a chain of them. Nothing leaves it. */
typedef struct surg__names {
  struct surg__name_slot {
    surg__name *name; /* NULL: free */
    uint32_t hash;
  } * slots;
  size_t size, count; /* slots, a power of two, 0 for none; names */
} surg__names;
#define surg__name_of(str) ((surg__name *)((char *)(uintptr_t)(str) - offsetof(surg__name, s)))

/* A range of the source file; length 0 with offset 0: none (the thing was made, not read). */
typedef struct surg__span {
  uint64_t off, len;
} surg__span;
/* `field` is the whole field in its parent, tag and length included; `body` the message inside. */
typedef struct surg__src {
  uint64_t field_off; /* where the tag starts; body.off + body.len is where it ends */
  surg__span body;
} surg__src;

/* --- the file a model came from; shared by clones --- */
typedef struct surg__source {
  uint32_t refs;
  surg_context *ctx;
  char *name;      /* for messages */
  char *path;      /* NULL for memory and standard input */
  char *dir;       /* folder of the model, for external data; NULL as path */
  int fd;          /* -1: everything is in memory */
  int dirfd;       /* -1: none */
  uint64_t size;
  uint8_t *base;   /* address of byte 0; a sparse private image unless `resident` */
  bool resident;   /* every byte is in memory at base; else only what was scanned is */
  uint64_t *filled; /* not resident: a bit for each page of the image that was read */
  bool base_heap;  /* base came from surg__alloc, not from surg__os_reserve */
  uint64_t dev, ino;
} surg__source;

/* One external data file. The first SURG_LIMIT_OPEN_FILES of a model stay open; further ones are
 * opened for each access, and must be the same file then. */
typedef struct surg__datafile {
  uint32_t refs;
  surg_context *ctx;
  surg__source *source; /* whose folder the location is relative to */
  char *location;       /* as the model spells it */
  int fd;               /* -1: not kept open */
  uint64_t size, dev, ino;
  bool absent;          /* cannot be read, or is none to be read (surg__absent) */
  bool told;            /* that a tensor does not fit in */
  struct surg__datafile *next; /* list of the model */
} surg__datafile;

/* Computed bytes; shared by clones. Above SURG_LIMIT_OWNED_RESIDENT in total they live in an
 * unlinked file, which lives as long as a blob or model that refers to it. */
typedef struct surg__spill {
  uint32_t refs;
  surg_context *ctx;
  int fd;
  uint64_t size;
} surg__spill;
typedef struct surg__blob {
  uint32_t refs;
  surg_context *ctx;
  uint8_t *p; /* NULL: in the spill file */
  surg__spill *spill; /* NULL when p is set */
  uint64_t off, n;
} surg__blob;

typedef enum surg__view {
  SURG__VIEW_EMPTY = 0, /* no elements */
  SURG__VIEW_RAW,       /* raw_data in the source */
  SURG__VIEW_TYPED,     /* a typed list in the source: `msg` is decoded on reading */
  SURG__VIEW_EXTERNAL,  /* a range of a data file */
  SURG__VIEW_OWNED,     /* a blob */
  SURG__VIEW_STRINGS,   /* an array of surg_str in the arena */
  SURG__VIEW_SPARSE,    /* SparseTensorProto: never read */
  SURG__VIEW_ABSENT     /* of a data file that is not as the model says: never read */
} surg__view;

/* What becomes of a tensor whose external data cannot be had. But for FAILS the model is one to
 * look at: it loads, the tensor has a type and no elements (VIEW_ABSENT), and one line tells of
 * each file. */
typedef enum surg__absent {
  SURG__ABSENT_FAILS = 0, /* the model does not load */
  SURG__ABSENT_ERROR,
  SURG__ABSENT_WARNING,
  SURG__ABSENT_MISSING /* as WARNING where a file is missing or too short; unsafe ones fail */
} surg__absent;

struct surg_tensor {
  surg_model *model;
  int dtype;
  uint32_t rank;
  const int64_t *dims;
  uint64_t count, bytes;
  surg__view view;
  surg__span msg;  /* the TensorProto (or SparseTensorProto) it was read from */
  surg__span data; /* RAW: in the source; EXTERNAL: in the data file */
  bool lost;       /* with VIEW_ABSENT: its data file is missing or too short */
  bool missing;    /* with lost: there is no such file */
  bool asked;      /* ... and its elements were asked for, in vain */
  bool defective;  /* of a lenient load: `data` is the reading of what the message has otherwise */
  uint8_t stored;  /* with VIEW_ABSENT: bytes of an element in `data`, more than its type has */
  bool shapeless;  /* of a lenient load: dims and dtype in the file are invalid, these are none */
  surg__datafile *file;
  surg__blob *blob;
  const surg_str *strings;
};

struct surg_type {
  surg_type_kind kind;
  int dtype; /* tensor, sparse; key of a map */
  bool has_rank;
  uint32_t rank;
  const surg_dim *dims;
  const char *const *dim_denotations; /* NULL, or one (maybe NULL) a dim */
  const int64_t *raw_values;          /* NULL, or dim_value as written where it was negative */
  const surg_type *elem;
  const char *denotation, *opaque_domain, *opaque_name;
  surg_model *model;
};

struct surg_attr {
  const char *name, *ref; /* interned */
  surg_attr_kind kind;
  bool dirty;      /* values differ from the source; a dirty subgraph counts too */
  bool untyped;    /* the source does not state its kind, as IR version 1 never did */
  surg__src src;
  uint32_t count;  /* elements of the list kinds; 1 or 0 for the others */
  union {
    int64_t i;
    float f;
    surg_str s;
    const int64_t *ints;
    const float *floats;
    const surg_str *strings;
    surg_tensor **tensors; /* TENSOR(S), SPARSE_TENSOR(S) */
    surg_graph **graphs;
    const surg_type **types;
  } u;
  surg_tensor *as_tensor; /* value_int and so on of a Constant as a tensor; made on demand */
};

struct surg_use {
  surg_value *value; /* NULL: absent input; the use is in no list then */
  surg_use *prev, *next;
  surg_use_kind kind;
  uint32_t index;
  union {
    surg_node *node;
    surg_graph *graph;
    struct surg__soft *soft;
  } user;
};

/* A reference by name outside node inputs and graph outputs. */
typedef enum surg__soft_kind {
  SURG__SOFT_ANNOTATION, /* entry of quantization_annotation of `graph` */
  SURG__SOFT_SHARDING,   /* device_configurations of `node` */
  SURG__SOFT_TRAINING    /* training_info: pins the value */
} surg__soft_kind;
typedef struct surg__soft {
  surg__soft_kind kind;
  surg_graph *graph;
  surg_node *node;
  struct surg__annotation *annotation;
  surg_use use;
  const char *written;     /* the value's name when the reference was read (surg__soft_new sets
                              it): saving finds the reference in its source message by it */
  struct surg__soft *next; /* of the same annotation, node or model */
} surg__soft;
/* One TensorAnnotation. `subject` is the tensor_name; `params` the quant parameter names in order.
 */
typedef struct surg__annotation {
  surg__src src;
  bool dirty, dropped;
  surg__soft *subject; /* NULL: names no value of the graph */
  surg__soft *params;  /* list; those that name no value are not in it */
  struct surg__annotation *next;
} surg__annotation;

/* A declared value: one ValueInfoProto. */
typedef struct surg__decl {
  surg__src src; /* body.len 0 and off 0: made here */
  const surg_type *type;
  bool dirty; /* the type is another than the source's; a new name is seen without it */
} surg__decl;

enum { SURG__PIN_TRAINING = 1, SURG__PIN_WEIGHT = 2 };

struct surg_value {
  const char *name; /* interned; "" for a placeholder output, which is never indexed */
  surg_graph *graph;
  surg_node *producer; /* NULL: input, initializer, or both */
  uint32_t output;     /* index at the producer */
  bool input, initializer, erased;
  bool
      undefined; /* of a lenient load: read, and defined by nothing (no input, initializer, node) */
  uint8_t pinned; /* SURG__PIN_ bits: who refers to it by name */
  bool indexed;    /* found by its name */
  bool named_here; /* made, moved or renamed by us: made unique on save */
  bool init_dirty; /* the initializer's TensorProto must be written anew */
  /* OUTPUT uses first (those of the value's own graph at the front), NODE uses, SOFT uses. */
  surg_use *uses, *uses_tail, *last_output, *first_soft;
  surg__decl decl;          /* of the input, else of its value_info */
  bool in_value_info;       /* decl is an entry of value_info */
  const surg_type *inferred;
  const struct surg__elems *elems; /* what is known of its elements; holds while `inferred` does */
  const struct surg__found *found; /* its range, once somebody asked; holds as `elems` does */
  const surg_range *said;   /* what the user says of its elements; NULL: nothing */
  surg_tensor *tensor;      /* the initializer */
  surg__src init_src;
  surg_value *prev, *next;            /* values of the graph, in order of creation */
  surg_value *init_prev, *init_next;  /* initializers of the graph, in file order */
  UT_hash_handle hh;                  /* graph->values_by_name, keyed by the `name` pointer:
                                         while another value of the model bears the name, too */
  void *scratch;                      /* for lib/io, one algorithm at a time */
  void *work;                         /* for lib/ir, valid inside one call */
};

/* What walks over all nodes look at stands together at the front. */
struct surg_node {
  surg_graph *graph;
  surg_node *prev, *next;
  uint64_t order;
  int op;
  surg_op_class op_class;
  uint32_t resolve_gen; /* of the model when it was resolved */
  bool resolved;        /* op, op_class, schema, function are up to date */
  bool types_stale;     /* edited since its outputs' types were inferred */
  bool erased;
  bool faulty; /* has an error finding of the load (lib/io/load.h) */
  bool opaque; /* is resolved as an operator of no schema: nothing may rest on a faulty node */
  bool queued; /* by the driver of rules, which has yet to look at it */
  bool sheltered; /* as surg_node_sheltered says */
  bool dirty, io_dirty, name_dirty, op_dirty, attrs_dirty, named_here;
  uint32_t n_in, cap_in, n_out, cap_out, n_attr, cap_attr;
  surg_use *in; /* array; grown by relinking */
  surg_value **out;
  surg_attr **attrs;
  const surg_schema *schema;
  surg_function *function;
  const char *name, *op_type, *domain, *overload; /* interned; "" when absent */
  surg__soft *softs;
  surg__src src;
  surg_node *name_prev, *name_next; /* ring of bearers of one name */
  UT_hash_handle hh; /* graph->nodes_by_name, keyed by the `name` pointer; the first of the ring */
  void *scratch;
  void *work;
};

/* One entry of a graph's output list. */
typedef struct surg__output {
  surg_use use;
  surg__decl decl;
  const char *name; /* as declared; follows the value's name */
} surg__output;

/* An entry of value_info that names no value: kept as it is until prune drops it. */
typedef struct surg__stray {
  surg__src src;
  const char *name;
  const surg_type *type;
  bool dropped;
  struct surg__stray *next;
} surg__stray;

struct surg_graph {
  /* Operators of its nodes, a bit each, as of an epoch less 1; 0: they were not asked for. */
  uint64_t has_ops[(SURG_OP_COUNT + 63) / 64], has_epoch;
  surg_model *model;
  surg_graph_kind kind;
  const char *name;
  surg_node *parent_node;
  surg_attr *parent_attr;
  surg_function *function; /* of a FUNCTION body; NULL else */
  bool dirty, erased;
  bool name_dirty;     /* named since it was read */
  bool sorted_on_load; /* the list is in order, the file is not: no edit until asked for */
  bool cyclic; /* of a lenient load: its nodes have no order */
  surg__src src; /* the GraphProto; for a function body the FunctionProto */
  surg_node *first, *last;
  surg_value *first_value, *last_value;
  surg_value *first_init, *last_init;
  size_t n_nodes, n_inits, n_in, cap_in, n_out, cap_out;
  surg_value **in;
  surg__output **out;
  surg__annotation *annotations;
  surg__stray *strays;
  bool strays_marked; /* their names have `stray` set */
  surg_value *values_by_name;
  surg_node *nodes_by_name;
  surg_graph *next; /* all graphs of the model, outer before inner */
  surg_graph *prev;
  uint64_t nondet_epoch; /* epoch + 1 at which nondet was computed; 0: never */
  bool nondet;
  void *scratch;
  void *work;
  surg_graph *work_next; /* chain of surg__chain_*, valid inside one call */
};

typedef struct surg__import {
  const char *domain; /* interned, as written */
  int64_t version;
  int64_t last; /* that the file imports, where a lenient load found two versions; else 0 */
  surg__src src;
  bool dirty;
} surg__import;
typedef SURG_VEC(surg__import) surg__imports;

struct surg_function {
  surg_model *model;
  const char *name, *domain, *overload;
  surg_graph *body;
  surg__imports imports;
  bool imports_dirty, dirty, erased;
  bool walked, missed; /* inference's own: some call of it was walked, some was not */
  bool called;         /* a target's own: some node calls it */
  surg__src src;
  SURG_VEC(const char *) attrs;    /* names without default, then those of defaults */
  SURG_VEC(surg_attr *) defaults;  /* attribute_proto */
  const char *key[3];              /* interned: domain ("" for ai.onnx), name, overload */
  UT_hash_handle hh;               /* model->functions_by_key */
};

typedef struct surg__metadata {
  const char *key, *value;
  surg__src src;
  bool dirty;
} surg__metadata;

#define SURG__NOWHERE UINT64_MAX /* the place of a defect of the model as a whole */
/* A defect that a lenient load found (io/defects.c). */
typedef struct surg__defect {
  const char *code;  /* static */
  const char *text;  /* escaped */
  const char *where; /* NULL: not asked for yet; naming a place costs a walk of the file */
  uint64_t off;      /* of the tag of the thing in the source */
  surg_severity severity;
  surg_reading reading;
  bool cured;
  surg_graph *graph;
  surg_node *node;
  surg_value *value;
  surg_attr *attr;
  surg_tensor *tensor; /* as it was loaded: another one in its place is a cure */
  surg_function *function;
} surg__defect;

struct surg_model {
  surg_context *ctx;
  surg__arena arena;
  surg_status status;
  surg__source *source; /* NULL for a model made from nothing */
  surg__datafile *files;
  surg__absent absent;
  surg_load_options options; /* of the load, for the external root and freeze_inputs */
  bool freeze_inputs;
  int64_t ir_version;
  bool has_ir_version;
  SURG_VEC(surg__defect) defects;
  uint32_t open_defects;   /* error findings that are not cured, as of the last look */
  uint32_t unlisted;       /* ... beyond the most that are kept: known by their number alone */
  uint64_t settled_epoch;  /* epoch of the last look, plus 1; 0: never */
  uint64_t read_epoch;     /* of the model as it was loaded */
  uint32_t judged_gen;     /* 0: imports changed since the nodes of a lenient load were checked */
  bool lenient;        /* loaded with SURG_LOAD_LENIENT: parts may be dirty that no edit touched */
  bool dirty;          /* anything at all */
  bool header_dirty;   /* ir_version, imports, metadata, function list */
  surg__imports imports;
  SURG_VEC(surg__metadata) metadata;
  SURG_VEC(surg_function *) functions;
  surg_function *functions_by_key;
  surg_graph *graph;
  surg_graph *graphs_tail;
  surg__names names;
  const char *none; /* the interned "" */
  surg__soft *training; /* pins */
  struct surg__opid *custom_ops;
  int next_custom_op;
  uint32_t resolve_gen;       /* raised when imports or functions change */
  struct surg__opset *opsets; /* index of long import lists, for opsets_gen */
  uint32_t opsets_gen;
  uint64_t epoch, fresh;
  bool trust_declared;       /* declared types serve where nothing can be inferred */
  uint32_t
      values_changed; /* how often a rewrite gave something else: ranges found before are void */
  bool values_kept; /* edits now being made leave every value that stays what it was: what was
                       proven of them holds (lib/rewrite) */
  surg__arena elems;         /* of values, until the next inference */
  struct surg__exprs *exprs; /* lib/sym/expr.h; NULL until one is made */
  uint64_t
      sheltered_epoch;     /* epoch the `sheltered` marks of all nodes belong to, plus 1; 0: none */
  uint64_t inferred_epoch; /* epoch the `inferred` types of all values belong to, plus 1; 0: none */
  SURG_VEC(struct surg__listener { surg_listener fn; void *user; }) listeners;
  SURG_VEC(surg__blob *) blobs; /* one reference each; tensors borrow it */
  surg__spill *spill;           /* NULL until something was spilled */
  uint64_t owned_resident;      /* bytes of blobs in memory */
};

/* --- raw builders (lib/ir/build.c): no events, nothing marked dirty; NULL or false when memory
 * ran out, with the model failed. The loader calls these, and the public mutations build on them.
 */
surg_model *surg__model_alloc(surg_context *ctx); /* without a graph */
const char *surg__intern(surg_model *m, const char *s, size_t n);
const char *surg__interned(const surg_model *m, const char *s, size_t n); /* NULL: unknown */
/* The first MAIN graph becomes the model's. The caller puts a subgraph into its attribute. */
surg_graph *surg__graph_new(surg_model *m, surg_graph_kind kind, surg_node *parent,
                            surg_attr *attr);
surg_value *surg__value_new(surg_graph *g, const char *name); /* name interned; "" unindexed */
surg_node *surg__node_new(surg_graph *g, surg_node *before, const char *domain, const char *op_type,
                          const char *overload, const char *name); /* strings interned */
bool surg__node_reserve(surg_node *n, size_t n_in, size_t n_out, size_t n_attr);
bool surg__node_link_input(surg_node *n, size_t i, surg_value *v); /* v may be NULL */
bool surg__node_link_output(surg_node *n, size_t i, surg_value *v); /* v NULL: absent */
surg_attr *surg__node_push_attr(surg_node *n, const char *name, surg_attr_kind kind);
/* Gives a value another name, marking everything that spells it. */
bool surg__relabel_read(surg_value *v, const char *interned);
bool surg__graph_push_input(surg_graph *g, surg_value *v);
surg__output *surg__graph_push_output(surg_graph *g, surg_value *v, const char *name);
void surg__graph_push_initializer(surg_graph *g, surg_value *v, surg_tensor *t);
/* With an empty body, entered in the model's list. */
surg_function *surg__function_new(surg_model *m, const char *domain, const char *name,
                                  const char *overload);
/* Linked to v (may be NULL) and, for TRAINING, pinning it; the caller fills in owner and next. */
surg__soft *surg__soft_new(surg_model *m, surg__soft_kind kind, surg_value *v);
surg_type *surg__type_new(surg_model *m, surg_type_kind kind);
/* The elements of a dense tensor of 16 to 64 bit floats; false: it is none. out has room for all.
 */
bool surg__tensor_reals(const surg_tensor *t, double *out);
/* The least magnitude of such a tensor that is not 0 (infinity: all are 0), and the largest. False:
 * an element is NaN or infinite, or they cannot be read. Reads all elements, in pieces. */
bool surg__tensor_extent(const surg_tensor *t, double *least, double *largest);
surg_tensor *surg__tensor_alloc(surg_model *m, int dtype, const int64_t *dims, size_t rank);
/* Unlinks and links uses; a use is moved to another value in O(1). */
void surg__use_link(surg_use *u, surg_value *v);
void surg__use_unlink(surg_use *u);

/* Sorts the node list without making the graph dirty; see surg_graph_toposort. */
surg_status surg__graph_sort(surg_graph *g, bool *moved);

/* --- shared inside lib/ir --- */
surg_status surg__fail(surg_model *m, surg_status s); /* makes a failure stick */
void surg__touch_graph(surg_graph *g);                /* dirty up to the model; epoch */
void surg__touch_node(surg_node *n);
/* After an edit that did not change what the node computes: its types hold as they are. */
static inline void surg__types_hold(surg_node *n) { n->types_stale = false; }
/* What is said of a node and is none of its parts (doc string, metadata) is said of one made here.
 */
static inline void surg__node_inherit(surg_node *to, const surg_node *from) {
  if (to->src.body.off == 0) to->src = from->src;
}
void surg__emit(surg_model *m, surg_event_kind kind, surg_graph *g, surg_node *n, surg_value *v,
                surg_value *other, const char *old_name);
void surg__node_resolve(surg_node *n); /* fills op, op_class, schema, function */
/* Whether the imported opset is older than the operator, and engines had it all the same. */
bool surg__node_early(const surg_node *n);
void surg__model_unresolve(surg_model *m); /* after imports or functions changed */
surg_graph *surg__node_scope(const surg_node *n);
surg_value *surg__find_value(const surg_graph *g, const char *interned); /* of g itself, by name */
bool surg__value_visible(const surg_value *v, const surg_graph *g); /* v is of g or around it */

/* Whether constants of g are initializers; else they are Constant nodes. */
bool surg__takes_initializers(const surg_graph *g);

/* Where a thing stands, for messages: `graph.node[5] "If_5" (If).attribute "then_branch"...`. The
 * text belongs to the context and holds for the next few calls. O(nodes before it). */
const char *surg__locate_node(const surg_node *n);
const char *surg__locate_graph(const surg_graph *g);
surg_status surg__node_error(const surg_node *n, surg_status s, const char *fmt, ...)
    SURG_PRINTF(3, 4);

/* --- payloads (lib/ir/tensor.c reads through these; lib/io/source.c and external.c own files) ---
 */
surg__source *surg__source_ref(surg__source *s);
void surg__source_unref(surg__source *s);
/* Bytes of the source: from the image where they are in memory, else by pread. */
surg_status surg__source_read(const surg__source *s, uint64_t off, void *out, size_t n);
surg__datafile *surg__datafile_ref(surg__datafile *f);
void surg__datafile_unref(surg__datafile *f);
/* A descriptor to read the file by: 0 or an errno value. Given back by _close. */
int surg__datafile_open(const surg__datafile *f, int *fd);
void surg__datafile_close(const surg__datafile *f, int fd);
int surg__datafile_pread(const surg__datafile *f, void *p, size_t n, uint64_t off);
/* A new blob of n bytes, in m->blobs, which holds its reference (a clone takes one of its own and
 * lists it too). NULL: no memory or no space, with the model failed. */
surg__blob *surg__blob_new(surg_model *m, uint64_t n);
surg_status surg__blob_write(surg__blob *b, uint64_t off, const void *p, size_t n);
surg_status surg__blob_read(const surg__blob *b, uint64_t off, void *out, size_t n);
surg__blob *surg__blob_ref(surg__blob *b);
void surg__blob_unref(surg__blob *b);
surg__spill *surg__spill_ref(surg__spill *s);
void surg__spill_unref(surg__spill *s); /* freeing a model drops m->spill by this */

#endif
