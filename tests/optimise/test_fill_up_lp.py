"""The bound of a fill-up in which nothing moves: by hand, against the bound of single loads, and against real runs."""

import numpy as np
import pytest

from builders import make_datacenter, make_node, make_task, task_class
from wattpack.datasets import alibaba2023
from wattpack.experiments.bound.curves import arrived_by
from wattpack.experiments.curves import at, read_at_loads
from wattpack.experiments.fill_up import run_seed
from wattpack.model.power import LINEAR, PAPER, PowerProfile
from wattpack.optimise.bound.fill_up_lp import FillUpLp, Served
from wattpack.optimise.bound.lp import ConfigurationLp, InfeasibleError
from wattpack.policies.expression import parse

LOADS = (0.2, 0.5, 0.8)
NOTHING = np.zeros(1)

# One T4 (70 W above 10 W idle: 60) and one G3 (400 - 50 = 350), each on a node of one socket (120 - 15 = 105 W).
NODES = [make_node(gpus=1, cpu=32, model="T4"), make_node(gpus=1, cpu=32, model="G3")]
ANY, ONLY_T4 = task_class(make_task(gpu=1, cpu=1)), task_class(make_task(gpu=1, cpu=1, spec="T4"))


def test_a_gpu_that_a_later_task_needs_is_not_free_for_an_earlier_one() -> None:
    datacenter = make_datacenter(NODES)
    came = np.array([[1, 0], [1, 1]])  # a task that may go anywhere, then one for T4
    both = Served(np.array([1.0, 2.0]), np.zeros(2))
    alone = ConfigurationLp(datacenter, [ANY, ONLY_T4])
    first_w, both_w = alone.solve(came[0]).power_w, alone.solve(came[1]).power_w
    found_w = FillUpLp(datacenter, [ANY, ONLY_T4]).least_w_per_gpu(came, both)
    # Alone, the first task takes the T4. In a fill-up it takes the G3 (290 W more) at both loads.
    assert found_w == pytest.approx(((first_w + 290) / 1 + both_w / 2) / 2, rel=1e-3)
    assert found_w <= ((first_w + 290) / 1 + both_w / 2) / 2 + 1e-9


def test_without_the_later_task_the_earlier_one_takes_the_frugal_gpu() -> None:
    datacenter = make_datacenter(NODES)
    came = np.array([[1, 0], [1, 1]])
    one = Served(np.array([1.0, 1.0]), np.zeros(2))
    least_w = ConfigurationLp(datacenter, [ANY, ONLY_T4]).solve(came[0]).power_w
    found_w = FillUpLp(datacenter, [ANY, ONLY_T4]).least_w_per_gpu(came, one)
    # At the second load two GPUs could be served, so its watts are divided by two.
    assert found_w == pytest.approx((least_w / 1 + least_w / 2) / 2, rel=1e-3)
    assert found_w <= (least_w / 1 + least_w / 2) / 2 + 1e-9


def test_what_cannot_be_served_is_said() -> None:
    lp = FillUpLp(make_datacenter(NODES[:1]), [ANY])
    with pytest.raises(InfeasibleError):
        lp.least_w_per_gpu(np.array([[2.0]]), Served(np.array([2.0]), NOTHING))


@pytest.mark.parametrize(("trace_name", "profile"), [("default", PAPER), ("multigpu50", LINEAR)])
def test_no_fill_up_draws_less_and_the_bound_is_at_least_that_of_single_loads(
    trace_name: str, profile: PowerProfile
) -> None:
    full = alibaba2023.datacenter()
    datacenter = full.ordered(np.arange(0, len(full), 12))
    trace, gpus = alibaba2023.trace(trace_name), datacenter.gpu_milli / 1000
    counts = np.array([arrived_by(trace, datacenter.gpu_milli, load, 7).counts() for load in LOADS], dtype=np.float64)
    lp, plain = FillUpLp(datacenter, trace.classes, profile), ConfigurationLp(datacenter, trace.classes, profile)
    for policy in ("fgd", "pwr", "ocs"):
        run = read_at_loads(run_seed(datacenter, trace, parse(policy), 7, profile, 0.82), 0.82)
        served = np.array([run["allocated"][at(load)] for load in LOADS]) * gpus
        vcpu = np.array([run["cpu_only_vcpu"][at(load)] for load in LOADS])
        drawn = np.mean([run["eopc_w"][at(load)] for load in LOADS] / served)
        found = lp.least_w_per_gpu(counts, Served(served, vcpu))
        assert found <= drawn
        apart = [plain.least_power(*one).power_w for one in zip(counts, served, vcpu, strict=True)]
        most = [plain.solve(came).gpu_served for came in counts]
        assert found >= np.mean(np.array(apart) / most) * (1 - 1e-3)
