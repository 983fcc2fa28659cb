// SPDX-License-Identifier: Apache-2.0
// Two models in ONNX Runtime at once.
'use strict';

// Gives the sessions of models a and b to judge(before, after) and releases them. Without one of
// them: which model was refused, and why.
async function both(ort, settings, a, b, judge) {
  let before, after;
  try {
    before = await ort.InferenceSession.create(a, settings);
  } catch (error) {
    return { verdict: 'refused-before', why: error.message };
  }
  try {
    after = await ort.InferenceSession.create(b, settings);
    return await judge(before, after);
  } catch (error) {
    if (after) throw error;
    return { verdict: 'refused-after', why: error.message };
  } finally {
    await before.release();
    if (after) await after.release();
  }
}

module.exports = { both };
