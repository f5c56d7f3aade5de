"""`wattpack import`: a cluster as files that every command reads."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wattpack.answers.csv_output import write_csv
from wattpack.cli.ask_cluster import ask_cluster
from wattpack.cli.import_table import Rename, assumed_of_lists, losses, print_table, table_of
from wattpack.cli.not_understood import NOT_UNDERSTOOD
from wattpack.cli.options import note_power, with_power
from wattpack.cli.outputs import check_folder
from wattpack.cli.streams import note
from wattpack.datasets.placements import COLUMNS as DECISIONS
from wattpack.engine.runs.record import gpu_index_text
from wattpack.errors import UserError
from wattpack.files import make_folder, write_whole
from wattpack.kube.config import read_config
from wattpack.kube.dialects import find_dialect
from wattpack.kube.hidden_names import hidden_names
from wattpack.kube.hidden_words import hide_words
from wattpack.kube.import_files import NODES_JSON, nodes_as_json, read_cluster_files
from wattpack.kube.not_understood import NotUnderstood, in_words
from wattpack.kube.objects import Node
from wattpack.kube.place_pods import Task
from wattpack.kube.snapshot import Snapshot, take_snapshot

NODES = ("sn", "cpu_milli", "memory_mib", "gpu", "model", "cpu_model", "pool", "only", "why", "capacity_milli")
TASKS = (
    *("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"),
    *("creation_time", "deletion_time", "pool_spec"),
)
WRITTEN = ("nodes.csv", "tasks.csv", "placements.csv")
LEFT_OUT = "left-out.csv"  # every node and pod that was left out: the table names the first few
OTHERS = (NODES_JSON, LEFT_OUT, NOT_UNDERSTOOD)  # where there is anything to write
LEFT_OUT_COLUMNS = ("kind", "namespace", "name", "reason")


def import_command(
    *,
    out: Path,
    file: list[Path] | None = None,
    kubeconfig: Path | None = None,
    anonymise: bool = False,
    dialect: list[str] | None = None,
    config: Path | None = None,
    strict: bool = False,
    profile: str | None = None,
    power: Path | None = None,
) -> None:
    """Write the nodes, tasks and current placements of a Kubernetes cluster into a folder; nothing changes there.

    A table says what was understood, what was assumed, which nodes take no new tasks, what is not kept, and what was
    left out.

    Parameters
    ----------
    out
        Folder for nodes.csv, tasks.csv, placements.csv and nodes.json (labels and taints of the nodes); left-out.csv
        too, where nodes or pods are left out, and not-understood.csv, where nodes hold pods that are not tasks because
        they could not be counted.
    file
        What `kubectl get nodes,pods -A -o json` printed; where GPUs are given out by resource claims, with
        resourceslices,resourceclaims,deviceclasses,resourceclaimtemplates too; may be given again. Default: ask the
        cluster itself.
    kubeconfig
        The cluster to ask. Default: $KUBECONFIG, the pod we run in, ~/.kube/config.
    anonymise
        New names for nodes, tasks and all else that tells whose cluster it is, other ones at every import; namespaces
        are dropped.
    dialect
        How pods ask for GPUs: alibaba, nvidia, amd, kai, hami, aliyun, volcano, koordinator, mig, dra; may be given
        again. Default: the configuration's, or all of them at once.
    config
        TOML file of `wattpack serve`: dialect, power profile, labels, own names of GPU models.
    strict
        Anything left out is an error: exit code 2, and nothing is written.
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
    check_folder(out, (*WRITTEN, *OTHERS), (*(file or []), kubeconfig, config, power))
    cluster = read_cluster_files(file) if file else asyncio.run(ask_cluster(kubeconfig))
    snapshot = take_snapshot(cluster.nodes, cluster.pods, reading, cluster.claims)
    snapshot.not_kept.note_empty(cluster.pod_groups)
    rename = hidden_names() if anonymise else plain_name
    if anonymise:
        snapshot = hide_words(snapshot, cluster, reading.known_models, rename)
    table = table_of(snapshot, rename, assumed_of_lists(cluster, bool(file)))
    if strict and (lost := losses(table)):
        raise UserError(f"--strict: {lost}; expected to understand everything")
    if not snapshot.nodes:
        print_table(table)
        raise UserError(f"none of {len(cluster.nodes)} nodes can be read, expected at least one")
    note_power(profile, power)
    write_snapshot(snapshot, make_folder(out), rename)
    write_nodes(out / NODES_JSON, [] if anonymise else cluster.nodes, snapshot)
    print_table(table)
    for name in (*WRITTEN, *OTHERS):
        if name in WRITTEN or (out / name).exists():
            print(f"wrote       {out / name}")
    if snapshot.not_understood:
        said = in_words(renamed(snapshot.not_understood, rename))
        note(f"{said}; these nodes take no tasks with GPUs")


