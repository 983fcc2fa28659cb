/* SPDX-License-Identifier: Apache-2.0 */
/* Functions on text and memory, and error numbers, that POSIX has and the C library of Windows
 * lacks. The build includes this file before all others there. */
#ifndef SURG_OS_WINDOWS_TEXT_H
#define SURG_OS_WINDOWS_TEXT_H

#include <errno.h>
#include <stddef.h>

#ifndef ESTALE
#define ESTALE 116
#endif
#ifndef EDQUOT
#define EDQUOT 122
#endif

char *surg__os_strndup(const char *text, size_t n);
char *surg__os_stpcpy(char *to, const char *from);
void *surg__os_memmem(const void *in, size_t n, const void *what, size_t k);

#define strndup surg__os_strndup
#define stpcpy surg__os_stpcpy
#define memmem surg__os_memmem

#endif
