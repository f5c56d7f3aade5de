"""An executor runs scenarios somewhere; `stream` is the one loop that uses all of them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Generator, Iterable, Iterator
from typing import Any, Protocol

from wattpack.errors import RunError
from wattpack.experiments.scenario import Scenario

MOST_LOSSES = 3  # a run under which this many workers were lost is taken for the cause

executors_open = 0  # executors that must be closed before the process may end


class WorkerLostError(Exception):
    """The worker of a run is gone (killed, out of memory, its machine off): the run itself did not fail."""


class ExecutorLostError(RunError):
    """The whole executor is gone: no further run can succeed."""


class Executor(Protocol):
    """Somewhere that runs scenarios. A ticket stands for one that was submitted."""

    def window(self) -> int:
        """How many to have submitted at once: enough to keep all workers busy, no more, since results wait there."""

    def submit(self, scenario: Scenario) -> Any:
        """Start a run; returns its ticket, anything that can be the key of a dict."""

    def wait(self, tickets: Collection[Any]) -> Iterable[Any]:
        """Those that have ended, at least one."""

    def result(self, ticket: Any) -> bytes:
        """The run file; raises what the run raised, or `WorkerLostError`. Called once for each ticket."""

    def close(self) -> None:
        """Stop what still runs, and everything that was started for it."""


def stream(executor: Executor, scenarios: Iterable[Scenario]) -> Generator[tuple[Scenario, bytes | Exception]]:
    """Run files and failures as they come, in no order.

    At most `executor.window()` runs are submitted at once: few results wait in memory, and little is lost when the user
    stops. The runs of a lost worker are submitted again. A run that loses its worker twice is a suspect and continues
    alone, so that a run that kills its worker (by taking all memory, say) does not take others with it.
    """
    waiting = iter(scenarios)
    again, suspects = deque[Scenario](), deque[Scenario]()
    losses: Counter[Scenario] = Counter()
    running: dict[Any, Scenario] = {}
    alone = False  # whether what runs is a suspect
    global executors_open
    executors_open += 1
    try:
        while True:
            if not running:
                alone = len(suspects) > 0
                if alone:
                    suspect = suspects.popleft()
                    running[executor.submit(suspect)] = suspect
            if not alone and not suspects:
                while len(running) < executor.window() and (scenario := _next(again, waiting)) is not None:
                    running[executor.submit(scenario)] = scenario
            if not running:
                return
            for ticket in executor.wait(running):
                scenario = running.pop(ticket)
                try:
                    yield scenario, executor.result(ticket)
                except WorkerLostError as lost:
                    losses[scenario] += 1
                    if losses[scenario] >= MOST_LOSSES:
                        yield scenario, WorkerLostError(f"{losses[scenario]} workers were lost under this run, {lost}")
                    else:
                        (again if losses[scenario] == 1 else suspects).append(scenario)
                except ExecutorLostError:
                    raise
                except Exception as fault:
                    yield scenario, fault
    finally:
        executor.close()
        executors_open -= 1


def _next(again: deque[Scenario], waiting: Iterator[Scenario]) -> Scenario | None:
    return again.popleft() if again else next(waiting, None)
