'use strict';
// Draws the scenes of a model: boxes and links have their positions already. See lib/view/page.c
// for the data: a box is [kind, node or value, x, y, w, h, family, mark, lines, labels], a link is
// [from, to, value, path].

const NODE = 0, INPUT = 1, OUTPUT = 2, OUTER = 3, GROUP = 4;
const INNER = 3;
const NAME_HEIGHT = 30; // of the name of a model above its pane
const READABLE = 0.8; // the smallest scale of a picture that was opened
const TOP_MOST = 500; // boxes of the first sight that are counted
const SVG = 'http://www.w3.org/2000/svg';
const data = JSON.parse(document.getElementById('data').textContent);
const side = document.getElementById('side');

function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (k === 'onclick') e.addEventListener('click', v);
    else e.setAttribute(k, v);
  }
  e.append(...children);
  return e;
}

function draw(parent, tag, attributes, text) {
  const e = document.createElementNS(SVG, tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  parent.appendChild(e);
  return e;
}

// ---- the model: who makes and reads which value, where each node is drawn ------------------------

function prepare(model) {
  model.name = model.title.slice(model.title.lastIndexOf('/') + 1);
  for (const v of model.values) { v.from = -1; v.to = []; }
  model.nodes.forEach((n, i) => {
    n.i.forEach(v => { if (v >= 0) model.values[v].to.push(i); });
    n.y.forEach(v => { if (v >= 0) model.values[v].from = i; });
    n.marks = [];
  });
  model.scenes.forEach((s, k) => s.b.forEach((b, i) => {
    if (b[0] === NODE) { model.nodes[b[1]].scene = k; model.nodes[b[1]].box = i; }
  }));
  model.marks.forEach(m => { if (m[0] >= 0) model.nodes[m[0]].marks.push(m); });
  for (const s of model.scenes) {
    s.links = s.l.map(l => {
      const numbers = (l[3].match(/-?\d+(\.\d+)?/g) || []).map(Number), from = s.b[l[0]], to = s.b[l[1]];
      let low = Math.min(from[2], to[2]), high = Math.max(from[2] + from[4], to[2] + to[4]);
      for (const x of numbers) if (x <= s.w) { low = Math.min(low, x); high = Math.max(high, x); }
      return { from: l[0], to: l[1], value: l[2], path: l[3], left: low, right: high,
               top: Math.min(from[3], to[3]), bottom: Math.max(from[3] + from[5], to[3] + to[5]) };
    });
  }
}

function formal(model, node, i, output) {
  const s = node.s >= 0 ? model.schemas[node.s] : null, list = s && (output ? s.y : s.i);
  return list && list.length ? list[Math.min(i, list.length - 1)] : '#' + i;
}

function place(model, node) {
  return model.scenes[node.scene].g + '.node[' + node.p + ']';
}

// ---- a pane: one model, one scene at a time -------------------------------------------------------

class Pane {
  constructor(model, parent) {
    this.model = model;
    this.root = make('div', { class: 'pane', tabindex: '0', 'aria-label': 'graph of ' + model.title });
    parent.appendChild(this.root);
    this.svg = draw(this.root, 'svg', {});
    const marker = draw(draw(this.svg, 'defs', {}), 'marker', { id: 'tip', viewBox: '0 0 8 8', refX: 7,
      refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto', markerUnits: 'userSpaceOnUse' });
    draw(marker, 'path', { class: 'tip', d: 'M0 1L8 4L0 7z' });
    this.paper = draw(this.svg, 'g', {});
    this.lower = draw(this.paper, 'g', {});
    this.upper = draw(this.paper, 'g', {});
    this.shown = new Map();
    this.chosen = -1;
    this.value = -1;
    this.listen();
  }

  open(scene, keep) {
    active = this;
    this.scene = scene;
    this.chosen = this.value = -1;
    this.clear();
    if (!keep) this.fit();
    this.changed();
  }

  clear() {
    this.lower.replaceChildren();
    this.upper.replaceChildren();
    this.shown.clear();
  }

  get view() { return this.model.scenes[this.scene]; }

  // The whole scene, or from its top at a readable size.
  fit(whole) {
    const top = this.root.querySelector('.name') ? NAME_HEIGHT : 0;
    const w = this.root.clientWidth, h = this.root.clientHeight - top, s = this.view;
    this.scale = whole ? Math.min(1, w / s.w, h / s.h) : Math.min(1, Math.max(READABLE, Math.min(w / s.w, h / s.h)));
    this.x = s.w * this.scale <= w ? (w - s.w * this.scale) / 2 : this.topBox(w);
    this.y = top + (s.h * this.scale <= h ? (h - s.h * this.scale) / 2 : 0);
    const other = follow(this);
    if (other && !whole && other.y < top) this.y += top - other.y; // its first row would be out of sight
    this.update();
  }

  // Where a scene is wider than the pane, that box of its top is in the middle which has the most
  // others around it.
  topBox(w) {
    const high = this.root.clientHeight / this.scale, half = w / 2 / this.scale;
    const first = this.view.b.filter(b => b[3] < high).slice(0, TOP_MOST);
    const middle = b => b[2] + b[4] / 2;
    let best = 0, most = -1;
    for (const b of first) {
      const n = first.reduce((sum, o) => sum + (Math.abs(middle(o) - middle(b)) < half ? 1 : 0), 0);
      if (n > most) { most = n; best = middle(b); }
    }
    return w / 2 - best * this.scale;
  }

  zoom(factor, x = this.root.clientWidth / 2, y = this.root.clientHeight / 2) {
    const scale = Math.min(4, Math.max(0.02, this.scale * factor));
    this.x = x - (x - this.x) * scale / this.scale;
    this.y = y - (y - this.y) * scale / this.scale;
    this.scale = scale;
    this.update();
  }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.update();
  }

  update() {
    if (this.waiting) return;
    this.waiting = true;
    const draw = () => {
      if (this.waiting) this.show();
      this.waiting = false;
    };
    requestAnimationFrame(draw);
    setTimeout(draw, 250); // a page that is not in sight is given no animation frame
  }

  // Draws what is in sight, and removes what is not.
  show() {
    const s = this.view, w = this.root.clientWidth, h = this.root.clientHeight;
    const left = -this.x / this.scale - 100, top = -this.y / this.scale - 100;
    const right = left + w / this.scale + 200, bottom = top + h / this.scale + 200;
    this.paper.setAttribute('transform', `translate(${this.x} ${this.y}) scale(${this.scale})`);
    this.paper.setAttribute('class', this.scale < 0.22 ? 'tiny' : '');
    const seen = new Set();
    s.b.forEach((b, i) => {
      if (b[2] > right || b[2] + b[4] + 200 < left || b[3] > bottom || b[3] + b[5] + 20 < top) return;
      seen.add('b' + i);
      if (!this.shown.has('b' + i)) this.shown.set('b' + i, this.drawBox(b, i));
    });
    s.links.forEach((l, i) => {
      if (!l.path || l.left > right || l.right < left || l.top > bottom || l.bottom < top) return;
      seen.add('l' + i);
      if (!this.shown.has('l' + i)) this.shown.set('l' + i, this.drawLink(l));
    });
    for (const [key, e] of this.shown) {
      if (!seen.has(key)) { e.remove(); this.shown.delete(key); }
    }
    follow(this);
  }

  drawLink(l, parent = this.lower) {
    const chosen = this.chosen >= 0 ? l.from === this.chosen || l.to === this.chosen : l.value >= 0 && l.value === this.value;
    return draw(parent, 'path', { class: 'link' + (chosen ? ' chosen' : ''), d: l.path,
      'marker-end': 'url(#tip)' });
  }

  drawBox(b, i, parent = this.upper) {
    const [kind, ref, x, y, w, h, family, mark, lines, labels, change] = b;
    const box = kind === NODE || kind === GROUP, bar = lines.length > 1 ? 23 : h;
    const chosen = i === this.chosen || (this.value >= 0 && !box && ref === this.value);
    const g = draw(parent, 'g', { class: `box k${kind} f${family}${mark >= 0 ? ' m' + mark : ''}` +
      `${change & 3 ? ' d' + (change & 1 || 2) : ''}${chosen ? ' chosen' : ''}`, transform: `translate(${x} ${y})`, 'data-box': i });
    if (kind === GROUP) draw(g, 'rect', { class: 'body', x: 4, y: 4, width: w, height: h, rx: 4 });
    draw(g, 'rect', { class: 'body', width: w, height: h, rx: box ? 4 : 12 });
    if (box)
      draw(g, 'path', { class: 'bar', d: `M1 ${bar - (lines.length > 1 ? 0 : 1)}V4a3 3 0 0 1 3 -3h${w - 8}` +
        `a3 3 0 0 1 3 3V${bar - (lines.length > 1 ? 0 : 1)}z` });
    let at = 2;
    for (const [lineKind, text, to] of lines) {
      const title = lineKind === 0;
      const t = draw(g, 'text', { class: title ? 't' : 'l' + lineKind, x: 10, y: at + (title ? 16 : 11) }, text);
      if (lineKind === INNER && to >= 0) t.dataset.scene = to;
      else if (to >= 0) t.dataset.value = to;
      at += title ? 21 : 14;
    }
    for (const [dx, text, value] of labels)
      if (text) draw(g, 'text', { class: 'label', x: dx + 4, y: h + 11, 'data-value': value }, text);
    return g;
  }

  listen() {
    const fingers = new Map();
    let moved = 0, apart = 0;
    this.root.addEventListener('wheel', e => {
      e.preventDefault();
      const box = this.root.getBoundingClientRect(), unit = e.deltaMode ? 20 : 1;
      if (e.ctrlKey || e.metaKey) this.zoom(Math.exp(-e.deltaY * unit / 300), e.clientX - box.left, e.clientY - box.top);
      else if (e.shiftKey) this.pan(-(e.deltaY || e.deltaX) * unit, 0);
      else this.pan(-e.deltaX * unit, -e.deltaY * unit);
    }, { passive: false });
    this.root.addEventListener('pointerdown', e => {
      fingers.set(e.pointerId, e);
      moved = apart = 0;
      active = this;
    });
    this.root.addEventListener('pointermove', e => {
      const last = fingers.get(e.pointerId);
      if (!last) return;
      const dx = e.clientX - last.clientX, dy = e.clientY - last.clientY;
      moved += Math.abs(dx) + Math.abs(dy);
      fingers.set(e.pointerId, e);
      if (fingers.size === 2) {
        const [a, b] = [...fingers.values()], now = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
        const box = this.root.getBoundingClientRect();
        if (apart) this.zoom(now / apart, (a.clientX + b.clientX) / 2 - box.left, (a.clientY + b.clientY) / 2 - box.top);
        apart = now;
      } else if (moved > 4) {
        if (!this.root.hasPointerCapture(e.pointerId)) this.root.setPointerCapture(e.pointerId);
        this.pan(dx, dy);
      }
    });
    for (const end of ['pointerup', 'pointercancel'])
      this.root.addEventListener(end, e => { fingers.delete(e.pointerId); apart = 0; });
    this.root.addEventListener('click', e => { if (moved <= 4) this.click(e.target); });
    this.root.addEventListener('dblclick', e => {
      const g = e.target.closest('[data-box]');
      if (g) this.enter(+g.dataset.box);
    });
  }

  click(target) {
    const g = target.closest('[data-box]');
    if (target.dataset.scene) return this.open(+target.dataset.scene);
    if (target.dataset.value && !target.classList.contains('t')) return this.chooseValue(+target.dataset.value);
    if (g) return this.choose(+g.dataset.box);
    this.choose(-1);
  }

  // Opens the first graph that a box contains.
  enter(i) {
    const line = i >= 0 && this.view.b[i][8].find(l => l[0] === INNER && l[2] >= 0);
    if (line) this.open(line[2]);
  }

  leave() {
    const s = this.view, node = s.owner;
    if (s.up < 0) return;
    const from = this.scene;
    this.open(s.up);
    if (node >= 0) this.goTo(node);
    else this.reveal(this.view.b.findIndex(b => b[0] === GROUP && b[8].some(l => l[2] === from)));
  }

  choose(i) {
    this.chosen = i;
    this.value = -1;
    this.clear();
    this.update();
    this.changed();
  }

  chooseValue(v) {
    this.chosen = -1;
    this.value = v;
    this.clear();
    this.update();
    this.changed();
  }

  // Moves box i into the middle, at a readable size.
  reveal(i) {
    if (i < 0) return;
    const b = this.view.b[i];
    if (this.scale < 0.6) this.scale = 0.9;
    this.x = this.root.clientWidth / 2 - (b[2] + b[4] / 2) * this.scale;
    this.y = this.root.clientHeight / 2 - (b[3] + b[5] / 2) * this.scale;
    this.choose(i);
  }

  goTo(node) {
    const n = this.model.nodes[node], pair = panes.length > 1 && panes[1 - panes.indexOf(this)].model.nodes[n.pair];
    if (pair && pair.scene !== undefined) {
      const other = panes[1 - panes.indexOf(this)];
      if (other.scene !== pair.scene) other.open(pair.scene, true);
    }
    if (n.scene !== this.scene) this.open(n.scene, true);
    this.reveal(n.box);
  }

  // The next box in a direction: a consumer, a producer, a neighbour in the row.
  step(key) {
    const s = this.view, at = this.chosen;
    if (key === 'ArrowDown') return this.reveal(Math.min(...s.links.filter(l => l.from === at).map(l => l.to), Infinity));
    if (key === 'ArrowUp') {
      const l = s.links.find(x => x.to === at);
      return l && this.reveal(l.from);
    }
    const b = s.b[at], right = key === 'ArrowRight';
    let best = -1;
    s.b.forEach((o, i) => {
      if (o[3] !== b[3] || (right ? o[2] <= b[2] : o[2] >= b[2])) return;
      if (best < 0 || Math.abs(o[2] - b[2]) < Math.abs(s.b[best][2] - b[2])) best = i;
    });
    this.reveal(best);
  }

  changed() {
    active = this;
    breadcrumbs(this);
    details(this);
  }
}

// ---- the side: details, findings, search ----------------------------------------------------------

function breadcrumbs(pane) {
  const list = [];
  for (let s = pane.scene; s >= 0; s = pane.model.scenes[s].up) list.unshift(s);
  const nav = document.getElementById('path');
  nav.replaceChildren(make('span', { class: 'note', title: pane.model.title }, pane.model.name + ': '));
  list.forEach((s, i) => {
    if (i) nav.append(' › ');
    nav.append(make('button', { class: 'plain', onclick: () => pane.open(s) }, pane.model.scenes[s].t || 'graph'));
  });
}

function section(title, ...content) {
  if (content.length) side.append(make('h3', {}, title), ...content);
}

function table(rows) {
  const dl = make('dl');
  for (const [k, v] of rows) dl.append(make('dt', {}, k), make('dd', {}, v));
  return dl;
}

function nodeButton(pane, i) {
  const n = pane.model.nodes[i], made = n.y.length && n.y[0] >= 0 ? pane.model.values[n.y[0]].n : '';
  return make('button', { class: 'plain mono', onclick: () => pane.goTo(i) },
    n.o + (n.n ? ' "' + n.n + '"' : made ? ' → ' + made : ''));
}

function valueButton(pane, v) {
  const value = pane.model.values[v];
  return make('button', { class: 'plain mono', onclick: () => pane.chooseValue(v) }, value.n || '(no name)');
}

function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  for (; n >= 1024 && i + 1 < units.length; i++) n /= 1024;
  return (i ? n.toFixed(1) : n) + ' ' + units[i];
}

// Statistics of a constant: numbers, and a histogram.
function weights(value) {
  const div = make('div', { class: 'mono' });
  if (value.bytes !== undefined) div.append(make('div', {}, bytes(value.bytes)));
  if (!value.w) {
    if (value.bytes !== undefined) div.append(make('div', { class: 'note' }, 'elements not read'));
    return div;
  }
  const [count, read, zeros, nans, infinities, low, high, mean, deviation, bins] = value.w;
  if (count === 1) div.append(make('div', {}, 'value ' + low));
  else div.append(make('div', {}, `min ${low}  max ${high}`), make('div', {}, `mean ${mean}  std ${deviation}`),
    make('div', {}, `zeros ${zeros}` + (nans ? `  NaN ${nans}` : '') + (infinities ? `  infinite ${infinities}` : '')));
  if (read < count) div.append(make('div', { class: 'note' }, `of ${read} of ${count} elements`));
  const most = Math.max(...bins, 1);
  if (count > 1 && low < high) {
    const svg = draw(div, 'svg', { class: 'bars', width: 240, height: 40, role: 'img', 'aria-label': 'histogram' });
    bins.forEach((n, i) => {
      const h = n ? Math.max(1, 40 * n / most) : 0;
      draw(svg, 'rect', { x: i * 12, y: 40 - h, width: 11, height: h });
    });
  }
  return div;
}

function ends(pane, list, ids, node, output) {
  ids.forEach((v, i) => {
    const div = make('div', {}, formal(pane.model, node, i, output) + ' ');
    list.append(div);
    if (v < 0) return div.append(make('span', { class: 'note' }, 'absent'));
    const value = pane.model.values[v];
    div.append(valueButton(pane, v), make('div', { class: 'note' }, value.t || 'type unknown'));
    if (value.bytes !== undefined) div.append(weights(value));
  });
}

function nodeDetails(pane, node) {
  const m = pane.model, schema = node.s >= 0 ? m.schemas[node.s] : null;
  side.append(make('h2', {}, node.o));
  const rows = [['name', node.n || '(none)'], ['place', place(m, node)]];
  if (node.d) rows.push(['domain', node.d]);
  if (schema) rows.push(['version', String(schema.v)]);
  side.append(table(rows));
  marks(pane, node.marks, 'findings');
  const inner = m.scenes[node.scene].b[node.box][8].filter(l => l[0] === INNER);
  if (inner.length)
    section('contains', ...inner.map(l => l[2] >= 0
      ? make('div', {}, make('button', { class: 'plain', onclick: () => pane.open(l[2]) }, l[1]))
      : make('div', { class: 'note' }, l[1] + ' (not in this page: --limit)')));
  if (node.a.length) section('attributes', table(node.a));
  const inputs = make('div', { class: 'list' }), outputs = make('div', { class: 'list' });
  ends(pane, inputs, node.i, node, false);
  ends(pane, outputs, node.y, node, true);
  for (const [list, more] of [[inputs, node.more_i], [outputs, node.more_y]])
    if (more) list.append(make('div', { class: 'note' }, `and ${more} more`));
  if (node.i.length) section('inputs', inputs);
  if (node.y.length) section('outputs', outputs);
  if (node.m) section('metadata', table(node.m));
}

function valueDetails(pane, v) {
  const m = pane.model, value = m.values[v];
  side.append(make('h2', {}, value.n), make('div', { class: 'mono' }, value.t || 'type unknown'));
  if (value.bytes !== undefined) section('elements', weights(value));
  if (value.from >= 0) section('producer', nodeButton(pane, value.from));
  const readers = [...new Set(value.to)];
  section('consumers', ...(readers.length ? readers.slice(0, 200).map(i => make('div', {}, nodeButton(pane, i)))
    : [make('div', { class: 'note' }, 'none in this page')]));
}

function marks(pane, list, title) {
  if (!list.length) return;
  const div = make('div', { class: 'list' }), times = new Map();
  for (const m of list) times.set(String(m), (times.get(String(m)) || 0) + 1);
  for (const m of list) {
    const [node, severity, code, text, pass, where] = m, n = times.get(String(m));
    if (!times.delete(String(m))) continue; // the same again
    const kind = ['unknown', 'warning', 'error'][severity];
    const row = make('div', {}, make('span', { class: severity === 2 ? 'bad' : 'unsure' }, kind + ' ' + code + ' '));
    row.append(node >= 0 ? make('button', { class: 'plain mono', onclick: () => pane.goTo(node) }, where)
      : make('span', {}, where), ': ' + text + (pass ? ' (pass ' + pass + ')' : '') + (n > 1 ? `, ${n} times` : ''));
    div.append(row);
  }
  section(title, div);
}

function summary(pane) {
  const m = pane.model, s = pane.view;
  side.append(make('h2', { title: m.title }, m.name), table(m.facts));
  if (m.target) side.append(make('h3', {}, 'target'), table([[m.target, m.verdict]]));
  marks(pane, m.marks, m.target ? 'what ' + m.target + ' does not support, or is unknown' : 'findings');
  if (m.hidden) side.append(make('div', { class: 'note' }, 'and ' + m.hidden + ' more findings'));
  differences();
  section('this graph', table([['place', s.g], ['nodes', String(s.n)]]));
  const used = new Set(s.b.filter(b => b[0] === NODE).map(b => b[6]));
  const legend = make('div', { class: 'legend' });
  m.families.forEach((name, i) => {
    if (used.has(i)) legend.append(make('div', {}, make('span', { class: 'swatch', style: `background: var(--f${i})` }), name));
  });
  if (used.size) section('colours', legend);
  section('keys', table([['/', 'search'], ['+ - 0 Home', 'zoom, fit all, top'], ['arrows', 'move; from a node: to its neighbours'],
    ['Enter', 'open a subgraph, function or folder'], ['Backspace', 'back to what contains it'],
    ['f', 'next finding'], ['t', 'light or dark'], ['Esc', 'no selection'], ['wheel', 'move; with Ctrl: zoom']]));
}

// What differs, edits before names; a click shows the node in its pane.
function differences() {
  if (!data.diff) return;
  const d = data.diff, list = make('div', { class: 'list' });
  for (const [level, change, a, b, where, what, before, after, note] of d.items) {
    const word = ['changed', 'removed', 'added'][change], node = a >= 0 ? a : b, pane = panes[a >= 0 ? 0 : 1];
    const row = make('div', {}, make('span', { class: level === 0 ? ['unsure', 'bad', 'good'][change] : 'note' }, word + ' '));
    row.append(node >= 0 ? make('button', { class: 'plain mono', onclick: () => pane.goTo(node) }, where) : where);
    row.append([what && ' ' + what, before || after ? ': ' + (change ? before || after : (before || 'none') + ' → ' + (after || 'none')) : '', note && ' (' + note + ')'].join(''));
    list.append(row);
  }
  section(d.same ? 'the same up to names' : `${d.edits} edit${d.edits === 1 ? '' : 's'}, ${d.names} name${d.names === 1 ? '' : 's'}` + (d.unknown ? `, ${d.unknown} not compared` : ''), list);
}

function details(pane) {
  side.replaceChildren();
  side.scrollTop = 0;
  const b = pane.chosen >= 0 ? pane.view.b[pane.chosen] : null;
  if (pane.value >= 0) valueDetails(pane, pane.value);
  else if (b && b[0] === NODE) nodeDetails(pane, pane.model.nodes[b[1]]);
  else if (b && b[0] === GROUP) groupDetails(pane, b);
  else if (b && b[1] >= 0) valueDetails(pane, b[1]);
  else summary(pane);
}

function groupDetails(pane, b) {
  const line = b[8].find(l => l[0] === INNER);
  side.append(make('h2', {}, b[8][0][1]), make('p', {}, line[1]));
  if (line[2] >= 0) side.append(make('button', { onclick: () => pane.open(line[2]) }, 'Open'));
  else side.append(make('p', { class: 'note' }, 'Its nodes are not in this page: --limit N adds nodes.'));
}

const FOUND_MOST = 200;

function search(text) {
  const pane = active, m = pane.model, words = text.toLowerCase();
  if (!words) return details(pane);
  const found = [];
  m.nodes.forEach((n, i) => {
    if (n.scene !== undefined && (n.o + ' ' + (n.n || '') + ' ' + place(m, n)).toLowerCase().includes(words)) found.push(i);
  });
  const values = [];
  m.values.forEach((v, i) => { if (v.n.toLowerCase().includes(words)) values.push(i); });
  side.replaceChildren(make('h2', {}, `${found.length} nodes, ${values.length} values`));
  if (found.length) section('nodes', ...found.slice(0, FOUND_MOST).map(i => make('div', {}, nodeButton(pane, i))));
  if (values.length) section('values', ...values.slice(0, FOUND_MOST).map(i => make('div', {}, valueButton(pane, i))));
  return found;
}

// ---- start ----------------------------------------------------------------------------------------

const panes = [];
let active = null, finding = -1, following = false;

// The box of the other pane that is paired with box i of a pane, if it is in its scene; or -1.
function paired(pane, i) {
  const other = panes[1 - panes.indexOf(pane)], b = pane.view.b[i];
  const node = b[0] === NODE ? other.model.nodes[pane.model.nodes[b[1]].pair] : null;
  return node && node.scene === other.scene ? node.box : -1;
}

// With two models, the other pane moves so that a pair near the middle is at the same place.
function follow(pane) {
  if (following || panes.length < 2 || pane !== active) return null;
  const other = panes[1 - panes.indexOf(pane)];
  if (other.scene === undefined) return null;
  const x = pane.root.clientWidth / 2, y = pane.root.clientHeight / 2;
  let best = null, least = Infinity;
  pane.view.b.forEach((b, i) => {
    const at = [(b[2] + b[4] / 2) * pane.scale + pane.x, b[3] * pane.scale + pane.y];
    const far = Math.hypot(at[0] - x, at[1] - y) - (i === pane.chosen ? 1e6 : 0), k = far < least ? paired(pane, i) : -1;
    if (k >= 0) { least = far; best = { at, box: other.view.b[k] }; }
  });
  if (!best) return null;
  following = true;
  other.scale = pane.scale;
  other.x = best.at[0] - (best.box[2] + best.box[4] / 2) * pane.scale;
  other.y = best.at[1] - best.box[3] * pane.scale;
  other.show();
  following = false;
  return other;
}

// ---- print: pages of the whole graph, cut between boxes -------------------------------------------

// Pixels of a page, the smallest scale, and pages from which on the scale is smaller.
const PAPER = { width: 680, height: 900, least: 0.4, most: 40 };

// Cuts the range up to `end` into parts of at most `most`, where possible outside of the intervals.
function cuts(intervals, end, most) {
  const sorted = intervals.slice().sort((a, b) => a[0] - b[0]), list = [0];
  while (end - list[list.length - 1] > most) {
    const from = list[list.length - 1];
    let best = from + most, last = -1, reach = 0;
    for (const [low, high] of sorted) {
      if (low > reach && reach > from && reach <= from + most) last = (reach + Math.min(low, from + most)) / 2;
      reach = Math.max(reach, high);
    }
    if (last > from) best = last;
    list.push(best);
  }
  return list.concat([end]);
}

function printPane(pane, out) {
  const s = pane.view, few = Math.sqrt(PAPER.most * PAPER.width * PAPER.height / (s.w * s.h));
  const scale = Math.max(Math.min(PAPER.least, few), Math.min(1, PAPER.width / s.w));
  const labels = b => b[9].reduce((w, l) => Math.max(w, l[0] + 4 + 6 * l[1].length), 0);
  const right = b => b[2] + Math.max(b[4], labels(b)) + 4, bottom = b => b[3] + b[5] + 18;
  const rows = cuts(s.b.map(b => [b[3] - 4, bottom(b)]), s.h, PAPER.height / scale);
  const width = s.b.reduce((w, b) => Math.max(w, right(b)), s.w);
  rows.slice(1).forEach((y1, r) => {
    const y0 = rows[r], here = s.b.map((b, i) => [b, i]).filter(([b]) => b[3] < y1 && bottom(b) > y0);
    const columns = cuts(here.map(([b]) => [b[2] - 4, right(b)]), width, PAPER.width / scale);
    columns.slice(1).forEach((x1, c) => {
      const x0 = columns[c], boxes = here.filter(([b]) => b[2] < x1 && right(b) > x0);
      const links = s.links.filter(l => l.path && l.left < x1 && l.right > x0 && l.top < y1 && l.bottom > y0);
      if (!boxes.length && !links.length) return;
      const page = make('figure', {}, make('figcaption', {}, `${pane.model.name}: ${s.t || 'graph'}, ${r + 1}/${rows.length - 1}` +
        (columns.length > 2 ? `, part ${c + 1} of ${columns.length - 1}` : '')));
      const svg = draw(page, 'svg', { viewBox: `${x0} ${y0} ${x1 - x0} ${y1 - y0}`, width: (x1 - x0) * scale, height: (y1 - y0) * scale });
      links.forEach(l => pane.drawLink(l, svg));
      boxes.forEach(([b, i]) => pane.drawBox(b, i, svg));
      out.append(page);
    });
  });
}

function printAll(on) {
  const out = document.getElementById('print');
  out.replaceChildren();
  if (on) panes.forEach(p => printPane(p, out));
}

function nextFinding() {
  const list = active.model.marks.filter(m => m[0] >= 0);
  if (list.length) active.goTo(list[finding = (finding + 1) % list.length][0]);
}

const keys = {
  '/': () => document.getElementById('search').focus(),
  '+': () => active.zoom(1.25),
  '=': () => active.zoom(1.25),
  '-': () => active.zoom(0.8),
  '0': () => active.fit(true),
  'Home': () => active.fit(false),
  'Enter': () => active.enter(active.chosen),
  'Backspace': () => active.leave(),
  'Escape': () => active.choose(-1),
  'f': nextFinding,
  't': () => document.documentElement.classList.toggle('dark'),
};

function onKey(e) {
  const box = document.getElementById('search');
  if (e.target === box) {
    if (e.key === 'Escape') { box.value = ''; box.blur(); details(active); }
    if (e.key === 'Enter') { const found = search(box.value); if (found && found.length) active.goTo(found[0]); }
    return;
  }
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key.startsWith('Arrow')) {
    const by = { ArrowUp: [0, 60], ArrowDown: [0, -60], ArrowLeft: [60, 0], ArrowRight: [-60, 0] }[e.key];
    if (active.chosen >= 0) active.step(e.key);
    else active.pan(...by);
  } else if (e.target.tagName === 'BUTTON' && e.key === 'Enter') {
    return;
  } else if (keys[e.key]) {
    keys[e.key]();
  } else {
    return;
  }
  e.preventDefault();
}

