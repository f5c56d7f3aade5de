"""Random faults, audited from what the API server has: no GPU is given twice, and none is kept once all pods are gone.

One scheduler asks and binds, gives up, and asks again. Bindings hang, fail, are made late, or their answers get lost.
Watches lag, lists come, nodes show fewer GPUs or go and come back, the configuration is read again, the API server is
silent for a while, and a replica ends and hands over.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import msgspec
import pytest

from kube.api_in_memory import InMemory, asked, deliver, gpu_left, started
from wattpack.kube import binding
from wattpack.kube.client import ApiError
from wattpack.kube.reservations import LATE_S
from wattpack.kube.run import take_config
from wattpack.kube.service import Service
from wattpack.kube.wire import BindingArgs

GPUS = 2
NODES = ("a", "b")
LENGTH = 800
STEPS = {  # how often, by kind
    "create": 4, "ask": 12, "bind": 10, "answer": 12, "late": 4, "watch": 8, "gpus": 4, "node": 3, "list": 2,
    "delete": 5, "finish": 1, "refuse": 1, "time": 5, "reload": 0.3, "end": 0.2,
}  # fmt: skip
INDEX, MILLI, COUNT = (f"alibabacloud.com/gpu-{word}" for word in ("index", "milli", "count"))


class FaultyApi(InMemory):
    """Every Binding is a task of its own: the test says when it is made, and what its sender hears of it."""

    def __init__(self, luck: random.Random) -> None:
        super().__init__()
        self.luck = luck
        self.hanging: list[tuple[tuple[Any, ...], asyncio.Future[None]]] = []
        self.late: list[tuple[tuple[Any, ...], float]] = []  # Bindings given up by their sender, and when they were
        self.clock_s = 0.0

    async def bind(self, *given: Any) -> None:
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.hanging.append((given, answer))
        await answer

    async def settle_one(self) -> None:
        """One Binding that hangs: made and told, made and not told, refused, failed, or given up and made later."""
        given, answer = self.hanging.pop(self.luck.randrange(len(self.hanging)))
        how = self.luck.choice(["made"] * 4 + ["lost", "refused", "failed", "late", "late"])
        fault = None
        if how in ("made", "lost"):
            fault = await self.make(given)
        if how == "refused":
            fault = ApiError(403, "refused by a webhook")
        elif how != "made":
            fault = ApiError(self.luck.choice([0, 500, 504]), how)
        if how == "late":
            self.late.append((given, self.clock_s))
        if fault is None:
            answer.set_result(None)
        else:
            answer.set_exception(fault)
        await quiet()

    async def make(self, given: tuple[Any, ...]) -> ApiError | None:
        try:
            await super().bind(*given)
        except ApiError as fault:
            return fault
        self.audit()
        return None

    async def late_one(self) -> None:
        given, _ = self.late.pop(self.luck.randrange(len(self.late)))
        if self.luck.random() < 0.9:
            await self.make(given)

    def holders(self) -> dict[tuple[str, int], int]:
        """Milli by node and GPU, of what is bound; every pod that asks for GPUs says which."""
        held: Counter[tuple[str, int]] = Counter()
        for name, pod in self.pods.items():
            node, said = pod["spec"].get("nodeName"), pod["metadata"]["annotations"]
            if node and pod["status"]["phase"] != "Succeeded":
                gpus = [int(gpu) for gpu in said[INDEX].split("-")]
                assert len(set(gpus)) == int(said[COUNT]), name
                held.update({(node, gpu): int(said[MILLI]) for gpu in gpus})
        return dict(held)

    def audit(self) -> None:
        over = {gpu: milli for gpu, milli in self.holders().items() if milli > 1000}
        assert over == {}, f"given twice: {over}"


async def quiet() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


class World:
    def __init__(self, seed: int) -> None:
        self.luck = random.Random(seed)
        self.api = FaultyApi(self.luck)
        for node in NODES:
            self.api.add_node(node, gpus=GPUS)
        self.service: Service
        self.away: dict[str, Any] = {}
        self.chosen: dict[str, str] = {}  # pod -> the node that the scheduler was told
        self.binds: set[asyncio.Future[Any]] = set()
        self.count = 0

    def some(self, names: Any) -> str | None:
        names = sorted(names)
        return self.luck.choice(names) if names else None

    def waiting(self) -> list[str]:
        return [name for name, pod in self.api.pods.items() if not pod["spec"].get("nodeName")]

    async def step(self) -> None:
        api, luck, service = self.api, self.luck, self.service
        what = luck.choices(list(STEPS), STEPS.values())[0]
        if what != "ask":
            api.silent = luck.random() < 0.1
        waiting = self.waiting()
        name = self.some(set(waiting) - set(self.chosen) or waiting)
        if what == "create":
            self.count += 1
            milli, count = luck.choice([(500, 1), (1000, 1), (1000, 1), (1000, 2), (600, 1)])
            api.add_pod(f"p{self.count}", milli, count)
        elif what == "ask" and name:
            answer = await service.filter(asked(api.pod(name), *api.nodes))
            self.chosen.pop(name, None)
            if answer.node_names:
                self.chosen[name] = answer.node_names[0]
        elif what == "bind" and (name := self.some(self.chosen.keys() & waiting)):
            node = self.chosen.pop(name) if luck.random() < 0.95 else luck.choice(NODES)
            args = BindingArgs(name, "default", node, api.pods[name]["metadata"]["uid"])
            self.binds.add(asyncio.ensure_future(service.bind(args)))
            await quiet()
        elif what == "answer" and api.hanging:
            await api.settle_one()
        elif what == "late" and api.late:
            await api.late_one()
        elif what == "watch":
            since = int(luck.choice([service.nodes, service.pods]).version or 0)
            for kind in ("nodes", "pods"):
                api.fault(kind).watch_to = luck.choice([None, None, luck.randint(since, max(since, api.note()))])
            deliver(api, luck.choice([service.nodes, service.pods]))
        elif what == "gpus" and api.nodes:
            shown = api.nodes[luck.choice(sorted(api.nodes))]["status"]["allocatable"]
            less = shown["alibabacloud.com/gpu-count"] != str(GPUS)
            shown["alibabacloud.com/gpu-count"] = str(GPUS if less else luck.choice([0, 1]))
            if luck.random() < 0.8:
                self.show_all(service.nodes)
        elif what == "node":
            if self.away:
                api.nodes.update(self.away)
                self.away.clear()
            else:
                node = luck.choice(NODES)
                self.away[node] = api.nodes.pop(node)
            if luck.random() < 0.8:
                self.show_all(service.nodes)
        elif what == "list":
            await service.relist()
        elif what == "delete" and (name := self.some(set(api.pods) - set(self.waiting()) or api.pods)):
            del api.pods[name]
            if luck.random() < 0.3:  # by another of its name
                self.count += 1
                api.add_pod(name, luck.choice([500, 1000]))
                api.pods[name]["metadata"]["uid"] += f"-{self.count}"
        elif what == "finish" and (name := self.some(set(api.pods) - set(self.waiting()))):
            api.pods[name]["status"]["phase"] = "Succeeded"
        elif what == "refuse" and name and self.chosen.pop(name, None):
            message = f"in Permit, at {api.clock_s}"
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
            api.pods[name]["status"]["conditions"] = [condition]
        elif what == "time":
            self.pass_time(luck.choice([10.0, 40.0, 100.0]))
            await service.tidy()
        elif what == "reload":
            await take_config(service, msgspec.structs.replace(service.config, policy=luck.choice(["fgd", "ocs"])))
        elif what == "end":
            await self.hand_over()

    def show_all(self, *watches: Any) -> None:
        for watch in watches:
            self.api.fault(watch.name).watch_to = None
        deliver(self.api, *watches)

    def pass_time(self, by_s: float) -> None:
        """As far as no Binding is later than the API server may make it."""
        oldest = min([at for _, at in self.api.late], default=self.api.clock_s)
        by_s = min(by_s, max(0.0, oldest + LATE_S - 1 - self.api.clock_s))
        self.api.clock_s += by_s
        for held in self.service.view.cluster.reservations:
            held.assumed_s -= by_s
            held.asked_s -= by_s
            held.sent_s = None if held.sent_s is None else held.sent_s - by_s

    async def all_answered(self) -> None:
        while self.api.hanging:
            await self.api.settle_one()
        while self.api.late:
            await self.api.late_one()
        await asyncio.gather(*self.binds)
        self.binds.clear()

    async def hand_over(self) -> None:
        """The replica is told to end; another one decides once its Bindings are known."""
        self.service.stopping = True
        draining = asyncio.ensure_future(self.service.settler.drain())
        await quiet()
        assert draining.done() == (not self.service.settler.busy)
        self.api.silent = False
        await self.all_answered()
        self.pass_time(LATE_S + 1)
        await asyncio.wait_for(draining, 30)
        self.chosen.clear()
        for kind in ("nodes", "pods"):
            self.api.fault(kind).watch_to = None
        self.service = await started(self.api)

    async def run(self) -> None:
        self.service = await started(self.api)
        for _ in range(LENGTH):
            await self.step()
            self.api.audit()
        self.api.silent = False
        await self.all_answered()
        self.api.audit()
        self.api.nodes.update(self.away)
        for node in self.api.nodes.values():
            node["status"]["allocatable"]["alibabacloud.com/gpu-count"] = str(GPUS)
        self.show_all(self.service.nodes, self.service.pods)
        held = self.api.holders()
        self.api.pods = {name: pod for name, pod in self.api.pods.items() if pod["spec"].get("nodeName")}
        await self.ask_about_all()
        for node in NODES:
            assert gpu_left(self.service, node) == [1000 - held.get((node, gpu), 0) for gpu in range(GPUS)]
        self.api.pods.clear()
        self.show_all(self.service.pods)
        await self.ask_about_all()
        assert len(self.service.view.cluster.reservations) == 0
        for node in NODES:
            assert gpu_left(self.service, node) == [1000] * GPUS

    async def ask_about_all(self) -> None:
        for _ in range(3):
            self.pass_time(100.0)
            await self.service.tidy()


@pytest.mark.parametrize("seed", range(12))
def test_no_gpu_is_given_twice_and_none_is_kept_for_pods_that_are_gone(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding, "LOOKS", 1)
    world = World(seed)
    asyncio.run(world.run())
    assert len(world.api.bindings) > 3  # there was something to give
