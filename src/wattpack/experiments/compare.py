"""The main job: policies side by side on traces of a datacenter, several seeds, savings against FGD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wattpack.datasets import alibaba2023
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.errors import UserError
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.runner import Outcome, Report, run_all
from wattpack.experiments.scenario import Inputs, Scenario, new_scenario
from wattpack.experiments.summary import BASELINE, Results, write_summary
from wattpack.model.fit import FITS, fits
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER
from wattpack.model.tasks import Workload, task_records
from wattpack.policies.expression import parse

MIXES = ("pwr:0.05+fgd:0.95", "pwr:0.1+fgd:0.9", "pwr:0.2+fgd:0.8")
COMPETITORS = ("bestfit", "dotprod", "gpupacking", "gpuclustering")
DEFAULT_POLICIES = (BASELINE, "pwr", *MIXES, *COMPETITORS, "random")
DEFAULT_SEEDS = 10
FIRST_SEED = 42
MAX_SEEDS = 10_000


@dataclass(frozen=True)
class Comparison:
    """Curves by (trace, policy), what became of the runs, and the tasks that no node could ever hold."""

    results: Results
    outcome: Outcome
    scenarios: tuple[Scenario, ...]
    unplaceable: dict[str, list[str]]  # trace -> what such tasks ask for


def compare(
    datacenter: str = alibaba2023.NAME,
    traces: Sequence[str] = ("default",),
    policies: Sequence[str] = DEFAULT_POLICIES,
    seeds: int = DEFAULT_SEEDS,
    out: str | Path = "wattpack-results",
    report: Report | None = None,
    workers: int | None = None,
) -> Comparison:
    """Run every policy on every trace with every seed, skip what is finished in `out`, write `out/summary.csv`.

    All inputs are read before anything is written. `report(done, all, what)` is called after each run.
    """
    if not 1 <= seeds <= MAX_SEEDS:
        raise UserError(f"seeds: {seeds}, expected 1 to {MAX_SEEDS}")
    expressions = list(dict.fromkeys(parse(policy).expression for policy in (BASELINE, *policies)))
    inputs = Inputs(
        {datacenter: load_datacenter(datacenter)},
        {trace: load_trace(trace) for trace in dict.fromkeys(traces)},
        {PAPER.name: PAPER},
    )
    for name, trace in inputs.traces.items():
        if len(trace) == 0:
            raise UserError(f"{name}: no tasks, expected at least one to compare policies on")
    # Seeds outermost: whoever stops early has all policies on some seeds, not some policies on all.
    scenarios = tuple(
        new_scenario(inputs, datacenter, trace, policy, FIRST_SEED + seed)
        for seed in range(seeds)
        for trace in inputs.traces
        for policy in expressions
    )
    folder = ResultsFolder(Path(out))
    outcome = run_all(scenarios, inputs, folder, report or (lambda done, all_, what: None), workers)
    results = folder.read(scenarios)
    write_summary(Path(out) / "summary.csv", results)
    unplaceable = {
        name: unplaceable_classes(inputs.datacenters[datacenter], trace) for name, trace in inputs.traces.items()
    }
    return Comparison(results, outcome, scenarios, {name: texts for name, texts in unplaceable.items() if texts})


def unplaceable_classes(datacenter: Datacenter, workload: Workload) -> list[str]:
    """What tasks that fit no node of the datacenter even when it is empty ask for, one text a class, with the count."""
    tasks = task_records(workload.classes, datacenter, PAPER.default_cpu)
    nodes = datacenter.records(PAPER)
    kinds = [nodes[n] for n in dict(zip(datacenter.types().tolist(), range(len(datacenter)), strict=True)).values()]
    texts = []
    for k, (task, count) in enumerate(zip(workload.classes, workload.counts().tolist(), strict=True)):
        if count > 0 and all(fits(node, tasks[k]) != FITS for node in kinds):
            gpu = f"{task.num_gpu} x {task.gpu_milli} milli-GPU" if task.num_gpu else "no GPU"
            spec = f" of {task.gpu_spec}" if task.gpu_spec else ""
            texts.append(f"{count} x {task.cpu_milli} milli-vCPU, {task.memory_mib} MiB, {gpu}{spec}")
    return texts
