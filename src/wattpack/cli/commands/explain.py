"""`wattpack explain`: one decision, node by node."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from wattpack.answers.explain import Question, task_index
from wattpack.answers.explain_at import options_at, with_sleep_and_caps
from wattpack.cli.consoles import wide_console
from wattpack.cli.options import check_seed, note_power, profile_option
from wattpack.cli.plugins import faults_of, load_plugins
from wattpack.datasets.csv_files import read_workload
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.datasets.timed_files import read_timed_tasks
from wattpack.engine.moments.options import BACKFILL
from wattpack.errors import UserError
from wattpack.jit import say_if_compiling
from wattpack.policies.expression import canonical


def explain_command(
    nodes: Path | None = None,
    tasks: Path | None = None,
    *,
    policy: str | None = None,
    task: str | None = None,
    live: str | None = None,
    server: str | None = None,
    target: str | None = None,
    profile: str | None = None,
    power: Path | None = None,
    top: int = 20,
    seed: int = 0,
    add: list[str] | None = None,
    remove: list[str] | None = None,
    replace: list[str] | None = None,
    plugin: list[Path] | None = None,
    no_check: bool = False,
    at: str | None = None,
    queue: str = BACKFILL,
    patience: str | None = None,
    budget_kw: str | None = None,
    sleep: str | None = None,
    cap: list[str] | None = None,
    cap_speed: str | None = None,
) -> None:
    """Place the tasks that come before TASK, then show how the policy sees every node for it.

    With --at, run the tasks at their times, and say what became of TASK by then, with the decision that placed it, or
    why it still waits.

    Parameters
    ----------
    nodes
        CSV file of nodes, or a built-in name.
    tasks
        CSV file of tasks.
    policy
        Policy expression, for example pwr:0.1+fgd:0.9.
    task
        Name of the task; or its place in the file, `#3` for the third, where several have the same name.
    live
        NAMESPACE/POD: ask a running `wattpack serve` instead of files.
    server
        Address of that service; default http://127.0.0.1:8888.
    target
        Trace (file or built-in name) that the target workload is taken from; default: the tasks file itself.
    profile
        Power profile: paper (the default), linear, concave, measured.
    power
        TOML file of your own GPUs, CPUs and node base power, laid over the profile (`wattpack power`).
    top
        Nodes to show, best first, and as many that do not fit; 0 shows all.
    seed
        For policy random only.
    add
        Nodes to add at the end, like 20xH100-8 or, with the vCPU and GiB of a node, 20xH100-8:128c:1024g; may be given
        again. In a cluster with pools they join that of the nodes like them; 20xH100-8@p3 names one.
    remove
        Nodes to leave out, first: a model like T4, or 10xT4-2; may be given again.
    replace
        Nodes that get other GPUs, as T4=L4 or 10xT4-2=L4, all else the same; may be given again.
    plugin
        Python file that registers policies of your own; may be given again.
    no_check
        Run plugins without checking their policies first (about a second each).
    at
        Time since the first arrival, like 90s, 6m, 2h or 1d: the task's state then. The tasks need times, as for
        `wattpack simulate`.
    queue
        With --at: what becomes of a task that cannot start at once: drop, fifo, backfill.
    patience
        With --at: how long a task waits before it leaves, like 2h; default: for ever.
    budget_kw
        With --at: IT power that no start may exceed, in kW, or a file with seconds,kw or timestamp,kw.
    sleep
        With --at: empty nodes sleep, and wake when a task is placed there: alone, or with knobs like
        idle=6m,wake=5m,shutdown=1m,reserve=2%,watts=10 (reserve: GPUs or a share of them that stay free and awake;
        wake_for_reserve=yes: nodes also wake when it is short).
    cap
        With --at: power cap of a GPU model as a share of its maximum, like T4=0.7, or 0.7 for all; may be given again.
    cap_speed
        With --at: CSV file with cap,speed: speeds under caps in the place of the built-in table.
    """
    if live is not None:
        if profile is not None or power is not None:
            raise UserError("--profile or --power with --live: the service has its own, expected none of them")
        explain_live(live, server)
        return
    if nodes is None or tasks is None or policy is None or task is None:
        raise UserError("explain: expected --nodes, --tasks, --policy and --task, or --live NAMESPACE/POD")
    load_plugins(plugin or [], not no_check)
    policy = canonical(policy)
    if top < 0:
        raise UserError(f"--top {top}, expected 0 (all) or more")
    check_seed(seed)
    watts = profile_option(profile, power)
    datacenter = load_datacenter(str(nodes), power=watts, add=add or (), remove=remove or (), replace=replace or ())
    workload = read_workload(tasks)
    trace = workload if target is None else load_trace(target)
    index = task_index(workload, task, tasks, "--task")
    question = Question(datacenter, workload, index, policy, trace, watts, seed, top, faults_of(plugin or []))
    if at is not None:
        timed = read_timed_tasks(tasks)
        options = options_at(at, queue, patience, budget_kw, timed.start)
        caps = ",".join(cap) if cap else None
        options, under_caps = with_sleep_and_caps(options, datacenter, watts, sleep, caps, cap_speed)
        note_power(profile, power)
        say_if_compiling("wattpack.engine.moments.loop")
        answer = question.answer_at(timed, options, under_caps)
    else:
        if sleep is not None or cap or cap_speed is not None:
            raise UserError("--sleep or --cap without --at: a decision alone has no time, expected --at TIME too")
        note_power(profile, power)
        say_if_compiling("wattpack.engine.core.explain")
        answer = question.answer()
    answer.show(wide_console())


def explain_live(pod: str, server: str | None) -> None:
    """A decision of a running service."""
    from wattpack.cli.ask_service import SERVER, ask, print_decision

    namespace, _, name = pod.partition("/")
    if not namespace or not name or "/" in name:
        raise UserError(f"--live {pod!r}, expected NAMESPACE/POD")
    path = "/".join(quote(part, errors="surrogateescape") for part in (namespace, name))  # bytes as they were typed
    print_decision(ask(server or SERVER, f"/explain/{path}"))
