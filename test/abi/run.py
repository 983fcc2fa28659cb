#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the example plugin and the bad ones of this folder with the public headers alone, and runs
the program with each: a good plugin works, also in subgraphs and functions; a bad one ends in one
line and the right exit code, 2 if it was never loaded, 5 if it misbehaved in the run.

    run.py --tool PATH --source TREE --build FOLDER --cc CC...
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile

MODEL = '''<ir_version: 8, opset_import: ["" : 17]>
g (float[N] x) => (float[N] y) { a = Abs (x)  b = Sin (a)  y = Neg (b) }
'''
CLIP = '''<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>
g (float[N, 3] x) => (float[N, 3] y, float[2] k) <float[2] c = {-1, 5}> {
  a = com.acme.LeakyClip <limit = 1.0> (x)
  y = Abs (a)
  k = com.acme.LeakyClip <limit = 2.0, slope = 0.5> (c)
}
'''
CLIP_FOLDED = '''<
  ir_version: 8,
  opset_import: ["" : 17, "com.acme" : 1]
>
g (float[N, 3] x) => (float[N, 3] y, float[2] k) <
  float[2] k = raw {-0.5, 2.0}
> {
  a = com.acme.LeakyClip <limit = 1.0> (x)
  y = Abs (a)
}
'''
CLIP_LOWERED = '''<
  ir_version: 8,
  opset_import: ["" : 17]
>
g (float[N, 3] x) => (float[N, 3] y, float[2] k) <
  float[2] c = {-1.0, 5.0},
  float a_const = raw {1.0},
  float k_const = raw {2.0}
> {
  [a_LeakyRelu] a_a = LeakyRelu (x)
  [a_Min] a = Min (a_a, a_const)
  y = Abs (a)
  [k_LeakyRelu] k_a = LeakyRelu <alpha = 0.5> (c)
  [k_Min] k = Min (k_a, k_const)
}
'''
PROBES = '''<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1, "d" : 1]>
g (float[N] x, bool c) => (float[N] y, float[N] z) {
  p = com.acme.Probe (x)
  a = d.F (p)
  y = com.acme.Probe (a)
  z = If (c) <
    then_branch = then () => (float[N] t) { q = com.acme.Probe (a)  t = Neg (q) },
    else_branch = other () => (float[N] e) { e = com.acme.Probe (a) }
  >
}
<domain: "d", opset_import: ["" : 17, "com.acme" : 1]>
F (a) => (b) { t = Abs (a)  b = com.acme.Probe (t) }
'''
# The probe that gives a captured value out of a branch stays: only a node can give it its name.
PROBES_AFTER = '''<
  ir_version: 8,
  opset_import: ["" : 17, "com.acme" : 1, "d" : 1]
>
g (float[N] x, bool c) => (float[N] y, float[N] z) {
  y = d.F (x)
  z = If (c) <then_branch = then () => (float[N] t) {
    t = Neg (y)
  }, else_branch = other () => (float[N] e) {
    e = com.acme.Probe (y)
  }>
}

<
  domain: "d",
  opset_import: ["" : 17, "com.acme" : 1]
>
F (a) => (b) {
  b = Abs (a)
}
'''

