"""`--plugin FILE.py`: policies of the user's own, registered by importing the file they name."""

from __future__ import annotations

from pathlib import Path

from wattpack.experiments.plugins import import_file


def load_plugins(files: list[Path]) -> None:
    """Import each file; it calls `wattpack.register(...)`."""
    for file in files:
        import_file(file)
