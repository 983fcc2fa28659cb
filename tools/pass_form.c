/* SPDX-License-Identifier: Apache-2.0 */
/* See pass_form.h. */
#include "pass_form.h"

#include <stdlib.h>
#include <string.h>

static bool preset_named(const surg_registry *r, const char *word) {
  surg_preset preset = {.size = sizeof preset};
  return surg_registry_find_preset(r, word, &preset) == SURG_OK;
}

/* The name of pass or preset i: passes first. */
static const char *name_at(const void *list, size_t i) {
  const surg_registry *r = list;
  surg_preset preset = {.size = sizeof preset};
  const size_t passes = surg_registry_pass_count(r);
  if (i < passes) return surg_registry_pass(r, i)->name;
  return surg_registry_preset(r, i - passes, &preset) == SURG_OK ? preset.name : "";
}

static size_t name_count(const surg_registry *r) {
  surg_preset preset = {.size = sizeof preset};
  size_t n = 0;
  while (surg_registry_preset(r, n, &preset) == SURG_OK) n++;
  return surg_registry_pass_count(r) + n;
}

const char *cmd_pass_nearest(const char *word) {
  surg_context *ctx = surg_context_new(NULL);
  const surg_registry *r = ctx ? surg_context_passes(ctx) : NULL;
  const char *near = r ? surg_nearest_name(word, r, name_count(r), name_at) : NULL;
  surg_context_free(ctx); /* safe: built-in names are static */
  return near;
}

bool cmd_pass_known(const char *word, int argc, char **argv) {
  surg_context *ctx = surg_context_new(NULL);
  const surg_registry *r = ctx ? surg_context_passes(ctx) : NULL;
  if (r) cli_plugins_ahead(ctx, argc, argv);
  const bool known = r && (surg_registry_find(r, word) || preset_named(r, word));
  surg_context_free(ctx);
  return known;
}

static bool own(const pass_form *form, const char *name) {
  for (size_t i = 0; form->pass && i < form->pass->option_count; i++)
    if (strcmp(form->pass->options[i].name, name) == 0) return true;
  return false;
}

static bool set_up(pass_form *form, const struct option *rest) {
  const size_t mine = form->pass ? form->pass->option_count : 0;
  size_t n = 0, k = 0;
  while (rest[n].name) n++;
  form->options = calloc(mine + n + 1, sizeof *form->options);
  form->values = calloc(mine + 1, sizeof *form->values);
  if (!form->options || !form->values) return false;
  for (size_t i = 0; i < mine; i++) {
    const surg_option *o = &form->pass->options[i];
    form->options[k++] = (struct option){
        o->name, o->kind == SURG_OPTION_BOOL ? optional_argument : required_argument, NULL,
        OPT_OF_PASS + (int)i};
  }
  for (size_t i = 0; i < n; i++)
    if (!own(form, rest[i].name)) form->options[k++] = rest[i];
  return true;
}

int pass_form_open(pass_form *form, int argc, char **argv, const struct option *rest) {
  const char *word = argv[0];
  *form = (pass_form){.ctx = surg_context_new(NULL), .name = word};
  const surg_registry *r = form->ctx ? surg_context_passes(form->ctx) : NULL;
  if (r) cli_plugins_ahead(form->ctx, argc, argv);
  if (r) form->pass = surg_registry_find(r, word);
  if (r && !form->pass && !preset_named(r, word)) {
    pass_form_close(form);
    return -1;
  }
  if (r && set_up(form, rest)) return EXIT_DONE;
  pass_form_close(form);
  return cli_no_memory();
}

void pass_form_close(pass_form *form) {
  for (size_t i = 0; form->values && form->pass && i < form->pass->option_count; i++)
    cli_text_free(&form->values[i]);
  free(form->values);
  free(form->options);
  surg_context_free(form->ctx);
  *form = (pass_form){0};
}

/* Length of the first word of a list: up to a separator that is in no brackets, as those of
 * `y = Add (a, b)`, `float[N,3]` and `/x{1,2}/` are. If brackets are not closed, all separators
 * count. */
