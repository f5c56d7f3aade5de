"""Base power of nodes: in every total, in no decision, and nothing at all where nobody gives any."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from builders import make_datacenter, make_node, make_target, make_task, make_workload
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.state import BASE_POWER
from wattpack.engine.runs.arrivals import simulate
from wattpack.engine.windows.batch import Batch, simulate_windows
from wattpack.experiments.steady import run_steady
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PAPER, PowerProfile, nodes_power_mw
from wattpack.optimise.bound.lp import ConfigurationLp
from wattpack.optimise.bound.offline import Search
from wattpack.policies.expression import parse

# 80 W a node, and 10 W for each of its G2: 2 * 80 + 12 * 10 for the G2 nodes, 80 for the T4 node, 80 without GPUs.
BASED = replace(PAPER, name="based", base_w=80.0, gpu_base_w={"G2": 10.0})
BASE_W = 4 * 80 + 12 * 10
NODES = [make_node(gpus=8), make_node(gpus=4), make_node(gpus=4, model="T4"), make_node(gpus=0)]
TASKS = [make_task(gpu=0.5, cpu=4), make_task(gpu=1, cpu=8), make_task(gpu=2, cpu=4), make_task(cpu=10)] * 6


def run(policy: str, profile: PowerProfile, nodes: Datacenter | None = None):  # type: ignore[no-untyped-def]
    datacenter = make_datacenter(NODES) if nodes is None else nodes
    return simulate(datacenter, make_workload(TASKS), parse(policy), make_target(TASKS), profile=profile)


@pytest.mark.parametrize("policy", ["fgd", "pwr", "pwr:0.1+fgd:0.9", "ocs", "pwrexpected:0.1+fgd:0.9", "epsilon"])
def test_base_power_changes_no_decision_and_adds_the_same_to_every_row(policy: str) -> None:
    plain, based = run(policy, PAPER), run(policy, BASED)
    assert plain.node.tolist() == based.node.tolist()
    assert plain.gpus.tolist() == based.gpus.tolist()
    assert (based.power_w - plain.power_w).tolist() == [BASE_W] * len(TASKS)
    assert based.base_power_w.tolist() == [BASE_W] * len(TASKS)
    assert based.cpu_power_w.tolist() == plain.cpu_power_w.tolist()
    assert based.gpu_power_w.tolist() == plain.gpu_power_w.tolist()


def test_without_base_power_the_column_is_0() -> None:
    assert not run("fgd", PAPER).series[:, BASE_POWER].any()


def test_windows_are_placed_alike() -> None:
    datacenter, workload, target = make_datacenter(NODES), make_workload(TASKS), make_target(TASKS)
    runs = [simulate_windows(datacenter, workload, parse("ocs"), target, None, p, Batch(4)) for p in (PAPER, BASED)]
    assert runs[0].node.tolist() == runs[1].node.tolist()
    assert (runs[1].power_w - runs[0].power_w).tolist() == [BASE_W] * len(TASKS)


def test_a_nodes_own_base_power_goes_before_the_profiles() -> None:
    """12.5 W and nothing of their own; the other two have 80 W and 10 W for each G2."""
    plain = make_datacenter(NODES)
    columns = (plain.names, plain.cpu_milli, plain.memory_mib, plain.gpus, ["G2", "G2", "T4", ""])
    own = Datacenter.of(*columns, base_w=[12.5, None, 0, None])
    assert (own.base_mw(BASED) / 1000).tolist() == [12.5, 80 + 40, 0, 80]
    assert (own.base_mw(PAPER) / 1000).tolist() == [12.5, 0, 0, 0]
    order = np.array([1, 0, 2, 3])
    assert (own.ordered(order).base_mw(PAPER) / 1000).tolist() == [0, 12.5, 0, 0]
    assert own.repeated(2).base_mw(PAPER).sum() == 25_000
    assert run("fgd", PAPER, own).base_power_w[-1] == 12.5
    assert own.types.tolist() == plain.types.tolist()


def test_the_totals_of_an_engine_are_the_sum_over_its_nodes() -> None:
    engine = Engine(make_datacenter(NODES), (), parse("fgd"), make_target([]), BASED)
    assert int(nodes_power_mw(engine.state.nodes).sum()) == int(engine.state.totals[3:6].sum())


def test_a_steady_state_has_base_power_at_every_moment() -> None:
    datacenter, trace = make_datacenter(NODES), make_workload(TASKS)
    plain, based = (run_steady(datacenter, trace, parse("fgd"), 0.5, 42, p, arrivals=400) for p in (PAPER, BASED))
    assert based.base_w == pytest.approx(BASE_W)
    assert based.eopc_w == pytest.approx(plain.eopc_w + BASE_W)
    assert (based.cpu_w, based.gpu_w, based.grar, plain.base_w) == (plain.cpu_w, plain.gpu_w, plain.grar, 0)


def test_the_bound_and_what_a_search_finds_have_it_too() -> None:
    datacenter, workload = make_datacenter(NODES), make_workload(TASKS)
    plain, based = (ConfigurationLp(datacenter, workload.classes, p).solve(workload.counts()) for p in (PAPER, BASED))
    assert based.power_w == pytest.approx(plain.power_w + BASE_W)
    assert (based.cpu_w, based.gpu_w) == (pytest.approx(plain.cpu_w), pytest.approx(plain.gpu_w))
    assert based.least_w.fixed == pytest.approx(plain.least_w.fixed + BASE_W)
    found = [Search(datacenter, workload, p).by_policy("fgd", make_target(TASKS)) for p in (PAPER, BASED)]
    assert found[1].power_w == found[0].power_w + BASE_W
    Search(datacenter, workload, BASED).check(found[1])
