"""Runs the scenarios that are not in the results folder yet, and stores each when it is done."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from wattpack.experiments.curves import read_at_loads
from wattpack.experiments.folder import Readings, ResultsFolder
from wattpack.experiments.scenario import Inputs, Scenario, run_scenario

Report = Callable[[int, int, str], None]  # runs done, runs in all, what just ended


@dataclass
class Outcome:
    """What became of the scenarios that were asked for."""

    done: int = 0
    skipped: int = 0  # were in the folder already
    failed: list[tuple[Scenario, str]] = field(default_factory=list)


def run_and_read(scenario: Scenario, inputs: Inputs) -> Readings:
    """What a worker does: one run, read at the grid of loads."""
    return read_at_loads(run_scenario(scenario, inputs))


def run_all(
    scenarios: Sequence[Scenario], inputs: Inputs, folder: ResultsFolder, report: Report, workers: int | None = None
) -> Outcome:
    """Run what is missing. A failing run is noted and does not sink the rest; Ctrl-C leaves the finished ones."""
    missing = folder.missing(scenarios)
    outcome = Outcome(skipped=len(scenarios) - len(missing))
    report(outcome.skipped, len(scenarios), "")
    for scenario, result in in_threads(missing, inputs, workers or usable_cores()):
        if isinstance(result, Exception):
            outcome.failed.append((scenario, f"{type(result).__name__}: {result}"))
        else:
            folder.write(scenario, result)
            outcome.done += 1
        finished = outcome.skipped + outcome.done + len(outcome.failed)
        report(finished, len(scenarios), f"{scenario.trace} {scenario.policy} seed {scenario.seed}")
    return outcome


def usable_cores() -> int:
    """Cores this process may use (a container may allow fewer than the machine has)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(
    scenarios: Sequence[Scenario], inputs: Inputs, workers: int
) -> Iterator[tuple[Scenario, Readings | Exception]]:
    """Results as they come. Kernels release the GIL, so threads use all cores without copying anything."""
    queue = iter(scenarios)
    running: dict[Future[Readings], Scenario] = {}
    with ThreadPoolExecutor(workers) as pool:
        try:
            while True:
                # A short queue: what is not started is not lost when the user stops, and no result waits in memory.
                while len(running) < workers + 2 and (scenario := next(queue, None)) is not None:
                    running[pool.submit(run_and_read, scenario, inputs)] = scenario
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    scenario = running.pop(future)
                    fault = future.exception()
                    if fault is not None and not isinstance(fault, Exception):
                        raise fault
                    yield scenario, fault if fault is not None else future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
