#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules that are wrong must not be proven, and those that differ from them by what makes them right
must be. Without z3 the test is skipped (exit code 77)."""
import shutil
import sys

import proofs

COPY = 'rule a { match %s { y = Cast <to = t, ...> (x) } emit { y = x } }'
DROP = 'rule a { match opset %s { y = Dropout <...> (x, r?, n?) } emit { y = x } }'
PAIR = 'rule a rounding(8) { match opset 7.. %s { %s } emit opset 7.. { %s } }'
# (kind of proof, rule that is proven, rules that are not)
LEFT = 'rule a { match opset 8.. { y = Sub (a, b) } emit opset 8.. { %s } }'
CASES = [
    (proofs.moves, LEFT % 'e = Expand (a, shape(b) : i64)  y = Sub (e, b)',
     [LEFT % 'e = Expand (a, shape(b) : i64)  y = Sub (b, e)',
      LEFT % 'e = Expand (a, shape(b) : i64)  y = Sub (e, e)',
      LEFT % 'e = Expand (a, shape(b) : i64)  y = Add (e, b)',
      LEFT % 'n = Neg (a)  y = Sub (n, b)']),
    (proofs.moves, 'rule a { match opset 7.. { y = Elu <alpha = 1.0> (x) } emit opset 7.. '
     '{ t = Transpose <perm = [0]> (x)  y = Elu <alpha = 1.0> (t) } }',
     ['rule a { match opset 7.. { y = Elu <alpha = 1.0> (x) } emit opset 7.. '
      '{ t = Transpose <perm = [0]> (x)  y = Elu <alpha = 2.0> (t) } }',
      'rule a { match opset 7.. { y = Elu <...> (x) } emit opset 7.. { y = Elu (x) } }']),
    (proofs.moves, COPY % 'where int(dtype(x)) == t',
     [COPY % '', COPY % 'where int(dtype(y)) == t', COPY % 'where int(dtype(x)) != t']),
    (proofs.moves, DROP % '12.. where absent(n) or all(n, 0)',
     [DROP % '12..', DROP % '12.. where absent(r)', DROP % '12.. where absent(n) or all(n, 1)']),
    (proofs.reals, PAIR % ('', 'c = Conv <...> (x, w)  y = Mul (c, k)',
                           'u = Mul (w, k)  y = Conv <...> (x, u)'),
     [PAIR % ('', 'c = Conv <...> (x, w)  y = Add (c, k)', 'u = Add (w, k)  y = Conv <...> (x, u)'),
      PAIR % ('', 'c = Conv <...> (x, w)  y = Mul (c, k)',
              'u = Mul (w, k)  y = Conv <group = 1, ...> (x, u)'),
      PAIR % ('', 'c = Conv <...> (x, w)  y = Mul (c, k)',
              'u = Mul (w, k)  y = ConvTranspose <...> (x, u)'),
      PAIR % ('', 'c = Conv <...> (x, w, z)  y = Mul (c, k)',
              'u = Mul (w, k)  y = Conv <...> (x, u, z)')]),
    (proofs.reals, PAIR % ('', 'm = Div (x, k)  y = Conv <...> (m, w)',
                           'u = Div (w, k)  y = Conv <...> (x, u)'),
     [PAIR % ('', 'm = Sub (x, k)  y = Conv <...> (m, w)', 'u = Sub (w, k)  y = Conv <...> (x, u)'),
      PAIR % ('', 'm = Sub (x, k)  y = Conv <...> (m, w)', 'y = Conv <...> (x, w)')]),
    (proofs.reals, PAIR % ('where all(z, 0)', 'y = Conv <...> (x, w, z)', 'y = Conv <...> (x, w)'),
     [PAIR % ('', 'y = Conv <...> (x, w, z)', 'y = Conv <...> (x, w)'),
      PAIR % ('where all(z, 1)', 'y = Conv <...> (x, w, z)', 'y = Conv <...> (x, w)')]),
    (proofs.reals, PAIR % ('', 't = MatMul (a, b)  y = Add (t, c)', 'y = Gemm (a, b, c)'),
     [PAIR % ('', 't = MatMul (a, b)  y = Add (t, c)', 'y = Gemm <transB = 1> (a, b, c)'),
      PAIR % ('', 't = MatMul (a, b)  y = Add (t, c)', 'y = Gemm <alpha = 2.0> (a, b, c)'),
      PAIR % ('', 't = Gemm <...> (a, b)  y = Mul (t, c)', 'u = Mul (a, c)  y = MatMul (u, b)')]),
]


def main():
    if shutil.which('z3') is None:
        print('z3 is missing')
        return 77
    bad = []
    for proof, right, wrong in CASES:
        for text in [right] + wrong:
            if proof(proofs.Parser(text).rule()) != (text is right):
                bad.append('%s: %s' % ('not proven' if text is right else 'proven', text))
    print('\n'.join(bad) or '%d rules' % sum(1 + len(w) for _, _, w in CASES))
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main())
