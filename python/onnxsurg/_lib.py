# SPDX-License-Identifier: Apache-2.0
"""Loads the shared library and binds its functions: `lib.surg_model_new` and so on.

Functions that return at once keep Python's lock, which is faster; those that may take long release
it, so that other threads run."""
import ctypes
import os
import sys

from . import _c

# Functions that may take long: they release Python's lock.
LONG = frozenset('''
    surg_model_load surg_model_load_memory surg_model_load_text surg_model_save
    surg_model_save_memory surg_model_save_text surg_model_clone surg_model_merge surg_model_free
    surg_model_verify surg_model_infer surg_model_runs_at surg_model_stacks surg_model_run
    surg_run surg_pipeline_run
    surg_context_load_plugin surg_model_require_weights surg_compare surg_session_new
    surg_info_new surg_stats_new surg_session_run surg_array_load surg_array_save
    surg_inputs_read surg_inputs_read_all
    surg_context_load_rules surg_context_load_schemas surg_graph_toposort surg_tensor_read
    surg_tensor_load surg_tensor_same surg_check surg_target_open surg_target_parse
    surg_target_judge surg_target_host_nodes surg_repair_find surg_repair_assess surg_cut_find
    surg_reduce surg_explain surg_messages_new surg_importer_ask surg_importer_ask_file
    surg_until_find surg_probe surg_isolate surg_command_run surg_node_evaluate
    surg_node_evaluate_on
'''.split())

NAMES = {'win32': 'onnxsurg-0.dll', 'darwin': 'libonnxsurg.0.dylib'}


class _Library:
    """Every function of the C interface, as an attribute."""

    path: str

    def __init__(self, path):
        short, long = ctypes.PyDLL(path), ctypes.CDLL(path)
        for name, (result, arguments) in _c.FUNCTIONS.items():
            try:
                function = getattr(long if name in LONG else short, name)
            except AttributeError:
                raise ImportError('%s is of another version: it has no %s' % (path, name)) from None
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.path = path


def _find():
    """The path of the library: ONNXSURG_LIBRARY, else the one of the package, else the system's."""
    named = os.environ.get('ONNXSURG_LIBRARY')
    if named:
        return named
    name = NAMES.get(sys.platform, 'libonnxsurg.so.0')
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    return own if os.path.exists(own) else name


def _load():
    path = _find()
    try:
        return _Library(path)
    except OSError as e:
        raise ImportError('onnxsurg: the library %s cannot be loaded (%s); set ONNXSURG_LIBRARY to '
                          'its path' % (path, e)) from e


lib = _load()