# Source (and a value of FAULT), exit code, and the one line on stderr (a regular expression over all of it).
LOAD, RUN = 2, 5
BAD_PASS = r'in\.onnxtxt: error: pass "bad" of plugin "bad" '
BROKEN = BAD_PASS + r'left the model broken: '
INVALID_CALL = 'failed: a call that it made was invalid'
TYPES = 'changed element types of inputs or outputs and does not declare that it may'
CRASH = r'onnxsurg: error: pass "bad" of plugin "bad" '
END = '; nothing is written'
BUILT = r'{so}: error: cannot load plugin: built with headers of plugin interface '
PASS = r'{so}: error: cannot register pass "bad": '
REFUSED = r'\./teach_bad\.so: error: cannot register '
TEACH = {
    1: REFUSED + 'preset "simplify": the name is in use',
    2: REFUSED + 'an extension at "after nothing": there is no such pass',
    3: REFUSED + 'an extension of "no-preset": there is no such preset',
    4: REFUSED + r'operator "Unknown": it has no schema; call surg_registry_add_schemas before',
    5: REFUSED + 'operator "Known": it has neither a shape function nor a kernel',
    6: REFUSED + 'operator "Known": its traits are not known',
    7: 't: error: name: is missing',
    8: 'r:1:9: error: expected `match`',
    9: REFUSED + 'an extension at "somewhere": expected "first", .*',
    10: 'm: error: .*',
}
BAD = [
    ('symbol', LOAD, r'{so}: error: cannot load plugin: it has no function surg_plugin'),
    ('undefined', LOAD, r'{so}: error: cannot load plugin: undefined symbol: '
                        r'no_such_function_anywhere'),
    ('major', LOAD, BUILT + r'1\.9; this program has 0\.9; the plugin needs a newer onnxsurg'),
    ('minor', LOAD, BUILT + r'0\.10; this program has 0\.9; the plugin needs a newer onnxsurg'),
    ('older', LOAD, BUILT + r'0\.8; this program has 0\.9; rebuild the plugin with the headers of '
                    r'this program'),
    ('headers:1', LOAD, BUILT + r'0\.9, fingerprint [0-9a-f]{16}; this program has 0\.9, '
                        r'fingerprint [0-9a-f]{16}; rebuild the plugin with the headers of this '
                        r'program'),
    ('headers:2', LOAD, BUILT + r'0\.9, fingerprint [0-9a-f]{16}, with another layout of struct '
                        r'surg_\w+; this program has 0\.9, fingerprint [0-9a-f]{16}; rebuild the '
                        r'plugin with the headers of this program'),
    ('headers:3', LOAD, r'{so}: error: cannot load plugin: its description has no layout of '
                        r'structs'),
    ('headers:4', LOAD, BUILT + r'0\.9, fingerprint [0-9a-f]{16}; this program has .*'),
    ('struct:SMALL_PASS', LOAD, PASS.replace('"bad"', r'"\?"') + 'its struct is too small'),
    ('struct:SMALL_OPTION', LOAD, PASS.replace('"bad"', r'"\?"') +
     'the struct of an option is too small'),
    ('struct:MIXED_OPTIONS', LOAD, PASS.replace('"bad"', r'"\?"') +
     'its options are of different sizes'),
    ('struct:NULL_OPTIONS', LOAD, PASS.replace('"bad"', r'"\?"') +
     'it counts options and lists none'),
    ('struct:NO_HELP', LOAD, PASS + 'it has no help'),
    ('struct:SCOPE', LOAD, PASS + 'its scope is not known'),
    ('struct:EXACTNESS', LOAD, PASS + 'its exactness is not known'),
    ('struct:FACTS', LOAD, PASS + 'it names facts that are not known'),
    ('struct:OPTION_NAME', LOAD, PASS + 'an option has no valid name'),
    ('struct:OPTION_HELP', LOAD, PASS + 'an option has no help'),
    ('struct:OPTION_KIND', LOAD, PASS + 'an option is of no known kind'),
    ('struct:OPTION_DEFAULT', LOAD, PASS + 'the default of an option does not fit its kind'),
    ('struct:OPTION_TWICE', LOAD, PASS + 'two options have the same name'),
    ('struct:PAIRS_TWICE', LOAD, PASS + 'two of its options are of kind pairs'),
    ('struct:PAIRS_DEFAULT', LOAD, PASS + 'the default of an option does not fit its kind'),
    ('size', LOAD, r'{so}: error: cannot load plugin: its description is too small'),
    ('nameless', LOAD, r'{so}: error: cannot load plugin: it has no name or no version'),
    ('no_init', LOAD, r'{so}: error: cannot load plugin: it has no init function'),
    ('null', LOAD, r'{so}: error: cannot load plugin: surg_plugin\(\) returned nothing'),
    ('init', LOAD, r'{so}: error: cannot load plugin: its init failed \(unsupported\)'),
    ('null_pass', LOAD, r'{so}: error: cannot register pass "\?": there is no struct'),
    ('duplicate', LOAD, r'{so}: error: cannot register pass "prune": the name is in use'),
    ('name', LOAD, r'{so}: error: cannot register pass "Bad Name": it has no valid name'),
    ('run', LOAD, r'{so}: error: cannot register pass "bad": it has no run function'),
    ('lie', RUN, r'in\.onnxtxt: error: pass "bad" of plugin "bad" reported no change, and '
                 r'changed the model'),
    ('silent', RUN, r'in\.onnxtxt: error: pass "bad" of plugin "bad" failed without a reason'),
    ('result', RUN, r'in\.onnxtxt: error: pass "bad" of plugin "bad" returned no result that '
                    r'there is'),
    ('option', RUN, r'in\.onnxtxt: error: pass "bad" of plugin "bad" asked for option "no-such", '
                    r'which it does not declare'),
    ('interface', RUN, r'in\.onnxtxt: error: pass "bad" of plugin "bad" changed inputs or outputs '
                       r'of the model and does not declare that it may'),
    ('order', RUN, r'in\.onnxtxt: error: pass "bad" of plugin "bad" left the model broken: it '
                   r'promises to keep the nodes in order and did not'),
    ('cycle', RUN, r'in\.onnxtxt: error: pass "bad" of plugin "bad" left the model broken: '
                   r'graph\.node\[0\] .*cycle.*'),
    ('erased', RUN, r'in\.onnxtxt: error: .*was erased\n' + BAD_PASS + INVALID_CALL),
    ('model:SELF', RUN, r'in\.onnxtxt: error: graph\.node\[0\] \(Abs\): value "a" cannot be an input '
                        r'here: it is computed from this node\n' + BAD_PASS + INVALID_CALL),
    ('model:ARITY', RUN, BROKEN + r'graph\.node\[0\] \(Abs\): has 2 inputs; Abs expects at most 1 '
                         r'\[E115\]'),
    ('model:ATTRIBUTE', RUN, BROKEN + r'graph\.node\[0\] \(Abs\): Abs has no such attribute '
                             r'\[E105\]'),
    ('model:REQUIRED', RUN, BROKEN + r'graph\.node\[0\] \(Cast\): lacks the required attribute "to" \[E107\]'),
    ('model:IMPORT', RUN, BROKEN + r'graph\.node\[0\] \(com\.nowhere\.Abs\): the model does not '
                          r'import domain "com\.nowhere" \[E104\]'),
    ('model:OPERATOR', RUN, BROKEN + r'graph\.node\[0\] \(NoSuchOperator\): no such operator in '
                            r'opset 17 \[E103\]'),
    ('model:FUNCTION_IMPORT', RUN, BROKEN + r'function\[0\] "own\.F"\.node\[0\] \(Abs\): the model '
                                   r'imports no opset of its domain \[E104\]'),
    ('model:INPUT_TYPE', RUN, BAD_PASS + TYPES),
    ('model:OUTPUT_TYPE', RUN, BAD_PASS + TYPES),
    ('model:UNTYPED', RUN, BAD_PASS + TYPES),
    ('model:SEGFAULT', RUN, CRASH + r'crashed \(invalid memory access or stack overflow\)' + END),
    ('model:RECURSION', RUN, CRASH + r'crashed \(invalid memory access or stack overflow\)' + END),
    ('model:ABORT', RUN, CRASH + r'aborted \(abort or assert, or a C\+\+ exception left it\)' + END),
    ('model:EXIT', RUN, CRASH + 'called exit' + END),
    ('init_crash', RUN, r'onnxsurg: error: init of plugin "bad" crashed .*' + END),
    ('throw', RUN, r'(terminate called .*\n.*\n)?' + CRASH + r'aborted .*' + END),
    ('refuses', 1, r'in\.onnxtxt: error: pass "bad" of plugin "bad": graph\.node\[0\] \(Abs\): '
                   r'not with me\\n\\x1b\[31m'),
    ('greedy', 4, r'in\.onnxtxt: error: needs more than \d+ MiB of memory \(--max-memory\)'),
]


