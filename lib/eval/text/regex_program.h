/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled regular expression: a program for the matcher. */
#ifndef SURG_REGEX_PROGRAM_H
#define SURG_REGEX_PROGRAM_H

#include "eval/core/eval.h"

enum {
  SURG__RE_CHAR,  /* match a character of `set`, continue at `next` */
  SURG__RE_SPLIT, /* continue at both `next` and `other` */
  SURG__RE_JUMP,
  SURG__RE_MATCH,
  /* The rest are assertions about a position between characters. */
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
  bool negated, fold; /* fold: ignore case */
} surg__regex_set;
typedef struct surg__regex_step {
  int kind;
  uint32_t next, other;
  surg__regex_set set;
} surg__regex_step;
typedef struct surg__regex_program {
  surg__regex_step *steps; /* the program starts at step 0 */
  uint32_t n;
  uint64_t work; /* cost of one character: steps and ranges */
} surg__regex_program;

surg__kstatus surg__regex_parse(surg_kctx *k, surg_str pattern, surg__regex_program *out);

#endif
