"""`wattpack simulate`: tasks in time, and what they cost under each policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from wattpack.answers.csv_output import write_csv
from wattpack.cli.options import note_power, profile_option
from wattpack.cli.outputs import check_apart, check_files, check_folder
from wattpack.cli.plugins import load_plugins
from wattpack.cli.progress import progress_bar
from wattpack.cli.provenance import raise_if_failed, timed_provenance
from wattpack.cli.show_results import print_paths, print_runs_in_time
from wattpack.cli.streams import note
from wattpack.datasets import alibaba2023
from wattpack.engine.moments.record import OUTCOMES, RUNNING, WAITING
from wattpack.engine.runs.record import gpu_index_text
from wattpack.errors import UserError
from wattpack.experiments.advise import run_advice, with_defaults
from wattpack.experiments.executors import check_executor
from wattpack.experiments.overtaken import overtaken_lines
from wattpack.experiments.runner import run_experiment, summarise_timed
from wattpack.experiments.scenario import Inputs, Scenario, choice_lines
from wattpack.experiments.timed import TimedOutcome, run_timed_scenario
from wattpack.experiments.timed_experiment import DEFAULT_POLICIES, DEFAULT_SEEDS, notes_of, run_one, timed_experiment
from wattpack.experiments.timed_fields import timed_of
from wattpack.experiments.timed_result import TimedNumbers
from wattpack.experiments.timed_table import timed_table
from wattpack.experiments.warm_up import MOMENTS
from wattpack.jit import say_if_compiling
from wattpack.model.counted import counted
from wattpack.model.fit_anywhere import fit_nowhere
from wattpack.report.advice import HEADER as ADVICE_HEADER
from wattpack.report.advice import csv_rows
from wattpack.report.provenance import never_fit

WRITTEN = ("experiment.json", "time.csv", "report.html")
NAMED = 3  # tasks left at the end; of more, the number
TASK_HEADER = ("task", "node", "gpu_index", "start_s", "end_s", "outcome", "arrival_s", "wait_s")


def simulate_command(
    *,
    datacenter: list[str] | None = None,
    add: list[str] | None = None,
    remove: list[str] | None = None,
    replace: list[str] | None = None,
    trace: list[str] | None = None,
    policy: list[str] | None = None,
    against: list[str] | None = None,
    load: float | None = None,
    days: float | None = None,
    arrivals: str | None = None,
    start: str | None = None,
    horizon: str | None = None,
    until: str | None = None,
    queue: str | None = None,
    patience: str | None = None,
    slack: list[str] | None = None,
    slack_by: str | None = None,
    forecast: str | None = None,
    pue: str | None = None,
    carbon: str | None = None,
    price: str | None = None,
    embodied: str | None = None,
    repeat_signals: bool = False,
    hold_gaps: bool = False,
    budget_kw: str | None = None,
    speed: str | None = None,
    speed_reference: float | None = None,
    sleep: str | None = None,
    durations: str | None = None,
    consolidate: str | None = None,
    bound: bool = False,
    no_bound: bool = False,
    cap: list[str] | None = None,
    cap_speed: str | None = None,
    advise: bool = False,
    profile: str | None = None,
    power: Path | None = None,
    target: str | None = None,
    sample: str | None = None,
    seeds: int | None = None,
    out: Path = Path("wattpack-results"),
    tasks_out: Path | None = None,
    on: str = "local",
    workers: int | None = None,
    plugin: list[Path] | None = None,
    no_check: bool = False,
) -> None:
    """Run tasks in time: energy, power, carbon, money and waiting under each policy.

    A task file with creation_time and duration (or deletion_time) runs as it is: tasks at their times, ties to the
    first node, nothing random. A built-in trace has durations, and its tasks are drawn at a load. Finished runs are
    kept in the folder: the same command goes on from them.

    Parameters
    ----------
    datacenter
        Built-in name or CSV file of nodes; may be given again: all run the same tasks. Edits may follow the name, as in
        "alibaba2023 --add 20xH100-8".
    add
        Nodes to add at the end, like 20xH100-8 or, with the vCPU and GiB of a node, 20xH100-8:128c:1024g; may be given
        again. In a cluster with pools they join that of the nodes like them; 20xH100-8@p3 names one.
    remove
        Nodes to leave out, first: a model like T4, or 10xT4-2; may be given again.
    replace
        Nodes that get other GPUs, as T4=L4 or 10xT4-2=L4, all else the same; may be given again.
    trace
        Built-in name (default, multigpu20 ... gpuspec33) or CSV file of tasks; may be given again.
    policy
        Policy expression, for example pwr:0.1+fgd:0.9, or auto; may be given again.
    against
        Policy that savings are against (kWh per GPU-hour delivered); always run too, except with --tasks-out; default:
        fgd. May be given again: the first is the one in sentences.
    load
        Draw tasks at this mean load, the share of the first datacenter's GPUs (without edits) that they ask for;
        default: 0.7 for built-in traces, tasks at their own times for files.
    days
        Days of drawn tasks; default: 7.
    arrivals
        Shape of drawn arrivals: rhythm (the default: days and weeks), poisson, bursts; also rhythm,daily=0.2,weekend=0.
    start
        Clock time of the first arrival with its time zone, like 2024-03-04T00:00+00:00, for signals over time.
    horizon
        Length of the run, like 7d; default: until the last arrival, or the days of drawn tasks.
    until
        done: until the last arrival or end of a task, whichever is later, instead of a horizon; the table then has the
        mean completion time (from arrival to end) and the makespan.
    queue
        A task that cannot start now leaves (drop), waits and nobody overtakes it (fifo), or waits while any task that
        fits starts (backfill, the default: no room is reserved for it, so a large task may wait very long).
    patience
        A task that waits this long leaves, like 2h; default: it never does.
    slack
        Tasks of a class of service that may start later, in clean or cheap hours, like BE=6h; may be given again.
    slack_by
        What they wait for: carbon (the default where it is given) or price.
    forecast
        What they know of it: perfect (the default) or yesterday.
    pue
        Facility power divided by IT power, like 1.3; default: 1.
    carbon
        Carbon intensity: a country (DEU, FR, Poland), g CO2e per kWh, or a file of values over time, as FILE or
        FILE:ZONE.
    price
        Price per kWh: a number, with a currency like "0.21 EUR", or a file of values over time.
    embodied
        Emissions of making the machines, like gpu=150,node=1200,years=4 (kg CO2e); default: gpu=150,node=0,years=4.
    repeat_signals
        Repeat signals over time that end before the run, in whole days.
    hold_gaps
        Hold the value before where time stamps of a signal are missing.
    budget_kw
        IT power that no start may exceed: kW, or a file with seconds,kw or timestamp,kw.
    speed
        Speeds of GPU models, by which batch tasks run longer or shorter: typical, or a CSV file with model,speed.
    speed_reference
        Speed of the GPU that durations are of; default: mean over the first datacenter's GPUs.
    sleep
        Empty nodes sleep, and wake when a task is placed there: alone, or with knobs like
        idle=6m,wake=5m,shutdown=1m,reserve=2%,watts=10 (reserve: GPUs or a share of them that stay free and awake;
        wake_for_reserve=yes: nodes also wake when it is short).
    durations
        What policies know of how long tasks run, where nodes sleep: learnt (the default), known, unused.
    consolidate
        With --sleep, move running tasks so that nodes become empty: alone, or with knobs like
        moves=60,every=30m,pause=30s,pays=1h,slower=no (moves an hour; pays: a shutdown and a wake must pay within it).
    bound
        Show how far each run is above the least energy of any schedule with the same tasks; the default with --sleep.
    no_bound
        Do not work it out.
    cap
        Power cap of a GPU model as a share of its maximum, like T4=0.7, or 0.7 for all; batch tasks run longer; may be
        given again.
    cap_speed
        CSV file with cap,speed: speeds under caps in the place of the built-in table.
    advise
        Run --against and the best policy with and without sleep, caps and (with --slack) waiting for clean hours,
        and say how much comes from each and what it costs in waiting. Without --sleep and --cap: the defaults, and 0.7
        for all.
    profile
        Power profile: paper (the default), linear, concave, measured.
    power
        TOML file of your own GPUs, CPUs and node base power, laid over the profile (`wattpack power`).
    target
        Trace (file or built-in name) that the target workload is taken from; default: the trace itself.
    sample
        Time between two samples of the series, like 60s (the default) or 10m.
    seeds
        Runs of each policy with drawn tasks, each with its own tasks and node order; default: 2.
    out
        Folder for time.csv, report.html and the finished runs.
    tasks_out
        Write task,node,gpu_index,start_s,end_s,outcome,arrival_s,wait_s here, a row a task, for one trace, one policy
        and one seed; `-` is standard output.
    on
        Where runs run: local, dask[=ADDRESS], ray[=ADDRESS].
    workers
        Runs at once; default: all cores.
    plugin
        Python file that registers policies of your own; may be given again.
    no_check
        Run plugins without checking their policies first (about a second each).
    """
    plugins = load_plugins(plugin or [], not no_check)
    given = {
        "load": load,
        "days": days,
        "arrivals": arrivals,
        "start": start,
        "horizon": horizon,
        "until": until,
        "queue": queue,
        "patience": patience,
        "slack": ",".join(slack) if slack else None,
        "slack_by": slack_by,
        "forecast": forecast,
        "pue": pue,
        "carbon": carbon,
        "price": price,
        "embodied": embodied,
        "repeat_signals": repeat_signals or None,
        "hold_gaps": hold_gaps or None,
        "budget_kw": budget_kw,
        "speed": speed,
        "speed_reference": speed_reference,
        "sleep": sleep,
        "durations": durations,
        "consolidate": consolidate,
        "bound": ((bound or (sleep is not None and not advise)) and not no_bound) or None,
        "cap": ",".join(cap) if cap else None,
        "cap_speed": cap_speed,
        "target": target,
        "sample": sample,
    }
    if bound and no_bound:
        raise UserError("--bound with --no-bound, expected one of them")
    timed = with_defaults(timed_of(given)) if advise else timed_of(given)
    if advise and (tasks_out is not None or len(datacenter or ()) > 1 or len(trace or ()) > 1):
        raise UserError("--advise is for one datacenter and one trace, expected one of each and no --tasks-out")
    datacenters, traces = datacenter or [alibaba2023.NAME], trace or ["default"]
    if tasks_out is not None and policy is not None and len(policy) != 1:
        raise UserError(f"--tasks-out with {len(policy)} policies, expected one --policy")
    drawn = timed.load > 0 or any(name in alibaba2023.TRACES for name in traces)
    if seeds is not None and seeds != 1 and not drawn:
        raise UserError(f"--seeds {seeds} with tasks at their own times: nothing is drawn, expected --load too")
    wanted = 1 if seeds is None and tasks_out is not None else DEFAULT_SEEDS if seeds is None else seeds
    watts = profile_option(profile, power)
    experiment = timed_experiment(
        timed,
        datacenters,
        traces,
        policy or DEFAULT_POLICIES,
        wanted,
        watts,
        (add or (), remove or (), replace or ()),
        with_against=tasks_out is None,
        against=against,
    )
    signals = [text.rpartition(":")[0] or text for text in (carbon, price, budget_kw) if text]
    files = (power, speed, cap_speed, target, carbon, price, budget_kw, *signals)
    inputs = (*datacenters, *traces, *(plugin or []), *files)
    check_folder(out, (*WRITTEN, *(["advice.csv"] if advise else [])), inputs)
    check_files({"--tasks-out": tasks_out}, inputs)
    check_apart(out, WRITTEN, "--tasks-out", tasks_out)
    check_executor(on, workers)  # before the tasks of the first run are written
    note_power(profile, power)
    say_if_compiling(MOMENTS)
    if tasks_out is not None:
        if len(datacenters) * len(traces) * wanted != 1 or policy is None:
            raise UserError(
                "--tasks-out is for one run, expected one datacenter, one --trace, one --policy and one seed"
            )
        write_csv(tasks_out, TASK_HEADER, task_rows(run_one(experiment, out)[1]))
    advice = None
    with progress_bar("simulating") as report:
        settings = (out, report, on, workers, plugins)
        if advise:
            folder, scenarios, outcome, advice = run_advice(experiment, *settings)
        else:
            folder, scenarios, outcome = run_experiment(experiment, *settings)
    results = summarise_timed(folder, scenarios)
    table = timed_table(results, folder.against)
    choices = choice_lines(scenarios, experiment.inputs)
    notes = [*notes_of(experiment), *overtaken_lines(results, experiment.inputs)]
    never = [
        f"{own} on {name}: {never_fit(kinds)}"
        for name, nodes in experiment.inputs.datacenters.items()
        for own in traces
        if (kinds := fit_nowhere(nodes, experiment.inputs.traces[own], watts, with_held=True))
    ]
    if table:
        from wattpack.report.time_page import write_time_page

        made = timed_provenance(outcome, scenarios, on, [*choices, *notes, *never])
        write_time_page(out, table, folder, experiment.inputs, made, advice=advice)
    if advice is not None:
        write_csv(out / "advice.csv", ADVICE_HEADER, csv_rows(advice))
    # All is written: a reader of standard output that goes away (`| head -1`) costs nothing.
    if table:
        print_runs_in_time(table, beside=tasks_out)
        if advice is not None:
            from wattpack.report.advice_terminal import print_advice

            print_advice(advice)
        if tasks_out is None or str(tasks_out) != "-":
            print_paths(time=out / "time.csv", report=out / "report.html")
            print_paths(**({} if tasks_out is None else {"tasks": tasks_out}))
            print_paths(**({} if advice is None else {"advice": out / "advice.csv"}))
    for line in choices:
        print(line)
    for line in (*notes, *never):
        note(line)
    for line in left_at_the_end(results, experiment.inputs):
        note(line)
    raise_if_failed(outcome)


def left_at_the_end(results: Mapping[Scenario, TimedNumbers], inputs: Inputs) -> Iterator[str]:
    """A line for each run until done that ended although tasks wait or run, and which.

    Run files have no tasks: a run with such tasks is run again for their names.
    """
    for scenario, numbers in results.items():
        if scenario.timed is None or not scenario.timed.until or not (numbers.waiting or numbers.running):
            continue
        ended = run_timed_scenario(replace(scenario, timed=scenario.timed._replace(bound=0)), inputs)
        for outcome, count, what in (
            (WAITING, numbers.waiting, "waiting, and nothing is left that could start what waits"),
            (RUNNING, numbers.running, "running without an end"),
        ):
            left = np.flatnonzero(ended.record.outcome == outcome)
            names = ", ".join(ended.tasks.workload.task_name(int(task)) for task in left[:NAMED])
            more = f" and {len(left) - NAMED:,} more" if len(left) > NAMED else ""
            if count:
                yield f"{scenario}: {counted(count, 'task', ',')} still {what}: {names}{more}"


def task_rows(outcome: TimedOutcome) -> Iterator[tuple[str, ...]]:
    """A row a task in file order; times are seconds from the first arrival, empty for a task that never started.

    A wait is that from joining the queue until the start, leaving or the end of the run; empty for a task that was
    refused or dropped, or arrived later.
    """
    record, tasks, names = outcome.record, outcome.tasks, outcome.datacenter.names
    arrival_s = tasks.arrival_s - tasks.first_s
    columns = (record.node, record.gpus, record.start_s, record.end_s, record.outcome, arrival_s, record.wait_s)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for i, (node, gpus, start_s, end_s, ended, arrived_s, wait_s) in enumerate(rows):
        started = start_s == start_s  # not a NaN
        yield (
            tasks.workload.task_name(i),
            names[node] if started else "",
            gpu_index_text(gpus) if started else "",
            repr(start_s) if started else "",
            repr(end_s) if started else "",
            OUTCOMES[ended] if ended >= 0 else "",
            repr(arrived_s),
            repr(wait_s) if wait_s == wait_s else "",
        )