# With --isolate-plugins: what differs from BAD, and what only a child process survives.
APART = [
    ('model:SEGFAULT', BAD_PASS + r'crashed \(invalid memory access or stack overflow\)'),
    ('model:RECURSION', BAD_PASS + r'crashed \(invalid memory access or stack overflow\)'),
    ('model:ABORT', BAD_PASS + r'aborted \(abort or assert, or a C\+\+ exception left it\)'),
    ('model:EXIT', BAD_PASS + 'called exit'),
    ('throw', r'(terminate called .*\n.*\n)?' + BAD_PASS + 'aborted .*'),
    ('model:SMASH', BAD_PASS + '(crashed|aborted) .*'),
    ('model:QUIT', BAD_PASS + r'ended its process \(exit, or exit code 0\)'),
    ('model:KILL', BAD_PASS + r'was killed \(by a process, or for lack of memory\)'),
    ('model:GARBAGE', BAD_PASS + 'sent an invalid result'),
    ('model:HOLD', BAD_PASS + 'aborted .*'),
]
DECODER = r'in\.onnxtxt: error: decoder "bad" of plugin "bad": tensor "w": '
DECODERS = [
    ('SHORT', RUN, DECODER + '15 bytes were decoded; type and dims need 16'),
    ('LONG', RUN, DECODER + r'\d+ bytes were decoded; type and dims need 16'),
    ('PAST_END', RUN, DECODER + 'wrote past the end of its output'),
    ('FAILS', 1, DECODER + r'cannot be decoded \(invalid model\)'),
    ('CRASH', RUN, r'onnxsurg: error: decoder "bad" of plugin "bad" aborted .*' + END),
]
TIMED_OUT = r'in\.onnxtxt: error: out of time in pass "bad" \(--timeout\)'


