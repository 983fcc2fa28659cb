/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine says of a model, and a repair: with the public headers alone.
 *
 *     cc -o repair repair.c $(pkg-config --cflags --libs onnxsurg)
 *     ./repair tensorrt-8.6 in.onnx out.onnx
 */
#include <onnxsurg/names.h>
#include <onnxsurg/onnxsurg.h>
#include <onnxsurg/repair.h>
#include <stdio.h>

static void print_line(void *user, surg_severity severity, const char *line) {
  (void)user;
  (void)severity;
  fprintf(stderr, "%s\n", line);
}

/* Prints what is against the model. */
static void print_objection(void *user, const surg_objection *o) {
  const char *title = user;
  if (o->verdict != SURG_SUPPORTED)
    printf("%s: %s: %s: %s\n", title, surg_verdict_name(o->verdict), o->where, o->text);
}

/* Finds a repair without consent to anything that is not exact up to rounding, and writes it. */
static surg_status repair(surg_model *model, const surg_target *target, const char *out) {
  surg_repair *found = NULL;
  surg_repair_result result = {.size = sizeof result};
  surg_status s = surg_repair_find(model, target, NULL, &found);
  if (s == SURG_OK) s = surg_repair_get(found, &result);
  if (s == SURG_OK) {
    printf("after repair: %s by '%s' (%s)\n", surg_verdict_name(result.verdict), result.pipeline,
           surg_exactness_name(result.used));
    if (result.refused[0])
      printf("needs consent to %s: %s\n", surg_exactness_name(result.wanted), result.refused);
    if (result.verdict == SURG_SUPPORTED) s = surg_model_save(surg_repair_model(found), out, NULL);
  }
  surg_repair_free(found);
  return s;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: repair TARGET IN OUT\n");
    return 2;
  }
  surg_config config = {.size = sizeof config, .diag = print_line};
  surg_load_options lenient = {.size = sizeof lenient, .policy = SURG_LOAD_LENIENT};
  surg_context *ctx = surg_context_new(&config);
  surg_target *target = NULL;
  surg_model *model = NULL;
  surg_judgement judgement = {.size = sizeof judgement};
  surg_status s = surg_target_open(ctx, argv[1], &target);
  if (s == SURG_OK) s = surg_model_load(ctx, argv[2], &lenient, &model);
  if (s == SURG_OK) s = surg_target_judge(target, model, print_objection, "as it is", &judgement);
  if (s == SURG_OK) {
    printf("as it is: %s by %s\n", surg_verdict_name(judgement.verdict), surg_target_name(target));
    s = repair(model, target, argv[3]);
  }
  surg_model_free(model);
  surg_target_free(target);
  surg_context_free(ctx);
  return s == SURG_OK ? 0 : 1;
}
