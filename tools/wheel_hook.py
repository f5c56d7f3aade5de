"""hatchling asks this how to build a wheel: with compiled kernels if they are there, and then for this Python alone."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The oldest Linux that numba's own wheels run on; the kernels need nothing else of the system.
LINUX = "manylinux_2_28"


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        kernels = Path(self.root) / "src" / "wattpack" / "kernels"
        if not (kernels / "about.json").exists() or sys.platform != "linux":
            return
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-{LINUX}_{platform.machine()}"
        build_data["force_include"][str(kernels)] = "wattpack/kernels"
