"""`steady.csv`: steady states of each policy at each offered load, as means over the seeds with their spread."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np

from wattpack.engine.moments.steady import Steady
from wattpack.experiments.options import Moving
from wattpack.experiments.saving import DEFAULT_AGAINST, in_files, saved
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
    against: tuple[str, ...] = DEFAULT_AGAINST  # the policies that savings are against, the first where one is shown

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
        """The share of watts per GPU served that is saved, of the means over the seeds; NaN where none is served."""
        own, other = ([row.mean(name) for name in ("eopc_w", "allocated_gpus")] for row in (self, baseline))
        return float(saved(*own, *other))

    def savings(self, baseline: SteadyRow) -> list[float]:
        """The saving seed by seed, over the seeds that both have: the policies of a seed see the same tasks."""
        other = dict(zip(baseline.seeds, baseline.runs, strict=True))
        pairs = [(run, other[seed]) for seed, run in zip(self.seeds, self.runs, strict=True) if seed in other]
        return [float(saved(run.eopc_w, run.allocated_gpus, base.eopc_w, base.allocated_gpus)) for run, base in pairs]

    def saving_spread(self, baseline: SteadyRow) -> float:
        """Standard deviation of `savings`: 0 for one seed, NaN where the two have no seed in common."""
        found = self.savings(baseline)
        return float(np.std(found, ddof=1 if len(found) > 1 else 0)) if found else np.nan


def steady_rows(results: Mapping[Scenario, Steady], against: Sequence[str] = DEFAULT_AGAINST) -> list[SteadyRow]:
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
        runs = tuple(by_seed[seed] for seed in seeds)
        rows.append(SteadyRow(trace, policy, load, seeds, runs, moving, hold_s, tuple(against)))
    return sorted(rows, key=lambda row: (place[row.trace], row.load))


def _places(names: Iterable[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def baselines_of(rows: Sequence[SteadyRow], against: str | None = None) -> dict[tuple[str, float], SteadyRow]:
    """The policy that savings are against, or another one of them, without moves, by trace and load."""
    return {
        (row.trace, row.load): row for row in rows if row.policy == (against or row.against[0]) and row.moving is None
    }


def write_steady(path: Path, rows: Sequence[SteadyRow]) -> None:
    """Savings stay empty where the policy was not run that they are against."""
    against = in_files(rows[0].against) if rows else ""
    baselines = baselines_of(rows, against)
    held = any(row.batch_seconds < inf for row in rows)
    based = any(run.base_w > 0 for row in rows for run in row.runs)
    paused = any(row.moving is not None and row.moving.pause_s > 0 for row in rows)

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            more = ((HELD_HEADER, held), (PAUSED_HEADER, paused), (BASE_HEADER, based))
            writer.writerow([*HEADER, *(name for names, there in more if there for name in names), "against"])
            for row in rows:
                base = baselines.get((row.trace, row.load))
                cells = _cells(row, base)
                cells += (_held_cells(row) if held else []) + (_paused_cells(row) if paused else [])
                cells += [f"{row.mean('base_w'):.1f}"] if based else []
                writer.writerow([*cells, "" if base is None else against])

    write_whole(path, write)


def _cells(row: SteadyRow, baseline: SteadyRow | None) -> list[str]:
    saving = spread = ""
    if baseline is not None:
        saving, spread = _text(row.saving(baseline), 6), _text(row.saving_spread(baseline), 6)
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
