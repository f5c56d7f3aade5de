"""Pods of a Kubernetes cluster as a trace: running and finished ones, with when they were made, started and ended.

`wattpack import` is about the cluster as it is and leaves finished pods out; this is about what ran. The API server
forgets finished pods, so files that were written over weeks hold more than one that is written today.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from wattpack.datasets.csv_files import read_rows
from wattpack.datasets.formats.amounts import duration_between, is_missing, stamp_s
from wattpack.datasets.formats.format import Assumed, BadLine, Format, Job, NotATask
from wattpack.errors import UserError
from wattpack.kube.import_files import objects_in, read_cluster_files
from wattpack.kube.objects import FAULTS, POD, Object, Pod, Unreadable
from wattpack.kube.read_node import gpu_memories
from wattpack.kube.read_pod import FINISHED, belongs_to_node, read_task
from wattpack.kube.reading import Reading
from wattpack.kube.snapshot import take_snapshot

READING = Reading()
WITHOUT_NODES = (
    "tasks may go to every node that is open to all: the file has no nodes, which say where a pod may go (--nodes)"
)
SERVICES = ("ReplicaSet", "StatefulSet", "Deployment", "ReplicationController")  # owners of pods that are to stay


class Terminated(Object):
    finished_at: str | None = None


class ContainerState(Object):
    terminated: Terminated | None = None


class ContainerStatus(Object):
    state: ContainerState = msgspec.field(default_factory=ContainerState)


class TimesStatus(Object):
    start_time: str | None = None
    qos_class: str = ""
    container_statuses: list[ContainerStatus] = msgspec.field(default_factory=list)


class PodTimes(Object):
    """The fields of a pod that say when it ran; `Pod` has the others."""

    status: TimesStatus = msgspec.field(default_factory=TimesStatus)


class TimedPod(NamedTuple):
    pod: Pod
    times: TimesStatus
    reading: Reading  # with the GPU memory of the cluster's models, where its nodes are in the files
    model: str = ""  # of the GPUs of the node that it runs on
    pool_spec: str = ""  # where it may go


TIMES = msgspec.json.Decoder(PodTimes)


def records(
    path: Path, beside: Sequence[Path] = (), notes: list[str] | None = None
) -> Iterator[tuple[int, TimedPod | BadLine]]:
    """The pods of a file; other objects are passed over. `beside`: files with the nodes, where they are elsewhere.

    Pools are those that `wattpack import` gives the nodes of the same files: the pods of all of them tell nodes apart.
    """
    found: list[tuple[int, tuple[Pod, TimesStatus] | BadLine]] = []
    has_nodes = bool(beside)
    for number, (_, kind, text) in enumerate(objects_in(path), 1):
        has_nodes |= kind == "Node"
        if kind != "Pod":
            continue
        try:
            found.append((number, (POD.decode(text), TIMES.decode(text).status)))
        except FAULTS as fault:
            found.append((number, BadLine(f"{fault}, expected a Pod")))
    where = _where(path, beside) if has_nodes else None
    if where is None and notes is not None:
        notes.append(WITHOUT_NODES)
    for number, one in found:
        yield number, one if isinstance(one, BadLine) else _timed(*one, where)


class Where(NamedTuple):
    """The cluster that the pods ran in."""

    reading: Reading
    models: dict[str, str]  # node -> model of its GPUs
    pool_spec: dict[tuple[str, str], str]  # namespace, name -> pools of the pod


def _where(path: Path, beside: Sequence[Path]) -> Where:
    cluster = read_cluster_files(dict.fromkeys((*beside, path)), skip_bad_pods=True)  # they are refused by number
    snapshot = take_snapshot(cluster.nodes, cluster.pods, READING, cluster.claims)
    for file in beside:
        _check_pools(file.parent / "nodes.csv", {name: access.pool for name, access in snapshot.access.items()})
    reading = replace(READING, memories=gpu_memories(cluster.nodes, READING))
    return Where(reading, {node.name: node.model for node in snapshot.nodes}, snapshot.pool_spec)


def _check_pools(imported: Path, pools: Mapping[str, str]) -> None:
    """Whether the nodes file of an import, where one lies there, has these pools: by name they could be others."""
    if not imported.is_file():
        return
    for row in read_rows(imported, ("sn",), ("pool",)):
        name, there = row.text("sn"), row.text("pool")
        if pools.get(name, there) != there:
            raise UserError(
                f"{imported}: its pools are not those of these pods (node {name} is in {there or 'no pool'}, here in "
                f"{pools[name] or 'none'}), expected --nodes with the files that `wattpack import` has read"
            )


def _timed(pod: Pod, times: TimesStatus, where: Where | None) -> TimedPod:
    if where is None:
        return TimedPod(pod, times, READING)
    metadata = pod.metadata
    spec = where.pool_spec.get((metadata.namespace, metadata.name), "")
    return TimedPod(pod, times, where.reading, where.models.get(pod.spec.node_name, ""), spec)


def job(found: TimedPod, assumed: Assumed) -> Job:
    pod, times = found.pod, found.times
    name = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if belongs_to_node(pod):
        raise NotATask("pods of DaemonSets and static pods")
    if is_missing(times.start_time):
        raise NotATask("pods that have not started")
    try:
        task = read_task(pod, found.reading, found.model)._replace(pool_spec=found.pool_spec)
    except Unreadable as fault:
        raise BadLine(f"pod {name}: {fault}") from None
    created_s = stamp_s(pod.metadata.creation_timestamp, "creationTimestamp", UTC)
    duration_s = math.inf
    if pod.status.phase in FINISHED:
        duration_s = duration_between(stamp_s(times.start_time, "startTime", UTC), _finished_s(times))
    owners = {owner.kind for owner in pod.metadata.owner_references}
    is_service = not owners.isdisjoint(SERVICES)
    return Job(name, created_s, duration_s, ((task, 1),), True, not is_service, times.qos_class)


def _finished_s(times: TimesStatus) -> float:
    """When the last container ended."""
    ends = [status.state.terminated for status in times.container_statuses if status.state.terminated]
    found = [stamp_s(end.finished_at, "finishedAt", UTC) for end in ends if not is_missing(end.finished_at)]
    if not found:
        raise BadLine("a finished pod without finishedAt of a container")
    return max(found)


def format_beside(files: Sequence[Path]) -> Format:
    """The format where nodes, or pods that were written earlier, are in these files."""
    notes: list[str] = []
    return replace(FORMAT, records=partial(records, beside=files, notes=notes), notes=notes)


FORMAT = Format(
    "kubernetes",
    "what `kubectl get nodes,pods -A -o json` prints: running and finished pods",
    (
        "a duration is the end of the last container - startTime; pods that still run never leave",
        "pods that have not started, of DaemonSets and static pods are no tasks",
        "pods of Deployments and StatefulSets are services, all others batch work; the class of service is qosClass",
        "GPUs are read in all dialects of `wattpack import`; shares by GPU memory need the nodes",
        "where a pod may go (taints, node selectors, node affinity) needs the nodes: in the file itself, or with "
        "--nodes; pools are those that `wattpack import` gives the same files",
        "finished pods that the API server has forgotten are not there",
    ),
    records,
    job,
    counted="item",
)
