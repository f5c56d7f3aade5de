"""The main job: policies side by side on traces of a datacenter, several seeds, savings against one of them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from wattpack.datasets import alibaba2023
from wattpack.engine.windows.batch import new_batch
from wattpack.errors import UserError
from wattpack.experiments.curves import Results
from wattpack.experiments.lineup import DEFAULT_POLICIES
from wattpack.experiments.needs import need_gpus
from wattpack.experiments.options import Moving, Offered
from wattpack.experiments.plugins import Plugin, import_file, read_plugins
from wattpack.experiments.runner import Outcome, Report, run_experiment, summarise_steady
from wattpack.experiments.scenario import Inputs, Scenario, choice_lines
from wattpack.experiments.spec.axes import DEFAULT_SEEDS, Block, Experiment
from wattpack.experiments.spec.chosen import (
    Datacenters,
    Profiles,
    Traces,
    check_models,
    chosen_against,
    chosen_datacenters,
    chosen_loads,
    chosen_number,
    chosen_plugins,
    chosen_policies,
    chosen_profiles,
    chosen_seeds,
    chosen_traces,
    several,
)
from wattpack.experiments.steady_table import SteadyRow
from wattpack.experiments.summary import write_summary
from wattpack.model.fit_anywhere import Nowhere as Nowhere
from wattpack.model.fit_anywhere import by_reason as by_reason
from wattpack.model.fit_anywhere import fit_nowhere
from wattpack.policies.expression import canonical


@dataclass(frozen=True, eq=False)
class Compared:
    """What a comparison found. `wattpack.comparison` shows it."""

    results: Results  # curves by (trace, policy)
    outcome: Outcome  # of the runs
    scenarios: tuple[Scenario, ...]
    inputs: Inputs
    unplaceable: dict[str, list[Nowhere]]  # trace -> the classes of tasks that no node could ever hold
    on: str = "local"  # the executor of the runs
    steady: tuple[SteadyRow, ...] = ()  # steady states by trace, policy and offered load

    @property
    def choices(self) -> list[str]:
        """What `auto` chose and why, a line for each trace; empty without `auto`."""
        return choice_lines(self.scenarios, self.inputs)


def compare(
    datacenter: Datacenters = alibaba2023.NAME,
    traces: Traces = "default",
    policies: str | Iterable[str] = DEFAULT_POLICIES,
    seeds: int | Iterable[int] = DEFAULT_SEEDS,
    out: str | Path | None = None,
    report: Report | None = None,
    workers: int | None = None,
    on: str = "local",
    plugins: str | Path | Iterable[str | Path | Plugin] = (),
    batch: int = 1,
    batch_milp_seconds: float = 0.0,
    profile: Profiles | None = None,
    steady: float | Iterable[float] = (),
    batch_seconds: float | None = None,
    moving: Moving | None = None,
    power: str | Path | None = None,
    against: str | Iterable[str] | None = None,
) -> Compared:
    """Run every policy on every trace with every seed.

    A saving is the share of watts per GPU served that a policy needs less than the policy `against` at the same load.
    That policy is always run too; default: `fgd`. Of a list the first counts wherever one saving is shown.

    `datacenter` and `traces`: objects, built-in names or paths of CSV files; `policies`: expressions such as
    `pwr:0.1+fgd:0.9`; `profile`: power profiles by name (paper, linear, concave, measured) or as objects. Each is one
    value or a list. An object is called by its `name` in results; two of one name are numbered. `seeds`: how many, or
    a list of them. `power`: a power file (docs/guide/power.md), laid over each profile; without `profile` over the one
    that it names.

    With a folder `out` the runs are kept there, finished ones are skipped, and `out/summary.csv` is written; without
    one nothing is left behind. All inputs are read before anything is written. `report(done, all, what)` is called
    after each run. `on` and `workers` are those of `wattpack run`. `plugins`: files that register policies of your own;
    they are imported first, here and by every worker (a `Plugin` has been imported here already). With `batch` every
    policy is also run with windows of that many tasks; with `batch_milp_seconds` a MILP that may take at most that
    long places each window.

    With `steady`, offered loads such as 0.8, every policy is also run in a steady state, where tasks arrive and leave;
    there `batch_seconds` limits how long the first task of a window waits, and `moving` adds runs with tasks moved.
    """
    batch = int(chosen_number(batch, "batch", whole=True))
    milp_seconds = chosen_number(batch_milp_seconds, "batch_milp_seconds")
    hold_s = None if batch_seconds is None else chosen_number(batch_seconds, "batch_seconds")
    window = new_batch(batch, hold_s, milp_seconds)
    if moving is not None and not isinstance(moving, Moving):
        raise UserError(f"moving: {moving!r}, expected a Moving or None")
    loads = chosen_loads(steady)
    if workers is not None:
        chosen_number(workers, "workers", whole=True)
    if not isinstance(on, str):
        raise UserError(f"on: {on!r}, expected a text such as 'local'")
    chosen = chosen_seeds(seeds)
    files = chosen_plugins(plugins)
    for plugin in read_plugins(file for file in files if not isinstance(file, Plugin)):
        import_file(Path(plugin.path))  # first: expressions may name the policies it registers
    given = several(datacenter, "datacenter")
    compared_with = chosen_against(against)
    expressions = tuple(dict.fromkeys(canonical(one) for one in (*compared_with, *chosen_policies(policies))))
    profiles = chosen_profiles(profile, power)
    datacenters = chosen_datacenters(given, next(iter(profiles.values())))
    inputs = Inputs(datacenters, chosen_traces(traces), profiles)
    for nodes, watts in product(inputs.datacenters.values(), inputs.profiles.values()):
        check_models(nodes, watts)
    for name, nodes in inputs.datacenters.items():
        need_gpus(name, nodes)
    # A trace without tasks has no loads to read at: its result is empty.
    filled = tuple(name for name, trace in inputs.traces.items() if len(trace) > 0)
    block = Block(
        expressions,
        filled,
        tuple(inputs.datacenters),
        chosen,
        tuple(inputs.profiles),
        batches=(None,) if window.tasks == 1 else (None, window),
        steady=tuple(Offered(load) for load in loads),
        movings=(None,) if moving is None else (None, moving),
    )
    with ExitStack() as stack:
        path = stack.enter_context(TemporaryDirectory(prefix="wattpack-")) if out is None else _folder(out)
        experiment = Experiment("compare", (block,), inputs, against=compared_with)
        folder, scenarios, outcome = run_experiment(experiment, path, report, on, workers, files)
        results = folder.read(scenarios)
        rows = summarise_steady(folder, scenarios)
        if out is not None:
            write_summary(folder.path / "summary.csv", results)
    return Compared(results, outcome, scenarios, inputs, unplaceable(inputs), on, tuple(rows))


def _folder(out: str | Path) -> Path:
    if not isinstance(out, str | Path) or str(out) == "":
        raise UserError(f"out: {out!r}, expected the path of a folder, or None to keep nothing")
    return Path(out)


def unplaceable(inputs: Inputs, with_held: bool = False) -> dict[str, list[Nowhere]]:
    """By trace, or by trace and datacenter where there are several, as `labels` has them."""
    many, found = len(inputs.datacenters) > 1, {}
    for (nodes, datacenter), (name, trace) in product(inputs.datacenters.items(), inputs.traces.items()):
        if kinds := fit_nowhere(datacenter, trace, next(iter(inputs.profiles.values())), with_held):
            found[f"{name} ({nodes})" if many else name] = kinds
    return found
