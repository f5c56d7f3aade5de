"""The table of `wattpack import`: what was understood, what was assumed, what takes no new work, what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from wattpack.cli.ask_cluster import NO_RIGHT
from wattpack.kube.dialects import DIALECTS
from wattpack.kube.import_files import ClusterObjects
from wattpack.kube.not_kept import AFFINITY, GATED, PRIORITY, SCHEDULER, SPREAD, NotKept
from wattpack.kube.pools import TOO_MANY
from wattpack.kube.snapshot import Snapshot
from wattpack.model.counted import counted

Rename = Callable[[str, str], str]
SHOWN = 3
MOST_REASONS = 10
AT_MOST = "not understood, counted as the most that they can hold"
UNDERSTOOD, ASSUMED, CLOSED, NOT_KEPT, LEFT_OUT = "understood", "assumed", "closed", "not kept", "left out"


class Line(NamedTuple):
    group: str
    number: int
    what: str  # nodes, tasks or pods
    text: str
    names: Sequence[str] = ()


def table_of(snapshot: Snapshot, rename: Rename, source: Iterable[Line] = ()) -> list[Line]:
    """`source`: what is assumed of the lists themselves."""
    return [
        *understood(snapshot),
        *source,
        *assumed(snapshot, rename),
        *closed(snapshot, rename),
        *not_kept(snapshot.not_kept, rename),
        *left_out(snapshot, rename),
    ]


def understood(snapshot: Snapshot) -> Iterable[Line]:
    tasks = snapshot.tasks
    gpus = sum(node.gpus for node in snapshot.nodes)
    models = sorted({node.model for node in snapshot.nodes if node.model})
    yield Line(UNDERSTOOD, len(snapshot.nodes), "nodes", f"{counted(gpus, 'GPU')} ({', '.join(models) or 'none'})")
    held = sum(task.pod.task.num_gpu * task.pod.task.gpu_milli for task in tasks if task.pod.node) / 1000
    pending = sum(1 for task in tasks if not task.pod.node)
    with_gpu = sum(1 for task in tasks if task.pod.task.num_gpu)
    gpus_held = f"{counted(held, 'GPU', 'g')} allocated"
    yield Line(UNDERSTOOD, len(tasks), "tasks", f"{with_gpu} with GPUs, {pending} pending; {gpus_held}")
    for dialect, count in sorted(snapshot.dialects.items()):
        words = f"in dialect {dialect}" if dialect in DIALECTS else f"through {dialect}"
        yield Line(UNDERSTOOD, count, "tasks", f"with GPUs {words}")
    if snapshot.of_nodes:
        yield Line(UNDERSTOOD, snapshot.of_nodes, "pods", "of DaemonSets and static: subtracted from their nodes")
    if snapshot.leaving:
        yield Line(UNDERSTOOD, snapshot.leaving, "tasks", "being deleted: counted until they end, never moved")
    if snapshot.finished:
        yield Line(UNDERSTOOD, snapshot.finished, "pods", "finished: not tasks")
    for what, count in sorted(snapshot.passed_over.items()):
        yield Line(UNDERSTOOD, count, "pods", f"{what}, not on a node: not tasks")


def assumed_of_lists(cluster: ClusterObjects, of_files: bool) -> Iterable[Line]:
    """That the lists are whole. Pods that they lack would leave their GPUs free, and nobody would see it."""
    if not cluster.pods:
        yield Line(ASSUMED, 0, "pods", "in the files or lists: every GPU counts as free")
    elif of_files and len({pod.metadata.namespace for pod in cluster.pods}) == 1:  # kube-system is in every cluster
        words = "in the files, all of one namespace, taken for those of the whole cluster (is kubectl's -A missing?)"
        yield Line(ASSUMED, len(cluster.pods), "pods", words)
    if cluster.forbidden:
        yield Line(ASSUMED, len(cluster.forbidden), "lists", NO_RIGHT, cluster.forbidden)


def assumed(snapshot: Snapshot, rename: Rename) -> Iterable[Line]:
    for how, nodes in snapshot.cpu_assumed.items():
        yield Line(ASSUMED, len(nodes), "nodes", f"CPU {how}", [rename("node", name) for name in sorted(nodes)])
    for why, pods in snapshot.at_most.items():
        yield Line(ASSUMED, len(pods), "pods", f"{AT_MOST}: {why}", [rename("task", name) for name in pods])
    by = {
        "which GPUs they hold is not known: the first that fit": snapshot.index_chosen,
        "GPU memory as a share of the smallest GPU that holds it": snapshot.memory_assumed,
    }
    for text, names in by.items():
        if names:
            yield Line(ASSUMED, len(names), "tasks", text, [rename("task", name) for name in names])


def closed(snapshot: Snapshot, rename: Rename) -> Iterable[Line]:
    found: dict[tuple[str, str], list[str]] = {}
    for name, access in snapshot.access.items():
        if access.only:
            found.setdefault((access.only, access.why), []).append(rename("node", name))
    takes = {"none": "no new task", "cpu": "no new task with GPUs", "named": "only tasks that tolerate their taints"}
    takes["cpu|named"] = f"{takes['cpu']}, {takes['named']}"
    for (only, why), names in found.items():
        yield Line(CLOSED, len(names), "nodes", f"{why}: {takes[only]}", names)


def not_kept(found: NotKept, rename: Rename) -> Iterable[Line]:
    """What pods ask of a scheduler that no file says: a run may place them otherwise than their cluster would."""

    def line(what: str, text: str) -> Iterable[Line]:
        if names := found.pods.get(what, []):
            yield Line(NOT_KEPT, len(names), "pods", text, [rename("task", name) for name in names])

    yield from line(GATED, "gated (schedulingGates): not tasks, nobody may place them yet")
    if found.gangs:
        who = Counter(key[0] for key in found.gangs)
        by = ", ".join(f"{name} {count}" for name, count in who.most_common())
        pods = [rename("task", name) for names in found.gangs.values() for name in names]
        yield Line(
            NOT_KEPT, len(pods), "tasks", f"of {counted(len(found.gangs), 'gang')} ({by}): placed one by one", pods
        )
    if found.empty_gangs:
        yield Line(NOT_KEPT, found.empty_gangs, "gangs", "without a pod that is a task (PodGroup)")
    yield from line(AFFINITY, "with required affinity or anti-affinity to other pods: it limits no placement")
    yield from line(SPREAD, "with hard topology spread (DoNotSchedule): it limits no placement")
    yield from line(
        PRIORITY, f"with a priority ({said(found.priorities, rename)}): all tasks count alike, none is evicted"
    )
    yield from line(SCHEDULER, f"of another scheduler ({said(found.schedulers, rename)}): its rules are not known here")


def said(counts: Counter[str], rename: Rename) -> str:
    """The most frequent ones with their numbers."""
    first = [f"{rename('name', name)} {count}" for name, count in counts.most_common(SHOWN)]
    return ", ".join(first) + (f" and {len(counts) - SHOWN} more" if len(counts) > SHOWN else "")


def left_out(snapshot: Snapshot, rename: Rename) -> Iterable[Line]:
    """What could not be read, by reason, the most frequent first."""
    for reason, what in sorted(snapshot.left_out.items(), key=lambda pair: -len(pair[1])):
        kind = what[0].split(" ")[0]
        names = [rename("node" if kind == "node" else "task", name.split(" ", 1)[1]) for name in what]
        yield Line(LEFT_OUT, len(what), f"{kind}s", reason, names)


def print_table(lines: Sequence[Line]) -> None:
    """Aligned columns; the first few names of each line, the first reasons for which anything was left out."""
    shown: dict[str, int] = {}
    width = max((len(str(line.number)) for line in lines), default=1)
    for line in lines:
        shown[line.group] = shown.get(line.group, 0) + 1
        if line.group == LEFT_OUT and shown[line.group] > MOST_REASONS:
            continue
        print(f"{line.group:<10}  {line.number:>{width}} {noun(line):<5}  {line.text}{named(line.names)}")
    if (more := shown.get(LEFT_OUT, 0) - MOST_REASONS) > 0:
        rest = [line for line in lines if line.group == LEFT_OUT][MOST_REASONS:]
        reasons = "1 other reason" if more == 1 else f"{more} other reasons"
        print(f"{LEFT_OUT:<10}  {sum(line.number for line in rest)} more for {reasons}")


def noun(line: Line) -> str:
    """What is counted, one or several: pod, pods."""
    return line.what[:-1] if line.number == 1 else line.what


def named(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f" ({', '.join(names[:SHOWN])}{more})"


def losses(lines: Sequence[Line]) -> str:
    """One line about everything that was left out, and nodes closed for want of pools; empty if there is nothing."""
    lost = [line for line in lines if line.group == LEFT_OUT or line.text.startswith((TOO_MANY, AT_MOST))]
    first = "; ".join(f"{line.number} {noun(line)}: {line.text}{named(line.names)}" for line in lost[:SHOWN])
    more = f"; and {len(lost) - SHOWN} more reasons" if len(lost) > SHOWN else ""
    return f"{first}{more}"
