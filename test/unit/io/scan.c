/* SPDX-License-Identifier: Apache-2.0 */
/* The scan of a whole file: what it refuses, where it says the fault is, and its limits. */
#include <stdio.h>

#include "io/wire.h"
#include "model_build.h"
#include "../unit.h"

static surg_context *ctx;

static void setup(void) {
  ctx = surg_context_new(NULL);
}

static void teardown(void) {
  surg_context_free(ctx);
}

/* Scans and frees; the message of the error is in the context. */
static surg_status scan_to(wire w, uint32_t depth) {
  surg__source *s = NULL;
  surg_context_clear_error(ctx);
  ck_assert_int_eq(surg__source_memory(ctx, w.p, w.n, "m", &s), SURG_OK);
  surg_status status = surg__scan_model(s, depth, NULL);
  surg__source_unref(s);
  free(w.p);
  ck_assert((status == SURG_OK) == (surg_context_error(ctx) == NULL));
  return status;
}

static surg_status scan(wire w) {
  return scan_to(w, SURG_LIMIT_DEPTH);
}

static void ck_error_has(const char *text) {
  const char *line = surg_context_error(ctx);
  ck_assert_ptr_nonnull(line);
  ck_assert_msg(strstr(line, text) != NULL, "no \"%s\" in: %s", text, line);
}

static wire in_graph(wire node) {
  wire g = {0};
  wire_message(&g, 1, node);
  return mb_model(g);
}

START_TEST(places_are_named) {
  wire node = mb_node("Relu", "x", "y");
  wire_str(&node, 3, "first");
  wire_int(&node, 7, 3); /* domain as a number */
  ck_assert_int_eq(scan(in_graph(node)), SURG_EINVALID);
  ck_error_has("(graph.node[0] \"first\" (Relu).domain): a field with the wrong wire type");

  wire inner = {0};
  wire_message(&inner, 1, mb_node("Neg", "x", "n"));
  wire_message(&inner, 1, mb_node("Abs", "a\xff", "n"));
  node = mb_node("If", "c", "y");
  mb_attr_int(&node, "k", 1);
  mb_attr_graph(&node, "then_branch", inner);
  ck_assert_int_eq(scan(in_graph(node)), SURG_EINVALID);
  ck_error_has("graph.node[0] (If).then_branch.node[1] (Abs).input[0] \"a\\xff\"");
}
END_TEST

START_TEST(text_is_checked_and_bytes_are_free) {
  wire node = mb_node("Relu", "x", "y");
  wire_bytes(&node, 3, "a\0b", 3);
  ck_assert_int_eq(scan(in_graph(node)), SURG_EINVALID);
  wire attr = {0};
  wire_str(&attr, 1, "s");
  wire_bytes(&attr, 4, "\0\xff", 2);
  node = mb_node("Relu", "x", "y");
  wire_message(&node, 5, attr);
  ck_assert_int_eq(scan(in_graph(node)), SURG_OK);
}
END_TEST

START_TEST(singular_messages_stand_once) {
  wire g = {0}, m;
  m = mb_model(g);
  wire_message(&m, 7, g);
  ck_assert_int_eq(scan(m), SURG_EINVALID);
  ck_error_has("(graph): this message is repeated here");
  m = mb_model(g);
  wire_int(&m, 1, 9); /* a number may be given twice, the last one counts */
  ck_assert_int_eq(scan(m), SURG_OK);
}
END_TEST

START_TEST(lists_are_packed_or_not) {
  for (int bad = 0; bad < 2; bad++) {
    wire t = {0};
    wire_bytes(&t, 1, "\x02\x03\x80", bad ? 3 : 2); /* dims, packed; cut within a number */
    wire_bytes(&t, 4, "12345678", 8);               /* float_data */
    wire_int(&t, 5, 1);                             /* int32_data, not packed */
    wire g = {0};
    wire_message(&g, 5, t);
    ck_assert_int_eq(scan(mb_model(g)), bad ? SURG_EINVALID : SURG_OK);
  }
  wire t = {0}, g = {0};
  wire_bytes(&t, 10, "1234567", 7); /* double_data */
  wire_message(&g, 5, t);
  ck_assert_int_eq(scan(mb_model(g)), SURG_EINVALID);
}
END_TEST

START_TEST(unknown_fields_are_let_through) {
  wire node = mb_node("Relu", "x", "y");
  wire_bytes(&node, 1000, "\xff\xff", 2);
  wire_int(&node, 536870911, 1);
  ck_assert_int_eq(scan(in_graph(node)), SURG_OK);
}
END_TEST

/* Graphs in graphs, `n` of them below the main one. */
static wire nested(unsigned n) {
  wire g = {0};
  for (unsigned i = 0; i < n; i++) {
    wire node = mb_node("If", "c", "y"), outer = {0};
    mb_attr_graph(&node, "then_branch", g);
    wire_message(&outer, 1, node);
    g = outer;
  }
  return mb_model(g);
}

