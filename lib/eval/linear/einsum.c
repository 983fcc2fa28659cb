/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum: products of up to 8 operands, summed over the axes that the output lacks. */
#include "eval/core/kernels.h"
#include "eval/core/loop.h"
#include "eval/core/number.h"

#define OPERANDS 8
#define LETTERS 128
#define AXES (52 + SURG_LIMIT_RANK) /* letters, and the axes of "..." */

typedef struct term {
  const char *p;
  uint32_t n;
  uint32_t letters, dots; /* dots: number of axes that "..." represents */
  bool ellipsis;
} term;

typedef struct einsum {
  surg_kctx *k;
  term in[OPERANDS], out;
  bool explicit_out;
  uint32_t dots;          /* maximum over all operands */
  uint32_t n_axes, n_out; /* the axes of the output are first */
  int axis_of[LETTERS];   /* the axis of a letter, or -1 */
  uint32_t seen[LETTERS]; /* occurrences of a letter in all operands */
  uint32_t first_dot;     /* the axis of the first axis of "..." */
  int64_t size[AXES], stride[OPERANDS][AXES];
  const void *data[OPERANDS];
} einsum;

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Parses a term: letters and at most one "...". */
static bool read_term(term *t, const char *p, uint32_t n) {
  *t = (term){.p = p, .n = n};
  for (uint32_t i = 0; i < n; ++i) {
    if (is_letter(p[i])) {
      ++t->letters;
    } else {
      if (t->ellipsis || n - i < 3 || memcmp(p + i, "...", 3) != 0) return false;
      t->ellipsis = true;
      i += 2;
    }
  }
  return true;
}

/* Splits an equation without blanks, such as "ab,bc->ac". */
static bool split_equation(einsum *e, const char *p, uint32_t n) {
  uint32_t end = n, start = 0, terms = 0;
  for (uint32_t i = 0; i + 1 < n && end == n; ++i) {
    if (p[i] == '-' && p[i + 1] == '>') end = i;
  }
  e->explicit_out = end < n;
  if (e->explicit_out && !read_term(&e->out, p + end + 2, n - end - 2)) return false;
  for (uint32_t i = 0; i <= end; ++i) {
    if (i < end && p[i] != ',') continue;
    if (terms == e->k->n_in || !read_term(&e->in[terms++], p + start, i - start)) return false;
    start = i + 1;
  }
  return terms == e->k->n_in;
}

static bool count_axes(einsum *e) {
  for (uint32_t i = 0; i < e->k->n_in; ++i) {
    term *t = &e->in[i];
    uint32_t rank = e->k->in[i].rank;
    if (rank < t->letters || (rank > t->letters && !t->ellipsis)) return false;
    t->dots = rank - t->letters;
    if (t->dots > e->dots) e->dots = t->dots;
    for (uint32_t j = 0; j < t->n; ++j) {
      if (is_letter(t->p[j])) ++e->seen[(unsigned char)t->p[j]];
    }
  }
  return true;
}

static bool add_letter(einsum *e, char c) {
  if (e->axis_of[(unsigned char)c] >= 0 || e->seen[(unsigned char)c] == 0) return false;
  e->axis_of[(unsigned char)c] = (int)e->n_axes;
  e->size[e->n_axes++] = -1;
  return true;
}

static void add_dots(einsum *e) {
  e->first_dot = e->n_axes;
  for (uint32_t i = 0; i < e->dots; ++i) e->size[e->n_axes++] = 1;
}

/* Orders the axes: those of the output, then the summed ones. Without "->" the output has the
 * axes of "...", then the letters that occur once, in alphabetical order. */
static bool name_axes(einsum *e) {
  for (int c = 0; c < LETTERS; ++c) e->axis_of[c] = -1;
  if (e->explicit_out) {
    if (e->dots > 0 && !e->out.ellipsis) return false;
    for (uint32_t j = 0; j < e->out.n; ++j) {
      if (is_letter(e->out.p[j])) {
        if (!add_letter(e, e->out.p[j])) return false;
      } else {
        add_dots(e);
        j += 2;
      }
    }
  } else {
    add_dots(e);
    for (int c = 0; c < LETTERS; ++c) {
      if (e->seen[c] == 1) add_letter(e, (char)c);
    }
  }
  e->n_out = e->n_axes;
  for (int c = 0; c < LETTERS; ++c) {
    if (e->seen[c] > 0 && e->axis_of[c] < 0) add_letter(e, (char)c);
  }
  return true;
}

/* Sets the sizes and strides of an operand. If a letter occurs twice in it, the axis walks the
 * diagonal, so its strides are added. */
