"""Bind a pod to its node and write its GPUs with the same call; exactly once, even if calls or answers are lost."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING

import numpy as np

from wattpack.kube.claim_binding import ClaimsTakenError, ClaimsUnknownError
from wattpack.kube.client import NO_ANSWER, NOT_FOUND, ApiError
from wattpack.kube.gpus import bits, gpu_numbers
from wattpack.kube.objects import Pod, Unreadable
from wattpack.kube.read_pod import binding_annotations
from wattpack.kube.reservations import Reservation, State
from wattpack.kube.wire import BindingArgs

if TYPE_CHECKING:
    from wattpack.kube.service import Service

log = logging.getLogger("wattpack")
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
LOOKS = 3  # attempts to read the pod after a call without an answer


class Binder:
    """The verb `bind`. Returns "" or an error; the scheduler tries again after an error."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.under_way: dict[str, asyncio.Future[str]] = {}  # pod and node -> its bind: a second call waits

    async def bind(self, args: BindingArgs) -> str:
        for name in (args.pod_namespace, args.pod_name):  # they become part of a path
            if not NAME.fullmatch(name):
                return f"wattpack: {name[:100]!r}, expected the name of a namespace or pod"
        key = f"{args.pod_namespace}/{args.pod_name}/{args.pod_uid}/{args.node}"
        running = self.under_way.get(key)
        if running is None:
            running = asyncio.ensure_future(self.bind_once(args))
            self.under_way[key] = running
            running.add_done_callback(lambda _: self.under_way.pop(key, None))
        # Shielded: a scheduler that disconnects does not cancel a Binding half way.
        fault = await asyncio.shield(running)
        self.service.metrics.count("wattpack_binds_total", outcome="failed" if fault else "bound")
        return f"wattpack: {fault}" if fault else ""

    async def bind_once(self, args: BindingArgs) -> str:
        uid = args.pod_uid or self.service.view.uids.get((args.pod_namespace, args.pod_name), "")
        reservation = self.service.view.cluster.reservations.get(uid)
        if reservation is None or (reservation.node != args.node and reservation.state is not State.SEEN):
            found = await self.reserve_there(args, uid)
            if isinstance(found, str):
                return found
            reservation = found
        if reservation.state is State.SEEN:
            return "" if reservation.node == args.node else f"the pod is on {reservation.node} already"
        # Another replica may decide once our lease has run out: a Binding must not be made after that.
        limit_s = min(self.service.config.server.timeout_s, self.service.lease.left_s())
        if limit_s <= 0:
            return "the lease has run out"
        pod = reservation.pod
        annotations = (
            binding_annotations(gpu_numbers(reservation.gpus), pod.task, self.service.view.reading, pod.dialect)
            if not pod.claims
            else {}
        )  # the devices are in the claims
        sent_before = reservation.state is State.BOUND
        self.service.view.cluster.reservations.bind(reservation)
        if pod.claims and (fault_text := await self.allocate_claims(reservation, limit_s, sent_before)):
            return fault_text
        try:
            limit_s = min(self.service.config.server.timeout_s, self.service.lease.left_s())
            if limit_s <= 0:
                raise ApiError(NO_ANSWER, "the lease has run out")
            await self.service.client.bind(pod.namespace, pod.name, pod.uid, args.node, annotations, limit_s)
        except ApiError as fault:
            return await self.after_failure(fault, reservation, sent_before)
        decision = self.service.decisions.get((pod.namespace, pod.name))
        if decision is not None and decision.uid == pod.uid:
            self.service.events.add(decision)
        return ""

    async def allocate_claims(self, reservation: Reservation, limit_s: float, sent_before: bool) -> str:
        """The claims of the pod are allocated on its node; "" or an error. What was written in vain is given back."""
        pod, binder = reservation.pod, self.service.claim_binder
        try:
            await binder.allocate(reservation, limit_s)
        except ClaimsUnknownError as fault:
            return str(fault)
        except ClaimsTakenError as fault:
            if not sent_before:  # otherwise a Binding may still be made, and then the pod needs its claims
                await binder.give_back(pod)
                if reservation.state is State.BOUND:
                    self.service.view.cluster.forget(pod.uid)
            return str(fault)
        return ""

    async def reserve_there(self, args: BindingArgs, uid: str) -> Reservation | str:
        """Reserve on the node that the scheduler names: we were restarted since, or it took another than we chose.

        Returns the pod's reservation, which may be SEEN, or an error.
        """
        try:
            pod = await self.service.client.get_pod(args.pod_namespace, args.pod_name)
            facts = self.service.view.read(pod)
        except ApiError as fault:
            return f"pod {args.pod_namespace}/{args.pod_name}: {fault}"
        except Unreadable as fault:
            return str(fault)
        if facts.finished:
            return "the pod has finished"
        if uid and facts.uid != uid:
            return f"pod {args.pod_namespace}/{args.pod_name} has uid {facts.uid}, asked for {uid}"
        cluster = self.service.view.cluster
        if facts.node:
            self.service.view.update_pod(pod)
        kept = cluster.keeps(facts.uid)
        if kept is not None:
            if kept.state is State.BOUND and kept.node != args.node:
                return f"a Binding of it to {kept.node} is under way or was not answered"
            return kept
        cluster.forget(facts.uid)
        offered = np.array(
            [cluster.index[args.node]] if cluster.engine() and args.node in cluster.index else [], np.int64
        )
        try:
            decision, facts, devices = self.service.view.decide(facts, offered, pod)
        except Unreadable as fault:
            return str(fault)
        if decision is None or not decision.node:
            return f"{args.node}: the pod does not fit there any more"
        return self.service.view.assume(facts, decision, devices)

    async def after_failure(self, fault: ApiError, reservation: Reservation, sent_before: bool) -> str:
        """The call failed or got no answer: read the pod, and keep or forget its reservation accordingly."""
        pod = reservation.pod
        if fault.status == NOT_FOUND:
            await self.service.claim_binder.give_back(pod)
            self.service.view.remove_pod(pod.uid)
            return str(fault)
        seen = await self.look(pod.namespace, pod.name)
        if seen is None:
            log.warning("bind of %s/%s: %s; whether the pod was bound is not known yet", pod.namespace, pod.name, fault)
            return str(fault)
        if seen.metadata.uid != pod.uid:
            await self.service.claim_binder.give_back(pod)
            self.service.view.remove_pod(pod.uid)
            return f"the pod has been replaced by another of its name ({fault})"
        if not seen.spec.node_name:
            # A Binding without an answer, this one or one before it, may still be made: the reservation stays.
            may_be_made = fault.status == NO_ANSWER or sent_before
            if not may_be_made and reservation.state is State.BOUND:
                await self.service.claim_binder.give_back(pod)
                self.service.view.cluster.forget(pod.uid)
            return str(fault)
        self.service.view.update_pod(seen)
        if seen.spec.node_name == reservation.node and self.has_gpus(seen, reservation):
            return ""
        return f"the pod is on {seen.spec.node_name} already ({fault})"

    def has_gpus(self, seen: Pod, reservation: Reservation) -> bool:
        """Whether the pod carries the GPUs that were reserved."""
        try:
            gpus = self.service.view.read(seen).gpus
        except Unreadable:
            return False
        return reservation.gpus == 0 or (gpus is not None and bits(gpus) == reservation.gpus)

    async def look(self, namespace: str, name: str) -> Pod | None:
        """The pod as it is now, empty if there is none; None if the server does not answer."""
        for attempt in range(LOOKS):
            try:
                return await self.service.client.get_pod(namespace, name)
            except ApiError as fault:
                if fault.status == NOT_FOUND:
                    return Pod()
                await asyncio.sleep(0.2 * (attempt + 1))
        return None
