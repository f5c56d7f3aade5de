"""`python -m benchmarks.future [--out FOLDER] [--page FILE]`: the tables of docs/research/future-work.md.

Runs the experiment of future.toml (what is finished in the folder is kept), the bound of each trace and the steady
state, and writes the tables between the marks `<!-- NAME -->` and `<!-- end -->` of the page.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wattpack.experiments.bound.curves import with_bound
from wattpack.experiments.curves import LOADS, Curves, Results, at
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.lineup import BASELINE, BOUND
from wattpack.experiments.options import Offered
from wattpack.experiments.runner import Report, run_all, run_experiment, summarise_steady
from wattpack.experiments.spec import load_experiment
from wattpack.experiments.spec.axes import Experiment, resolve
from wattpack.experiments.steady_table import SteadyRow

SAVING_AT = (0.2, 0.4, 0.6, 0.8, 0.9, 0.95)
GRAR_AT = (0.9, 0.95, 1.0)
STEADY_TRACES = ("default", "multigpu20", "gpushare100", "gpuspec10")
STEADY_LOADS = (0.5, 0.8, 0.95)
STEADY_WINDOW_LOADS = (0.8, 0.95)  # windows are slow: on the first trace only
STEADY_SEEDS = 3
OCS_STEADY_POLICIES = ("fgd", "pwr:0.1+fgd:0.9", "pwr:0.2+fgd:0.8", "ocs")
OCS_STEADY_LOADS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
EXPERIMENT = Path(__file__).with_name("future.toml")


def fill_up_table(results: Results, gpus: float) -> str:
    """One row a trace and policy: saving against FGD in %, GRAR, watts per GPU allocated at 0.9."""
    lines = [
        f"| trace | policy | {' | '.join(f'{load:g}' for load in SAVING_AT)} |"
        f" {' | '.join(f'GRAR {load:g}' for load in GRAR_AT)} | W per GPU at 0.9 |",
        "|" + "---|" * (3 + len(SAVING_AT) + len(GRAR_AT)),
    ]
    before = ""
    for (trace, policy), curves in sorted(results.items(), key=lambda item: list(traces_of(results)).index(item[0][0])):
        saving = saving_of(curves, results[trace, BASELINE])
        cells = ["-" if policy == BASELINE else f"{saving[at(load)]:.1f}" for load in SAVING_AT]
        cells += [f"{curves.mean('grar')[at(load)]:.4f}" for load in GRAR_AT]
        cells.append(f"{curves.mean('eopc_w')[at(0.9)] / (gpus * curves.mean('allocated')[at(0.9)]):.1f}")
        lines.append(f"| {trace if trace != before else ''} | {_code(policy)} | {' | '.join(cells)} |")
        before = trace
    return "\n".join(lines)


def means_table(results: Results) -> str:
    """Means over the traces, and on how many a policy is better than the mix of 0.1."""
    mix, traces = "pwr:0.1+fgd:0.9", list(traces_of(results))
    lines = [
        f"| policy | {' | '.join(f'{load:g}' for load in SAVING_AT)} | {' | '.join(f'GRAR {x:g}' for x in GRAR_AT)} |"
        " saving above the mix at 0.4 | GRAR at least FGD's at 0.95 |",
        "|" + "---|" * (3 + len(SAVING_AT) + len(GRAR_AT)),
    ]
    for policy in dict.fromkeys(policy for _, policy in results):
        own = [results[trace, policy] for trace in traces]
        base = [results[trace, BASELINE] for trace in traces]
        savings = [saving_of(curves, fgd) for curves, fgd in zip(own, base, strict=True)]
        mixed = [saving_of(results[trace, mix], results[trace, BASELINE]) for trace in traces]
        cells = [f"{sum(one[at(load)] for one in savings) / len(own):.1f}" for load in SAVING_AT]
        cells += [f"{sum(curves.mean('grar')[at(load)] for curves in own) / len(own):.4f}" for load in GRAR_AT]
        more = sum(one[at(0.4)] > other[at(0.4)] for one, other in zip(savings, mixed, strict=True))
        no_less = sum(grar_above(curves, fgd)[at(0.95)] >= -1e-4 for curves, fgd in zip(own, base, strict=True))
        lines.append(f"| {_code(policy)} | {' | '.join(cells)} | {more} of {len(own)} | {no_less} of {len(own)} |")
    return "\n".join(lines)


def windows_table(results: Results) -> str:
    """What windows change, seed by seed against the same policy without them: points of saving, GRAR."""
    lines = [
        f"| policy | trace | {' | '.join(f'{load:g}' for load in SAVING_AT)} |"
        f" {' | '.join(f'GRAR {load:g}' for load in GRAR_AT)} |",
        "|" + "---|" * (2 + len(SAVING_AT) + len(GRAR_AT)),
    ]
    for policy in dict.fromkeys(policy for _, policy in results if " batch " in policy):
        rows = {
            trace: _gains(
                results[trace, policy], results[trace, policy.partition(" batch ")[0]], results[trace, BASELINE]
            )
            for trace in traces_of(results)
            if (trace, policy) in results
        }
        if len(rows) > 1:
            rows = {f"mean of {len(rows)}": np.mean(list(rows.values()), axis=0), **rows}
        for number, (trace, gains) in enumerate(rows.items()):
            cells = [f"{gain:+.1f}" for gain in gains[: len(SAVING_AT)]]
            cells += [f"{gain:+.4f}" for gain in gains[len(SAVING_AT) :]]
            lines.append(f"| {'' if number else _code(policy)} | {trace} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _gains(curves: Curves, without: Curves, baseline: Curves) -> NDArray[np.float64]:
    """Of saving at SAVING_AT, of GRAR at GRAR_AT, mean over the seeds of `curves`."""
    saving = saving_of(curves, baseline) - saving_of(_same_seeds(without, curves), baseline)
    grar = grar_above(curves, without)
    return np.array([*(saving[at(load)] for load in SAVING_AT), *(grar[at(load)] for load in GRAR_AT)])


def _same_seeds(curves: Curves, as_in: Curves) -> Curves:
    rows = [curves.seeds.index(seed) for seed in as_in.seeds]
    return replace(curves, seeds=as_in.seeds, values={name: value[rows] for name, value in curves.values.items()})


def grar_above(curves: Curves, other: Curves) -> NDArray[np.float64]:
    """Mean of the difference over the seeds of `curves`; the bound has none, and is compared with all."""
    if all(seed in other.seeds for seed in curves.seeds):
        other = _same_seeds(other, curves)
    return curves.mean("grar") - other.mean("grar")


def service_table(results: Results) -> str:
    """Where a policy serves less than FGD: the least of its GRAR less FGD's over all loads to 1, seed by seed, mean."""
    policies = [policy for policy in dict.fromkeys(policy for _, policy in results) if policy not in (BASELINE, BOUND)]
    lines = [f"| trace | {' | '.join(_code(policy) for policy in policies)} |", "|" + "---|" * (1 + len(policies))]
    for trace in traces_of(results):
        cells = []
        for policy in policies:
            above = grar_above(results[trace, policy], results[trace, BASELINE])[1 : at(1.0) + 1]
            worst = int(np.argmin(above))
            cells.append(f"{above[worst]:+.4f} at {LOADS[1 + worst]:.3g}" if above[worst] < -5e-5 else "nowhere")
        lines.append(f"| {trace} | {' | '.join(cells)} |")
    return "\n".join(lines)


