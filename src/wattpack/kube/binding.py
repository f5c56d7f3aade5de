"""Bind a pod to its node and write its GPUs with the same call; exactly once, even if calls or answers are lost."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

import numpy as np

from wattpack.kube.claim_binding import ClaimsTakenError, ClaimsUnknownError
from wattpack.kube.client import NO_ANSWER, ApiError
from wattpack.kube.closed_nodes import NOT_OURS
from wattpack.kube.gpus import bits, gpu_numbers
from wattpack.kube.objects import Pod, Unreadable
from wattpack.kube.read_pod import binding_annotations
from wattpack.kube.reservations import Reservation, State
from wattpack.kube.wire import BindingArgs, wrong_name

if TYPE_CHECKING:
    from wattpack.kube.service import Service

log = logging.getLogger("wattpack")
LOOKS = 3  # attempts to read the pod after a call without an answer
TIMEOUT = 408  # like the 500s: the API server does not say whether the Binding was made


class Binder:
    """The verb `bind`. Returns "" or an error; the scheduler tries again after an error."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.under_way: dict[tuple[str, str, str, str], asyncio.Future[str]] = {}  # a second call waits for the first

    def is_binding(self, uid: str) -> bool:
        return any(key[0] == uid for key in self.under_way)

    async def bind(self, args: BindingArgs) -> str:
        if wrong := wrong_name(pod=args.pod_name, namespace=args.pod_namespace, uid=args.pod_uid, node=args.node):
            return f"wattpack: {wrong}"
        key = args.pod_uid, args.pod_namespace, args.pod_name, args.node
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
        reservation = self.service.view.cluster.reservations.get(args.pod_uid)
        if reservation is None or (reservation.node != args.node and reservation.state is not State.SEEN):
            found = await self.reserve_there(args)
            if isinstance(found, str):
                return found
            reservation = found
        pod = reservation.pod
        if (pod.namespace, pod.name) != (args.pod_namespace, args.pod_name):
            return f"uid {args.pod_uid} is that of pod {pod.namespace}/{pod.name}"
        if reservation.state is State.SEEN:
            return "" if reservation.node == args.node else f"the pod is on {reservation.node} already"
        if pod.only_by:
            self.service.view.cluster.forget(pod.uid)
            return NOT_OURS.format(pod.only_by)
        if why := self.service.view.cluster.why_not_bind(reservation):
            if reservation.state is not State.BOUND:
                self.service.view.cluster.forget(pod.uid)
            return f"{why}; the pod is decided again"
        # Another replica may decide once our lease has run out: a Binding must not be made after that.
        limit_s = min(self.service.config.server.timeout_s, self.service.lease.left_s())
        if limit_s <= 0:
            return "the lease has run out"
        annotations = (
            binding_annotations(gpu_numbers(reservation.gpus), pod.task, self.service.view.reading, pod.dialect)
            if not pod.claims
            else {}
        )  # the devices are in the claims
        sent_before = reservation.sent_s is not None
        self.service.view.cluster.reservations.bind(reservation)
        if pod.claims and (fault_text := await self.allocate_claims(reservation, limit_s, sent_before)):
            return fault_text
        try:
            limit_s = min(self.service.config.server.timeout_s, self.service.lease.left_s())
            if limit_s <= 0:
                raise ApiError(NO_ANSWER, "the lease has run out")
            reservation.sent_s = time.monotonic()
            await self.service.client.bind(pod.namespace, pod.name, pod.uid, args.node, annotations, limit_s)
        except ApiError as fault:
            return await self.after_failure(fault, reservation, sent_before)
        reservation.made = True
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

    async def reserve_there(self, args: BindingArgs) -> Reservation | str:
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
        if facts.uid != args.pod_uid:
            return f"pod {args.pod_namespace}/{args.pod_name} has uid {facts.uid}, asked for {args.pod_uid}"
        cluster = self.service.view.cluster
        if facts.node:
            self.service.pods.show(pod)
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
        pod, settler = reservation.pod, self.service.settler
        seen = await settler.look(pod, LOOKS)
        if seen is None:
            log.warning("bind of %s/%s: %s; whether the pod was bound is not known yet", pod.namespace, pod.name, fault)
            return str(fault)
        if seen.metadata.uid != pod.uid:
            await settler.gone(pod)
            what = "has been replaced by another of its name" if seen.metadata.uid else "is not there"
            return f"the pod {what} ({fault})"
        if not seen.spec.node_name:
            # A Binding without an answer, this one or one before it, may still be made: the reservation stays.
            refused = 400 <= fault.status < 500 and fault.status != TIMEOUT
            if refused and not sent_before and reservation.state is State.BOUND:
                await self.service.claim_binder.give_back(pod)
                self.service.view.cluster.forget(pod.uid)
            return str(fault)
        self.service.pods.show(seen)
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
