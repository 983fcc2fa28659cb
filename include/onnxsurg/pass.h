/* SPDX-License-Identifier: Apache-2.0 */
/* How a pass describes itself. Built-in passes and plugins register through the same struct. */
#ifndef ONNXSURG_PASS_H
#define ONNXSURG_PASS_H

#include <onnxsurg/types.h>

/* Kind of a pass option. */
typedef enum surg_option_kind {
  SURG_OPTION_BOOL = 0,
  SURG_OPTION_INT = 1,    /* decimal; "inf" is INT64_MAX; suffixes KiB MiB GiB */
  SURG_OPTION_STRING = 2,
  SURG_OPTION_LIST = 3,   /* a+b+c */
  SURG_OPTION_PAIRS = 4   /* any names other than those of other options, each with a value or a
                             list; its own name is only printed in help; at most one a pass, no
                             fallback */
} surg_option_kind;

/* An option of a pass. SURG_OPTION(LIST, "op", NULL, "operators to remove") initializes it. */
typedef struct surg_option {
  uint32_t size; /* sizeof(surg_option); all options of a pass have the same */
  int32_t kind;  /* surg_option_kind */
  const char *name;
  const char *fallback; /* default, as a user writes it; NULL: unset (false, 0, NULL, empty) */
  const char *help;
} surg_option;
#define SURG_OPTION(kind, name, fallback, help) \
  { sizeof(surg_option), SURG_OPTION_##kind, name, fallback, help }

/* Whether the runner calls the pass once for the model or once for every graph. */
typedef enum surg_pass_scope { SURG_SCOPE_MODEL = 0, SURG_SCOPE_GRAPH = 1 } surg_pass_scope;

/* Facts that a pass requires before it runs and preserves; bits of `needs` and `keeps`. */
#define SURG_FACT_SORTED 1u /* every graph is in topological order */
#define SURG_FACT_TYPES 2u  /* inferred types are up to date */
/* In `needs`: the pass runs on models with open findings (surg_model_finding), which other passes
 * reject. Nodes with a finding have no schema, and values may be undefined. */
#define SURG_TAKES_DEFECTS 4u

/* A pass. New fields are added at the end. */
typedef struct surg_pass {
  uint32_t size;    /* sizeof(surg_pass) */
  int32_t scope;    /* surg_pass_scope */
  const char *name; /* lower case, digits, '-' */
  const char *help; /* one line */
  const surg_option *options;
  size_t option_count;
  uint32_t needs, keeps;
  int32_t exactness;      /* surg_exactness of its changes, unless it calls surg_pass_used */
  bool changes_interface; /* may change names or types of inputs or outputs of the model */
  /* Its options spell out an edit that changes what the model computes (`remove-op`): naming the
   * pass is consent to any class, unless the user limits the run with --allow. After it, the model
   * has no error that it did not have before, or the run fails. */
  bool edits;
  /* Runs the pass; graph is NULL for model scope. */
  surg_pass_result (*run)(surg_pass_ctx *ctx, surg_graph *graph);
  void *user; /* surg_pass_user returns it */
} surg_pass;

/* Members of an initializer of a surg_pass, in their order: what it is called and runs on (MODEL or
 * GRAPH), and its array of options. */
#define SURG_PASS_HEAD(scope_, name_, help_) \
  .size = sizeof(surg_pass), .scope = SURG_SCOPE_##scope_, .name = (name_), .help = (help_)
#define SURG_PASS_OPTIONS(list) .options = (list), .option_count = sizeof(list) / sizeof *(list)
/* The whole of a pass whose options spell out an edit of the model:
 * static const surg_pass region = SURG_PASS_EDIT("region", "replace nodes", options, run); */
#define SURG_PASS_EDIT(name_, help_, options_, run_)                                     \
  {                                                                                      \
    SURG_PASS_HEAD(MODEL, name_, help_), SURG_PASS_OPTIONS(options_),                    \
        .needs = SURG_FACT_SORTED | SURG_FACT_TYPES, .keeps = SURG_FACT_SORTED,          \
        .exactness = SURG_LOSSY, .changes_interface = true, .edits = true, .run = (run_) \
  }

/* A preset: a named pipeline. */
typedef struct surg_preset {
  uint32_t size; /* set by the caller: sizeof(surg_preset) */
  const char *name, *pipeline, *help;
} surg_preset;

/* Facts about a custom operator; bits of surg_operator.traits. */
#define SURG_TRAIT_NONDETERMINISTIC 1u /* two runs on equal inputs may differ */
#define SURG_TRAIT_TOTAL 2u /* it computes a result for all elements of inputs of its types */

/* A custom operator. Register its schema first (surg_registry_add_schemas). The callbacks must not
 * edit a model, and must give the same results for the same arguments. */
typedef struct surg_operator {
  uint32_t size;      /* sizeof(surg_operator) */
  uint32_t traits;    /* SURG_TRAIT_ bits */
  int32_t exactness;  /* surg_exactness of `evaluate`, compared with other implementations */
  const char *domain, *op_type;
  void *user;         /* for the callbacks */
  /* Sets out[i] to the type of output i (surg_type_tensor of the model of `n`), as far as it is
   * known. NULL types are unknown. Called in addition to the rules of the schema; may be NULL.
   * SURG_EINVALID: the operator does not accept these inputs. */
  surg_status (*infer)(void *user, const surg_node *n, const surg_type *const *in, size_t n_in,
                       const surg_type **out, size_t n_out);
  /* Computes the node: sets out[i] to a new tensor of the model `results` for each output that the
   * node has. in[i] is NULL for an absent input. May be NULL: the operator is then never computed.
   * SURG_EINVALID: the inputs are invalid. SURG_EUNSUPPORTED: it cannot be computed here. */
  surg_status (*evaluate)(void *user, const surg_node *n, surg_model *results,
                          surg_tensor *const *in, size_t n_in, surg_tensor **out, size_t n_out);
} surg_operator;

/* Elements that a decoder computes: those of a tensor whose external_data has an entry `format`. */
typedef struct surg_encoded {
  uint32_t size;      /* set by the library */
  int32_t dtype;      /* surg_dtype */
  const char *name;   /* of the tensor, may be "" */
  const int64_t *dims;
  size_t rank;
  const surg_str *keys, *values; /* all entries of external_data, NUL-terminated */
  size_t n_keys;
  const void *bytes;  /* `n` bytes of the data file, from `offset` on */
  uint64_t n;
  void *out;          /* receives the elements, as in raw_data: little-endian, in order */
  uint64_t room;      /* bytes that type and dims need; more must not be written */
} surg_encoded;

/* A decoder of external data. It must give the same result for the same arguments. */
typedef struct surg_decoder {
  uint32_t size;      /* sizeof(surg_decoder) */
  const char *format; /* value of the entry `format`, such as "com.acme.aes" */
  void *user;
  /* Writes the elements to e->out and sets *written to the number of bytes that the decoded data
   * has. Anything but e->room is an error of the model. Statuses other than SURG_OK, such as
   * SURG_EINVALID for damaged data, fail the model. It may be called in any order, once for each
   * tensor whose elements are needed. */
  surg_status (*decode)(void *user, const surg_encoded *e, uint64_t *written);
} surg_decoder;

#endif
