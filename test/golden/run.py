#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs golden cases: a command, a model as text, and what must come out.

    run.py CASEDIR --tool PATH [--update] [--only NAME] [--limits] [--every N [--first K]]
           [--under COMMAND]

A case is one text file:

    # what it shows                        any number of comment lines
    $ onnxsurg --pass prune IN OUT         the command; IN and OUT stand for files
    --- input                              ONNX text, becomes IN (in.onnxtxt)
    --- wire                               or what text cannot say: a Python expression of
                                           onnx_wire's functions, becomes IN (in.onnx)
    --- file NAME                          more input files, as they stand
    --- exit N                             expected exit code (left out: 0)
    --- stdout                             expected text (left out: none)
    --- stderr                             expected text (left out: none)
    --- output                             `onnxsurg cat OUT` (left out: OUT does not exist)
    --- wrote NAME                         expected text of another file

Commands run in a folder of their own, so that messages hold no path. Every command of the main
form gets --verify-each. With --update what came out replaces what was expected: read the diff.

With --limits the expectations are not read. Instead each command that makes a model runs with
--rewrite-limit 0, 1, 2 ... until the limit no longer bites: the model must hold after any number of
rewrites and be read again, a limit of 0 must leave it as it was, and the last result must be the
unlimited one.

With --under the program is run by a command: 'valgrind -q --error-exitcode=99' or an emulator.
"""
import argparse
import difflib
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import onnx_wire  # noqa: E402

# Prints what a command wrote. For a sanitized program tools/bootstrap names the plain one, which starts
# ten times as fast; the command itself is always run by --tool.
CAT = [os.environ['ONNXSURG_CAT']] if os.environ.get('ONNXSURG_CAT') else None
SECONDS = 240  # of one command: a search for a repair takes one, and twenty under a sanitizer
RESULTS = ('exit', 'stdout', 'stderr', 'output', 'wrote')


def parse(path):
    """The head (comments and command line), and the sections as a list of (title, body)."""
    head, sections = [], []
    for line in path.read_text(encoding='utf-8').splitlines(keepends=True):
        if line.startswith('--- '):
            sections.append([line[4:].strip(), ''])
        elif sections:
            sections[-1][1] += line
        else:
            head.append(line)
    commands = [line[1:].strip() for line in head if line.startswith('$')]
    if len(commands) != 1:
        raise ValueError('needs one line that starts with $')
    return ''.join(head), commands[0], sections


# Commands that write a model and have no option --verify-each.
OWN = ('attach', 'isolate', 'merge', 'patch', 'reduce', 'edit', 'data', 'strip', 'restore', 'weights')


def with_options(args, options):
    """Options go first, but behind the name of a pass or preset."""
    named = 1 if args[0].replace('-', '').isalnum() and not args[0].startswith('-') else 0
    return args[:named] + options + args[named:]


def run_case(tool, command, sections):
    """What came out, as a list of (title, body)."""
    with tempfile.TemporaryDirectory(prefix='golden-') as folder:
        root = pathlib.Path(folder)
        for title, body in sections:
            word, _, name = title.partition(' ')
            if word == 'input':
                (root / 'in.onnxtxt').write_text(body, encoding='utf-8')
            elif word == 'wire':
                (root / 'in.onnx').write_bytes(eval('(%s)' % body, dict(vars(onnx_wire))))
            elif word == 'file':
                (root / name).write_text(body, encoding='utf-8')
        given = 'in.onnx' if any(t == 'wire' for t, _ in sections) else 'in.onnxtxt'
        words = shlex.split(command)
        if words[0] != 'onnxsurg':
            raise ValueError('the command must start with onnxsurg')
        args = [{'IN': given, 'OUT': 'out.onnx'}.get(w, w) for w in words[1:]]
        if 'OUT' in words and args[0] not in OWN:
            args = with_options(args, ['--verify-each', '--no-fsync'])
        env = dict(os.environ, LC_ALL='C')
        done = subprocess.run(tool + args, cwd=root, env=env, capture_output=True, timeout=SECONDS,
                              stdin=subprocess.DEVNULL)
        results = []
        if done.returncode:
            results.append(('exit %d' % done.returncode, ''))
        for name in ('stdout', 'stderr'):
            text = getattr(done, name).decode('utf-8', 'backslashreplace')
            if text:
                results.append((name, text))
        if (root / 'out.onnx').exists():
            cat = subprocess.run((CAT or tool) + ['cat', 'out.onnx'], cwd=root, env=env, capture_output=True,
                                 timeout=SECONDS)
            text = cat.stdout.decode('utf-8') + cat.stderr.decode('utf-8')
            results.append(('output', text))
        for title, _ in sections:
            word, _, name = title.partition(' ')
            if word == 'wrote':
                file = root / name
                results.append((title, file.read_text(encoding='utf-8') if file.exists() else ''))
        return results


def cat(tool, path):
    done = subprocess.run(tool + ['cat', str(path)], capture_output=True, timeout=SECONDS, check=True)
    return done.stdout


def run_limits(tool, command, sections):
    """What is wrong, or None; and how many runs it took."""
    words = shlex.split(command)
    if 'OUT' not in words or words[1] == 'repair' or '--rewrite-limit' in words or \
            '--dry-run' in words or '--print-pipeline' in words:
        return None, 0
    with tempfile.TemporaryDirectory(prefix='golden-') as folder:
        root = pathlib.Path(folder)
        for title, body in sections:
            word, _, name = title.partition(' ')
            if word in ('input', 'file'):
                name = 'in.onnxtxt' if word == 'input' else name
                (root / name).write_text(body, encoding='utf-8')
        names = {'IN': 'in.onnx', 'OUT': 'out.onnx'}
        args = tool + with_options([names.get(w, w) for w in words[1:]],
                                     ['--verify-each', '--no-fsync', '--quiet'])

        def run(arguments):
            (root / 'out.onnx').unlink(missing_ok=True)
            return subprocess.run(arguments, cwd=root, capture_output=True, timeout=SECONDS,
                                  stdin=subprocess.DEVNULL)

        def text(name):
            return cat(tool, root / name)
        # Sorted first: putting nodes in order is no rewrite.
        if run(tool + ['--quiet', '--pass', 'toposort', 'in.onnxtxt', 'in.onnx']).returncode:
            return None, 1
        if run(args).returncode:
            return None, 2
        # Files are compared as bytes: `cat` for each of them would take as long as making them.
        os.replace(root / 'out.onnx', root / 'full.onnx')
        full, seen = (root / 'full.onnx').read_bytes(), set()
        # All small limits, then further and further apart: some passes rewrite hundreds of times.
        limits = list(range(40))
        while limits[-1] < 100000:
            limits.append(limits[-1] * 5 // 4)
        for runs, limit in enumerate(limits):
            done = run(args + ['--rewrite-limit', str(limit)])
            if done.returncode == 2 and limit < 40:
                continue  # a pass speaks of what the one before it was to make
            if done.returncode:
                return 'limit %d: exit %d: %s' % (limit, done.returncode, done.stderr), runs + 3
            got = (root / 'out.onnx').read_bytes()
            if limit == 0 and got != (root / 'in.onnx').read_bytes() and \
                    text('out.onnx') != text('in.onnx'):
                return 'changed with --rewrite-limit 0', runs + 3
            if got == full:
                break
            if got not in seen:
                last = '%d.onnx' % limit
                os.replace(root / 'out.onnx', root / last)
                seen.add(got)
        else:
            if text(last) != text('full.onnx'):
                return 'no limit is enough', len(limits) + 2
        # What was written can be read again, all of it by one run; 3: its weights are missing.
        missing = run(tool + ['check', '--quiet', 'in.onnx']).returncode == 3
        written = sorted(p.name for p in root.glob('*.onnx') if p.name not in ('in.onnx', 'out.onnx'))
        done = run(tool + ['check', '--quiet', *written])
        if done.returncode not in ((3,) if missing else (0, 1)):
            return 'check: exit %d: %s' % (done.returncode, (done.stdout + done.stderr)[-300:]), runs + 5
        return None, runs + 5


def write(head, sections):
    text = head
    for title, body in sections:
        text += '--- %s\n%s' % (title, body)
        if text and not text.endswith('\n'):
            text += '\n'
    return text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('casedir', type=pathlib.Path)
    parser.add_argument('--tool', required=True)
    parser.add_argument('--update', action='store_true')
    parser.add_argument('--only')
    parser.add_argument('--limits', action='store_true')
    parser.add_argument('--every', type=int, default=1, metavar='N', help='one case in N')
    parser.add_argument('--first', type=int, default=0, metavar='K', help='from case K on')
    parser.add_argument('--under', default='', metavar='COMMAND', help='what runs the program')
    options = parser.parse_args()
    tool = shlex.split(options.under) + [str(pathlib.Path(options.tool).resolve())]
    cases = sorted(options.casedir.rglob('*.txt'))[options.first::options.every]
    if options.only:
        cases = [c for c in cases if c.stem == options.only]
    if not cases:
        sys.exit('%s: no cases' % options.casedir)
    failed = updated = runs = 0
    for case in cases:
        try:
            head, command, sections = parse(case)
            if options.limits:
                fault, n = run_limits(tool, command, sections)
                runs += n
                if fault:
                    failed += 1
                    print('FAIL %s: %s' % (case, fault))
                continue
            given = [s for s in sections if s[0].split()[0] not in RESULTS]
            results = run_case(tool, command, sections)
        except (ValueError, OSError, subprocess.SubprocessError) as e:
            print('FAIL %s: %s' % (case, e))
            failed += 1
            continue
        want = case.read_text(encoding='utf-8')
        got = write(head, given + results)
        if got == want:
            continue
        if options.update:
            case.write_text(got, encoding='utf-8')
            updated += 1
            continue
        failed += 1
        print('FAIL %s' % case)
        sys.stdout.writelines(difflib.unified_diff(want.splitlines(True), got.splitlines(True),
                                                   'expected', 'got'))
    print('%d cases, %d failed, %d %s' % (len(cases), failed, runs or updated,
                                          'runs' if options.limits else 'updated'))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
