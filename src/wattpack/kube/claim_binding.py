"""Allocate the claims of a pod before its Binding, and give back what was not bound.

Each step may have been done before, by a process that was killed or in a call whose answer got lost: a claim that has
the finalizer, the allocation or the pod already is left as it is. A claim that others changed meanwhile is read again,
and the pod is decided again if the claim is allocated otherwise by now.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from wattpack.kube.claim_view import ClaimView, NotYetError
from wattpack.kube.claim_writes import allocate, get_claim, give_back, protect, reserve
from wattpack.kube.client import CONFLICT, NO_ANSWER, NOT_FOUND, ApiError
from wattpack.kube.dra.allocation import allocation_of
from wattpack.kube.dra.claims import device_of
from wattpack.kube.dra.objects import Allocation, Consumer, ResourceClaim
from wattpack.kube.facts import PodFacts
from wattpack.kube.reservations import Reservation

if TYPE_CHECKING:
    from wattpack.kube.claim_pods import ClaimPods
    from wattpack.kube.service import Service

log = logging.getLogger("wattpack")
ATTEMPTS = 4  # writes of one claim, each based on a newer version of it
GIVE_BACK_S = 10.0
COUNTER = "wattpack_claims_total"


class ClaimsTakenError(Exception):
    """The pod's claims cannot be allocated as decided; the text says why. The pod is decided again."""


class ClaimsUnknownError(Exception):
    """Whether the pod's claims were allocated is not known: the reservation stays until that is clear."""


