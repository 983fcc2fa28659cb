# SPDX-License-Identifier: Apache-2.0
"""onnxsurg: load any ONNX model, edit its graph, prove that nothing was lost, write it back, and
repair models that engines reject.

    import onnxsurg
    onnxsurg.simplify('in.onnx', check=True).save('out.onnx')
    onnxsurg.repair('in.onnx', 'onnxruntime-1.4').save('out.onnx')

A model is a path, bytes, an onnx.ModelProto or a Model. See doc/python.md."""
from ._actions import (Target, check, convert, load, parse, repair, run_pipeline, save, simplify,
                       targets)
from ._context import Context
from ._data import Data
from ._engines import (Importer, Isolated, ProbeAnswer, ProbeReport, UntilReport, UntilStep, isolate,
                       probe, repair_until)
from ._evaluate import (LayerReport, OutputReport, Session, VerifyReport, run, verify)
from ._facts import Explanation, Info, explain, info, reduce
from ._graph import Graph
from ._lib import lib as _library
from ._model import Function, Model
from ._node import AttributeRef, Node
from ._passes import Option, Pass, PassInfo, PresetInfo, passes, presets, register_pass
from ._report import CheckReport, Finding, PassReport, RepairReport, Report
from ._tensor import Constant, Tensor, Variable
from ._types import DType, Type
from .errors import (Cancelled, Erased, Error, FileError, InternalError, InvalidModel, LimitError,
                     NotDone, NotFound, NotSupported, OutOfMemory, PluginError, Status,
                     Unsupported, UsageError)

__version__: str = _library.surg_version().decode()

__all__ = [name for name in dir() if not name.startswith('_') and name not in ('errors',)]
