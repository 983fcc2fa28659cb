/* SPDX-License-Identifier: Apache-2.0 */
/* Types of the public API: opaque handles, status codes, enumerations and structs.
 *
 * Binary interface. Numbers of enumerations are never reused; new ones are appended. A struct that
 * begins with `size` is passed by pointer and grows only at its end: the caller sets `size` to
 * sizeof the struct, and fields that a smaller struct lacks have their default. Elements of arrays
 * of such structs are `size` bytes apart. surg_str, surg_dim, surg_elem and surg_range have no
 * `size`: their layout is fixed. Members that contain a value of an enumeration are int32_t.
 *
 * Handles. A handle is valid until its model is freed. It stays valid when a pipeline edits the
 * model (surg_model_run, surg_run): a handle of an object that a pass erased keeps kind and name,
 * and calls on it fail with SURG_EERASED; it is never reused for another object. There is one
 * exception: a run may replace the model by a copy (a group `guard` or a repair that is undone, or
 * a run that fails). *model is then another handle, or NULL, and all handles of the former model
 * are invalid. Therefore compare *model before and after a run; if it changed, look objects up by
 * name again.
 *
 * Threads. One thread at a time may use a context and everything that belongs to it: models,
 * handles, targets, reports. Contexts are independent of each other. The library starts no threads,
 * installs no signal handlers, and never exits; callbacks are called in the thread of the call.
 *
 * Memory. Everything that a call allocates is counted by the context, up to its limit
 * (surg_config), and is freed with the context, the model, or by the function that a comment
 * names. Running out of memory fails the model permanently. surg_config.allocate replaces the
 * system's heap; texts of messages, paths, and the libraries that read JSON, compressed files and
 * regular expressions keep using the system's, as does ONNX Runtime. */
#ifndef ONNXSURG_TYPES_H
#define ONNXSURG_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SURG_EXPORT __attribute__((visibility("default")))
#else
#define SURG_EXPORT
#endif

#define SURG_ABI_MAJOR 0
#define SURG_ABI_MINOR 9

/* Handles: see above. Calls given NULL do nothing and return 0, NULL or SURG_EUSAGE. */
typedef struct surg_context surg_context;
typedef struct surg_model surg_model;
typedef struct surg_graph surg_graph;
typedef struct surg_node surg_node;
typedef struct surg_value surg_value;
typedef struct surg_use surg_use;
typedef struct surg_attr surg_attr;
typedef struct surg_tensor surg_tensor;
typedef struct surg_type surg_type;
typedef struct surg_function surg_function;
typedef struct surg_schema surg_schema;
typedef struct surg_expr surg_expr; /* an integer expression over symbolic dims */
typedef struct surg_registry surg_registry;
typedef struct surg_pass_ctx surg_pass_ctx;
typedef struct surg_rule surg_rule;

/* Status of a call. 0 is success; below zero is failure, with a diagnostic in the context. */
typedef enum surg_status {
  SURG_OK = 0,
  SURG_EINVALID = -1,      /* the model is invalid: exit code 1 */
  SURG_EUSAGE = -2,        /* wrong argument: exit code 2 */
  SURG_EIO = -3,           /* file or system error: exit code 3 */
  SURG_ELIMIT = -4,        /* a limit of the context: exit code 4 */
  SURG_ENOMEM = -5,        /* out of memory: exit code 4 */
  SURG_EINTERNAL = -6,     /* a fault of this library: exit code 5 */
  SURG_EPLUGIN = -7,       /* a plugin that misbehaved: exit code 5 */
  SURG_EERASED = -8,       /* the handle was erased */
  SURG_ENOTFOUND = -9,     /* no such thing; no diagnostic */
  SURG_EUNSUPPORTED = -10, /* this library cannot do it; no diagnostic unless stated */
  SURG_ECANCELLED = -11    /* a cancel callback returned true: exit code 4 */
} surg_status;

