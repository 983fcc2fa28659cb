/* SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries. Where there are none (WebAssembly, a static program), every open fails with
 * that reason. */
#ifndef SURG_OS_DL_H
#define SURG_OS_DL_H

#include <stdbool.h>

/* Whether libraries can be loaded; if not, surg__os_dl_error says why. */
bool surg__os_dl_available(void);
/* Loads a library with its own symbols resolved at once. NULL: see surg__os_dl_error. */
void *surg__os_dl_open(const char *file);
void *surg__os_dl_symbol(void *library, const char *name); /* NULL: it has no such symbol */
/* Why the last call failed; NULL if it did not. Valid until the next call. */
const char *surg__os_dl_error(void);

/* The lock of the process, for the state that contexts share: variables of plugins and of
 * libraries. It is held for the init of a plugin, so it must not be taken twice. */
void surg__os_lock(void);
void surg__os_unlock(void);

#endif
