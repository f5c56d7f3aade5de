"""The main job: policies side by side on traces of a datacenter, several seeds, savings against FGD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wattpack.datasets import alibaba2023
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.engine.batch import new_batch
from wattpack.experiments.axes import DEFAULT_SEEDS as DEFAULT_SEEDS  # part of what this module offers
from wattpack.experiments.axes import Block, Experiment, first_seeds
from wattpack.experiments.needs import need_gpus
from wattpack.experiments.runner import Outcome, Report, run_experiment
from wattpack.experiments.scenario import Inputs, Scenario
from wattpack.experiments.summary import BASELINE, Results, write_summary
from wattpack.model.fit import FITS, fits
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER
from wattpack.model.tasks import Workload, task_records
from wattpack.policies.expression import parse

MIXES = ("pwr:0.05+fgd:0.95", "pwr:0.1+fgd:0.9", "pwr:0.2+fgd:0.8")
COMPETITORS = ("bestfit", "dotprod", "gpupacking", "gpuclustering")
OWN_BEST = "ocs"
DEFAULT_POLICIES = (BASELINE, "pwr", *MIXES, OWN_BEST, *COMPETITORS, "random")


@dataclass(frozen=True)
class Comparison:
    """Curves by (trace, policy), what became of the runs, and the tasks that no node could ever hold."""

    results: Results
    outcome: Outcome
    scenarios: tuple[Scenario, ...]
    inputs: Inputs
    unplaceable: dict[str, list[str]]  # trace -> what such tasks ask for


def compare(
    datacenter: str = alibaba2023.NAME,
    traces: Sequence[str] = ("default",),
    policies: Sequence[str] = DEFAULT_POLICIES,
    seeds: int = DEFAULT_SEEDS,
    out: str | Path = "wattpack-results",
    report: Report | None = None,
    workers: int | None = None,
    on: str = "local",
    plugins: Sequence[str | Path] = (),
    batch: int = 1,
    batch_milp_seconds: float = 0.0,
) -> Comparison:
    """Run every policy on every trace with every seed, skip what is finished in `out`, write `out/summary.csv`.

    All inputs are read before anything is written. `report(done, all, what)` is called after each run. `on` and
    `plugins` are those of `run_all`. With `batch` every policy is also run with windows of so many tasks, with
    `batch_milp_seconds` placed by a MILP too that may take so long a window.
    """
    new_batch(batch, milp_seconds=batch_milp_seconds)
    chosen = first_seeds(seeds)
    expressions = tuple(dict.fromkeys(parse(policy).expression for policy in (BASELINE, *policies)))
    inputs = Inputs(
        {datacenter: load_datacenter(datacenter)},
        {trace: load_trace(trace) for trace in dict.fromkeys(traces)},
        {PAPER.name: PAPER},
    )
    need_gpus(datacenter, inputs.datacenters[datacenter])
    # A trace without tasks has no loads to read at: its result is empty.
    filled = tuple(name for name, trace in inputs.traces.items() if len(trace) > 0)
    batches, milp_seconds = tuple(dict.fromkeys((1, batch))), (float(batch_milp_seconds),)
    block = Block(expressions, filled, (datacenter,), chosen, batches=batches, milp_seconds=milp_seconds)
    experiment = Experiment("compare", (block,), inputs)
    folder, scenarios, outcome = run_experiment(experiment, out, report, on, workers, plugins)
    results = folder.read(scenarios)
    write_summary(folder.path / "summary.csv", results)
    unplaceable = {
        name: unplaceable_classes(inputs.datacenters[datacenter], trace) for name, trace in inputs.traces.items()
    }
    named = {name: texts for name, texts in unplaceable.items() if texts}
    return Comparison(results, outcome, scenarios, inputs, named)


def unplaceable_classes(datacenter: Datacenter, workload: Workload) -> list[str]:
    """What tasks that fit no node of the datacenter even when it is empty ask for, one text a class, with the count."""
    tasks = task_records(workload.classes, datacenter, PAPER.default_cpu)
    nodes = datacenter.records(PAPER)
    kinds = [nodes[n] for n in dict(zip(datacenter.types.tolist(), range(len(datacenter)), strict=True)).values()]
    texts = []
    for k, (task, count) in enumerate(zip(workload.classes, workload.counts().tolist(), strict=True)):
        if count > 0 and all(fits(node, tasks[k]) != FITS for node in kinds):
            gpu = f"{task.num_gpu} x {task.gpu_milli} milli-GPU" if task.num_gpu else "no GPU"
            spec = f" of {task.gpu_spec}" if task.gpu_spec else ""
            texts.append(f"{count} x {task.cpu_milli} milli-vCPU, {task.memory_mib} MiB, {gpu}{spec}")
    return texts
