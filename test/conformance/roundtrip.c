/* SPDX-License-Identifier: Apache-2.0 */
/* Round trips over folders of models: roundtrip [-v] DIR...
 * For every .onnx file below the folders, and below those of ONNXSURG_CORPUS (colon separated):
 * saving it unchanged gives the same bytes, in memory and as a file; after an edit every message
 * the edit did not touch has its bytes, and the result loads; text and back is the same message.
 * Exit 1: something differed, or most models did not load; 77: there are no models. */
#include <dirent.h>
#include <errno.h>
#include <onnxsurg/onnxsurg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLASSES 64

typedef struct tally {
  unsigned models, identical, sorted, refused, failures, edits, texts;
  char reason[CLASSES][160];
  unsigned count[CLASSES];
  unsigned classes;
} tally;

static tally total;
static bool verbose;
static char scratch_dir[64];
static char last_error[512];

static void heard(void *user, surg_severity severity, const char *line) {
  (void)user;
  if (severity == SURG_ERROR) snprintf(last_error, sizeof last_error, "%s", line);
}

static void fail(const char *path, const char *what) {
  total.failures++;
  printf("FAIL %s: %s%s%s\n", path, what, *last_error ? ": " : "", last_error);
}

static void *must(void *p) {
  if (p) return p;
  perror("roundtrip");
  exit(2);
}

/* --- files --- */

typedef struct bytes {
  uint8_t *p;
  size_t n;
} bytes;

static bool read_file(const char *path, bytes *out) {
  FILE *f = fopen(path, "rb");
  struct stat st;
  if (!f) return false;
  bool ok = fstat(fileno(f), &st) == 0;
  out->n = ok ? (size_t)st.st_size : 0;
  out->p = must(malloc(out->n + 1));
  ok = ok && fread(out->p, 1, out->n, f) == out->n;
  fclose(f);
  if (!ok) free(out->p);
  return ok;
}

static bool same(bytes a, bytes b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* --- the wire, as far as comparing needs it --- */

typedef struct item {
  uint64_t number;
  bytes all; /* tag to end */
  bytes body;
} item;
typedef struct items {
  item *at;
  size_t count;
} items;

static bool varint(const uint8_t **p, const uint8_t *end, uint64_t *v) {
  *v = 0;
  for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
    uint8_t b = *(*p)++;
    *v |= (uint64_t)(b & 0x7f) << shift;
    if (!(b & 0x80)) return true;
  }
  return false;
}

static bool split(bytes message, items *out) {
  size_t room = 64;
  const uint8_t *p = message.p, *end = p + message.n;
  *out = (items){must(malloc(room * sizeof(item))), 0};
  while (p < end) {
    const uint8_t *start = p;
    uint64_t tag, v = 0;
    if (!varint(&p, end, &tag)) return false;
    unsigned wire = tag & 7;
    if ((wire == 0 || wire == 2) && !varint(&p, end, &v)) return false;
    size_t skip = wire == 0 ? 0 : wire == 1 ? 8 : wire == 5 ? 4 : (size_t)v;
    if (wire == 3 || wire == 4 || wire > 5 || skip > (size_t)(end - p)) return false;
    const uint8_t *body = p;
    p += skip;
    if (out->count == room) out->at = must(realloc(out->at, (room *= 2) * sizeof(item)));
    out->at[out->count++] = (item){tag >> 3,
                                   {(uint8_t *)(uintptr_t)start, (size_t)(p - start)},
                                   {(uint8_t *)(uintptr_t)body, skip}};
  }
  return true;
}

/* How two messages differ in their fields of one number, or in all others. */
typedef struct difference {
  size_t before, after; /* how many there are */
  size_t changed;       /* of those at equal places, from both ends, what is not equal */
} difference;

static void pick(const items *all, uint64_t number, bool others, items *out) {
  *out = (items){must(malloc((all->count + 1) * sizeof(item))), 0};
  for (size_t i = 0; i < all->count; i++)
    if ((all->at[i].number == number) != others) out->at[out->count++] = all->at[i];
}

