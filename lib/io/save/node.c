/* SPDX-License-Identifier: Apache-2.0 */
/* Writes nodes and their attributes. */
#include "io/save/save.h"
#include "ir/about.h"

/* --- attributes --- */

static bool attr_moves(const surg__saver *s, const surg_attr *a) {
  if (!s->placing.active) return false;
  if (a->kind == SURG_ATTR_GRAPH || a->kind == SURG_ATTR_GRAPHS) return true;
  if (a->kind != SURG_ATTR_TENSOR && a->kind != SURG_ATTR_TENSORS) return false;
  for (uint32_t i = 0; i < a->count; i++)
    if (surg__save_moves(s, a->u.tensors[i])) return true;
  return false;
}

static bool attr_changed(const surg__saver *s, const surg_attr *a) {
  return a->dirty || surg__save_made_here(a->src) || attr_moves(s, a);
}

static void put_float(surg__saver *s, uint32_t number, float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  surg__rope_fixed32(&s->rope, number, bits);
}

static void put_attr_tensor(surg__saver *s, uint32_t number, const surg_tensor *t) {
  surg__span own = t->msg;
  if (t->view == SURG__VIEW_SPARSE) {
    surg__rope_tag(&s->rope, number, own.len);
    surg__rope_source(&s->rope, own.off, own.len);
    return;
  }
  /* Computed elements may still refer to a source message, which no longer describes them. */
  if (t->view == SURG__VIEW_OWNED) own = (surg__span){0, 0};
  surg__save_tensor(s, number, t, own, NULL);
}

static void put_list(surg__saver *s, const surg_attr *a) {
  for (uint32_t i = 0; i < a->count && s->status == SURG_OK; i++) switch (a->kind) {
      case SURG_ATTR_FLOATS:
        put_float(s, ATTR_FLOATS, a->u.floats[i]);
        break;
      case SURG_ATTR_INTS:
        surg__rope_varint(&s->rope, ATTR_INTS, (uint64_t)a->u.ints[i]);
        break;
      case SURG_ATTR_STRINGS:
        surg__rope_string(&s->rope, ATTR_STRINGS, a->u.strings[i].p, a->u.strings[i].n);
        break;
      case SURG_ATTR_TENSOR:
        put_attr_tensor(s, ATTR_T, a->u.tensors[i]);
        break;
      case SURG_ATTR_TENSORS:
        put_attr_tensor(s, ATTR_TENSORS, a->u.tensors[i]);
        break;
      case SURG_ATTR_SPARSE_TENSOR:
        put_attr_tensor(s, ATTR_SPARSE, a->u.tensors[i]);
        break;
      case SURG_ATTR_SPARSE_TENSORS:
        put_attr_tensor(s, ATTR_SPARSES, a->u.tensors[i]);
        break;
      case SURG_ATTR_GRAPH:
        surg__save_graph(s, ATTR_G, a->u.graphs[i]);
        break;
      case SURG_ATTR_GRAPHS:
        surg__save_graph(s, ATTR_GRAPHS, a->u.graphs[i]);
        break;
      case SURG_ATTR_TYPE_PROTO:
        surg__save_type(s, ATTR_TP, a->u.types[i]);
        break;
      case SURG_ATTR_TYPE_PROTOS:
        surg__save_type(s, ATTR_TPS, a->u.types[i]);
        break;
      default:
        assert(!"no list kind");
    }
}

static void put_value(surg__saver *s, const surg_attr *a) {
  if (a->ref && *a->ref) return;
  switch (a->kind) {
    case SURG_ATTR_UNDEFINED:
      return;
    case SURG_ATTR_FLOAT:
      put_float(s, ATTR_F, a->u.f);
      return;
    case SURG_ATTR_INT:
      surg__rope_varint(&s->rope, ATTR_I, (uint64_t)a->u.i);
      return;
    case SURG_ATTR_STRING:
      surg__rope_string(&s->rope, ATTR_S, a->u.s.p, a->u.s.n);
      return;
    default:
      put_list(s, a);
  }
}

static bool holds_value(uint32_t number) {
  return (number >= ATTR_F && number <= ATTR_GRAPHS) || number == ATTR_TP || number == ATTR_TPS ||
         number == ATTR_SPARSE || number == ATTR_SPARSES;
}

static void splice_attr(surg__saver *s, const surg_attr *a) {
  surg__cursor c = surg__save_cursor(s, a->src.body);
  surg__field f;
  bool named = false, valued = false, typed = false, referred = false;
  const char *ref = a->ref ? a->ref : "";
  while (surg__save_next(s, &c, &f)) {
    if (f.number == ATTR_NAME) {
      if (!named) surg__save_retext(s, &c, &f, a->name);
      named = true;
    } else if (f.number == ATTR_REF) {
      if (!referred && *ref) surg__save_retext(s, &c, &f, ref);
      referred = true;
    } else if (f.number == ATTR_TYPE) {
      if (!typed) surg__rope_varint(&s->rope, ATTR_TYPE, (uint64_t)a->kind);
      typed = true;
    } else if (holds_value(f.number)) {
      if (!valued) put_value(s, a);
      valued = true;
    } else {
      surg__save_keep(s, &c, &f);
    }
  }
  if (!named) surg__save_str(s, ATTR_NAME, a->name);
  if (!valued) put_value(s, a);
  if (!referred && *ref) surg__save_str(s, ATTR_REF, ref);
  /* Files before IR version 2 have no type field; it is not added. */
  if (!typed && s->m->ir_version >= 2) surg__rope_varint(&s->rope, ATTR_TYPE, (uint64_t)a->kind);
}

