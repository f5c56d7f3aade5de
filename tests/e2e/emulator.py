"""A real Redfish emulator (sushy-tools) with many machines in one process, and their power as a test sees it."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bcrypt

from e2e.api import wait_until
from e2e.processes import Processes, free_port

HERE = Path(__file__).parent
USER, PASSWORD = "operator", "password-of-the-emulator"
BMC = "example.com/bmc"  # the annotation of a Node that holds the address of its BMC
READY_S = 60.0


def uuid_of(node: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, node))


class Emulator:
    """`nodes`: the machines, all on. With `delay_s` a change of power takes exactly that; else 1 to 11 s, at random."""

    def __init__(
        self,
        processes: Processes,
        nodes: Sequence[str],
        delay_s: float | None = None,
        certificate: tuple[Path, Path] | None = None,
        notify: str = "",
        password: str = PASSWORD,
    ) -> None:
        self.processes, self.nodes, self.delay_s, self.certificate = processes, tuple(nodes), delay_s, certificate
        self.password = password
        self.port = free_port()
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}"
        self.folder = processes.folder / "emulator"
        self.folder.mkdir(exist_ok=True)
        self._write_config(notify)

    def start(self) -> Emulator:
        program: list[object] = (
            ["-m", "sushy_tools.emulator.main"] if self.delay_s is None else ["-P", HERE / "fast_emulator.py"]
        )
        command = [sys.executable, *program, "--config", self.folder / "conf.py", "--fake"]
        command += ["--interface", "127.0.0.1", "--port", self.port, "--feature-set", "minimum"]
        if self.certificate:
            command += ["--ssl-certificate", self.certificate[0], "--ssl-key", self.certificate[1]]
        self.processes.start("emulator", command, {"POWER_DELAY_S": str(self.delay_s)})
        wait_until(self._answers, READY_S, f"the emulator answers:\n{self.processes.log_end('emulator')}")
        return self

    def kill(self) -> None:
        self.processes.kill("emulator")

    def address(self, node: str) -> str:
        return f"{self.url}/redfish/v1/Systems/{uuid_of(node)}"

    def power(self, node: str) -> str:
        """As a person with a terminal would ask: On or Off."""
        state: str = self._request("GET", f"/redfish/v1/Systems/{uuid_of(node)}")["PowerState"]
        return state

    def reset(self, node: str, kind: str) -> None:
        """As a person with a terminal would switch it."""
        self._request("POST", f"/redfish/v1/Systems/{uuid_of(node)}/Actions/ComputerSystem.Reset", {"ResetType": kind})

    def write_credentials(self) -> Path:
        """A folder as `[sleep.redfish] credentials` names it."""
        folder = self.folder / "credentials"
        folder.mkdir(exist_ok=True)
        (folder / "username").write_text(USER)
        (folder / "password").write_text(self.password)
        return folder

    def _answers(self) -> bool:
        self.processes.check()
        try:
            return "Members" in self._request("GET", "/redfish/v1/Systems")
        except OSError:
            return False

    def _request(self, method: str, path: str, body: Any = None) -> Any:
        connection: http.client.HTTPConnection
        if self.certificate:
            context = ssl.create_default_context(cafile=self.certificate[0])
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=context)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        token = base64.b64encode(f"{USER}:{self.password}".encode()).decode()
        headers = {"Content-Type": "application/json", "Authorization": f"Basic {token}"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status < 300, f"{method} {path}: {answer.status} {text[:300]!r}"
            return json.loads(text) if text else None
        finally:
            connection.close()

    def _write_config(self, notify: str) -> None:
        systems = [
            {
                "uuid": uuid_of(node),
                "name": node,
                "power_state": "On",
                "external_notifier": bool(notify),
                "nics": [{"mac": "00:5c:52:31:3a:9c", "ip": "127.0.0.1"}],
            }
            for node in self.nodes
        ]
        users = self.folder / "users"
        # The least work factor: a real one would take 0.1 s of every call.
        users.write_text(f"{USER}:{bcrypt.hashpw(self.password.encode(), bcrypt.gensalt(4)).decode()}\n")
        lines = {
            "SUSHY_EMULATOR_FAKE_SYSTEMS": systems,
            "SUSHY_EMULATOR_AUTH_FILE": str(users),
            "SUSHY_EMULATOR_STATE_DIR": str(self.folder),
            "EXTERNAL_NOTIFICATION_URL": notify,
        }
        (self.folder / "conf.py").write_text("".join(f"{name} = {value!r}\n" for name, value in lines.items()))
