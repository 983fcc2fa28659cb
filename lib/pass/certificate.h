/* SPDX-License-Identifier: Apache-2.0 */
/* --certificate: what a run did, as lines of JSON that tools/certify checks without this library
 * (doc/certificates.md). The edits of the model are collected from its events; a line states, for
 * each node that changed, what it is afterwards.
 *
 * Nodes, values and graphs of the original have the names `0.7` (node 7 of graph 0), `0/x` (value x
 * of graph 0) and `0`; graphs are numbered main, functions, then subgraphs breadth first. What is
 * created is `n1`, `v1` and `g1`. */
#ifndef SURG_CERTIFICATE_H
#define SURG_CERTIFICATE_H

#include "base/json.h"
#include "pass/pass.h"

typedef struct surg__certificate surg__certificate;

/* Starts a certificate of a model that was loaded from a file. *out is NULL if `path` is. */
surg_status surg__certificate_open(surg_model *m, const char *path, surg__certificate **out);
/* A pass begins; what was edited before is a step of the pass before. Accepts NULL. */
void surg__certificate_pass(surg__certificate *c, const char *pass);
/* Writes what was edited since the last step as one step. `label` (released here; may be NULL)
 * contains the members that name the rewrite. */
void surg__certificate_step(surg__certificate *c, json_t *label);
/* Discards all steps: the model is a clone of the original again. False: out of memory. */
bool surg__certificate_restart(surg__certificate *c, surg_model *m);
/* Writes the order of nodes of the result, if `ok`, and closes the file. */
surg_status surg__certificate_close(surg__certificate *c, bool ok);

/* The certificate of the run of a pass, or NULL. */
surg__certificate *surg__certificate_of(const surg_pass_ctx *p);
/* Names of objects, and nodes and constants as JSON. */
json_t *surg__certificate_node(surg__certificate *c, surg_node *n);
json_t *surg__certificate_value(surg__certificate *c, const surg_value *v);
json_t *surg__certificate_content(surg__certificate *c, surg_node *n);
json_t *surg__certificate_tensor(surg__certificate *c, const surg_tensor *t);
/* Returns the SHA-256 of the compact JSON text with sorted keys. */
json_t *surg__certificate_digest(const json_t *j);

#endif
