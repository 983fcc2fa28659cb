/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of lib/diff.
 *
 * A difference is found in three steps: charts of both models (chart.c), in which graphs, nodes and
 * values are numbers; pairs of them (functions.c, interface.c, match.c, constants.c); a complete
 * comparison of what is paired (header.c, interface.c, nodes.c, weights.c), which makes items. A
 * wrong pair therefore makes more items, never a false "same". */
#ifndef SURG_DIFF_INTERNAL_H
#define SURG_DIFF_INTERNAL_H

#include <onnxsurg/diff.h>

#include "base/context.h"
#include "ir/ir.h"

#define SURG__NO_TWIN UINT32_MAX
#define SURG__DIFF_READ (1ull << 30)      /* bytes of weights read by default */
#define SURG__DIFF_SMALL 256u             /* bytes of a constant that is part of the structure */
#define SURG__DIFF_SHOWN 120u             /* bytes of a text in an item */
#define SURG__DIFF_TRANSPOSED (64u << 20) /* bytes of weights that are compared transposed */

/* `twin` is the index of the paired object in the chart of the other model. */
typedef struct surg__dnode {
  surg_node *n;
  uint32_t graph, twin, place; /* place: index in its graph */
  uint32_t item;               /* the item that states that only one model has it */
  uint32_t marks;
  bool constant;               /* a Constant node: paired and compared as its value */
  uint32_t capture, captures;  /* in the list of captures of its side */
  uint64_t op, form, down, up; /* digest.c */
  uint64_t anchor;             /* digest of the operator with its weights; 0: none is large */
} surg__dnode;
/* A use of a value of an outer graph in a subgraph of a node. */
typedef struct surg__dcapture {
  uint32_t node, value;
  uint64_t how; /* a digest of the operator and place of the use */
} surg__dcapture;
typedef struct surg__dvalue {
  surg_value *v;
  const surg_tensor *t; /* elements of a constant, or NULL */
  uint32_t graph, twin, item, marks;
  uint32_t output;         /* its first place in the outputs of its graph, or SURG__NO_TWIN */
  uint64_t content, shape; /* digests of a constant: with and without its elements */
  uint64_t down, up;
} surg__dvalue;
typedef struct surg__dgraph {
  surg_graph *g;
  uint32_t twin, first, count; /* nodes [first, first + count) */
  uint64_t digest[2];          /* of its content, without and with elements */
  const char *where;           /* NULL: not asked yet */
  uint32_t *out_twins;         /* index of the paired output for each output; NULL: no twin yet */
} surg__dgraph;

typedef struct surg__dside {
  surg_model *m;
  SURG_VEC(surg__dgraph) graphs;
  SURG_VEC(surg__dnode) nodes;
  SURG_VEC(surg__dvalue) values;
  SURG_VEC(surg__dcapture) captures; /* in the order of nodes */
  struct surg__dslot {
    const void *key;
    uint32_t index;
  } * slots;   /* index of a graph, node or value by its address; open addressing */
  size_t size; /* of slots: a power of two */
} surg__dside;

typedef struct surg__dpair {
  uint32_t a, b;
} surg__dpair;

/* Names of one symbolic dimension in the interfaces of both models. */
typedef struct surg__dsymbol {
  const char *a, *b;
} surg__dsymbol;

/* What decides first where two nodes of one model could be the partner of a node of the other. */
typedef enum surg__dway {
  SURG__WAY_DOWN,      /* what they are computed from */
  SURG__WAY_UP,        /* what is computed from them */
  SURG__WAY_NAMES,     /* their names, even against the structure */
  SURG__WAY_DOWN_FREE, /* as the first two, whatever the names */
  SURG__WAY_UP_FREE,
  SURG__WAYS
} surg__dway;

