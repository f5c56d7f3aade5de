"""The fast path decides as the plain scan over the nodes does; so does an engine that forgets what changed."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import (
    MIXES,
    SINGLES,
    arrive,
    decide,
    make_engine,
    make_mix,
    make_node,
    make_task,
    place,
    with_ring,
    without_buckets,
    without_scores,
)
from churn import Churn, assert_decide_alike, churns, engine_for
from wattpack.datasets import alibaba2023
from wattpack.datasets.inflation import node_order, run_workload, seeded
from wattpack.engine.core import score_cache
from wattpack.engine.core.engine import Engine
from wattpack.engine.runs.arrivals import draw_luck, run_arrivals
from wattpack.engine.runs.record import Run
from wattpack.experiments.steady import run_steady
from wattpack.jit import kernel
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import ANY_GPU, Normalise, Policy
from wattpack.model.target import Target
from wattpack.model.tasks import Workload


@kernel
def all_that_is_left(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    """Hardly two nodes in use have the same score."""
    terms[0] = node.cpu_left * 3 + node.gpu_total * 7 + node.memory_left
    return ANY_GPU


@kernel
def vcpu(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = node.cpu_left // 1000
    return ANY_GPU


@kernel
def gpus(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = node.gpus
    return ANY_GPU


@kernel
def gpu_in_use(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = node.gpu_total - 1000 * node.gpus
    return ANY_GPU


MANY = Policy("many", "many distinct scores", all_that_is_left)
MANY_NORMALISED = Policy("manynormalised", "the same, 0 to 100", all_that_is_left, normalise=Normalise.MIN_MAX_0)


@given(churns())
def test_buckets_decide_as_the_plain_scan(churn: Churn) -> None:
    fast = engine_for(churn)
    assert fast.plan.bucketed
    assert_decide_alike(churn, fast, without_buckets(engine_for(churn)))


@given(churns(), st.integers(1, 6))
def test_decisions_do_not_depend_on_how_many_changes_are_remembered(churn: Churn, length: int) -> None:
    assert_decide_alike(churn, engine_for(churn), with_ring(engine_for(churn), length))


@given(churns())
def test_decisions_do_not_depend_on_what_was_scored_before(churn: Churn) -> None:
    usual, forgetful = engine_for(churn), engine_for(churn)
    for task in churn.case.tasks:
        assert arrive(usual, task) == arrive(without_scores(forgetful), task)


@pytest.mark.parametrize("changes", [1, 2, 3, 4, 5])
def test_a_change_that_the_ring_of_2_has_just_forgotten_is_not_missed(changes: int) -> None:
    """`one` has seen six free nodes; then nodes 0, 1, ... fill up. It goes to the first that is still free."""
    one, other = make_task(gpu=1), make_task(gpu=1, cpu=1)
    engine = with_ring(make_engine([make_node(gpus=1)] * 6, [one, other], "fgd"), 2)
    assert decide(engine, one) == (0, (0,))
    for node in range(changes):
        place(engine, other, node, (0,))
    assert arrive(engine, one) == (changes, (0,))


# ---- at full size ----------------------------------------------------------------------------------------------------


class Inputs(NamedTuple):
    datacenter: Datacenter
    workload: Workload
    target: Target
    luck: np.ndarray


def paper_inputs(trace_name: str, seed: int) -> Inputs:
    """Built-in datacenter in random order, a trace inflated to 1.3 times its GPUs."""
    seeds, trace, whole = seeded(seed), alibaba2023.trace(trace_name), alibaba2023.datacenter()
    workload = run_workload(trace, whole.gpu_milli, seeds.workload)
    datacenter = whole.ordered(node_order(whole, seeds.node_order))
    return Inputs(datacenter, workload, Target.of(trace), draw_luck(workload, seeds.policy))


def new_engine(inputs: Inputs, policy: str) -> Engine:
    mix = make_mix(policy, MANY, MANY_NORMALISED)
    return Engine(inputs.datacenter, inputs.workload.classes, mix, inputs.target)


def assert_same(one: Run, other: Run) -> None:
    np.testing.assert_array_equal(one.node, other.node)
    np.testing.assert_array_equal(one.gpus, other.gpus)
    np.testing.assert_array_equal(one.series, other.series)


PRICED = ("ocs", "ocsplan", "ocsplan@2", "pwrload", "pwrfeedback", "epsilon", "ocs:0.5+fgd:0.5", "pwr:0.2+pwrload:0.8")


@given(churns(), st.sampled_from(PRICED))
def test_buckets_decide_as_the_plain_scan_where_prices_change(churn: Churn, policy: str) -> None:
    churn = churn._replace(case=churn.case._replace(policy=policy))
    fast = engine_for(churn)
    assert fast.plan.bucketed
    assert fast.plan.priced
    assert_decide_alike(churn, fast, without_buckets(engine_for(churn)))


@pytest.mark.compiled
@pytest.mark.parametrize("policy", [*SINGLES, *MIXES, *PRICED])
def test_buckets_decide_as_the_plain_scan_on_the_built_in_datacenter(policy: str) -> None:
    inputs = paper_inputs("gpuspec33", seed=3)
    fast, plain = new_engine(inputs, policy), without_buckets(new_engine(inputs, policy))
    assert fast.plan.bucketed == ("random" not in policy)
    assert_same(run_arrivals(fast, inputs.workload, inputs.luck), run_arrivals(plain, inputs.workload, inputs.luck))
    assert fast.scores.cache.asked.in_use.max() < 512  # few distinct terms: what the fast path counts on


@pytest.mark.compiled
@pytest.mark.parametrize("policy", ["many", "manynormalised", "many:0.1+fgd:0.9", "pwr:0.5+manynormalised:0.5", "ocs"])
def test_a_class_with_too_many_distinct_scores_is_decided_by_the_plain_scan(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_cache, "MOST_BUCKETS", 128)
    inputs = paper_inputs("default", seed=4)
    fast, plain = new_engine(inputs, policy), without_buckets(new_engine(inputs, policy))
    assert_same(run_arrivals(fast, inputs.workload, inputs.luck), run_arrivals(plain, inputs.workload, inputs.luck))
    overflown = fast.scores.cache.asked.overflow.sum()
    assert 0 < overflown < len(fast.scores.cache.asked)  # both ways within one run


@pytest.mark.compiled
@pytest.mark.parametrize("policy", ["fgd", "ocs", "pwrload"])
def test_a_steady_state_does_not_depend_on_how_many_buckets_there_are(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 32 the columns overflow or make room all the time, with 2,048 there is enough."""
    datacenter, trace, mix = alibaba2023.datacenter(), alibaba2023.trace("multigpu20"), make_mix(policy)
    usual = run_steady(datacenter, trace, mix, 0.8, seed=3, arrivals=8_000)
    monkeypatch.setattr(score_cache, "MOST_BUCKETS", 32)
    assert run_steady(datacenter, trace, mix, 0.8, seed=3, arrivals=8_000) == usual


