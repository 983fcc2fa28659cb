/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: it is for an older minor version of the interface, and 0.x promises nothing. */
#define BAD_MINOR (SURG_ABI_MINOR - 1)
#define BAD_NAME "older"
#include "bad_plain.h"
