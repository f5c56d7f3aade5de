"""Runs on Dask: an existing cluster (`dask=tcp://HOST:8786`), or one started on this machine for the command."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Collection, Iterable
from multiprocessing import resource_tracker
from typing import Any

from wattpack.errors import UserError
from wattpack.experiments.executors.executor import ExecutorLostError, WorkerLostError
from wattpack.experiments.executors.worker import Setup, run_on_worker, take
from wattpack.experiments.scenario import Scenario

PATIENCE_S = 30  # for the scheduler to answer, and for the first worker
LOOK_EVERY_S = 1.0  # at the number of workers: a cluster may grow and shrink
SETTINGS = {
    # Lost runs are counted and tried again by `stream`, in the same way everywhere.
    "distributed.scheduler.allowed-failures": 0,
    # Messages that client and scheduler remember for debugging: 1,000 each were 7 kB a run, for thousands of runs.
    "distributed.admin.low-level-log-length": 50,
}


class Dask:
    """A client of a Dask scheduler. The inputs go to each worker once, also to those that join later."""

    def __init__(self, setup: Setup, address: str | None, workers: int) -> None:
        try:
            import dask
            import distributed
        except ImportError:
            raise UserError("--on dask: Dask is not installed, expected `pip install 'wattpack[dask]'`") from None
        self._distributed: Any = distributed
        self._setup, self._tries = setup, 0
        self._cluster: Any = None
        with dask.config.set(SETTINGS):
            self._client: Any = self._connect(address, workers)
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE_S)
            self._client.register_plugin(_taking(distributed.WorkerPlugin, setup), name=self._name)
        except TimeoutError:
            self.close()
            raise UserError(f"--on dask={address}: no worker within {PATIENCE_S} s, expected at least one") from None
        except BaseException:
            self.close()
            raise
        self._threads, self._looked_at = 0, -LOOK_EVERY_S
        # Fetches results by itself while others are computed.
        self._completed = distributed.as_completed(loop=self._client.loop, with_results=True, raise_errors=False)
        self._results: dict[Any, Any] = {}

    def _connect(self, address: str | None, workers: int) -> Any:
        if address is None:
            _start_quiet_tracker()
            self._cluster = self._distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
            )
        try:
            return self._distributed.Client(self._cluster or address, timeout=PATIENCE_S, set_as_default=False)
        except (OSError, ValueError) as fault:
            self._stop_cluster()
            raise UserError(f"--on dask={address}: {_line(fault)}, expected the address of a Dask scheduler") from None

    @property
    def _name(self) -> str:
        return f"wattpack-{self._setup.token}"

    def window(self) -> int:
        now = time.monotonic()
        if now - self._looked_at >= LOOK_EVERY_S:
            self._threads, self._looked_at = sum(self._client.nthreads().values()), now
        return 4 * self._threads + 8  # more than elsewhere: Dask sends in batches, 2.7 against 3.8 ms a run (measured)

    def submit(self, scenario: Scenario) -> Any:
        self._tries += 1
        # A key of its own for each try: Dask remembers that a key has failed.
        key = f"{self._name}-{scenario.id}-{self._tries}"
        future = self._client.submit(run_on_worker, self._setup.token, scenario, key=key, pure=False)
        self._completed.add(future)
        return future

    def wait(self, tickets: Collection[Any]) -> Iterable[Any]:
        batch = self._completed.next_batch()
        self._results.update(batch)
        return [future for future, _ in batch]

    def result(self, ticket: Any) -> bytes:
        result, status = self._results.pop(ticket), ticket.status
        ticket.release()
        if status == "finished" and isinstance(result, bytes):
            return result
        if status != "error":
            raise ExecutorLostError("the connection to the Dask scheduler was lost; finished runs are kept")
        _, fault, _ = result  # kind, exception, traceback
        if isinstance(fault, self._distributed.scheduler.KilledWorker):
            raise WorkerLostError(f"the last one was {fault.last_worker.address}")
        raise fault

    def close(self) -> None:
        try:
            self._client.unregister_worker_plugin(self._name)
        except Exception:  # the scheduler is gone, or the plugin was never registered
            pass
        finally:
            self._client.close(timeout=5)
            self._stop_cluster()

    def _stop_cluster(self) -> None:
        if self._cluster is not None:
            self._cluster.close(timeout=5)


def _taking(base: Any, setup: Setup) -> Any:
    """A plugin of Dask workers that hands them the inputs when they start. Made here: its base class is Dask's."""

    class TakeInputs(base):  # type: ignore[misc]
        def setup(self, worker: Any) -> None:
            take(setup)

    return TakeInputs()


def _start_quiet_tracker() -> None:
    """Start the process that removes what worker processes leave behind, before Dask does, and keep it from printing.

    Ctrl-C ends the command at once, with semaphores of Dask left: without this, the last words on the screen were a
    warning of that process in place of ours. It removes them all the same.
    """
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore:resource_tracker"
    try:
        resource_tracker.ensure_running()
    finally:
        del os.environ["PYTHONWARNINGS"]
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before


def _line(fault: Exception) -> str:
    return str(fault).splitlines()[0] if str(fault) else type(fault).__name__
