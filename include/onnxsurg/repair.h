/* SPDX-License-Identifier: Apache-2.0 */
/* What can be done for a model that an engine rejects: repairs, the verdict after them, and where
 * to cut a model of which a part stays unsupported. Since 0.2. */
#ifndef ONNXSURG_REPAIR_H
#define ONNXSURG_REPAIR_H

#include <onnxsurg/command.h>
#include <onnxsurg/explain.h>
#include <onnxsurg/sizes.h>
#include <onnxsurg/target.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the caller consents to. All zero: rewrites up to SURG_ROUNDING, inputs and outputs
 * unchanged. */
typedef struct surg_repair_options {
  uint32_t size;          /* sizeof(surg_repair_options) */
  bool has_allow;         /* else SURG_ROUNDING */
  int32_t allow;          /* the worst class of rewrites; surg_exactness */
  bool allow_interface;   /* inputs and outputs may change their names, types and sizes */
  bool verify_each;       /* surg_model_verify after every pass */
  bool keep_host_nodes;   /* for a target with a host: do not look for fewer nodes on the host */
  const surg_size *sizes; /* of open dimensions, by symbol or "input.axis"; they are fixed first,
                           * and need no consent */
  size_t n_sizes;
  const char *then; /* a pipeline that runs after the repair with consent to SURG_APPROX, such as a
                     * conversion of precision. Its result is repaired in turn, and stays if the
                     * target has no more objections than before. NULL: none; needs a target */
} surg_repair_options;

/* What a search found. It belongs to the context of the model, and refers to the target: free it
 * before both. */
typedef struct surg_repair surg_repair;

/* The content of a surg_repair. Texts last as long as it. */
typedef struct surg_repair_result {
  uint32_t size;               /* set by the caller: sizeof(surg_repair_result) */
  int32_t verdict;             /* on the repaired model with its data; surg_verdict */
  size_t unsupported, unknown; /* objections to it, without those counted in `data` */
  size_t misread;              /* of them, or left with consent: imported, computed otherwise */
  size_t unsupported_before, unknown_before;
  const char *pipeline; /* what was done, as for surg_model_run; "": nothing */
  int32_t used;         /* the worst class of what was done; surg_exactness */
  bool used_interface;  /* inputs or outputs changed */
  bool mended;          /* the model was invalid, or nearly, and is no more */
  const char *refused;  /* pipelines that would help with consent; "": none */
  int32_t wanted;       /* the consent that they need; surg_exactness */
  bool wanted_interface;
  size_t nodes, on_host, on_host_before; /* of a supported model, for a target with a host */
  size_t data;          /* objections about elements of weights that are not available here */
  int32_t data_verdict; /* on the file until they are, as far as they matter; surg_verdict */
  bool then_done;       /* the result of `then` of the options stays */
} surg_repair_result;

/* Searches for the passes after which the target supports a model, which stays as it is: cures are
 * tried on copies, in the order of how little they change, and one stays if fewer objections are
 * left. Defects of a model that was loaded leniently are mended first; with `target` NULL that is
 * all. SURG_OK whatever was reached, see surg_repair_get. SURG_EINVALID, reported: the model is
 * invalid and cannot be mended within the consent. SURG_EUSAGE, reported: no input has a size of
 * that name, or the model cannot have it. SURG_EUNSUPPORTED, reported: `then` fails. SURG_ENOMEM,
 * SURG_ELIMIT. Diagnostics of what is tried
 * are not reported. Cost: some 10 to 200 runs of passes on copies. Free *out with
 * surg_repair_free. */
SURG_EXPORT surg_status surg_repair_find(const surg_model *model, const surg_target *target,
                                         const surg_repair_options *options, surg_repair **out);
/* Fills in what was found. SURG_EUSAGE for NULL. */
SURG_EXPORT surg_status surg_repair_get(const surg_repair *r, surg_repair_result *out);
/* The model as far as it could be repaired, borrowed; NULL after surg_repair_take. */
SURG_EXPORT surg_model *surg_repair_model(const surg_repair *r);
/* The same, to free with surg_model_free. */
SURG_EXPORT surg_model *surg_repair_take(surg_repair *r);
/* Frees what was found; NULL is allowed. */
SURG_EXPORT void surg_repair_free(surg_repair *r);

