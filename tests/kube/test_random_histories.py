"""Random histories of writes, late events, lists, 410s and answers: in the end the informer has what the API has."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import msgspec
import pytest

from kube.api_in_memory import InMemory, asked, in_a_loop, later, to_bind, two_nodes
from kube.in_step import INDEX, becomes_true, check_no_gpu_is_given_twice, held, running, until
from wattpack.kube.decode import Skipped, read_page
from wattpack.kube.informer import READABLE, Kind
from wattpack.kube.objects import POD, Pod
from wattpack.kube.run import take_config
from wattpack.kube.service import Service

NAMES = [f"p{i}" for i in range(6)]


class Player:
    """One kind of object, its API server, and random moves of both. `told`: what was handed on, by uid."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.api = InMemory()
        self.kind: Kind[Pod] = Kind(self.api, "/api/v1/pods", POD, self.change, self.skip)
        self.told: dict[str, int] = {}
        self.skipped: set[str] = set()
        self.made = 0
        self.position: int | None = None  # how far the watch that is open has come; None: it ended with 410
        self.list: tuple[bytes, int] | None = None  # under way: the answer, and what was known when it was asked for
        self.answers: list[bytes] = []  # of calls for one object, under way

    # ---- what is handed on

    def change(self, event: str, pod: Pod) -> None:
        uid, version = pod.metadata.uid, int(pod.metadata.resource_version)
        if event == "DELETED":
            del self.told[uid]
            return
        assert (event == "ADDED") == (uid not in self.told), f"{event} of {uid}"
        assert version > self.told.get(uid, 0), f"{uid} goes back from {self.told[uid]} to {version}"
        self.told[uid] = version

    def skip(self, event: str, one: Skipped) -> None:
        uid = one.metadata.uid
        if event in ("DELETED", READABLE):
            self.skipped.remove(uid)
        else:
            self.skipped.add(uid)
        if event == "DELETED":
            self.told.pop(uid, None)
        else:
            self.told[uid] = int(one.metadata.resource_version)

    # ---- moves

    def write(self) -> None:
        name, pods = self.rng.choice(NAMES), self.api.pods
        what = self.rng.random()
        if name not in pods or what < 0.1:
            self.api.add_pod(name)
            self.made += 1
            pods[name]["metadata"]["uid"] = f"{name}-{self.made}"
            if self.rng.random() < 0.5:
                return
        if what < 0.4:
            del pods[name]
        elif what < 0.5:
            pods[name]["spec"]["containers"] = 7
        elif what < 0.6:
            pods[name]["spec"]["containers"] = []
        else:
            pods[name]["spec"]["nodeName"] = f"n{self.rng.randrange(1000)}"

    def deliver(self) -> None:
        if self.position is None:
            return
        for _ in range(self.rng.randrange(4)):
            later = [one for one in self.api.history if one.version > self.position]
            if not later:
                break
            self.kind.take(later[0].line)
            self.position = later[0].version

    def ask_for_list(self) -> None:
        now = self.api.note()
        if self.list is None:
            version = now if self.rng.random() < 0.8 else self.rng.randint(0, now)
            things = b",".join(self.api.at("pods", version).values())
            text = b'{"metadata":{"resourceVersion":"%d"},"items":[%b]}' % (version, things)
            self.list = text, self.kind.newest

    def answer_list(self) -> None:
        if self.list is None:
            return
        (text, known), self.list = self.list, None
        page = read_page(text)
        version = page.metadata.resource_version
        if 0 < int(version) >= known:  # as `relist` does
            self.kind.take_list([self.kind.read(one) for one in page.items or ()], version, 0.0)
            self.position = int(self.kind.version) if self.position is None else self.position

    def ask_for_one(self) -> None:
        self.api.note()
        if self.api.pods:
            self.answers.append(msgspec.json.encode(self.api.pods[self.rng.choice(sorted(self.api.pods))]))

    def answer_one(self) -> None:
        if self.answers and self.kind.listed:
            self.kind.show(self.kind.read(self.answers.pop(self.rng.randrange(len(self.answers)))))

    def reconnect(self) -> None:
        """The watch begins where it was, or a little before that; or it ends with 410."""
        if self.position is not None:
            gone = self.rng.random() < 0.3
            self.position = None if gone else max(0, int(self.kind.version) - self.rng.randrange(5))

    def bookmark(self) -> None:
        if self.position is not None:
            if all(one.version <= self.position for one in self.api.history):
                self.position = self.api.note()
            self.kind.take(self.api.bookmark("pods", self.position))

    def play(self, moves: int) -> None:
        likely = [self.write] * 8 + [self.deliver] * 6 + [self.ask_for_list, self.answer_list, self.reconnect]
        likely += [self.ask_for_one, self.answer_one, self.bookmark, lambda: self.api.skip_versions(3)]
        for _ in range(moves):
            self.rng.choice(likely)()
            self.api.note()

    def come_to_rest(self) -> None:
        """Whatever is under way comes in, then the watch shows the rest."""
        while self.answers and self.kind.listed:
            self.answer_one()
        self.answer_list()
        if self.position is None:
            now = self.api.note()
            page = read_page(asyncio.run(self.api.answer_list("pods", "")))
            assert page.metadata.resource_version == str(now)
            self.kind.take_list([self.kind.read(one) for one in page.items or ()], str(now), 0.0)
            self.position = now
        for one in self.api.history:
            if one.version > self.position:
                self.kind.take(one.line)


