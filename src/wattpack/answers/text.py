"""The text of an answer: what its command prints, as `print(answer)` shows it in Python."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO

from rich.console import Console

WIDTH = 1000  # nothing is cut


class Shown:
    """An answer whose text is the table of its command."""

    def show(self, console: Console) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        return text_of(self.show)


def text_of(show: Callable[[Console], None]) -> str:
    """What `show` writes, without colours and spaces at the ends of lines."""
    written = StringIO()
    show(Console(file=written, width=WIDTH, color_system=None, force_terminal=False))
    return "\n".join(line.rstrip() for line in written.getvalue().rstrip("\n").split("\n"))


def say(console: Console, *lines: str) -> None:
    """Lines as they are: nothing is wrapped or taken for markup."""
    for line in lines:
        print(line, file=console.file)
