/* SPDX-License-Identifier: Apache-2.0 */
/* A regular expression as a program of steps. */
#ifndef SURG_REGEX_PROGRAM_H
#define SURG_REGEX_PROGRAM_H

#include "eval/core/eval.h"

enum {
  SURG__RE_CHAR,  /* a character of `set`, then `next` */
  SURG__RE_SPLIT, /* `next` and `other` */
  SURG__RE_JUMP,
  SURG__RE_MATCH,
  /* From here on: assertions about a place between characters. */
  SURG__RE_TEXT_START,
  SURG__RE_TEXT_END,
  SURG__RE_LINE_START,
  SURG__RE_LINE_END,
  SURG__RE_WORD_EDGE,
  SURG__RE_NO_WORD_EDGE
};

typedef struct surg__regex_range {
  uint32_t first, last;
} surg__regex_range;
typedef struct surg__regex_set {
  const surg__regex_range *ranges;
  uint32_t n;
  bool negated, fold; /* fold: letters of either case */
} surg__regex_set;
typedef struct surg__regex_step {
  int kind;
  uint32_t next, other;
  surg__regex_set set;
} surg__regex_step;
typedef struct surg__regex_program {
  surg__regex_step *steps; /* starts at 0 */
  uint32_t n;
  uint64_t work; /* for one character: steps and ranges */
} surg__regex_program;

surg__kstatus surg__regex_parse(surg_kctx *k, surg_str pattern, surg__regex_program *out);

#endif
