/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises file formats that are often mistaken for models by their first bytes. */
#include "io/io.h"

typedef struct magic {
  unsigned at, n;
  const char *bytes, *what;
} magic;

static const magic magics[] = {
    {0, 19, "version https://git",
     "a Git LFS pointer, not the model itself; fetch it with git lfs pull"},
    {0, 9, "<!DOCTYPE", "an HTML page, not a model; a download went wrong"},
    {0, 9, "<!doctype", "an HTML page, not a model; a download went wrong"},
    {0, 5, "<html", "an HTML page, not a model; a download went wrong"},
    {0, 5, "<HTML", "an HTML page, not a model; a download went wrong"},
    {0, 5, "<?xml", "an XML file, not a model; OpenVINO models are read by OpenVINO only"},
    {0, 4, "PK\3\4",
     "a zip archive, not a model: a PyTorch or Core ML file, or a model to be unpacked"},
    {0, 2, "\x1f\x8b", "compressed with gzip; unpack it with gunzip"},
    {0, 4, "\x28\xb5\x2f\xfd", "compressed with zstd; unpack it with unzstd"},
    {0, 6,
     "\xfd"
     "7zXZ",
     "compressed with xz; unpack it with unxz"},
    {4, 4, "ORTM", "an ORT flatbuffer, which only ONNX Runtime reads; convert from the .onnx file"},
    {4, 4, "TFL3", "a TensorFlow Lite model; convert it to ONNX first"},
    {0, 4, "\x89HDF", "an HDF5 file (Keras?); convert it to ONNX first"},
    {0, 6, "\x93NUMPY", "a NumPy array, not a model"},
    {0, 4, "GGUF", "a GGUF file; this program reads ONNX only"},
    {0, 2, "\x80\2", "a Python pickle (PyTorch?); convert it to ONNX first"},
    {0, 4,
     "\x7f"
     "ELF",
     "a program or shared library, not a model"},
};

static bool printable(uint8_t c) {
  return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t';
}

bool surg__begins_text(const uint8_t *p, uint64_t n) {
  bool comment = false;
  for (uint64_t i = 0; i < n; i++) {
    if (comment) {
      comment = p[i] != '\n';
    } else if (p[i] == '#') {
      comment = true;
    } else if (!memchr(" \t\r\n", p[i], 4)) {
      return p[i] == '<';
    }
  }
  return false;
}

/* Whether the file is text other than ONNX text: the beginning is printable, and the first byte is
 * not the tag of a ModelProto field (the printable ones are " ( 2 : B r). */
static bool is_text(const uint8_t *p, uint64_t n) {
  if (memchr("\"(2:Br", p[0], 6)) return false;
  if (surg__begins_text(p, n)) return false;
  for (uint64_t i = 0; i < n && i < 64; i++)
    if (!printable(p[i])) return false;
  return true;
}

/* Whether the file begins as a GraphDef does: a node, which begins with its name. The first field
 * of a ModelProto is an integer. */
static bool is_graph_def(const uint8_t *p, uint64_t n) {
  if (n < 8 || p[0] != 0x0a || surg__begins_text(p, n)) return false;
  return p[p[1] < 0x80 ? 2 : 3] == 0x0a;
}

const char *surg__sniff(const uint8_t *p, uint64_t n) {
  if (n == 0) return "the file is empty";
  for (size_t i = 0; i < SURG_COUNT(magics); i++) {
    const magic *m = &magics[i];
    if (n < m->at + m->n || memcmp(p + m->at, m->bytes, m->n) != 0) continue;
    /* Flatbuffers begin with a small offset; otherwise the magic may be part of a producer name. */
    if (m->at == 0 || (p[2] == 0 && p[3] == 0)) return m->what;
  }
  if (n > 9 && p[8] == '{' && surg__le64(p) >> 32 == 0)
    return "a safetensors file: weights without a graph (onnxsurg weights --import reads them)";
  if (is_text(p, n)) return "text, not a model (ONNX text needs a name that ends in .onnxtxt)";
  if (is_graph_def(p, n)) return "a TensorFlow graph (GraphDef); convert it to ONNX first";
  return NULL;
}