static difference compare(const items *a, const items *b, uint64_t number, bool others) {
  items x, y;
  pick(a, number, others, &x);
  pick(b, number, others, &y);
  difference d = {x.count, y.count, 0};
  size_t n = x.count < y.count ? x.count : y.count;
  if (x.count == y.count) {
    for (size_t i = 0; i < n; i++) d.changed += !same(x.at[i].all, y.at[i].all);
  } else {
    size_t head = 0, tail = 0;
    while (head < n && same(x.at[head].all, y.at[head].all)) head++;
    while (tail < n - head && same(x.at[x.count - 1 - tail].all, y.at[y.count - 1 - tail].all))
      tail++;
    d.changed = n - head - tail;
  }
  free(x.at);
  free(y.at);
  return d;
}

/* Both levels of two models. */
typedef struct pair {
  items model[2], graph[2];
} pair;

enum { IN_MODEL_GRAPH = 7, IN_MODEL_METADATA = 14, NODE = 1, INITIALIZER = 5, VALUE_INFO = 13 };

static bool open_pair(bytes before, bytes after, pair *p) {
  memset(p, 0, sizeof *p);
  bytes m[2] = {before, after};
  for (int i = 0; i < 2; i++) {
    if (!split(m[i], &p->model[i])) return false;
    for (size_t k = 0; k < p->model[i].count; k++)
      if (p->model[i].at[k].number == IN_MODEL_GRAPH && !p->graph[i].at &&
          !split(p->model[i].at[k].body, &p->graph[i]))
        return false;
    if (!p->graph[i].at) return false;
  }
  return true;
}

static void close_pair(pair *p) {
  for (int i = 0; i < 2; i++) {
    free(p->model[i].at);
    free(p->graph[i].at);
  }
}

static difference in_model(const pair *p, uint64_t number, bool others) {
  return compare(&p->model[0], &p->model[1], number, others);
}

static difference in_graph(const pair *p, uint64_t number, bool others) {
  return compare(&p->graph[0], &p->graph[1], number, others);
}

static bool unchanged(difference d) {
  return d.before == d.after && d.changed == 0;
}

/* --- edits --- */

typedef struct subject {
  surg_context *ctx;
  const char *path;
  char *folder;
  surg_model *model;
  bytes file;
} subject;

typedef struct edit {
  const char *name;
  bool (*apply)(surg_model *m, size_t *nodes);       /* false: the model has no place for it */
  const char *(*judge)(const pair *p, size_t nodes); /* what is wrong, or NULL */
} edit;

static surg_value *inner_value(surg_model *m) {
  surg_graph *g = surg_model_graph(m);
  for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
    for (size_t i = 0; i < surg_node_output_count(n); i++) {
      surg_value *v = surg_node_output(n, i);
      if (v && *surg_value_name(v) && !surg_value_is_output(v) && !surg_value_is_pinned(v))
        return v;
    }
  return NULL;
}

/* The node of the main graph that n stands in. */
static const surg_node *outermost(const surg_node *n, const surg_graph *main_graph) {
  while (n && surg_node_graph(n) != main_graph) n = surg_graph_parent_node(surg_node_graph(n));
  return n;
}

static bool rename_inner(surg_model *m, size_t *nodes) {
  surg_value *v = inner_value(m);
  if (!v) return false;
  const surg_graph *g = surg_model_graph(m);
  size_t count = surg_graph_node_count(g), seen = 0;
  const surg_node **list = must(malloc((count + 1) * sizeof(*list)));
  list[seen++] = surg_value_producer(v, NULL);
  for (surg_use *u = surg_value_first_use(v); u; u = surg_use_next(u)) {
    const surg_node *n = outermost(surg_use_node(u), g);
    if (surg_use_graph(u) != g && !n) n = outermost(surg_graph_parent_node(surg_use_graph(u)), g);
    bool known = !n;
    for (size_t i = 0; !known && i < seen; i++) known = list[i] == n;
    if (!known) list[seen++] = n;
  }
  free(list);
  *nodes = seen;
  return surg_value_rename(v, "renamed: \xc3\xa9") == SURG_OK;
}