static bool place_operand(einsum *e, uint32_t i) {
  const surg__array *a = &e->k->in[i];
  const term *t = &e->in[i];
  int64_t dense[SURG_LIMIT_RANK];
  uint32_t d = 0;
  surg__dense_strides(a->dims, a->rank, dense);
  for (uint32_t j = 0; j < t->n; ++j) {
    if (is_letter(t->p[j])) {
      int axis = e->axis_of[(unsigned char)t->p[j]];
      if (e->size[axis] >= 0 && e->size[axis] != a->dims[d]) return false;
      e->size[axis] = a->dims[d];
      e->stride[i][axis] += dense[d++];
      continue;
    }
    for (uint32_t q = 0; q < t->dots; ++q, ++d) {
      uint32_t axis = e->first_dot + e->dots - t->dots + q;
      if (a->dims[d] == 1) continue;
      if (e->size[axis] != 1 && e->size[axis] != a->dims[d]) return false;
      e->size[axis] = a->dims[d];
      e->stride[i][axis] = dense[d];
    }
    j += 2;
  }
  return true;
}

/* Advances the index over the axes [from, to) by one, and the offset of each operand; false
 * after the last position. */
static bool advance(const einsum *e, uint32_t from, uint32_t to, int64_t *index, int64_t *at) {
  for (uint32_t d = to; d-- > from;) {
    for (uint32_t i = 0; i < e->k->n_in; ++i) at[i] += e->stride[i][d];
    if (++index[d] < e->size[d]) return true;
    for (uint32_t i = 0; i < e->k->n_in; ++i) at[i] -= e->stride[i][d] * e->size[d];
    index[d] = 0;
  }
  return false;
}

static void one_element(const einsum *e, uint64_t to, int64_t *index, int64_t *at) {
  const surg__array *o = &e->k->out[0];
  bool real = surg__is_real(o->dtype);
  double sum = 0;
  uint64_t whole = 0;
  do {
    if (real) {
      double v = ((const double *)e->data[0])[at[0]];
      for (uint32_t i = 1; i < e->k->n_in; ++i) v *= ((const double *)e->data[i])[at[i]];
      sum += v;
    } else {
      uint64_t v = 1;
      for (uint32_t i = 0; i < e->k->n_in; ++i) v *= ((const uint64_t *)e->data[i])[at[i]];
      whole += v;
    }
  } while (advance(e, e->n_out, e->n_axes, index, at));
  if (real)
    surg__store_f64(o->dtype, o->data, to, sum);
  else
    surg__store_int(o->dtype, o->data, to, whole);
}

#define ASK 64 /* elements of the result between two questions whether to stop */

static surg__kstatus compute(einsum *e) {
  surg_kctx *k = e->k;
  const surg__array *o = &k->out[0];
  int64_t index[AXES] = {0}, at[OPERANDS] = {0};
  uint64_t work = k->n_in;
  bool nothing = false; /* a summed axis is empty */
  for (uint32_t d = e->n_out; d < e->n_axes; ++d) nothing = nothing || e->size[d] == 0;
  for (uint32_t d = 0; d < e->n_axes; ++d) {
    if (e->size[d] > 0 && !surg__mul_u64(work, (uint64_t)e->size[d], &work)) return SURG__K_BUDGET;
  }
  SURG__K_TRY(surg__k_work(k, work));
  if (nothing) {
    memset(o->data, 0, (size_t)o->count * surg__dtype_unpacked(o->dtype));
    return SURG__K_OK;
  }
  for (uint32_t i = 0; i < k->n_in; ++i) {
    e->data[i] = surg__k_widen(k, &k->in[i]);
    if (!e->data[i]) return SURG__K_NOMEM;
  }
  for (uint64_t to = 0; to < o->count; ++to) {
    if (to % ASK == 0 && surg__k_stopped(k)) break;
    one_element(e, to, index, at);
    advance(e, 0, e->n_out, index, at);
  }
  return SURG__K_OK;
}

surg__kstatus surg__k_einsum(surg_kctx *k) {
  if (!k->wanted[0]) return SURG__K_OK;
  if (k->n_in > OPERANDS) return surg__k_cannot(k, "too many operands");
  einsum *e = surg__arena_zalloc(k->arena, sizeof *e);
  surg_str s = surg_node_string(k->node, "equation", "");
  char *text = surg__k_scratch(k, s.n + 1, 1);
  if (!e || !text) return SURG__K_NOMEM;
  uint32_t n = 0;
  if (s.n > 4096) return surg__k_cannot(k, "a very long equation");
  for (size_t i = 0; i < s.n; ++i) {
    if (s.p[i] != ' ') text[n++] = s.p[i];
  }
  e->k = k;
  if (!split_equation(e, text, n) || !count_axes(e) || !name_axes(e)) {
    return surg__k_invalid(k, "the equation does not fit the operands");
  }
  for (uint32_t i = 0; i < k->n_in; ++i) {
    if (!place_operand(e, i)) return surg__k_invalid(k, "sizes of one letter differ");
  }
  if (e->n_out > SURG_LIMIT_RANK) return surg__k_cannot(k, "too many axes");
  SURG__K_TRY(surg__k_out(k, 0, k->in[0].dtype, e->size, e->n_out));
  return k->out[0].count == 0 ? SURG__K_OK : compute(e);
}
