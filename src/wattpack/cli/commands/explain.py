"""`wattpack explain`: one decision, node by node."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from rich.table import Table
from rich.text import Text

from wattpack.choose.choice import resolve
from wattpack.cli.consoles import wide_console
from wattpack.cli.explain_at import options_at, say_at, with_sleep_and_caps
from wattpack.cli.options import check_seed, note_power, profile_option
from wattpack.cli.plugins import faults_of, load_plugins
from wattpack.datasets.csv_files import read_workload
from wattpack.datasets.inflation import seeded
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.datasets.timed_files import read_timed_tasks
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.explain import Explanation, explain
from wattpack.engine.moments.options import BACKFILL
from wattpack.engine.moments.simulate import new_simulation
from wattpack.engine.moments.why import placement
from wattpack.engine.runs.arrivals import draw_luck, run_arrivals
from wattpack.engine.runs.record import gpu_index_text
from wattpack.errors import UserError
from wattpack.jit import say_if_compiling
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload
from wattpack.policies.expression import FILL_UP, STEADY, canonical


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
    index = task_index(workload, task, tasks)
    k = int(workload.sequence[index])
    if at is not None:
        timed = read_timed_tasks(tasks)
        mix, choice = resolve(policy, datacenter, trace, watts, STEADY)  # as `simulate` does
        options = options_at(at, queue, patience, budget_kw, timed.start)
        options, watts = with_sleep_and_caps(options, datacenter, watts, sleep, cap, cap_speed)
        note_power(profile, power)
        say_if_compiling("wattpack.engine.moments.loop")
        with faults_of(plugin or []):
            told = (datacenter, timed, mix, Target.of(trace))
            simulation = new_simulation(*told, seeded(seed).policy, watts, options)
            simulation.to_end()
            again = new_simulation(*told, seeded(seed).policy, watts, options)
            decided = placement(again, index) if simulation.run.tasks.node[index] >= 0 else None
        if choice is not None:
            print(choice.text)
        for line in say_at(simulation, index):
            print(line)
        if decided is not None:
            moment = f"at {float(again.run.now[0].clock_s):,.0f} s"
            print_explanation(decided, workload.classes[k], workload.task_name(index), moment, top)
        return
    if sleep is not None or cap or cap_speed is not None:
        raise UserError("--sleep or --cap without --at: a decision alone has no time, expected --at TIME too")
    note_power(profile, power)
    say_if_compiling("wattpack.engine.core.explain")
    luck = draw_luck(workload, seeded(seed).policy)
    before = Workload(workload.classes, workload.sequence[:index], workload.task_names, workload.name)
    mix, choice = resolve(policy, datacenter, trace, watts, FILL_UP)
    with faults_of(plugin or []):
        engine = Engine(datacenter, workload.classes, mix, Target.of(trace), watts)
        run_arrivals(engine, before, luck[:index])
        explanation = explain(engine, k, luck[index])
    if choice is not None:
        print(choice.text)
    moment = f"after {index} earlier tasks"
    print_explanation(explanation, workload.classes[k], workload.task_name(index), moment, top)


def explain_live(pod: str, server: str | None) -> None:
    """A decision of a running service."""
    from wattpack.cli.ask_service import SERVER, ask, print_decision

    namespace, _, name = pod.partition("/")
    if not namespace or not name or "/" in name:
        raise UserError(f"--live {pod!r}, expected NAMESPACE/POD")
    path = "/".join(quote(part, errors="surrogateescape") for part in (namespace, name))  # bytes as they were typed
    print_decision(ask(server or SERVER, f"/explain/{path}"))


def task_index(workload: Workload, name: str, file: Path) -> int:
    names = workload.task_names or ()
    if name not in names:
        if (match := re.fullmatch(r"#([0-9]+)", name)) and 1 <= int(match[1]) <= len(names):
            return int(match[1]) - 1
        raise UserError(f"--task {name!r}: {file} has no task of this name ({len(names)} tasks)")
    same = [place for place, other in enumerate(names, 1) if other == name]
    if len(same) > 1:
        places = ", ".join(f"#{place}" for place in same[:5]) + (", ..." if len(same) > 5 else "")
        raise UserError(f"--task {name!r}: {file} has {len(same)} tasks of this name, expected a place: {places}")
    return same[0] - 1


def print_explanation(explanation: Explanation, task: TaskClass, name: str, moment: str, top: int) -> None:
    console = wide_console(200)
    console.print(Text(f"task {name} ({task.text}), {moment}, policy {explanation.mix.expression}"))
    fitting = [int(n) for n in explanation.order if explanation.takes_part[n]]
    refused = [int(n) for n in explanation.order if not explanation.takes_part[n]]
    shown, hidden = (fitting, refused) if top == 0 else (fitting[:top], refused[:top])
    if fitting:
        console.print(score_table(explanation, shown))
        console.print(Text(f"{len(fitting)} {'node fits' if len(fitting) == 1 else 'nodes fit'}, {len(shown)} shown"))
        for c, component in enumerate(explanation.mix.components):
            if component.policy.terms > 1:
                console.print(Text(f"\nterms of {component.policy.name}, each times its price: they add up to raw"))
                console.print(term_table(explanation, c, shown))
                for name in priced_terms(explanation, c, shown):
                    if name in explanation.meanings:
                        console.print(Text(f"{name}: {explanation.meanings[name]}"))
    if refused:
        console.print(refusal_table(explanation, hidden))
        reasons = "; ".join(f"{reason}: {count}" for reason, count in explanation.reasons.items())
        do_not = "node does" if len(refused) == 1 else "nodes do"
        console.print(Text(f"{len(refused)} {do_not} not fit, {len(hidden)} shown ({reasons})"))
    if explanation.node < 0:
        console.print(Text("decision: the task fits nowhere and fails"))
    else:
        gpus = gpu_index_text(explanation.gpus)
        chosen = explanation.datacenter.names[explanation.node]
        why = "the only node that fits, taken unscored" if len(fitting) == 1 else "largest total, first in node order"
        console.print(Text(f"decision: node {chosen}{f', GPU {gpus}' if gpus else ''} ({why})"))


def score_table(explanation: Explanation, nodes: list[int]) -> Table:
    """Raw, normalised and weighted score of every component, and the total, best node first."""
    table = Table(show_edge=False)
    table.add_column("node")
    for component in explanation.mix.components:
        policy = component.policy.name
        for what in ("raw", "normalised", f"x {component.weight}"):
            table.add_column(f"{policy}\n{what}", justify="right")
    longer = explanation.extension_w
    if longer is not None:  # where nodes sleep
        table.add_column("W, awake\nfor longer", justify="right")
    table.add_column("total", justify="right")
    for n in nodes:
        cells = []
        for c in range(len(explanation.mix.components)):
            scores = (explanation.raw[c, n], explanation.normalised[c, n], explanation.weighted[c, n])
            cells += [f"{value:g}" for value in scores]
        if longer is not None:
            cells.append(f"{-longer[n]:.1f}")
        name = explanation.datacenter.names[n]
        table.add_row(Text(f"{name} <-" if n == explanation.node else name), *cells, f"{explanation.total[n]:g}")
    return table


def priced_terms(explanation: Explanation, c: int, nodes: list[int]) -> dict[str, int]:
    """The terms of component `c` that are not 0 on all nodes shown, by name, and their rows."""
    at = sum(component.policy.terms for component in explanation.mix.components[:c])
    names = enumerate(explanation.mix.components[c].policy.term_names, at)
    return {name: row for row, name in names if (explanation.priced[row, nodes] != 0).any()}


def term_table(explanation: Explanation, c: int, nodes: list[int]) -> Table:
    """Term times price of component `c`; terms that are 0 on all nodes shown are left out."""
    rows = priced_terms(explanation, c, nodes)
    table = Table(show_edge=False)
    for name in ("node", *rows, "sum"):
        table.add_column(name, justify="left" if name == "node" else "right")
    for n in nodes:
        cells = [f"{explanation.priced[row, n] + 0.0:.2f}" for row in rows.values()]  # -0.0 + 0.0 is 0.0
        name = explanation.datacenter.names[n]
        table.add_row(Text(f"{name} <-" if n == explanation.node else name), *cells, f"{explanation.raw[c, n]:.2f}")
    return table


def refusal_table(explanation: Explanation, nodes: list[int]) -> Table:
    table = Table(show_edge=False)
    table.add_column("node")
    table.add_column("does not fit: first reason")
    for n in nodes:
        table.add_row(Text(explanation.datacenter.names[n]), explanation.reason(n))
    return table
