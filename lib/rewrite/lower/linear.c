/* SPDX-License-Identifier: Apache-2.0 */
/* LinearAttention, equivalent to lib/eval/nn/attention_linear.c: a state matrix of keys by values
 * that decays, is updated and read at each step. A small known number of steps is unrolled;
 * otherwise a Scan iterates over them. With H key heads of G queries each, queries are [B, T, H, G,
 * K]; keys, values, decays and corrections are [B, T, H, .., ..], so that a step broadcasts with
 * the state [B, H, K, V]. */
#include <math.h>

#include "rewrite/lower/native.h"

enum { QUERY, KEY, VALUE, DECAY, BETA, PARTS };

typedef struct linear {
  surg__builder *b;
  surg_node *n;
  surg__built in[PARTS], past; /* v NULL: absent */
  int64_t heads, group, key_size, value_size;
  double scale;
} linear;

/* --- reading --- */

static bool read_inputs(linear *l) {
  static const char *const names[PARTS] = {
      [QUERY] = "q", [KEY] = "k", [VALUE] = "v", [DECAY] = "decay", [BETA] = "beta"};
  _Static_assert(PARTS == BETA + 1, "a name for each part");
  surg__builder *b = l->b;
  for (int i = 0; i < PARTS; i++)
    if (surg__b_get(b, names[i]) &&
        (!surg__built_get(b, names[i], &l->in[i]) || l->in[i].rank != 3 || l->in[i].d[2].n < 1))
      return false;
  return !surg__b_get(b, "past") || (surg__built_get(b, "past", &l->past) && l->past.rank == 4);
}

static bool read_linear(linear *l) {
  const int64_t q_heads = surg_node_int(l->n, "q_num_heads", 0);
  l->heads = surg_node_int(l->n, "kv_num_heads", 0);
  if (!surg__b_attrs_known(l->b) || !read_inputs(l) || q_heads < 1 || l->heads < 1 ||
      q_heads % l->heads || l->in[QUERY].d[2].n % q_heads || l->in[VALUE].d[2].n % l->heads)
    return false;
  l->group = q_heads / l->heads;
  l->key_size = l->in[QUERY].d[2].n / q_heads;
  l->value_size = l->in[VALUE].d[2].n / l->heads;
  l->scale = surg_node_float(l->n, "scale", 0);
  if (l->scale == 0) l->scale = 1 / sqrt((double)l->key_size);
  const surg_str rule = surg_node_string(l->n, "update_rule", "gated_delta");
  const bool gated = rule.n >= 5 && !memcmp(rule.p, "gated", 5);
  const bool delta = rule.n >= 5 && !memcmp(rule.p + rule.n - 5, "delta", 5);
  const int64_t decays = l->in[DECAY].v ? l->in[DECAY].d[2].n : l->heads;
  const int64_t betas = l->in[BETA].v ? l->in[BETA].d[2].n : 1;
  return gated == (l->in[DECAY].v != NULL) && delta == (l->in[BETA].v != NULL) &&
         l->in[KEY].d[2].n == l->heads * l->key_size &&
         (decays == l->heads || decays == l->heads * l->key_size) &&
         (betas == 1 || betas == l->heads);
}

/* --- parts --- */

static surg__built part(const linear *l, int i, int64_t heads, int64_t rows, int64_t columns) {
  surg__built x = l->in[i];
  const surg__bdim d[5] = {x.d[0], x.d[1], surg__bdim_fixed(heads), surg__bdim_fixed(rows),
                           surg__bdim_fixed(columns)};
  if (!x.v) return x;
  x = surg__built_cast(l->b, x, SURG_FLOAT);
  if (i == DECAY) x = surg__built_unary(l->b, "Exp", x);
  return surg__built_reshape(l->b, x, d, 5);
}

static void split(const linear *l, surg__built *parts) {
  const int64_t decays = l->in[DECAY].v ? l->in[DECAY].d[2].n / l->heads : 1;
  const int64_t betas = l->in[BETA].v ? l->in[BETA].d[2].n : 1;
  parts[QUERY] = part(l, QUERY, l->heads, l->group, l->key_size);
  parts[KEY] = part(l, KEY, l->heads, 1, l->key_size);
  parts[VALUE] = part(l, VALUE, l->heads, 1, l->value_size);
  parts[DECAY] = part(l, DECAY, l->heads, decays, 1);
  parts[BETA] = part(l, BETA, betas, 1, 1);
}

static surg__built first_state(const linear *l) {
  const surg__bdim d[4] = {l->in[QUERY].d[0], surg__bdim_fixed(l->heads),
                           surg__bdim_fixed(l->key_size), surg__bdim_fixed(l->value_size)};
  if (l->past.v) return surg__built_cast(l->b, l->past, SURG_FLOAT);
  return surg__built_fill(l->b, SURG_FLOAT, 0, d, 4);
}

/* --- a step --- */

