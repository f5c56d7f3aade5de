"""Pods of a live cluster that use claims: what they ask for, and on whom the GPUs of a claim are counted.

Devices belong to claims, and several pods may use one claim. The GPUs of an allocated claim are counted with the first
of its pods that has a reservation or is on the claim's node; every other pod counts with its CPU and memory alone. A
claim without such a pod is counted by itself: its devices are in use until somebody frees them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from wattpack.kube.choose_devices import as_task
from wattpack.kube.claim_view import ClaimView
from wattpack.kube.dialects.dra import DRA
from wattpack.kube.dra.demand import Demand
from wattpack.kube.dra.objects import ResourceClaim
from wattpack.kube.dra.slice_objects import ResourceSlice
from wattpack.kube.facts import PodFacts
from wattpack.kube.live_claims import Key, key_of
from wattpack.kube.objects import Pod, Unreadable
from wattpack.kube.reservations import Reservation
from wattpack.model.power import GPU_MILLI
from wattpack.model.tasks import TaskClass

if TYPE_CHECKING:
    from wattpack.kube.view import View

OWN = "claim "  # before a claim's uid: the claim is counted by itself
ANYWHERE = ""


class Asked(NamedTuple):
    """What a pod that waits for its node asks for by claims."""

    pod: PodFacts  # without the GPUs of its claims
    node: str  # where its allocated claims are; "": anywhere
    demands: list[Demand]  # of claims that are not allocated, the preferred alternative first


class ClaimPods:
    """Pods with claims, by uid, and the users of each claim."""

    def __init__(self, view: View, claims: ClaimView) -> None:
        self.view, self.claims = view, claims
        self.pods: dict[str, Pod] = {}
        self.users: dict[Key, dict[str, None]] = {}  # claim -> uids of pods that name it
        self.keys: dict[str, set[Key]] = {}  # the other way round
        self.counted: dict[Key, str] = {}  # allocated claim -> uid of a pod, or OWN and the claim's uid

    # ---- what the watches show

    def replace_slices(self, slices: list[ResourceSlice]) -> None:
        self.claims.replace_slices(slices)
        self.refresh()

    def change_slice(self, event: str, one: ResourceSlice) -> None:
        self.claims.change_slice(event, one)  # read when somebody asks: a driver may change many at once

    def replace_claims(self, claims: list[ResourceClaim]) -> None:
        self.refresh()
        self.changed(self.claims.replace_claims(claims))

    def change_claim(self, event: str, claim: ResourceClaim) -> None:
        if self.claims.change_claim(event, claim):
            self.changed([key_of(claim)])

    def take_claim(self, claim: ResourceClaim) -> None:
        """A claim as the answer to our own call shows it."""
        if self.claims.take_claim(claim):
            self.changed([key_of(claim)])

    def refresh(self) -> None:
        """Read slices and classes again if they changed, and nodes and claims by them."""
        if self.claims.refresh():
            for node in list(self.view.nodes.values()):
                self.view.update_node(node)
            self.changed(list(self.counted))

    # ---- what pods ask for

    def ask(self, pod: Pod, facts: PodFacts) -> Asked:
        """Raises Unreadable: a claim is not there yet, or is none that we can allocate."""
        self.refresh()
        own = self.claims.own_claims(pod)
        names = tuple(claim.metadata.name for claim in own.values())
        places = {self.claims.place_of(claim) for claim in own.values() if claim.status.allocation is not None}
        if len(places - {ANYWHERE}) > 1:
            raise Unreadable(f"its claims are allocated on different nodes: {', '.join(sorted(places))}")
        self.not_promised(pod.metadata.uid, {(pod.metadata.namespace, name) for name in names})
        bare = facts._replace(claims=names)
        node = max(places, default=ANYWHERE)
        demands = self.claims.demands(pod, list(self.view.nodes.values()))
        return Asked(bare, node, demands)

    def not_promised(self, uid: str, keys: set[Key]) -> None:
        """A claim for which devices are decided already, for another pod, is not decided a second time."""
        for other, promise in self.claims.promised.items():  # few: going through all reservations took 0.3 ms a pod
            reservation = self.view.cluster.reservations.get(other)
            if reservation is None or other == uid:
                continue
            for name in promise.open_ones:
                if (reservation.pod.namespace, name) in keys:
                    raise Unreadable(f"claim {name} is being allocated for pod {reservation.pod.name}")

    def read(self, pod: Pod, facts: PodFacts) -> PodFacts:
        """The pod with the GPUs of its claims: those that it holds, or the preferred ones that it asks for."""
        if not pod.spec.resource_claims:
            return facts
        if pod.spec.node_name:
            return self.bound(pod, facts)
        asked = self.ask(pod, facts)
        return as_task(asked.pod._replace(dialect=DRA.name), asked.demands[0]) if asked.demands else asked.pod

    # ---- what pods hold

    def are_allocated(self, pod: Pod) -> bool:
        """Whether all claims of a pod are shown with their devices."""
        keys = [(pod.metadata.namespace, name) for name in filter(None, self.claims.names_of(pod).values())]
        return all(key in self.claims.claims and self.claims.claims[key].status.allocation is not None for key in keys)

    def bound(self, pod: Pod, facts: PodFacts) -> PodFacts:
        """A pod on a node, with the GPUs of the claims that are counted with it; raises Unreadable."""
        names = tuple(name for name in self.claims.names_of(pod).values() if name)
        parts: dict[int, int] = {}
        for name in names:
            key = pod.metadata.namespace, name
            if self.counted.get(key) == pod.metadata.uid:
                for gpu, milli in self.claims.parts_of(self.claims.claims[key]).items():
                    parts[gpu] = parts.get(gpu, 0) + milli
        facts = facts._replace(claims=names)
        if not parts:
            return facts
        number, milli = amounts(parts)
        task = facts.task._replace(num_gpu=number, gpu_milli=milli)
        return facts._replace(task=task, gpus=tuple(sorted(parts)), dialect=DRA.name)

    def note(self, pod: Pod) -> None:
        """The pod as it is shown, before it is read: its claims may be counted with it from now on."""
        uid = pod.metadata.uid
        self.pods[uid] = pod
        keys = self.keys.setdefault(uid, set())
        for name in filter(None, self.claims.names_of(pod).values()):
            key = pod.metadata.namespace, name
            keys.add(key)
            self.users.setdefault(key, {})[uid] = None
            self.settle(key, but=uid)

    def forget(self, uid: str) -> None:
        """The pod is gone or has finished; its reservation has ended."""
        self.pods.pop(uid, None)
        for key in self.keys.pop(uid, ()):
            del self.users[key][uid]
            if not self.users[key]:
                del self.users[key]
            self.settle(key)

    def ended(self, reservation: Reservation) -> None:
        """What was promised to the pod is free again; what its claims hold is counted elsewhere."""
        pod = reservation.pod
        self.claims.withdraw(pod.uid)
        for name in pod.claims:
            if self.counted.get((pod.namespace, name)) == pod.uid:
                self.settle((pod.namespace, name))
        if pod.claims and self.view.cluster.conflicts:
            self.view.cluster.in_step.stale = True  # what stood in this pod's way can be counted now

    def changed(self, keys: Iterable[Key]) -> None:
        """Claims changed: they, or other pods, may hold other GPUs."""
        for key in keys:
            self.settle(key)
            for uid in list(self.users.get(key, ())):
                pod = self.pods[uid]
                if pod.spec.node_name:
                    self.view.update_pod(pod)

    def settle(self, key: Key, but: str = "") -> None:
        """Count the claim's GPUs in one place. Pods whose part changed are read again, `but` one that is being read."""
        claim, before = self.claims.claims.get(key), self.counted.pop(key, "")
        after = "" if claim is None or claim.status.allocation is None else self.holder(claim)
        if before.startswith(OWN) and before != after:
            self.view.block(before, ANYWHERE)
            self.view.cluster.remove_pod(before)
        if after:
            self.counted[key] = after
        if before != after:
            for uid in (before, after):
                pod = self.pods.get(uid)
                if pod is not None and pod.spec.node_name and uid != but:
                    self.view.update_pod(pod)
        if claim is not None and after.startswith(OWN):
            self.count_alone(claim, after)

    def holder(self, claim: ResourceClaim) -> str:
        place = self.claims.place_of(claim)
        for one in claim.status.reserved_for:
            pod = self.pods.get(one.uid)
            if self.view.cluster.reservations.get(one.uid) is not None or (
                pod is not None and pod.spec.node_name != "" and pod.spec.node_name == place
            ):
                return one.uid
        return OWN + claim.metadata.uid

    def count_alone(self, claim: ResourceClaim, uid: str) -> None:
        node = self.claims.place_of(claim)
        try:
            parts = self.claims.parts_of(claim)
            number, milli = amounts(parts)
        except Unreadable:
            self.view.block(uid, node)
            return
        metadata = claim.metadata
        task = TaskClass(0, 0, number, milli)
        facts = PodFacts(
            *(uid, metadata.namespace, metadata.name, task, node, tuple(sorted(parts)), False),
            *("", metadata.creation_timestamp or "", DRA.name, (metadata.name,)),
        )
        if number and node:
            self.view.cluster.update_pod(facts)


def amounts(parts: dict[int, int]) -> tuple[int, int]:
    """GPUs and milli of each, as a task has them; raises Unreadable."""
    if not parts:
        return 0, 0
    milli = min(GPU_MILLI, max(parts.values()))
    if len(parts) > 1 and milli < GPU_MILLI:
        raise Unreadable(f"claims hold parts of {len(parts)} GPUs at once, expected one GPU or whole GPUs")
    return len(parts), milli
