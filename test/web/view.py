#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages of `onnxsurg view` in a browser without a window: view.py PROGRAM SOURCE

Each page is drawn, and a script that is added to a copy of it measures what the browser drew: every
text is inside its box, no two boxes overlap, no name of a model covers a box, nothing is reported on
the console. Exit code 77, with the reason, where Chromium is missing."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
SECONDS = 60
IF_LOOP = '''<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (int64 n, float[2,8] x, bool c) => (float[2,8] y, float[K,2,8] all) <float[8] b = {1, 2, 3, 4, 5, 6, 7, 8}> {
  [bias] f = Add (x, b)
  [pick] p = If (c) <
    then_branch = t () => (float[2,8] tp) { a1 = Relu (f) tp = Mul (a1, x) },
    else_branch = e () => (float[2,8] ep) { ep = Neg (f) }>
  [again] y, all = Loop (n, c, p) <
    body = bd (int64 i, bool cond, float[2,8] s) => (bool go, float[2,8] next, float[2,8] each) {
      go = Identity (cond)
      next = local.twice (s)
      each = Add (next, f)
    }>
}
<domain: "local", opset_import: ["" : 17]>
twice (X) => (Y) { Y = Add (X, X) }
'''


def long_graph(n):
    """A chain: most of it is out of sight, and all of it is printed."""
    lines = ['v%d = Relu (v%d)' % (i + 1, i) for i in range(n)]
    return '<ir_version: 8, opset_import: ["" : 17]>\ng (float[2] v0) => (float[2] v%d) {\n%s\n}\n' % (n, '\n'.join(lines))


# Waits until boxes are drawn and stay as many, and puts what it measured into an element of its own.
MEASURE = '''
let drawn = 0, asked = 0;
const waiting = setInterval(() => {
  const n = document.querySelectorAll('.box').length;
  if ((!n || n !== drawn) && asked++ < 90) { drawn = n; return; }
  clearInterval(waiting);
  const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 2;
  const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
  const boxes = [...document.querySelectorAll('.box')].map(g => ({ g, r: [...g.querySelectorAll('.body')].pop().getBoundingClientRect(), pane: g.closest('.pane') }));
  const faults = [];
  for (const { g, r } of boxes)
    for (const t of g.querySelectorAll('text:not(.label)'))
      if (!inside(t.getBoundingClientRect(), r)) faults.push('text outside: ' + t.textContent);
  for (const n of document.querySelectorAll('.pane .name'))
    boxes.forEach(a => { if (a.pane === n.closest('.pane') && !apart(a.r, n.getBoundingClientRect())) faults.push('the name of the model covers a box'); });
  boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => { if (a.pane === b.pane && !apart(a.r, b.r)) faults.push('boxes overlap'); }));
  dispatchEvent(new Event('beforeprint'));
  const printed = [...document.querySelectorAll('#print .box')].map(g => g.dataset.box);
  const pages = document.querySelectorAll('#print figure').length;
  dispatchEvent(new Event('afterprint'));
  const found = { printed: new Set(printed).size, twice: printed.length - new Set(printed).size, pages, boxes: boxes.length, links: document.querySelectorAll('.link').length, faults,
    marked: document.querySelectorAll('.box.d1').length, chosen: document.querySelectorAll('.box.chosen').length, side: document.getElementById('side').textContent,
    path: document.getElementById('path').textContent, dark: document.documentElement.classList.contains('dark') };
  const e = document.createElement('pre');
  e.id = 'measured';
  e.textContent = JSON.stringify(found);
  document.body.append(e);
}, 100);
'''


def measure(browser, page, folder, hash_='light', size='1300,1000'):
    copy = folder / 'measured.html'
    text = page.read_text(encoding='utf-8')
    copy.write_text(text.replace('</body>', '<script>%s</script></body>' % MEASURE), encoding='utf-8')
    done = subprocess.run(
        [browser, '--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--enable-logging=stderr',
         '--user-data-dir=%s' % (folder / 'profile'), '--window-size=' + size, '--virtual-time-budget=10000',
         '--dump-dom', 'file://%s#%s' % (copy, hash_)], capture_output=True, timeout=SECONDS)
    console = [l for l in done.stderr.decode('utf-8', 'replace').splitlines() if 'CONSOLE' in l]
    assert not console, console
    found = re.search(r'<pre id="measured">(.*?)</pre>', done.stdout.decode(), re.S)
    assert found, 'the page was not drawn: %s' % done.stdout[-300:]
    text = found[1]
    for entity, letter in (('&lt;', '<'), ('&gt;', '>'), ('&amp;', '&')):
        text = text.replace(entity, letter)
    m = json.loads(text)
    assert not m['faults'], m['faults'][:5]
    return m


def page_of(tool, model, folder, *options):
    out = folder / 'page.html'
    subprocess.run([tool, 'view', '--layout', 'own', *options, str(model), '-o', str(out)], check=True, timeout=SECONDS)
    return out


def main():
    tool, source = sys.argv[1], pathlib.Path(sys.argv[2])
    browser = next((b for b in BROWSERS if shutil.which(b)), None)
    if not browser:
        print('skipped: no browser (%s)' % ', '.join(BROWSERS))
        return 77
    with tempfile.TemporaryDirectory(prefix='view-') as name:
        folder = pathlib.Path(name)
        cnn = page_of(tool, source / 'examples/models/tiny_cnn.onnxtxt', folder)
        m = measure(browser, cnn, folder, size='1300,1600')
        assert (m['boxes'], m['chosen'], m['dark']) == (14, 0, False), m
        assert 'tiny_cnn.onnxtxt' in m['path'] and 'search' in m['side'], m
        assert (m['printed'], m['twice']) == (14, 0), m
        m = measure(browser, cnn, folder, 'dark&n0')
        assert m['dark'] and m['chosen'] == 1, m
        assert 'inputs' in m['side'] and 'min' in m['side'], m['side']
        (folder / 'if.onnxtxt').write_text(IF_LOOP, encoding='utf-8')
        page = page_of(tool, folder / 'if.onnxtxt', folder)
        m = measure(browser, page, folder)
        assert m['boxes'] == 8 and m['links'] == 10, m
        m = measure(browser, page, folder, 's3')
        assert 'body' in m['path'] and m['boxes'] > 6, m
        page = page_of(tool, folder / 'if.onnxtxt', folder, '--target', 'tensorrt-8.6')
        assert 'tensorrt-8.6' in measure(browser, page, folder)['side']
        subprocess.run([tool, '--quiet', '--pass', 'prune', str(source / 'examples/models/tiny_cnn.onnxtxt'),
                        str(folder / 'b.onnx')], check=True, timeout=SECONDS)
        page = page_of(tool, source / 'examples/models/tiny_cnn.onnxtxt', folder, '--against', str(folder / 'b.onnx'))
        measure(browser, page, folder, size='900,600')
        m = measure(browser, page, folder, size='1500,1600')
        assert m['boxes'] == 14 + 12 and 'removed' in m['side'] and m['marked'] == 2, m
        (folder / 'long.onnxtxt').write_text(long_graph(300), encoding='utf-8')
        m = measure(browser, page_of(tool, folder / 'long.onnxtxt', folder), folder)
        assert m['boxes'] < 100 and m['printed'] == 302 and m['pages'] > 10, m
    print('6 pages drawn')
    return 0


if __name__ == '__main__':
    sys.exit(main())
