"""`steady.csv`: steady states of each policy at each offered load, as means over the seeds with their spread."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np

from wattpack.engine.moments.steady import Steady
from wattpack.experiments.lineup import BASELINE
from wattpack.experiments.options import Moving
from wattpack.experiments.scenario import Scenario, labels
from wattpack.files import write_whole

HEADER = (
    *("trace", "policy", "load", "eopc_w", "cpu_w", "gpu_w", "saving", "grar", "w_per_gpu", "allocated_gpus"),
    *("fragmentation_gpus", "seeds", "eopc_w_std", "saving_std", "grar_std", "w_per_gpu_std"),
    *("defrag_every", "defrag_moves", "moves_per_arrival"),
)
# Only where a row has a limit in seconds, a base power, or a pause.
HELD_HEADER = ("batch_seconds", "mean_wait_s", "largest_wait_s")
BASE_HEADER = ("base_w",)
PAUSED_HEADER = ("defrag_pause_seconds", "lost_gpu_s", "paused_gpus")


@dataclass(frozen=True)
class SteadyRow:
    """One policy at one offered load: the results of its seeds, seeds ascending."""

    trace: str
    policy: str
    load: float
    seeds: tuple[int, ...]
    runs: tuple[Steady, ...]
    moving: Moving | None = None
    batch_seconds: float = inf

    def mean(self, measure: str) -> float:
        return float(np.mean([getattr(run, measure) for run in self.runs]))

    def spread(self, measure: str) -> float:
        return float(np.std([getattr(run, measure) for run in self.runs], ddof=1 if len(self.runs) > 1 else 0))

    @property
    def title(self) -> str:
        """The policy with the limit of its windows, and a word where tasks were moved."""
        held = f" within {self.batch_seconds:g} s" if self.batch_seconds < inf else ""
        return f"{self.policy}{held}" + ("" if self.moving is None else ", moving")

    @property
    def moves_per_arrival(self) -> float:
        return self.mean("moves") / self.mean("arrivals")

    def saving(self, baseline: SteadyRow) -> float:
        """1 - EOPC / EOPC of the baseline, of the means over the seeds."""
        return 1 - self.mean("eopc_w") / baseline.mean("eopc_w")

    def savings(self, baseline: SteadyRow) -> list[float]:
        """The saving seed by seed, over the seeds that both have: the policies of a seed see the same tasks."""
        other = dict(zip(baseline.seeds, baseline.runs, strict=True))
        own = zip(self.seeds, self.runs, strict=True)
        return [1 - run.eopc_w / other[seed].eopc_w for seed, run in own if seed in other]

    def saving_spread(self, baseline: SteadyRow) -> float:
        """Standard deviation of `savings`: 0 for one seed, NaN where the two have no seed in common."""
        found = self.savings(baseline)
        return float(np.std(found, ddof=1 if len(found) > 1 else 0)) if found else np.nan


def steady_rows(results: Mapping[Scenario, Steady]) -> list[SteadyRow]:
    """The seeds of a policy together, by trace (as `labels` names it) and load."""
    label = labels(results)
    traces = _places(scenario.trace for scenario in results)
    found: dict[tuple[str, float, str, float, Moving | None], dict[int, Steady]] = {}
    place: dict[str, tuple[int, int]] = {}
    for scenario, steady in results.items():
        assert scenario.steady is not None
        name, hold_s = label[scenario], inf if scenario.batch is None else scenario.batch.seconds
        place.setdefault(name, (traces[scenario.trace], len(place)))
        key = (name, scenario.steady.load, scenario.label, hold_s, scenario.moving)
        found.setdefault(key, {})[scenario.seed] = steady
    rows = []
    for (trace, load, policy, hold_s, moving), by_seed in found.items():
        seeds = tuple(sorted(by_seed))
        rows.append(SteadyRow(trace, policy, load, seeds, tuple(by_seed[seed] for seed in seeds), moving, hold_s))
    return sorted(rows, key=lambda row: (place[row.trace], row.load))


def _places(names: Iterable[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def baselines_of(rows: Sequence[SteadyRow]) -> dict[tuple[str, float], SteadyRow]:
    """FGD without moves, by trace and load."""
    return {(row.trace, row.load): row for row in rows if row.policy == BASELINE and row.moving is None}


def write_steady(path: Path, rows: Sequence[SteadyRow]) -> None:
    """Savings stay empty where FGD was not run."""
    baselines = baselines_of(rows)
    held = any(row.batch_seconds < inf for row in rows)
    based = any(run.base_w > 0 for row in rows for run in row.runs)
    paused = any(row.moving is not None and row.moving.pause_s > 0 for row in rows)

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            more = ((HELD_HEADER, held), (PAUSED_HEADER, paused), (BASE_HEADER, based))
            writer.writerow([*HEADER, *(name for names, there in more if there for name in names)])
            for row in rows:
                cells = _cells(row, baselines.get((row.trace, row.load)))
                cells += (_held_cells(row) if held else []) + (_paused_cells(row) if paused else [])
                writer.writerow(cells + ([f"{row.mean('base_w'):.1f}"] if based else []))

    write_whole(path, write)


def _cells(row: SteadyRow, baseline: SteadyRow | None) -> list[str]:
    saving = spread = ""
    if baseline is not None:
        saving, spread = f"{row.saving(baseline):.6f}", _text(row.saving_spread(baseline), 6)
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
    """Windows without a limit in seconds have waits too; without windows nothing waits."""
    limit = f"{row.batch_seconds:g}" if row.batch_seconds < inf else ""
    return [limit, f"{row.mean('mean_wait_s'):.3f}", f"{max(run.largest_wait_s for run in row.runs):.3f}"]


def _paused_cells(row: SteadyRow) -> list[str]:
    pause_s = row.moving.pause_s if row.moving is not None else 0.0
    return [f"{pause_s:g}", f"{row.mean('lost_gpu_s'):.1f}", f"{row.mean('paused_gpus'):.4f}"]