def plain_name(kind: str, name: str) -> str:
    return name


def task_name(task: Task, rename: Rename) -> str:
    return rename("task", f"{task.pod.namespace}/{task.pod.name}")


def write_nodes(path: Path, nodes: Sequence[Node], snapshot: Snapshot) -> None:
    """The nodes of the files with their labels and taints; no file where their names are hidden."""
    if not nodes:
        path.unlink(missing_ok=True)  # of an earlier import
        return
    known = {node.name for node in snapshot.nodes}
    text = nodes_as_json(node for node in nodes if node.metadata.name in known)
    write_whole(path, lambda temporary: temporary.write_bytes(text))


def write_snapshot(snapshot: Snapshot, folder: Path, rename: Rename) -> None:
    nodes = [
        (rename("node", node.name), *node[1:6], access.pool, access.only, access.why, node.capacity_milli or "")
        for node in snapshot.nodes
        for access in [snapshot.access[node.name]]
    ]
    nodes.sort()  # the order of the file is the node order: by name, whatever the names are
    write_csv(folder / "nodes.csv", NODES, nodes)
    write_csv(folder / "tasks.csv", TASKS, [task_row(task, rename) for task in snapshot.tasks])
    write_csv(folder / "placements.csv", DECISIONS, [placement(task, rename) for task in snapshot.tasks])
    write_if_any(folder / LEFT_OUT, LEFT_OUT_COLUMNS, left_out_rows(snapshot, rename))
    others = renamed([*snapshot.not_understood, *snapshot.uncounted], rename)
    write_if_any(folder / NOT_UNDERSTOOD, NotUnderstood._fields, others)


def task_row(task: Task, rename: Rename) -> tuple[object, ...]:
    times = ["" if time is None else time for time in (task.created_s, task.deleted_s)]
    return (task_name(task, rename), *task.pod.task[:5], *times, task.pod.task.pool_spec)


def write_if_any(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    if rows:
        write_csv(path, header, rows)
    else:
        path.unlink(missing_ok=True)  # of an earlier import


def left_out_rows(snapshot: Snapshot, rename: Rename) -> list[tuple[str, str, str, str]]:
    """Kind, namespace, name and reason, in order; a new name stands for namespace and name of a pod together."""
    found = []
    for reason, names in snapshot.left_out.items():
        for kind, name in (what.split(" ", 1) for what in names):
            namespace, _, own = rename("node" if kind == "node" else "task", name).rpartition("/")
            found.append((kind, namespace, own, reason))
    return sorted(found)


def renamed(pods: Sequence[NotUnderstood], rename: Rename) -> list[NotUnderstood]:
    return [NotUnderstood(rename("task", pod), rename("node", n), what) for pod, n, what in pods]


def placement(task: Task, rename: Rename) -> tuple[str, str, str]:
    node = rename("node", task.pod.node) if task.pod.node else ""
    return task_name(task, rename), node, gpu_index_text(sum(1 << gpu for gpu in task.gpus))
