/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg weights`: writes initializers to a file of another format, or reads them from one. */
#include <math.h>
#include <onnxsurg/weights.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/program.h"
#include "cli.h"

static const char help[] =
    "usage: onnxsurg weights --export FILE [OPTION]... IN\n"
    "       onnxsurg weights --export FILE --link [OPTION]... IN OUT\n"
    "       onnxsurg weights --import FILE [OPTION]... IN OUT\n"
    "       onnxsurg weights --lora FILE [OPTION]... IN OUT\n"
    "Exchanges initializers by name with a file, FILE.safetensors or FILE.npz. If\n"
    "initializers of several graphs are named w, the second is w#2 in the file.\n"
    "\n"
    "  --export FILE       write all initializers of IN\n"
    "  --import FILE       replace initializers by the tensors of FILE; types and\n"
    "                      shapes must agree\n"
    "  --lora FILE         add the low-rank adapters of FILE (NAME.lora_A and\n"
    "                      NAME.lora_B, or lora_down and lora_up) to the weights\n"
    "                      whose names match (doc/weights.md)\n"
    "  --alpha N           adapters: scale is N divided by the rank (default: the\n"
    "                      tensor NAME.alpha of FILE)\n"
    "  --scale X           ... or this scale\n"
    "  --lift              adapters: make their matrices inputs of the model, which\n"
    "                      adds them in each run\n"
    "  --link              OUT refers to FILE as external data; nothing is copied\n"
    "  --skip              skip, instead of failing: on export, element types that\n"
    "                      the format lacks; on import, tensors that IN lacks\n"
    "  --cast              import: convert float types to those of IN\n"
    "  --compress          export: compress the members of an .npz file\n"
    "  --external-data NAME\n"
    "                      write large weights to file NAME in the folder of OUT\n"
    "  --no-fsync          do not wait until the disk has the data\n"
    "  --summary, --quiet  always or never print what changed (default: on a\n"
    "                      terminal)\n"
    "  --json              print it as JSON\n";

enum {
  OPT_EXPORT = OPT_OWN,
  OPT_IMPORT,
  OPT_LORA,
  OPT_ALPHA,
  OPT_SCALE,
  OPT_LIFT,
  OPT_LINK,
  OPT_SKIP,
  OPT_CAST,
  OPT_COMPRESS,
  OPT_EXTERNAL_DATA,
  OPT_NO_FSYNC
};

static const struct option options[] = {
    {"export", required_argument, NULL, OPT_EXPORT},
    {"import", required_argument, NULL, OPT_IMPORT},
    {"lora", required_argument, NULL, OPT_LORA},
    {"alpha", required_argument, NULL, OPT_ALPHA},
    {"scale", required_argument, NULL, OPT_SCALE},
    {"lift", no_argument, NULL, OPT_LIFT},
    {"link", no_argument, NULL, OPT_LINK},
    {"skip", no_argument, NULL, OPT_SKIP},
    {"cast", no_argument, NULL, OPT_CAST},
    {"compress", no_argument, NULL, OPT_COMPRESS},
    {"external-data", required_argument, NULL, OPT_EXTERNAL_DATA},
    {"no-fsync", no_argument, NULL, OPT_NO_FSYNC},
    CLI_COMMON_OPTIONS,
    {0}};

typedef struct exchange {
  cli_common common;
  surg_save_options save;
  surg_weights_options how;
  surg_lora_options lora;
  const char *to, *from, *adapters; /* arguments of --export, --import and --lora */
} exchange;

/* A factor, which may be negative: that removes adapters. */
static int read_scale(const char *text, double *out) {
  char *end;
  *out = strtod(text, &end);
  if (*text && !*end && *out != 0 && isfinite(*out)) return EXIT_DONE;
  return cli_usage("--scale expects a number other than 0");
}

static int take(void *user, int o, char *arg) {
  exchange *j = user;
  switch (o) {
    case OPT_EXPORT:
      j->to = arg;
      return EXIT_DONE;
    case OPT_IMPORT:
      j->from = arg;
      return EXIT_DONE;
    case OPT_LORA:
      j->adapters = arg;
      return EXIT_DONE;
    case OPT_ALPHA:
      if (cli_real(arg, &j->lora.alpha) && j->lora.alpha > 0) return EXIT_DONE;
      return cli_usage("--alpha expects a number above 0");
    case OPT_SCALE:
      return read_scale(arg, &j->lora.scale);
    case OPT_LIFT:
      j->lora.lift = true;
      return EXIT_DONE;
    case OPT_LINK:
      j->how.link = true;
      return EXIT_DONE;
    case OPT_SKIP:
      j->how.skip = j->lora.skip = true;
      return EXIT_DONE;
    case OPT_CAST:
      j->how.cast = true;
      return EXIT_DONE;
    case OPT_COMPRESS:
      j->how.compress = true;
      return EXIT_DONE;
    case OPT_EXTERNAL_DATA:
      return cli_take_external(&j->save, arg);
    default: /* OPT_NO_FSYNC */
      j->how.no_fsync = j->save.no_fsync = true;
      return EXIT_DONE;
  }
}

static int check_options(const exchange *j, char **args, int n) {
  if ((j->to != NULL) + (j->from != NULL) + (j->adapters != NULL) != 1)
    return cli_usage("weights expects --export FILE, --import FILE or --lora FILE");
  const bool scaled = j->lora.alpha != 0 || j->lora.scale != 0;
  if (!j->adapters && (scaled || j->lora.lift))
    return cli_usage("--alpha, --scale and --lift are for --lora");
  if (j->lora.alpha != 0 && j->lora.scale != 0)
    return cli_usage("--alpha and --scale exclude each other");
  if (j->adapters && (j->how.link || j->how.cast || j->how.compress))
    return cli_usage("--link, --cast and --compress are not for --lora");
  if (j->to && j->how.cast) return cli_usage("--cast is for --import");
  if (j->how.cast && j->how.link) return cli_usage("--cast and --link exclude each other");
  if (j->how.compress && (j->from || j->how.link))
    return cli_usage("--compress is for --export without --link");
  if (j->save.external_data && (j->how.link || j->to))
    return cli_usage("--external-data is for --import without --link");
  const int expected = j->to && !j->how.link ? 1 : 2;
  if (n != expected)
    return cli_usage(expected == 1 ? "weights --export expects one model"
                                   : "weights expects IN and OUT");
  if (expected == 2 && j->common.json && strcmp(args[1], "-") == 0)
    return cli_stdout_twice("--json");
  const int code = j->to ? cli_check_folder(j->to) : EXIT_DONE;
  return code == EXIT_DONE && expected == 2 ? cli_check_folder(args[1]) : code;
}

static void report(const exchange *j, const char *where, const surg_weights_report *r) {
  if (j->common.json)
    cli_print_json(json_pack("{s:i,s:o,s:I,s:I,s:I,s:I,s:I}", "schema", 1, "file",
                             cli_text_json(where), "tensors", (json_int_t)r->tensors, "bytes",
                             (json_int_t)r->bytes, "equal", (json_int_t)r->equal, "skipped",
                             (json_int_t)r->skipped, "missing", (json_int_t)r->missing));
  const bool tells = j->common.summary || surg__os_is_terminal(fileno(stderr));
  if (j->common.quiet || (!tells && !r->skipped && !r->missing)) return;
  cli_put(stderr, where);
  fprintf(stderr, ": %llu tensor%s, %s", (unsigned long long)r->tensors, r->tensors == 1 ? "" : "s",
          cli_bytes(r->bytes));
  if (r->equal) fprintf(stderr, "; %llu equal already", (unsigned long long)r->equal);
  if (r->skipped) fprintf(stderr, "; %llu left out", (unsigned long long)r->skipped);
  if (r->missing)
    fprintf(stderr, "; %llu of the model not in the file", (unsigned long long)r->missing);
  fputc('\n', stderr);
}

static surg_status run(const exchange *j, surg_context *ctx, char **args) {
  surg_model *m = NULL;
  surg_weights_report r = {.size = sizeof r};
  const char *file = j->to ? j->to : j->from ? j->from : j->adapters;
  if (!j->common.quiet) cli_progress_start("loading");
  surg_status s = cli_load(ctx, &j->common, args[0], &m);
  cli_progress("weights");
  if (s == SURG_OK && j->to) s = surg_weights_export(m, file, &j->how, &r);
  if (s == SURG_OK && (j->from || j->how.link)) {
    surg_weights_options how = j->how;
    surg_weights_report linked = {.size = sizeof linked};
    s = surg_weights_import(m, file, &how, j->to ? &linked : &r);
    if (s == SURG_OK) s = surg_model_save(m, args[1], &j->save);
  }
  if (s == SURG_OK && j->adapters) {
    s = surg_weights_lora(&m, file, &j->lora, &r);
    if (s == SURG_OK) s = surg_model_save(m, args[1], &j->save);
  }
  cli_progress_stop();
  if (s == SURG_OK) report(j, file, &r);
  surg_model_free(m);
  return s;
}

int cmd_weights(int argc, char **argv) {
  exchange j = {.how = {.size = sizeof j.how},
                .lora = {.size = sizeof j.lora},
                .save = {.size = sizeof j.save}};
  int code;
  const cli_command command = {options, NULL, help, take, &j, &j.common};
  if (!cli_options(argc, argv, &command, &code)) return code;
  code = check_options(&j, argv + optind, argc - optind);
  if (code != EXIT_DONE) return code;
  surg_context *ctx = cli_context(&j.common);
  if (!ctx) return EXIT_LIMIT;
  const surg_status s = run(&j, ctx, argv + optind);
  if (s != SURG_OK && !surg_context_error(ctx))
    cli_error(NULL, "%s", surg_status_name(s));
  surg_context_free(ctx);
  return cli_flush(cli_exit_code(s));
}
