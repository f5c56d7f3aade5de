"""`--plugin FILE.py`: policies of the user's own, registered by importing the file they name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wattpack.errors import RunError, UserError
from wattpack.experiments.plugins import import_file

MOST_SAID = 400  # characters: the compiler's own words go on for pages


def load_plugins(files: list[Path]) -> None:
    """Import each file; it calls `wattpack.register(...)`."""
    for file in files:
        import_file(file)


@contextmanager
def faults_of(files: list[Path]) -> Iterator[None]:
    """A fault of a run with plugins, such as a kernel that does not compile, is theirs: one line, no traceback."""
    try:
        yield
    except (UserError, RunError):
        raise
    except Exception as fault:
        if not files:
            raise
        lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
        said = " ".join([f"{type(fault).__name__}:", *lines])
        said = said if len(said) <= MOST_SAID else f"{said[:MOST_SAID]}..."
        raise UserError(f"{', '.join(map(str, files))}: {said}, expected policies that run") from fault
