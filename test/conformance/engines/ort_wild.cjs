// SPDX-License-Identifier: Apache-2.0
// ort_wild.cjs PACKAGE: judges what pipelines made of models. Reads lines of JSON
//   {"folder", "model", "after": [{"file", "class"}...], "shapes": {OUTPUT: [[SIZE or -1] of each run]},
//    "runs": [{NAME: {type, dims, data}}...]}
// and answers each with a line {before, undefined, ran, after: [{verdict, why, run, output}...]}.
// Models load and run without optimization and with it; outputs that optimization of the original
// changes are not compared: the runtime does not agree with itself on them. A file of the same bytes
// as one that was judged has its verdict. Verdicts:
//   equal; near (not exact by its class, and within what rounding does); inexact (the same, but the
//   class is exact); nan (a NaN is or was there: runtimes treat NaN in comparisons, pools and
//   reductions as their kernels happen to); wrong; optimizer (as the original without
//   optimization, but the runtime's optimization changes it: two QDQ pairs in a row become one, for
//   example); refused-after (does not load, or does not run
//   where the original does); no-kernel (the runtime has no kernel for a node of the original, at
//   the opset that was asked for); doomed (does not load, and the original fails in every run);
//   not-run (the original does not run); left (there is no model).
// before: why the original does not load.
//   {"folder", "model", "nudge": OUTPUT, "original": FILE, "file": FILE, "runs": [one]}
// is answered with {"open": [TEXT] or []}: whether the model, in which each run moves every float by
// another part of its last bits, moves each element of OUTPUT in some run by at least a quarter of
// the difference of `original` and `file`.
// "plain": true, where optimization of a model ends the runtime: without it.
//   {"folder", "model", "probe": {VALUE: OPERATOR}, "runs": [one]}
// is answered with {"open": [VALUE...]}: what has a NaN, or for a pool a -Infinity, or for a Cast or
// a quantization what no integer is, or for a ReduceSum an int64 above 2^53, or for a reduction of
// axes counted from the last no elements.
'use strict';
const fs = require('fs');
const path = require('path');
const readline = require('readline');
const ort = require(path.resolve(process.argv[2], 'node_modules/onnxruntime-node'));
const { fromHalf, generator, givenTensor, makeTensor } = require('./ort_inputs.cjs');

const PLAIN = { logSeverityLevel: 4, graphOptimizationLevel: 'disabled', intraOpNumThreads: 1 };
const OPTIMIZED = { ...PLAIN, graphOptimizationLevel: 'all' };
// What classes other than exact may differ by, beside 1e-5 of the largest element, and beside what
// is lost where terms about 1 cancel (Gelu of -6 is 0 where 1 + Erf is computed).
const RELATIVE = { float16: 2e-2, float32: 1e-3, float64: 1e-9 };
const SMALL = { float16: 1e-3, float32: 1e-6, float64: 1e-14 };

const BAD = ['wrong', 'refused-after'];

const number = (t, i) => (t.type === 'float16' ? fromHalf(t.data[i]) : Number(t.data[i]));

// `empty`: a size that the model does not give is 0, as the runtime makes it up.
const fits = (dims, shape, empty) => shape && dims.length === shape.length &&
  shape.every((n, i) => n < 0 || n === dims[i] || (empty && dims[i] === 0));

