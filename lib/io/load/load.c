/* SPDX-License-Identifier: Apache-2.0 */
/* surg_model_load and surg_model_load_memory: from bytes to a model, or to a located error. */
#include "io/load/load.h"

#include <onnxsurg/info.h>

static surg_load_options read_options(const surg_load_options *given) {
  surg_load_options o = {.size = sizeof o};
  if (given) memcpy(&o, given, given->size < sizeof o ? given->size : sizeof o);
  o.size = sizeof o;
  return o;
}

/* Creates a model that borrows the source; copies the text options that must outlive the call. */
static bool new_model(surg__loader *L, const surg_load_options *options, surg__absent absent) {
  surg_model *m = surg__model_alloc(L->ctx);
  L->m = m;
  if (!m) return surg__load_stop(L, surg__alloc_status(L->ctx));
  m->source = surg__source_ref(L->src);
  m->options = *options;
  m->absent = absent;
  m->freeze_inputs = options->freeze_inputs;
  if (!options->external_root) return true;
  m->options.external_root =
      surg__arena_strn(&m->arena, options->external_root, strlen(options->external_root));
  return m->options.external_root || surg__load_oom(L);
}

/* Makes nodes with a finding opaque, as if their operator were unknown: statements about an
 * invalid model must not depend on them. */
static void make_opaque(surg_model *m) {
  for (surg_graph *g = m->graph; g; g = g->next)
    for (surg_node *n = g->first; n; n = n->next) {
      if (!n->faulty) continue;
      n->opaque = true;
      n->resolved = false;
    }
}

/* Marks calls inside functions as faulty. Used when they are too deep or too many, so that no walk
 * follows all of them. */
static void cut_calls(surg_model *m) {
  for (surg_graph *g = m->graph; g; g = g->next)
    for (surg_node *n = g->first; n; n = n->next)
      if (surg_graph_function(g) && surg_node_function(n)) n->faulty = true;
}

/* Finishes a lenient load. The model counts as unedited, so saving reproduces the file until the
 * first edit. */
static void settle(surg_model *m, bool endless) {
  m->lenient = true;
  if (endless) cut_calls(m);
  make_opaque(m);
  m->read_epoch = m->epoch;
  m->judged_gen = 1;
}

/* Requests of a caller besides the options. */
typedef struct load_wish {
  surg__absent absent;
  bool *partial; /* or NULL */
  surg__source *file;       /* the file, if what is loaded is a plain copy of it; or NULL */
  const surg__oddities *odd; /* what the copy lacks */
} load_wish;

/* Reports what the file has and its plain copy lacks. Only the name of an input or output cannot
 * be replaced without the consent of its users. */
static bool report_odd(surg__loader *L, const load_wish *wish) {
  surg__source *copy = L->src;
  bool ok = true;
  if (!wish->file) return true;
  L->src = wish->file;
  for (size_t i = 0; ok && i < wish->odd->list.count; i++) {
    const surg__oddity *o = &wish->odd->list.items[i];
    /* A check goes on: the copy has everything that other findings are about. */
    ok = L->lenient ? surg__load_bad(L, o->off, o->code, "%s", o->text)
                    : surg__load_unclean(L, o->off, o->code, "%s", o->text);
    const char *at = ok && L->lenient ? surg__load_path(L, o->off) : NULL;
    if (at) at = surg__arena_strn(&L->m->arena, at, strlen(at));
    surg__load_about(L, &(surg__defect){
        .where = at, .reading = o->interface ? SURG_READING_NONE : SURG_READING_CERTAIN});
  }
  if (ok && wish->odd->all > wish->odd->list.count)
    surg__note(L->ctx, L->src->name, "%llu more fields are not written as ONNX defines them",
               (unsigned long long)(wish->odd->all - wish->odd->list.count));
  L->src = copy;
  return ok;
}

/* Loads a model from a source. With `partial`, a model is returned under CHECK too, with
 * everything that could be read; *partial: some part could not. */
