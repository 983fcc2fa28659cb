#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Uses the page in a headless Chromium through its DevTools protocol: page.mjs PROGRAM TOP
// [FOLDER for screenshots]. Exit code 77: skipped, with the reason.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { built, skip } from './built.mjs';

const [program, top, pictures] = process.argv.slice(2);
const { page } = built(top), examples = join(top, 'examples/models');
const found = ['chromium', 'chromium-browser', 'google-chrome']
  .find((b) => !spawnSync(b, ['--version']).error);
if (!found) skip('chromium is missing');

const work = mkdtempSync(join(tmpdir(), 'onnxsurg-page-'));
const downloads = join(work, 'downloads');
mkdirSync(downloads);
const browser = spawn(found, ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic',
  '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--disable-dev-shm-usage', `--user-data-dir=${join(work, 'profile')}`,
  '--remote-debugging-pipe', 'about:blank'],
{ stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });

// --- the protocol: messages that end with a NUL byte ---

let next = 0, rest = Buffer.alloc(0), session;
const waiting = new Map(), log = [];
browser.stdio[4].on('data', (data) => {
  rest = Buffer.concat([rest, data]);
  for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1)) {
    const m = JSON.parse(rest.subarray(0, end).toString());
    if (m.method === 'Runtime.exceptionThrown') log.push(m.params.exceptionDetails);
    if (m.method === 'Log.entryAdded') log.push(m.params.entry.text);
    const w = waiting.get(m.id);
    waiting.delete(m.id);
    if (w) m.error ? w.reject(new Error(m.error.message)) : w.resolve(m.result);
  }
});
const send = (method, params = {}) => new Promise((resolve, reject) => {
  waiting.set(++next, { resolve, reject });
  browser.stdio[3].write(`${JSON.stringify({ id: next, method, params, sessionId: session })}\0`);
});
async function evaluate(expression) {
  const r = await send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
  if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception?.description ?? 'failed');
  return r.result.value;
}
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
async function until(what, test, seconds = 120) {
  for (let i = 0; i < seconds * 20; i++) {
    const got = await test();
    if (got) return got;
    await sleep(50);
  }
  throw new Error(`${what} does not happen: ${await state()}`);
}
const text = (id) => evaluate(`document.getElementById('${id}')?.innerText`);
const state = async () => `${await text('status')} / ${await text('errors')}`;
const idle = () => evaluate(`!document.getElementById('status').className`);
// Clicks and waits until the job is done; returns the status line.
async function click(selector) {
  await evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
  await sleep(100);
  await until(`${selector} ends`, idle);
  return text('status');
}
async function choose(...paths) {
  const { root } = await send('DOM.getDocument');
  const { nodeId } = await send('DOM.querySelector', { nodeId: root.nodeId, selector: '#files' });
  await send('DOM.setFileInputFiles', { nodeId, files: paths });
  await sleep(100);
  await until('the model opens', idle);
  return text('status');
}
async function downloaded(name) {
  const path = join(downloads, name);
  await until(`download of ${name}`, () => existsSync(path), 30);
  await sleep(100);
  const bytes = readFileSync(path);
  rmSync(path);
  return bytes;
}
async function picture(name, width, dark = false) {
  await send('Emulation.setDeviceMetricsOverride',
    { width, height: 900, deviceScaleFactor: 1, mobile: width < 600 });
  await send('Emulation.setEmulatedMedia',
    { features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }] });
  await sleep(200);
  if (!pictures) return;
  const { data } = await send('Page.captureScreenshot', { captureBeyondViewport: true });
  writeFileSync(join(pictures, `${name}.png`), Buffer.from(data, 'base64'));
}

const native = (...args) => {
  const r = spawnSync(program, args, { cwd: work, encoding: 'utf8' });
  assert.ok(!r.error, r.error?.message);
  return r;
};
const bytesOf = (name) => readFileSync(join(work, name));

