"""What must hold of every run in time, line by line of the specification, on random cases."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import inf
from random import Random

import numpy as np
import pytest

import reference
from builders import decisions, gpus_of, make_datacenter, make_engine, make_mix, make_target, make_workload
from reference import Gpus
from time_cases import TimedCase, tight_case, timed_case
from time_engine import close, run_both, simulated
from time_reference.accounts import energy_j, it_kwh
from time_reference.inputs import DROP, NO_TIMES, STEP, Options, value_at
from time_reference.moments import Run
from time_reference.watts import Watts
from wattpack.engine.moments.steady import simulate_steady
from wattpack.engine.runs.arrivals import draw_luck, simulate
from wattpack.model.timed_tasks import TimedTasks

SEEDS = range(500, 540)


def drop_case(seed: int, duration_s: float | None) -> TimedCase:
    """`drop` and nothing else, arrivals in order, each at its own moment."""
    case, r = timed_case(seed), Random(seed)
    tasks = []
    for i, timed in enumerate(case.tasks):
        length_s = r.expovariate(0.05) + 0.001 if duration_s is None else duration_s
        tasks.append(timed._replace(arrival_s=float(i), duration_s=length_s, slack_s=0.0))
    return case._replace(tasks=tasks, options=Options())


@pytest.mark.parametrize("seed", SEEDS[:25])
def test_without_departures_decisions_are_those_of_replay(seed: int) -> None:
    case = drop_case(seed, inf)
    record, tasks = simulated(case), [timed.task for timed in case.tasks]
    seen = [
        (case.nodes[n].name if n >= 0 else None, gpus_of(bits))
        for n, bits in zip(record.node.tolist(), record.gpus.tolist(), strict=True)
    ]
    run = simulate(make_datacenter(case.nodes), make_workload(tasks), make_mix(case.policy), make_target(case.trace))
    assert seen == decisions(run)
    assert seen == reference.replay(case.fresh_nodes(), tasks, case.policy, reference.target_workload(case.trace))


@pytest.mark.parametrize("seed", SEEDS[:25])
def test_with_drop_and_nothing_else_a_run_is_the_steady_state_run_on_the_same_times(seed: int) -> None:
    case = drop_case(seed, None)
    record, tasks = simulated(case), [timed.task for timed in case.tasks]
    workload = make_workload(tasks)
    timed = TimedTasks(workload, np.arange(float(len(tasks))), np.array([t.duration_s for t in case.tasks]))
    engine = make_engine(case.nodes, tasks, case.policy, trace=case.trace)
    times = timed.arrival_s, timed.duration_s
    steady, node, gpus = simulate_steady(engine, workload, *times, draw_luck(workload, None), 0)
    assert record.node.tolist() == node.tolist()
    assert record.gpus.tolist() == gpus.tolist()
    if record.horizon_s > 0:
        assert record.energy_j[-1, 0] / record.horizon_s == pytest.approx(steady.gpu_w, rel=1e-9)
        assert record.energy_j[-1, 1] / record.horizon_s == pytest.approx(steady.cpu_w, rel=1e-9)


def test_tasks_are_conserved() -> None:
    """At every mark of the engine's runs. The second implementation checks itself after every moment."""
    for seed in SEEDS:
        case = timed_case(seed)
        record, run = simulated(case), run_both(case)
        for mark, t in enumerate(record.mark_s.tolist()):
            joined = [i for i in run.event_s if run.event_s[i] <= t]
            ended = 0
            for i in joined:
                outcome, end_s = run.outcome[i], record.end_s[i]
                ended += outcome in ("failed", "refused")
                ended += outcome == "gave_up" and record.joined_s[i] + record.patience_s <= t
                ended += outcome == "done" and end_s <= t
            assert len(joined) == record.running[mark] + record.queued[mark] + ended


def test_a_run_cut_into_two_horizons_has_the_sum_of_energy() -> None:
    """The first part is a run of its own; the second is what the whole run draws after the cut."""
    for seed in SEEDS:
        case = timed_case(seed)
        whole = simulated(case, horizon_s=18.0)
        cut = int(np.searchsorted(whole.mark_s, 9.0))  # a sample
        first = simulated(case, horizon_s=9.0)
        second_j = whole.energy_j[-1] - whole.energy_j[cut]
        np.testing.assert_allclose(first.energy_j[-1] + second_j, whole.energy_j[-1], rtol=1e-9)
        np.testing.assert_allclose(first.gpu_s[-1], whole.gpu_s[cut], rtol=1e-9)


@pytest.mark.parametrize("sleep", [False, True])
def test_reference_uses_the_same_energy_to_the_last_digit_up_to_an_earlier_end(sleep: bool) -> None:
    for seed in SEEDS:
        case = timed_case(seed, sleep=sleep)
        whole, first = case.run(horizon_s=18.0), case.run(horizon_s=7.25)
        assert energy_j(first, 7.25) == energy_j(whole, 7.25)


