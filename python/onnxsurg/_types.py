# SPDX-License-Identifier: Apache-2.0
"""Element types, and types of tensors, as Python values. numpy is used where it is installed."""
import enum
from typing import Any, List, NamedTuple, Optional, Tuple, Union

from . import _c
from ._context import decode, encode
from ._lib import lib

DType = enum.IntEnum('DType', [(d.name, d.value) for d in _c.surg_dtype
                               if d.name != 'DTYPE_COUNT'], module=__name__)
DType.__doc__ = "Element types, with ONNX's numbers (TensorProto.DataType)."

# Element type: (name in numpy, format of the struct module, bytes).
_NUMPY = {
    DType.FLOAT: ('float32', 'f', 4), DType.UINT8: ('uint8', 'B', 1),
    DType.INT8: ('int8', 'b', 1), DType.UINT16: ('uint16', 'H', 2), DType.INT16: ('int16', 'h', 2),
    DType.INT32: ('int32', 'i', 4), DType.INT64: ('int64', 'q', 8), DType.BOOL: ('bool', '?', 1),
    DType.FLOAT16: ('float16', 'e', 2), DType.DOUBLE: ('float64', 'd', 8),
    DType.UINT32: ('uint32', 'I', 4), DType.UINT64: ('uint64', 'Q', 8),
    DType.COMPLEX64: ('complex64', None, 8), DType.COMPLEX128: ('complex128', None, 16),
}
# Types that numpy lacks: the integers that store their bits, and how many a byte contains.
_STORED = {
    DType.BFLOAT16: ('uint16', 1), DType.FLOAT8E4M3FN: ('uint8', 1),
    DType.FLOAT8E4M3FNUZ: ('uint8', 1), DType.FLOAT8E5M2: ('uint8', 1),
    DType.FLOAT8E5M2FNUZ: ('uint8', 1), DType.FLOAT8E8M0: ('uint8', 1),
    DType.UINT4: ('uint8', 2), DType.INT4: ('int8', 2), DType.FLOAT4E2M1: ('uint8', 2),
    DType.UINT2: ('uint8', 4), DType.INT2: ('int8', 4),
}
_FROM_NUMPY = {name: d for d, (name, _, _) in _NUMPY.items()}


def numpy() -> Any:
    """The module numpy, or None."""
    try:
        import numpy as module
        return module
    except ImportError:
        return None


def need_numpy() -> Any:
    module = numpy()
    if module is None:
        raise ImportError('numpy is not installed; `data` has the bytes')
    return module


def to_dtype(dtype: Any) -> DType:
    """The element type of a DType, an integer of ONNX, a name ("float", "float32"), or a type of
    numpy or Python."""
    if isinstance(dtype, bool) or dtype is bool:
        return DType.BOOL
    if isinstance(dtype, int):
        return DType(dtype)
    if dtype is float:
        return DType.FLOAT
    if dtype is int:
        return DType.INT64
    if dtype is str or dtype is bytes:
        return DType.STRING
    if isinstance(dtype, str):
        found = _FROM_NUMPY.get(dtype) or lib.surg_dtype_from_name(encode(dtype.lower()))
        if not found:
            raise ValueError('"%s" is not an element type; expected a name such as "float", "int64" or '
                             '"float32"' % dtype)
        return DType(found)
    module = numpy()
    if module is not None:
        try:
            kind = module.dtype(dtype)
        except TypeError:
            kind = None
        if kind is not None:
            if kind.kind in 'OSU':
                return DType.STRING
            if kind.name in _FROM_NUMPY:
                return _FROM_NUMPY[kind.name]
            if kind.name == 'bfloat16':
                return DType.BFLOAT16
    raise TypeError('%r is not an element type of ONNX' % (dtype,))


def from_dtype(dtype: int) -> Any:
    """What `tensor.dtype` returns: a dtype of numpy where numpy is installed and has the type, else
    a DType; None for an unknown type."""
    if not dtype:
        return None
    dtype = DType(dtype)
    module = numpy() if dtype in _NUMPY or dtype == DType.STRING else None
    if module is None:
        return dtype
    return module.dtype(object if dtype == DType.STRING else _NUMPY[dtype][0])


Dim = Union[int, str, None]


