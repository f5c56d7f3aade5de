"""Room that `ocs` keeps for whole tasks that few nodes can hold, from knob 1 on."""

import math

import numpy as np
import pytest
from hypothesis import given

import reference
from builders import (
    arrive,
    come_and_go,
    explained,
    make_datacenter,
    make_engine,
    make_node,
    make_target,
    make_task,
    place,
    release,
)
from churn import Churn, churns
from reference import Node, Task
from wattpack.engine.core.engine import Engine
from wattpack.experiments.policy_check.check import check_policy
from wattpack.model.power import PAPER
from wattpack.policies.ocs.fleet import fleet_watts, node_shapes, placeable
from wattpack.policies.ocs.layout import MAX_RESERVES, MEMORY, PARAM, TERM
from wattpack.policies.ocs.policy import ocs_policy
from wattpack.policies.ocs.prices import growth
from wattpack.policies.ocs.reserves import LEAST_ASKED, MOST_ASKED_FOR, Request, holders_of, scarce_requests

SMALL, EIGHT = make_task(gpu=1, cpu=4), make_task(gpu=8, cpu=60)
# Only the two T4 nodes hold a task of 8 GPUs and 60 vCPU, and they draw least.
FLEET = [make_node(gpus=8, cpu=64, model="T4")] * 2 + [make_node(gpus=1, cpu=16, model="G3")] * 20
TRACE = [SMALL] * 80 + [EIGHT] * 2


def requests_of(nodes: list[Node], trace: list[Task], capacity: float = 1000.0) -> tuple[Request, ...]:
    datacenter = make_datacenter(nodes)
    shapes, _ = node_shapes(datacenter)
    held = placeable(make_target(trace), shapes, datacenter.models)
    return scarce_requests(held, holders_of(datacenter), datacenter.models, capacity)


