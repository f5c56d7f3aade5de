"""Nodes and pods as the watches show them, read by one configuration into the cluster under a policy."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wattpack.kube.claim_decision import decide_by_claims
from wattpack.kube.claim_pods import ClaimPods
from wattpack.kube.claim_view import ClaimView
from wattpack.kube.closed_nodes import UNKNOWN
from wattpack.kube.config import Config
from wattpack.kube.constraints import constraints_of, why_not
from wattpack.kube.decision import Decision
from wattpack.kube.decode import Skipped
from wattpack.kube.dialects.dra import DRA, reads_claims
from wattpack.kube.dialects.mig import MIG, mig_devices
from wattpack.kube.dialects.node_devices import node_count
from wattpack.kube.dra.allocate import Allocated
from wattpack.kube.dra.claims import Claims
from wattpack.kube.facts import PodFacts
from wattpack.kube.gpus import bits
from wattpack.kube.informer import READABLE
from wattpack.kube.not_understood import unknown_accelerators
from wattpack.kube.objects import Node, Pod, Unreadable
from wattpack.kube.read_claims import Usable, with_claims
from wattpack.kube.read_node import gpu_memories, read_node, with_slices
from wattpack.kube.read_pod import FINISHED, read_cpu_and_memory, read_pod
from wattpack.kube.reservations import Reservation

log = logging.getLogger("wattpack")
PodChange = Callable[[PodFacts, Pod], bool]


class View:
    """What is known of a cluster under one configuration; a reload of the configuration makes a new view."""

    def __init__(self, config: Config, claims: Claims | None = None) -> None:
        self.reading = config.reading()
        self.config, self.claims = config, claims  # None: claims are not watched, so any of them may be for GPUs
        self.reads_claims = claims is not None and reads_claims(self.reading.dialect)
        self.cluster = config.cluster()
        self.cluster.closed.choosing = config.mode == "choose"
        self.nodes: dict[str, Node] = {}
        self.uids: dict[tuple[str, str], str] = {}  # namespace, name -> uid
        self.pods: dict[str, PodFacts] = {}  # by uid; finished pods are not kept
        self.unreadable_nodes: dict[str, str] = {}  # name -> why
        self.unreadable_pods: dict[str, str] = {}  # uid -> why
        self.blocking: dict[str, str] = {}  # uid of a pod that is not understood -> its node: see `block`
        self.uncounted: set[str] = set()  # those of them whose CPU and memory cannot be read either
        self.early: dict[str, Pod] = {}  # pods on nodes of which more may be known later: read again with their node
        self.devices: dict[str, tuple[str, dict[str, int]]] = {}  # uid -> node, MIG devices that the pod holds there
        self.claim_pods = ClaimPods(self, claims) if isinstance(claims, ClaimView) else None
        if self.claim_pods is not None:
            self.cluster.ended = self.claim_pods.ended
        self.before_bound: PodChange | None = None  # called with a newly bound pod before it is counted; False: later

    # ---- nodes

    def replace_nodes(self, nodes: list[Node]) -> None:
        """The whole list."""
        names = {node.metadata.name for node in nodes}
        for gone in set(self.nodes) - names:
            self.remove_node(gone)
        if self.reading.gpu_memory_mib == 0:
            self.reading = replace(self.reading, memories=gpu_memories(nodes, self.reading))
        for node in nodes:
            self.update_node(node)

    def change_node(self, event: str, node: Node) -> None:
        if event == "DELETED":
            self.remove_node(node.metadata.name)
        else:
            self.update_node(node)

    def update_node(self, node: Node) -> None:
        name = node.metadata.name
        self.forget_devices(name, node)
        self.nodes[name] = node
        words = self.reading.dialect.words_of(node)
        try:
            facts = read_node(node, self.reading)
            if self.claims is not None and self.reads_claims and (offered := self.claims.inventory.gpus(name)).count:
                if facts.gpus:
                    raise Unreadable(
                        f"node {name}: offers GPUs in ResourceSlices and as resources, expected one of them"
                    )
                facts = with_slices(facts, offered, self.reading)
                words |= {DRA.name}
            self.cluster.closed.claim(name, DRA.name in words)
        except Unreadable as fault:
            if self.unreadable_nodes.get(name) != str(fault):
                log.warning("left out: %s", fault)
            self.unreadable_nodes[name] = str(fault)
            self.cluster.remove_node(name)
            return
        self.unreadable_nodes.pop(name, None)
        blocking = [uid for uid, there in self.blocking.items() if there == name]
        cut = MIG.on_node(node) and self.reading.dialect is not MIG
        self.cluster.closed.update(name, bool(blocking), cut, words)
        if not self.uncounted.isdisjoint(blocking):
            self.unreadable_nodes[name] = UNKNOWN
            self.cluster.remove_node(name)
            return
        if facts.model not in self.reading.memories and not self.reading.gpu_memory_mib:
            memories = {**gpu_memories([node], self.reading), **self.reading.memories}
            self.reading = replace(self.reading, memories=memories)
        self.cluster.update_node(facts)
        for pod in [pod for pod in self.early.values() if pod.spec.node_name == name]:
            self.update_pod(pod)

    def skip_node(self, event: str, one: Skipped) -> None:
        """A node that cannot be decoded takes no pods."""
        if event == READABLE:
            return  # it is shown next
        name = one.metadata.name
        self.remove_node(name)
        if event != "DELETED":
            self.unreadable_nodes[name] = f"node {name}: {one.why}"

    def forget_devices(self, name: str, node: Node | None) -> None:
        """What is kept of the devices that a node reaches is wrong if its labels change, or it comes or goes."""
        known = self.nodes.get(name)
        if self.claims is None or (known and node and known.metadata.labels == node.metadata.labels):
            return
        self.claims.inventory.forget_node(name)
        self.claims.forget_demands()

    def remove_node(self, name: str) -> None:
        self.forget_devices(name, None)
        self.nodes.pop(name, None)
        self.unreadable_nodes.pop(name, None)
        self.cluster.closed.remove(name)
        self.cluster.remove_node(name)

    # ---- pods

    def replace_pods(self, pods: list[Pod]) -> None:
        """The whole list: pods that were shown before and are not in it are gone.

        A pod that was never shown may be newer than the list: `settle.py` asks about its reservation.
        """
        known = self.pods.keys() | self.unreadable_pods.keys()
        for gone in known - {pod.metadata.uid for pod in pods}:
            self.remove_pod(gone)
        for pod in pods:
            self.update_pod(pod)

    def change_pod(self, event: str, pod: Pod) -> None:
        if event == "DELETED":
            self.remove_pod(pod.metadata.uid)
        else:
            self.update_pod(pod)

    def skip_pod(self, event: str, one: Skipped) -> None:
        """A pod that cannot be decoded: what it is known to hold stays, and the node that it names takes no pods."""
        if event == "DELETED" or one.phase in FINISHED:
            self.remove_pod(one.id)
            event = "DELETED"
        elif event != READABLE:
            self.unreadable_pods[one.id] = f"pod {one.metadata.namespace}/{one.metadata.name}: {one.why}"
        self.skip_holder(event, one)

    def skip_holder(self, event: str, one: Skipped) -> None:
        """Whatever is on a node, or holds devices of it, and cannot be decoded: the node takes no pods meanwhile."""
        is_there = event not in ("DELETED", READABLE)
        for node in one.nodes:
            holder = f"{one.id} on {node}"
            (self.uncounted.add if is_there else self.uncounted.discard)(holder)
            self.block(holder, node if is_there else "")

    def drop_promises(self, before_s: float, there: set[str]) -> None:
        """End promises made before a list was asked for to pods that are not in it: no Binding is under way."""
        for promise in self.cluster.reservations.promises():
            if promise.assumed_s < before_s and promise.pod.uid not in there:
                self.remove_pod(promise.pod.uid)

    def bare(self, pod: Pod) -> PodFacts:
        """The pod as a task without what it asks for by claims; raises Unreadable."""
        node = self.cluster.nodes.get(pod.spec.node_name)
        return read_pod(pod, self.reading, node.model if node else "")

    def read(self, pod: Pod) -> PodFacts:
        """The pod as a task; raises Unreadable."""
        facts = self.bare(pod)
        if self.claims is None or not self.reads_claims:
            return facts
        try:
            if self.claim_pods is not None:
                return self.claim_pods.read(pod, facts)
            return with_claims(pod, facts, self.claims, self.listed()).facts
        except Unreadable as fault:
            raise Unreadable(f"pod {facts.namespace}/{facts.name}: {fault}") from None

    def asked(self, pod: Pod) -> PodFacts:
        """A pod that need not exist as a task, with what its claims or their templates ask for; raises Unreadable."""
        if self.claim_pods is None:
            return self.read(pod)
        self.claim_pods.refresh()
        return with_claims(pod, self.bare(pod), self.claim_pods.claims, self.listed()).facts

    def listed(self) -> list[Node]:
        return list(self.nodes.values())

    def usable(self, pod: Pod, facts: PodFacts) -> Usable | None:
        """Nodes that can serve the pod's claims, with the GPUs that may be chosen; None: it has no claims."""
        if self.claims is None or not self.reads_claims:
            return None
        try:
            return with_claims(pod, facts, self.claims, self.listed()).usable
        except Unreadable:
            if self.claim_pods is None or not facts.node:
                raise
            return {facts.node: bits(facts.gpus or ())}  # a claim that is not shown yet: the pod stays where it is

    def update_pod(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        if pod.status.phase in FINISHED:  # it holds nothing, whether it can be read or not
            self.remove_pod(uid)
            return
        if pod.spec.node_name in self.nodes:
            self.early.pop(uid, None)
        elif pod.spec.node_name:
            self.early[uid] = pod
        if self.claim_pods is not None and pod.spec.resource_claims:
            self.claim_pods.note(pod)
        try:
            # What a waiting pod asks for by claims is read when it is decided: its claims may not be there yet.
            waits = self.claim_pods is not None and not pod.spec.node_name
            facts = self.bare(pod) if waits else self.read(pod)
            read = self.claims is not None and (self.reads_claims or not self.claims.hold_gpus(pod))
            if pod.spec.node_name and (unknown := unknown_accelerators(pod, self.reading.dialect, read)):
                raise Unreadable(f"pod {facts.namespace}/{facts.name}: asks for {', '.join(unknown)}, not understood")
        except Unreadable as fault:
            if self.unreadable_pods.get(uid) != str(fault):
                log.warning("%s", fault)
            self.unreadable_pods[uid] = str(fault)
            self.take_unreadable(pod)
            return
        known_why = self.unreadable_pods.get(uid)
        self.unblock(uid)
        if facts.doubt:  # counted as the most that it can hold, and named
            said = f"pod {facts.namespace}/{facts.name}: {facts.doubt}"
            if known_why != said:
                log.warning("%s", said)
            self.unreadable_pods[uid] = said
        if facts.node and (facts.doubt or (facts.holds and not self.reading.gpu_memories_mib)):
            self.early[uid] = pod  # its node may tell more later
        if facts.node and (devices := mig_devices(pod)):
            self.devices[uid] = facts.node, devices
        known = self.pods.get(uid)
        self.pods[uid] = facts
        self.uids[facts.namespace, facts.name] = uid
        newly = facts.node != "" and (known is None or not known.node)
        if newly and self.before_bound is not None and not self.before_bound(facts, pod):
            self.pods[uid] = facts._replace(node="")
            return
        self.cluster.update_pod(facts)

    def take_unreadable(self, pod: Pod) -> None:
        """Count the CPU and memory of a pod that is not understood; its node takes no pods with GPUs meanwhile."""
        metadata, node = pod.metadata, pod.spec.node_name
        try:
            task = read_cpu_and_memory(pod)
            self.uncounted.discard(metadata.uid)
        except Unreadable:
            self.uncounted.add(metadata.uid)
            self.block(metadata.uid, node)
            return
        self.block(metadata.uid, node)
        facts = PodFacts(
            *(metadata.uid, metadata.namespace, metadata.name, task, node, None, False),
            *(pod.spec.scheduler_name, metadata.creation_timestamp or ""),
        )
        if node:
            self.pods[metadata.uid] = facts
            self.uids[facts.namespace, facts.name] = metadata.uid
            self.cluster.update_pod(facts)

    def remove_pod(self, uid: str) -> None:
        self.early.pop(uid, None)
        self.devices.pop(uid, None)
        if self.claims is not None:
            self.claims.forget_pod(uid)
        self.unblock(uid)
        facts = self.pods.pop(uid, None)
        if facts is not None and self.uids.get((facts.namespace, facts.name)) == uid:
            del self.uids[facts.namespace, facts.name]
        self.cluster.remove_pod(uid)
        if self.claim_pods is not None:
            self.claim_pods.forget(uid)

    def block(self, uid: str, node: str) -> None:
        """A pod that is not understood is on `node`: pods with GPUs do not go there while it is there.

        "": it is on no node.
        """
        before = self.blocking.pop(uid, "")
        if node:
            self.blocking[uid] = node
        if before != node:
            for changed in (before, node):
                if changed in self.nodes:
                    self.update_node(self.nodes[changed])

    def unblock(self, uid: str) -> None:
        """The pod can be read, or is gone."""
        self.unreadable_pods.pop(uid, None)
        self.uncounted.discard(uid)
        self.block(uid, "")

    # ---- decisions

    def decide(
        self, pod: PodFacts, offered: NDArray[np.int64], shown: Pod
    ) -> tuple[Decision | None, PodFacts, Allocated]:
        """A node and GPUs among the nodes offered, for the pod as it was decided, and the devices of its claims."""
        if self.claim_pods is None or not pod.claims:
            return self.cluster.decide(pod, offered), pod, {}
        return decide_by_claims(self.claim_pods, shown, offered)

    def assume(self, pod: PodFacts, decision: Decision, devices: Allocated) -> Reservation:
        """Reserve what was decided, until the cluster shows the pod there or the reservation ends."""
        reservation = self.cluster.assume(pod, decision.node, decision.gpus, time.monotonic())
        if self.claim_pods is not None and devices:
            self.claim_pods.claims.promise(pod.uid, decision.node, devices)
        return reservation

    # ---- questions

    def eligible_nodes(self, pod: Pod, facts: PodFacts) -> list[str]:
        """Names of the readable nodes that Kubernetes would allow for the pod; `facts`: of the pod as it is asked."""
        return [name for name, why in self.why_not(pod, facts).items() if why == ""]

    def why_not(self, pod: Pod, facts: PodFacts) -> dict[str, str]:
        """By readable node: what keeps the pod off it by Kubernetes' own filters; "" if nothing does."""
        constraints, devices, words = constraints_of(pod, facts.dialect), mig_devices(pod), self.cluster.closed.words
        usable = self.usable(pod, facts) if facts.dialect == DRA.name else None
        found = {}
        for name in self.cluster.nodes:
            found[name] = why_not(constraints, self.nodes[name], words.get(name, frozenset()))
            if found[name] == "" and devices and not self.has_devices(name, devices):
                found[name] = "no free MIG device of this size"
            if found[name] == "" and usable is not None and name not in usable:
                found[name] = "no devices that serve its claims"
        return found

    def has_devices(self, node: str, wanted: dict[str, int]) -> bool:
        """Whether the node has that many MIG devices that no pod holds."""
        held = [held for there, held in self.devices.values() if there == node]
        return all(
            (node_count(self.nodes[node], name) or 0) - sum(one.get(name, 0) for one in held) >= count
            for name, count in wanted.items()
        )