// #n12 shows node 12 of the page, #s1 graph 1; #dark the dark colours; joined by &.
function start() {
  const words = location.hash.slice(1).split('&');
  const dark = words.includes('dark') || (!words.includes('light') && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.classList.toggle('dark', dark);
  data.models.forEach(m => {
    prepare(m);
    panes.push(new Pane(m, document.getElementById('panes')));
  });
  document.title = data.models.map(m => m.name).join(' | ') + ' - onnxsurg';
  if (panes.length > 1) panes.forEach(p => p.root.append(make('div', { class: 'name' }, p.model.name)));
  panes.slice().reverse().forEach(p => p.open(0));
  for (const w of words) {
    const n = +w.slice(1);
    if (/^s\d+$/.test(w) && panes[0].model.scenes[n]) panes[0].open(n);
    if (/^n\d+$/.test(w) && panes[0].model.nodes[n]) panes[0].goTo(n);
  }
  document.addEventListener('keydown', onKey);
  document.getElementById('in').addEventListener('click', keys['+']);
  document.getElementById('out').addEventListener('click', keys['-']);
  document.getElementById('fit').addEventListener('click', keys['0']);
  document.getElementById('theme').addEventListener('click', keys.t);
  document.getElementById('search').addEventListener('input', e => search(e.target.value.trim()));
  addEventListener('resize', () => panes.forEach(p => p.update()));
  addEventListener('beforeprint', () => printAll(true));
  addEventListener('afterprint', () => printAll(false));
}

start();
