/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that registers one of everything. Its init fails after that if OWN_PLUGIN_FAILS is
 * set. */
#include <onnxsurg/plugin.h>
#include <stdlib.h>
#include <string.h>

static const char rules[] =
    "group own\n"
    "rule own-double-neg { match { a = Neg (x) y = Neg (a) } emit { y = x } }\n";
static const char messages[] =
    "{\"schema\": 1, \"messages\": [{\"id\": \"own-quota\", \"engine\": \"own\",\n"
    " \"pattern\": \"quota exceeded\", \"cause\": \"the quota is used up\",\n"
    " \"cure\": \"buy more\", \"seen\": [\"own: quota exceeded\"]}]}\n";
static const char schema[] = "domain own\nop Known\ninput x: float\noutput y: float\n";
static const char target[] =
    "{\"schema\": 1, \"name\": \"own-npu\", \"title\": \"Own NPU\", \"source\": \"test\",\n"
    " \"inherit\": \"onnxruntime-1.14\"}\n";

static surg_status no_kernel(void *user, const surg_node *n, surg_model *m, surg_tensor *const *in,
                             size_t n_in, surg_tensor **out, size_t n_out) {
  (void)user, (void)n, (void)m, (void)in, (void)n_in, (void)out, (void)n_out;
  return SURG_EUNSUPPORTED;
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  (void)p, (void)g;
  return SURG_PASS_UNCHANGED;
}

static const surg_pass pass = {
    .size = sizeof pass, .name = "own-pass", .help = "does nothing", .run = run};
static const surg_option options[] = {
    SURG_OPTION(STRING, "how", NULL, "loop, crash, cancel; else removes the last Neg"),
};

/* Reports, then does what the option says. */
static surg_pass_result run_apart(surg_pass_ctx *p, surg_graph *g) {
  const char *how = surg_pass_string(p, "how");
  surg_node *n = surg_graph_last_node(g);
  surg_pass_count(p, "calls", 1);
  surg_pass_note(p, n, "a note");
  surg_context_report(surg_pass_context(p), SURG_WARNING, "own", "a warning");
  for (volatile bool loop = how && !strcmp(how, "loop"); loop;) {
  }
  if (how && !strcmp(how, "crash")) abort();
  if (!surg_pass_allow(p)) return SURG_PASS_UNCHANGED;
  const surg_value *y = surg_node_output(n, 0);
  surg_value *x = surg_node_input(n, 0);
  surg_graph_remove_output(g, 0);
  surg_graph_add_output(g, x, surg_value_declared_type(y));
  surg_node_erase(n);
  return SURG_PASS_CHANGED;
}

static const surg_pass apart = {.size = sizeof apart,
                                .scope = SURG_SCOPE_GRAPH,
                                .name = "own-apart",
                                .help = "tests child processes",
                                .options = options,
                                .option_count = 1,
                                .changes_interface = true,
                                .run = run_apart};
static surg_status decode(void *user, const surg_encoded *e, uint64_t *written) {
  (void)user, (void)e;
  *written = 0;
  return SURG_EINVALID;
}
static const surg_decoder decoder = {.size = sizeof decoder, .format = "own", .decode = decode};

static const surg_preset preset = {sizeof(surg_preset), "own", "own-pass", "one pass"};
static const surg_operator op = {
    .size = sizeof op, .domain = "own", .op_type = "Known", .evaluate = no_kernel};

static surg_status init(surg_registry *r) {
  surg_status s = surg_registry_add_pass(r, &pass);
  if (!s) s = surg_registry_add_pass(r, &apart);
  if (!s) s = surg_registry_add_preset(r, &preset);
  if (!s) s = surg_registry_extend(r, "simplify", "last", "own-pass");
  if (!s) s = surg_registry_add_rules(r, rules, strlen(rules), "own.rules");
  if (!s) s = surg_registry_add_schemas(r, schema, strlen(schema), "own.schema");
  if (!s) s = surg_registry_add_operator(r, &op);
  if (!s) s = surg_registry_add_decoder(r, &decoder);
  if (!s) s = surg_registry_add_target(r, target, strlen(target), "own.target");
  if (!s) s = surg_registry_add_messages(r, messages, strlen(messages), "own.messages");
  return s ? s : getenv("OWN_PLUGIN_FAILS") ? SURG_EUNSUPPORTED : SURG_OK;
}
SURG_PLUGIN_ENTRY("own", "1", init)
