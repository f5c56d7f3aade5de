"""`wattpack plan`: the least number of nodes of a type that keeps the wait within a limit."""

from __future__ import annotations

from pathlib import Path

from wattpack.answers.csv_output import write_csv
from wattpack.answers.plan import HEADER, rows, seeds_of, show
from wattpack.cli.consoles import wide_console
from wattpack.cli.options import note_power, profile_option
from wattpack.cli.outputs import check_folder
from wattpack.cli.plugins import load_plugins
from wattpack.cli.progress import progress_bar
from wattpack.cli.show_results import print_paths
from wattpack.cli.streams import note
from wattpack.datasets import alibaba2023
from wattpack.experiments.lineup import BASELINE
from wattpack.experiments.plan import MOST, plan
from wattpack.experiments.timed_fields import timed_of
from wattpack.jit import say_if_compiling
from wattpack.model.durations import seconds_of
from wattpack.report.provenance import never_fit

WRITTEN = ("experiment.json", "time.csv", "plan.csv")


def plan_command(
    node: str,
    *,
    wait_p99: str,
    datacenter: str = alibaba2023.NAME,
    trace: str = "default",
    policy: str = BASELINE,
    load: float | None = None,
    days: float | None = None,
    arrivals: str | None = None,
    horizon: str | None = None,
    queue: str | None = None,
    patience: str | None = None,
    budget_kw: str | None = None,
    speed: str | None = None,
    sleep: str | None = None,
    cap: list[str] | None = None,
    cap_speed: str | None = None,
    profile: str | None = None,
    power: Path | None = None,
    seeds: int | None = None,
    most: int = MOST,
    out: Path = Path("wattpack-plan"),
    on: str = "local",
    workers: int | None = None,
    plugin: list[Path] | None = None,
    no_check: bool = False,
) -> None:
    """Find the least number of nodes of a type with which tasks wait no longer than you allow.

    The tasks are those of `wattpack simulate` with the same options: a file's own, or drawn at a load of the datacenter
    as it is. The other nodes of the datacenter stay.

    Parameters
    ----------
    node
        Type of the nodes to count, like H100-8 or, with vCPU and GiB of a new node, H100-8:128c:1024g; with the pool
        that they are in, where nodes like them are in several, H100-8@p3.
    wait_p99
        The longest wait that 99 of 100 tasks may see, like 10m.
    datacenter
        Built-in name or CSV file of nodes. Edits may follow the name, as in "alibaba2023 --remove T4".
    trace
        Built-in name or CSV file of tasks.
    policy
        Policy expression, for example pwr:0.1+fgd:0.9, or auto, which chooses anew for each number of nodes.
    load
        Draw tasks at this mean load of the datacenter as it is; default: 0.7 for built-in traces, tasks at their own
        times for files.
    days
        Days of drawn tasks; default: 7.
    arrivals
        Shape of drawn arrivals: rhythm (the default), poisson, bursts.
    horizon
        Length of the run, like 7d; default: until the last arrival, or the days of drawn tasks.
    queue
        fifo, or backfill (the default).
    patience
        A task that waits this long leaves, like 2h; default: it never does.
    budget_kw
        IT power that no start may exceed: kW, or a file with seconds,kw or timestamp,kw.
    speed
        Speeds of GPU models: typical, or a CSV file with model,speed.
    sleep
        Empty nodes sleep, and wake when a task is placed there: alone, or with knobs like
        idle=6m,wake=5m,shutdown=1m,reserve=2%,watts=10 (reserve: GPUs or a share of them that stay free and awake;
        wake_for_reserve=yes: nodes also wake when it is short).
    cap
        Power cap of a GPU model as a share of its maximum, like T4=0.7, or 0.7 for all; batch tasks run longer; may be
        given again.
    cap_speed
        CSV file with cap,speed: speeds under caps in the place of the built-in table.
    profile
        Power profile: paper (the default), linear, concave, measured.
    power
        TOML file of your own GPUs, CPUs and node base power, laid over the profile (`wattpack power`).
    seeds
        Runs with drawn tasks for each number of nodes; the wait is kept if the worst of them keeps it; default: 2.
    most
        Nodes of the type to try at most.
    out
        Folder for plan.csv and the finished runs; the same command goes on from them.
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
    limit_s = seconds_of(wait_p99, "--wait-p99")
    words: dict[str, object] = {"load": load, "days": days, "arrivals": arrivals, "horizon": horizon, "queue": queue}
    words |= {"patience": patience, "budget_kw": budget_kw, "speed": speed}
    timed = timed_of(words | {"sleep": sleep, "cap": ",".join(cap) if cap else None, "cap_speed": cap_speed})
    wanted = seeds_of(seeds, timed.load, trace, "--seeds")
    watts = profile_option(profile, power)
    check_folder(out, WRITTEN, (datacenter, trace, *(plugin or []), power, speed, cap_speed, budget_kw))
    note_power(profile, power)
    say_if_compiling("wattpack.engine.moments.loop")
    with progress_bar("planning") as report:
        settings = (timed, node, limit_s, datacenter, trace, policy, wanted, out, watts, most)
        found = plan(*settings, report, on, workers, plugins)
    write_csv(out / "plan.csv", HEADER, rows(found))
    show(found, wide_console())
    print_paths(plan=out / "plan.csv")
    if found.nowhere:
        note(never_fit(found.nowhere))
