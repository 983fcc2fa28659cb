/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of a model under repair: its inputs and outputs as a caller sees them, and the
 * Casts that can still be left to the caller. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pass/pass.h"
#include "repair/repair.h"

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
