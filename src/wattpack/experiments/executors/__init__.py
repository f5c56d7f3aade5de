"""Where runs run: threads or processes of this machine, Dask, Ray. All hand back the same bytes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec

from wattpack.errors import UserError
from wattpack.experiments.digests import own_policies
from wattpack.experiments.executors.executor import Executor
from wattpack.experiments.executors.worker import Setup
from wattpack.experiments.plugins import Plugin
from wattpack.experiments.scenario import Inputs, Scenario
from wattpack.policies.expression import parse

THREADS_UP_TO = 4  # workers; see local.py
MAX_WORKERS = 1024
KINDS = ("local", "threads", "processes", "dask", "ray")
PACKAGES = {"dask": ("dask", "distributed"), "ray": ("ray",)}  # what may not be installed


def usable_cores() -> int:
    """Cores this process may use (a container may allow fewer than the machine has)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parse_on(on: str) -> tuple[str, str | None]:
    """Kind and address of `local`, `threads`, `processes`, `dask[=ADDRESS]`, `ray[=ADDRESS]`."""
    kind, equals, address = on.partition("=")
    if kind not in KINDS or (equals and (not address or kind not in ("dask", "ray"))):
        raise UserError(f"--on {on!r}, expected local, dask[=ADDRESS] or ray[=ADDRESS]")
    return kind, address or None


def check_executor(on: str, workers: int | None) -> None:
    """Refuse an unknown executor or a missing package before anything is written."""
    kind, _ = parse_on(on)
    if workers is not None and not 1 <= workers <= MAX_WORKERS:
        raise UserError(f"--workers {workers}, expected 1 to {MAX_WORKERS}")
    if any(find_spec(package) is None for package in PACKAGES.get(kind, ())):
        raise UserError(f"--on {kind}: {kind.title()} is not installed, expected `pip install 'wattpack[{kind}]'`")


def open_executor(
    on: str,
    scenarios: Sequence[Scenario],
    inputs: Inputs,
    workers: int | None,
    plugins: tuple[Plugin, ...],
    warm_up: Callable[[], None],
) -> Executor:
    """The executor that `on` names. `workers`: runs at once; a cluster at an address has its own number.

    `warm_up` is called before anything runs on this machine.
    """
    check_executor(on, workers)
    kind, address = parse_on(on)
    count = workers or usable_cores()
    unshipped = not plugins and any(own_policies(parse(policy)) for policy in {s.policy for s in scenarios})
    if kind == "local":
        kind = "threads" if count <= THREADS_UP_TO or unshipped else "processes"
    if kind == "threads":
        from wattpack.experiments.executors.local import Threads

        warm_up()
        return Threads(inputs, min(count, max(1, len(scenarios))))
    if unshipped:
        raise UserError(f"--on {on}: policies of your own, expected the file that registers them as a plugin")
    setup, count = Setup(inputs, plugins), min(count, max(1, len(scenarios)))
    if address is None:
        warm_up()
    if kind == "processes":
        from wattpack.experiments.executors.local import Processes

        return Processes(setup, count)
    if kind == "dask":
        from wattpack.experiments.executors.dask import Dask

        return Dask(setup, address, count)
    from wattpack.experiments.executors.ray import Ray

    return Ray(setup, address, count)