static size_t word_length(const char *s) {
  static const char open[] = "([{<", close[] = ")]}>";
  size_t depth = 0, i = 0;
  for (; s[i] && (depth || !strchr(",+", s[i])); i++) {
    if (strchr(open, s[i])) depth++;
    if (depth && strchr(close, s[i])) depth--;
  }
  return depth ? strcspn(s, ",+") : i;
}

/* Appends one word of a list: up to the next separator, or quoted as in a pipeline. Returns its
 * end, or NULL if a quote is not closed. */
static const char *put_word(surg_context *ctx, cli_text *b, const char *s) {
  if (*s != '"' && *s != '\'') {
    const size_t n = word_length(s);
    char *word = strndup(s, n);
    cli_put_word(ctx, b, word);
    free(word);
    return s + n;
  }
  const char *end = s + 1;
  while (*end && *end != *s) end += *end == '\\' && end[1] ? 2 : 1;
  if (!*end) return NULL;
  cli_text_put(b, s, (size_t)(end + 1 - s));
  return end + 1;
}

/* Converts a list `a,b` to the pipeline syntax `a+b`. A name that contains ',' or '+' must be
 * quoted. Returns false if a quote is not closed. */
static bool put_list(surg_context *ctx, cli_text *b, const char *s) {
  for (;;) {
    s = put_word(ctx, b, s);
    if (!s || (*s && *s != ',' && *s != '+')) return false;
    if (!*s++) return true;
    cli_text_putc(b, '+');
  }
}

static int bad_list(const char *name, const char *value) {
  char *shown = cli_escaped(value, 120);
  const int code = cli_usage("--%s: each pair of quotes in %s must contain one word", name,
                             shown ? shown : "the value");
  free(shown);
  return code;
}

/* Appends a list of numbers in braces or brackets, as ONNX text and Python write it. False: the
 * value is none. */
static bool put_numbers(cli_text *b, const char *s) {
  static const char numbers[] = "0123456789-.eE, ";
  const size_t n = strlen(s);
  if (n < 3 || !((*s == '{' && s[n - 1] == '}') || (*s == '[' && s[n - 1] == ']'))) return false;
  if (strspn(s + 1, numbers) != n - 2) return false;
  for (size_t i = 1; i < n - 1; i++)
    if (s[i] != ' ') cli_text_putc(b, s[i] == ',' ? '+' : s[i]);
  return true;
}

/* Appends `name=value` or `name=a+b`. A pair without `=` uses the option as its name: for bind,
 * `--input=1` names an input called "input". */
static int put_pair(pass_form *form, cli_text *b, const char *option, const char *pair) {
  const char *equals = strchr(pair, '='), *value = equals ? equals + 1 : pair;
  char *name = equals ? strndup(pair, (size_t)(equals - pair)) : strdup(option);
  if (b->n) cli_text_putc(b, ',');
  char *text = NULL;
  const surg_status s =
      name ? surg_pipeline_pair(form->ctx, form->pass, option, name, &text) : SURG_ENOMEM;
  cli_text_take(b, form->ctx, s, text);
  free(name);
  cli_text_putc(b, '=');
  if (put_numbers(b, value)) return EXIT_DONE;
  return put_list(form->ctx, b, value) ? EXIT_DONE : bad_list(option, value);
}

int pass_form_take(pass_form *form, int option, const char *value) {
  const size_t i = (size_t)(option - OPT_OF_PASS);
  const surg_option *o = &form->pass->options[i];
  cli_text *b = &form->values[i];
  if (o->kind == SURG_OPTION_PAIRS) return put_pair(form, b, o->name, value);
  if (b->n && o->kind != SURG_OPTION_LIST) return cli_usage("--%s is given twice", o->name);
  if (o->kind == SURG_OPTION_LIST) {
    if (b->n) cli_text_putc(b, '+');
    return put_list(form->ctx, b, value) ? EXIT_DONE : bad_list(o->name, value);
  }
  cli_put_word(form->ctx, b, value ? value : "true");
  return EXIT_DONE;
}

