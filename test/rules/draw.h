/* SPDX-License-Identifier: Apache-2.0 */
/* A case in the making: what draw.c and draw_attrs.c share. */
#ifndef SURG_TEST_RULES_DRAW_H
#define SURG_TEST_RULES_DRAW_H

#include "hints.h"

typedef struct drawer {
  surg_context *ctx;
  surg__arena *arena;
  const surg_rule *rule;
  const surg__rblock *target;
  dice *d;
  hints *h;
  rule_case *c;
  int of_var[SURG__RULE_VARS]; /* place in items, + 1 */
  int64_t letters[LETTERS];
  unsigned base_rank; /* of `*` */
  int64_t base[CASE_RANK];
  /* of the node being drawn */
  const surg__rstmt *s;
  const surg_schema *schema;
  const shape_row *row;
  case_node *n;
  item *first;
  int64_t axis;
  int64_t window[CASE_RANK]; /* shape of U */
  unsigned outs;
  bool failed;
} drawer;

/* The size a letter of shapes.c stands for, and that of a product ("2AB"). */
int64_t draw_letter(drawer *w, char c);
int64_t draw_product(drawer *w, const char **p);
/* An index below n, now and then counted from the back. */
int64_t draw_index(drawer *w, int64_t n);
/* Elements of an item by a word of shapes.c. */
void draw_fill(drawer *w, item *it, const char *word);
/* The attributes of the node that w->n is. */
void draw_attrs(drawer *w, surg__match *m);

static inline int64_t pick(drawer *w, const int64_t *list, size_t n) {
  return list[roll(w->d, (unsigned)n)];
}
#define PICK(w, ...) \
  pick(w, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

#endif
