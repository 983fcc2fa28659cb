/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are of no use to anybody if this process ends now: new files that have a temporary
 * name, and data files whose model does not have its name yet. A program that is asked to end, or
 * is out of time, removes them. */
#ifndef SURG_OS_UNFINISHED_H
#define SURG_OS_UNFINISHED_H

#ifdef _WIN32
/* The system deletes files with temporary names when the process ends. */
static inline void surg__os_unfinished(const char *path) {
  (void)path;
}
static inline void surg__os_finished(const char *path) {
  (void)path;
}
static inline void surg__os_hold_end(void) {
}
static inline void surg__os_release_end(void) {
}
static inline void surg__os_remove_unfinished(void) {
}
#else
/* Records a file; `path` must remain until surg__os_finished gets the same pointer. There is room
 * for SURG_OS_UNFINISHED_MOST files; others are not recorded. */
#define SURG_OS_UNFINISHED_MOST 1024
void surg__os_unfinished(const char *path);
/* The file has what it needs now, or was removed. Does not return if the process is ending. A path
 * that is not recorded is no error. */
void surg__os_finished(const char *path);

/* Between the two the process does not end on request: a file gets a name, or its record changes. A
 * second request ends it all the same. Calls nest. */
void surg__os_hold_end(void);
void surg__os_release_end(void);

/* Removes the recorded files. May be called in signal handlers, once, before the process ends. */
void surg__os_remove_unfinished(void);

/* Handler of SIGINT, SIGTERM and SIGHUP: removes the files and ends the process by the signal. */
void surg__os_end_by(int signal);
#endif

#endif
