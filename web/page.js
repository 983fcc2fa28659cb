// SPDX-License-Identifier: Apache-2.0
// The page: opens a model, runs commands in the worker, and shows what they print.
'use strict';

const $ = (id) => document.getElementById(id);
const SHOWN = 200; // rows of a table, findings
const MOST_TEXT = 8 << 20; // bytes of a model that is shown as text

// --- the worker ---

let worker = null, ready = null, runs = 0;
const waiting = new Map();

function start() {
  const source = $('worker-source').textContent.replaceAll('<\\/', '</');
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  worker = new Worker(url);
  ready = new Promise((resolve, reject) => {
    worker.onerror = (e) => reject(new Error(e.message || 'the worker does not start'));
    worker.onmessage = ({ data }) => {
      if ('ready' in data) {
        if (data.ready) resolve();
        else reject(new Error(data.why));
        return;
      }
      waiting.get(data.id)?.(data);
      waiting.delete(data.id);
    };
  });
  const packed = atob($('program').textContent);
  const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
  worker.postMessage({ program: bytes }, [bytes.buffer]);
  return ready;
}

class Cancelled extends Error {}

// Runs a command line on files: {name: Blob}.
async function command(args, files = {}) {
  await ready;
  const id = ++runs;
  const result = new Promise((resolve, reject) => {
    waiting.set(id, (r) => (r ? resolve(r) : reject(new Cancelled())));
  });
  worker.postMessage({ id, args, files });
  return result;
}

function cancel() {
  worker.terminate();
  const all = [...waiting.values()];
  waiting.clear();
  start();
  for (const give of all) give(null);
}

// --- state ---

// Versions of the model: {title, name, files, info, check, change}. files[name] is the model.
let versions = [], current = 0, extra = {};
const model = () => versions[current];

class Refused extends Error {}

async function json(args, files, accept) {
  const r = await command(args, files);
  let report = null;
  try {
    report = JSON.parse(r.stdout);
  } catch {
    // the program printed no report: standard error says why
  }
  if (!accept.includes(r.code) || !report)
    throw new Refused(r.stderr.trim() || `exit code ${r.code}`);
  return { report, code: r.code, messages: r.stderr.trim(), files: r.files };
}

// Runs one job: the page stays usable to read, its buttons do not start another.
let busy = false;
async function job(what, work) {
  if (busy) return;
  busy = true;
  $('errors').replaceChildren();
  $('status').className = 'busy';
  $('status').textContent = `${what}…`;
  $('cancel').hidden = false;
  lock(true);
  const began = performance.now();
  try {
    const done = await work();
    const seconds = (performance.now() - began) / 1000;
    $('status').textContent = `${done ?? what} (${seconds.toFixed(seconds < 10 ? 1 : 0)} s)`;
  } catch (e) {
    $('status').textContent = e instanceof Cancelled ? 'Cancelled' : 'Not done';
    if (!(e instanceof Cancelled)) show($('errors'), make('pre', {}, e.message));
  }
  busy = false;
  $('status').className = '';
  $('cancel').hidden = true;
  lock(false);
}
function lock(on) {
  for (const b of document.querySelectorAll('#work button, #work input, #work select, #files'))
    b.disabled = on;
  if (!on) $('verify').disabled = current === 0;
}

// --- making elements ---

function make(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) {
    if (v !== undefined && v !== false) e.setAttribute(k, v === true ? '' : v);
  }
  e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined));
  return e;
}
const show = (place, ...children) =>
  place.replaceChildren(...children.flat(Infinity).filter((c) => c !== null && c !== undefined));

function table(head, rows) {
  const cell = (tag, v) =>
    make(tag, { class: typeof v === 'number' ? 'number' : undefined },
      typeof v === 'number' ? v.toLocaleString('en') : v);
  const shown = rows.slice(0, SHOWN);
  return [
    make('div', { class: 'scroll', tabindex: 0 }, make('table', {},
      make('thead', {}, make('tr', {}, head.map(([title, number]) =>
        make('th', { scope: 'col', class: number ? 'number' : undefined }, title)))),
      make('tbody', {}, shown.map((r) => make('tr', {}, r.map((v) => cell('td', v))))))),
    rows.length > SHOWN ? make('p', { class: 'hint' }, `and ${rows.length - SHOWN} more`) : null,
  ];
}
function size(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let i = 0;
  for (; bytes >= 1024 && i < 3; i++) bytes /= 1024;
  return `${i ? bytes.toFixed(1) : bytes} ${units[i]}`;
}
const count = (n, word) => `${n.toLocaleString('en')} ${word}${n === 1 ? '' : 's'}`;

// --- opening ---

const isModel = (name) => /\.(onnx|onnxtxt|pb)$/i.test(name);

