/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model node by node. Recursion follows only the nesting of graphs and calls, and is
 * bounded. Values of subgraphs stay in the frame and are overwritten in the next iteration, which
 * is correct because no node outside reads them. */
#include "eval/core/interpret.h"

#include "base/context.h"
#include "base/dtype.h"
#include "base/os/os.h"
#include "eval/core/machine.h"
#include "eval/core/stream.h"
#include "ir/ir.h" /* for attributes of functions: see `bind` */

typedef struct surg__slot {
  UT_hash_handle hh;
  const surg_value *value;
  bool present;
  surg__array array;
} surg__slot;

static surg_status run_graph(surg__machine *m, surg_graph *g);

surg_status surg__m_stop(surg__machine *m, surg_status s, const char *why) {
  if (!m->session->why) m->session->why = why;
  return s;
}

surg_status surg__m_spend(surg__machine *m, uint64_t work) {
  surg__session *s = m->session;
  if (work > s->max_work - s->work) {
    s->work = s->max_work;
    return surg__m_stop(m, SURG_ELIMIT, "the run exceeds its work limit");
  }
  s->work += work;
  return SURG_OK;
}

surg_status surg__m_turn(surg__machine *m) {
  surg__session *s = m->session;
  if (s->max_turns && s->turns >= s->max_turns)
    return surg__m_stop(m, SURG_ELIMIT, "loops exceed their iteration limit");
  s->turns++;
  return surg__m_spend(m, 1);
}

/* --- values --- */

static surg__slot *find(surg__machine *m, const surg_value *v) {
  SURG_HASH_LOCALS(m->ctx);
  surg__slot *s;
  HASH_FIND(hh, m->frame->values, &v, sizeof v, s);
  return s;
}

static surg__slot *find_or_add(surg__machine *m, const surg_value *v) {
  SURG_HASH_LOCALS(m->ctx);
  surg__slot *s = find(m, v);
  if (s) return s;
  s = surg__calloc(m->ctx, 1, sizeof *s);
  if (!s) return NULL;
  s->value = v;
  HASH_ADD(hh, m->frame->values, value, sizeof v, s);
  if (!surg__hash_failed) return s;
  surg__free(m->ctx, s);
  return NULL;
}

surg_status surg__m_set(surg__machine *m, const surg_value *v, surg__array *a) {
  surg__slot *s = find_or_add(m, v);
  if (!s) {
    surg__array_drop(a);
    return surg__alloc_status(m->ctx);
  }
  if (s->present) surg__array_drop(&s->array);
  s->array = *a;
  s->present = true;
  return SURG_OK;
}

void surg__m_unset(surg__machine *m, const surg_value *v) {
  surg__slot *s = find(m, v);
  if (!s || !s->present) return;
  surg__array_drop(&s->array);
  s->present = false;
}

const surg__array *surg__m_peek(surg__machine *m, const surg_value *v, surg_status *s) {
  surg__slot *slot = find(m, v);
  *s = SURG_OK;
  if (slot && slot->present) return &slot->array;
  if (!surg_value_is_initializer(v)) {
    *s = surg__m_stop(m, SURG_EINVALID, "a value is read that has not been made");
    return NULL;
  }
  const surg_tensor *t = surg_value_initializer(v);
  surg__array a;
  if (!t || surg_tensor_rank(t) > SURG_LIMIT_RANK) {
    *s = surg__m_stop(m, SURG_EUNSUPPORTED, "an initializer has a form that is not read here");
    return NULL;
  }
  const uint64_t from = m->session->stream_from;
  if (!surg__stream_of_tensor(m->ctx, t, from ? from : SURG__STREAM_FROM, &a))
    *s = surg__array_read(m->ctx, t, &a);
  if (*s == SURG_OK) *s = surg__m_set(m, v, &a);
  slot = find(m, v);
  return *s == SURG_OK && slot ? &slot->array : NULL;
}

const surg__array *surg__m_get(surg__machine *m, const surg_value *v, surg_status *s) {
  if (!surg__m_peek(m, v, s)) return NULL;
  surg__slot *slot = find(m, v);
  *s = surg__array_load(m->ctx, &slot->array);
  return *s == SURG_OK ? &slot->array : NULL;
}

static void free_frame(surg__machine *m, surg__frame *f) {
  SURG_HASH_LOCALS(m->ctx);
  for (surg__slot *s = f->values, *next; s; s = next) {
    next = s->hh.next;
    HASH_DEL(f->values, s);
    if (s->present) surg__array_drop(&s->array);
    surg__free(m->ctx, s);
  }
}