START_TEST(depth_is_bounded) {
  ck_assert_int_eq(scan(nested(36)), SURG_OK);
  ck_assert_int_eq(scan(nested(37)), SURG_ELIMIT);
  ck_error_has("110 levels");
  ck_assert_int_eq(scan_to(nested(2), 7), SURG_OK); /* model, graph, 2 x (node, attribute, graph) */
  ck_assert_int_eq(scan_to(nested(2), 6), SURG_ELIMIT);
  ck_assert_int_eq(scan_to(nested(1400), UINT32_MAX), SURG_ELIMIT); /* a bound of its own */
}
END_TEST

START_TEST(memory_is_estimated) {
  size_t n = 4u << 20;
  wire g = {malloc(2 * n), 2 * n};
  for (size_t i = 0; i < n; i++) memcpy(g.p + 2 * i, "\x0a\x00", 2); /* empty nodes */
  ck_assert_int_eq(scan(mb_model(g)), SURG_ELIMIT);
  ck_error_has("MiB");
}
END_TEST

/* Scans a file with oddities and returns its plain copy. */
static surg__source *plain_of(const void *bytes, size_t n, size_t oddities) {
  surg__source *s = NULL, *copy = NULL;
  surg__oddities odd = {0};
  ck_assert_int_eq(surg__source_memory(ctx, bytes, n, "m", &s), SURG_OK);
  ck_assert_int_eq(surg__scan_model(s, SURG_LIMIT_DEPTH, &odd), SURG_OK);
  ck_assert_uint_eq(odd.all, oddities);
  ck_assert_int_eq(surg__source_plain(s, &copy), SURG_OK);
  ck_assert_int_eq(surg__scan_model(copy, SURG_LIMIT_DEPTH, NULL), SURG_OK);
  surg__vec_free(ctx, &odd.list);
  surg__source_unref(s);
  return copy;
}

static void ck_plain(const void *bytes, size_t n, size_t oddities, const void *want, size_t m) {
  surg__source *s = plain_of(bytes, n, oddities);
  ck_assert_uint_eq(s->size, m);
  ck_assert_mem_eq(s->base, want, m);
  surg__source_unref(s);
}
#define CK_PLAIN(bytes, oddities, want) \
  ck_plain("" bytes, sizeof bytes - 1, oddities, "" want, sizeof want - 1)

START_TEST(parts_are_merged_in_their_order) {
  CK_PLAIN("\x3a\x04\x0a\x02\x22\x00\x08\x01\x3a\x02\x52\x00", 1,
           "\x3a\x06\x0a\x02\x22\x00\x52\x00\x08\x01");
  /* In both parts an input with its type in two parts. */
  CK_PLAIN("\x3a\x08\x5a\x06\x12\x02\x32\x00\x12\x00\x3a\x02\x5a\x00", 2,
           "\x3a\x08\x5a\x04\x12\x02\x32\x00\x5a\x00");
}
END_TEST

START_TEST(groups_and_wrong_types_are_left_out) {
  CK_PLAIN("\x08\x01\x9b\x06\x0a\x01\x00\x13\x08\x05\x14\x9c\x06\x28\x02", 1, "\x08\x01\x28\x02");
  CK_PLAIN("\x08\x01\x0d\x01\x02\x03\x04\x38\x07", 2, "\x08\x01");
}
END_TEST

START_TEST(escaped_texts_differ) {
  CK_PLAIN("\x12\x02\x00\x61", 1, "\x12\x06\xef\xbf\xbd\x30\x30\x61");
  CK_PLAIN("\x12\x04\xef\xbf\xbd\xff", 1,
           "\x12\x14\xef\xbf\xbd\x65\x66\xef\xbf\xbd\x62\x66\xef\xbf\xbd\x62\x64\xef\xbf\xbd\x66\x66");
}
END_TEST

START_TEST(damage_is_no_oddity) {
  const char *bad[] = {"\x9b\x06", "\x9b\x06\x0c", "\x0c", "\x0e\x01", "\x9b\x06\x12\x09\x9c\x06"};
  for (size_t i = 0; i < SURG_COUNT(bad); i++) {
    surg__source *s = NULL;
    surg__oddities odd = {0};
    ck_assert_int_eq(surg__source_memory(ctx, bad[i], strlen(bad[i]), "m", &s), SURG_OK);
    ck_assert_int_eq(surg__scan_model(s, SURG_LIMIT_DEPTH, &odd), SURG_EINVALID);
    surg__vec_free(ctx, &odd.list);
    surg__source_unref(s);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("scan");
  TCase *t = tcase_create("scan");
  tcase_set_timeout(t, 60);
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, places_are_named);
  tcase_add_test(t, text_is_checked_and_bytes_are_free);
  tcase_add_test(t, singular_messages_stand_once);
  tcase_add_test(t, lists_are_packed_or_not);
  tcase_add_test(t, unknown_fields_are_let_through);
  tcase_add_test(t, depth_is_bounded);
  tcase_add_test(t, memory_is_estimated);
  tcase_add_test(t, parts_are_merged_in_their_order);
  tcase_add_test(t, groups_and_wrong_types_are_left_out);
  tcase_add_test(t, escaped_texts_differ);
  tcase_add_test(t, damage_is_no_oddity);
  suite_add_tcase(s, t);
  return unit_run(s);
}
