// SPDX-License-Identifier: Apache-2.0
// Seeded inputs for models, and half floats as numbers.
'use strict';

const INTS = Number(process.env.ONNXSURG_INTS) || 3;  // wide integers are below
const ELEMENTS_MAX = Number(process.env.ONNXSURG_ELEMENTS) || 2e7;  // of an input

function generator(seed) {
  let state = (seed * 2654435761 + 12345) >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

function toHalf(value) {
  const bits = new Uint32Array(new Float32Array([value]).buffer)[0];
  const exponent = ((bits >>> 23) & 255) - 112;
  const sign = (bits >>> 16) & 0x8000;
  if (exponent <= 0) return sign;
  return exponent > 30 ? sign | 0x7c00 : sign | (exponent << 10) | ((bits >>> 13) & 1023);
}

function fromHalf(half) {
  const exponent = (half >> 10) & 31, fraction = half & 1023, sign = half & 0x8000 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
}

const ARRAYS = {
  float32: [Float32Array, r => r() * 3 - 1.5], float64: [Float64Array, r => r() * 3 - 1.5],
  float16: [Uint16Array, r => toHalf(r() * 3 - 1.5)],
  int64: [BigInt64Array, r => BigInt(Math.floor(r() * INTS))],
  uint64: [BigUint64Array, r => BigInt(Math.floor(r() * INTS))],
  int32: [Int32Array, r => Math.floor(r() * INTS)], uint32: [Uint32Array, r => Math.floor(r() * INTS)],
  int16: [Int16Array, r => Math.floor(r() * 3)], uint16: [Uint16Array, r => Math.floor(r() * 3)],
  int8: [Int8Array, r => Math.floor(r() * 7) - 3], uint8: [Uint8Array, r => Math.floor(r() * 7)],
  bool: [Uint8Array, r => (r() < 0.5 ? 0 : 1)],
};

// A tensor of drawn elements; Tensor is the runtime's class.
function makeTensor(Tensor, type, dims, random) {
  const count = dims.reduce((a, b) => a * b, 1);
  if (count > ELEMENTS_MAX) throw new Error('input too large');
  if (type === 'string') {
    const words = Array.from({ length: count }, () => ['a', 'bc', 'def'][Math.floor(random() * 3)]);
    return new Tensor('string', words, dims);
  }
  if (!ARRAYS[type]) throw new Error('input type ' + type);
  const [Kind, draw] = ARRAYS[type];
  return new Tensor(type, Kind.from({ length: count }, () => draw(random)), dims);
}

// A tensor of elements as bytes in base64, or of given strings.
function givenTensor(Tensor, type, dims, data) {
  if (Array.isArray(data)) return new Tensor(type, data, dims);
  if (!ARRAYS[type]) throw new Error('input type ' + type);
  const bytes = Uint8Array.from(Buffer.from(data, 'base64'));
  return new Tensor(type, new ARRAYS[type][0](bytes.buffer), dims);
}

module.exports = { ARRAYS, generator, fromHalf, makeTensor, givenTensor };
