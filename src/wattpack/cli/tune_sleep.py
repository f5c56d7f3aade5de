"""`wattpack tune --sleep --wait-p99 TIME`: knobs of sleep and the policy that keep a wait with least energy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wattpack.answers.csv_output import write_csv
from wattpack.answers.tune_sleep import HEADER, rows, seeds_of, show
from wattpack.cli.consoles import wide_console
from wattpack.cli.outputs import check_folder
from wattpack.cli.progress import progress_bar
from wattpack.cli.provenance import note_never_fit
from wattpack.cli.show_results import print_paths
from wattpack.errors import UserError
from wattpack.experiments.plugins import Plugin
from wattpack.experiments.timed_experiment import DEFAULT_POLICIES, timed_experiment
from wattpack.experiments.timed_fields import timed_of
from wattpack.experiments.tune.sleep import tune_sleep
from wattpack.experiments.warm_up import MOMENTS
from wattpack.jit import say_if_compiling
from wattpack.model.durations import seconds_of
from wattpack.model.power import PowerProfile
from wattpack.report.provenance import outcome_text

WRITTEN = ("experiment.json", "time.csv", "sleep.csv")


def tune_sleep_command(
    sleep: str,
    wait_p99: str | None,
    load: float | None,
    days: float | None,
    datacenter: str,
    trace: str,
    policies: Sequence[str] | None,
    seeds: int | None,
    against: Sequence[str] | None,
    profile: PowerProfile,
    out: Path,
    on: str,
    workers: int | None,
    plugins: Sequence[str | Path | Plugin],
    inputs: Sequence[Any],
) -> None:
    if wait_p99 is None:
        raise UserError("--sleep without --wait-p99, expected the longest wait that 99 of 100 tasks may see, like 10m")
    limit_s = seconds_of(wait_p99, "--wait-p99")
    timed = timed_of({"load": load, "days": days, "sleep": sleep})
    if not timed.sleep:
        raise UserError(f"--sleep {sleep!r}, expected knobs that stay as they are, or nothing")
    count, drawn = seeds_of(seeds, timed.load, trace, "--seeds")
    experiment = timed_experiment(
        timed, [datacenter], [trace], policies or DEFAULT_POLICIES, count, profile, against=against
    )
    check_folder(out, WRITTEN, inputs)
    say_if_compiling(MOMENTS)
    with progress_bar("tuning") as report:
        tuned = tune_sleep(experiment, sleep, limit_s, out, report, on, workers, plugins)
    write_csv(out / "sleep.csv", HEADER, rows(tuned))
    show(tuned, drawn, wide_console())
    for line in tuned.choices:
        print(line)
    note_never_fit(experiment.inputs)
    print(f"runs     {outcome_text(tuned.outcome)}")
    print_paths(sleep=out / "sleep.csv", time=out / "time.csv")
