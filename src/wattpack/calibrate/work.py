"""Work for a GPU in pieces of about a millisecond, from what is installed: PyTorch, CuPy, the driver alone, numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from wattpack.calibrate.driver import DriverWork
from wattpack.errors import RunError, UserError, one_line

SIDE = 8192  # of the matrices: 3 x 128 MiB; a product takes 1.4 ms on an H200, 17 ms on a T4


class Work(Protocol):
    name: str
    picks_multiprocessors: bool
    multiprocessors: int  # of the GPU; known once open, 0 where the number does not matter

    def open(self) -> None:
        """Make the context; RunError where this work cannot be had here."""

    def launch(self, multiprocessors: int) -> None:
        """Queue one piece of bounded length. Work that cannot pick multiprocessors takes all."""

    def wait(self) -> None:
        """Until all that was queued is done."""

    def close(self) -> None: ...


class TorchWork:
    """Products of half-precision matrices by PyTorch."""

    name = "torch"
    picks_multiprocessors = False
    multiprocessors = 0

    def open(self) -> None:
        import torch

        if not torch.cuda.is_available():
            raise RunError("PyTorch sees no GPU")
        self._torch = torch
        kind = torch.bfloat16 if torch.cuda.get_device_capability()[0] >= 8 else torch.float16
        self._left = torch.randn(SIDE, SIDE, device="cuda").to(kind)
        self._right = torch.randn(SIDE, SIDE, device="cuda").to(kind)
        self._product = torch.empty_like(self._left)

    def launch(self, multiprocessors: int) -> None:
        self._torch.cuda.set_device(0)  # a thread starts without a context, which PyTorch would warn of
        self._torch.mm(self._left, self._right, out=self._product)

    def wait(self) -> None:
        self._torch.cuda.synchronize()

    def close(self) -> None:
        self._left = self._right = self._product = None


class CupyWork:
    """The same by CuPy."""

    name = "cupy"
    picks_multiprocessors = False
    multiprocessors = 0

    def open(self) -> None:
        import cupy

        self._cupy = cupy
        self._left, self._right = (cupy.random.standard_normal((SIDE, SIDE)).astype(cupy.float16) for _ in range(2))
        self._product = cupy.empty_like(self._left)
        cupy.get_default_memory_pool().free_all_blocks()

    def launch(self, multiprocessors: int) -> None:
        self._cupy.matmul(self._left, self._right, out=self._product)

    def wait(self) -> None:
        self._cupy.cuda.runtime.deviceSynchronize()

    def close(self) -> None:
        self._left = self._right = self._product = None


def numba_work() -> Work:
    from wattpack.jit.cuda_work import NumbaWork  # `jit` is the only importer of numba

    return NumbaWork()


# In order of preference: matrix products draw what training draws.
WORKS: dict[str, Callable[[], Work]] = {
    "torch": TorchWork,
    "cupy": CupyWork,
    "driver": DriverWork,
    "numba": numba_work,
}


def open_work(names: tuple[str, ...], makers: dict[str, Callable[[], Work]] | None = None) -> Work:
    """The first work of `names` that can be had here, open."""
    faults = []
    for name in names:
        work: Any = (makers or WORKS)[name]()
        try:
            work.open()
            work.launch(work.multiprocessors or 1)
            work.wait()
            return work
        except Exception as fault:  # libraries for GPUs raise all kinds where a piece of the installation is missing
            faults.append(f"{name}: {one_line(fault)}")
    raise UserError(f"no load can be had on this GPU ({'; '.join(faults)}), expected PyTorch, CuPy or a working driver")
