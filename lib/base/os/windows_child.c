/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: processes of commands. A job ends a command together with all that it started. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/child.h"
#include "base/os/windows.h"

#define POLL_MS 5

/* Appends a word as CommandLineToArgvW reads it back: quotes are escaped, and so are backslashes
 * before a quote. Returns the end. `to` has room for twice the word and three characters. */
static char *put_word(char *to, const char *word) {
  *to++ = '"';
  for (const char *p = word;; p++) {
    size_t slashes = strspn(p, "\\");
    p += slashes;
    const size_t more = !*p ? 2 * slashes : *p == '"' ? 2 * slashes + 1 : slashes;
    memset(to, '\\', more);
    to += more;
    if (!*p) break;
    *to++ = *p;
  }
  *to++ = '"';
  return to;
}

static wchar_t *command_line(char *const *words) {
  size_t room = 1;
  for (size_t i = 0; words[i]; i++) {
    size_t most;
    if (__builtin_mul_overflow(strlen(words[i]), 2, &most) ||
        __builtin_add_overflow(room, most + 4, &room))
      return NULL;
  }
  char *text = malloc(room), *to = text;
  if (!text) return NULL;
  for (size_t i = 0; words[i]; i++) {
    if (i) *to++ = ' ';
    to = put_word(to, words[i]);
  }
  *to = 0;
  wchar_t *wide = surg__os_wide(text);
  free(text);
  return wide;
}

/* A copy of a handle for the command; NULL gives the null device. */
static HANDLE inheritable(HANDLE h) {
  SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
  const HANDLE self = GetCurrentProcess();
  HANDLE copy = NULL;
  if (!h)
    copy = CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                       &inherited, OPEN_EXISTING, 0, NULL);
  else if (!DuplicateHandle(self, h, self, &copy, 0, TRUE, DUPLICATE_SAME_ACCESS))
    copy = NULL;
  return copy == INVALID_HANDLE_VALUE ? NULL : copy;
}

static HANDLE new_job(uint64_t memory) {
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limit = {.BasicLimitInformation.LimitFlags =
                                                    JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE};
  const HANDLE job = CreateJobObjectW(NULL, NULL);
  if (memory) {
    limit.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_PROCESS_MEMORY;
    limit.ProcessMemoryLimit = memory < SIZE_MAX ? (SIZE_T)memory : SIZE_MAX;
  }
  if (job) SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limit, sizeof limit);
  return job;
}

static bool start(wchar_t *line, int out, bool both, HANDLE job, PROCESS_INFORMATION *p) {
  STARTUPINFOW with = {.cb = sizeof with, .dwFlags = STARTF_USESTDHANDLES};
  with.hStdInput = inheritable(NULL);
  with.hStdOutput = inheritable(out < 0 ? NULL : surg__os_handle(out));
  with.hStdError = inheritable(both && out >= 0 ? surg__os_handle(out) : NULL);
  const bool ready = with.hStdInput && with.hStdOutput && with.hStdError;
  const bool started =
      ready && CreateProcessW(NULL, line, NULL, NULL, TRUE, CREATE_SUSPENDED | CREATE_NO_WINDOW,
                              NULL, NULL, &with, p);
  if (with.hStdInput) CloseHandle(with.hStdInput);
  if (with.hStdOutput) CloseHandle(with.hStdOutput);
  if (with.hStdError) CloseHandle(with.hStdError);
  if (!started) return false;
  if (job) AssignProcessToJobObject(job, p->hProcess);
  ResumeThread(p->hThread);
  return true;
}

/* The exit code as elsewhere: 0 to 255, or 128 and the number of the signal for a crash. */
static int exit_code(DWORD code) {
  switch (code) {
    case STATUS_ACCESS_VIOLATION:
    case STATUS_STACK_OVERFLOW:
      return 128 + 11;
    case STATUS_INTEGER_DIVIDE_BY_ZERO:
    case STATUS_INTEGER_OVERFLOW:
      return 128 + 8;
    case STATUS_ILLEGAL_INSTRUCTION:
      return 128 + 4;
    default:
      break;
  }
  if (code >= 0xC0000000u) return 128 + 6;
  return code && !(code & 255) ? 1 : (int)(code & 255);
}

static bool says_too_much(int out) {
  surg__stat st;
  return out >= 0 && surg__os_stat_fd(out, &st) == 0 && st.size > SURG__CHILD_OUTPUT;
}

static int await(const surg__child *c, int out, HANDLE process, HANDLE job) {
  const uint64_t from = surg__os_now_ns();
  DWORD code = 0;
  while (WaitForSingleObject(process, POLL_MS) == WAIT_TIMEOUT) {
    const bool late = (surg__os_now_ns() - from) / 1000000000u >= c->seconds;
    if (!late && !surg__child_cancelled(c) && !says_too_much(out)) continue;
    if (job) TerminateJobObject(job, 1);
    TerminateProcess(process, 1);
    WaitForSingleObject(process, INFINITE);
    return SURG__CHILD_LATE;
  }
  return GetExitCodeProcess(process, &code) ? exit_code(code) : -1;
}

int surg__child_run_on(const surg__child *c, const char *const *files, size_t n, int out,
                       bool both) {
  char **words = surg__child_arguments(c, files, n);
  wchar_t *line = words ? command_line(words) : NULL;
  const HANDLE job = line ? new_job(c->memory) : NULL;
  PROCESS_INFORMATION p = {0};
  int code = -1;
  if (line && start(line, out, both, job, &p)) {
    code = await(c, out, p.hProcess, job);
    CloseHandle(p.hThread);
    CloseHandle(p.hProcess);
  }
  if (job) CloseHandle(job);
  free(line);
  free(words);
  return code;
}

int surg__os_copy(const surg__copy *c, surg__copy_end *end) {
  (void)c;
  *end = (surg__copy_end){0};
  return ENOSYS; /* this system does not copy processes */
}
