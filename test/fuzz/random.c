/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target on random mutations of texts, without coverage and sanitizers, and so many times
 * faster: random_NAME SECONDS SEED FILE... prints the number of runs. An input that fails is written to
 * failed-NAME-SEED. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 6000, FILES = 8192 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t na, const uint8_t *b, size_t nb,
                                 uint8_t *out, size_t max, unsigned seed);

static uint64_t state;
static uint8_t input[MOST];
static size_t length;
static char failed[256];

static uint32_t next(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33);
}

/* What libFuzzer does to bytes that are not text: here, one byte changes. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max) {
  (void)max;
  if (size) data[next() % size] = (uint8_t)next();
  return size;
}

static void fails(int signal_number) {
  FILE *f = fopen(failed, "wb");
  if (f) {
    fwrite(input, 1, length, f);
    fclose(f);
  }
  fprintf(stderr, "%s: signal %d\n", failed, signal_number);
  _exit(1);
}

static size_t read_file(const char *path, uint8_t *out) {
  FILE *f = fopen(path, "rb");
  const size_t n = f ? fread(out, 1, MOST, f) : 0;
  if (f) fclose(f);
  return n;
}

int main(int argc, char **argv) {
  static struct {
    uint8_t *p;
    size_t n;
  } files[FILES];
  const char *name = strrchr(argv[0], '/');
  if (argc < 4) return fprintf(stderr, "usage: random_NAME SECONDS SEED FILE...\n"), 2;
  snprintf(failed, sizeof failed, "failed-%s-%s", name ? name + 1 : argv[0], argv[2]);
  state = strtoull(argv[2], NULL, 10);
  size_t count = 0;
  for (int i = 3; i < argc && count < FILES; i++) {
    const size_t n = read_file(argv[i], input);
    if (!n || !(files[count].p = malloc(n))) continue;
    memcpy(files[count].p, input, n);
    files[count++].n = n;
  }
  if (!count) return fprintf(stderr, "no files\n"), 2;
  const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], fails);
  const time_t end = time(NULL) + atoi(argv[1]);
  unsigned long long runs = 0;
  for (; time(NULL) < end; runs++) {
    const size_t a = next() % count, b = next() % count;
    length = files[a].n;
    memcpy(input, files[a].p, length);
    if (next() % 4 == 0) {
      const size_t n = LLVMFuzzerCustomCrossOver(files[a].p, length, files[b].p, files[b].n, input,
                                                 MOST, next());
      if (n) length = n;
    }
    for (uint32_t i = next() % 3; i < 3; i++)
      length = LLVMFuzzerCustomMutator(input, length, MOST, next());
    alarm(60); /* an input that does not end */
    LLVMFuzzerTestOneInput(input, length);
  }
  printf("%llu runs\n", runs);
  return 0;
}
