/* SPDX-License-Identifier: Apache-2.0 */
/* The graph IR: the structs of the public handles, and the raw builders with which lib/io reads a
 * model. lib/ir, lib/io, lib/infer and lib/check use the fields of the structs. Other folders of
 * lib/ include this file for functions without a public name: to print the location of a node, to
 * fail a model permanently, to store their own data in the scratch field of a value or graph.
 * Passes, plugins and programs use <onnxsurg/onnxsurg.h>.
 *
 * Invariants (surg_model_verify checks them):
 * - A use is in the use list of its value and in exactly one place: a node's input array, a graph's
 *   output array, or a soft reference.
 * - The value table contains each value of a graph whose name another value of the model has, too;
 *   names of live values of one graph are unique. The node table maps a graph and a name to the
 *   first node of a ring of nodes with this name.
 * - Order keys increase strictly along the node list.
 * - A value belongs to the graph it is defined in; a use in an inner graph is a capture.
 * - dirty bits are upward closed: if an object is dirty, every object that contains it is dirty. */
#ifndef SURG_IR_H
#define SURG_IR_H

#include <onnxsurg/onnxsurg.h>

#include "base/base.h"
#include "base/context.h"
#include "base/hash.h"

/* An interned string: equal strings of one model are one pointer. Public names are `s`. */
typedef struct surg__name {
  uint32_t len;
  uint32_t values; /* live values of the model with this name, in any graph */
  bool stray;      /* a value_info entry without a value may have this name */
  bool node;       /* a node may have this name */
  struct surg_value *last; /* the live value that got this name last, or NULL; if `values` is 1, the
                            * table of its graph need not contain it */
  char s[];
} surg__name;
/* The table of all names of a model: open addressing. Each slot stores the hash next to the
 * pointer, so that a lookup compares hashes before it reads a name, and rarely touches more than
 * one other cache line. Names are never removed. */
typedef struct surg__names {
  struct surg__name_slot {
    surg__name *name; /* NULL: the slot is free */
    uint32_t hash;
  } * slots;
  size_t size, count; /* slots: a power of two, or 0; names */
} surg__names;
/* A table of values or of nodes by graph and name (lib/ir/table.c). */
typedef struct surg__table {
  void **slots;       /* NULL: free */
  size_t size, count; /* slots: a power of two, or 0; entries */
  bool of_nodes;
} surg__table;
#define surg__name_of(str) ((surg__name *)((char *)(uintptr_t)(str) - offsetof(surg__name, s)))

/* A byte range of the source file. Offset and length 0: none (the object was created, not read). */
typedef struct surg__span {
  uint64_t off, len;
} surg__span;
/* The location of a message in the source. `field_off` is the start of its field in the parent
 * message, at the tag; `body` is the message without tag and length. */
typedef struct surg__src {
  uint64_t field_off; /* offset of the tag; the field ends at body.off + body.len */
  surg__span body;
} surg__src;

/* --- the file a model came from; shared by clones --- */
typedef struct surg__source {
  uint32_t refs;
  surg_context *ctx;
  char *name;      /* for messages */
  char *path;      /* NULL for memory and standard input */
  char *dir;       /* folder of the model, for external data; NULL if `path` is */
  int fd;          /* -1: everything is in memory */
  int dirfd;       /* descriptor of `dir`; -1: none */
  uint64_t size;
  uint8_t *base;   /* address of byte 0; a sparse private image unless `resident` */
  bool resident;   /* all bytes are in memory at base; if false, only the scanned pages */
  uint64_t *filled; /* if not resident: one bit for each page of the image that was read */
  uint64_t asked;   /* if not resident: the last page of the last request */
  uint64_t low, high; /* every page of the image is in [low, high) */
  uint64_t n_filled;  /* pages read since the last ones were dropped */
  bool fixed;         /* pages cannot be dropped */
  uint64_t **marks;   /* hashes of dropped pages, by SURG__MARKS pages; 0: not dropped before */
  uint8_t *window;    /* bytes of one page that is not in the image; NULL: not needed before */
  uint64_t window_page; /* UINT64_MAX: none */
  bool base_heap;  /* base is from surg__alloc, not from surg__os_reserve */
  uint64_t dev, ino;
  uint64_t unknown; /* fields that ONNX does not define */
  bool elsewhere;  /* the bytes are not those of the file at `path` */
} surg__source;
#define SURG__PAGE_BITS 12u /* log2 of the page size of surg__source.filled */
#define SURG__PAGE ((uint64_t)1 << SURG__PAGE_BITS)
#define SURG__MARKS 512u
#define SURG__IMAGE_PAGES 2048u /* the image that is not dropped while a model is loaded */
#define SURG__IMAGE_AGAIN 256u  /* the same after the first time: headers are in the window */

