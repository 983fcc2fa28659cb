/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds files, and all files below folders, to a fuzz target: replays findings without libFuzzer.
 * Exit code 77 (skipped) when there is no file. */
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LARGEST (16 << 20)

static unsigned files;

static int feed(const char *path, const struct stat *st, int type, struct FTW *ftw) {
  (void)ftw;
  if (type != FTW_F || !S_ISREG(st->st_mode) || st->st_size > LARGEST) return 0;
  FILE *f = fopen(path, "rb");
  uint8_t *data = malloc((size_t)st->st_size + 1);
  if (!f || !data) {
    fprintf(stderr, "%s: cannot be read\n", path);
    exit(1);
  }
  size_t n = fread(data, 1, (size_t)st->st_size, f);
  fclose(f);
  /* A block of the exact size lets sanitizers see reads past the end. */
  uint8_t *exact = realloc(data, n ? n : 1);
  LLVMFuzzerTestOneInput(exact, n);
  free(exact);
  files++;
  return 0;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (nftw(argv[i], feed, 16, FTW_PHYS) != 0 && argc == 2) break;
  printf("%u files\n", files);
  return files ? 0 : 77;
}
