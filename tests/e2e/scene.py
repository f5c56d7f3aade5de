"""A small cluster with pods flowing through kube-scheduler and the service, a chaos proxy on each side of the service.

pods -> kube-scheduler -> before (proxy) -> wattpack serve -> behind (proxy) -> kube-apiserver
"""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from typing import Any

from e2e.api import ApiError, Json, wait_until
from e2e.audit import bindings, faults, gpus_allocated, pending
from e2e.chaos import ChaosProxy, Rule
from e2e.cluster import Cluster
from e2e.live_run import empty
from e2e.nodes_and_pods import node_object, pod_object
from e2e.pod_watch import PODS, PodWatch
from e2e.service import Service
from wattpack.model.tasks import TaskClass

NODES = 40  # with 4 GPUs each
PODS_IN_ALL = 160
PODS_A_SECOND = 40.0
LEASE_S = 2
MODELS = ("T4", "V100M16")
# 1 + 8 x 0.69 GPUs in 10 pods: 160 pods ask for 104 of 160 GPUs, and policies that pack fill single GPUs to the brim.
TASKS = (
    TaskClass(2000, 4096, 1, 500),
    TaskClass(1000, 2048, 1, 250),
    TaskClass(4000, 8192, 1, 1000),
    TaskClass(2000, 1024, 1, 750, "T4"),
    TaskClass(1000, 512, 0, 0),
    TaskClass(1000, 2048, 1, 300, "T4|V100M16"),
    TaskClass(8000, 16384, 2, 1000),
    TaskClass(500, 256, 1, 100),
    TaskClass(2000, 4096, 1, 600, "V100M16"),
    TaskClass(1000, 1024, 1, 500),
)
SETTLE_S = 90.0
SCHEDULER_LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/wattpack-scheduler"


