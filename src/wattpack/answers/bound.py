"""How far any placement could go: `wattpack.bound`, and the table that it and `wattpack bound` show."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from wattpack.answers.text import Shown, say
from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import UP_TO
from wattpack.datasets.sources import as_datacenter
from wattpack.errors import UserError
from wattpack.experiments.bound.curves import baseline_in
from wattpack.experiments.bound.rows import BoundRow, bound_row
from wattpack.experiments.curves import Curves
from wattpack.experiments.needs import need_gpus, need_tasks
from wattpack.experiments.spec.axes import FIRST_SEED
from wattpack.experiments.spec.chosen import (
    Traces,
    check_models,
    chosen_number,
    chosen_profile,
    chosen_seed,
    chosen_traces,
)
from wattpack.frames import new_frame
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PowerProfile
from wattpack.model.tasks import Workload
from wattpack.optimise.bound.asleep import AsleepLp
from wattpack.optimise.bound.node_lp import bound_lp
from wattpack.report.units import power_unit

if TYPE_CHECKING:
    from pandas import DataFrame

LOADS = (0.2, 0.5, 0.8, 0.9, 0.95, 1.0)
RESERVE = "2%"
MAX_SLEEP_W = 1_000_000  # of a node
MAX_OFFLINE_S = 86_400


@dataclass(frozen=True, repr=False)
class Bounds(Shown):
    """The answer of `wattpack.bound`: `rows`, one for each trace and load, and the table with what it means."""

    rows: tuple[BoundRow, ...]
    text: str

    def show(self, console: Console) -> None:
        say(console, self.text)

    def to_pandas(self) -> DataFrame:
        """The frame of `wattpack bound --out`; NaN where a value was not requested."""
        rows, texts = [asdict(row) for row in self.rows], ("trace",)
        columns = {field.name: [row[field.name] for row in rows] for field in fields(BoundRow)}
        empty = float("nan")
        return new_frame({n: c if n in texts else [empty if v is None else v for v in c] for n, c in columns.items()})


def bound(
    datacenter: Datacenter | str | Path = alibaba2023.NAME,
    trace: Traces = "default",
    *,
    loads: Iterable[float] = LOADS,
    seed: int | None = None,
    profile: PowerProfile | str | None = None,
    power: str | Path | None = None,
    against: str | Path | None = None,
    offline: float | None = None,
    sleep_w: float | None = None,
    reserve: int | str | None = None,
    whole_nodes: bool = False,
) -> Bounds:
    """The most GPU that any placement can serve, and the least power at that service, by load.

    `seed`: of the tasks that have arrived by then in that run; default: the trace's shares. `against`: results folder
    of a comparison, for the largest saving against the policy that savings are against there. `offline`: seconds of
    search at each load for a placement near the bound. `sleep_w`: watts of an empty node that sleeps, with `reserve`
    GPUs that stay free and awake (default 2%). `whole_nodes`: a tighter bound for fleets of few node types.
    """
    watts = chosen_profile(profile, power)
    nodes = as_datacenter(datacenter, watts)
    check_models(nodes, watts)
    need_gpus(nodes.name, nodes)
    traces = chosen_traces(trace)
    for name, tasks in traces.items():
        need_tasks(name, tasks)
    at = [chosen_number(load, "loads") for load in loads]
    if not at or not all(0 <= load <= UP_TO for load in at):
        raise UserError(f"loads: {at}, expected loads from 0 to {UP_TO:g}")
    if offline is not None and not 0 < chosen_number(offline, "offline") <= MAX_OFFLINE_S:
        raise UserError(f"offline: {offline:g}, expected seconds: more than 0, at most {MAX_OFFLINE_S}")
    if sleep_w is not None and not 0 <= chosen_number(sleep_w, "sleep_w") <= MAX_SLEEP_W:
        raise UserError(f"sleep_w: {sleep_w:g}, expected watts from 0 to {MAX_SLEEP_W:,}")
    if reserve is not None and sleep_w is None:
        raise UserError(f"reserve: {reserve} without sleep_w, expected both: it is for nodes that sleep")
    kept = reserve_of(RESERVE if reserve is None else str(reserve), "reserve")(int(nodes.gpus.sum()))
    seed = FIRST_SEED if seed is None and offline is not None else None if seed is None else chosen_seed(seed)
    folder = None if against is None else Path(against)
    lines: list[str] = []
    rows = find_bounds(
        *(nodes, traces, at, seed, watts, folder, offline),
        asleep=None if sleep_w is None else (sleep_w, kept),
        whole_nodes=whole_nodes,
        tell=lines.append,
    )
    return Bounds(tuple(rows), "\n".join(lines))


def find_bounds(
    nodes: Datacenter,
    traces: Mapping[str, Workload],
    loads: Sequence[float],
    seed: int | None,
    watts: PowerProfile,
    against: Path | None,
    offline_s: float | None,
    asleep: tuple[float, int] | None,
    whole_nodes: bool,
    tell: Callable[[str], None],
) -> list[BoundRow]:
    """The rows; each is told as a line of the table as soon as it is found.

    `asleep`: watts of a node that sleeps, and GPUs that stay free and awake.
    """
    baselines: dict[str, Curves | None] = {
        name: baseline_in(against, nodes, tasks, watts, seed) if against is not None else None
        for name, tasks in traces.items()
    }
    rows: list[BoundRow] = []
    for name, tasks in traces.items():
        shares = "the trace's shares" if seed is None else f"the tasks that have arrived in the run with seed {seed}"
        tell(f"{name}: {shares}")
        lp = bound_lp(nodes, tasks.classes, watts, whole_nodes)
        unit = power_unit([lp.idle_w])
        sleeping = None
        if asleep is not None:
            sleeping = AsleepLp(nodes, tasks.classes, watts, asleep[0]), asleep[1]
        for place, load in enumerate(loads):
            rows.append(bound_row(name, load, lp, nodes, tasks, seed, watts, baselines[name], offline_s, sleeping))
            tell(line_of(rows[-1], place == 0, *unit))
    others = {curves.policy for curves in baselines.values() if curves is not None}
    tell(explanation(rows, ", ".join(sorted(others))))
    if asleep is not None:
        tell(on_sleep(*asleep))
    return rows


def reserve_of(text: str, option: str) -> Callable[[int], int]:
    """A number of GPUs, or a share of the datacenter's, rounded up; as a function of the datacenter's GPUs."""
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if text.endswith("%") and 0 <= number <= 100:
        return lambda gpus: math.ceil(number * gpus / 100 - 1e-9)  # 7 % of 100 are 7.000000000000001
    if not text.endswith("%") and number >= 0 and number.is_integer():
        return lambda gpus: int(number)
    raise UserError(f"{option} {text!r}, expected GPUs such as 16, or a share such as {RESERVE}")


def on_sleep(sleep_w: float, reserve_gpus: int) -> str:
    return (
        "`with sleep` is the least power of all these tasks (but those that fit no node) where empty nodes sleep at\n"
        f"{sleep_w:g} W, at most their idle watts, and {reserve_gpus:,} free GPUs stay awake. Waking costs nothing.\n"
        "A dash stands where not all tasks fit."
    )


def line_of(row: BoundRow, with_titles: bool, unit: str, unit_w: float) -> str:
    """A line of the table, below the titles if it is the first."""
    cells = [
        ("load", f"{row.load:g}"),
        ("GPU requested", f"{row.gpu_requested:.1f}"),
        ("served at most", f"{row.gpu_served_most:.1f}"),
        ("GRAR at most", f"{row.grar_most:.4f}"),
        (f"least power {unit}", f"{row.power_least_w / unit_w:.4f}"),
    ]
    if row.power_least_asleep_w is not None:
        with_sleep_w = row.power_least_asleep_w
        cells.append((f"with sleep {unit}", "-" if math.isnan(with_sleep_w) else f"{with_sleep_w / unit_w:.4f}"))
    if row.saving_most is not None:
        # FGD's runs may end before this load
        text = "-" if math.isnan(row.saving_most) else f"{row.saving_most * 100:.1f} %"
        cells.append(("saving at most", text))
    if row.offline_gpu_served is not None and row.offline_power_w is not None and row.offline_bound_w is not None:
        cells.append(("found: served", f"{row.offline_gpu_served:.1f}"))
        cells.append((f"found: {unit}", f"{row.offline_power_w / unit_w:.4f}"))
        cells.append(("above bound", f"{(row.offline_power_w / row.offline_bound_w - 1) * 100:.2f} %"))
    line = "  ".join(text.rjust(max(5, len(title))) for title, text in cells)
    titles = "  ".join(title.rjust(5) for title, _ in cells)
    return f"{titles}\n{line}" if with_titles else line


def explanation(rows: Sequence[BoundRow], compared_with: str = "fgd") -> str:
    """An explanation of the numbers for new readers."""
    texts = [
        "No placement of these tasks, not even one that knows them all beforehand, serves more GPU than `served at",
        "most`, and none that serves as much (tasks without GPU included) draws less than `least power`, which is that",
        "of the whole datacenter, idle parts included.",
    ]
    if any(row.grar_most < 1 - 1e-6 for row in rows):
        texts += [
            "Where GRAR at most is below 1, some work must be refused. A policy that refuses more than that may draw",
            "less than `least power`: compare watts only where as much is served.",
        ]
    if any(row.saving_most is not None for row in rows):
        texts += [
            f"`saving at most` is against {compared_with} in the results folder, at the service that it reached there:",
            "what a policy saves beyond it, it saves by refusing work. Few seeds differ from the trace's shares:",
            "--seed N bounds one run.",
        ]
    if any(row.offline_power_w is not None for row in rows):
        texts += [
            "`found` is a placement that a search came to, checked by the engine: what is truly possible lies between",
            "it and the bound. `above bound` compares its power with the least power at the service it reached.",
        ]
    return "\n" + "\n".join(texts)
