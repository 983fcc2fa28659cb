// SPDX-License-Identifier: Apache-2.0
// Asks engines that npm distributes whether they import models. The program contains this file and
// runs it as `node -e TEXT -- PACKAGE@VERSION FILE...` (lib/probe/npm.c); the tests require it.
//
// With FILEs: a line `FILE<TAB>ok` or `FILE<TAB>MESSAGE` each. Without: installs the package into
// the cache, $XDG_CACHE_HOME/onnxsurg/npm or ~/.cache/onnxsurg/npm, unless it is there; scripts of
// packages are not run.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');

function silence(...names) {
  for (const name of names) console[name] = () => {};
}

function one(text) {
  return text.replace(/\s+/g, ' ').trim() || 'rejected';
}

const settings = { logSeverityLevel: 4, graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 };

// Each engine, opened in the folder node_modules: {accept(file), a promise that is rejected where
// the engine rejects the file; other members are for tests}.
const engines = {
  'onnxruntime-node': folder => {
    const ort = require(path.join(folder, 'onnxruntime-node'));
    return session(ort, file => ort.InferenceSession.create(file, settings));
  },

  // Its WebAssembly provider.
  'onnxruntime-web': folder => {
    delete globalThis.fetch;  // versions before 1.14 would fetch the path of their .wasm file
    silence('warn', 'error');
    const ort = require(path.join(folder, 'onnxruntime-web'));
    ort.env.wasm.numThreads = 1;
    return session(ort, file => ort.InferenceSession.create(
      new Uint8Array(fs.readFileSync(file)), { ...settings, executionProviders: ['wasm'] }));
  },

  'onnxjs': folder => {
    silence('log', 'info', 'warn', 'error');
    require(path.join(folder, 'onnxjs'));
    return {
      accept: async file => {
        const made = new global.onnx.InferenceSession({ backendHint: 'cpu' });
        await made.loadModel(new Uint8Array(fs.readFileSync(file)));
      },
    };
  },

  // OpenCV's DNN module. Up to 4.x it is a thenable that resolves to itself, so that a promise of it
  // would never end; 5.x is a promise of it.
  // Models that fail leave memory behind. A module that ran out of it, or aborted, answers nothing
  // more: `run` starts another one then, and asks once more. Running out of it may look like a
  // rejection of the model, so another one is started after some rejections, too.
  '@techstark/opencv-js': folder => {
    silence('log', 'info', 'warn', 'error');
    const name = require.resolve(path.join(folder, '@techstark/opencv-js'));
    const enough = 200;
    let cv = null, rejected = 0;
    const start = () => {
      rejected = 0;
      delete require.cache[name];
      cv = require(name);
      return new Promise(done => {
        if (cv instanceof Promise) cv.then(made => { cv = made; done(); });
        else if (cv.Mat) done();
        else cv.onRuntimeInitialized = () => done();
      });
    };
    const engine = {
      get cv() { return cv; },
      started: start(),
      read: bytes => {
        cv.FS_createDataFile('/', 'model.onnx', bytes, true, false, false);
        try {
          return cv.readNetFromONNX('/model.onnx');
        } finally {
          cv.FS_unlink('/model.onnx');
        }
      },
      // A cv::Exception is thrown as a number; all else is the end of the module.
      run: async (action, again = true) => {
        if (rejected >= enough) engine.started = start();
        await engine.started;
        try {
          return action();
        } catch (error) {
          rejected++;
          if (typeof error === 'number') throw error;
          engine.started = start();
          if (!again) throw error;
          return engine.run(action, false);
        }
      },
      // What the module threw: the address of a cv::Exception, an Error, or anything else. The
      // innermost message of a nested one names the cause.
      why: error => {
        let text = String((error && error.message) || error);
        if (typeof error === 'number' && cv.exceptionFromPtr)
          text = String(cv.exceptionFromPtr(error).msg);
        return one(text.replace(/\s+/g, ' ').replace(/^.* error: /, ''));
      },
      accept: file => engine.run(() => engine.read(fs.readFileSync(file)).delete()),
    };
    return engine;
  },

  // tract reads a model and makes a plan of it. The module is inside a script for web workers, whose
  // globals it expects. A module that panicked is in no defined state: each rejected model costs a
  // new one.
  'tractjs': folder => {
    const vm = require('vm');
    const source = new vm.Script(
      fs.readFileSync(path.join(folder, 'tractjs/dist/worker.js'), 'utf8'));
    const start = () => {
      const worker = { said: '', answer: null };
      const own = {
        addEventListener: (kind, take) => { worker.take = take; },
        postMessage: message => worker.answer(message),
        process: { versions: { node: process.version } },
        console: {
          ...console, error: (...words) => { worker.said += words.join(' '); }, log() {}, warn() {},
        },
        Buffer, WebAssembly, TextDecoder, TextEncoder, setTimeout, clearTimeout,
      };
      own.self = own.globalThis = own;
      source.runInNewContext(own);
      return worker;
    };
    let worker = null;
    return {
      accept: async file => {
        worker = worker || start();
        worker.said = '';
        const done = new Promise(resolve => { worker.answer = resolve; });
        worker.take({ data: { type: 'load', uid: 0, body: {
          data: new Uint8Array(fs.readFileSync(file)),
          options: { format: 'onnx', optimize: true, inputFacts: {} } } } });
        const { type, body } = await done;
        if (type !== 'error') {
          worker.take({ data: { type: 'destroy', uid: 1, body: { modelId: body } } });
          return;
        }
        const text = String(worker.said || (body && body.message) || body);
        worker = null;
        throw new Error(one(text.split(/Stack:|\n\n/)[0]));
      },
    };
  },
};

