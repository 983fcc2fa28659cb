/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a model under repair: its inputs and outputs as a caller sees them, and the
 * Casts that can still be left to the caller. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <onnxsurg/names.h>

#include "pass/pass.h"
#include "repair/repair.h"

#define NUMBERED 64 /* outputs that change their type at once, at most */

static int dtype_of(const surg_type *t) {
  return t && surg_type_get_kind(t) == SURG_TYPE_TENSOR ? surg_type_dtype(t) : SURG_UNDEFINED;
}

/* The declared element type of an output; if it has none, the inferred one. */
static int output_dtype(surg_model *m, size_t i) {
  const surg_graph *g = surg_model_graph(m);
  const surg_type *t = surg_graph_output_type(g, i);
  if (!t && surg_model_infer(m) == SURG_OK) t = surg_value_type(surg_graph_output(g, i));
  return dtype_of(t);
}

/* Starts a line. The name is preceded by its length, as it may contain any character. */
static void put_head(surg__buf *out, bool output, const char *name, int dtype) {
  surg__buf_printf(out, "%c%zu:%s:%d", output ? 'o' : 'i', strlen(name), name, dtype);
}

surg_status surg__repair_put_interface(surg_model *m, surg__buf *out) {
  const surg_graph *g = surg_model_graph(m);
  out->n = 0;
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    const surg_type *t = surg_value_declared_type(v);
    /* Below IR version 4 weights are listed as inputs; callers do not supply them. */
    if (surg_value_constant(v)) continue;
    put_head(out, false, surg_value_name(v), dtype_of(t));
    for (size_t k = 0; dtype_of(t) && k < surg_type_rank(t); k++)
      if (!surg_value_is_initializer(v))
        surg__buf_printf(out, ",%lld", (long long)surg_type_dim(t, k)->value);
    if (t && !dtype_of(t)) surg__buf_printf(out, ",kind %d", (int)surg_type_get_kind(t));
    surg__buf_putc(out, '\n');
  }
  for (size_t i = 0; i < surg_graph_output_count(g); i++) {
    put_head(out, true, surg_value_name(surg_graph_output(g, i)), output_dtype(m, i));
    surg__buf_putc(out, '\n');
  }
  return out->failed ? SURG_ENOMEM : SURG_OK;
}

/* The element type of this name in the original interface, or `now` if it is missing. Both
 * interfaces have the same order, so the search continues at *at, where the last one ended. */
static int was_of(const surg__buf *origin, size_t *at, bool output, const char *name, int now) {
  surg__buf head;
  int was = now;
  surg__buf_init(&head, origin->ctx);
  surg__buf_printf(&head, "%c%zu:%s:", output ? 'o' : 'i', strlen(name), name);
  for (size_t i = *at; !head.failed && i + head.n < origin->n;) {
    const char *end = memchr(origin->p + i, '\n', origin->n - i);
    if (!memcmp(origin->p + i, head.p, head.n)) {
      was = atoi(origin->p + i + head.n);
      *at = i;
      break;
    }
    i = end ? (size_t)(end - origin->p) + 1 : origin->n;
  }
  surg__buf_free(&head);
  return was;
}

typedef struct leaving {
  const surg__buf *origin;
  surg__buf *out;
  size_t at, n;
} leaving;

static void leave_out(leaving *l, bool output, const char *name, int now) {
  const int was = was_of(l->origin, &l->at, output, name, now);
  /* float16 converts to float exactly: that Cast does not matter. */
  if (was == now || (now == SURG_FLOAT && (was == SURG_FLOAT16 || was == SURG_BFLOAT16))) return;
  surg__buf_puts(l->out, l->n++ ? "+" : "{except=");
  surg__pipeline_quote(l->out, name);
}

bool surg__repair_uncast(surg_model *m, const surg__buf *origin, surg__buf *out) {
  const surg_graph *g = surg_model_graph(m);
  leaving l = {.origin = origin, .out = out};
  surg__buf_puts(out, "drop-io-casts");
  for (size_t i = 0; i < surg_graph_input_count(g); i++) {
    const surg_value *v = surg_graph_input(g, i);
    leave_out(&l, false, surg_value_name(v), dtype_of(surg_value_declared_type(v)));
  }
  for (size_t i = 0; i < surg_graph_output_count(g); i++)
    leave_out(&l, true, surg_value_name(surg_graph_output(g, i)), output_dtype(m, i));
  surg__buf_puts(out, l.n ? "},rewrite{rule=nop-cast},prune" : ",rewrite{rule=nop-cast},prune");
  surg__buf_putc(out, 0);
  return !out->failed;
}

