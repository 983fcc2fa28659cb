/* SPDX-License-Identifier: Apache-2.0 */
/* Operators and their versions in the public API (onnxsurg/schema.h). */
#include <onnxsurg/schema.h>

#include "base/diag.h"
#include "schema/bodies.h"
#include "schema/schema.h"
#include "schema/text.h"

_Static_assert(SURG_SCHEMA_COMMUTATIVE == SURG__OP_COMMUTATIVE &&
                   SURG_SCHEMA_ELEMENTWISE == SURG__OP_ELEMENTWISE &&
                   SURG_SCHEMA_DATA_MOVER == SURG__OP_DATA_MOVER &&
                   SURG_SCHEMA_CONTROL_FLOW == SURG__OP_CONTROL_FLOW &&
                   SURG_SCHEMA_NONDETERMINISTIC == SURG__OP_NONDETERMINISTIC &&
                   SURG_SCHEMA_DEPRECATED == SURG__OP_DEPRECATED &&
                   SURG_SCHEMA_TRAINING_MODE == SURG__OP_TRAINING_MODE &&
                   SURG_SCHEMA_HAS_BODY == SURG__OP_HAS_BODY,
               "the public flags are the internal ones");
#define FLAGS                                                                         \
  (SURG_SCHEMA_COMMUTATIVE | SURG_SCHEMA_ELEMENTWISE | SURG_SCHEMA_DATA_MOVER |       \
   SURG_SCHEMA_CONTROL_FLOW | SURG_SCHEMA_NONDETERMINISTIC | SURG_SCHEMA_DEPRECATED | \
   SURG_SCHEMA_TRAINING_MODE | SURG_SCHEMA_HAS_BODY)

const surg_schema *surg_schema_version(int op, size_t i) {
  size_t n = 0;
  const surg_schema *all = surg__schema_versions(op, &n);
  return all && i < n ? &all[i] : NULL;
}

uint32_t surg_schema_flags(const surg_schema *s) {
  return s ? s->flags & FLAGS : 0;
}

/* --- signature --- */

surg_status surg_schema_param_at(const surg_schema *s, bool output, size_t i,
                                 surg_schema_param *out) {
  if (!s || !out) return SURG_EUSAGE;
  if (i >= (output ? s->n_outputs : s->n_inputs)) return SURG_ENOTFOUND;
  const surg__param *p = output ? &s->outputs[i] : &s->inputs[i];
  const uint32_t least = output ? s->min_out : s->min_in;
  const surg_schema_param all = {.size = sizeof all,
                                 .name = p->name,
                                 .type = p->type,
                                 .is_type_param = surg__schema_type_param(s, p) != NULL,
                                 .option = p->option,
                                 .homogeneous = p->homogeneous,
                                 .at_least = least > i ? least - i : 0};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

surg_status surg_schema_type_at(const surg_schema *s, size_t i, surg_schema_type *out) {
  if (!s || !out) return SURG_EUSAGE;
  if (i >= s->n_params) return SURG_ENOTFOUND;
  const surg_schema_type all = {
      .size = sizeof all, .name = s->params[i].name, .types = s->params[i].types};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

surg_status surg_schema_types_text(surg_context *ctx, const surg_schema *s, const char *type,
                                   char **text, uint32_t *groups) {
  if (!ctx || !s || !type || !text) return SURG_EUSAGE;
  const surg__param p = {.name = "", .type = type};
  surg__type_set set;
  surg__buf b;
  surg__buf_init(&b, ctx);
  if (groups) *groups = 0;
  surg__type_set_of(s, &p, &set);
  surg__put_type_set(&b, &set, groups);
  return surg__buf_give(&b, text);
}

const char *surg_schema_group(size_t g, uint32_t *types) {
  if (g >= surg__type_group_count) return NULL;
  if (types) *types = surg__type_groups[g].mask;
  return surg__type_groups[g].name;
}

/* --- attributes --- */

surg_status surg_schema_attr_default(const surg_schema *s, size_t i, surg_schema_default *out) {
  if (!s || !out) return SURG_EUSAGE;
  const surg__attr_def *a = i < s->n_attrs ? &s->attrs[i] : NULL;
  if (!a || !a->has_default) return SURG_ENOTFOUND;
  const surg_schema_default all = {.size = sizeof all,
                                   .kind = (int32_t)a->kind,
                                   .i = a->i,
                                   .f = a->f,
                                   .s = a->s,
                                   .ints = a->ints,
                                   .floats = a->floats,
                                   .strings = a->strings,
                                   .count = a->n};
  surg__struct_out(out, &all, sizeof all);
  return SURG_OK;
}

surg_status surg_schema_default_text(surg_context *ctx, const surg_schema *s, size_t i,
                                     char **text) {
  if (!ctx || !s || !text) return SURG_EUSAGE;
  surg__buf b;
  surg__buf_init(&b, ctx);
  if (i < s->n_attrs) surg__put_default(&b, &s->attrs[i]);
  return surg__buf_give(&b, text);
}

const char *surg_attr_kind_name(int32_t kind) {
  return kind > SURG_ATTR_UNDEFINED && kind <= SURG_ATTR_TYPE_PROTOS
             ? surg__attr_kind_name((surg_attr_kind)kind)
             : NULL;
}

/* --- bodies and steps --- */

const char *surg_schema_body_text(const surg_schema *s, size_t i, int64_t *opset) {
  for (size_t k = 0; s && k < surg__body_count; k++) {
    const surg__body *body = &surg__bodies[k];
    if (body->op != s->op || body->since != s->since || i-- > 0) continue;
    if (opset) *opset = body->opset;
    return body->text;
  }
  return NULL;
}

/* The version before `s`; NULL: it is the first one. */
static const surg_schema *before(const surg_schema *s) {
  return s > surg_schema_version(s->op, 0) ? s - 1 : NULL;
}

surg_status surg_schema_changes(surg_context *ctx, const surg_schema *s, char **text) {
  if (!ctx || !s || !text) return SURG_EUSAGE;
  *text = NULL;
  if (!before(s)) return SURG_ENOTFOUND;
  surg__buf b;
  surg__buf_init(&b, ctx);
  surg__put_changes(&b, before(s), s);
  return surg__buf_give(&b, text);
}

surg_status surg_schema_step(surg_context *ctx, const surg_schema *s, bool down, bool *possible,
                             char **text) {
  if (!ctx || !s || !possible || !text) return SURG_EUSAGE;
  *text = NULL;
  const surg__opset_step *step = before(s) ? surg__step_find(s->op, s->since) : NULL;
  if (!step) return SURG_ENOTFOUND;
  const surg__step_side *side = down ? &step->down : &step->up;
  surg__buf b;
  surg__buf_init(&b, ctx);
  *possible = side->possible;
  surg__put_conditions(&b, side);
  return surg__buf_give(&b, text);
}

const char *surg_schema_step_note(const surg_schema *s) {
  const surg__opset_step *step = s && before(s) ? surg__step_find(s->op, s->since) : NULL;
  return step ? step->note : NULL;
}