void surg__save_attr(surg__saver *s, uint32_t number, const surg_attr *a) {
  if (!attr_changed(s, a)) {
    surg__save_copy(s, number, a->src);
    return;
  }
  surg__open open = surg__save_begin(s, number);
  if (surg__save_made_here(a->src)) {
    surg__save_str(s, ATTR_NAME, a->name);
    put_value(s, a);
    surg__rope_varint(&s->rope, ATTR_TYPE, (uint64_t)a->kind);
    if (a->ref && *a->ref) surg__save_str(s, ATTR_REF, a->ref);
  } else {
    splice_attr(s, a);
  }
  surg__save_end(s, open);
}

/* --- nodes --- */

static void put_inputs(surg__saver *s, const surg_node *n) {
  for (uint32_t i = 0; i < n->n_in; i++) {
    const surg_value *v = n->in[i].value;
    surg__save_str(s, NODE_INPUT, v ? v->name : "");
  }
}

static void put_outputs(surg__saver *s, const surg_node *n) {
  for (uint32_t i = 0; i < n->n_out; i++) {
    const surg_value *v = n->out[i];
    surg__save_str(s, NODE_OUTPUT, v ? v->name : "");
  }
}

static void put_attrs(surg__saver *s, const surg_node *n) {
  for (uint32_t i = 0; i < n->n_attr; i++) surg__save_attr(s, NODE_ATTRIBUTE, n->attrs[i]);
}

/* Writes a string field unless it is empty. */
static void put_optional(surg__saver *s, uint32_t number, const char *text) {
  if (text && *text) surg__save_str(s, number, text);
}

static const char *node_text(const surg_node *n, uint32_t number) {
  switch (number) {
    case NODE_NAME:
      return n->name;
    case NODE_OP_TYPE:
      return n->op_type;
    case NODE_DOMAIN:
      return n->domain;
    default:
      assert(number == NODE_OVERLOAD);
      return n->overload;
  }
}

static bool rewritten(const surg_node *n, uint32_t number) {
  switch (number) {
    case NODE_INPUT:
    case NODE_OUTPUT:
      return n->io_dirty;
    case NODE_NAME:
      return n->name_dirty;
    case NODE_OP_TYPE:
    case NODE_DOMAIN:
    case NODE_OVERLOAD:
      return n->op_dirty;
    case NODE_ATTRIBUTE:
      return true;
    case SURG__NODE_DOC:
      return n->about && n->about->has_doc;
    case SURG__NODE_ENTRIES:
      return n->about && n->about->has_entries;
    default:
      return false;
  }
}

static void put_group(surg__saver *s, const surg_node *n, uint32_t number) {
  if (number == NODE_INPUT)
    put_inputs(s, n);
  else if (number == NODE_OUTPUT)
    put_outputs(s, n);
  else if (number == NODE_ATTRIBUTE)
    put_attrs(s, n);
  else if (number == SURG__NODE_DOC || number == SURG__NODE_ENTRIES)
    surg__save_about(s, n->about, number, number == SURG__NODE_DOC);
  else
    put_optional(s, number, node_text(n, number));
}

static const uint32_t node_order[] = {NODE_INPUT,   NODE_OUTPUT,    NODE_NAME,
                                      NODE_OP_TYPE, NODE_ATTRIBUTE, SURG__NODE_DOC,
                                      NODE_DOMAIN,  NODE_OVERLOAD,  SURG__NODE_ENTRIES};

static void splice_node(surg__saver *s, const surg_node *n) {
  surg__cursor c = surg__save_cursor(s, n->src.body);
  surg__field f;
  uint32_t done = 0; /* one bit per field number */
  while (surg__save_next(s, &c, &f)) {
    if (f.number == NODE_DEVICES && n->softs) {
      surg__save_devices(s, n, &f);
    } else if (f.number > SURG__NODE_ENTRIES || !rewritten(n, f.number)) {
      surg__save_keep(s, &c, &f);
    } else {
      if (!(done >> f.number & 1)) put_group(s, n, f.number);
      done |= 1u << f.number;
    }
  }
  for (size_t i = 0; i < SURG_COUNT(node_order); i++)
    if (rewritten(n, node_order[i]) && !(done >> node_order[i] & 1)) put_group(s, n, node_order[i]);
}

static bool node_changed(const surg__saver *s, const surg_node *n) {
  if (n->dirty || surg__save_made_here(n->src)) return true;
  if (!s->placing.active) return false;
  for (uint32_t i = 0; i < n->n_attr; i++)
    if (attr_moves(s, n->attrs[i])) return true;
  return false;
}

#define TICK 256u /* nodes between two questions whether to cancel */

void surg__save_node(surg__saver *s, uint32_t number, const surg_node *n) {
  if (s->status != SURG_OK) return;
  if (++s->nodes % TICK == 0 && surg__cancelled(s->ctx)) {
    surg__save_fail(s, surg__error(s->ctx, SURG_ECANCELLED, s->where, "cancelled"));
    return;
  }
  if (!node_changed(s, n)) {
    surg__save_copy(s, number, n->src);
    return;
  }
  surg__open open = surg__save_begin(s, number);
  if (surg__save_made_here(n->src))
    for (size_t i = 0; i < SURG_COUNT(node_order); i++) {
      const bool about = node_order[i] == SURG__NODE_DOC || node_order[i] == SURG__NODE_ENTRIES;
      if (!about || rewritten(n, node_order[i])) put_group(s, n, node_order[i]);
    }
  else
    splice_node(s, n);
  surg__save_end(s, open);
}
