/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg attach TEMPLATE IN OUT`: joins a small model with one of its inputs or outputs. */
#include <onnxsurg/names.h>
#include <onnxsurg/run.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli.h"
#include "joined.h"

static const char help[] =
    "usage: onnxsurg attach TEMPLATE --before INPUT [OPTION]... IN OUT\n"
    "       onnxsurg attach TEMPLATE --after VALUE [OPTION]... IN OUT\n"
    "       onnxsurg attach --list [--templates DIR]\n"
    "Joins another model, such as one of templates/, with an input or output of IN.\n"
    "TEMPLATE is a file, or the name of a file NAME.onnxtxt or NAME.onnx in a folder\n"
    "of templates. It is converted to the opset of IN; its names are changed where IN\n"
    "uses them.\n"
    "\n"
    "  --before INPUT     an output of the template replaces this input; the only\n"
    "                     input of the template gets its name\n"
    "  --after VALUE      an input of the template reads this value, which is then no\n"
    "                     longer an output; repeatable, each with a --use\n"
    "  --use NAME         the output or input of the template (default: the only one)\n"
    "  --set NAME=DATA    set a weight of the template: mean='{0.5, 0.5, 0.5}'\n"
    "                     (repeatable)\n"
    "  --keep-outputs     VALUE remains an output\n"
    "  --external-data NAME\n"
    "                     write large weights to file NAME in the folder of OUT\n"
    "  --no-fsync         do not wait until the disk has the data\n"
    "  --templates DIR    folder of templates (default: $ONNXSURG_TEMPLATES, else the\n"
    "                     installed ones)\n"
    "  --list             list the templates of the folder, with their descriptions\n";

#define SUFFIXES 1000u /* most names that are tried for one value */

enum {
  OPT_BEFORE = OPT_OWN,
  OPT_AFTER,
  OPT_USE,
  OPT_SET,
  OPT_KEEP_OUTPUTS,
  OPT_TEMPLATES,
  OPT_LIST,
  OPT_EXTERNAL_DATA,
  OPT_NO_FSYNC
};

static const struct option options[] = {
    {"before", required_argument, NULL, OPT_BEFORE},
    {"after", required_argument, NULL, OPT_AFTER},
    {"use", required_argument, NULL, OPT_USE},
    {"set", required_argument, NULL, OPT_SET},
    {"keep-outputs", no_argument, NULL, OPT_KEEP_OUTPUTS},
    {"templates", required_argument, NULL, OPT_TEMPLATES},
    {"list", no_argument, NULL, OPT_LIST},
    {"external-data", required_argument, NULL, OPT_EXTERNAL_DATA},
    {"no-fsync", no_argument, NULL, OPT_NO_FSYNC},
    CLI_COMMON_OPTIONS,
    {0}};

typedef struct attaching {
  cli_common common;
  const char *before, *folder;
  cli_words after, use; /* values of the model, and the inputs of the template that read them */
  bool keep_outputs, list;
  surg_save_options save;
  cli_words set;
  cli_words names;   /* templates of the folder, heap, in order */
  surg_model *m, *t; /* the model and the template */
} attaching;

static int take(void *user, int o, char *arg) {
  attaching *a = user;
  switch (o) {
    case OPT_BEFORE:
      a->before = arg;
      return EXIT_DONE;
    case OPT_AFTER:
      return cli_words_take(&a->after, arg);
    case OPT_USE:
      return cli_words_take(&a->use, arg);
    case OPT_SET:
      return strchr(arg, '=') ? cli_words_take(&a->set, arg) : cli_usage("--set expects NAME=DATA");
    case OPT_KEEP_OUTPUTS:
      a->keep_outputs = true;
      return EXIT_DONE;
    case OPT_EXTERNAL_DATA:
      return cli_take_external(&a->save, arg);
    case OPT_NO_FSYNC:
      a->save.no_fsync = true;
      return EXIT_DONE;
    case OPT_LIST:
      a->list = true;
      return EXIT_DONE;
    default: /* OPT_TEMPLATES */
      a->folder = arg;
      return EXIT_DONE;
  }
}

/* --- the folder of templates --- */

static const char *const endings[] = {".onnxtxt", ".onnx"};

/* The length of a file name without one of the endings; 0: it has none. */
static size_t stem_length(const char *file) {
  const size_t n = strlen(file);
  for (size_t i = 0; i < CLI_COUNT(endings); i++) {
    const size_t end = strlen(endings[i]);
    if (n > end && strcmp(file + n - end, endings[i]) == 0) return n - end;
  }
  return 0;
}

static int by_word(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads the names in a->folder. Returns EXIT_DONE, or another exit code after an error. */
static int read_folder(attaching *a) {
  surg__os_folder *f = NULL;
  int code = EXIT_DONE;
  if (surg__os_folder_open(a->folder, &f) != 0) {
    cli_error(a->folder, "cannot be read as a folder of templates");
    return EXIT_IO;
  }
  for (const char *file; code == EXIT_DONE && (file = surg__os_folder_next(f)) != NULL;) {
    const size_t n = stem_length(file);
    char *name = n ? strndup(file, n) : NULL;
    if (n) code = name ? cli_words_take(&a->names, name) : cli_no_memory();
    if (code != EXIT_DONE) free(name);
  }
  surg__os_folder_close(f);
  if (a->names.n) qsort(a->names.items, a->names.n, sizeof *a->names.items, by_word);
  return code;
}

static const char *word_at(const void *list, size_t i) {
  return ((const cli_words *)list)->items[i];
}

/* Prints the comments that a template begins with. */
static void describe(const attaching *a, const char *name) {
  cli_text path = {0}, text = {0};
  char *line = NULL;
  size_t cap = 0;
  cli_text_printf(&path, "%s/%s%s", a->folder, name, endings[0]);
  FILE *f = path.failed ? NULL : surg__os_fopen(cli_text_of(&path), "r");
  cli_text_printf(&text, "%s: ", name);
  while (f && surg__os_read_line(f, &line, &cap) && line[0] == '#') {
    line[strcspn(line, "\r\n")] = 0;
    cli_text_escape(&text, line + 1 + (line[1] == ' '), 0);
    cli_text_putc(&text, ' ');
  }
  cli_text wrapped = {0};
  cli_text_wrap(&wrapped, cli_text_of(&text), 0, 2);
  cli_text_print(&wrapped);
  if (f) fclose(f);
  free(line);
  cli_text_free(&path);
  cli_text_free(&text);
  cli_text_free(&wrapped);
}

static int list_templates(attaching *a) {
  if (!a->folder) return cli_usage("--list needs --templates DIR or $ONNXSURG_TEMPLATES");
  const int code = read_folder(a);
  for (size_t i = 0; code == EXIT_DONE && i < a->names.n; i++) describe(a, a->names.items[i]);
  if (code == EXIT_DONE && !a->names.n) printf("no templates\n");
  return code;
}

static int no_template(attaching *a, const char *name) {
  if (!a->folder)
    return cli_usage(
        "there is no file %s; a template needs its folder: --templates DIR or $ONNXSURG_TEMPLATES",
        name);
  const int code = read_folder(a);
  const char *near = surg_nearest_name(name, &a->names, a->names.n, word_at);
  if (code != EXIT_DONE) return code;
  return cli_usage("there is no file %s and no template %s in %s%s%s%s", name, name, a->folder,
                   near ? "; did you mean " : " (attach --list lists them)", near ? near : "",
                   near ? "?" : "");
}

/* --- the template --- */

static bool is_file(const char *path) {
  surg__stat st;
  return surg__os_stat(path, &st) == 0 && !st.directory;
}

/* Whether this is no name of a template: it has a folder, or the ending of a model. */
static bool is_path(const char *name) {
  const size_t n = strlen(name);
  for (size_t i = 0; i < 2; i++) {
    const size_t m = strlen(endings[i]);
    if (n > m && strcmp(name + n - m, endings[i]) == 0) return true;
  }
  return strchr(name, '/') != NULL;
}

/* Loads the template: a file, or a name in the folder of templates. */
static int load_template(attaching *a, surg_context *ctx, const char *name) {
  const char *folder = a->folder;
  cli_text path = {0};
  cli_text_puts(&path, name);
  bool found = is_file(name) || is_path(name);
  for (size_t i = 0; folder && i < 2 && !found; i++) {
    cli_text_free(&path);
    path = (cli_text){0};
    cli_text_printf(&path, "%s/%s%s", folder, name, endings[i]);
    found = !path.failed && is_file(cli_text_of(&path));
  }
  int code = path.failed ? cli_no_memory() : EXIT_DONE;
  if (code == EXIT_DONE && !found) code = no_template(a, name);
  if (code == EXIT_DONE) code = cli_exit_code(cli_load(ctx, &a->common, cli_text_of(&path), &a->t));
  cli_text_free(&path);
  return code;
}

/* Sets the weights of --set and converts the template to the opset of the model. */
static int prepare(attaching *a, surg_context *ctx) {
  cli_text line = {0};
  const int64_t opset = surg_model_opset(a->m, "");
  surg_status s = SURG_OK;
  for (size_t i = 0; i < a->set.n && s == SURG_OK; i++) {
    char *name = strdup(a->set.items[i]), *equal = name ? strchr(name, '=') : NULL;
    char *value = NULL, *data = NULL;
    if (equal) *equal = 0;
    s = equal ? surg_pipeline_word(ctx, name, &value) : SURG_ENOMEM;
    if (s == SURG_OK) s = surg_pipeline_word(ctx, equal + 1, &data);
    if (s == SURG_OK) cli_text_printf(&line, "set{value=%s,data=%s},", value, data);
    surg_context_free_bytes(ctx, value);
    surg_context_free_bytes(ctx, data);
    free(name);
  }
  /* The result keeps the IR version of the model where the template permits it. */
  const int64_t ir = surg_model_ir_version(a->m);
  if (s == SURG_OK && ir >= 4 && surg_model_ir_floor(a->t, NULL, NULL, 0) <= ir)
    s = surg_model_set_ir_version(a->t, ir);
  const bool moves = opset && surg_model_opset(a->t, "") && surg_model_opset(a->t, "") != opset;
  if (moves) cli_text_printf(&line, "opset{to=%lld},", (long long)opset);
  cli_text_puts(&line, "toposort");
  if (line.failed) s = SURG_ENOMEM;
  if (s == SURG_OK) s = surg_run(&a->t, cli_text_of(&line), NULL, NULL);
  cli_text_free(&line);
  return s == SURG_ENOMEM ? cli_no_memory() : cli_exit_code(s);
}

/* --- names --- */

/* The value of the template that is connected; *only (may be NULL) receives its only input that a
 * caller must give. NULL after an error. */
static surg_value *connected(const attaching *a, size_t k, surg_value **only) {
  const char *use = k < a->use.n ? a->use.items[k] : NULL;
  const surg_graph *g = surg_model_graph(a->t);
  surg_value *found = NULL, *input = NULL;
  size_t n = 0, inputs = 0;
  for (size_t i = 0; i < surg_graph_input_count(g); i++)
    if (!surg_value_is_initializer(surg_graph_input(g, i)) && ++inputs)
      input = surg_graph_input(g, i);
  const size_t count = a->before ? surg_graph_output_count(g) : surg_graph_input_count(g);
  for (size_t i = 0; i < count; i++) {
    surg_value *v = a->before ? surg_graph_output(g, i) : surg_graph_input(g, i);
    if (use ? strcmp(surg_value_name(v), use) != 0 : surg_value_is_initializer(v)) continue;
    found = v;
    n++;
  }
  *only = inputs == 1 ? input : NULL;
  if (n != 1)
    cli_usage(use ? "--use %s: the template has no such %s"
                  : "--use: name one%s of the %ss of the template",
              use ? use : "", a->before ? "output" : "input");
  return n == 1 ? found : NULL;
}

static bool is_free(const attaching *a, const char *name) {
  const surg_graph *m = surg_model_graph(a->m), *t = surg_model_graph(a->t);
  return !surg_graph_find_value(m, name) && !surg_graph_find_value(t, name);
}

/* Renames values of the template whose names the model has. */
static surg_status resolve(attaching *a) {
  surg_graph *t = surg_model_graph(a->t);
  const surg_graph *m = surg_model_graph(a->m);
  surg_status s = SURG_OK;
  for (surg_value *v = surg_graph_next_value(t, NULL); v && s == SURG_OK;
       v = surg_graph_next_value(t, v)) {
    if (!*surg_value_name(v) || !surg_graph_find_value(m, surg_value_name(v))) continue;
    char *stem = strdup(surg_value_name(v));
    if (!stem) return SURG_ENOMEM;
    for (size_t i = 1; i <= SUFFIXES; i++) {
      cli_text name = {0};
      cli_text_printf(&name, "%s_%zu", stem, i);
      s = name.failed ? SURG_ENOMEM : SURG_EUNSUPPORTED;
      if (s != SURG_ENOMEM && is_free(a, cli_text_of(&name)))
        s = surg_value_rename(v, cli_text_of(&name));
      cli_text_free(&name);
      if (s != SURG_EUNSUPPORTED) break;
    }
    free(stem);
  }
  return s;
}

/* --- the command --- */

/* Gives the template a text of the model; an absent one stays absent. */
static surg_status copy_text(attaching *a, surg_model_field field) {
  const char *text = surg_model_text(a->m, field), *now = surg_model_text(a->t, field);
  if (strcmp(text, now) == 0) return SURG_OK;
  return surg_model_set_text(a->t, field, *text ? text : NULL);
}

/* Joins the template before the input: the result has the name and the texts of the model. */
static surg_status join_before(attaching *a, const char *output) {
  static const surg_model_field fields[] = {SURG_MODEL_DOC, SURG_MODEL_PRODUCER,
                                            SURG_MODEL_PRODUCER_VERSION, SURG_MODEL_DOMAIN};
  const surg_merge_options how = {.size = sizeof how, .from = &output, .to = &a->before, .n = 1};
  surg_status s = surg_model_require_weights(a->m, "attach");
  if (s == SURG_OK) s = surg_model_merge(a->t, a->m, &how);
  if (s == SURG_OK)
    s = surg_graph_set_name(surg_model_graph(a->t), surg_graph_name(surg_model_graph(a->m)));
  for (size_t i = 0; s == SURG_OK && i < sizeof fields / sizeof *fields; i++)
    s = copy_text(a, fields[i]);
  if (s == SURG_OK && surg_model_version(a->m) != surg_model_version(a->t))
    s = surg_model_set_version(a->t, surg_model_version(a->m));
  surg_model *joined = a->t;
  a->t = a->m;
  a->m = joined;
  return s;
}

/* Joins the template after values of the model; ends[k] reads value k. */
static surg_status join_after(attaching *a, surg_value *const *ends) {
  const size_t n = a->after.n;
  char **to = calloc(n, sizeof *to);
  surg_status s = to ? SURG_OK : SURG_ENOMEM;
  for (size_t k = 0; k < n && s == SURG_OK; k++)
    if (!(to[k] = strdup(surg_value_name(ends[k])))) s = SURG_ENOMEM;
  const surg_merge_options how = {.size = sizeof how,
                                  .from = a->after.items,
                                  .to = (const char *const *)to,
                                  .n = n,
                                  .keep_outputs = a->keep_outputs};
  if (s == SURG_OK) s = surg_model_infer(a->m);
  if (s == SURG_OK) s = surg_model_merge(a->m, a->t, &how);
  for (size_t k = 0; to && k < n; k++) free(to[k]);
  free(to);
  return s;
}

/* The result has the name of the input before which the template is joined. */
static surg_status join_named(attaching *a, surg_value *end, surg_value *only) {
  surg_status s = SURG_OK;
  if (only && only != end && surg_value_can_rename(only, a->before))
    s = surg_value_rename(only, a->before);
  char *name = s == SURG_OK ? strdup(surg_value_name(end)) : NULL;
  if (s == SURG_OK && !name) s = SURG_ENOMEM;
  if (s == SURG_OK) s = surg_model_infer(a->t);
  if (s == SURG_OK) s = join_before(a, name);
  free(name);
  return s;
}

static int join(attaching *a) {
  surg_value *only = NULL;
  const size_t n = a->before ? 1 : a->after.n;
  surg_value **ends = calloc(n, sizeof *ends);
  bool found = ends;
  for (size_t k = 0; found && k < n; k++) found = (ends[k] = connected(a, k, &only)) != NULL;
  surg_status s = !ends ? SURG_ENOMEM : found ? resolve(a) : SURG_OK;
  if (found && s == SURG_OK)
    s = a->before ? join_named(a, ends[0], only) : join_after(a, ends);
  free(ends);
  if (s == SURG_OK && !found) return EXIT_USAGE;
  return s == SURG_ENOMEM ? cli_no_memory() : cli_exit_code(s);
}

typedef struct value_names {
  const char **items;
} value_names;

static const char *value_at(const void *list, size_t i) {
  return ((const value_names *)list)->items[i];
}

/* An error with the nearest name. */
static int no_value(const attaching *a, const char *name) {
  const surg_graph *g = surg_model_graph(a->m);
  size_t n = 0;
  for (surg_value *v = NULL; (v = surg_graph_next_value(g, v)) != NULL;) n++;
  value_names all = {calloc(n + 1, sizeof(const char *))};
  if (!all.items) return cli_no_memory();
  n = 0;
  for (surg_value *v = NULL; (v = surg_graph_next_value(g, v)) != NULL;)
    all.items[n++] = surg_value_name(v);
  const char *near = surg_nearest_name(name, &all, n, value_at);
  const int code = cli_usage("the model has no value %s%s%s%s", name, near ? "; did you mean " : "",
                             near ? near : "", near ? "?" : "");
  free(all.items);
  return code;
}

/* Whether the model has the input or value of the options. */
static int check_place(const attaching *a) {
  const size_t n = a->before ? 1 : a->after.n;
  for (size_t k = 0; k < n; k++) {
    const char *name = a->before ? a->before : a->after.items[k];
    const surg_value *v = surg_graph_find_value(surg_model_graph(a->m), name);
    if (!v) return no_value(a, name);
    if (a->before && !surg_value_is_input(v)) return cli_usage("--before %s: not an input", name);
  }
  return EXIT_DONE;
}

static int run(attaching *a, surg_context *ctx, char **args) {
  surg_status s = SURG_OK;
  int code = load_template(a, ctx, args[0]);
  if (code == EXIT_DONE) code = cli_exit_code(cli_load(ctx, &a->common, args[1], &a->m));
  if (code == EXIT_DONE) code = check_place(a);
  if (code == EXIT_DONE) code = prepare(a, ctx);
  bool valid = true;
  if (code == EXIT_DONE) code = cli_exit_code(joined_look(a->m, &valid));
  if (code == EXIT_DONE) code = join(a);
  if (code == EXIT_DONE) code = joined_check(a->m, args[1], valid);
  if (code == EXIT_DONE) {
    s = surg_model_verify(a->m);
    if (s == SURG_OK) s = surg_model_save(a->m, args[2], &a->save);
    code = cli_exit_code(s);
  }
  surg_model_free(a->m);
  surg_model_free(a->t);
  return code;
}

static void free_words(attaching *a) {
  for (size_t i = 0; i < a->names.n; i++) free((char *)a->names.items[i]);
  free(a->names.items);
  free(a->set.items);
  free(a->after.items);
  free(a->use.items);
}

int cmd_attach(int argc, char **argv) {
  attaching a = {.save = {.size = sizeof a.save}};
  int code;
  const cli_command command = {options, NULL, help, take, &a, &a.common};
  if (cli_options(argc, argv, &command, &code)) {
    if (!a.folder) a.folder = getenv("ONNXSURG_TEMPLATES");
    if (!a.folder && surg__os_exists(CLI_TEMPLATES)) a.folder = CLI_TEMPLATES;
    if (a.list) {
      code = argc == optind ? list_templates(&a) : cli_usage("--list expects no model");
      free_words(&a);
      return cli_flush(code);
    }
    if (argc - optind != 3)
      code = cli_usage("attach expects a template, an input file and an output file");
    else if (!a.before == !a.after.n)
      code = cli_usage("attach expects --before INPUT or --after VALUE");
    else if (a.use.n > (a.before ? 1 : a.after.n) || (a.after.n > 1 && a.use.n != a.after.n))
      code = cli_usage("attach expects a --use INPUT for each --after VALUE, in their order");
    else
      code = cli_check_folder(argv[optind + 2]);
    surg_context *ctx = code == EXIT_DONE ? cli_context(&a.common) : NULL;
    if (code == EXIT_DONE) code = ctx ? run(&a, ctx, argv + optind) : EXIT_LIMIT;
    surg_context_free(ctx);
  }
  free_words(&a);
  return cli_flush(code);
}
