// SPDX-License-Identifier: Apache-2.0
// What web/build made, for the tests: skips them, with the reason, where it is missing or old.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

// `top` is the source folder; returns the folder of the package and the page.
export function built(top) {
  const out = join(top, 'build-web'), stamp = join(out, 'stamp');
  if (!existsSync(stamp)) skip('build-web is missing; run web/build');
  const now = spawnSync('python3', [join(top, 'web/assemble.py'), '--stamp', top],
    { encoding: 'utf8' });
  if (now.status !== 0) throw new Error(now.stderr);
  if (now.stdout.trim() !== readFileSync(stamp, 'utf8').trim())
    skip('build-web is older than the sources; run web/build');
  return { package: join(out, 'npm'), page: join(out, 'onnxsurg.html'), out };
}
