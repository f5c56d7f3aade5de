"""Pods of a Kubernetes cluster as a trace: running and finished ones, with when they were made, started and ended.

`wattpack import` is about the cluster as it is and leaves finished pods out; this is about what ran. The API server
forgets finished pods, so files that were written over weeks hold more than one that is written today.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import NamedTuple

import msgspec

from wattpack.datasets.formats.amounts import duration_between, is_missing, stamp_s
from wattpack.datasets.formats.format import Assumed, BadLine, Format, Job, NotATask
from wattpack.kube.import_files import objects_in
from wattpack.kube.objects import FAULTS, POD, Object, Pod, Unreadable
from wattpack.kube.read_pod import FINISHED, belongs_to_node, read_task
from wattpack.kube.reading import Reading

READING = Reading()
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


TIMES = msgspec.json.Decoder(PodTimes)


def records(path: Path) -> Iterator[tuple[int, TimedPod | BadLine]]:
    """The pods of a file; other objects are passed over."""
    for number, (_, kind, text) in enumerate(objects_in(path), 1):
        if kind != "Pod":
            continue
        try:
            yield number, TimedPod(POD.decode(text), TIMES.decode(text).status)
        except FAULTS as fault:
            yield number, BadLine(f"{fault}, expected a Pod")


def job(found: TimedPod, assumed: Assumed) -> Job:
    pod, times = found
    name = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if belongs_to_node(pod):
        raise NotATask("pods of DaemonSets and static pods")
    if is_missing(times.start_time):
        raise NotATask("pods that have not started")
    try:
        task = read_task(pod, READING)
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


FORMAT = Format(
    "kubernetes",
    "what `kubectl get pods -A -o json` prints: running and finished pods",
    (
        "a duration is the end of the last container - startTime; pods that still run never leave",
        "pods that have not started, of DaemonSets and static pods are no tasks",
        "pods of Deployments and StatefulSets are services, all others batch work; the class of service is qosClass",
        "GPUs are read in all dialects of `wattpack import`, shares by GPU memory excepted (they need the nodes)",
        "finished pods that the API server has forgotten are not there",
    ),
    records,
    job,
    counted="item",
)
