"""`ocsplan`: the plan of the fleet, its prices at a decision, and the memory of what came and where it is."""

import numpy as np
import pytest
from hypothesis import given

from builders import arrive, decide, explained, make_datacenter, make_engine, make_node, make_target, make_task, release
from churn import Churn, churns
from reference import Node, Task
from wattpack.engine.core.engine import Engine
from wattpack.errors import UserError
from wattpack.experiments.policy_check.check import check_policy
from wattpack.model.power import PAPER
from wattpack.policies.expression import parse
from wattpack.policies.ocs.fleet import fleet_watts
from wattpack.policies.ocs.layout import MAX_KINDS, MAX_TYPES, MEMORY, PARAM, SLICES, TERM
from wattpack.policies.ocs.plan import HORIZON, Plan, make_plan, node_types
from wattpack.policies.ocs.policy import OCSPLAN, PLAN_MARGIN

ONE, EIGHT, CPU_ONLY = make_task(gpu=1, cpu=4), make_task(gpu=8, cpu=32), make_task(cpu=4)
# T4 draw least. Only they stand in eights, so tasks of 8 GPUs fit nowhere else.
FLEET = [make_node(gpus=8, cpu=64, model="T4")] * 4 + [make_node(gpus=2, cpu=64, model="G3")] * 16


def plan_of(nodes: list[Node], trace: list[Task], margin: float = 0.0) -> Plan:
    datacenter = make_datacenter(nodes)
    plan = make_plan(make_target(trace), node_types(datacenter, PAPER), datacenter.models, margin)
    assert plan is not None
    return plan


def of_task(plan: Plan, task: Task) -> int:
    """The kind of the task."""
    places = [c for c, one in enumerate(plan.classes) if (one.num_gpu, one.cpu_milli) == (task.num_gpu, task.cpu_milli)]
    return int(plan.kind[places[0]])


def prices(engine: Engine, task: Task) -> list[float]:
    """The price of the plan at each node."""
    seen = explained(engine, task)
    return seen.priced[TERM.plan : TERM.plan + MAX_TYPES].sum(axis=0).tolist()


# ---- the plan --------------------------------------------------------------------------------------------------------


def test_where_everything_fits_all_that_is_expected_up_to_the_horizon_is_planned() -> None:
    plan = plan_of(FLEET, [ONE] * 8 + [EIGHT] + [CPU_ONLY] * 4)
    assert plan.limit[:, :, -1].sum(axis=1) == pytest.approx(plan.total)
    gpus = 4 * 8 + 16 * 2
    assert plan.total[of_task(plan, ONE)] == pytest.approx(HORIZON * gpus / 2)
    assert plan.total[of_task(plan, EIGHT)] == pytest.approx(HORIZON * gpus / 2)


@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_the_plan_keeps_within_the_gpus_and_vcpu_of_each_node_type_and_takes_nothing_back(margin: float) -> None:
    wide = make_task(gpu=1, cpu=30)
    plan = plan_of(FLEET, [ONE] * 8 + [EIGHT] + [wide] * 6 + [CPU_ONLY] * 4, margin)
    assert (np.diff(plan.limit, axis=2) >= -1e-9).all()
    last = plan.limit[:, :, -1]
    amount = np.array([plan.amount[list(plan.kind).index(kind)] for kind in range(len(plan.total))])
    cpu = np.array([plan.classes[list(plan.kind).index(kind)].cpu_milli / 1000 for kind in range(len(plan.total))])
    with_gpu = np.array([plan.classes[list(plan.kind).index(kind)].num_gpu > 0 for kind in range(len(plan.total))])
    for node_type, one in enumerate(node_types(make_datacenter(FLEET), PAPER)):
        room = 1 - margin + 1e-9
        assert last[with_gpu, node_type].sum() <= one.nodes * one.gpus * room
        assert (last[:, node_type] / amount) @ cpu <= one.nodes * one.cpu_milli / 1000 * room


def test_the_frugal_type_is_planned_for_the_tasks_that_need_it_and_not_for_others() -> None:
    """Half of the GPUs are asked for in eights: all T4 up to load 0.9 but for 3.2 GPUs."""
    plan = plan_of(FLEET, [ONE] * 8 + [EIGHT])
    (t4,) = (place for place, one in enumerate(node_types(make_datacenter(FLEET), PAPER)) if one.gpus == 8)
    assert plan.limit[of_task(plan, EIGHT), t4, -1] == pytest.approx(28.8)
    assert plan.limit[of_task(plan, ONE), t4, -1] == pytest.approx(3.2)


def test_classes_that_fit_no_node_are_not_planned_and_without_any_that_fits_there_is_no_plan() -> None:
    small = [make_node(gpus=2, cpu=64)]
    assert {one.num_gpu for one in plan_of(small, [ONE, EIGHT]).classes} == {1}
    datacenter = make_datacenter(small)
    assert make_plan(make_target([EIGHT]), node_types(datacenter, PAPER), datacenter.models) is None


def test_with_more_classes_than_there_is_room_for_there_is_no_plan() -> None:
    datacenter = make_datacenter(FLEET)
    many = make_target([make_task(gpu=1, cpu=4 + number / 1000) for number in range(1025)])
    assert make_plan(many, node_types(datacenter, PAPER), datacenter.models) is None


# ---- decisions -------------------------------------------------------------------------------------------------------