class Scene:
    """Everything of one test; `with Scene(cluster) as scene`. The cluster is empty before and after."""

    own_devices = True  # kube-scheduler allocates resource claims

    def __init__(self, cluster: Cluster, name: str, **config: Any) -> None:
        self.cluster, self.name, self.api = cluster, name, cluster.admin
        self.config = {
            "policy": "fgd",
            "target": "default",
            "lease": {"name": name, "duration_s": LEASE_S},
            **config,
        }
        self.processes = cluster.processes
        self.created: list[str] = []
        self.deleted: set[str] = set()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Scene:
        with contextlib.ExitStack() as stack:
            stack.callback(self.empty)
            self.create_nodes()
            self.watch = stack.enter_context(PodWatch(self.api))
            self.behind, self.service, self.before = self._replica(stack, "a")
            self.service.start()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    # ---- what differs where pods ask for GPUs in another way

    def empty(self) -> None:
        empty(self.cluster)

    def create_nodes(self) -> None:
        self.api.create_many(
            "/api/v1/nodes", [node_object(f"n{i:03d}", 64000, 262144, 4, MODELS[i % 2]) for i in range(NODES)]
        )

    def pod(self, name: str, task: TaskClass) -> Json:
        return pod_object(name, task)

    def faults(self) -> list[str]:
        return faults(self.api)

    def gpus_held(self) -> float:
        return gpus_allocated(self.api)

    # ----

    def _replica(self, stack: contextlib.ExitStack, letter: str) -> tuple[ChaosProxy, Service, ChaosProxy]:
        behind = stack.enter_context(ChaosProxy(self.cluster.url, self.cluster.certificate))
        kubeconfig = self.cluster.kubeconfig(url=behind.url)
        service = Service(self.processes, kubeconfig, f"{self.name}-wattpack-{letter}", **self.config)
        before = stack.enter_context(ChaosProxy(service.url))
        stack.callback(self._end, service.name)
        return behind, service, before

    def second_replica(self) -> tuple[ChaosProxy, Service, ChaosProxy]:
        """Another service of the same configuration; it is not started."""
        return self._replica(self._stack, "b")

    def start_scheduler(self, letter: str = "a", url: str | None = None, leader_election: bool = False) -> str:
        name = f"{self.name}-scheduler-{letter}"
        self.cluster.start_scheduler(
            name, extender_url=url or self.before.url, leader_election=leader_election, own_devices=self.own_devices
        )
        self._stack.callback(self._end, name)
        return name

    def flow(self, count: int = PODS_IN_ALL) -> threading.Thread:
        """Create pods, one after the other, in a thread: a fault then comes in the middle of them."""
        start = len(self.created)
        names = [f"{self.name}-{i:04d}" for i in range(start, start + count)]

        def create() -> None:
            for i, name in enumerate(names, start):
                self._create_pod(name, TASKS[i % len(TASKS)])
                time.sleep(1 / PODS_A_SECOND)

        self.created += names
        thread = threading.Thread(target=create, name="flow", daemon=True)
        thread.start()
        return thread

    def wait_bound(self, count: int) -> None:
        wait_until(
            lambda: len(self.watch.bound_at) >= count, SETTLE_S, lambda: f"{count} pods are bound\n{self.logs()}"
        )

    def settle(self, flow: threading.Thread, service: Service | None = None, bound_once: bool = True) -> None:
        """All pods are bound, none twice, no GPU over 1000 milli, and the service counts what the cluster holds."""
        service = service or self.service
        flow.join(SETTLE_S)
        assert not flow.is_alive()
        expected = {name for name in self.created if name not in self.deleted}
        try:
            wait_until(lambda: pending(self.api) == [], SETTLE_S, "all pods are bound")
        except AssertionError as fault:
            raise AssertionError(f"{fault}, {len(pending(self.api))} are not\n{self.logs()}") from None
        assert {pod["metadata"]["name"] for pod in self.api.list(PODS)} >= expected
        found = self.faults()
        assert found == [], f"{found}\n{self.logs()}"
        assert self.watch.moved == []
        times = bindings(self.cluster)
        assert {name for name in expected if times[name] > 1} == set()
        if bound_once:  # where the apiserver was killed, its log may lack the last lines
            assert {name for name in expected if times[name] != 1} == set()
        held = self.gpus_held()
        wait_until(
            lambda: (
                abs(service.metrics()['wattpack_gpus{state="allocated"}'] - held) < 1e-6
                and service.metrics()["wattpack_reserved_pods"] == 0
            ),
            20,
            lambda: f"the service counts {held} GPUs as allocated and none as reserved: {service.metrics()}",
        )

    # ---- faults of pods with and without claims

    def kill_service(self, at: ChaosProxy, method: str, path: str, moment: str, times: int) -> None:
        """Kill the service `before` or `after` a request has passed the proxy, and start it again, so many times."""
        for _ in range(times):
            kill = Rule(method, path, times=1, skip=20, lose_answer=True)
            setattr(kill, moment, lambda path: self.service.kill())
            at.add(kill)
            assert kill.spent.wait(60)
            wait_until(lambda: not self.service.alive, 10, "the service is dead")
            self.service.start()

    def survive_apiserver(self) -> None:
        """Pods flow, and the apiserver is killed and comes back, twice."""
        self.start_scheduler()
        flow = self.flow()
        for bound in (30, 90):
            self.wait_bound(bound)
            self.cluster.restart_apiserver()
        assert self.service.alive, self.service.log
        self.settle(flow, bound_once=False)

    def two_replicas(self) -> tuple[str, Service]:
        """Two services with a scheduler each, of which the first leads: the name of that one, the other service."""
        _, other, other_before = self.second_replica()
        other.start()
        first = self.start_scheduler("a", leader_election=True)
        wait_until(lambda: self.api.request("GET", SCHEDULER_LEASE)[0] == 200, 30, "the first scheduler leads")
        self.start_scheduler("b", url=other_before.url, leader_election=True)
        return first, other

    # ----

    def _create_pod(self, name: str, task: TaskClass) -> None:
        """As a controller would: again and again while the apiserver is away."""
        deadline = time.monotonic() + SETTLE_S
        while True:
            try:
                self.api.create(PODS, self.pod(name, task))
                return
            except ApiError as fault:
                if fault.status == 409:
                    return
                if time.monotonic() > deadline:
                    raise
            except (OSError, http.client.HTTPException):
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.2)

    def _end(self, name: str) -> None:
        if self.processes.alive(name):
            self.processes.end(name)

    def logs(self) -> str:
        names = [f"{self.name}-wattpack-a", f"{self.name}-wattpack-b", f"{self.name}-scheduler-a"]
        return "\n".join(f"--- {name}\n{self.processes.log_end(name, 2500)}" for name in names)
