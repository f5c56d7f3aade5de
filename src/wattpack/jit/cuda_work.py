"""A load for `wattpack calibrate gpu` by numba.cuda. Here because `jit` is the only importer of numba."""

from __future__ import annotations

from typing import Any

THREADS = 1024
ROUNDS = 20_000  # about a millisecond on current GPUs


class NumbaWork:
    """Multiply and add in registers, two blocks of 1024 threads for every multiprocessor."""

    name = "numba"
    picks_multiprocessors = False  # which multiprocessor a block goes to is not known
    multiprocessors = 0

    def open(self) -> None:
        from numba import cuda, float32

        def spin(out, rounds):  # type: ignore[no-untyped-def]
            place = cuda.grid(1)
            shrink, add = float32(0.999), float32(0.5)
            a = float32(place)
            b, c, d = a + float32(1), a + float32(2), a + float32(3)
            for _ in range(rounds):
                a = a * shrink + add
                b = b * shrink + add
                c = c * shrink + add
                d = d * shrink + add
            out[place] = a + b + c + d

        self._cuda = cuda
        self._blocks = 2 * int(cuda.get_current_device().MULTIPROCESSOR_COUNT)
        self._kernel = cuda.jit("void(float32[:], int32)")(spin)
        self._out: Any = cuda.device_array(THREADS * self._blocks, dtype="float32")

    def launch(self, multiprocessors: int) -> None:
        self._kernel[self._blocks, THREADS](self._out, ROUNDS)

    def wait(self) -> None:
        self._cuda.synchronize()

    def close(self) -> None:
        self._out = None
