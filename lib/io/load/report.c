/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of the loader: located messages, and whether loading continues after one. */
#include <stdarg.h>
#include <stdio.h>

#include "io/load/load.h"

/* Most repairs that are listed; naming the location of each costs a walk of the file. */
#define MOST_REPAIRS 100u
#define TEXT_BYTES 1024

bool surg__load_stop(surg__loader *L, surg_status why) {
  assert(why != SURG_OK);
  if (L->status == SURG_OK) L->status = why;
  return false;
}

bool surg__load_oom(surg__loader *L) {
  if (L->status != SURG_OK) return false;
  /* The call that made the model fail has reported it. */
  if (L->m && L->m->status != SURG_OK) return surg__load_stop(L, L->m->status);
  return surg__load_stop(L, surg__oom(L->ctx, L->src->name));
}

const char *surg__load_path(surg__loader *L, uint64_t off) {
  surg__buf b;
  surg__buf_init(&b, L->ctx);
  surg__wire_path(L->src, off, &b);
  char *copy = b.failed ? NULL : surg__arena_strn(&L->scratch, b.p, b.n);
  surg__buf_free(&b);
  return copy ? copy : "?";
}

static bool found(surg__loader *L, surg_status status) {
  if (L->probe) return true;
  if (status < L->worst) L->worst = status;
  bool fatal = status == SURG_ENOMEM || status == SURG_EINTERNAL;
  if (L->lenient && status == SURG_ELIMIT) fatal = true;
  if (!L->all || fatal) return surg__load_stop(L, status);
  L->findings++;
  return true;
}

/* Whether the limit of listed findings is reached; the next one then ends loading. */
static bool full(surg__loader *L) {
  if (L->policy != SURG_LOAD_CHECK || L->findings < L->most) return false;
  surg__note(L->ctx, L->src->name, "more findings are not shown");
  surg__load_stop(L, L->worst);
  return true;
}

bool surg__load_found(surg__loader *L, surg_status status) {
  if (L->probe) return true;
  L->broken = true;
  if (L->node) L->node->faulty = true;
  return found(L, status);
}

bool surg__load_counted(surg__loader *L, surg_status status) {
  return L->policy != SURG_LOAD_CHECK || found(L, status);
}

/* Stores a finding of a lenient load in its model. */
static bool keep(surg__loader *L, surg_severity severity, uint64_t off, const char *code,
                 const char *text) {
  surg_model *m = L->m;
  if (severity == SURG_ERROR) m->open_defects++;
  if (m->open_defects > SURG_LIMIT_DEFECTS_MOST)
    return surg__load_stop(L, surg__model_sound(m)); /* reports the first one */
  if (m->defects.count >= SURG_LIMIT_DEFECTS) {
    m->unlisted += severity == SURG_ERROR;
    return true;
  }
  surg__defect d = {.code = code, .off = off, .severity = severity, .node = L->node};
  if (L->node) d.graph = L->node->graph;
  d.text = surg__arena_strn(&m->arena, text, strlen(text));
  if (d.text && surg__vec_push(L->ctx, &m->defects, d)) return true;
  return surg__load_oom(L);
}

void surg__load_about(surg__loader *L, const surg__defect *about) {
  if (!L->lenient || L->probe || L->m->unlisted || !L->m->defects.count) return;
  surg__defect *d = &L->m->defects.items[L->m->defects.count - 1];
  if (about->graph) d->graph = about->graph;
  if (about->where) d->where = about->where;
  if (about->node) d->node = about->node;
  if (about->value) d->value = about->value;
  if (about->first) d->first = about->first;
  if (about->attr) d->attr = about->attr;
  if (about->domain) d->domain = about->domain;
  if (about->tensor) d->tensor = about->tensor;
  if (about->function) d->function = about->function;
  if (about->reading) d->reading = about->reading;
  if (about->kind) d->kind = about->kind;
}

bool surg__load_kind(surg__loader *L, surg__defect_kind kind, bool go_on) {
  surg__load_about(L, &(surg__defect){.kind = kind});
  return go_on;
}

void surg__load_own(surg__loader *L, size_t first, surg_value *v, surg_attr *a) {
  for (size_t i = first; L->lenient && i < L->m->defects.count; i++) {
    surg__defect *d = &L->m->defects.items[i];
    if (v) {
      d->value = v;
      d->graph = v->graph;
    }
    if (a) d->attr = a;
  }
}

