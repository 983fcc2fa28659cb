/* SPDX-License-Identifier: Apache-2.0 */
/* All limits of the program; budgets of a pass are its options instead. doc/limits.md gives the
 * reason for each value. */
#ifndef SURG_LIMITS_H
#define SURG_LIMITS_H

#define SURG_LIMIT_DEPTH 110u                      /* nesting of messages: 33 graphs and a type */
#define SURG_LIMIT_DEPTH_MOST 4000u                /* maximum that a caller can request */
#define SURG_LIMIT_MEMORY (2ull << 30)             /* heap of one context */
#define SURG_LIMIT_SKELETON (1ull << 30)           /* estimate of a decoded model */
#define SURG_LIMIT_RANK 64                         /* rank up to which dims are computed */
#define SURG_LIMIT_MADE_UP (1ull << 25)            /* elements of a generated input */
#define SURG_LIMIT_ROI_SAMPLES 65536               /* samples of RoiAlign per axis of a bin */
#define SURG_LIMIT_FUNCTIONS 10000u                /* functions of a model */
#define SURG_LIMIT_IMPORTS 1000u                   /* opset imports of a model or function */
#define SURG_LIMIT_CALL_DEPTH 100u                 /* depth of nested function calls */
#define SURG_LIMIT_INLINED_NODES 1000000ull        /* nodes after inlining every call */
#define SURG_LIMIT_OUTPUT_BYTES 2147483647ull      /* a protobuf message */
#define SURG_LIMIT_OPEN_FILES 256u                 /* external data files kept open */
#define SURG_LIMIT_LOCATION 4095u                  /* bytes of an external data location */
#define SURG_LIMIT_NAME_PRINT 120u                 /* bytes of a name in a message */
#define SURG_LIMIT_WARNINGS 20u                    /* lines of warnings, then a count */
#define SURG_LIMIT_FINDINGS 100u                   /* findings of a file reported in full */
#define SURG_LIMIT_DEFECTS 10000u                  /* findings that a lenient load stores */
#define SURG_LIMIT_DEFECTS_MOST 100000u            /* errors at which a lenient load stops */
#define SURG_LIMIT_TWINS 64u                       /* definitions of one name that are kept */
#define SURG_LIMIT_RESIDENT (64ull << 20)          /* files up to this size are read into memory */
#define SURG_LIMIT_PAYLOAD_SKIP 4096u              /* payload size from which it stays on disk */
#define SURG_LIMIT_OWNED_RESIDENT (64ull << 20)    /* computed tensor bytes kept in memory */
#define SURG_LIMIT_SAMPLE (4u << 10)              /* bytes hashed of a tensor, at three places */
#define SURG_LIMIT_PIECE (64u << 10)               /* bytes of a tensor compared at a time */
#define SURG_LIMIT_EXPR_TERMS 32u                  /* terms of an expression over dims */
#define SURG_LIMIT_EXPR_FACTORS 8u                 /* factors of a term, arguments of a min */
#define SURG_LIMIT_EXPR_DEPTH 8u                   /* nesting of an expression */
#define SURG_LIMIT_EXPR_SIZE 96u                   /* symbols and numbers in one expression */
#define SURG_LIMIT_EXPRS (1u << 20)                /* expressions of a model */
#define SURG_LIMIT_EXPR_FUEL 64u                   /* steps of one proof about an expression */
#define SURG_LIMIT_SYMBOL INT32_MAX                /* largest symbolic dim, unless --dim sets it */

#define SURG_LIMIT_CUT_STEPS 200000000ull          /* steps of one border of a cut */
#define SURG_LIMIT_GROWTH_NODES 20000u               /* nodes of a model that is run again */
#define SURG_LIMIT_GUARD_NODES 50000u                /* nodes of a model that a guard copies */
#define SURG_LIMIT_REWRITES_NODE 16u               /* rewrites by rules: this many per node */
#define SURG_LIMIT_REWRITES 10000u                 /* ... plus this many */
#define SURG_LIMIT_EMIT_STEPS 64                   /* unrolled steps of a recurrence */
#define SURG_LIMIT_EMIT_CONSTANT 65536             /* elements of a constant that only counts */
#define SURG_LIMIT_EMIT_PRODUCT (1u << 22)         /* elements multiplied before summation */
#define SURG_LIMIT_FLOOR_INDICES 1024u              /* indices searched for a negative one */
#define SURG_LIMIT_SCHEMA_BYTES (1u << 20)         /* size of a schema file */
#define SURG_LIMIT_SCHEMA_OPS 10000u               /* operators of all schema files */
#define SURG_LIMIT_SCHEMA_PARAMS 64u /* inputs of a schema; outputs, attributes, types */
#define SURG_LIMIT_SCHEMA_STEPS 64u                /* names, numbers and operators of a dim */
#define SURG_LIMIT_SCHEMA_DEPTH 32u                /* nesting of parentheses in a dim */
#define SURG_LIMIT_SCHEMA_INTS 16u                 /* integers of a default */
#define SURG_LIMIT_SCHEMA_SYMBOLS 64u              /* dim names of one operator */
#define SURG_LIMIT_RULES_BYTES (16u << 20)         /* size of a rule file */
#define SURG_LIMIT_TARGET_BYTES (16u << 20)        /* size of a target file */
#define SURG_LIMIT_TARGET_OPS 4096u                /* operators of a target */
#define SURG_LIMIT_TARGET_DEPTH 200u               /* depth of target inheritance */
#define SURG_LIMIT_MESSAGES 4096u                  /* known messages of importers */
#define SURG_LIMIT_PATTERN 2000u                   /* bytes of a pattern of a message */
#define SURG_LIMIT_MESSAGE_TEXT (4u << 20)         /* bytes of a text to explain */
#define SURG_LIMIT_MESSAGE_LINE 16384u             /* bytes of a line that are matched */
#define SURG_LIMIT_EXPLAINED 200u                  /* findings in a text */
#define SURG_LIMIT_REGEX_DEPTH 1000u               /* nesting of groups */
#define SURG_LIMIT_REGEX_REPEAT 1000               /* repetitions in braces */
#define SURG_LIMIT_REGEX_STEPS 100000u             /* instructions of a compiled regex */

#endif
