/* SPDX-License-Identifier: Apache-2.0 */
/* A bad plugin: its description ends before the functions. */
#define BAD_SIZE 8
#define BAD_NAME "size"
#include "bad_plain.h"
