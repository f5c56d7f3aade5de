"""`wattpack bound`: how far any placement could go, by load."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from wattpack.cli.options import note_power, profile_option
from wattpack.cli.outputs import check_files, words_beside
from wattpack.cli.streams import note
from wattpack.datasets import alibaba2023
from wattpack.datasets.edits import with_edits
from wattpack.datasets.inflation import UP_TO
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.errors import UserError
from wattpack.experiments.bound.curves import baseline_in
from wattpack.experiments.bound.rows import BoundRow, bound_row
from wattpack.experiments.needs import need_gpus, need_tasks
from wattpack.experiments.spec.axes import FIRST_SEED, MAX_SEED
from wattpack.experiments.spec.chosen import check_models
from wattpack.files import write_whole
from wattpack.jit import say_if_compiling
from wattpack.model.fit_anywhere import fit_nowhere
from wattpack.optimise.bound.asleep import AsleepLp
from wattpack.optimise.bound.node_lp import bound_lp
from wattpack.report.provenance import never_fit
from wattpack.report.units import power_unit

DEFAULT_LOADS = "0.2,0.5,0.8,0.9,0.95,1.0"
RESERVE = "2%"
MAX_SLEEP_W = 1_000_000  # of a node


def bound_command(
    *,
    datacenter: str = alibaba2023.NAME,
    add: list[str] | None = None,
    remove: list[str] | None = None,
    replace: list[str] | None = None,
    trace: list[str] | None = None,
    loads: str = DEFAULT_LOADS,
    seed: int | None = None,
    expected: bool = False,
    profile: str | None = None,
    power: Path | None = None,
    against: Path | None = None,
    offline: float | None = None,
    sleep_w: float | None = None,
    reserve: str | None = None,
    whole_nodes: bool = False,
    out: Path | None = None,
) -> None:
    """The most GPU that any placement can serve, and the least power at that service, by load.

    Parameters
    ----------
    datacenter
        Built-in name or CSV file of nodes.
    add
        Nodes to add at the end, like 20xH100-8 or, with the vCPU and GiB of a node, 20xH100-8:128c:1024g; may be given
        again. In a cluster with pools they join that of the nodes like them; 20xH100-8@p3 names one.
    remove
        Nodes to leave out, first: a model like T4, or 10xT4-2; may be given again.
    replace
        Nodes that get other GPUs, as T4=L4 or 10xT4-2=L4, all else the same; may be given again.
    trace
        Built-in name or CSV file of tasks; may be given again.
    loads
        GPU requested / GPU of the datacenter, separated by commas.
    seed
        Take the tasks that have arrived by then in the run with this seed. Without it: the trace's shares.
    expected
        Take the trace's shares, scaled to the load (the default).
    profile
        Power profile: paper (the default), linear, concave, measured.
    power
        TOML file of your own GPUs, CPUs and node base power, laid over the profile (`wattpack power`).
    against
        Results folder of `wattpack compare`: show the largest saving against the policy that savings are against there
        (FGD, or its --against), at the service of that policy.
    offline
        Seconds to search at each load, knowing all arrivals, for a placement near the bound (with seed 42 by default).
    sleep_w
        Show the least power with empty nodes asleep at this many watts, too.
    reserve
        With --sleep-w: GPUs that stay free and awake, as a number or a share of the datacenter's (default 2%).
    whole_nodes
        Keep the nodes of a type apart: what fits no single node is not together. A bound that is up to 6 % higher on
        fleets of few node types; up to 20 s a load. Fleets of more than 12 node types keep the plain bound.
    out
        Write the table to this CSV file.
    """
    datacenter = with_edits(datacenter, add, remove, replace)
    at = _loads(loads)
    if expected and (seed is not None or offline is not None):
        raise UserError("--expected with --seed or --offline, expected one of them: a search needs tasks, not shares")
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise UserError(f"--seed {seed}, expected 0 to {MAX_SEED}")
    if offline is not None and not 0 < offline <= 86_400:
        raise UserError(f"--offline {offline:g}, expected seconds: more than 0, at most 86400")
    if sleep_w is not None and not 0 <= sleep_w <= MAX_SLEEP_W:
        raise UserError(f"--sleep-w {sleep_w:g}, expected watts from 0 to {MAX_SLEEP_W:,}")
    if reserve is not None and sleep_w is None:
        raise UserError(f"--reserve {reserve} without --sleep-w, expected both: it is for nodes that sleep")
    kept = _reserve(RESERVE if reserve is None else reserve)
    watts = profile_option(profile, power)
    seed = FIRST_SEED if seed is None and offline is not None else seed
    nodes = load_datacenter(datacenter, power=watts)
    check_models(nodes, watts)
    traces = {name: load_trace(name) for name in dict.fromkeys(trace or ["default"])}
    need_gpus(datacenter, nodes)
    for name, tasks in traces.items():
        need_tasks(name, tasks)
    stored = None if against is None else against / "experiment.json"
    check_files({"--out": out}, (datacenter, *traces, stored, power))
    note_power(profile, power)
    say_if_compiling()
    baselines = {
        name: baseline_in(against, nodes, tasks, watts, seed) if against is not None else None
        for name, tasks in traces.items()
    }
    rows: list[BoundRow] = []
    lines: list[str] = []

    def tell(line: str) -> None:
        lines.append(line)
        if out is None:  # otherwise after it is written: a reader that goes away (`| head -1`) must not cost the file
            print(line, flush=True)

    for name, tasks in traces.items():
        shares = "the trace's shares" if seed is None else f"the tasks that have arrived in the run with seed {seed}"
        tell(f"{name}: {shares}")
        lp = bound_lp(nodes, tasks.classes, watts, whole_nodes)
        unit = power_unit([lp.idle_w])
        asleep = None
        if sleep_w is not None:
            asleep = AsleepLp(nodes, tasks.classes, watts, sleep_w), kept(int(nodes.gpus.sum()))
        for place, load in enumerate(at):
            rows.append(bound_row(name, load, lp, nodes, tasks, seed, watts, baselines[name], offline, asleep))
            tell(_line(rows[-1], place == 0, *unit))
    for name, tasks in traces.items():
        if kinds := fit_nowhere(nodes, tasks, watts, with_held=True):
            note(f"{name}: {never_fit(kinds)}")
    others = {curves.policy for curves in baselines.values() if curves is not None}
    tell(explanation(rows, ", ".join(sorted(others))))
    if sleep_w is not None:
        tell(_on_sleep(sleep_w, kept(int(nodes.gpus.sum()))))
    if out is not None:
        write_rows(out, rows)
        with words_beside(out):
            print("\n".join(lines))


def _loads(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"--loads {text!r}, expected numbers separated by commas, such as {DEFAULT_LOADS}") from None
    if not all(0 <= load <= UP_TO for load in found):
        raise UserError(f"--loads {text!r}, expected loads from 0 to {UP_TO:g}")
    return found


def _reserve(text: str) -> Callable[[int], int]:
    """A number of GPUs, or a share of the datacenter's, rounded up; as a function of the datacenter's GPUs."""
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if text.endswith("%") and 0 <= number <= 100:
        return lambda gpus: math.ceil(number * gpus / 100 - 1e-9)  # 7 % of 100 are 7.000000000000001
    if not text.endswith("%") and number >= 0 and number.is_integer():
        return lambda gpus: int(number)
    raise UserError(f"--reserve {text!r}, expected GPUs such as 16, or a share such as {RESERVE}")


def _on_sleep(sleep_w: float, reserve_gpus: int) -> str:
    return (
        "`with sleep` is the least power of all these tasks (but those that fit no node) where empty nodes sleep at\n"
        f"{sleep_w:g} W, at most their idle watts, and {reserve_gpus:,} free GPUs stay awake. Waking costs nothing.\n"
        "A dash stands where not all tasks fit."
    )


def _line(row: BoundRow, with_titles: bool, unit: str, unit_w: float) -> str:
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


def write_rows(path: Path, rows: Sequence[BoundRow]) -> None:
    """The table as CSV; cells of values that were not requested are empty."""

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(BoundRow)], lineterminator="\n")
            writer.writeheader()
            for row in rows:
                writer.writerow({name: _cell(value) for name, value in asdict(row).items()})

    write_whole(path, write)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6f}"
    return "" if value is None else str(value)
