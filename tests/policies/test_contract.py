"""The contract carries real-valued scores, prices that depend on the whole datacenter, parameters and a memory.

`priced` is such a policy. A plain version of it below recomputes everything from scratch at every decision.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

import reference
from builders import arrive, decide, explained, make_engine, make_node, make_task, place, release, without_scores
from churn import Churn, Placed, churns
from reference import Gpus, Node, Task
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.explain import Explanation
from wattpack.errors import UserError
from wattpack.jit import kernel
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import AFTER_CHANGE, ARRIVAL, BEFORE_CHANGE, DEPARTURE, Normalise, Policy
from wattpack.model.power import PowerProfile
from wattpack.model.target import Target

# What `priced` keeps in its memory.
ARRIVED, DEPARTED, FREE_MILLI, FREE_CPU, CHANGED = range(5)


@kernel
def priced_score(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    """Two terms: what is left of CPU and of GPU after the placement, as shares; the GPU with most left."""
    terms[0] = -(node.cpu_left - task.cpu_milli) / params[0]
    terms[1] = -math.sqrt((node.gpu_total - task.gpu_request) / params[1])
    best = 0
    for g in range(node.gpus):
        if node.gpu_left[g] > node.gpu_left[best]:
            best = g
    return best


@kernel
def priced_weigh(task: Any, world: Any, params: Any, memory: Any, prices: Any) -> None:
    """The scarcer a resource is in the datacenter now, the higher its price."""
    prices[0] = 1.0 + memory[DEPARTED] / (1.0 + memory[FREE_CPU])
    prices[1] = (1.0 + memory[ARRIVED]) / (1.0 + memory[FREE_MILLI])


@kernel
def priced_remember(event: int, node: Any, task: Any, world: Any, params: Any, memory: Any) -> None:
    if event == ARRIVAL:
        memory[ARRIVED] += task.gpu_request
    elif event == DEPARTURE:
        memory[DEPARTED] += 1
    elif event == BEFORE_CHANGE:
        memory[FREE_MILLI] -= node.gpu_total
        memory[FREE_CPU] -= node.cpu_left
    elif event == AFTER_CHANGE:
        memory[FREE_MILLI] += node.gpu_total
        memory[FREE_CPU] += node.cpu_left
        memory[CHANGED] += 1


def capacities(datacenter: Datacenter, target: Target, profile: PowerProfile) -> NDArray[np.float64]:
    return np.array([1.0 + datacenter.cpu_milli.sum(), 1.0 + datacenter.gpu_milli])


PRICED = Policy(
    "priced",
    "real-valued, with prices and a memory",
    priced_score,
    terms=2,
    weigh=priced_weigh,
    remember=priced_remember,
    memory_size=5,
    prepare=capacities,
    term_names=("cpu", "gpu"),
)


# ---- the same from scratch -------------------------------------------------------------------------------------------


class History(NamedTuple):
    """All that `priced` may know of the past."""

    arrived_milli: int
    departures: int
    changes: int


def plain_memory(nodes: list[Node], history: History) -> list[float]:
    free_milli = sum(sum(node.gpu_left) for node in nodes)
    free_cpu = sum(node.cpu_left for node in nodes)
    return [history.arrived_milli, history.departures, free_milli, free_cpu, len(nodes) + history.changes]


def plain_scores(nodes: list[Node], task: Task, memory: list[float]) -> dict[int, float]:
    cpu = 1.0 + sum(node.cpu_milli for node in nodes)
    gpu = 1.0 + 1000 * sum(node.gpu for node in nodes)
    price_cpu = 1.0 + memory[DEPARTED] / (1.0 + memory[FREE_CPU])
    price_gpu = (1.0 + memory[ARRIVED]) / (1.0 + memory[FREE_MILLI])
    demand = task.num_gpu * task.gpu_milli
    return {
        i: price_cpu * -((node.cpu_left - task.cpu_milli) / cpu)
        + price_gpu * -math.sqrt((sum(node.gpu_left) - demand) / gpu)
        for i, node in enumerate(nodes)
        if reference.filter_reason(node, task) is None
    }


def plain_gpus(node: Node, task: Task) -> Gpus:
    """Of the GPUs with most left the first."""
    if reference.is_sharing(task):
        return (node.gpu_left.index(max(node.gpu_left)),)
    return reference.choices(node, task)[0]


@given(churns())
def test_a_priced_policy_with_a_memory_decides_as_if_all_were_computed_from_scratch(churn: Churn) -> None:
    nodes, placed, history = churn.case.nodes, [], History(0, 0, 0)
    engine = make_engine(nodes, churn.case.tasks, "priced", PRICED, trace=churn.case.trace)
    for task, leaving in zip(churn.case.tasks, churn.leaving, strict=True):
        history = history._replace(arrived_milli=history.arrived_milli + task.num_gpu * task.gpu_milli)
        scores = plain_scores(nodes, task, plain_memory(nodes, history))
        chosen = max(scores, key=lambda i: scores[i], default=None)  # the first of equals
        gpus = plain_gpus(nodes[chosen], task) if chosen is not None else ()
        assert arrive(engine, task) == (chosen, gpus)
        if chosen is not None:
            reference.place(nodes[chosen], task, gpus)
            placed.append(Placed(task, chosen, gpus))
            history = history._replace(changes=history.changes + 1)
        if leaving is not None and placed:
            gone = placed.pop(leaving % len(placed))
            release(engine, *gone)
            reference.release(nodes[gone.node], gone.task, gone.gpus)
            history = history._replace(changes=history.changes + 1, departures=history.departures + 1)
        assert engine.state.memory.tolist() == plain_memory(nodes, history)


@given(churns())
def test_in_a_mix_every_component_has_its_own_terms_parameters_and_memory(churn: Churn) -> None:
    """FGD before it, PWR behind it; and scores kept between decisions equal those of an engine that keeps none."""
    nodes, mix = churn.case.nodes, "fgd:0.5+priced:3+pwr:0.2"
    engine = make_engine(nodes, churn.case.tasks, mix, PRICED, trace=churn.case.trace)
    forgetful = make_engine(nodes, churn.case.tasks, mix, PRICED, trace=churn.case.trace)
    target = reference.target_workload(churn.case.trace)
    history = History(0, 0, 0)
    for task in churn.case.tasks:
        seen = explained(engine, task)
        raw = reference.raw_scores(nodes, task, [("fgd", 500), ("pwr", 200)], target)
        scores = plain_scores(nodes, task, plain_memory(nodes, history))
        pwr = reference.normalise("pwr", raw["pwr"])
        for i in scores:
            assert seen.raw[:, i].tolist() == [raw["fgd"][i][0], scores[i], raw["pwr"][i][0]]
            assert seen.normalised[:, i].tolist() == [raw["fgd"][i][0], scores[i], pwr[i]]
        chosen, gpus = arrive(engine, task)
        assert arrive(without_scores(forgetful), task) == (chosen, gpus)
        history = history._replace(arrived_milli=history.arrived_milli + task.num_gpu * task.gpu_milli)
        if chosen is not None:
            reference.place(nodes[chosen], task, gpus)
            history = history._replace(changes=history.changes + 1)


def test_prices_change_the_choice_while_no_node_changes() -> None:
    """Node 0 has 100 vCPU and 1 GPU, node 1 has 10 vCPU and 8 GPUs.

    At first little GPU was asked for: CPU decides, node 1. A task that fits nowhere makes GPU dear: node 0.
    """
    task, huge = make_task(cpu=1), make_task(gpu=16, cpu=500)
    engine = make_engine([make_node(gpus=1, cpu=100), make_node(gpus=8, cpu=10)], [task, huge], "priced", PRICED)
    assert decide(engine, task) == (1, ())
    assert arrive(engine, huge) == (None, ())
    assert decide(engine, task) == (0, ())


def test_the_memory_of_a_new_run_has_heard_of_every_node_once() -> None:
    engine = make_engine([make_node(gpus=2, cpu=8), make_node(gpus=1, cpu=4)], [make_task(cpu=1)], "priced", PRICED)
    assert engine.state.memory.tolist() == [0, 0, 3000, 12_000, 2]


def test_place_and_release_are_told_before_and_after() -> None:
    task = make_task(gpu=0.5, cpu=1)
    engine = make_engine([make_node(gpus=2, cpu=8)], [task], "priced", PRICED)
    place(engine, task, 0, (1,))
    assert engine.state.memory.tolist() == [0, 0, 1500, 7000, 2]
    release(engine, task, 0, (1,))
    assert engine.state.memory.tolist() == [0, 1, 2000, 8000, 3]


def test_all_policies_but_those_that_draw_use_buckets() -> None:
    def plan(policy: str) -> tuple[bool, bool]:
        engine = make_engine([make_node()], [make_task()], policy, PRICED)
        return engine.plan.bucketed, engine.plan.priced

    expected = {
        "fgd": (True, False),
        "pwr+fgd": (True, False),
        "priced": (True, True),
        "fgd+priced": (True, True),
        "random": (False, False),
    }
    assert {policy: plan(policy) for policy in expected} == expected


def test_two_kinds_of_policies_that_keep_notes_are_not_mixed() -> None:
    """Two knobs of `ocs` are one kind: they write the same."""
    other = replace(PRICED, notes=True)
    engine = make_engine([make_node()], [make_task()], "ocs:0.5+ocs@0.1:0.5")
    assert arrive(engine, make_task())[0] == 0
    with pytest.raises(UserError, match="two kinds of policies that keep notes of nodes, expected at most one"):
        make_engine([make_node()], [make_task()], "ocs:0.5+priced:0.5", other)


# ---- smaller promises of the contract --------------------------------------------------------------------------------


@kernel
def real_valued(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = 1.0 / (1.0 + node.cpu_left)
    return -1


@kernel
def asks_for_a_full_gpu(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = 0
    return 0


@kernel
def returns_nothing(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> None:
    terms[0] = 0


def engine_of(policy: Policy, *tasks: Task) -> Engine:
    return make_engine([make_node(gpus=2, cpu=64), make_node(gpus=2, cpu=32)], tasks, policy.name, policy)


def test_a_real_valued_score_is_not_truncated() -> None:
    """1 / 64001 against 1 / 32001: as integers both would be 0 and the first node would win."""
    task = make_task(cpu=1)
    engine = engine_of(Policy("real", "", real_valued), task)
    assert explained(engine, task).raw.tolist() == [[1 / 64001, 1 / 32001]]
    assert decide(engine, task) == (1, ())


def test_a_real_valued_score_can_be_normalised() -> None:
    task = make_task(cpu=1)
    engine = engine_of(Policy("real", "", real_valued, normalise=Normalise.MIN_MAX_100), task)
    assert explained(engine, task).normalised.tolist() == [[0, 100]]


@kernel
def two_terms(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = node.cpu_left / 1000
    terms[1] = node.gpus
    return -1


@kernel
def fixed_prices(task: Any, world: Any, params: Any, memory: Any, prices: Any) -> None:
    prices[0], prices[1] = 40.0, 3.0


def test_the_first_of_several_terms_can_be_treated_over_the_feasible_nodes() -> None:
    """96, 64, 32 and 8 vCPU; the last node does not fit, so 32 to 96 are 0 to 100; 96 - 40 is the limit of "within".

    FIRST_TERM_100: 40 * (100, 50, 0) + 3 * GPUs. FIRST_TERM_WITHIN: of 96 and 64 the one with more GPUs; 32 is 24 too
    far. In a mix the result is weighted as it is.
    """
    task = make_task(cpu=16)
    nodes = [make_node(gpus=1, cpu=96), make_node(gpus=2, cpu=64), make_node(gpus=8, cpu=32), make_node(gpus=8, cpu=8)]

    def seen(how: Normalise, mix: str) -> Explanation:
        policy = Policy("two", "", two_terms, how, terms=2, weigh=fixed_prices, term_names=("cpu", "gpu"))
        return explained(make_engine(nodes, [task], mix, policy), task)

    hundred, within = seen(Normalise.FIRST_TERM_100, "two"), seen(Normalise.FIRST_TERM_WITHIN, "two")
    assert hundred.raw[0, :3].tolist() == [4003, 2006, 24]
    assert hundred.priced[:, :3].tolist() == [[4000, 2000, 0], [3, 6, 24]]
    assert hundred.node == 0
    far = -(2**24) * (1 + 96 - 40 - 32)
    assert within.raw[0, :3].tolist() == [3, 6, far + 24]
    assert within.priced[:, :3].tolist() == [[0, 0, far], [3, 6, 24]]
    assert within.node == 1
    for how, alone in ((Normalise.FIRST_TERM_100, hundred), (Normalise.FIRST_TERM_WITHIN, within)):
        mixed = seen(how, "two:2+bestfit:1")
        assert mixed.raw[0, :3].tolist() == mixed.normalised[0, :3].tolist() == alone.raw[0, :3].tolist()
        assert mixed.weighted[0, :3].tolist() == (2000 * alone.raw[0, :3]).tolist()
        assert math.isnan(mixed.raw[0, 3])


def test_a_wish_for_a_gpu_that_does_not_fit_is_not_granted() -> None:
    """GPU 0 is full: the tightest GPU that fits is taken instead."""
    whole, half = make_task(gpu=1), make_task(gpu=0.5)
    engine = engine_of(Policy("stubborn", "", asks_for_a_full_gpu), whole, half)
    place(engine, whole, 0, (0,))
    assert decide(engine, half) == (0, (1,))


@pytest.mark.compiled
def test_a_score_that_returns_no_gpu_is_refused_before_the_run() -> None:
    with pytest.raises(TypeError, match="returns_nothing returns none, expected int64"):
        engine_of(Policy("silent", "", returns_nothing), make_task())
