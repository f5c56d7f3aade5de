"""Runs that the page starts: each is a process of the command line with a folder of its own, which can be ended.

The folder is all there is between a run and the page: progress is the number of run files in it, and a page that is
opened later, or after a restart, reads the same folder.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from wattpack.errors import UserError
from wattpack.experiments.folder import FOLDERS
from wattpack.experiments.lineup import BASELINE
from wattpack.files import make_folder, write_text
from wattpack.ui.answers import RunStatus, State
from wattpack.ui.as_words import command_of, compared_with, python_of, words_of
from wattpack.ui.sources import Sources
from wattpack.ui.wire import RunRequest

REQUEST = "request.json"  # in the folder of a run: what the page asked for
OUTCOME = "outcome.json"  # how it ended, by the page's own account
SAID = "said.txt"
LOOK_EVERY_S = 0.4  # while a run is on; nothing is looked at otherwise
PATIENCE_S = 3.0  # after Ctrl-C, before the process is killed
MOST_AT_ONCE = 2
ID = re.compile(r"[a-z0-9-]{1,60}")
TAKEN_AWAY = ("report.html", "summary.csv", "time.csv", "steady.csv", "experiment.json")
STATES: dict[int, State] = {0: "done", 2: "refused", 130: "cancelled"}


class Run:
    """One run, on or over."""

    def __init__(self, id_: str, folder: Path, request: RunRequest | None, command: str, python: str) -> None:
        self.id, self.folder, self.request, self.command, self.python = id_, folder, request, command, python
        self.state: State = "done"
        self.line = ""
        self.started_s = time.monotonic()
        self.seconds = 0.0
        self.process: asyncio.subprocess.Process | None = None
        self.watch: asyncio.Task[None] | None = None
        self.changed = asyncio.Event()

    def status(self) -> RunStatus:
        done, all_ = progress(self.folder)
        gone = not self.folder.is_dir()
        return RunStatus(
            id=self.id,
            kind=self.request.kind if self.request else "results",
            title=title_of(self.request) if self.request else str(self.folder),
            state="gone" if gone else self.state,
            line=f"{self.folder}: the folder of this run is gone, expected a results folder" if gone else self.line,
            done=done,
            all=max(all_, done),
            seconds=round(time.monotonic() - self.started_s if self.state == "running" else self.seconds, 1),
            command=self.command,
            python=self.python,
            files=files_of(self.folder),
        )

    def tell(self) -> None:
        """Wake everyone who follows this run."""
        self.changed.set()
        self.changed = asyncio.Event()

    async def follow(self) -> AsyncIterator[RunStatus | None]:
        """The status now and after every change, until the run is over; None where nothing changed for long."""
        while True:
            changed = self.changed
            status = self.status()
            yield status
            if status.state != "running":
                return
            try:
                await asyncio.wait_for(changed.wait(), 15)
            except TimeoutError:
                yield None


class Runs:
    """All runs of the page's folder, and results folders of the command line."""

    def __init__(
        self, folder: Path, sources: Sources, results: Sequence[Path] = (), plugins: Sequence[Path] = ()
    ) -> None:
        self.folder, self.sources, self.plugins = folder, sources, [file.resolve() for file in plugins]
        self.runs: dict[str, Run] = {}
        for place, path in enumerate(results, 1):
            if not (path / "experiment.json").is_file():
                raise UserError(f"--results {path}: no experiment.json in it, expected a results folder")
            self.runs[f"results-{place}"] = Run(f"results-{place}", path.resolve(), None, "", "")
        for file in sorted(folder.glob(f"*/{REQUEST}")):
            if (found := _stored(file.parent)) is not None:
                self.runs[found.id] = found

    def get(self, id_: str) -> Run:
        if id_ not in self.runs:
            raise UserError(f"no run {id_!r}, expected one of this page's")
        return self.runs[id_]

    def list(self) -> list[RunStatus]:
        """The latest first."""
        return [run.status() for run in reversed(self.runs.values())]

    async def start(self, request: RunRequest) -> Run:
        on = [run.id for run in self.runs.values() if run.state == "running"]
        if len(on) >= MOST_AT_ONCE:
            raise UserError(f"{len(on)} runs are on, expected at most {MOST_AT_ONCE}: cancel one or wait")
        if request.profile is None and self.sources.power is not None:  # a page without the file is to say so
            request = msgspec.structs.replace(request, profile=self.sources.profile(None).name)
        words = words_of(request, self.sources, self.plugins)
        id_ = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
        folder = make_folder(self.folder / id_)
        command = command_of([*words, "--out", str(folder)])
        run = Run(id_, folder, request, command, python_of(request, self.sources))
        run.state = "running"
        kept = {"request": msgspec.to_builtins(request), "command": command, "python": run.python}
        write_text(folder / REQUEST, json.dumps(kept, indent=1) + "\n")
        with (folder / SAID).open("wb") as said:
            run.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "wattpack",
                *words,
                *("--out", str(folder)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        self.runs[id_] = run
        run.watch = asyncio.create_task(self._watch(run))
        return run

    async def _watch(self, run: Run) -> None:
        assert run.process is not None
        ended = asyncio.create_task(run.process.wait())
        seen = (-1, -1)
        while not ended.done():
            await asyncio.wait([ended], timeout=LOOK_EVERY_S)
            if (now := progress(run.folder)) != seen:
                seen = now
                run.tell()
        code = ended.result()
        cancelled = run.state == "cancelled" or code < 0
        run.state = "cancelled" if cancelled else STATES.get(code, "failed")
        run.seconds = round(time.monotonic() - run.started_s, 1)
        run.line = "" if run.state in ("done", "cancelled") else _last_line(run.folder)
        if run.folder.is_dir():
            write_text(run.folder / OUTCOME, json.dumps({"state": run.state, "line": run.line, "seconds": run.seconds}))
        run.tell()

    async def cancel(self, run: Run) -> None:
        """As Ctrl-C: finished runs are kept."""
        if run.process is None or run.state != "running":
            return
        run.state = "cancelled"
        _signal(run.process, signal.SIGINT)
        try:
            await asyncio.wait_for(run.process.wait(), PATIENCE_S)
        except TimeoutError:
            _signal(run.process, signal.SIGKILL)

    async def forget(self, run: Run) -> None:
        """Remove a run of this page with its folder; a folder of the command line is only closed."""
        await self.cancel(run)
        if run.watch is not None:
            await asyncio.wait([run.watch], timeout=PATIENCE_S)
        del self.runs[run.id]
        if run.request is not None:
            shutil.rmtree(run.folder, ignore_errors=True)

    async def close(self) -> None:
        """End what is still on: no run outlives the page's server."""
        for run in list(self.runs.values()):
            await self.cancel(run)
        watches = [run.watch for run in self.runs.values() if run.watch is not None]
        if watches:
            await asyncio.wait(watches, timeout=PATIENCE_S)


def progress(folder: Path) -> tuple[int, int]:
    """Run files there, and runs in all as far as `experiment.json` says."""
    done = sum(1 for name in FOLDERS.values() for _ in (folder / name).glob("*.parquet"))
    try:
        with (folder / "experiment.json").open("rb") as file:
            return done, len(re.findall(rb'^  \{"id": ', file.read(), re.MULTILINE))
    except OSError:
        return done, 0


def files_of(folder: Path) -> list[str]:
    return [name for name in TAKEN_AWAY if (folder / name).is_file()]


def title_of(request: RunRequest) -> str:
    edits = [*(f"+ {x}" for x in request.add), *(f"− {x}" for x in request.remove), *request.replace]
    where = " ".join([request.datacenter.rpartition("/")[2], *edits])
    traces = ", ".join(name.rpartition("/")[2] for name in request.traces)
    others = compared_with(request) if request.kind == "compare" else (request.against or BASELINE,)
    count = len({*request.policies, *others}) if request.policies else "the usual"
    return f"{count} policies, {traces} on {where}"


def _stored(folder: Path) -> Run | None:
    """A run of an earlier server; None for a folder that is none."""
    try:
        kept = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
        run = Run(
            folder.name,
            folder,
            msgspec.convert(kept["request"], RunRequest),
            str(kept["command"]),
            str(kept["python"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not ID.fullmatch(folder.name):
        return None
    run.state = "cancelled"  # the server ended before it did
    with suppress(OSError, ValueError, KeyError, TypeError):
        outcome = json.loads((folder / OUTCOME).read_text(encoding="utf-8"))
        run.state, run.line, run.seconds = outcome["state"], str(outcome["line"]), float(outcome["seconds"])
    return run


def _last_line(folder: Path) -> str:
    try:
        lines = (folder / SAID).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return ""
    said = [line.strip() for line in lines if line.startswith("wattpack: ")]
    return (said or [line for line in lines if line.strip()] or [""])[-1].removeprefix("wattpack: ")


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