surg_status surg__m_input(surg__machine *m, const surg_node *n, size_t i, surg__array *out) {
  const surg_value *v = surg_node_input(n, i);
  surg_status s = SURG_OK;
  const surg__array *a = v ? surg__m_get(m, v, &s) : NULL;
  *out = a ? *a : (surg__array){.dtype = SURG_UNDEFINED};
  return s;
}

surg_status surg__m_output(surg__machine *m, const surg_node *n, size_t i, surg__array *a) {
  const surg_value *v = surg_node_output(n, i);
  surg__session *session = m->session;
  surg_status s = SURG_OK;
  if (v && session->change) {
    s = surg__array_load(m->ctx, a);
    if (s == SURG_OK) s = session->change(session->user, n, i, a);
  }
  if (v && session->watch && s == SURG_OK && !(a->stream && session->arrays_only)) {
    surg__array whole = surg__array_ref(a);
    s = surg__array_load(m->ctx, &whole);
    if (s == SURG_OK) s = session->watch(session->user, n, i, &whole);
    surg__array_drop(&whole);
  }
  if (v && s == SURG_OK) return surg__m_set(m, v, a);
  surg__array_drop(a);
  return s;
}

/* --- graphs --- */

const surg_type *surg__m_output_type(const surg_graph *g, size_t i) {
  const surg_value *v = surg_graph_output(g, i);
  const surg_type *all[] = {surg_value_type(v), surg_graph_output_type(g, i),
                            surg_value_declared_type(v)};
  const surg_type *some = NULL;
  for (size_t k = 0; k < SURG_COUNT(all); k++) {
    const surg_type *t = all[k];
    if (!some) some = t;
    if (t && (surg_type_get_kind(t) != SURG_TYPE_TENSOR || surg_type_has_rank(t))) return t;
  }
  return some;
}

/* Wraps a given element if the subgraph declares its input as optional (a Loop may carry
 * either). */
static surg_status as_declared(surg__machine *m, const surg_value *v, const surg__array *given,
                               surg__array *out) {
  const surg_type *t = surg_value_declared_type(v);
  bool wrap = surg_type_get_kind(t) == SURG_TYPE_OPTIONAL && given->dtype != SURG__V_OPTIONAL &&
              given->dtype != SURG_UNDEFINED;
  if (!wrap) {
    *out = surg__array_ref(given);
    return SURG_OK;
  }
  surg_status s = surg__list_make(m->ctx, SURG__V_OPTIONAL, surg__content_of(given), 1, out);
  if (s == SURG_OK) surg__list_of(out)->items[0] = surg__array_ref(given);
  return s;
}

/* Sets the inputs of the graph from `inputs`; the remaining ones must have an initializer. */
static surg_status feed(surg__machine *m, surg_graph *g, const surg__array *inputs, size_t n_in) {
  surg_status s = SURG_OK;
  size_t have = surg_graph_input_count(g);
  if (have < n_in) return surg__m_stop(m, SURG_EINVALID, "a subgraph has fewer inputs");
  for (size_t i = 0; s == SURG_OK && i < have; ++i) {
    const surg_value *v = surg_graph_input(g, i);
    if (i < n_in) {
      surg__array a;
      s = as_declared(m, v, &inputs[i], &a);
      if (s == SURG_OK && m->session->enter) s = m->session->enter(m->session->user, v, &a);
      if (s == SURG_OK) s = surg__m_set(m, v, &a);
    } else if (!surg_value_is_initializer(v)) {
      s = surg__m_stop(m, SURG_EINVALID, "a subgraph has more inputs");
    }
  }
  return s;
}

/* References the outputs of the graph for the caller; on failure there are none. */
static surg_status collect(surg__machine *m, surg_graph *g, surg__array *outputs, size_t n_out) {
  surg_status s = SURG_OK;
  memset(outputs, 0, n_out * sizeof *outputs);
  for (size_t i = 0; s == SURG_OK && i < n_out; ++i) {
    const surg_value *v = surg_graph_output(g, i);
    if (!v) s = surg__m_stop(m, SURG_EINVALID, "a subgraph has fewer outputs");
    const surg__array *a = v ? surg__m_get(m, v, &s) : NULL;
    if (a) outputs[i] = surg__array_ref(a);
  }
  for (size_t i = 0; s != SURG_OK && i < n_out; ++i) surg__array_drop(&outputs[i]);
  return s;
}

