"""Runs a case of `time_cases.py` on the engine, and compares the record with the second implementation's run."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import astuple, replace
from fractions import Fraction

import numpy as np

from builders import gpus_of, make_datacenter, make_mix, make_target, make_workload
from time_cases import TimedCase
from time_reference.accounts import energy_j, gpu_s, gpus_asked, peak_w, percentile_w, wait_s
from time_reference.inputs import STEP, Options, reference_speed
from time_reference.moments import Run
from wattpack.engine.moments.options import Sleep, Speeds, TimeOptions, with_caps
from wattpack.engine.moments.record import NO_PART, OUTCOMES, TimeRecord
from wattpack.engine.moments.simulate import new_simulation
from wattpack.engine.moments.sleep_run import NODE_STATES
from wattpack.model.caps import capped, speed_under_cap
from wattpack.model.nodes import Datacenter
from wattpack.model.power import LINEAR, PAPER
from wattpack.model.steps import Steps
from wattpack.model.timed_tasks import TimedTasks

SAMPLE_S = 4.5


def run_both(case: TimedCase) -> Run:
    """The second implementation's run, compared with the engine's."""
    run = case.run()
    assert_same(simulated(case), run)
    return run


def simulated(case: TimedCase, **changed: object) -> TimeRecord:
    """The engine's run; with other options where told."""
    options = replace(case.options, **changed)  # type: ignore[arg-type]
    datacenter = make_datacenter(case.nodes)
    profile = capped(replace(PAPER if options.curves is STEP else LINEAR, base_w=options.base_w), options.caps)
    return new_simulation(
        datacenter,
        timed_tasks(case),
        make_mix(case.policy),
        make_target(case.trace),
        None,
        profile,
        time_options(case, options, datacenter),
        joined_s=np.array(case.joined_s()),
    ).record()


def timed_tasks(case: TimedCase) -> TimedTasks:
    return TimedTasks(
        make_workload([timed.task for timed in case.tasks]),
        np.array([timed.arrival_s for timed in case.tasks]),
        np.array([timed.duration_s for timed in case.tasks]),
        np.array([timed.slack_s for timed in case.tasks]),
        np.array([timed.batch for timed in case.tasks]),
    )


def time_options(case: TimedCase, options: Options, datacenter: Datacenter) -> TimeOptions:
    speeds = None
    if options.speeds is not None:
        by_model = [options.speeds.get(model, 1.0) for model in datacenter.models]
        some = any(node.gpu > 0 for node in case.nodes)
        speeds = Speeds(reference_speed(options, case.nodes) if some else 1.0, np.array(by_model))
    if options.caps:
        sigma = [speed_under_cap(options.caps.get(model, 1.0), options.sigma) for model in datacenter.models]
        speeds = with_caps(speeds, np.array(sigma))
    return TimeOptions(
        discipline=options.discipline,
        patience_s=options.patience_s,
        budget_w=None if options.budget_w is None else Steps.of(*zip(*options.budget_w, strict=True)),
        horizon_s=options.horizon_s,
        sample_s=SAMPLE_S,
        more_marks_s=tuple(sorted({t for t, _ in case.signal if t >= 0})),
        speeds=speeds,
        sleep=None if options.sleep is None else Sleep(*astuple(options.sleep)),
        note_sleep=options.sleep is not None,
    )


def close(seen: float, expected: Fraction) -> bool:
    """Within 1e-9 of it."""
    return abs(Fraction(seen) - expected) <= abs(expected) / 10**9


def assert_same(record: TimeRecord, run: Run) -> None:
    """The same for every task, exactly; energy to 1e-9, and what holds at every mark."""
    assert record.horizon_s == run.horizon_s
    waits = record.wait_s.tolist()
    for i in range(len(run.tasks)):
        outcome = None if record.outcome[i] == NO_PART else OUTCOMES[record.outcome[i]]
        node = int(record.node[i]) if record.node[i] >= 0 else None
        times = [None if np.isnan(t) else float(t) for t in (record.start_s[i], record.end_s[i])]
        seen = (outcome, node, gpus_of(int(record.gpus[i])), *times)
        assert seen == (run.outcome[i], run.node[i], run.gpus[i], run.start_s[i], run.end_s[i]), f"task {i}"
        assert (None if np.isnan(waits[i]) else waits[i]) == wait_s(run, i), f"task {i}"
    assert record.wakes == run.wakes
    for n, machine in enumerate(run.machines):
        own = record.sleep_changes[record.sleep_changes["node"] == n]
        seen = [(float(time_s), NODE_STATES[state]) for time_s, _, state in own.tolist()]
        assert seen == machine.history, f"states of node {n}"
    assert_same_energy(record, run)
    assert_same_marks(record, run)


def assert_same_energy(record: TimeRecord, run: Run) -> None:
    assert record.mark_s[-1] == run.horizon_s
    joules, before_s = [Fraction(0)] * 5, 0.0
    for mark, time_s in enumerate(record.mark_s.tolist()):
        joules = [sum(both) for both in zip(joules, energy_j(run, time_s, before_s), strict=True)]
        before_s = time_s
        for seen, expected in zip(record.energy_j[mark].tolist(), joules, strict=True):
            assert close(seen, expected), f"energy until {time_s} s"
        assert close(float(record.gpu_s[mark]), gpu_s(run, time_s)), f"GPU-seconds until {time_s} s"
    if run.horizon_s > 0:
        assert close(record.peak_w, peak_w(run))
        # A hair to both sides: the engine adds up the lengths in floats.
        low, high = (float(percentile_w(run, percent)) for percent in (50 - 1e-6, 50 + 1e-6))
        assert low * (1 - 1e-9) <= record.percentile_w(50) <= high * (1 + 1e-9)


def assert_same_marks(record: TimeRecord, run: Run) -> None:
    """Power, GPUs in use, tasks queued and running from every mark on, and power from every moment on."""
    moments_s = [time_s for time_s, _ in run.moments]
    for mark, time_s in enumerate(record.mark_s.tolist()):
        place = bisect_right(moments_s, time_s) - 1
        assert close(float(record.power_w[mark]), Fraction(sum(run.moments[place][1]), 1000)), f"power at {time_s} s"
        assert (record.queued[mark], record.running[mark]) == run.counts[place], f"tasks at {time_s} s"
        there = [i for i in range(len(run.tasks)) if runs_at(run, i, time_s)]
        if run.options.sleep is not None:
            assert record.busy_nodes[mark] == len({run.node[i] for i in there}), f"nodes in use at {time_s} s"
        assert close(float(record.allocated_gpus[mark]), sum((gpus_asked(run, i) for i in there), Fraction(0)))
    for time_s, watts in zip(record.moment_s.tolist(), record.moment_w.tolist(), strict=True):
        place = bisect_right(moments_s, time_s) - 1
        assert close(watts, Fraction(sum(run.moments[place][1]), 1000)), f"power at {time_s} s"


def runs_at(run: Run, i: int, time_s: float) -> bool:
    start_s, end_s = run.start_s[i], run.end_s[i]
    return start_s is not None and end_s is not None and start_s <= time_s < end_s
