/* SPDX-License-Identifier: Apache-2.0 */
/* Constraints on the bodies of If, Loop, Scan and SequenceMap: element types, shapes and numbers of
 * what they get and give. */
#include <inttypes.h>

#include "base/dtype.h"
#include "check/forms.h"

static bool given(const surg_node *n, size_t i) {
  return surg_node_input(n, i) != NULL;
}

static const surg_graph *body_of(const surg_node *n) {
  const surg_attr *a = surg_node_attr(n, "body");
  return a && a->kind == SURG_ATTR_GRAPH && !a->ref && a->count == 1 ? a->u.graphs[0] : NULL;
}

/* Whether no value has both types: one is a tensor and the other a sequence, or the element types
 * differ. A value and an optional of it are compatible. Types nest a few levels at most. */
static bool differ(const surg_type *x, const surg_type *y) {
  for (; x && y; x = x->elem, y = y->elem) {
    const bool open =
        !x->kind || !y->kind || x->kind == SURG_TYPE_OPTIONAL || y->kind == SURG_TYPE_OPTIONAL;
    if (open || x->kind != y->kind) return !open;
    if (x->kind == SURG_TYPE_TENSOR) return x->dtype && y->dtype && x->dtype != y->dtype;
  }
  return false;
}

/* Reports "WHAT i is X BETWEEN Y AFTER". */
static void wrong_types(surg__checker *c, const surg_node *n, const char *what, size_t i,
                        const surg_type *x, const char *between, const surg_type *y,
                        const char *after) {
  surg__buf a, b;
  surg__buf_init(&a, c->ctx);
  surg__buf_init(&b, c->ctx);
  surg__put_type(&a, x);
  surg__put_type(&b, y);
  surg__buf_putc(&a, 0);
  surg__buf_putc(&b, 0);
  surg__check_wrong(c, n, "%s %zu is %s %s %s%s", what, i, a.failed ? "?" : a.p, between,
                    b.failed ? "?" : b.p, after);
  surg__buf_free(&a);
  surg__buf_free(&b);
}

/* Checks that loop states have the same element type before and after an iteration. */
static bool states(surg__checker *c, const surg_node *n, const surg_graph *b, size_t in, size_t out,
                   size_t count) {
  for (size_t i = 0; i < count && out + i < b->n_out; i++) {
    const surg_type *x = surg_value_type(surg_node_input(n, in + i));
    const surg_type *y = surg_value_type(b->out[out + i]->use.value);
    if (!differ(x, y)) continue;
    wrong_types(c, n, "state", i, x, "before the first round, the body makes it", y, "");
    return false;
  }
  return true;
}

/* Compares the shape of a value, without axis `cut` (-1: whole), with another one: false, and *axis
 * where they differ (that rank: the ranks do). Unknown sizes are equal to any. */
static bool fits(const surg_type *given, int64_t cut, const surg_type *other, uint32_t *axis) {
  const uint32_t rank = given->rank - (cut >= 0);
  *axis = rank;
  if (other->rank != rank) return false;
  for (uint32_t k = 0; k < rank; k++) {
    const int64_t x = surg__check_dim(given, k + (cut >= 0 && k >= cut));
    const int64_t y = surg__check_dim(other, k);
    *axis = k;
    if (x >= 0 && y >= 0 && x != y) return false;
  }
  return true;
}

/* Checks that input i of the body declares the shape of the value it gets, without axis `cut`.
 * Runtimes infer the body with the latter, and reject one that declares another. */
static bool body_gets(surg__checker *c, const surg_node *n, const surg_graph *b, size_t i,
                      const surg_type *given, int64_t cut) {
  const surg_value *in = surg_graph_input(b, i);
  const surg_type *declared = in ? surg_value_declared_type(in) : NULL;
  uint32_t k;
  if (!given || !declared || declared->kind != SURG_TYPE_TENSOR || !declared->has_rank) return true;
  if (fits(given, cut, declared, &k)) return true;
  const uint32_t rank = given->rank - (cut >= 0);
  if (k == rank)
    surg__check_wrong(c, n, "input %zu of the body gets rank %u and declares rank %u", i, rank,
                      declared->rank);
  else
    surg__check_wrong(
        c, n, "axis %u of input %zu of the body gets size %" PRId64 " and declares size %" PRId64,
        k, i, surg__check_dim(given, k + (cut >= 0 && k >= cut)), surg__check_dim(declared, k));
  return false;
}

void surg__check_loop(surg__checker *c, const surg_node *n) {
  const surg_graph *b = body_of(n);
  if (b && given(n, 1) && !body_gets(c, n, b, 1, surg__check_ranked(n, 1), -1)) return;
  const size_t count = n->n_in > 2 ? n->n_in - 2u : 0;
  if (!b || !states(c, n, b, 2, 1, count)) return;
  for (size_t i = count; i < n->n_out && i + 1 < b->n_out; i++) {
    const surg_type *y = surg_value_type(b->out[i + 1]->use.value);
    if (!y || !y->kind || y->kind == SURG_TYPE_TENSOR) continue;
    surg__check_wrong(c, n, "output %zu of the body is no tensor and cannot be stacked", i + 1);
    return;
  }
}

static bool directions(surg__checker *c, const surg_node *n, const char *name) {
  const surg_attr *a = surg__check_ints(n, name);
  for (uint32_t i = 0; a && i < a->count; i++)
    if (a->u.ints[i] != 0 && a->u.ints[i] != 1) {
      surg__check_bad_int(c, n, name, a->u.ints[i]);
      return false;
    }
  return true;
}

