/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a fact, as tables. */
#include "target/fact_keys.h"

#include <stddef.h>

#include "target/names.h"

#define AT(field) offsetof(surg__tfact, field)
#define SPANS(key, kinds, field, before) \
  { key, kinds, AT(field), AT(n_##field), before }
#define PLACE (SURG__N_INPUT | SURG__N_OUTPUT)

const surg__flag_key surg__flag_keys[] = {
    {"refused", AT(refused), NULL},
    {"misread", AT(misread), NULL},
    {"static", AT(fixed), NULL}, /* may also be "batch" */
    {"same", AT(same), NULL},    /* may also be "batch" */
    {"fed", AT(fed), "not of constants alone"},
    {"live", AT(live), "of constants alone only if read with others"},
    {"whole", AT(whole), "no absent inputs"},
    {"folds", AT(folds), "what is computed from constants counts as constant"},
    {"distinct", AT(distinct), "outputs of the branches with names of their own"},
    {"still", AT(still), "carried values of one shape, scan outputs of fixed size"},
    {"paired_labels", AT(paired_labels), "summed labels in two operands"},
    {"plain_equation", AT(plain_equation), "no ellipsis, no label twice in one operand"},
    {"inner", AT(inner), "fixed sizes of the axes summed over"},
    {"agree", AT(agree), "sizes that the importer knows of the last operand, too"},
    {"settled", AT(settled), "fixed sizes, unless only batch sizes of inputs are open"},
    {"columns", AT(columns), "no sum of vectors with a constant before nodes that use its shape"},
    {"no_lone_input", AT(no_lone_input), "no input that it alone reads beside constants"},
    {"lone_vectors", AT(lone_vectors), "computed vectors beside such alone"},
    {"vectors_alike", AT(vectors_alike), "vectors that the importer has with the same axes"},
    {"tiled_first", AT(tiled_first), "axes that are repeated before those that are not"},
    {"pads_within", AT(pads_within), "no pad larger than its axis"},
    {"lone_chain", AT(lone_chain), "no inner result of a chain made one layer is read elsewhere"},
    {"even", AT(even), "outputs of one shape"},
    {"even_pads", AT(even_pads), "equal pads on both sides, where auto_pad makes them"},
    {"when_known", AT(when_known), "ranks and sizes, where known"},
    {"axis_last", AT(axis_last), "the last axis"},
    {"axis_inside", AT(axis_inside), "axis below the rank"},
    {"whole_target", AT(whole_target), "no -1 of constants, unless only batch sizes are open"},
    {"keeps_open", AT(keeps_open), "sizes that it pools stay open, after an open input"},
    {"batch_of_one", AT(batch_of_one), "a shape that fits a batch of 1, where that is open"},
};
const size_t surg__flag_key_count = SURG_COUNT(surg__flag_keys);

const surg__list_key surg__list_keys[] = {
    {"const", SURG__N_INPUT, AT(constants), "", " constant", "all inputs"},
    {"absent", PLACE, AT(absent), "no ", "", NULL},
    {"given", PLACE, AT(given), "", " given", NULL},
    {"together", SURG__N_INPUT, AT(together), "", " given if another of these is", NULL},
    {"shaped", SURG__N_INPUT, AT(shaped), "", " of the shape of the result", NULL},
    {"beside_axis", SURG__N_INPUT, AT(beside_axis), "",
     " of the shape of the result, except along axis", NULL},
    {"within", SURG__N_INPUT, AT(within), "", " no larger than the result along any axis", NULL},
    {"square", SURG__N_INPUT, AT(square), "", " a square matrix", NULL},
    {"normalized", SURG__N_INPUT, AT(normalized), "", " of the normalized elements", NULL},
    {"row", SURG__N_INPUT, AT(row), "consecutive integers in ", "", NULL},
    {"stored", SURG__N_INPUT, AT(stored), "", " not a vector computed from constants", NULL},
    {"ranked", SURG__N_INPUT, AT(ranked), "", " not computed from constants", NULL},
    {"picked", SURG__N_INPUT, AT(picked), "", " not an element of a Shape", NULL},
    {"layers", SURG__N_INPUT, AT(layers), "a constant in ", " is in no other place of that kind",
     "any input"},
    {"unshared", SURG__N_INPUT, AT(unshared), "a constant in ", " is in no element-wise node",
     NULL},
    {"nodes", SURG__N_INPUT, AT(nodes), "", " a Constant node", NULL},
    {"initializers", SURG__N_INPUT, AT(initializers), "", " not a Constant node", NULL},
    {"not_before", SURG__N_OPERATOR, AT(not_before), "not read by one ", " alone", NULL},
    {"only_before", SURG__N_OPERATOR, AT(only_before), "read by ", " alone", NULL},
    {"not_after", SURG__N_OPERATOR, AT(not_after), "does not read the result of ", "", NULL},
    {"producers", 0, AT(producers), "model of producer ", "", NULL},
    {"not_producers", 0, AT(not_producers), "model not of producer ", "", NULL},
    {"no_attrs", SURG__N_ATTR, AT(no_attrs), "no ", "", NULL},
    {"written", SURG__N_ATTR, AT(written), "", " written", NULL},
    {"unwritten", SURG__N_ATTR, AT(unwritten), "", " left out", NULL},
    {"iota", SURG__N_ATTR, AT(iota), "", " 0, 1, 2, ...", NULL},
    {"halves", SURG__N_ATTR, AT(halves), "equal halves of ", "", NULL},
    {"odd", SURG__N_ATTR, AT(odd), "odd ", "", NULL},
    {"samples", 0, AT(samples), "the elements that ", " reads", NULL},
};
const size_t surg__list_key_count = SURG_COUNT(surg__list_keys);

const surg__spans_key surg__spans_keys[] = {
    SPANS("rank", PLACE, ranks, "rank of "),
    SPANS("size", PLACE, sizes, "number of elements of "),
    SPANS("values", SURG__N_INPUT, values, "elements of constant "),
    SPANS("known", SURG__N_INPUT, known, "elements, where constant, of "),
    SPANS("each", SURG__N_ATTR, each, "elements of "),
    SPANS("counts", SURG__N_ATTR, counts, "number of elements of "),
    SPANS("axes", 0, axes, "axes "),
};
const size_t surg__spans_key_count = SURG_COUNT(surg__spans_keys);
