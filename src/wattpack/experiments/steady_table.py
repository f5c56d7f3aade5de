"""Steady state of several policies: runs kept in `steady/ID.json`, their means and spread in `steady.csv`."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wattpack.engine.timed import Steady
from wattpack.errors import UserError
from wattpack.experiments.runner import Report
from wattpack.experiments.scenario import Inputs, Scenario, code_digest
from wattpack.experiments.steady import ARRIVALS, Moving, run_steady
from wattpack.experiments.summary import BASELINE
from wattpack.experiments.where import usable_cores
from wattpack.files import make_folder, write_text, write_whole
from wattpack.jit import source_digest
from wattpack.policies.expression import parse

HEADER = (
    *("trace", "policy", "load", "eopc_w", "cpu_w", "gpu_w", "saving", "grar", "w_per_gpu", "allocated_gpus"),
    *("fragmentation_gpus", "seeds", "eopc_w_std", "saving_std", "grar_std", "w_per_gpu_std"),
    *("defrag_every", "defrag_moves", "moves_per_arrival"),
)


@dataclass(frozen=True)
class SteadyRow:
    """One policy at one offered load: values by seed, in the order of the seeds."""

    trace: str
    policy: str
    load: float
    runs: tuple[Steady, ...]
    moving: Moving | None = None

    def mean(self, measure: str) -> float:
        return float(np.mean([getattr(run, measure) for run in self.runs]))

    def spread(self, measure: str) -> float:
        return float(np.std([getattr(run, measure) for run in self.runs], ddof=1 if len(self.runs) > 1 else 0))

    @property
    def title(self) -> str:
        """The policy, and that tasks were moved where they were."""
        return self.policy if self.moving is None else f"{self.policy}, moving"

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
    if not loads or not all(0 < load <= 10 for load in loads):
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
) -> list[SteadyRow]:
    """Run each scenario's policy, trace and seed in steady state at each load, in threads; finished runs are kept.

    With `moving` each is run twice: as it is, and with moves.
    """
    folder = make_folder(out / "steady")
    jobs = {
        (scenario, load, moves): folder / f"{_id(scenario, load, arrivals, moves)}.json"
        for scenario in scenarios
        for load in loads
        for moves in ((None,) if moving is None else (None, moving))
    }
    missing = [job for job, file in jobs.items() if not file.is_file()]
    done = len(jobs) - len(missing)
    report(done, len(jobs), "")

    def run(scenario: Scenario, load: float, moves: Moving | None) -> None:
        datacenter, trace = inputs.datacenters[scenario.datacenter], inputs.traces[scenario.trace]
        profile = inputs.profiles[scenario.profile]
        mix = parse(scenario.policy)
        steady = run_steady(datacenter, trace, mix, load, scenario.seed, profile, arrivals, scenario.batch, moves)
        write_text(jobs[scenario, load, moves], json.dumps(steady._asdict()))

    with ThreadPoolExecutor(workers or usable_cores()) as pool:
        try:
            running = {pool.submit(run, *job): job for job in missing}
            for future in as_completed(running):
                future.result()
                done += 1
                scenario, load, _ = running[future]
                report(done, len(jobs), f"{scenario}, steady at {load:g}")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    found: dict[tuple[str, float, str, Moving | None], list[Steady]] = {}
    for (scenario, load, moves), file in sorted(jobs.items(), key=lambda job: job[0][0].seed):
        key = (scenario.trace, load, scenario.label, moves)
        found.setdefault(key, []).append(Steady(**json.loads(file.read_text(encoding="utf-8"))))
    rows = [SteadyRow(trace, policy, load, tuple(runs), moves) for (trace, load, policy, moves), runs in found.items()]
    rows.sort(key=lambda row: (list(inputs.traces).index(row.trace), row.load))
    write_steady(out / "steady.csv", rows)
    return rows


def _id(scenario: Scenario, load: float, arrivals: int, moving: Moving | None) -> str:
    said = f"{scenario.id} {load!r} {arrivals} {code_digest()}"
    if moving is not None:  # the search for moves is no part of `code_digest`
        said += f" {moving!r} {source_digest(Path(__file__).parent / 'defrag')}"
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def baselines_of(rows: Sequence[SteadyRow]) -> dict[tuple[str, float], SteadyRow]:
    """FGD without moves, by trace and load."""
    return {(row.trace, row.load): row for row in rows if row.policy == BASELINE and row.moving is None}


def write_steady(path: Path, rows: Sequence[SteadyRow]) -> None:
    baselines = baselines_of(rows)

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(HEADER)
            for row in rows:
                baseline = baselines[row.trace, row.load]
                saving = 1 - row.mean("eopc_w") / baseline.mean("eopc_w")
                spread = np.std(row.savings(baseline), ddof=1 if len(row.runs) > 1 else 0)
                means = [f"{row.mean(measure):.1f}" for measure in ("eopc_w", "cpu_w", "gpu_w")]
                writer.writerow(
                    [row.trace, row.policy, f"{row.load:g}", *means, f"{saving:.6f}", f"{row.mean('grar'):.6f}"]
                    + [f"{row.mean(measure):.3f}" for measure in ("w_per_gpu", "allocated_gpus", "fragmentation_gpus")]
                    + [str(len(row.runs)), f"{row.spread('eopc_w'):.1f}", f"{spread:.6f}", f"{row.spread('grar'):.6f}"]
                    + [f"{row.spread('w_per_gpu'):.3f}"]
                    + ([*map(str, row.moving), f"{row.moves_per_arrival:.5f}"] if row.moving else ["", "", ""])
                )

    write_whole(path, write)
