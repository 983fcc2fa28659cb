/* SPDX-License-Identifier: Apache-2.0 */
/* The lock of the process. */
#include <pthread.h>

#include "base/os/dl.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void surg__os_lock(void) {
  pthread_mutex_lock(&lock);
}

void surg__os_unlock(void) {
  pthread_mutex_unlock(&lock);
}