/* Files that are no data files of the model: their bytes are copied when the model is saved. */
typedef enum surg__loan {
  SURG__LOAN_NONE = 0, /* a data file of the model */
  SURG__LOAN_IN,       /* copied to where the option of the save state; else into the model file */
  SURG__LOAN_OUT       /* copied to a data file */
} surg__loan;

/* One external data file. The first SURG_LIMIT_OPEN_FILES files of a model stay open; further ones
 * are opened for each access, and must still be the same file (dev, ino, size). */
typedef struct surg__datafile {
  uint32_t refs;
  surg_context *ctx;
  surg__source *source; /* the location is relative to its folder */
  char *location;       /* as written in the model */
  int fd;               /* -1: not kept open */
  uint64_t size, dev, ino;
  bool absent;          /* cannot be read, or must not be read (surg__absent) */
  bool reported;        /* reported: a tensor exceeds the file */
  uint8_t loan;         /* surg__loan */
  struct surg__datafile *next; /* next in the model's list */
} surg__datafile;

/* Computed bytes; shared by clones. If the blobs of a model exceed SURG_LIMIT_OWNED_RESIDENT bytes
 * in total, further ones are stored in an unlinked temporary file, which exists as long as a blob
 * or model refers to it. */
typedef struct surg__spill {
  uint32_t refs;
  surg_context *ctx;
  int fd;
  uint64_t size;
} surg__spill;
/* Computes bytes [off, off + n) of a blob, n > 0, the same ones on each call. */
typedef surg_status (*surg__derive_fn)(void *user, uint64_t off, void *out, size_t n);
typedef struct surg__blob {
  uint32_t refs;
  surg_context *ctx;
  uint8_t *p; /* NULL: in the spill file, or derived */
  surg__spill *spill; /* NULL when p or `derive` is set */
  uint64_t off, n;
  bool borrowed;           /* p is memory of the caller */
  surg_release_fn release; /* of borrowed memory, or of `user` for derived bytes; or NULL */
  void *user;
  surg__derive_fn derive;  /* the bytes are computed when they are read */
} surg__blob;

/* doc_string and metadata_props that differ from the source (lib/io/about.c). Immutable. */
typedef struct surg__about {
  bool has_doc, has_entries; /* which of the two replaces that of the source */
  const char *doc;           /* NULL: removed */
  uint32_t n;
  const char *const *keys, *const *values; /* all entries of metadata_props */
} surg__about;

/* How a plugin decodes the elements of a tensor. Immutable, in the arena of the model. */
typedef struct surg__codec {
  surg_decoder decoder;
  const char *plugin;            /* for messages; NULL: the program registered it */
  const char *name;              /* of the tensor */
  const surg_str *keys, *values; /* the entries of external_data, interned */
  uint32_t n;
} surg__codec;

typedef enum surg__view {
  SURG__VIEW_EMPTY = 0, /* no elements */
  SURG__VIEW_RAW,       /* raw_data in the source */
  SURG__VIEW_TYPED,     /* a typed list in the source: `msg` is decoded on reading */
  SURG__VIEW_EXTERNAL,  /* a range of a data file */
  SURG__VIEW_OWNED,     /* a blob */
  SURG__VIEW_STRINGS,   /* an array of surg_str in the arena */
  SURG__VIEW_SPARSE,    /* SparseTensorProto: never read */
  SURG__VIEW_ABSENT     /* data file missing or inconsistent with the model: never read */
} surg__view;

/* What the loader does about a tensor whose external data cannot be read. ABSENT_FAILS rejects the
 * model. With the others the model loads for inspection: the tensor has a type but no elements
 * (VIEW_ABSENT), and one line is reported for each file. */
