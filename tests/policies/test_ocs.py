"""OCS: decisions and memory equal those of a plain version that computes every quantity from scratch."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from builders import (
    arrive,
    come_and_go,
    decide,
    explained,
    make_datacenter,
    make_engine,
    make_node,
    make_target,
    make_task,
    place,
    release,
)
from churn import Churn, Placed, churns
from cli.files import write_nodes, write_tasks
from policies.ocs_from_scratch import Growth, memory_of, plain_costs, plain_gpus, plain_statistics
from reference import Node
from wattpack.cli import main
from wattpack.engine.core.choose import choose
from wattpack.errors import UserError
from wattpack.experiments.digests import policy_digest
from wattpack.experiments.policy_check.check import check_policy
from wattpack.experiments.policy_check.history import small_datacenter, small_workload
from wattpack.experiments.simulate import simulate
from wattpack.jit import kernel
from wattpack.model.power import PAPER
from wattpack.policies.expression import parse
from wattpack.policies.ocs import policy as ocs
from wattpack.policies.ocs import prices as ocs_prices
from wattpack.policies.ocs.layout import MEMORY, PARAM, TERM

HALF, WHOLE, PAIR = make_task(gpu=0.5, cpu=4), make_task(gpu=1, cpu=8), make_task(gpu=2, cpu=16)


@given(churns())
def test_decisions_and_memory_are_those_of_the_formulas_computed_from_scratch(churn: Churn) -> None:
    nodes, placed, growth = churn.case.nodes, [], Growth(0.0, 0.0)
    engine = make_engine(nodes, churn.case.tasks, "ocs", trace=churn.case.trace)
    known = plain_statistics(nodes, churn.case.trace)
    for task, leaving in zip(churn.case.tasks, churn.leaving, strict=True):
        asked = task.num_gpu * task.gpu_milli
        growth = Growth(growth.arrived * (1 - 1 / 2000) + asked, growth.released * (1 - 1 / 2000))
        costs = plain_costs(nodes, task, known, growth)
        chosen, gpus = arrive(engine, task)
        if chosen is None:
            assert costs == {}
        else:
            # Sums in another order differ in the last bits; nodes alike have equal costs and the first of them wins.
            assert costs[chosen] == pytest.approx(min(costs.values()), abs=1e-6)
            assert all(cost > costs[chosen] for i, cost in costs.items() if i < chosen and alike(nodes, i, chosen))
            assert gpus == plain_gpus(nodes[chosen], task, known)
            reference.place(nodes[chosen], task, gpus)
            placed.append(Placed(task, chosen, gpus))
        if leaving is not None and placed:
            gone = placed.pop(leaving % len(placed))
            release(engine, *gone)
            reference.release(nodes[gone.node], gone.task, gone.gpus)
            growth = growth._replace(released=growth.released + gone.task.num_gpu * gone.task.gpu_milli)
        assert engine.state.memory[: 1 + len(known.sizes)].tolist() == memory_of(nodes, known)
        assert ocs_prices.growth(engine.state.memory) == pytest.approx(growth.gamma)


def alike(nodes: list[Node], i: int, j: int) -> bool:
    one, other = nodes[i], nodes[j]
    key = [(n.cpu_milli, n.cpu_left, n.model, n.gpu_left) for n in (one, other)]
    return key[0] == key[1]


@given(churns())
def test_the_terms_sum_to_the_score_and_are_those_of_the_formulas(churn: Churn) -> None:
    nodes, growth = churn.case.nodes, Growth(0.0, 0.0)
    engine = make_engine(nodes, churn.case.tasks, "ocs", trace=churn.case.trace)
    known = plain_statistics(nodes, churn.case.trace)
    for task in churn.case.tasks:
        seen, costs = explained(engine, task), plain_costs(nodes, task, known, growth)
        for i, cost in costs.items():
            assert seen.raw[0, i] == pytest.approx(-cost, abs=1e-6)
            assert seen.priced[:, i].sum() == pytest.approx(-cost, abs=1e-6)
        chosen, gpus = arrive(engine, task)
        if chosen is not None:
            reference.place(nodes[chosen], task, gpus)
        growth = Growth(growth.arrived * (1 - 1 / 2000) + task.num_gpu * task.gpu_milli, 0.0)


@given(churns())
def test_when_all_have_left_the_memory_is_that_of_the_empty_datacenter(churn: Churn) -> None:
    nodes = churn.case.nodes
    engine = make_engine(nodes, churn.case.tasks, "ocs", trace=churn.case.trace)
    empty = engine.state.memory[: MEMORY.arrived].tolist()
    placed = [(task, *arrive(engine, task)) for task in churn.case.tasks]
    for task, node, gpus in placed:
        if node is not None:
            release(engine, task, node, gpus)
    assert engine.state.memory[: MEMORY.arrived].tolist() == empty


# ---- growth ----------------------------------------------------------------------------------------------------------


def test_in_a_fill_up_gamma_is_exactly_1_and_hardly_anything_is_drained() -> None:
    engine = make_engine([make_node(gpus=8)] * 2, [HALF, WHOLE], "ocs")
    for task in [HALF, WHOLE] * 5:
        assert ocs_prices.growth(engine.state.memory) == 1.0
        seen = explained(engine, task)
        assert (seen.priced[TERM.drain] >= -0.002 * 120 * 8).all()
        assert (seen.priced[TERM.tight] == 0).all()
        arrive(engine, task)


def test_departures_close_the_gate_and_the_drain_sets_in() -> None:
    """Three of four equal tasks leave: (4 - 3) / 4 = 0.25 but for the fading; (0.25 - 0.1) / 0.9 = 0.167."""
    engine = make_engine([make_node(gpus=8)] * 2, [WHOLE], "ocs")
    placed = [arrive(engine, WHOLE) for _ in range(4)]
    for node, gpus in placed[:3]:
        assert node is not None
        release(engine, WHOLE, node, gpus)
    assert ocs_prices.growth(engine.state.memory) == pytest.approx((0.25 - 0.1) / 0.9, abs=0.001)
    # node 0 has 7 GPUs free, node 1 has 8: gamma * 0.002 + (1 - gamma) * 0.06 of a G2's 120 W for each
    drain = explained(engine, WHOLE).priced[TERM.drain]
    assert drain.tolist() == pytest.approx([-(0.1667 * 0.002 + 0.8333 * 0.06) * 120 * free for free in (7, 8)], abs=0.1)


def test_with_departures_the_look_ahead_ends_where_the_datacenter_is_nearly_full() -> None:
    """What came has left again, so gamma is 0. With half a GPU of 8 in use a = 1; with 7 more in use a = 0."""
    engine = make_engine([make_node(gpus=8)], [HALF, WHOLE], "ocs")
    for _ in range(40):
        node, gpus = arrive(engine, WHOLE)
        assert node is not None
        release(engine, WHOLE, node, gpus)
    place(engine, HALF, 0, (0,))
    assert ocs_prices.growth(engine.state.memory) == 0.0
    seen = explained(engine, HALF)
    assert seen.priced[TERM.tight, 0] == 0
    assert seen.priced[TERM.ahead, 0] != 0
    for g in range(1, 8):
        place(engine, WHOLE, 0, (g,))
    seen = explained(engine, HALF)
    assert seen.priced[TERM.tight, 0] == pytest.approx(-0.45 * 120 * 0.5)
    assert seen.priced[TERM.ahead, 0] == 0


def test_a_refused_task_counts_as_growth() -> None:
    engine = make_engine([make_node(gpus=1)], [WHOLE, PAIR], "ocs")
    assert arrive(engine, PAIR) == (None, ())
    assert engine.state.memory[MEMORY.arrived] == 2000


# ---- which node ------------------------------------------------------------------------------------------------------


def test_a_cpu_task_keeps_off_the_node_whose_gpus_need_its_vcpu() -> None:
    """Both nodes have a socket awake. GPU tasks want 8 vCPU a GPU: of node 0 (8 GPUs, 64 vCPU) each is needed."""
    cpu_task = make_task(cpu=2)
    engine = make_engine(
        [make_node(gpus=8, cpu=64), make_node(gpus=2, cpu=64)], [cpu_task], "ocs", trace=[WHOLE] * 9 + [cpu_task]
    )
    place(engine, cpu_task, 0)
    place(engine, cpu_task, 1)
    assert decide(engine, cpu_task) == (1, ())


def test_a_sharing_task_goes_to_the_tightest_gpu_that_is_awake() -> None:
    task = make_task(gpu=0.25, cpu=1)
    engine = make_engine([make_node(gpus=4)], [task, HALF], "ocs")
    place(engine, HALF, 0, (2,))
    place(engine, task, 0, (1,))
    assert decide(engine, task) == (0, (2,))


def test_a_scarce_model_is_left_to_the_tasks_that_need_it() -> None:
    """A T4 draws less than a G2, but all tasks that want T4 will not fit if others take it."""
    only_t4 = make_task(gpu=1, cpu=1, spec="T4")
    nodes = [make_node(gpus=2, model="T4"), make_node(gpus=8, model="G2")]
    free = make_task(gpu=1, cpu=1)
    assert decide(make_engine(nodes, [free], "ocs"), free)[0] == 0
    assert decide(make_engine(nodes, [free], "ocs", trace=[only_t4, only_t4, only_t4, free]), free)[0] == 1


def test_a_fill_up_keeps_a_scarce_model_from_the_first_task_on_and_the_knob_says_for_how_much() -> None:
    """Of 10 GPUs that will be asked for, 2 must be T4 and 2 are: all are kept. For the next 3 in 10, 0.6 would do."""
    only_t4, free = make_task(gpu=1, cpu=1, spec="T4"), make_task(gpu=1, cpu=1)
    nodes = [make_node(gpus=2, model="T4"), make_node(gpus=8, model="G2")]
    trace = [only_t4] + [free] * 4
    assert decide(make_engine(nodes, [free], "ocs@1", trace=trace), free)[0] == 1
    assert decide(make_engine(nodes, [free], "ocs@0.3", trace=trace), free)[0] == 0


def test_stranding_costs_more_while_slots_for_several_gpus_are_short() -> None:
    """Every task wants 8 GPUs; one of two nodes is taken, so the slots left are 8 and the next 30 % of 16 ask for 4.8.

    (4.8 / 8)**3 * 7 * 120 W for a GPU that is stranded. With few such tasks it is too little to count.
    """
    eight, cpu_task = make_task(gpu=8, cpu=96), make_task(cpu=48)
    engine = make_engine([make_node(gpus=8, cpu=96)] * 2, [eight, cpu_task], "ocs", trace=[eight])
    place(engine, eight, 0, tuple(range(8)))
    assert explained(engine, cpu_task).priced[TERM.stranded, 1] == pytest.approx(-(0.6**3) * 7 * 120 * 4)
    single = make_task(gpu=1, cpu=12)
    engine = make_engine([make_node(gpus=8, cpu=96)] * 2, [single, cpu_task], "ocs", trace=[eight] + [single] * 100)
    assert explained(engine, cpu_task).priced[TERM.stranded, 1] == 0


def test_a_task_leaves_open_vcpu_to_the_one_that_it_fits() -> None:
    """Node 0 has 20 vCPU open, node 1 has 8: a task of 8 takes these and leaves node 0 to one of 16."""
    small, large, first, second = (make_task(cpu=cpu) for cpu in (8, 16, 12, 24))
    engine = make_engine([make_node(gpus=0, cpu=64)] * 2, [small, large, first, second], "ocs")
    place(engine, first, 0)
    place(engine, second, 1)
    assert decide(engine, small) == (1, ())
    assert decide(engine, large) == (0, ())


# ---- the policy as a whole -------------------------------------------------------------------------------------------


def test_it_has_no_faults() -> None:
    assert check_policy("ocs") == []


def test_a_sample_of_the_trace_serves_as_target() -> None:
    datacenter, trace = small_datacenter(), small_workload()
    sample = trace.with_sequence(trace.sequence[:8])
    run = simulate(datacenter, trace, "ocs", target=sample)
    assert (run.node >= 0).any()


def test_the_knob_is_part_of_the_policy_and_of_its_digest() -> None:
    saving, serving = ocs.ocs_policy(0.1, "ocs_saving"), ocs.ocs_policy(0.6, "ocs_serving")
    again = ocs.ocs_policy(0.2, "ocs_saving")
    digests = {policy_digest(parse(policy.name, {policy.name: policy})) for policy in (saving, serving, again)}
    assert len(digests) == 3
    assert check_policy(serving) == []
    with pytest.raises(UserError, match=r"service 100\.5, expected 0"):
        ocs.ocs_policy(100.5)


def test_above_1_the_knob_plans_for_all_demand_with_a_margin_and_prices_fragments() -> None:
    nodes, trace = [make_node(gpus=8, cpu=128)], [make_task(gpu=1, cpu=4), make_task(gpu=8, cpu=32)]
    seen = {}
    for knob in (0.4, 1.0, 2.5, 11.0):
        params = ocs.ocs_policy(knob).prepare(make_datacenter(nodes), make_target(trace), PAPER)
        seen[knob] = [params[place] for place in (PARAM.service, PARAM.last_part, PARAM.margin, PARAM.fragments)]
    # A margin of 3 standard deviations at most: with 5 everything was reserved.
    assert seen == {0.4: [0.4, 0.1, 0, 0], 1.0: [1, 0.1, 0, 0], 2.5: [1, 0, 1.5, 1.5], 11.0: [1, 0, 3, 10]}


def test_above_1_the_knob_leaves_the_last_whole_node_to_a_task_of_8_gpus() -> None:
    """One GPU in eleven is asked for in eights: on average less than half of the node that is left. The margin keeps it
    free."""
    nodes = [make_node(gpus=8, cpu=128, model="T4")] * 2 + [make_node(gpus=1, cpu=16, model="G3")] * 20
    small, eight = make_task(gpu=1, cpu=4), make_task(gpu=8, cpu=32)
    trace = [small] * 80 + [eight]
    costs = {}
    for policy in ("ocs", "ocs@2"):
        engine = make_engine(nodes, [small, eight], policy, trace=trace)
        place(engine, small, 0, (0,))
        costs[policy] = -explained(engine, small).priced[TERM.slots, 1]
    assert costs["ocs@2"] > 10 * costs["ocs"] >= 0


@pytest.mark.parametrize(("policy", "margin"), [("ocs", 0.0), ("ocs@2", 1.0)])
def test_where_tasks_leave_slots_are_kept_for_their_number_to_vary(policy: str, margin: float) -> None:
    """All tasks of 8 GPUs have left again, so gamma is 0. Twenty small tasks stay; a seventh of the GPUs is asked for
    in eights. More may come by (1 + m) times the root of their mean number, and one slot of 8 GPUs is free."""
    small, eight = make_task(gpu=1, cpu=4), make_task(gpu=8, cpu=32)
    nodes = [make_node(gpus=8, cpu=128, model="T4")] * 2 + [make_node(gpus=1, cpu=16, model="G3")] * 20
    engine = make_engine(nodes, [small, eight], policy, trace=[small] * 48 + [eight])
    for node in range(2, 22):
        place(engine, small, node, (0,))
    come_and_go(engine, eight, 40)
    place(engine, small, 0, (0,))
    params, memory = engine.plan.params, engine.state.memory
    assert (ocs_prices.growth(memory), memory[MEMORY.free_slots]) == (0, 8)
    fill = min(memory[MEMORY.free_worth], memory[MEMORY.free_vcpu] * params[PARAM.gpus_per_vcpu])
    in_use, capacity, gpu_w = params[PARAM.capacity] - fill, params[PARAM.capacity], params[PARAM.gpu_w]
    more = 8 * (1 + margin) * math.sqrt(8 / 56 * in_use / 8)
    soon = 8 / 56 * min(fill, 0.3 * capacity)
    ramp = max(0.0, (in_use / capacity - 0.8) / 0.2)
    price = (0.75 + 3 * ramp) * gpu_w * min(1, soon / 8) ** 6 + 1.5 * params[PARAM.spread_w] * min(1, more / 8) ** 20
    # Not all of the slot: a task pays for its own GPU, or its share of the slot's vCPU.
    assert explained(engine, small).priced[TERM.slots, 1] == pytest.approx(-price * max(1, 8 * 4 / 32))


def test_a_task_wakes_the_socket_whose_vcpu_cost_least_though_waking_it_draws_more() -> None:
    """225 - 52 W for 128 vCPU against 185 - 20 W for 32. In watts added alone the second is ahead."""
    nodes = [make_node(gpus=0, cpu=128, cpu_model=model) for model in ("Xeon Gold 6326", "EPYC 7742")]
    task = make_task(cpu=16)
    engine = make_engine(nodes, [task], "ocs", trace=[task] * 9 + [make_task(gpu=1, cpu=4)])
    assert decide(engine, task)[0] == 1
    assert decide(make_engine(nodes, [task], "pwr"), task)[0] == 0
    arrive(engine, task)
    assert decide(engine, task)[0] == 1  # the socket that is awake is filled


def test_among_equal_full_sockets_a_task_pays_the_watts_that_it_adds() -> None:
    nodes = [make_node(gpus=0, cpu=64), make_node(gpus=0, cpu=96)]
    task = make_task(cpu=32)
    engine = make_engine(nodes, [task], "ocs", trace=[task] * 9 + [make_task(gpu=1, cpu=4)])
    assert explained(engine, task).priced[TERM.power].tolist() == pytest.approx([-105, -105])


def test_explain_shows_the_terms_in_watts_and_they_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", write_nodes(tmp_path), write_tasks(tmp_path), "--policy", "ocs", "--task", "share-2"])
    said = capsys.readouterr().out.partition("terms of ocs")[2].splitlines()
    names = said[1].split("\u2503")
    shown = ["node", "power", "ahead", "gpus", "drain", "slots_1", "scarce_2", "stranded", "sum"]
    assert [name.strip() for name in names] == shown
    cells = next(line for line in said if "t4-a <-" in line).split("\u2502")
    *terms, total = [float(cell) for cell in cells[1:]]
    assert sum(terms) == pytest.approx(total, abs=0.02)
    main(["explain", write_nodes(tmp_path), write_tasks(tmp_path), "--policy", "fgd", "--task", "share-2"])
    assert "terms of" not in capsys.readouterr().out


@kernel
def choice_by_lanes(bucket: Any, total: Any) -> int:
    return choose(bucket, total)


@given(st.lists(st.tuples(st.sampled_from([0, 0, -3]), st.sampled_from([-2.5, -1.0, 0.0, 1e9])), max_size=40))
def test_the_choice_by_lanes_is_the_plain_choice(nodes: list[tuple[int, float]]) -> None:
    bucket = np.array([code for code, _ in nodes], dtype=np.int16)
    feasible = [n for n, (code, _) in enumerate(nodes) if code >= 0]
    plain = max(feasible, key=lambda n: nodes[n][1]) if feasible else -1  # the first of equals
    assert choice_by_lanes(bucket, np.array([value for _, value in nodes], dtype=np.float64)) == plain
