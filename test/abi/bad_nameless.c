/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: it has no name. */
#define BAD_NAME ""
#include "bad_plain.h"