/* Index of the option that accepts any name, or the option count if there is none. */
static size_t pairs_of(const surg_pass *pass) {
  size_t i = 0;
  while (i < pass->option_count && pass->options[i].kind != SURG_OPTION_PAIRS) i++;
  return i;
}

/* The option of a word `--name` or `--name=value`; NULL: it is unknown. */
static const struct option *known(const pass_form *form, const char *word) {
  const size_t n = strcspn(word + 2, "=");
  for (const struct option *o = form->options; o->name; o++)
    if (strlen(o->name) == n && strncmp(o->name, word + 2, n) == 0) return o;
  return NULL;
}

static const char *option_at(const void *list, size_t i) {
  return ((const struct option *)list)[i].name;
}

/* `--name value`: the value may be what the user means as a file, so a name that resembles an
 * option is an error. */
static int put_two_words(pass_form *form, size_t any, const char *name, const char *value) {
  size_t n = 0;
  while (form->options[n].name) n++;
  /* rename and freeze have names such as `input.x`, which options have not. */
  const char *near =
      strchr(name, '.') ? NULL : surg_nearest_name(name, form->options, n, option_at);
  char *shown = cli_escaped(name, 120);
  int code = shown ? EXIT_DONE : cli_no_memory();
  if (shown && near)
    code = cli_usage("unknown option --%s: did you mean --%s? If not, write --%s=VALUE", shown,
                     near, shown);
  else if (shown && !value)
    code = cli_usage("--%s needs a value", shown);
  free(shown);
  if (code != EXIT_DONE) return code;
  cli_text pair = {0};
  cli_text_printf(&pair, "%s=%s", name, value);
  code = pair.failed ? cli_no_memory()
                     : put_pair(form, &form->values[any], form->pass->options[any].name, pair.p);
  cli_text_free(&pair);
  return code;
}

int pass_form_pairs(pass_form *form, int *argc, char **argv) {
  const size_t any = form->pass ? pairs_of(form->pass) : 0;
  int kept = 1, code = EXIT_DONE;
  if (!form->pass || any == form->pass->option_count) return EXIT_DONE;
  for (int i = 1; i < *argc && code == EXIT_DONE; i++) {
    char *word = argv[i];
    const bool named = strncmp(word, "--", 2) == 0 && word[2] && word[2] != '=';
    const struct option *o = named ? known(form, word) : NULL;
    if (strcmp(word, "--") == 0) {
      while (i < *argc) argv[kept++] = argv[i++];
    } else if (o) {
      argv[kept++] = word;
      const bool two = o->has_arg == required_argument && !strchr(word, '=');
      if (two && i + 1 < *argc) argv[kept++] = argv[++i];
    } else if (named && strchr(word, '=')) {
      code = put_pair(form, &form->values[any], form->pass->options[any].name, word + 2);
    } else if (named) {
      code = put_two_words(form, any, word + 2, i + 1 < *argc ? argv[i + 1] : NULL);
      i++;
    } else {
      argv[kept++] = word;
    }
  }
  if (code == EXIT_DONE) argv[ *argc = kept] = NULL;
  return code;
}

char *pass_form_pipeline(pass_form *form, const char *then) {
  cli_text b = {0};
  char open = '{';
  cli_text_puts(&b, form->name);
  for (size_t i = 0; form->pass && i < form->pass->option_count; i++) {
    const cli_text *v = &form->values[i];
    if (v->failed) cli_text_fail(&b);
    if (!v->n) continue;
    cli_text_putc(&b, open);
    open = ',';
    if (form->pass->options[i].kind != SURG_OPTION_PAIRS)
      cli_text_printf(&b, "%s=", form->pass->options[i].name);
    cli_text_put(&b, v->p, v->n);
  }
  if (open == ',') cli_text_putc(&b, '}');
  if (then && *then) cli_text_printf(&b, ",%s", then);
  return cli_text_give(&b);
}