def steady_states(experiment: Experiment, loads: Sequence[float], out: Path, report: Report) -> list[SteadyRow]:
    """The experiment's policies in steady state at these loads instead of its fill-ups."""
    steady = tuple(Offered(load) for load in loads)
    blocks = tuple(replace(block, up_to=(), steady=steady) for block in experiment.blocks)
    inputs, scenarios = resolve(replace(experiment, blocks=blocks))
    folder = ResultsFolder(out)
    run_all(scenarios, inputs, folder, report)
    return summarise_steady(folder, scenarios)


def steady_text(
    rows: Sequence[SteadyRow], results: Results, traces: Sequence[str], steady_loads: Sequence[float]
) -> str:
    """One row a trace and policy; MW, GRAR and watts per GPU allocated at each offered load."""
    lines = [
        f"| trace | policy | {' | '.join(f'{load:g}: MW, GRAR, W per GPU' for load in steady_loads)} |",
        "|" + "---|" * (2 + len(steady_loads)),
    ]
    for trace in traces:
        found: dict[str, dict[float, str]] = {}
        for row in (row for row in rows if row.trace == trace):
            text = f"{row.mean('eopc_w') / 1e6:.3f} {row.mean('grar'):.4f} {row.mean('w_per_gpu'):.1f}"
            found.setdefault(row.policy, {})[row.load] = text
        power_w, grar = (results[trace, BOUND].mean(column) for column in ("eopc_w", "grar"))
        found[BOUND] = {load: f"{power_w[at(load)] / 1e6:.3f} {grar[at(load)]:.4f}" for load in steady_loads}
        for number, (policy, by_load) in enumerate(found.items()):
            cells = " | ".join(by_load.get(load, "") for load in steady_loads)
            lines.append(f"| {'' if number else trace} | {_code(policy)} | {cells} |")
    return "\n".join(lines)


