/* SPDX-License-Identifier: Apache-2.0 */
/* Why an engine rejects a model: the points of a diagnosis, and what cures them.
 *
 *     cc -o doctor doctor.c $(pkg-config --cflags --libs onnxsurg)
 *     ./doctor tensorrt-8.6 in.onnx
 */
#include <onnxsurg/doctor.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>

static void print_line(void *user, surg_severity severity, const char *line) {
  (void)user;
  (void)severity;
  fprintf(stderr, "%s\n", line);
}

static void print_point(const surg_point *p) {
  static const char *const states[] = {"ok", "note", "open", "unknown", "not reached"};
  printf("%s: %s\n", p->title, states[p->state]);
  if (p->first) printf("  %s\n", p->first);
  if (p->pass)
    printf("  cure: run %s\n", p->pass);
  else if (p->cure)
    printf("  cure: %s\n", p->cure);
}

static void print_verdict(const surg_diagnosis_summary *sum, const surg_repair *found) {
  static const char *const words[] = {"supported",
                                      "support unknown",
                                      "supported after a repair",
                                      "supported after a repair that needs consent",
                                      "unknown after a repair",
                                      "unsupported, and no repair is known"};
  surg_repair_result result = {.size = sizeof result};
  printf("%zu points are open; %s\n", sum->open, words[sum->assessment]);
  if (surg_repair_get(found, &result) == SURG_OK && result.pipeline[0])
    printf("repair: %s\n", result.pipeline);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: doctor TARGET IN\n");
    return 2;
  }
  surg_config config = {.size = sizeof config, .diag = print_line};
  surg_doctor_options options = {.size = sizeof options};
  surg_diagnosis_summary sum = {.size = sizeof sum};
  surg_point point = {.size = sizeof point};
  surg_context *ctx = surg_context_new(&config);
  surg_target *target = NULL;
  surg_diagnosis *d = NULL;
  surg_status s = surg_target_open(ctx, argv[1], &target);
  options.target = target;
  if (s == SURG_OK) s = surg_doctor(ctx, argv[2], &options, &d);
  if (s == SURG_OK) s = surg_diagnosis_get(d, &sum);
  for (size_t i = 0; s == SURG_OK && surg_diagnosis_point(d, i, &point) == SURG_OK; i++)
    print_point(&point);
  if (s == SURG_OK && sum.judged) print_verdict(&sum, surg_diagnosis_repair(d));
  surg_diagnosis_free(d);
  surg_target_free(target);
  surg_context_free(ctx);
  return s == SURG_OK ? 0 : 1;
}
