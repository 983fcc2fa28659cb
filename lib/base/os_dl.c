/* SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries. */
#include "base/os_dl.h"

#include <stddef.h>

#ifdef _WIN32
#include <windows.h>
static SRWLOCK lock = SRWLOCK_INIT;

void surg__os_lock(void) {
  AcquireSRWLockExclusive(&lock);
}

void surg__os_unlock(void) {
  ReleaseSRWLockExclusive(&lock);
}
#else
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void surg__os_lock(void) {
  pthread_mutex_lock(&lock);
}

void surg__os_unlock(void) {
  pthread_mutex_unlock(&lock);
}
#endif

#if SURG__OS_DL
#include <dlfcn.h>

void *surg__os_dl_open(const char *file) {
  return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

void *surg__os_dl_symbol(void *library, const char *name) {
  return dlsym(library, name);
}

const char *surg__os_dl_error(void) {
  return dlerror();
}
#else
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
#endif
