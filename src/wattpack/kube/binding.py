"""Bind a pod to its node and write the GPUs it got, once, whatever happens to the call on its way."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from typing import TYPE_CHECKING

from wattpack.engine.core.state import NOWHERE
from wattpack.kube.client import ApiError
from wattpack.kube.gpus import bits, gpu_numbers
from wattpack.kube.live import Placed
from wattpack.kube.objects import Pod, Unreadable
from wattpack.kube.translate import binding_annotations
from wattpack.kube.wire import BindingArgs

if TYPE_CHECKING:
    from wattpack.kube.service import Service

log = logging.getLogger("wattpack")
NO_ANSWER, NOT_FOUND = 0, 404
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
LOOKS = 3  # attempts to see what became of a call that got no answer


class Binder:
    """The verb `bind`. Answers "" or what went wrong; the scheduler tries again after an error."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.under_way: dict[str, asyncio.Future[str]] = {}  # uid -> its bind: a second call waits for the first

    async def bind(self, args: BindingArgs) -> str:
        for name in (args.pod_namespace, args.pod_name):  # they become part of a path
            if not NAME.fullmatch(name):
                return f"wattpack: {name[:100]!r}, expected the name of a namespace or pod"
        key = f"{args.pod_namespace}/{args.pod_name}/{args.pod_uid}"
        running = self.under_way.get(key)
        if running is None:
            running = asyncio.ensure_future(self.bind_once(args))
            self.under_way[key] = running
            running.add_done_callback(lambda _: self.under_way.pop(key, None))
        # Shielded: a scheduler that hangs up does not stop a Binding half way.
        fault = await asyncio.shield(running)
        self.service.metrics.count("wattpack_binds_total", outcome="failed" if fault else "bound")
        return f"wattpack: {fault}" if fault else ""

    async def bind_once(self, args: BindingArgs) -> str:
        live = self.service.view.live
        uid = args.pod_uid or self.service.view.uids.get((args.pod_namespace, args.pod_name), "")
        held = live.placed.get(uid)
        if held is not None and held.seen:
            return "" if held.node == args.node else f"the pod is on {held.node} already"
        if held is None or held.node != args.node:
            there = await self.promise_there(args, uid)
            if isinstance(there, str):
                return there
            held = there
            if held.seen:
                return "" if held.node == args.node else f"the pod is on {held.node} already"
        pod = held.pod
        annotations = binding_annotations(gpu_numbers(held.gpus), pod.task, self.service.view.reading)
        # Longer than our lease lasts, another replica could have decided otherwise.
        limit_s = min(self.service.config.server.timeout_s, self.service.lease.left_s())
        if limit_s <= 0:
            return "the lease has run out"
        try:
            await self.service.client.bind(pod.namespace, pod.name, pod.uid, args.node, annotations, limit_s)
        except ApiError as fault:
            return await self.after_failure(fault, held)
        held.bound = True
        decision = self.service.decisions.get((pod.namespace, pod.name))
        if decision is not None and decision.uid == pod.uid:
            self.service.events.add(decision)
        return ""

    async def promise_there(self, args: BindingArgs, uid: str) -> Placed | str:
        """Room on the very node the scheduler names: we were restarted since, or it took another than we chose.

        Returns what is held, or what went wrong.
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
        if facts.node:
            self.service.view.set_pod(pod)
            return self.service.view.live.placed[facts.uid]
        live = self.service.view.live
        held = live.placed.get(facts.uid)
        if held is not None and held.bound and held.node in live.nodes:
            return f"a Binding of it to {held.node} is under way or was not answered"
        live.give_back(facts.uid)
        considered = live.ask(facts, [args.node])
        if considered is None or considered.node == NOWHERE:
            return f"{args.node}: the pod does not fit there any more"
        live.promise(facts, args.node, considered.gpus, time.monotonic())
        return live.placed[facts.uid]

    async def after_failure(self, fault: ApiError, held: Placed) -> str:
        """The call failed or got no answer: look at the pod itself, and keep or give back its room accordingly."""
        pod = held.pod
        if fault.status == NOT_FOUND:
            self.service.view.drop_pod(pod.uid)
            return str(fault)
        seen = await self.look(pod.namespace, pod.name)
        if seen is None:
            log.warning("bind of %s/%s: %s; what became of it is not known yet", pod.namespace, pod.name, fault)
            held.bound = True  # keeps the room until the watch or a list shows the pod
            return str(fault)
        if seen.metadata.uid != pod.uid:
            self.service.view.drop_pod(pod.uid)
            return f"the pod has been replaced by another of its name ({fault})"
        if not seen.spec.node_name:
            if fault.status == NO_ANSWER or held.bound:
                # It, or one before it, may still happen: the pod keeps its room and is sent there again.
                held.bound = True
            else:
                self.service.view.live.give_back(pod.uid)
            return str(fault)
        self.service.view.set_pod(seen)
        if seen.spec.node_name == held.node and self.has_gpus(seen, held):
            return ""
        return f"the pod is on {seen.spec.node_name} already ({fault})"

    def has_gpus(self, seen: Pod, held: Placed) -> bool:
        try:
            gpus = self.service.view.read(seen).gpus
        except Unreadable:
            return False
        return held.gpus == 0 or (gpus is not None and bits(gpus) == held.gpus)

    async def look(self, namespace: str, name: str) -> Pod | None:
        """The pod as it is now; None if the server does not tell."""
        for attempt in range(LOOKS):
            try:
                return await self.service.client.get_pod(namespace, name)
            except ApiError as fault:
                if fault.status == NOT_FOUND:
                    return Pod()
                await asyncio.sleep(0.2 * (attempt + 1))
        return None
