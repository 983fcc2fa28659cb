// SPDX-License-Identifier: Apache-2.0
// A bad plugin: an exception leaves its pass.
#include <onnxsurg/plugin.h>

#include <stdexcept>

namespace {
surg_pass_result run(surg_pass_ctx *, surg_graph *) {
  throw std::runtime_error("not caught");
}

surg_status init(surg_registry *registry) {
  static surg_pass pass = {};
  pass.size = sizeof pass;
  pass.name = "bad";
  pass.help = "misbehaves";
  pass.run = run;
  return surg_registry_add_pass(registry, &pass);
}
}  // namespace

SURG_PLUGIN_ENTRY("bad", "1", init)