const tests = {
  async 'the page starts from one file and asks no server'() {
    await send('Page.enable');
    await send('Runtime.enable');
    await send('Log.enable');
    await send('Page.navigate', { url: pathToFileURL(page).href });
    await until('the start', async () => (await text('status')) === 'Ready');
    const tried = await evaluate(
      `fetch('https://localhost:1/').then(() => 'open', () => 'refused')`);
    assert.equal(tried, 'refused');
    log.length = 0; // the refusal was logged
    await picture('start', 1200);
  },
  async 'a model is opened, simplified and repaired; the download is the native result'() {
    native('--pass', 'prune', join(examples, 'tiny_cnn.onnxtxt'), 'cnn.onnx');
    native('simplify', 'cnn.onnx', 'small.onnx');
    assert.match(await choose(join(work, 'cnn.onnx')), /Read cnn.onnx/);
    assert.match(await text('report'), /Conv/);
    assert.match(await click('#simplify button'), /exact/);
    assert.match(await text('changes'), /Shape/);
    await click('#download');
    assert.deepEqual(await downloaded('cnn-simplified.onnx'), bytesOf('small.onnx'));
    assert.match(await click('#verify'), /All outputs agree/);

    await evaluate(`document.querySelector('[name=version][value="0"]').click()`);
    await evaluate(`{ const e = document.getElementById('engine'); e.value = 'onnxjs';
      e.dispatchEvent(new Event('change')); }`);
    const target = await evaluate(`document.getElementById('version').value`);
    native('repair', '--target', target, 'cnn.onnx', 'repaired.onnx');
    assert.match(await click('#judge'), /unsupported/);
    assert.match(await click('#repair [type=submit]'), new RegExp(`repaired for ${target}`));
    await click('#download');
    assert.deepEqual(await downloaded(`cnn-repaired-for-${target}.onnx`), bytesOf('repaired.onnx'));
    assert.match(await click('#verify'), /agree/);
    await click('#text summary');
    assert.match(await text('text'), /Conv/);
    assert.equal(await text('errors'), '');
    await picture('desktop', 1200);
    await picture('desktop-dark', 1200, true);
    await picture('phone', 375);
    const wide = await evaluate('document.documentElement.scrollWidth - 375');
    assert.ok(wide <= 0, `the page is ${wide} pixels wider than a phone`);
  },
  async 'data files are dropped later, and the result finds them'() {
    native('--pass', 'prune', '--external-data', 'w.bin', '--external-threshold', '1', 'cnn.onnx',
      'ext.onnx');
    await choose(join(work, 'ext.onnx'));
    assert.match(await text('errors'), /missing data file: w.bin/);
    const data = bytesOf('w.bin').toString('base64');
    await evaluate(`{ const t = new DataTransfer();
      t.items.add(new File([Uint8Array.from(atob('${data}'), (c) => c.charCodeAt(0))], 'w.bin'));
      document.dispatchEvent(new DragEvent('drop', { dataTransfer: t, cancelable: true })); }`);
    await sleep(100);
    await until('reading', idle);
    assert.equal(await text('errors'), '');
    await click('#simplify button');
    await click('#download');
    const result = await downloaded('ext-simplified.onnx');
    native('-i', '--pass', 'simplify', 'ext.onnx');
    assert.deepEqual(result, bytesOf('ext.onnx'));
    // The file of the browser changed with it.
    await evaluate(`document.querySelector('[name=version][value="0"]').click()`);
    await click('#simplify button');
    assert.match(await text('errors'), /ext.onnx: error: cannot read/);
  },
  async 'errors are those of the program'() {
    writeFileSync(join(work, 'bad.onnx'), Buffer.alloc(100));
    await choose(join(work, 'bad.onnx'));
    assert.match(await text('findings'), /E100/);
    await click('#simplify button');
    assert.equal(await text('errors'), 'bad.onnx: error: byte 0 (model): no field starts here');
    writeFileSync(join(work, 'own.onnxtxt'),
      '<ir_version: 8, opset_import: ["" : 17, "own" : 1]> ' +
      'g (float[2] x) => (float[2] y) { y = own.Mystery (x) }');
    native('--pass', 'prune', 'own.onnxtxt', 'own.onnx');
    await choose(join(work, 'own.onnx'));
    await click('#repair [type=submit]');
    assert.match(await text('errors'), /own.Mystery/);
    assert.equal(await evaluate(`document.querySelectorAll('#versions li').length`), 1);
    await picture('refused-phone', 375, true);
  },
  async 'a job is cancelled, and the next one runs'() {
    writeFileSync(join(work, 'long.onnxtxt'), '<ir_version: 8, opset_import: ["" : 17]> ' +
      'g (float[800, 800] x) => (float[800, 800] y) {' +
      Array.from({ length: 60 }, (_, i) =>
        ` v${i} = MatMul (${i ? `v${i - 1}` : 'x'}, x)`).join('') +
      ' y = Relu (v59) }');
    native('--pass', 'prune', 'long.onnxtxt', 'long.onnx');
    await choose(join(work, 'long.onnx'));
    await click('#simplify button');
    await evaluate(`document.getElementById('verify').click()`);
    await until('the job runs', async () => !(await idle()));
    await evaluate(`document.querySelector('#cancel button').click()`);
    await until('the end', idle, 10);
    assert.equal(await text('status'), 'Cancelled');
    await choose(join(work, 'cnn.onnx'));
    assert.match(await click('#simplify button'), /exact/);
  },
  async 'every control has a name and is reached by the keyboard'() {
    const nameless = await evaluate(`[...document.querySelectorAll('button, input, select')]
      .filter((e) => !(e.labels?.length || e.innerText.trim() || e.ariaLabel))
      .map((e) => e.outerHTML)`);
    assert.deepEqual(nameless, []);
    await evaluate('document.activeElement.blur(); scrollTo(0, 0)');
    const seen = new Set();
    for (let i = 0; i < 60; i++) {
      for (const type of ['rawKeyDown', 'keyUp'])
        await send('Input.dispatchKeyEvent',
          { type, key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9 });
      seen.add(await evaluate(`{ const e = document.activeElement;
        e.id || e.name || e.textContent.trim().slice(0, 20); }`));
    }
    for (const id of ['files', 'version', 'engine', 'download', 'verify', 'allow', 'judge',
      'Repair', 'Simplify', 'opset', 'Convert', 'Mend'])
      assert.ok(seen.has(id), `${id} is not reached: ${[...seen]}`);
  },
  async 'nothing was thrown'() {
    assert.deepEqual(log, []);
  },
};

let failed = 0;
try {
  const { targetInfos } = await send('Target.getTargets');
  const tab = targetInfos.find((t) => t.type === 'page');
  const attached = await send('Target.attachToTarget', { targetId: tab.targetId, flatten: true });
  session = attached.sessionId;
  await send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: downloads });
  for (const [name, run] of Object.entries(tests)) {
    try {
      await run();
      console.log(`ok   ${name}`);
    } catch (e) {
      failed++;
      console.log(`FAIL ${name}\n${e.stack}`);
      if (session === undefined) break;
    }
  }
} finally {
  browser.kill();
  await sleep(300);
  rmSync(work, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(failed ? 1 : 0);
