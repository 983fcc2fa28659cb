/* SPDX-License-Identifier: Apache-2.0 */
/* Details of a page: nodes with their attributes, values with their types and statistics. */
#include <math.h>
#include <onnxsurg/info.h>

#include "schema/schema.h"
#include "view/page.h"

#define STATISTICS_ALL (UINT64_C(1) << 25)  /* elements of all weights that are read */
#define STATISTICS_MOST (UINT64_C(1) << 20) /* ... of one */
#define STATISTICS_LEAST 4096u
#define ATTRS_MOST 64u      /* attributes of a node that are listed */
#define METADATA_MOST 16u   /* entries of metadata of a node */
#define METADATA_SHOWN 200u /* bytes of one */

static void put_number(surg__page *p, double x) {
  if (isfinite(x))
    surg__buf_printf(p->b, "%.6g", x);
  else
    surg__buf_puts(p->b, "null");
}

/* ---- nodes -------------------------------------------------------------------------------------
 */

static void put_formals(surg__page *p, const char *key, const surg_schema *s, bool output) {
  surg__page_key(p, key);
  surg__buf_putc(p->b, '[');
  const size_t n = output ? s->n_outputs : s->n_inputs;
  for (size_t i = 0; i < n; i++) {
    surg__page_comma(p, i);
    surg__page_string(p, surg__schema_formal(s, output, i)->name);
  }
  surg__buf_putc(p->b, ']');
}

static void put_ids(surg__page *p, const char *key, const surg_node *n, bool output) {
  const size_t count = output ? surg_node_output_count(n) : surg_node_input_count(n);
  surg__page_key(p, key);
  surg__buf_putc(p->b, '[');
  for (size_t i = 0; i < count && i < VIEW_MOST_ENDS; i++) {
    const surg_value *v = output ? surg_node_output(n, i) : surg_node_input(n, i);
    surg__page_comma(p, i);
    surg__buf_printf(p->b, "%lld", (long long)(v ? surg__page_id(&p->values, v) : -1));
  }
  surg__buf_putc(p->b, ']');
  if (count <= VIEW_MOST_ENDS) return;
  surg__page_key(p, output ? "more_y" : "more_i");
  surg__buf_printf(p->b, "%zu", count - VIEW_MOST_ENDS);
}

static void put_attrs(surg__page *p, const surg_node *n) {
  const size_t count = surg_node_attr_count(n);
  size_t put = 0;
  surg__page_key(p, "a");
  surg__buf_putc(p->b, '[');
  for (size_t i = 0; i < count && put < ATTRS_MOST; i++) {
    const surg_attr *a = surg_node_attr_at(n, i);
    const surg_attr_kind kind = surg_attr_get_kind(a);
    surg__buf text;
    if (kind == SURG_ATTR_GRAPH || kind == SURG_ATTR_GRAPHS) continue; /* lines of the box */
    surg__buf_init(&text, p->v->ctx);
    surg__view_attr(p->v, &text, a);
    const char *plain = surg__view_text(p->v, &text);
    surg__page_comma(p, put++);
    surg__buf_putc(p->b, '[');
    surg__page_string(p, surg_attr_name(a));
    surg__buf_putc(p->b, ',');
    surg__page_string(p, plain ? plain : "");
    surg__buf_putc(p->b, ']');
  }
  surg__buf_putc(p->b, ']');
}

static void put_metadata(surg__page *p, const surg_node *n) {
  const size_t count = surg_node_metadata_count(n);
  if (!count && !*surg_node_doc(n)) return;
  surg__page_key(p, "m");
  surg__buf_putc(p->b, '[');
  size_t put = 0;
  for (size_t i = 0; i <= count && i < METADATA_MOST; i++) {
    const char *key = i ? surg_node_metadata_key(n, i - 1) : "doc_string";
    const char *value = i ? surg_node_metadata(n, key) : surg_node_doc(n);
    surg__buf text;
    if (!value || !*value) continue;
    surg__page_comma(p, put++);
    surg__buf_init(&text, p->v->ctx);
    surg__buf_escape(&text, value, strlen(value), METADATA_SHOWN);
    const char *plain = surg__view_text(p->v, &text);
    surg__buf_putc(p->b, '[');
    surg__page_string(p, key);
    surg__buf_putc(p->b, ',');
    surg__page_string(p, plain ? plain : "");
    surg__buf_putc(p->b, ']');
  }
  surg__buf_putc(p->b, ']');
}

