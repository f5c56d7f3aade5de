"""Kubernetes events on pods with the reason of a decision; sent in the background, after the decisions."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from datetime import UTC, datetime
from typing import NamedTuple

from wattpack.kube.client import ApiError, Client
from wattpack.kube.decision import Decision
from wattpack.kube.decode import Skipped
from wattpack.kube.metrics import Metrics
from wattpack.kube.objects import Node

log = logging.getLogger("wattpack")
WAITING = 2000  # events in the queue; beyond that the oldest are dropped, as Kubernetes does
EACH_S = 0.05  # at most one event in this time: Bindings have priority at the API server
AGAIN_S = 60  # the same failure of the same pod is sent again after this long


class ObjectEvent(NamedTuple):
    """What happened to a Node or a Pod. Events of Nodes are in the namespace `default`."""

    name: str
    uid: str
    kind: str  # Normal or Warning
    reason: str
    message: str
    namespace: str = "default"
    of: str = "Node"


class Events:
    """A queue of events, and the loop that sends them."""

    def __init__(self, client: Client, metrics: Metrics, which: str) -> None:
        self.client, self.metrics, self.which = client, metrics, which
        self.queue: deque[Decision | ObjectEvent] = deque()
        self.sent: dict[str, tuple[str, float]] = {}  # uid of a pod without a node -> the last message, when
        self.some = asyncio.Event()  # set while the queue is not empty

    def add(self, decision: Decision) -> None:
        if self.which == "none" or (self.which == "failures" and decision.node):
            return
        if not decision.node:
            said, at_s = self.sent.get(decision.uid, ("", 0.0))
            if said == decision.words() and time.monotonic() - at_s < AGAIN_S:
                return
            if len(self.sent) > WAITING:
                self.sent.clear()
            self.sent[decision.uid] = decision.words(), time.monotonic()
        self.put(decision)

    def add_node(self, node: Node, kind: str, reason: str, message: str) -> None:
        """`kind`: Normal or Warning."""
        if self.which == "none" or (self.which == "failures" and kind == "Normal"):
            return
        self.put(ObjectEvent(node.metadata.name, node.metadata.uid, kind, reason, message))

    def add_skipped(self, of: str, one: Skipped) -> None:
        """A Node or a Pod that cannot be decoded."""
        metadata = one.metadata
        if self.which != "none":
            namespace = metadata.namespace or "default"
            self.put(ObjectEvent(metadata.name, one.id, "Warning", "WattpackCannotRead", one.why, namespace, of))

    def put(self, event: Decision | ObjectEvent) -> None:
        if len(self.queue) >= WAITING:
            self.queue.popleft()
            self.metrics.count("wattpack_events_dropped_total")
        self.queue.append(event)
        self.some.set()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            await self.some.wait()
            while self.queue:
                event = self.queue.popleft()
                try:
                    await self.client.call("POST", f"/api/v1/namespaces/{event.namespace}/events", event_of(event))
                except ApiError as fault:
                    self.metrics.count("wattpack_events_dropped_total")
                    log.debug("event in %s: %s", event.namespace, fault)
                await asyncio.sleep(EACH_S)
            self.some.clear()


def event_of(event: Decision | ObjectEvent) -> dict[str, object]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    of: dict[str, str]
    if isinstance(event, ObjectEvent):
        name, kind, reason, message = event.name, event.kind, event.reason, event.message
        # The controllers of Kubernetes name a Node in place of its uid; `kubectl describe node` looks for that.
        place = {"uid": name} if event.of == "Node" else {"namespace": event.namespace, "uid": event.uid}
        of = {"apiVersion": "v1", "kind": event.of, "name": name, **place}
    else:
        name, kind, message = event.pod, "Normal" if event.node else "Warning", event.words()
        reason = "WattpackPromised" if event.promised else "WattpackPlaced" if event.node else "WattpackCannotPlace"
        of = {"apiVersion": "v1", "kind": "Pod", "namespace": event.namespace, "name": name, "uid": event.uid}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name[:200]}.{secrets.token_hex(8)}", "namespace": event.namespace},
        "involvedObject": of,
        "type": kind,
        "reason": reason,
        "message": message[:1000],
        "source": {"component": "wattpack"},
        "reportingComponent": "wattpack",
        "reportingInstance": "wattpack",
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
