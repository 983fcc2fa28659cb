// SPDX-License-Identifier: Apache-2.0
// import_opencv_js.cjs PACKAGE [FILE...]: whether OpenCV's DNN module, compiled to WebAssembly (npm
// @techstark/opencv-js, installed in the folder PACKAGE), reads a model. Answers as import_js.cjs; it
// computes nothing.
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');

const NAME = '/model.onnx';  // in the module's own file system

// The module is a thenable that resolves to itself: `await cv` would never end, hence no promise of it.
function open(folder, start) {
  const cv = require(path.join(path.resolve(folder), 'node_modules/@techstark/opencv-js'));
  if (cv.Mat) start(cv);
  else cv.onRuntimeInitialized = () => start(cv);
}

// What the module threw: an address of a cv::Exception, an Error, or anything else. The innermost
// message of a nested one names the cause.
function message(cv, error) {
  let text = String((error && error.message) || error);
  if (typeof error === 'number' && cv.exceptionFromPtr) text = String(cv.exceptionFromPtr(error).msg);
  return text.replace(/\s+/g, ' ').replace(/^.* error: /, '').trim() || 'refused';
}

function ask(cv, file) {
  try {
    cv.FS_createDataFile('/', NAME.slice(1), fs.readFileSync(file), true, false, false);
    cv.readNetFromONNX(NAME).delete();
    return { accepts: true, why: '' };
  } catch (error) {
    return { accepts: false, why: message(cv, error) };
  } finally {
    try { cv.FS_unlink(NAME); } catch (error) { /* it was not written */ }
  }
}

async function answer(cv) {
  const files = process.argv.slice(3);
  const out = fs.writeSync.bind(fs, 1);
  let all = true;
  for (const file of files) {
    const { accepts, why } = ask(cv, file);
    all = all && accepts;
    out(file + '\t' + (accepts ? 'ok' : why) + '\n');
  }
  if (files.length) process.exit(all ? 0 : 1);
  for await (const line of readline.createInterface({ input: process.stdin }))
    out(JSON.stringify(ask(cv, line.split('\t')[0])) + '\n');
}

for (const name of ['log', 'info', 'warn', 'error']) console[name] = () => {};
open(process.argv[2], cv => { answer(cv); });
