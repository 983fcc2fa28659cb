#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a man page of a page of doc/: from_markdown.py PAGE.md NAME SECTION SUMMARY [OUT].

It reads the Markdown that doc/ is written in: headings, paragraphs, lists, tables, code blocks,
`code`, **bold**, *emphasis* and links. A table becomes a list whose tags are its first column.
Anything else (HTML, images, nested lists) is an error, so that a page cannot lose a part unseen.
"""
import re
import sys


def escape(text):
    """Text as roff shows it literally, also at the start of a line."""
    text = text.replace('\\', '\\e').replace('-', '\\-').replace('^', '\\(ha').replace('~', '\\(ti')
    text = text.replace('`', '\\(ga').replace("'", '\\(aq')
    return '\\&' + text if text[:1] in ('.', '\\') and not text.startswith('\\e') else text


SPAN = re.compile(r'`([^`]+)`|\*\*(.+?)\*\*|(?<![\w*])\*([^*\s](?:[^*]*[^*\s])?)\*(?!\w)|\[([^\]]+)\]\(([^)]*)\)')


def inline(text):
    """One run of text with its marks."""
    out, at = [], 0
    for m in SPAN.finditer(text):
        out.append(escape(text[at:m.start()]))
        code, bold, italic, label, link = m.groups()
        if code is not None:
            out.append('\\fB%s\\fP' % escape(code))
        elif bold is not None:
            out.append('\\fB%s\\fP' % inline_plain(bold))
        elif italic is not None:
            out.append('\\fI%s\\fP' % escape(italic))
        else:
            out.append('%s' % inline_plain(label))
            if link.endswith('.md'):
                out.append(' (%s)' % escape(link))
        at = m.end()
    out.append(escape(text[at:]))
    return ''.join(out)


def inline_plain(text):
    return escape(text.replace('`', ''))


def line_of(text):
    """A line that is no request, whatever it begins with."""
    line = inline(text)
    return '\\&' + line if line[:1] in ('.', "'") else line


def cells(row):
    """The cells of a table's row; a | inside `code` or after a backslash does not divide."""
    out, cell, code = [], '', False
    body = row.strip()[1:-1]
    i = 0
    while i < len(body):
        c = body[i]
        if c == '\\' and body[i + 1:i + 2] == '|':
            cell += '|'
            i += 2
            continue
        if c == '`':
            code = not code
        if c == '|' and not code:
            out.append(cell.strip())
            cell = ''
        else:
            cell += c
        i += 1
    return out + [cell.strip()]


def table(rows):
    head = cells(rows[0])
    # With two columns the head is a row of its own, else each cell names its column.
    out = ['.TP\n\\fI%s\\fP\n\\fI%s\\fP' % tuple(map(inline_plain, head))] if len(head) == 2 else []
    for row in rows[2:]:
        row = cells(row)
        out.append('.TP\n%s' % line_of(row[0]))
        if len(row) == 2:
            out.append(line_of(row[1]) or '\\&')
        else:
            out += ['%s: %s%s' % (line_of(h), inline(c), '\n.br' if i < len(row) - 2 else '')
                    for i, (h, c) in enumerate(zip(head[1:], row[1:]))]
    return '\n'.join(out)


def fail(number, line):
    sys.exit('from_markdown.py: line %d is of a form that this script does not know: %s' %
             (number, line))


def body(lines):
    """The page without its title."""
    out, i = [], 0
    while i < len(lines):
        line = lines[i]
        if line.startswith('```'):
            i += 1
            out.append('.PP\n.RS 2\n.nf')
            while not lines[i].startswith('```'):
                code = escape(lines[i])
                out.append('\\&' + code if code[:1] in ('.', "'") else code)
                i += 1
            out.append('.fi\n.RE')
        elif line.startswith('## '):
            out.append('.SH %s' % inline_plain(line[3:]).upper())
        elif line.startswith('### '):
            out.append('.SS %s' % inline_plain(line[4:]))
        elif line.startswith('|'):
            rows = []
            while i < len(lines) and lines[i].startswith('|'):
                rows.append(lines[i])
                i += 1
            out.append(table(rows))
            continue
        elif not line.strip():
            pass
        elif line[0] in '<!#' or re.match(r'\s+[-*] ', line):
            fail(i + 1, line)
        else:
            item = re.match(r'([-*]|\d+\.) (.*)', line)
            text = item.group(2) if item else line
            # The lines that go on: those of a list item are indented.
            while i + 1 < len(lines) and lines[i + 1].strip() and (
                    lines[i + 1].startswith(' ') if item else
                    not re.match(r'([-*]|\d+\.) |[#|`]{1,3}(?=[#|` ])|```', lines[i + 1])):
                i += 1
                text += ' ' + lines[i].strip()
            mark = '\\(bu' if not item or item.group(1) in '-*' else item.group(1)
            out.append(('.IP %s 3\n%s' % (mark, line_of(text))) if item else '.PP\n' + line_of(text))
        i += 1
    return '\n'.join(out)


def main():
    source, name, section, summary = sys.argv[1:5]
    with open(source, encoding='utf-8') as f:
        lines = f.read().split('\n')
    first = next(i for i, line in enumerate(lines) if line.startswith('# '))
    text = ('.\\" Made from doc/%s by doc/man/from_markdown.py.\n.TH %s %s\n.SH NAME\n%s \\- %s\n'
            '.SH DESCRIPTION\n%s\n.SH SEE ALSO\n.BR onnxsurg (1)\n' %
            (source.rsplit('/', 1)[-1], name.upper(), section, escape(name), escape(summary),
             body(lines[first + 1:])))
    if len(sys.argv) > 5:
        with open(sys.argv[5], 'w', encoding='utf-8') as f:
            f.write(text)
    else:
        sys.stdout.write(text)


if __name__ == '__main__':
    main()
