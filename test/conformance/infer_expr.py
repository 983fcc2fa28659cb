# SPDX-License-Identifier: Apache-2.0
"""Dims as expressions (doc/shapes.md): numbers, names, "quoted names", dim("value", axis), + - *,
floor(a/b), mod(a, b), min and max."""
import re

TOKEN = re.compile(r'\s*(?:(\d+)|("(?:[^"\\]|\\.)*")|(\w[\w.]*)|([-+*/(),]))')
ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|(.))", re.S)
FUNCTIONS = {"floor": lambda a, b: a // b if b else None, "mod": lambda a, b: a % b if b else None,
             "ceil": lambda a, b: -(-a // b) if b else None, "min": min, "max": max}


def unquote(text):
    raw = ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else {"n": "\n", "t": "\t"}.get(m[2], m[2]),
                     text[1:-1])
    try:
        return raw.encode("latin-1").decode() if "\\x" in text else raw
    except UnicodeError:
        return raw


def tokens(text):
    at, out = 0, []
    while text[at:].strip():
        m = TOKEN.match(text, at)
        if not m:
            raise ValueError("expression %r at %d" % (text, at))
        at = m.end()
        out.append(m)
    return out


class Parser:
    """Symbols are names, or (value, axis); `number_of` gives their numbers, or None."""

    def __init__(self, text, number_of):
        self.tokens, self.at, self.number_of, self.symbols = tokens(text), 0, number_of, []

    def peek(self):
        return self.tokens[self.at].group(4) if self.at < len(self.tokens) else None

    def take(self, mark):
        if self.peek() != mark:
            raise ValueError("expected %r" % mark)
        self.at += 1

    def symbol(self, symbol):
        self.symbols.append(symbol)
        return self.number_of(symbol)

    def sum(self):
        value = self.product()
        while self.peek() in ("+", "-"):
            mark = self.peek()
            self.at += 1
            other = self.product()
            if value is not None and other is not None:
                value = value + other if mark == "+" else value - other
            else:
                value = None
        return value

    def product(self):
        value = self.factor()
        while self.peek() == "*":
            self.at += 1
            other = self.factor()
            value = value * other if value is not None and other is not None else None
        return value

    def factor(self):
        if self.peek() == "-":
            self.at += 1
            value = self.factor()
            return -value if value is not None else None
        if self.peek() == "(":
            self.take("(")
            value = self.sum()
            self.take(")")
            return value
        m = self.tokens[self.at]
        self.at += 1
        if m.group(1):
            return int(m.group(1))
        if m.group(3) and self.peek() == "(":
            return self.dim() if m.group(3) == "dim" else self.call(m.group(3))
        return self.symbol(m.group(3) or unquote(m.group(2)))

    def dim(self):
        self.take("(")
        value, axis = self.tokens[self.at].group(2), self.tokens[self.at + 2].group(1)
        self.at += 3
        self.take(")")
        return self.symbol((unquote(value), int(axis)))

    def call(self, function):
        args = []
        self.take("(")
        args.append(self.sum())
        while self.peek() in (",", "/"):
            self.at += 1
            args.append(self.sum())
        self.take(")")
        return None if any(a is None for a in args) else FUNCTIONS[function](*args)


def evaluate(text, number_of):
    """(value or None, symbols)"""
    p = Parser(text, number_of)
    value = p.sum()
    if p.at != len(p.tokens):
        raise ValueError("expression %r: more follows" % text)
    return value, p.symbols


def only_symbol(text):
    """The symbol the expression is, or None."""
    symbols = evaluate(text, lambda _: 0)[1]
    return symbols[0] if len(symbols) == 1 and len(tokens(text)) in (1, 6) else None
