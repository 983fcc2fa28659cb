/* SPDX-License-Identifier: Apache-2.0 */
/* Validates a whole file against the protobuf-c descriptors of the ONNX messages before anything
 * is decoded: tags, lengths, wire types, depth, UTF-8, and the memory that decoding may need.
 * Afterwards every byte outside large payloads is in the source image, or its page was dropped and
 * comes back with the same bytes: readers need not check lengths. */
#include "io/wire.h"
#include "onnx.pb-c.h"

/* Estimated memory of a decoded field or message besides its bytes. */
#define FIELD_COST 16u
#define MESSAGE_COST 128u

typedef struct frame {
  const ProtobufCMessageDescriptor *type;
  uint64_t end;
  uint64_t seen; /* bit i: singular message field i has occurred */
  uint32_t number; /* of its field */
} frame;

typedef struct scan {
  surg__source *src;
  surg_context *ctx;
  frame *stack;
  uint32_t depth, max_depth;
  uint64_t pos, cost;
  surg__oddities *odd; /* NULL: an oddity is an error */
} scan;

static surg_status bad(const scan *s, uint64_t off, const char *why) {
  return surg__wire_error(s->src, off, why);
}

/* Whether the innermost message names a data file: readers that end it at the NUL byte open another
 * file. */
static bool is_location(const scan *s) {
  return s->depth && s->stack[s->depth].type == &onnx__string_string_entry_proto__descriptor &&
         s->stack[s->depth - 1].type == &onnx__tensor_proto__descriptor;
}

static surg_status odd(scan *s, uint64_t off, const char *code, const char *text, bool interface) {
  if (!s->odd || is_location(s)) {
    s->ctx->code = code;
    return bad(s, off, text);
  }
  if (s->odd->all++ >= SURG_LIMIT_WARNINGS) return SURG_OK;
  const surg__oddity found = {code, text, off, interface};
  return surg__vec_push(s->ctx, &s->odd->list, found) ? SURG_OK : surg__oom(s->ctx, s->src->name);
}

/* Whether the innermost message is an input or output of the main graph. */
static bool is_end(const scan *s) {
  const uint32_t number = s->stack[s->depth].number;
  return s->depth == 2 && s->stack[1].type == &onnx__graph_proto__descriptor &&
         s->stack[2].type == &onnx__value_info_proto__descriptor && (number == 11 || number == 12);
}

static surg_status charge(scan *s, uint64_t bytes) {
  s->cost += bytes;
  if (s->cost <= SURG_LIMIT_SKELETON) return SURG_OK;
  return surg__error(s->ctx, SURG_ELIMIT, s->src->name,
                     "byte %llu: the model would need more than %llu MiB without its weights",
                     (unsigned long long)s->pos, SURG_LIMIT_SKELETON >> 20);
}

/* Whether the field is a tensor payload that can remain in the file; the loader counts its
 * elements. */
static bool is_payload(const ProtobufCMessageDescriptor *type, const ProtobufCFieldDescriptor *d) {
  if (type == &onnx__tensor_proto__descriptor)
    return d->type == PROTOBUF_C_TYPE_BYTES || (d->flags & PROTOBUF_C_FIELD_FLAG_PACKED) != 0;
  return d->type == PROTOBUF_C_TYPE_BYTES;
}

/* Checks the elements of a packed list; varints are checked one by one. */
static surg_status check_packed(scan *s, const surg__field *f, const uint8_t *p, uint32_t wire) {
  if (wire != SURG__WIRE_VARINT) {
    unsigned size = wire == SURG__WIRE_32 ? 4 : 8;
    if (f->body.len % size) return bad(s, f->off, "a list that ends within a number");
    return charge(s, f->body.len);
  }
  uint64_t n = f->body.len, at = 0, v;
  while (at < n) {
    size_t used = surg__varint_get(p + at, (size_t)(n - at < 10 ? n - at : 10), &v);
    if (!used) return bad(s, f->off, "a list that ends within a number");
    at += used;
  }
  return charge(s, n * 8);
}