/* Element types, with ONNX's own numbers (TensorProto.DataType). */
typedef enum surg_dtype {
  SURG_UNDEFINED = 0,
  SURG_FLOAT = 1,
  SURG_UINT8 = 2,
  SURG_INT8 = 3,
  SURG_UINT16 = 4,
  SURG_INT16 = 5,
  SURG_INT32 = 6,
  SURG_INT64 = 7,
  SURG_STRING = 8,
  SURG_BOOL = 9,
  SURG_FLOAT16 = 10,
  SURG_DOUBLE = 11,
  SURG_UINT32 = 12,
  SURG_UINT64 = 13,
  SURG_COMPLEX64 = 14,
  SURG_COMPLEX128 = 15,
  SURG_BFLOAT16 = 16,
  SURG_FLOAT8E4M3FN = 17,
  SURG_FLOAT8E4M3FNUZ = 18,
  SURG_FLOAT8E5M2 = 19,
  SURG_FLOAT8E5M2FNUZ = 20,
  SURG_UINT4 = 21,
  SURG_INT4 = 22,
  SURG_FLOAT4E2M1 = 23,
  SURG_FLOAT8E8M0 = 24,
  SURG_UINT2 = 25,
  SURG_INT2 = 26,
  SURG_DTYPE_COUNT = 27
} surg_dtype;

/* Kinds of attribute, with ONNX's own numbers (AttributeProto.AttributeType). */
typedef enum surg_attr_kind {
  SURG_ATTR_UNDEFINED = 0,
  SURG_ATTR_FLOAT = 1,
  SURG_ATTR_INT = 2,
  SURG_ATTR_STRING = 3,
  SURG_ATTR_TENSOR = 4,
  SURG_ATTR_GRAPH = 5,
  SURG_ATTR_FLOATS = 6,
  SURG_ATTR_INTS = 7,
  SURG_ATTR_STRINGS = 8,
  SURG_ATTR_TENSORS = 9,
  SURG_ATTR_GRAPHS = 10,
  SURG_ATTR_SPARSE_TENSOR = 11,
  SURG_ATTR_SPARSE_TENSORS = 12,
  SURG_ATTR_TYPE_PROTO = 13,
  SURG_ATTR_TYPE_PROTOS = 14
} surg_attr_kind;

/* Kind of a type. */
typedef enum surg_type_kind {
  SURG_TYPE_UNKNOWN = 0,
  SURG_TYPE_TENSOR = 1,
  SURG_TYPE_SPARSE_TENSOR = 2,
  SURG_TYPE_SEQUENCE = 3,
  SURG_TYPE_MAP = 4,
  SURG_TYPE_OPTIONAL = 5,
  SURG_TYPE_OPAQUE = 6
} surg_type_kind;

/* How the operator of a node resolves: a function of the model first, then the schema table. CUSTOM
 * has an unknown domain or name. Passes that depend on meaning edit BUILTIN nodes only. */
typedef enum surg_op_class {
  SURG_OP_CLASS_UNKNOWN = 0,
  SURG_OP_CLASS_BUILTIN = 1,
  SURG_OP_CLASS_FUNCTION = 2,
  SURG_OP_CLASS_CUSTOM = 3
} surg_op_class;

/* Kind of a use of a value. An OUTPUT use is an entry of a graph's output list. A SOFT use is a
 * reference by name outside node inputs: quantization annotation, sharding spec, training. */
typedef enum surg_use_kind {
  SURG_USE_NODE = 0,
  SURG_USE_OUTPUT = 1,
  SURG_USE_SOFT = 2
} surg_use_kind;

/* Position of a graph in its model. */
typedef enum surg_graph_kind {
  SURG_GRAPH_MAIN = 0,
  SURG_GRAPH_SUBGRAPH = 1,
  SURG_GRAPH_FUNCTION = 2
} surg_graph_kind;

/* Whether one value may replace another in all uses; see surg_value_can_replace. */
typedef enum surg_replace {
  SURG_REPLACE_NO = 0,
  SURG_REPLACE_YES = 1,           /* the old value is no graph output */
  SURG_REPLACE_BY_LABEL = 2,      /* the new value gets the name of the old one */
  SURG_REPLACE_NEEDS_IDENTITY = 3 /* only an Identity node can keep the output's name */
} surg_replace;

