// SPDX-License-Identifier: Apache-2.0
// ort_wild.cjs PACKAGE: judges what pipelines made of models. Reads lines of JSON
//   {"folder", "model", "after": [{"file", "class"}...], "runs": [{NAME: {type, dims, data}}...]}
// and answers each with a line {before, undefined, ran, after: [{verdict, why}...]}. Models load
// and run without optimization and with it; outputs that optimization of the original changes
// are not compared: the runtime does not agree with itself on them. Verdicts:
//   equal; near (not exact by its class, and within what rounding does); inexact (the same, but the
//   class is exact); nan (a NaN is or was there: runtimes treat NaN in comparisons, pools and
//   reductions as their kernels happen to); wrong; refused-after (does not load, or does not run
//   where the original does); doomed (does not load, and the original fails in every run); not-run
//   (the original does not run); left (there is no model).
// before: why the original does not load.
'use strict';
const path = require('path');
const readline = require('readline');
const ort = require(path.resolve(process.argv[2], 'node_modules/onnxruntime-node'));
const { fromHalf, givenTensor } = require('./ort_inputs.cjs');

const PLAIN = { logSeverityLevel: 4, graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 };
const OPTIMIZED = { ...PLAIN, graphOptimizationLevel: 'all' };
// What classes other than exact may differ by, beside 1e-5 of the largest element.
const RELATIVE = { float16: 2e-2, float32: 1e-3, float64: 1e-9 };

const BAD = ['wrong', 'refused-after'];

const number = (t, i) => (t.type === 'float16' ? fromHalf(t.data[i]) : Number(t.data[i]));

// 0: equal bit for bit, but for which NaN; 1: near; 2: one is NaN; 3: none of these.
function distance(a, b) {
  if (a.type !== b.type) return [3, `type ${a.type} became ${b.type}`];
  // What a loop of no rounds collects has no elements; the runtime makes up its unknown sizes.
  if (!a.data.length && !b.data.length && a.dims.length === b.dims.length) return [0, ''];
  if (String(a.dims) !== String(b.dims)) return [3, `shape [${a.dims}] became [${b.dims}]`];
  let worst = 0, why = '', largest = 0;
  const relative = RELATIVE[a.type];
  if (relative) for (let i = 0; i < a.data.length; i++) {
    const v = Math.abs(number(a, i));
    if (v < Infinity) largest = Math.max(largest, v);
  }
  for (let i = 0; i < a.data.length; i++) {
    if (Object.is(a.data[i], b.data[i])) continue;
    let level = 3;
    if (relative) {
      const p = number(a, i), q = number(b, i);
      if (Number.isNaN(p) && Number.isNaN(q)) continue;
      if (Number.isNaN(p) || Number.isNaN(q)) level = 2;
      else if (p === q || Math.abs(p - q) <= relative * Math.abs(p) + 1e-5 * largest) level = 1;
    }
    if (level > worst) [worst, why] = [level, `element ${i}: ${a.data[i]} became ${b.data[i]}`];
  }
  return [worst, why];
}

async function load(file, settings) {
  try {
    return { session: await ort.InferenceSession.create(file, settings) };
  } catch (error) {
    return { why: String(error.message).split('\n')[0] };
  }
}

async function run(session, feeds) {
  try {
    const given = {};
    for (const name of session.inputNames) if (feeds[name]) given[name] = feeds[name];
    return { out: await session.run(given) };
  } catch (error) {
    return { why: String(error.message).split('\n')[0] };
  }
}

function sets(runs) {
  return runs.map(r => Object.fromEntries(
    Object.entries(r).map(([k, v]) => [k, givenTensor(ort.Tensor, v.type, v.dims, v.data)])));
}

// What the original computes in each run, without the outputs that optimization changes.
async function expected(session, optimized, feeds) {
  const all = [];
  let open = 0, why = '';
  for (const feed of feeds) {
    const r = await run(session, feed);
    if (!r.out) {
      all.push(null);
      why = r.why;
      continue;
    }
    const o = optimized ? (await run(optimized, feed)).out || r.out : r.out;
    const kept = {};
    for (const [name, t] of Object.entries(r.out)) {
      if (!t || !t.type) continue;
      if (o && o[name] && distance(t, o[name])[0] < 2) kept[name] = t;
      else open++;
    }
    all.push(kept);
  }
  return { all, open, why };
}

async function judge(session, want, feeds, cls) {
  let worst = 0, why = '', ran = 0;
  for (let i = 0; i < feeds.length; i++) {
    if (!want[i]) continue;
    const r = await run(session, feeds[i]);
    if (!r.out) return { verdict: 'refused-after', run: i, why: 'run: ' + r.why };
    ran++;
    for (const [name, t] of Object.entries(want[i])) {
      if (!r.out[name]) return { verdict: 'wrong', run: i, why: `output ${name} is gone` };
      const [level, text] = distance(t, r.out[name]);
      if (level > worst) [worst, why] = [level, `run ${i}: ${name}: ${text}`];
    }
  }
  if (!ran) return { verdict: 'not-run' };
  if (!worst) return { verdict: 'equal' };
  return { verdict: ['', cls === 'exact' ? 'inexact' : 'near', 'nan', 'wrong'][worst], why };
}

async function answer(q) {
  const before = await load(path.join(q.folder, q.model), PLAIN);
  if (!before.session) return { before: before.why, after: [] };
  const optimized = await load(path.join(q.folder, q.model), OPTIMIZED);
  const feeds = sets(q.runs);
  const want = await expected(before.session, optimized.session, feeds);
  const after = [], runs = want.all.some(x => x);
  for (const a of q.after) {
    if (!a.file) {
      after.push({ verdict: 'left', why: a.why });
      continue;
    }
    for (const settings of [PLAIN, OPTIMIZED]) {
      if (settings === OPTIMIZED && !optimized.session) continue;
      const m = await load(path.join(q.folder, a.file), settings);
      const r = m.session ? await judge(m.session, want.all, feeds, a.class)
                          : { verdict: runs ? 'refused-after' : 'doomed', why: m.why };
      if (m.session) await m.session.release();
      if (settings === OPTIMIZED) {
        if (!BAD.includes(r.verdict) || BAD.includes(after[after.length - 1].verdict)) continue;
        after.pop();
        r.why = 'optimized: ' + r.why;
      }
      after.push(r);
    }
  }
  await before.session.release();
  if (optimized.session) await optimized.session.release();
  const ran = want.all.filter(x => x).length;
  return { ran, undefined: want.open, fails: want.why, after };
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let r;
    try {
      r = await answer(JSON.parse(line));
    } catch (error) {
      r = { before: 'judge: ' + error.message, after: [] };
    }
    process.stdout.write(JSON.stringify(r) + '\n');
  }
})();