surg_status surg__m_subgraph(surg__machine *m, surg_graph *g, const surg__array *inputs,
                             size_t n_in, surg__array *outputs, size_t n_out) {
  surg_status s = feed(m, g, inputs, n_in);
  if (s == SURG_OK) s = run_graph(m, g);
  if (s == SURG_OK) s = collect(m, g, outputs, n_out);
  for (size_t i = 0; i < surg_graph_input_count(g); ++i) {
    surg__m_unset(m, surg_graph_input(g, i));
  }
  for (size_t i = 0; i < surg_graph_output_count(g); ++i) {
    const surg_value *v = surg_graph_output(g, i);
    if (surg_value_graph(v) == g) surg__m_unset(m, v);
  }
  return s;
}

static surg_status run_call(surg__machine *m, surg_node *n) {
  surg_graph *body = surg_function_graph(surg_node_function(n));
  size_t n_in = surg_graph_input_count(body), n_out = surg_node_output_count(n);
  surg__frame own = {.caller = n}, *outer = m->frame;
  surg__array *in = surg__calloc(m->ctx, n_in + n_out + 1, sizeof *in);
  if (!in) return surg__alloc_status(m->ctx);
  surg__array *out = in + n_in;
  surg_status s = SURG_OK;
  for (size_t i = 0; s == SURG_OK && i < n_in; ++i) s = surg__m_input(m, n, i, &in[i]);
  m->frame = &own;
  if (s == SURG_OK) s = feed(m, body, in, n_in);
  if (s == SURG_OK) s = run_graph(m, body);
  if (s == SURG_OK) s = collect(m, body, out, n_out);
  free_frame(m, &own);
  m->frame = outer;
  for (size_t i = 0; i < n_out; ++i) {
    if (s == SURG_OK)
      s = surg__m_output(m, n, i, &out[i]);
    else
      surg__array_drop(&out[i]);
  }
  surg__free(m->ctx, in);
  return s;
}

/* --- nodes --- */

/* A node of a function body with attributes that refer to attributes of the function. While it
 * runs, they are replaced by those of the call, or by defaults; an attribute with neither is
 * absent. The node is not marked as edited, because the list is restored afterwards. */
typedef struct binding {
  surg_node *node;
  surg_attr **attrs; /* the original list */
  uint32_t n_attr;
  void *block; /* memory of the copies and their list; NULL: nothing was replaced */
} binding;

static const surg_attr *actual(const surg_node *call, const char *name) {
  const surg_attr *a = surg_node_attr(call, name);
  const surg_function *f = surg_node_function(call);
  for (size_t i = 0; !a && i < surg_function_attr_count(f); ++i) {
    if (strcmp(surg_function_attr_name(f, i), name) == 0) a = surg_function_attr_default(f, i);
  }
  return a;
}

static surg_status bind(surg__machine *m, surg_node *n, binding *b) {
  bool any = false;
  *b = (binding){.node = n};
  for (uint32_t i = 0; i < n->n_attr; ++i) any = any || n->attrs[i]->ref;
  if (!any || !m->frame->caller) return SURG_OK;
  size_t each = sizeof(surg_attr *) + sizeof(surg_attr);
  surg_attr *copies = surg__calloc(m->ctx, n->n_attr, each);
  if (!copies) return surg__alloc_status(m->ctx);
  surg_attr **list = (surg_attr **)(void *)(copies + n->n_attr);
  uint32_t count = 0;
  for (uint32_t i = 0; i < n->n_attr; ++i) {
    surg_attr *a = n->attrs[i];
    const surg_attr *given = a->ref ? actual(m->frame->caller, a->ref) : a;
    if (!given) continue;
    copies[count] = *given;
    copies[count].name = a->name;
    copies[count].as_tensor = NULL;
    list[count] = a->ref ? &copies[count] : a;
    ++count;
  }
  b->block = copies;
  b->attrs = n->attrs;
  b->n_attr = n->n_attr;
  n->attrs = list;
  n->n_attr = count;
  return SURG_OK;
}

static void unbind(surg__machine *m, binding *b) {
  if (!b->block) return;
  b->node->attrs = b->attrs;
  b->node->n_attr = b->n_attr;
  surg__free(m->ctx, b->block);
}

/* Lets a kernel run a subgraph of its node. */
static surg__kstatus call(surg_kctx *k, surg_graph *g, const surg__array *inputs, size_t n_in,
                          surg__array *outputs, size_t n_out) {
  surg__machine *m = k->machine;
  switch (surg__m_subgraph(m, g, inputs, n_in, outputs, n_out)) {
    case SURG_OK:
      return SURG__K_OK;
    case SURG_EINVALID:
      return surg__k_invalid(k, m->session->why);
    case SURG_EUNSUPPORTED:
      return surg__k_cannot(k, m->session->why);
    case SURG_ELIMIT:
      return SURG__K_BUDGET;
    default:
      return SURG__K_NOMEM;
  }
}

