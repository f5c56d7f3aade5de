"""A cluster whose nodes can sleep: nodes with BMCs of the real emulator, kubelets that follow its power states, the
service with a `[sleep]` section, and kube-scheduler.

pods -> kube-scheduler -> wattpack serve -> kube-apiserver <- kubelets <- emulator <- wattpack serve
"""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

from e2e.api import Api, ApiError, Json, wait_until
from e2e.audit import faults
from e2e.chaos import ChaosProxy
from e2e.cluster import Cluster
from e2e.emulator import BMC, Emulator
from e2e.kubelets import Kubelets
from e2e.live_run import empty
from e2e.nodes_and_pods import node_object, pod_object
from e2e.pod_watch import PODS, PodWatch
from e2e.service import Service
from wattpack.model.tasks import TaskClass

RECORD, TAINT = "wattpack.io/sleep", "wattpack.io/asleep"
POOL = {"pool": "gpu"}
GPUS = 4
POWER_DELAY_S, BOOT_S = 0.5, 1.0
LEASE_S = 2
WAIT_S = 60.0
WHOLE = TaskClass(8000, 16384, GPUS, 1000)  # takes all GPUs of a node
HALF = TaskClass(2000, 4096, 1, 500)


class SleepScene:
    """`with SleepScene(cluster, name, nodes=3, floor=0) as scene`. The cluster is empty before and after."""

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        nodes: int = 3,
        policy: str = "fgd",
        delay_s: float | None = POWER_DELAY_S,
        redfish: dict[str, Any] | None = None,
        namespace: str = "kube-system",
        **sleep: Any,
    ) -> None:
        self.cluster, self.name, self.api, self.processes = cluster, name, cluster.admin, cluster.processes
        self.nodes = [f"{name}-{i:03d}" for i in range(nodes)]
        self.policy, self.delay_s, self.redfish = policy, delay_s, redfish or {}
        self.namespace = namespace
        self.sleep = {"mode": "act", "nodes": "pool=gpu", "reserve": 0, "idle": "1s", "at_most": nodes, "floor": 0}
        self.sleep |= {"per_hour": 100_000, "power": "redfish", "binding_timeout": "5s", **sleep}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> SleepScene:
        with contextlib.ExitStack() as stack:
            stack.callback(empty, self.cluster)
            self.kubelets = stack.enter_context(Kubelets(self.api, BOOT_S))
            self.emulator = Emulator(self.processes, self.nodes, self.delay_s, notify=self.kubelets.url)
            stack.callback(self._end, "emulator")
            self.emulator.start()
            self.kubelets.follow(self.emulator)
            self.api.create_many("/api/v1/nodes", [self.node_object(node) for node in self.nodes])
            self.watch = stack.enter_context(PodWatch(self.api))
            self.behind, self.service = self._replica(stack, "a")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def node_object(self, node: str) -> Json:
        made = node_object(node, 64000, 262144, GPUS, "T4")
        made["metadata"]["labels"] |= POOL
        made["metadata"]["annotations"] = {BMC: self.emulator.address(node)}
        return made

    def config(self, **changes: Any) -> dict[str, Any]:
        credentials = str(self.emulator.write_credentials())
        redfish = {
            "annotation": BMC,
            "hosts": ["127.0.0.1"],
            "credentials": credentials,
            "timeout_s": 3,
            **self.redfish,
        }
        return {
            "policy": self.policy,
            "target": "default",
            "lease": {"namespace": self.namespace, "name": self.name, "duration_s": LEASE_S},
            "sleep": {**self.sleep, **changes},
            "sleep.redfish": redfish,
        }

    def _replica(self, stack: contextlib.ExitStack, letter: str) -> tuple[ChaosProxy, Service]:
        behind = stack.enter_context(ChaosProxy(self.cluster.url, self.cluster.certificate))
        kubeconfig = self.cluster.kubeconfig(url=behind.url)
        service = Service(self.processes, kubeconfig, f"{self.name}-wattpack-{letter}", **self.config())
        stack.callback(self._end, service.name)
        return behind, service

    def second_replica(self) -> tuple[ChaosProxy, Service]:
        """Another service of the same configuration; it is not started."""
        return self._replica(self._stack, "b")

    def start_scheduler(self) -> None:
        name = f"{self.name}-scheduler"
        self.cluster.start_scheduler(name, extender_url=self.service.url)
        self._stack.callback(self._end, name)

    # ---- what a test does and sees

    def create_pod(self, name: str, task: TaskClass = WHOLE, **annotations: str) -> None:
        pod = pod_object(name, task)
        pod["metadata"]["annotations"] |= annotations
        self.api.create(PODS, pod)

    def node(self, node: str) -> Json:
        return self.api.get(f"/api/v1/nodes/{node}")

    def record(self, node: str) -> Json | None:
        return record_of(self.node(node))

    def states(self) -> dict[str, str]:
        """The state of each node as its record says; awake where there is none."""
        found = {node["metadata"]["name"]: record_of(node) for node in self.api.list("/api/v1/nodes")}
        return {name: record["state"] if record else "awake" for name, record in found.items()}

    def wait_states(self, wanted: dict[str, int], timeout_s: float = WAIT_S) -> None:
        """Until so many nodes are in each state."""

        def reached() -> bool:
            states = list(self.states().values())
            return all(states.count(state) == count for state, count in wanted.items())

        try:
            wait_until(reached, timeout_s, f"{wanted}")
        except AssertionError as fault:
            raise AssertionError(f"{fault}; it is {self.states()}\n{self.service.log}") from None

    def wait_bound(self, *pods: str, timeout_s: float = WAIT_S) -> None:
        try:
            wait_until(lambda: set(pods) <= self.watch.bound_at.keys(), timeout_s, f"{pods} are bound")
        except AssertionError as fault:
            raise AssertionError(f"{fault}; {self.states()}\n{self.service.log}") from None

    def all_asleep(self) -> None:
        self.wait_states({"asleep": len(self.nodes)})
        assert [self.emulator.power(node) for node in self.nodes] == ["Off"] * len(self.nodes)

    def settle(self) -> None:
        """At the end of every test: nothing is tainted, cordoned or off without a record that says why and how to undo
        it, and no GPU holds too much."""
        assert unexplained(self.api, self.emulator) == []
        assert faults(self.api) == []
        assert self.watch.moved == []

    def _end(self, name: str) -> None:
        if self.processes.alive(name):
            self.processes.end(name)


