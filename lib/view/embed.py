#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a C file of the page and of the style of pictures: embed.py OUT.c HTML CSS JS PICTURE_CSS"""
import pathlib
import sys


def literal(text):
    """C string literals, one a line."""
    escaped = (l.replace('\\', '\\\\').replace('"', '\\"') for l in text.splitlines())
    return '\n'.join('    "%s\\n"' % l for l in escaped)


def main():
    out, html, css, js, picture = map(pathlib.Path, sys.argv[1:])
    page = html.read_text(encoding='utf-8').replace('@CSS@\n', css.read_text(encoding='utf-8')) \
        .replace('@JS@\n', js.read_text(encoding='utf-8'))
    parts = page.split('@DATA@')
    if len(parts) != 2 or '@CSS@' in page or '@JS@' in page:
        sys.exit('%s: expected @CSS@, @JS@ and one @DATA@' % html)
    out.write_text('''/* Made by embed.py. */
#include "view/view.h"

const char *const surg__view_page[] = {
%s};
const size_t surg__view_page_count = SURG_COUNT(surg__view_page);

const char *const surg__view_style[] = {
%s};
const size_t surg__view_style_count = SURG_COUNT(surg__view_style);
''' % (',\n'.join(literal(p) for p in parts), literal(picture.read_text(encoding='utf-8'))),
        encoding='utf-8')


main()
