#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Compares the npm package with the native program: the same command on the same model must end
// with the same exit code, messages and bytes. same.mjs PROGRAM TOP COUNT FOLDER...
// Exit code 77: skipped, with the reason.
import { spawnSync } from 'node:child_process';
import {
  existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { built, skip } from './built.mjs';

const [program, top, count, ...folders] = process.argv.slice(2);
const packagePath = built(top).package;
const { command, init } = await import(pathToFileURL(join(packagePath, 'index.js')).href);
await init();

const MOST = 4 << 20; // bytes of a model
const commands = [
  ['simplify'],
  ['repair', '--target', 'opencv-4.6', '--partial'],
  ['opset', '--to', '18'],
];

function* models(folder) {
  const byName = (a, b) => (a.name < b.name ? -1 : 1);
  for (const e of readdirSync(folder, { withFileTypes: true }).sort(byName)) {
    const path = join(folder, e.name);
    if (e.isDirectory()) yield* models(path);
    else if (/\.(onnx|onnxtxt)$/.test(e.name) && statSync(path).size <= MOST) yield path;
  }
}
// Equally spaced models of all folders.
function choose(n) {
  const all = folders.filter(existsSync).flatMap((f) => [...models(f)]);
  if (all.length <= n) return all;
  return Array.from({ length: n }, (_, i) => all[Math.floor((i * all.length) / n)]);
}

const work = mkdtempSync(join(tmpdir(), 'onnxsurg-web-'));
const hide = (text) => text.replaceAll(/in [0-9.]+ m?s\b/g, 'in T');
let failed = 0, compared = 0, written = 0;

function native(words, name, bytes) {
  writeFileSync(join(work, name), bytes);
  const out = join(work, 'out.onnx');
  rmSync(out, { force: true });
  const r = spawnSync(program, [...words, name, 'out.onnx'],
    { cwd: work, encoding: 'utf8', maxBuffer: 1 << 28 });
  rmSync(join(work, name));
  const written = existsSync(out) ? readFileSync(out) : null;
  return { code: r.status, text: r.stdout + r.stderr, bytes: written };
}

async function compare(words, path) {
  const bytes = readFileSync(path), name = basename(path).replaceAll(/[^A-Za-z0-9._-]/g, '_');
  const a = native([...words, '--no-fsync'], name, bytes);
  const b = await command([...words, '--no-fsync', name, 'out.onnx'], { [name]: bytes });
  const same = b.files['out.onnx'] ?? null;
  const why = a.code !== b.code ? `exit code ${b.code} instead of ${a.code}`
    : !a.bytes !== !same ? `output ${same ? 'written' : 'missing'}`
      : a.bytes && Buffer.compare(a.bytes, same) ? 'other bytes'
        : hide(a.text) !== hide(b.stdout + b.stderr) ? 'other messages' : null;
  compared++;
  if (a.bytes) written++;
  if (!why) return;
  failed++;
  console.log(`FAIL ${words.join(' ')} ${path}: ${why}`);
  if (why !== 'other bytes')
    console.log(`--- native\n${a.text}--- package\n${b.stdout}${b.stderr}`);
  if (process.env.KEEP) {
    writeFileSync(join(process.env.KEEP, `${failed}-native.onnx`), a.bytes ?? '');
    writeFileSync(join(process.env.KEEP, `${failed}-package.onnx`), same ?? '');
  }
}

const chosen = choose(Number(count));
if (!chosen.length) skip(`no models in ${folders.map(dirname).join(', ')}`);
try {
  for (const path of chosen) for (const words of commands) await compare(words, path);
} finally {
  rmSync(work, { recursive: true });
}
console.log(`${compared} runs on ${chosen.length} models compared, ${written} wrote a model, ` +
  `${failed} differ`);
process.exit(failed ? 1 : 0);
