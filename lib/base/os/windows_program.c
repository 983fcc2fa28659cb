/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: standard streams, faults, timers and stacks of a program; locales. */
#include "base/os/program.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/dl.h"
#include "base/os/locale.h"
#include "base/os/windows.h"

#include <shellapi.h>

#define FAULT_STACK (64u << 10) /* bytes of stack kept for the handler of an overflow */

static void (*fault_handler)(surg__os_fault fault);
static void (*stop_handler)(void);
static void (*draw_handler)(void);
static HANDLE timer;

bool surg__os_arguments(int *argc, char ***argv) {
  int n;
  wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &n);
  char **words = wide ? calloc((size_t)n + 1, sizeof *words) : NULL;
  bool good = words;
  for (int i = 0; good && i < n; i++) good = (words[i] = surg__os_narrow(wide[i]));
  LocalFree(wide);
  if (!good) return false;
  *argc = n;
  *argv = words;
  return true;
}

/* Makes a console show UTF-8 and obey the codes of a progress line. */
static void use_console(int fd) {
  DWORD mode;
  const HANDLE h = surg__os_handle(fd);
  if (GetConsoleMode(h, &mode)) SetConsoleMode(h, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

bool surg__os_streams(void) {
  static const char *const modes[] = {"wb", "rb", "rb"};
  FILE *const streams[] = {stdin, stdout, stderr};
  for (int fd = 0; fd < 3; fd++) {
    if (_get_osfhandle(fd) == -1 || _get_osfhandle(fd) == -2) {
      if (!freopen("NUL", modes[fd], streams[fd])) return false;
    } else if (_setmode(fd, _O_BINARY) < 0) {
      return false;
    }
  }
  SetConsoleOutputCP(CP_UTF8);
  use_console(1);
  use_console(2);
  setvbuf(stderr, NULL, _IONBF, 0);
  return true;
}

bool surg__os_is_terminal(int fd) {
  DWORD mode;
  return fd >= 0 && GetConsoleMode(surg__os_handle(fd), &mode);
}

bool surg__os_pipe_broken(int fd) {
  DWORD put;
  const HANDLE h = surg__os_handle(fd);
  return GetFileType(h) == FILE_TYPE_PIPE && !WriteFile(h, "", 0, &put, NULL);
}

void surg__os_say(const char *text, size_t n) {
  DWORD put;
  WriteFile(GetStdHandle(STD_ERROR_HANDLE), text, (DWORD)n, &put, NULL);
}

void surg__os_exit(int code) {
  _exit(code);
}

void surg__os_writes_fail(void) {
  /* They do: this system has no signal for them. */
}

/* ---- the lock of the process --------------------------------------------------------------- */

static SRWLOCK lock = SRWLOCK_INIT;

void surg__os_lock(void) {
  AcquireSRWLockExclusive(&lock);
}

void surg__os_unlock(void) {
  ReleaseSRWLockExclusive(&lock);
}

/* ---- faults -------------------------------------------------------------------------------- */

static LONG WINAPI on_exception(EXCEPTION_POINTERS *e) {
  switch (e->ExceptionRecord->ExceptionCode) {
    case EXCEPTION_IN_PAGE_ERROR:
      fault_handler(SURG__FAULT_FILE);
      break;
    case EXCEPTION_INT_DIVIDE_BY_ZERO:
    case EXCEPTION_INT_OVERFLOW:
      fault_handler(SURG__FAULT_ARITHMETIC);
      break;
    case EXCEPTION_ILLEGAL_INSTRUCTION:
    case EXCEPTION_PRIV_INSTRUCTION:
      fault_handler(SURG__FAULT_INSTRUCTION);
      break;
    default:
      fault_handler(SURG__FAULT_MEMORY);
      break;
  }
  return EXCEPTION_EXECUTE_HANDLER;
}

static void on_abort(int signal) {
  (void)signal;
  fault_handler(SURG__FAULT_ABORT);
}

static void keep_stack(void) {
  ULONG n = FAULT_STACK;
  SetThreadStackGuarantee(&n);
}

void surg__os_on_fault(void (*handler)(surg__os_fault fault)) {
  fault_handler = handler;
  keep_stack();
  SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX); /* no dialog */
  SetUnhandledExceptionFilter(on_exception);
  signal(SIGABRT, on_abort);
}

/* ---- stopping and timers ------------------------------------------------------------------- */

void surg__os_clean_at_end(void) {
  /* The system deletes files with temporary names. */
}

static BOOL WINAPI on_console(DWORD event) {
  static LONG asked;
  if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) return FALSE;
  if (InterlockedExchange(&asked, 1)) return FALSE; /* the second time: the default, the end */
  stop_handler();
  return TRUE;
}

void surg__os_on_stop(void (*handler)(void)) {
  stop_handler = handler;
  SetConsoleCtrlHandler(on_console, TRUE);
}

static VOID CALLBACK on_timer(PVOID user, BOOLEAN fired) {
  (void)user, (void)fired;
  draw_handler();
}

void surg__os_every(unsigned us, void (*draw)(void)) {
  if (timer) DeleteTimerQueueTimer(NULL, timer, INVALID_HANDLE_VALUE); /* waits for the handler */
  timer = NULL;
  draw_handler = draw;
  const DWORD ms = us / 1000;
  if (us && !CreateTimerQueueTimer(&timer, NULL, on_timer, NULL, ms, ms ? ms : 1, 0)) timer = NULL;
}

/* ---- stacks -------------------------------------------------------------------------------- */

typedef struct call {
  void (*run)(void *user);
  void *user;
} call;

static DWORD WINAPI run_call(LPVOID user) {
  const call *c = user;
  if (fault_handler) keep_stack();
  c->run(c->user);
  return 0;
}

bool surg__os_with_stack(size_t n, void (*run)(void *user), void *user) {
  call c = {run, user};
  const HANDLE thread =
      CreateThread(NULL, n, run_call, &c, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
  if (!thread) return false;
  const bool done = WaitForSingleObject(thread, INFINITE) == WAIT_OBJECT_0;
  CloseHandle(thread);
  return done;
}

/* ---- locales ------------------------------------------------------------------------------- */

bool surg__os_locale_begin(surg__os_locale *l) {
  _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
  const char *now = setlocale(LC_NUMERIC, NULL);
  l->plain = NULL;
  l->before = strdup(now ? now : "C");
  if (!l->before) return false;
  setlocale(LC_NUMERIC, "C");
  return true;
}

void surg__os_locale_end(surg__os_locale *l) {
  setlocale(LC_NUMERIC, l->before);
  free(l->before);
}
