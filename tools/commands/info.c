/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg info IN`: summarizes a model as a page of text or as JSON. */
#include <string.h>

#include "base/os/os.h"
#include "check_target.h"
#include "info.h"
#include "node_row.h"

static const char help[] =
    "usage: onnxsurg info [--top N] [--nodes] [--values] [--dim NAME=SIZE]...\n"
    "                     [--target T] [--json] IN...\n"
    "Prints what a model contains and needs: versions and the oldest possible ones,\n"
    "inputs, outputs, operators, weights, operations, memory. Does not read weights;\n"
    "their files may be missing.\n"
    "\n"
    "  --top N            list the N most expensive nodes\n"
    "  --nodes            list every node, as `onnxsurg nodes` does\n"
    "  --values           list every value with its type and shape\n"
    "  --dim NAME=SIZE    value of a symbol of the inputs: N=4, N=1..64, H%32\n"
    "                     (repeatable)\n"
    "  --target T         opsets that both the model and engine T support\n"
    "  --json             print a JSON object per model, one per line (doc/info.md)\n";

#define MOST_DIMS 64u

typedef struct request {
  cli_common common;
  size_t top;
  bool values, nodes;
  const char *dims[MOST_DIMS];
  size_t dim_count;
  const char *target_name;
  surg_target *target;
} request;

enum { OPT_TOP = OPT_OWN, OPT_VALUES, OPT_NODES, OPT_DIM, OPT_TARGET };

static surg_status assume(surg_model *m, const request *r) {
  surg_status s = SURG_OK;
  for (size_t i = 0; i < r->dim_count && s == SURG_OK; i++)
    s = surg_model_assume_dim(m, r->dims[i]);
  return s;
}

static surg_status gather(info_facts *f) {
  surg_status s = surg_info_new(f->m, &f->info);
  f->sum.size = sizeof f->sum;
  if (s == SURG_OK) s = surg_info_get(f->info, &f->sum);
  return s == SURG_OK && !cli_stats_of(f->m, &f->stats) ? SURG_ENOMEM : s;
}

/* Summarizes one model. `title`: print its name first. */
static int inform(surg_context *ctx, const request *r, const char *path, bool title) {
  info_facts f = {.ctx = ctx, .path = path, .target = r->target};
  surg__stat st;
  surg_context_clear_error(ctx);
  surg_load_options lenient = r->common.load;
  lenient.policy = SURG_LOAD_LENIENT;
  lenient.inspect = true;
  surg_status s = surg_model_load(ctx, path, &lenient, &f.m);
  if (surg__os_stat(path, &st) == 0 && st.regular) f.bytes = st.size;
  if (s == SURG_OK) s = assume(f.m, r);
  if (s == SURG_OK) s = gather(&f);
  if (s == SURG_OK && r->common.json) {
    info_print_json(&f, r->top, title);
  } else if (s == SURG_OK) {
    if (title) {
      cli_put(stdout, path);
      putchar('\n');
    }
    info_print_text(&f, r->top, r->values);
    if (r->nodes) {
      putchar('\n');
      (void)node_table_print(ctx, f.m, NULL, 0);
    }
    if (title) putchar('\n');
  } else if (!surg_context_error(ctx)) {
    cli_no_memory();
  }
  if (s == SURG_OK && cli_out_of_memory(ctx)) s = SURG_ENOMEM;
  cli_stats_free(&f.stats);
  surg_info_free(f.info);
  surg_model_free(f.m);
  return cli_exit_code(s);
}

static int take(void *user, int o, char *arg) {
  request *r = user;
  uint64_t n;
  switch (o) {
    case OPT_TOP:
      if (!cli_number(arg, &n) || !n || n > SIZE_MAX)
        return cli_usage("--top expects the number of nodes to list");
      r->top = (size_t)n;
      return EXIT_DONE;
    case OPT_VALUES:
      r->values = true;
      return EXIT_DONE;
    case OPT_NODES:
      r->nodes = true;
      return EXIT_DONE;
    case OPT_TARGET:
      r->target_name = arg;
      return EXIT_DONE;
    default: /* OPT_DIM */
      if (r->dim_count == MOST_DIMS) return cli_usage("--dim may be given %u times", MOST_DIMS);
      r->dims[r->dim_count++] = arg;
      return EXIT_DONE;
  }
}

int cmd_info(int argc, char **argv) {
  static const struct option options[] = {{"top", required_argument, NULL, OPT_TOP},
                                          {"values", no_argument, NULL, OPT_VALUES},
                                          {"nodes", no_argument, NULL, OPT_NODES},
                                          {"dim", required_argument, NULL, OPT_DIM},
                                          {"target", required_argument, NULL, OPT_TARGET},
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  request r = {.top = 0};
  int code;
  const cli_command command = {options, NULL, help, take, &r, &r.common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (optind == argc) return cli_usage("info expects a model: `onnxsurg info IN`");
  surg_context *ctx = cli_context(&r.common);
  if (!ctx) return EXIT_LIMIT;
  if (r.target_name) r.target = cli_target(ctx, r.target_name, &code);
  for (int i = optind; i < argc && (r.target || !r.target_name); i++) {
    int c = inform(ctx, &r, argv[i], argc - optind > 1);
    if (c > code) code = c;
  }
  surg_target_free(r.target);
  surg_context_free(ctx);
  return cli_flush(code);
}
