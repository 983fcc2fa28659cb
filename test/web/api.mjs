#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Tests the functions of the npm package, and the package as `npm` installs it:
// api.mjs TOP. Exit code 77: skipped, with the reason.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync }
  from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { built } from './built.mjs';

const top = process.argv[2], examples = join(top, 'examples/models');
const packagePath = built(top).package;
const surg = await import(pathToFileURL(join(packagePath, 'index.js')).href);
const { command, load } = surg;
const text = (name) => readFileSync(join(examples, `${name}.onnxtxt`));

// The example as a binary model, with the options of the command line.
async function example(name, ...options) {
  const r = await command(['--pass', 'prune', ...options, 'in.onnxtxt', 'm.onnx'],
    { 'in.onnxtxt': text(name) });
  assert.equal(r.code, 0, r.stderr);
  return r.files;
}

// Nested graphs, without any library: If nodes whose branch contains an If node.
const bytes = (...parts) => Uint8Array.from(parts.flat(Infinity));
const number = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...number(n >>> 7)]);
const field = (id, body) => {
  const b = typeof body === 'string' ? [...new TextEncoder().encode(body)] : [...body];
  return [...number(id * 8 + 2), ...number(b.length), ...b];
};
function nested(levels) {
  const value = (name, type) =>
    [...field(1, name), ...field(2, field(1, [8, type, ...field(2, [])]))];
  const leaf = (i) => [
    ...field(1, [...field(1, 'x'), ...field(2, `y${i}`), ...field(4, 'Identity')]),
    ...field(2, `g${i}`), ...field(12, value(`y${i}`, 1))];
  let graph = leaf(levels);
  for (let i = levels - 1; i >= 0; i--) {
    const branch = (name, body) => field(5, [...field(1, name), ...field(6, body), 0xa0, 1, 5]);
    const node = [...field(1, 'c'), ...field(2, `y${i}`), ...field(4, 'If'),
      ...branch('then_branch', graph), ...branch('else_branch', leaf(`e${i}`))];
    graph = [...field(1, node), ...field(2, `g${i}`),
      ...(i ? [] : [...field(11, value('x', 1)), ...field(11, value('c', 9))]),
      ...field(12, value(`y${i}`, 1))];
  }
  return bytes([8, 8], field(7, graph), field(8, [16, 17]));
}

