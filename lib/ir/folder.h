/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of nodes: the part of their names before the last '/', as exporters write modules. */
#ifndef SURG_IR_FOLDER_H
#define SURG_IR_FOLDER_H

#include <onnxsurg/onnxsurg.h>

/* The text whose folders state where a node belongs: its name, otherwise the name of an output; ""
 * if neither has a folder. */
const char *surg__node_path(const surg_node *n);

#endif
