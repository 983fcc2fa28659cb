// SPDX-License-Identifier: Apache-2.0
// Whether tensors are as near to each other as computing in another order makes them.
'use strict';
const { fromHalf } = require('./ort_inputs.cjs');

// Relative and absolute tolerance: folding sums in another order than a runtime does.
// With PAIRS_STEP quantized elements of 8 bits may be the neighboring step.
// With PAIRS_SCALED an element may also differ by 1e-5 of the largest of its tensor: rewrites that
// round otherwise, deep down in a model.
const TOLERANCE = { float16: [2e-2, 2e-3], float32: [2e-3, 2e-5], float64: [1e-7, 1e-10] };

// What is too far apart, or null. `slack`: how far each element may be off, beside the tolerance.
function near(a, b, tolerance, slack) {
  let scaled = slack || 0;
  if (process.env.PAIRS_SCALED && (a.type === 'float32' || a.type === 'float64')) {
    for (const v of a.data) if (Math.abs(v) < Infinity) scaled = Math.max(scaled, Math.abs(v));
    scaled = (slack || 0) + scaled * 1e-5;
  }
  for (let i = 0; i < a.data.length; i++) {
    let p = a.data[i], q = b.data[i];
    if (p === q) continue;
    const bytes = a.data.BYTES_PER_ELEMENT === 1 && a.type !== 'bool';
    if (process.env.PAIRS_STEP && bytes && Math.abs(p - q) <= 1) continue;
    if (!tolerance) return `element ${i}: ${p} became ${q}`;
    if (a.data instanceof Uint16Array) [p, q] = [fromHalf(p), fromHalf(q)];
    if (Number.isNaN(p) && Number.isNaN(q)) continue;
    // Nothing but itself is near to an infinity.
    if (Math.abs(p) === Infinity || !(Math.abs(p - q) <= scaled + tolerance[1] + tolerance[0] * Math.abs(p))) {
      return `element ${i}: ${p} became ${q}`;
    }
  }
  return null;
}

// The largest distance between elements of two tensors of floats; 0 if one is infinite or NaN.
function farthest(a, b) {
  let most = 0;
  for (let i = 0; i < a.data.length; i++) most = Math.max(most, Math.abs(a.data[i] - b.data[i]));
  return Number.isFinite(most) ? most : 0;
}

module.exports = { TOLERANCE, farthest, near };
