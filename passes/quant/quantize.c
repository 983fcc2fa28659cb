/* SPDX-License-Identifier: Apache-2.0 */
/* Quantizes products: weights alone, which are then restored by DequantizeLinear, or operands, too,
 * by DynamicQuantizeLinear (quant.h).
 *
 *   before: (float[2] x) => (float[2] y) <float[2,2] w> { y = MatMul (x, w) }
 *   after:  (float[2] x) => (float[2] y) <int8[2,2] q, float[2] s, int8[2] z> {
 *             w = DequantizeLinear <axis = 1> (q, s, z)  y = MatMul (x, w) }
 *
 * Needs sorted, types. Keeps sorted. Approx: naming the pass is consent. */
#include "../util/domains.h"
#include "quant.h"

#define BLOCK_LEAST 16 /* ONNX Runtime's operators accept no less */

bool quant_allow(quant *c) {
  return c->trial || surg_pass_allow(c->p);
}

void quant_give_back(quant *c) {
  if (!c->trial) surg_pass_give_back(c->p);
}

bool quant_find_chosen(quant *c) {
  const size_t n = surg_pass_list_count(c->p, "node");
  c->chosen = surg_pass_alloc(c->p, (n + 1) * sizeof *c->chosen);
  if (!c->chosen) return false;
  for (size_t i = 0; !c->trial && i < surg_pass_list_count(c->p, "op"); i++)
    domains_found_anywhere(c->p, surg_pass_list_at(c->p, "op", i));
  for (size_t i = 0; i < n; i++) {
    const char *name = surg_pass_list_at(c->p, "node", i);
    c->chosen[i] = surg_model_find_node(c->m, name, NULL);
    if (!c->trial) surg_pass_named(c->p, name, c->chosen[i] != NULL);
  }
  return true;
}

static bool weight_type(int dtype) {
  return dtype == SURG_INT8 || dtype == SURG_UINT8 || dtype == SURG_INT4 || dtype == SURG_UINT4 ||
         dtype == SURG_INT16 || dtype == SURG_UINT16 || dtype == SURG_FLOAT8E4M3FN;
}

/* Reads the options. FAILED: reported. */
static surg_pass_result configure(quant *c) {
  const char *weights = surg_pass_string(c->p, "weights");
  const int64_t block = surg_pass_int(c->p, "block");
  c->dynamic = surg_pass_bool(c->p, "dynamic");
  c->fixed = surg_pass_bool(c->p, "static");
  c->asymmetric = surg_pass_bool(c->p, "asymmetric");
  c->reduced = surg_pass_bool(c->p, "reduced");
  c->whole = surg_pass_bool(c->p, "per-tensor");
  c->dtype = weights ? surg_dtype_from_name(weights) : 0;
  if (weights && !weight_type(c->dtype))
    return surg_pass_usage(c->p,
                           "option weights: expected int8, uint8, int4, uint4, int16, uint16 or "
                           "float8e4m3fn");
  if (!c->dynamic && !c->fixed && !weights)
    return surg_pass_usage(c->p, "expected one of dynamic, static and weights=TYPE");
  if (c->dynamic && c->fixed) return surg_pass_usage(c->p, "expected dynamic or static, not both");
  if ((c->dynamic || c->fixed) && weights && c->dtype != SURG_INT8 && c->dtype != SURG_UINT8 &&
      !(c->fixed && c->dtype == SURG_FLOAT8E4M3FN))
    return surg_pass_usage(c->p, "products of integers have weights of int8 or uint8");
  if (block < 0 || (block > 0 && (block < BLOCK_LEAST || (block & (block - 1)) != 0)))
    return surg_pass_usage(c->p, "option block: expected a power of two of at least 16");
  if (block > 0 && (c->dynamic || c->fixed || c->whole))
    return surg_pass_usage(c->p,
                           "block is for weights alone, without dynamic, static and per-tensor");
  c->block = (uint64_t)block;
  return SURG_PASS_UNCHANGED;
}

static surg_pass_result quantize(quant *c) {
  if (surg_model_infer_calls(c->m) || !quant_find_chosen(c) || !quant_collect(c))
    return SURG_PASS_FAILED;
  const uint64_t epoch = surg_model_epoch(c->m);
  if (!(c->dynamic ? quant_dynamic(c)
        : c->fixed ? quant_static(c)
                   : quant_restore_weights(c, NULL)))
    return SURG_PASS_FAILED;
  const bool changed = surg_model_epoch(c->m) != epoch;
  if (changed && (c->nodes || c->values)) surg_pass_used(c->p, SURG_APPROX);
  quant_report(c);
  return changed ? SURG_PASS_CHANGED : SURG_PASS_UNCHANGED;
}

surg_pass_result quant_run(surg_pass_ctx *p, bool fixed) {
  quant c = {.p = p, .m = surg_pass_model(p), .fixed = fixed, .borrowed = fixed};
  surg_pass_result r = fixed ? SURG_PASS_UNCHANGED : configure(&c);
  const char *name = surg_pass_string(p, "target");
  if (r == SURG_PASS_FAILED) return r;
  if (name && surg_target_open(surg_pass_context(p), name, &c.target) != SURG_OK)
    return SURG_PASS_FAILED;
  r = quantize(&c);
  surg_target_free(c.target);
  return r;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *unused) {
  (void)unused;
  return quant_run(p, false);
}

static const surg_option options[] = {
    SURG_OPTION(BOOL, "dynamic", "false", "compute products in integers at run time"),
    SURG_OPTION(BOOL, "static", "false", "also quantize values, scales from runs"),
    SURG_OPTION(STRING, "weights", NULL, "type: int8, uint8, int4, uint4 ..."),
    SURG_OPTION(INT, "block", "0", "elements per scale (opset 21); 0: a channel"),
    SURG_OPTION(BOOL, "asymmetric", "false", "weights have zero points"),
    SURG_OPTION(BOOL, "per-tensor", "false", "one scale for a weight"),
    SURG_OPTION(BOOL, "reduced", "false", "7-bit weights (one bit less)"),
    SURG_OPTION(STRING, "activations", NULL, "static: uint8 (default), int8, float8e4m3fn"),
    SURG_OPTION(BOOL, "symmetric", "false", "static: values have no zero points"),
    SURG_OPTION(BOOL, "operands", "false", "static: only operands of products"),
    SURG_OPTION(STRING, "method", "minmax", "static: percentile, entropy, mse"),
    SURG_OPTION(STRING, "tolerance", NULL, "static: largest error; nodes above stay float"),
    SURG_OPTION(LIST, "inputs", NULL, "static: folders or .npz files of inputs"),
    SURG_OPTION(INT, "draws", "1", "static: generated inputs if none are given"),
    SURG_OPTION(LIST, "op", NULL, "quantize only nodes of these operators"),
    SURG_OPTION(LIST, "node", NULL, "quantize only these nodes"),
    SURG_OPTION(STRING, "target", NULL, "use only what the target states"),
};

const surg_pass surg__pass_quantize = {
    SURG_PASS_HEAD(MODEL, "quantize", "quantize weights, and operands of products"),
    SURG_PASS_OPTIONS(options),
    .needs = SURG_FACT_SORTED | SURG_FACT_TYPES,
    .keeps = SURG_FACT_SORTED,
    .exactness = SURG_APPROX,
    .edits = true,
    .run = run,
};