static surg__built next_state(const linear *l, surg__built state, const surg__built *step) {
  surg__builder *b = l->b;
  surg__built write = step[VALUE];
  if (step[DECAY].v) state = surg__built_binary(b, "Mul", state, step[DECAY]);
  if (step[BETA].v) {
    const surg__built found = surg__built_matmul(b, step[KEY], state);
    write = surg__built_binary(b, "Mul", step[BETA], surg__built_binary(b, "Sub", write, found));
  }
  write = surg__built_binary(b, "Mul", surg__built_swap(b, step[KEY], 2, 3), write);
  return surg__built_binary(b, "Add", state, write);
}

/* The outputs of all steps, concatenated: [B, T, H, G, V]. */
static surg__built unrolled(const linear *l, const surg__built *parts, surg__built *state) {
  surg__builder *b = l->b;
  const int64_t steps = parts[QUERY].d[1].n;
  assert(b->status || (steps > 0 && steps <= SURG_LIMIT_EMIT_STEPS));
  surg__built *out = surg__arena_array(b->m->arena, (size_t)steps + 1, sizeof *out);
  if (!out) {
    b->status = SURG_ENOMEM;
    return *state;
  }
  for (int64_t t = 0; t < steps; t++) {
    surg__built step[PARTS] = {0};
    const surg__built at = surg__built_scalar(b, SURG_INT64, (double)t);
    for (int i = 0; i < PARTS; i++)
      if (parts[i].v) step[i] = surg__built_gather(b, parts[i], at, 1);
    *state = next_state(l, *state, step);
    out[t] = surg__built_unsqueeze(b, surg__built_matmul(b, step[QUERY], *state), 1);
  }
  return surg__built_concat(b, out, (size_t)steps, 1);
}

static surg__built without_time(surg__built x) {
  assert(x.rank == 5);
  memmove(&x.d[1], &x.d[2], 3 * sizeof x.d[0]);
  x.rank = 4;
  return x;
}

static surg__built scanned(const linear *l, const surg__built *parts, surg__built *state) {
  static const char *const words[PARTS] = {
      [QUERY] = "query", [KEY] = "key", [VALUE] = "value", [DECAY] = "decay", [BETA] = "beta"};
  static const int64_t axes[PARTS] = {1, 1, 1, 1, 1};
  surg__builder *b = l->b;
  surg_value *in[1 + PARTS] = {state->v};
  size_t n = 1;
  for (int i = 0; i < PARTS; i++)
    if (parts[i].v) in[n++] = parts[i].v;
  surg_value *scan = surg__b_node(b, "Scan", in, n);
  surg__b_set_int(b, scan, "num_scan_inputs", (int64_t)n - 1);
  surg__b_set_ints(b, scan, "scan_input_axes", axes, n - 1);
  surg__b_set_ints(b, scan, "scan_output_axes", axes, 1);
  surg_value *outputs = surg__b_output(b, scan, 1);
  const surg__bscope outside = surg__b_enter(b, scan, "body");
  surg__built step[PARTS] = {0}, inner = *state;
  inner.v = surg__b_body_input(b, "state", SURG_FLOAT);
  for (int i = 0; i < PARTS; i++) {
    if (!parts[i].v) continue;
    step[i] = without_time(parts[i]);
    step[i].v = surg__b_body_input(b, words[i], SURG_FLOAT);
  }
  inner = next_state(l, inner, step);
  const surg__built read = surg__built_matmul(b, step[QUERY], inner);
  surg__b_body_output(b, inner.v, SURG_FLOAT);
  surg__b_body_output(b, read.v, SURG_FLOAT);
  surg__b_leave(b, outside);
  state->v = scan;
  surg__built y = parts[QUERY];
  y.v = outputs;
  y.d[4] = surg__bdim_fixed(l->value_size);
  return y;
}

static surg_status linear_to_steps(surg__builder *b) {
  linear l = {.b = b, .n = surg__b_matched(b)};
  surg__built parts[PARTS];
  if (!read_linear(&l)) return SURG_EUNSUPPORTED;
  const int64_t steps = l.in[QUERY].d[1].n;
  const bool few = steps > 0 && steps <= SURG_LIMIT_EMIT_STEPS;
  if (surg__b_bad(b, steps == 0, "there are no steps") ||
      surg__b_bad(b, !few && b->m->opset < 9, "the rewrite requires opset 9"))
    return SURG_EUNSUPPORTED;
  split(&l, parts);
  surg__built state = first_state(&l);
  surg__built y = few ? unrolled(&l, parts, &state) : scanned(&l, parts, &state);
  const surg__bdim d[3] = {l.in[QUERY].d[0], l.in[QUERY].d[1],
                           surg__bdim_fixed(l.heads * l.group * l.value_size)};
  const int type = l.in[QUERY].dtype;
  y = surg__built_number(b, "Mul", surg__built_reshape(b, y, d, 3), l.scale);
  if (surg__b_get(b, "y")) surg__built_result(b, "y", surg__built_cast(b, y, type));
  if (surg__b_get(b, "state"))
    surg__built_result(b, "state", surg__built_cast(b, state, l.past.v ? l.past.dtype : type));
  return b->status;
}

const surg__native surg__natives_linear[] = {
    {"linear_attention", linear_to_steps, "LinearAttention, its steps written out or as a Scan"},
    {NULL, NULL, NULL},
};
