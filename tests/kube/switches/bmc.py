"""A BMC that misbehaves on request: the real emulator (tests/e2e) never refuses, lies, stalls or goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from kube.api_in_memory import InMemory
from wattpack.kube.switches.config import RedfishConfig
from wattpack.kube.switches.credentials import Credential
from wattpack.kube.switches.redfish import Redfish
from wattpack.kube.switches.switch import Machine

USER, PASSWORD = "operator", "s3cret-of-the-BMC"
SYSTEM = "/redfish/v1/Systems/1"
RESETS = ["On", "ForceOff", "GracefulShutdown"]


class Bmc:
    """One machine. A test sets what is wrong with it."""

    def __init__(self) -> None:
        self.power = "On"
        self.systems = [SYSTEM]
        self.allowed: list[str] | None = RESETS
        self.target = f"{SYSTEM}/Actions/ComputerSystem.Reset"
        self.password = PASSWORD
        self.obeys = True  # False: it accepts every order and does nothing
        self.delay_s = 0.0
        self.answer: web.Response | None = None  # instead of its own, to calls with the right password
        self.asked: list[tuple[str, str, Any]] = []
        self.sent_headers: list[str] = []

    @property
    def resets(self) -> list[str]:
        return [body["ResetType"] for method, _, body in self.asked if method == "POST"]

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json() if request.method == "POST" else None
        self.asked.append((request.method, request.path, body))
        self.sent_headers.append(request.headers.get("Authorization", ""))
        await asyncio.sleep(self.delay_s)
        if request.headers.get("Authorization") != Credential(USER, self.password).header():
            return web.json_response({"error": {"message": f"no: {request.headers['Authorization']}"}}, status=401)
        if self.answer is not None:
            return self.answer
        if request.path == "/redfish/v1/Systems":
            return web.json_response({"Members": [{"@odata.id": path} for path in self.systems]})
        if request.method == "POST":
            if self.obeys:
                self.power = "On" if body["ResetType"] == "On" else "Off"
            return web.Response(status=204)
        reset: dict[str, Any] = {"target": self.target}
        if self.allowed is not None:
            reset["ResetType@Redfish.AllowableValues"] = self.allowed
        return web.json_response({"PowerState": self.power, "Actions": {"#ComputerSystem.Reset": reset}})


@asynccontextmanager
async def switch_of(bmc: Bmc, folder: Path, path: str = "", **config: Any) -> AsyncIterator[tuple[Redfish, Machine]]:
    """A Redfish switch, and the machine whose BMC this is; user and password are files in `folder`."""
    (folder / "username").write_text(f"{USER}\n")
    (folder / "password").write_text(f"{PASSWORD}\n")
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", bmc.handle)
    async with TestServer(app, host="127.0.0.1") as server:
        address = str(server.make_url("")).rstrip("/") + path
        config = {"addresses": {"node-1": address}, "credentials": str(folder), "timeout_s": 5, **config}
        switch = Redfish(RedfishConfig(**config), InMemory())
        try:
            yield switch, Machine("node-1", {}, "")
        finally:
            await switch.close()


async def sure() -> None:
    """The machine may be switched off."""


def in_a_loop(test: Callable[[Path], Awaitable[None]]) -> Callable[[Path], None]:
    """The test, run to its end in a loop of its own, with a folder."""

    def run(tmp_path: Path) -> None:
        asyncio.run(test(tmp_path))  # type: ignore[arg-type]

    run.__name__ = test.__name__
    return run
