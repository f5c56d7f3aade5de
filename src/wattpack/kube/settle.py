"""Reservations that the watch leaves open: what became of their pods is read from the API server.

A reservation ends by an answer, never because time has passed; while the API server cannot be asked, it stays. A read
without a resource version is answered from the majority of etcd, so it shows every Binding that was made before it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from wattpack.kube.client import NOT_FOUND, ApiError
from wattpack.kube.facts import PodFacts
from wattpack.kube.objects import Pod
from wattpack.kube.read_pod import FINISHED
from wattpack.kube.reservations import LATE_S, Reservation, State

if TYPE_CHECKING:
    from wattpack.kube.service import Service

log = logging.getLogger("wattpack")
AT_ONCE = 32  # pods asked about in one step
DRAIN_ASK_EVERY_S, DRAIN_LOOK_EVERY_S, SAY_EVERY_S = 1.0, 0.05, 10.0


class Settler:
    """Asks about reservations in every `tidy`, and at the end until none is unsure."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def note(self, uid: str, asked: Pod) -> None:
        """Remember what its scheduler had said of a pod when a node was chosen for it: see `gave_up`."""
        reservation = self.service.view.cluster.reservations.get(uid)
        if reservation is not None:
            reservation.refusal = refusal(asked)

    def unsure(self) -> list[Reservation]:
        """Bindings under way, and those that may still be made."""
        return [reservation for reservation in self.service.view.cluster.reservations if reservation.unsure]

    @property
    def busy(self) -> bool:
        return bool(self.service.binder.under_way) or any(one.unsure for one in self.service.view.cluster.reservations)

    async def settle(self) -> None:
        """Ask about the reservations that are due, those that wait longest first."""
        due = sorted(self.service.view.cluster.reservations.due(time.monotonic()), key=lambda one: one.asked_s)
        await asyncio.gather(*(self.ask(reservation) for reservation in due[:AT_ONCE]))

    async def drain(self) -> None:
        """Wait until the outcome of every Binding is known, however long the API server takes.

        Another replica that decides before that does not know of them, and would give their GPUs away again.
        """
        asked_s = said_s = float("-inf")
        while self.busy:
            open_ones, now_s = self.unsure(), time.monotonic()
            if now_s - said_s > SAY_EVERY_S:
                said_s = now_s
                names = ", ".join(f"{one.pod.namespace}/{one.pod.name}" for one in open_ones)
                log.info("stopping: waiting for the outcome of Bindings (%s)", names or "under way")
            if now_s - asked_s > DRAIN_ASK_EVERY_S:
                asked_s = now_s
                await asyncio.gather(*(self.ask(reservation) for reservation in open_ones))
            else:
                await asyncio.sleep(DRAIN_LOOK_EVERY_S)

    async def ask(self, reservation: Reservation) -> None:
        """Read the pod, and keep, move or end its reservation accordingly."""
        pod, began_s, before = reservation.pod, time.monotonic(), (reservation.state, reservation.changed_s)
        reservation.asked_s = began_s
        shown = await self.look(pod, 1)
        cluster = self.service.view.cluster
        if shown is None or self.service.binder.is_binding(pod.uid):
            return
        if cluster.reservations.get(pod.uid) is not reservation or before != (reservation.state, reservation.changed_s):
            return  # it was decided or bound again meanwhile, or the watch showed it
        if shown.metadata.uid != pod.uid:
            await self.gone(pod)
        elif shown.spec.node_name or shown.status.phase in FINISHED:
            self.service.pods.show(shown)
        elif reservation.state is State.ASSUMED and gave_up(reservation, shown):
            log.info("pod %s/%s: its scheduler gave up, %s is free again", pod.namespace, pod.name, reservation.node)
            cluster.forget(pod.uid)
        elif reservation.state is State.BOUND and began_s - reservation.changed_s > LATE_S:
            log.info("pod %s/%s: was not bound to %s", pod.namespace, pod.name, reservation.node)
            cluster.unbound(pod.uid)

    async def gone(self, pod: PodFacts) -> None:
        """The pod is not there, or another has its name: a Binding carries the uid, so none of it can be made."""
        await self.service.claim_binder.give_back(pod)
        self.service.view.remove_pod(pod.uid)

    async def look(self, pod: PodFacts, attempts: int) -> Pod | None:
        """The pod as it is now, empty if there is none; None if the API server does not answer."""
        for attempt in range(attempts):
            try:
                return await self.service.client.get_pod(pod.namespace, pod.name)
            except ApiError as fault:
                if fault.status == NOT_FOUND:
                    return Pod()
            if attempt + 1 < attempts:
                await asyncio.sleep(0.2 * (attempt + 1))
        return None


def refusal(pod: Pod) -> str:
    """Why its scheduler last refused the pod; "" if it did not."""
    said = [one for one in pod.status.conditions if one.type == "PodScheduled" and one.status == "False"]
    return f"{said[0].reason}: {said[0].message}" if said else ""


def gave_up(reservation: Reservation, shown: Pod) -> bool:
    """Whether its scheduler has refused the pod since a node was chosen for it: it waits in no plugin any more.

    In Permit and PreBind a pod may wait for many minutes, and nothing is written to it.
    """
    return refusal(shown) not in ("", reservation.refusal)
