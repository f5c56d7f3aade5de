"""`wattpack paper`: reproduces every figure, table and statement of the paper."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from wattpack.cli.consoles import wide_console
from wattpack.cli.outputs import EXPERIMENT, check_folder
from wattpack.cli.progress import progress_bar
from wattpack.cli.provenance import provenance_of, raise_if_failed
from wattpack.datasets import alibaba2023
from wattpack.errors import RunError
from wattpack.experiments.bound.curves import with_bound
from wattpack.experiments.curves import Results
from wattpack.experiments.runner import Outcome, run_experiment
from wattpack.experiments.scenario import choice_lines
from wattpack.experiments.spec import DEFAULT_SEEDS, Experiment
from wattpack.experiments.summary import write_summary
from wattpack.jit import say_if_compiling
from wattpack.paper.claims import Claim, check_claims, count_verdicts, must_hold_but_differ, write_claims
from wattpack.paper.experiment import load_paper
from wattpack.paper.published import (
    AGREES,
    Difference,
    compare_published,
    read_published,
    whole_range,
    write_published,
)
from wattpack.paper.tables import write_tables
from wattpack.policies.expression import canonical, parse
from wattpack.report.provenance import outcome_text

STYLES = {"holds": "green", "holds within tolerance": "cyan", "differs": "bold red"}


def paper_command(
    *,
    seeds: int = DEFAULT_SEEDS,
    out: Path = Path("wattpack-paper"),
    on: str = "local",
    workers: int | None = None,
    published: Path | None = None,
    policy: list[str] | None = None,
    bound: bool = False,
) -> None:
    """Run all traces and policies of the paper; write its figures and tables, and a verdict on each of its statements.

    Finished runs are kept in the folder: the same command goes on from them.

    Parameters
    ----------
    seeds
        Runs of each policy on each trace; the paper has 10.
    out
        Folder for summary.csv, figures, tables, claims.csv, report.html and the finished runs.
    on
        Where runs run: local, dask[=ADDRESS] or ray[=ADDRESS].
    workers
        Runs at once; default: all cores.
    published
        Folder with allocation_percent.csv and fragmentation_percent.csv of others: compare with them.
    policy
        Policies to draw beside the paper's on every trace, such as ocs; repeat the option for more. No statement of the
        paper is judged by them.
    bound
        Draw the bound in every figure and in the report: two minutes of a core, once.
    """
    theirs = read_published(published) if published is not None else {}
    experiment = with_policies(load_paper(), policy or []).with_seeds(seeds)
    check_folder(
        out, (*EXPERIMENT, "claims.csv", "published.csv"), published.glob("*_percent.csv") if published else ()
    )
    say_if_compiling()
    with progress_bar("the paper") as report:
        folder, scenarios, outcome = run_experiment(experiment, out, report, on, workers)
    print(outcome_text(outcome), file=sys.stderr)
    results = folder.read(scenarios)
    choices = choice_lines(scenarios, experiment.inputs)
    theirs_alone = {parse(text).expression for block in load_paper().blocks for text in block.policies}
    claims = check_claims(results.with_curves({key: own for key, own in results.items() if key[1] in theirs_alone}))
    differences = compare_published(results, theirs, int(alibaba2023.datacenter().gpus.sum()))
    if bound:
        traces = experiment.inputs.traces
        results = with_bound(results, alibaba2023.datacenter(), traces, folder=out, at_own_service=False)
    write_summary(out / "summary.csv", results)
    write_claims(out / "claims.csv", claims)
    write_tables(out / "tables")
    if published is not None:
        write_published(out / "published.csv", differences)
    if results:
        extra = [key for key in dict.fromkeys(policy for _, policy in results) if key not in theirs_alone]
        write_pictures(out, results, claims, paper_provenance(outcome, results, on, differences, choices), extra)
    show(claims, differences, out)
    for line in choices:
        print(line)
    raise_if_failed(outcome)
    raise_if_wrong(claims)


def with_policies(experiment: Experiment, policies: Sequence[str]) -> Experiment:
    """The paper's experiment and these policies on all traces of its first part."""
    if not policies:
        return experiment
    ours = replace(experiment.blocks[0], policies=tuple(canonical(text) for text in policies))
    return replace(experiment, blocks=(*experiment.blocks, ours))


