/* SPDX-License-Identifier: Apache-2.0 */
/* Printer of ONNX text: attributes, nodes, graphs, functions and the model. Reads the wire
 * format in place; surg__text_check has bounded the depth. */
#include "io/text/codec.h"

#define MODEL &onnx__model_proto__descriptor
#define GRAPH &onnx__graph_proto__descriptor
#define NODE &onnx__node_proto__descriptor
#define ATTR &onnx__attribute_proto__descriptor
#define FUNCTION &onnx__function_proto__descriptor
#define VALUE_INFO &onnx__value_info_proto__descriptor
#define IMPORT &onnx__operator_set_id_proto__descriptor

static bool bytes_of(surg__tmsg m, uint32_t number, surg__tmsg *out) {
  surg__tfield f;
  *out = (surg__tmsg){NULL, 0};
  if (!surg__text_get(m, number, SURG__WIRE_BYTES, &f)) return false;
  *out = f.bytes;
  return true;
}

/* Removes fields from *m up to the next length-delimited one with that number. */
static bool each(surg__tmsg *m, uint32_t number, surg__tmsg *out) {
  surg__tfield f;
  while (surg__text_next(m, &f) > 0) {
    if (f.number != number || f.wire != SURG__WIRE_BYTES) continue;
    *out = f.bytes;
    return true;
  }
  return false;
}

/* Prints a list of names; returns whether it is non-empty. */
static bool put_names(surg__tprint *p, surg__tmsg m, uint32_t number, bool typed) {
  surg__tmsg s;
  bool first = true;
  for (; each(&m, number, &s); first = false) {
    if (!first) surg__buf_put(p->out, ", ", 2);
    if (typed)
      surg__print_name(p, s);
    else
      surg__print_ident(p, s);
  }
  return !first;
}

/* --- attributes --- */

/* The kind of an attribute without a type: that of its only value field; else 0. */
static unsigned kind_of_fields(uint64_t seen) {
  unsigned found = 0;
  for (unsigned k = 1; surg__text_attr_kind(k); k++) {
    if (!(seen & SURG__BIT(surg__text_attr_field(k)))) continue;
    if (found) return 0;
    found = k;
  }
  return found;
}

static bool kind_is_list(unsigned kind) {
  switch (kind) {
    case SURG_ATTR_FLOATS:
    case SURG_ATTR_INTS:
    case SURG_ATTR_STRINGS:
    case SURG_ATTR_TENSORS:
    case SURG_ATTR_GRAPHS:
    case SURG_ATTR_SPARSE_TENSORS:
    case SURG_ATTR_TYPE_PROTOS:
      return true;
    default:
      return false;
  }
}

static void put_attr_message(surg__tprint *p, unsigned kind, surg__tmsg m) {
  switch (kind) {
    case SURG_ATTR_STRING:
    case SURG_ATTR_STRINGS:
      surg__print_quoted(p, m.p, m.n);
      break;
    case SURG_ATTR_TENSOR:
    case SURG_ATTR_TENSORS:
      surg__print_tensor(p, m, false);
      break;
    case SURG_ATTR_GRAPH:
    case SURG_ATTR_GRAPHS:
      surg__print_graph(p, m, !p->strict);
      break;
    case SURG_ATTR_TYPE_PROTO:
    case SURG_ATTR_TYPE_PROTOS:
      surg__print_type(p, m);
      break;
    default:
      surg__print_block(p, &onnx__sparse_tensor_proto__descriptor, m);
  }
}

static void put_attr_value(surg__tprint *p, surg__tmsg m, unsigned kind) {
  uint32_t number = surg__text_attr_field(kind);
  const surg__fdesc *fd = protobuf_c_message_descriptor_get_field(ATTR, number);
  surg__tfield f;
  surg__tmsg one;
  bool first = true;
  if (surg__wire_of(fd->type) != SURG__WIRE_BYTES) {
    if (kind_is_list(kind)) surg__buf_putc(p->out, '[');
    if (kind_is_list(kind)) {
      surg__print_list(p, m, ATTR, number);
    } else {
      (void)surg__text_get(m, number, surg__wire_of(fd->type), &f);
      if (kind == SURG_ATTR_FLOAT)
        surg__print_float(p, (uint32_t)f.value);
      else
        surg__buf_printf(p->out, "%lld", (long long)f.value);
    }
    if (kind_is_list(kind)) surg__buf_putc(p->out, ']');
  } else if (!kind_is_list(kind)) {
    (void)bytes_of(m, number, &one);
    put_attr_message(p, kind, one);
  } else {
    surg__buf_putc(p->out, '[');
    for (; each(&m, number, &one); first = false) {
      if (!first) surg__buf_put(p->out, ", ", 2);
      put_attr_message(p, kind, one);
    }
    surg__buf_putc(p->out, ']');
  }
}

