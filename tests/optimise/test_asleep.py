"""The configuration LP with nodes asleep, against every placement of small cases and every choice of nodes awake."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from math import inf
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from builders import make_datacenter, make_node, make_task, task_class
from reference import Node, Task, choices, filter_reason, free_gpus, node_power_w, place, release
from wattpack.datasets import alibaba2023
from wattpack.errors import UserError
from wattpack.experiments.bound.curves import expected_counts
from wattpack.model.nodes import Datacenter
from wattpack.model.power import CONCAVE, LINEAR, MEASURED, PAPER, PowerProfile
from wattpack.optimise.bound.asleep import AsleepLp, least_power_w
from wattpack.optimise.bound.lp import ConfigurationLp, InfeasibleError

ROUNDING = 1e-9  # relative, of the sums in this file: the bound itself is rounded down
TIGHT = 2e-5  # relative: what the pricing of patterns may leave


class Case(NamedTuple):
    nodes: list[Node]
    base_w: list[float]  # by node
    tasks: list[Task]
    profile: PowerProfile
    sleep_w: float
    reserve_gpus: int

    def datacenter(self) -> Datacenter:
        base_mw = np.array([round(w * 1000) for w in self.base_w])
        return replace(make_datacenter(self.nodes), own_base_mw=base_mw)

    def lp(self, sleep_w: float | None = None) -> AsleepLp:
        watts = self.sleep_w if sleep_w is None else sleep_w
        return AsleepLp(self.datacenter(), [task_class(task) for task in self.tasks], self.profile, watts)

    def one_each(self) -> np.ndarray:
        return np.ones(len(self.tasks))

    def least_w(self) -> float:
        return self.lp().least_power_w(self.one_each(), self.reserve_gpus)

    def awake_w(self, n: int) -> float:
        node = self.nodes[n]
        cpu_w, _ = node_power_w(node)
        watts = cpu_w + self.base_w[n]
        for left in node.gpu_left:
            gpu, share = self.profile.gpu(node.model), (1000 - left) / 1000
            used_w = gpu.context_w + (gpu.max_w - gpu.context_w) * share**gpu.exponent
            watts += round(used_w, 3) if left < 1000 else gpu.idle_w
        return watts

    def best_w(self) -> float:
        """By search over all placements of all tasks and all choices of empty nodes that stay awake; inf if none."""
        return min(self._placements(0), default=inf)

    def _placements(self, at: int) -> Iterator[float]:
        if at == len(self.tasks):
            yield self._least_of_placed()
            return
        for node in self.nodes:
            if filter_reason(node, self.tasks[at]) is None:
                for gpus in choices(node, self.tasks[at]):
                    place(node, self.tasks[at], gpus)
                    yield from self._placements(at + 1)
                    release(node, self.tasks[at], gpus)

    def _least_of_placed(self) -> float:
        empty = [n for n, node in enumerate(self.nodes) if not node.tasks]
        awake_w = [self.awake_w(n) for n in range(len(self.nodes))]
        free = [len(free_gpus(node)) for node in self.nodes]
        least = inf
        for count in range(len(empty) + 1):
            for asleep in combinations(empty, count):
                kept = sum(free[n] for n in range(len(self.nodes)) if n not in asleep)
                if kept >= self.reserve_gpus or not asleep:
                    drawn = [min(self.sleep_w, w) if n in asleep else w for n, w in enumerate(awake_w)]
                    least = min(least, sum(drawn))
        return least


nodes_drawn = st.lists(
    st.builds(
        make_node,
        gpus=st.integers(0, 3),
        cpu=st.sampled_from([8, 31, 33, 64.5, 96]),
        memory_mib=st.sampled_from([16_384, 65_536]),
        model=st.sampled_from(["T4", "G2", "G3"]),
    ),
    min_size=1,
    max_size=2,
)
cases = st.builds(
    lambda shapes, picks, base_w, *rest: Case(
        [replace(shapes[i % len(shapes)]) for i in picks], [base_w[i % 2] for i in range(len(picks))], *rest
    ),
    nodes_drawn,
    st.lists(st.integers(0, 1), min_size=2, max_size=4),
    st.tuples(st.sampled_from([0.0, 80.0]), st.sampled_from([0.0, 80.0, 312.5])),
    st.lists(
        st.builds(
            make_task,
            gpu=st.sampled_from([0, 0.19, 0.5, 0.81, 1, 2]),
            cpu=st.sampled_from([0, 2, 7.5, 20]),
            memory_mib=st.sampled_from([0, 10_000]),
            spec=st.sampled_from(["", "", "", "T4", "T4|G2"]),
        ),
        max_size=3,
    ),
    st.sampled_from([PAPER, LINEAR, CONCAVE, MEASURED]),
    st.sampled_from([0.0, 10.0, 60.0, inf]),
    st.sampled_from([0, 0, 1, 2, 3, 5]),
)


@settings(max_examples=80)
@given(case=cases)
def test_no_placement_with_any_nodes_asleep_draws_less(case: Case) -> None:
    best_w = case.best_w()
    if best_w < inf:
        assert case.least_w() <= best_w * (1 + ROUNDING)


@settings(max_examples=30)
@given(case=cases, more_w=st.sampled_from([0.0, 5.0, 400.0]), more_gpus=st.sampled_from([0, 1, 4]))
def test_the_bound_grows_with_the_watts_of_sleep_and_with_the_reserve(
    case: Case, more_w: float, more_gpus: int
) -> None:
    assume(case.best_w() < inf)
    higher = case._replace(sleep_w=case.sleep_w + more_w, reserve_gpus=case.reserve_gpus + more_gpus)
    assert case.least_w() <= higher.least_w() * (1 + TIGHT)


@settings(max_examples=30)
@given(case=cases)
def test_without_sleep_it_is_the_bound_of_the_same_tasks(case: Case) -> None:
    assume(case.best_w() < inf)
    plain = ConfigurationLp(case.datacenter(), [task_class(task) for task in case.tasks], case.profile)
    gpus = sum(task.num_gpu * task.gpu_milli for task in case.tasks) / 1000
    found = plain.least_power(case.one_each(), gpus, float(plain.cpu_only_vcpu.sum()))
    assert case._replace(sleep_w=inf).least_w() == pytest.approx(found.power_w, rel=TIGHT)


@settings(max_examples=30)
@given(case=cases, counts=st.lists(st.integers(0, 1), min_size=3, max_size=3), reserve=st.sampled_from([0, 1, 2]))
def test_a_floor_is_a_bound_for_other_tasks_and_reserves_too(case: Case, counts: list[int], reserve: int) -> None:
    assume(case.best_w() < inf)
    lp, other = case.lp(), np.array(counts[: len(case.tasks)], dtype=np.float64)
    kept, awake = lp.floors(case.one_each(), case.reserve_gpus)
    if kept is not None:
        try:
            exact = lp.floor(other, reserve)
        except InfeasibleError:
            return
        assert kept.power_w(other, reserve) <= exact.power_w(other, reserve) * (1 + TIGHT)
    if awake is not None:
        exact = lp.floor(other, all_awake=True)
        assert awake.power_w(other, 0) <= exact.power_w(other, 0) * (1 + TIGHT)


# ---- cases where the bound is reached --------------------------------------------------------------------------------

# A G2 node with 8 GPUs and 96 vCPU, 3 sockets: idle 8 x 30 + 3 x 15 = 285 W, full 8 x 150 + 3 x 120 = 1560 W.
FULL = [make_task(gpu=1, cpu=12)] * 8
TIGHT_CASES = {
    "one node full, three asleep": (4, [], FULL, 10.0, 0, 1560 + 3 * 10),
    "a reserve of one node": (4, [], FULL, 10.0, 8, 1560 + 285 + 2 * 10),
    "a reserve of all that is left": (4, [], FULL, 10.0, 24, 1560 + 3 * 285),
    "more reserve than there is: all nodes are awake": (4, [], FULL, 10.0, 25, 1560 + 3 * 285),
    "no tasks and no reserve: all nodes are asleep": (4, [], [], 10.0, 0, 4 * 10),
    "asleep at no less than idle": (2, [], FULL, 400.0, 0, 1560 + 285),
    "the node with less base power is awake": (2, [300.0, 100.0], FULL, 10.0, 0, 1560 + 100 + 10),
    # the reserve is on the four GPUs that four tasks of one GPU leave; 48 vCPU are 1.5 sockets under the steps
    "a reserve on the node in use": (2, [], FULL[:4], 0.0, 4, 4 * 150 + 4 * 30 + 3 * 15 + 1.5 * 105),
}


@pytest.mark.parametrize("case", TIGHT_CASES)
def test_a_hand_made_case_has_its_least_power_worked_out_beside_it(case: str) -> None:
    count, base_w, tasks, sleep_w, reserve_gpus, least_w = TIGHT_CASES[case]
    datacenter = make_datacenter([make_node()] * count)
    if base_w:
        datacenter = replace(datacenter, own_base_mw=np.array([round(w * 1000) for w in base_w]))
    found = least_power_w(
        datacenter,
        [task_class(task) for task in tasks[:1]],
        np.array([len(tasks)][: len(tasks)]),
        PAPER,
        sleep_w,
        reserve_gpus,
    )
    assert found == pytest.approx(least_w, rel=TIGHT)


def test_an_empty_node_of_half_a_core_draws_idle_sockets_when_awake_and_none_asleep() -> None:
    """33 vCPU are 17 cores, two sockets: awake and empty it draws 2 * 15 + 10 W."""
    lp = AsleepLp(make_datacenter([make_node(gpus=1, cpu=33, model="T4")] * 2), [], PAPER, 5.0)
    assert lp.least_power_w(np.zeros(0), 0) == pytest.approx(2 * 5)
    assert lp.least_power_w(np.zeros(0), 1) == pytest.approx(2 * 15 + 10 + 5)
    assert lp.least_power_w(np.zeros(0), 2) == pytest.approx(2 * (2 * 15 + 10))


def test_tasks_that_no_placement_holds_are_an_error() -> None:
    classes = [task_class(make_task(gpu=1))]
    for counts in ([3], [2.5]):
        with pytest.raises(InfeasibleError):
            least_power_w(make_datacenter([make_node(gpus=2)]), classes, np.array(counts), PAPER, 10.0, 1)


@pytest.mark.parametrize("sleep_w", [-1.0, float("nan")])
def test_watts_of_sleep_below_0_are_refused(sleep_w: float) -> None:
    with pytest.raises(UserError, match="expected 0 or more"):
        AsleepLp(make_datacenter([make_node()]), [], PAPER, sleep_w)


@pytest.mark.parametrize("reserve_gpus", [-1, float("nan")])
def test_a_reserve_below_0_is_refused(reserve_gpus: float) -> None:
    with pytest.raises(UserError, match=r"reserve of .* GPUs, expected 0 or more"):
        least_power_w(make_datacenter([make_node()]), [], np.zeros(0), PAPER, 10.0, reserve_gpus)


# ---- the built-in datacenter -----------------------------------------------------------------------------------------


def test_on_the_built_in_datacenter_it_is_the_existing_bound_without_sleep() -> None:
    datacenter, trace = alibaba2023.datacenter(), alibaba2023.trace("default")
    plain, still = (lp(datacenter, trace.classes) for lp in (ConfigurationLp, AsleepLp))
    for load in (0.0, 0.3):
        counts = expected_counts(trace, datacenter.gpu_milli, load)
        assert still.least_power_w(counts, 125) == pytest.approx(plain.solve(counts).power_w, rel=TIGHT)
