"""`wattpack replay`: one run in file order, every decision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from wattpack.answers.csv_output import write_csv
from wattpack.choose.choice import resolve
from wattpack.cli.keep_speed import keep_speed
from wattpack.cli.not_understood import nodes_with_others, with_closed_nodes
from wattpack.cli.options import check_seed, note_power, profile_option
from wattpack.cli.outputs import check_files, words_beside
from wattpack.cli.plugins import faults_of, load_plugins
from wattpack.cli.side_by_side import print_emptied, print_saving
from wattpack.cli.streams import note, notes_after
from wattpack.datasets.csv_files import read_arrival_s, read_workload
from wattpack.datasets.inflation import seeded
from wattpack.datasets.placements import COLUMNS as DECISIONS
from wattpack.datasets.placements import read_placements
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.engine.core.state import BASE_POWER
from wattpack.engine.runs.arrivals import simulate
from wattpack.engine.runs.learning import LEARNT, simulate_learning
from wattpack.engine.runs.record import Run
from wattpack.engine.windows.batch import new_batch, simulate_windows
from wattpack.engine.windows.staying import simulate_beside, staying_tasks
from wattpack.errors import UserError
from wattpack.experiments.placed import emptied_nodes, measure_placements, measure_run
from wattpack.jit import say_if_compiling
from wattpack.model.fit_anywhere import fit_nowhere
from wattpack.model.target import Target
from wattpack.policies.expression import FILL_UP, canonical, is_auto
from wattpack.report.provenance import never_fit

SERIES = (
    "task",
    "arrived_gpu_milli",
    "allocated_gpu_milli",
    "failed",
    "power_w",
    "cpu_power_w",
    "gpu_power_w",
    "fragmentation_milli",
)


def replay_command(
    *,
    nodes: Path,
    tasks: Path,
    policy: str,
    target: str | None = None,
    decisions: Path | None = None,
    series: Path | None = None,
    placements: Path | None = None,
    profile: str | None = None,
    power: Path | None = None,
    pending: bool = False,
    allow_slower: bool = False,
    same_model: bool = False,
    seed: int = 0,
    add: list[str] | None = None,
    remove: list[str] | None = None,
    replace: list[str] | None = None,
    batch: int = 1,
    batch_seconds: float | None = None,
    batch_milp_seconds: float = 0.0,
    plugin: list[Path] | None = None,
    no_check: bool = False,
) -> None:
    """Place the tasks of a file in order on the nodes of a file, ties to the first node, and write every decision.

    Parameters
    ----------
    nodes
        CSV file: sn,cpu_milli,memory_mib,gpu,model. Its order is the node order. A built-in name works too:
        nodes in the order of its table, by model.
    tasks
        CSV file: name,cpu_milli,memory_mib,num_gpu,gpu_milli[,gpu_spec]. Its order is the order of arrival.
    policy
        Policy expression, for example pwr:0.1+fgd:0.9, or auto. No task leaves; auto@steady chooses as a service does.
    target
        Trace (file or built-in name) that the target workload is taken from; default: the tasks file itself; `learnt`:
        from the tasks seen so far, as a cluster that nobody knows yet.
    decisions
        Write task,node,gpu_index here, one row a task; `-` is standard output.
    series
        Write power, allocation and fragmentation after every task here.
    placements
        CSV file of where the tasks are now, task,node,gpu_index as `wattpack import` and --decisions write it: say what
        the policy would have saved against it. No task goes to a slower GPU than it runs on.
    pending
        With --placements: let the policy place the tasks too that have no node there; otherwise they are left out, so
        that both sides run the same tasks.
    allow_slower
        With --placements: let running tasks go to any GPU; otherwise only to GPUs that are no slower and have as much
        memory.
    same_model
        With --placements: let running tasks go only to GPUs of the model they run on.
    profile
        Power profile: paper (the default), linear, concave, measured.
    power
        TOML file of your own GPUs, CPUs and node base power, laid over the profile (`wattpack power`).
    seed
        For policy random only.
    add
        Nodes to add at the end, like 20xH100-8 or, with the vCPU and GiB of a node, 20xH100-8:128c:1024g; may be given
        again. In a cluster with pools they join that of the nodes like them; 20xH100-8@p3 names one.
    remove
        Nodes to leave out, first: a model like T4, or 10xT4-2; may be given again.
    replace
        Nodes that get other GPUs, as T4=L4 or 10xT4-2=L4, all else the same; may be given again.
    batch
        Number of tasks that are held and placed together. Decisions stay in the order of the tasks file, the series is
        in the order of placing.
    batch_seconds
        Seconds after which a window closes at the latest: the tasks file must have a column creation_time
        (seconds, ascending). Nothing leaves.
    batch_milp_seconds
        Seconds that a small MILP may take to place each window; its placement is used where it is better. 60 is plenty.
    plugin
        Python file that registers policies of your own; may be given again.
    no_check
        Run plugins without checking their policies first (about a second each).
    """
    load_plugins(plugin or [], not no_check)
    policy = canonical(policy)
    check_seed(seed)
    watts = profile_option(profile, power)
    window = new_batch(batch, batch_seconds, batch_milp_seconds)
    if window.tasks > 1 and target == LEARNT:
        raise UserError(f"--target {LEARNT} with --batch {batch}, expected one of them")
    if is_auto(policy) and target == LEARNT:
        raise UserError(
            f"--policy {policy} with --target {LEARNT}: it is chosen for a known workload, expected a trace"
        )
    datacenter = load_datacenter(str(nodes), power=watts, add=add or (), remove=remove or (), replace=replace or ())
    workload = read_workload(tasks)
    arrival_s = None if batch_seconds is None else read_arrival_s(tasks)
    trace = workload if target in (None, LEARNT) else load_trace(str(target))
    aim = Target.of(trace)
    placed = None if placements is None else read_placements(placements, datacenter, workload)
    if pending and placed is None:
        raise UserError("--pending is about tasks that wait for a node, expected --placements FILE too")
    names, waiting = workload.task_names or (), 0
    if placed is not None and not pending:
        runs = placed.node >= 0
        waiting = int((~runs).sum())
        workload, placed = workload.only(runs), placed.only(runs)
        arrival_s = None if arrival_s is None else arrival_s[runs]
    with notes_after():
        datacenter = with_closed_nodes(datacenter, nodes, tasks, *([placements] if placements else []))
        if placed is not None:
            workload = keep_speed(workload, placed, datacenter, allow_slower, same_model)
        elif allow_slower or same_model:
            raise UserError("--allow-slower and --same-model are about tasks that run, expected --placements FILE too")
        inputs = (nodes, tasks, target, placements, power, *(plugin or []))
        check_files({"--decisions": decisions, "--series": series}, inputs)
        note_power(profile, power)
        say_if_compiling()
        now = None if placed is None else measure_placements(placed, datacenter, workload, aim, watts)
    mix, choice = resolve(policy, datacenter, trace, watts, FILL_UP)
    stay = None if placed is None else staying_tasks(datacenter, workload, placed.node, placed.gpus, watts)
    if stay and target == LEARNT:
        raise UserError(f"--target {LEARNT}: {len(stay)} tasks are on nodes that take no new ones, expected a trace")
    with faults_of(plugin or []):
        if stay:
            rng = seeded(seed).policy
            run = simulate_beside(stay, datacenter, workload, mix, aim, rng, watts, window, arrival_s)
            tasks_stay = "1 task stays" if len(stay) == 1 else f"{len(stay)} tasks stay"
            note(f"{tasks_stay} (held, or on nodes that take no new ones); the policy places the others")
        elif target == LEARNT:
            run = simulate_learning(datacenter, workload, mix, seeded(seed).policy, watts)
        elif window.tasks > 1:
            run = simulate_windows(datacenter, workload, mix, aim, seeded(seed).policy, watts, window, arrival_s)
        else:
            run = simulate(datacenter, workload, mix, aim, seeded(seed).policy, watts)
    if decisions is not None:
        write_csv(decisions, DECISIONS, decision_rows(run, names if waiting else ()))
    if series is not None:
        write_csv(series, series_header(run), series_rows(run))
    if waiting:
        wait = "1 task waits for a node and is" if waiting == 1 else f"{waiting} tasks wait for a node and are"
        note(f"{wait} left out (--pending: the policy places them too)")
    if kinds := fit_nowhere(datacenter, workload, watts, with_held=placed is None):
        note(never_fit(kinds))
    with words_beside(decisions, series):
        if choice is not None:
            print(choice.text)
        print_outcome(run, f"{mix.expression} {window.label}".rstrip())
        if now is not None and placed is not None:
            print_saving(now, measure_run(run), mix.expression)
            others = nodes_with_others(nodes, tasks, *([placements] if placements else []))
            print_emptied(emptied_nodes(placed.node, run.node, datacenter, watts, others))


def decision_rows(run: Run, names: Sequence[str] = ()) -> Iterable[Sequence[object]]:
    """A row a task; `names`: of all tasks, where some were left out of the run."""
    rows = [(run.workload.task_name(i), run.node_name(i), run.gpu_index(i)) for i in range(len(run))]
    known = {row[0]: row for row in rows}
    return [known.get(name, (name, "", "")) for name in names] or rows


def has_base_power(run: Run) -> bool:
    return bool(run.start[BASE_POWER] > 0)


def series_header(run: Run) -> tuple[str, ...]:
    """The fixed columns, and base power after them where there is any."""
    return (*SERIES, "base_power_w") if has_base_power(run) else SERIES


def series_rows(run: Run) -> Iterable[Sequence[object]]:
    columns = (
        run.requested_milli.tolist(),
        run.allocated_milli.tolist(),
        run.failed.tolist(),
        run.power_w.tolist(),
        run.cpu_power_w.tolist(),
        run.gpu_power_w.tolist(),
    )
    fragmentation, with_base, base_w = run.fragmentation_milli.tolist(), has_base_power(run), run.base_power_w.tolist()
    for i, values in enumerate(zip(*columns, strict=True)):
        task = i if run.order is None else int(run.order[i])
        yield run.workload.task_name(task), *values, f"{fragmentation[i]:.6f}", *([base_w[i]] if with_base else [])


def print_outcome(run: Run, expression: str) -> None:
    """The few numbers a person wants to see at once."""
    tasks = len(run)
    if tasks == 0:
        print(f"{expression}: 0 tasks")
        return
    failed = int(run.failed[-1])
    print(f"{expression}: {tasks} tasks, {tasks - failed} placed, {failed} failed")
    for reason, count in run.failures_by_reason().items():
        print(f"  failed for want of {reason}: {count}")
    share = f"GPU requested {run.load[-1]:.3f} of the datacenter's"
    if run.datacenter.gpu_milli == 0:
        share = f"{run.requested_milli[-1] / 1000:g} GPUs requested, no node has one"
    print(f"  GRAR {run.grar[-1]:.4f}, {share}")
    watts = f"CPU {run.cpu_power_w[-1] / 1000:.1f}, GPU {run.gpu_power_w[-1] / 1000:.1f}"
    watts += f", base {run.base_power_w[-1] / 1000:.1f}" if has_base_power(run) else ""
    print(f"  power {run.power_w[-1] / 1000:.1f} kW ({watts})")
    print(f"  fragmentation {run.fragmentation_milli[-1] / 1000:.1f} GPUs")
    if run.wait_s is not None:
        print(f"  held for {run.wait_s.mean():.1f} s in the mean, {run.wait_s.max():.1f} s at most")