def saving_of(curves: Curves, baseline: Curves) -> NDArray[np.float64]:
    """The paper's, of EOPC, in %, over the seeds that both have: windows have fewer, the bound has none."""
    common = [seed for seed in curves.seeds if seed in baseline.seeds]
    if not common:
        return 100 * curves.eopc_saving(baseline)
    own, base = (one.values["eopc_w"][[one.seeds.index(seed) for seed in common]] for one in (curves, baseline))
    return np.asarray(100 * (1 - own / base).mean(axis=0))


def traces_of(results: Results) -> dict[str, None]:
    return dict.fromkeys(trace for trace, _ in results)


def _code(policy: str) -> str:
    """`ocs batch 16` with the expression set as code."""
    expression, batch, size = policy.partition(" batch ")
    return policy if policy == BOUND else f"`{expression}`{batch}{size}"


def write_tables(page: Path, tables: dict[str, str]) -> None:
    text = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        text, found = re.subn(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)",
            lambda mark, t=table: f"{mark[1]}\n{t}\n\n{mark[2]}",
            text,
            flags=re.S,
        )
        assert found == 1, f"{page}: mark {name} found {found} times"
    page.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.future", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/future"), help="folder of finished runs")
    parser.add_argument(
        "--page", type=Path, default=Path("docs/research/future-work.md"), help="page whose tables are written"
    )
    chosen = parser.parse_args()

    def report(done: int, everything: int, what: str) -> None:
        if done % 50 == 0 or done == everything:
            print(f"{done} of {everything} {what}", flush=True)

    experiment = load_experiment(EXPERIMENT)
    folder, scenarios, _ = run_experiment(experiment, chosen.out, report)
    inputs = experiment.inputs
    (datacenter,) = inputs.datacenters.values()
    results = with_bound(folder.read(scenarios), datacenter, inputs.traces, folder=chosen.out)
    one_by_one = {key: curves for key, curves in results.items() if " batch " not in key[1]}
    tables = {
        "means": means_table(one_by_one),
        "windows": windows_table(results),
        "fill-up": fill_up_table(one_by_one, float(datacenter.gpus.sum())),
        "service": service_table(one_by_one),
    }
    write_tables(chosen.page, tables)
    single, windows = (replace(block, seeds=block.seeds[:STEADY_SEEDS]) for block in experiment.blocks[:2])
    fgd = replace(single, policies=(BASELINE,), traces=STEADY_TRACES[:1])
    with_windows = replace(experiment, blocks=(replace(windows, traces=STEADY_TRACES[:1]), fgd))
    without = replace(experiment, blocks=(replace(single, traces=STEADY_TRACES),))
    rows = [
        row
        for some, loads in ((with_windows, STEADY_WINDOW_LOADS), (without, STEADY_LOADS))
        for row in steady_states(some, loads, chosen.out, report)
    ]
    rows.sort(key=lambda row: " batch " in row.policy)
    write_tables(chosen.page, {"steady": steady_text(rows, results, STEADY_TRACES, STEADY_LOADS)})
    every = replace(experiment, blocks=(replace(single, policies=OCS_STEADY_POLICIES),))
    rows = steady_states(every, OCS_STEADY_LOADS, chosen.out, report)
    write_tables(chosen.page, {"steady-ocs": steady_text(rows, results, list(inputs.traces), OCS_STEADY_LOADS)})


if __name__ == "__main__":
    main()
