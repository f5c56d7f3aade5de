"""Steady state of several policies: runs kept in `steady/ID.json`, their means and spread in `steady.csv`."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np

from wattpack.engine.runs.steady import Steady
from wattpack.errors import UserError
from wattpack.experiments.checked_json import read_checked, write_checked
from wattpack.experiments.executors import usable_cores
from wattpack.experiments.regime import MAX_LOAD, Moving, Regime
from wattpack.experiments.runner import Report
from wattpack.experiments.scenario import Inputs, Scenario, code_digest, labels
from wattpack.experiments.steady import ARRIVALS, run_steady
from wattpack.experiments.summary import BASELINE
from wattpack.files import make_folder, write_whole
from wattpack.jit import source_digest
from wattpack.policies.expression import parse

HEADER = (
    *("trace", "policy", "load", "eopc_w", "cpu_w", "gpu_w", "saving", "grar", "w_per_gpu", "allocated_gpus"),
    *("fragmentation_gpus", "seeds", "eopc_w_std", "saving_std", "grar_std", "w_per_gpu_std"),
    *("defrag_every", "defrag_moves", "moves_per_arrival"),
)
# Only where a row has a limit in seconds, or a pause.
HELD_HEADER = ("batch_seconds", "mean_wait_s", "largest_wait_s")
PAUSED_HEADER = ("defrag_pause_seconds", "lost_gpu_s", "paused_gpus")


@dataclass(frozen=True)
class SteadyRow:
    """One policy at one offered load: values by seed, in the order of the seeds."""

    trace: str
    policy: str
    load: float
    runs: tuple[Steady, ...]
    moving: Moving | None = None
    batch_seconds: float = inf

    def mean(self, measure: str) -> float:
        return float(np.mean([getattr(run, measure) for run in self.runs]))

    def spread(self, measure: str) -> float:
        return float(np.std([getattr(run, measure) for run in self.runs], ddof=1 if len(self.runs) > 1 else 0))

    @property
    def title(self) -> str:
        """The policy, how long its windows wait, and that tasks were moved where they were."""
        held = f" within {self.batch_seconds:g} s" if self.batch_seconds < inf else ""
        return f"{self.policy}{held}" + ("" if self.moving is None else ", moving")

    @property
    def moves_per_arrival(self) -> float:
        return self.mean("moves") / self.mean("arrivals")

    def savings(self, baseline: SteadyRow) -> list[float]:
        """Seed by seed; the policies of a seed see the same tasks."""
        return [1 - own.eopc_w / other.eopc_w for own, other in zip(self.runs, baseline.runs, strict=True)]


def parse_loads(text: str) -> tuple[float, ...]:
    """`0.5,0.8,0.9` as numbers."""
    try:
        loads = tuple(float(part) for part in text.split(","))
    except ValueError:
        loads = ()
    if not loads or not all(0 < load <= MAX_LOAD for load in loads):
        raise UserError(f"--steady {text!r}, expected loads above 0 like 0.5,0.8,0.9")
    return tuple(dict.fromkeys(loads))


def run_steady_table(
    scenarios: Sequence[Scenario],
    inputs: Inputs,
    loads: Sequence[float],
    out: Path,
    report: Report,
    workers: int | None = None,
    arrivals: int = ARRIVALS,
    moving: Moving | None = None,
    batch_seconds: float = inf,
) -> list[SteadyRow]:
    """Each scenario's policy, trace, seed and window in steady state at each load; with `moving` also with moves."""
    jobs = [
        (scenario, Regime(load, batch_seconds if scenario.batch > 1 else inf, moves))
        for scenario in scenarios
        for load in loads
        for moves in ((None,) if moving is None else (None, moving))
    ]
    return run_steady_jobs(jobs, inputs, out, report, workers, arrivals)


def run_steady_jobs(
    wanted: Sequence[tuple[Scenario, Regime]],
    inputs: Inputs,
    out: Path,
    report: Report,
    workers: int | None = None,
    arrivals: int = ARRIVALS,
) -> list[SteadyRow]:
    """Run these in threads of this machine; finished runs are kept. Writes `out/steady.csv`."""
    folder = make_folder(out / "steady")
    jobs = {job: folder / f"{_id(*job, arrivals)}.json" for job in wanted}
    runs = {job: kept for job, file in jobs.items() if (kept := _kept(file)) is not None}
    missing = [job for job in jobs if job not in runs]
    done = len(jobs) - len(missing)
    report(done, len(jobs), "")

    def run(scenario: Scenario, regime: Regime) -> Steady:
        datacenter, trace = inputs.datacenters[scenario.datacenter], inputs.traces[scenario.trace]
        profile, mix = inputs.profiles[scenario.profile], parse(scenario.policy)
        batch = scenario.window._replace(seconds=regime.batch_seconds)
        steady = run_steady(datacenter, trace, mix, regime.load, scenario.seed, profile, arrivals, batch, regime.moving)
        write_checked(jobs[scenario, regime], steady._asdict())
        return steady

    with ThreadPoolExecutor(workers or usable_cores()) as pool:
        try:
            running = {pool.submit(run, *job): job for job in missing}
            for future in as_completed(running):
                scenario, regime = running[future]
                runs[scenario, regime] = future.result()
                done += 1
                report(done, len(jobs), f"{scenario}, steady at {regime.load:g}")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    rows = _rows({job: runs[job] for job in jobs}, inputs)
    write_steady(out / "steady.csv", rows)
    return rows