static void line(surg__loader *L, surg_severity severity, uint64_t off, const char *code,
                 const char *fmt, va_list args) {
  char text[TEXT_BYTES];
  if (L->probe && !L->judge) {
    if (strcmp(L->probe, code) == 0) L->probed = true;
    return;
  }
  vsnprintf(text, sizeof text, fmt, args);
  if (L->judge) {
    if (severity == SURG_ERROR) L->judge(L->judge_user, L->node, code, text);
    return;
  }
  if (L->lenient && code && code[0] == 'E') {
    keep(L, severity, off, code, text);
    return;
  }
  surg__mark mark = surg__arena_mark(&L->scratch);
  const char *path = surg__load_path(L, off);
  L->ctx->code = code;
  if (severity == SURG_ERROR)
    surg__error(L->ctx, SURG_EINVALID, L->src->name, "%s: %s", path, text);
  else if (severity == SURG_WARNING)
    surg__warn(L->ctx, L->src->name, "%s: %s", path, text);
  else
    surg__note(L->ctx, L->src->name, "%s: %s", path, text);
  surg__arena_reset(&L->scratch, mark);
}

bool surg__load_bad(surg__loader *L, uint64_t off, const char *code, const char *fmt, ...) {
  if (L->status != SURG_OK || full(L)) return false;
  va_list args;
  va_start(args, fmt);
  line(L, SURG_ERROR, off, code, fmt, args);
  va_end(args);
  const bool faulty = L->node && L->node->faulty;
  const bool go_on = surg__load_found(L, SURG_EINVALID);
  if (L->node && surg__load_leaves_types(code)) L->node->faulty = faulty;
  return go_on;
}

bool surg__load_leaves_types(const char *code) {
  static const char *const codes[] = {"E142", "E143", "E146"};
  for (size_t i = 0; i < SURG_COUNT(codes); i++)
    if (strcmp(codes[i], code) == 0) return true;
  return false;
}

bool surg__load_bad_model(surg__loader *L, const char *code, const char *fmt, ...) {
  char text[TEXT_BYTES];
  va_list args;
  if (L->status != SURG_OK || full(L)) return false;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  if (L->lenient) {
    keep(L, SURG_ERROR, SURG__NOWHERE, code, text);
  } else {
    L->ctx->code = code;
    surg__error(L->ctx, SURG_EINVALID, L->src->name, "%s", text);
  }
  return surg__load_found(L, SURG_EINVALID);
}

bool surg__load_unclean(surg__loader *L, uint64_t off, const char *code, const char *fmt, ...) {
  if (L->status != SURG_OK) return false;
  if (!L->all) return true;
  if (full(L)) return false;
  va_list args;
  va_start(args, fmt);
  line(L, L->lenient ? SURG_WARNING : SURG_ERROR, off, code, fmt, args);
  va_end(args);
  return L->lenient ? L->status == SURG_OK : found(L, SURG_EINVALID);
}

/* The message is built only if it will be printed: naming the location costs a walk of the file. */
void surg__load_warn(surg__loader *L, uint64_t off, const char *code, const char *fmt, ...) {
  if (L->probe) return;
  if (L->ctx->warnings >= L->ctx->max_warnings) {
    surg__warn(L->ctx, L->src->name, "one more");
    return;
  }
  va_list args;
  va_start(args, fmt);
  line(L, SURG_WARNING, off, code, fmt, args);
  va_end(args);
}

void surg__load_repaired(surg__loader *L, uint64_t off, const char *fmt, ...) {
  if (++L->repairs > MOST_REPAIRS) return;
  va_list args;
  va_start(args, fmt);
  line(L, SURG_NOTE, off, NULL, fmt, args);
  va_end(args);
}

const char *surg__load_definition(surg__loader *L, const surg_value *v) {
  if (v->producer) {
    const char *path = surg__load_path(L, v->producer->src.field_off);
    size_t n = strlen(path) + sizeof "an output of ";
    char *text = surg__arena_alloc(&L->scratch, n);
    if (!text) return "an output of another node";
    snprintf(text, n, "an output of %s", path);
    return text;
  }
  if (v->undefined) return "a value that is read and not defined";
  return v->input ? "an input" : "an initializer";
}