static const char *judge_rename(const pair *p, size_t nodes) {
  difference n = in_graph(p, NODE, false), info = in_graph(p, VALUE_INFO, false);
  if (!unchanged(in_model(p, IN_MODEL_GRAPH, true))) return "the model around the graph changed";
  if (n.before != n.after || n.changed != nodes) return "other nodes changed than those renamed in";
  if (!unchanged(in_graph(p, INITIALIZER, false))) return "an initializer changed";
  if (info.before != info.after || info.changed > 1) return "value_info changed";
  return NULL;
}

static bool add_metadata(surg_model *m, size_t *nodes) {
  (void)nodes;
  return surg_model_set_metadata(m, "onnxsurg.test", "added") == SURG_OK;
}

static const char *judge_metadata(const pair *p, size_t nodes) {
  (void)nodes;
  difference d = in_model(p, IN_MODEL_METADATA, false);
  if (!unchanged(in_model(p, IN_MODEL_METADATA, true))) return "something besides metadata changed";
  return d.after == d.before + 1 && d.changed == 0 ? NULL : "not one entry was added";
}

static surg_node *add_identity(surg_model *m) {
  surg_graph *g = surg_model_graph(m);
  surg_node *at = surg_graph_opset(g, "") ? surg_graph_first_node(g) : NULL;
  surg_value *v = NULL;
  for (size_t i = 0; at && !v && i < surg_node_input_count(at); i++) v = surg_node_input(at, i);
  if (!v) return NULL;
  surg_node *n = surg_graph_add_node(g, at, NULL, "Identity", 1);
  return n && surg_node_set_input(n, 0, v) == SURG_OK ? n : NULL;
}

static bool insert_identity(surg_model *m, size_t *nodes) {
  (void)nodes;
  return add_identity(m) != NULL;
}

static const char *judge_insert(const pair *p, size_t nodes) {
  (void)nodes;
  difference n = in_graph(p, NODE, false);
  if (!unchanged(in_model(p, IN_MODEL_GRAPH, true))) return "the model around the graph changed";
  if (!unchanged(in_graph(p, NODE, true))) return "something besides nodes changed";
  return n.after == n.before + 1 && n.changed == 0 ? NULL : "other nodes changed";
}

static bool insert_and_erase(surg_model *m, size_t *nodes) {
  (void)nodes;
  surg_node *n = add_identity(m);
  return n && surg_node_erase(n) == SURG_OK;
}

static const char *judge_nothing(const pair *p, size_t nodes) {
  (void)nodes;
  if (!unchanged(in_model(p, IN_MODEL_GRAPH, true))) return "the model around the graph changed";
  if (!unchanged(in_graph(p, NODE, false))) return "a node changed";
  return unchanged(in_graph(p, NODE, true)) ? NULL : "something besides nodes changed";
}

static bool replace_initializer(surg_model *m, size_t *nodes) {
  (void)nodes;
  for (surg_value *v = NULL; (v = surg_graph_next_initializer(surg_model_graph(m), v));) {
    surg_tensor *t = surg_value_initializer(v);
    if (!t || surg_tensor_dtype(t) != SURG_FLOAT) continue;
    uint64_t n = surg_tensor_bytes(t);
    void *p = must(malloc((size_t)n + 1));
    surg_tensor *made = NULL;
    if (surg_tensor_read(t, 0, p, (size_t)n) == SURG_OK)
      made = surg_tensor_new(m, SURG_FLOAT, surg_tensor_dims(t), surg_tensor_rank(t), p, (size_t)n);
    free(p);
    return made && surg_value_set_initializer(v, made) == SURG_OK;
  }
  return false;
}

