"""What a reader of a public trace format is: a `Format` with two functions, one for the lines, one for a line.

`records` gives the lines of a file, `job` makes a job of one. `job` raises `BadLine` for a line that says nothing
sensible: it is refused, counted and named, and the import goes on. `NotATask` is for a line that is all right and no
task: it is counted by its reason. A file that is not of the format at all is a `UserError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from wattpack.model.tasks import TaskClass


class BadLine(ValueError):  # noqa: N818, it names the line
    """The line is refused; the text says why."""


class NotATask(ValueError):  # noqa: N818, it names the line
    """The line is no task; the text says why, in words that many lines share."""


@dataclass(frozen=True)
class Assumed:
    """What is taken for granted where a format does not say it."""

    vcpu_per_gpu: float = 8.0
    memory_gib_per_gpu: float = 32.0
    gpus_per_node: int = 8
    processors_per_gpu: int = 0  # of SWF; 0: jobs use no GPU
    time_zone: str = ""  # of stamps without one; "": as the format says


class Job(NamedTuple):
    """A line as one task or several: the workers of a job are placed one by one, not together."""

    name: str
    arrival_s: float  # since 1970 where `on_clock`, else from the start of the trace
    duration_s: float  # inf: it was still running when the trace ended
    workers: tuple[tuple[TaskClass, int], ...]  # class and how many
    on_clock: bool = False
    batch: bool = True
    service_class: str = ""
    owner: str = ""


Record = Any  # what `records` gives and `job` takes


@dataclass(frozen=True)
class Format:
    name: str
    summary: str
    assumptions: tuple[str, ...]  # `{vcpu_per_gpu}` and the like are fields of `Assumed`
    records: Callable[[Path], Iterator[tuple[int, Record | BadLine]]]
    job: Callable[[Record, Assumed], Job]
    counted: str = "line"  # what the numbers of records are numbers of
    notes: list[str] = field(default_factory=list)  # what is assumed of the file just read; `records` writes it

    def assumed_in_words(self, assumed: Assumed) -> tuple[str, ...]:
        return tuple(text.format(**asdict(assumed)) for text in self.assumptions)
