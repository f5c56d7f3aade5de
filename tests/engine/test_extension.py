"""Where nodes sleep, `ocs` pays for the time that a task keeps its node awake, from lengths known or learnt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wattpack.datasets.alibaba2023_times import timed_trace
from wattpack.datasets.generators import generate
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.explain import explain
from wattpack.engine.core.state import NOWHERE
from wattpack.engine.moments.busy_run import (
    BINS,
    EARLY,
    EMPTY_NODE,
    NOBODY,
    OWNER_TASKS,
    PRICE,
    UNSURE,
    groups_of,
)
from wattpack.engine.moments.extended_choice import decide_with_extension
from wattpack.engine.moments.extension import extensions_w
from wattpack.engine.moments.moves import MovesInTime, Place
from wattpack.engine.moments.options import BACKFILL, KNOWN, LEARNT, NOT_USED, Sleep, Speeds, TimeOptions
from wattpack.engine.moments.record import RUNNING
from wattpack.engine.moments.run import MomentRun
from wattpack.engine.moments.simulate import Simulation, new_simulation, split_by_kind
from wattpack.engine.moments.why import with_extension
from wattpack.errors import UserError
from wattpack.jit import kernel
from wattpack.model.nodes import Datacenter
from wattpack.model.sleeping import AWAKE
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload
from wattpack.model.timed_tasks import TimedTasks
from wattpack.policies.expression import parse

ONE_GPU = TaskClass(4000, 1024, 1, 1000)
HALF_NODE = TaskClass(8000, 1024, 4, 1000)


def nodes(count: int, model: str = "A100", gpus: int = 8, vcpu: int = 64) -> Datacenter:
    names = [f"n{i}" for i in range(count)]
    return Datacenter.of(names, [vcpu * 1000] * count, [2**20] * count, [gpus] * count, [model] * count)


def timed(*tasks: tuple[TaskClass, float, float]) -> TimedTasks:
    workload = Workload.of([task for task, _, _ in tasks])
    arrival_s, duration_s = (np.array([row[column] for row in tasks], dtype=float) for column in (1, 2))
    return TimedTasks(workload, arrival_s, duration_s)


def simulation(
    datacenter: Datacenter, tasks: TimedTasks, policy: str = "ocs", moves: MovesInTime | None = None, **options: object
) -> Simulation:
    given = TimeOptions(BACKFILL, **{"sleep": Sleep(reserve_gpus=0), **options})  # type: ignore[arg-type]
    return new_simulation(datacenter, tasks, parse(policy), Target.of(tasks.workload), options=given, moves=moves)


def drawn(load: float = 0.6, days: float = 0.2) -> tuple[Datacenter, TimedTasks]:
    datacenter = nodes(20)
    return datacenter, generate(timed_trace("default"), datacenter.gpu_milli, load, days, np.random.default_rng(3))


# Two tasks that cannot share a node, one short, one long; then one of middle length that fits beside either.
SHORT_AND_LONG = ((TaskClass(4000, 1024, 5, 1000), 0.0, 100.0), (TaskClass(4000, 1024, 5, 1000), 0.0, 9000.0))


@pytest.mark.parametrize("turned", [False, True])
def test_a_task_goes_where_it_extends_the_busy_time_least(turned: bool) -> None:
    first, second = SHORT_AND_LONG[::-1] if turned else SHORT_AND_LONG
    run = simulation(nodes(2), timed(first, second, (ONE_GPU, 10.0, 3000.0)), durations=KNOWN)
    record = run.record()
    assert record.node[0] != record.node[1]
    assert record.node[2] == record.node[0 if turned else 1]


def test_an_estimate_counts_in_place_of_the_duration() -> None:
    """The task that is taken to be long is not: the new one goes beside it all the same."""
    tasks = timed(*SHORT_AND_LONG, (ONE_GPU, 10.0, 3000.0))
    record = simulation(nodes(2), tasks, durations=KNOWN, expected_s=np.array([9000.0, 100.0, 3000.0])).record()
    assert record.node[2] == record.node[0] != record.node[1]


def test_a_task_that_outlives_its_estimate_is_given_twice_as_much() -> None:
    late = (ONE_GPU, 500.0, 10.0)
    run = simulation(nodes(2), timed((ONE_GPU, 0.0, 9000.0), late), durations=KNOWN, expected_s=np.array([200.0, 10.0]))
    run.to_end()
    assert run.run.busy.task_end_s[0] == 800


@pytest.mark.parametrize("durations", [KNOWN, LEARNT])
@pytest.mark.compiled  # some thousand decisions
def test_without_sleep_lengths_change_no_decision(durations: str) -> None:
    datacenter, tasks = drawn()
    expected = simulation(datacenter, tasks, sleep=None, durations=NOT_USED).record()
    found = simulation(datacenter, tasks, sleep=None, durations=durations).record()
    assert (found.node == expected.node).all()
    assert (found.energy_j == expected.energy_j).all()


@pytest.mark.parametrize("policy", ["fgd", "pwr", "pwr:0.1+fgd:0.9", "ocs:0.5+fgd:0.5"])
@pytest.mark.compiled  # some thousand decisions
def test_policies_that_do_not_score_in_watts_alone_do_not_see_lengths(policy: str) -> None:
    datacenter, tasks = drawn()
    expected = simulation(datacenter, tasks, policy, durations=NOT_USED).record()
    assert (simulation(datacenter, tasks, policy, durations=KNOWN).record().node == expected.node).all()


@pytest.mark.compiled  # some thousand decisions
@pytest.mark.parametrize("seed", range(3))
def test_with_lengths_known_more_nodes_sleep(seed: int) -> None:
    """100 nodes with vCPU to spare, log-normal durations: 4.6 to 5.8 % more."""
    datacenter, trace, random = nodes(100, vcpu=128), timed_trace("default"), np.random.default_rng(seed)
    tasks = generate(trace, datacenter.gpu_milli, 0.5, 1.0, random)
    tasks = replace(tasks, duration_s=3000 * np.exp(1.2 * random.standard_normal(len(tasks))))
    asleep = {how: simulation(datacenter, tasks, durations=how).record().asleep_node_s for how in (NOT_USED, KNOWN)}
    assert asleep[KNOWN] > 1.02 * asleep[NOT_USED]


@pytest.mark.parametrize("turned", [False, True])
def test_with_lengths_known_a_task_goes_to_the_node_that_ends_next_after_it(turned: bool) -> None:
    """It extends neither: the node that stays longer keeps its room for longer tasks."""
    five = TaskClass(4000, 1024, 5, 1000)
    first, second = (9000.0, 4000.0) if turned else (4000.0, 9000.0)
    tasks = timed((five, 0.0, first), (five, 0.0, second), (ONE_GPU, 10.0, 3000.0))
    record = simulation(nodes(2), tasks, durations=KNOWN).record()
    assert record.node[0] != record.node[1]
    assert record.node[2] == record.node[1 if turned else 0]
    estimated = simulation(nodes(2), tasks, durations=KNOWN, expected_s=tasks.duration_s).record()
    assert estimated.node[2] == 0  # estimates may be wrong: both nodes are equal then


@pytest.mark.compiled  # some thousand decisions
def test_the_expected_end_of_a_node_is_that_of_its_last_task() -> None:
    datacenter, tasks = drawn()
    found = simulation(datacenter, tasks, durations=KNOWN)
    record = found.record()
    running = record.outcome == RUNNING
    for n in range(len(datacenter)):
        ends = record.end_s[running & (record.node == n)]
        assert found.run.busy.end_s[n] == (ends.max() if len(ends) else 0)


@pytest.mark.compiled  # some thousand decisions
def test_what_is_learnt_of_a_node_is_the_product_over_its_tasks() -> None:
    datacenter, tasks = drawn()
    found = simulation(datacenter, tasks, durations=LEARNT)
    record, busy = found.record(), found.run.busy
    for n in range(len(datacenter)):
        on_node, i = [], int(busy.first[n])
        while i != NOBODY:
            on_node.append(i)
            i = int(busy.after[i])
        assert sorted(on_node) == np.flatnonzero((record.outcome == RUNNING) & (record.node == n)).tolist()
        assert ((busy.node_gone[n] > 0) & (busy.node_gone[n] <= 1)).all()
        assert on_node or (busy.node_gone[n] == 1).all()
        assert (np.diff(busy.node_gone[n]) >= 0).all()


def test_long_and_short_classes_are_told_apart_by_their_ends() -> None:
    rows = [(ONE_GPU, 300.0 * i, 200.0) for i in range(100)] + [(HALF_NODE, 300.0 * i, 20_000.0) for i in range(100)]
    found = simulation(nodes(60), timed(*rows), durations=LEARNT, horizon_s=40_000.0)
    found.to_end()
    gone_after_an_hour = found.run.busy.gone[:2, 0, 6]
    assert gone_after_an_hour[0] > 0.9
    assert gone_after_an_hour[1] < 0.3


@pytest.mark.compiled  # some thousand decisions
def test_the_older_a_task_of_a_heavy_tail_the_longer_it_runs() -> None:
    datacenter, tasks = drawn(days=1.0)
    found = simulation(datacenter, tasks, durations=LEARNT)
    found.to_end()
    busy = found.run.busy
    often = int(np.argmax(busy.seen[:-1, 0]))
    gone_in_an_hour = busy.gone[often, :, 6]
    assert gone_in_an_hour[12] < gone_in_an_hour[2]
    assert busy.gone.shape[1:] == (BINS, BINS)


@kernel
def decided(state: Any, plan: Any, scores: Any, run: Any, k: int, i: int, now_s: float) -> int:
    """`decide_with_extension`, which has no entry point for Python."""
    return decide_with_extension(state, plan, scores, run, k, i, now_s)


def plain_values(found: Simulation, i: int, now_s: float, total: np.ndarray) -> np.ndarray:
    """Each node's score less its extension, from the formulas of docs/guide/sleep.md, one node at a time."""
    run, nodes = found.run, found.engine.state.nodes
    busy, task = run.busy, run.tasks[i]
    asked = found.engine.state.tasks[int(task.task_class)]
    values = np.full(len(total), -np.inf)
    for n in range(len(total)):
        node = nodes[n]
        there = np.flatnonzero((run.tasks.node == n) & (run.tasks.outcome == RUNNING))
        longer = float(node.slowness) if task.slowed else 1.0
        share = longer
        if len(there) and busy.learnt:
            share = longer * float(busy.weight[busy.group[i]] @ busy.node_gone[n])
        elif len(there):
            runs_s, left_s = busy.length_s[i] * longer, busy.task_end_s[there].max() - now_s
            early = EARLY * max(0.0, 1 - runs_s / left_s) ** 0.5 if left_s > 0 else 0.0
            share = max(0.0, runs_s - left_s) / busy.length_s[i] + early
        own = max(asked.gpu_request / (1000 * node.gpus), asked.cpu_milli / node.cpu_milli)
        if len(there):
            price = PRICE * (UNSURE if busy.learnt else 1)
        else:
            price = PRICE * (1 if busy.learnt else EMPTY_NODE)
        saved_w = int(run.sleep.nodes.idle_mw[n] - run.sleep.nodes.asleep_mw[n]) / 1000
        in_score_w = 0.0 if len(there) else saved_w * (longer if asked.batch else 1.0)
        values[n] = total[n] - saved_w * (own * longer + price * (1 - own) * share) + in_score_w
    return values


