// SPDX-License-Identifier: Apache-2.0
// import_tractjs.cjs PACKAGE [FILE...]: whether tract, compiled to WebAssembly (npm tractjs, installed
// in the folder PACKAGE), reads a model and makes a plan of it. Answers as import_js.cjs; it computes
// nothing.
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');
const { engines } = require('../../../lib/probe/npm.cjs');

const engine = engines.tractjs(path.join(path.resolve(process.argv[2]), 'node_modules'));

function ask(file) {
  return engine.accept(file).then(() => ({ accepts: true, why: '' }),
                                  error => ({ accepts: false, why: error.message }));
}

async function main() {
  const files = process.argv.slice(3);
  let all = true;
  for (const file of files) {
    const { accepts, why } = await ask(file);
    all = all && accepts;
    fs.writeSync(1, file + '\t' + (accepts ? 'ok' : why) + '\n');
  }
  if (files.length) process.exit(all ? 0 : 1);
  for await (const line of readline.createInterface({ input: process.stdin }))
    process.stdout.write(JSON.stringify(await ask(line.split('\t')[0])) + '\n');
}

main();
