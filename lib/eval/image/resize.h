/* SPDX-License-Identifier: Apache-2.0 */
/* The attributes of Resize, shared by the kernel and by rewrites that replace the operator. */
#ifndef SURG_RESIZE_H
#define SURG_RESIZE_H

#include <onnxsurg/onnxsurg.h>

/* The last value of each enum means that the attribute value is not known. */
typedef enum surg__rz_mode {
  SURG__RZ_NEAREST,
  SURG__RZ_LINEAR,
  SURG__RZ_CUBIC,
  SURG__RZ_MODES
} surg__rz_mode;
typedef enum surg__rz_coordinates {
  SURG__RZ_HALF_PIXEL,
  SURG__RZ_SYMMETRIC,
  SURG__RZ_PYTORCH,
  SURG__RZ_ALIGN_CORNERS,
  SURG__RZ_ASYMMETRIC,
  SURG__RZ_TF_NEAREST,
  SURG__RZ_CROP,
  SURG__RZ_COORDINATES
} surg__rz_coordinates;
typedef enum surg__rz_rounding {
  SURG__RZ_PREFER_FLOOR,
  SURG__RZ_PREFER_CEIL,
  SURG__RZ_FLOOR,
  SURG__RZ_CEIL,
  SURG__RZ_ROUNDINGS
} surg__rz_rounding;
typedef enum surg__rz_policy {
  SURG__RZ_STRETCH,
  SURG__RZ_NOT_LARGER,
  SURG__RZ_NOT_SMALLER,
  SURG__RZ_POLICIES
} surg__rz_policy;

typedef struct surg__rz_words {
  surg__rz_mode mode;
  surg__rz_coordinates coords;
  surg__rz_rounding rounding;
  surg__rz_policy policy;
  bool antialias, exclude_outside;
  double cubic_a, outside; /* outside: extrapolation_value */
} surg__rz_words;

/* Reads the attributes of Resize, version 11 and above. */
surg__rz_words surg__rz_read(const surg_node *n);

/* One axis of an input and its result. */
typedef struct surg__rz_axis {
  int64_t in, out;
  double scale, start, end; /* start, end: the region of tf_crop_and_resize */
  double length;            /* the output size before truncation to an integer */
  bool fixed;               /* the axis is not resized */
  bool shrinks;             /* Resize-10 downsamples: ONNX Runtime rounds up */
} surg__rz_axis;

/* The index that output element i of mode nearest reads, with coordinates in double. -1: outside of
 * the region. */
int64_t surg__rz_nearest(const surg__rz_words *is, const surg__rz_axis *a, int64_t i);
/* Whether some output element may read another index in float, in which runtimes compute
 * coordinates: the standard does not define their precision, nor the order of operations. */
bool surg__rz_unclear(const surg__rz_words *is, const surg__rz_axis *a);
/* Whether both read the same elements of an axis: with weights for mode linear, nearly (coordinates
 * may differ as they do in float). SURG__RZ_UNCLEAR: the precision of coordinates decides, which
 * the standard does not define, or the result is too long to compare. */
typedef enum surg__rz_equality {
  SURG__RZ_EQUAL,
  SURG__RZ_UNEQUAL,
  SURG__RZ_UNCLEAR
} surg__rz_equality;
surg__rz_equality surg__rz_compare(const surg__rz_words *x, const surg__rz_axis *a,
                                   const surg__rz_words *y, const surg__rz_axis *b);
/* The values of coordinate_transformation_mode and nearest_mode; the enum's last: there is none. */
surg__rz_coordinates surg__rz_coordinates_of(const char *text, size_t n);
surg__rz_rounding surg__rz_rounding_of(const char *text, size_t n);
/* Whether an axis without a change of size is not copied: a scale of 1.1 of 3 elements, a region.
 * ONNX Runtime copies an input whose result has its shape. */
bool surg__rz_moves(const surg__rz_words *is, const surg__rz_axis *a);

#endif
