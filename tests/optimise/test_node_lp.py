"""The LP over whole nodes: against every placement of small cases, against the plain LP, and against real runs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import make_datacenter, make_node, make_task, task_class
from optimise.brute import every_placement
from reference import Node, Task
from wattpack.datasets import alibaba2023
from wattpack.experiments.bound.curves import arrived_by, expected_counts
from wattpack.experiments.curves import at, read_at_loads
from wattpack.experiments.fill_up import run_seed
from wattpack.model.power import CONCAVE, LINEAR, MEASURED, PAPER, PowerProfile
from wattpack.optimise.bound.lp import ConfigurationLp, InfeasibleError
from wattpack.optimise.bound.node_lp import MOST_TYPES, NodePatternLp, bound_lp
from wattpack.policies.expression import parse

ROUNDING = 1e-6  # relative

nodes_drawn = st.lists(
    st.builds(
        make_node,
        gpus=st.integers(0, 3),
        cpu=st.sampled_from([8, 31, 33, 64.5, 96]),
        memory_mib=st.sampled_from([16_384, 65_536]),
        model=st.sampled_from(["T4", "G2", "G3"]),
    ),
    min_size=1,
    max_size=3,
)
tasks_drawn = st.lists(
    st.builds(
        make_task,
        gpu=st.sampled_from([0, 0.19, 0.3, 0.5, 0.6, 0.81, 1, 2]),
        cpu=st.sampled_from([0, 0.02, 2, 7.5, 20, 40]),
        memory_mib=st.sampled_from([0, 10_000, 40_000]),
        spec=st.sampled_from(["", "", "T4", "T4|G2", "H100"]),
    ),
    min_size=1,
    max_size=4,
)


def lps_of(
    nodes: list[Node], tasks: list[Task], profile: PowerProfile = PAPER
) -> tuple[NodePatternLp, ConfigurationLp]:
    case = make_datacenter(nodes), [task_class(task) for task in tasks], profile
    return NodePatternLp(*case), ConfigurationLp(*case)


@settings(max_examples=60)
@given(nodes=nodes_drawn, tasks=tasks_drawn, linear=st.booleans())
def test_no_placement_serves_more_or_draws_less_at_its_service(
    nodes: list[Node], tasks: list[Task], linear: bool
) -> None:
    (lp, plain), one_each = lps_of(nodes, tasks, LINEAR if linear else PAPER), np.ones(len(tasks))
    placements = list(every_placement(nodes, tasks, linear))
    best, bound = max(placements), lp.solve(one_each)
    assert bound.gpu_served >= best.gpu_milli / 1000 * (1 - ROUNDING)
    assert bound.gpu_served <= plain.solve(one_each).gpu_served * (1 + 1e-4) + ROUNDING
    if bound.gpu_served <= best.gpu_milli / 1000 * (1 + ROUNDING):
        assert bound.cpu_only_served >= best.cpu_only_milli / 1000 * (1 - ROUNDING)
    least_w: dict[tuple[int, int], float] = {}
    for placement in placements:
        service = (placement.gpu_milli, placement.cpu_only_milli)
        least_w[service] = min(least_w.get(service, np.inf), placement.power_w)
    for gpu_milli, cpu_only_milli in sorted(least_w, reverse=True)[:4]:
        found = lp.least_power(one_each, gpu_milli / 1000, cpu_only_milli / 1000)
        assert found.power_w <= least_w[gpu_milli, cpu_only_milli] * (1 + ROUNDING)
        merged = plain.least_power(one_each, gpu_milli / 1000, cpu_only_milli / 1000)
        assert found.power_w >= merged.power_w * (1 - ROUNDING)


@settings(max_examples=30)
@given(nodes=nodes_drawn, tasks=tasks_drawn, counts=st.lists(st.integers(1, 3), min_size=4, max_size=4))
def test_its_plane_bounds_every_placement_of_other_counts(
    nodes: list[Node], tasks: list[Task], counts: list[int]
) -> None:
    """The prices of one demand bound the power of another: planes are what `compare` and the benchmarks use."""
    lp, one_each = lps_of(nodes, tasks)[0], np.ones(len(tasks))
    plane = lp.solve(one_each * np.array(counts[: len(tasks)])).least_w
    for placement in every_placement(nodes, tasks):
        served = placement.gpu_milli / 1000 * plane.per_gpu + placement.cpu_only_milli / 1000 * plane.per_vcpu
        assert placement.power_w >= (plane.fixed + float(plane.per_task @ one_each) + served) * (1 - ROUNDING)


# ---- cases where nodes taken apart make a difference -----------------------------------------------------------------


def test_tasks_that_fit_no_node_together_need_a_socket_each() -> None:
    """20 vCPU on nodes of 32, a socket each: three sockets, where one large node of 128 vCPU needs 60/32."""
    lp, plain = lps_of([make_node(gpus=0, cpu=32)] * 4, [make_task(cpu=20)] * 3)
    found, merged = lp.solve(np.ones(3)).power_w, plain.solve(np.ones(3)).power_w
    assert found == pytest.approx(4 * 15 + 3 * 105, rel=2e-3)
    assert merged == pytest.approx(4 * 15 + 60 / 32 * 105, rel=2e-5)


def test_a_task_of_two_gpus_leaves_one_of_three_on_its_node() -> None:
    """Two nodes of three GPUs hold two tasks of two GPUs; as one node of six they would hold three."""
    nodes, tasks = [make_node(gpus=3)] * 2, [make_task(gpu=2, cpu=1)] * 3
    lp, plain = lps_of(nodes, tasks)
    assert lp.solve(np.ones(3)).gpu_served == pytest.approx(4, rel=1e-3)
    assert plain.solve(np.ones(3)).gpu_served == pytest.approx(6, rel=1e-4)
    with pytest.raises(InfeasibleError):
        lp.least_power(np.ones(3), 6, 0)


def test_many_types_of_nodes_keep_the_plain_bound() -> None:
    nodes = [make_node(gpus=1, cpu=32 + number) for number in range(MOST_TYPES + 1)]
    datacenter, classes = make_datacenter(nodes), [task_class(make_task(gpu=1))]
    assert type(bound_lp(datacenter, classes, PAPER, whole_nodes=True)) is ConfigurationLp
    few = make_datacenter(nodes[:3])
    assert type(bound_lp(few, classes, PAPER, whole_nodes=True)) is NodePatternLp
    assert type(bound_lp(few, classes, PAPER)) is ConfigurationLp


# ---- a fleet of two types, and runs on it ----------------------------------------------------------------------------

FLEET = make_datacenter([make_node(gpus=4, cpu=48, model="G2")] * 30 + [make_node(gpus=2, cpu=104, model="T4")] * 40)
TRACE = alibaba2023.trace("default")


@pytest.mark.parametrize("profile", [PAPER, LINEAR, CONCAVE, MEASURED], ids=lambda profile: profile.name)
def test_no_run_draws_less_than_its_bound_and_the_bound_is_above_the_plain_one(profile: PowerProfile) -> None:
    seed, lp, plain = 3, NodePatternLp(FLEET, TRACE.classes, profile), ConfigurationLp(FLEET, TRACE.classes, profile)
    for policy in ("fgd", "pwr:0.1+fgd:0.9", "ocs"):
        run = run_seed(FLEET, TRACE, parse(policy), seed, profile)
        read = read_at_loads(run)
        for load in (0.3, 0.8):
            arrived = arrived_by(TRACE, FLEET.gpu_milli, load, seed)
            placed = run.workload.sequence[: len(arrived)][run.node[: len(arrived)] >= 0]
            counts = np.bincount(placed, minlength=len(TRACE.classes))
            service = read["allocated"][at(load)] * FLEET.gpu_milli / 1000, float(lp.cpu_only_vcpu @ counts)
            own, merged = lp.least_power(counts, *service), plain.least_power(counts, *service)
            assert merged.power_w * (1 - ROUNDING) <= own.power_w < read["eopc_w"][at(load)]


def test_gpus_and_sockets_add_up_to_its_power_and_what_fits_is_placed() -> None:
    lp = NodePatternLp(FLEET, TRACE.classes)
    asked = expected_counts(TRACE, FLEET.gpu_milli, 0.5)
    bound = lp.solve(asked)
    assert bound.cpu_w + bound.gpu_w == pytest.approx(bound.power_w, rel=1e-9)
    assert bound.placed.sum(axis=1) == pytest.approx(asked * lp.fits_some_node, rel=1e-3, abs=1e-3)
