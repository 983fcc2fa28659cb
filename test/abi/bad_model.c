/* SPDX-License-Identifier: Apache-2.0 */
/* Bad plugins: their pass makes the model invalid, or crashes. -DFAULT=NAME selects how. */
#include <onnxsurg/plugin.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARITY 1
#define ATTRIBUTE 2
#define REQUIRED 3
#define IMPORT 4
#define INPUT_TYPE 5
#define OUTPUT_TYPE 6
#define OPERATOR 7
#define UNTYPED 8
#define SEGFAULT 9
#define ABORT 10
#define EXIT 11
#define RECURSION 12
#define SELF 13
#define FUNCTION_IMPORT 14
/* With --isolate-plugins alone: */
#define LOOP 15
#define SMASH 16
#define QUIT 17
#define KILL 18
#define GARBAGE 19
#define HOLD 20

static int deep(volatile int *n) {
  volatile char room[4096];
  room[0] = (char)++*n;
  return *n ? deep(n) + room[0] : 0;
}

/* Writes to every file that this process may have open. */
static void scribble(void) {
  static const char text[] = "\x7f\x7f\x7f\x7f garbage garbage garbage garbage";
  for (int fd = 3; fd < 64; fd++)
    if (write(fd, text, sizeof text) < 0) continue;
}

static surg_status spoil(surg_graph *g) {
  surg_model *m = surg_graph_model(g);
  surg_node *n = surg_graph_first_node(g);
  volatile int depth = 0, *volatile nowhere = NULL;
  switch (FAULT) {
    case ARITY:
      return surg_node_set_input(n, 1, surg_graph_input(g, 0));
    case ATTRIBUTE:
      return surg_node_set_int(n, "no_such", 1);
    case REQUIRED:
      return surg_node_set_op(n, "", "Cast");
    case IMPORT:
      return surg_node_set_op(n, "com.nowhere", "Abs");
    case INPUT_TYPE:
      return surg_value_set_declared_type(surg_graph_input(g, 0),
                                          surg_type_tensor_unranked(m, SURG_INT32));
    case OUTPUT_TYPE: {
      surg_value *y = surg_graph_output(g, 0);
      const surg_type *t = surg_type_tensor_unranked(m, SURG_INT64);
      const surg_status s = surg_graph_remove_output(g, 0);
      return s ? s : surg_graph_add_output(g, y, t);
    }
    case OPERATOR:
      return surg_node_set_op(n, "", "NoSuchOperator");
    case UNTYPED: {
      surg_value *y = surg_graph_output(g, 0);
      const surg_status s = surg_graph_remove_output(g, 0);
      return s ? s : surg_graph_add_output(g, y, NULL);
    }
    case SEGFAULT:
      *nowhere = 1;
      return SURG_OK;
    case ABORT:
      abort();
    case EXIT:
      exit(0);
    case RECURSION:
      return (surg_status)deep(&depth);
    case LOOP:
      while (!depth) {
      }
      return SURG_OK;
    case SMASH:
      memset((void *)g, 0x5a, 256);
      return SURG_OK;
    case QUIT:
      _exit(0);
    case KILL:
      return (surg_status)raise(SIGKILL);
    case GARBAGE:
      scribble();
      return SURG_OK;
    case HOLD: /* a process that keeps all files open */
      if (fork() == 0) {
        for (int fd = 0; fd < 3; fd++) close(fd);
        sleep(20);
        _exit(0);
      }
      abort();
    case SELF:
      return surg_node_set_input(n, 0, surg_node_output(n, 0));
    default: {
      surg_function *f = surg_model_add_function(m, "own", "F", NULL);
      surg_node *inner = surg_graph_add_node(surg_function_graph(f), NULL, NULL, "Abs", 1);
      surg_value *x = surg_graph_add_input(surg_function_graph(f), "x", NULL);
      const surg_status s = surg_node_set_input(inner, 0, x);
      return s ? s
               : surg_graph_add_output(surg_function_graph(f), surg_node_output(inner, 0), NULL);
    }
  }
}

static surg_pass_result run(surg_pass_ctx *p, surg_graph *g) {
  (void)p;
  return spoil(g) ? SURG_PASS_FAILED : SURG_PASS_CHANGED;
}
static const surg_pass pass = {.size = sizeof pass,
                               .scope = SURG_SCOPE_GRAPH,
                               .name = "bad",
                               .help = "misbehaves",
                               .run = run};
static surg_status init(surg_registry *registry) {
  return surg_registry_add_pass(registry, &pass);
}
SURG_PLUGIN_ENTRY("bad", "1", init)
