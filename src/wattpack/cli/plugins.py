"""`--plugin FILE.py`: policies of the user's own, registered by importing the file they name."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from wattpack.errors import UserError


def load_plugins(files: list[Path]) -> None:
    """Import each file; it calls `wattpack.register(...)`."""
    for file in files:
        spec = importlib.util.spec_from_file_location(f"wattpack_plugin_{file.stem}", file)
        if spec is None or spec.loader is None or not file.is_file():
            raise UserError(f"{file}: cannot be read, expected a Python file that calls wattpack.register")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        try:
            spec.loader.exec_module(module)
        except UserError:
            raise
        except Exception as fault:
            raise UserError(f"{file}: {type(fault).__name__}: {fault}, expected a file that can be imported") from fault
