"""Power of a node and of the datacenter: the paper's tables, sockets to the last vCPU, what a task adds."""

import pytest
from hypothesis import given

import reference
from builders import class_of, make_datacenter, make_engine, make_node, make_target, make_task, place
from cases import clusters
from reference import Node
from wattpack.datasets import alibaba2023
from wattpack.datasets.sources import DATACENTERS, load_datacenter
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.state import CPU_POWER, GPU_POWER
from wattpack.engine.runs.arrivals import simulate
from wattpack.errors import UserError
from wattpack.model.power import (
    PAPER,
    VCPU_MILLI_PER_CORE,
    CpuPower,
    GpuPower,
    PowerProfile,
    added_cpu_power_mw,
    added_gpu_power_mw,
    cpu_power_mw,
    draw_table_mw,
    gpu_power_mw,
)
from wattpack.model.tasks import Workload
from wattpack.policies.expression import parse

# Table II of the paper: idle and maximum watts; G2 and G3 stand for A10 and A100.
WATTS = {
    "T4": (10, 70),
    "A10": (30, 150),
    "G2": (30, 150),
    "P100": (25, 250),
    "V100M16": (30, 300),
    "V100M32": (30, 300),
    "G3": (50, 400),
    "A100": (50, 400),
}


def test_the_papers_profile() -> None:
    assert {model: (power.idle_w, power.max_w) for model, power in PAPER.gpus.items()} == WATTS
    assert PAPER.cpu("") == PAPER.cpu("Xeon E5-2682 v4") == CpuPower(cores=16, idle_w=15, max_w=120)


def test_the_idle_datacenter_draws_230100_watts() -> None:
    """Sockets: ceil(ceil(vCPU / 2) / 16) each, 3,711 in all, times 15 W = 55,665 W.

    A10 2*4, G2 549*3, G3 39*4, P100 5*1 + 107*1 + 22*2, T4 387*4 + 17*3, V100M16 19*1 + 28*1 + 7*2 + 1*3,
    V100M32 9*2 + 21*3. (104 vCPU are 52 cores, 4 sockets; 82 vCPU are 41 cores, 3 sockets.)
    GPUs: 195*30 + 204*30 (V100) + 265*25 (P100) + 842*10 (T4) + 2*30 (A10) + 4392*30 (G2) + 312*50 (G3) = 174,435 W.
    """
    engine = Engine(alibaba2023.datacenter(), (), parse("fgd"), make_target([]))
    assert engine.state.nodes.sockets.sum() == 3711
    assert engine.state.totals[CPU_POWER] == 55_665_000
    assert engine.state.totals[GPU_POWER] == 174_435_000


def test_the_first_cpu_task_of_the_authors_runs_wakes_one_socket() -> None:
    """8 vCPU on any node: 230,100 + 120 - 15 = 230,205 W, the first row of every published series."""
    workload = Workload.of([make_engine([make_node()], [make_task(cpu=8, memory_mib=30517)]).classes[0]])
    run = simulate(alibaba2023.datacenter(), workload, parse("pwr"), make_target([]))
    assert (run.cpu_power_w[0], run.gpu_power_w[0], run.power_w[0]) == (55_770, 174_435, 230_205)


def cpu_power_w(cpu: float, cpu_left: float) -> float:
    node = make_datacenter([make_node(gpus=0, cpu=cpu)]).records()[0]
    return cpu_power_mw(node, round(cpu_left * 1000)) / 1000


@pytest.mark.parametrize(
    ("cpu", "cpu_left", "watts"),
    [
        (64, 64, 2 * 15),  # 32 cores, 2 sockets, both idle
        (64, 63.999, 120 + 15),  # 31 idle cores: 1 core in use, 1 socket
        (64, 62, 120 + 15),
        (64, 32, 120 + 15),  # 16 cores in use: still 1 socket
        (64, 31.999, 2 * 120),  # 15 idle cores: 17 in use
        (64, 0, 2 * 120),
        (82, 82, 3 * 15),  # 41 cores, 3 sockets
        (82, 80, 120 + 2 * 15),
        (82, 50, 120 + 2 * 15),  # 25 idle cores: 16 in use
        (82, 48, 2 * 120 + 15),  # 24 idle cores: 17 in use
        (82, 0, 3 * 120),
        (33, 33, 2 * 15),  # 17 cores, nothing placed: the vCPU that the system keeps keeps no core busy
        (33, 32.999, 120 + 15),
        (31.85, 31.85, 15),  # what GKE leaves of 32: an empty node is idle
        (95, 95, 3 * 15),
        (95, 63, 120 + 2 * 15),  # 32 vCPU are 16 cores: one socket
        (95, 62.5, 2 * 120 + 15),  # 17 cores
        (95, 0, 3 * 120),
        (1, 1, 15),
        (0, 0, 0),  # no core, no socket
    ],
)
def test_sockets_with_any_core_in_use_draw_120_watts_the_others_15(cpu: float, cpu_left: float, watts: float) -> None:
    assert cpu_power_w(cpu, cpu_left) == watts


@pytest.mark.parametrize("model", WATTS)
def test_a_gpu_draws_its_maximum_as_soon_as_any_part_of_it_is_taken(model: str) -> None:
    idle_w, max_w = WATTS[model]
    bit, whole = make_task(gpu=0.001), make_task(gpu=2)
    engine = make_engine([make_node(gpus=4, model=model)], [bit, whole])
    node, draw = engine.state.nodes[0], engine.state.world.gpu_draw_mw
    assert gpu_power_mw(node, draw) == 1000 * 4 * idle_w
    place(engine, bit, 0, (3,))
    assert gpu_power_mw(node, draw) == 1000 * (max_w + 3 * idle_w)
    place(engine, whole, 0, (0, 1))
    assert gpu_power_mw(node, draw) == 1000 * (3 * max_w + idle_w)


