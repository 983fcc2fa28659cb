/* SPDX-License-Identifier: Apache-2.0 */
/* Words for a signal that ends a process. */
#ifndef SURG_OS_ENDING_H
#define SURG_OS_ENDING_H

#include <stdbool.h>

#include "base/os/program.h"

/* The fault that a signal reports. False: none, such as a request to end. */
bool surg__os_fault_of(int signal, surg__os_fault *fault);
/* "crashed (arithmetic error)": what completes a sentence about the process. Static. */
const char *surg__os_fault_text(surg__os_fault fault);
/* The same for any signal; *fault: whether it reports one (NULL: not asked). Static, or until the
 * next call of the thread. */
const char *surg__os_signal_text(int signal, bool *fault);

#endif
