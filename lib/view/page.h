/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the data of a page. */
#ifndef SURG_VIEW_PAGE_H
#define SURG_VIEW_PAGE_H

#include "view/view.h"

#define VIEW_MOST_ENDS 200u /* inputs of a node that are listed, and outputs */

typedef struct surg__page {
  surg__view *v;
  surg__buf *b;
  surg__view_map nodes, values, schemas; /* those of the page, with their numbers in it */
  const struct surg__page *other;        /* that of the other model, or NULL */
  uint32_t *places;                      /* of each node of the model: its index in its graph */
} surg__page;

void surg__page_string(surg__page *p, const char *text);
/* Appends `"key":`, after a comma unless it is the first of its object. */
void surg__page_key(surg__page *p, const char *key);
void surg__page_comma(surg__page *p, size_t i); /* before element i of a list */
/* The number of an object in the page, or -1. */
int64_t surg__page_id(const surg__view_map *map, const void *key);

/* Appends the lists of operators, nodes and values. */
void surg__page_nodes(surg__page *p);
void surg__page_values(surg__page *p);

#endif
