"""What pods ask of a scheduler and our files cannot say: counted and named by `wattpack import`.

Gangs start together or not at all, gated pods wait for somebody, affinity between pods and hard topology spread look
at other pods, priorities let one task evict another, and a pod of another scheduler follows its rules. Our runs place
tasks one by one and know none of this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from wattpack.kube.facts import PodFacts
from wattpack.kube.objects import Metadata, Pod

GATED = "gated"
AFFINITY = "affinity"
SPREAD = "spread"
PRIORITY = "priority"
SCHEDULER = "scheduler"
OWN_SCHEDULERS = ("", "default-scheduler")

# The name of the gang of a pod: labels and annotations, with who reads them. The first that a pod has counts.
GANGS = {
    "scheduling.k8s.io/group-name": "Volcano",
    "scheduling.volcano.sh/group-name": "Volcano",
    "scheduling.x-k8s.io/pod-group": "coscheduling",
    "pod-group.scheduling.sigs.k8s.io/name": "coscheduling",
    "pod-group.scheduling.sigs.k8s.io": "coscheduling",
    "gang.scheduling.koordinator.sh/name": "Koordinator",
    "pod-group-name": "KAI",
    "yunikorn.apache.org/task-group-name": "YuniKorn",
    "kueue.x-k8s.io/pod-group-name": "Kueue",
    "kueue.x-k8s.io/workload": "Kueue",
    "jobset.sigs.k8s.io/jobset-name": "JobSet",
    "leaderworkerset.sigs.k8s.io/group-key": "LeaderWorkerSet",
    "training.kubeflow.org/job-name": "Kubeflow",
}
BY_WORKLOAD = "Kubernetes"  # `workloadRef` or `schedulingGroup` in the pod itself
WORKLOAD_KEYS = ("name", "podGroup", "podGroupReplicaKey", "podGroupName")


@dataclass
class NotKept:
    """Pods by what is not kept of them, and gangs by who reads them."""

    pods: dict[str, list[str]] = field(default_factory=dict)  # one of the words above -> NAMESPACE/NAME
    gangs: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)  # who, namespace, name -> pods
    priorities: Counter[str] = field(default_factory=Counter)  # class, or the number -> pods
    schedulers: Counter[str] = field(default_factory=Counter)
    empty_gangs: int = 0  # PodGroups of which no pod is a task

    def note_empty(self, groups: Iterable[tuple[str, str]]) -> None:
        """`groups`: namespace and name of the PodGroups that are there."""
        seen = {(namespace, name) for _, namespace, name in self.gangs}
        self.empty_gangs = len(set(groups) - seen)

    def note(self, what: str, facts: PodFacts) -> None:
        self.pods.setdefault(what, []).append(f"{facts.namespace}/{facts.name}")


def note_pod(found: NotKept, facts: PodFacts, pod: Pod) -> None:
    """Note what files cannot say of a pod that is a task."""
    name, spec = f"{facts.namespace}/{facts.name}", pod.spec
    if (gang := gang_of(pod)) is not None:
        found.gangs.setdefault((gang[0], facts.namespace, gang[1]), []).append(name)
    affinity = spec.affinity
    sides = () if affinity is None else (affinity.pod_affinity, affinity.pod_anti_affinity)
    if any(side is not None and side.required_during_scheduling_ignored_during_execution for side in sides):
        found.note(AFFINITY, facts)
    if any(one.when_unsatisfiable in ("", "DoNotSchedule") for one in spec.topology_spread_constraints):
        found.note(SPREAD, facts)
    if spec.priority or spec.priority_class_name:
        found.note(PRIORITY, facts)
        found.priorities[spec.priority_class_name or str(spec.priority)] += 1
    if spec.scheduler_name not in OWN_SCHEDULERS:
        found.note(SCHEDULER, facts)
        found.schedulers[spec.scheduler_name] += 1


def gang_of(pod: Pod) -> tuple[str, str] | None:
    """Who reads the gang of the pod, and the name of the gang; None: it is in none."""
    for own in (pod.spec.scheduling_group, pod.spec.workload_ref):
        parts = [] if own is None else [own.get(key) for key in WORKLOAD_KEYS]
        if name := "/".join(part for part in parts if isinstance(part, str) and part):
            return BY_WORKLOAD, name
    for word, who in GANGS.items():
        if name := _said(pod.metadata, word):
            return who, name
    return None


def _said(metadata: Metadata, word: str) -> str:
    return metadata.labels.get(word) or metadata.annotations.get(word) or ""
