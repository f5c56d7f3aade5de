"""`wattpack ui` as a process, and a live service beside it, for tests in a real browser."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp.test_utils import TestServer

from kube.api_in_memory import InMemory, started
from kube.sleep.made import World
from wattpack.kube.app import new_app
from wattpack.kube.service import Service

CHROMIUM = Path("/usr/bin/chromium")
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
START_S = 60


class PageServer:
    """`wattpack ui` on a free port."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "wattpack", "ui", "--no-browser", "--out", str(folder / "out"), *words]
        with (folder / "log.txt").open("w") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        timer = threading.Timer(START_S, self.process.kill)
        timer.start()
        found = re.match(r"wattpack: (http://\S+) ", self.process.stdout.readline())
        timer.cancel()
        assert found is not None, (folder / "log.txt").read_text()
        self.address = found[1]  # with the token
        self.url = self.address.partition("/?")[0].rstrip("/")

    def show(self, tab: Any, path: str = "/") -> None:
        """Open a path in a tab of the browser, which gets the token."""
        token = self.address.partition("?")[2]
        tab.goto(f"{self.url}{path}{'&' if '?' in path else '?'}{token}")
        tab.wait_for_url(lambda url: "token=" not in url)

    def stop(self) -> int:
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGINT)
        code = self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


class LiveServer:
    """A `wattpack serve` on a cluster in memory, in a thread of its own."""

    def __init__(self, prepare: Callable[[InMemory], None], **config: Any) -> None:
        self.start_loop()
        self.client = InMemory()
        prepare(self.client)
        self.serve(self.wait(started(self.client, **config)))

    def start_loop(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def serve(self, service: Service) -> None:
        self.service = service
        self.server = TestServer(new_app(service))
        self.wait(self.server.start_server())
        self.url = f"http://127.0.0.1:{self.server.port}"

    def wait(self, doing: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(doing, self.loop).result(60)

    def stop(self) -> None:
        self.wait(self.server.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()


class SleepingServer(LiveServer):
    """The same where nodes sleep: `world` has the machines, and its clock is moved by hand."""

    def __init__(self, prepare: Callable[[World], None], **sleep: Any) -> None:
        self.start_loop()
        self.world = World(machines=0, **sleep)
        self.client = self.world.api
        prepare(self.world)
        self.wait(self.world.start())
        self.serve(self.world.service)