class Runner:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.failed = self.count = 0
        self.cxx = shlex.split(os.environ.get('CXX', '')) or [shutil.which('c++') or '']
        # Handlers of crashes are not installed in a sanitized program.
        self.sanitized = b'__asan_init' in pathlib.Path(options.tool).read_bytes()

    def build(self, source, target, *flags):
        includes = [os.path.join(self.options.source, 'include'),
                    os.path.join(self.options.build, 'include')]
        source = pathlib.Path(source)
        plus = source.suffix == '.cpp'
        compiler = self.cxx if plus else list(self.options.cc)
        command = compiler + ['-std=c++17' if plus else '-std=gnu11', '-Wall', '-Wextra', '-Werror', '-shared',
                                           '-fPIC', '-o', str(self.folder / target), str(source), *flags]
        subprocess.run(command + ['-I' + i for i in includes], check=True)

    def run(self, *args):
        self.count += 1
        if '--pass' in args:
            (self.folder / 'out.onnx').unlink(missing_ok=True)
        return subprocess.run([self.options.tool, *args], cwd=self.folder, capture_output=True,
                              text=True, errors='backslashreplace', timeout=60,
                              env=dict(os.environ, LC_ALL='C'))

    def expect(self, what, got, code, stderr):
        ok = got.returncode == code and re.fullmatch(stderr, got.stderr.rstrip('\n'))
        if ok and code and (self.folder / 'out.onnx').exists():
            ok = False
        if not ok:
            self.failed += 1
            print('FAIL %s: exit %d, wanted %d\n  got:    %r\n  wanted: %r' %
                  (what, got.returncode, code, got.stderr, stderr))
        return ok

    def good(self):
        self.build(pathlib.Path(self.options.source) / 'examples/plugin/forward.c', 'forward.so')
        (self.folder / 'probes.onnxtxt').write_text(PROBES)
        for path in ('./forward.so', 'forward.so', str(self.folder / 'forward.so')):
            got = self.run('--plugin', path, '--plugin', path, '--pass',
                           'forward{op=com.acme.Probe}', 'probes.onnxtxt', 'out.onnx')
            if self.expect('forward by ' + path, got, 0, ''):
                text = self.run('cat', 'out.onnx').stdout
                if text != PROBES_AFTER:
                    self.failed += 1
                    print('FAIL forward: got\n' + text)
        got = self.run('--plugin', './forward.so', '--pass', 'forward{op=com.acme.Probe}',
                       '--keep', 'op=Probe', 'probes.onnxtxt', 'out.onnx')
        self.expect('forward --keep', got, 0, '')
        got = self.run('--plugin', './forward.so', '--pass', 'forward{ops=Probe}',
                       'probes.onnxtxt', 'out.onnx')
        self.expect('forward, wrong option', got, 2,
                    r'--pass: error: column 9: unknown option of forward "ops"; did you mean '
                    r'"op"\?')
        got = self.run('forward', '--plugin', './forward.so', '--op', 'com.acme.Probe',
                       'probes.onnxtxt', 'out.onnx')
        if self.expect('forward as a command', got, 0, ''):
            self.same('forward as a command', self.run('cat', 'out.onnx').stdout, PROBES_AFTER)
        # The pass after its options would be a file.
        (self.folder / 'out.onnx').unlink(missing_ok=True)
        hint = (r'onnxsurg: error: no file forward; a pass is the first word: `onnxsurg forward '
                r'--%s \.\.\.`, or --pass forward')
        for first, late in (('plugin', ('--plugin', './forward.so', 'forward', '--op', 'x')),
                            ('plugin=./forward.so', ('--plugin=./forward.so', 'forward')),
                            ('quiet', ('--quiet', '--plugin', './forward.so', 'forward'))):
            got = self.run(*late, 'probes.onnxtxt', 'out.onnx')
            self.expect('late pass ' + first, got, 2, hint % re.escape(first))
        got = self.run('--plugin', './forward.so', 'check', 'probes.onnxtxt')
        self.expect('late command', got, 2, r'onnxsurg: error: no file check; a command is the first '
                    r'word: `onnxsurg check --plugin \.\.\.`')
        shutil.copy(self.folder / 'probes.onnxtxt', self.folder / 'forward')
        got = self.run('--plugin', './forward.so', '--pass', '', 'forward', 'out.onnx')
        self.expect('a file that is named as a pass', got, 0, '')
        (self.folder / 'forward').unlink()
        got = self.run('passes', '--plugin', './forward.so', 'forward')
        if 'from plugin forward' not in got.stdout or got.returncode:
            self.failed += 1
            print('FAIL passes forward: %r' % got.stdout)

    def same(self, what, got, want):
        if got != want:
            self.failed += 1
            print('FAIL %s: got\n%s\nwanted\n%s' % (what, got, want))

    def operator(self):
        """A custom operator that a plugin teaches is checked, inferred, run, folded, lowered,
        verified, and supported by the target of the plugin."""
        self.build(pathlib.Path(self.options.source) / 'examples/plugin/operator.c', 'operator.so')
        (self.folder / 'clip.onnxtxt').write_text(CLIP)
        own = ('--plugin', './operator.so')
        got = self.run('check', *own, 'clip.onnxtxt')
        self.expect('check', got, 0, '')
        info = self.run('info', '--values', *own, 'clip.onnxtxt').stdout
        for line in ('  a                                         float[N, 3]',
                     '  k                                         float[2]'):
            if line not in info.splitlines():
                self.failed += 1
                print('FAIL info: no line %r in\n%s' % (line, info))
        got = self.run('run', *own, '--fill', 'arange', 'clip.onnxtxt')
        self.same('run', got.stdout, 'y: float[2, 3] {0, 1, 1, 1, 1, 1}\n'
                  'k: float[2] {-0.5, 2}\n')
        self.expect('fold', self.run('--pass', 'fold,prune', *own, 'clip.onnxtxt', 'out.onnx'), 0, '')
        self.same('fold', self.run('cat', 'out.onnx').stdout, CLIP_FOLDED)
        self.expect('lower', self.run('lower-leaky-clip', *own, 'clip.onnxtxt', 'plain.onnx'), 0, '')
        self.same('lower', self.run('cat', 'plain.onnx').stdout, CLIP_LOWERED)
        got = self.run('verify', *own, 'clip.onnxtxt', 'plain.onnx')
        self.expect('verify', got, 0, '.*8 runs compared, 0 skipped.*|')
        got = self.run('check', *own, '--target', 'acme-npu', 'clip.onnxtxt')
        self.expect('target', got, 0, '')
        self.same('target', got.stdout.splitlines()[0], 'clip.onnxtxt: supported by acme-npu')
        listed = self.run('targets', *own).stdout
        if not re.search(r'(?m)^acme-npu .*\d  not stated$', listed):
            self.failed += 1
            print('FAIL targets: no acme-npu in\n' + listed)
        (self.folder / 'out.onnx').unlink(missing_ok=True)
        got = self.run('targets', *own, 'acme-np')
        self.expect('nearest target', got, 2, r'acme-np: error: there is no such target; '
                    r'did you mean acme-npu\? \(onnxsurg targets lists all\)')
        got = self.run('check', *own, '--targets', 'acme', 'clip.onnxtxt').stdout
        if not re.search(r'(?m)^acme-npu +supported', got):
            self.failed += 1
            print('FAIL check --targets: ' + got)
        for command in ('check', 'verify', 'run'):
            got = self.run(command, '--plugin', 'none.so', 'clip.onnxtxt', 'plain.onnx')
            self.same(command + ' without its plugin', got.stderr,
                      'none.so: error: cannot load plugin: No such file or directory\n')

    def teach(self, folder):
        """Presets, extensions of presets, rules and messages of a plugin; and invalid ones."""
        self.build(folder / 'teach.c', 'teach.so')
        own = ('--plugin', './teach.so')
        (self.folder / 'in.onnxtxt').write_text(MODEL)
        for pipeline, want in (
                ('teach', 'toposort,fold,rewrite{group=teach},dedup,cse,prune,identity\n'),
                ('repeat{max=2}(teach)', 'repeat{max=2}(toposort,fold,rewrite{group=teach},dedup,cse,'
                                         'prune,identity)\n')):
            got = self.run(*own, '--pass', pipeline, '--print-pipeline')
            self.same(pipeline, got.stdout, want)
        for preset in ('simplify-exact', 'shrink'):  # others contain simplify: extended once
            got = self.run(*own, '--pass', preset, '--print-pipeline').stdout
            self.same(preset, (got[-7:], got.count('names')), (',names\n', 1))
        (self.folder / 'message.txt').write_text('teach: quota exceeded\n')
        got = self.run('explain', *own, 'message.txt').stdout
        if 'the quota of the compiler is used up' not in got:
            self.failed += 1
            print('FAIL explain: ' + got)
        for fault, line in TEACH.items():
            self.build(folder / 'teach.c', 'teach_bad.so', '-DFAULT=%d' % fault)
            got = self.run('--plugin', './teach_bad.so', '--pass', 'prune', 'in.onnxtxt', 'out.onnx')
            self.expect('teach %d' % fault, got, LOAD, line)

    def statistics(self):
        if not self.cxx[0]:
            print('SKIP statistics: there is no C++ compiler')
            return
        self.build(pathlib.Path(self.options.source) / 'examples/plugin/statistics.cpp',
                   'statistics.so')
        (self.folder / 'in.onnxtxt').write_text(MODEL)
        got = self.run('--plugin', './statistics.so', '--pass', 'statistics', '--stats',
                       'in.onnxtxt', 'out.onnx')
        self.expect('statistics', got, 0, r'statistics: 1 run, 0 rewrites, unchanged\n  Abs: 1\n'
                    r'  Neg: 1\n  Sin: 1\n  bytes of initializers: 0')

    def proof(self):
        """A plugin that takes away what does something, and calls itself exact."""
        (self.folder / 'in.onnxtxt').write_text(MODEL)
        args = ('--plugin', './forward.so', '--pass', 'fold,forward{op=Abs+Sin},prune',
                'in.onnxtxt', 'out.onnx')
        differs = (r'output "y" differs from what it was \(by up to [^ ]+\)')
        got = self.run('--check', *args)
        self.expect('forward --check', got, 1,
                    r'in\.onnxtxt: error: pass "forward" of plugin "forward" changes what is '
                    r'computed \(rewrite \d+\): ' + differs + r'; nothing is written \(`onnxsurg bisect` '
                    r'writes the models before and after it\)')
        got = self.run('--check=each', *args)
        self.expect('forward --check=each', got, 0, r'in\.onnxtxt: warning: pass "forward" of plugin '
                    r'"forward" is left out: ' + differs)

    def no_file(self):
        (self.folder / 'in.onnxtxt').write_text(MODEL)
        (self.folder / 'text.so').write_text('not a shared object at all\n')
        (self.folder / 'empty.so').write_text('')
        os.mkfifo(self.folder / 'fifo.so')
        for path, why in (('none.so', 'No such file or directory'), ('text.so', '.*'),
                          ('empty.so', 'file too short'), ('fifo.so', 'not a regular file'),
                          ('.', 'not a regular file'), ('in.onnxtxt/x', 'Not a directory')):
            got = self.run('--plugin', path, '--pass', '', 'in.onnxtxt', 'out.onnx')
            self.expect('plugin ' + path, got, 2,
                        re.escape(path) + ': error: cannot load plugin: ' + why)

    def decoder(self, folder):
        """Weights in a format of a plugin are read, stay as they are, move, and change."""
        self.build(pathlib.Path(self.options.source) / 'examples/plugin/decoder.c', 'decoder.so')
        own = ('--plugin', './decoder.so')
        plain = struct.pack('<4f', 1, -2, 3, -4)
        encoded = bytes(b ^ 90 for b in plain)
        (self.folder / 'w.bin').write_bytes(b'....' + encoded)
        model = '<ir_version: 8, opset_import: ["" : 17]>\n' \
                'g (float[4] x) => (float[4] y) <float[4] w = ["location": "w.bin", "offset": "4", ' \
                '"length": "16", "format": "%s", "key": "90"]> {\n  %s\n}\n'
        mul = 'y = Mul (x, w)'
        (self.folder / 'in.onnxtxt').write_text(model % ('com.acme.xor', mul))
        got = self.run('run', *own, '--fill', 'ones', 'in.onnxtxt')
        self.same('decoded', (got.stdout, got.stderr), ('y: float[4] {1, -2, 3, -4}\n', ''))
        got = self.run('run', '--fill', 'ones', 'in.onnxtxt')
        self.same('no decoder', got.returncode, 1)
        if 'format "com.acme.xor", which has no decoder (--plugin)' not in got.stderr:
            self.same('no decoder', got.stderr, '')
        # Saving keeps the reference and the bytes, without the plugin too.
        (self.folder / 'sub').mkdir()
        for more in (own, ()):
            for out in ('out.onnx', 'sub/out.onnx'):
                shutil.rmtree(self.folder / 'sub')
                (self.folder / 'sub').mkdir()
                got = self.run(*more, '--quiet', '--pass', 'prune', '--record', 'in.onnxtxt', out)
                self.same('keeps ' + out, (got.returncode, got.stderr), (0, ''))
                if more:
                    got = self.run('run', *own, '--fill', 'ones', out)
                    self.same('kept ' + out, got.stdout, 'y: float[4] {1, -2, 3, -4}\n')
        # A data file of an odd name is not copied: its tensors move, encoded.
        shutil.copy(self.folder / 'w.bin', self.folder / 'Makefile')
        (self.folder / 'odd.onnxtxt').write_text(
            (model % ('com.acme.xor', mul)).replace('w.bin', 'Makefile'))
        got = self.run(*own, '--pass', 'prune', 'odd.onnxtxt', 'sub/out.onnx')
        self.expect('moves', got, 0, '')
        moved = (self.folder / 'sub/out.onnx.data').read_bytes()
        self.same('moved bytes', moved[:16], encoded)
        got = self.run('run', *own, '--fill', 'ones', 'sub/out.onnx')
        self.same('moved', got.stdout, 'y: float[4] {1, -2, 3, -4}\n')
        # What is computed from it is plain, and reported.
        (self.folder / 'in.onnxtxt').write_text(
            model % ('com.acme.xor', 'n = Neg (w)  y = Mul (x, n)'))
        got = self.run(*own, '--pass', 'fold,prune', 'in.onnxtxt', 'out.onnx')
        self.expect('changes', got, 0, r'in\.onnxtxt: warning: 1 tensor was decoded and changed: '
                    'what was computed from it is written without the format')
        got = self.run('run', '--fill', 'ones', 'out.onnx')
        self.same('changed', got.stdout, 'y: float[4] {-1, 2, -3, 4}\n')
        (self.folder / 'in.onnxtxt').write_text(model % ('bad', 'n = Neg (w)  y = Mul (x, n)'))
        for fault, code, line in DECODERS:
            if self.sanitized and END in line:
                continue
            so = self.compiled(folder, 'decoder:' + fault)
            got = self.run('--plugin', so, '--pass', 'fold', 'in.onnxtxt', 'out.onnx')
            self.expect('decoder ' + fault, got, code, line)

    def apart(self, folder):
        """Passes in child processes: the same results, and faults that end only the child."""
        (self.folder / 'in.onnxtxt').write_text(MODEL)
        differs = {name for name, _ in APART}
        table = [(name, RUN, line) for name, line in APART] + [('model:LOOP', 4, TIMED_OUT)] + [
            row for row in BAD if row[1] != LOAD and row[0] not in differs | {'init_crash'}]
        for name, code, line in table:
            if (name == 'throw' and not self.cxx[0]) or (name in ('throw', 'model:SMASH') and self.sanitized):
                print('SKIP apart %s: no C++ compiler, or a sanitized program' % name)
                continue
            so = self.compiled(folder, name)
            # Long enough that a slow, sanitized program reaches the pass before time is up.
            timeout = ('--timeout', '12' if self.sanitized else '3') if name == 'model:LOOP' else ()
            got = self.run('--isolate-plugins', *timeout, '--plugin', so, '--pass', 'bad',
                           'in.onnxtxt', 'out.onnx')
            self.expect('apart ' + name, got, code, line)
        self.apart_alike()

    def apart_alike(self):
        """Outputs, logs and reports are those of passes in the process of the program."""
        data = bytes(range(256)) * 16
        (self.folder / 'w.bin').write_bytes(data)
        big = '<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>\n' \
              'g (float[N, 8] x) => (float[N, 128] y) <float[8, 128] w = ["location": "%s", ' \
              '"offset": "0", "length": "4096"]> {\n' \
              '  p = com.acme.Probe (x)  q = com.acme.Probe (p)  y = MatMul (q, w)\n}\n'
        (self.folder / 'data.onnxtxt').write_text(big % 'w.bin')
        (self.folder / 'lost.onnxtxt').write_text(big % 'nowhere.bin')
        (self.folder / 'kept.onnxtxt').write_text(
            '<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1, "local" : 1]>\n'
            'g (float[N] x, bool c) => (float[N] y) {\n'
            '  a = Abs (x)  p = com.acme.Probe (a)  i = Identity (p)  j = Identity (i)\n'
            '  k = If (c) <then_branch = t () => (float[N] r) { q = com.acme.Probe (j)  s = Identity (q)  r = Neg (s) },\n'
            '    else_branch = e () => (float[N] u) { v = Identity (j)  u = Neg (v) }>\n'
            '  y = local.f (k)\n}\n'
            '<domain: "local", opset_import: ["" : 17, "com.acme" : 1]>\n'
            'f (x) => (y) { p = com.acme.Probe (x)  i = Identity (p)  y = Neg (i) }\n')
        forward = 'forward{op=com.acme.Probe}'
        for model, plugin, pipeline, more in (
                ('probes', 'forward', forward + ',names', ()),
                ('probes', 'forward', 'repeat{max=3}(%s,fold,prune)' % forward, ('--stats',)),
                ('probes', 'forward', 'guard(%s)' % forward, ()),
                ('probes', 'forward', 'forward{op=com.acme.Nothing}', ()),
                # Names, places and patterns that are protected stay so in the model of the child.
                ('kept', 'forward', forward + ',identity', ('--keep', 'graph.node[2]')),
                ('kept', 'forward', forward + ',identity', ('--keep', 'y = Identity (x)')),
                ('kept', 'forward', forward + ',identity', ('--keep', 'j', '--keep', 'function[0].node[1]')),
                ('kept', 'forward', forward + ',identity',
                 ('--keep', 'graph.node[4].then_branch.node[1]')),
                ('data', 'forward', forward, ('--keep-weights',)),
                ('data', 'forward', forward + ',simplify', ('--dim', 'N=2..8', '--check')),
                ('data', 'forward', forward, ('--external-data', 'own.data')),
                ('lost', 'forward', forward, ('--dry-run',)),
                ('lost', 'forward', forward, ()),
                ('in', 'forward', 'forward{op=Sin},fold', ('--record',))):
            args = ('--plugin', './%s.so' % plugin, '--pass', pipeline, *more, model + '.onnxtxt',
                    'out.onnx')
            seen = []
            for apart in ((), ('--isolate-plugins',)):
                for name in ('out.onnx', 'own.data'):
                    (self.folder / name).unlink(missing_ok=True)
                got = self.run(*apart, '--log', 'log', *args)
                files = [(self.folder / n).read_bytes() if (self.folder / n).exists() else None
                         for n in ('out.onnx', 'own.data')]
                log = re.sub(r'"ns":\d+', '', (self.folder / 'log').read_text())
                seen.append((got.returncode, got.stdout, got.stderr, files, log))
            for what, here, there in zip(('code', 'stdout', 'stderr', 'files', 'log'), *seen):
                self.same('apart %s %s: %s' % (model, pipeline, what), there, here)
        got = self.run('--isolate-plugins', '--map', 'map', '--plugin', './forward.so', '--pass',
                       forward, 'probes.onnxtxt', 'none.onnx')
        self.same('apart --map', (got.returncode, got.stderr),
                  (2, '--map: error: names are not followed into a child process; leave --map or '
                   '--isolate-plugins out\n'))

    def compiled(self, folder, name):
        """Builds the bad plugin of a row of BAD; its path."""
        source, _, fault = name.partition(':')
        so = './bad_%s.so' % name.replace(':', '_')
        path = folder / ('bad_%s.c' % source)
        path = path if path.exists() else path.with_suffix('.cpp')
        if not (self.folder / so).exists():
            self.build(path, so, *(['-DFAULT=' + fault] if fault else []))
        return so

    def bad(self, folder):
        (self.folder / 'in.onnxtxt').write_text(MODEL)
        for name, code, line in BAD:
            if name == 'throw' and not self.cxx[0]:
                print('SKIP %s: there is no C++ compiler' % name)
                continue
            if self.sanitized and END in line:
                print('SKIP %s: a sanitized program reports crashes itself' % name)
                continue
            so = self.compiled(folder, name)
            got = self.run('--plugin', so, '--pass', '' if code == LOAD or name == 'init_crash' else 'bad', 'in.onnxtxt',
                           'out.onnx')
            self.expect(name, got, code, line.replace('{so}', re.escape(so)))
        known = {name.partition(':')[0] for name, _, _ in BAD} | {'decoder'}
        for source in folder.glob('bad_*.c*'):
            if source.stem[4:] not in known:
                self.failed += 1
                print('FAIL %s: nothing is expected of it' % source.name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--tool', required=True)
    parser.add_argument('--source', required=True)
    parser.add_argument('--build', required=True)
    parser.add_argument('--cc', required=True, nargs='+')
    options = parser.parse_args()
    options.tool = os.path.abspath(options.tool)
    with tempfile.TemporaryDirectory(prefix='abi-') as folder:
        runner = Runner(options, pathlib.Path(folder))
        runner.good()
        runner.operator()
        runner.statistics()
        runner.teach(pathlib.Path(__file__).parent)
        runner.decoder(pathlib.Path(__file__).parent)
        runner.proof()
        runner.no_file()
        runner.bad(pathlib.Path(__file__).parent)
        runner.apart(pathlib.Path(__file__).parent)
    print('%d runs, %d failed' % (runner.count, runner.failed))
    return 1 if runner.failed else 0


if __name__ == '__main__':
    sys.exit(main())
