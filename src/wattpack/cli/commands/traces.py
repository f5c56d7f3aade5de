"""`wattpack traces`: lists and exports the built-in traces, also as tasks that arrive at a load."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from wattpack.answers.csv_output import write_csv, write_timed_tasks
from wattpack.cli.options import check_seed
from wattpack.cli.outputs import check_files, words_beside
from wattpack.datasets import alibaba2023
from wattpack.datasets.alibaba2023_times import timed_trace
from wattpack.datasets.arrival_shapes import read_shape
from wattpack.datasets.csv_files import TASK_COLUMNS, TASK_OPTIONAL
from wattpack.datasets.derive import profile
from wattpack.datasets.generators import generate, offered_load
from wattpack.datasets.inflation import FIRST_SEED, in_order_of_arrival, seeded
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.datasets.timed_files import read_timed_tasks
from wattpack.datasets.timed_trace import timed_trace_of
from wattpack.errors import UserError
from wattpack.model.tasks import Workload
from wattpack.model.timed_tasks import TimedTasks

HEADER = ("trace", "tasks", "classes", "GPUs", "sharing %", "1 GPU %", "2+ GPUs %", "constrained %")
TIMES = ("GPU-hours", "median min", "service %")


def traces_command(
    name: str | None = None,
    *,
    out: Path | None = None,
    load: float | None = None,
    days: float | None = None,
    arrivals: str = "rhythm",
    datacenter: str = alibaba2023.NAME,
    seed: int = FIRST_SEED,
) -> None:
    """List the built-in traces, or write one as a CSV file of tasks; with --load, of tasks that arrive in time.

    Parameters
    ----------
    name
        Built-in name or CSV file of tasks; without it all built-in ones are listed.
    out
        Write the tasks here, as a CSV file that every command takes; `-` is standard output. A built-in trace is
        written in random order, because the order of the file is the order of arrival; a file keeps its order.
    load
        Draw tasks with their durations that keep this share of the datacenter's GPUs busy. A CSV file needs times.
    days
        How long tasks arrive; default: 7.
    arrivals
        poisson, rhythm or bursts, with other numbers like rhythm,daily=0.2,weekend=0,burst=5.
    datacenter
        Whose GPUs the load is of: built-in name or CSV file of nodes.
    seed
        Of that order, the one that `compare` has for this seed, and of the draws of --load.
    """
    if name is None and out is not None:
        raise UserError(f"--out {out}: expected the name of a trace to write, one of {', '.join(alibaba2023.TRACES)}")
    if load is not None:
        drawn = draw_tasks(name, load, 7.0 if days is None else days, arrivals, datacenter, seed)
        check_files({"--out": out}, (name, datacenter))
        if out is not None:
            write_timed_tasks(out, drawn.tasks)
        with words_beside(out):
            print(drawn.text)
            print(f"{len(drawn.tasks):,} tasks written to {out}" if out is not None else "--out FILE writes them")
        return
    if days is not None:
        raise UserError(f"--days {days:g}: expected --load with it")
    traces = {one: load_trace(one) for one in ([name] if name is not None else alibaba2023.TRACES)}
    check_seed(seed)
    check_files({"--out": out}, (name,))
    if out is not None and name is not None:
        trace = in_order_of_arrival(traces[name], seeded(seed).workload)
        rows = ((trace.task_name(i), *trace.classes[k]) for i, k in enumerate(trace.sequence.tolist()))
        write_csv(out, (*TASK_COLUMNS, *TASK_OPTIONAL), rows)
    with words_beside(out):
        print_traces(traces)
        if out is not None and name is not None:
            print(f"{len(traces[name]):,} tasks written to {out}{order_in_words(traces[name], seed)}")


def order_in_words(trace: Workload, seed: int) -> str:
    """How a written trace is ordered; empty for one of a file, which keeps its order."""
    return "" if trace.in_order else f", in the random order of seed {seed}"


class Drawn(NamedTuple):
    tasks: TimedTasks
    text: str


def draw_tasks(name: str | None, load: float, days: float, arrivals: str, datacenter: str, seed: int) -> Drawn:
    """Tasks at a load, as `wattpack simulate` draws them with this seed, and their numbers in words."""
    if name is None:
        raise UserError(f"--load {load:g}: expected the name of a trace, one of {', '.join(alibaba2023.TRACES)}")
    check_seed(seed)
    shape = read_shape(arrivals)
    trace = timed_trace(name) if name in alibaba2023.TRACES else timed_trace_of(read_timed_tasks(name))
    gpu_milli = load_datacenter(datacenter).gpu_milli
    tasks = generate(trace, gpu_milli, load, days, seeded(seed).workload, shape)
    there = int((tasks.arrival_s == 0).sum())
    offered = offered_load(tasks, gpu_milli, days * 86_400)
    text = (
        f"{len(tasks):,} tasks of {trace.name} over {days:g} days, {there:,} of them at time 0; offered load "
        f"{offered:.3f} of {gpu_milli / 1000:,.0f} GPUs; arrivals {shape.text}; seed {seed}"
    )
    return Drawn(tasks, text)


def print_traces(traces: dict[str, Workload]) -> None:
    """One row a trace; percentages of the GPU demand, and of the GPU tasks that name models.

    For built-in ones also what runs in time draw: GPU-hours and median duration of a task, share of services.
    """
    rows: list[tuple[str, ...]] = [(*HEADER, *TIMES)]
    for name, trace in traces.items():
        found = profile(trace)
        demand = found["gpu_demand_share"]
        several = sum(share for request, share in demand.items() if request not in ("0", "(0,1)", "1"))
        shares = (demand["(0,1)"], demand["1"], several)
        percents = (f"{100 * share + 0.0:.1f}" for share in (*shares, found["constrained_share"]))
        gpus = trace.gpu_request_milli().sum() / 1000
        row = (Path(name).stem, f"{len(trace):,}", f"{len(trace.classes):,}", f"{gpus:,.1f}", *percents)
        rows.append((*row, *(times_of(name) if name in alibaba2023.TRACES else ("",) * len(TIMES))))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for first, *others in rows:
        cells = "  ".join(f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))
        print(f"{first:<{widths[0]}}  {cells}")


def times_of(name: str) -> tuple[str, ...]:
    """Cells of the columns `TIMES`, of an arriving task."""
    trace = timed_trace(name)
    order = trace.duration_s.argsort()
    below = trace.weight[order].cumsum() / trace.weight.sum()
    median_s = trace.duration_s[order][below.searchsorted(0.5)]
    service = trace.weight[~trace.batch].sum() / trace.weight.sum()
    return f"{trace.mean_gpu_s() / 3600:.2f}", f"{median_s / 60:.1f}", f"{100 * service:.1f}"
