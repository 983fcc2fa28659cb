/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: it is for a newer minor version of the interface. */
#define BAD_MINOR (SURG_ABI_MINOR + 1)
#define BAD_NAME "minor"
#include "bad_plain.h"
