/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg split MODEL`: divides a model into parts that run one after another. */
#include <onnxsurg/edit.h>
#include <onnxsurg/run.h>
#include <onnxsurg/split.h>
#include <onnxsurg/weights.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli.h"

#define CUTS 1000u        /* most --at */
#define CUT_VALUES 10000u /* most values of one --at */
#define TEXT 400          /* of a message about an address */
#define ROWS (1u << 24)   /* most rows of a cache */

static const char help[] =
    "usage: onnxsurg split --parts N [OPTION]... MODEL\n"
    "       onnxsurg split --max-bytes SIZE [OPTION]... MODEL\n"
    "       onnxsurg split --at VALUE,... [OPTION]... MODEL\n"
    "       onnxsurg split [--embeddings] [--head] [OPTION]... MODEL\n"
    "       onnxsurg split --prompt N --length N [OPTION]... MODEL\n"
    "Divides a model into parts that run one after another: STEM-1.onnx, STEM-2.onnx\n"
    "..., and a manifest STEM.split.json that lists them in order. `run`, `verify`\n"
    "and `merge` accept the manifest in place of a model.\n"
    "\n"
    "  --parts N           N parts of about equal size, cut where few values cross\n"
    "  --by bytes|nodes    what --parts balances: weights (default, if there are any)\n"
    "                      or nodes\n"
    "  --max-bytes SIZE    as few parts as possible with at most SIZE of weights each\n"
    "  --at VALUE,...      cut after these values (addresses); repeatable, in order\n"
    "  --embeddings        cut after lookups of integer inputs in constant tables:\n"
    "                      the first part is the embeddings\n"
    "  --head              cut before the last product with a weight: the last part\n"
    "                      is the output projection\n"
    "  --prompt N          two models of a decoder, STEM-prompt.onnx for N new tokens\n"
    "                      and STEM-step.onnx for one, with one data file and caches\n"
    "                      of a fixed length (see `onnxsurg static-cache --help`); no\n"
    "                      manifest\n"
    "  --length N          rows of each cache\n"
    "  --window            keep the newest rows, at the end of the cache\n"
    "  -o, --output STEM   path and start of the names (default: MODEL without its\n"
    "                      extension)\n"
    "  --overwrite         replace parts that exist\n"
    "  --external-data NAME\n"
    "                      store the weights of all parts in one data file; weights\n"
    "                      that are in data files stay there without this option\n"
    "                      (with --prompt, others are stored in STEM.data)\n"
    "  --no-fsync          do not wait until the disk has the data\n"
    "  --json              print the manifest\n";

enum {
  OPT_PARTS = OPT_OWN,
  OPT_BY,
  OPT_MAX_BYTES,
  OPT_AT,
  OPT_EMBEDDINGS,
  OPT_HEAD,
  OPT_PROMPT,
  OPT_LENGTH,
  OPT_WINDOW,
  OPT_OVERWRITE,
  OPT_DATA,
  OPT_NO_FSYNC
};

static const struct option options[] = {{"parts", required_argument, NULL, OPT_PARTS},
                                        {"by", required_argument, NULL, OPT_BY},
                                        {"max-bytes", required_argument, NULL, OPT_MAX_BYTES},
                                        {"at", required_argument, NULL, OPT_AT},
                                        {"embeddings", no_argument, NULL, OPT_EMBEDDINGS},
                                        {"head", no_argument, NULL, OPT_HEAD},
                                        {"prompt", required_argument, NULL, OPT_PROMPT},
                                        {"length", required_argument, NULL, OPT_LENGTH},
                                        {"window", no_argument, NULL, OPT_WINDOW},
                                        {"output", required_argument, NULL, 'o'},
                                        {"overwrite", no_argument, NULL, OPT_OVERWRITE},
                                        {"external-data", required_argument, NULL, OPT_DATA},
                                        {"no-fsync", no_argument, NULL, OPT_NO_FSYNC},
                                        CLI_COMMON_OPTIONS,
                                        {0}};

typedef struct splitting {
  cli_common common;
  surg_split_options how;
  surg_save_options save;
  bool by, overwrite;
  bool found[2];           /* cut off this surg_split_what */
  uint64_t prompt, length; /* new tokens of the model for prompts, rows of its caches; 0: none */
  bool window;
  const char *data, *stem;
  cli_words at;
  surg_model *m;
  surg_value ***cuts; /* values of each --at */
  size_t *n_values, n_cuts;
  surg_model **parts;
  char **paths, *stem_path;
  bool *existed; /* a file was at the path before */
  size_t n;
} splitting;

static int bad_balance(const char *arg) {
  char *shown = cli_escaped(arg, 40);
  const int code =
      cli_usage("--by expects bytes or nodes, found %s", shown ? shown : "something else");
  free(shown);
  return code;
}

static int take(void *user, int o, char *arg) {
  splitting *j = user;
  uint64_t n;
  switch (o) {
    case OPT_PARTS:
      if (!cli_number(arg, &n) || n < 2 || n > 10000)
        return cli_usage("--parts expects 2 to 10000");
      j->how.parts = (size_t)n;
      return EXIT_DONE;
    case OPT_BY:
      j->by = true;
      j->how.by = strcmp(arg, "nodes") == 0 ? SURG_SPLIT_NODES : SURG_SPLIT_BYTES;
      if (j->how.by == SURG_SPLIT_NODES || strcmp(arg, "bytes") == 0) return EXIT_DONE;
      return bad_balance(arg);
    case OPT_MAX_BYTES:
      if (cli_number(arg, &j->how.max_bytes) && j->how.max_bytes) return EXIT_DONE;
      return cli_usage("--max-bytes expects bytes, such as 2GiB");
    case OPT_AT:
      if (j->at.n == CUTS) return cli_usage("there are %u --at at most", CUTS);
      return cli_words_take(&j->at, arg);
    case OPT_EMBEDDINGS:
      j->found[SURG_SPLIT_EMBEDDINGS] = true;
      return EXIT_DONE;
    case OPT_HEAD:
      j->found[SURG_SPLIT_HEAD] = true;
      return EXIT_DONE;
    case OPT_PROMPT:
    case OPT_LENGTH:
      if (!cli_number(arg, &n) || n < 1 || n > ROWS)
        return cli_usage("%s expects 1 to %u", o == OPT_PROMPT ? "--prompt" : "--length", ROWS);
      *(o == OPT_PROMPT ? &j->prompt : &j->length) = n;
      return EXIT_DONE;
    case OPT_WINDOW:
      j->window = true;
      return EXIT_DONE;
    case OPT_OVERWRITE:
      j->overwrite = true;
      return EXIT_DONE;
    case OPT_DATA:
      j->data = arg;
      return EXIT_DONE;
    case OPT_NO_FSYNC:
      j->save.no_fsync = true;
      return EXIT_DONE;
    default: /* 'o' */
      j->stem = arg;
      return EXIT_DONE;
  }
}

/* --- cuts --- */

/* Appends the values of an address. */
static int add_values(splitting *j, size_t k, const char *address) {
  char why[TEXT];
  size_t n = 0;
  const surg_status s = surg_select_values(j->m, address, j->cuts[k] + j->n_values[k],
                                           CUT_VALUES - j->n_values[k], &n, why, sizeof why);
  if (s == SURG_OK) j->n_values[k] += n;
  if (s == SURG_OK) return EXIT_DONE;
  if (s == SURG_ENOMEM) return cli_no_memory();
  return cli_usage("--at: %s", s == SURG_ELIMIT ? "too many values" : why);
}

/* Reads the list of one --at: an address, else several with commas between them. */
static int read_cut(splitting *j, size_t k) {
  size_t n = 0;
  char *text = strdup(j->at.items[k]), *next = text;
  j->cuts[k] = calloc(CUT_VALUES, sizeof **j->cuts);
  int code = text && j->cuts[k] ? EXIT_DONE : cli_no_memory();
  const bool whole =
      text && (surg_select_values(j->m, text, NULL, 0, &n, NULL, 0) == SURG_ELIMIT || n > 0);
  while (code == EXIT_DONE && next) {
    char *comma = whole ? NULL : strchr(next, ',');
    if (comma) *comma = 0;
    code = add_values(j, k, next);
    next = comma ? comma + 1 : NULL;
  }
  free(text);
  return code;
}

/* Adds a cut for embeddings or head. */
static int find_cut(splitting *j, int32_t what) {
  const size_t k = j->n_cuts++;
  j->cuts[k] = calloc(CUT_VALUES, sizeof **j->cuts);
  if (!j->cuts[k]) return cli_no_memory();
  const surg_status s = surg_split_find(j->m, what, j->cuts[k], CUT_VALUES, &j->n_values[k]);
  return s == SURG_ELIMIT ? cli_usage("too many values to cut at") : cli_exit_code(s);
}

static int read_cuts(splitting *j) {
  int code = EXIT_DONE;
  j->cuts = calloc(j->at.n + 3, sizeof *j->cuts);
  j->n_values = calloc(j->at.n + 3, sizeof *j->n_values);
  j->n_cuts = j->at.n;
  if (!j->cuts || !j->n_values) return cli_no_memory();
  for (size_t k = 0; k < j->at.n && code == EXIT_DONE; k++) code = read_cut(j, k);
  for (int32_t what = 0; what < 2 && code == EXIT_DONE; what++)
    if (j->found[what]) code = find_cut(j, what);
  j->how.cuts = (surg_value *const *const *)j->cuts;
  j->how.n_values = j->n_values;
  j->how.n_cuts = j->n_cuts;
  return code;
}

/* Without --by: weights, unless there are none. */
static void choose_balance(splitting *j) {
  const surg_graph *g = surg_model_graph(j->m);
  uint64_t bytes = 0;
  for (surg_value *v = surg_graph_next_initializer(g, NULL); v;
       v = surg_graph_next_initializer(g, v))
    bytes |= surg_tensor_bytes(surg_value_initializer(v));
  if (!j->by && !bytes) j->how.by = SURG_SPLIT_NODES;
}

/* --- files --- */

/* The start of all names: --output, else the path of the model without its extension. */
static char *stem_of(const splitting *j, const char *in) {
  const char *base = cli_base_name(in), *dot = strrchr(base, '.');
  if (j->stem) return strdup(j->stem);
  return strndup(in, dot && dot != base ? (size_t)(dot - in) : strlen(in));
}

/* The path of part k, from 1 on; of the manifest for 0. */
static char *name_part(const splitting *j, const char *stem, size_t k) {
  const size_t room = strlen(stem) + 40;
  char *path = malloc(room);
  if (path && j->prompt)
    snprintf(path, room, "%s-%s.onnx", stem, k == 1 ? "prompt" : "step");
  else if (path)
    snprintf(path, room, k ? "%s-%zu.onnx" : "%s.split.json", stem, k);
  return path;
}

/* Models of a prompt and of a step are no chain: they have no manifest. */
static size_t first_file(const splitting *j) {
  return j->prompt ? 1 : 0;
}

/* paths[0] is the manifest, the others the parts. */
static int name_files(splitting *j, const char *in) {
  j->stem_path = stem_of(j, in);
  j->paths = calloc(j->n + 1, sizeof *j->paths);
  j->existed = calloc(j->n + 1, sizeof *j->existed);
  int code =
      j->stem_path && j->paths && j->existed ? cli_check_folder(j->stem_path) : cli_no_memory();
  for (size_t k = first_file(j); code == EXIT_DONE && k <= j->n; k++) {
    j->paths[k] = name_part(j, j->stem_path, k);
    if (!j->paths[k]) code = cli_no_memory();
    if (code == EXIT_DONE) j->existed[k] = surg__os_exists(j->paths[k]);
    if (code != EXIT_DONE || j->overwrite || !j->existed[k]) continue;
    cli_error(j->paths[k], "exists; give --overwrite or another --output");
    code = EXIT_IO;
  }
  return code;
}

static surg_status write_data(splitting *j, const char *file) {
  const surg_data_options o = {
      .size = sizeof o, .file = file, .keep = !j->data, .no_fsync = j->save.no_fsync};
  return surg_model_save_data(j->parts, (const char *const *)(j->paths + 1), j->n, &o, NULL);
}

static surg_status write_parts(splitting *j) {
  surg_status s = SURG_OK;
  if (j->data) return write_data(j, j->data);
  if (j->prompt) {
    cli_text name = {0};
    cli_text_printf(&name, "%s.data", cli_base_name(j->stem_path));
    s = name.failed ? SURG_ENOMEM : write_data(j, cli_text_of(&name));
    cli_text_free(&name);
    return s;
  }
  for (size_t k = 0; s == SURG_OK && k < j->n; k++)
    s = surg_model_save(j->parts[k], j->paths[k + 1], &j->save);
  return s;
}

static surg_status write_manifest(splitting *j, surg_context *ctx, char **text) {
  const char **files = calloc(j->n + 1, sizeof *files);
  if (!files) return SURG_ENOMEM;
  for (size_t k = 0; k < j->n; k++) files[k] = cli_base_name(j->paths[k + 1]);
  surg_status s = surg_manifest_text(j->m, j->parts, files, j->n, text);
  free(files);
  if (s == SURG_OK) s = surg_file_write(ctx, j->paths[0], *text, strlen(*text));
  return s;
}

/* After a failure: parts without their manifest would only be in the way of the next run. Those
 * that replaced others stay. */
static void remove_parts(const splitting *j) {
  for (size_t k = first_file(j); k <= j->n; k++)
    if (!j->existed[k]) surg__os_unlink(j->paths[k]);
}

/* --- the report --- */

#define NAMES_SHOWN 8u /* of longer lists the first few are shown */

static void put_names(const char *what, const surg_graph *g, bool outputs) {
  const size_t n = outputs ? surg_graph_output_count(g) : surg_graph_input_count(g);
  const size_t shown = n > NAMES_SHOWN ? NAMES_SHOWN / 2 : n;
  printf("; %s ", what);
  for (size_t i = 0; i < shown; i++) {
    if (i) printf(", ");
    cli_put(stdout, surg_value_name(outputs ? surg_graph_output(g, i) : surg_graph_input(g, i)));
  }
  if (!n) printf("none");
  if (shown < n) printf(" and %zu more", n - shown);
}

static void put_part(const splitting *j, size_t k) {
  const surg_graph *g = surg_model_graph(j->parts[k]);
  const size_t nodes = surg_graph_node_count(g);
  uint64_t bytes = 0;
  for (surg_value *v = surg_graph_next_initializer(g, NULL); v;
       v = surg_graph_next_initializer(g, v))
    bytes += surg_tensor_bytes(surg_value_initializer(v));
  cli_put(stdout, j->paths[k + 1]);
  printf(": %zu node%s, weights of %s", nodes, nodes == 1 ? "" : "s", cli_bytes(bytes));
  put_names("reads", g, false);
  put_names("computes", g, true);
  putchar('\n');
}

static void report(const splitting *j, const char *text) {
  if (j->common.json && j->prompt)
    cli_print_json(json_pack("{s:i,s:o,s:o}", "schema", 1, "prompt", cli_text_json(j->paths[1]),
                             "step", cli_text_json(j->paths[2])));
  else if (j->common.json)
    puts(text);
  if (j->common.json) return;
  if (j->common.quiet) return;
  for (size_t k = 0; k < j->n; k++) put_part(j, k);
  if (j->prompt) return;
  cli_put(stdout, j->paths[0]);
  printf(": manifest of %zu parts\n", j->n);
}

/* --- the command --- */

/* Gives a model caches of a fixed length, for `rows` new tokens of each run. */
static surg_status fix_rows(const splitting *j, surg_model **m, uint64_t rows) {
  cli_text line = {0};
  if (!*m) return SURG_ENOMEM;
  cli_text_printf(&line, "static-cache{length=%llu,new=%llu%s}", (unsigned long long)j->length,
                  (unsigned long long)rows, j->window ? ",window" : "");
  const surg_status s = line.failed ? SURG_ENOMEM : surg_run(m, cli_text_of(&line), NULL, NULL);
  cli_text_free(&line);
  return s;
}

static surg_status make_prompt_and_step(splitting *j) {
  j->parts = calloc(2, sizeof *j->parts);
  if (!j->parts) return SURG_ENOMEM;
  j->n = 2;
  for (size_t k = 0; k < 2; k++) {
    j->parts[k] = surg_model_clone(j->m);
    const surg_status s = fix_rows(j, &j->parts[k], k == 0 ? j->prompt : 1);
    if (s != SURG_OK) return s;
  }
  return SURG_OK;
}

static surg_status make_parts(splitting *j) {
  surg_split *plan = NULL;
  surg_status s = surg_split_new(j->m, &j->how, &plan);
  j->n = surg_split_count(plan);
  j->parts = calloc(j->n + 1, sizeof *j->parts);
  if (s == SURG_OK && !j->parts) s = SURG_ENOMEM;
  for (size_t k = 0; s == SURG_OK && k < j->n; k++) s = surg_split_part(plan, k, &j->parts[k]);
  surg_split_free(plan);
  return s;
}

static int run(splitting *j, surg_context *ctx, const char *in) {
  char *text = NULL;
  surg_status s = cli_load(ctx, &j->common, in, &j->m);
  if (s == SURG_OK) s = surg_graph_toposort(surg_model_graph(j->m), NULL);
  int code = cli_exit_code(s);
  if (code == EXIT_DONE) code = read_cuts(j);
  if (code == EXIT_DONE) {
    choose_balance(j);
    s = j->prompt ? make_prompt_and_step(j) : make_parts(j);
    code = cli_exit_code(s);
  }
  if (code == EXIT_DONE) code = name_files(j, in);
  if (code == EXIT_DONE) {
    s = write_parts(j);
    if (s == SURG_OK && !j->prompt) s = write_manifest(j, ctx, &text);
    if (s != SURG_OK) remove_parts(j);
    code = cli_exit_code(s);
  }
  if (s != SURG_OK && !surg_context_error(ctx)) cli_error(NULL, "%s", surg_status_name(s));
  if (code == EXIT_DONE) report(j, text);
  surg_context_free_bytes(ctx, text);
  return code;
}

static void finish(splitting *j) {
  for (size_t k = 0; j->cuts && k < j->n_cuts; k++) free(j->cuts[k]);
  for (size_t k = 0; j->paths && k <= j->n; k++) free(j->paths[k]);
  for (size_t k = 0; j->parts && k < j->n; k++) surg_model_free(j->parts[k]);
  surg_model_free(j->m);
  free(j->cuts);
  free(j->n_values);
  free(j->paths);
  free(j->stem_path);
  free(j->existed);
  free(j->parts);
  free(j->at.items);
}

static int check_arguments(const splitting *j, char **args, int n) {
  const int ways = (j->how.parts > 0) + (j->how.max_bytes > 0) + (j->at.n > 0) +
                   (j->found[0] || j->found[1]) + (j->prompt > 0);
  if (n != 1) return cli_usage("split expects one model: `onnxsurg split --parts 2 MODEL`");
  if (ways != 1)
    return cli_usage(
        "split expects one of --parts, --max-bytes, --at, --prompt and "
        "--embeddings, --head");
  if (!j->prompt != !j->length)
    return cli_usage(j->prompt ? "--prompt needs --length, the rows of each cache"
                               : "--length needs --prompt, the new tokens of a prompt");
  if (j->window && !j->prompt) return cli_usage("--window needs --prompt");
  if (!j->stem && strcmp(args[0], "-") == 0)
    return cli_usage("a model from standard input needs --output");
  return EXIT_DONE;
}

int cmd_split(int argc, char **argv) {
  splitting j = {.how = {.size = sizeof j.how}, .save = {.size = sizeof j.save}};
  int code;
  const cli_command command = {options, "o:", help, take, &j, &j.common};
  if (cli_options(argc, argv, &command, &code)) {
    code = check_arguments(&j, argv + optind, argc - optind);
    surg_context *ctx = code == EXIT_DONE ? cli_context(&j.common) : NULL;
    if (code == EXIT_DONE) code = ctx ? run(&j, ctx, argv[optind]) : EXIT_LIMIT;
    finish(&j);
    surg_context_free(ctx);
  } else {
    free(j.at.items);
  }
  return cli_flush(code);
}
