# SPDX-License-Identifier: Apache-2.0
"""Functions with the signatures of other packages: replace `import onnxsim` by `from
onnxsurg.compat import onnxsim`."""
