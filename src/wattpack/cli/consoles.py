"""The console that commands print tables to."""

from __future__ import annotations

from rich.console import Console

WIDE = 1000  # where the output is no terminal: no table is cut or folded in a file or a pipe


def wide_console(width: int = WIDE) -> Console:
    """Standard output; `width` columns where it is no terminal. A smaller one is for text that is to be folded."""
    console = Console()
    return console if console.is_terminal else Console(width=width)
