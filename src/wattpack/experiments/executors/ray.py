"""Runs on Ray: an existing cluster (`ray=auto`, `ray=HOST:PORT`), or one started on this machine for the command."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Collection, Iterable
from typing import Any

from wattpack.errors import UserError
from wattpack.experiments.executors.executor import WorkerLostError
from wattpack.experiments.executors.worker import Setup, has, run_on_worker, take
from wattpack.experiments.scenario import Scenario

PATIENCE_S = 10  # for someone to answer at an address
LOOK_EVERY_S = 1.0  # at the number of CPUs: a cluster may grow and shrink
STORE_BYTES = 200 * 2**20  # of the object store: inputs and the few results on their way


class Ray:
    """Tasks of Ray's own API: `joblib`'s Ray backend cannot hand back results as they come."""

    def __init__(self, setup: Setup, address: str | None, workers: int) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # its future default; says so in a warning
        try:
            import ray
        except ImportError:
            raise UserError("--on ray: Ray is not installed, expected `pip install 'wattpack[ray]'`") from None
        self._ray: Any = ray
        self._started = not ray.is_initialized()
        if self._started:
            _start(ray, address, workers)
        # Lost runs are counted and tried again by `stream`, in the same way everywhere.
        self._run = ray.remote(max_retries=0, num_cpus=1)(_run_on_ray)
        self._token, self._setup = setup.token, ray.put(setup)
        self._cpus, self._looked_at = 1, -LOOK_EVERY_S

    def window(self) -> int:
        now = time.monotonic()
        if now - self._looked_at >= LOOK_EVERY_S:
            self._cpus, self._looked_at = int(self._ray.cluster_resources().get("CPU", 1)), now
        return 2 * self._cpus + 2

    def submit(self, scenario: Scenario) -> Any:
        # In a list the reference is not replaced by the value: workers fetch it once, not for every run.
        return self._run.remote(self._token, [self._setup], scenario)

    def wait(self, tickets: Collection[Any]) -> Iterable[Any]:
        done: list[Any] = self._ray.wait(list(tickets), num_returns=1)[0]
        return done

    def result(self, ticket: Any) -> bytes:
        lost = (
            self._ray.exceptions.WorkerCrashedError,
            self._ray.exceptions.OutOfMemoryError,
            self._ray.exceptions.NodeDiedError,
            self._ray.exceptions.ObjectLostError,
        )
        try:
            data: bytes = self._ray.get(ticket)
            return data
        except lost as fault:
            raise WorkerLostError(type(fault).__name__) from None
        except self._ray.exceptions.RayTaskError as fault:
            raise fault.cause from None

    def close(self) -> None:
        if self._started:
            self._ray.shutdown()


def _start(ray: Any, address: str | None, workers: int) -> None:
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False, "include_dashboard": False}
    try:
        if address is None:
            ray.init(address="local", num_cpus=workers, object_store_memory=STORE_BYTES, **quiet)
        else:
            _must_answer(address)
            ray.init(address=address, **quiet)
    except (ValueError, RuntimeError, OSError) as fault:
        said = str(fault).splitlines()[0] if str(fault) else type(fault).__name__
        expected = "expected the address of a Ray cluster, and its token set where it asks for one"
        raise UserError(f"--on ray{f'={address}' if address else ''}: {said}, {expected}") from None


def _must_answer(address: str) -> None:
    """Ray tries for many minutes to reach an address where nothing listens, and prints each try."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), PATIENCE_S).close()


def _run_on_ray(token: str, setup: list[Any], scenario: Scenario) -> bytes:
    if not has(token):
        import ray

        take(ray.get(setup[0]))
    return run_on_worker(token, scenario)
