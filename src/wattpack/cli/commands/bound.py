"""`wattpack bound`: how far any placement could go, by load."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from wattpack.answers.bound import LOADS, MAX_OFFLINE_S, MAX_SLEEP_W, RESERVE, find_bounds, reserve_of
from wattpack.cli.options import note_power, profile_option
from wattpack.cli.outputs import check_files, words_beside
from wattpack.cli.streams import note
from wattpack.datasets import alibaba2023
from wattpack.datasets.edits import with_edits
from wattpack.datasets.inflation import UP_TO
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.errors import UserError
from wattpack.experiments.bound.rows import BoundRow
from wattpack.experiments.needs import need_gpus, need_tasks
from wattpack.experiments.spec.axes import FIRST_SEED, MAX_SEED
from wattpack.experiments.spec.chosen import check_models
from wattpack.files import write_whole
from wattpack.jit import say_if_compiling
from wattpack.model.fit_anywhere import fit_nowhere
from wattpack.report.provenance import never_fit

DEFAULT_LOADS = ",".join(map(str, LOADS))


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
    if offline is not None and not 0 < offline <= MAX_OFFLINE_S:
        raise UserError(f"--offline {offline:g}, expected seconds: more than 0, at most 86400")
    if sleep_w is not None and not 0 <= sleep_w <= MAX_SLEEP_W:
        raise UserError(f"--sleep-w {sleep_w:g}, expected watts from 0 to {MAX_SLEEP_W:,}")
    if reserve is not None and sleep_w is None:
        raise UserError(f"--reserve {reserve} without --sleep-w, expected both: it is for nodes that sleep")
    kept = reserve_of(RESERVE if reserve is None else reserve, "--reserve")
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
    lines: list[str] = []

    def tell(line: str) -> None:
        lines.append(line)
        if out is None:  # otherwise after it is written: a reader that goes away (`| head -1`) must not cost the file
            print(line, flush=True)

    asleep = None if sleep_w is None else (sleep_w, kept(int(nodes.gpus.sum())))
    rows = find_bounds(nodes, traces, at, seed, watts, against, offline, asleep, whole_nodes, tell)
    for name, tasks in traces.items():
        if kinds := fit_nowhere(nodes, tasks, watts, with_held=True):
            note(f"{name}: {never_fit(kinds)}")
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