/* Change i of inputs and outputs: `input "x": float[N, 3] -> float[1, 3]`, escaped; NULL past the
 * end. After a search that needed consent to change them. Lasts as long as `r`. O(i) */
SURG_EXPORT const char *surg_repair_change(const surg_repair *r, size_t i);

/* What a repair with more consent would reach. */
typedef struct surg_repair_gain {
  uint32_t size; /* set by the caller: sizeof(surg_repair_gain) */
  int32_t allow; /* the consent; surg_exactness */
  bool allow_interface;
  int32_t verdict;    /* on the model after that repair; surg_verdict */
  size_t unsupported; /* objections to it */
} surg_repair_gain;

/* After a search that left something unsupported: searches again with each further consent, and
 * keeps those that leave fewer objections than every lesser one. `model` and `options` are those of
 * surg_repair_find. SURG_ELIMIT: not tried, as the first search was long; SURG_ENOMEM. Cost: up to
 * 5 times surg_repair_find. */
SURG_EXPORT surg_status surg_repair_weigh(surg_repair *r, const surg_model *model,
                                          const surg_repair_options *options);
/* Fills in gain i of surg_repair_weigh. SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_repair_gain_get(const surg_repair *r, size_t i, surg_repair_gain *out);

/* What can be reached for a model and a target. */
typedef enum surg_assessment {
  SURG_ASSESS_SUPPORTED = 0, /* as it is */
  SURG_ASSESS_UNKNOWN = 1,   /* as it is, nothing is unsupported, and something unknown */
  SURG_ASSESS_REPAIR = 2,    /* supported after a repair that needs no consent */
  SURG_ASSESS_CONSENT = 3,   /* supported after a repair that needs consent: `used` of the result */
  SURG_ASSESS_UNCERTAIN = 4, /* a repair leaves nothing unsupported, and something unknown */
  SURG_ASSESS_BLOCKED = 5    /* no repair is known */
} surg_assessment;

/* Searches twice: without consent, and where that is not enough with all of it. *found (may be
 * NULL) is what the last search found, to free with surg_repair_free. Otherwise as
 * surg_repair_find. */
SURG_EXPORT surg_status surg_repair_assess(const surg_model *model, const surg_target *target,
                                           surg_assessment *out, surg_repair **found);

/* What a search that asks an importer found. It belongs to the context of the importer. */
typedef struct surg_until surg_until;

/* How to search; pointers may be NULL. */
typedef struct surg_until_options {
  uint32_t size;                      /* sizeof(surg_until_options) */
  const surg_repair_options *consent; /* consent and sizes, as for surg_repair_find */
  const surg_target *target;          /* its objections are cured too */
  const surg_messages *messages;      /* that select what is tried; NULL: the built-in ones */
  const surg_load_options *load;
} surg_until_options;

/* The content of a surg_until. Texts last as long as it. */
typedef struct surg_until_result {
  uint32_t size;         /* set by the caller: sizeof(surg_until_result) */
  bool accepted;         /* the importer accepts the model after these changes */
  bool known;            /* its last message is known */
  const char *message;   /* the last one; "": none */
  const char *pipeline;  /* all changes; "": none */
  size_t changes, asked; /* for surg_until_change; models that the importer was asked about */
  size_t refused;        /* pipelines not tried for want of consent, for surg_until_refused */
  int32_t wanted;        /* the consent that they need; surg_exactness */
  bool wanted_interface;
} surg_until_result;

/* One change that stays, and the message that it answers. */
typedef struct surg_until_step {
  uint32_t size; /* set by the caller: sizeof(surg_until_step) */
  const char *pipeline, *message;
  int32_t used; /* surg_exactness */
  bool used_interface;
} surg_until_step;