@pytest.mark.parametrize("durations", [KNOWN, LEARNT])
@pytest.mark.parametrize("speeds", [None, Speeds(1.0, np.array([1.0, 0.4]))])
@pytest.mark.compiled  # some thousand decisions
def test_the_search_finds_what_a_plain_walk_over_all_nodes_finds(durations: str, speeds: Speeds | None) -> None:
    names = [f"n{i}" for i in range(150)]
    datacenter = Datacenter.of(names, [64_000] * 150, [2**20] * 150, [8] * 150, ["A100", "T4", "T4"] * 50)
    trace = timed_trace("default")
    tasks = generate(trace, datacenter.gpu_milli, 0.5, 0.3, np.random.default_rng(3))
    options = {"durations": durations, "speeds": speeds, "sleep": Sleep(reserve_gpus=60)}
    seen = set()
    for horizon_s in (0.0, 3_000.0, 9_000.0, 15_000.0, 21_000.0):
        found = simulation(datacenter, tasks, horizon_s=horizon_s, **options)
        found.to_end()
        engine, run = found.engine, found.run
        coming = np.flatnonzero(tasks.arrival_s > horizon_s)
        for i in coming[:: max(len(coming) // 60, 1)].tolist():
            k = int(run.tasks.task_class[i])
            chosen = decided(engine.state, engine.plan, engine.scores, run, k, i, horizon_s)
            awake = np.asarray(engine.state.nodes.closed) == AWAKE
            shown = explain(engine, k, run.luck[i], awake)
            more_w = np.zeros(len(datacenter))
            extensions_w(engine.state, run, i, horizon_s, more_w)
            exactly = np.where(shown.takes_part, shown.raw[0] - more_w, -np.inf)
            values = np.where(shown.takes_part, plain_values(found, i, horizon_s, shown.raw[0]), -np.inf)
            if not shown.takes_part.any():
                assert chosen == NOWHERE
                continue
            assert chosen == int(np.argmax(exactly))  # the first of equals
            assert values[chosen] >= values.max() - 1e-6
            seen.add(bool(run.busy.first[chosen] == NOBODY))
    assert False in seen


def test_tasks_are_grouped_by_class_and_class_of_service() -> None:
    tasks = timed((ONE_GPU, 0, 1), (ONE_GPU, 1, 1), (HALF_NODE, 2, 1), (ONE_GPU, 3, 1))
    group, wider = groups_of(replace(tasks, service_class=("LS", "BE", "BE", "LS")))
    assert group[0] == group[3]
    assert len(set(group.tolist())) == 3
    assert wider[group[1]] == wider[group[2]] != wider[group[0]]
    assert (wider[wider[group]] == NOBODY).all()


def test_owners_with_enough_tasks_of_a_class_have_a_group_of_their_own() -> None:
    tasks = timed(*((ONE_GPU, float(i), 1.0) for i in range(2 * OWNER_TASKS + 1)), (HALF_NODE, 50.0, 1.0))
    owner = ("ann",) * OWNER_TASKS + ("bob",) * (OWNER_TASKS - 1) + ("",) * 2 + ("ann",)
    group, wider = groups_of(replace(tasks, owner=owner))
    ann, bob, nobody, other_class = (int(group[i]) for i in (0, OWNER_TASKS, 2 * OWNER_TASKS - 1, -1))
    assert ann != bob == nobody != other_class != ann
    assert wider[ann] == bob
    assert wider[bob] == wider[other_class]
    assert wider[wider[bob]] == NOBODY


def test_tasks_of_one_class_are_told_apart_by_their_owners() -> None:
    rows = [(ONE_GPU, 300.0 * i, 200.0 if i % 2 else 20_000.0) for i in range(120)]
    tasks = replace(timed(*rows), owner=("long", "short") * 60)
    found = simulation(nodes(60), tasks, durations=LEARNT, horizon_s=40_000.0)
    found.to_end()
    gone_after_an_hour = found.run.busy.gone[found.run.busy.group[:2], 0, 6]
    assert gone_after_an_hour[0] < 0.3
    assert gone_after_an_hour[1] > 0.9


def test_a_moved_task_takes_its_expected_end_along() -> None:
    def planner(engine: Engine, run: MomentRun) -> list[Place]:
        return [Place(1, 1 - int(run.tasks.node[1]), 0b11111)] if run.tasks.outcome[1] == RUNNING else []

    tasks = timed((ONE_GPU, 0.0, 60.0), SHORT_AND_LONG[1], (ONE_GPU, 700.0, 10.0))
    options = {"durations": KNOWN, "move_every_s": 500.0, "sleep": Sleep(reserve_gpus=16)}
    found = simulation(nodes(2), tasks, moves=MovesInTime(planner, 30.0), **options)
    record, busy = found.record(), found.run.busy
    source = 1 - int(record.node[1])
    assert record.moves == 1
    assert busy.first[source] in (NOBODY, 2)
    assert busy.task_end_s[1] == record.end_s[1] == 9030


def test_an_explanation_shows_the_watts_of_a_node_that_stays_awake_for_longer() -> None:
    tasks = timed(*SHORT_AND_LONG, (ONE_GPU, 10.0, 3000.0))
    found = simulation(nodes(3), tasks, durations=KNOWN, horizon_s=10.0)
    record = found.record()
    shown = with_extension(found, 2, explain(found.engine, int(found.run.tasks.task_class[2]), found.run.luck[2]))
    assert shown.extension_w is not None
    beside_short, beside_long = (shown.extension_w[record.node[i]] for i in (0, 1))
    assert beside_short > beside_long > 0
    assert shown.node == record.node[1]


def test_unknown_words_for_durations_are_refused() -> None:
    with pytest.raises(UserError, match="durations 'guessed', expected one of learnt, known, unused"):
        TimeOptions(durations="guessed")


# ---- watts divided by speed ------------------------------------------------------------------------------------------


def two_models() -> Datacenter:
    """An A100 draws 350 W above idle, a T4 60 W; here it is ten times as fast."""
    return Datacenter.of(["a", "t"], [64_000] * 2, [2**20] * 2, [8, 8], ["A100", "T4"])


TEN_TIMES = Speeds(1.0, np.array([1.0, 0.1]))


@pytest.mark.parametrize("policy", ["pwr", "ocs", "epsilon"])
@pytest.mark.parametrize(("batch", "chosen"), [(True, 0), (False, 1)])
def test_batch_tasks_pay_watts_by_work_and_services_watts(policy: str, batch: bool, chosen: int) -> None:
    tasks = replace(timed((ONE_GPU, 0.0, 50.0)), batch=np.array([batch]))
    record = simulation(two_models(), tasks, policy, sleep=None, speeds=TEN_TIMES).record()
    assert record.node[0] == chosen


def test_tasks_of_one_request_and_both_kinds_are_two_classes_and_twins() -> None:
    tasks = timed((ONE_GPU, 0, 1), (HALF_NODE, 1, 1), (ONE_GPU, 2, 1), (TaskClass(1000, 1, 0, 0), 3, 1))
    split, batch, twins = split_by_kind(replace(tasks, batch=np.array([True, True, False, True])))
    assert [split.workload.classes[k] for k in split.workload.sequence] == [
        tasks.workload.classes[k] for k in tasks.workload.sequence
    ]
    assert batch[split.workload.sequence].tolist() == [True, True, False, False]  # without GPU no task is slowed
    assert twins[split.workload.sequence[0]] == split.workload.sequence[2]
    assert twins[split.workload.sequence[1]] == split.workload.sequence[1]
    assert (twins[twins] == np.arange(len(twins))).all()


@pytest.mark.parametrize("policy", ["pwr", "ocs", "pwr:0.1+fgd:0.9"])
@pytest.mark.compiled  # some thousand decisions
def test_equal_speeds_change_no_decision(policy: str) -> None:
    datacenter, tasks = drawn()
    expected = simulation(datacenter, tasks, policy, sleep=None).record()
    speeds = Speeds(1.0, np.ones(len(datacenter.models)))
    assert (simulation(datacenter, tasks, policy, sleep=None, speeds=speeds).record().node == expected.node).all()


def test_the_extension_of_a_batch_task_is_that_of_its_time_there() -> None:
    """On the T4 it would run ten times as long, so it goes to the A100 although the T4 is busy for long."""
    rows = ((ONE_GPU, 0.0, 40.0), (ONE_GPU, 0.0, 900.0), (ONE_GPU, 10.0, 800.0))
    tasks = replace(timed(*rows), batch=np.array([True, False, True]))
    record = simulation(two_models(), tasks, durations=KNOWN, speeds=TEN_TIMES).record()
    assert record.node.tolist() == [0, 1, 0]