static surg_status build(surg__source *src, const surg_load_options *options, load_wish wish,
                         surg_model **out) {
  bool *partial = wish.partial;
  surg__loader L = {.ctx = src->ctx, .src = src, .policy = options->policy};
  L.lenient = options->policy == SURG_LOAD_LENIENT;
  L.all = L.lenient || options->policy == SURG_LOAD_CHECK;
  L.most = options->max_findings ? options->max_findings : SURG_LIMIT_FINDINGS;
  surg__arena_init(&L.scratch, L.ctx);
  const surg__absent absent = !L.lenient || wish.absent ? wish.absent
                              : options->inspect        ? SURG__ABSENT_WARNING
                                                        : SURG__ABSENT_MISSING;
  bool ok = new_model(&L, options, absent) && report_odd(&L, &wish) && surg__load_model(&L) &&
            surg__load_name_twins(&L) && surg__load_check(&L);
  surg__load_free_twins(&L);
  surg__arena_free(&L.scratch);
  surg__vec_free(L.ctx, &L.missing);
  surg__vec_free(L.ctx, &L.inits);
  surg_status status = L.status;
  if (ok && L.m->status != SURG_OK) status = L.m->status;
  const bool whole = ok && status == SURG_OK && !L.endless;
  if (status == SURG_OK && !L.lenient) status = L.worst;
  if (partial ? !whole : status != SURG_OK || options->policy == SURG_LOAD_CHECK) {
    surg_model_free(L.m);
    return status;
  }
  if (L.lenient) settle(L.m, L.endless);
  if (partial) make_opaque(L.m);
  if (partial) *partial = L.broken;
  *out = L.m;
  return status;
}

static bool looks_like_text(surg__source *s) {
  const uint64_t n = s->size < 4096 ? s->size : 4096;
  return surg__source_need(s, 0, n) == SURG_OK && surg__begins_text(s->base, n);
}

static bool has_suffix(const char *s, const char *suffix) {
  size_t n = strlen(s), k = strlen(suffix);
  return n >= k && strcmp(s + n - k, suffix) == 0;
}

/* Becomes the source `bytes` of a model, whose external data is where that of *src is. */
static void become(surg__source **src, surg__source *bytes) {
  surg__source *s = *src;
  bytes->path = s->path;
  bytes->dir = s->dir;
  bytes->elsewhere = true;
  s->path = s->dir = NULL;
  *src = bytes;
}

/* Replaces a source of ONNX text by a source of the equivalent wire bytes. */
static surg_status translate(surg__source **src) {
  surg__source *s = *src, *bytes = NULL;
  surg__buf wire;
  surg__buf_init(&wire, s->ctx);
  surg_status status = surg__source_need(s, 0, s->size);
  if (status == SURG_OK)
    status = surg__text_parse(s->ctx, (const char *)s->base, (size_t)s->size, s->name, &wire);
  if (status == SURG_OK && wire.failed) status = surg__oom(s->ctx, s->name);
  if (status == SURG_OK) status = surg__source_memory(s->ctx, wire.p, wire.n, s->name, &bytes);
  surg__buf_free(&wire);
  if (status != SURG_OK) return status;
  become(src, bytes);
  surg__source_unref(s);
  return SURG_OK;
}

/* Checks a whole file. Where findings do not end loading, *src is replaced by a plain copy of a
 * file that needs it, and *file is the file. */
static surg_status scan(surg__source **src, surg_load_policy policy, surg__oddities *odd,
                        surg__source **file) {
  surg__source *s = *src, *copy = NULL;
  const bool all = policy == SURG_LOAD_CHECK || policy == SURG_LOAD_LENIENT;
  const bool may = all && s->size <= SURG_LIMIT_RESIDENT;
  surg_status status = surg__scan_model(s, s->ctx->max_depth, may ? odd : NULL);
  if (status != SURG_OK || !odd->all) return status;
  status = surg__source_plain(s, &copy);
  if (status == SURG_OK) status = surg__scan_model(copy, s->ctx->max_depth, NULL);
  if (status != SURG_OK) {
    surg__source_unref(copy);
    return status;
  }
  become(src, copy);
  *file = s;
  return SURG_OK;
}