/* Whether the printed value alone determines the kind. */
static bool kind_is_seen(unsigned kind, surg__tmsg m) {
  uint32_t number = surg__text_attr_field(kind);
  surg__tnums it;
  surg__tmsg one;
  uint64_t v;
  if (kind > SURG_ATTR_GRAPHS) return false;
  if (kind == SURG_ATTR_FLOATS || kind == SURG_ATTR_INTS) {
    it = surg__text_nums(m, ATTR, number);
    return surg__text_nums_next(&it, &v);
  }
  return !kind_is_list(kind) || each(&m, number, &one);
}

static bool kind_has_suffix(unsigned kind) {
  return kind == SURG_ATTR_TENSOR || kind == SURG_ATTR_GRAPH || kind == SURG_ATTR_TYPE_PROTO;
}

/* Whether text without extensions can express the attribute. */
static bool strict_attr(unsigned kind, bool valued) {
  return valued && kind != SURG_ATTR_SPARSE_TENSOR && kind != SURG_ATTR_SPARSE_TENSORS;
}

static void put_attr(surg__tprint *p, surg__tmsg m) {
  surg__tmsg name, ref;
  surg__tfield f;
  bool unknown, named = bytes_of(m, 1, &name), by_ref = bytes_of(m, 21, &ref);
  uint64_t seen = surg__text_seen(ATTR, m, &unknown);
  uint64_t said = SURG__BIT(1), missing = named ? 0 : SURG__BIT(1);
  bool typed = surg__text_get(m, 20, SURG__WIRE_VARINT, &f);
  unsigned kind = typed && f.value < 15 ? (unsigned)f.value : 0;
  bool valued = by_ref ? (kind || !typed) : false;
  if (!by_ref && typed && kind)
    valued = kind_is_list(kind) || (seen & SURG__BIT(surg__text_attr_field(kind)));
  if (!by_ref && !typed) {
    kind = kind_of_fields(seen);
    valued = kind != 0;
    if (valued) missing |= SURG__BIT(20);
  }
  surg__print_word(p, name);
  if (valued) {
    said |= SURG__BIT(20);
    if (kind && (p->strict || by_ref || !kind_is_seen(kind, m)))
      surg__buf_printf(p->out, ": %s", surg__text_attr_kind(kind));
    surg__buf_puts(p->out, " = ");
    if (by_ref) {
      surg__buf_putc(p->out, '@');
      surg__print_ident(p, ref);
      said |= SURG__BIT(21);
    } else {
      put_attr_value(p, m, kind);
      said |= SURG__BIT(surg__text_attr_field(kind));
    }
    /* A block after a tensor, graph or type belongs to that value; an empty one there makes the
     * next block the attribute's. */
    if (!by_ref && kind_has_suffix(kind) && p->suffix_end != p->out->n &&
        surg__print_needs_suffix(p, ATTR, m, said, missing))
      surg__buf_puts(p->out, " @{}");
  }
  surg__print_suffix(p, ATTR, m, said, missing, !valued);
}

/* Whether the attribute is printed; strict text omits attributes without a standard form. */
static bool attr_is_said(surg__tprint *p, surg__tmsg m) {
  surg__tfield f;
  bool unknown;
  if (!p->strict) return true;
  uint64_t seen = surg__text_seen(ATTR, m, &unknown);
  unsigned kind = kind_of_fields(seen);
  if (surg__text_get(m, 20, SURG__WIRE_VARINT, &f)) kind = f.value < 15 ? (unsigned)f.value : 0;
  bool valued = (seen & SURG__BIT(21)) ||
                (kind && (kind_is_list(kind) || (seen & SURG__BIT(surg__text_attr_field(kind)))));
  if (strict_attr(kind, valued)) return true;
  surg__print_dropped(p, NULL, NULL, "attributes dropped that have no form", 1);
  return false;
}

static void put_attrs(surg__tprint *p, surg__tmsg m, uint32_t number) {
  surg__tmsg a;
  bool first = true;
  while (each(&m, number, &a)) {
    if (!attr_is_said(p, a)) continue;
    surg__buf_puts(p->out, first ? " <" : ", ");
    first = false;
    put_attr(p, a);
  }
  if (!first) surg__buf_putc(p->out, '>');
}

