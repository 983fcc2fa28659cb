/* SPDX-License-Identifier: Apache-2.0 */
/* Checks elements in a list field of a tensor message, packed or not: their number and, where
 * the list is wider than the element type, their range. Large lists are read in chunks. */
#include "base/dtype.h"
#include "io/load/load.h"

#define CHUNK 4096u

typedef struct list {
  surg__loader *L;
  const surg__field *tensor;
  surg_tensor *t;
  uint32_t field;
  uint64_t entries; /* number read so far */
  int64_t low, high;
  bool limited;
} list;

/* Sets the valid range of int32_data (uint64_data for UINT32) by element type. */
static void set_range(list *l) {
  l->limited = true;
  switch (l->t->dtype) {
    case SURG_INT8:
      l->low = INT8_MIN, l->high = INT8_MAX;
      break;
    case SURG_INT16:
      l->low = INT16_MIN, l->high = INT16_MAX;
      break;
    case SURG_UINT16:
    case SURG_FLOAT16:
    case SURG_BFLOAT16:
      l->low = 0, l->high = UINT16_MAX;
      break;
    case SURG_UINT32:
      l->low = 0, l->high = UINT32_MAX;
      break;
    case SURG_INT32:
    case SURG_INT64:
    case SURG_UINT64:
      l->limited = false;
      break;
    default:
      l->low = 0, l->high = UINT8_MAX;
      break; /* bytes, and packed types below 8 bits */
  }
}

static bool take(list *l, uint64_t v) {
  int64_t i = l->field == 5 ? (int32_t)(uint32_t)v : (int64_t)v;
  const uint64_t entry = l->entries++;
  if (!l->limited || (i >= l->low && i <= l->high)) return true;
  l->limited = false; /* under CHECK one such finding is enough */
  const bool half = l->t->dtype == SURG_FLOAT16 || l->t->dtype == SURG_BFLOAT16;
  return surg__load_bad(l->L, l->tensor->off, half ? "E119" : "E143",
                        "entry %llu is %lld, out of range for type %s", (unsigned long long)entry,
                        (long long)i, surg__dtype_name(l->t->dtype));
}

/* Reads the varints of a packed list. A varint that crosses the end of a chunk moves to the
 * start of the next. */
static bool take_packed(list *l, surg__span body) {
  uint8_t chunk[CHUNK];
  size_t have = 0;
  uint64_t pos = body.off, end = body.off + body.len;
  while (pos < end || have > 0) {
    size_t more = sizeof chunk - have;
    if (more > end - pos) more = (size_t)(end - pos);
    surg_status s = surg__source_read(l->L->src, pos, chunk + have, more);
    if (s != SURG_OK) return surg__load_stop(l->L, s);
    pos += more;
    have += more;
    size_t at = 0, used;
    uint64_t v;
    while ((used = surg__varint_get(chunk + at, have - at, &v)) > 0) {
      at += used;
      if (!take(l, v)) return false;
    }
    if (at == 0) {
      surg_status bad = surg__wire_error(l->L->src, body.off, "a list that ends within a number");
      return surg__load_stop(l->L, bad);
    }
    memmove(chunk, chunk + at, have - at);
    have -= at;
  }
  return true;
}

static bool take_field(list *l, const surg__field *f) {
  if (l->field == 6) { /* strings */
    l->entries++;
    l->t->bytes += f->body.len;
    return true;
  }
  if (f->wire != SURG__WIRE_BYTES) return l->limited ? take(l, f->value) : (l->entries++, true);
  if (l->field == 4 || l->field == 10) { /* float, double */
    unsigned size = l->field == 4 ? 4 : 8;
    if (f->body.len % size)
      return surg__load_stop(
          l->L, surg__wire_error(l->L->src, f->off, "a list that ends within a number"));
    l->entries += f->body.len / size;
    return true;
  }
  return take_packed(l, f->body);
}

bool surg__load_typed(surg__loader *L, const surg__field *f, surg_tensor *t, uint32_t field,
                      uint64_t entries) {
  list l = {.L = L, .tensor = f, .t = t, .field = field};
  if (field == 5 || field == 7 || field == 11) set_range(&l);
  surg__cursor c = surg__load_cursor(L, f->body);
  surg__field element;
  while (surg__load_next(L, &c, &element))
    if (element.number == field && !take_field(&l, &element)) return false;
  if (L->status != SURG_OK) return false;
  if (l.entries == entries) return true;
  const bool go_on = surg__load_bad(
      L, f->off, "E119", "%s has %llu entries where type and dims need %llu",
      protobuf_c_message_descriptor_get_field(&onnx__tensor_proto__descriptor, field)->name,
      (unsigned long long)l.entries, (unsigned long long)entries);
  return surg__load_kind(L, SURG__DEFECT_COUNT, go_on);
}
