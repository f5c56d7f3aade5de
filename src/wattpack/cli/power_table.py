"""The tables of `wattpack power`: watts of every model under each profile, with confidence and source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from wattpack.cli.consoles import wide_console
from wattpack.model.catalog import CPUS, GPUS, PAPER_NAMES
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.power_changes import Change, Overlay, Value

WIDTH = 150  # of a pipe or a file
WIDEST_PROFILE = 20  # letters in a line; longer names are broken
WIDEST_MODEL, NARROW_MODEL = 40, 24
FROM_FILE = "file"
END_POINTS = ("context_w", "max_w")  # the ends of a curve of points


def print_gpus(profiles: Sequence[PowerProfile], overlay: Overlay | None) -> None:
    """One row a model: watts with nothing, half and all of the GPU in use. Never cut: see `_beside`."""
    letters: dict[str, str] = {}
    changed = {} if overlay is None else {c.name: c for c in overlay.changes if c.table == "gpu" and _says_something(c)}
    known = {name for profile in profiles for name in profile.known_gpus}
    names = [*PAPER_NAMES, *sorted({*GPUS, *known} - {*PAPER_NAMES}, key=str.lower)]
    limits, confidences, sources = [], [], []
    for name in names:
        entry = GPUS.get(PAPER_NAMES.get(name, name))
        limit = "" if entry is None else f"{entry.limit_w:g}"
        source = entry.source if entry is not None else ""
        if name in PAPER.gpus:
            source = f"{PAPER.source.split(';')[0]} (measured: {source})"
        confidence = entry.confidence if entry is not None else ""
        if name in changed:
            said = changed[name].values
            confidence = f"{said['confidence'].value if 'confidence' in said else 'file'} ({changed[name].status})"
            source = str(said["source"].value) if "source" in said else "the power file"
            limit = f"{said['limit_w'].value:g}" if "limit_w" in said else limit
        limits.append(limit)
        confidences.append(confidence)
        sources.append(letters.setdefault(source, _letter(len(letters))))
    columns = [
        Column(_folded(profile.name, WIDEST_PROFILE), [_three_watts(profile, name) for name in names], "right")
        for profile in profiles
    ]
    columns += [Column("limit", limits, "right"), Column("confidence", confidences), Column("source", sources)]
    first = Column("GPU", [_folded(name, WIDEST_MODEL) for name in names])
    console = wide_console(max(WIDTH, _width([first, *columns])))
    if _width([first, *columns]) > console.width:
        first = Column("GPU", [_folded(name, NARROW_MODEL) for name in names])
    console.print("GPUs, W with nothing / half / all of the GPU in use (limit: the board's)")
    for group in _beside(first, columns, console.width):
        console.print(_table([first, *group]))
    for source, letter in letters.items():
        console.print(Text(f"  {letter}: {source}"))


class Column(NamedTuple):
    head: str
    cells: list[str]
    justify: Literal["left", "right"] = "left"

    @property
    def width(self) -> int:
        return max(cell_len(line) for text in (self.head, *self.cells) for line in text.split("\n"))


def _width(columns: Sequence[Column]) -> int:
    """Of a table of these columns: a space on both sides of a cell, a line between two."""
    return sum(column.width + 3 for column in columns) - 1


def _beside(first: Column, columns: Iterable[Column], width: int) -> Iterator[list[Column]]:
    """The columns in groups that fit the width beside the first: on a narrow terminal in several tables below each
    other, as a table that does not fit would lose its watts and sources."""
    group: list[Column] = []
    for column in columns:
        if group and _width([first, *group, column]) > width:
            yield group
            group = []
        group.append(column)
    yield group


def _table(columns: Sequence[Column]) -> Table:
    table = Table(show_edge=False)
    for column in columns:
        table.add_column(Text(column.head), justify=column.justify, no_wrap=True)
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, cells))
    return table


def _says_something(change: Change) -> bool:
    return any(value.origin == FROM_FILE for value in change.values.values())


def _letter(number: int) -> str:
    """a to z, then a2 to z2 and so on."""
    return "abcdefghijklmnopqrstuvwxyz"[number % 26] + (f"{number // 26 + 1}" if number >= 26 else "")


def _folded(text: str, width: int) -> str:
    """In lines of at most `width`, broken after a hyphen or plus where there is one."""
    lines = []
    while len(text) > width:
        cut = max(text.rfind(mark, 0, width) for mark in "-+ ") + 1 or width
        lines.append(text[:cut])
        text = text[cut:]
    return "\n".join([*lines, text])


def _three_watts(profile: PowerProfile, name: str) -> str:
    if name not in profile.known_gpus:
        return "-"
    draw_mw = profile.gpu(name).draw_mw()
    return "/".join(f"{draw_mw[share] / 1000:.0f}" for share in (0, 500, 1000))


def print_cpus(profile: PowerProfile, overlay: Overlay | None) -> None:
    """One row a CPU model. Profiles do not differ in them: a socket with any core in use draws its maximum."""
    changes = () if overlay is None else overlay.changes
    changed = {change.name: change for change in changes if change.table == "cpu" and _says_something(change)}
    console = wide_console()
    table = Table(show_edge=False)
    for column in ("CPU (one socket)", "cores", "idle W", "max W", "source"):
        table.add_column(column, justify="left" if column in ("CPU (one socket)", "source") else "right")
    for name in [*profile.cpus, *(name for name in CPUS if name not in profile.cpus)]:
        cpu, entry = profile.cpus.get(name), CPUS.get(name)
        mark = " (default)" if name == profile.default_cpu else ""
        source = entry.source if entry is not None else PAPER.source.split(";")[0]
        if name in changed:
            said = changed[name].values
            source = str(said["source"].value) if "source" in said else "the power file"
            source += f" ({changed[name].status})"
        if cpu is not None:
            cells = (str(cpu.cores), f"{cpu.idle_w:g}", f"{cpu.max_w:g}")
        else:
            assert entry is not None
            cells = (str(entry.cores), "-", f"{entry.max_w:g}")
        table.add_row(Text(name + mark), *cells, Text(source))
    console.print(table)
    base = [f"base power of a node: {profile.base_w:g} W"]
    node = next((change.values for change in changes if change.table == "node"), {})
    if "base_share_of_limits" in node:
        base.append(f"and {node['base_share_of_limits'].value:g} of its GPUs' limits")
    console.print(Text(" ".join(base)))


def print_changes(file: Path, overlay: Overlay) -> None:
    """What a power file changes, entry by entry, and what each inherits."""
    console = wide_console(WIDTH)
    console.print(Text(f"{file} over the profile {overlay.parent.name}, called {overlay.profile.name} in results"))
    if not overlay.changes:
        console.print("  changes nothing")
    for change in overlay.changes:
        what = " ".join(part for part in (change.table, change.name) if part) or "all GPUs"
        shown = [pair for pair in change.values.items() if "points" not in change.values or pair[0] not in END_POINTS]
        said = [(key, value) for key, value in shown if value.origin == FROM_FILE]
        inherited = [(key, value) for key, value in shown if value.origin != FROM_FILE]
        console.print(Text(f"  {what}: {change.status}" + (f": {_texts(said)}" if said else "")))
        if inherited:
            console.print(Text(f"    inherited: {_texts(inherited, with_origin=True)}"))
        if change.idle_exponent:
            console.print(
                "    the exponent has no effect: an idle context draws the maximum; a context_w would give it one"
            )


def _texts(values: Iterable[tuple[str, Value]], with_origin: bool = False) -> str:
    parts = []
    for key, value in values:
        text = value.value if isinstance(value.value, str) else f"{value.value:g}"
        parts.append(f"{key} {text}" + (f" ({value.origin})" if with_origin else ""))
    return ", ".join(parts)