typedef enum surg__absent {
  SURG__ABSENT_FAILS = 0, /* the model does not load */
  SURG__ABSENT_ERROR,
  SURG__ABSENT_WARNING,
  SURG__ABSENT_MISSING /* as WARNING if a file is missing or too short; unsafe files fail */
} surg__absent;

struct surg_tensor {
  surg_model *model;
  int dtype;
  uint32_t rank;
  const int64_t *dims;
  uint64_t count, bytes;
  surg__span msg;  /* the TensorProto (or SparseTensorProto) it was read from */
  surg__span data; /* RAW: range of the source; EXTERNAL: range of the data file */
  uint8_t view;    /* surg__view */
  bool lost;       /* with VIEW_ABSENT: its data file is missing or too short */
  bool missing;    /* with `lost`: the data file is missing or too short, or the elements are
                    * stripped */
  bool cut;        /* with `missing`: the file exists and is too short */
  bool asked;      /* with `lost`: its elements were requested */
  bool defective;  /* lenient load: `data` interprets an invalid message */
  uint8_t stored;  /* with VIEW_ABSENT: bytes per element in `data`, if more than dtype has */
  bool linked;     /* EXTERNAL without a message: the reference is written, not the elements */
  bool shapeless;  /* lenient load: dims and dtype in the file are invalid and not used */
  const char *odd_key; /* of its external_data entries, the first key that ONNX does not define */
  const char *location; /* with `missing`: of the data file, interned; NULL: stripped */
  surg__datafile *file;
  surg__blob *blob;
  const surg__codec *codec; /* EXTERNAL: `data` is encoded; ABSENT: entries of a stripped tensor */
  const surg_str *strings;
};

struct surg_type {
  surg_type_kind kind;
  int dtype; /* element type of a tensor; key type of a map */
  bool has_rank;
  uint32_t rank;
  const surg_dim *dims;
  const char *const *dim_denotations; /* NULL, or one entry (NULL if absent) per dim */
  const int64_t *raw_values;          /* NULL, or dim_value as written where negative */
  const surg_type *elem;
  const char *denotation, *opaque_domain, *opaque_name;
  surg_model *model;
};

struct surg_attr {
  const char *name, *ref; /* interned */
  surg_attr_kind kind;
  bool dirty;      /* values differ from the source, or a subgraph is dirty */
  bool untyped;    /* the source has no type field (optional in IR version 1) */
  float stray;     /* the value of the field `f`, if another one is the value */
  uint32_t fields; /* value fields of the source that are present, as bits; 0: not from a file */
  uint8_t lost;    /* kind of a reference outside functions without a value; `kind` is UNDEFINED */
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
  surg_tensor *as_tensor; /* value_int etc. of a Constant as a tensor; created on demand */
};

struct surg_use {
  surg_value *value; /* NULL: absent input; then the use is in no list */
  surg_use *prev, *next;
  surg_use_kind kind;
  uint32_t index;
  union {
    surg_node *node;
    surg_graph *graph;
    struct surg__soft *soft;
  } user;
};

/* A reference to a value by name, outside node inputs and graph outputs. */
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
  const char *written;     /* the value's name when the reference was read (set by surg__soft_new);
                            * saving uses it to find the reference in its source message */
  struct surg__soft *next; /* next of the same annotation, node or model */
} surg__soft;
/* One TensorAnnotation. `subject` is its tensor_name; `params` are the names of its quantization
 * parameters, in order. */
typedef struct surg__annotation {
  surg__src src;
  bool dirty, dropped;
  surg__soft *subject; /* NULL: no value of the graph has this name */
  surg__soft *params;  /* list; names without a value are omitted */
  struct surg__annotation *next;
} surg__annotation;

/* The declared type of a value: one ValueInfoProto. */
typedef struct surg__decl {
  surg__src src; /* body 0, 0: created, not read */
  const surg_type *type;
  bool dirty; /* the type differs from the source's; a new name does not set this */
  const surg__about *about; /* NULL: as in the source */
} surg__decl;

enum { SURG__PIN_TRAINING = 1, SURG__PIN_WEIGHT = 2 };

