"""Loads: which one is taken, how much of the time it keeps a GPU busy, and the kernel that needs only the driver."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from wattpack.calibrate import duty, work
from wattpack.calibrate.driver import THREADS, DriverWork
from wattpack.calibrate.duty import DutyCycle
from wattpack.calibrate.ptx import kernel
from wattpack.calibrate.work import open_work
from wattpack.errors import RunError, UserError


class MadeWork:
    """Pieces of 2 ms on eight multiprocessors; breaks after `lives` pieces."""

    picks_multiprocessors = True
    multiprocessors = 8

    def __init__(self, name: str = "made", fault: Exception | None = None, lives: int = 10**9) -> None:
        self.name, self.fault, self.lives = name, fault, lives
        self.queued, self.closed = 0, False

    def open(self) -> None:
        if self.fault is not None:
            raise self.fault

    def launch(self, multiprocessors: int) -> None:
        self.lives -= 1
        if self.lives < 0:
            raise RuntimeError("out of\nmemory")
        self.queued += 1

    def wait(self) -> None:
        time.sleep(0.002 * self.queued)
        self.queued = 0

    def occupied(self, multiprocessors: int) -> int:
        return multiprocessors

    def close(self) -> None:
        self.closed = True


def test_the_first_load_that_works_is_taken() -> None:
    makers = {
        "torch": lambda: MadeWork("torch", ModuleNotFoundError("No module named 'torch'")),
        "cupy": lambda: MadeWork("cupy", OSError("no libcublas")),
        "driver": lambda: MadeWork("driver"),
    }
    assert open_work(("torch", "cupy", "driver"), makers).name == "driver"


def test_where_none_works_each_reason_is_in_one_line() -> None:
    makers = {
        "torch": lambda: MadeWork("torch", ImportError("no torch")),
        "driver": lambda: MadeWork("driver", lives=0),
    }
    with pytest.raises(UserError, match="no load can be had") as fault:
        open_work(("torch", "driver"), makers)
    assert "torch: ImportError: no torch; driver: RuntimeError: out of memory" in str(fault.value)


def cycle(monkeypatch: pytest.MonkeyPatch, made: MadeWork) -> DutyCycle:
    monkeypatch.setattr(work, "WORKS", {"made": lambda: made})
    load = DutyCycle(("made",))
    load.open()
    return load


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_a_gpu_is_busy_for_the_share_that_was_asked_for(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted as busy over the time is the share, within what a machine with other work allows."""
    load = cycle(monkeypatch, MadeWork())
    assert load.start(share, 0.5) == 0.5
    begun = time.perf_counter()
    time.sleep(0.4)
    used = load.busy_s() / (time.perf_counter() - begun)
    load.stop()
    load.close()
    assert 0.5 * share < used <= 1.3 * share


def test_a_load_that_breaks_is_told_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    load = cycle(monkeypatch, MadeWork(lives=1 + 2 * duty.WARM_UP_PIECES + 30))
    load.start(1.0, 1.0)
    time.sleep(0.3)
    for read in (load.busy_s, load.stop):
        with pytest.raises(RunError, match="made: RuntimeError: out of memory"):
            read()


def test_the_kernel_has_tensor_instructions_where_the_gpu_knows_them() -> None:
    assert "mma.sync" in kernel(90)
    assert ".target sm_80" in kernel(90)
    assert "mma.sync" not in kernel(70)
    assert ".target sm_50" in kernel(70)


@pytest.mark.parametrize("capability", [50, 75, 80, 100])
def test_the_kernel_is_bounded_in_time_and_in_rounds_and_uses_only_registers_it_has(capability: int) -> None:
    text = kernel(capability)
    assert "%globaltimer" in text
    assert "most_rounds" in text
    for kind in ("p", "r", "rd", "f"):
        (count,) = re.findall(rf"%{kind}<(\d+)>", text)
        assert max(int(number) for number in re.findall(rf"%{kind}(\d+)\b", text)) < int(count)


class MadeCuda:
    """libcuda as far as the load needs it: what was called, and launches."""

    def __init__(self, faults: dict[str, int] | None = None) -> None:
        self.faults, self.launches = faults or {}, []

    def __getattr__(self, function: str) -> Any:
        def call(*arguments: Any) -> int:
            if function == "cuDeviceGetAttribute":
                arguments[0]._obj.value = {16: 132, 75: 9, 76: 0, 97: 232_448}[arguments[1]]
            if function == "cuLaunchKernel":
                self.launches.append([argument.value for argument in arguments[1:8]])
            if function == "cuMemcpyDtoH_v2":
                arguments[0][:] = range(len(arguments[0]))
            if function == "cuGetErrorName":
                arguments[1]._obj.value = b"CUDA_ERROR_INVALID_PTX"
            return self.faults.get(function, 0)

        return call


def test_a_block_takes_a_whole_multiprocessor() -> None:
    """By its shared memory: 232,448 bytes are all that one has."""
    cuda = MadeCuda()
    load = DriverWork(cuda)
    load.open()
    assert load.multiprocessors == 132
    assert load.occupied(33) == 33
    assert cuda.launches == [[33, 1, 1, THREADS, 1, 1, 232_448]]
    load.close()


def test_a_fault_of_the_driver_is_named() -> None:
    with pytest.raises(RunError, match="cuModuleLoadData: CUDA_ERROR_INVALID_PTX"):
        DriverWork(MadeCuda({"cuModuleLoadData": 218})).open()
