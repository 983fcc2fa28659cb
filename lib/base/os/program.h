/* SPDX-License-Identifier: Apache-2.0 */
/* What a program needs from the operating system and a library must not touch: standard streams,
 * signals, timers, the stack. Used by tools/. */
#ifndef SURG_OS_PROGRAM_H
#define SURG_OS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Reasons why the system ends a program. */
typedef enum surg__os_fault {
  SURG__FAULT_MEMORY,      /* invalid address, stack overflow */
  SURG__FAULT_FILE,        /* a page of a mapped file does not exist any more */
  SURG__FAULT_ARITHMETIC,  /* such as an integer division by 0 */
  SURG__FAULT_INSTRUCTION, /* the processor does not have an instruction */
  SURG__FAULT_ABORT        /* abort() or a failed assert */
} surg__os_fault;

/* The words of the command line in UTF-8. Replaces them where the system passes another encoding;
 * they are valid until the program ends. False: no memory. */
bool surg__os_arguments(int *argc, char ***argv);
/* Opens a null device for each closed standard stream, in the wrong direction, so that using the
 * stream fails and no file gets its descriptor. Bytes are not translated. False: not possible. */
bool surg__os_streams(void);
bool surg__os_is_terminal(int fd);
/* Whether the reader of a pipe has closed it. */
bool surg__os_pipe_broken(int fd);
/* Writes text on standard error; may be called in handlers. */
void surg__os_say(const char *text, size_t n);
/* Ends the process at once; runs no exit handlers. */
_Noreturn void surg__os_exit(int code);

/* Writing to a closed pipe or beyond a file size limit is an error of the write. */
void surg__os_writes_fail(void);
/* Calls `handler` in place of the default action, on a stack of its own where there is one. It must
 * not return and may call surg__os_say and surg__os_exit. */
void surg__os_on_fault(void (*handler)(surg__os_fault fault));
/* A user who asks the program to end (Ctrl-C, termination, a terminal that is closed) finds no file
 * that is of no use: unfinished.h. A signal that was ignored before stays ignored. */
void surg__os_clean_at_end(void);
/* Calls `handler` the first time that the user asks the program to end (Ctrl-C, termination); the
 * second request ends it. The handler may set flags only. */
void surg__os_on_stop(void (*handler)(void));
/* Calls `draw` every `us` microseconds, at most 999999, from a signal handler or another thread; 0
 * ends that. */
void surg__os_every(unsigned us, void (*draw)(void));

/* Runs a function on a stack of `n` bytes, committed as it is used. False: no such stack. */
bool surg__os_with_stack(size_t n, void (*run)(void *user), void *user);

#endif
