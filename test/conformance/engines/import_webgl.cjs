// SPDX-License-Identifier: Apache-2.0
// import_webgl.cjs PACKAGE [FILE...]: whether the WebGL provider of onnxruntime-web (installed in the
// folder PACKAGE) makes a session of a model, in headless Chromium (CHROMIUM names another program).
// Answers as import_js.cjs, but runs nothing.
'use strict';
const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const readline = require('readline');
const { spawn } = require('child_process');

const dist = path.resolve(process.argv[2], 'node_modules/onnxruntime-web/dist');
const CHROMIUM = process.env.CHROMIUM || 'chromium';
const FLAGS = ['--headless=new', '--no-sandbox', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'];
const SECONDS = 60;

// The page asks for work and answers; it needs no debugger.
const PAGE = `<!doctype html><script src="/ort.js"></script><script>
(async () => {
  for (;;) {
    const work = await (await fetch('/work')).arrayBuffer();
    let answer = { accepts: true, why: '' };
    try {
      const session = await ort.InferenceSession.create(new Uint8Array(work),
        { executionProviders: ['webgl'], logSeverityLevel: 4 });
      if (session.release) await session.release();
    } catch (error) {
      answer = { accepts: false, why: String((error && error.message) || error) };
    }
    await fetch('/answer', { method: 'POST', body: JSON.stringify(answer) });
  }
})();
</script>`;

const spin = ms => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

class Browser {
  constructor() { this.wanted = null; this.waiting = null; }

  listen() {
    this.server = http.createServer((request, response) => this.serve(request, response));
    return new Promise(done => this.server.listen(0, '127.0.0.1', done));
  }

  serve(request, response) {
    if (request.url === '/work') { this.waiting = response; this.feed(); return; }
    if (request.url === '/answer') {
      let text = '';
      request.on('data', piece => { text += piece; });
      request.on('end', () => { response.end(); this.settle(JSON.parse(text)); });
      return;
    }
    const script = request.url === '/ort.js';
    response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html');
    response.end(script ? fs.readFileSync(path.join(dist, 'ort.webgl.min.js')) : PAGE);
  }

  feed() {
    if (!this.waiting || !this.wanted || this.wanted.sent) return;
    this.wanted.sent = true;
    this.waiting.end(this.wanted.bytes);
    this.waiting = null;
  }

  settle(answer) {
    if (!this.wanted) return;
    clearTimeout(this.wanted.timer);
    const { done } = this.wanted;
    this.wanted = null;
    done(answer);
  }

  start() {
    this.profile = fs.mkdtempSync(path.join(os.tmpdir(), 'webgl-'));
    this.child = spawn(CHROMIUM, [...FLAGS, `--user-data-dir=${this.profile}`,
      `http://127.0.0.1:${this.server.address().port}/`], { stdio: 'ignore' });
    const child = this.child;
    child.on('exit', () => { if (child === this.child) this.end('crash'); });
  }

  end(why) {
    const { child, profile } = this;
    this.child = this.profile = this.waiting = null;
    // Its helper processes may write to the profile until the last of them has ended.
    if (child) {
      child.once('close', () => {
        for (let i = 0; i < 20; i++)
          try { fs.rmSync(profile, { recursive: true, force: true }); break; } catch { spin(100); }
      });
      child.kill('SIGKILL');
    }
    this.settle({ accepts: false, why });
  }

  accepts(file) {
    return new Promise(done => {
      if (!this.child) this.start();
      const timer = setTimeout(() => this.end('timeout'), SECONDS * 1000);
      this.wanted = { done, bytes: fs.readFileSync(file), timer };
      this.feed();
    });
  }
}

async function main() {
  const browser = new Browser();
  await browser.listen();
  const files = process.argv.slice(3);
  let all = true;
  for (const file of files) {
    const answer = await browser.accepts(file);
    all = all && answer.accepts;
    console.log(`${file}\t${answer.accepts ? 'ok' : answer.why.replace(/\s+/g, ' ')}`);
  }
  if (!files.length)
    for await (const line of readline.createInterface({ input: process.stdin }))
      console.log(JSON.stringify(await browser.accepts(line.split('\t')[0])));
  browser.end('');
  browser.server.close();
  process.exitCode = all ? 0 : 1;
}
main();