/* Repairs the model of a file by asking an importer: its messages, then the objections of the
 * target, then what helps most often select what is tried. A change stays if the importer then
 * accepts the model or prints something new; at the end changes that are not needed are left out.
 * At most 400 questions. SURG_OK whatever was reached. SURG_EINVALID: the model is invalid and
 * cannot be mended within the consent. SURG_EUSAGE: the importer cannot be run, or a size is
 * unknown; SURG_EIO, SURG_ENOMEM, SURG_ELIMIT; reported. Free *out with surg_until_free. */
SURG_EXPORT surg_status surg_until_find(surg_importer *im, const char *path,
                                        const surg_until_options *options, surg_until **out);
/* Fills in what was found. SURG_EUSAGE for NULL. */
SURG_EXPORT surg_status surg_until_get(const surg_until *u, surg_until_result *out);
/* Fills in change i. SURG_ENOTFOUND: there is none. */
SURG_EXPORT surg_status surg_until_change(const surg_until *u, size_t i, surg_until_step *out);
/* Pipeline i of those that need more consent; NULL: there is none. Borrowed. */
SURG_EXPORT const char *surg_until_refused(const surg_until *u, size_t i);
/* The model as far as it was repaired, borrowed. */
SURG_EXPORT surg_model *surg_until_model(const surg_until *u);
/* Frees what was found; NULL is allowed. */
SURG_EXPORT void surg_until_free(surg_until *u);

/* A model in three parts, so that the part in the middle has no unsupported node, many nodes of the
 * main graph, and few values that enter or leave it. What no input of the model changes is in no
 * part: it is copied with what reads it. */
typedef struct surg_cut surg_cut;
typedef enum surg_cut_part {
  SURG_CUT_BEFORE = 0,
  SURG_CUT_CORE = 1, /* the supported part */
  SURG_CUT_BEHIND = 2
} surg_cut_part;

/* Cuts a model whose graphs are sorted. SURG_ENOTFOUND: no node is unsupported, or one in a
 * function is. The cut refers to model and target and is freed before them. Mostly O(model), a few
 * seconds at most to leave few values between the parts */
SURG_EXPORT surg_status surg_cut_find(const surg_target *target, surg_model *model, surg_cut **out);
/* As surg_cut_find, for a middle part that needs a repair by itself: nodes whose operator the
 * target supports in some form may be in it. SURG_ENOTFOUND also: no such part of more than `least`
 * nodes was found whose repair with all consent is supported. Cost: up to 4 times
 * surg_repair_find. */
SURG_EXPORT surg_status surg_cut_find_repaired(const surg_target *target, surg_model *model,
                                               size_t least, surg_cut **out);
/* The consent that the repair of the middle part needs; false: the cut is not of
 * surg_cut_find_repaired. Results may be NULL. */
SURG_EXPORT bool surg_cut_consent(const surg_cut *c, surg_exactness *allow,
                                  bool *with_interface);
/* Frees a cut; NULL is allowed. */
SURG_EXPORT void surg_cut_free(surg_cut *c);
/* Nodes of the main graph in a part. */
SURG_EXPORT size_t surg_cut_nodes(const surg_cut *c, surg_cut_part part);
/* Value i that enters a part (`outputs` false) or leaves it; NULL past the end, and for what enters
 * SURG_CUT_BEFORE: inputs of the model. */
SURG_EXPORT const surg_value *surg_cut_value(const surg_cut *c, surg_cut_part part, bool outputs,
                                             size_t i);
/* Whether nothing of the middle part is unsupported, once it is extracted and repaired with all
 * consent. What is tried is not reported. SURG_ENOMEM. Cost: as surg_repair_find. */
SURG_EXPORT surg_status surg_cut_supported(const surg_cut *c, bool *supported);
/* The pipeline that extracts a part, `extract{from=a,to=b}`: NUL-terminated, to free with
 * surg_context_free_bytes. SURG_ENOTFOUND: nothing leaves the part, or over 64 values enter or
 * leave it. */
SURG_EXPORT surg_status surg_cut_pipeline(const surg_cut *c, surg_cut_part part, char **text);

#ifdef __cplusplus
}
#endif
#endif