def record_of(node: Json) -> Json | None:
    text = (node["metadata"].get("annotations") or {}).get(RECORD)
    record: Json | None = None if text is None else json.loads(text)
    return record


def unexplained(api: Api, emulator: Emulator | None = None) -> list[str]:
    """Nodes that are marked, or whose machine is off, without a record that says why and how to undo it."""
    found = []
    for node in api.list("/api/v1/nodes"):
        name, spec, record = node["metadata"]["name"], node["spec"], record_of(node)
        marked = spec.get("unschedulable") or any(taint["key"] == TAINT for taint in spec.get("taints") or [])
        if marked and not explains(record, name):
            found.append(f"{name}: marked, record {record}")
        if emulator is not None and emulator.power(name) == "Off" and is_off_unexplained(api, emulator, name):
            found.append(f"{name}: off, record {record_of(api.get(f'/api/v1/nodes/{name}'))}")
    return found


def explains(record: Json | None, name: str) -> bool:
    return record is not None and bool(record["why"]) and name in record["undo"]


def is_off_unexplained(api: Api, emulator: Emulator, name: str) -> bool:
    """A node may wake between two questions, and its record goes: off again right after there was none is a fault.

    From a mark to a machine that is off takes 5 s at least, more than lies between these two questions.
    """
    without = not explains(record_of(api.get(f"/api/v1/nodes/{name}")), name)
    return without and emulator.power(name) == "Off"


def delete_pod(api: Api, name: str) -> None:
    try:
        api.delete(f"{PODS}/{name}")
    except ApiError as fault:
        if fault.status != 404:
            raise


def elapsed_s(since: float) -> float:
    return time.monotonic() - since
