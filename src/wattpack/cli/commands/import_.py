"""`wattpack import`: a cluster as files that every command reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from wattpack.cli.ask_cluster import ask_cluster
from wattpack.cli.csv_output import write_csv
from wattpack.cli.not_understood import NOT_UNDERSTOOD
from wattpack.cli.options import note_power, with_power
from wattpack.cli.outputs import check_folder
from wattpack.cli.streams import note
from wattpack.datasets.placements import COLUMNS as DECISIONS
from wattpack.engine.runs.record import gpu_index_text
from wattpack.errors import UserError
from wattpack.files import make_folder
from wattpack.kube.config import read_config
from wattpack.kube.dialects import find_dialect
from wattpack.kube.import_files import read_cluster_files
from wattpack.kube.not_understood import NotUnderstood, refusal
from wattpack.kube.snapshot import Snapshot, Task, hidden_names, take_snapshot

NODES = ("sn", "cpu_milli", "memory_mib", "gpu", "model", "cpu_model")
TASKS = (
    *("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"),
    *("creation_time", "deletion_time"),
)
WRITTEN = ("nodes.csv", "tasks.csv", "placements.csv")
MOST_REASONS, MOST_NAMES = 10, 3

Rename = Callable[[str, str], str]


def import_command(
    *,
    out: Path,
    file: list[Path] | None = None,
    kubeconfig: Path | None = None,
    anonymise: bool = False,
    dialect: str | None = None,
    config: Path | None = None,
    profile: str | None = None,
    power: Path | None = None,
) -> None:
    """Write the nodes, tasks and current placements of a Kubernetes cluster into a folder; nothing changes there.

    Parameters
    ----------
    out
        Folder for nodes.csv, tasks.csv and placements.csv; not-understood.csv too, where pods hold accelerators that
        could not be counted.
    file
        What `kubectl get nodes,pods -A -o json` printed; may be given again. Default: ask the cluster itself.
    kubeconfig
        The cluster to ask. Default: $KUBECONFIG, the pod we run in, ~/.kube/config.
    anonymise
        New names for nodes and tasks, other ones at every import; namespaces are dropped.
    dialect
        How pods ask for GPUs: alibaba, nvidia, kai, hami, aliyun, volcano, koordinator, mig. Default: the
        configuration's.
    config
        TOML file of `wattpack serve`: dialect, power profile, labels, own names of GPU models.
    profile
        Power profile, above the one of the configuration: paper, linear, concave, measured.
    power
        TOML file of your own GPUs, CPUs and node base power, laid over the profile (`wattpack power`).
    """
    if file and kubeconfig is not None:
        raise UserError("--file and --kubeconfig, expected one of them")
    settings = with_power(read_config(config), profile, power)
    reading = settings.reading()
    if dialect is not None:
        reading = replace(reading, dialect=find_dialect(dialect))
    check_folder(out, WRITTEN, (*(file or []), kubeconfig, config, power))
    nodes, pods = read_cluster_files(file) if file else asyncio.run(ask_cluster(kubeconfig))
    snapshot = take_snapshot(nodes, pods, reading)
    if not snapshot.nodes:
        print_left_out(snapshot, plain_name)
        raise UserError(f"none of {len(nodes)} nodes can be read, expected at least one")
    note_power(profile, power)
    rename = hidden_names() if anonymise else plain_name
    write_snapshot(snapshot, make_folder(out), rename)
    print_snapshot(snapshot, out, rename)


def plain_name(kind: str, name: str) -> str:
    return name


def task_name(task: Task, rename: Rename) -> str:
    return rename("task", f"{task.pod.namespace}/{task.pod.name}")


def write_snapshot(snapshot: Snapshot, folder: Path, rename: Rename) -> None:
    nodes = [(rename("node", node.name), *node[1:]) for node in snapshot.nodes]
    nodes.sort()  # the order of the file is the node order: by name, whatever the names are
    write_csv(folder / "nodes.csv", NODES, nodes)
    times = [(task.created_s, task.deleted_s) for task in snapshot.tasks]
    cells = [["" if time is None else time for time in pair] for pair in times]
    tasks = [
        (task_name(task, rename), *task.pod.task[:5], *cell) for task, cell in zip(snapshot.tasks, cells, strict=True)
    ]
    write_csv(folder / "tasks.csv", TASKS, tasks)
    write_csv(folder / "placements.csv", DECISIONS, [placement(task, rename) for task in snapshot.tasks])
    if snapshot.not_understood:
        write_csv(folder / NOT_UNDERSTOOD, NotUnderstood._fields, uncounted(snapshot, rename))
    else:
        (folder / NOT_UNDERSTOOD).unlink(missing_ok=True)  # of an earlier import


def uncounted(snapshot: Snapshot, rename: Rename) -> list[NotUnderstood]:
    return [NotUnderstood(rename("task", pod), rename("node", n), what) for pod, n, what in snapshot.not_understood]


def placement(task: Task, rename: Rename) -> tuple[str, str, str]:
    node = rename("node", task.pod.node) if task.pod.node else ""
    return task_name(task, rename), node, gpu_index_text(sum(1 << gpu for gpu in task.gpus))


def print_snapshot(snapshot: Snapshot, folder: Path, rename: Rename) -> None:
    tasks = snapshot.tasks
    gpus = sum(node.gpus for node in snapshot.nodes)
    held = sum(task.pod.task.num_gpu * task.pod.task.gpu_milli for task in tasks if task.pod.node) / 1000
    pending = sum(1 for task in tasks if not task.pod.node)
    with_gpu = sum(1 for task in tasks if task.pod.task.num_gpu)
    models = sorted({node.model for node in snapshot.nodes if node.model})
    print(f"nodes    {len(snapshot.nodes)}, with {gpus} GPUs ({', '.join(models) or 'none'})")
    print(f"tasks    {len(tasks)}, {with_gpu} with GPUs, {pending} pending; {held:g} GPUs allocated")
    if snapshot.of_nodes:
        print(f"  {snapshot.of_nodes} pods of DaemonSets and static pods: what they take is taken off their nodes")
    if snapshot.index_chosen:
        print(f"  {snapshot.index_chosen} tasks do not say which GPUs they hold: the first that fit are taken for them")
    if snapshot.finished:
        print(f"  {snapshot.finished} finished pods: not tasks")
    print_left_out(snapshot, rename)
    for name in WRITTEN:
        print(f"wrote    {folder / name}")
    if snapshot.not_understood:
        print(f"wrote    {folder / NOT_UNDERSTOOD}")
        said = refusal(uncounted(snapshot, rename))
        note(f"wattpack: {said}; defrag and replay --placements refuse these files")


def print_left_out(snapshot: Snapshot, rename: Rename) -> None:
    """What could not be read, by reason, the most frequent first, with the first few names."""
    reasons = sorted(snapshot.left_out.items(), key=lambda pair: -len(pair[1]))
    for reason, what in reasons[:MOST_REASONS]:
        kind = what[0].split(" ")[0]
        names = [rename("node" if kind == "node" else "task", name.split(" ", 1)[1]) for name in what[:MOST_NAMES]]
        more = f" and {len(what) - len(names)} more" if len(what) > len(names) else ""
        print(f"left out {len(what)} {kind}{'s' if len(what) > 1 else ''}: {reason} ({', '.join(names)}{more})")
    if len(reasons) > MOST_REASONS:
        rest = sum(len(what) for _, what in reasons[MOST_REASONS:])
        print(f"left out {rest} more for {len(reasons) - MOST_REASONS} other reasons")
