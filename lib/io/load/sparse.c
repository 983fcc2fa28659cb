/* SPDX-License-Identifier: Apache-2.0 */
/* SparseTensorProto: values, and indices that must be in ascending order and within the dims. It
 * is never converted to a dense tensor. */
#include "io/load/load.h"

#define CHUNK 65536u /* most indices read at a time */

typedef struct indices {
  surg__loader *L;
  const surg__field *f;
  const int64_t *dims;
  size_t rank, columns; /* columns: numbers per element; 1 for linear indices */
  uint64_t dense;
  int64_t last;
  size_t column;
  uint64_t linear;
} indices;

/* Checks the next number of the index list; a complete row must be greater than the row before. */
static bool take_index(indices *x, int64_t v) {
  uint64_t bound = x->columns == 1 && x->rank != 1 ? x->dense : (uint64_t)x->dims[x->column];
  if (v < 0 || (uint64_t)v >= bound)
    return surg__load_bad(x->L, x->f->off, "E120", "index %lld is not within 0 to %llu",
                          (long long)v, (unsigned long long)bound) &&
           false;
  x->linear = x->column == 0 ? (uint64_t)v : x->linear * bound + (uint64_t)v;
  if (++x->column < x->columns) return true;
  x->column = 0;
  if ((int64_t)x->linear <= x->last)
    return surg__load_bad(x->L, x->f->off, "E145", "indices do not rise") && false;
  x->last = (int64_t)x->linear;
  return true;
}

/* Checks all indices. An invalid one ends the check; under CHECK loading continues. */
static bool check_indices(indices *x, const surg_tensor *list) {
  surg__mark mark = surg__arena_mark(&x->L->scratch);
  uint64_t most = list->count < CHUNK ? list->count : CHUNK;
  uint8_t *chunk = surg__arena_alloc(&x->L->scratch, (size_t)most * 8 + 1);
  if (!chunk) return surg__load_oom(x->L);
  bool good = true;
  for (uint64_t at = 0; good && at < list->count;) {
    uint64_t n = list->count - at < most ? list->count - at : most;
    surg_status s = surg_tensor_read(list, at * 8, chunk, (size_t)n * 8);
    if (s != SURG_OK) return surg__load_stop(x->L, s);
    for (size_t i = 0; good && i < n; i++) good = take_index(x, (int64_t)surg__le64(chunk + i * 8));
    at += n;
  }
  surg__arena_reset(&x->L->scratch, mark);
  return x->L->status == SURG_OK;
}

static bool check_shapes(surg__loader *L, const surg__field *f, const surg_tensor *values,
                         const surg_tensor *list, const int64_t *dims, size_t rank) {
  uint64_t dense;
  if (rank == 0) return surg__load_bad(L, f->off, "E144", "has no dims");
  if (!surg__dims_product(dims, rank, &dense))
    return surg__load_bad(L, f->off, "E120", "dims are negative or their product overflows");
  if (values->rank != 1) return surg__load_bad(L, f->off, "E120", "values must have rank 1");
  if (!list)
    return values->count == 0 || surg__load_bad(L, f->off, "E120", "has values and no indices");
  uint64_t nnz = values->count;
  bool linear = list->rank == 1, rows = list->rank == 2 && (uint64_t)list->dims[1] == rank;
  if (list->dtype != SURG_INT64)
    return surg__load_bad(L, f->off, "E120", "indices must be of type int64");
  if (!linear && !rows)
    return surg__load_bad(L, f->off, "E120", "indices must have shape [n] or [n, rank]");
  if ((uint64_t)list->dims[0] != nnz)
    return surg__load_bad(L, f->off, "E120", "has %llu values and %lld indices",
                          (unsigned long long)nnz, (long long)list->dims[0]);
  indices x = {L, f, dims, rank, linear ? 1 : rank, dense, -1, 0, 0};
  return check_indices(&x, list);
}

/* Whether all findings from index `first` on leave type and shape of the tensor known. */
static bool has_header(const surg__loader *L, size_t first) {
  for (size_t i = first; i < L->m->defects.count; i++) {
    const char *code = L->m->defects.items[i].code;
    if (strcmp(code, "E144") != 0 && strcmp(code, "E145") != 0) return false;
  }
  return first < L->m->defects.count;
}

surg_tensor *surg__load_sparse(surg__loader *L, const surg__field *f, const char **name) {
  surg__mark mark = surg__arena_mark(&L->scratch);
  if (name) *name = "";
  surg_tensor *values = NULL, *list = NULL, *t = NULL;
  uint32_t before = L->findings;
  const size_t found = L->m->defects.count;
  surg__cursor c = surg__load_cursor(L, f->body);
  surg__field part;
  while (surg__load_next(L, &c, &part)) {
    if (part.number == 1) values = surg__load_tensor(L, &part, name);
    if (part.number == 2) list = surg__load_tensor(L, &part, NULL);
  }
  Onnx__SparseTensorProto *p = NULL;
  if (L->status == SURG_OK && L->findings == before)
    p = surg__load_leaf(L, &onnx__sparse_tensor_proto__descriptor, f->body, 1u << 1 | 1u << 2);
  if (p && !values)
    surg__load_bad(L, f->off, "E120", "has no values");
  else if (p && check_shapes(L, f, values, list, p->dims, p->n_dims) && L->findings == before) {
    t = surg__tensor_alloc(L->m, values->dtype, p->dims, p->n_dims);
    if (!t) surg__load_oom(L);
  }
  if (!t && L->lenient && L->status == SURG_OK) {
    for (size_t i = found; i < L->m->defects.count; i++)
      L->m->defects.items[i].reading = SURG_READING_NONE; /* it is written as it was read */
    const bool known = p && values && has_header(L, found);
    t = known ? surg__tensor_alloc(L->m, values->dtype, p->dims, p->n_dims)
              : surg__load_shapeless(L, SURG_UNDEFINED, f->body);
    if (t && known) surg__dims_product(p->dims, p->n_dims, &t->count);
    if (t) t->view = SURG__VIEW_SPARSE;
    if (t) t->msg = f->body;
  } else if (t) {
    surg__dims_product(p->dims, p->n_dims, &t->count);
    t->bytes = 0; /* there is no dense data to read */
    t->view = SURG__VIEW_SPARSE;
    t->msg = f->body;
  }
  surg__arena_reset(&L->scratch, mark);
  return L->status == SURG_OK ? t : NULL;
}
