/* SPDX-License-Identifier: Apache-2.0 */
/* Every limit of the program, once; budgets of a pass are its options. doc/limits.md says for each
 * why it stands where it stands. */
#ifndef SURG_LIMITS_H
#define SURG_LIMITS_H

#define SURG_LIMIT_DEPTH 110u                      /* nesting of messages: 33 graphs and a type */
#define SURG_LIMIT_DEPTH_MOST 4000u                /* that may be asked for */
#define SURG_LIMIT_MEMORY (2ull << 30)             /* heap of one context */
#define SURG_LIMIT_SKELETON (1ull << 30)           /* estimate of a decoded model */
#define SURG_LIMIT_RANK 64                         /* dims of a tensor that may be folded */
#define SURG_LIMIT_MADE_UP (1ull << 25)            /* elements of an input of open size, made up */
#define SURG_LIMIT_ROI_SAMPLES 65536               /* of RoiAlign along one axis of a bin */
#define SURG_LIMIT_FUNCTIONS 10000u                /* functions of a model */
#define SURG_LIMIT_IMPORTS 1000u                   /* opset imports of a model or function */
#define SURG_LIMIT_CALL_DEPTH 100u                 /* functions calling functions */
#define SURG_LIMIT_INLINED_NODES 1000000ull        /* nodes if every call were inlined */
#define SURG_LIMIT_OUTPUT_BYTES 2147483647ull      /* a protobuf message */
#define SURG_LIMIT_OPEN_FILES 256u                 /* external data files kept open */
#define SURG_LIMIT_LOCATION 4095u                  /* bytes of an external data location */
#define SURG_LIMIT_NAME_PRINT 120u                 /* bytes of a name in a message */
#define SURG_LIMIT_WARNINGS 20u                    /* lines of warnings, then a count */
#define SURG_LIMIT_FINDINGS 100u                   /* findings of a file that are told in full */
#define SURG_LIMIT_DEFECTS 10000u                  /* findings that a lenient load keeps */
#define SURG_LIMIT_DEFECTS_MOST 100000u            /* errors after which a load gives up */
#define SURG_LIMIT_TWINS 64u                       /* definitions of one name that are told apart */
#define SURG_LIMIT_RESIDENT (64ull << 20)          /* files up to here are read into memory */
#define SURG_LIMIT_PAYLOAD_SKIP 4096u              /* payloads from here stay in a large file */
#define SURG_LIMIT_OWNED_RESIDENT (64ull << 20)    /* computed tensors kept in memory */
#define SURG_LIMIT_SAMPLE (4u << 10)              /* of a tensor that is hashed, at three places */
#define SURG_LIMIT_PIECE (64u << 10)               /* of tensors compared or hashed, at a time */
#define SURG_LIMIT_EXPR_TERMS 32u                  /* summands of an expression over dims */
#define SURG_LIMIT_EXPR_FACTORS 8u                 /* factors of a summand, args of a min */
#define SURG_LIMIT_EXPR_DEPTH 8u                   /* nesting of an expression */
#define SURG_LIMIT_EXPR_SIZE 96u                   /* symbols and numbers in one expression */
#define SURG_LIMIT_EXPRS (1u << 20)                /* expressions of a model */
#define SURG_LIMIT_EXPR_FUEL 64u                   /* steps of one proof about an expression */
#define SURG_LIMIT_SYMBOL INT32_MAX                /* a symbolic dim, unless --dim says more */

#define SURG_LIMIT_GUARD_NODES 50000u                /* of a model that a guard keeps a copy of */
#define SURG_LIMIT_REWRITES_NODE 16u               /* rewrites by rules: this many a node, and */
#define SURG_LIMIT_REWRITES 10000u                 /* ... this many more */
#define SURG_LIMIT_EMIT_STEPS 64                   /* of a recurrence, written out node by node */
#define SURG_LIMIT_EMIT_CONSTANT 65536             /* elements of a constant that only counts */
#define SURG_LIMIT_EMIT_PRODUCT (1u << 22)         /* elements multiplied before they are summed */
#define SURG_LIMIT_FLOOR_INDICES 1024u              /* looked through for one below 0 */
#define SURG_LIMIT_SCHEMA_BYTES (1u << 20)         /* of a file of schemas */
#define SURG_LIMIT_SCHEMA_OPS 10000u               /* operators of all schema files */
#define SURG_LIMIT_SCHEMA_PARAMS 64u /* inputs of a schema; outputs, attributes, types */
#define SURG_LIMIT_SCHEMA_STEPS 64u                /* names, numbers and signs of a dim */
#define SURG_LIMIT_SCHEMA_DEPTH 32u                /* parentheses of a dim */
#define SURG_LIMIT_SCHEMA_INTS 16u                 /* of a default */
#define SURG_LIMIT_SCHEMA_SYMBOLS 64u              /* names of dims of one operator */
#define SURG_LIMIT_RULES_BYTES (16u << 20)         /* of a file of rules */
#define SURG_LIMIT_TARGET_BYTES (16u << 20)        /* of a file that describes a target */
#define SURG_LIMIT_TARGET_OPS 4096u                /* operators of a target */
#define SURG_LIMIT_TARGET_DEPTH 200u               /* targets that inherit from each other */
#define SURG_LIMIT_MESSAGES 4096u                  /* known messages of importers */
#define SURG_LIMIT_PATTERN 2000u                   /* bytes of a pattern of one */
#define SURG_LIMIT_MESSAGE_TEXT (4u << 20)         /* bytes of a text that is to be explained */
#define SURG_LIMIT_MESSAGE_LINE 16384u             /* bytes of a line of it that are looked at */
#define SURG_LIMIT_EXPLAINED 200u                  /* things found in it */
#define SURG_LIMIT_REGEX_DEPTH 1000u               /* groups in groups */
#define SURG_LIMIT_REGEX_REPEAT 1000               /* times in braces */
#define SURG_LIMIT_REGEX_STEPS 100000u             /* of the program made of it */

#endif