def test_mean_power_times_length_is_energy() -> None:
    """No sleep, PUE 1, base 0: the power of each moment for as long as it held."""
    for seed in SEEDS:
        record = simulated(timed_case(seed), base_w=0.0)
        lengths_s = np.diff(np.append(record.moment_s, record.horizon_s))
        joules = float((record.moment_w * lengths_s).sum())
        assert joules == pytest.approx(float(record.energy_j[-1].sum()), rel=1e-9)
        if record.horizon_s > 0:
            assert record.mean_w * record.horizon_s == pytest.approx(joules, rel=1e-9)


def test_a_node_draws_at_least_sleep_w_and_at_most_base_and_all_maxima() -> None:
    """The second implementation checks every node after every moment; here the engine's sums."""
    for seed in SEEDS:
        case = timed_case(seed)
        watts = Watts(case.options)
        least, most = (sum(map(draw, case.nodes)) / 1000 for draw in (watts.idle_mw, watts.most_mw))
        record = simulated(case)
        assert (record.moment_w >= least - 1e-9).all()
        assert (record.moment_w <= most + 1e-9).all()


def test_no_start_lifts_it_power_above_the_budget() -> None:
    """Whatever leaves and starts at a moment: power is within the budget then, or no higher than before."""
    for seed in SEEDS:
        case = tight_case(seed)
        assert case.options.budget_w is not None
        record = simulated(case)
        moments = zip(record.moment_s.tolist(), record.moment_w.tolist(), strict=True)
        watts = Watts(case.options)
        start = (0.0, sum(map(watts.idle_mw, case.nodes)) / 1000)
        for (_, before_w), (t, after_w) in pairwise([start, *moments]):
            assert after_w <= max(before_w, value_at(case.options.budget_w, t))


# ---- nodes asleep ----------------------------------------------------------------------------------------------------


class SleepWithoutTimes(Run):
    """Asserts of every try: with sleep, where waking takes no time, a task can start if and only if a node has room."""

    def placed(self, i: int) -> bool:
        task = self.tasks[i].task
        room = any(reference.filter_reason(machine.node, task) is None for machine in self.machines)
        started = super().placed(i)
        assert started == room
        return started


def without_times(seed: int) -> TimedCase:
    """Sleep whose times are 0, no budget (sleep leaves more of it), no task that is over at once."""
    case = timed_case(seed)
    tasks = [timed._replace(duration_s=timed.duration_s or 1.0) for timed in case.tasks]
    options = replace(case.options, sleep=NO_TIMES, budget_w=None, curves=STEP)
    return case._replace(tasks=tasks, options=options)


def forced(case: TimedCase, like: Run) -> Run:
    """A run without sleep in which every task goes where it went in another run, when it went there."""

    def choose(i: int, numbers: list[int]) -> tuple[int | None, Gpus]:
        return (like.node[i], like.gpus[i]) if like.node[i] in numbers else (None, ())

    class Forced(Run):
        def placed(self, i: int) -> bool:
            return like.start_s[i] == self.now_s and super().placed(i)

    options = replace(case.options, sleep=None)
    target = reference.target_workload(case.trace)
    return Forced(case.fresh_nodes(), case.tasks, case.policy, target, options, case.joined_s(), choose)


def test_with_sleep_that_takes_no_time_tasks_start_as_without_and_energy_is_no_higher() -> None:
    saved = 0
    for seed in SEEDS:
        case = without_times(seed)
        target = reference.target_workload(case.trace)
        asleep = SleepWithoutTimes(case.fresh_nodes(), case.tasks, case.policy, target, case.options, case.joined_s())
        awake = forced(case, asleep)
        assert (awake.start_s, awake.end_s, awake.outcome) == (asleep.start_s, asleep.end_s, asleep.outcome)
        assert it_kwh(asleep) <= it_kwh(awake)
        saved += it_kwh(asleep) < it_kwh(awake)
    assert saved > len(SEEDS) / 2


def test_with_sleep_the_parts_of_energy_are_all_there_is() -> None:
    for seed in SEEDS:
        run = run_both(timed_case(seed, sleep=True))
        lengths = [Fraction(b) - Fraction(a) for a, b in pairwise([*(t for t, _ in run.moments), run.horizon_s])]
        joules = sum((sum(parts) * s / 1000 for (_, parts), s in zip(run.moments, lengths, strict=True)), Fraction(0))
        assert close(float(joules), sum(energy_j(run, run.horizon_s), Fraction(0)))


def test_under_drop_a_task_is_placed_when_it_joins_or_never() -> None:
    for seed in SEEDS:
        run = timed_case(seed, sleep=True).run(discipline=DROP)
        assert all(t is None or t == run.joined_s[i] for i, t in enumerate(run.placed_s))
        assert not run.queue