class ClaimBinder:
    """Writes the claims of pods that are being bound."""

    def __init__(self, service: Service) -> None:
        self.service = service

    @property
    def pods(self) -> ClaimPods:
        assert self.service.view.claim_pods is not None
        return self.service.view.claim_pods

    @property
    def claims(self) -> ClaimView:
        return self.pods.claims

    async def allocate(self, reservation: Reservation, limit_s: float) -> None:
        """All claims of the pod are allocated on its node and reserved for it, and no device holds more than it has.

        Raises ClaimsTakenError, when some may have been written, or ClaimsUnknownError.
        """
        end_s = time.monotonic() + limit_s
        pod = reservation.pod
        consumer = Consumer(resource="pods", name=pod.name, uid=pod.uid)
        done: list[ResourceClaim] = []
        try:
            for claim, allocation in self.wanted(reservation):
                done.append(await self.write(claim, allocation, consumer, end_s))
                self.pods.take_claim(done[-1])
            # Others may have allocated in between, and the API server does not check devices: look again.
            await self.claims.claims.seen(done, max(0.0, end_s - time.monotonic()))
        except NotYetError as fault:
            raise ClaimsTakenError(str(fault)) from None
        except ApiError as fault:
            self.service.metrics.count(COUNTER, outcome="failed")
            unknown = fault.status == NO_ANSWER
            raise (ClaimsUnknownError if unknown else ClaimsTakenError)(str(fault)) from None
        except TimeoutError:
            raise ClaimsUnknownError("the watch of claims did not show what was written in time") from None
        self.pods.refresh()
        if over := self.claims.overbooked(done):
            self.service.metrics.count(COUNTER, outcome="taken_by_others")
            raise ClaimsTakenError(f"{', '.join(over)}: gone, or taken by another allocator at the same time")
        self.service.metrics.count(COUNTER, len(done), outcome="allocated")

    def wanted(self, reservation: Reservation) -> list[tuple[ResourceClaim, Allocation | None]]:
        """The pod's claims, each with what is to be written; None: it is allocated already. Raises ClaimsTakenError."""
        pod, promise = reservation.pod, self.claims.promised.get(reservation.pod.uid)
        found: list[tuple[ResourceClaim, Allocation | None]] = []
        for name in pod.claims:
            claim = self.claims.claim(pod.namespace, name)
            if claim.status.allocation is not None:
                found.append((claim, None))
                if self.claims.place_of(claim) not in ("", reservation.node):
                    raise ClaimsTakenError(f"claim {name} is allocated on {self.claims.place_of(claim)}")
            elif promise is None or name not in promise.devices or promise.node != reservation.node:
                raise ClaimsTakenError(f"claim {name} was not decided")
            else:
                results = promise.devices[name]
                self.pods.refresh()
                known = self.claims.inventory.pools.devices
                if gone := [device_of(result) for result in results if device_of(result) not in known]:
                    raise ClaimsTakenError(f"{', '.join(map(str, gone))}: gone since it was decided")
                found.append((claim, allocation_of(claim.spec, results, promise.node, self.claims.inventory)))
        return found

    async def write(
        self, claim: ResourceClaim, allocation: Allocation | None, pod: Consumer, end_s: float
    ) -> ResourceClaim:
        """One claim: finalizer, then allocation and pod. None: it is allocated, and the pod is added to its users.

        Raises ClaimsTakenError if it is allocated otherwise by now, or gone.
        """
        uid, name, client = claim.metadata.uid, claim.metadata.name, self.service.client
        fault: ApiError | None = None
        for _ in range(ATTEMPTS):
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                raise ApiError(NO_ANSWER, f"claim {name}: {fault or 'no time left'}")
            try:
                if fault is not None:
                    claim = await get_claim(client, claim, left_s)
                if claim.metadata.uid != uid or claim.metadata.deletion_timestamp is not None:
                    raise ClaimsTakenError(f"claim {name} was deleted")
                now = claim.status.allocation
                if now is not None and (allocation is None or same_devices(now, allocation)):
                    return await reserve(client, claim, pod, left_s)
                if now is not None or allocation is None:
                    self.pods.take_claim(claim)
                    raise ClaimsTakenError(f"claim {name} was {'allocated otherwise' if now else 'freed'} meanwhile")
                claim = await protect(client, claim, left_s)
                return await allocate(client, claim, allocation, pod, left_s)
            except ApiError as error:
                if error.status == NOT_FOUND:
                    raise ClaimsTakenError(f"claim {name} was deleted") from None
                if error.status not in (CONFLICT, NO_ANSWER):
                    raise
                fault = error
        assert fault is not None
        raise fault

    async def give_back(self, pod: PodFacts) -> bool:
        """Take the pod out of its claims, as far as it is in them; the last pod of a claim frees its devices.

        Whether it is in none of them any more. A failure is logged: the claim then stays with the pod.
        """
        good = True
        for name in pod.claims:
            claim = self.claims.claims.get((pod.namespace, name))
            if claim is not None:
                good = await self.give_back_one(claim, pod.uid) and good
        return good

    async def give_back_one(self, claim: ResourceClaim, pod_uid: str) -> bool:
        client, fault = self.service.client, None
        for _ in range(ATTEMPTS):
            try:
                if fault is not None:
                    claim = await get_claim(client, claim, GIVE_BACK_S)
                claim = await give_back(client, claim, pod_uid, GIVE_BACK_S)
                self.pods.take_claim(claim)
                return True
            except ApiError as error:
                if error.status == NOT_FOUND:
                    return True
                fault = error
        log.warning("claim %s/%s was not given back: %s", claim.metadata.namespace, claim.metadata.name, fault)
        return False

    async def free_unusable(self, pod: PodFacts) -> bool:
        """Give back claims that tie a pod to a node where it does not fit any more, if no other pod uses them.

        Whether any was given back: the pod can then be decided anew.
        """
        own = [self.claims.claims.get((pod.namespace, name)) for name in pod.claims]
        tied = [
            claim
            for claim in own
            if claim is not None
            and claim.status.allocation is not None
            and [one.uid for one in claim.status.reserved_for] == [pod.uid]
        ]
        if not tied or self.service.view.cluster.reservations.get(pod.uid) is not None:
            return False
        try:  # an earlier process may have bound it a moment ago
            shown = await self.service.client.get_pod(pod.namespace, pod.name)
        except ApiError:
            return False
        if shown.spec.node_name or shown.metadata.uid != pod.uid:
            return False
        return all([await self.give_back_one(claim, pod.uid) for claim in tied])


def same_devices(one: Allocation, other: Allocation) -> bool:
    return sorted(map(device_of, one.devices.results)) == sorted(map(device_of, other.devices.results))
