/* SPDX-License-Identifier: Apache-2.0 */
/* Adding model-local functions and their attributes. */
#include "ir/edit.h"

#define FUNCTIONS_IR 8  /* the first IR version with functions */
#define OVERLOADS_IR 10 /* ... with overloads */

surg_function *surg_model_add_function(surg_model *m, const char *domain, const char *name,
                                       const char *overload) {
  surg_status s;
  if (surg__model_ready(m) != SURG_OK) return NULL;
  const bool overloaded = overload && *overload;
  const int64_t least = overloaded ? OVERLOADS_IR : FUNCTIONS_IR;
  if (!name || !*name) {
    surg__error(m->ctx, SURG_EUSAGE, surg_model_path(m), "a function needs a name");
    return NULL;
  }
  if (m->ir_version < least) {
    surg__error(m->ctx, SURG_EINVALID, surg_model_path(m),
                "%s need IR version %lld; the model has %lld",
                overloaded ? "overloads" : "functions", (long long)least, (long long)m->ir_version);
    return NULL;
  }
  if (surg_model_find_function(m, domain ? domain : "", name, overloaded ? overload : "")) {
    surg__error(m->ctx, SURG_EINVALID, surg_model_path(m), "function %s exists already",
                surg__q(m->ctx, name));
    return NULL;
  }
  const char *d = surg__intern_user(m, domain ? domain : "", &s);
  const char *n = d ? surg__intern_user(m, name, &s) : NULL;
  const char *o = n ? surg__intern_user(m, overloaded ? overload : "", &s) : NULL;
  surg_function *f = o ? surg__function_new(m, d, n, o) : NULL;
  if (!f) return NULL;
  f->dirty = f->imports_dirty = true;
  f->body->dirty = true;
  m->header_dirty = true;
  surg__touch_graph(f->body);
  surg__emit(m, SURG_EVENT_MODEL, f->body, NULL, NULL, NULL, NULL);
  return f;
}

/* SURG_OK if an attribute of this name can be declared; *label is the interned name. */
static surg_status ready(surg_function *f, const char *name, const char **label) {
  if (!f || !name || !*name) return SURG_EUSAGE;
  surg_status s = surg__model_ready(f->model);
  if (s != SURG_OK) return s;
  if (f->erased) return SURG_EERASED;
  surg_context *ctx = f->model->ctx;
  for (size_t i = 0; i < f->attrs.count; i++)
    if (strcmp(f->attrs.items[i], name) == 0)
      return surg__error(ctx, SURG_EINVALID, surg_model_path(f->model),
                         "function %s has an attribute %s already", surg__q(ctx, f->name),
                         surg__q(ctx, name));
  *label = surg__intern_user(f->model, name, &s);
  if (!*label) return s;
  if (surg__vec_reserve(ctx, &f->attrs, f->attrs.count + 1)) return SURG_OK;
  surg__failed(f->model);
  return f->model->status;
}

static void changed(surg_function *f) {
  f->dirty = f->attrs_dirty = true;
  surg__touch_graph(f->body);
  surg__emit(f->model, SURG_EVENT_MODEL, f->body, NULL, NULL, NULL, NULL);
}

surg_status surg_function_add_attr(surg_function *f, const char *name) {
  const char *label = NULL;
  const surg_status s = ready(f, name, &label);
  if (s != SURG_OK) return s;
  /* Names without a default precede those of `defaults`. */
  const size_t at = f->attrs.count - f->defaults.count;
  memmove(&f->attrs.items[at + 1], &f->attrs.items[at], f->defaults.count * sizeof *f->attrs.items);
  f->attrs.items[at] = label;
  f->attrs.count++;
  changed(f);
  return SURG_OK;
}

surg_status surg_function_add_default(surg_function *f, const surg_attr *a) {
  const char *label = NULL;
  if (!a) return SURG_EUSAGE;
  surg_status s = ready(f, a->name, &label);
  if (s != SURG_OK) return s;
  if (surg__attr_has_graphs(a) || a->ref) return SURG_EUNSUPPORTED;
  surg_attr *copy = surg__copy(f->model, a, 1, sizeof *a);
  if (!copy) return f->model->status;
  copy->as_tensor = NULL;
  if (!surg__vec_push(f->model->ctx, &f->defaults, copy)) {
    surg__failed(f->model);
    return f->model->status;
  }
  f->attrs.items[f->attrs.count++] = label;
  changed(f);
  return SURG_OK;
}