static surg_status enter(scan *s, const surg__field *f, const ProtobufCFieldDescriptor *d) {
  frame *top = &s->stack[s->depth];
  if (d->label != PROTOBUF_C_LABEL_REPEATED) {
    size_t i = (size_t)(d - top->type->fields);
    assert(i < 64);
    const bool again = top->seen >> i & 1;
    const surg_status status =
        again ? odd(s, f->off, "E147", "this message is repeated here", false) : SURG_OK;
    if (status != SURG_OK) return status;
    top->seen |= (uint64_t)1 << i;
  }
  if (s->depth >= s->max_depth) {
    surg__error(s->ctx, SURG_ELIMIT, s->src->name, "byte %llu: messages nest deeper than %u levels",
                (unsigned long long)f->off, s->max_depth);
    return SURG_ELIMIT;
  }
  const ProtobufCMessageDescriptor *type = d->descriptor;
  s->stack[++s->depth] = (frame){type, f->body.off + f->body.len, 0, f->number};
  s->pos = f->body.off;
  return charge(s, type->sizeof_message + MESSAGE_COST);
}

static surg_status check_bytes(scan *s, const surg__field *f, const ProtobufCFieldDescriptor *d,
                               uint32_t wire) {
  const ProtobufCMessageDescriptor *type = s->stack[s->depth].type;
  if (f->body.len >= SURG_LIMIT_PAYLOAD_SKIP && !s->src->resident && is_payload(type, d))
    return SURG_OK;
  const uint8_t *p;
  surg_status status = surg__source_peek(s->src, f->body.off, f->body.len, &p);
  if (status != SURG_OK) return status;
  if (d->type == PROTOBUF_C_TYPE_STRING) {
    if (!surg__utf8_valid(p, (size_t)f->body.len))
      status = odd(s, f->off, "E149", "text that is not valid UTF-8 or contains a NUL byte",
                   f->number == 1 && is_end(s));
    if (status != SURG_OK) return status;
    return charge(s, f->body.len + FIELD_COST);
  }
  if (d->type == PROTOBUF_C_TYPE_BYTES) return charge(s, FIELD_COST);
  return check_packed(s, f, p, wire);
}

static surg_status check_field(scan *s, const surg__field *f) {
  if (f->wire == SURG__WIRE_GROUP)
    return odd(s, f->off, "E148", "a group, which ONNX does not have", false);
  const ProtobufCFieldDescriptor *d =
      protobuf_c_message_descriptor_get_field(s->stack[s->depth].type, f->number);
  if (!d) { /* unknown: kept unchanged */
    s->src->unknown++;
    return SURG_OK;
  }
  uint32_t wire = surg__wire_of(d->type);
  bool packed = d->label == PROTOBUF_C_LABEL_REPEATED && wire != SURG__WIRE_BYTES &&
                f->wire == SURG__WIRE_BYTES;
  if (f->wire != wire && !packed)
    return odd(s, f->off, "E148", "a field with the wrong wire type", false);
  if (d->type == PROTOBUF_C_TYPE_MESSAGE) return enter(s, f, d);
  if (f->wire == SURG__WIRE_BYTES) return check_bytes(s, f, d, wire);
  return charge(s, d->label == PROTOBUF_C_LABEL_REPEATED ? 8 : 0);
}

#define TICK 1024u /* fields between two calls of the user's callbacks */

static surg_status tick(scan *s) {
  if (!surg__tick(s->ctx, SURG_PHASE_READ, s->pos, s->src->size)) return SURG_OK;
  return surg__error(s->ctx, SURG_ECANCELLED, s->src->name, "cancelled");
}

static surg_status run(scan *s) {
  for (uint64_t fields = 0;; fields++) {
    surg_status status = fields % TICK ? SURG_OK : tick(s);
    if (status != SURG_OK) return status;
    while (s->pos == s->stack[s->depth].end) {
      if (s->depth == 0) return tick(s);
      s->depth--;
    }
    surg__field f;
    const char *why = NULL;
    uint64_t next;
    int r = surg__wire_read_any(s->src, s->pos, s->stack[s->depth].end, &f, &next, &why);
    if (r != 1) return why ? bad(s, s->pos, why) : (surg_status)r;
    s->pos = next;
    status = check_field(s, &f); /* entering a message sets pos */
    if (status != SURG_OK) return status;
    surg__source_drop(s->src);
  }
}

surg_status surg__scan_model(surg__source *src, uint32_t max_depth, surg__oddities *odd) {
  scan s = {.src = src, .ctx = src->ctx, .odd = odd};
  s.max_depth = max_depth < SURG_LIMIT_DEPTH_MOST ? max_depth : SURG_LIMIT_DEPTH_MOST;
  s.stack = surg__calloc(s.ctx, (size_t)s.max_depth + 1, sizeof *s.stack);
  if (!s.stack) return surg__oom(s.ctx, src->name);
  s.stack[0] = (frame){&onnx__model_proto__descriptor, src->size, 0, 0};
  surg_status status = run(&s);
  surg__free(s.ctx, s.stack);
  return status;
}