def test_what_a_task_adds_is_the_difference_it_makes() -> None:
    share, whole, cpu_only = make_task(gpu=0.5, cpu=2), make_task(gpu=2, cpu=40), make_task(cpu=32)
    engine = make_engine([make_node(gpus=4, cpu=64, model="G2")], [share, whole, cpu_only])
    node, draw = engine.state.nodes[0], engine.state.world.gpu_draw_mw

    def added_w(task: reference.Task, gpu: int = 0) -> tuple[float, float]:
        record = engine.state.tasks[class_of(engine, task)]
        return added_cpu_power_mw(node, record) / 1000, added_gpu_power_mw(node, record, gpu, draw) / 1000

    assert added_w(share) == (105, 120)  # 120 - 15 for a socket, 150 - 30 for a GPU
    assert added_w(whole) == (210, 240)  # 20 cores are two sockets; two GPUs
    assert added_w(cpu_only) == (105, 0)
    place(engine, share, 0, (1,))
    assert added_w(share, gpu=0) == (0, 120)
    assert added_w(share, gpu=1) == (0, 0)  # both are awake already
    assert added_w(cpu_only) == (105, 0)  # 17 cores in use


@given(clusters())
def test_the_power_of_an_idle_datacenter_is_the_references(nodes: list[Node]) -> None:
    records = make_engine(nodes, []).state.nodes
    assert records.cpu_power_mw.tolist() == [1000 * reference.node_power_w(node)[0] for node in nodes]
    assert records.gpu_power_mw.tolist() == [1000 * reference.node_power_w(node)[1] for node in nodes]


def test_a_model_without_a_power_entry_is_an_error_that_names_it_and_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"unknown GPU model 'H100' .*A10.*V100M32"):
        PAPER.gpu("H100")
    with pytest.raises(UserError, match=r"unknown CPU model 'EPYC' .*Xeon E5-2682 v4"):
        PAPER.cpu("EPYC")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("H100", '(perhaps H100-80GB-HBM3 or H100-PCIe or H100-NVL; for another GPU put [gpu."H100"] idle_w = ..'),
        ("l40s", "(perhaps L40S; for another GPU put"),
        ("MI355X", '(the catalog has only its limit, 1400 W: put [gpu."MI355X"] idle_w = .., a line each, into FILE'),
        ("X100", '(no power entry: put [gpu."X100"] idle_w = .. context_w = .. max_w = .., a line each, into FILE'),
    ],
)
def test_an_unknown_model_comes_with_what_it_may_be_and_with_what_is_missing(name: str, said: str) -> None:
    with pytest.raises(UserError) as fault:
        PAPER.gpu(name)
    assert said in str(fault.value)


def test_a_cpu_of_which_only_the_maximum_is_known_asks_for_its_idle_watts_alone() -> None:
    with pytest.raises(UserError, match=r"\(the catalog has only its cores and its maximum: put .* idle_w = \.\., a"):
        PAPER.cpu("EPYC 9654")


def test_fractions_of_a_watt_are_kept_to_the_milliwatt() -> None:
    profile = make_profile(GpuPower(16.8, 72.25, context_w=72.25), CpuPower(8, 9.5, 65.125))
    assert draw_table_mw(("X", ""), profile)[:, [0, 1, 1000]].tolist() == [[16_800, 72_250, 72_250], [0, 0, 0]]
    node = make_datacenter([make_node(gpus=0, cpu=32)]).records(profile)[0]
    assert (cpu_power_mw(node, 32_000), cpu_power_mw(node, 0)) == (2 * 9_500, 2 * 65_125)


def test_a_gpu_in_use_draws_its_context_and_a_share_of_the_rest() -> None:
    """10 idle; 40 + (100 - 40) * u: 70 at a half. With exponent 2: 40 + 60 * 0.25 = 55."""
    linear, square = GpuPower(10, 100, context_w=40), GpuPower(10, 100, context_w=40, exponent=2)
    assert linear.draw_mw()[[0, 1, 500, 1000]].tolist() == [10_000, 40_060, 70_000, 100_000]
    assert square.draw_mw()[[0, 500, 1000]].tolist() == [10_000, 55_000, 100_000]


def make_profile(gpu: GpuPower, cpu: CpuPower) -> PowerProfile:
    return PowerProfile("test", {"X": gpu}, {"cpu": cpu}, default_cpu="cpu", source="made up")


def test_a_datacenter_without_models_has_an_empty_table() -> None:
    assert draw_table_mw((), PAPER).shape == (0, 1001)


@pytest.mark.parametrize("name", list(DATACENTERS))
def test_nodes_of_built_in_datacenters_draw_what_the_paper_counts(name: str) -> None:
    """Whose cores at work are all less floor(free vCPU / 2): these nodes have whole cores."""
    nodes = load_datacenter(name).records()
    for i in dict(zip(nodes.cpu_milli.tolist(), range(len(nodes)), strict=True)).values():
        node = nodes[i]
        for free in range(0, int(node.cpu_milli) + 1, 500):
            at_work = node.cores - free // VCPU_MILLI_PER_CORE
            active = -(-at_work // node.socket_cores)
            idle_mw = (node.sockets - active) * node.socket_idle_mw
            assert cpu_power_mw(node, free) == active * node.socket_max_mw + idle_mw