struct surg_diff {
  surg_context *ctx;
  surg__dway way;
  surg__arena arena;
  surg__dside side[2];
  bool whole; /* elements may be read to find pairs */
  bool no_weights;
  uint64_t room, read; /* bytes of weights that may still be read, that were read */
  SURG_VEC(surg_diff_item) items;
  surg_diff_item scratch;       /* never read: what is stored after a failure */
  SURG_VEC(surg__dpair) graphs; /* pairs of graphs, outer before inner */
  SURG_VEC(surg__dpair) queue;  /* match.c: pairs of nodes whose neighbors are to be paired */
  size_t queued;
  SURG_VEC(surg__dsymbol) symbols; /* that are one dimension */
  surg_status status;              /* sticky: out of memory */
};

static inline bool surg__diff_upward(const surg_diff *d) {
  return d->way == SURG__WAY_UP || d->way == SURG__WAY_UP_FREE;
}

/* Whether this is the default domain. */
static inline bool surg__diff_standard(const char *domain) {
  return !domain[0] || strcmp(domain, "ai.onnx") == 0;
}

/* --- chart.c --- */
surg_status surg__diff_chart(surg_diff *d, int k, surg_model *m);
void surg__diff_unchart(surg_diff *d, int k);
/* Removes all pairs and items, except pairs of functions. */
void surg__diff_unpair(surg_diff *d);
/* The index of an object; SURG__NO_TWIN: it is not in the chart. */
uint32_t surg__diff_index(const surg__dside *s, const void *object);
static inline surg__dvalue *surg__dvalue_of(const surg__dside *s, const surg_value *v) {
  const uint32_t i = v ? surg__diff_index(s, v) : SURG__NO_TWIN;
  return i == SURG__NO_TWIN ? NULL : &s->values.items[i];
}
static inline surg__dnode *surg__dnode_of(const surg__dside *s, const surg_node *n) {
  const uint32_t i = n ? surg__diff_index(s, n) : SURG__NO_TWIN;
  return i == SURG__NO_TWIN ? NULL : &s->nodes.items[i];
}
static inline surg__dgraph *surg__dgraph_of(const surg__dside *s, const surg_graph *g) {
  const uint32_t i = g ? surg__diff_index(s, g) : SURG__NO_TWIN;
  return i == SURG__NO_TWIN ? NULL : &s->graphs.items[i];
}
void surg__diff_pair_values(surg_diff *d, surg__dvalue *a, surg__dvalue *b);
/* Records that memory ran out. */
void surg__diff_fail(surg_diff *d);

/* --- attrs.c --- */
/* Digest of all attributes that differ from their default, except subgraphs. */
uint64_t surg__diff_attrs(const surg_diff *d, const surg_node *n, bool content);
/* 1: the same value, 0: not, -1: the elements cannot be compared. Graphs count as the same. */
int surg__diff_attr_same(surg_diff *d, const surg_attr *a, const surg_attr *b);
/* Whether the schema of n gives attribute `a` the value that it has. */
bool surg__diff_attr_default(const surg_node *n, const surg_attr *a);
/* The value in short, escaped, in the arena. */
const char *surg__diff_attr_text(surg_diff *d, const surg_attr *a);
/* "float[2, 3]" */
const char *surg__diff_tensor_text(surg_diff *d, const surg_tensor *t);
const char *surg__diff_type_text(surg_diff *d, const surg_type *t);

/* Whether the two inputs of a node can be swapped. */
bool surg__diff_swappable(const surg_node *n);
/* Whether the order of the inputs does not matter to both nodes, and more of them are pairs in the
 * other order. */
bool surg__diff_is_swapped(const surg_diff *d, const surg_node *n, const surg_node *m);
/* The number of an input, or 0 where inputs can be swapped. */
uint32_t surg__diff_slot(const surg_node *n, uint32_t input);
/* --- digest.c --- */
static inline uint64_t surg__diff_mix(uint64_t a, uint64_t b) {
  uint64_t z =
      (a ^ (b + UINT64_C(0x9E3779B97F4A7C15) + (a << 6) + (a >> 2))) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 29) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 32;
}
/* Fill in digests of constants, of operators (by name, or for calls of paired functions by pair),
 * and the captures. */