/* Checks that states of a Scan keep their shape: unlike those of a Loop, they have one. */
static bool same_shapes(surg__checker *c, const surg_node *n, const surg_graph *b, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const surg_type *x = surg__check_ranked(n, i);
    const surg_type *y = surg_value_type(b->out[i]->use.value);
    uint32_t k;
    if (!x || !y || y->kind != SURG_TYPE_TENSOR || !y->has_rank || fits(x, -1, y, &k)) continue;
    if (k == x->rank)
      surg__check_wrong(c, n, "state %zu has rank %u, the body makes it %u", i, x->rank, y->rank);
    else
      surg__check_wrong(c, n,
                        "axis %u of state %zu has size %" PRId64 ", the body makes it %" PRId64, k,
                        i, surg__check_dim(x, k), surg__check_dim(y, k));
    return false;
  }
  return true;
}

/* Checks that the inputs of a Scan have the shapes that its body declares. */
static bool scanned_shapes(surg__checker *c, const surg_node *n, const surg_graph *b,
                           size_t states) {
  size_t axes = 0;
  const int64_t *axis = surg_node_ints(n, "scan_input_axes", &axes);
  for (size_t i = 0; i < n->n_in; i++) {
    const surg_type *given = surg__check_ranked(n, i);
    int64_t cut = i < states ? -1 : axis && i - states < axes ? axis[i - states] : 0;
    if (i >= states && (!given || !given->rank)) continue;
    if (i >= states && cut < 0) cut += given->rank;
    if (i >= states && (cut < 0 || cut >= given->rank)) continue;
    if (!body_gets(c, n, b, i, given, cut)) return false;
  }
  return true;
}

/* Checks that the body declares the shapes of the elements of the sequences, and of the tensors. */
void surg__check_sequence_map(surg__checker *c, const surg_node *n) {
  const surg_graph *b = body_of(n);
  for (size_t i = 0; b && i < n->n_in && i < surg_graph_input_count(b); i++) {
    const surg_type *t = surg_value_type(surg_node_input(n, i));
    if (t && t->kind == SURG_TYPE_SEQUENCE) t = t->elem;
    if (t && t->kind == SURG_TYPE_TENSOR && t->has_rank && !body_gets(c, n, b, i, t, -1)) return;
  }
}

void surg__check_scan(surg__checker *c, const surg_node *n) {
  const surg_graph *b = body_of(n);
  const int64_t scanned = surg_node_int(n, "num_scan_inputs", 0);
  const int64_t count = (int64_t)n->n_in - scanned;
  if (!b || scanned < 1 || count < 0) return;
  if (count > (int64_t)n->n_out || count > (int64_t)b->n_out) {
    surg__check_wrong(c, n, "states: %" PRId64 ", outputs: %" PRIu32 ", outputs of the body: %zu",
                      count, n->n_out, (size_t)b->n_out);
    return;
  }
  const int64_t outputs = (int64_t)n->n_out - count;
  if (surg__entries_are(c, n, "scan_input_axes", scanned) &&
      surg__entries_are(c, n, "scan_output_axes", outputs) &&
      surg__entries_are(c, n, "scan_input_directions", scanned) &&
      surg__entries_are(c, n, "scan_output_directions", outputs) &&
      directions(c, n, "scan_input_directions") && directions(c, n, "scan_output_directions") &&
      states(c, n, b, 0, 0, (size_t)count) && same_shapes(c, n, b, (size_t)count))
    (void)scanned_shapes(c, n, b, (size_t)count);
}

/* Version 8: input 0 gives lengths, and the body gets inputs without the axis of batches. */
void surg__check_scan_8(surg__checker *c, const surg_node *n) {
  const surg_graph *b = body_of(n);
  const int64_t scanned = surg_node_int(n, "num_scan_inputs", 0);
  const int64_t count = (int64_t)n->n_in - 1 - scanned;
  if (!b || scanned < 1 || count < 0) return;
  if (!surg__entries_are(c, n, "directions", scanned) || !directions(c, n, "directions")) return;
  for (uint32_t i = 1; i < n->n_in && i <= surg_graph_input_count(b); i++) {
    const surg_type *given = surg__check_ranked(n, i);
    const surg_type *said = surg_value_declared_type(surg_graph_input(b, i - 1));
    const uint32_t cut = i <= count ? 1 : 2;
    if (!given || !said || said->kind != SURG_TYPE_TENSOR || !said->has_rank) continue;
    if (given->rank >= cut && given->rank - cut == said->rank) continue;
    surg__check_wrong(c, n, "input %u has rank %u, expected %u: the body declares rank %u", i,
                      given->rank, said->rank + cut, said->rank);
    return;
  }
}

void surg__check_branches(surg__checker *c, const surg_node *n) {
  const surg_attr *a = surg_node_attr(n, "then_branch"), *b = surg_node_attr(n, "else_branch");
  if (!a || !b || a->kind != SURG_ATTR_GRAPH || b->kind != SURG_ATTR_GRAPH) return;
  if (a->count != 1 || b->count != 1) return;
  const surg_graph *g = a->u.graphs[0], *h = b->u.graphs[0];
  for (size_t i = 0; i < g->n_out && i < h->n_out; i++) {
    const surg_type *x = surg_value_type(g->out[i]->use.value);
    const surg_type *y = surg_value_type(h->out[i]->use.value);
    if (!differ(x, y)) continue;
    wrong_types(c, n, "output", i, x, "in then_branch and", y, " in else_branch");
    return;
  }
}
