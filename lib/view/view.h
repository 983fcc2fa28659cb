/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of models: scenes (one graph, or one folder of it, as boxes and links), their layout,
 * and how they are written. */
#ifndef SURG_VIEW_INTERNAL_H
#define SURG_VIEW_INTERNAL_H

#include <onnxsurg/diff.h>
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/view.h>

#include "base/base.h"
#include "view/layout.h"

#define VIEW_MOST_NODES 10000u /* nodes of a page, if the caller sets no limit */
#define VIEW_MOST_FLAT 2500u   /* nodes of a graph that is not folded */
#define VIEW_MOST_FOLDED 400u  /* boxes of a folded graph; more become ranges of nodes */
#define VIEW_MOST_DOT 400u     /* boxes up to which Graphviz is used unless it is requested */
#define VIEW_DOT_SECONDS 10    /* after which `dot` is ended */
#define VIEW_NONE UINT32_MAX

typedef enum surg__box_kind {
  SURG__BOX_NODE = 0,
  SURG__BOX_INPUT,  /* an input of the graph */
  SURG__BOX_OUTPUT, /* an output of the graph */
  SURG__BOX_OUTER,  /* a value from outside: captured, or of another folder */
  SURG__BOX_GROUP   /* a folder, or a range of nodes */
} surg__box_kind;

/* What an operator does, for the colour of its box. */
typedef enum surg__family {
  SURG__FAMILY_OTHER = 0,
  SURG__FAMILY_LINEAR, /* products and sums of them */
  SURG__FAMILY_ACTIVATION,
  SURG__FAMILY_NORM,
  SURG__FAMILY_REDUCE, /* pooling too */
  SURG__FAMILY_MATH,   /* element by element */
  SURG__FAMILY_MOVE,
  SURG__FAMILY_QUANT,
  SURG__FAMILY_CONTROL,
  SURG__FAMILY_CUSTOM, /* functions of the model, unknown operators */
  SURG__FAMILY_COUNT
} surg__family;
extern const char *const surg__family_names[SURG__FAMILY_COUNT];
surg__family surg__family_of(const surg_node *n);

typedef enum surg__line_kind {
  SURG__LINE_TITLE = 0, /* the operator, or the name of a value or folder */
  SURG__LINE_NOTE,      /* a domain, a type, the number of nodes */
  SURG__LINE_CONSTANT,  /* a constant input */
  SURG__LINE_INNER,     /* a subgraph or a function, which can be opened */
  SURG__LINE_FAR        /* an input whose link is not drawn */
} surg__line_kind;

/* One line of text of a box. */
typedef struct surg__line {
  const char *text; /* plain text, cut to the width of a box */
  const surg_value *value;
  uint32_t scene; /* LINE_INNER: VIEW_NONE where it is not in the page */
  uint8_t kind;
} surg__line;

/* The label of an output, under a box. */
typedef struct surg__label {
  const char *text; /* its type; "" if it is unknown or there is no room */
  const surg_value *value;
  int32_t at; /* where its links start, from the centre of the box */
} surg__label;

typedef struct surg__box {
  surg__box_kind kind;
  surg__family family;
  int mark;                /* a surg_severity, or -1 */
  uint32_t change;         /* SURG_DIFF_MARK_* of the node, or of what is inside */
  const surg_node *node;   /* BOX_NODE */
  const surg_value *value; /* BOX_INPUT, BOX_OUTPUT, BOX_OUTER */
  uint32_t scene;          /* BOX_GROUP: VIEW_NONE where it is not in the page */
  const char *name;        /* BOX_GROUP, and boxes of several values */
  size_t nodes;            /* BOX_GROUP: how many it contains */
  surg__line *lines;
  size_t n_lines;
  surg__label *labels;
  size_t n_labels;
} surg__box;

typedef struct surg__scene_link {
  const surg_value *value; /* NULL: several */
  uint32_t input;          /* of the target node; VIEW_NONE: none, or several */
} surg__scene_link;

/* One picture. Boxes and links have the numbers of those of the layout. */
typedef struct surg__scene {
  surg_graph *graph;
  const char *title;
  uint32_t parent;        /* the scene that contains it; VIEW_NONE: none */
  const surg_node *owner; /* the node whose subgraph or function it is, in the parent */
  surg_node **nodes;      /* what it shows, folded or not, in the order of the graph */
  size_t n_nodes;
  size_t depth; /* bytes of names that all nodes share and that are its own folder */
  bool whole;   /* all nodes of the graph: it has inputs and outputs */
  bool folded;
  size_t room; /* boxes of nodes and folders that it may have */
  surg__box *boxes;
  surg__scene_link *links;
  const surg_value **values; /* of each net */
  surg__lay lay;
  const char **ways; /* by Graphviz: way of each link as a path of SVG; else NULL */
} surg__scene;

/* A finding that is marked. */
typedef struct surg__mark_of {
  const surg_node *node; /* NULL: the model as a whole */
  int severity;
  const char *code, *text, *pass; /* pass: NULL if none cures it */
} surg__mark_of;

/* A value that nodes of inner graphs read: `node`, of the graph of the value or of one between,
 * contains them. */
