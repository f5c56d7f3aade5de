"""Slices, classes, claims and templates of a cluster: what a pod holds through its claims, and what it asks for.

The GPUs that claims hold are counted on the numbers that `gpus.py` gives them, and the other way round the devices of
the numbers that the engine chose are found by `allocate.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wattpack.kube.dra.demand import Demand, demands_of
from wattpack.kube.dra.gpus import looks_like_gpu, number_in
from wattpack.kube.dra.inventory import Inventory, share_milli
from wattpack.kube.dra.objects import ClaimSpec, DeviceClass, ResourceClaim, ResourceClaimTemplate, Result
from wattpack.kube.dra.pools import DeviceId
from wattpack.kube.dra.slice_objects import ResourceSlice
from wattpack.kube.dra.taken import results_of
from wattpack.kube.dra.wanted import Wanted, alternatives_of
from wattpack.kube.objects import Node, NodeSelector, Pod, Unreadable
from wattpack.kube.quantity import nano
from wattpack.model.power import GPU_MILLI


class Held(NamedTuple):
    """What a pod holds through claims; `milli` of each GPU."""

    gpus: tuple[int, ...] = ()
    milli: int = 0


class Claims:
    """The tables, and the questions about pods."""

    def __init__(
        self,
        slices: Iterable[ResourceSlice] = (),
        claims: Iterable[ResourceClaim] = (),
        classes: Iterable[DeviceClass] = (),
        templates: Iterable[ResourceClaimTemplate] = (),
    ) -> None:
        self.inventory = Inventory(slices, classes)
        self.claims = {(claim.metadata.namespace, claim.metadata.name): claim for claim in claims}
        self.templates = {(one.metadata.namespace, one.metadata.name): one for one in templates}
        self._counted: dict[tuple[DeviceId, str], str] = {}  # device and share -> the pod that it is counted on
        self._reserved: dict[tuple[str, str], set[tuple[str, str]]] | None = None  # by pod; None: to be made
        self._demands: dict[tuple[Wanted, ...], list[Demand] | str] = {}

    # ---- what a pod holds

    def hold_gpus(self, pod: Pod) -> bool:
        """Whether claims of the pod hold GPUs, or may: one of them is not there or not allocated."""
        try:
            claims = self.claims_of(pod)
        except Unreadable:
            return True
        return any(claim.status.allocation is None or any(map(self.is_gpu, results_of(claim))) for claim in claims)

    def is_gpu(self, result: Result) -> bool:
        """Whether a device that was allocated is a GPU or a part of one, and not merely looked at."""
        if result.admin_access:
            return False
        offered = self.inventory.pools.devices.get(device_of(result))
        return looks_like_gpu(result.driver) if offered is None else self.inventory.part(offered) is not None

    def held(self, pod: Pod) -> Held | None:
        """GPUs that the pod holds through claims; None: it has no claim. A GPU of a shared claim is counted once.

        Raises Unreadable for a claim that is not there or not allocated, and for GPUs that are no task of ours.
        """
        claims = self.claims_of(pod)
        if not claims:
            return None
        parts: dict[int, int] = {}
        for claim in claims:
            if claim.status.allocation is None:
                raise Unreadable(f"resource claim {claim.metadata.name} is not allocated")
            for result in filter(self.is_gpu, results_of(claim)):
                share = device_of(result), result.share or ""
                if self._counted.setdefault(share, pod.metadata.uid or pod.metadata.name) != (
                    pod.metadata.uid or pod.metadata.name
                ):
                    continue
                number, milli = self.part_of(result)
                parts[number] = parts.get(number, 0) + milli
        if not parts:
            return Held()
        milli = min(GPU_MILLI, max(parts.values()))
        if len(parts) > 1 and milli < GPU_MILLI:
            raise Unreadable(f"resource claims hold parts of {len(parts)} GPUs at once, expected one GPU or whole GPUs")
        return Held(tuple(sorted(parts)), milli)

    def part_of(self, result: Result) -> tuple[int, int]:
        """Number and thousandths of the GPU; without slices, by the name of the device alone."""
        offered = self.inventory.pools.devices.get(device_of(result))
        part = None if offered is None else self.inventory.part(offered)
        if offered is None or part is None:
            number = number_in(result.device)
            if number is None:
                raise Unreadable(f"resource claim holds device {result.device}, which no ResourceSlice describes")
            return number, GPU_MILLI
        known = offered.said.capacity
        amounts = {name: nano(amount) for name, amount in result.consumed_capacity.items() if name in known}
        return part.gpu, share_milli(amounts, offered, part.milli)

    def forget_pod(self, uid: str) -> None:
        """The pod is gone: another pod that shares its claim is counted on the GPUs from now on."""
        for share in [share for share, counted in self._counted.items() if counted == uid]:
            del self._counted[share]

    # ---- the claims of a pod

    def claims_of(self, pod: Pod) -> list[ResourceClaim]:
        """Raises Unreadable if one of them is not there."""
        namespace, name = pod.metadata.namespace, pod.metadata.name
        wanted = {one: called for called, one in self.names_of(pod).items()}
        for claim, called in wanted.items():
            if (namespace, claim) not in self.claims:
                raise Unreadable(f"resource claim {called} is not in the files")
        own = {(namespace, claim) for claim in wanted} | self._reserved_for(namespace, name)
        return [self.claims[key] for key in sorted(own)]

    def has_claims(self, pod: Pod) -> bool:
        return bool(pod.spec.resource_claims or self._reserved_for(pod.metadata.namespace, pod.metadata.name))

    def _reserved_for(self, namespace: str, pod: str) -> set[tuple[str, str]]:
        """Claims that only their reservation connects with a pod: of extended resources that a driver offers."""
        if self._reserved is None:
            self._reserved = {}
            for key, claim in self.claims.items():
                for one in claim.status.reserved_for:
                    if one.resource == "pods":
                        self._reserved.setdefault((key[0], one.name), set()).add(key)
        return {key for key in self._reserved.get((namespace, pod), ()) if key in self.claims}

    def put_claim(self, claim: ResourceClaim) -> None:
        self.claims[claim.metadata.namespace, claim.metadata.name] = claim
        self._reserved = None

    def remove_claim(self, namespace: str, name: str) -> None:
        self.claims.pop((namespace, name), None)
        self._reserved = None

    def allocated_to(self, pod: Pod) -> list[NodeSelector]:
        """The nodes of the pod's claims that are allocated already; none for devices that all nodes reach."""
        found = []
        for name in self.names_of(pod).values():
            claim = self.claims.get((pod.metadata.namespace, name))
            allocation = claim.status.allocation if claim is not None else None
            if allocation is not None and allocation.node_selector is not None:
                found.append(allocation.node_selector)
        return found

    @staticmethod
    def names_of(pod: Pod) -> dict[str, str]:
        """The pod's name of each claim -> the claim's own; "": not made from its template yet."""
        made = {one.name: one.resource_claim_name or "" for one in pod.status.resource_claim_statuses}
        return {one.name: one.resource_claim_name or made.get(one.name, "") for one in pod.spec.resource_claims}

    # ---- what a pod asks for

    def specs_of(self, pod: Pod, allocated: bool = False) -> dict[str, ClaimSpec]:
        """By the pod's own name: its claims that are not allocated, and templates whose claims are not made yet.

        allocated: those that are allocated too.
        """
        namespace = pod.metadata.namespace
        names = self.names_of(pod)
        found = {}
        for one in pod.spec.resource_claims:
            claim = self.claims.get((namespace, names[one.name]))
            template = self.templates.get((namespace, one.resource_claim_template_name or ""))
            if claim is not None:
                if allocated or claim.status.allocation is None:
                    found[one.name] = claim.spec
            elif template is not None:
                found[one.name] = template.spec.spec
            else:
                raise Unreadable(f"resource claim {one.name}: neither the claim nor its template is known")
        return found

    def demands(self, pod: Pod, nodes: Sequence[Node], allocated: bool = False) -> list[Demand]:
        """What the pod's claims ask for, the preferred alternative first; raises Unreadable.

        Answers are kept by what is asked for: `nodes` must be the same until `forget_demands`.
        """
        specs = self.specs_of(pod, allocated)
        if not specs:
            return []
        alternatives = alternatives_of(specs, self.inventory.classes)
        kinds = tuple(one.kind for one in alternatives)
        kept = self._demands.get(kinds)
        if kept is None:
            try:
                kept = demands_of(kinds, self.inventory, nodes)
            except Unreadable as fault:
                kept = str(fault)
            self._demands[kinds] = kept
        if isinstance(kept, str):
            demands_of(alternatives, self.inventory, nodes)  # raises, with the names of this pod's claims
            raise Unreadable(kept)
        own = dict(zip(kinds, alternatives, strict=True))
        return [one._replace(wanted=own[one.wanted]) for one in kept]

    def forget_demands(self) -> None:
        """Nodes have come, gone or changed their labels."""
        self._demands.clear()


def device_of(result: Result) -> DeviceId:
    return DeviceId(result.driver, result.pool, result.device)
