"""Runs on this machine: threads for a few workers, processes for many.

Threads start at once and share all inputs. Kernels release Python's lock, but the rest of a run (building the engine,
reading the result: 8 of 50 ms, measured) does not: six threads would keep the lock busy, and more would only wait for
it. So above four workers there are processes, which take a second to start and their own copy of the inputs.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import types
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wattpack.errors import RunError
from wattpack.experiments.executors.executor import WorkerLostError
from wattpack.experiments.executors.worker import Setup, run_into_folder, take
from wattpack.experiments.run_files import run_file
from wattpack.experiments.scenario import Inputs, Scenario
from wattpack.files import temporary_path, why

# Ctrl-C may end us before the pool is closed: Python's tracker of semaphores then removes them, and need not say so.
QUIET = "ignore:resource_tracker:UserWarning"
AHEAD = 2  # runs submitted beyond the workers, so that none waits for the one who stores results


class Threads:
    """Threads of this process."""

    def __init__(self, inputs: Inputs, workers: int) -> None:
        self._inputs, self._workers = inputs, workers
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="wattpack")

    def window(self) -> int:
        return self._workers + AHEAD

    def submit(self, scenario: Scenario) -> Future[bytes]:
        return self._pool.submit(run_file, scenario, self._inputs)

    def wait(self, tickets: Collection[Any]) -> Iterable[Any]:
        return wait(tickets, return_when=FIRST_COMPLETED).done

    def result(self, ticket: Future[bytes]) -> bytes:
        return ticket.result()

    def close(self) -> None:
        """A run that is still on is not waited for: a kernel cannot be stopped, and one with MILPs takes a minute."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Processes:
    """Processes of this machine, each with its own copy of the inputs. Lost ones are replaced.

    A run comes back as a file in a folder of its own, and only its name through the pool's pipe: a message that short
    is written whole or not at all. Of a longer one, a worker that is killed meanwhile leaves a part, and the pool waits
    for the rest for ever (seen).

    `concurrent.futures` and not loky: as fast (start 0.7 against 1.1 s, 0.2 against 0.4 ms a run), one package less.
    """

    def __init__(self, setup: Setup, workers: int) -> None:
        self._setup, self._workers = setup, workers
        self._pool: ProcessPoolExecutor | None = None
        try:
            self._temporary = temporary_path(Path(tempfile.mkdtemp(prefix="wattpack-")))  # for us alone: mode 0700
        except OSError as fault:
            raise RunError(f"no temporary folder for results on their way ({why(fault)}); $TMPDIR names one") from None
        self._files = self._temporary.__enter__()

    def window(self) -> int:
        return self._workers + AHEAD

    def submit(self, scenario: Scenario) -> Future[str]:
        try:
            return self._submit(scenario)
        except BrokenProcessPool:  # a worker was lost since: the pool takes no more
            self._end_pool()
            return self._submit(scenario)

    def _submit(self, scenario: Scenario) -> Future[str]:
        if self._pool is None:
            if QUIET not in sys.warnoptions:  # the tracker is started with our options
                sys.warnoptions.append(QUIET)
            spawn = multiprocessing.get_context("spawn")  # a fork would copy the threads' locks as they stand
            self._pool = ProcessPoolExecutor(self._workers, spawn, _start_worker, (self._setup,))
        with _main_hidden(), _ctrl_c_held_back():  # this may start processes
            return self._pool.submit(run_into_folder, self._setup.token, scenario, str(self._files))

    def wait(self, tickets: Collection[Any]) -> Iterable[Any]:
        return wait(tickets, return_when=FIRST_COMPLETED).done

    def result(self, ticket: Future[str]) -> bytes:
        try:
            file = Path(ticket.result())
        except BrokenProcessPool:
            raise WorkerLostError("killed or out of memory") from None
        data = file.read_bytes()
        file.unlink()
        return data

    def close(self) -> None:
        self._end_pool()
        self._temporary.__exit__(None, None, None)

    def _end_pool(self) -> None:
        """Runs that are still on are not waited for: they can take minutes on a large datacenter."""
        if self._pool is not None:
            processes: dict[int, Any] = getattr(self._pool, "_processes", None) or {}  # 3.14 has `kill_workers`
            for process in list(processes.values()):
                process.kill()
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def _start_worker(setup: Setup) -> None:
    """In a new process: Ctrl-C is for the parent to act on, and no worker outlives its parent, however that ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:

        def follow() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()
    take(setup)


@contextmanager
def _ctrl_c_held_back() -> Iterator[None]:
    """Act on Ctrl-C afterwards: a pool that is half started cannot be closed.

    New processes inherit that it is blocked: one that is hit while it starts up would print a traceback.
    """
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))  # other threads let it through
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGINT, signal.default_int_handler if handler is None else handler)
    if came:
        raise KeyboardInterrupt


@contextmanager
def _main_hidden() -> Iterator[None]:
    """New processes import the main script again, which workers do not need, and which would run scripts without
    `if __name__ == "__main__"` a second time: show them an empty one."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