/* A string with its length; not always NUL-terminated. */
typedef struct surg_str {
  const char *p;
  size_t n;
} surg_str;

/* One dimension of a shape; its layout is fixed. A number (value >= 0), otherwise an inferred
 * expression (`expr`), or unknown (NULL). surg_dim_text prints it, surg_dim_equal compares. `param`
 * is the name if the dimension is exactly one symbol that a file names, otherwise NULL. A negative
 * dim_value or an empty dim_param of a file is unknown. */
typedef struct surg_dim {
  int64_t value;
  const char *param;
  const surg_expr *expr;
} surg_dim;

/* Value of a symbol, for surg_dim_eval: of the symbol that a file names `name`, or if that is NULL,
 * of dimension `axis` of a value. False if it has none. */
typedef bool (*surg_symbol_fn)(void *user, const char *name, const surg_value *value, size_t axis,
                               int64_t *out);

/* One element of an integer or bool tensor: a number if `known`, otherwise an expression, or NULL
 * if nothing is known. */
typedef struct surg_elem {
  int64_t value;
  const surg_expr *expr;
  bool known;
} surg_elem;

/* Range of all elements of a value. */
typedef struct surg_range {
  double low, high; /* infinite if unknown; low <= high */
  bool nan;         /* elements may also be NaN */
  bool minus_zero;  /* a zero may be -0 */
  bool assumed;     /* it depends on surg_model_assume_range */
} surg_range;

/* Exactness of a rewrite, from best to worst; a run reports the worst that it used. doc/rules.md
 * defines the classes. Without consent (`--allow`) the limit is SURG_ROUNDING. */
typedef enum surg_exactness {
  SURG_EXACT = 0,    /* every bit of every result is the same */
  SURG_ULP = 1,      /* results differ by at most n units in the last place */
  SURG_ROUNDING = 2, /* ... by at most k * eps * the sum of the absolute terms */
  SURG_APPROX = 3,   /* the error has no such bound */
  SURG_LOSSY = 4     /* the model computes something else */
} surg_exactness;

/* What an operator does with the axes of input 0. */
typedef enum surg_axes_effect {
  SURG_AXES_UNKNOWN = 0,
  SURG_AXES_UNARY,     /* elementwise on input 0 */
  SURG_AXES_BROADCAST, /* elementwise on all inputs, which broadcast */
  SURG_AXES_AXIS,      /* works along one axis and keeps it */
  SURG_AXES_CONCAT,    /* the others: as the operator of that name */
  SURG_AXES_SPLIT,
  SURG_AXES_REDUCE,
  SURG_AXES_ARG,
  SURG_AXES_SQUEEZE,
  SURG_AXES_UNSQUEEZE,
  SURG_AXES_SLICE,
  SURG_AXES_PAD,
  SURG_AXES_TILE,
  SURG_AXES_QUANTIZE
} surg_axes_effect;

/* Selects the rules that surg_pass_rewrite_graph may use. */
typedef bool (*surg_rule_filter)(void *user, const surg_rule *rule);

/* Result of a pass; combining two results is the minimum. */
typedef enum surg_pass_result {
  SURG_PASS_FAILED = 0,
  SURG_PASS_CHANGED = 1,
  SURG_PASS_UNCHANGED = 2
} surg_pass_result;

/* Kind of a mutation; see surg_model_listen. */
typedef enum surg_event_kind {
  SURG_EVENT_CREATE_NODE = 0,
  SURG_EVENT_ERASE_NODE = 1,
  SURG_EVENT_CREATE_VALUE = 2,
  SURG_EVENT_ERASE_VALUE = 3,
  SURG_EVENT_RENAME_NODE = 4,
  SURG_EVENT_RENAME_VALUE = 5,
  SURG_EVENT_REPLACE = 6, /* `other` replaced all uses of `value` */
  SURG_EVENT_SET_INPUT = 7,
  SURG_EVENT_SET_OUTPUT = 8,
  SURG_EVENT_SET_ATTR = 9,
  SURG_EVENT_INTERFACE = 10, /* an input or output list of a graph changed */
  SURG_EVENT_MODEL = 11,     /* imports, ir_version, functions, metadata */
  SURG_EVENT_MOVE = 12,      /* a node was moved; node NULL: the graph was sorted */
  SURG_EVENT_SET_OP = 13
} surg_event_kind;