def room_of(node: Node, engine: Engine, r: int) -> int:
    """How many times the node holds request r as it is now."""
    params = engine.plan.params
    at = (PARAM.reserve_gpus, PARAM.reserve_milli, PARAM.reserve_cpu, PARAM.reserve_memory)
    gpus, milli, cpu_milli, memory_mib = (int(params[place + r]) for place in at)
    by_gpu = sum(left // milli for left in node.gpu_left) if milli < 1000 else len(reference.free_gpus(node)) // gpus
    return min(by_gpu, node.cpu_left // cpu_milli, node.memory_left // memory_mib)


# ---- which requests --------------------------------------------------------------------------------------------------


def test_the_request_that_only_few_nodes_hold_is_watched_with_its_demand_and_room() -> None:
    (one,) = requests_of(FLEET, TRACE)
    assert (one.num_gpu, one.gpu_milli, one.cpu_milli, one.worth) == (8, 1000, 60_000, 8)
    assert one.room == 2  # one on each T4 node
    assert one.demand == pytest.approx(2 / (80 + 16))  # tasks a GPU asked for


def test_what_most_tasks_depend_on_is_not_watched_nor_what_is_hardly_asked_for() -> None:
    assert requests_of(FLEET, [SMALL] * 4 + [EIGHT] * 2) == ()  # eights ask for 80 % of the GPUs
    large = make_task(gpu=1, cpu=60)
    trace, room, demand = [SMALL] * 80 + [large] * 2, 2, 2 / 82
    assert requests_of(FLEET, trace, LEAST_ASKED * room / demand * 0.99) == ()
    assert len(requests_of(FLEET, trace, LEAST_ASKED * room / demand * 1.01)) == 1


def test_a_request_of_several_gpus_is_watched_even_if_it_is_asked_for_once_in_many_runs() -> None:
    """Of 5,000 tasks one: 0.007 in a full datacenter of 36 GPUs."""
    large = make_task(gpu=1, cpu=60)
    assert [one.num_gpu for one in requests_of(FLEET, [SMALL] * 5000 + [EIGHT], 36.0)] == [8]
    assert requests_of(FLEET, [SMALL] * 5000 + [large], 36.0) == ()


def test_where_vcpu_runs_out_before_gpus_a_rare_request_is_not_watched() -> None:
    assert requests_of(FLEET, [SMALL] * 5000 + [EIGHT], 35.0) == ()  # vCPU for 35 of 36 GPUs


def test_requests_of_one_gpu_leave_places_to_rare_ones_of_several() -> None:
    """Twenty-five kinds of tasks of one GPU are asked for far more often than tasks of 8 GPUs, against their room."""
    kinds = [
        make_task(gpu=1, cpu=2 * 1.5**k, spec=spec) for k in range(5) for spec in ("T4", "G3", "P100", "V100M16", "G2")
    ]
    nodes = [make_node(gpus=8, cpu=64, model=model) for model in ("T4", "G3", "P100", "V100M16", "G2")]
    watched = requests_of(nodes, [SMALL] * 200 + kinds + [make_task(gpu=8, cpu=60)], 60.0)
    assert sum(one.num_gpu == 1 for one in watched) == MOST_ASKED_FOR
    assert sum(one.num_gpu == 8 for one in watched) == 1


def test_requests_that_differ_by_little_vcpu_have_one_reserve_and_other_models_their_own() -> None:
    near, far = make_task(gpu=8, cpu=58), make_task(gpu=8, cpu=40)
    watched = requests_of(FLEET, [*TRACE, near, far], 50.0)
    assert sorted(one.cpu_milli for one in watched) == [40_000, 58_000]  # of two alike the one that is asked for more
    named = make_task(gpu=1, cpu=4, spec="T4")
    assert {one.num_gpu for one in requests_of(FLEET, [*TRACE, named])} == {1, 8}


def test_a_larger_task_counts_as_the_demand_of_a_smaller_request_as_often_as_it_has_its_gpus() -> None:
    four = make_task(gpu=4, cpu=30)
    by_size = {one.num_gpu: one for one in requests_of(FLEET, [SMALL] * 80 + [EIGHT, four])}
    assert by_size[8].demand == pytest.approx(1 / 92)
    assert by_size[4].demand == pytest.approx((2 + 1) / 92)


def test_memory_is_a_part_of_a_request_only_where_it_leaves_less_room() -> None:
    """Half of the nodes have memory for it, or all of them."""
    big = make_task(gpu=8, cpu=60, memory_mib=400_000)
    small_memory = [make_node(gpus=8, cpu=64, memory_mib=memory) for memory in (300_000, 500_000)] * 2
    (one,) = requests_of(small_memory, [SMALL] * 80 + [big])
    assert (one.memory_mib, one.room) == (400_000, 2)
    (one,) = requests_of([make_node(gpus=8, cpu=64, memory_mib=500_000)] * 4, [SMALL] * 80 + [big])
    assert (one.memory_mib, one.room) == (0, 4)


def test_room_is_kept_on_the_nodes_that_have_the_memory() -> None:
    """Small tasks fill a node of little memory first, though the other one draws less."""
    big, small = make_task(gpu=8, cpu=60, memory_mib=400_000), make_task(gpu=1, cpu=6)
    nodes = [
        make_node(gpus=8, cpu=64, memory_mib=memory, model=model)
        for memory, model in ((500_000, "T4"), (300_000, "G3"))
    ]
    for policy, served in (("ocs", False), ("ocs@2", True)):
        engine = make_engine(nodes, [small, big], policy, trace=[small] * 40 + [big] * 2)
        for _ in range(4):
            arrive(engine, small)
        assert (arrive(engine, big)[0] is not None) == served


# ---- room ------------------------------------------------------------------------------------------------------------


@given(churns())
def test_the_memory_is_how_many_times_the_nodes_hold_each_request(churn: Churn) -> None:
    nodes = churn.case.nodes
    engine = make_engine(nodes, churn.case.tasks, "ocs@2", trace=churn.case.trace)
    for task in churn.case.tasks:
        chosen, gpus = arrive(engine, task)
        if chosen is not None:
            reference.place(nodes[chosen], task, gpus)
        for r in range(int(engine.plan.params[PARAM.reserve_count])):
            bits = int(engine.plan.params[PARAM.reserve_models + r])
            models = [int(node.model) for node in engine.state.nodes]
            holding = [node for node, model in zip(nodes, models, strict=True) if node.gpu > 0 and bits >> model & 1]
            room = sum(room_of(node, engine, r) for node in holding)
            assert engine.state.memory[MEMORY.reserve_room + r] == room


@given(churns())
def test_when_all_have_left_the_room_is_that_of_the_empty_datacenter(churn: Churn) -> None:
    engine = make_engine(churn.case.nodes, churn.case.tasks, "ocs@2", trace=churn.case.trace)
    room = engine.state.memory[MEMORY.reserve_room : MEMORY.reserve_room + MAX_RESERVES]
    empty = room.tolist()
    placed = [(task, *arrive(engine, task)) for task in churn.case.tasks]
    for task, node, gpus in placed:
        if node is not None:
            release(engine, task, node, gpus)
    assert room.tolist() == empty


# ---- prices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("knob", "margin"), [(1, 0.0), (2, 1.0)])
def test_the_price_is_that_of_the_formula(knob: float, margin: float) -> None:
    """One small task is on each T4 node but the second: one place for eights is left."""
    engine = make_engine(FLEET, [SMALL, EIGHT], f"ocs@{knob}", trace=TRACE)
    place(engine, SMALL, 0, (0,))
    params, memory = engine.plan.params, engine.state.memory
    assert memory[MEMORY.reserve_room] == 1
    fill = min(memory[MEMORY.free_worth], memory[MEMORY.free_vcpu] * params[PARAM.gpus_per_vcpu])
    demand = 2 / 96 * fill
    demand += margin * math.sqrt(demand)
    demand *= min(1.0, 1.3 / (2 / 96 * params[PARAM.capacity] / 2)) ** 4
    _, spread_w = fleet_watts(make_datacenter(FLEET), PAPER)
    price = 1.5 * spread_w * min(1.0, demand / 1) ** 20 if demand > 0.5 else 0.0
    priced = explained(engine, SMALL).priced[TERM.reserved]
    assert priced[1] == pytest.approx(-price * max(1, 8 * 4 / 60))  # not 8: it does not pay for the whole place
    assert priced[0] == 0  # no room is lost there
    assert (priced[2:] == 0).all()
    assert (np.nan_to_num(explained(engine, EIGHT).priced[TERM.reserved]) == 0).all()  # the room is kept for it


@pytest.mark.parametrize(("knob", "margin"), [(1, 0.0), (2, 1.0), (11, 3.0)])
def test_where_tasks_leave_room_is_kept_for_their_number_to_vary(knob: float, margin: float) -> None:
    """All that came has left again but for twenty small tasks that came first: gamma is 0. Eights are 2 of 96 tasks'
    GPUs, so 20 / 48 of one is there in the mean; its root times (1 + m) is what may come more."""
    engine = make_engine(FLEET, [SMALL, EIGHT], f"ocs@{knob}", trace=TRACE)
    for node in range(2, 22):
        place(engine, SMALL, node, (0,))
    come_and_go(engine, EIGHT, 40)
    place(engine, SMALL, 0, (0,))
    params, memory = engine.plan.params, engine.state.memory
    assert growth(memory) == 0
    assert memory[MEMORY.reserve_room] == 1
    fill = min(memory[MEMORY.free_worth], memory[MEMORY.free_vcpu] * params[PARAM.gpus_per_vcpu])
    more = (1 + margin) * math.sqrt(2 / 96 * (params[PARAM.capacity] - fill))
    _, spread_w = fleet_watts(make_datacenter(FLEET), PAPER)
    price = 1.5 * spread_w * min(1.0, more / 1) ** 20
    priced = explained(engine, SMALL).priced[TERM.reserved]
    assert price > 0
    assert priced[1] == pytest.approx(-price * max(1, 8 * 4 / 60))
    assert priced[0] == 0


def test_small_tasks_leave_whole_places_on_frugal_nodes_to_large_ones_the_more_the_higher_the_knob() -> None:
    """After 36 small tasks two large ones come, which only the T4 nodes hold."""
    nodes = [make_node(gpus=8, cpu=96, model="T4")] * 3 + [make_node(gpus=8, cpu=48, model="G3")] * 6
    small, large = make_task(gpu=1, cpu=6), make_task(gpu=1, cpu=50)
    served = {}
    for policy in ("ocs", "ocs@1", "ocs@2"):
        engine = make_engine(nodes, [small, large], policy, trace=[small] * 60 + [large] * 2)
        for _ in range(36):
            assert arrive(engine, small)[0] is not None
        served[policy] = sum(arrive(engine, large)[0] is not None for _ in range(2))
    assert served == {"ocs": 0, "ocs@1": 1, "ocs@2": 2}


@pytest.mark.parametrize("policy", ["ocs", "ocs@0.9", "ocsplan"])
def test_below_1_the_knob_keeps_no_room(policy: str) -> None:
    assert make_engine(FLEET, TRACE, policy).plan.params[PARAM.reserve_count] == 0


def test_explain_says_what_the_room_is_for() -> None:
    named = make_task(gpu=0.5, cpu=4, spec="T4")
    engine = make_engine(FLEET, [SMALL, EIGHT, named], "ocs@2", trace=[*TRACE, *[named] * 10])
    said = set(explained(engine, SMALL).meanings.values())
    assert {
        "room for 8 GPUs, 60 vCPU",
        "room for 500 milli of a GPU, 4 vCPU on T4",
        "slots for tasks of 8 GPUs",
    } == said


@pytest.mark.parametrize("planned", [False, True])
def test_it_keeps_every_promise_of_a_policy(planned: bool) -> None:
    assert check_policy(ocs_policy(2.0, "ocs_serving", planned)) == []
