/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the fields that no ONNX version defines, of which a file may have any number. They are
 * compared as bytes: those of a node with the node that it is a pair with, all others in sum. */
#include "diff/diff.h"
#include "io/wire.h"
#include "onnx.pb-c.h"

#define PIECE 65536u
#define DEPTH SURG_LIMIT_DEPTH_MOST

/* Sums over fields, so that their order does not count. */
typedef struct unknown {
  uint64_t fields, plain; /* of number, type of the message and bytes */
  uint64_t named;         /* with the name of the message that contains the field */
  uint32_t first;         /* number of a field */
} unknown;

typedef struct level {
  const ProtobufCMessageDescriptor *type;
  uint64_t end, name; /* name: digest of that of the innermost message that has one */
} level;

typedef struct walk {
  surg_diff *d;
  surg__source *s;
  uint8_t *piece;
  level *stack; /* DEPTH + 1 */
  unknown sum;
} walk;

static uint64_t hash_bytes(walk *w, surg__span at) {
  uint64_t h = at.len;
  for (uint64_t i = 0; i < at.len;) {
    const size_t n = at.len - i < PIECE ? (size_t)(at.len - i) : PIECE;
    if (surg__source_read(w->s, at.off + i, w->piece, n) != SURG_OK) surg__diff_fail(w->d);
    h = surg__diff_mix(h, surg__hash(w->d->ctx, w->piece, n));
    i += n;
  }
  return h;
}

static void add_field(walk *w, const level *l, const surg__field *f) {
  uint64_t h = surg__hash(w->d->ctx, l->type->name, strlen(l->type->name));
  h = surg__diff_mix(surg__diff_mix(h, f->number), f->wire);
  h = surg__diff_mix(h, f->wire == SURG__WIRE_BYTES ? hash_bytes(w, f->body) : f->value);
  if (!w->sum.fields++) w->sum.first = f->number;
  w->sum.plain += h;
  w->sum.named += surg__diff_mix(h, l->name);
}

/* Walks one message; inner nodes are other messages' business. */
static void walk_message(walk *w, surg__span at, const ProtobufCMessageDescriptor *type) {
  uint32_t depth = 0;
  uint64_t pos = at.off;
  const char *why;
  w->stack[0] = (level){type, at.off + at.len, 0};
  while (w->d->status == SURG_OK) {
    while (depth && pos == w->stack[depth].end) depth--;
    level *top = &w->stack[depth];
    surg__field f;
    if (pos == top->end) return;
    if (surg__wire_read(w->s, pos, top->end, &f, &pos, &why) != 1) return; /* was scanned before */
    const ProtobufCFieldDescriptor *d =
        protobuf_c_message_descriptor_get_field(top->type, f.number);
    if (!d) {
      add_field(w, top, &f);
    } else if (d->type == PROTOBUF_C_TYPE_MESSAGE && depth < DEPTH &&
               d->descriptor != &onnx__node_proto__descriptor) {
      w->stack[++depth] = (level){d->descriptor, f.body.off + f.body.len, top->name};
      pos = f.body.off;
    } else if (d->type == PROTOBUF_C_TYPE_STRING && strcmp(d->name, "name") == 0) {
      top->name = hash_bytes(w, f.body);
    }
  }
}

static bool open_walk(walk *w, surg_diff *d, int k) {
  *w = (walk){.d = d, .s = d->side[k].m->source};
  if (!w->s || !w->s->unknown) return true;
  w->piece = surg__alloc(d->ctx, PIECE);
  w->stack = surg__calloc(d->ctx, DEPTH + 1, sizeof *w->stack);
  if (!w->piece || !w->stack) surg__diff_fail(d);
  return w->piece && w->stack;
}

static void walk_node(walk *w, const surg_node *n) {
  if (w->stack && n->src.body.len) walk_message(w, n->src.body, &onnx__node_proto__descriptor);
}

static void add(surg_diff *d, const unknown *a, const unknown *b, const surg__dnode *const n[2]) {
  if (a->fields == b->fields && a->named == b->named) return;
  const bool only = !a->fields || !b->fields;
  /* The same fields in messages of other names: whether they are the same messages is open. */
  const bool open = !only && a->fields == b->fields && a->plain == b->plain && !n[0];
  if (n[0] && a->fields == b->fields && a->plain == b->plain) return;
  surg_diff_item *x = surg__diff_item(
      d, SURG_DIFF_EXTRA,
      !only ? SURG_DIFF_CHANGED : a->fields ? SURG_DIFF_REMOVED : SURG_DIFF_ADDED,
      open ? SURG_DIFF_UNKNOWN : SURG_DIFF_EDIT);
  for (int k = 0; k < 2 && n[0]; k++) surg__diff_at_node(d, x, k, n[k]);
  x->what = n[0] ? "fields that ONNX does not define"
                 : "fields outside of nodes that ONNX does not define";
  for (int k = 0; k < 2; k++) {
    const unknown *u = k ? b : a;
    if (u->fields)
      x->text[k] = surg__diff_say(d, "%u: the first has number %u", (unsigned)u->fields, u->first);
  }
  if (open) x->note = "in messages of other names: not compared";
}

/* The fields of Constant nodes and of all that is no node. */
static void walk_rest(walk *w, const surg__dside *s) {
  if (!w->stack) return;
  walk_message(w, (surg__span){0, w->s->size}, &onnx__model_proto__descriptor);
  for (size_t i = 0; i < s->nodes.count; i++)
    if (s->nodes.items[i].constant) walk_node(w, s->nodes.items[i].n);
}

void surg__diff_unknown(surg_diff *d) {
  walk w[2];
  const bool first = open_walk(&w[0], d, 0);
  const bool ok = open_walk(&w[1], d, 1) && first; /* both are closed below */
  const surg__dnode *none[2] = {NULL, NULL};
  if (ok && (w[0].stack || w[1].stack)) {
    for (int k = 0; k < 2; k++) walk_rest(&w[k], &d->side[k]);
    add(d, &w[0].sum, &w[1].sum, none);
    for (size_t i = 0; i < d->side[0].nodes.count && d->status == SURG_OK; i++) {
      const surg__dnode *n = &d->side[0].nodes.items[i];
      if (n->constant || n->twin == SURG__NO_TWIN) continue;
      const surg__dnode *pair[2] = {n, &d->side[1].nodes.items[n->twin]};
      for (int k = 0; k < 2; k++) {
        w[k].sum = (unknown){0};
        walk_node(&w[k], pair[k]->n);
      }
      add(d, &w[0].sum, &w[1].sum, pair);
    }
  }
  for (int k = 0; k < 2; k++) {
    surg__free(d->ctx, w[k].piece);
    surg__free(d->ctx, w[k].stack);
  }
}
