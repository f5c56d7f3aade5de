"""Runs cases, each in a fresh folder: in a worker process that lives on, or in a process of its own as a user does."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fuzz.case import Case, Entry, lay_out, tree

WORKER = Path(__file__).with_name("worker.py")
LIMIT_S = 600.0  # no measurement: a case takes milliseconds, and more than this only if it hangs (kernels may compile)
LONGEST_WORD = 100_000  # bytes; Linux takes 131,072
KEPT = ("PATH", "LANG", "TMPDIR", "WATTPACK_CACHE")  # of our own environment


@dataclass(frozen=True)
class Result:
    code: int  # below 0: killed by this signal
    out: str
    err: str
    before: dict[str, Entry]
    after: dict[str, Entry]
    timed_out: bool = False


class Runner:
    """Owns the folders of the cases and the worker."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="wattpack-fuzz-"))
        home = self.folder / "home"
        home.mkdir()
        self.environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        # No kubeconfig of the user, but the kernels that are compiled already.
        caches = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        self.environment |= {"HOME": str(home), "XDG_CACHE_HOME": caches, "MPLBACKEND": "agg"}
        self.worker: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        self.stop_worker()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, case: Case, in_own_process: bool = False) -> Result:
        """The command of the case in a fresh folder, which has one above it: some outputs go to `..`."""
        top = Path(tempfile.mkdtemp(dir=self.folder))
        folder = top / "top" / "work"
        folder.mkdir(parents=True)
        lay_out(case, folder)
        before = tree(top / "top")
        # No system hands over longer words: only the worker, which is asked through a pipe, can try them.
        can_start = all(len(os.fsencode(word)) <= LONGEST_WORD for word in case.words)
        code, timed_out = (self._start if in_own_process and can_start else self._ask)(case, folder, top)
        (top / "stdout").touch()
        read = [(top / name).read_text(encoding="utf-8", errors="surrogateescape") for name in ("stdout", "stderr")]
        result = Result(code, read[0], read[1], before, tree(top / "top"), timed_out)
        shutil.rmtree(top)
        return result

    def _start(self, case: Case, folder: Path, top: Path) -> tuple[int, bool]:
        command = [sys.executable, "-m", "wattpack", *case.words]
        environment = self.environment | case.environment
        with stdout_of(case, top).open("wb") as out, (top / "stderr").open("wb") as err:
            try:
                ended = subprocess.run(
                    command,
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    timeout=LIMIT_S,
                )
            except subprocess.TimeoutExpired:
                return 0, True
        return ended.returncode, False

    def _ask(self, case: Case, folder: Path, top: Path) -> tuple[int, bool]:
        if self.worker is None:
            self.worker = subprocess.Popen(
                [sys.executable, "-P", str(WORKER)], env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        worker = self.worker
        assert worker.stdin is not None
        assert worker.stdout is not None
        request = {"words": case.words, "folder": str(folder), "environment": dict(case.environment)}
        request |= {"stdout": str(stdout_of(case, top)), "stderr": str(top / "stderr")}
        worker.stdin.write(json.dumps(request).encode() + b"\n")
        worker.stdin.flush()
        ready, _, _ = select.select([worker.stdout], [], [], LIMIT_S)
        line = worker.stdout.readline() if ready else b""
        if line:
            return int(json.loads(line)["code"]), False
        if not ready:
            worker.kill()
        self.worker = None
        worker.stdin.close()
        worker.stdout.close()
        return worker.wait(), not ready

    def stop_worker(self) -> None:
        """It ends with its input."""
        if self.worker is not None:
            self.worker.communicate()
            self.worker = None


def stdout_of(case: Case, top: Path) -> Path:
    return Path("/dev/full") if case.full else top / "stdout"