static const char *judge_initializer(const pair *p, size_t nodes) {
  (void)nodes;
  difference d = in_graph(p, INITIALIZER, false);
  if (!unchanged(in_model(p, IN_MODEL_GRAPH, true))) return "the model around the graph changed";
  if (!unchanged(in_graph(p, INITIALIZER, true))) return "something besides initializers changed";
  return d.before == d.after && d.changed <= 1 ? NULL : "other initializers changed";
}

static const edit edits[] = {
    {"rename", rename_inner, judge_rename},
    {"metadata", add_metadata, judge_metadata},
    {"insert", insert_identity, judge_insert},
    {"insert and erase", insert_and_erase, judge_nothing},
    {"initializer", replace_initializer, judge_initializer},
};

/* Whether the bytes load and are saved as themselves. */
static const char *reload(const subject *s, bytes b) {
  surg_load_options o = {.size = sizeof o, .external_root = s->folder};
  surg_model *m;
  if (surg_model_load_memory(s->ctx, b.p, b.n, s->path, &o, &m) != SURG_OK)
    return "does not load again";
  void *p;
  bytes again = {NULL, 0};
  const char *wrong = NULL;
  if (surg_model_verify(m) != SURG_OK)
    wrong = "does not hold after loading again";
  else if (surg_model_save_memory(m, &p, &again.n) != SURG_OK)
    wrong = "is not saved again";
  else
    again.p = p;
  if (!wrong && !same(b, again)) wrong = "is saved with other bytes";
  surg_context_free_bytes(s->ctx, again.p);
  surg_model_free(m);
  return wrong;
}

static const char *judge_edit(const subject *s, const edit *e, surg_model *m) {
  size_t nodes = 0;
  if (!e->apply(m, &nodes)) return surg_model_status(m) == SURG_OK ? NULL : "the edit failed";
  total.edits++;
  if (surg_model_verify(m) != SURG_OK) return "the model does not hold";
  void *p[2] = {NULL, NULL};
  bytes out[2] = {{NULL, 0}, {NULL, 0}};
  const char *wrong = NULL;
  for (int i = 0; !wrong && i < 2; i++) {
    if (surg_model_save_memory(m, &p[i], &out[i].n) != SURG_OK) wrong = "not saved";
    out[i].p = p[i];
  }
  pair both;
  if (!wrong && !same(out[0], out[1])) wrong = "two saves differ";
  if (!wrong && !open_pair(s->file, out[0], &both))
    wrong = "cannot be taken apart";
  else if (!wrong)
    wrong = e->judge(&both, nodes), close_pair(&both);
  if (!wrong) wrong = reload(s, out[0]);
  surg_context_free_bytes(s->ctx, p[0]);
  surg_context_free_bytes(s->ctx, p[1]);
  return wrong;
}

static void check_edits(const subject *s) {
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    surg_model *m = surg_model_clone(s->model);
    const char *wrong = m ? judge_edit(s, &edits[i], m) : "no clone";
    surg_model_free(m);
    if (!wrong) continue;
    char line[160];
    snprintf(line, sizeof line, "%s: %s", edits[i].name, wrong);
    fail(s->path, line);
  }
}

/* --- unchanged, and text --- */

static bool check_memory(subject *s) {
  void *p;
  bytes out;
  if (surg_model_save_memory(s->model, &p, &out.n) != SURG_OK) {
    fail(s->path, "not saved");
    return false;
  }
  out.p = p;
  bool ok = same(out, s->file);
  if (!ok) fail(s->path, "saving it unchanged changes it");
  surg_context_free_bytes(s->ctx, p);
  return ok;
}

/* A file whose nodes stand in no order is written in order once it is edited: the edits are
 * compared with that. */
