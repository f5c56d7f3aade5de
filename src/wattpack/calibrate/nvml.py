"""The meter of NVIDIA GPUs: the driver's own library libnvidia-ml, which nvidia-ml-py wraps too. Reads only."""

from __future__ import annotations

import ctypes
from typing import Any

from wattpack.errors import UserError

LIBRARY = "libnvidia-ml.so.1"
SUCCESS, NOT_SUPPORTED, INSUFFICIENT_SIZE = 0, 3, 7
CLOCK_SM, TEMPERATURE_GPU = 1, 0
TEXT = 96  # bytes: longer than any name or UUID of NVML


def load_nvml() -> Any:
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError:
        raise UserError(f"{LIBRARY} is not here, expected a machine with an NVIDIA GPU and its driver") from None


class NvmlMeter:
    """One GPU by its number as `nvidia-smi` shows it."""

    def __init__(self, index: int, library: Any = None) -> None:
        self._nvml = load_nvml() if library is None else library
        self._check(self._nvml.nvmlInit_v2(), "the NVIDIA driver")
        count = ctypes.c_uint()
        self._check(self._nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)), "the number of GPUs")
        if not 0 <= index < count.value:
            raise UserError(f"--gpu {index}, expected one of the {count.value} GPUs of this machine (0 is the first)")
        self._gpu = ctypes.c_void_p()
        self._check(self._nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(self._gpu)), "the GPU")
        self.name = self._text("nvmlDeviceGetName")
        self.uuid = self._text("nvmlDeviceGetUUID")
        self.limit_w = self._number("nvmlDeviceGetEnforcedPowerLimit") / 1000
        self.has_counter = self._call("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong())[0] == SUCCESS

    def energy_j(self) -> float:
        return self._number("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong()) / 1000

    def power_w(self) -> float:
        return self._number("nvmlDeviceGetPowerUsage") / 1000

    def clock_mhz(self) -> int:
        return self._optional("nvmlDeviceGetClockInfo", CLOCK_SM)

    def temperature_c(self) -> int:
        return self._optional("nvmlDeviceGetTemperature", TEMPERATURE_GPU)

    def processes(self) -> int:
        """Asked for with room for none: NVML then tells how many there are."""
        count = ctypes.c_uint(0)
        status = self._nvml.nvmlDeviceGetComputeRunningProcesses_v3(self._gpu, ctypes.byref(count), None)
        if status not in (SUCCESS, INSUFFICIENT_SIZE):
            self._check(status, "its processes")
        return int(count.value)

    def is_divided(self) -> bool:
        """Whether MIG is on: a process then has a part of the GPU only."""
        now, later = ctypes.c_uint(), ctypes.c_uint()
        status = self._nvml.nvmlDeviceGetMigMode(self._gpu, ctypes.byref(now), ctypes.byref(later))
        return status == SUCCESS and now.value != 0

    def _text(self, function: str) -> str:
        text = ctypes.create_string_buffer(TEXT)
        self._check(getattr(self._nvml, function)(self._gpu, text, ctypes.c_uint(TEXT)), function)
        return text.value.decode(errors="replace")

    def _call(self, function: str, value: Any, *kind: int) -> tuple[int, int]:
        arguments = [ctypes.c_uint(number) for number in kind]
        status = getattr(self._nvml, function)(self._gpu, *arguments, ctypes.byref(value))
        return status, value.value

    def _number(self, function: str, value: Any = None) -> int:
        status, found = self._call(function, ctypes.c_uint() if value is None else value)
        self._check(status, function)
        return found

    def _optional(self, function: str, kind: int) -> int:
        """A number that is only reported; 0 where this GPU has none."""
        status, found = self._call(function, ctypes.c_uint(), kind)
        return found if status == SUCCESS else 0

    def _check(self, status: int, what: str) -> None:
        if status == SUCCESS:
            return
        self._nvml.nvmlErrorString.restype = ctypes.c_char_p
        said = self._nvml.nvmlErrorString(status)
        reason = said.decode(errors="replace") if isinstance(said, bytes) else f"error {status}"
        raise UserError(f"NVML: {what.removeprefix('nvmlDeviceGet')}: {reason}, expected a GPU that tells it")
