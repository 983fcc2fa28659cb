/* SPDX-License-Identifier: Apache-2.0 */
/* Bad plugins: the struct of their pass is invalid. -DFAULT=NAME selects how. */
#include <onnxsurg/plugin.h>

#define SMALL_PASS 1
#define SMALL_OPTION 2
#define MIXED_OPTIONS 3
#define NULL_OPTIONS 4
#define NO_HELP 5
#define SCOPE 6
#define EXACTNESS 7
#define FACTS 8
#define OPTION_NAME 9
#define OPTION_HELP 10
#define OPTION_KIND 11
#define OPTION_DEFAULT 12
#define OPTION_TWICE 13
#define PAIRS_TWICE 14
#define PAIRS_DEFAULT 15

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  (void)p;
  (void)g;
  return SURG_PASS_UNCHANGED;
}

static surg_option options[] = {SURG_OPTION(INT, "first", "1", "a number"),
                                SURG_OPTION(BOOL, "second", "false", "a choice")};
static surg_pass pass = {.size = sizeof pass,
                         .scope = SURG_SCOPE_GRAPH,
                         .name = "bad",
                         .help = "misbehaves",
                         .options = options,
                         .option_count = 2,
                         .run = run};

static void spoil(int fault) {
  switch (fault) {
    case SMALL_PASS:
      pass.size -= 8;
      return;
    case SMALL_OPTION:
      options[0].size = options[1].size = 16;
      return;
    case MIXED_OPTIONS:
      options[1].size += 8;
      return;
    case NULL_OPTIONS:
      pass.options = NULL;
      return;
    case NO_HELP:
      pass.help = NULL;
      return;
    case SCOPE:
      pass.scope = 7;
      return;
    case EXACTNESS:
      pass.exactness = -1;
      return;
    case FACTS:
      pass.keeps = 64;
      return;
    case OPTION_NAME:
      options[1].name = "Second";
      return;
    case OPTION_HELP:
      options[1].help = NULL;
      return;
    case OPTION_KIND:
      options[1].kind = 99;
      return;
    case OPTION_DEFAULT:
      options[0].fallback = "many";
      return;
    case OPTION_TWICE:
      options[1].name = "first";
      return;
    case PAIRS_TWICE:
      options[0].kind = options[1].kind = SURG_OPTION_PAIRS;
      options[0].fallback = options[1].fallback = NULL;
      return;
    default:
      options[0].kind = SURG_OPTION_PAIRS;
  }
}

static surg_status init(surg_registry *registry) {
  spoil(FAULT);
  return surg_registry_add_pass(registry, &pass);
}
SURG_PLUGIN_ENTRY("bad", "1", init)