/* SURG_OK, or why the run must end. */
static surg_status late(const surg__machine *m) {
  const surg__session *s = m->session;
  if (s->deadline && surg__os_now_ns() > s->deadline) return SURG_ELIMIT;
  if (s->cancel && s->cancel(s->cancel_user)) return SURG_ECANCELLED;
  return surg__overdue(m->ctx);
}

static surg_status kernel_late(surg_kctx *k) {
  return late(k->machine);
}

/* Borrows the inputs of a node that is computed by a kernel. First those are loaded that it reads
 * as arrays, because one value may be several inputs. */
static surg_status kernel_inputs(surg__machine *m, const surg_node *n, surg__array *in) {
  const size_t count = surg_node_input_count(n);
  surg_status s = SURG_OK;
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t i = 0; i < count && s == SURG_OK; ++i) {
      const surg_value *v = surg_node_input(n, i);
      const surg__array *a = v ? surg__m_peek(m, v, &s) : NULL;
      if (pass == 0 && a && a->stream && !surg__streams(n, i, a))
        (void)surg__m_get(m, v, &s);
      else if (pass == 1)
        in[i] = a ? *a : (surg__array){.dtype = SURG_UNDEFINED};
    }
  }
  return s;
}

/* Computes a node without a kernel in another way, if there is one. */
static surg_status otherwise(surg__machine *m, surg_node *n, surg_kctx *k, surg__array *out) {
  surg__session *session = m->session;
  surg__session rest = {.max_bytes = session->max_bytes,
                        .max_work = k->max_work,
                        .max_turns = session->max_turns,
                        .deadline = session->deadline,
                        .cancel = session->cancel,
                        .cancel_user = session->cancel_user,
                        .seed = session->seed};
  const surg_status s = session->otherwise(session->other, n, m, &rest, out);
  k->work = rest.work;
  if (!k->open) k->open = rest.open;
  if (s != SURG_OK && s != SURG_EUNSUPPORTED && rest.why) k->why = rest.why;
  return s;
}

static surg_status compute(surg__machine *m, surg_node *n, surg__array *in, surg__array *out) {
  surg__session *session = m->session;
  size_t n_out = surg_node_output_count(n);
  surg__arena arena;
  surg_status s = SURG_OK;
  s = kernel_inputs(m, n, in);
  if (s != SURG_OK) return s;
  surg__arena_init(&arena, m->ctx);
  surg_kctx k = {.arena = &arena, .max_bytes = session->max_bytes, .running = true};
  k.max_work = session->max_work - session->work;
  k.seed = session->seed;
  k.call = call;
  k.machine = m;
  k.late = kernel_late;
  s = surg__node_compute(n, &k, in, out);
  if (s == SURG_EUNSUPPORTED && k.lacking && session->otherwise) s = otherwise(m, n, &k, out);
  if (s != SURG_OK) surg__m_stop(m, s, k.why);
  if (!session->open) session->open = k.open;
  surg_status spent = surg__m_spend(m, k.work + 1);
  if (s == SURG_OK && spent != SURG_OK) {
    for (size_t i = 0; i < n_out; ++i) surg__array_drop(&out[i]);
    s = spent;
  }
  surg__arena_free(&arena);
  return s;
}

static surg_status run_plain(surg__machine *m, surg_node *n) {
  size_t n_in = surg_node_input_count(n), n_out = surg_node_output_count(n);
  surg__array few[16] = {{0}}, *in = few;
  if (n_in + n_out > SURG_COUNT(few)) {
    in = surg__calloc(m->ctx, n_in + n_out, sizeof *in);
    if (!in) return surg__alloc_status(m->ctx);
  }
  surg__array *out = in + n_in;
  surg_status s = compute(m, n, in, out);
  for (size_t i = 0; i < n_out; ++i) {
    if (s == SURG_OK)
      s = surg__m_output(m, n, i, &out[i]);
    else
      surg__array_drop(&out[i]);
  }
  if (in != few) surg__free(m->ctx, in);
  return s;
}

