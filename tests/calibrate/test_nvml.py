"""The meter of NVIDIA GPUs, with a library of the driver's functions that is made up."""

from __future__ import annotations

from typing import Any

import pytest

from wattpack.calibrate import nvml
from wattpack.calibrate.nvml import NvmlMeter
from wattpack.errors import UserError


class MadeNvml:
    """Functions by name; `faults`: the status that a function ends with."""

    def __init__(self, faults: dict[str, int] | None = None, mig: int = 0, processes: int = 0) -> None:
        self.faults, self.mig, self.processes = faults or {}, mig, processes
        self.called: list[str] = []

    def __getattr__(self, function: str) -> Any:
        if function.startswith("__"):
            raise AttributeError(function)

        def call(*arguments: Any) -> int:
            self.called.append(function)
            if function in self.faults:
                return self.faults[function]
            return int(self.answer(function, arguments) or 0)

        return Function(call) if function != "nvmlErrorString" else Function(lambda status: b"Not Supported")

    def answer(self, function: str, arguments: tuple[Any, ...]) -> int | None:
        numbers = {
            "nvmlDeviceGetCount_v2": 2,
            "nvmlDeviceGetEnforcedPowerLimit": 700_000,
            "nvmlDeviceGetTotalEnergyConsumption": 2_590_758,
            "nvmlDeviceGetPowerUsage": 85_418,
            "nvmlDeviceGetClockInfo": 1980,
            "nvmlDeviceGetTemperature": 41,
        }
        texts = {"nvmlDeviceGetName": b"NVIDIA H200", "nvmlDeviceGetUUID": b"GPU-1"}
        if function in numbers:
            arguments[-1]._obj.value = numbers[function]
        elif function in texts:
            arguments[1].value = texts[function]
        elif function == "nvmlDeviceGetMigMode":
            arguments[1]._obj.value = self.mig
        elif function == "nvmlDeviceGetComputeRunningProcesses_v3":
            arguments[1]._obj.value = self.processes
            return nvml.INSUFFICIENT_SIZE if self.processes else 0
        return None


class Function:
    """A function that has a `restype`, as those of ctypes have."""

    def __init__(self, call: Any) -> None:
        self._call, self.restype = call, None

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)


def test_the_meter_tells_joules_watts_megahertz_and_degrees() -> None:
    meter = NvmlMeter(0, MadeNvml())
    assert (meter.name, meter.uuid, meter.limit_w, meter.has_counter) == ("NVIDIA H200", "GPU-1", 700.0, True)
    assert (meter.energy_j(), meter.power_w()) == (2590.758, 85.418)
    assert (meter.clock_mhz(), meter.temperature_c()) == (1980, 41)


def test_a_gpu_that_does_not_count_its_energy_is_told_apart() -> None:
    meter = NvmlMeter(0, MadeNvml({"nvmlDeviceGetTotalEnergyConsumption": nvml.NOT_SUPPORTED}))
    assert not meter.has_counter
    assert meter.power_w() == 85.418


def test_clock_and_temperature_are_only_told_where_the_gpu_has_them() -> None:
    faults = {"nvmlDeviceGetClockInfo": nvml.NOT_SUPPORTED, "nvmlDeviceGetTemperature": nvml.NOT_SUPPORTED}
    meter = NvmlMeter(0, MadeNvml(faults))
    assert (meter.clock_mhz(), meter.temperature_c()) == (0, 0)


def test_processes_and_mig_are_seen() -> None:
    assert NvmlMeter(0, MadeNvml(processes=3)).processes() == 3
    assert NvmlMeter(0, MadeNvml()).processes() == 0
    assert NvmlMeter(0, MadeNvml(mig=1)).is_divided()
    assert not NvmlMeter(0, MadeNvml({"nvmlDeviceGetMigMode": nvml.NOT_SUPPORTED})).is_divided()


def test_a_gpu_that_is_not_there_is_one_line() -> None:
    for index in (-1, 2):
        with pytest.raises(UserError, match=f"--gpu {index}, expected one of the 2 GPUs of this machine"):
            NvmlMeter(index, MadeNvml())


def test_a_driver_that_does_not_answer_is_one_line() -> None:
    with pytest.raises(UserError, match="NVML: the NVIDIA driver: Not Supported"):
        NvmlMeter(0, MadeNvml({"nvmlInit_v2": 9}))
    with pytest.raises(UserError, match="NVML: PowerUsage: Not Supported, expected a GPU that tells it"):
        NvmlMeter(0, MadeNvml({"nvmlDeviceGetPowerUsage": 3})).power_w()


def test_without_the_driver_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "LIBRARY", "libnosuch.so.1")
    with pytest.raises(UserError, match=r"libnosuch.so.1 is not here, expected a machine with an NVIDIA GPU"):
        NvmlMeter(0)


def test_nothing_but_reading_functions_is_called() -> None:
    made = MadeNvml()
    meter = NvmlMeter(0, made)
    for read in (
        meter.energy_j,
        meter.power_w,
        meter.clock_mhz,
        meter.temperature_c,
        meter.processes,
        meter.is_divided,
    ):
        read()
    assert all(name == "nvmlInit_v2" or name.startswith("nvmlDeviceGet") for name in made.called)