@pytest.mark.parametrize("seeds", [range(start, start + 100) for start in range(0, 500, 100)], ids=str)
def test_the_informer_ends_with_what_the_api_has_whatever_came_before(seeds: range) -> None:
    for seed in seeds:
        player = Player(seed)
        player.play(moves=player.rng.randrange(20, 200))
        player.come_to_rest()
        api = {pod["metadata"]["uid"]: int(pod["metadata"]["resourceVersion"]) for pod in player.api.pods.values()}
        odd = {pod["metadata"]["uid"] for pod in player.api.pods.values() if pod["spec"]["containers"] == 7}
        assert {known.thing.metadata.uid: known.version for known in player.kind.known.values()} == api, seed
        assert player.told.keys() == api.keys(), seed
        assert {uid: player.told[uid] for uid in api.keys() - odd} == {uid: api[uid] for uid in api.keys() - odd}, seed
        assert player.skipped == odd, seed


class Cluster:
    """A service in step with an API server that has all faults in turn, while pods are decided, bound and deleted."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.api = two_nodes()
        self.api.silence_s = 0.02
        self.count = 0
        self.service: Service

    async def place(self) -> None:
        """A new pod; what may go wrong in between does."""
        self.count += 1
        name = f"p{self.count}"
        self.api.add_pod(name, milli=self.rng.choice([500, 1000]))
        answer = await self.service.filter(asked(self.api.pod(name), *sorted(self.api.nodes)))
        await asyncio.sleep(self.rng.choice([0, 0.005]))
        if answer.node_names and name in self.api.pods:
            await self.service.bind(to_bind(name, answer.node_names[0]))

    async def delete(self) -> None:
        if self.api.pods:
            del self.api.pods[self.rng.choice(sorted(self.api.pods))]

    async def bind_elsewhere(self) -> None:
        """Another scheduler binds a pod to a GPU that nobody holds, and it is shown: nobody can know of it before."""
        fault = self.api.fault("pods")
        if fault.silent or fault.close or fault.watch_to is not None:
            return
        kept = {one.node for one in self.service.view.cluster.reservations.unseen()}
        free = [(node, gpu) for node in self.api.nodes if node not in kept for gpu in range(2)]
        free = [one for one in free if held(self.api)[one] == 0]
        if free:
            node, gpu = self.rng.choice(free)
            self.count += 1
            name = f"p{self.count}"
            self.api.add_pod(name, milli=1000, node=node, index=str(gpu))
            await until(lambda: f"uid-{name}" in self.service.view.pods)

    async def change_node(self) -> None:
        name = self.rng.choice(["a", "b", "c"])
        if name in self.api.nodes and all(pod["spec"].get("nodeName") != name for pod in self.api.pods.values()):
            del self.api.nodes[name]
        elif name not in self.api.nodes:
            self.api.add_node(name)

    async def fail(self) -> None:
        fault = self.api.fault(self.rng.choice(["pods", "nodes"]))
        what = self.rng.randrange(6)
        fault.watch_to = self.api.note() if what == 0 else None
        fault.silent = what == 1
        fault.repeat = 5 if what == 2 else 0
        fault.gone, fault.gone_as_event = what == 3, self.rng.random() < 0.5
        fault.close = what in (3, 4)
        if what == 5:
            fault.extra.append(b'{"type":"MODIFIED","object":{"metadata":{')

    async def list_again(self) -> None:
        """As when the lease is taken."""
        waits = asyncio.Event()
        self.api.fault("pods").list_waits = waits
        asyncio.get_running_loop().call_later(0.01, waits.set)
        await self.service.relist()
        self.api.fault("pods").list_waits = None

    async def reload(self) -> None:
        policy = "ocs" if self.service.config.policy == "fgd" else "fgd"
        await take_config(self.service, msgspec.structs.replace(self.service.config, policy=policy))

    async def play(self, moves: int) -> None:
        likely = [self.place] * 4 + [self.delete] * 2 + [self.bind_elsewhere] * 2 + [self.fail] * 3
        likely += [self.change_node, self.list_again, self.reload]
        for _ in range(moves):
            await self.rng.choice(likely)()
            await asyncio.sleep(self.rng.choice([0, 0.002, 0.01]))
            check_no_gpu_is_given_twice(self.api)

    def heal(self) -> None:
        for fault in self.api.faults.values():
            fault.watch_to = fault.list_waits = None
            fault.silent = fault.gone = fault.close = False
            fault.repeat = 0

    def waiting_are_forgotten(self) -> None:
        """Pods that were decided and not bound are deleted, so that only what the API shows is counted."""
        for name in [name for name, pod in self.api.pods.items() if not pod["spec"].get("nodeName")]:
            del self.api.pods[name]
        assert all(INDEX in pod["metadata"]["annotations"] for pod in self.api.pods.values())


@pytest.mark.parametrize("seed", range(12))
def test_a_service_ends_with_what_the_api_has_and_gives_no_gpu_twice(seed: int, monkeypatch: Any) -> None:
    monkeypatch.setattr("wattpack.kube.informer.LONGEST_WAIT_S", 0.2)

    @in_a_loop
    async def scene() -> None:
        cluster = Cluster(seed)
        async with running(cluster.api) as service:
            cluster.service = service
            await becomes_true(service, cluster.api)
            await cluster.play(60)
            cluster.heal()
            cluster.waiting_are_forgotten()
            await until(lambda: service.ready)
            for reservation in service.view.cluster.reservations.unseen():  # the pod was gone before it was shown
                later(service, reservation.pod.uid, 1000.0)
            await service.settler.settle()
            await becomes_true(service, cluster.api)
            check_no_gpu_is_given_twice(cluster.api)

    scene()
