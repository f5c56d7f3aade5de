"""Slices, classes and claims of a live cluster: the tables of `dra.claims`, changed as the watches and our writes say.

It also knows what is promised: devices that were decided for a pod and are not written to its claims yet.
"""

from __future__ import annotations

from collections.abc import Iterable

from wattpack.kube.constraints import NAME_FIELD
from wattpack.kube.dra.allocate import Allocated
from wattpack.kube.dra.claims import Claims, device_of
from wattpack.kube.dra.inventory import Inventory
from wattpack.kube.dra.objects import DeviceClass, ResourceClaim
from wattpack.kube.dra.slice_objects import ResourceSlice
from wattpack.kube.dra.taken import Taken, results_of
from wattpack.kube.live_claims import Key, LiveClaims, key_of
from wattpack.kube.objects import Pod, Unreadable


class NotYetError(Unreadable):
    """A claim of the pod is not there yet, or is going: the pod is tried again."""


class Promise:
    """Devices decided for a pod: results by the name of the claim."""

    def __init__(self, node: str, devices: Allocated) -> None:
        self.node, self.devices = node, devices
        self.open_ones = dict(devices)  # those that are not written to their claims yet


class ClaimView(Claims):
    """The tables of a live cluster."""

    def __init__(self) -> None:
        super().__init__()
        self.claims: LiveClaims = LiveClaims()
        self.slices: dict[str, ResourceSlice] = {}
        self.classes: dict[str, DeviceClass] = {}
        self.taken = Taken()  # by uid: of claims what they hold, of pods what is promised to them
        self.promised: dict[str, Promise] = {}  # by pod uid, until all of its claims are written
        self._stale = False

    # ---- slices and classes

    def replace_slices(self, slices: Iterable[ResourceSlice]) -> None:
        self.slices = {one.metadata.name: one for one in slices}
        self._stale = True

    def change_slice(self, event: str, one: ResourceSlice) -> None:
        self.slices.pop(one.metadata.name, None)
        if event != "DELETED":
            self.slices[one.metadata.name] = one
        self._stale = True

    def replace_classes(self, classes: Iterable[DeviceClass]) -> None:
        self.classes = {one.metadata.name: one for one in classes}
        self._stale = True

    def change_class(self, event: str, one: DeviceClass) -> None:
        self.classes.pop(one.metadata.name, None)
        if event != "DELETED":
            self.classes[one.metadata.name] = one
        self._stale = True

    def refresh(self) -> bool:
        """Read slices and classes again if they changed, which it tells; before any question about devices."""
        if not self._stale:
            return False
        self._stale = False
        self.inventory = Inventory(self.slices.values(), self.classes.values())
        self.forget_demands()
        return True

    def forget_node(self, name: str) -> None:
        """The node came, went or changed its labels."""
        self.inventory.forget_node(name)
        self.forget_demands()

    # ---- claims

    def replace_claims(self, claims: Iterable[ResourceClaim]) -> list[Key]:
        """The whole list; the keys of those that changed."""
        before = {key: claim.metadata.uid for key, claim in self.claims.items()}
        changed = self.claims.replace(claims)
        for key in changed:
            self._count(key, before.get(key, ""))
        return changed

    def change_claim(self, event: str, claim: ResourceClaim) -> bool:
        known = self.claims.get(key_of(claim))
        changed = self.claims.change(event, claim)
        if changed:
            self._count(key_of(claim), known.metadata.uid if known else "")
        return changed

    def take_claim(self, claim: ResourceClaim) -> bool:
        """A claim as the answer to our own call shows it; whether anything changed."""
        known = self.claims.get(key_of(claim))
        changed = self.claims.take(claim)
        if changed:
            self._count(key_of(claim), known.metadata.uid if known else "")
        return changed

    def _count(self, key: Key, uid_before: str) -> None:
        self._reserved = None
        claim = self.claims.get(key)
        if uid_before and (claim is None or claim.metadata.uid != uid_before):
            self.taken.free(uid_before)
        if claim is None:
            return
        for consumer in claim.status.reserved_for:
            self._kept(consumer.uid, claim.metadata.name)
        self.taken.hold(claim.metadata.uid, results_of(claim))

    def claim(self, namespace: str, name: str) -> ResourceClaim:
        """Raises NotYetError."""
        if name == "":
            raise NotYetError("a claim is not made from its template yet")
        found = self.claims.get((namespace, name))
        if found is None:
            raise NotYetError(f"claim {name} is not there")
        if found.metadata.deletion_timestamp is not None:
            raise NotYetError(f"claim {name} is being deleted")
        return found

    def own_claims(self, pod: Pod) -> dict[str, ResourceClaim]:
        """The pod's claims by the name that it gives them; raises NotYetError. None: the pod needs no claim there."""
        needless = {one.name for one in pod.status.resource_claim_statuses if one.resource_claim_name is None}
        names = {called: name for called, name in self.names_of(pod).items() if name or called not in needless}
        return {called: self.claim(pod.metadata.namespace, name) for called, name in names.items()}

    def place_of(self, claim: ResourceClaim) -> str:
        """The node of an allocated claim; "": it is not allocated, or its devices can be reached from several nodes."""
        for result in results_of(claim):
            offered = self.inventory.pools.devices.get(device_of(result))
            if offered is not None and offered.node:
                return offered.node
        selector = claim.status.allocation.node_selector if claim.status.allocation else None
        names = {
            value
            for term in (selector.node_selector_terms if selector else ())
            for wish in term.match_fields
            if wish.key == NAME_FIELD and wish.operator == "In"
            for value in wish.values
        }
        return names.pop() if len(names) == 1 else ""

    def parts_of(self, claim: ResourceClaim) -> dict[int, int]:
        """Milli of each GPU of its node that an allocated claim holds; raises Unreadable."""
        found: dict[int, int] = {}
        for result in filter(self.is_gpu, results_of(claim)):
            number, milli = self.part_of(result)
            found[number] = found.get(number, 0) + milli
        return found

    def overbooked(self, claims: Iterable[ResourceClaim]) -> list[str]:
        """Devices of these claims of which more is allocated than there is, or which are not there any more."""
        pools = self.inventory.pools
        devices = {use.device for claim in claims for use in self.taken.held.get(claim.metadata.uid, ())}
        return sorted(
            str(one) for one in devices if one not in pools.devices or self.taken.overbooked(pools.devices[one], pools)
        )

    # ---- devices decided and not written yet

    def promise(self, pod_uid: str, node: str, devices: Allocated) -> None:
        """`devices`: results by the name of the claim."""
        self.promised[pod_uid] = Promise(node, devices)
        self._hold_promise(pod_uid)

    def _hold_promise(self, pod_uid: str) -> None:
        open_ones = self.promised[pod_uid].open_ones
        self.taken.hold(pod_uid, [result for results in open_ones.values() for result in results])

    def _kept(self, pod_uid: str, claim: str) -> None:
        """The claim holds its devices itself from now on: they must not be counted twice."""
        promise = self.promised.get(pod_uid)
        if promise is not None and claim in promise.open_ones:
            del promise.open_ones[claim]
            if promise.open_ones:
                self._hold_promise(pod_uid)
            else:
                self.withdraw(pod_uid)

    def withdraw(self, pod_uid: str) -> None:
        """The pod's claims hold the devices themselves by now, or nobody does."""
        if self.promised.pop(pod_uid, None) is not None:
            self.taken.free(pod_uid)