static surg_status dispatch(surg__machine *m, surg_node *n) {
  if (surg_node_class(n) == SURG_OP_CLASS_FUNCTION) return run_call(m, n);
  if (surg_node_class(n) != SURG_OP_CLASS_BUILTIN) return run_plain(m, n);
  switch (surg_node_op(n)) {
    case SURG_OP_If:
      return surg__m_if(m, n);
    case SURG_OP_Loop:
      return surg__m_loop(m, n);
    case SURG_OP_Scan:
      return surg__m_scan(m, n);
    case SURG_OP_SequenceMap:
      return surg__m_sequence_map(m, n);
    default:
      return run_plain(m, n);
  }
}

static surg_status run_node(surg__machine *m, surg_node *n) {
  binding b;
  surg_status s = late(m);
  if (s == SURG_ELIMIT) return surg__m_stop(m, s, "the run exceeds its time limit");
  if (s != SURG_OK) return surg__m_stop(m, s, "cancelled");
  s = bind(m, n, &b);
  if (s == SURG_OK && m->session->before) s = m->session->before(m->session->user, n, m);
  if (s == SURG_OK) s = dispatch(m, n);
  unbind(m, &b);
  if (s == SURG_OK && m->session->after) m->session->after(m->session->user, n);
  const surg_value *const *dead;
  size_t count = 0;
  if (s == SURG_OK) s = surg__m_dying(m, n, &dead, &count);
  for (size_t i = 0; i < count; ++i) surg__m_unset(m, dead[i]);
  return s;
}

static surg_status run_graph(surg__machine *m, surg_graph *g) {
  if (m->depth >= SURG_LIMIT_CALL_DEPTH) {
    return surg__m_stop(m, SURG_ELIMIT, "graphs are nested too deep");
  }
  ++m->depth;
  surg_status s = SURG_OK;
  for (surg_node *n = surg_graph_first_node(g); s == SURG_OK && n; n = surg_node_next(n)) {
    s = run_node(m, n);
    if (s != SURG_OK && !m->session->at) m->session->at = n;
  }
  --m->depth;
  return s;
}

surg_status surg__session_read(surg__machine *m, const surg_value *v, surg__array *out) {
  surg_status s;
  const surg__array *a = surg__m_get(m, v, &s);
  if (a) *out = *a;
  return s;
}

const surg_node *surg__session_caller(const surg__machine *m) {
  return m->frame->caller;
}

surg_status surg__session_run(surg__session *session, surg_model *model, const surg__array *inputs,
                              surg__array *outputs) {
  surg__machine m = {.ctx = surg_model_context(model), .model = model, .session = session};
  surg__frame f = {0};
  surg_graph *g = surg_model_graph(model);
  /* The outputs of a loop without iterations have the inferred shape. Inference runs here, so that
   * the result does not depend on earlier calls. */
  surg_status s = surg_model_infer(model);
  session->work = session->turns = 0;
  session->open = session->why = NULL;
  session->at = NULL;
  m.frame = &f;
  surg__arena_init(&m.arena, m.ctx);
  for (size_t i = 0; s == SURG_OK && i < surg_graph_input_count(g); ++i) {
    const surg_value *v = surg_graph_input(g, i);
    surg__array a = inputs[i];
    if (a.dtype != SURG_UNDEFINED) {
      a = surg__array_ref(&a);
      s = surg__m_set(&m, v, &a);
    } else if (!surg_value_is_initializer(v)) {
      s = surg__m_stop(&m, SURG_EINVALID, "a graph input has no value");
    }
  }
  if (s == SURG_OK) s = run_graph(&m, g);
  size_t n_out = surg_graph_output_count(g);
  if (s == SURG_OK) s = collect(&m, g, outputs, n_out);
  free_frame(&m, &f);
  surg__m_free_plans(&m);
  surg__arena_free(&m.arena);
  return s;
}

surg_status surg__interpret(surg_model *m, surg__arena *arena, const surg__array *inputs,
                            surg__array *outputs, uint64_t max_bytes, uint64_t max_work,
                            const char **why, const surg_node **at) {
  surg__session session = {.max_bytes = max_bytes, .max_work = max_work};
  size_t n = surg_graph_output_count(surg_model_graph(m));
  surg_status s = surg__session_run(&session, m, inputs, outputs);
  for (size_t i = 0; s == SURG_OK && i < n; ++i) {
    surg__array own = outputs[i];
    s = surg__array_copy(arena, &own, &outputs[i]);
    surg__array_drop(&own);
    for (size_t k = i + 1; s != SURG_OK && k < n; ++k) surg__array_drop(&outputs[k]);
  }
  if (why) *why = session.why;
  if (at) *at = session.at;
  return s;
}
