#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes doc/substitutions.md from the rules: ledger.py ONNXSURG SOURCE [--check].

One line for each rule that replaces its operator, with the golden cases that name the operator; then
rejected recipes, from passes/rules/refused.txt. With --check nothing is written, and the exit code is 1
if the page is not up to date."""
import json
import pathlib
import re
import subprocess
import sys

HEAD = '''# Substitutions

After this page you know which operators can be replaced, by what, under which conditions, and how
exact. Example:

```sh
onnxsurg --pass 'replace{op=HardSwish}' in.onnx out.onnx
```

The table lists what `replace` and conversions between opsets use. `ninja ledger` generates it from
the rules; `onnxsurg rules NAME` prints a rule, and [rules](rules.md) explains the language and the
exactness classes. The tests prove every rule on models drawn from its pattern (`test/rules`).

- **Versions**: the opsets of the model in which the rule matches.
- **Recipe**: the operators of its first emission; *in C* if text cannot express it.
- **When**: what must be proven of the model, except conditions on element types only.
- **Proof**: *moves*: only moves elements, so tests with distinct elements cover all bits of all
  types; *bits*: all values of 8- and 16-bit types give equal bits; *reals*: equal over the real
  numbers by z3, element by element; otherwise drawn models alone. `test/proofs/proofs.py` has the
  details; its option `--prove` repeats them.

'''


def blocks(text, word):
    """The `match` or `emit` blocks of a rule: (opset, guard, body)."""
    out = []
    for m in re.finditer(r'\b%s\b([^{}]*)(\{|by (\w+))' % word, text):
        head = m.group(1)
        body = ''
        if m.group(2) == '{':
            depth, i = 1, m.end()
            while depth and i < len(text):
                depth += {'{': 1, '}': -1}.get(text[i], 0)
                i += 1
            body = text[m.end():i - 1]
        opset = re.search(r'opset\s+(\d+(\.\.\d*)?)', head)
        guard = head.split('where', 1)[1] if 'where' in head else ''
        out.append((opset.group(1) if opset else '', ' '.join(guard.split()), body, m.group(3)))
    return out


def recipe(emits):
    opset, guard, body, native = emits[0]
    if native:
        return '*in C*: `%s`' % native
    ops = re.findall(r'=\s*((?:[a-z_]\w*\.)*[A-Z]\w*)\s*[<(]', body)
    return ' '.join(dict.fromkeys(ops)) or 'its input'


def types_only(guard):
    return not re.sub(r'dtype\(\w+\)|\b(in|and|or|not|==|!=)\b|[\[\](),=!\s]|\b(f16|f32|f64|bf16|[iu](8|16|32|64)|bool)\b',
                      '', guard)


def cell(text):
    return text.replace('|', '\\|')


def page(tool, source):
    rules = json.loads(subprocess.run([tool, 'rules', '--json'], check=True, stdout=subprocess.PIPE).stdout)['rules']
    cases = {}
    for case in sorted((source / 'test/golden').glob('*/*.txt')):
        if case.parent.name in ('replace', 'opset'):
            cases[case.parent.name + '/' + case.stem] = case.read_text().split('--- output')[0]
    proofs = dict(line.split()[:2] for line in
                  (source / 'test/proofs/status.txt').read_text().splitlines())
    ops = {}
    for r in rules:
        if r['group'] not in ('substitute', 'opset'):
            continue
        text = re.sub(r'#[^\n]*', '', r['text'])
        match, emits = blocks(text, 'match')[0], blocks(text, 'emit')
        op = (r['domain'] + '.' if r['domain'] else '') + r['op_type']
        if not emits or any(re.search(r'=\s*(OP|%s)\s*[<(]' % r['op_type'], e[2]) for e in emits):
            continue
        guards = [g for g in [match[1]] + [e[1] for e in emits[:1]] if g and not types_only(g)]
        word = re.search(r'\b(exact|ulp|rounding|approx|lossy)\b\s*(\(("[^"]*"|\d+)\))?', text)
        ops.setdefault(op, []).append((r['name'], match[0] or 'all', recipe(emits), ' and '.join(guards),
                                       word.group(0).strip() if word else 'exact'))
    out = [HEAD, '| operator | rule | versions | recipe | when | exactness | proof | golden |\n|---|---|---|---|---|---|---|---|\n']
    for op in sorted(ops, key=lambda o: (o.count('.'), o)):
        name = op.rsplit('.', 1)[-1]
        found = [c for c, t in cases.items() if re.search(r'=\s*(\w+\.)*%s\s*[<(]' % name, t)]
        for i, (rule, opset, what, when, exact) in enumerate(ops[op]):
            golden = ', '.join('`%s`' % c for c in found[:2]) if i == 0 else ''
            status = proofs.get(rule, 'tested')
            out.append('| %s | `%s` | %s | %s | %s | %s | %s | %s |\n' % (
                op if i == 0 else '', rule, opset, cell(what), '`%s`' % cell(when) if when else '', cell(exact),
                '' if status == 'tested' else status, golden))
    out.append('\n## Rejected\n\nRecipes of other tools that do not compute the same, and the reason.\n\n'
               '| recipe | why not | instead |\n|---|---|---|\n')
    for line in (source / 'passes/rules/refused.txt').read_text().splitlines():
        if line and not line.startswith('#'):
            out.append('| %s |\n' % ' | '.join(cell(p.strip()) for p in line.split(';;')))
    return ''.join(out)


def main():
    tool, source = sys.argv[1], pathlib.Path(sys.argv[2])
    path = source / 'doc/substitutions.md'
    text = page(tool, source)
    if '--check' not in sys.argv:
        path.write_text(text)
    elif not path.exists() or path.read_text() != text:
        print('doc/substitutions.md is stale: run `ninja ledger`')
        return 1
    return 0


sys.exit(main())