/* --- nodes --- */

/* Whether a domain consists of identifiers separated by dots, as in official text. */
static bool dotted(surg__tmsg s) {
  size_t from = 0;
  for (size_t i = 0; i <= s.n; i++) {
    if (i < s.n && s.p[i] != '.') continue;
    if (!surg__text_is_ident((const char *)s.p + from, i - from)) return false;
    from = i + 1;
  }
  return s.n != 0;
}

/* Prints `domain.op:overload`. A leading dot: the domain is present in the model, but empty. */
static void put_op(surg__tprint *p, surg__tmsg domain, surg__tmsg op, bool overloaded,
                   surg__tmsg overload) {
  if (!domain.n) {
    if (domain.p && !p->strict) surg__buf_putc(p->out, '.');
  } else {
    if (dotted(domain))
      surg__buf_put(p->out, domain.p, domain.n);
    else
      surg__print_word(p, domain);
    surg__buf_putc(p->out, '.');
  }
  surg__print_word(p, op);
  if (overloaded && (!p->strict || overload.n)) {
    surg__buf_putc(p->out, ':');
    surg__print_word(p, overload);
  }
}

static bool has_subgraph(surg__tmsg m) {
  surg__tmsg a, g;
  while (each(&m, 5, &a))
    if (bytes_of(a, 6, &g) || bytes_of(a, 11, &g)) return true;
  return false;
}

static void put_node(surg__tprint *p, surg__tmsg m) {
  surg__tmsg name, op, domain, overload;
  uint64_t said = SURG__BIT(1) | SURG__BIT(2) | SURG__BIT(3) | SURG__BIT(4) | SURG__BIT(5) |
                  SURG__BIT(7) | SURG__BIT(8);
  bool overloaded = bytes_of(m, 8, &overload);
  bool sub = has_subgraph(m);
  surg__print_indent(p);
  if (bytes_of(m, 3, &name)) {
    surg__buf_putc(p->out, '[');
    surg__print_ident(p, name);
    surg__buf_put(p->out, "] ", 2);
  }
  if (put_names(p, m, 2, false)) surg__buf_putc(p->out, ' ');
  surg__buf_put(p->out, "= ", 2);
  bool typed = bytes_of(m, 4, &op);
  (void)bytes_of(m, 7, &domain);
  put_op(p, domain, op, overloaded, overload);
  if (!sub) put_attrs(p, m, 5);
  surg__buf_put(p->out, " (", 2);
  put_names(p, m, 1, false);
  surg__buf_putc(p->out, ')');
  if (sub) put_attrs(p, m, 5);
  surg__print_suffix(p, NODE, m, said, typed ? 0 : SURG__BIT(4), false);
}

static void put_nodes(surg__tprint *p, surg__tmsg m, uint32_t number) {
  surg__tmsg n;
  surg__buf_putc(p->out, '{');
  p->indent++;
  while (!p->out->failed && each(&m, number, &n)) put_node(p, n);
  p->indent--;
  surg__print_indent(p);
  surg__buf_putc(p->out, '}');
}

/* --- graphs --- */

static void put_value_info(surg__tprint *p, surg__tmsg m) {
  surg__tmsg name, type;
  bool named = bytes_of(m, 1, &name);
  if (bytes_of(m, 2, &type)) {
    if (!p->strict || surg__print_type_plain(type)) {
      surg__print_type(p, type);
      surg__buf_putc(p->out, ' ');
    } else {
      surg__print_dropped(p, NULL, NULL, "types dropped that have no form", 1);
    }
  }
  surg__print_name(p, name);
  surg__print_suffix(p, VALUE_INFO, m, SURG__BIT(1) | SURG__BIT(2), named ? 0 : SURG__BIT(1),
                     false);
}

static void put_interface(surg__tprint *p, surg__tmsg m, uint32_t number) {
  surg__tmsg v;
  surg__buf_putc(p->out, '(');
  for (bool first = true; each(&m, number, &v); first = false) {
    if (!first) surg__buf_put(p->out, ", ", 2);
    put_value_info(p, v);
  }
  surg__buf_putc(p->out, ')');
}

