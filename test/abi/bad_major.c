/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: it is for another major version of the interface. */
#define BAD_MAJOR (SURG_ABI_MAJOR + 1)
#define BAD_NAME "major"
#include "bad_plain.h"