bool surg__repair_numbers(surg_model *m, surg__buf *out) {
  const surg_graph *g = surg_model_graph(m);
  size_t n = 0;
  surg__buf_puts(out, "io-type{");
  for (size_t i = 0; i < surg_graph_output_count(g) && n < NUMBERED; i++) {
    if (output_dtype(m, i) != SURG_BOOL) continue;
    if (n++) surg__buf_putc(out, ',');
    surg__pipeline_quote(out, surg_value_name(surg_graph_output(g, i)));
    surg__buf_puts(out, "=float");
  }
  surg__buf_puts(out, "},replace{op=Cast},prune");
  surg__buf_putc(out, 0);
  return n > 0 && !out->failed;
}

/* --- a list of changes --- */

/* Inputs or outputs of a model, with their types as callers see them. */
static const surg_value *end_at(const surg_graph *g, bool output, size_t i) {
  return output ? surg_graph_output(g, i) : surg_graph_input(g, i);
}

static size_t end_count(const surg_graph *g, bool output) {
  return output ? surg_graph_output_count(g) : surg_graph_input_count(g);
}

static const surg_type *end_type(const surg_graph *g, bool output, size_t i) {
  return output ? surg_graph_output_type(g, i) : surg_value_declared_type(surg_graph_input(g, i));
}

/* The input or output of this name, searched from the same index on; SIZE_MAX: there is none. */
static size_t find_end(const surg_graph *g, bool output, const char *name, size_t near) {
  const size_t n = end_count(g, output);
  for (size_t k = 0; k < n; k++) {
    const size_t i = (near + k) % n;
    if (!strcmp(surg_value_name(end_at(g, output, i)), name)) return i;
  }
  return SIZE_MAX;
}

static bool put_change(surg__buf *out, bool output, const char *name, const char *was,
                       const char *now) {
  if (!was || !now || !strcmp(was, now)) return was && now;
  surg__buf_printf(out, "%s ", output ? "output" : "input");
  surg__buf_putc(out, '"');
  surg__buf_escape(out, name, strlen(name), 0);
  surg__buf_printf(out, "\": %s -> %s", was, now);
  surg__buf_putc(out, 0);
  return true;
}

static surg_status put_ends(surg_model *before, surg_model *after, bool output, surg__buf *out) {
  const surg_graph *g = surg_model_graph(before), *h = surg_model_graph(after);
  bool good = true;
  for (size_t i = 0; i < end_count(g, output) && good && !out->failed; i++) {
    const surg_value *v = end_at(g, output, i);
    char *was = NULL, *now = NULL;
    if (!output && surg_value_constant(v)) continue; /* a weight below IR version 4 */
    const size_t k = find_end(h, output, surg_value_name(v), i);
    good = surg_type_text(out->ctx, end_type(g, output, i), &was) == SURG_OK &&
           (k == SIZE_MAX || surg_type_text(out->ctx, end_type(h, output, k), &now) == SURG_OK);
    if (good) good = put_change(out, output, surg_value_name(v), was, now ? now : "removed");
    surg_context_free_bytes(out->ctx, was);
    surg_context_free_bytes(out->ctx, now);
  }
  for (size_t i = 0; i < end_count(h, output) && good && !out->failed; i++) {
    const char *name = surg_value_name(end_at(h, output, i));
    char *now = NULL;
    if (find_end(g, output, name, i) != SIZE_MAX) continue;
    good = surg_type_text(out->ctx, end_type(h, output, i), &now) == SURG_OK;
    if (good) good = put_change(out, output, name, "new", now);
    surg_context_free_bytes(out->ctx, now);
  }
  return good && !out->failed ? SURG_OK : surg__alloc_status(out->ctx);
}

surg_status surg__repair_put_changes(surg_model *before, surg_model *after, surg__buf *out) {
  const surg_status s = put_ends(before, after, false, out);
  return s == SURG_OK ? put_ends(before, after, true, out) : s;
}
