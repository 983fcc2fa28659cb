# SPDX-License-Identifier: Apache-2.0
"""Dims as expressions: numbers, names, "quoted names", + - *, floor(a/b), mod(a,b), min, max."""
import re

TOKEN = re.compile(r'\s*(?:(\d+)|("(?:[^"\\]|\\.)*")|(\w[\w.]*)|([-+*/(),]))')


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
    """value: a number, or None where a name has none in `env`."""

    def __init__(self, text, env):
        self.tokens, self.at, self.env, self.names = tokens(text), 0, env, []

    def peek(self):
        return self.tokens[self.at].group(4) if self.at < len(self.tokens) else None

    def take(self, mark):
        if self.peek() != mark:
            raise ValueError("expected %r" % mark)
        self.at += 1

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
        if m.group(3) in ("floor", "ceil", "mod", "min", "max") and self.peek() == "(":
            return self.call(m.group(3))
        name = m.group(3) or re.sub(r"\\(.)", r"\1", (m.group(2) or "")[1:-1])
        self.names.append(name)
        return self.env.get(name)

    def call(self, function):
        args = []
        self.take("(")
        args.append(self.sum())
        while self.peek() in (",", "/"):
            self.at += 1
            args.append(self.sum())
        self.take(")")
        if any(a is None for a in args):
            return None
        if function in ("min", "max"):
            return (min if function == "min" else max)(args)
        a, b = args if len(args) == 2 else (args[0], 1)
        return {"floor": a // b, "ceil": -(-a // b), "mod": a % b}[function] if b else None


def evaluate(text, env):
    """(value or None, the name where the expression is one name)."""
    p = Parser(text, env)
    value = p.sum()
    if p.at != len(p.tokens):
        raise ValueError("expression %r: more follows" % text)
    return value, p.names[0] if len(p.tokens) == 1 and p.names else None