/* Becomes the owner of the reference to src, also on failure. */
static surg_status load_source(surg__source *src, bool text, const surg_load_options *given,
                               load_wish wish, surg_model **out) {
  surg_context *ctx = src->ctx;
  surg_load_options options = read_options(given);
  uint64_t n = src->size < 4096 ? src->size : 4096;
  surg_status status = surg__source_need(src, 0, n);
  const char *what = status == SURG_OK && !text ? surg__sniff(src->base, n) : NULL;
  if (what)
    status = surg__error(ctx, SURG_EINVALID, src->name, "%s", what);
  else if (status == SURG_OK && (text || looks_like_text(src)))
    status = translate(&src);
  surg__oddities odd = {0};
  if (status == SURG_OK) status = scan(&src, options.policy, &odd, &wish.file);
  wish.odd = &odd;
  const uint32_t warnings = ctx->max_warnings;
  if (options.policy == SURG_LOAD_CHECK)
    ctx->max_warnings = options.max_findings ? options.max_findings : SURG_LIMIT_FINDINGS;
  if (status == SURG_OK) status = build(src, &options, wish, out);
  ctx->max_warnings = warnings;
  surg__vec_free(ctx, &odd.list);
  surg__source_unref(wish.file);
  surg__source_unref(src);
  return status;
}

static surg_status load_path(surg_context *ctx, const char *path, const surg_load_options *options,
                             load_wish wish, surg_model **out) {
  if (out) *out = NULL;
  if (!ctx || !path || !out) return SURG_EUSAGE;
  surg__source *src;
  surg_status status = surg__source_open(ctx, path, &src);
  if (status != SURG_OK) return status;
  return load_source(src, has_suffix(path, ".onnxtxt"), options, wish, out);
}

surg_status surg_model_load(surg_context *ctx, const char *path, const surg_load_options *options,
                      surg_model **out) {
  return load_path(ctx, path, options, (load_wish){0}, out);
}

surg_status surg_model_load_memory(surg_context *ctx, const void *bytes, size_t n, const char *name,
                             const surg_load_options *options, surg_model **out) {
  if (out) *out = NULL;
  if (!ctx || !out || (!bytes && n)) return SURG_EUSAGE;
  surg__source *src;
  surg_status status = surg__source_memory(ctx, bytes, n, name, &src);
  if (status != SURG_OK) return status;
  return load_source(src, false, options, (load_wish){0}, out);
}

surg_status surg_model_load_source(surg_context *ctx, const surg_source *source, const char *name,
                                   const surg_load_options *options, surg_model **out) {
  surg_source from;
  if (out) *out = NULL;
  if (!ctx || !out || !source) return SURG_EUSAGE;
  surg__struct_in(&from, sizeof from, source);
  if (!from.read) return SURG_EUSAGE;
  surg__source *src;
  const surg_status status = surg__source_ask(ctx, &from, name ? name : "model", &src);
  if (status != SURG_OK) return status;
  return load_source(src, false, options, (load_wish){0}, out);
}

surg_status surg__model_take_over(const surg_model *like, int fd, surg_model **out) {
  surg_context *ctx = like->ctx;
  surg_load_options options = like->options;
  surg__source *src;
  *out = NULL;
  surg_status status = surg__source_take(ctx, like->source, fd, &src);
  if (status != SURG_OK) return status;
  options.policy = like->lenient ? SURG_LOAD_LENIENT : SURG_LOAD_STRICT;
  status = load_source(src, false, &options, (load_wish){.absent = like->absent}, out);
  if (status != SURG_OK) return status;
  surg_model *m = *out;
  if (!surg__assumptions_copy(m, like)) {
    surg_model_free(m);
    *out = NULL;
    return surg__oom(ctx, like->source ? like->source->name : NULL);
  }
  m->trust_declared = like->trust_declared;
  m->trust_bodies = like->trust_bodies;
  m->epoch = like->epoch + 1; /* edited since the user's file was read */
  surg_model_learn_weights(m, like);
  return SURG_OK;
}

surg_status surg__load_check_file(surg_context *ctx, const char *path, const void *bytes, size_t n,
                                  const surg_load_options *options, bool *partial,
                                  surg_model **out) {
  surg_load_options o = read_options(options);
  o.policy = SURG_LOAD_CHECK;
  *out = NULL;
  *partial = true;
  surg__source *src;
  surg_status status = bytes ? surg__source_memory(ctx, bytes, n, path, &src)
                             : surg__source_open(ctx, path, &src);
  if (status != SURG_OK) return status;
  return load_source(src, !bytes && has_suffix(path, ".onnxtxt"), &o,
                     (load_wish){.absent = SURG__ABSENT_ERROR, .partial = partial}, out);
}