static void put_node(surg__page *p, const surg_node *n) {
  const surg_schema *s = surg_node_schema(n);
  surg__buf_putc(p->b, '{');
  surg__page_key(p, "o");
  surg__page_string(p, surg_node_op_type(n));
  if (*surg_node_domain(n)) {
    surg__page_key(p, "d");
    surg__page_string(p, surg_node_domain(n));
  }
  if (*surg_node_name(n)) {
    surg__page_key(p, "n");
    surg__page_string(p, surg_node_name(n));
  }
  if (s) {
    surg__page_key(p, "s");
    surg__buf_printf(p->b, "%lld", (long long)surg__page_id(&p->schemas, s));
  }
  surg__page_key(p, "p");
  surg__buf_printf(p->b, "%u", p->places[surg__view_number(p->v, n)]);
  const surg_node *pair = p->other ? surg_diff_node(p->v->diff, n) : NULL;
  if (pair) {
    surg__page_key(p, "pair");
    surg__buf_printf(p->b, "%lld", (long long)surg__page_id(&p->other->nodes, pair));
  }
  put_ids(p, "i", n, false);
  put_ids(p, "y", n, true);
  put_attrs(p, n);
  put_metadata(p, n);
  surg__buf_putc(p->b, '}');
}

void surg__page_nodes(surg__page *p) {
  surg__page_key(p, "schemas");
  surg__buf_putc(p->b, '[');
  for (size_t i = 0; i < p->nodes.items.count; i++) {
    const surg_schema *s = surg_node_schema(p->nodes.items.items[i]);
    const size_t before = p->schemas.items.count;
    if (!s) continue;
    if (surg__view_map_add(p->v->ctx, &p->schemas, s) == VIEW_NONE) p->b->failed = true;
    if (p->schemas.items.count == before) continue;
    surg__page_comma(p, before);
    surg__buf_putc(p->b, '{');
    surg__page_key(p, "v");
    surg__buf_printf(p->b, "%d", s->since);
    put_formals(p, "i", s, false);
    put_formals(p, "y", s, true);
    surg__buf_putc(p->b, '}');
  }
  surg__buf_putc(p->b, ']');
  surg__page_key(p, "nodes");
  surg__buf_puts(p->b, "[\n");
  for (size_t i = 0; i < p->nodes.items.count; i++) {
    if (i) surg__buf_puts(p->b, ",\n");
    put_node(p, p->nodes.items.items[i]);
  }
  surg__buf_putc(p->b, ']');
}

/* ---- values ------------------------------------------------------------------------------------
 */

static surg_tensor *tensor_of(const surg_value *v) {
  surg_tensor *t = surg_value_constant(v);
  return t ? t : surg_value_initializer(v);
}

static void put_statistics(surg__page *p, const surg_tensor *t, uint64_t most) {
  surg_tensor_statistics s = {.size = sizeof s};
  surg__page_key(p, "bytes");
  surg__buf_printf(p->b, "%llu", (unsigned long long)surg_tensor_bytes(t));
  if (p->v->o.no_weights || surg_tensor_measure(t, most, &s) != SURG_OK || !s.count) return;
  surg__page_key(p, "w");
  surg__buf_printf(p->b, "[%llu,%llu,%llu,%llu,%llu,", (unsigned long long)s.count,
                   (unsigned long long)s.read, (unsigned long long)s.zeros,
                   (unsigned long long)s.nans, (unsigned long long)s.infinities);
  const double numbers[] = {s.low, s.high, s.mean, s.deviation};
  for (size_t i = 0; i < SURG_COUNT(numbers); i++) {
    put_number(p, numbers[i]);
    surg__buf_putc(p->b, ',');
  }
  surg__buf_putc(p->b, '[');
  for (size_t i = 0; i < SURG_STATISTICS_BINS && s.count > 1; i++) {
    surg__page_comma(p, i);
    surg__buf_printf(p->b, "%llu", (unsigned long long)s.bins[i]);
  }
  surg__buf_puts(p->b, "]]");
}

void surg__page_values(surg__page *p) {
  const size_t n = p->values.items.count;
  size_t tensors = 0;
  for (size_t i = 0; i < n; i++) tensors += tensor_of(p->values.items.items[i]) != NULL;
  uint64_t most = STATISTICS_ALL / (tensors + 1);
  if (most > STATISTICS_MOST) most = STATISTICS_MOST;
  if (most < STATISTICS_LEAST) most = STATISTICS_LEAST;
  surg__page_key(p, "values");
  surg__buf_puts(p->b, "[\n");
  for (size_t i = 0; i < n; i++) {
    const surg_value *v = p->values.items.items[i];
    const surg_tensor *t = tensor_of(v);
    const char *type = surg__view_type(p->v, v, 0);
    if (i) surg__buf_puts(p->b, ",\n");
    surg__buf_putc(p->b, '{');
    surg__page_key(p, "n");
    surg__page_string(p, surg_value_name(v));
    if (*type) {
      surg__page_key(p, "t");
      surg__page_string(p, type);
    }
    if (t) put_statistics(p, t, most);
    surg__buf_putc(p->b, '}');
  }
  surg__buf_putc(p->b, ']');
}
