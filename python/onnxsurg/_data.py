# SPDX-License-Identifier: Apache-2.0
"""The elements of a constant: of an initializer, or of a tensor attribute."""
import ctypes as C
import mmap
import os
from typing import Any, Optional, Tuple

from . import errors
from ._context import Box, counted
from ._handle import Handle, wrap
from ._lib import lib
from ._types import DType, array_of, elements, from_dtype, numpy, _NUMPY


SMALL = 1 << 16   # bytes of a tensor that is always copied
CLOCK = 50000000  # ns by which times of files may lag behind the clock


class Data(Handle):
    """Elements of a constant. They are read when they are asked for."""

    __slots__ = ()

    @property
    def elem_type(self) -> DType:
        return DType(self._get(lib.surg_tensor_dtype))

    @property
    def dtype(self) -> Any:
        """The type of numpy, or a DType if numpy lacks it."""
        return from_dtype(self.elem_type)

    @property
    def shape(self) -> Tuple[int, ...]:
        dims = self._get(lib.surg_tensor_dims)
        return tuple(dims[i] for i in range(self._get(lib.surg_tensor_rank)))

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._get(lib.surg_tensor_count)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements in the format of raw_data; for strings, of their text."""
        return self._get(lib.surg_tensor_bytes)

    @property
    def is_external(self) -> bool:
        """Whether the elements are in a data file."""
        return self._get(lib.surg_tensor_is_external)

    @property
    def is_sparse(self) -> bool:
        return self._get(lib.surg_tensor_is_sparse)

    @property
    def data(self) -> memoryview:
        """The bytes in the format of raw_data, read-only. Large ones are not copied: they are the
        memory of the model, or its file, which must then not become shorter."""
        n = self.nbytes
        if n >= SMALL:
            with self._box.context._lock:
                view = self._memory() or self._file()
            if view is not None:
                return view
        out = (C.c_ubyte * n)()
        if n:
            self._do(lib.surg_tensor_read, 0, out, n)
        return memoryview(out).cast('B').toreadonly()

    def _memory(self) -> Optional[memoryview]:
        """The elements where the library has them in memory."""
        out, n = C.c_void_p(), C.c_uint64()
        if lib.surg_tensor_data(self._pointer(), C.byref(out), C.byref(n)) or not out.value:
            return None
        memory: Any = (C.c_ubyte * n.value).from_address(out.value)
        memory._box = self._box  # keeps the model alive
        self._box.views[id(memory)] = memory
        return memoryview(memory).cast('B').toreadonly()

    def _file(self) -> Optional[memoryview]:
        """The elements in their file, if it is certainly the one that was loaded: unchanged since
        before the load, and with the same bytes at both ends."""
        path, offset, n = C.create_string_buffer(1 << 14), C.c_uint64(), C.c_uint64()
        if lib.surg_tensor_file(self._pointer(), C.cast(path, C.c_char_p), len(path),
                                C.byref(offset), C.byref(n)):
            return None
        try:
            with open(path.value, 'rb') as f:
                info = os.fstat(f.fileno())
                if max(info.st_ctime_ns, info.st_mtime_ns) > self._box.loaded - CLOCK:
                    return None
                start = offset.value - offset.value % mmap.ALLOCATIONGRANULARITY
                skip = offset.value - start
                mapped = mmap.mmap(f.fileno(), skip + n.value, access=mmap.ACCESS_READ,
                                   offset=start)
        except (OSError, ValueError):
            return None
        view = memoryview(mapped)[skip:]
        if view[:64] != self.read(0, 64) or view[-64:] != self.read(n.value - 64, 64):
            return None
        return view

    def read(self, offset: int, n: int) -> bytes:
        """n bytes from an offset, without reading the others."""
        out = C.create_string_buffer(n)
        self._do(lib.surg_tensor_read, offset, C.cast(out, C.c_void_p), n)
        return out.raw

    @property
    def strings(self) -> Tuple[bytes, ...]:
        from . import _c
        with self._box.context._lock:
            texts = C.POINTER(_c.surg_str)()
            self._do(lib.surg_tensor_strings, C.byref(texts))
            return tuple(C.string_at(texts[i].p, texts[i].n) if texts[i].n else b''
                         for i in range(self.size))

    @property
    def values(self) -> Any:
        """The elements as a read-only array of numpy; without numpy, a memoryview. Types that numpy
        lacks are the integers that store their bits."""
        if self.is_sparse:
            raise errors.Unsupported('onnxsurg: error: a sparse tensor has no dense values')
        dtype, module = self.elem_type, numpy()
        if dtype == DType.STRING:
            if module is None:
                return self.strings
            out = module.empty(self.size, object)
            out[:] = self.strings
            out = out.reshape(self.shape)
            out.flags.writeable = False
            return out
        if module is not None:
            return array_of(self.data, dtype, self.shape)
        if dtype not in _NUMPY or not _NUMPY[dtype][1] or not self.nbytes:
            return self.data
        return self.data.cast(_NUMPY[dtype][1], self.shape)

    def tolist(self) -> Any:
        """The elements as nested lists; a number for rank 0."""
        return self.values.tolist()

    def __array__(self, dtype=None, copy=None):
        array = self.values
        if dtype is not None and dtype != array.dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError('a scalar has no length')
        return shape[0]

    def __repr__(self) -> str:
        return '<Data %s%s>' % (self.elem_type.name.lower(), list(self.shape))


def data_of(box: Box, pointer) -> Any:
    return wrap(box, Data, pointer)


def make_data(box: Box, values: Any, dtype: Any = None) -> int:
    """A new tensor of the library, which belongs to the model."""
    if isinstance(values, Data):
        if values._box is box:
            return values._ptr
        kind, shape = values.elem_type, list(values.shape)
        raw = list(values.strings) if kind == DType.STRING else values.data.tobytes()
    else:
        kind, shape, raw = elements(values, dtype)
    dims = (C.c_int64 * max(len(shape), 1))(*shape)
    context = box.context
    if kind == DType.STRING:
        return context.make(lib.surg_tensor_new_strings, box.pointer, dims, len(shape),
                            counted(raw))
    return context.make(lib.surg_tensor_new, box.pointer, int(kind), dims, len(shape), raw,
                        len(raw))
