"""Kubernetes events on pods with the reason of a decision; sent in the background, after the decisions."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from datetime import UTC, datetime

from wattpack.kube.client import ApiError, Client
from wattpack.kube.decision import Decision
from wattpack.kube.metrics import Metrics

log = logging.getLogger("wattpack")
WAITING = 2000  # events in the queue; beyond that the oldest are dropped, as Kubernetes does
EACH_S = 0.05  # at most one event in this time: Bindings have priority at the API server
AGAIN_S = 60  # the same failure of the same pod is sent again after this long


class Events:
    """A queue of events, and the loop that sends them."""

    def __init__(self, client: Client, metrics: Metrics, which: str) -> None:
        self.client, self.metrics, self.which = client, metrics, which
        self.queue: deque[Decision] = deque()
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
        if len(self.queue) >= WAITING:
            self.queue.popleft()
            self.metrics.count("wattpack_events_dropped_total")
        self.queue.append(decision)
        self.some.set()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            await self.some.wait()
            while self.queue:
                decision = self.queue.popleft()
                try:
                    await self.client.call(
                        "POST", f"/api/v1/namespaces/{decision.namespace}/events", event_of(decision)
                    )
                except ApiError as fault:
                    self.metrics.count("wattpack_events_dropped_total")
                    log.debug("event for %s/%s: %s", decision.namespace, decision.pod, fault)
                await asyncio.sleep(EACH_S)
            self.some.clear()


def event_of(decision: Decision) -> dict[str, object]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{decision.pod[:200]}.{secrets.token_hex(8)}", "namespace": decision.namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": decision.namespace,
            "name": decision.pod,
            "uid": decision.uid,
        },
        "type": "Normal" if decision.node else "Warning",
        "reason": "WattpackPlaced" if decision.node else "WattpackCannotPlace",
        "message": decision.words()[:1000],
        "source": {"component": "wattpack"},
        "reportingComponent": "wattpack",
        "reportingInstance": "wattpack",
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