class Type(NamedTuple):
    """A type of a value. kind is "tensor", "sparse_tensor", "sequence", "map", "optional",
    "opaque" or "unknown"; shape is None if the rank is unknown, its entries are integers, names or
    expressions, or None; elem is the type of the elements of a sequence, an optional or a map."""
    kind: str
    elem_type: Optional[int] = None
    shape: Optional[Tuple[Dim, ...]] = None
    elem: Optional['Type'] = None

    @property
    def dtype(self) -> Any:
        return from_dtype(self.elem_type) if self.elem_type else None


def dim_at(model: int, pointer: int, i: int) -> Dim:
    """Dimension i of a type of the library."""
    found = lib.surg_type_dim(pointer, i)
    dim = found.contents
    if dim.value >= 0:
        return dim.value
    if dim.param:
        return decode(dim.param)
    if not dim.expr:
        return None
    return decode(lib.surg_dim_text(model, found))


def read_type(model: int, pointer: Optional[int]) -> Optional[Type]:
    """A type of the library as a Type; None for NULL."""
    if not pointer:
        return None
    kind = _c.surg_type_kind(lib.surg_type_get_kind(pointer)).name.lower()
    shape = None
    if lib.surg_type_has_rank(pointer):
        shape = tuple(dim_at(model, pointer, i) for i in range(lib.surg_type_rank(pointer)))
    elem = read_type(model, lib.surg_type_elem(pointer))
    return Type(kind, DType(lib.surg_type_dtype(pointer)), shape, elem)


def check_shape(shape: Any) -> Optional[Tuple[Dim, ...]]:
    """A shape that a user gives, as a tuple; None for an unknown rank."""
    if shape is None:
        return None
    if isinstance(shape, (int, str)):
        shape = (shape,)
    out: List[Dim] = []
    for d in shape:
        if d is None or isinstance(d, str):
            out.append(d or None)
        else:
            d = int(d)
            out.append(d if d >= 0 else None)
    return tuple(out)


def make_tensor_type(box: Any, dtype: int, shape: Optional[Tuple[Dim, ...]]) -> int:
    """A tensor type of the library."""
    if shape is None:
        return box.context.make(lib.surg_type_tensor_unranked, box.pointer, dtype)
    dims = (_c.surg_dim * max(len(shape), 1))()
    keep = []
    for i, d in enumerate(shape):
        dims[i].value = d if isinstance(d, int) else -1
        if isinstance(d, str):
            keep.append(encode(d))
            dims[i].param = keep[-1]
    return box.context.make(lib.surg_type_tensor, box.pointer, dtype, dims, len(shape))


def make_type(box: Any, kind: Any) -> int:
    """A type of the library from a Type."""
    if kind.kind == 'tensor':
        return make_tensor_type(box, int(kind.elem_type or 0), kind.shape)
    if kind.kind in ('sequence', 'optional'):
        number = _c.surg_type_kind[kind.kind.upper()]
        return box.context.make(lib.surg_type_wrap, box.pointer, number, make_type(box, kind.elem))
    raise ValueError('a type of kind "%s" cannot be made' % kind.kind)


# ---- elements ------------------------------------------------------------------------------------

def flatten(data: Any) -> Tuple[List[Any], List[int]]:
    """The numbers of nested lists in a row, and the shape. A list that is not rectangular
    raises."""
    if not isinstance(data, (list, tuple)):
        return [data], []
    if not data:
        return [], [0]
    parts = [flatten(d) for d in data]
    if any(p[1] != parts[0][1] for p in parts):
        raise ValueError('nested lists of different lengths are no tensor')
    return [x for p in parts for x in p[0]], [len(data)] + parts[0][1]


def _plain_elements(data: Any, dtype: Optional[DType]) -> Tuple[DType, List[int], Any]:
    """The same as `elements` for numbers, strings and lists, without numpy."""
    import struct
    flat, shape = flatten(data)
    if dtype is None:
        if flat and all(isinstance(x, bool) for x in flat):
            dtype = DType.BOOL
        elif flat and all(isinstance(x, (str, bytes)) for x in flat):
            dtype = DType.STRING
        elif all(isinstance(x, int) for x in flat) and flat:
            dtype = DType.INT64
        else:
            dtype = DType.FLOAT
    if dtype == DType.STRING:
        return dtype, shape, [x if isinstance(x, bytes) else x.encode() for x in flat]
    if dtype not in _NUMPY or not _NUMPY[dtype][1]:
        raise TypeError('numbers for a tensor of type %s need numpy' % dtype.name)
    code = _NUMPY[dtype][1]
    try:
        return dtype, shape, struct.pack('<%d%s' % (len(flat), code), *flat)
    except struct.error as e:
        raise ValueError('these numbers are no %s: %s' % (dtype.name.lower(), e)) from None


