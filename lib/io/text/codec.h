/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the printer and the parser of ONNX text: wire messages in memory, decoded by the
 * descriptors of protobuf-c, and the keywords of the grammar. Content without a grammar form is
 * printed from the descriptors as `@{...}`, so that no field is lost. */
#ifndef SURG_TEXT_CODEC_H
#define SURG_TEXT_CODEC_H

#include "base/context.h"
#include "base/dtype.h"
#include "io/wire.h"
#include "onnx.pb-c.h"

typedef ProtobufCMessageDescriptor surg__desc;
typedef ProtobufCFieldDescriptor surg__fdesc;

/* --- wire (wire.c) --- */
typedef struct surg__tmsg {
  const uint8_t *p;
  size_t n;
} surg__tmsg;
typedef struct surg__tfield {
  uint32_t number, wire;
  uint64_t value;   /* of a varint, fixed32 or fixed64 */
  surg__tmsg bytes; /* the raw payload, without tag and length */
} surg__tfield;


#define SURG__BIT(number) (UINT64_C(1) << (number))

/* Removes the first field from *m: 1, 0 at its end, -1 if malformed. */
int surg__text_next(surg__tmsg *m, surg__tfield *f);
/* Reads a varint: the number of bytes used, or 0. */
size_t surg__text_varint(const uint8_t *p, size_t n, uint64_t *value);
/* Validates a message and all known messages inside it: afterwards surg__text_next cannot fail
 * on them. Returns NULL, or the error (static text). */
const char *surg__text_check(const surg__desc *d, surg__tmsg m, uint32_t depth);
/* The descriptor of a field if the descriptor accepts its wire type, else NULL. */
const surg__fdesc *surg__text_known(const surg__desc *d, const surg__tfield *f);
/* Finds the last field with that number and wire type. */
bool surg__text_get(surg__tmsg m, uint32_t number, uint32_t wire, surg__tfield *f);
/* The set of known fields in m, as bits of their numbers (below 64); *unknown: m has other
 * fields. */
uint64_t surg__text_seen(const surg__desc *d, surg__tmsg m, bool *unknown);

/* Iterator over the numbers of a repeated field, packed or not. */
typedef struct surg__tnums {
  surg__tmsg rest, packed;
  uint32_t number, wire;
} surg__tnums;
surg__tnums surg__text_nums(surg__tmsg m, const surg__desc *d, uint32_t number);
bool surg__text_nums_next(surg__tnums *it, uint64_t *value);

/* --- keywords (wire.c) --- */
static inline bool surg__text_ident_char(char c, bool first) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_') return true;
  return !first && c >= '0' && c <= '9';
}
bool surg__text_is_ident(const char *s, size_t n);
/* Whether an identifier is a keyword where a name may appear, so that an equal name is quoted. */
bool surg__text_reserved(const char *s, size_t n);
bool surg__text_is_type_word(const char *s, size_t n);
static inline bool surg__text_word(const char *s, size_t n, const char *word) {
  return n && *s == *word && strlen(word) == n && memcmp(s, word, n) == 0;
}
const char *surg__text_attr_kind(unsigned kind); /* "float", "ints"; NULL: unknown kind */
unsigned surg__text_attr_kind_of(const char *s, size_t n);
uint32_t surg__text_attr_field(unsigned kind); /* number of the kind's value field */
/* The number of the typed list field for an element type, or 0. */
uint32_t surg__text_list_field(int dtype);

/* --- printer (print.c, print_value.c) --- */
#define SURG__TEXT_KINDS 96
typedef struct surg__tprint {
  surg_context *ctx;
  const char *name;
  surg__buf *out;
  bool strict;
  bool cut;      /* a preview: tensors above `most` elements are printed as `...` */
  uint64_t most;
  unsigned indent;
  size_t suffix_end; /* end offset of the last `@{...}` */
  struct {
    const surg__desc *desc;
    const surg__fdesc *field; /* NULL: see `what` */
    const char *what;
    uint64_t count;
  } dropped[SURG__TEXT_KINDS];
  size_t kinds;
} surg__tprint;

void surg__print_dropped(surg__tprint *p, const surg__desc *d, const surg__fdesc *fd,
                         const char *what, uint64_t n);
void surg__print_indent(surg__tprint *p);
void surg__print_quoted(surg__tprint *p, const uint8_t *s, size_t n);
void surg__print_name(surg__tprint *p, surg__tmsg s);  /* where a type is possible too */
void surg__print_ident(surg__tprint *p, surg__tmsg s); /* where only a name is possible */
/* Prints an identifier that has no quotes in official text; strict text replaces its other
 * characters by '_'. */
void surg__print_word(surg__tprint *p, surg__tmsg s);
void surg__print_float(surg__tprint *p, uint32_t bits);
void surg__print_double(surg__tprint *p, uint64_t bits);
void surg__print_list(surg__tprint *p, surg__tmsg m, const surg__desc *d, uint32_t number);
/* Prints the trailing `@{...}`: all fields except `said`, and `!field` for each in `missing`.
 * With `always` it is printed even if empty. */
void surg__print_suffix(surg__tprint *p, const surg__desc *d, surg__tmsg m, uint64_t said,
                        uint64_t missing, bool always);
bool surg__print_needs_suffix(const surg__tprint *p, const surg__desc *d, surg__tmsg m,
                              uint64_t said, uint64_t missing);