static void sort_first(subject *s) {
  bool any = false;
  for (surg_graph *g = NULL; (g = surg_model_next_graph(s->model, g));) {
    bool moved;
    if (surg_graph_toposort(g, &moved) != SURG_OK) fail(s->path, "not sorted");
    any = any || moved;
  }
  if (!any) return;
  void *p;
  size_t n;
  if (surg_model_save_memory(s->model, &p, &n) != SURG_OK) {
    fail(s->path, "not saved sorted");
    return;
  }
  total.sorted++;
  free(s->file.p);
  s->file = (bytes){must(malloc(n + 1)), n};
  memcpy(s->file.p, p, n);
  surg_context_free_bytes(s->ctx, p);
}

static bool has_external(const surg_model *m) {
  for (surg_graph *g = NULL; (g = surg_model_next_graph(m, g));) {
    for (surg_value *v = NULL; (v = surg_graph_next_initializer(g, v));) {
      surg_tensor *t = surg_value_initializer(v);
      if (t && surg_tensor_is_external(t)) return true;
    }
    for (surg_node *n = surg_graph_first_node(g); n; n = surg_node_next(n))
      for (size_t i = 0; i < surg_node_attr_count(n); i++) {
        surg_tensor *t = surg_attr_tensor(surg_node_attr_at(n, i), 0);
        if (t && surg_tensor_is_external(t)) return true;
      }
  }
  return false;
}

/* To another folder: the same bytes, but where data files had to be gathered. */
static bool check_file(const subject *s) {
  char path[128];
  bytes out;
  surg_save_options o = {.size = sizeof o, .no_fsync = true};
  snprintf(path, sizeof path, "%s/out.onnx", scratch_dir);
  if (surg_model_save(s->model, path, &o) != SURG_OK || !read_file(path, &out)) {
    fail(s->path, "not saved to a file");
    return false;
  }
  bool ok = has_external(s->model) || same(out, s->file);
  if (!ok) fail(s->path, "saving it unchanged to a file changes it");
  free(out.p);
  surg_model *m;
  if (surg_model_load(s->ctx, path, NULL, &m) != SURG_OK) {
    fail(s->path, "the saved file does not load");
    ok = false;
  }
  surg_model_free(m);
  return ok;
}

static const char *judge_text(const subject *s, const char *text, size_t n) {
  surg_model *m;
  void *p;
  bytes out;
  if (surg_model_load_text(s->ctx, text, n, s->path, &m) != SURG_OK)
    return "its text does not load";
  const char *wrong = NULL;
  if (surg_model_save_memory(m, &p, &out.n) != SURG_OK) {
    wrong = "the model of its text is not saved";
  } else {
    out.p = p;
    char *again = NULL;
    size_t k = 0;
    /* Bytes that are not canonical (field order, lengths) may differ: then the text must not. */
    if (!same(out, s->file) && (surg_model_save_text(m, false, &again, &k) != SURG_OK || k != n ||
                                memcmp(text, again, n) != 0))
      wrong = "text and back differ";
    surg_context_free_bytes(s->ctx, again);
    surg_context_free_bytes(s->ctx, p);
  }
  surg_model_free(m);
  return wrong;
}

static void check_text(const subject *s) {
  char *text;
  size_t n;
  if (has_external(s->model)) return; /* text alone has no folder to find data in */
  if (surg_model_save_text(s->model, false, &text, &n) != SURG_OK) {
    fail(s->path, "no text");
    return;
  }
  total.texts++;
  const char *wrong = judge_text(s, text, n);
  if (wrong) fail(s->path, wrong);
  surg_context_free_bytes(s->ctx, text);
}

/* --- the walk --- */

/* The class of a refusal: its line without places, names and numbers. */
static void count_refusal(surg_status status) {
  char key[160];
  const char *text = strstr(last_error, "error: ");
  text = text ? text + 7 : last_error;
  size_t n = (size_t)snprintf(key, sizeof key, "%s: ", surg_status_name(status));
  bool quoted = false, digits = false;
  for (; *text && n + 2 < sizeof key; text++) {
    if (*text == '"') quoted = !quoted;
    bool digit = *text >= '0' && *text <= '9';
    if (quoted || (digit && digits)) continue;
    digits = digit;
    key[n++] = digit ? '#' : *text;
  }
  key[n] = 0;
  unsigned i = 0;
  while (i < total.classes && strcmp(total.reason[i], key) != 0) i++;
  if (i == total.classes && i < CLASSES) {
    snprintf(total.reason[i], sizeof total.reason[i], "%s", key);
    total.classes++;
  }
  if (i < CLASSES) total.count[i]++;
}