def test_a_small_task_leaves_the_frugal_nodes_once_its_part_of_them_is_taken() -> None:
    engine = make_engine(FLEET, [ONE, EIGHT], "ocsplan", trace=[ONE] * 8 + [EIGHT])
    assert decide(engine, ONE)[0] == 0
    nodes = [arrive(engine, ONE)[0] for _ in range(16)]
    on_t4 = sum(node is not None and node < 4 for node in nodes)
    assert on_t4 <= 4
    for _ in range(3):
        node, _ = arrive(engine, EIGHT)
        assert node is not None
        assert node < 4


def test_the_price_is_that_of_the_formula() -> None:
    trace = [ONE] * 8 + [EIGHT]
    engine, plan = make_engine(FLEET, [ONE, EIGHT], "ocsplan", trace=trace), plan_of(FLEET, trace)
    kind, types = of_task(plan, ONE), make_datacenter(FLEET).types
    _, spread_w = fleet_watts(make_datacenter(FLEET), PAPER)
    held = np.zeros(len(np.unique(types)))
    for came in range(20):
        at = min(int(came * SLICES / plan.total[kind]), SLICES - 1)
        z = np.minimum(1, (held + 1) / (plan.limit[kind, :, at] + 1))
        seen, formula = np.array(prices(engine, ONE)), (-spread_w * z**20)[types]
        feasible = ~np.isnan(seen)  # a full node has no price
        assert seen[feasible] == pytest.approx(formula[feasible])
        node, _ = arrive(engine, ONE)
        assert node is not None
        held[types[node]] += 1


def test_once_a_kind_has_come_in_full_the_plan_has_no_price_for_it() -> None:
    """Four GPUs, half of the tasks ask for one: 0.9 * 4 / 2 GPUs are expected of each kind, two is all."""
    wide = make_task(gpu=1, cpu=40)
    nodes = [make_node(gpus=2, cpu=96, model="T4"), make_node(gpus=2, cpu=96, model="G3")]
    engine = make_engine(nodes, [ONE, wide], "ocsplan")
    assert any(price < 0 for price in prices(engine, ONE))
    arrive(engine, ONE)
    arrive(engine, ONE)
    assert set(np.nan_to_num(prices(engine, ONE))) == {0}
    assert any(price < 0 for price in prices(engine, wide))


def test_a_task_of_a_class_that_the_target_does_not_have_is_placed_without_a_price_of_the_plan() -> None:
    unknown = make_task(gpu=1, cpu=7)
    engine = make_engine(FLEET, [ONE, unknown], "ocsplan", trace=[ONE] * 8 + [EIGHT])
    before = engine.state.memory[MEMORY.came :].copy()
    assert prices(engine, unknown) == [0] * len(FLEET)
    assert arrive(engine, unknown)[0] is not None
    assert (engine.state.memory[MEMORY.came :] == before).all()


def test_a_fleet_of_more_node_types_than_there_is_room_for_is_decided_as_by_ocs() -> None:
    nodes = [make_node(gpus=8, cpu=64 + 2 * number, model="T4" if number % 2 else "G3") for number in range(17)]
    tasks = [ONE, EIGHT, ONE, CPU_ONLY] * 12
    planned, plain = make_engine(nodes, tasks, "ocsplan"), make_engine(nodes, tasks, "ocs")
    assert planned.plan.params[PARAM.class_count] == 0
    assert [arrive(planned, task) for task in tasks] == [arrive(plain, task) for task in tasks]


# ---- memory ----------------------------------------------------------------------------------------------------------


@given(churns())
def test_the_memory_of_the_plan_is_what_is_on_the_nodes_and_empty_when_all_have_left(churn: Churn) -> None:
    engine = make_engine(churn.case.nodes, churn.case.tasks, "ocsplan", trace=churn.case.trace)
    size = MAX_KINDS * MAX_TYPES
    held = engine.state.memory[MEMORY.held : MEMORY.held + size]
    assert not held.any()
    placed = [(task, *arrive(engine, task)) for task in churn.case.tasks]
    came = engine.state.memory[MEMORY.came : MEMORY.held]
    assert (held.reshape(MAX_KINDS, MAX_TYPES).sum(axis=1) <= came).all()
    if all(node is not None for _, node, _ in placed):
        assert (held.reshape(MAX_KINDS, MAX_TYPES).sum(axis=1) == came).all()
    for task, node, gpus in placed:
        if node is not None:
            release(engine, task, node, gpus)
    assert not held.any()


# ---- as a policy -----------------------------------------------------------------------------------------------------


def test_it_keeps_every_promise_of_a_policy() -> None:
    assert check_policy("ocsplan") == []


def test_the_knob_above_1_leaves_a_margin_out_of_the_plan() -> None:
    trace = [ONE] * 8 + [EIGHT] * 4  # more eights than there are T4: the plan gives them all it may
    (t4,) = (place for place, one in enumerate(node_types(make_datacenter(FLEET), PAPER)) if one.gpus == 8)
    for expression, margin in (("ocsplan", 0.0), ("ocsplan@1", 0.0), ("ocsplan@2", PLAN_MARGIN)):
        params = make_engine(FLEET, [ONE], expression, trace=trace).plan.params
        limit = params[PARAM.kind_limit : PARAM.end].reshape(MAX_KINDS, MAX_TYPES, SLICES)
        assert limit[:, t4, -1].sum() == pytest.approx(32 * (1 - margin))


def test_the_knob_is_part_of_the_name_and_a_wrong_one_is_refused() -> None:
    assert parse("ocsplan@0.4").components[0].policy is OCSPLAN
    assert parse("ocsplan@2").components[0].policy.name == "ocsplan@2"
    with pytest.raises(UserError, match="expected"):
        parse("ocsplan@200")
