/* SPDX-License-Identifier: Apache-2.0 */
/* `onnxsurg run --repeat`: measures whole runs, and each node of the main graph. The time of a
 * node includes its subgraphs. */
#include <onnxsurg/names.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"

#include "run_job.h"

static int by_time(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

/* The given quantile (in tenths) of sorted times, in milliseconds. */
static double part(const series *s, unsigned tenths) {
  size_t i = (s->n * tenths + 9) / 10;
  return s->n ? (double)s->ns[i ? i - 1 : 0] / 1e6 : 0;
}

/* --- measuring --- */

/* Adds a time to the series of a node. Nodes run in graph order, which is that of the series. */
static void measured(void *user, const surg_node *n, uint64_t ns) {
  run_job *j = user;
  while (j->turn < j->n_nodes && j->nodes[j->turn].node != n) j->turn++;
  if (j->turn == j->n_nodes) return;
  series *s = &j->nodes[j->turn];
  if (s->n < j->repeat) s->ns[s->n++] = ns;
}

static bool make_series(run_job *j) {
  j->total.ns = calloc(j->repeat, sizeof *j->total.ns);
  if (!j->total.ns) return false;
  if (!j->per_node) return true;
  j->nodes = calloc(surg_graph_node_count(j->g) + 1, sizeof *j->nodes);
  if (!j->nodes) return false;
  for (surg_node *n = surg_graph_first_node(j->g); n; n = surg_node_next(n)) {
    series *s = &j->nodes[j->n_nodes++];
    *s = (series){.node = n, .ns = calloc(j->repeat, sizeof *s->ns)};
    if (!s->ns) return false;
  }
  return true;
}

static int one_run(run_job *j, uint64_t *ns) {
  surg_array **out = calloc(j->n_out + 1, sizeof *out);
  if (!out) return cli_no_memory();
  j->turn = 0;
  const uint64_t start = surg__os_now_ns();
  const surg_status s = surg_session_run(j->session, j->inputs, out, j->n_out);
  *ns = surg__os_now_ns() - start;
  for (size_t i = 0; i < j->n_out; i++) surg_array_free(out[i]);
  free(out);
  return s == SURG_OK ? EXIT_DONE : cli_run_failed(j->m, j->session, s, NULL);
}

int run_time(run_job *j) {
  uint64_t ns = 0;
  int code = make_series(j) ? EXIT_DONE : cli_no_memory();
  for (uint64_t k = 0; k < j->warmup && code == EXIT_DONE; k++) code = one_run(j, &ns);
  if (j->per_node && code == EXIT_DONE) surg_session_watch(j->session, measured, j);
  for (uint64_t k = 0; k < j->repeat && code == EXIT_DONE; k++) {
    code = one_run(j, &ns);
    j->total.ns[j->total.n++] = ns;
  }
  surg_session_watch(j->session, NULL, NULL);
  return code;
}

/* --- output --- */

static int by_median(const void *a, const void *b) {
  const double x = part(a, 5), y = part(b, 5);
  return x > y ? -1 : x < y;
}

static json_t *series_json(const series *s) {
  json_t *o = json_object();
  if (s->node) json_object_set_new(o, "node", cli_text_json(surg_node_where(s->node)));
  json_object_set_new(o, "runs", json_integer((json_int_t)s->n));
  json_object_set_new(o, "median_ms", json_real(part(s, 5)));
  json_object_set_new(o, "p90_ms", json_real(part(s, 9)));
  return o;
}

void run_print_times(run_job *j) {
  qsort(j->total.ns, j->total.n, sizeof *j->total.ns, by_time);
  for (size_t i = 0; i < j->n_nodes; i++)
    qsort(j->nodes[i].ns, j->nodes[i].n, sizeof *j->nodes[i].ns, by_time);
  if (j->n_nodes) qsort(j->nodes, j->n_nodes, sizeof *j->nodes, by_median);
  if (j->json) {
    json_t *list = json_array();
    json_object_set_new(j->json, "time", series_json(&j->total));
    for (size_t i = 0; i < j->n_nodes; i++) json_array_append_new(list, series_json(&j->nodes[i]));
    if (j->per_node)
      json_object_set_new(j->json, "nodes", list);
    else
      json_decref(list);
    return;
  }
  printf("%zu runs by %s: median %.3f ms, p90 %.3f ms\n", j->total.n, surg_engine_name(j->engine),
         part(&j->total, 5), part(&j->total, 9));
  if (j->n_nodes) printf("%12s %12s  node\n", "median ms", "p90 ms");
  for (size_t i = 0; i < j->n_nodes; i++)
    printf("%12.3f %12.3f  %s\n", part(&j->nodes[i], 5), part(&j->nodes[i], 9),
           surg_node_where(j->nodes[i].node));
}

void run_free_times(run_job *j) {
  for (size_t i = 0; i < j->n_nodes; i++) free(j->nodes[i].ns);
  free(j->nodes);
  free(j->total.ns);
}