@pytest.mark.compiled
@pytest.mark.parametrize("policy", ["fgd", "pwr:0.1+fgd:0.9", "many"])
def test_a_ring_of_4_changes_gives_the_same_run_on_the_built_in_datacenter(policy: str) -> None:
    inputs = paper_inputs("default", seed=5)
    usual, forgetful = new_engine(inputs, policy), with_ring(new_engine(inputs, policy), 4)
    assert_same(
        run_arrivals(usual, inputs.workload, inputs.luck), run_arrivals(forgetful, inputs.workload, inputs.luck)
    )


# ---- by hand ---------------------------------------------------------------------------------------------------------


def test_the_first_node_of_a_bucket_is_found_beyond_its_first_block() -> None:
    """Two blocks of equal nodes that hold one task each: after a block's worth of tasks the next block is used."""
    task = make_task(gpu=1)
    engine = make_engine([make_node(gpus=1)] * 128, [task], "fgd")
    assert engine.scores.cache.block_bits == 6
    assert [arrive(engine, task)[0] for _ in range(129)] == [*range(128), None]


def test_blocks_grow_with_the_datacenter() -> None:
    assert [1 << score_cache.block_bits(nodes) for nodes in (1, 1213, 12_130, 121_300)] == [64, 64, 128, 1024]


def test_different_scores_with_equal_sums_go_to_the_first_node() -> None:
    """vCPU + GPUs: 4 + 3, 2 + 5, 6 + 1 are three buckets with the sum 7; 3 + 1 comes before them but is less."""
    task, policies = make_task(), (Policy("vcpu", "", vcpu), Policy("gpus", "", gpus))
    nodes = [make_node(gpus=g, cpu=c) for c, g in ((3, 1), (4, 3), (2, 5), (6, 1))]
    fast = make_engine(nodes, [task], "vcpu+gpus", *policies)
    plain = without_buckets(make_engine(nodes, [task], "vcpu+gpus", *policies))
    assert arrive(fast, task) == arrive(plain, task) == (1, ())
    assert fast.scores.cache.asked.buckets.tolist() == [4]


def test_one_bucket_more_than_there_are_overflows_and_the_best_node_still_wins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Node n has n + 1 vCPU: as many scores as nodes, and the last is the best."""
    monkeypatch.setattr(score_cache, "MOST_BUCKETS", 64)
    task = make_task(cpu=1)
    for nodes, overflow in ((64, 0), (65, 1)):
        engine = make_engine([make_node(gpus=0, cpu=n + 1) for n in range(nodes)], [task], "many", MANY)
        assert arrive(engine, task)[0] == nodes - 1
        assert engine.scores.cache.asked.overflow.tolist() == [overflow]
        # it has nodes - 1 vCPU left now, as many as the node before it, which comes first
        assert arrive(engine, task)[0] == nodes - 2


def test_buckets_that_became_empty_are_used_again() -> None:
    """One node whose score changes with every task: hundreds of scores, never more than one at a time."""
    task = make_task(cpu=1)
    engine = make_engine([make_node(gpus=0, cpu=900)], [task], "many", MANY)
    assert [arrive(engine, task)[0] for _ in range(901)] == [0] * 900 + [None]
    asked = engine.scores.cache.asked[0]
    assert (asked.in_use, asked.overflow, asked.room) == (0, 0, score_cache.FIRST_BUCKETS)


def test_a_term_that_is_0_at_first_tells_nodes_apart_once_it_is_not() -> None:
    """Two equal nodes share a bucket while the term of GPUs in use is 0; then one is used, and the other is better."""
    task, shares = make_task(cpu=1), make_task(gpu=0.5)
    policy = Policy("used", "", gpu_in_use)
    engine = make_engine([make_node(gpus=1), make_node(gpus=1)], [task, shares], "used", policy)
    assert decide(engine, task) == (0, ())
    assert engine.scores.cache.asked[0].used == 0
    place(engine, shares, 0, (0,))
    assert decide(engine, task) == (1, ())
    assert engine.scores.cache.asked[0].used == 1
