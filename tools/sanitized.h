/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this is an AddressSanitizer build: gcc and clang use different macros. */
#ifndef SURG_TOOLS_SANITIZED_H
#define SURG_TOOLS_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
#define SURG__SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SURG__SANITIZED 1
#endif
#endif
#ifndef SURG__SANITIZED
#define SURG__SANITIZED 0
#endif

#endif
