// SPDX-License-Identifier: Apache-2.0
// import_opencv_js.cjs PACKAGE [FILE...]: whether OpenCV's DNN module, compiled to WebAssembly (npm
// @techstark/opencv-js, installed in the folder PACKAGE), reads a model. Answers as import_js.cjs. A line
// FILE<TAB>FOLDER, and a FILE with a folder FILE.data, asks, too, whether it computes what the folder
// expects of it (input_K.pb, output_K.pb), as import_opencv.py does.
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');
const { fields, message: encode, readAll } = require('./tensor_pb.cjs');
const { engines } = require('../../../lib/probe/npm.cjs');

const engine = engines['@techstark/opencv-js'](path.join(path.resolve(process.argv[2]), 'node_modules'));
// The module, which `run` of the engine may replace.
let cv = null;
// Types of which no elements are compared: the module has no float16 in JavaScript, and moves 8-bit
// integers by 128.
const APART = ['string', 'float16', 'int8', 'uint8'];
const NEAR = 1e-3, SMALL = 1e-5;  // relative and absolute tolerance: sums are in float

// A tensor of a data set; what readAll asks of a runtime's class.
class Tensor {
  constructor(type, data, dims) {
    Object.assign(this, { type, data, dims });
  }
}

// --- computing ---

function varint(n) {
  const out = [];
  for (; n > 127; n = Math.floor(n / 128)) out.push(n % 128 | 128);
  return Buffer.from([...out, n]);
}

const field = (number, bytes) =>
  Buffer.concat([varint(number << 3 | 2), varint(bytes.length), Buffer.from(bytes)]);
const whole = (number, value) => Buffer.concat([varint(number << 3), varint(value)]);

// A model `y = Reshape (x, dims)` of float[1, n] x: the module makes no Mat of more than two axes
// from JavaScript, but its own nets return them.
function reshaper(dims, count) {
  const axes = sizes => field(2, Buffer.concat(sizes.map(n => field(1, whole(1, n)))));
  const value = (name, sizes) =>
    Buffer.concat([field(1, name), field(2, field(1, Buffer.concat([whole(1, 1), axes(sizes)])))]);
  const list = new BigInt64Array(dims.map(BigInt));
  const shape = Buffer.concat([encode({ type: 'int64', dims: [dims.length], data: list }), field(8, 's')]);
  const node = Buffer.concat([field(1, 'x'), field(1, 's'), field(2, 'y'), field(4, 'Reshape')]);
  const graph = Buffer.concat([field(1, node), field(2, 'g'), field(5, shape),
    field(11, value('x', [1, count])), field(12, value('y', dims))]);
  return Buffer.concat([whole(1, 8), field(7, graph), field(8, whole(2, 13))]);
}

// The tensor as a Mat of float; null where it has no elements. A Mat has two axes at least: one axis
// becomes a column, or a row.
function mat(tensor, row) {
  const data = Float32Array.from(tensor.data, Number), dims = tensor.dims;
  if (!data.length) return null;
  if (dims.length < 2)
    return cv.matFromArray(row ? 1 : data.length, row ? data.length : 1, cv.CV_32FC1, data);
  if (dims.length < 3) return cv.matFromArray(dims[0], dims[1], cv.CV_32FC1, data);
  const flat = cv.matFromArray(1, data.length, cv.CV_32FC1, data);
  const net = engine.read(reshaper(dims, data.length));
  net.setInput(flat, 'x', 1, new cv.Scalar());
  const shaped = net.forward('y');
  const copy = shaped.clone();
  for (const made of [flat, shaped, net]) made.delete();
  return copy;
}

// Elements of a Mat as numbers, by its depth.
function elements(found) {
  return [found.data, found.data8S, found.data16U, found.data16S, found.data32S, found.data32F,
    found.data64F][found.type() & 7];
}

function near(a, b) {
  return a === b || (a !== a && b !== b) || Math.abs(a - b) <= SMALL + NEAR * Math.abs(b);
}

// What is wrong with an output, or "".
function differs(found, name, expected) {
  const data = elements(found), shape = found.matSize;
  const far = expected.dims.length > 1 && expected.dims.join() !== shape.join();
  if (!data || data.length !== expected.data.length || far)
    return `${name}: shape ${shape.join()}, expected ${expected.dims.join()}`;
  const at = data.findIndex((a, k) => !near(a, Number(expected.data[k])));
  return at < 0 ? '' : `${name}: element ${at} is ${data[at]}, expected ${expected.data[at]}`;
}

// What is wrong with the outputs of a net for these inputs, or ""; null: an input has no elements.
function run(net, names, given, expected, row) {
  try {
    const mats = given.map(t => mat(t, row));
    if (mats.includes(null)) return null;
    mats.forEach((m, k) => net.setInput(m, names.inputs[k], 1, new cv.Scalar()));
    mats.forEach(m => m.delete());
    for (const [k, name] of names.outputs.entries()) {
      const found = net.forward(name), why = differs(found, name, expected[k]);
      found.delete();
      if (why) return why;
    }
    return '';
  } catch (error) {
    return engine.why(error);
  }
}

// null where nothing can be compared, "" where all is as expected, else what is not.
function wrong(net, file, folder) {
  const names = ends(fs.readFileSync(file));
  const given = readAll(Tensor, folder, 'input', names.inputs.length);
  const expected = readAll(Tensor, folder, 'output', names.outputs.length);
  const plain = t => !APART.includes(t.type);
  if (!given || !expected || ![...given, ...expected].every(plain)) return null;
  const why = run(net, names, given, expected, false);
  const again = why && given.some(t => t.dims.length === 1);
  return again ? run(net, names, given, expected, true) : why;
}

// Names of the inputs without initializer and of the outputs of a model.
function ends(bytes) {
  const named = { 5: [], 11: [], 12: [] };
  for (const [number, graph] of fields(bytes))
    for (const [kind, value] of number === 7 ? fields(graph) : [])
      for (const [key, name] of named[kind] ? fields(value) : [])
        if (key === (kind === 5 ? 8 : 1)) named[kind].push(name.toString());
  return { inputs: named[11].filter(name => !named[5].includes(name)), outputs: named[12] };
}

// --- answers ---

function read(file, folder) {
  cv = engine.cv;
  const net = engine.read(fs.readFileSync(file));
  const off = folder ? wrong(net, file, folder) : null;
  net.delete();
  return { accepts: true, why: '', right: off === null ? null : !off, wrong: off || '' };
}

async function ask(file, folder) {
  try {
    return await engine.run(() => read(file, folder));
  } catch (error) {
    return { accepts: false, why: engine.why(error) };
  }
}

async function answer() {
  const files = process.argv.slice(3);
  const out = fs.writeSync.bind(fs, 1);
  let all = true;
  for (const file of files) {
    const folder = file + '.data';
    const found = await ask(file, fs.existsSync(folder) ? folder : null);
    all = all && found.accepts;
    out(file + '\t' + (!found.accepts ? found.why : found.wrong ? 'differs: ' + found.wrong : 'ok') + '\n');
  }
  if (files.length) process.exit(all ? 0 : 1);
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [file, folder] = line.split('\t');
    out(JSON.stringify(await ask(file, folder)) + '\n');
  }
}

answer();
