"""A watch on all pods in a thread of its own: when each was bound, that none ever moved, and what GPUs ever held.

A list every so often would cost the apiserver as much as the scheduling itself; a watch shares its encoded events with
the other watches.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter
from typing import Any

from e2e.api import Api, ApiError
from e2e.audit import Placement
from e2e.nodes_and_pods import GPU_INDEX, PREFIX

PODS = "/api/v1/namespaces/default/pods"


class PodWatch:
    """`with PodWatch(api) as watch: ... watch.wait_bound(1000, 60)`. Goes on when the apiserver is restarted."""

    def __init__(self, api: Api) -> None:
        self.api = Api(api.url, api.token, api.certificate)  # a connection of its own
        self.bound_at: dict[str, float] = {}  # by name, on the monotonic clock
        self.moved: list[str] = []
        self.over: list[str] = []  # GPUs that held more than 1000 milli at some time
        self._held: dict[str, tuple[str, tuple[int, ...], int]] = {}  # uid -> node, GPUs, milli of each
        self._milli: Counter[tuple[str, int]] = Counter()  # by node and GPU
        self._placed: dict[str, Placement] = {}  # by uid
        self._version = ""
        self._stop = False
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._follow, name="pod-watch", daemon=True)

    def __enter__(self) -> PodWatch:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop = True
        self.api.close()
        self._thread.join(10)

    def wait_bound(self, count: int, stalled_s: float) -> int:
        """Wait until so many pods are bound, or none was for `stalled_s`; how many are."""
        with self._news:
            before = -1
            while before < len(self.bound_at) < count:
                before = len(self.bound_at)
                self._news.wait_for(lambda: len(self.bound_at) > before, stalled_s)  # noqa: B023
            return len(self.bound_at)

    def _follow(self) -> None:
        while not self._stop:
            try:
                if not self._version:
                    listed = self.api.get(PODS)
                    self._version = listed["metadata"]["resourceVersion"]
                    self._held, self._milli = {}, Counter()
                    for pod in listed["items"]:
                        self._see(pod)
                        self._count("LISTED", pod)
                for line in self.api.lines(f"{PODS}?watch=1&resourceVersion={self._version}"):
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        self._version = ""
                        break
                    self._version = event["object"]["metadata"]["resourceVersion"]
                    self._see(event["object"])
                    self._count(event["type"], event["object"])
            except (OSError, http.client.HTTPException, ApiError, ValueError, AttributeError):
                # AttributeError: http.client's own, when its connection is closed under a read
                time.sleep(0.2)

    def _see(self, pod: dict[str, Any]) -> None:
        node, uid, name = pod["spec"].get("nodeName"), pod["metadata"]["uid"], pod["metadata"]["name"]
        if not node:
            return
        now = Placement(node, (pod["metadata"].get("annotations") or {}).get(GPU_INDEX, ""))
        if self._placed.setdefault(uid, now) != now:
            self.moved.append(f"{name}: {self._placed[uid]}, then {now}")
        with self._news:
            if name not in self.bound_at:
                self.bound_at[name] = time.monotonic()
                self._news.notify_all()

    def _count(self, event: str, pod: dict[str, Any]) -> None:
        """Keep what each GPU holds, as the events come: they come in the order in which etcd was written."""
        uid, node, held = pod["metadata"]["uid"], pod["spec"].get("nodeName"), pod["metadata"].get("annotations") or {}
        if before := self._held.pop(uid, None):
            for gpu in before[1]:
                self._milli[before[0], gpu] -= before[2]
        if not node or event == "DELETED" or pod["status"].get("phase") in ("Succeeded", "Failed"):
            return
        gpus = tuple(int(part) for part in held.get(GPU_INDEX, "").split("-") if part != "")
        milli = int(held.get(f"{PREFIX}/gpu-milli", 0))
        self._held[uid] = node, gpus, milli
        for gpu in gpus:
            self._milli[node, gpu] += milli
            if self._milli[node, gpu] > 1000:
                self.over.append(f"{pod['metadata']['name']}: GPU {gpu} of {node} holds {self._milli[node, gpu]} milli")