const tests = {
  async 'the version is that of the package'() {
    const { version } = JSON.parse(readFileSync(join(packagePath, 'package.json')));
    assert.equal(await surg.version(), version);
  },
  async 'a command line on files in memory'() {
    const r = await command(['hardswish.onnxtxt', 'sub/out.onnx'], {
      'hardswish.onnxtxt': text('hardswish'), 'sub/.keep': '' });
    assert.equal(r.code, 0, r.stderr);
    assert.deepEqual(Object.keys(r.files), ['sub/out.onnx']);
    const again = await command(['cat', '-'], {}, { stdin: r.files['sub/out.onnx'] });
    assert.match(again.stdout, /Clip/);
  },
  async 'errors of a command are a result'() {
    const r = await command(['--no-such-option']);
    assert.equal(r.code, 2);
    assert.match(r.stderr, /no-such-option/);
    assert.equal((await command(['in.onnx', 'out.onnx'])).code, 3);
  },
  async 'bytes that are no model are an error'() {
    await assert.rejects(load(new Uint8Array(100)), (e) =>
      e instanceof surg.OnnxsurgError && e.code === 1 && /byte 0/.test(e.message));
    assert.equal((await surg.check(new Uint8Array(100))).findings[0].code, 'E100');
  },
  async 'simplify, verify and text'() {
    const model = await load((await example('tiny_cnn'))['m.onnx']);
    const { model: small, report } = await model.simplify();
    assert.equal(report.run.exactness, 'exact');
    assert.ok(report.after.nodes < report.before.nodes);
    assert.equal((await small.info()).nodes, report.after.nodes);
    assert.ok((await model.verify(small)).same);
    assert.match(await small.text(), /Conv/);
    const other = (await model.apply('remove-op{op=Relu}')).model;
    assert.equal((await model.verify(other)).same, false);
  },
  async 'options become options of the program'() {
    const model = await load((await example('hardswish'))['m.onnx']);
    const { model: fixed } = await model.simplify({ dim: { N: 3 }, exactOnly: true });
    assert.match((await fixed.info()).inputs[0].type, /\[3,/);
  },
  async 'repair for an engine'() {
    const model = await load((await example('tiny_cnn'))['m.onnx']);
    assert.equal((await model.check({ target: 'onnxjs-0.1.8' })).target.verdict, 'unsupported');
    const { model: repaired, report } = await model.repair('onnxjs-0.1.8');
    assert.equal(report.verdict, 'supported');
    assert.equal((await repaired.check({ target: 'onnxjs-0.1.8' })).target.verdict, 'supported');
    assert.ok((await model.verify(repaired)).same);
    const again = await repaired.repair('onnxjs-0.1.8');
    assert.deepEqual(again.model.bytes, repaired.bytes);
    assert.equal((await model.convert(19)).model.bytes.length > 0, true);
  },
  async 'a repair that is impossible gives no model'() {
    const source = '<ir_version: 8, opset_import: ["" : 17, "own" : 1]> ' +
      'g (float[2] x) => (float[2] y) { y = own.Mystery (x) }';
    const made = await command(['--pass', 'prune', 'a.onnxtxt', 'a.onnx'], { 'a.onnxtxt': source });
    const { model, report } =
      await (await load(made.files['a.onnx'])).repair('onnxruntime-1.14', { allow: 'lossy' });
    assert.equal(model, null);
    assert.match(report.remain[0].where, /Mystery/);
  },
  async 'external data'() {
    const { 'm.onnx': model, ...data } =
      await example('tiny_cnn', '--external-data', 'w.bin', '--external-threshold', '1');
    assert.deepEqual(Object.keys(data), ['w.bin']);
    const whole = await load(model, { data });
    const { model: small } = await whole.simplify();
    assert.ok(small.data['w.bin']);
    assert.ok((await whole.verify(small)).same);
    assert.ok((await load(model)).bytes === model, 'weights are not needed to look at a model');
  },
  async 'what WebAssembly has not is an error'() {
    const files = await example('hardswish');
    const refused = async (why, ...args) => {
      const r = await command(args, { ...files, 'p.so': 'x' });
      assert.notEqual(r.code, 0);
      assert.match(r.stderr, why);
      assert.deepEqual(r.files, {});
    };
    await refused(/shared libraries are not available/, '--plugin', 'p.so', 'm.onnx', 'o.onnx');
    await refused(/ONNX Runtime is not available/, 'run', '--engine', 'ort', 'm.onnx');
    await refused(/commands are not available/, 'repair', '--until', 'true {}', 'm.onnx', 'o.onnx');
    await refused(/--max-depth expects 1 to 400/, '--max-depth', '1000', 'm.onnx', 'o.onnx');
  },
  async 'nesting up to the limit fits the stack'() {
    for (const [levels, options] of [[33, []], [130, ['--max-depth', '400']]]) {
      const r = await command([...options, '--pass', 'simplify', 'm.onnx', 'o.onnx'],
        { 'm.onnx': nested(levels) });
      assert.equal(r.code, 0, `${levels} levels: ${r.stderr}`);
    }
    const r = await command(['m.onnx', 'o.onnx'], { 'm.onnx': nested(60) });
    assert.equal(r.code, 4, r.stderr);
  },
  async 'running out of memory is an error'() {
    const source = '<ir_version: 8, opset_import: ["" : 17]> g (int64[1] s) => (float[N] y) ' +
      '{ y = ConstantOfShape (s) }';
    const files = { 'a.onnxtxt': source, 'in.npy': npy([50000000n]) };
    const args = ['run', '--input', 's=in.npy', 'a.onnxtxt'];
    const small = await command(args, files, { memory: 32 << 20 });
    assert.equal(small.code, 4, small.stderr);
    assert.match(small.stderr, /memory/);
    assert.equal((await command(args, files)).code, 0);
  },
  async 'the package of npm'() {
    const npm = (args, cwd) => spawnSync('npm', args, { cwd, encoding: 'utf8' });
    if (npm(['--version'], '.').error) return console.log('  not run: npm is missing');
    const work = mkdtempSync(join(tmpdir(), 'onnxsurg npm '));
    try {
      const out = dirname(packagePath);
      const tarball = readdirSync(out).find((f) => /^onnxsurg-.*\.tgz$/.test(f));
      assert.ok(tarball, `no tarball in ${out}`);
      writeFileSync(join(work, 'package.json'), '{"type": "module"}');
      const got = npm(['install', '--offline', '--no-audit', join(out, tarball)], work);
      assert.equal(got.status, 0, got.stderr);
      mkdirSync(join(work, 'sub'));
      writeFileSync(join(work, 'in.onnx'), (await example('hardswish'))['m.onnx']);
      const words = ['--summary', 'in.onnx', 'sub/out.onnx'];
      const ran = npm(['exec', '--offline', 'onnxsurg', '--', ...words], work);
      assert.equal(ran.status, 0, ran.stderr);
      assert.match(ran.stderr + ran.stdout, /exactness/);
      const model = await load(readFileSync(join(work, 'in.onnx')));
      const { model: small } = await model.simplify();
      assert.deepEqual(new Uint8Array(readFileSync(join(work, 'sub/out.onnx'))), small.bytes);
      assert.deepEqual(readdirSync(join(work, 'sub')), ['out.onnx']);
      writeFileSync(join(work, 'use.js'), "import { targets } from 'onnxsurg';\n" +
        "console.log((await targets()).includes('opencv-4.6'));\n");
      const used = spawnSync(process.execPath, ['use.js'], { cwd: work, encoding: 'utf8' });
      assert.equal(used.stdout.trim(), 'true', used.stderr);
    } finally {
      rmSync(work, { recursive: true });
    }
  },
};

// An array of int64 as a .npy file.
function npy(values) {
  let head = `{'descr': '<i8', 'fortran_order': False, 'shape': (${values.length},), }`;
  head = `${head.padEnd(117)}\n`;
  return bytes([0x93], [...new TextEncoder().encode('NUMPY')], [1, 0], [head.length, 0],
    [...new TextEncoder().encode(head)], [...new Uint8Array(BigInt64Array.from(values).buffer)]);
}

let failed = 0;
for (const [name, run] of Object.entries(tests)) {
  try {
    await run();
    console.log(`ok   ${name}`);
  } catch (e) {
    failed++;
    console.log(`FAIL ${name}\n${e.stack}`);
  }
}
process.exit(failed ? 1 : 0);
