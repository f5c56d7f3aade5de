"""Nodes and pods as the watches show them, read by one configuration into the cluster under a policy."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from wattpack.kube.config import Config
from wattpack.kube.eligible import eligible
from wattpack.kube.facts import PodFacts
from wattpack.kube.objects import Node, Pod, Unreadable
from wattpack.kube.read_node import read_node, smallest_gpu_memory_mib
from wattpack.kube.read_pod import FINISHED, read_pod

log = logging.getLogger("wattpack")
PodChange = Callable[[PodFacts, Pod], None]


class View:
    """What is known of a cluster under one configuration; a reload of the configuration makes a new view."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.reading = config.reading()
        self.cluster = config.cluster()
        self.nodes: dict[str, Node] = {}
        self.uids: dict[tuple[str, str], str] = {}  # namespace, name -> uid
        self.pods: dict[str, PodFacts] = {}  # by uid; finished pods are not kept
        self.unreadable_nodes: dict[str, str] = {}  # name -> why
        self.unreadable_pods: dict[str, str] = {}  # uid -> why
        self.blocking: dict[str, str] = {}  # uid of an unreadable pod -> its node, which is not used: see `block`
        self.before_bound: PodChange | None = None  # called with a newly bound pod before the cluster counts it

    # ---- nodes

    def replace_nodes(self, nodes: list[Node]) -> None:
        """The whole list."""
        names = {node.metadata.name for node in nodes}
        for gone in set(self.nodes) - names:
            self.remove_node(gone)
        if self.reading.gpu_memory_mib == 0:
            self.reading = replace(self.reading, gpu_memory_mib=smallest_gpu_memory_mib(nodes, self.reading))
        for node in nodes:
            self.update_node(node)

    def change_node(self, event: str, node: Node) -> None:
        if event == "DELETED":
            self.remove_node(node.metadata.name)
        else:
            self.update_node(node)

    def update_node(self, node: Node) -> None:
        name = node.metadata.name
        self.nodes[name] = node
        try:
            facts = read_node(node, self.reading)
        except Unreadable as fault:
            if self.unreadable_nodes.get(name) != str(fault):
                log.warning("left out: %s", fault)
            self.unreadable_nodes[name] = str(fault)
            self.cluster.remove_node(name)
            return
        self.unreadable_nodes.pop(name, None)
        if name in self.blocking.values():
            self.unreadable_nodes[name] = "holds a pod that cannot be read: its GPUs may be in use"
            self.cluster.remove_node(name)
            return
        self.cluster.update_node(facts)

    def remove_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.unreadable_nodes.pop(name, None)
        self.cluster.remove_node(name)

    # ---- pods

    def replace_pods(self, pods: list[Pod]) -> None:
        """The whole list: pods that are not in it are gone, whether they have a reservation or not."""
        there = {pod.metadata.uid for pod in pods}
        known = set(self.pods) | set(self.unreadable_pods) | self.cluster.reservations.uids()
        for gone in known - there:
            self.remove_pod(gone)
        for pod in pods:
            self.update_pod(pod)

    def change_pod(self, event: str, pod: Pod) -> None:
        if event == "DELETED":
            self.remove_pod(pod.metadata.uid)
        else:
            self.update_pod(pod)

    def read(self, pod: Pod) -> PodFacts:
        """The pod as a task; raises Unreadable."""
        return read_pod(pod, self.reading)

    def update_pod(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        if pod.status.phase in FINISHED:  # it holds nothing, whether it can be read or not
            self.remove_pod(uid)
            return
        try:
            facts = self.read(pod)
        except Unreadable as fault:
            if self.unreadable_pods.get(uid) != str(fault):
                log.warning("%s", fault)
            self.unreadable_pods[uid] = str(fault)
            self.block(uid, pod.spec.node_name)
            return
        self.unblock(uid)
        known = self.pods.get(uid)
        self.pods[uid] = facts
        self.uids[facts.namespace, facts.name] = uid
        if facts.node and (known is None or not known.node) and self.before_bound is not None:
            self.before_bound(facts, pod)
        self.cluster.update_pod(facts)

    def remove_pod(self, uid: str) -> None:
        self.unblock(uid)
        facts = self.pods.pop(uid, None)
        if facts is not None and self.uids.get((facts.namespace, facts.name)) == uid:
            del self.uids[facts.namespace, facts.name]
        self.cluster.remove_pod(uid)

    def block(self, uid: str, node: str) -> None:
        """An unreadable pod is on `node`. What it takes is not known: the node is not used while the pod is there.

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
        self.block(uid, "")

    # ---- questions

    def eligible_nodes(self, pod: Pod) -> list[str]:
        """Names of the readable nodes that Kubernetes would allow for the pod."""
        return [name for name in self.cluster.nodes if eligible(pod, self.nodes[name])]
