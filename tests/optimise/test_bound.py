"""The configuration LP against every placement of small cases, and against the numbers of shared/design/policies.md."""

from collections.abc import Sequence

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
from wattpack.model.power import LINEAR, PAPER, PowerProfile, cpu_power_mw
from wattpack.optimise.bound.lp import MOST_SIZES, Bound, ConfigurationLp, InfeasibleError, rounded_sizes
from wattpack.optimise.bound.patterns import Pricing
from wattpack.optimise.bound.rows import socket_lines
from wattpack.policies.expression import parse

ROUNDING = 1e-6  # relative


def lp_of(nodes: Sequence[Node], tasks: Sequence[Task], profile: PowerProfile = PAPER) -> ConfigurationLp:
    return ConfigurationLp(make_datacenter(nodes), [task_class(task) for task in tasks], profile)


def bound_of(nodes: Sequence[Node], tasks: Sequence[Task], profile: PowerProfile = PAPER) -> Bound:
    return lp_of(nodes, tasks, profile).solve(np.ones(len(tasks)))


# ---- small cases, all placements enumerated --------------------------------------------------------------------------

nodes_drawn = st.lists(
    st.builds(
        make_node,
        gpus=st.integers(0, 2),
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
        cpu=st.sampled_from([0, 2, 7.5, 20, 40]),
        memory_mib=st.sampled_from([0, 10_000, 40_000]),
        spec=st.sampled_from(["", "", "T4", "T4|G2", "H100"]),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=60)
@given(nodes=nodes_drawn, tasks=tasks_drawn, linear=st.booleans())
def test_no_placement_serves_more_or_draws_less_at_its_service(
    nodes: list[Node], tasks: list[Task], linear: bool
) -> None:
    lp, one_each = lp_of(nodes, tasks, LINEAR if linear else PAPER), np.ones(len(tasks))
    placements = list(every_placement(nodes, tasks, linear))
    best = max(placements)
    bound = lp.solve(one_each)
    assert bound.gpu_served >= best.gpu_milli / 1000 * (1 - ROUNDING)
    if bound.gpu_served <= best.gpu_milli / 1000 * (1 + ROUNDING):
        assert bound.cpu_only_served >= best.cpu_only_milli / 1000 * (1 - ROUNDING)
    least_w: dict[tuple[int, int], float] = {}
    for placement in placements:
        service = (placement.gpu_milli, placement.cpu_only_milli)
        least_w[service] = min(least_w.get(service, np.inf), placement.power_w)
    for gpu_milli, cpu_only_milli in sorted(least_w, reverse=True)[:4]:
        found = lp.least_power(one_each, gpu_milli / 1000, cpu_only_milli / 1000)
        assert found.power_w <= least_w[gpu_milli, cpu_only_milli] * (1 + ROUNDING)


@settings(max_examples=30)
@given(nodes=nodes_drawn, tasks=tasks_drawn)
def test_what_a_placement_serves_cannot_be_served_for_less_than_its_own_bound(
    nodes: list[Node], tasks: list[Task]
) -> None:
    """The tighter bound: exactly the tasks that were placed, not just as much GPU."""
    best = max(every_placement(nodes, tasks))
    served = np.array([i in best.placed for i in range(len(tasks))])
    gpus, vcpu = best.gpu_milli / 1000, best.cpu_only_milli / 1000
    found = lp_of(nodes, tasks).least_power(served, gpus, vcpu)
    assert found.power_w <= best.power_w * (1 + ROUNDING)


# ---- cases where the bound is reached --------------------------------------------------------------------------------

TIGHT = {
    # 8 x 150 W of GPUs, 96 vCPU = 48 cores = 3 sockets of 120 W
    "a full node": ([make_node()], [make_task(gpu=1, cpu=12)] * 8, 8, 8 * 150 + 3 * 120),
    # two GPUs hold one task of 0.6 each; an LP that ignores the gaps would serve 1.8. 32 vCPU are one socket of 3.
    "gaps of sharing tasks": ([make_node(gpus=2)], [make_task(gpu=0.6, cpu=16)] * 3, 1.2, 2 * 150 + 120 + 2 * 15),
    # 0.81 + 0.19 on one GPU, so the other stays idle; 0 vCPU: all sockets idle
    "sizes that fill a GPU together": (
        [make_node(gpus=2, model="T4")],
        [make_task(gpu=0.81), make_task(gpu=0.19)],
        1.0,
        70 + 10 + 3 * 15,
    ),
    # 96 vCPU are enough for 6 tasks of 16
    "GPUs stranded for want of vCPU": ([make_node()], [make_task(gpu=1, cpu=16)] * 8, 6, 6 * 150 + 2 * 30 + 3 * 120),
    # the T4 node is the cheaper one, but the spec wants G2
    "a model constraint": (
        [make_node(gpus=1, model="T4"), make_node(gpus=1, model="G2")],
        [make_task(gpu=1, spec="G2")],
        1,
        10 + 150 + 6 * 15,
    ),
    # tasks of 2 GPUs do not fit nodes of one, however many there are
    "GPUs of one node": ([make_node(gpus=1)] * 3, [make_task(gpu=2)], 0, 3 * 30 + 9 * 15),
    # 524,288 MiB hold one task of 400,000
    "memory": (
        [make_node(gpus=2, memory_mib=524_288)],
        [make_task(gpu=1, memory_mib=400_000)] * 2,
        524_288 / 400_000,  # the LP may split a task: here it is not reached
        None,
    ),
}


@pytest.mark.parametrize("case", TIGHT)
def test_a_hand_made_case_has_the_bound_worked_out_beside_it(case: str) -> None:
    nodes, tasks, gpu_served, power_w = TIGHT[case]
    bound = bound_of(nodes, tasks)
    assert bound.gpu_served == pytest.approx(gpu_served, rel=2e-5)
    if power_w is not None:
        assert bound.power_w == pytest.approx(power_w, rel=2e-5)
        best = max(every_placement(nodes, tasks)) if len(tasks) < 5 else None
        if best is not None:
            assert (best.gpu_milli / 1000, best.power_w) == (pytest.approx(gpu_served), pytest.approx(power_w))


def test_tasks_without_gpu_are_not_refused_to_save_power() -> None:
    nodes, tasks = [make_node(gpus=1)], [make_task(gpu=1), make_task(cpu=40)]
    bound = bound_of(nodes, tasks)
    assert bound.cpu_only_served == pytest.approx(40)
    # 40 vCPU = 20 cores; the convex function under the steps gives 40/32 sockets, real ones are 2
    assert bound.power_w == pytest.approx(150 + 3 * 15 + 40 / 32 * 105, rel=2e-5)


def test_gpu_comes_before_tasks_without_gpu_where_both_do_not_fit() -> None:
    bound = bound_of([make_node(gpus=1, cpu=32)], [make_task(gpu=1, cpu=32), make_task(cpu=32)])
    assert (bound.gpu_served, bound.cpu_only_served) == (pytest.approx(1), pytest.approx(0, abs=1e-4))


def test_without_tasks_that_can_be_placed_the_datacenter_is_idle() -> None:
    bound = bound_of([make_node(gpus=2)], [make_task(gpu=1, spec="H100")])
    assert (bound.gpu_served, bound.power_w) == (0, 2 * 30 + 3 * 15)
    assert bound.grar == 0


def test_very_many_sizes_are_rounded_down_and_never_to_nothing() -> None:
    every = np.arange(1, 1000)
    rounded = rounded_sizes(every)
    assert len(np.unique(rounded)) <= MOST_SIZES
    assert (rounded <= every).all()
    assert (rounded > 0).all()
    assert (every - rounded)[every >= 25].max() < 25


def test_few_sizes_stay_as_they_are() -> None:
    assert rounded_sizes(np.array([7, 333, 999])).tolist() == [7, 333, 999]


def test_with_very_many_sizes_the_bound_still_bounds_what_each_size_alone_needs() -> None:
    """75 tasks of 501 to 575 milli want a GPU each, 75 T4 and a node's sockets; the bound may not ask for more."""
    tasks = [make_task(gpu=milli / 1000, cpu=1, memory_mib=1) for milli in range(501, 576)]
    bound = bound_of([make_node(gpus=4, cpu=96, model="T4")] * 25, tasks)
    assert bound.grar == pytest.approx(1)
    # 75 of 100 T4 at 70 W, the others at 10 W; at least one socket awake
    assert bound.gpu_w <= 75 * 70 + 25 * 10 + 1e-6
    assert bound.gpu_w >= 0.9 * (75 * 70 + 25 * 10)


def test_asking_for_more_service_than_there_is_is_an_error() -> None:
    with pytest.raises(InfeasibleError):
        lp_of([make_node(gpus=1)], [make_task(gpu=1)]).least_power(np.array([2.0]), 2, 0)


# ---- its parts -------------------------------------------------------------------------------------------------------


@given(
    cpu_milli=st.integers(0, 200_000),
    used=st.lists(st.floats(0, 1), min_size=1, max_size=8),
)
def test_the_lines_of_sockets_lie_below_the_mean_of_the_steps(cpu_milli: int, used: list[float]) -> None:
    node = make_datacenter([make_node(gpus=1, cpu=cpu_milli / 1000)]).records()[0]
    idle_w = int(node.sockets * node.socket_idle_mw) / 1000
    taken = [int(share * cpu_milli) for share in used]
    mean_w = np.mean([cpu_power_mw(node, cpu_milli - milli) / 1000 - idle_w for milli in taken])
    mean_vcpu = np.mean(taken) / 1000
    assert max(slope * mean_vcpu + start for slope, start in socket_lines(node)) <= mean_w + 1e-6


def test_the_lines_of_a_t4_node_meet_its_steps_at_whole_sockets() -> None:
    """104 vCPU are 52 cores: sockets of 16, 16, 16 and 4 cores, each 105 W more when active."""
    node = make_datacenter([make_node(gpus=2, cpu=104, model="T4")]).records()[0]
    above = [max(slope * vcpu + start for slope, start in socket_lines(node)) for vcpu in (0, 32, 64, 96, 104)]
    assert above == pytest.approx([0, 105, 210, 315, 420])


@given(
    sizes=st.lists(st.integers(1, 999), min_size=1, max_size=3, unique=True).map(sorted),
    worth=st.lists(st.integers(0, 50), min_size=3, max_size=3),
)
@settings(max_examples=30)
def test_pricing_finds_the_best_pattern(sizes: list[int], worth: list[int]) -> None:
    sizes = [max(size, 120) for size in sizes]
    sizes = sorted(set(sizes))
    values = np.array([worth[: len(sizes)]], dtype=np.float64)
    pricing = Pricing(np.array(sizes))
    cost = np.where(pricing.fills_milli > 0, 10.0, 0.0)[None, :]
    gain, pattern = pricing.best(values, cost)

    def best_from(at: int, room: int) -> int:
        if at == len(sizes):
            return 0
        return max(
            count * worth[at] + best_from(at + 1, room - count * sizes[at]) for count in range(room // sizes[at] + 1)
        )

    assert gain[0] == max(0, best_from(0, 1000) - 10)
    assert pattern[0] @ np.array(sizes) <= 1000


# ---- the built-in datacenter -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def default_lp() -> ConfigurationLp:
    return ConfigurationLp(alibaba2023.datacenter(), alibaba2023.trace("default").classes)


def expected_bound(lp: ConfigurationLp, load: float) -> Bound:
    return lp.solve(expected_counts(alibaba2023.trace("default"), alibaba2023.datacenter().gpu_milli, load))


def test_the_default_trace_has_the_bound_of_the_design(default_lp: ConfigurationLp) -> None:
    power_mw = [expected_bound(default_lp, load).power_w / 1e6 for load in (0.5, 0.8, 0.9, 0.95)]
    assert power_mw == pytest.approx([0.714, 1.035, 1.212, 1.329], abs=0.0006)
    assert expected_bound(default_lp, 0.95).grar == pytest.approx(1, abs=1e-5)
    assert expected_bound(default_lp, 1.0).grar == pytest.approx(0.969, abs=0.0005)


def test_the_bound_grows_with_the_load(default_lp: ConfigurationLp) -> None:
    bounds = [expected_bound(default_lp, load) for load in (0, 0.1, 0.4, 0.7, 0.95, 1.0, 1.2)]
    assert bounds[0].power_w == pytest.approx(default_lp.idle_w)
    assert (np.diff([bound.gpu_served for bound in bounds]) > 0).all()
    assert (np.diff([bound.power_w for bound in bounds[:5]]) > 0).all()  # as long as everything is served


@pytest.mark.parametrize("policy", ["fgd", "pwr", "pwr:0.1+fgd:0.9"])
def test_no_policy_beats_the_bound_of_its_run(policy: str, default_lp: ConfigurationLp) -> None:
    datacenter, trace, seed = alibaba2023.datacenter(), alibaba2023.trace("default"), 3
    run = run_seed(datacenter, trace, parse(policy), seed)
    read = read_at_loads(run)
    for load in (0.3, 0.8, 1.0):
        arrived = arrived_by(trace, datacenter.gpu_milli, load, seed)
        bound = default_lp.solve(arrived.counts())
        assert read["grar"][at(load)] <= bound.grar + 1e-9
        placed = run.workload.sequence[: len(arrived)][run.node[: len(arrived)] >= 0]
        counts = np.bincount(placed, minlength=len(trace.classes))
        gpus = read["allocated"][at(load)] * datacenter.gpu_milli / 1000
        own = default_lp.least_power(counts, gpus, float(default_lp.cpu_only_vcpu @ counts))
        assert own.power_w < read["eopc_w"][at(load)]
        if read["grar"][at(load)] == 1:
            assert own.power_w == pytest.approx(bound.power_w, rel=1e-4)