static void check_model(const char *path) {
  subject s = {.path = path};
  surg_config config = {.size = sizeof config, .diag = heard};
  *last_error = 0;
  total.models++;
  if (!read_file(path, &s.file)) {
    fail(path, strerror(errno));
    return;
  }
  s.ctx = must(surg_context_new(&config));
  s.folder = must(strdup(path));
  *strrchr(s.folder, '/') = 0;
  surg_status status = surg_model_load(s.ctx, path, NULL, &s.model);
  if (status != SURG_OK) {
    total.refused++;
    count_refusal(status);
    if (verbose) printf("refused %s\n", last_error);
  } else {
    *last_error = 0;
    bool ok = check_memory(&s);
    ok = check_file(&s) && ok;
    total.identical += ok;
    sort_first(&s);
    check_edits(&s);
    check_text(&s);
  }
  surg_model_free(s.model);
  surg_context_free(s.ctx);
  free(s.folder);
  free(s.file.p);
}

static int visible(const struct dirent *e) {
  return e->d_name[0] != '.';
}

static void walk(const char *path, unsigned depth) {
  struct stat st;
  if (depth > 32 || stat(path, &st) != 0) return;
  size_t n = strlen(path);
  if (S_ISREG(st.st_mode)) {
    if (n > 5 && strcmp(path + n - 5, ".onnx") == 0) check_model(path);
    return;
  }
  struct dirent **list;
  int count = S_ISDIR(st.st_mode) ? scandir(path, &list, visible, alphasort) : -1;
  for (int i = 0; i < count; i++) {
    size_t room = n + strlen(list[i]->d_name) + 2;
    char *sub = must(malloc(room));
    snprintf(sub, room, "%s/%s", path, list[i]->d_name);
    walk(sub, depth + 1);
    free(sub);
    free(list[i]);
  }
  if (count >= 0) free(list);
}

static void walk_list(char *dirs) {
  for (char *d = strtok(dirs, ":"); d; d = strtok(NULL, ":")) walk(d, 0);
}

static void clean_scratch(void) {
  struct dirent **list;
  int count = scandir(scratch_dir, &list, visible, alphasort);
  for (int i = 0; i < count; i++) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", scratch_dir, list[i]->d_name);
    unlink(path);
    free(list[i]);
  }
  if (count >= 0) free(list);
  rmdir(scratch_dir);
}

int main(int argc, char **argv) {
  const char *tmp = getenv("TMPDIR"), *more = getenv("ONNXSURG_CORPUS");
  snprintf(scratch_dir, sizeof scratch_dir, "%s/roundtripXXXXXX",
           tmp && strlen(tmp) < 40 ? tmp : "/tmp");
  must(mkdtemp(scratch_dir));
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "-v") == 0)
      verbose = true;
    else
      walk(argv[i], 0);
  }
  char *list = more ? must(strdup(more)) : NULL;
  if (list) walk_list(list);
  free(list);
  clean_scratch();
  if (total.models == 0) {
    puts("no models: install libonnx-testdata or set ONNXSURG_CORPUS");
    return 77;
  }
  printf("%u models: %u identical (%u out of order), %u refused, %u edits, %u texts, %u failures\n",
         total.models, total.identical, total.sorted, total.refused, total.edits, total.texts,
         total.failures);
  for (unsigned i = 0; i < total.classes; i++)
    printf("refused %u: %s\n", total.count[i], total.reason[i]);
  return total.failures || total.refused > total.identical;
}
