/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg info IN`: summarizes a model as a page of text or as JSON. */
#include <string.h>

#include "base/os/os.h"
#include "check/check_target.h"
#include "fleet.h"
#include "info.h"
#include "node_row.h"

static const char help[] =
    "usage: onnxsurg info [--top N] [--by-module[=N]] [--weights] [--nodes]\n"
    "                     [--values] [--dim NAME=SIZE]... [--target T] [--json] IN...\n"
    "       onnxsurg info --table|--markdown IN...\n"
    "Prints what a model contains and needs: versions and the oldest possible ones,\n"
    "inputs, outputs, operators, weights, operations, memory. Reads weights only with\n"
    "--weights; their files may be missing.\n"
    "\n"
    "  --top N            list the N most expensive nodes\n"
    "  --by-module[=N]    cost, parameters and nodes by folder of the names of nodes\n"
    "                     (`/encoder/layer.0/Add`), down to N levels (2)\n"
    "  --weights          range and histogram of each weight\n"
    "  --table            one line per model\n"
    "  --markdown         the tables (models, folders, weights) as Markdown\n"
    "  --nodes            list every node, as `onnxsurg nodes` does\n"
    "  --values           list every value with its type and shape\n"
    "  --dim NAME=SIZE    value of a symbol of the inputs: N=4, N=1..64, H%32\n"
    "                     (repeatable)\n"
    "  --target T         opsets that both the model and engine T support\n"
    "  --json             print a JSON object; of several models, one per line\n"
    "                     (doc/info.md)\n" CLI_JOBS_HELP;

#define MOST_DIMS 64u

typedef struct request {
  cli_common common;
  info_more more;
  bool values, nodes, table;
  bool symbolic;    /* a model of the table has symbolic sizes */
  cli_table models; /* with --table */
  const char *dims[MOST_DIMS];
  size_t dim_count;
  const char *target_name;
  surg_target *target;
} request;

enum {
  OPT_TOP = OPT_OWN,
  OPT_VALUES,
  OPT_NODES,
  OPT_DIM,
  OPT_TARGET,
  OPT_MODULES,
  OPT_WEIGHTS,
  OPT_TABLE,
  OPT_MARKDOWN
};

#define WIDE_NAME 40u /* bytes of a path below a folder, in the table */
#define MODULE_LEVELS 2u
#define MODULE_LEVELS_MOST 64u

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

/* Prints the tables about one model that were asked for. */
static surg_status print_tables(const info_facts *f, const request *r) {
  const info_more *more = &r->more;
  surg_status s = SURG_OK;
  if (more->modules) {
    putchar('\n');
    s = info_print_modules(f, more->modules, more->markdown);
  }
  if (more->weights && s == SURG_OK) {
    putchar('\n');
    info_print_weights(f, more->markdown);
  }
  return s;
}

static void put_title(const char *path, const char *before) {
  fputs(before, stdout);
  cli_put(stdout, path);
  putchar('\n');
}

/* Prints the facts in the form that was asked for. `title`: print the name of the model first. */
static surg_status print(info_facts *f, request *r, bool title) {
  const bool own_tables = r->more.modules || r->more.weights;
  if (r->common.json) {
    info_print_json(f, &r->more, title);
    return SURG_OK;
  }
  if (r->table) {
    info_table_add(&r->models, f);
    r->symbolic |= info_is_symbolic(f);
    return SURG_OK;
  }
  if (r->more.markdown) {
    put_title(f->path, "## ");
    const surg_status s = own_tables ? print_tables(f, r) : SURG_OK;
    putchar('\n');
    return s;
  }
  if (title) put_title(f->path, "");
  info_print_text(f, r->more.top, r->values);
  const surg_status s = print_tables(f, r);
  if (r->nodes) {
    putchar('\n');
    (void)node_table_print(f->ctx, f->m, NULL, 0);
  }
  if (title) putchar('\n');
  return s;
}

/* Summarizes one model. */
static int inform(surg_context *ctx, request *r, const char *path, bool title) {
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
  if (s == SURG_OK)
    s = print(&f, r, title);
  else if (!surg_context_error(ctx) && !cli_out_of_memory(ctx))
    cli_no_memory();
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
      r->more.top = (size_t)n;
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
    case OPT_MODULES:
      n = MODULE_LEVELS;
      if (arg && (!cli_number(arg, &n) || !n || n > MODULE_LEVELS_MOST))
        return cli_usage("--by-module expects a number of levels, 1 to %u", MODULE_LEVELS_MOST);
      r->more.modules = (size_t)n;
      return EXIT_DONE;
    case OPT_WEIGHTS:
      r->more.weights = true;
      return EXIT_DONE;
    case OPT_TABLE:
      r->table = true;
      return EXIT_DONE;
    case OPT_MARKDOWN:
      r->more.markdown = true;
      return EXIT_DONE;
    default: /* OPT_DIM */
      if (r->dim_count == MOST_DIMS) return cli_usage("--dim may be given %u times", MOST_DIMS);
      r->dims[r->dim_count++] = arg;
      return EXIT_DONE;
  }
}

/* --- several models --- */

typedef struct all {
  request *r;
  surg_context *ctx;
} all;

/* Prints a row of the table as JSON, for the process that has the table. */
static void print_row(request *r) {
  json_t *cells = json_array();
  for (size_t i = 0; i < r->models.n; i++)
    json_array_append_new(cells, cli_text_json(r->models.cells[i] ? r->models.cells[i] : ""));
  cli_print_json(json_pack("{s:b,s:o}", "symbolic", r->symbolic, "cells", cells));
}

static int inform_one(void *user, const fleet_model *m) {
  all *a = user;
  request one = *a->r;
  one.models = (cli_table){.markdown = one.more.markdown};
  const int code = inform(a->ctx, &one, m->in, true);
  if (code == EXIT_DONE && one.table && !one.common.json) print_row(&one);
  cli_table_free(&one.models);
  return code;
}

static void take_row(void *user, const fleet_model *m, int code, const char *text, size_t n) {
  request *r = ((all *)user)->r;
  json_t *row = json_loadb(text, n, 0, NULL), *cells = json_object_get(row, "cells");
  if (code == EXIT_DONE && json_array_size(cells)) {
    cli_table_name(&r->models, m->name, m->found ? WIDE_NAME : INFO_NAME);
    for (size_t i = 1; i < json_array_size(cells); i++)
      cli_table_put(&r->models, json_string_value(json_array_get(cells, i)));
    r->symbolic |= json_is_true(json_object_get(row, "symbolic"));
  }
  json_decref(row);
}

static int inform_all(surg_context *ctx, request *r, char **files, int n) {
  all a = {r, ctx};
  const bool rows = r->table && !r->common.json;
  const fleet f = {.common = &r->common,
                   .good = "ok",
                   .bad = "invalid",
                   .work = inform_one,
                   .take = rows ? take_row : NULL,
                   .user = &a};
  fleet_list list = {0};
  if (!fleet_is_many(&r->common, files, n)) return inform(ctx, r, files[0], false);
  int code = fleet_find(files, n, NULL, &list);
  if (code == EXIT_DONE) code = fleet_run(&f, &list);
  fleet_free(&list);
  return code;
}

int cmd_info(int argc, char **argv) {
  static const struct option options[] = {{"top", required_argument, NULL, OPT_TOP},
                                          {"values", no_argument, NULL, OPT_VALUES},
                                          {"nodes", no_argument, NULL, OPT_NODES},
                                          {"dim", required_argument, NULL, OPT_DIM},
                                          {"target", required_argument, NULL, OPT_TARGET},
                                          {"by-module", optional_argument, NULL, OPT_MODULES},
                                          {"weights", no_argument, NULL, OPT_WEIGHTS},
                                          {"table", no_argument, NULL, OPT_TABLE},
                                          {"markdown", no_argument, NULL, OPT_MARKDOWN},
                                          CLI_JOBS_OPTION,
                                          CLI_COMMON_OPTIONS,
                                          {0}};
  request r = {.values = false};
  int code;
  const cli_command command = {options, NULL, help, take, &r, &r.common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  if (optind == argc) return cli_usage("info expects a model: `onnxsurg info IN`");
  const bool tables = r.more.modules || r.more.weights;
  if (r.more.markdown && (r.values || r.nodes || r.more.top))
    return cli_usage("--markdown prints the table of models, --by-module and --weights");
  if (r.table && (tables || r.values || r.nodes || r.more.top))
    return cli_usage("--table prints one line per model, and nothing else");
  if (r.more.markdown && !tables) r.table = true;
  if (r.table) info_table_start(&r.models, r.more.markdown);
  surg_context *ctx = cli_context(&r.common);
  if (!ctx) return EXIT_LIMIT;
  if (r.target_name) r.target = cli_target(ctx, r.target_name, &code);
  if (r.target || !r.target_name) code = inform_all(ctx, &r, argv + optind, argc - optind);
  if (r.table && !r.common.json) {
    cli_table_print(&r.models);
    if (r.symbolic) puts("\n*: with 1 for each symbol of a dimension (--dim NAME=SIZE)");
  }
  surg_target_free(r.target);
  surg_context_free(ctx);
  return cli_flush(code);
}
