# SPDX-License-Identifier: Apache-2.0
"""`python3 -m onnxsurg` is the program: ONNXSURG_PROGRAM, else the one of the package, else the one
on PATH."""
import os
import shutil
import sys


def find() -> str:
    """The path of the program."""
    named = os.environ.get('ONNXSURG_PROGRAM')
    if named:
        return named
    name = 'onnxsurg.exe' if sys.platform == 'win32' else 'onnxsurg'
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'bin', name)
    if os.access(own, os.X_OK):
        return own
    # The script of this package has the same name: it must not start itself.
    mine = os.path.realpath(sys.argv[0])
    for folder in os.environ.get('PATH', '').split(os.pathsep):
        found = shutil.which(name, path=folder)
        if found and os.path.realpath(found) != mine:
            return found
    sys.exit('onnxsurg: error: the program is not installed; set ONNXSURG_PROGRAM to its path')


def main() -> None:
    """Runs the program in the place of this process."""
    path = find()
    try:
        os.execv(path, ['onnxsurg'] + sys.argv[1:])
    except OSError as e:
        sys.exit('onnxsurg: error: %s cannot be run: %s' % (path, e.strerror))


if __name__ == '__main__':
    main()
