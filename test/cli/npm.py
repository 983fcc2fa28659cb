#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`--import npm:PACKAGE@VERSION`, with a package in the cache that is made up here. npm.py PROGRAM"""
import os
import pathlib
import shutil
import unittest

import common
from common import Case

# Accepts models that contain no Dropout.
PACKAGE = """
exports.InferenceSession = {
  create: async file => {
    const bytes = require('fs').readFileSync(file);
    if (bytes.includes('Dropout')) throw new Error('no kernel\\nfor Dropout in ' + file);
    return {};
  },
};
"""
MODEL = '<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { %s }'


@unittest.skipUnless(shutil.which('node'), 'node is not installed')
class Npm(Case):
    def setUp(self):
        super().setUp()
        folder = pathlib.Path('cache/onnxsurg/npm/onnxruntime-node@0.0.1/node_modules/onnxruntime-node')
        folder.mkdir(parents=True)
        (folder / 'index.js').write_text(PACKAGE)
        self.env = dict(os.environ, XDG_CACHE_HOME=str(pathlib.Path('cache').resolve()),
                        npm_config_offline='true')
        for name, nodes in (('good', 'y = Relu (x)'), ('bad', 't = Relu (x) y = Dropout (t)')):
            self.write(name + '.onnxtxt', (MODEL % nodes).encode())

    def repair(self, name, engine='npm:onnxruntime-node@0.0.1'):
        return self.run_tool('repair', '--import', engine, name + '.onnxtxt', 'out.onnx', env=self.env)

    def test_accepted(self):
        r = self.repair('good')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn(b'the importer accepts the model as it is', r.stderr)

    def test_rejected(self):
        r = self.repair('bad')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn(b'after 1 change\n  simplify, for: no kernel for Dropout in FILE\n', r.stderr)

    def test_words(self):
        for engine, text in (('npm:onnxruntime-node', 'expected a package with its version'),
                             ('npm:../x@1', 'expected a package with its version'),
                             ('npm:acme@1', 'not known here; known: onnxruntime-node')):
            r = self.repair('good', engine)
            self.assertEqual(r.returncode, 2, engine)
            self.assertIn(text, r.stderr.decode())

    @unittest.skipUnless(shutil.which('npm'), 'npm is not installed')
    def test_not_available(self):
        r = self.repair('good', 'npm:onnxruntime-node@0.0.2')
        self.assertEqual(r.returncode, 2, r.stderr)
        self.assertIn(b'importer npm:onnxruntime-node@0.0.2: ', r.stderr)
        self.assertEqual(os.listdir('cache/onnxsurg/npm'), ['onnxruntime-node@0.0.1'])


if __name__ == '__main__':
    common.main()
