#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes doc/commands.md from the help of the program: commands.py ONNXSURG SOURCE [--check].

With --check nothing is written, and the exit code is 1 if the page is not up to date."""
import json
import pathlib
import re
import subprocess
import sys

HEAD = '''# Commands

After this page you know every command, pass and option of the program. It is generated from the
program's own help by `ninja -C build commands`; `onnxsurg COMMAND --help` prints one entry.

'''

# What a user wants, and the command that does it. test/cli/broken.py runs each on damaged models.
TASKS = (
    ('onnxsurg in.onnx out.onnx', 'simplify: the preset `simplify`'),
    ("onnxsurg --pass 'fold{max-growth=1MiB},prune' in.onnx out.onnx", 'run passes of your choice'),
    ("onnxsurg --pass 'outputs{keep=logits},prune' in.onnx out.onnx", 'keep one output'),
    ('onnxsurg --opset 11 in.onnx out.onnx', 'convert to another opset'),
    ("onnxsurg --pass 'replace{op=HardSwish}' in.onnx out.onnx", 'replace an operator by others'),
    ('onnxsurg extract --from pool5 --to logits in.onnx out.onnx', 'extract a part'),
    ("onnxsurg insert --after image --text 'y = Div (image, 255.0)' in.onnx out.onnx", 'insert nodes'),
    ('onnxsurg set --value bias --data bias.npy in.onnx out.onnx', 'set a weight, an attribute, a type'),
    ('onnxsurg edit steps.txt in.onnx out.onnx', 'run a script of steps, all or none'),
    ('onnxsurg merge a.onnx b.onnx --connect y:x -o out.onnx', 'join two models'),
    ('onnxsurg split --parts 2 model.onnx', 'divide a model into parts that run one after another'),
    ('onnxsurg attach softmax --after logits in.onnx out.onnx', 'add a template before or after a model'),
    ('onnxsurg data --shard 2GiB in.onnx out.onnx', 'move weights to data files, or `--embed` them'),
    ('onnxsurg weights --export w.safetensors in.onnx', 'write weights by name; `--import` reads them'),
    ('onnxsurg strip in.onnx small.onnx', 'replace weights by digests; `restore` gives them back'),
    ('onnxsurg remove-op --op com.acme.FooOp in.onnx out.onnx', 'remove an operator, connect its input'),
    ('onnxsurg -i model.onnx', 'edit in place'),
    ('onnxsurg --out-dir small *.onnx', 'edit many files'),
    ('onnxsurg info model.onnx', 'print what a model contains and needs'),
    ('onnxsurg info --top 10 --dim N=1 model.onnx', '... and the most expensive nodes'),
    ('onnxsurg nodes model.onnx op=Conv', 'list nodes: all, or those that an address selects'),
    ('onnxsurg view model.onnx', 'draw a model as an HTML page'),
    ('onnxsurg diff a.onnx b.onnx', 'compare two models by structure, names and weights'),
    ('onnxsurg diff --patch b.patch a.onnx b.onnx', '... and write a patch that makes the second one'),
    ('onnxsurg patch a.onnx b.patch out.onnx', 'apply the patch'),
    ("onnxsurg find 'c = Conv (x, w, ...) y = Relu (c)' model.onnx", 'find a pattern'),
    ('onnxsurg cat model.onnx', 'print a model as text; the text can be read back'),
    ('onnxsurg check *.onnx', 'list what is invalid'),
    ('onnxsurg check --schema acme.schema model.onnx', '... with custom operators from a schema file'),
    ('onnxsurg check --target tensorrt-8.6 model.onnx', 'list what an engine does not support'),
    ('onnxsurg mend in.onnx out.onnx', 'repair an invalid model'),
    ('onnxsurg repair --target tensorrt-8.6 in.onnx out.onnx', 'make an engine support the model'),
    ("onnxsurg repair --until 'myimporter {}' in.onnx out.onnx", '... guided by its own messages'),
    ('onnxsurg doctor --target tensorrt-8.6 model.onnx', 'examine a model step by step'),
    ('onnxsurg ops Conv', 'explain an operator and its versions'),
    ('onnxsurg ops --new-since 13 model.onnx', 'list nodes that opset 13 does not have'),
    ('onnxsurg run --dim N=4 model.onnx', 'run a model without any runtime'),
    ('onnxsurg run --inputs data --expect data model.onnx', '... and compare with expected outputs'),
    ('onnxsurg verify before.onnx after.onnx', 'compare the results of two models'),
    ('onnxsurg verify --engine builtin --engine ort --layers model.onnx', '... or of two engines'),
    ('onnxsurg --check in.onnx out.onnx', 'compare before writing'),
    ('onnxsurg --check=each in.onnx out.onnx', '... and leave out a pass that changes results'),
    ('onnxsurg bisect model.onnx', 'find the rewrite that changes results'),
    ('onnxsurg isolate --node Conv_17 model.onnx bug/model.onnx', 'extract one node with its inputs'),
    ("onnxsurg reduce --test './crashes.sh' big.onnx small.onnx", 'find a smaller model with the same fault'),
    ('onnxsurg passes fold', 'explain a pass and its options'),
    ('onnxsurg rules', 'list the rewrite rules'),
    ('onnxsurg targets', 'list the known engines'),
)

def commands_of(help_text):
    """The commands that the main help lists, in its order: none can be missing on the page."""
    return [word for line in re.findall(r'^ +onnxsurg ((?:\w+\|)+\w+)', help_text, re.MULTILINE)
            for word in line.split('|')]


def help_of(tool, *args):
    r = subprocess.run([tool, *args, '--help'], check=True, stdout=subprocess.PIPE)
    return r.stdout.decode('utf-8').rstrip()


def what_is(tool, preset):
    """The first line of `passes PRESET`, without the name."""
    r = subprocess.run([tool, 'passes', preset], check=True, stdout=subprocess.PIPE)
    return r.stdout.decode('utf-8').split('\n')[0].split(': ', 1)[1]


def option_row(name, option):
    form = {'bool': '', 'int': '=N', 'string': '=TEXT', 'list': '=A+B', 'pairs': '=VALUE'}
    default = '' if option['default'] is None else '`%s`' % option['default']
    return '| %s | `%s%s` | %s | %s |\n' % (name, option['name'], form[option['kind']], default,
                                         option['help'].replace('|', '\\|'))


def page(tool):
    listing = json.loads(subprocess.run([tool, 'passes', '--json'], check=True,
                                        stdout=subprocess.PIPE).stdout)
    out = [HEAD, '## By task\n\n```sh\n']
    out += ['%-67s # %s\n' % task for task in TASKS]
    out.append('''```

## Passes

Each pass is a step of a pipeline, `--pass 'NAME{option=value}'`, and a command of its own,
`onnxsurg NAME --option=value IN OUT`. Passes edit subgraphs and model functions, too.

| pass | what it does |
|---|---|
''')
    out += ['| `%s` | %s |\n' % (p['name'], p['help'].replace('|', '\\|')) for p in listing['passes']]
    out.append('''
## Options of passes

| pass | option | default | meaning |
|---|---|---|---|
''')
    for p in listing['passes']:
        out += [option_row('' if i else '`%s`' % p['name'], o) for i, o in enumerate(p['options'])]
    out.append('''
## Presets

A preset is a name for a pipeline; `--print-pipeline` prints the pipeline of a command line.

| preset | what it does | pipeline |
|---|---|---|
''')
    out += ['| `%s` | %s | `%s` |\n' % (name, what_is(tool, name), pipeline)
            for name, pipeline in listing['presets'].items()]
    main_help = help_of(tool)
    out.append('\n## `onnxsurg`\n\n```text\n%s\n```\n' % main_help)
    for command in commands_of(main_help):
        out.append('\n## `onnxsurg %s`\n\n```text\n%s\n```\n' % (command, help_of(tool, command)))
    return ''.join(out)


def main():
    tool, source = sys.argv[1], pathlib.Path(sys.argv[2])
    path = source / 'doc/commands.md'
    text = page(tool)
    if '--check' not in sys.argv:
        path.write_text(text, encoding='utf-8')
    elif not path.exists() or path.read_text(encoding='utf-8') != text:
        print('doc/commands.md is out of date: run `ninja -C build commands`')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