// Files of a drop, also those in folders.
async function dropped(transfer) {
  const out = [];
  const visit = async (entry) => {
    if (entry.isFile) {
      out.push(await new Promise((resolve, reject) => entry.file(resolve, reject)));
    } else {
      const reader = entry.createReader();
      for (;;) {
        const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
        if (!some.length) break;
        for (const e of some) await visit(e);
      }
    }
  };
  const entries = [...transfer.items].map((i) => i.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files];
  for (const e of entries) await visit(e);
  return out;
}

async function look(version) {
  const { name, files } = version;
  version.info = (await json(['info', '--json', '--top', '1000', name], files, [0])).report;
  version.check = (await json(['check', '--json', name], files, [0, 1, 3, 6])).report.files[0];
  return version;
}

// Gives each external data file that the model names the dropped file of that name.
function placed(info, files) {
  const missing = [];
  for (const { name } of info.external_files ?? []) {
    const last = name.split(/[\\/]/).pop();
    if (files[name]) continue;
    if (files[last]) files[name] = files[last];
    else missing.push(name);
  }
  return missing;
}

async function openFiles(list) {
  const main = list.find((f) => isModel(f.name)) ?? (versions.length ? null : list[0]);
  if (!main && !list.length) return;
  await job(main ? `Reading ${main.name}` : 'Reading data files', async () => {
    if (main) extra = {};
    for (const f of list) if (f !== main) extra[f.name] = f;
    const name = main ? main.name : versions[0].name;
    const files = { ...extra, [name]: main ?? versions[0].files[name] };
    const first = { title: 'original', name, files };
    const about = await json(['info', '--json', '--top', '1000', name], files, [0]).catch((e) => {
      if (e instanceof Refused) return null; // the findings say why
      throw e;
    });
    first.info = about?.report ?? null;
    const missing = first.info ? placed(first.info, files) : [];
    first.check = (await json(['check', '--json', name], files, [0, 1, 3, 6])).report.files[0];
    versions = [first];
    $('verified').hidden = true;
    select(0);
    $('work').hidden = false;
    if (missing.length)
      show($('errors'), make('pre', {}, `missing data file${missing.length > 1 ? 's' : ''}: ` +
        `${missing.join(', ')}; drop ${missing.length > 1 ? 'them' : 'it'} here, too`));
    return `Read ${name}`;
  });
}

// --- showing ---

function select(i) {
  current = i;
  drawVersions();
  drawReport();
  drawFindings(model().check);
  drawChanges();
  $('text').open = false;
  $('verify').disabled = current === 0;
}

function drawVersions() {
  show($('versions'), versions.map((v, i) => {
    const radio = make('input', { type: 'radio', name: 'version', value: i });
    radio.checked = i === current;
    radio.addEventListener('change', () => select(i));
    return make('li', {}, make('label', {}, radio, make('span', {},
      i === 0 ? v.name : v.title, ' ', make('small', {},
        `${size(v.files[v.name].size)}${v.info ? `, ${count(v.info.nodes, 'node')}` : ''}`))));
  }));
}

function drawReport() {
  const { info } = model();
  if (!info) {
    show($('report'), make('p', {}, 'The model cannot be read.'));
    return;
  }
  const opsets = Object.entries(info.opset_imports)
    .map(([domain, v]) => `${domain || 'ai.onnx'} ${v}`).join(', ');
  const facts = [
    ['Format', `IR ${info.ir_version}; opset ${opsets}`],
    ['Nodes', [info.nodes.toLocaleString('en'),
      ...(info.subgraphs ? [count(info.subgraphs, 'subgraph')] : []),
      ...(info.functions ? [count(info.functions, 'function')] : [])].join(', ')],
    ['Weights', `${count(info.parameters, 'parameter')}, ${size(info.weight_bytes)}`],
    ...(info.flops ? [['Operations', `${info.flops.toLocaleString('en')} for one run` +
      `${info.uncounted?.size_unknown ? ', of the nodes with known sizes' : ''}`]] : []),
    ...(info.external_files?.length
      ? [['Data files', info.external_files.map((f) => f.name).join(', ')]] : []),
  ];
  const values = (list) => list.map((v) => [make('code', {}, v.name), make('code', {}, v.type)]);
  show($('report'),
    make('dl', {}, facts.map(([k, v]) => [make('dt', {}, k), make('dd', {}, v)])),
    make('h3', {}, 'Inputs'), table([['Name'], ['Type']], values(info.inputs)),
    make('h3', {}, 'Outputs'), table([['Name'], ['Type']], values(info.outputs)),
    make('h3', {}, 'Operators'),
    table([['Operator'], ['Nodes', true]], Object.entries(info.ops)),
    info.top?.length ? [make('h3', {}, 'Most expensive nodes'),
      table([['Node'], ['Operations', true]],
        info.top.map((n) => [make('code', {}, n.node), n.flops]))]
      : null);
}

