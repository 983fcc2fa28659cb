/* SPDX-License-Identifier: Apache-2.0 */
/* headers FILE COUNT [BYTES]: the processor time of reading BYTES bytes (64) at COUNT places of a
 * file that lie equally far apart, by pread and by a mapping. It is the least that a loader needs
 * which looks at the header of each tensor once (doc/security.md, F14). */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST 65536u /* bytes of a read */

static double now(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

int main(int argc, char **argv) {
  static unsigned char buffer[MOST];
  struct stat st;
  unsigned sum = 0;
  const int fd = argc > 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
  const size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
  const size_t bytes = argc > 3 ? strtoul(argv[3], NULL, 10) : 64;
  if (fd < 0 || fstat(fd, &st) || !count || bytes > MOST || (size_t)st.st_size < count) {
    fprintf(stderr, "usage: headers FILE COUNT [BYTES]\n");
    return 2;
  }
  const size_t apart = (size_t)st.st_size / count;
  double start = now();
  for (size_t i = 0; i < count; i++) {
    if (pread(fd, buffer, bytes, (off_t)(i * apart)) < 0) return 1;
    sum += buffer[0];
  }
  const double reads = now() - start;
  start = now();
  const unsigned char *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED) return 1;
  for (size_t i = 0; i < count; i++) sum -= map[i * apart];
  const double faults = now() - start;
  printf("%zu places: pread of %zu bytes %.0f ms, mapped %.0f ms\n", count, bytes, reads * 1000,
         faults * 1000);
  close(fd);
  return sum != 0; /* both saw the same bytes */
}
