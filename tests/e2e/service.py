"""`wattpack serve` as a child process, configured by a file, asked over HTTP as kube-scheduler and people ask it."""

from __future__ import annotations

import http.client
import json
import sys
from pathlib import Path
from typing import Any

from e2e.api import Json, wait_until
from e2e.processes import Processes, free_port

READY_S = 120.0  # 2 s with compiled kernels in the cache, 15 s without


class Service:
    """One replica. It can be killed and started again on the same port."""

    def __init__(
        self, processes: Processes, kubeconfig: Path, name: str = "wattpack", port: int | None = None, **config: Any
    ) -> None:
        self.processes, self.kubeconfig, self.name = processes, kubeconfig, name
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.program: list[object] = ["-m", "wattpack"]
        self.config_file = processes.folder / f"{name}.toml"
        self.write_config(**config)

    def write_config(self, **config: Any) -> None:
        self.config_file.write_text(toml(config))

    def start(self, wait: bool = True) -> Service:
        command = [sys.executable, *self.program, "serve", "--config", self.config_file]
        command += ["--kubeconfig", self.kubeconfig, "--host", "127.0.0.1", "--port", self.port]
        self.processes.start(self.name, command)
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self, timeout_s: float = READY_S) -> None:
        def ready() -> bool:
            assert self.alive, f"{self.name} ended:\n{self.log}"
            try:
                return self.request("GET", "/readyz")[0] == 200
            except (OSError, http.client.HTTPException):
                return False

        wait_until(ready, timeout_s, f"{self.name} is ready", every_s=0.05)

    @property
    def alive(self) -> bool:
        return self.processes.alive(self.name)

    @property
    def log(self) -> str:
        return self.processes.log_end(self.name, 6000)

    def kill(self) -> None:
        self.processes.kill(self.name)

    def end(self) -> int:
        return self.processes.end(self.name)

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, timeout_s: float = 30
    ) -> tuple[int, bytes]:
        """Status and bytes of the answer. `body` bytes are sent as they are, anything else as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        status, text = self.request("GET", path)
        assert status == 200, f"GET {path}: {status} {text[:500]!r}"
        return json.loads(text)

    def filter(self, pod: Json, node_names: list[str]) -> Json:
        """What kube-scheduler is told when it asks for this pod and these nodes."""
        status, text = self.request("POST", "/filter", {"Pod": pod, "Nodes": None, "NodeNames": node_names})
        assert status == 200, f"POST /filter: {status} {text[:500]!r}"
        answer: Json = json.loads(text)
        return answer

    def metrics(self) -> dict[str, float]:
        """Every sample by its name with labels, as the text format writes it."""
        status, text = self.request("GET", "/metrics")
        assert status == 200, text[:500]
        lines = [line for line in text.decode().splitlines() if line and not line.startswith("#")]
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def toml(config: dict[str, Any]) -> str:
    """Plain values first, then tables; a JSON text is a TOML text for strings, numbers and truth values."""
    plain = [f"{key} = {json.dumps(value)}" for key, value in config.items() if not isinstance(value, dict)]
    for table, values in config.items():
        if isinstance(values, dict):
            plain += [f"[{table}]", *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join([*plain, ""])
