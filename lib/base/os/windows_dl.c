/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: shared libraries. */
#include "base/os/dl.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/windows.h"

bool surg__os_dl_available(void) {
  return true;
}

static _Thread_local char dl_text[512];

/* Keeps the text of the last error. */
static void keep_error(void) {
  wchar_t wide[256];
  const DWORD code = GetLastError();
  DWORD n = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, code,
                           0, wide, 256, NULL);
  while (n && (wide[n - 1] <= ' ' || wide[n - 1] == '.')) n--;
  wide[n < 256 ? n : 255] = 0;
  char *text = n ? surg__os_narrow(wide) : NULL;
  snprintf(dl_text, sizeof dl_text, "%s (error %lu)", text ? text : "no text", code);
  free(text);
}

void *surg__os_dl_open(const char *file) {
  *dl_text = 0; /* first: access to such variables may change the last error */
  wchar_t *wide = surg__os_wide(file);
  const HMODULE library = wide ? LoadLibraryW(wide) : NULL;
  if (!library) keep_error();
  free(wide);
  return (void *)library;
}

void *surg__os_dl_symbol(void *library, const char *name) {
  *dl_text = 0;
  const FARPROC found = GetProcAddress(library, name);
  void *symbol;
  if (!found) keep_error();
  memcpy(&symbol, &found, sizeof symbol);
  return symbol;
}

const char *surg__os_dl_error(void) {
  return *dl_text ? dl_text : NULL;
}
