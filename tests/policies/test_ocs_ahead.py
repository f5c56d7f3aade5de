"""The look ahead of `ocs`: shares of the target that fit, which models count, what a node spares the next task."""

import pytest

from builders import make_datacenter, make_node, make_target, make_task
from reference import Task
from wattpack.model.power import LINEAR, PAPER
from wattpack.policies.ocs import ahead
from wattpack.policies.ocs.layout import FREE

HALF, WHOLE, PAIR = make_task(gpu=0.5, cpu=4), make_task(gpu=1, cpu=8), make_task(gpu=2, cpu=16)
CPU = make_task(cpu=12.5)


def tables(*trace: Task) -> ahead.FittingShares:
    return ahead.shares_that_fit(make_target(list(trace)))


def test_a_task_without_gpu_fits_from_its_own_vcpu_on() -> None:
    no_gpu, _, _ = tables(CPU, HALF, HALF, WHOLE)
    assert (no_gpu[124], no_gpu[125], no_gpu[-1]) == (0, 0.25, 0.25)


def test_tasks_with_gpu_want_vcpu_and_a_part_that_is_large_enough_or_a_free_gpu() -> None:
    _, gpu, part = tables(CPU, HALF, HALF, WHOLE)
    assert (gpu[9, 40], gpu[10, 39], gpu[10, 40]) == (0, 0, 0.5)
    assert (gpu[20, 640], gpu[FREE, 79], gpu[FREE, 80]) == (0.5, 0.5, 0.75)
    assert (part[499], part[500], part[999]) == (0, 0.5, 0.5)


def test_tasks_of_several_gpus_and_tasks_that_want_no_vcpu_are_left_out() -> None:
    no_gpu, gpu, part = tables(PAIR, PAIR, make_task(cpu=0), make_task(gpu=0.5, cpu=0))
    assert no_gpu.max() == gpu.max() == 0
    assert part[500] == 0.25


def test_merit_falls_from_the_middle_gpu_to_those_that_draw_a_socket_more() -> None:
    """Above idle T4 draws 60 W, G2 120, P100 225 and G3 350; a socket 105."""
    nodes = [make_node(gpus=1, model="T4"), make_node(gpus=8, model="G2"), make_node(gpus=2, model="P100")]
    datacenter = make_datacenter([*nodes, make_node(gpus=2, model="G3")])
    wake_w, wake_share, merit = ahead.gpu_merits(datacenter, PAPER)
    assert (wake_w, wake_share) == (120, 1)
    by_model = {model: merit[m] for m, model in enumerate(datacenter.models)}
    assert by_model["T4"] == by_model["G2"] == 1
    assert by_model["P100"] == pytest.approx(0)
    assert by_model["G3"] == 0


def test_without_gpus_nothing_is_expected_of_them() -> None:
    wake_w, wake_share, merit = ahead.gpu_merits(make_datacenter([make_node(gpus=0)]), PAPER)
    assert wake_w == wake_share == merit.max() == 0


def test_where_watts_follow_the_use_waking_a_gpu_costs_next_to_nothing() -> None:
    wake_w, wake_share, _ = ahead.gpu_merits(make_datacenter([make_node(gpus=8, model="G2")]), LINEAR)
    assert (wake_w, wake_share) == pytest.approx((0.12, 0.001))
