// SPDX-License-Identifier: Apache-2.0
// Tensors of ONNX Runtime to and from files of one TensorProto each (input_K.pb, output_K.pb).
'use strict';
const fs = require('fs');
const path = require('path');
const { ARRAYS } = require('./ort_inputs.cjs');

const TYPES = {
  float32: 1, uint8: 2, int8: 3, uint16: 4, int16: 5, int32: 6, int64: 7, string: 8, bool: 9,
  float16: 10, float64: 11, uint32: 12, uint64: 13,
};

function varint(n) {
  const out = [];
  for (n = BigInt(n); n > 127n; n >>= 7n) out.push(Number(n & 127n) | 128);
  return Buffer.from([...out, Number(n)]);
}

function field(number, bytes) {
  return [varint(number << 3 | 2), varint(bytes.length), bytes];
}

// The tensor as a TensorProto.
function message(tensor) {
  if (!TYPES[tensor.type]) throw new Error('output type ' + tensor.type);
  const parts = [];
  for (const d of tensor.dims) parts.push(varint(8), varint(d));
  parts.push(varint(16), varint(TYPES[tensor.type]));
  if (tensor.type === 'string') {
    for (const text of tensor.data) parts.push(...field(6, Buffer.from(text)));
  } else {
    const { buffer, byteOffset, byteLength } = tensor.data;
    parts.push(...field(9, Buffer.from(buffer, byteOffset, byteLength)));
  }
  return Buffer.concat(parts);
}

function readVarint(bytes, next) {
  for (let n = 0n, shift = 0n;; shift += 7n) {
    const byte = bytes[next()];
    if (byte === undefined) throw new Error('cut off');
    n |= BigInt(byte & 127) << shift;
    if (byte < 128) return n;
  }
}

// Fields of a message: [number, value], numbers as BigInt, the rest as bytes.
function* fields(bytes) {
  let at = 0;
  const number = () => readVarint(bytes, () => at++);
  while (at < bytes.length) {
    const key = Number(number()), wire = key & 7;
    if (wire === 0) {
      yield [key >> 3, number()];
      continue;
    }
    const n = wire === 2 ? Number(number()) : { 1: 8, 5: 4 }[wire];
    if (!(at + n <= bytes.length)) throw new Error('cut off');
    yield [key >> 3, bytes.subarray(at, at += n)];
  }
}

// Whole numbers, be they packed or one a field.
function varints(value) {
  if (typeof value === 'bigint') return [value];
  const found = [];
  for (let at = 0; at < value.length;) found.push(readVarint(value, () => at++));
  return found;
}

const NAMES = Object.fromEntries(Object.entries(TYPES).map(([name, n]) => [n, name]));
const TYPED = { 4: Float32Array, 10: Float64Array }; // float_data and double_data

// The tensor of a TensorProto; Tensor is the runtime's class. Throws where it holds something else.
function readTensor(Tensor, bytes) {
  const dims = [], strings = [], ints = [], parts = [];
  let type, raw;
  for (const [field, value] of fields(bytes)) {
    if (field === 1) for (const d of varints(value)) dims.push(Number(d));
    else if (field === 2) type = NAMES[Number(value)];
    else if (field === 6) strings.push(value.toString());
    else if (field === 9) raw = value;
    else if (TYPED[field]) parts.push(value);
    else if (field === 5 || field === 7 || field === 11) for (const n of varints(value)) ints.push(n);
  }
  const count = dims.reduce((a, b) => a * b, 1);
  if (type === 'string' && strings.length === count) return new Tensor(type, strings, dims);
  const Kind = type && ARRAYS[type] && ARRAYS[type][0];
  if (!Kind) throw new Error('no tensor');
  const big = Kind === BigInt64Array || Kind === BigUint64Array;
  if (!raw && !parts.length)
    return sized(Kind.from(ints, n => (big ? n : Number(BigInt.asIntN(32, n)))));
  const all = raw || Buffer.concat(parts);
  return sized(new Kind(Uint8Array.from(all).buffer));

  function sized(data) {
    if (data.length !== count) throw new Error('no tensor');
    return new Tensor(type, data, dims);
  }
}

// input_0.pb ... or output_0.pb ... of a folder; null where they are not as many, or no tensors.
function readAll(Tensor, folder, kind, count) {
  const file = k => path.join(folder, `${kind}_${k}.pb`);
  if (fs.existsSync(file(count))) return null;
  try {
    return Array.from({ length: count }, (_, k) => readTensor(Tensor, fs.readFileSync(file(k))));
  } catch (error) {
    return null;
  }
}

module.exports = { fields, message, readAll };
