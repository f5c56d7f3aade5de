"""Child processes of a test: each with a log of its own, ended by its own number, and nothing else is touched."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

END_S = 15.0  # how long a process may take to end after SIGTERM


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Processes:
    """The named processes of one test folder, in order of their start."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[object], environment: dict[str, str] | None = None) -> int:
        """Start `command` as `name` and give its process id; output is added to NAME.log."""
        if self.alive(name):
            raise RuntimeError(f"{name} is running already")
        with self.log_file(name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        return self._running[name].pid

    def alive(self, name: str) -> bool:
        return name in self._running and self._running[name].poll() is None

    def pid(self, name: str) -> int:
        return self._running[name].pid

    def end(self, name: str) -> int:
        """SIGTERM, and SIGKILL if that was not enough; the exit status."""
        process = self._running.pop(name)
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
        return process.wait()

    def kill(self, name: str) -> None:
        """SIGKILL: the process has no chance to say or write anything."""
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def wait(self, name: str, timeout_s: float = END_S) -> int:
        """Wait for a process to end by itself; the exit status."""
        status = self._running[name].wait(timeout_s)
        del self._running[name]
        return status

    def kill_all(self) -> None:
        """At the end of a test: nothing here has to be kept, and an apiserver that ends in good order takes seconds."""
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            process.wait()
        self._running.clear()

    def check(self) -> None:
        """Raise if a process has ended that nobody ended."""
        for name, process in self._running.items():
            if process.poll() is not None:
                raise RuntimeError(f"{name} ended with {process.returncode}:\n{self.log_end(name)}")

    def log_file(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def log_end(self, name: str, characters: int = 3000) -> str:
        file = self.log_file(name)
        return file.read_text(errors="replace")[-characters:] if file.exists() else ""

    def resident_mib(self, name: str) -> float:
        pages = int(Path(f"/proc/{self.pid(name)}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def cpu_seconds(self, name: str) -> float:
        """CPU time of the process so far, its threads included."""
        fields = Path(f"/proc/{self.pid(name)}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
