/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the Windows port: text in UTF-16, errors, handles. */
#ifndef SURG_OS_WINDOWS_H
#define SURG_OS_WINDOWS_H

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "base/os/os.h"

/* The errno value of a Windows error. */
int surg__os_errno(DWORD error);
/* That of the last error of this thread. */
int surg__os_last_errno(void);
/* UTF-8 as UTF-16 and back, heap. NULL: errno is ENOMEM or EILSEQ. */
wchar_t *surg__os_wide(const char *text);
char *surg__os_narrow(const wchar_t *text);
/* The handle of a descriptor; INVALID_HANDLE_VALUE for none. */
HANDLE surg__os_handle(int fd);
/* Opens a path; all other opens, renames and deletions stay possible. Returns an errno value. */
int surg__os_create(const char *path, DWORD access, DWORD how, DWORD flags, HANDLE *out);
/* Makes a descriptor of a handle, which it then owns. */
int surg__os_descriptor(HANDLE h, int flags, int *fd);

#endif