const verdicts = {
  supported: ['good', 'supported'], unsupported: ['bad', 'unsupported'],
  unknown: ['unsure', 'support is unknown'],
};

function drawFindings(check) {
  const list = check.findings.slice(0, SHOWN).map((f) =>
    make('div', { class: `finding ${f.severity}` },
      make('strong', {}, `${f.severity} ${f.code ?? ''}`), ` ${f.text}`,
      make('small', {}, f.where ?? '', f.hint ? ` — ${f.hint}` : '')));
  const more = check.findings.length - list.length + (check.hidden ?? 0);
  const t = check.target, about = [];
  if (t) {
    const [kind, words] = verdicts[t.verdict] ?? ['unsure', t.verdict];
    about.push(make('p', {}, make('strong', { class: kind }, `${t.name}: ${words}`),
      t.verdict !== 'unsupported' ? '' : t.repair === 'none' || !t.pipeline
        ? '; no repair is known' : `; a repair is known: ${t.repair}` +
          `${t.consent ? `, with ${t.consent}` : ''}`));
  }
  if (!list.length && !t) about.push(make('p', {}, 'No problems found.'));
  show($('findings'), about, list,
    more > 0 ? make('p', { class: 'hint' }, `and ${more} more`) : null);
}

function drawChanges() {
  const v = model(), before = v.from?.info, after = v.info;
  $('changes-section').hidden = !v.change;
  if (!v.change) return;
  const rows = [];
  if (before && after) {
    rows.push(['nodes', before.nodes, after.nodes],
      ['parameters', before.parameters, after.parameters]);
    for (const op of [...new Set([...Object.keys(before.ops), ...Object.keys(after.ops)])].sort()) {
      const a = before.ops[op] ?? 0, b = after.ops[op] ?? 0;
      if (a !== b) rows.push([op, a, b]);
    }
  }
  const { exactness, pipeline, notes, line } = v.change;
  show($('changes'),
    make('dl', {},
      [make('dt', {}, 'Exactness'), make('dd', {}, explain(exactness))],
      pipeline ? [make('dt', {}, 'Passes'), make('dd', {}, make('code', {}, pipeline))] : [],
      [make('dt', {}, 'Command'), make('dd', {}, make('code', {}, line))]),
    rows.length ? table([[''], ['Before', true], ['After', true]], rows) : null,
    notes ? [make('h3', {}, 'Notes'), make('pre', { tabindex: 0 }, notes)] : null);
}
function explain(exactness) {
  const words = {
    exact: 'exact: the same bits, for every input',
    ulp: 'ulp: outputs differ by at most a few units in the last place',
    rounding: 'rounding: outputs differ only by rounding',
    approx: 'approx: an error without a bound',
    lossy: 'lossy: the model computes something else',
  };
  return words[exactness] ?? exactness;
}

// --- changing ---

