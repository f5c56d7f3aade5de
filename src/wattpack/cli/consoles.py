"""The console that commands print tables to."""

from __future__ import annotations

from rich.console import Console


def wide_console(width: int) -> Console:
    """Standard output; `width` columns where it is no terminal, so that tables are not cut in a file or a pipe."""
    console = Console()
    return console if console.is_terminal else Console(width=width)
