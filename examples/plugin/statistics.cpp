// SPDX-License-Identifier: Apache-2.0
// A plugin in C++17 with one pass, `statistics`: counts nodes by operator, and the bytes of
// constants, without a change. The counters are printed with --stats and are in the report:
//
//   onnxsurg --plugin ./statistics.so --pass 'statistics{least=2}' --stats in.onnx out.onnx
//
// An exception must not leave a callback: `guarded` turns one into a failure of the pass.
#include <onnxsurg/plugin.h>

#include <cstdint>
#include <exception>
#include <map>
#include <string>

namespace {

struct Counts {
  std::map<std::string, std::uint64_t> nodes;
  std::uint64_t bytes = 0;
};

std::string operator_of(const surg_node *n) {
  const std::string domain = surg_node_domain(n);
  return (domain.empty() ? "" : domain + ".") + surg_node_op_type(n);
}

void count(const surg_graph *g, Counts &c) {
  for (const surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    c.nodes[operator_of(n)]++;
  for (const surg_value *v = surg_graph_next_initializer(g, nullptr); v;
       v = surg_graph_next_initializer(g, v))
    if (const surg_tensor *t = surg_value_initializer(v)) c.bytes += surg_tensor_bytes(t);
}

surg_pass_result statistics(surg_pass_ctx *p) {
  Counts c;
  for (surg_graph *g = surg_model_next_graph(surg_pass_model(p), nullptr); g;
       g = surg_model_next_graph(surg_pass_model(p), g))
    count(g, c);
  const auto least = static_cast<std::uint64_t>(surg_pass_int(p, "least"));
  for (const auto &[name, n] : c.nodes)
    if (n >= least) surg_pass_count(p, name.c_str(), n);
  surg_pass_count(p, "bytes of initializers", c.bytes);
  return SURG_PASS_UNCHANGED;
}

surg_pass_result guarded(surg_pass_ctx *p, surg_graph *) {
  try {
    return statistics(p);
  } catch (const std::exception &e) {
    return surg_pass_fail(p, nullptr, e.what());
  }
}

const surg_option options[] = {
    SURG_OPTION(INT, "least", "1", "leave out operators with fewer nodes"),
};

surg_status init(surg_registry *registry) {
  static surg_pass pass = {};
  pass.size = sizeof pass;
  pass.scope = SURG_SCOPE_MODEL;
  pass.name = "statistics";
  pass.help = "count nodes by operator and bytes of initializers";
  pass.options = options;
  pass.option_count = 1;
  pass.keeps = SURG_FACT_SORTED | SURG_FACT_TYPES;
  pass.run = guarded;
  return surg_registry_add_pass(registry, &pass);
}

}  // namespace

SURG_PLUGIN_ENTRY("statistics", "1.0", init)
