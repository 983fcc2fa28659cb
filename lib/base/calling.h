/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a plugin that the current thread runs, for messages about crashes. */
#ifndef SURG_CALLING_H
#define SURG_CALLING_H

/* What is called: `kind` ("pass", "operator", "init") and its name, of a plugin. `plugin` NULL: no
 * code of a plugin. The strings must live as long as the call. */
typedef struct surg__calling {
  const char *plugin, *kind, *name;
} surg__calling;

/* Notes that code of a plugin is called; returns what was called before, for _end. */
surg__calling surg__calling_begin(const char *plugin, const char *kind, const char *name);
void surg__calling_end(surg__calling before);
/* What the current thread runs. Safe in a signal handler. */
surg__calling surg__calling_now(void);

#endif
