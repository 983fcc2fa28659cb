/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/tensor/origin.h"

#include "ir/tensor.h"

bool surg__origin_of(surg__origin *o, const surg_tensor *t) {
  *o = (surg__origin){.ctx = t->model->ctx, .off = t->data.off};
  if (t->view == SURG__VIEW_RAW) {
    o->source = surg__source_ref(t->model->source);
  } else if (t->view == SURG__VIEW_EXTERNAL && !t->codec) {
    o->file = surg__datafile_ref(t->file);
  } else if (t->view == SURG__VIEW_OWNED && !t->blob->derive && !t->blob->borrowed) {
    o->blob = surg__blob_ref(t->blob);
    o->off = 0;
  }
  return o->source || o->file || o->blob;
}

surg_status surg__origin_read(const surg__origin *o, uint64_t at, void *out, size_t n) {
  if (o->source) return surg__source_read(o->source, o->off + at, out, n);
  if (o->blob) return surg__blob_read(o->blob, at, out, n);
  const surg__source *s = o->file->source;
  return surg__external_read(o->ctx, s ? s->name : NULL, o->file, o->off + at, out, n);
}

void surg__origin_drop(surg__origin *o) {
  surg__source_unref(o->source);
  surg__datafile_unref(o->file);
  surg__blob_unref(o->blob);
}
