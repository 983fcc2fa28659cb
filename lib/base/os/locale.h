/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with a decimal point, whatever the locale of the program is. */
#ifndef SURG_OS_LOCALE_H
#define SURG_OS_LOCALE_H

#include <stdbool.h>

typedef struct surg__os_locale {
  void *plain, *before;
} surg__os_locale;

/* Makes printf and strtod of this thread use '.', until surg__os_locale_end. False: no memory, and
 * nothing is to be ended. */
bool surg__os_locale_begin(surg__os_locale *l);
void surg__os_locale_end(surg__os_locale *l);

#endif
