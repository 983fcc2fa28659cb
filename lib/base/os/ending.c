/* SPDX-License-Identifier: Apache-2.0 */
/* See ending.h. */
#include "base/os/ending.h"

#include <signal.h>
#include <stdio.h>

bool surg__os_fault_of(int signal, surg__os_fault *fault) {
  switch (signal) {
    case SIGABRT:
      *fault = SURG__FAULT_ABORT;
      return true;
    case SIGFPE:
      *fault = SURG__FAULT_ARITHMETIC;
      return true;
    case SIGILL:
      *fault = SURG__FAULT_INSTRUCTION;
      return true;
    case SIGSEGV:
      *fault = SURG__FAULT_MEMORY;
      return true;
#ifdef SIGBUS
    case SIGBUS:
      *fault = SURG__FAULT_FILE;
      return true;
#endif
    default:
      return false;
  }
}

const char *surg__os_fault_text(surg__os_fault fault) {
  switch (fault) {
    case SURG__FAULT_ABORT:
      return "aborted (abort or assert, or a C++ exception left it)";
    case SURG__FAULT_ARITHMETIC:
      return "crashed (arithmetic error)";
    case SURG__FAULT_INSTRUCTION:
      return "crashed (illegal instruction)";
    default:
      return "crashed (invalid memory access or stack overflow)";
  }
}

const char *surg__os_signal_text(int signal, bool *fault) {
  static _Thread_local char other[48];
  surg__os_fault why = SURG__FAULT_ABORT;
  const bool known = surg__os_fault_of(signal, &why);
  if (fault) *fault = known;
  if (known) return surg__os_fault_text(why);
#ifdef SIGKILL
  if (signal == SIGKILL) return "was killed (by a process, or for lack of memory)";
#endif
  snprintf(other, sizeof other, "was ended by signal %d", signal);
  return other;
}
