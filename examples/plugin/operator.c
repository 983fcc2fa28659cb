/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that teaches a custom operator, com.acme.LeakyClip: y = min (x < 0 ? slope * x : x,
 * limit). With it the operator is checked, inferred, folded, run, verified, lowered to standard
 * operators, and supported by a target that the plugin adds:
 *
 *   onnxsurg run --plugin ./operator.so model.onnx
 *   onnxsurg lower-leaky-clip --plugin ./operator.so model.onnx plain.onnx
 *   onnxsurg check --plugin ./operator.so --target acme-npu model.onnx */
#include <onnxsurg/plugin.h>
#include <stdlib.h>
#include <string.h>

/* Signature, attributes and types (doc/schema-files.md). The shape function below adds the shape;
 * "like x" would do for this operator. */
static const char schemas[] =
    "domain com.acme\n"
    "op LeakyClip\n"
    "input x: float\n"
    "output y: float\n"
    "attr slope?: float = 0.01\n"
    "attr limit: float\n";

/* The operator as standard ones (doc/rules.md). The default of the slope is that of LeakyRelu. */
static const char rules[] =
    "group acme\n"
    "rule leaky-clip-expand {\n"
    "  match { y = com.acme.LeakyClip <slope = s, limit = l> (x) }\n"
    "  emit opset 13.. {\n"
    "    a = LeakyRelu <alpha = s> (x)\n"
    "    y = Min (a, l : dtype(x))\n"
    "  }\n"
    "}\n"
    "rule leaky-clip-expand-default {\n"
    "  match { y = com.acme.LeakyClip <limit = l> (x) }\n"
    "  emit opset 13.. {\n"
    "    a = LeakyRelu (x)\n"
    "    y = Min (a, l : dtype(x))\n"
    "  }\n"
    "}\n";

static const char target[] =
    "{\"schema\": 1, \"name\": \"acme-npu\", \"title\": \"Acme NPU\",\n"
    " \"source\": \"examples/plugin/operator.c\", \"inherit\": \"onnxruntime-1.14\",\n"
    " \"own\": [\"com.acme.*\"], \"ops\": {\"com.acme.LeakyClip\": {}}}\n";

/* The output has the type of the input. */
static surg_status infer(void *user, const surg_node *n, const surg_type *const *in, size_t n_in,
                         const surg_type **out, size_t n_out) {
  (void)user;
  (void)n;
  if (n_in == 1 && n_out == 1) out[0] = in[0];
  return SURG_OK;
}

static float clip(float x, float slope, float limit) {
  const float y = x < 0 ? slope * x : x;
  return y > limit ? limit : y; /* NaN stays NaN */
}

static surg_status evaluate(void *user, const surg_node *n, surg_model *results,
                            surg_tensor *const *in, size_t n_in, surg_tensor **out, size_t n_out) {
  (void)user;
  if (n_in != 1 || n_out != 1 || surg_tensor_dtype(in[0]) != SURG_FLOAT) return SURG_EINVALID;
  const float slope = surg_node_float(n, "slope", 0.01f), limit = surg_node_float(n, "limit", 0);
  const size_t count = (size_t)surg_tensor_count(in[0]);
  float *p = malloc(count ? count * sizeof *p : 1);
  if (!p) return SURG_ENOMEM;
  const surg_status s = surg_tensor_read_numbers(in[0], 0, p, count);
  for (size_t i = 0; s == SURG_OK && i < count; i++) p[i] = clip(p[i], slope, limit);
  if (s == SURG_OK)
    out[0] = surg_tensor_new_numbers(results, SURG_FLOAT, surg_tensor_dims(in[0]),
                                     surg_tensor_rank(in[0]), p, count);
  free(p);
  return s == SURG_OK && !out[0] ? SURG_ENOMEM : s;
}

static const surg_operator leaky_clip = {
    .size = sizeof(surg_operator),
    .traits = SURG_TRAIT_TOTAL,
    .exactness = SURG_EXACT,
    .domain = "com.acme",
    .op_type = "LeakyClip",
    .infer = infer,
    .evaluate = evaluate,
};

static const surg_preset lower = {sizeof(surg_preset), "lower-leaky-clip",
                                  "rewrite{group=acme},prune",
                                  "replace com.acme.LeakyClip by standard operators"};

static surg_status init(surg_registry *r) {
  surg_status s = surg_registry_add_schemas(r, schemas, strlen(schemas), "operator.c");
  if (s == SURG_OK) s = surg_registry_add_operator(r, &leaky_clip);
  if (s == SURG_OK) s = surg_registry_add_rules(r, rules, strlen(rules), "operator.c");
  if (s == SURG_OK) s = surg_registry_add_target(r, target, strlen(target), "operator.c");
  return s == SURG_OK ? surg_registry_add_preset(r, &lower) : s;
}

SURG_PLUGIN_ENTRY("operator", "1.0", init)
