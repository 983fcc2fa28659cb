/* SPDX-License-Identifier: Apache-2.0 */
/* training_info is copied unchanged, so every value of the main graph that it may refer to is
 * pinned: each value whose name equals a string in it. Its tensors are checked like all others. */
#include "io/load/load.h"

static bool pin(surg__loader *L, const surg__field *f) {
  const char *name = surg__load_name(L, f);
  if (!name) return false;
  surg_graph *at;
  surg_value *v = *name ? surg__load_lookup(L->m->graph, name, &at) : NULL;
  if (!v || v->pinned) return true;
  surg__soft *s = surg__soft_new(L->m, SURG__SOFT_TRAINING, v);
  if (!s) return surg__load_oom(L);
  v->pinned |= SURG__PIN_TRAINING;
  s->graph = L->m->graph;
  s->next = L->m->training;
  L->m->training = s;
  return true;
}

/* Visits one message and those nested in it. The scan has bounded the nesting. */
static bool walk(surg__loader *L, const ProtobufCMessageDescriptor *type, surg__span body) {
  surg__cursor c = surg__load_cursor(L, body);
  surg__field f;
  bool ok = true;
  while (ok && surg__load_next(L, &c, &f)) {
    const ProtobufCFieldDescriptor *d = protobuf_c_message_descriptor_get_field(type, f.number);
    if (!d || f.wire != SURG__WIRE_BYTES) continue;
    if (d->type == PROTOBUF_C_TYPE_STRING) ok = pin(L, &f);
    if (d->type != PROTOBUF_C_TYPE_MESSAGE) continue;
    if (d->descriptor == &onnx__tensor_proto__descriptor) {
      surg__load_tensor(L, &f, NULL);
      ok = L->status == SURG_OK;
    }
    ok = ok && walk(L, d->descriptor, f.body);
  }
  return ok && L->status == SURG_OK;
}

bool surg__load_training(surg__loader *L) {
  surg__cursor c = surg__load_cursor(L, (surg__span){0, L->src->size});
  surg__field f;
  while (surg__load_next(L, &c, &f))
    if (f.number == 20 && !walk(L, &onnx__training_info_proto__descriptor, f.body)) return false;
  return L->status == SURG_OK;
}