void surg__diff_digest_constants(surg_diff *d, int k);
void surg__diff_digest_operators(surg_diff *d);
void surg__diff_digest_captures(surg_diff *d, int k);
/* Fill in `form`, `down` and `up` of the nodes of a graph, which has a twin: `down` depends on all
 * that a node is computed from, `up` on all that is computed from it. */
void surg__diff_digest_graph(surg_diff *d, int k, uint32_t graph, bool content);
/* Fills in a digest of the content of each graph. */
void surg__diff_digest_bodies(surg_diff *d, int k);

/* --- functions.c, interface.c, match.c, constants.c --- */
void surg__diff_pair_functions(surg_diff *d);
void surg__diff_pair_interface(surg_diff *d, uint32_t a, uint32_t b);
void surg__diff_match(surg_diff *d, uint32_t a, uint32_t b);
void surg__diff_pair_constants(surg_diff *d, uint32_t a, uint32_t b);

/* --- items.c --- */
/* A new item; its texts are "". Never NULL: a scratch item after a failure. */
surg_diff_item *surg__diff_item(surg_diff *d, surg_diff_kind kind, surg_diff_change change,
                                surg_diff_level level);
/* Formatted text in the arena, not escaped; "" after a failure. */
const char *surg__diff_say(surg_diff *d, const char *fmt, ...) SURG_PRINTF(2, 3);
/* Escaped and quoted, cut at `most` bytes (0: never). */
const char *surg__diff_quote(surg_diff *d, const char *s, size_t most);
/* Sets place and object of model k. */
void surg__diff_at_graph(surg_diff *d, surg_diff_item *x, int k, uint32_t graph);
void surg__diff_at_node(surg_diff *d, surg_diff_item *x, int k, const surg__dnode *n);
void surg__diff_at_value(surg_diff *d, surg_diff_item *x, int k, const surg__dvalue *v);
/* Adds remarks where two texts differ; NULL and "" are the same. `x` set the places. */
void surg__diff_texts(surg_diff *d, const char *what, const char *a, const char *b,
                      const surg__dnode *const n[2], const surg__dgraph *const g[2]);
typedef enum surg__about_kind {
  SURG__ABOUT_NODE,
  SURG__ABOUT_GRAPH,
  SURG__ABOUT_VALUE,
  SURG__ABOUT_FUNCTION
} surg__about_kind;
/* Compares doc_string and metadata_props of two objects of a kind; differences are remarks, at the
 * nodes `n` or else at the graphs `g`. */
void surg__diff_about(surg_diff *d, surg__about_kind kind, const void *const o[2],
                      const surg__dnode *const n[2], const surg__dgraph *const g[2]);

/* --- header.c, nodes.c, regions.c, weights.c --- */
void surg__diff_header(surg_diff *d);

/* --- unknown.c --- */
/* Compares fields that no ONNX version defines, after all pairs are made. O(file) if a file has
 * any, else O(1). */
void surg__diff_unknown(surg_diff *d);
void surg__diff_functions(surg_diff *d);
void surg__diff_interface(surg_diff *d, uint32_t a, uint32_t b);
void surg__diff_graph(surg_diff *d, uint32_t a, uint32_t b);
/* Whether two types are the same with symbols renamed, one to one in all types that were compared
 * with success. */
bool surg__diff_type_same(surg_diff *d, const surg_type *a, const surg_type *b);
void surg__diff_symbols(surg_diff *d);
void surg__diff_regions(surg_diff *d);

/* How two tensors compare. */
typedef struct surg__dweights {
  bool same, unknown;
  uint64_t elements, differing;
  double max_abs, max_rel;
  const char *note, *text[2];
} surg__dweights;
void surg__diff_weights(surg_diff *d, const surg_tensor *a, const surg_tensor *b,
                        surg__dweights *out);
/* Whether two constants have the same bits, as far as digests and cheap comparisons tell. */
bool surg__diff_alike(const surg__dvalue *a, const surg__dvalue *b);

#endif