// Runs a command that writes the model in place, and adds the result to the versions.
async function change(title, args, accept, describe) {
  const from = model();
  const r = await json([...args, '--no-fsync', from.name, from.name], from.files, accept);
  const { [from.name]: bytes, ...data } = r.files;
  const change = {
    ...describe(r.report), notes: r.messages,
    line: ['onnxsurg', ...args.filter((a) => a !== '--json').map(quoted), quoted(from.name), 'OUT']
      .join(' '),
  };
  if (r.code === 1) {
    const remain = (r.report.remain ?? []).map((o) => `${o.where}: ${o.text}`);
    const n = r.report.before ?? 0;
    throw new Refused([
      `${from.name}: unsupported by ${r.report.target} for ${count(n, 'reason')}; some remain`,
      ...remain,
      r.report.would_help
        ? `would help, and needs consent (${r.report.consent}): ${r.report.would_help}` : '',
      r.messages].filter(Boolean).join('\n'));
  }
  if (!bytes) return 'No change: already supported';
  const files = { ...from.files, ...data, [from.name]: bytes };
  const next = await look({ title, name: from.name, files, from, change });
  versions = [...versions, next];
  select(versions.length - 1);
  $('verified').hidden = true;
  return `${title}: ${explain(change.exactness)}`;
}
const quoted = (word) =>
  (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
const edited = (report) => ({
  exactness: report.run.exactness, pipeline: '',
});

const target = () => $('version').value;

$('repair').addEventListener('submit', (e) => {
  e.preventDefault();
  const allow = [...document.querySelectorAll('[name=allow]:checked')].map((c) => c.value);
  const t = target();
  job(`Repairing for ${t}`, () =>
    change(`repaired for ${t}`,
      ['repair', '--json', '--target', t, ...(allow.length ? ['--allow', allow.join(',')] : [])],
      [0, 1, 6], (r) => ({ exactness: r.exactness, pipeline: r.pipeline })));
});
$('judge').addEventListener('click', () => {
  const v = model(), t = target();
  job(`Checking for ${t}`, async () => {
    const r = await json(['check', '--json', '--target', t, v.name], v.files, [0, 1, 3, 6]);
    drawFindings(r.report.files[0]);
    $('findings-title').scrollIntoView({ block: 'start' });
    return `${t}: ${(verdicts[r.report.files[0].target?.verdict] ?? ['', 'invalid model'])[1]}`;
  });
});
$('simplify').addEventListener('submit', (e) => {
  e.preventDefault();
  job('Simplifying', () =>
    change('simplified', [$('exact').checked ? 'simplify-exact' : 'simplify', '--json'], [0],
      edited));
});
$('convert').addEventListener('submit', (e) => {
  e.preventDefault();
  const to = $('opset').value;
  job(`Converting to opset ${to}`, () =>
    change(`opset ${to}`, ['opset', '--to', to, '--json'], [0], edited));
});
$('mend').addEventListener('submit', (e) => {
  e.preventDefault();
  job('Mending', () => change('mended', ['mend', '--json'], [0], edited));
});
$('verify').addEventListener('click', () => {
  const a = versions[0], b = model();
  const under = (folder, files) =>
    Object.fromEntries(Object.entries(files).map(([n, f]) => [`${folder}/${n}`, f]));
  job('Running both models on the same inputs', async () => {
    const r = await command(['verify', `before/${a.name}`, `after/${b.name}`],
      { ...under('before', a.files), ...under('after', b.files) });
    if (r.code > 1) throw new Refused(r.stderr.trim());
    $('verified').hidden = false;
    $('verified').textContent = [r.stdout.trimEnd(), r.stderr.trimEnd()].filter(Boolean).join('\n');
    return r.code === 0 ? 'All outputs agree' : 'Outputs differ, or nothing could be compared';
  });
});
$('download').addEventListener('click', () => {
  const { name, files, title } = model(), original = versions[0].files;
  const words = title.replaceAll(/[^\w.-]+/g, '-');
  const save = (as, blob) => {
    const a = make('a', { href: URL.createObjectURL(blob), download: as });
    document.body.append(a);
    a.click();
    a.remove();
    setTimeout(() => URL.revokeObjectURL(a.href), 60000);
  };
  save(current ? name.replace(/(\.\w+)?$/, `-${words}$1`) : name, files[name]);
  // Data files that the change wrote; the model finds them under these names.
  for (const [n, f] of Object.entries(files))
    if (n !== name && f !== original[n]) save(n.split('/').pop(), f);
});
$('text').addEventListener('toggle', () => {
  const v = model(), place = $('text').querySelector('pre');
  if (!$('text').open) return;
  if (v.files[v.name].size > MOST_TEXT) {
    place.textContent = `The model has more than ${size(MOST_TEXT)}: onnxsurg cat prints it.`;
    return;
  }
  job('Printing the model', async () => {
    const r = await command(['cat', v.name], v.files);
    if (r.code) throw new Refused(r.stderr.trim());
    place.textContent = r.stdout;
    return 'Printed';
  });
});

// --- starting ---

$('files').addEventListener('change', () => openFiles([...$('files').files]));
$('open').addEventListener('submit', (e) => e.preventDefault());
$('cancel').firstElementChild.addEventListener('click', cancel);
for (const type of ['dragover', 'dragleave', 'drop'])
  document.addEventListener(type, async (e) => {
    e.preventDefault();
    $('open').classList.toggle('over', type === 'dragover');
    if (type === 'drop') openFiles(await dropped(e.dataTransfer));
  });

// onnxruntime-web-webgl-1.14 -> the engine onnxruntime-web-webgl, version 1.14.
function engines(names) {
  const out = new Map();
  for (const name of names) {
    const [, engine, version] = /^(.*?)-(\d.*|main)$/.exec(name) ?? [null, name, ''];
    if (!out.has(engine)) out.set(engine, []);
    out.get(engine).push([version, name]);
  }
  const order = new Intl.Collator('en', { numeric: true });
  for (const list of out.values()) list.sort((a, b) => order.compare(b[0], a[0]));
  return out;
}

$('files').disabled = true;
start().then(async () => {
  const all = engines((await json(['targets', '--json'], {}, [0])).report.targets);
  const fill = () =>
    show($('version'),
      all.get($('engine').value).map(([v, name]) => make('option', { value: name }, v)));
  show($('engine'), [...all.keys()].map((e) => make('option', { value: e }, e)));
  $('engine').value = all.has('onnxruntime') ? 'onnxruntime' : [...all.keys()][0];
  $('engine').addEventListener('change', fill);
  fill();
  $('opset').value = 17;
  $('files').disabled = false;
  $('status').textContent = 'Ready';
}).catch((e) => {
  $('status').textContent = 'The program does not start in this browser';
  show($('errors'), make('pre', {}, e.message));
});
