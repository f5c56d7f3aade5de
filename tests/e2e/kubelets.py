"""What kubelets would tell of their machines: a Node is Ready a while after its machine is on, and not when it is off.

There is no kubelet here. This small program follows the power states of the emulator: the emulator tells it of every
order, it asks for the state when the order should be carried out, and writes the Node's Ready condition.
"""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from e2e.api import Api, ApiError
from e2e.emulator import Emulator

LOOK_EVERY_S = 0.05


class Kubelets:
    """`with Kubelets(api, boot_s) as kubelets`; give `kubelets.url` to the emulator, then the emulator to `follow`."""

    def __init__(self, api: Api, boot_s: float) -> None:
        self.api, self.boot_s = Api(api.url, api.token, api.certificate), boot_s
        self.broken: set[str] = set()  # machines that are on and never become Ready
        self.ready_at: dict[str, float] = {}  # when each Node last became Ready, on the monotonic clock
        self.off: set[str] = set()  # machines that are off
        self._due: dict[str, tuple[float, str]] = {}  # node -> when to do what, on the clock of the emulator
        self._emulator: Emulator | None = None
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._threads = [
            threading.Thread(target=self._server.serve_forever, name="kubelets-told", daemon=True),
            threading.Thread(target=self._work, name="kubelets", daemon=True),
        ]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Kubelets:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()
        for thread in self._threads:
            thread.join(10)
        self.api.close()

    def follow(self, emulator: Emulator) -> None:
        self._emulator = emulator

    def told(self, system: dict[str, Any]) -> None:
        """The emulator's note of a change: what is pending, and from when on it holds."""
        if pending := system.get("pending_power"):
            with self._lock:
                self._due[system["name"]] = pending["apply_time"], "look"

    def _work(self) -> None:
        while not self._stop.wait(LOOK_EVERY_S):
            with self._lock:
                due = {node: what for node, (at, what) in self._due.items() if at <= time.time()}
                for node in due:
                    del self._due[node]
            for node, what in due.items():
                self._do(node, what)

    def _do(self, node: str, what: str) -> None:
        assert self._emulator is not None
        try:
            if what == "ready":
                self.set_ready(node, "True")
                self.ready_at[node] = time.monotonic()
            elif self._emulator.power(node) == "Off":
                self.off.add(node)
                self.set_ready(node, "Unknown")
            elif node not in self.broken:
                self.off.discard(node)
                with self._lock:
                    self._due.setdefault(node, (time.time() + self.boot_s, "ready"))
        except (OSError, ApiError, AssertionError):  # emulator or apiserver is away: that is what some tests do
            with self._lock:
                self._due.setdefault(node, (time.time() + 0.5, what))

    def set_ready(self, node: str, status: str) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        condition = {"type": "Ready", "status": status, "reason": "PowerState", "message": "as the emulator says"}
        condition |= {"lastHeartbeatTime": now, "lastTransitionTime": now}
        self.api.patch(f"/api/v1/nodes/{node}/status", {"status": {"conditions": [condition]}}, "strategic")


def _handler(kubelets: Kubelets) -> type[BaseHTTPRequestHandler]:
    class Told(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kubelets.told(json.loads(body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    return Told
