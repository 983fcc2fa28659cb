/* SPDX-License-Identifier: Apache-2.0 */
/* Wild models, one pass or preset at a time: every registered pass that states a class up to
 * rounding and keeps the interface, and those below with options. */
#include <stdio.h>
#include <string.h>

#include "pass/pass.h"
#include "wild.h"

/* Passes that need options to change something, or do more with them. OP: an operator of the
 * model. */
static const char *const with_options[] = {"rewrite{group=simplify}",
                                           "rewrite{group=simplify}",
                                           "rewrite{group=fuse}",
                                           "rewrite{group=fuse}",
                                           "rewrite{group=simplify,exact}",
                                           "replace{op=OP}",
                                           "replace{op=OP}",
                                           "replace{op=OP}",
                                           "decompose{all}",
                                           "constants{form=node}",
                                           "constants{form=initializer}",
                                           "fold{fusable}",
                                           "fold{dequantize}",
                                           "fold{max-growth=1MiB}",
                                           "inline{once}",
                                           "names{all}",
                                           "shapes{clear}",
                                           "shapes{expr}",
                                           "shapes{unify}",
                                           "unroll{max-growth=0}",
                                           "allow{exact}(fuse)",
                                           "allow{exact}(decompose{all})",
                                           "repeat{max=4}(rewrite{group=simplify},fold)",
                                           "repeat{max=4}(transposes,merge-slices,cse)",
                                           "hoist-initializers,inline,cse,dedup,prune",
                                           "defaults{write=axis+keepdims+alpha+to+perm+mode}",
                                           "defaults{drop=axis+keepdims+alpha+mode+epsilon}",
                                           "wrap-casts{op=OP,types=float+int64}",
                                           "allow{exact}(fold)",
                                           "freeze-inputs"};
#define WITH_OPTIONS (sizeof with_options / sizeof *with_options)

/* Whether a pass runs without options; the others fail, and are in the list above. outline makes
 * functions, and refuses models whose IR version is too old for them. */
static bool alone(const surg_pass *p, const surg_model *m) {
  static const char *const lists[] = {"decompose", "defaults", "opset", "replace", "wrap-casts"};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (strcmp(p->name, lists[i]) == 0) return false;
  if (strcmp(p->name, "outline") == 0 && surg_model_ir_version(m) < 4) return false;
  return p->exactness <= SURG_ROUNDING && !p->edits &&
         (!p->changes_interface || strcmp(p->name, "prune") == 0 || strcmp(p->name, "mend") == 0);
}

/* The name of an operator of the main graph. */
static const char *some_operator(gen *g, const surg_model *m) {
  const surg_node *n = surg_graph_first_node(surg_model_graph(m)), *chosen = n;
  for (unsigned i = 1; n; n = surg_node_next(n), i++)
    if (gen_below(g, i) == 0) chosen = n;
  return chosen ? surg_node_op_type(chosen) : "Identity";
}

void wild_alone(gen *g, const surg_model *m, char text[WILD_TEXT]) {
  const surg_registry *r = surg__registry(surg_model_context(m));
  const size_t passes = surg__pass_count(r), presets = surg__preset_count(r);
  for (;;) {
    const size_t i = gen_below(g, (uint32_t)(passes + presets + WITH_OPTIONS));
    if (i < passes) {
      const surg_pass *p = surg__pass_at(r, i);
      if (!alone(p, m)) continue;
      snprintf(text, WILD_TEXT, "%s", p->name);
      return;
    }
    if (i < passes + presets) {
      snprintf(text, WILD_TEXT, "%s", surg__preset_at(r, i - passes)->name);
      return;
    }
    const char *t = with_options[i - passes - presets], *op = strstr(t, "OP");
    if (op)
      snprintf(text, WILD_TEXT, "%.*s%s%s", (int)(op - t), t, some_operator(g, m), op + 2);
    else
      snprintf(text, WILD_TEXT, "%s", t);
    return;
  }
}
