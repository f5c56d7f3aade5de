"""Allocate the claims of a pod before its Binding, and give back what was not bound.

Each step may have been done before, by a process that was killed or in a call whose answer got lost: a claim that has
the finalizer, the allocation or the pod already is left as it is. A claim that others changed meanwhile is read again,
and decided again if it is allocated by now.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from wattpack.kube.claim_writes import allocate, get_claim, give_back, protect, reserve
from wattpack.kube.client import CONFLICT, NO_ANSWER, NOT_FOUND, ApiError
from wattpack.kube.dra.objects import Allocation, Consumer, ResourceClaim
from wattpack.kube.facts import PodFacts
from wattpack.kube.live_claims import device_of
from wattpack.kube.objects import Unreadable
from wattpack.kube.reservations import Reservation

if TYPE_CHECKING:
    from wattpack.kube.service import Service

log = logging.getLogger("wattpack")
ATTEMPTS = 4  # writes of one claim, each based on a newer version of it
GIVE_BACK_S = 10.0


class ClaimsTakenError(Exception):
    """The pod's claims cannot be allocated as decided; the text says why. The pod is decided again."""


class ClaimsUnknownError(Exception):
    """Whether the pod's claims were allocated is not known: the reservation stays until that is clear."""


class ClaimBinder:
    """Writes the claims of pods that are being bound."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def allocate(self, reservation: Reservation, limit_s: float) -> None:
        """All claims of the pod are allocated on its node, reserved for it, and no device holds more than it has.

        Raises ClaimsTakenError after giving back what was written, or ClaimsUnknownError.
        """
        end_s = time.monotonic() + limit_s
        pod, claims = reservation.pod, self.service.view.claims
        consumer = Consumer(resource="pods", name=pod.name, uid=pod.uid)
        written: list[ResourceClaim] = []
        try:
            wanted = claims.allocations(pod, reservation.node, reservation.gpus)
            for claim, allocation in wanted:
                written.append(await self.write(claim, allocation, consumer, end_s))
                claims.update(written[-1])
            await claims.seen(written, max(0.0, end_s - time.monotonic()))
            over = claims.overbooked(written)
            if over:
                self.service.metrics.count("wattpack_claims_total", outcome="taken_by_others")
                raise ClaimsTakenError(f"another allocator took {', '.join(over)} at the same time")
        except (ClaimsTakenError, Unreadable) as fault:
            await self.give_back(pod)
            raise ClaimsTakenError(str(fault)) from None
        except ApiError as fault:
            if fault.status == NO_ANSWER:
                raise ClaimsUnknownError(str(fault)) from None
            await self.give_back(pod)
            raise ClaimsTakenError(str(fault)) from None
        except TimeoutError:
            raise ClaimsUnknownError("the watch of claims did not show what was written in time") from None

    async def write(
        self, claim: ResourceClaim, allocation: Allocation | None, pod: Consumer, end_s: float
    ) -> ResourceClaim:
        """One claim: finalizer, then allocation and pod; None: it is allocated already, the pod is added to its users.

        Raises ClaimsTakenError if it is allocated otherwise, or gone.
        """
        uid, name = claim.metadata.uid, claim.metadata.name
        fault: ApiError | None = None
        for _ in range(ATTEMPTS):
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                raise ApiError(NO_ANSWER, f"claim {name}: {fault or 'no time left'}")
            try:
                if fault is not None:
                    claim = await get_claim(self.service.client, claim, left_s)
                if claim.metadata.uid != uid or claim.metadata.deletion_timestamp is not None:
                    raise ClaimsTakenError(f"claim {name} was deleted")
                if claim.status.allocation is not None:
                    if allocation is not None and not same_devices(claim.status.allocation, allocation):
                        self.service.view.claims.update(claim)
                        raise ClaimsTakenError(f"claim {name} was allocated otherwise meanwhile")
                    return await reserve(self.service.client, claim, pod, left_s)
                if allocation is None:
                    self.service.view.claims.update(claim)
                    raise ClaimsTakenError(f"claim {name} is not allocated any more")
                claim = await protect(self.service.client, claim, left_s)
                return await allocate(self.service.client, claim, allocation, pod, left_s)
            except ApiError as error:
                if error.status == NOT_FOUND:
                    raise ClaimsTakenError(f"claim {name} was deleted") from None
                if error.status not in (CONFLICT, NO_ANSWER):
                    raise
                fault = error
        assert fault is not None
        raise fault

    async def give_back(self, pod: PodFacts) -> None:
        """Take the pod out of its claims, as far as it is in them; the last pod of a claim frees its devices.

        Failures are logged: the claim stays with the pod, and the pod with the claim's node, until it is tried again.
        """
        claims = self.service.view.claims
        for known in claims.of(pod):
            claim = known
            for _ in range(ATTEMPTS):
                try:
                    claim = await give_back(self.service.client, claim, pod.uid, GIVE_BACK_S)
                    claims.update(claim)
                    break
                except ApiError as fault:
                    if fault.status == NOT_FOUND:
                        break
                    try:
                        claim = await get_claim(self.service.client, claim, GIVE_BACK_S)
                    except ApiError:
                        log.warning("claim %s/%s was not given back: %s", pod.namespace, claim.metadata.name, fault)
                        break


def same_devices(one: Allocation, other: Allocation) -> bool:
    return sorted(map(device_of, one.devices.results)) == sorted(map(device_of, other.devices.results))