struct surg_value {
  const char *name; /* interned; "" for a placeholder output, which is never indexed */
  surg_graph *graph;
  surg_node *producer; /* NULL: an input, an initializer, or both */
  uint32_t output;     /* output index at the producer */
  bool input, initializer, erased;
  bool undefined;  /* lenient load: used, but no input, initializer or node defines it */
  uint8_t pinned; /* SURG__PIN_ bits: what refers to it by name */
  bool indexed;    /* surg__find_value finds it */
  bool tabled;     /* in model->values_by_name; while another value of the model has its name */
  bool named_here; /* created, moved or renamed: saving makes its name unique */
  bool init_dirty; /* saving must write the initializer's TensorProto again */
  bool in_value_info; /* decl is an entry of value_info */
  uint8_t passed;     /* for lib/target: what calls do with this input of a function */
  /* In order: OUTPUT uses (those of the value's own graph first), NODE uses, SOFT uses. */
  surg_use *uses, *uses_tail, *last_output, *first_soft;
  surg__decl decl;          /* of the input, else of its value_info entry */
  const surg_type *inferred;
  const struct surg__elems *elems; /* known facts about its elements; valid while `inferred` is */
  const struct surg__found *found; /* cached range; valid while `elems` is */
  const surg_range *said;   /* range that the user assumes for its elements, or NULL */
  surg_tensor *tensor;      /* the initializer */
  surg__src init_src;
  surg_value *prev, *next;            /* values of the graph, in order of creation */
  surg_value *init_prev, *init_next;  /* initializers of the graph, in file order */
  void *scratch;                      /* for lib/io, one algorithm at a time */
  void *work;                         /* for lib/ir, valid within one call */
};

/* Fields that every walk over nodes reads are first, on shared cache lines. */
struct surg_node {
  surg_graph *graph;
  surg_node *prev, *next;
  uint64_t order;
  int op;
  surg_op_class op_class;
  uint32_t resolve_gen; /* the model's resolve_gen when the node was resolved */
  uint32_t arranged;    /* place + 1 of the rule that arranged its inputs in this run; 0: none */
  uint32_t folds;       /* lib/target/judge_constant.c: generation and state */
  bool resolved;        /* op, op_class, schema, function are up to date */
  bool types_stale;     /* edited since the types of its outputs were inferred */
  bool erased;
  bool faulty; /* the load reported an error at this node (lib/io/load/load.h) */
  bool opaque; /* treated as an operator without schema, since the node is faulty */
  bool tabled; /* in model->nodes_by_name: the first of the ring of its name */
  bool queued; /* in the work list of the rule driver */
  bool sheltered; /* result of surg_node_sheltered */
  bool kept;      /* --keep protects it by its place or a pattern, during a run */
  bool dirty, io_dirty, name_dirty, op_dirty, attrs_dirty, named_here;
  uint32_t n_in, cap_in, n_out, cap_out, n_attr, cap_attr;
  surg_use *in; /* array; reallocation relinks the uses */
  surg_value **out;
  surg_attr **attrs;
  const surg_schema *schema;
  surg_function *function;
  const char *name, *op_type, *domain, *overload; /* interned; "" when absent */
  const surg__about *about;                       /* NULL: as in the source */
  surg__soft *softs;
  surg__src src;
  surg_node *name_prev, *name_next; /* ring of the nodes with this name */
  void *scratch;
  void *work;
};

/* One entry of a graph's output list. */
typedef struct surg__output {
  surg_use use;
  surg__decl decl;
  const char *name; /* as declared; updated with the value's name */
} surg__output;

/* A value_info entry that names no value: preserved until the prune pass drops it. */
typedef struct surg__stray {
  surg__src src;
  const char *name;
  const surg_type *type;
  bool dropped;
  struct surg__stray *next;
} surg__stray;

struct surg_graph {
  /* Operators of its nodes, one bit each, as of epoch has_epoch - 1; has_epoch 0: not computed. */
  uint64_t has_ops[(SURG_OP_COUNT + 63) / 64], has_epoch;
  surg_model *model;
  surg_graph_kind kind;
  const char *name;
  surg_node *parent_node;
  surg_attr *parent_attr;
  surg_function *function; /* the function whose body this is; NULL for other kinds */
  bool dirty, erased;
  bool name_dirty;     /* renamed since it was read */
  const surg__about *about; /* NULL: as in the source */
  bool sorted_on_load; /* the loader sorted the nodes; an edit only after surg_graph_toposort */
  bool cyclic; /* lenient load: its nodes have no topological order */
  surg__src src; /* the GraphProto; for a function body the FunctionProto */
  surg_node *first, *last;
  surg_value *first_value, *last_value;
  surg_value *first_init, *last_init;
  size_t n_nodes, n_inits, n_in, cap_in, n_out, cap_out;
  surg_value **in;
  surg__output **out;
  surg__annotation *annotations;
  surg__stray *strays;
  bool strays_marked; /* the names of `strays` have their `stray` bit set */
  surg_graph *next; /* all graphs of the model, outer before inner */
  surg_graph *prev;
  uint64_t nondet_epoch; /* epoch + 1 at which nondet was computed; 0: never */
  bool nondet;
  void *scratch;
  void *work;
  surg_graph *work_next; /* chain of surg__chain_*, valid within one call */
};