typedef struct surg__capture {
  uint32_t node; /* its number */
  surg_value *value;
} surg__capture;

typedef struct surg__view {
  surg_context *ctx;
  surg_model *m;
  surg_view_options o;
  surg__arena arena; /* of everything below */
  surg_node **nodes; /* all nodes of the model, by address */
  uint32_t *boxes;   /* of the scene that is built: the box of each node, VIEW_NONE: none */
  size_t n_nodes;
  surg__capture *captures; /* by node */
  size_t n_captures;
  SURG_VEC(surg__scene *) scenes; /* the first is shown first */
  size_t room;                    /* nodes that may still get boxes */
  surg__mark_of *marks;
  size_t n_marks;
  int8_t *severity;         /* of each node: the worst of its marks and those inside, or -1 */
  surg_judgement judgement; /* with a target */
  const surg_diff *diff;    /* against the other model of the page, or NULL */
  size_t side;              /* which of the two models it is */
  uint8_t *change; /* with `diff`, of each node: SURG_DIFF_MARK_* of it and of its inside */
  bool no_dot;     /* the program `dot` is missing, or failed */
  surg_status status;
} surg__view;

/* The number of a node, by its address. */
uint32_t surg__view_number(const surg__view *v, const surg_node *n);
/* Text in the arena of the view; NULL: out of memory, which `status` records. */
char *surg__view_text(surg__view *v, surg__buf *b);
void *surg__view_array(surg__view *v, size_t count, size_t size);

/* Makes the scenes: boxes and links, then positions. */
bool surg__view_scenes(surg__view *v);
/* Lists the boxes of a scene, folded where it is too large. */
bool surg__view_boxes(surg__view *v, surg__scene *s);
/* Lists the links of a scene. */
bool surg__view_links(surg__view *v, surg__scene *s);
/* Adds a scene. Its number; VIEW_NONE: there is no room for all of its nodes, or no memory. */
uint32_t surg__view_add(surg__view *v, surg_graph *g, surg_node **nodes, size_t n);
/* Texts and sizes of the boxes of a scene, after its links are cut. */
bool surg__view_label(surg__view *v, surg__scene *s);
/* Positions by the program `dot`. SURG_ENOTFOUND: there is no such program, or it failed. */
surg_status surg__view_graphviz(surg__view *v, surg__scene *s);
/* Fills in `marks`. */
bool surg__view_marks(surg__view *v);
/* The mark of a node: the worst severity, or -1. */
int surg__view_mark(const surg__view *v, const surg_node *n);
/* SURG_DIFF_MARK_* of a node, or of what is inside. */
uint32_t surg__view_change(const surg__view *v, const surg_node *n);

/* Whether a value is a constant that boxes mention in a line. */
bool surg__view_constant(const surg_value *v);
/* Whether a node makes such constants only, and has no box. */
bool surg__view_hidden(const surg_node *n);
/* The type as a label: `float[1,3,N]`; "" if it is unknown. At most `columns` columns. */
const char *surg__view_type(surg__view *v, const surg_value *value, size_t columns);
/* Plain text of at most `columns` columns, cut with an ellipsis. */
const char *surg__view_cut(surg__view *v, const char *text, size_t columns);
/* Appends an attribute's value, cut, as lines of nodes spell it. */
void surg__view_attr(surg__view *v, surg__buf *b, const surg_attr *a);
/* Columns of text: 2 for wide characters. */
size_t surg__view_columns(const char *text);
/* The way of a link as a path of SVG. */
void surg__view_way(const surg__scene *s, size_t link, surg__buf *b);

/* Numbers of addresses, from 0 in the order of their addition; initially {0}. */
typedef struct surg__view_map {
  SURG_VEC(const void *) items;
  uint32_t *table;
  size_t slots;
} surg__view_map;
/* The number; VIEW_NONE: it was not added. */
uint32_t surg__view_map_find(const surg__view_map *m, const void *key);
/* Adds it unless it is there. VIEW_NONE: out of memory. */
uint32_t surg__view_map_add(surg_context *ctx, surg__view_map *m, const void *key);
void surg__view_map_free(surg_context *ctx, surg__view_map *m);

void surg__view_put_dot(surg__view *v, const surg__scene *s, bool sized, surg__buf *b);
void surg__view_put_svg(surg__view *v, const surg__scene *s, surg__buf *b);
/* Appends the JSON object from which a page is drawn, of one model, or of two with their diff. */
void surg__view_put_data(surg__view *views, size_t n, surg__buf *b);

/* Sizes of texts. Letters of all monospaced fonts are at most 0.605 of their size wide. */
#define VIEW_TITLE_SIZE 12
#define VIEW_TEXT_SIZE 10
#define VIEW_TITLE_COLUMN 7.26
#define VIEW_TEXT_COLUMN 6.05
#define VIEW_TITLE_LINE 20
#define VIEW_TEXT_LINE 14
#define VIEW_FOOT 15 /* height of labels under a box */

/* The page without data (page.html with page.css and page.js), embedded. */
extern const char *const surg__view_page[];
extern const size_t surg__view_page_count;
/* The style of colours that SVG files share with the page (picture.css). */
extern const char *const surg__view_style[];
extern const size_t surg__view_style_count;

#endif