def _packed(array: Any, dtype: DType) -> bytes:
    """Integers of 2 or 4 bits, packed from the low bits up."""
    module = need_numpy()
    stored, many = _STORED[dtype]
    bits = 8 // many
    flat = module.asarray(array).reshape(-1).astype(module.int64)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if stored[0] == 'i' else \
        (0, (1 << bits) - 1)
    if flat.size and (flat.min() < low or flat.max() > high):
        raise ValueError('elements of %s are from %d to %d' % (dtype.name, low, high))
    flat = (flat & ((1 << bits) - 1)).astype(module.uint8)
    flat = module.concatenate([flat, module.zeros(-flat.size % many, module.uint8)])
    out = module.zeros(flat.size // many, module.uint8)
    for k in range(many):
        out |= flat[k::many] << module.uint8(k * bits)
    return out.tobytes()


def elements(data: Any, dtype: Any = None) -> Tuple[DType, List[int], Any]:
    """(element type, shape, bytes in the format of raw_data; a list of bytes for strings) of an
    array, a number, a string or nested lists. Numbers of Python become int64 and float32."""
    wanted = None if dtype is None else to_dtype(dtype)
    module = numpy()
    if isinstance(data, (bool, int, float, str, bytes, list, tuple)) and \
            (module is None or wanted in _NUMPY or wanted in (None, DType.STRING)):
        try:
            return _plain_elements(data, wanted)
        except TypeError:
            if module is None:
                raise
    if module is None:
        raise TypeError('%s needs numpy' % type(data).__name__)
    array = module.asarray(data)
    if array.dtype.kind == 'O' and not all(isinstance(x, (str, bytes)) for x in array.flat):
        raise TypeError('%s is not a tensor' % type(data).__name__)
    if wanted is None:
        wanted = to_dtype(array.dtype)
    shape = list(array.shape)
    if wanted == DType.STRING:
        return wanted, shape, [x if isinstance(x, bytes) else str(x).encode()
                               for x in array.reshape(-1).tolist()]
    if wanted in _NUMPY:
        kind = module.dtype(_NUMPY[wanted][0]).newbyteorder('<')
        return wanted, shape, module.ascontiguousarray(array, kind).tobytes()
    stored, many = _STORED[wanted]
    if many > 1:
        return wanted, shape, _packed(array, wanted)
    if array.dtype.itemsize != module.dtype(stored).itemsize:
        raise TypeError('a tensor of %s is given by the %s that store its bits, not by %s'
                        % (wanted.name, stored, array.dtype))
    return wanted, shape, module.ascontiguousarray(array).tobytes()


def unpacked(raw: Any, dtype: DType, shape: Any) -> Any:
    """Integers of 2 or 4 bits as an array of bytes."""
    module = need_numpy()
    stored, many = _STORED[dtype]
    bits = 8 // many
    packed = module.frombuffer(raw, module.uint8)
    out = module.zeros(packed.size * many, module.uint8)
    for k in range(many):
        out[k::many] = (packed >> module.uint8(k * bits)) & module.uint8((1 << bits) - 1)
    if stored == 'int8':
        sign = module.uint8(1 << (bits - 1))
        out = ((out ^ sign).astype(module.int16) - int(sign)).astype(module.int8)
    count = 1
    for d in shape:
        count *= d
    out = out[:count].reshape(shape)
    out.flags.writeable = False
    return out


def array_of(raw: Any, dtype: DType, shape: Any) -> Any:
    """A read-only array over bytes in the format of raw_data. Types that numpy lacks are returned
    as the integers that store their bits."""
    module = need_numpy()
    if dtype in _STORED and _STORED[dtype][1] > 1:
        return unpacked(raw, dtype, shape)
    name = _NUMPY[dtype][0] if dtype in _NUMPY else _STORED[dtype][0]
    array = module.frombuffer(raw, module.dtype(name).newbyteorder('<')).reshape(shape)
    array.flags.writeable = False
    return array