typedef struct surg__import {
  const char *domain; /* interned, as written */
  int64_t version;
  int64_t last; /* version of the last import in the file if a lenient load found two; else 0 */
  surg__src src;
  bool dirty;
} surg__import;
typedef SURG_VEC(surg__import) surg__imports;

struct surg_function {
  surg_model *model;
  const char *name, *domain, *overload;
  surg_graph *body;
  surg__imports imports;
  bool imports_dirty, attrs_dirty, dirty, erased;
  bool walked, missed; /* for lib/infer: a call of it was walked / was skipped */
  bool called;         /* for lib/target: a node calls it */
  uint32_t n_calls;    /* for lib/target: calls in `calls` */
  const surg_node *calls[8]; /* for lib/target: calls that pass different attributes */
  bool hidden;         /* for lib/target: an operator of this name is used in its place */
  uint8_t told;        /* for lib/target: kinds of its nodes that were reported */
  size_t number;       /* for lib/target: its place in the model */
  surg_function *instead; /* for lib/target: the function that is used for it, or NULL */
  uint64_t unset;      /* for lib/target: attributes without default that a call leaves out */
  surg__src src;
  const surg__about *about;        /* NULL: as in the source */
  SURG_VEC(const char *) attrs;    /* names without default, then names of `defaults` */
  SURG_VEC(surg_attr *) defaults;  /* attribute_proto */
  const char *given; /* the name in the file, if an earlier function has it; else NULL */
  const char *key[3];              /* interned: domain ("" for ai.onnx), name, overload */
  UT_hash_handle hh;               /* model->functions_by_key */
};

typedef struct surg__metadata {
  const char *key, *value;
  surg__src src;
  bool dirty;
} surg__metadata;

/* Fields of the model that differ from the source: texts by surg_model_field (NULL: removed), and
 * model_version. */
typedef struct surg__header {
  const char *texts[SURG_MODEL_DOMAIN + 1];
  bool has_text[SURG_MODEL_DOMAIN + 1], has_version;
  int64_t version;
} surg__header;

#define SURG__NOWHERE UINT64_MAX /* offset of a defect of the model as a whole */
/* What a defect is about, where its code alone does not say it and verdicts depend on it. */
typedef enum surg__defect_kind {
  SURG__DEFECT_OTHER = 0,
  SURG__DEFECT_DTYPE,   /* E119: the element type is missing or does not exist */
  SURG__DEFECT_DIMS,    /* E119: the dims are invalid */
  SURG__DEFECT_COUNT,   /* E119: more or fewer elements than the dims need */
  SURG__DEFECT_BESIDE,  /* E137: elements in a data file, and in the model */
  SURG__DEFECT_UNTYPED, /* E117: an attribute without a type */
  SURG__DEFECT_STRAY,   /* E117: a reference to an attribute of a function, outside functions */
  SURG__DEFECT_UNSET    /* E117: a reference to an attribute that the function does not have */
} surg__defect_kind;

/* A defect that a lenient load found (io/defects.c). */
typedef struct surg__defect {
  const char *code;  /* static string */
  const char *text;  /* escaped */
  const char *where; /* NULL: not computed yet; locating it costs a walk over the file */
  uint64_t off;      /* offset of the object's tag in the source */
  surg_severity severity;
  surg_reading reading;
  surg__defect_kind kind;
  bool cured;
  surg_graph *graph;
  surg_node *node;
  surg_value *value;
  surg_value *first; /* of two definitions of a name: the one before `value` */
  surg_attr *attr;
  const char *domain; /* of an import that was left out as its version is 0 or negative in 32 bits,
                       * as engines read it; interned */
  surg_tensor *tensor; /* as loaded: replacing it cures the defect */
  surg_function *function;
} surg__defect;