/* Prints the `<...>` list: initializers, then value_info, one per line. */
static void put_values(surg__tprint *p, surg__tmsg m, uint32_t initializers, uint32_t infos) {
  surg__tmsg rest = m, v;
  surg__tfield f;
  bool first = true;
  p->indent++;
  while (initializers && !p->out->failed && each(&rest, initializers, &v)) {
    if (p->strict &&
        (!surg__text_get(v, 2, SURG__WIRE_VARINT, &f) || !surg__text_list_field((int)f.value))) {
      surg__print_dropped(p, NULL, NULL, "initializers of unknown element type dropped", 1);
      continue;
    }
    surg__buf_puts(p->out, first ? " <" : ",");
    first = false;
    surg__print_indent(p);
    surg__print_tensor(p, v, true);
  }
  for (rest = m; !p->out->failed && each(&rest, infos, &v); first = false) {
    surg__buf_puts(p->out, first ? " <" : ",");
    surg__print_indent(p);
    put_value_info(p, v);
  }
  p->indent--;
  if (first) return;
  surg__print_indent(p);
  surg__buf_putc(p->out, '>');
}

void surg__print_graph(surg__tprint *p, surg__tmsg m, bool quotable) {
  surg__tmsg name;
  bool named = bytes_of(m, 2, &name);
  if (quotable || surg__text_is_ident((const char *)name.p, name.n))
    surg__print_name(p, name);
  else
    surg__print_word(p, name);
  surg__buf_putc(p->out, ' ');
  put_interface(p, m, 11);
  surg__buf_puts(p->out, " => ");
  put_interface(p, m, 12);
  put_values(p, m, 5, 13);
  surg__buf_putc(p->out, ' ');
  put_nodes(p, m, 1);
  surg__print_suffix(p, GRAPH, m,
                     SURG__BIT(1) | SURG__BIT(2) | SURG__BIT(5) | SURG__BIT(11) | SURG__BIT(12) |
                         SURG__BIT(13),
                     named ? 0 : SURG__BIT(2), false);
}

/* --- functions and the model --- */

static void put_import(surg__tprint *p, surg__tmsg m) {
  surg__tmsg domain;
  surg__tfield version = {0};
  uint64_t missing = 0;
  if (!bytes_of(m, 1, &domain)) missing |= SURG__BIT(1);
  if (!surg__text_get(m, 2, SURG__WIRE_VARINT, &version)) missing |= SURG__BIT(2);
  surg__print_quoted(p, domain.p, domain.n);
  surg__buf_printf(p->out, " : %lld", (long long)version.value);
  surg__print_suffix(p, IMPORT, m, SURG__BIT(1) | SURG__BIT(2), missing, false);
}

static void put_imports(surg__tprint *p, surg__tmsg m, uint32_t number) {
  surg__tmsg v;
  surg__buf_putc(p->out, '[');
  for (bool first = true; each(&m, number, &v); first = false) {
    if (!first) surg__buf_put(p->out, ", ", 2);
    put_import(p, v);
  }
  surg__buf_putc(p->out, ']');
}

/* Prints the fields of a header in the order of official text; returns whether there are any. */
static bool put_header(surg__tprint *p, surg__tmsg m, const surg__desc *d, const uint8_t *order,
                       size_t n, uint64_t *said) {
  bool unknown, any = false;
  uint64_t seen = surg__text_seen(d, m, &unknown);
  surg__tfield f = {0};
  for (size_t i = 0; i < n; i++) {
    const surg__fdesc *fd = protobuf_c_message_descriptor_get_field(d, order[i]);
    *said |= SURG__BIT(fd->id);
    if (!(seen & SURG__BIT(fd->id))) continue;
    surg__buf_printf(p->out, "%s%s: ", any ? ",\n  " : "<\n  ", fd->name);
    any = true;
    if (fd->label != PROTOBUF_C_LABEL_REPEATED)
      (void)surg__text_get(m, fd->id, surg__wire_of(fd->type), &f);
    if (fd->type == PROTOBUF_C_TYPE_INT64)
      surg__buf_printf(p->out, "%lld", (long long)f.value);
    else if (fd->type == PROTOBUF_C_TYPE_STRING)
      surg__print_quoted(p, f.bytes.p, f.bytes.n);
    else if (fd->descriptor == &onnx__operator_set_id_proto__descriptor)
      put_imports(p, m, fd->id);
    else
      surg__print_pairs(p, m, fd->id);
  }
  if (any) surg__buf_puts(p->out, "\n>");
  return any;
}

