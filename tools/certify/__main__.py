# SPDX-License-Identifier: Apache-2.0
"""Checks a certificate of onnxsurg: that OUT is what the stated steps make of IN.

Shares no code with onnxsurg: own reader of ONNX files and of rules, own shapes and arithmetic. Exit
codes: 0 accepted, 1 rejected, with the line, 2 usage. Rewrites that are not proven are counted."""
import argparse
import sys

from check import Report


def main():
    p = argparse.ArgumentParser(prog='certify', description=__doc__.split('\n')[0])
    p.add_argument('--rules', action='append', help='a file of rules, instead of the catalogue')
    p.add_argument('--list', action='store_true', help='list the rewrites that are not proven')
    p.add_argument('--strict', action='store_true', help='refuse rewrites that are not proven')
    p.add_argument('certificate')
    p.add_argument('input')
    p.add_argument('output')
    args = p.parse_args()
    report = Report()
    why = report.verdict(args.certificate, args.input, args.output, rules=args.rules)
    if why is None:
        print('\n'.join(report.lines(args.list)))
        if args.strict and report.replay.unproven:
            why = 'rewrites that are not proven'
    left = sum(report.replay.unproven.values()) if why is None else 0
    print('%s:%d: rejected: %s' % (args.certificate, report.line, why) if why is not None else
          'accepted' if not left else 'accepted, but for rewrites that are not proven: %d' % left)
    return why is not None


sys.exit(main())