function session(ort, open) {
  return {
    ort, open,
    accept: async file => {
      try {
        const made = await open(file);
        if (made.release) await made.release();  // not in old versions
      } catch (error) {
        // The package has a session, and describes its inputs in types of JavaScript.
        if (!/^Unsupported data type: \d+$/.test(String(error && error.message))) throw error;
      }
    },
  };
}

function why(engine, error) {
  return engine.why ? engine.why(error) : one(String((error && error.message) || error));
}

// The folder of PACKAGE@VERSION in the cache, and the two words.
function place(spec) {
  const at = spec.lastIndexOf('@'), name = spec.slice(0, at), version = spec.slice(at + 1);
  const cache = process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache');
  return { name, version, folder: path.join(cache, 'onnxsurg', 'npm', spec.replace('/', '+')) };
}

function install({ name, version, folder }) {
  if (!engines[name])
    throw new Error(`not known here; known: ${Object.keys(engines).join(', ')}`);
  if (fs.existsSync(path.join(folder, 'node_modules', name))) return;
  // A second process may install at the same time: the first to rename its folder wins.
  fs.mkdirSync(path.dirname(folder), { recursive: true });
  const made = fs.mkdtempSync(folder + '.');
  try {
    fs.writeFileSync(path.join(made, 'package.json'), '{"private": true}\n');
    const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
    require('child_process').execFileSync(
      npm, ['install', '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`],
      { cwd: made, stdio: ['ignore', 'ignore', 'pipe'], shell: process.platform === 'win32' });
    try {
      fs.renameSync(made, folder);
    } catch (error) {
      if (!fs.existsSync(path.join(folder, 'node_modules', name))) throw error;
    }
  } finally {
    fs.rmSync(made, { recursive: true, force: true });
  }
}

// What npm printed as an error, without its warnings.
function reason(error) {
  const lines = String(error.stderr || '').split('\n').filter(l => /^npm (error|ERR!)/.test(l));
  const said = lines.map(l => l.replace(/^npm (error|ERR!)( code)? ?/, '')).filter(l => l);
  return said.length ? said.slice(0, 2).join(': ') : String(error.message);
}

async function main([spec, ...files]) {
  const where = place(spec);
  if (!files.length) {
    try {
      install(where);
    } catch (error) {
      fs.writeSync(1, one(reason(error)) + '\n');
      process.exit(1);
    }
    return;
  }
  const engine = engines[where.name](path.join(where.folder, 'node_modules'));
  for (const file of files) {
    const answer = await engine.accept(file).then(() => 'ok', error => why(engine, error));
    fs.writeSync(1, `${file}\t${answer}\n`);
  }
  process.exit(0);
}

if (require.main === undefined) main(process.argv.slice(1));
else module.exports = { engines, one, why };