struct surg_model {
  surg_context *ctx;
  surg__arena arena;
  surg_status status;
  surg__source *source; /* NULL for a model that was not loaded */
  surg__datafile *files;
  surg__absent absent;
  surg_load_options options; /* load options, for the external root and freeze_inputs */
  bool freeze_inputs;
  int64_t ir_version;
  bool has_ir_version;
  SURG_VEC(surg__defect) defects;
  uint32_t open_defects;   /* errors not cured, as of settled_epoch */
  uint32_t unlisted;       /* errors beyond the limit: only counted */
  uint64_t settled_epoch;  /* epoch of the last count, plus 1; 0: never */
  uint64_t read_epoch;     /* epoch of the model as loaded */
  uint32_t judged_gen;     /* 0: imports changed since the nodes of a lenient load were checked */
  bool lenient;        /* loaded with SURG_LOAD_LENIENT: parts may be dirty without an edit */
  bool dirty;          /* anything differs from the source */
  bool header_dirty;   /* ir_version, imports, metadata, function list */
  surg__imports imports;
  SURG_VEC(surg__metadata) metadata;
  surg__header header;
  SURG_VEC(surg_function *) functions;
  surg_function *functions_by_key;
  surg_graph *graph;
  surg_graph *graphs_tail;
  surg__names names;
  surg__table values_by_name; /* values whose name another value of the model has, too */
  surg__table nodes_by_name;  /* first nodes of rings of nodes with one name */
  const char *none; /* the interned "" */
  surg__soft *training; /* references that pin values */
  struct surg__opid *custom_ops;
  /* For lib/target: what an engine makes of a call; call is NULL where it is as ONNX says. */
  struct surg__reads {
    surg_function *(*call)(const surg_model *m, const surg_node *n, surg_function *f);
    surg_function **rivals; /* all functions, sorted by name in the file; NULL: not needed */
    size_t n_rivals;
    bool no_overloads;
  } reads;
  int next_custom_op;
  uint32_t resolve_gen;       /* incremented when imports or functions change */
  struct surg__opset *opsets; /* index of long import lists, valid for opsets_gen */
  uint32_t opsets_gen;
  uint64_t epoch, fresh;
  /* Indices of the nodes that messages located last, valid while the epoch is the same. */
  struct surg__located {
    const surg_node *node;
    size_t index;
    uint64_t epoch;
  } located[2];
  unsigned located_next;
  bool trust_bodies;         /* inputs of loop bodies have the shapes that they declare */
  uint32_t decoded;          /* tensors whose elements a decoder computed */
  bool trust_declared;       /* use declared types where inference finds none */
  uint32_t
      values_changed; /* incremented by rewrites that change results: voids cached ranges */
  bool values_kept; /* the current edits preserve every remaining value, so that facts proven about
                     * it stay valid (lib/rewrite) */
  surg__arena elems;         /* facts about elements of values, until the next inference */
  struct surg__exprs *exprs; /* lib/sym/expr.h; NULL until the first expression */
  uint64_t
      sheltered_epoch;     /* epoch of the `sheltered` marks of all nodes, plus 1; 0: none */
  uint64_t inferred_epoch; /* epoch of the `inferred` types of all values, plus 1; 0: none */
  struct {
    uint64_t epoch, inferred; /* of the model, when the generation began */
    uint32_t generation;
    bool defaults;
  } folds; /* what surg_node.folds is about (lib/target/judge_constant.c) */
  SURG_VEC(struct surg__listener { surg_listener fn; void *user; }) listeners;
  SURG_VEC(surg__blob *) blobs; /* one reference each; tensors borrow it */
  surg__spill *spill;           /* NULL until bytes were spilled */
  uint64_t owned_resident;      /* bytes of blobs in memory */
};

/* --- raw builders (lib/ir/build.c) ---
 * They emit no events and mark nothing dirty. They return NULL or false when memory runs out, and
 * then fail the model. The loader calls them, and the public mutations are built on them. */
