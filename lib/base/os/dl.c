/* SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries. */
#include "base/os/dl.h"

#include <dlfcn.h>

bool surg__os_dl_available(void) {
  return true;
}

void *surg__os_dl_open(const char *file) {
  return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

void *surg__os_dl_symbol(void *library, const char *name) {
  return dlsym(library, name);
}

const char *surg__os_dl_error(void) {
  return dlerror();
}
