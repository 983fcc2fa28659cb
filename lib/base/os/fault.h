/* SPDX-License-Identifier: Apache-2.0 */
/* Fault injection at every system call of os.c and publish.c: the call can return an error
 * instead. */
#ifndef SURG_OS_FAULT_H
#define SURG_OS_FAULT_H

#include "base/fault.h"

#ifdef SURG_FAULT_INJECTION
#define SURG_SYS_FAULTS() surg__fault_hit(SURG__FAULT_SYS)
#else
#define SURG_SYS_FAULTS() false
#endif
#define SURG_SYS_FAULT(error)              \
  do {                                     \
    if (SURG_SYS_FAULTS()) return (error); \
  } while (0)

#endif
