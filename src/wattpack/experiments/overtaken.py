"""Tasks that `backfill` lets wait far longer than `fifo` would: the same tasks, run again under both disciplines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from wattpack.engine.moments.options import BACKFILL, FIFO
from wattpack.experiments.scenario import Inputs, Scenario
from wattpack.experiments.timed import run_timed_scenario
from wattpack.experiments.timed_result import TimedNumbers

FAR_LONGER = 10  # times the wait under fifo
SHORT_S = 60.0  # a shorter wait under fifo counts as this: ten times nothing is nothing


def overtaken_lines(results: Mapping[Scenario, TimedNumbers], inputs: Inputs) -> Iterator[str]:
    """A line for each datacenter and trace whose tasks wait so under backfill.

    Looked at is the run with the longest wait of each, if that is long enough to be far longer than any: two runs more.
    """
    longest: dict[tuple[str, str], Scenario] = {}
    for scenario in _by_wait(results):
        longest.setdefault((scenario.datacenter, scenario.trace), scenario)
    for scenario in longest.values():
        line = overtaken_line(scenario, inputs)
        if line:
            yield line


def _by_wait(results: Mapping[Scenario, TimedNumbers]) -> Iterable[Scenario]:
    """Runs under backfill in which a task waits for long, the longest first."""
    found = [
        (numbers.wait_max_s, scenario)
        for scenario, numbers in results.items()
        if scenario.timed is not None and scenario.timed.queue == BACKFILL and numbers.wait_max_s > FAR_LONGER * SHORT_S
    ]
    return [scenario for _, scenario in sorted(found, key=lambda pair: -pair[0])]


def overtaken_line(scenario: Scenario, inputs: Inputs) -> str:
    """How many tasks of this run wait far longer than under fifo, and the worst of them; empty if none does."""
    assert scenario.timed is not None
    plain = replace(scenario, timed=scenario.timed._replace(bound=0))
    ours = run_timed_scenario(plain, inputs)
    fifo = run_timed_scenario(replace(plain, timed=plain.timed._replace(queue=FIFO)), inputs)  # type: ignore[union-attr]
    wait_s, fifo_s = ours.record.wait_s, fifo.record.wait_s
    with np.errstate(invalid="ignore"):
        times = wait_s / np.maximum(fifo_s, SHORT_S)
    times[np.isnan(times)] = 0.0
    count = int((times > FAR_LONGER).sum())
    if count == 0:
        return ""
    worst = int(np.argmax(np.where(times > FAR_LONGER, wait_s, 0.0)))
    workload = ours.tasks.workload
    gpus = workload.classes[int(workload.sequence[worst])].num_gpu
    size = f" ({gpus} GPUs)" if gpus > 1 else ""
    return (
        f"{scenario.trace}, {scenario.label}: backfill lets {count:,} of {len(workload):,} tasks wait more than "
        f"{FAR_LONGER} times as long as fifo would (the same tasks run under both; a wait below {SHORT_S:.0f} s counts "
        f"as that), at most {workload.task_name(worst)}{size}: {wait_s[worst]:,.0f} s instead of {fifo_s[worst]:,.0f} "
        "s; it reserves no room for a task that others overtake"
    )
