"""A load that needs nothing but the NVIDIA driver: the kernel of `ptx.py`, started through libcuda.

It alone can occupy a given number of multiprocessors: a block takes so much shared memory that no second one fits.
"""

from __future__ import annotations

import ctypes
from typing import Any

from wattpack.calibrate.ptx import ENTRY, kernel
from wattpack.errors import RunError

LIBRARY = "libcuda.so.1"
THREADS = 1024  # of a block: half of what a multiprocessor holds, enough to keep its units busy
PIECE_NS = 1_000_000
MOST_ROUNDS = 1_000_000  # a bound on a kernel whose clock stands still: about a second
MULTIPROCESSORS, MAJOR, MINOR, SHARED_BYTES = 16, 75, 76, 97  # attributes of a device
DYNAMIC_SHARED_BYTES = 8  # attribute of a kernel


class DriverWork:
    name = "driver"
    picks_multiprocessors = True

    def __init__(self, library: Any = None) -> None:
        self._cuda = library
        self.multiprocessors = 0

    def open(self) -> None:
        """Make the context on the first visible GPU and load the kernel."""
        try:
            self._cuda = self._cuda or ctypes.CDLL(LIBRARY)
        except OSError:
            raise RunError(f"{LIBRARY} is not here, expected the NVIDIA driver") from None
        device, self._context = ctypes.c_int(), ctypes.c_void_p()
        module, self._kernel, self._seen = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
        self._call("cuInit", ctypes.c_uint(0))
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._device = device
        self.multiprocessors = self._attribute(MULTIPROCESSORS)
        capability = 10 * self._attribute(MAJOR) + self._attribute(MINOR)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        self._call("cuCtxSetCurrent", self._context)
        self._call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(kernel(capability).encode()))
        self._call("cuModuleGetFunction", ctypes.byref(self._kernel), module, ctypes.c_char_p(ENTRY.encode()))
        self._shared = max(self._attribute(SHARED_BYTES), 0)
        if self._shared:
            self._call("cuFuncSetAttribute", self._kernel, DYNAMIC_SHARED_BYTES, self._shared)
        self._call("cuMemAlloc_v2", ctypes.byref(self._seen), ctypes.c_size_t(4 * self.multiprocessors))

    def launch(self, multiprocessors: int) -> None:
        """Queue one millisecond of work on that many multiprocessors."""
        self._call("cuCtxSetCurrent", self._context)  # a context is current in one thread only
        values = (self._seen, ctypes.c_uint64(PIECE_NS), ctypes.c_uint64(MOST_ROUNDS))
        arguments = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        sizes = [ctypes.c_uint(size) for size in (multiprocessors, 1, 1, THREADS, 1, 1, self._shared)]
        self._call("cuLaunchKernel", self._kernel, *sizes, None, arguments, None)

    def wait(self) -> None:
        self._call("cuCtxSynchronize")

    def occupied(self, multiprocessors: int) -> int:
        """How many different multiprocessors that many blocks really run on."""
        self.launch(multiprocessors)
        self.wait()
        seen = (ctypes.c_uint32 * multiprocessors)()
        self._call("cuMemcpyDtoH_v2", seen, self._seen, ctypes.c_size_t(4 * multiprocessors))
        return len(set(seen))

    def close(self) -> None:
        self._call("cuDevicePrimaryCtxRelease_v2", self._device)

    def _attribute(self, number: int) -> int:
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), number, self._device)
        return value.value

    def _call(self, function: str, *arguments: Any) -> None:
        assert self._cuda is not None
        status = getattr(self._cuda, function)(*arguments)
        if status != 0:
            name = ctypes.c_char_p()
            self._cuda.cuGetErrorName(status, ctypes.byref(name))
            said = name.value.decode() if name.value else f"error {status}"
            raise RunError(f"{LIBRARY}: {function}: {said}")
