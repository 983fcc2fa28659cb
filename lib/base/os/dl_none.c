/* SPDX-License-Identifier: Apache-2.0 */
/* Builds without a dynamic loader. */
#include <stddef.h>

#include "base/os/dl.h"

bool surg__os_dl_available(void) {
  return false;
}

void *surg__os_dl_open(const char *file) {
  (void)file;
  return NULL;
}

void *surg__os_dl_symbol(void *library, const char *name) {
  (void)library, (void)name;
  return NULL;
}

const char *surg__os_dl_error(void) {
#ifdef __EMSCRIPTEN__
  return "shared libraries are not available in WebAssembly";
#else
  return "this program is linked statically, without a dynamic loader";
#endif
}
