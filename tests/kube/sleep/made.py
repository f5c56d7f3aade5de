"""A cluster in memory whose machines have switches: nodes follow their power, clocks are moved by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from kube.api_in_memory import InMemory, asked, started, to_bind
from wattpack.kube.client import ApiError
from wattpack.kube.objects import Node, Pod
from wattpack.kube.service import Service
from wattpack.kube.sleep.config import SleepConfig
from wattpack.kube.sleep.keeper import Keeper
from wattpack.kube.sleep.record import RECORD, TAINT, Record, is_marked, record_of
from wattpack.kube.sleep.states import State
from wattpack.kube.switches.switch import Machine, Power, Sure, SwitchError
from wattpack.kube.wire import FilterAnswer

POOL = "pool=gpu"


class Killed(BaseException):
    """The process ends here."""


class Machines:
    """A switch, and the machines behind it. `stuck`: machines that stay as they are; `lying`: they say they are on."""

    def __init__(self) -> None:
        self.on: dict[str, bool] = {}
        self.stuck: set[str] = set()
        self.lying: set[str] = set()
        self.away = False
        self.changing: set[str] = set()  # the order is accepted, the machine has not followed yet
        self.slow = False
        self.orders: list[tuple[str, str]] = []
        self.kill_at = ""  # "off" or "on": the process ends when this order would be sent
        self.before_off: Callable[[], None] = lambda: None  # what happens while the switch prepares its order
        self.hangs_s = 0.0  # how long it prepares, on the real clock

    async def read(self, machine: Machine) -> Power:
        self.answer(machine)
        if machine.node in self.lying:
            return Power.ON
        if machine.node in self.changing:
            return Power.CHANGING
        return Power.ON if self.on[machine.node] else Power.OFF

    async def turn_off(self, machine: Machine, sure: Sure) -> None:
        await self.meanwhile()
        await sure()
        self.order(machine, "off")

    async def turn_on(self, machine: Machine) -> None:
        self.order(machine, "on")

    async def close(self) -> None:
        pass

    async def meanwhile(self) -> None:
        self.before_off()
        if self.hangs_s:
            await asyncio.sleep(self.hangs_s)

    def order(self, machine: Machine, what: str) -> None:
        if self.kill_at == what:
            raise Killed
        self.answer(machine)
        self.orders.append((what, machine.node))
        if machine.node in self.stuck | self.lying:
            return
        if self.slow:
            self.changing.add(machine.node)
        else:
            self.on[machine.node] = what == "on"

    def answer(self, machine: Machine) -> None:
        if self.away:
            raise SwitchError(f"{machine.node}: no answer")


class Api(InMemory):
    """Nodes with versions, taints and cordons; evictions; a namespace with labels."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 10
        self.labels: dict[str, str] = {}  # of the namespace
        self.away = False
        self.budget_refuses = False
        self.evicted: list[str] = []
        self.slices: list[dict[str, Any]] = []
        self.patches: list[str] = []  # state written, or "" for a record that was erased
        self.kill_after = 0  # the process ends after this many patches from now
        self.claims: list[dict[str, Any]] = []
        self.claim_versions = ["v1"]  # of resource.k8s.io that are served
        self.live_fault: ApiError | None = None  # why pods and claims cannot be listed
        self.live_answer: bytes | None = None  # what a proxy answers in place of a list
        self.page = 500  # objects on one page
        self.before_live: Callable[[], None] = lambda: None  # what happens right before a live list

    async def call(self, method: str, path: str, body: Any = None, timeout_s: float | None = None) -> bytes:
        if self.away:
            raise ApiError(0, "no answer")
        if method == "PATCH" and path.startswith("/api/v1/nodes/"):
            return self.patch(path.rsplit("/", 1)[1], body)
        if method == "GET" and path.startswith("/api/v1/namespaces/") and path.count("/") == 4:
            return msgspec.json.encode({"metadata": {"labels": self.labels}})
        if method == "GET" and path.startswith("/api/v1/pods?fieldSelector="):
            return self.live_list("PodList", path, list(self.pods.values()))
        if path.startswith("/apis/resource.k8s.io"):
            return self.resources(path)
        if path.endswith("/eviction"):
            name = body["metadata"]["name"]
            if self.budget_refuses:
                raise ApiError(429, "Cannot evict pod as it would violate the pod's disruption budget.")
            self.evicted.append(name)
            del self.pods[name]
            return b"{}"
        return await super().call(method, path, body, timeout_s)

    def resources(self, path: str) -> bytes:
        """The group resource.k8s.io."""
        parts = urlsplit(path).path.split("/")[3:]
        if not parts and self.claim_versions:
            versions = [{"groupVersion": f"resource.k8s.io/{one}", "version": one} for one in self.claim_versions]
            return msgspec.json.encode({"kind": "APIGroup", "versions": versions})
        if not parts or parts[0] not in self.claim_versions:
            raise ApiError(404, "the server could not find the requested resource")
        if parts[1:] == ["resourceclaims"]:
            return self.live_list("ResourceClaimList", path, self.claims)
        items = self.slices if parts[1:] == ["resourceslices"] else []
        return msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": items})

    def live_list(self, kind: str, path: str, objects: list[dict[str, Any]]) -> bytes:
        """The newest objects, page by page, as an API server answers where no resourceVersion is asked for."""
        self.before_live()
        if self.live_fault is not None:
            raise self.live_fault
        if self.live_answer is not None:
            return self.live_answer
        asked = parse_qs(urlsplit(path).query)
        assert "resourceVersion" not in asked, "a list at a version may be answered from a cache"
        for key, _, value in (wish.partition("=") for wish in asked.get("fieldSelector", [])):
            assert key == "spec.nodeName"
            objects = [one for one in objects if one["spec"].get("nodeName") == value]
        start = int(asked.get("continue", ["0"])[0])
        end = start + min(self.page, int(asked["limit"][0]))
        metadata = {"resourceVersion": str(self.version), "continue": str(end) if end < len(objects) else ""}
        return msgspec.json.encode({"kind": kind, "metadata": metadata, "items": objects[start:end]})

    def patch(self, name: str, body: Any) -> bytes:
        node = self.nodes[name]
        if body["metadata"]["resourceVersion"] != node["metadata"]["resourceVersion"]:
            raise ApiError(409, "the object has been modified")
        annotations = node["metadata"].setdefault("annotations", {})
        for key, value in body["metadata"].get("annotations", {}).items():
            if value is None:
                annotations.pop(key, None)
            else:
                annotations[key] = value
        if RECORD in body["metadata"].get("annotations", {}):
            text = body["metadata"]["annotations"][RECORD]
            self.patches.append(msgspec.json.decode(text)["state"] if text else "")
        node["spec"].update(body.get("spec", {}))
        self.changed(name)
        if self.kill_after == 1:
            raise Killed
        self.kill_after -= self.kill_after > 0
        return msgspec.json.encode(node)

    def changed(self, name: str) -> None:
        self.version += 1
        self.nodes[name]["metadata"]["resourceVersion"] = str(self.version)

    # ---- what a test sets up

    def add_machine(self, name: str, gpus: int = 2, model: str = "T4", pool: str = "gpu") -> None:
        self.add_node(name, gpus, model)
        self.nodes[name]["metadata"]["labels"]["pool"] = pool
        self.nodes[name]["metadata"]["uid"] = f"uid-{name}"
        self.nodes[name]["spec"] = {"unschedulable": False, "taints": []}
        self.nodes[name]["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastHeartbeatTime": "0"}]
        self.changed(name)

    def offer_by_claims(self, name: str, gpus: int = 2) -> None:
        """The node's GPUs are in a ResourceSlice instead of its resources."""
        del self.nodes[name]["status"]["allocatable"]["alibabacloud.com/gpu-count"]
        attributes = {"type": {"string": "gpu"}, "productName": {"string": "T4"}}
        devices = [{"name": f"gpu-{number}", "attributes": attributes} for number in range(gpus)]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "gpu.nvidia.com", "nodeName": name, "pool": pool, "devices": devices}
        self.slices.append({"metadata": {"name": name, "resourceVersion": "1"}, "spec": spec})

    def add_claim(self, name: str, node: str, *consumers: str) -> None:
        """A claim that is allocated on the node, and for which pods (by uid) it is reserved."""
        wish = {"key": "metadata.name", "operator": "In", "values": [node]}
        allocation = {
            "devices": {"results": [{"request": "r", "driver": "nic.example", "pool": node, "device": "nic-0"}]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [wish]}]},
        }
        reserved = [{"resource": "pods", "name": uid.removeprefix("uid-"), "uid": uid} for uid in consumers]
        metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "1"}
        self.claims.append({"metadata": metadata, "status": {"allocation": allocation, "reservedFor": reserved}})

    def taint(self, name: str, key: str) -> None:
        self.nodes[name]["spec"]["taints"].append({"key": key, "effect": "NoSchedule"})
        self.changed(name)

    def annotate(self, name: str, key: str, value: str) -> None:
        self.nodes[name]["metadata"].setdefault("annotations", {})[key] = value
        self.changed(name)

    def node(self, name: str) -> Node:
        return msgspec.convert(self.nodes[name], Node)


