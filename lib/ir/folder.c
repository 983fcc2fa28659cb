/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of nodes. */
#include "ir/folder.h"

#include <string.h>

const char *surg__node_path(const surg_node *n) {
  if (strchr(surg_node_name(n), '/')) return surg_node_name(n);
  for (size_t i = 0; i < surg_node_output_count(n); i++) {
    const surg_value *v = surg_node_output(n, i);
    if (v && strchr(surg_value_name(v), '/')) return surg_value_name(v);
  }
  return "";
}
