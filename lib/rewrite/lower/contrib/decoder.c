/* SPDX-License-Identifier: Apache-2.0 */
/* DecoderMaskedMultiHeadAttention of com.microsoft as products and a softmax: one query of each
 * sequence over a buffer of keys that it extends, or over keys that are computed elsewhere. */
#include "rewrite/lower/contrib/heads.h"

typedef struct decoder {
  surg__heads h;
  surg__built q, k, v, mask, past_k, past_v, length, bias; /* v NULL: absent */
  int64_t size;
  bool crosses; /* keys and values have rank 4: computed elsewhere */
} decoder;

static bool read_optional(const surg__builder *b, const char *name, uint32_t rank,
                          surg__built *out) {
  if (!surg__b_get(b, name)) return true;
  return surg__built_get(b, name, out) &&
         !surg__b_bad(b, out->rank != rank, "an input has an unexpected rank");
}

/* The number of beams that share a buffer: unknown counts as several. */
static bool has_beams(const surg__builder *b) {
  surg_value *beams = surg__b_get(b, "width");
  surg_range range;
  if (surg__b_get(b, "beams")) return true;
  return beams && (surg_value_range(beams, &range) != SURG_OK || range.high > 1);
}

static bool read_decoder(decoder *d) {
  surg__builder *b = d->h.b;
  if (!surg__b_attrs_known(b) || !surg__built_get(b, "q", &d->q) ||
      !surg__built_get(b, "k", &d->k) || !surg__built_get(b, "v", &d->v) ||
      !read_optional(b, "mask", 2, &d->mask) || !read_optional(b, "ab", 4, &d->h.bias) ||
      !read_optional(b, "past_k", 4, &d->past_k) || !read_optional(b, "past_v", 4, &d->past_v) ||
      !read_optional(b, "bias", 1, &d->bias))
    return false;
  d->crosses = d->k.rank == 4;
  if (surg__b_bad(b, d->q.rank != 3 || d->v.rank != d->k.rank || (d->k.rank != 3 && !d->crosses),
                  "query, key and value: expected rank 3, or rank 4 for key and value") ||
      surg__b_bad(b, d->h.count < 1 || d->q.d[2].n < d->h.count || d->q.d[2].n % d->h.count,
                  "the hidden size is unknown or no multiple of num_heads") ||
      surg__b_bad(b, !surg__heads_is_float(d->q.dtype), "query: expected floats") ||
      surg__b_bad(b, has_beams(b), "several beams in one buffer are unsupported"))
    return false;
  d->size = d->q.d[2].n / d->h.count;
  if (d->crosses)
    return !surg__b_bad(b, d->past_k.v || d->past_v.v, "a past for keys of rank 4 is unsupported");
  return !surg__b_bad(b, !d->past_k.v || !d->past_v.v, "past keys or values are absent") &&
         !surg__b_bad(b, surg_node_int(d->h.n, "past_present_share_buffer", 0) == 0,
                      "expected a buffer for past and present") &&
         surg__b_get(b, "plen") && surg__built_get(b, "plen", &d->length) &&
         !surg__b_bad(
             b,
             !surg__bdim_same(&d->k.d[2], &d->q.d[2]) || !surg__bdim_same(&d->v.d[2], &d->q.d[2]),
             "query, key and value have different sizes");
}

/* Part i of the bias, [heads, 1, size], added. */
static surg__built biased(const decoder *d, surg__built x, int64_t i) {
  surg__builder *b = d->h.b;
  const int64_t n = d->h.count * d->size;
  const surg__bdim dims[3] = {surg__bdim_fixed(d->h.count), surg__bdim_fixed(1),
                              surg__bdim_fixed(d->size)};
  if (!d->bias.v) return x;
  surg__built part =
      surg__built_slice(b, d->bias, 0, surg__bdim_fixed(i * n), surg__bdim_fixed((i + 1) * n));
  part = surg__built_reshape(b, surg__built_cast(b, part, SURG_FLOAT), dims, 3);
  return surg__built_binary(b, "Add", x, part);
}

/* The buffer with x [batch, heads, 1, size] as position `length`. */
static surg__built extended(const decoder *d, surg__built past, surg__built x) {
  surg__builder *b = d->h.b;
  const surg__built j = surg__built_range(b, past.d[2], SURG_INT64);
  const surg__built at =
      surg__built_cast(b, surg__built_reshape(b, d->length, NULL, 0), SURG_INT64);
  const surg__built is = surg__built_unsqueeze(b, surg__built_binary(b, "Equal", j, at), 1);
  past = surg__built_cast(b, past, SURG_FLOAT);
  surg__built y = surg__built_where(b, is, x, past);
  memcpy(y.d, past.d, sizeof y.d);
  return y;
}

/* Keys and values up to the new position. */
static void take_past(decoder *d) {
  surg__builder *b = d->h.b;
  surg__heads *h = &d->h;
  const int64_t one = 1;
  surg__built all = surg__built_cast(b, surg__built_reshape(b, d->length, NULL, 0), SURG_INT64);
  all = surg__built_number(b, "Add", all, 1);
  const surg__bdim count = surg__bdim_of(surg__bint_reshape(b, all.v, &one, 1));
  h->k = surg__heads_present(h, "pk", extended(d, d->past_k, h->k));
  h->v = surg__heads_present(h, "pv", extended(d, d->past_v, h->v));
  h->k = surg__built_slice(b, h->k, 2, surg__bdim_fixed(0), count);
  h->v = surg__built_slice(b, h->v, 2, surg__bdim_fixed(0), count);
  h->k.d[2] = h->v.d[2] = count;
}

/* y, pk, pv, qk = DecoderMaskedMultiHeadAttention (q, k, v, mask, ab, past_k, past_v, plen, width,
 * beams, bias) */
static surg_status decoder_to_products(surg__builder *b) {
  decoder d = {.h = {.b = b, .n = surg__b_matched(b)}};
  surg__heads *h = &d.h;
  h->count = h->kv_count = surg_node_int(h->n, "num_heads", 0);
  if (!read_decoder(&d)) return SURG_EUNSUPPORTED;
  h->type = d.q.dtype;
  h->scale = surg__heads_scale(h->n, d.size);
  h->filter = surg_node_float(h->n, "mask_filter_value", -10000);
  h->q = biased(&d, surg__heads_apart(b, d.q, h->count), 0);
  h->k = d.crosses ? surg__built_cast(b, d.k, SURG_FLOAT)
                   : biased(&d, surg__heads_apart(b, d.k, h->count), 1);
  h->v = d.crosses ? surg__built_cast(b, d.v, SURG_FLOAT)
                   : biased(&d, surg__heads_apart(b, d.v, h->count), 2);
  if (!d.crosses) take_past(&d);
  if (d.mask.v) {
    const surg__built seen = surg__built_number(b, "Greater", d.mask, 0);
    h->hides = surg__built_unary(b, "Not", seen);
    h->hides = surg__built_unsqueeze(b, surg__built_unsqueeze(b, h->hides, 1), 1);
  }
  return surg__heads_attend(h);
}

const surg__native surg__natives_decoder[] = {
    {"ms_decoder_heads", decoder_to_products,
     "DecoderMaskedMultiHeadAttention as products and a softmax"},
    {NULL, NULL, NULL},
};