/* The option of the pass that is spelled at s, before '=' or ':'; or NULL. */
static const char *option_here(const surg_pass *pass, const char *s) {
  const size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz-");
  for (size_t i = 0; n && (s[n] == '=' || s[n] == ':') && i < pass->option_count; i++) {
    const char *name = pass->options[i].name;
    if (strlen(name) == n && strncmp(name, s, n) == 0) return name;
  }
  return NULL;
}

/* Appends a sentence. Words in quotes and braces are those of the user or of a pipeline. */
static void put_spelled(const surg_pass *pass, cli_text *out, const char *s) {
  char quote = 0;
  if (strncmp(s, "option ", 7) == 0 && option_here(pass, s + 7)) s += 7;
  const char *from = s;
  for (int braces = 0; *s; s++) {
    const bool starts = s == from || s[-1] == ' ' || s[-1] == '(';
    const char *name = starts && !quote && !braces ? option_here(pass, s) : NULL;
    if (name && (s == from || s[strlen(name)] == '=')) {
      cli_text_printf(out, "--%s", name);
      s += strlen(name);
      /* The '=' of `needs to=` has no value. */
      if (*s == '=' && (!s[1] || strchr(" ,.:;)", s[1]))) s++;
      if (!*s) return;
    }
    if (quote ? *s == quote : *s == '"' || (*s == '\'' && starts)) quote = quote ? 0 : *s;
    if (!quote) braces += (*s == '{') - (*s == '}');
    cli_text_putc(out, *s);
  }
}

/* What a diagnostic about the pipeline that the command line became says after the column of it; or
 * NULL. */
static const char *after_column(const surg_pass *pass, const char *line) {
  static const char where[] = ": error: column ";
  const size_t n = strlen(pass->name);
  if (strncmp(line, pass->name, n) != 0 || strncmp(line + n, where, sizeof where - 1) != 0)
    return NULL;
  const char *end = strstr(line + n + sizeof where - 1, ": ");
  return end ? end + 2 : NULL;
}

void pass_form_spell(const surg_pass *pass, const char *line, cli_text *out) {
  const char *wrong = after_column(pass, line);
  if (wrong) {
    cli_text_printf(out, "%s: error: ", pass->name);
    put_spelled(pass, out, wrong);
    return;
  }
  cli_text title = {0};
  cli_text_printf(&title, "error: pass \"%s\": ", pass->name);
  const char *at = title.failed ? NULL : strstr(line, title.p);
  const size_t n = at ? (size_t)(at - line) + title.n : strlen(line);
  cli_text_put(out, line, n);
  put_spelled(pass, out, line + n);
  cli_text_free(&title);
}

void pass_form_help(const pass_form *form) {
  static const char *const kinds[] = {[SURG_OPTION_BOOL] = "[=false]",
                                      [SURG_OPTION_INT] = " N",
                                      [SURG_OPTION_STRING] = " TEXT",
                                      [SURG_OPTION_LIST] = " A,B",
                                      [SURG_OPTION_PAIRS] = " NAME=VALUE"};
  _Static_assert(CLI_COUNT(kinds) == SURG_OPTION_PAIRS + 1, "an entry for each kind");
  printf("usage: onnxsurg %s [OPTION]... IN OUT\n", form->name);
  if (form->pass) printf("%s\n", form->pass->help);
  for (size_t i = 0; form->pass && i < form->pass->option_count; i++) {
    const surg_option *o = &form->pass->options[i];
    char label[80];
    snprintf(label, sizeof label, "--%s%s", o->name, kinds[o->kind]);
    printf("  %-26s %s", label, o->help);
    if (o->fallback) printf(" (%s)", o->fallback);
    putchar('\n');
  }
  printf(
      "The same as --pass '%s%s'.\nAccepts the options of `onnxsurg --help` too.\n"
      "A pipeline given with --pass runs after it.\n",
      form->name, form->pass && form->pass->option_count ? "{option=value,...}" : "");
}