class World:
    """Machines, their API server, and the service that keeps them."""

    def __init__(self, machines: int = 3, **sleep: Any) -> None:
        self.api, self.machines, self.time_s = Api(), Machines(), 1000.0
        given = {"mode": "act", "nodes": POOL, "reserve": 0, "idle": "10m", "floor": 0, "power": "command"}
        given |= {"binding_timeout": "5s", "command": {"argv": ["true"]}}
        self.config = msgspec.convert({**given, **sleep}, SleepConfig)
        for i in range(machines):
            self.add(f"n{i}")
        self.service: Service
        self.wall_s = 1.8e9  # the wall clock jumps; the other one, `time_s`, does not
        self.boot_s = 0.0  # from power to a kubelet that is Ready
        self.booting: dict[str, float] = {}
        self.silent = False  # the watch of pods is open and shows nothing

    def add(self, name: str, **more: Any) -> None:
        self.api.add_machine(name, **more)
        self.machines.on[name] = True

    async def start(self, identity: str = "one", **config: Any) -> World:
        """A process that knows nothing but what is on the Nodes."""
        self.service = await started(self.api, identity, sleep=self.config, **config)
        self.take(self.service)
        return self

    def take(self, service: Service) -> None:
        """The made-up switch and clock in place of those of the configuration."""
        service.sleep = Keeper(service, self.config, now_s=lambda: self.time_s, wall_s=lambda: self.wall_s)
        service.sleep.switch = self.machines
        service.sleep.saw_all([self.api.pod(name) for name in self.api.pods])

    @property
    def keeper(self) -> Keeper:
        assert self.service.sleep is not None
        return self.service.sleep

    async def step(self, seconds: float = 1.0, times: int = 1) -> None:
        """Time passes, nodes follow their machines, the service sees it and does one step."""
        for _ in range(times):
            self.time_s, self.wall_s = self.time_s + seconds, self.wall_s + seconds
            self.follow()
            if not self.api.away:
                await self.service.nodes.relist()
                if not self.silent:
                    await self.service.pods.relist()
            await self.keeper.step(wait=True)

    def follow(self) -> None:
        """Kubelets are Ready `boot_s` after their machine is on, and not Ready when it is off."""
        for name, on in self.machines.on.items():
            if name not in self.api.nodes:
                continue
            if self.is_ready(name) and on:
                continue
            if not on:
                self.booting.pop(name, None)
            ready = on and self.time_s >= self.booting.setdefault(name, self.time_s + self.boot_s)
            if ready != self.is_ready(name):
                condition = self.api.nodes[name]["status"]["conditions"][0]
                condition["status"] = "True" if ready else "Unknown"
                if ready:
                    condition["lastHeartbeatTime"] = str(self.time_s)
                self.api.changed(name)

    def is_ready(self, name: str) -> bool:
        return bool(self.api.nodes[name]["status"]["conditions"][0]["status"] == "True")

    async def until(self, name: str, state: State, limit: int = 4000) -> None:
        """Steps of a second until the node is in the state."""
        for _ in range(limit):
            if self.state(name) is state:
                return
            await self.step()
        raise AssertionError(f"{name} is {self.state(name)} after {limit} s, expected {state}")

    async def all_asleep(self) -> World:
        """Every node, after its time empty."""
        await self.step()
        await self.step(600)
        for name in self.api.nodes:
            await self.until(name, State.ASLEEP)
        return self

    async def step_until_asleep(self, name: str) -> World:
        """One node, after its time empty."""
        await self.step()
        await self.step(600)
        await self.until(name, State.ASLEEP)
        return self

    async def start_slow(self) -> World:
        """n0 was asked to shut down, and its machine has not followed yet."""
        self.machines.slow = True
        await self.start()
        await self.step()
        await self.step(600)
        await self.until("n0", State.TURNING_OFF)
        return self

    def end_slow(self) -> None:
        """The machine of n0 is off at last."""
        self.machines.slow = False
        self.machines.changing.clear()
        self.machines.on["n0"] = False

    # ---- what is seen

    def record(self, name: str) -> Record | None:
        return record_of(self.api.node(name))

    def state(self, name: str) -> State:
        record = self.record(name)
        return State.AWAKE if record is None else record.state

    def states(self) -> list[State]:
        return [self.state(name) for name in sorted(self.api.nodes)]

    def is_open(self, name: str) -> bool:
        """Nothing of ours is left on the Node."""
        node = self.api.node(name)
        ours = any(taint.key == TAINT for taint in node.spec.taints) or RECORD in node.metadata.annotations
        return not ours and not node.spec.unschedulable

    def check(self) -> None:
        """What must hold at any time: nothing is off or marked without a record that says why and how to undo it."""
        for name, on in self.machines.on.items():
            node, record = self.api.node(name), self.record(name)
            if not on or is_marked(node) or node.spec.unschedulable:
                assert record is not None, f"{name} is off or marked without a record"
                assert record.why, record
                assert f"wattpack sleep wake {name}" in record.undo, record
            for pod in self.api.pods.values():
                assert on or pod["spec"]["nodeName"] != name, f"{pod['metadata']['name']} is on {name}, which is off"

    # ---- pods

    async def ask(self, pod: Pod) -> FilterAnswer:
        """kube-scheduler asks about the nodes that its own filters leave."""
        names = [
            name
            for name in sorted(self.api.nodes)
            if not self.api.nodes[name]["spec"]["unschedulable"] and self.is_ready(name)
        ]
        return await self.service.filter(asked(pod, *names))

    async def place(self, pod: Pod) -> str:
        """Filter and bind; the node, or "" if the pod has to wait."""
        answer = await self.ask(pod)
        if not answer.node_names:
            return ""
        bound = await self.service.bind(to_bind(pod.metadata.name, answer.node_names[0]))
        assert bound.error == "", bound.error
        return answer.node_names[0]