/* One mutation. Fields that do not apply are NULL. `old_name` is the name before a rename. */
typedef struct surg_event {
  uint32_t size;
  int32_t kind; /* surg_event_kind */
  surg_graph *graph;
  surg_node *node;
  surg_value *value;
  surg_value *other;
  const char *old_name;
} surg_event;

/* Receives each mutation; see surg_model_listen. */
typedef void (*surg_listener)(void *user, const surg_event *event);

/* How surg_model_load treats findings. */
typedef enum surg_load_policy {
  SURG_LOAD_STRICT = 0, /* the first finding is an error; unsorted nodes are sorted */
  SURG_LOAD_CHECK = 1,  /* all findings as diagnostics, no model */
  SURG_LOAD_REPAIR = 2, /* sort, rename or drop duplicates where unambiguous; each is logged */
  SURG_LOAD_LENIENT = 3 /* every well-formed file becomes a model, with its defects as findings
                         * (surg_model_finding); missing data files are not an error */
} surg_load_policy;

/* What a leniently loaded model contains in place of a defect. */
typedef enum surg_reading {
  SURG_READING_NONE = 0,    /* nothing: the defect is open until an edit removes it */
  SURG_READING_CERTAIN = 1, /* the only meaning that the file can have */
  SURG_READING_GUESS = 2    /* the most likely one of several */
} surg_reading;

/* Options of surg_model_load. Zero fields are the defaults. */
typedef struct surg_load_options {
  uint32_t size;             /* sizeof(surg_load_options) */
  int32_t policy;            /* surg_load_policy */
  const char *external_root; /* NULL: the folder of the model */
  bool no_external;          /* reject external data */
  bool strict_external;      /* reject hard links, too */
  bool freeze_inputs;        /* inputs that have an initializer become constants */
  uint32_t max_findings;     /* SURG_LOAD_CHECK: maximum of listed findings; 0: 100 */
  bool inspect; /* SURG_LOAD_LENIENT, for models whose weights are not read: a data file that is
                 * unsafe is a warning, too */
} surg_load_options;

/* Options of surg_model_save. Zero fields are the defaults. */
typedef struct surg_save_options {
  uint32_t size;             /* sizeof(surg_save_options) */
  const char *external_data; /* NULL: unchanged; else all large tensors are stored in this file */
  uint64_t external_threshold; /* minimum bytes of such a tensor; 0: 1024 */
  bool no_fsync;
  bool keep_defects; /* write an edited model although findings of its load are open */
} surg_save_options;

/* Where surg_model_load_source reads a model from. */
typedef struct surg_source {
  uint32_t size; /* sizeof(surg_source) */
  /* Copies the next bytes, at most `room`; returns their number, 0 at the end, -1 on failure. */
  int64_t (*read)(void *user, void *out, size_t room);
  void *user;
} surg_source;

/* Where surg_model_save_sink writes a model to. */
typedef struct surg_sink {
  uint32_t size; /* sizeof(surg_sink) */
  /* Gets the next n bytes; false ends the call with SURG_EIO. */
  bool (*write)(void *user, const void *bytes, size_t n);
  void *user;
} surg_sink;

/* Texts of a model; see surg_model_text. */
typedef enum surg_model_field {
  SURG_MODEL_DOC = 0, /* doc_string */
  SURG_MODEL_PRODUCER = 1,
  SURG_MODEL_PRODUCER_VERSION = 2,
  SURG_MODEL_DOMAIN = 3
} surg_model_field;

/* Called once when the last model that shares borrowed memory is freed. */
typedef void (*surg_release_fn)(void *user, const void *data);