// 0: equal bit for bit, but for which NaN; 1: near; 2: one is NaN; 3: none of these.
function distance(a, b, shape) {
  if (a.type !== b.type) return [3, `type ${a.type} became ${b.type}`];
  if (String(a.dims) !== String(b.dims)) {
    // Not the shape that the standard gives, and now it is: the runtime makes up sizes that a body
    // of no rounds does not declare, and reduces an empty tensor to a shape of its own.
    // Of sizes that elements decide it is not known.
    const empty = !a.data.length && !b.data.length;
    if (fits(b.dims, shape, empty) && (empty || !fits(a.dims, shape))) return [0, ''];
    return [3, `shape [${a.dims}] became [${b.dims}]`];
  }
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
      else if (p === q || (Number.isFinite(p - q) && Math.abs(p - q) <=
               SMALL[a.type] + relative * Math.abs(p) + 1e-5 * largest)) level = 1;
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

// What the original computes in each run, without the outputs that optimization changes, and
// whether it runs if it is optimized.
async function expected(session, optimized, feeds) {
  const all = [], also = [];
  let open = 0, why = '';
  for (const feed of feeds) {
    const r = await run(session, feed);
    const second = r.out && optimized ? (await run(optimized, feed)).out : undefined;
    also.push(Boolean(second));
    if (!r.out) {
      all.push(null);
      why = r.why;
      continue;
    }
    const o = second || r.out;
    const kept = {};
    for (const [name, t] of Object.entries(r.out)) {
      if (!t || !t.type) continue;
      if (o && o[name] && distance(t, o[name])[0] < 2) kept[name] = t;
      else open++;
    }
    all.push(kept);
  }
  return { all, also, open, why };
}

async function judge(session, want, feeds, cls, shapes) {
  let worst = 0, what = {}, ran = 0;
  for (let i = 0; i < feeds.length; i++) {
    if (!want[i]) continue;
    const r = await run(session, feeds[i]);
    if (!r.out) return { verdict: 'refused-after', run: i, why: 'run: ' + r.why };
    ran++;
    for (const [name, t] of Object.entries(want[i])) {
      if (!r.out[name]) return { verdict: 'wrong', run: i, why: `output ${name} is gone` };
      const [level, text] = distance(t, r.out[name], shapes[name] && shapes[name][i]);
      if (level > worst) {
        worst = level;
        what = { run: i, output: name, why: `run ${i}: ${name}: ${text}` };
      }
    }
  }
  if (!ran) return { verdict: 'not-run' };
  if (!worst) return { verdict: 'equal' };
  return { verdict: ['', cls === 'exact' ? 'inexact' : 'near', 'nan', 'wrong'][worst], ...what };
}

// A model that does not load. Nodes of the wild models have no names; those that a move makes do,
// after the value and its operator: Min_5_Min is what a Min became.
function refused(why, runs) {
  if (/implementation for (\w+)\(\d+\) node with name '(|\1_\d+_\1)'/.test(why)) return 'no-kernel';
  return runs ? 'refused-after' : 'doomed';
}

async function judgeFile(file, cls, want, feeds, optimized, shapes) {
  let first;
  for (const settings of [PLAIN, OPTIMIZED]) {
    if (settings === OPTIMIZED && !optimized) break;
    const of = settings === PLAIN ? want.all : want.all.map((w, i) => (want.also[i] ? w : null));
    const m = await load(file, settings);
    const r = m.session ? await judge(m.session, of, feeds, cls, shapes)
                        : { verdict: refused(m.why, of.some(x => x)), why: m.why };
    if (m.session) await m.session.release();
    if (settings === PLAIN) first = r;
    else if (BAD.includes(r.verdict) && !BAD.includes(first.verdict)) {
      // A node that is not in the file is one that optimization made; so is a Clip below opset 11
      // whose bounds are in the wrong order (of Relu and Clip <max = -1>). The file loaded, so a
      // node without its producer is in the graph that optimization made (of branches in branches).
      const made = /^Node \((\w+)\)/.exec(r.why);
      const own = r.verdict === 'wrong' || /Clip_6Base.* min_ <= max_ was false/.test(r.why) ||
        /^Invalid model. Node input '.*' is not a graph input, initializer, or output/.test(r.why) ||
        (made && !fs.readFileSync(file, 'latin1').includes(made[1]))
        ? ['equal', 'near', 'inexact'].includes(first.verdict) : false;
      first = { ...r, verdict: own ? 'optimizer' : r.verdict, why: 'optimized: ' + r.why };
    }
    if (first.verdict === 'no-kernel') break;
  }
  return first;
}

async function probe(q) {
  const m = await load(path.join(q.folder, q.model), PLAIN);
  if (!m.session) return { open: [], why: m.why };
  const r = await run(m.session, sets(q.runs)[0]);
  await m.session.release();
  if (!r.out) return { open: [], why: r.why };
  const open = [];
  for (const [name, op] of Object.entries(q.probe)) {
    const t = r.out[name];
    if (!t) continue;
    // Of an empty tensor, ONNX Runtime does not reduce axes that are counted from the last.
    if (op.startsWith('back ') && !t.data.length) open.push(`${name} (${op})`);
    // ONNX Runtime sums int64 in double.
    if (/Reduce(?!M(ax|in))/.test(op)) {
      if (/ReduceSum$/.test(op) && t.type === 'int64' && t.data.some(x => Math.abs(Number(x)) > 2 ** 53))
        open.push(`${name} (${op})`);
      continue;
    }
    if (!RELATIVE[t.type]) continue;
    const bad = x => Number.isNaN(x) || (/Pool/.test(op) && x === -Infinity) ||
      (/Cast|Quantize/.test(op) && !(Math.abs(x) < 2 ** 31));
    for (let i = 0; i < t.data.length; i++) {
      if (!bad(number(t, i))) continue;
      open.push(`${name} (${op})`);
      break;
    }
  }
  return { open };
}

// Of two numbers; NaN, infinities and the like are as far as can be.
function apart(a, b) {
  if (Object.is(a, b) || a === b) return 0;
  const d = Math.abs(a - b);
  return Number.isFinite(d) ? d : Infinity;
}

const NUDGES = 12;

async function nudge(q) {
  const feeds = sets(q.runs)[0], outs = [];
  for (const name of [q.original, q.file, q.model]) {
    const m = await load(path.join(q.folder, name), PLAIN);
    if (!m.session) return { open: [], why: m.why };
    for (let i = 0; i < (name === q.model ? NUDGES : 1); i++) {
      const r = await run(m.session, feeds);
      if (r.out && r.out[q.nudge]) outs.push(r.out[q.nudge]);
    }
    await m.session.release();
  }
  const [a, b, ...moved] = outs;
  if (!moved.length || a.type !== b.type || String(a.dims) !== String(b.dims)) return { open: [] };
  const relative = RELATIVE[a.type] || 0;
  let n = 0;
  for (let i = 0; i < a.data.length; i++) {
    const x = number(a, i), far = apart(x, number(b, i));
    if (far <= relative * Math.abs(x) + (SMALL[a.type] || 0)) continue;
    const most = Math.max(...moved.map(t => (t.data.length > i ? apart(x, number(t, i)) : 0)));
    if (most < far / 4) return { open: [], why: `element ${i} moves by ${most} of ${far}` };
    n++;
  }
  return { open: n ? [`rounding moves ${n} elements of ${q.nudge} as far`] : [] };
}

// Inputs that the generator did not make: what `reduce` makes of values it cuts off.
function fill(session, feeds) {
  feeds.forEach((feed, i) => {
    for (const m of session.inputMetadata || []) {
      if (feed[m.name] || !m.isTensor) continue;
      const dims = (m.shape || []).map(n => (typeof n === 'number' && n >= 0 ? n : 2));
      try {
        feed[m.name] = makeTensor(ort.Tensor, m.type, dims, generator(i + 1));
      } catch { /* of a type that is not drawn: the model does not run */ }
    }
  });
}

async function answer(q) {
  if (q.probe) return probe(q);
  if (q.nudge) return nudge(q);
  const model = path.join(q.folder, q.model);
  const before = await load(model, PLAIN);
  if (!before.session) return { before: before.why, after: [] };
  const optimized = q.plain ? {} : await load(model, OPTIMIZED);
  const feeds = sets(q.runs);
  fill(before.session, feeds);
  const want = await expected(before.session, optimized.session, feeds);
  await before.session.release();
  if (optimized.session) await optimized.session.release();
  const known = new Map(), after = [], ran = want.all.filter(x => x).length;
  // The same bytes compute the same; random operators are not drawn.
  known.set(fs.readFileSync(model, 'latin1'), { verdict: ran ? 'equal' : 'not-run' });
  for (const a of q.after) {
    if (!a.file) {
      after.push({ verdict: 'left', why: a.why });
      continue;
    }
    const file = path.join(q.folder, a.file), bytes = fs.readFileSync(file, 'latin1');
    let r = known.get(bytes) || known.get((a.class === 'exact') + bytes);
    if (!r) {
      r = await judgeFile(file, a.class, want, feeds, optimized.session, q.shapes || {});
      known.set((a.class === 'exact') + bytes, r);
    }
    after.push(r);
  }
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