surg_model *surg__model_alloc(surg_context *ctx); /* has no graph yet */
const char *surg__intern(surg_model *m, const char *s, size_t n);
const char *surg__interned(const surg_model *m, const char *s, size_t n); /* NULL: not interned */
/* Creates an empty graph. The first MAIN graph becomes the model's main graph. For a subgraph, the
 * caller stores it in its attribute. */
surg_graph *surg__graph_new(surg_model *m, surg_graph_kind kind, surg_node *parent,
                            surg_attr *attr);
surg_value *surg__value_new(surg_graph *g, const char *name); /* name interned; "": not indexed */
surg_node *surg__node_new(surg_graph *g, surg_node *before, const char *domain, const char *op_type,
                          const char *overload, const char *name); /* strings are interned */
bool surg__node_reserve(surg_node *n, size_t n_in, size_t n_out, size_t n_attr);
bool surg__node_link_input(surg_node *n, size_t i, surg_value *v); /* v may be NULL */
bool surg__node_link_output(surg_node *n, size_t i, surg_value *v); /* v NULL: absent */
surg_attr *surg__node_push_attr(surg_node *n, const char *name, surg_attr_kind kind);
/* Renames a value and marks everything that contains its name as dirty. */
bool surg__relabel_read(surg_value *v, const char *interned);
bool surg__graph_push_input(surg_graph *g, surg_value *v);
surg__output *surg__graph_push_output(surg_graph *g, surg_value *v, const char *name);
void surg__graph_push_initializer(surg_graph *g, surg_value *v, surg_tensor *t);
/* Creates a function with an empty body and adds it to the model's list. */
surg_function *surg__function_new(surg_model *m, const char *domain, const char *name,
                                  const char *overload);
/* Creates a soft reference to v (may be NULL); TRAINING pins v. The caller sets owner and next. */
surg__soft *surg__soft_new(surg_model *m, surg__soft_kind kind, surg_value *v);
surg_type *surg__type_new(surg_model *m, surg_type_kind kind);
/* Appends a type as messages spell it, `float[N, 3, ?]`; `?` for NULL. */
void surg__put_type(surg__buf *b, const surg_type *t);
/* Reads the elements of a dense tensor of 16 to 64 bit floats into out, which has room for all.
 * Returns false for other tensors. */
bool surg__tensor_reals(const surg_tensor *t, double *out);
/* Returns the smallest nonzero magnitude of such a tensor (infinity if all elements are 0) and the
 * largest magnitude. False: an element is NaN or infinite, or cannot be read. Reads all elements,
 * in pieces. */
bool surg__tensor_extent(const surg_tensor *t, double *least, double *largest);
surg_tensor *surg__tensor_alloc(surg_model *m, int dtype, const int64_t *dims, size_t rank);
/* A tensor whose elements the caller writes into its blob next (NULL without elements). NULL: the
 * model failed, or the shape is invalid, which is reported. */
surg_tensor *surg__tensor_blank(surg_model *m, int dtype, const int64_t *dims, size_t rank);
/* Link and unlink uses; linking a use to another value is O(1). */
void surg__use_link(surg_use *u, surg_value *v);
void surg__use_unlink(surg_use *u);

/* A copy of a codec in the arena of m; its strings may be in any memory. NULL: out of memory. */
const surg__codec *surg__codec_copy(surg_model *m, const surg__codec *from);
/* Copies what the user assumes about sizes and, by name, about values of the main graph. False: out
 * of memory. */
bool surg__assumptions_copy(surg_model *m, const surg_model *like);

/* Sorts the node list without marking the graph dirty; see surg_graph_toposort. */
surg_status surg__graph_sort(surg_graph *g, bool *moved);

/* --- shared inside lib/ir --- */
surg_status surg__fail(surg_model *m, surg_status s); /* the first failure is permanent */
void surg__touch_graph(surg_graph *g);                /* marks it and what contains it dirty */
void surg__touch_node(surg_node *n);
/* Marks the output types as valid, after an edit that did not change what the node computes. */
static inline void surg__types_hold(surg_node *n) { n->types_stale = false; }
/* Makes a new node inherit the source message of `from`: saving copies from it the fields that the
 * IR does not model (doc string, metadata). */
static inline void surg__node_inherit(surg_node *to, const surg_node *from) {
  if (to->src.body.off == 0) to->src = from->src;
}
void surg__emit(surg_model *m, surg_event_kind kind, surg_graph *g, surg_node *n, surg_value *v,
                surg_value *other, const char *old_name);