static void put_function_attrs(surg__tprint *p, surg__tmsg m) {
  surg__tmsg rest = m, a;
  bool first = true;
  for (; each(&rest, 6, &a); first = false) {
    surg__buf_puts(p->out, first ? " <" : ", ");
    surg__print_ident(p, a);
  }
  for (rest = m; each(&rest, 11, &a);) {
    if (!attr_is_said(p, a)) continue;
    surg__buf_puts(p->out, first ? " <" : ", ");
    first = false;
    put_attr(p, a);
  }
  if (!first) surg__buf_putc(p->out, '>');
}

static void put_function(surg__tprint *p, surg__tmsg m) {
  static const uint8_t order[] = {10, 13, 9, 8}; /* domain overload opset_import doc_string */
  uint64_t said = SURG__BIT(1) | SURG__BIT(4) | SURG__BIT(5) | SURG__BIT(6) | SURG__BIT(7) |
                  SURG__BIT(11) | SURG__BIT(12);
  surg__tmsg name;
  bool named = bytes_of(m, 1, &name);
  surg__buf_putc(p->out, '\n');
  if (put_header(p, m, FUNCTION, order, sizeof order, &said)) surg__buf_putc(p->out, '\n');
  surg__print_name(p, name);
  put_function_attrs(p, m);
  surg__buf_puts(p->out, " (");
  put_names(p, m, 4, true);
  surg__buf_puts(p->out, ") => (");
  put_names(p, m, 5, true);
  surg__buf_putc(p->out, ')');
  put_values(p, m, 0, 12);
  surg__buf_putc(p->out, ' ');
  put_nodes(p, m, 7);
  surg__print_suffix(p, FUNCTION, m, said, named ? 0 : SURG__BIT(1), false);
  surg__buf_putc(p->out, '\n');
}

static void put_model(surg__tprint *p, surg__tmsg m) {
  /* ir_version opset_import producer_name producer_version domain model_version doc_string
   * metadata_props */
  static const uint8_t order[] = {1, 8, 2, 3, 4, 5, 6, 14};
  uint64_t said = SURG__BIT(7) | SURG__BIT(25);
  surg__tmsg graph, rest = m, f;
  bool whole = bytes_of(m, 7, &graph);
  if (!whole) said &= ~SURG__BIT(25); /* in text, functions can only follow a graph */
  bool header = put_header(p, m, MODEL, order, sizeof order, &said);
  bool unknown;
  if (!header && (!whole || (surg__text_seen(MODEL, m, &unknown) & ~said) || unknown)) {
    surg__buf_puts(p->out, "<>");
    header = true;
  }
  surg__print_suffix(p, MODEL, m, said, 0, false);
  if (header) surg__buf_putc(p->out, '\n');
  if (!whole) return;
  surg__print_graph(p, graph, true);
  surg__buf_putc(p->out, '\n');
  while (each(&rest, 25, &f)) put_function(p, f);
}

static void note_dropped(const surg__tprint *p) {
  for (size_t i = 0; i < p->kinds; i++) {
    const surg__fdesc *fd = p->dropped[i].field;
    unsigned long long n = p->dropped[i].count;
    if (fd)
      surg__note(p->ctx, p->name, "plain ONNX text: %llu %s.%s dropped", n,
                 p->dropped[i].desc->short_name, fd->name);
    else
      surg__note(p->ctx, p->name, "plain ONNX text: %llu %s", n, p->dropped[i].what);
  }
}

static surg_status print(surg__tprint *p, surg__tmsg m) {
  const char *why = surg__text_check(MODEL, m, p->ctx->max_depth);
  if (why) return surg__error(p->ctx, SURG_EINVALID, p->name, "no text of it: %s", why);
  put_model(p, m);
  if (p->out->failed) return surg__oom(p->ctx, p->name);
  note_dropped(p);
  return SURG_OK;
}

surg_status surg__text_print(surg_context *ctx, const uint8_t *wire, size_t n, bool strict,
                             const char *name, surg__buf *out) {
  surg__tprint p = {.ctx = ctx, .name = name, .out = out, .strict = strict};
  return print(&p, (surg__tmsg){wire, n});
}

surg_status surg__text_preview(surg_context *ctx, const uint8_t *wire, size_t n, uint64_t most,
                               const char *name, surg__buf *out) {
  surg__tprint p = {.ctx = ctx, .name = name, .out = out, .cut = true, .most = most};
  return print(&p, (surg__tmsg){wire, n});
}