def _kept(file: Path) -> Steady | None:
    """A finished steady state; None where there is none, or it is damaged, which is said: it is then run again."""
    found = read_checked(file)
    return Steady(**found) if found is not None and found.keys() == set(Steady._fields) else None


def _rows(runs: dict[tuple[Scenario, Regime], Steady], inputs: Inputs) -> list[SteadyRow]:
    """The seeds of a policy together, by trace (as `labels` names it) and load."""
    label, traces = labels(scenario for scenario, _ in runs), list(inputs.traces)
    found: dict[tuple[str, Regime, str], list[Steady]] = {}
    place: dict[str, tuple[int, int]] = {}
    for (scenario, regime), steady in sorted(runs.items(), key=lambda job: job[0][0].seed):
        name = label[scenario]
        place.setdefault(name, (traces.index(scenario.trace), len(place)))
        found.setdefault((name, regime, scenario.label), []).append(steady)
    rows = [
        SteadyRow(trace, policy, regime.load, tuple(seeds), regime.moving, regime.batch_seconds)
        for (trace, regime, policy), seeds in found.items()
    ]
    return sorted(rows, key=lambda row: (place[row.trace], row.load))


def _id(scenario: Scenario, regime: Regime, arrivals: int) -> str:
    said = f"{scenario.id} {regime.load!r} {arrivals} {code_digest()}"
    if regime.batch_seconds < inf:
        said += f" within {regime.batch_seconds!r} s"
    if regime.moving is not None:  # the search for moves is no part of `code_digest`
        said += f" {regime.moving!r} {source_digest(Path(__file__).parents[1] / 'optimise' / 'defrag')}"
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def baselines_of(rows: Sequence[SteadyRow]) -> dict[tuple[str, float], SteadyRow]:
    """FGD without moves, by trace and load."""
    return {(row.trace, row.load): row for row in rows if row.policy == BASELINE and row.moving is None}


def write_steady(path: Path, rows: Sequence[SteadyRow]) -> None:
    """Savings stay empty where FGD was not run."""
    baselines = baselines_of(rows)
    held = any(row.batch_seconds < inf for row in rows)
    paused = any(row.moving is not None and row.moving.pause_s > 0 for row in rows)

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*HEADER, *(HELD_HEADER if held else ()), *(PAUSED_HEADER if paused else ())])
            for row in rows:
                cells = _cells(row, baselines.get((row.trace, row.load)))
                writer.writerow(cells + (_held_cells(row) if held else []) + (_paused_cells(row) if paused else []))

    write_whole(path, write)


def _cells(row: SteadyRow, baseline: SteadyRow | None) -> list[str]:
    saving = spread = ""
    if baseline is not None:
        saving = f"{1 - row.mean('eopc_w') / baseline.mean('eopc_w'):.6f}"
        if len(row.runs) == len(baseline.runs):
            spread = f"{np.std(row.savings(baseline), ddof=1 if len(row.runs) > 1 else 0):.6f}"
    means = [f"{row.mean(measure):.1f}" for measure in ("eopc_w", "cpu_w", "gpu_w")]
    moving = row.moving
    return (
        [row.trace, row.policy, f"{row.load:g}", *means, saving, f"{row.mean('grar'):.6f}"]
        + [_text(row.mean(measure), 3) for measure in ("w_per_gpu", "allocated_gpus", "fragmentation_gpus")]
        + [str(len(row.runs)), f"{row.spread('eopc_w'):.1f}", spread, f"{row.spread('grar'):.6f}"]
        + [_text(row.spread("w_per_gpu"), 3)]
        + ([str(moving.every), str(moving.moves), f"{row.moves_per_arrival:.5f}"] if moving else ["", "", ""])
    )


def _text(value: float, digits: int) -> str:
    """Empty for a NaN: there are no watts per GPU where none is in use."""
    return "" if value != value else f"{value:.{digits}f}"


def _held_cells(row: SteadyRow) -> list[str]:
    """Waits also of windows without a limit; without windows nothing waits."""
    limit = f"{row.batch_seconds:g}" if row.batch_seconds < inf else ""
    return [limit, f"{row.mean('mean_wait_s'):.3f}", f"{max(run.largest_wait_s for run in row.runs):.3f}"]


def _paused_cells(row: SteadyRow) -> list[str]:
    pause_s = row.moving.pause_s if row.moving is not None else 0.0
    return [f"{pause_s:g}", f"{row.mean('lost_gpu_s'):.1f}", f"{row.mean('paused_gpus'):.4f}"]
