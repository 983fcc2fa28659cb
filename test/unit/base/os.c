/* SPDX-License-Identifier: Apache-2.0 */
/* The operating system layer: opening beneath a folder, publishing whole files, exact reads. */
#include "base/os/os.h"
#include "../unit.h"
#include "base/os/deadline.h"
#include "base/os/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static int dirfd_;

static void put(const char *name, const char *text) {
  FILE *f = fopen(name, "w");
  ck_assert_ptr_nonnull(f);
  fputs(text, f);
  fclose(f);
}

static void setup(void) {
  strcpy(folder, "/tmp/surg-os-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  ck_assert_int_eq(chdir(folder), 0);
  ck_assert_int_eq(mkdir("in", 0700) | mkdir("in/sub", 0700), 0);
  put("secret", "secret");
  put("in/data", "0123456789");
  put("in/sub/data", "sub");
  ck_assert_int_eq(surg__os_open_dir("in", &dirfd_), 0);
}

static void teardown(void) {
  surg__os_close(dirfd_);
  ck_assert_int_eq(chdir("/"), 0);
  char command[96];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  ck_assert_int_eq(system(command), 0);
}

static int beneath(const char *path) {
  int fd = -1;
  int err = surg__os_open_beneath(dirfd_, path, &fd);
  if (!err) surg__os_close(fd);
  return err;
}

START_TEST(beneath_stays_beneath) {
  ck_assert_int_eq(beneath("data"), 0);
  ck_assert_int_eq(beneath("sub/data"), 0);
  ck_assert_int_eq(beneath("./sub//data"), 0);
  ck_assert_int_eq(beneath("missing"), ENOENT);
  ck_assert_int_eq(beneath("../secret"), EXDEV);
  ck_assert_int_eq(beneath("sub/../../secret"), EXDEV);
  ck_assert_int_eq(beneath("/etc/passwd"), EXDEV);
  ck_assert_int_eq(symlink("../secret", "in/out"), 0);
  ck_assert_int_eq(beneath("out"), EXDEV);
  ck_assert_int_eq(symlink("..", "in/up"), 0);
  ck_assert_int_eq(beneath("up/secret"), EXDEV);
  ck_assert_int_eq(symlink("/dev/zero", "in/zero"), 0);
  ck_assert_int_eq(beneath("zero"), EXDEV);
  ck_assert_int_eq(symlink("sub/data", "in/inner"), 0);
  ck_assert_int_eq(beneath("inner"), 0);
}
END_TEST

START_TEST(a_fifo_does_not_block) {
  ck_assert_int_eq(mkfifo("in/fifo", 0600), 0);
  int fd;
  surg__stat st;
  ck_assert_int_eq(surg__os_open_beneath(dirfd_, "fifo", &fd), 0);
  ck_assert_int_eq(surg__os_stat_fd(fd, &st), 0);
  ck_assert(st.fifo && !st.regular);
  surg__os_close(fd);
}
END_TEST

START_TEST(reads_are_exact) {
  char b[16] = "";
  int fd;
  ck_assert_int_eq(surg__os_open_read(dirfd_, "data", &fd), 0);
  ck_assert_int_eq(surg__os_pread(fd, b, 4, 3), 0);
  ck_assert_str_eq(b, "3456");
  ck_assert_int_eq(surg__os_pread(fd, b, 4, 8), ENODATA);
  ck_assert_int_eq(surg__os_pread(fd, b, 1, UINT64_MAX), EOVERFLOW);
  int out;
  uint64_t done;
  ck_assert_int_eq(surg__os_temp(&out), 0);
  ck_assert_int_eq(surg__os_write(out, "ab", 2), 0);
  ck_assert_int_eq(surg__os_copy_range(fd, 2, out, 100, &done), 0);
  ck_assert(done == 0 || done == 8);
  ck_assert_int_eq(surg__os_pwrite(out, "XY", 2, 1), 0);
  ck_assert_int_eq(surg__os_pread(out, b, 3, 0), 0);
  ck_assert_mem_eq(b, "aXY", 3);
  surg__os_close(out);
  surg__os_close(fd);
}
END_TEST

static void content(const char *path, const char *want) {
  char b[64] = "";
  int fd;
  size_t got;
  ck_assert_int_eq(surg__os_open_read(-1, path, &fd), 0);
  ck_assert_int_eq(surg__os_read(fd, b, sizeof b - 1, &got), 0);
  surg__os_close(fd);
  ck_assert_str_eq(b, want);
}

static int entries(void) {
  FILE *p = popen("ls -A | wc -l", "r");
  int n = -1;
  ck_assert_int_eq(fscanf(p, "%d", &n), 1);
  pclose(p);
  return n;
}

START_TEST(publishing_replaces_whole_files) {
  int before = entries();
  for (int round = 0; round < 2; round++) {
    int fd;
    char *name;
    ck_assert_int_eq(surg__os_temp_in(".", &fd, &name), 0);
    ck_assert_int_eq(surg__os_write(fd, round ? "new" : "first", round ? 3 : 5), 0);
    if (round) content("target", "first");
    ck_assert_int_eq(surg__os_publish(fd, name, "target"), 0);
    content("target", round ? "new" : "first");
  }
  ck_assert_int_eq(entries(), before + 1);
}
END_TEST

/* Of an unnamed file and of a named one, as in folders that know no unnamed ones. */
START_TEST(a_taken_path_is_not_replaced) {
  const int before = entries();
  int fd, named;
  char *name, *temp;
  ck_assert_int_eq(surg__os_temp_in(".", &fd, &name), 0);
  ck_assert_int_eq(surg__os_write(fd, "new", 3), 0);
  ck_assert_int_eq(surg__os_publish_new(fd, name, "taken"), 0);
  ck_assert_int_eq(surg__os_temp_in(".", &fd, &name), 0);
  ck_assert_int_eq(surg__os_write(fd, "second", 6), 0);
  ck_assert_int_eq(surg__os_publish_new(fd, name, "taken"), EEXIST);
  content("taken", "new");
  ck_assert_int_eq(surg__os_publish_new(fd, name, "free"), 0);
  content("free", "second");
  named = open("temp", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  ck_assert_int_ge(named, 0);
  temp = strdup("temp");
  ck_assert_int_eq(surg__os_publish_new(named, temp, "taken"), EEXIST);
  content("taken", "new");
  ck_assert_int_eq(surg__os_publish_new(named, temp, "third"), 0);
  ck_assert_int_eq(entries(), before + 3);
}
END_TEST

START_TEST(failed_publishing_leaves_nothing) {
  int before = entries(), fd;
  char *name;
  ck_assert_int_eq(surg__os_temp_in(".", &fd, &name), 0);
  ck_assert_int_ne(surg__os_publish(fd, name, "missing/target"), 0);
  ck_assert_int_eq(surg__os_temp_in(".", &fd, &name), 0);
  ck_assert_int_ne(surg__os_publish(fd, name, "in"), 0); /* a folder stands there */
  ck_assert_int_eq(surg__os_temp_in(".", &fd, &name), 0);
  surg__os_discard(fd, name);
  ck_assert_int_eq(entries(), before);
}
END_TEST

START_TEST(modes_are_kept) {
  ck_assert_int_eq(chmod("secret", 0640), 0);
  int fd;
  char *name;
  ck_assert_int_eq(surg__os_temp_in(".", &fd, &name), 0);
  ck_assert_int_eq(surg__os_copy_mode(fd, "secret"), 0);
  ck_assert_int_eq(surg__os_publish(fd, name, "copy"), 0);
  surg__stat st;
  ck_assert_int_eq(surg__os_stat("copy", &st), 0);
  ck_assert_uint_eq(st.mode & 0777, 0640);
}
END_TEST

START_TEST(paths_split) {
  static const char *const cases[][3] = {{"a", ".", "a"},
                                         {"a/b", "a", "b"},
                                         {"/a", "/", "a"},
                                         {"a/b/", "a/b", ""},
                                         {"/x/y", "/x", "y"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *dir, *base;
    ck_assert_int_eq(surg__os_split(cases[i][0], &dir, &base), 0);
    ck_assert_str_eq(dir, cases[i][1]);
    ck_assert_str_eq(base, cases[i][2]);
    free(dir);
    free(base);
  }
}
END_TEST

START_TEST(reserved_memory_is_zero) {
  void *p;
  size_t n = (size_t)1 << 40;
  ck_assert_int_eq(surg__os_reserve(n, &p), 0);
  ck_assert_int_eq(((char *)p)[n / 2], 0);
  ((char *)p)[n - 1] = 1;
  surg__os_release(p, n);
}
END_TEST

static void end_late(void) {
  surg__os_exit(4);
}

/* The exit code of a process with a time limit of 20 ms that works for `ms`; `commits`: it names an
 * output before the limit. */
static int limited_process(unsigned ms, bool commits) {
  const pid_t pid = fork();
  if (pid == 0) {
    if (!surg__os_deadline(20000000, end_late)) _exit(3);
    if (commits) surg__os_deadline_commit();
    usleep(ms * 1000);
    surg__os_deadline_commit(); /* never returns once the limit was reached */
    _exit(0);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(a_time_limit_ends_the_process) {
  ck_assert_int_eq(limited_process(500, false), 4);
  ck_assert_int_eq(limited_process(0, false), 0);
  ck_assert_int_eq(limited_process(200, true), 0);
}
END_TEST

/* A copy of the process has no limit, and is not blocked by the one of the process. */
START_TEST(a_copy_has_no_time_limit) {
  ck_assert(surg__os_deadline(3600000000000, end_late));
  const pid_t pid = fork();
  if (pid == 0) {
    surg__os_deadline_commit();
    _exit(7);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  ck_assert(surg__os_deadline(0, NULL));
}
END_TEST

int main(void) {
  Suite *s = suite_create("os");
  TCase *t = tcase_create("os");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, beneath_stays_beneath);
  tcase_add_test(t, a_fifo_does_not_block);
  tcase_add_test(t, reads_are_exact);
  tcase_add_test(t, publishing_replaces_whole_files);
  tcase_add_test(t, a_taken_path_is_not_replaced);
  tcase_add_test(t, failed_publishing_leaves_nothing);
  tcase_add_test(t, modes_are_kept);
  tcase_add_test(t, paths_split);
  tcase_add_test(t, reserved_memory_is_zero);
  tcase_add_test(t, a_time_limit_ends_the_process);
  tcase_add_test(t, a_copy_has_no_time_limit);
  suite_add_tcase(s, t);
  return unit_run(s);
}
