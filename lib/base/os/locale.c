/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/locale.h"

#include <locale.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

bool surg__os_locale_begin(surg__os_locale *l) {
  const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!plain) return false;
  l->plain = plain;
  l->before = uselocale(plain);
  return true;
}

void surg__os_locale_end(surg__os_locale *l) {
  uselocale(l->before);
  freelocale(l->plain);
}
