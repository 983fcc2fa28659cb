#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes fuzz_calls.h: one case for each function that a plugin may call, with arguments that bytes
choose (fuzz_plugin.c).

    calls.py API_DEF OUT

A function is left out only if it is in LEFT_OUT, with the reason."""
import re
import sys

ROW = re.compile(r'SURG_(FN|PROC)\(\s*(\d+),(.*?)\)\)\s*(?=SURG_|$)', re.S)

# Ends what the target itself needs, replaces the model below the pass, or reads and writes files.
ENDS = 'ends an object that the target uses'
FILES = 'writes or reads files'
TAUGHT = 'changes the context, which serves many inputs; fuzz_rules, fuzz_schema and others do that'
SLOW = 'runs all rules, which fuzz_passes, fuzz_rules and fuzz_opset do'
LEFT_OUT = {
    'surg_context_new': ENDS, 'surg_context_free': ENDS, 'surg_context_free_bytes': ENDS,
    'surg_model_free': ENDS, 'surg_model_run': ENDS, 'surg_model_merge': 'needs a second model',
    'surg_model_save_memory': 'every input ends with it', 'surg_model_save_text': 'its text is to be freed',
    'surg_model_load': FILES, 'surg_model_save': FILES, 'surg_model_load_source': FILES,
    'surg_model_save_sink': FILES, 'surg_tensor_load': FILES, 'surg_pass_user': 'no argument to choose',
    'surg_context_user': 'no argument to choose',
    'surg_tensor_borrow': 'its bytes belong to the caller',
    'surg_tensor_new_strings': 'has no count beside its array; make_tensor calls it',
    'surg_model_load_memory': 'fuzz_load', 'surg_model_load_text': 'fuzz_text',
    'surg_model_listen': 'a listener outlives the pass', 'surg_model_unlisten': 'a listener outlives the pass',
    'surg_registry_add_pass': TAUGHT, 'surg_registry_add_preset': TAUGHT, 'surg_registry_extend': TAUGHT,
    'surg_registry_add_rules': TAUGHT, 'surg_registry_add_schemas': TAUGHT,
    'surg_registry_add_operator': TAUGHT, 'surg_registry_add_decoder': TAUGHT,
    'surg_registry_add_target': TAUGHT, 'surg_registry_add_messages': TAUGHT,
    'surg_pass_rewrite_graph': SLOW, 'surg_pass_move_opset': SLOW, 'surg_pass_move_domain': SLOW,
    'surg_context_load_schemas': TAUGHT, 'surg_context_load_rules': TAUGHT,
}
HANDLES = ['graph', 'node', 'value', 'tensor', 'function', 'attr', 'use', 'type', 'schema', 'rule']
PLAIN = {'const char *': 'text(f)', 'int64_t': 'number(f)', 'uint64_t': 'limit(f)', 'bool': 'byte(f) & 1',
         'float': 'real(f)', 'int': 'kind(f)', 'surg_context *': 'f->ctx', 'surg_registry *': 'f->registry',
         'surg_pass_ctx *': 'f->pass', 'surg_model *': 'f->m', 'surg_dim *': 'f->dims_out',
         'const surg_dim *': 'dims(f)', 'const int64_t *': 'numbers(f)', 'const float *': 'reals(f)',
         'const surg_str *': 'strings(f)', 'const char *const *': 'texts(f)',
         'surg_value *const *': 'values(f)', 'surg_tensor *const *': 'tensors(f)',
         'surg_value **': 'f->values_out', 'surg_tensor **': 'f->tensors_out',
         'const void *': 'f->bytes', 'void *': 'f->scratch', 'char *': '(char *)f->scratch',
         'surg_model **': '&f->other', 'surg_finding *': 'finding(f)'}
# Where results are written that nobody reads.
OUT = ['bool *', 'size_t *', 'int64_t *', 'uint64_t *', 'const void **', 'const char **', 'const surg_str **',
       'const surg_node **', 'surg_elem *', 'surg_range *', 'surg_exactness *']
CALLBACKS = ['surg_symbol_fn', 'surg_rule_filter', 'surg_listener', 'surg_release_fn']


def split(text):
    """The parts of a list in parentheses, and what follows it."""
    parts, depth, part = [], 0, ''
    for i, c in enumerate(text):
        depth += (c == '(') - (c == ')')
        if depth == 0:
            return [p.strip() for p in parts + [part] if p.strip() not in ('', 'void')], text[i + 1:]
        if depth == 1 and c == ',':
            parts.append(part)
            part = ''
        elif not (depth == 1 and c == '('):
            part += c
    raise ValueError(text)


def functions(source):
    source = re.sub(r'/\*.*?\*/', ' ', source, flags=re.S)
    for kind, slot, body in ROW.findall(source):
        head, rest = body.split('(', 1)
        words = [' '.join(w.split()) for w in head.rstrip(' ,\n').split(',')]
        parameters = split('(' + rest)[0]
        yield words[-1], words[0] if kind == 'FN' else 'void', [' '.join(p.split()) for p in parameters]


def argument(parameter, bounded):
    name = re.search(r'(\w+)$', parameter).group(1)
    kind = parameter[:-len(name)].strip()
    plain = kind[6:] if kind.startswith('const surg_') and kind[6:] in PLAIN and kind not in PLAIN else kind
    handle = re.fullmatch(r'(?:const )?surg_(%s) \*' % '|'.join(HANDLES), kind)
    if handle:
        return 'a_%s(f)' % handle.group(1)
    if kind == 'size_t':
        return 'few(f)' if bounded else 'place(f)'
    if plain in PLAIN:
        return PLAIN[plain]
    if kind in OUT:
        return '(void *)f->scratch'
    if kind in CALLBACKS or re.fullmatch(r'const surg_\w+ \*', kind):
        return 'NULL'
    if re.fullmatch(r'surg_\w+', kind):
        return '(%s)few(f)' % kind
    sys.exit('calls.py: no argument of type `%s` (%s)' % (kind, parameter))


def call(name, result, parameters):
    # A length belongs to an array: those that are passed have some elements.
    bounded = any('*' in p and not re.match(r'(const )?surg_(%s|model|context|pass_ctx) \*\w' % '|'.join(HANDLES), p)
                  and not p.startswith('const char *') or p.startswith('const char *const') for p in parameters)
    wanted = [argument(p, bounded) for p in parameters]
    # Each in a statement of its own: compilers choose the order of the arguments of a call.
    lines = ['%s = %s;' % (declare(p), w) for p, w in zip(parameters, wanted)]
    made = '%s(%s)' % (name, ', '.join(re.search(r'(\w+)$', p).group(1) + '_' for p in parameters))
    handle = re.fullmatch(r'(?:const )?surg_(%s) \*' % '|'.join(HANDLES), result)
    if handle:
        lines.append('keep_%s(f, %s);' % (handle.group(1), made))
    elif result == 'surg_model *' and name in ('surg_model_new', 'surg_model_clone'):
        lines.append('f->other = %s;' % made)
    elif result == 'surg_status':
        lines.append('judge(f, %s);' % made)
    else:
        lines.append('(void)%s;' % made if result != 'void' else made + ';')
    return lines


def declare(parameter):
    name = re.search(r'(\w+)$', parameter).group(1)
    return parameter[:-len(name)] + name + '_'


def main():
    source = open(sys.argv[1], encoding='utf-8').read()
    all_functions = list(functions(source))
    unknown = set(LEFT_OUT) - {name for name, _, _ in all_functions}
    if unknown:
        sys.exit('calls.py: there is no %s' % ', '.join(sorted(unknown)))
    lines = ['/* Generated by calls.py from api.def. */']
    count = 0
    for name, result, parameters in all_functions:
        if name in LEFT_OUT:
            continue
        lines += ['case %d: { /* %s */' % (count, name)]
        lines += ['  ' + line for line in call(name, result, parameters)]
        lines += ['  return;', '}']
        count += 1
    lines.append('#define CALLS %d' % count)
    with open(sys.argv[2], 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines) + '\n')


if __name__ == '__main__':
    main()
