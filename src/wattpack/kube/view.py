"""What is known of the cluster under one configuration: objects as they are seen, read into the Live cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from wattpack.kube.config import Config
from wattpack.kube.eligible import eligible
from wattpack.kube.live import Live
from wattpack.kube.objects import Node, Pod, Unreadable
from wattpack.kube.translate import FINISHED, PodFacts, read_node, read_pod, smallest_gpu_memory_mib

log = logging.getLogger("wattpack")
PodChange = Callable[[PodFacts, Pod], None]


class View:
    """Nodes and pods, and the Live cluster made of them. One configuration, one view: a reload makes a new one."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.reading = config.reading()
        self.live = Live(config.mix(), config.profile(), config.given_target(), config.node_order, config.seed)
        self.nodes: dict[str, Node] = {}
        self.uids: dict[tuple[str, str], str] = {}  # namespace, name -> uid
        self.pods: dict[str, PodFacts] = {}  # by uid, those that are not finished
        self.unreadable_nodes: dict[str, str] = {}  # name -> why
        self.unreadable_pods: dict[str, str] = {}  # uid -> why
        self.blocking: dict[str, str] = {}  # uid of an unreadable pod -> the node it is on: nobody knows what it takes
        self.before_bound: PodChange | None = None  # told of a pod that others put on a node, before it is counted

    # ---- nodes

    def replace_nodes(self, nodes: list[Node]) -> None:
        """The whole list."""
        names = {node.metadata.name for node in nodes}
        for gone in set(self.nodes) - names:
            self.drop_node(gone)
        if self.reading.gpu_memory_mib == 0:
            self.reading = replace(self.reading, gpu_memory_mib=smallest_gpu_memory_mib(nodes, self.reading))
        for node in nodes:
            self.set_node(node)

    def change_node(self, event: str, node: Node) -> None:
        if event == "DELETED":
            self.drop_node(node.metadata.name)
        else:
            self.set_node(node)

    def set_node(self, node: Node) -> None:
        name = node.metadata.name
        self.nodes[name] = node
        try:
            facts = read_node(node, self.reading)
        except Unreadable as fault:
            if self.unreadable_nodes.get(name) != str(fault):
                log.warning("left out: %s", fault)
            self.unreadable_nodes[name] = str(fault)
            self.live.drop_node(name)
            return
        self.unreadable_nodes.pop(name, None)
        if name in self.blocking.values():
            self.unreadable_nodes[name] = "holds a pod that cannot be read: its GPUs may be in use"
            self.live.drop_node(name)
            return
        self.live.set_node(facts)

    def drop_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.unreadable_nodes.pop(name, None)
        self.live.drop_node(name)

    # ---- pods

    def replace_pods(self, pods: list[Pod]) -> None:
        """The whole list: pods that are not in it are gone, promised room or not."""
        there = {pod.metadata.uid for pod in pods}
        for gone in (set(self.pods) | set(self.live.placed)) - there:
            self.drop_pod(gone)
        for pod in pods:
            self.set_pod(pod)

    def change_pod(self, event: str, pod: Pod) -> None:
        if event == "DELETED":
            self.drop_pod(pod.metadata.uid)
        else:
            self.set_pod(pod)

    def read(self, pod: Pod) -> PodFacts:
        """The pod as a task; raises Unreadable."""
        return read_pod(pod, self.reading)

    def set_pod(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        try:
            facts = self.read(pod)
        except Unreadable as fault:
            if self.unreadable_pods.get(uid) != str(fault):
                log.warning("%s", fault)
            self.unreadable_pods[uid] = str(fault)
            self.block(uid, pod.spec.node_name if pod.status.phase not in FINISHED else "")
            return
        self.readable_again(uid)
        if facts.finished:
            self.drop_pod(uid)
            return
        known = self.pods.get(uid)
        self.pods[uid] = facts
        self.uids[facts.namespace, facts.name] = uid
        if facts.node and (known is None or not known.node) and self.before_bound is not None:
            self.before_bound(facts, pod)
        self.live.set_pod(facts)

    def drop_pod(self, uid: str) -> None:
        self.readable_again(uid)
        facts = self.pods.pop(uid, None)
        if facts is not None and self.uids.get((facts.namespace, facts.name)) == uid:
            del self.uids[facts.namespace, facts.name]
        self.live.drop_pod(uid)

    def block(self, uid: str, node: str) -> None:
        """An unreadable pod is on `node`: keep off it while that is so."""
        if node and self.blocking.get(uid) != node:
            self.blocking[uid] = node
            if node in self.nodes:
                self.set_node(self.nodes[node])

    def readable_again(self, uid: str) -> None:
        self.unreadable_pods.pop(uid, None)
        node = self.blocking.pop(uid, "")
        if node in self.nodes:
            self.set_node(self.nodes[node])

    # ---- questions

    def eligible_nodes(self, pod: Pod) -> list[str]:
        """Names of the readable nodes that Kubernetes would let the pod on."""
        return [name for name in self.live.nodes if eligible(pod, self.nodes[name])]

    def carry_over(self, old: View) -> None:
        """Keep what an earlier view has promised and the cluster does not show yet."""
        for uid, held in old.live.placed.items():
            if not held.seen and uid not in self.live.placed:
                self.live.promise(held.pod, held.node, held.gpus, held.since_s)
                self.live.placed[uid].bound = held.bound
