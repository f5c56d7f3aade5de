"""The tables of `wattpack power`: watts of every model under each profile, with confidence and source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from wattpack.cli.consoles import wide_console
from wattpack.model.catalog import CPUS, GPUS, PAPER_NAMES
from wattpack.model.power import PAPER, PowerProfile
from wattpack.model.power_overlay import Overlay, Value

WIDTH = 150  # of a pipe or a file
FROM_FILE = "file"
END_POINTS = ("context_w", "max_w")  # the ends of a curve of points


def print_gpus(profiles: Sequence[PowerProfile], overlay: Overlay | None) -> None:
    """One row a model: watts with nothing, half and all of the GPU in use."""
    console = wide_console(WIDTH)
    table = Table(show_edge=False)
    table.add_column("GPU", no_wrap=True)
    for profile in profiles:
        table.add_column(profile.name, justify="right", no_wrap=True)
    for column in ("limit", "confidence", "source"):
        table.add_column(column, justify="right" if column == "limit" else "left", no_wrap=column != "source")
    letters: dict[str, str] = {}
    changed = {} if overlay is None else {c.name: c for c in overlay.changes if c.table == "gpu"}
    known = {name for profile in profiles for name in profile.known_gpus}
    for name in [*PAPER_NAMES, *sorted({*GPUS, *known} - {*PAPER_NAMES}, key=str.lower)]:
        entry = GPUS.get(PAPER_NAMES.get(name, name))
        source = entry.source if entry is not None else ""
        if name in PAPER.gpus:
            source = f"{PAPER.source.split(';')[0]} (measured: {source})"
        cells = [_three_watts(profile, name) for profile in profiles]
        confidence = entry.confidence if entry is not None else ""
        if name in changed:
            said = changed[name].values
            confidence = f"{said['confidence'].value if 'confidence' in said else 'file'} ({changed[name].status})"
            source = str(said["source"].value) if "source" in said else "the power file"
        letter = letters.setdefault(source, chr(ord("a") + len(letters)) if len(letters) < 26 else source)
        limit = "" if entry is None else f"{entry.limit_w:g}"
        table.add_row(Text(name), *cells, limit, Text(confidence), Text(letter))
    console.print("GPUs, W with nothing / half / all of the GPU in use (limit: the board's)")
    console.print(table)
    for source, letter in letters.items():
        console.print(Text(f"  {letter}: {source}"))


def _three_watts(profile: PowerProfile, name: str) -> str:
    if name not in profile.known_gpus:
        return "-"
    draw_mw = profile.gpu(name).draw_mw()
    return "/".join(f"{draw_mw[share] / 1000:.0f}" for share in (0, 500, 1000))


def print_cpus(profile: PowerProfile) -> None:
    """One row a CPU model. Profiles do not differ in them: a socket with any core in use draws its maximum."""
    console = wide_console(WIDTH)
    table = Table(show_edge=False)
    for column in ("CPU (one socket)", "cores", "idle W", "max W", "source"):
        table.add_column(column, justify="left" if column in ("CPU (one socket)", "source") else "right")
    for name in [*profile.cpus, *(name for name in CPUS if name not in profile.cpus)]:
        cpu, entry = profile.cpus.get(name), CPUS.get(name)
        mark = " (default)" if name == profile.default_cpu else ""
        source = entry.source if entry is not None else PAPER.source.split(";")[0] if name in PAPER.cpus else FROM_FILE
        if cpu is not None:
            cells = (str(cpu.cores), f"{cpu.idle_w:g}", f"{cpu.max_w:g}")
        else:
            assert entry is not None
            cells = (str(entry.cores), "-", f"{entry.max_w:g}")
        table.add_row(Text(name + mark), *cells, Text(source))
    console.print(table)
    base = [f"base power of a node: {profile.base_w:g} W"]
    if profile.gpu_base_w:
        base.append("and a share of its GPUs' limits")
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


def _texts(values: Iterable[tuple[str, Value]], with_origin: bool = False) -> str:
    parts = []
    for key, value in values:
        text = value.value if isinstance(value.value, str) else f"{value.value:g}"
        parts.append(f"{key} {text}" + (f" ({value.origin})" if with_origin else ""))
    return ", ".join(parts)