void surg__node_resolve(surg_node *n); /* fills op, op_class, schema, function */
/* Whether the operator is newer than the imported opset, but engines accept it there all the
 * same. */
bool surg__node_early(const surg_node *n);
void surg__model_unresolve(surg_model *m); /* after imports or functions changed */
surg_graph *surg__node_scope(const surg_node *n);
surg_value *surg__find_value(const surg_graph *g, const char *interned); /* of g itself, by name */
bool surg__value_visible(const surg_value *v, const surg_graph *g); /* defined in g or around g */

/* Whether constants of g can be initializers; if not, they are Constant nodes. */
bool surg__takes_initializers(const surg_graph *g);
/* Whether `to` can have the initializers of `from`, or Constant nodes in their place. */
bool surg__initializers_fit(const surg_graph *from, const surg_graph *to);

/* The location of an object, for messages: `graph.node[5] "If_5" (If).attribute "then_branch"...`.
 * The context owns the text; it is valid for the next few calls. O(nodes before it). */
const char *surg__locate_node(const surg_node *n);
const char *surg__locate_graph(const surg_graph *g);
surg_status surg__node_error(const surg_node *n, surg_status s, const char *fmt, ...)
    SURG_PRINTF(3, 4);

/* --- payloads ---
 * lib/ir/tensor.c reads through these functions; lib/io/source.c and external.c own the files. */
surg__source *surg__source_ref(surg__source *s);
void surg__source_unref(surg__source *s);
/* Reads bytes of the source: from the image where they are in memory, else with pread. */
surg_status surg__source_read(const surg__source *s, uint64_t off, void *out, size_t n);
/* Whether the bytes of a page that was read are those it had when it was dropped, if it was; else
 * reports SURG_EIO. */
bool surg__source_same(const surg__source *s, uint64_t page, const uint8_t *p);
/* As surg__source_same, and stores the hash of the page if there is none. */
surg_status surg__source_mark(surg__source *s, uint64_t page, const uint8_t *p);
/* Drops all pages of the image, if these are many: the headers of small weights fill a page each.
 * Pointers into the image become invalid, so only loading calls this, where it has none. */
void surg__source_drop(surg__source *s);
/* Adds a data file that is open as fd, which the model then owns also on failure; NULL: the model
 * has failed. `location` is a plain file name. */
surg__datafile *surg__datafile_add(surg_model *m, const char *location, int fd, surg__loan loan);
/* The data file of another model of the context as one of m; NULL: m has failed. O(files) */
surg__datafile *surg__datafile_share(surg_model *m, const surg__datafile *f);
/* A tensor whose elements are in a data file; NULL: the model has failed. */
surg_tensor *surg__tensor_in_file(surg_model *m, int dtype, const int64_t *dims, size_t rank,
                                  surg__datafile *f, uint64_t off);
surg__datafile *surg__datafile_ref(surg__datafile *f);
void surg__datafile_unref(surg__datafile *f);
/* Returns 0 and a descriptor for reading the file, or an errno value. Release it with _close. */
int surg__datafile_open(const surg__datafile *f, int *fd);
void surg__datafile_close(const surg__datafile *f, int fd);
int surg__datafile_pread(const surg__datafile *f, void *p, size_t n, uint64_t off);
/* Whether n > 0 bytes of the file are known to be 0 without reading them, as a hole. */
bool surg__datafile_hole(const surg__datafile *f, uint64_t off, uint64_t n);
/* Creates a blob of n bytes. m->blobs owns its reference; a clone adds a reference and lists the
 * blob too. NULL: no memory or no disk space, with the model failed. */
surg__blob *surg__blob_new(surg_model *m, uint64_t n);
/* Whether surg__blob_new stores n more bytes in the spill file. */
bool surg__blob_spills(const surg_model *m, uint64_t n);
surg_status surg__blob_write(surg__blob *b, uint64_t off, const void *p, size_t n);
surg_status surg__blob_read(const surg__blob *b, uint64_t off, void *out, size_t n);
surg__blob *surg__blob_ref(surg__blob *b);
void surg__blob_unref(surg__blob *b);
surg__spill *surg__spill_ref(surg__spill *s);
void surg__spill_unref(surg__spill *s); /* freeing a model releases m->spill with this */

#endif
