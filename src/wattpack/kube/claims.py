"""Dynamic resource allocation (resource.k8s.io): the GPUs that ResourceSlices offer, and those that claims hold.

Only the scheduler and the device's driver may allocate such GPUs, so nothing is ever placed on them here: what claims
hold is counted, and the pods stay where they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from wattpack.kube.dialects.mig import SLICES, slices_of
from wattpack.kube.not_understood import ACCELERATOR
from wattpack.kube.objects import Pod, ResourceClaim, ResourceSlice, Result, SliceSpec, Unreadable
from wattpack.kube.quantity import nano
from wattpack.model.power import GPU_MILLI

_NUMBER = re.compile(r"[0-9]+", re.ASCII)


class NodeGpus(NamedTuple):
    """GPUs of a node that are offered through slices."""

    gpus: int
    product: str  # "": the slices do not say


class Held(NamedTuple):
    """What a pod holds through claims; `milli` of each GPU."""

    gpus: tuple[int, ...] = ()
    milli: int = 0


class _Gpu(NamedTuple):
    node: str
    number: int
    milli: int  # of the GPU that the whole device is
    product: str
    capacity: dict[str, int]


class Claims:
    """Slices and claims of a cluster."""

    def __init__(self, slices: Iterable[ResourceSlice] = (), claims: Iterable[ResourceClaim] = ()) -> None:
        self.claims = {(claim.metadata.namespace, claim.metadata.name): claim for claim in claims}
        self._gpus: dict[tuple[str, str, str], _Gpu] = {}
        listed = list(slices)
        newest: dict[tuple[str, str], int] = {}
        for one in listed:
            pool = (one.spec.driver, one.spec.pool.name)
            newest[pool] = max(newest.get(pool, 0), one.spec.pool.generation)
        for one in listed:
            if one.spec.pool.generation == newest[one.spec.driver, one.spec.pool.name]:
                self._read_slice(one.spec)
        self._counted: set[tuple[str, str, str, str]] = set()  # devices that a pod was counted on

    def _read_slice(self, spec: SliceSpec) -> None:
        for place, device in enumerate(spec.devices):
            said = device.basic or device
            attributes = {name.rpartition("/")[2]: value.string or "" for name, value in said.attributes.items()}
            kind = attributes.get("type", "gpu" if ACCELERATOR.search(spec.driver) else "")
            if kind not in ("gpu", "mig"):
                continue
            number = _NUMBER.search(device.name)
            milli = _mig_milli(attributes.get("profile", "")) if kind == "mig" else GPU_MILLI
            capacity = {name: nano(amount.value) for name, amount in said.capacity.items()}
            gpu = _Gpu(
                spec.node_name or "",
                int(number[0]) if number else place,
                milli,
                attributes.get("productName", ""),
                capacity,
            )
            self._gpus[spec.driver, spec.pool.name, device.name] = gpu

    def node_gpus(self, node: str) -> NodeGpus:
        found = [gpu for gpu in self._gpus.values() if gpu.node == node]
        if not found:
            return NodeGpus(0, "")
        return NodeGpus(1 + max(gpu.number for gpu in found), next((gpu.product for gpu in found if gpu.product), ""))

    def hold_gpus(self, pod: Pod) -> bool:
        """Whether claims of the pod hold GPUs, or may: one of them is not there or not allocated."""
        try:
            claims = self._claims_of(pod)
        except Unreadable:
            return True
        return any(claim.status.allocation is None or any(map(self._is_gpu, _results(claim))) for claim in claims)

    def _is_gpu(self, result: Result) -> bool:
        known = (result.driver, result.pool, result.device) in self._gpus
        return not result.admin_access and (known or ACCELERATOR.search(result.driver) is not None)

    def held(self, pod: Pod) -> Held | None:
        """GPUs that the pod holds through claims; None: it has no claim. A GPU of a shared claim is counted once.

        Raises Unreadable for a claim that is not there or not allocated, and for GPUs that are no task of ours.
        """
        claims = self._claims_of(pod)
        if not claims:
            return None
        parts: dict[int, int] = {}
        for claim in claims:
            if claim.status.allocation is None:
                raise Unreadable(f"resource claim {claim.metadata.name} is not allocated")
            for result in filter(self._is_gpu, _results(claim)):
                device = (result.driver, result.pool, result.device)
                if (*device, result.share or "") in self._counted:
                    continue
                self._counted.add((*device, result.share or ""))
                index, milli = _part(result, self._gpus.get(device))
                parts[index] = parts.get(index, 0) + milli
        if not parts:
            return Held()
        milli = min(GPU_MILLI, max(parts.values()))
        if len(parts) > 1 and milli < GPU_MILLI:
            raise Unreadable(f"resource claims hold parts of {len(parts)} GPUs at once, expected one GPU or whole GPUs")
        return Held(tuple(sorted(parts)), milli)

    def _claims_of(self, pod: Pod) -> list[ResourceClaim]:
        namespace, name = pod.metadata.namespace, pod.metadata.name
        made = {one.name: one.resource_claim_name or "" for one in pod.status.resource_claim_statuses}
        wanted = {one.resource_claim_name or made.get(one.name, ""): one.name for one in pod.spec.resource_claims}
        for claim, called in wanted.items():
            if (namespace, claim) not in self.claims:
                raise Unreadable(f"resource claim {called} is not in the files")
        own = {(namespace, claim) for claim in wanted}
        # An extended resource that a driver offers (nvidia.com/gpu) has a claim that only its reservation connects.
        own |= {
            key
            for key, claim in self.claims.items()
            if key[0] == namespace
            and any(one.resource == "pods" and one.name == name for one in claim.status.reserved_for)
        }
        return [self.claims[key] for key in sorted(own)]


def _results(claim: ResourceClaim) -> list[Result]:
    return claim.status.allocation.devices.results if claim.status.allocation else []


def _mig_milli(profile: str) -> int:
    """Of a MIG device like `1g.10gb`; a profile that we do not know counts as the whole GPU."""
    try:
        return slices_of(profile) * GPU_MILLI // SLICES
    except Unreadable:
        return GPU_MILLI


def _part(result: Result, gpu: _Gpu | None) -> tuple[int, int]:
    """GPU and thousandths of it; without slices, by the name of the device alone."""
    if gpu is None:
        number = _NUMBER.search(result.device)
        if number is None:
            raise Unreadable(f"resource claim holds device {result.device}, which no ResourceSlice describes")
        return int(number[0]), GPU_MILLI
    shares = [
        -(-nano(amount) * gpu.milli // gpu.capacity[name])
        for name, amount in result.consumed_capacity.items()
        if gpu.capacity.get(name)
    ]
    return gpu.number, max(shares, default=gpu.milli)