def write_pictures(
    out: Path, results: Results, claims: Sequence[Claim], provenance: dict[str, Any], extra: Sequence[str]
) -> None:
    """`figures/fig1` to `fig10`, with the `extra` policies, and `report.html`."""
    from wattpack.report.figures import paper_figures, save  # matplotlib: half a second
    from wattpack.report.html import write_report

    for name, figure in paper_figures(results, extra).items():
        save(figure, out / "figures", name)
    gpus = float(alibaba2023.datacenter().gpus.sum())
    write_report(out / "report.html", results, provenance, [claim.row() for claim in claims], gpus)


def paper_provenance(
    outcome: Outcome, results: Results, on: str, differences: Sequence[Difference], choices: Sequence[str]
) -> dict[str, Any]:
    provenance = provenance_of("wattpack paper", outcome, results, on, choices)
    if differences:
        provenance["published results"] = published_line(differences)
    return provenance


def show(claims: Sequence[Claim], differences: Sequence[Difference], out: Path) -> None:
    console = wide_console(200)
    if differences:
        console.print(published_table(differences))
        console.print(Text(published_line(differences)))
    console.print(verdict_table(claims))
    console.print(Text(closing_line(claims)))
    for what, path in (("summary", "summary.csv"), ("verdicts", "claims.csv"), ("report", "report.html")):
        print(f"{what:<9}{out / path}")


def verdict_table(claims: Sequence[Claim]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for name in ("", "the paper says", "measured", "verdict"):
        table.add_column(name, vertical="top")
    for claim in claims:
        measured = Text(claim.measured)
        if claim.why:
            measured.append(f"\n{claim.why}", style="italic")
        statement = Text(f"{claim.section}: {claim.statement}")
        table.add_row(claim.id, statement, measured, Text(claim.verdict, style=STYLES[claim.verdict]))
    return table


def closing_line(claims: Sequence[Claim]) -> str:
    counts = count_verdicts(claims)
    said = ", ".join(f"{count} {_plural(verdict)}" for verdict, count in counts.items() if count)
    return f"{len(claims)} statements: {said}"


def _plural(verdict: str) -> str:
    return verdict.replace("holds", "hold").replace("differs", "differ")


def published_table(differences: Sequence[Difference]) -> Table:
    """The largest difference of every trace and policy, with the difference that two sets of seeds may have."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for name in ("trace", "policy", "measure"):
        table.add_column(name, no_wrap=True)
    for name in ("at load %", "ours", "published", "difference", "allowed"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict")
    for row in whole_range(differences):
        numbers = [f"{value:.2f}" for value in (row.ours, row.published)] + [f"{row.difference:+.2f}"]
        verdict = Text(row.verdict, style="" if row.verdict == AGREES else "bold red")
        names = (row.trace, row.policy, row.measure.removesuffix("_percent"), str(row.load_percent))
        table.add_row(*map(Text, (*names, *numbers, f"{row.allowed:.2f}")), verdict)
    return table


def published_line(differences: Sequence[Difference]) -> str:
    rows = whole_range(differences)
    agree = sum(row.verdict == AGREES for row in rows)
    pairs = len({(row.trace, row.policy) for row in rows})
    return f"{agree} of {len(rows)} published curves ({pairs} pairs of trace and policy) are {AGREES} at every load"


def raise_if_wrong(claims: Sequence[Claim]) -> None:
    """Exit code 1 if a statement about the built-in data differs; a difference in another statement is a result."""
    wrong = must_hold_but_differ(claims)
    if wrong:
        raise RunError(f"must hold, but differs: {'; '.join(f'{claim.id}, {claim.why}' for claim in wrong)}")