void surg__print_block(surg__tprint *p, const surg__desc *d, surg__tmsg m);
void surg__print_type(surg__tprint *p, surg__tmsg type);
bool surg__print_type_plain(surg__tmsg type);
void surg__print_tensor(surg__tprint *p, surg__tmsg tensor, bool initializer);
void surg__print_pairs(surg__tprint *p, surg__tmsg m, uint32_t number);
void surg__print_graph(surg__tprint *p, surg__tmsg graph, bool quotable);

/* --- parser (lex.c, parse.c, parse_value.c) --- */
typedef struct surg__tparse {
  surg_context *ctx;
  const char *name;
  const char *start, *p, *end;
  surg__buf *out;
  surg__buf s, t; /* scratch: the last string, a joined domain */
  surg_status status;
  uint32_t depth;
  /* The last tensor type read at top level; dtype 0: it was not a tensor type. */
  int dtype;
  bool tensor_word, shaped, numeric;
  SURG_VEC(int64_t) dims;
  surg__buf *literals; /* of a fragment: initializers for the literals among inputs; else NULL */
  uint32_t n_literals;
  char found[96]; /* of a message */
} surg__tparse;

typedef enum surg__num_kind {
  SURG__NUM_INT,
  SURG__NUM_FLOAT,
  SURG__NUM_NAN /* with its bits */
} surg__num_kind;
typedef struct surg__num {
  surg__num_kind kind;
  bool negative;
  uint64_t magnitude; /* of INT */
  uint64_t bits;      /* of NAN */
  const char *at;     /* of FLOAT and INT: the text */
  size_t n;
} surg__num;

/* Reports an error at `at` (NULL: the current position); returns false. Only the first error is
 * kept. */
bool surg__lex_error(surg__tparse *t, const char *at, const char *fmt, ...) SURG_PRINTF(3, 4);
/* The next character after blanks and comments; 0 at the end. */
char surg__lex_skip(surg__tparse *t);
static inline char surg__lex_peek(surg__tparse *t) {
  return t->p < t->end && *t->p > ' ' && *t->p != '#' ? *t->p : surg__lex_skip(t);
}
bool surg__lex_match(surg__tparse *t, char c);
bool surg__lex_expect(surg__tparse *t, char c);
bool surg__lex_arrow(surg__tparse *t);
bool surg__lex_at_ident(surg__tparse *t);
bool surg__lex_peek_ident(surg__tparse *t, surg_str *s); /* does not consume it */
bool surg__lex_ident(surg__tparse *t, surg_str *s);
bool surg__lex_string(surg__tparse *t, surg_str *s); /* stored in t->s, valid until the next
                                                      * string */
bool surg__lex_quotable(surg__tparse *t, surg_str *s, const char *what);
bool surg__lex_at_hex(surg__tparse *t);
bool surg__lex_hex(surg__tparse *t, surg__buf *to); /* appends the bytes of `0x...` */
bool surg__lex_at_number(surg__tparse *t);
bool surg__lex_number(surg__tparse *t, surg__num *v);
bool surg__num_i64(surg__tparse *t, const surg__num *v, int64_t *out);
bool surg__num_u64(surg__tparse *t, const surg__num *v, uint64_t *out);
bool surg__num_float(surg__tparse *t, const surg__num *v, uint32_t *bits);
bool surg__num_double(surg__tparse *t, const surg__num *v, uint64_t *bits);
bool surg__lex_i64(surg__tparse *t, int64_t *out);

/* Builds the wire format: open writes a tag and reserves one byte for the length, close fills it
 * in. */
bool surg__emit_open(surg__tparse *t, uint32_t number, size_t *at); /* false: too deep */
void surg__emit_close(surg__tparse *t, size_t at);
size_t surg__emit_open_bytes(surg__tparse *t, uint32_t number); /* no message: skips the depth
                                                                 * check */
void surg__emit_close_bytes(surg__tparse *t, size_t at);
void surg__emit_varint(surg__tparse *t, uint64_t v);
void surg__emit_int(surg__tparse *t, uint32_t number, int64_t v);
void surg__emit_fixed32(surg__tparse *t, uint32_t v);
void surg__emit_fixed64(surg__tparse *t, uint64_t v);
void surg__emit_tag(surg__tparse *t, uint32_t number, uint32_t wire);
void surg__emit_str(surg__tparse *t, uint32_t number, surg_str s);

/* Parses an optional `@{...}` for the message that starts at offset `start` of the output. */
bool surg__parse_suffix(surg__tparse *t, const surg__desc *d, size_t start);
bool surg__parse_block(surg__tparse *t, const surg__desc *d, size_t start);
bool surg__parse_pairs(surg__tparse *t, uint32_t number); /* `["k": "v", ...]` */
bool surg__parse_type(surg__tparse *t);                   /* emits the content of a TypeProto */
/* Parses the data of a tensor, after its type, name and optional '='. Emits the content of a
 * TensorProto with the element type and dims of the last type. */
bool surg__parse_tensor_data(surg__tparse *t, size_t start);
bool surg__parse_tensor(surg__tparse *t); /* type [name] ['='] data */
bool surg__parse_tensor_tail(surg__tparse *t, size_t start); /* the part after the type */
bool surg__parse_graph(surg__tparse *t);
/* In a fragment: whether a number, a list or a tensor is next; and parses it as an input. */
bool surg__at_literal(surg__tparse *t);
bool surg__parse_literal(surg__tparse *t);
bool surg__parse_nodes_only(surg__tparse *t, uint32_t number); /* up to the end of the text */
bool surg__parse_graph_named(surg__tparse *t, surg_str name);

#endif