/* How surg_model_merge joins two models. */
typedef struct surg_merge_options {
  uint32_t size;           /* sizeof(surg_merge_options) */
  const char *prefix;      /* of all names of the second model; NULL: none */
  const char *const *from; /* values of the first model, and the inputs of the second */
  const char *const *to;   /* that they replace */
  size_t n;
  bool keep_outputs; /* outputs of the first model stay, connected or not */
} surg_merge_options;

/* Severity of a diagnostic or finding. */
typedef enum surg_severity { SURG_NOTE = 0, SURG_WARNING = 1, SURG_ERROR = 2 } surg_severity;

/* A defect of a model that was loaded with SURG_LOAD_LENIENT. Texts are escaped and last as long as
 * the model; handles that do not apply are NULL. */
typedef struct surg_finding {
  uint32_t size;     /* set by the caller: sizeof(surg_finding) */
  int32_t severity;  /* surg_severity. SURG_ERROR: passes and saving reject the model until it is
                      * cured;  SURG_WARNING: ONNX forbids it, but the model is usable */
  const char *code;  /* code of doc/check.md, such as "E113" */
  const char *where; /* `graph.node[3] "a" (Add).input[1] "w"` */
  const char *text;  /* what is wrong, one line */
  const char *cure;  /* what to do about it, one line */
  int32_t reading;   /* surg_reading. surg_model_accept_finding makes it the content of the model */
  bool cured;        /* since the load: accepted, or the defect is gone */
  surg_graph *graph; /* the graph it is in */
  surg_node *node;
  surg_value *value;
  const char *attribute;  /* the name of an attribute of the node */
  surg_function *function;
  surg_value *first; /* E113, E136: the value whose name `value` defines again; NULL: unknown, or
                      * erased */
} surg_finding;

/* Receives each diagnostic as one located, escaped line without a newline:
 * `in.onnx: error: graph.node[17] "Conv_12" (Conv).input[1] "w": not defined`. */
typedef void (*surg_diag_fn)(void *user, surg_severity severity, const char *line);

/* What surg_config.progress counts. A phase ends with a call in which done is total. */
typedef enum surg_phase {
  SURG_PHASE_READ = 0,  /* load: bytes of the model file that are read and checked; `total` is 0
                         * while standard input or a callback is read */
  SURG_PHASE_BUILD = 1, /* load: bytes of the model file that are in the graph */
  SURG_PHASE_WRITE = 2  /* save: bytes that are written, once for each data file and the model */
} surg_phase;

/* Settings of a context. Zero fields are the defaults, which doc/limits.md lists. */
typedef struct surg_config {
  uint32_t size;      /* sizeof(surg_config) */
  uint32_t max_depth; /* most levels of nested graphs */
  surg_diag_fn diag;  /* NULL: lines are only stored for surg_context_error */
  void *diag_user;
  uint64_t max_memory; /* most heap bytes */
  uint64_t seed;       /* hash seed for tests; 0: random */
  void *user;          /* for the callbacks below; surg_context_user returns it */
  /* Replaces the system's heap. `block` NULL: allocates; `bytes` 0: frees, the result is ignored;
   * otherwise resizes, and keeps the block on failure. Blocks are aligned for every type. NULL:
   * out of memory. */
  void *(*allocate)(void *user, void *block, size_t bytes);
  /* Asked often while a pipeline, inference, an evaluation, a load or a save runs: between nodes,
   * between blocks of a large product or convolution, and for each MiB. True: the call ends soon
   * with SURG_ECANCELLED, reported; a pipeline frees its model, a save writes no file. It must
   * return true until the call has ended, and must not call the library. */
  bool (*cancel)(void *user);
  /* Called while a model is loaded or saved: `phase` is a surg_phase, `done` and `total` are bytes.
   * Must not call the library. */
  void (*progress)(void *user, int32_t phase, uint64_t done, uint64_t total);
  /* A context of the same thread that is freed after this one, or NULL: what it has allocated
   * counts against max_memory too. */
  const surg_context *beside;
} surg_config;

#endif
