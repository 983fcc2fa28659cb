/* SPDX-License-Identifier: Apache-2.0 */
/* A good plugin: presets, extensions of presets, messages, and rules. With -DFAULT=N one of its
 * registrations is invalid. */
#include <onnxsurg/plugin.h>
#include <string.h>

#ifndef FAULT
#define FAULT 0
#endif

static const char rules[] =
    "group teach\n"
    "rule teach-double-neg { match { a = Neg (x) y = Neg (a) } emit { y = x } }\n";
static const char messages[] =
    "{\"schema\": 1, \"messages\": [{\"id\": \"teach-quota\", \"engine\": \"teach\",\n"
    " \"pattern\": \"quota exceeded\", \"cause\": \"the quota of the compiler is used up\",\n"
    " \"cure\": \"buy more\", \"seen\": [\"teach: quota exceeded\"]}]}\n";
static const char schema[] = "domain teach\nop Known\ninput x: float\noutput y: float\n";

static const surg_preset preset = {sizeof(surg_preset), "teach", "fold,prune", "fold and prune"};
static const surg_preset taken = {sizeof(surg_preset), "simplify", "prune", "taken"};

static surg_status no_kernel(void *user, const surg_node *n, surg_model *m, surg_tensor *const *in,
                             size_t n_in, surg_tensor **out, size_t n_out) {
  (void)user, (void)n, (void)m, (void)in, (void)n_in, (void)out, (void)n_out;
  return SURG_EUNSUPPORTED;
}

static surg_status add_operator(surg_registry *r, const char *op_type, uint32_t traits) {
  const surg_operator op = {.size = sizeof op,
                            .traits = traits,
                            .domain = "teach",
                            .op_type = op_type,
                            .evaluate = FAULT == 5 ? NULL : no_kernel};
  return surg_registry_add_operator(r, &op);
}

static surg_status spoil(surg_registry *r) {
  switch (FAULT) {
    case 1:
      return surg_registry_add_preset(r, &taken);
    case 2:
      return surg_registry_extend(r, "teach", "after nothing", "prune");
    case 3:
      return surg_registry_extend(r, "no-preset", "last", "prune");
    case 4:
      return add_operator(r, "Unknown", 0);
    case 5:
      return add_operator(r, "Known", 0);
    case 6:
      return add_operator(r, "Known", 64);
    case 7:
      return surg_registry_add_target(r, "{\"schema\": 1}", 13, "t");
    case 8:
      return surg_registry_add_rules(r, "rule x {", 8, "r");
    case 10:
      return surg_registry_add_messages(r, "{\"schema\": 2}", 13, "m");
    case 9:
      return surg_registry_extend(r, "teach", "somewhere", "prune");
    default:
      return add_operator(r, "Known", 0);
  }
}

static surg_status init(surg_registry *r) {
  surg_status s = surg_registry_add_preset(r, &preset);
  if (!s) s = surg_registry_add_rules(r, rules, strlen(rules), "teach.c");
  if (!s) s = surg_registry_add_messages(r, messages, strlen(messages), "teach.c");
  if (!s) s = surg_registry_add_schemas(r, schema, strlen(schema), "teach.c");
  if (!s) s = surg_registry_extend(r, "teach", "first", "toposort");
  if (!s) s = surg_registry_extend(r, "teach", "last", "identity");
  if (!s) s = surg_registry_extend(r, "teach", "before prune", "dedup,cse");
  if (!s) s = surg_registry_extend(r, "teach", "after fold", "rewrite{group=teach}");
  if (!s) s = surg_registry_extend(r, NULL, "last", "names");
  return s ? s : spoil(r);
}
SURG_PLUGIN_ENTRY("teach", "1", init)
