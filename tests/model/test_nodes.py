"""A datacenter as columns and records."""

import numpy as np
import pytest

from builders import make_datacenter, make_node
from wattpack.engine.core.columns import CLASS, COLUMN
from wattpack.engine.core.plan import PART
from wattpack.engine.core.score_cache import COLUMN_STATE, FAILURES
from wattpack.errors import UserError
from wattpack.model.nodes import MAX_GPUS, NODE, Datacenter
from wattpack.model.power import cpu_power_mw
from wattpack.model.target import TARGET
from wattpack.model.tasks import TASK


def test_capacity_is_the_sum_over_nodes() -> None:
    datacenter = make_datacenter([make_node(gpus=8), make_node(gpus=0), make_node(gpus=2)])
    assert len(datacenter) == 3
    assert datacenter.gpu_milli == 10_000


def test_an_empty_record_has_everything_left() -> None:
    node = make_datacenter([make_node(gpus=2, cpu=82, memory_mib=1000)]).records()[0]
    assert (node.cpu_milli, node.cpu_left, node.memory_mib, node.memory_left) == (82_000, 82_000, 1000, 1000)
    assert node.gpu_left.tolist() == [1000, 1000] + [0] * (MAX_GPUS - 2)
    assert (node.gpus, node.gpu_free, node.gpu_total, node.tasks) == (2, 2, 2000, 0)
    assert (node.cores, node.sockets) == (41, 3)  # 82 / 2; ceil(41 / 16)


def test_nodes_of_equal_columns_are_of_one_type() -> None:
    nodes = [make_node(gpus=2), make_node(gpus=4), make_node(gpus=2), make_node(gpus=2, model="T4")]
    types = make_datacenter(nodes).types.tolist()
    assert types[0] == types[2]
    assert len(set(types)) == 3


def test_another_node_order_has_the_same_nodes() -> None:
    datacenter = make_datacenter([make_node(gpus=g, model=m) for g, m in ((1, "T4"), (2, "G2"), (3, "G3"))])
    turned = datacenter.ordered(np.array([2, 0, 1]))
    assert turned.names == ("n2", "n0", "n1")
    assert turned.gpus.tolist() == [3, 1, 2]
    assert [turned.models[model] for model in turned.model.tolist()] == ["G3", "T4", "G2"]


def test_a_repeated_datacenter_has_every_node_so_many_times() -> None:
    once = make_datacenter([make_node(gpus=1, model="T4"), make_node(gpus=2)])
    thrice = once.repeated(3)
    assert (len(thrice), len(set(thrice.names)), thrice.gpu_milli) == (6, 6, 9000)
    assert thrice.types.tolist() == once.types.tolist() * 3
    with pytest.raises(UserError, match="repeated 0 times, expected 1 or more"):
        once.repeated(0)


def test_columns_cannot_be_written_to() -> None:
    datacenter = make_datacenter([make_node()])
    with pytest.raises(ValueError, match="read-only"):
        datacenter.gpus[0] = 9


def test_a_node_without_gpus_has_no_model() -> None:
    node = make_node(gpus=0)
    node.model = "H100"  # whatever its file says
    assert make_datacenter([node]).models == ("",)


def test_no_nodes_is_an_error() -> None:
    with pytest.raises(UserError, match="no nodes, expected at least one"):
        make_datacenter([])


def test_17_gpus_is_an_error() -> None:
    assert MAX_GPUS == 16
    make_datacenter([make_node(gpus=16)])
    with pytest.raises(UserError, match="17 GPUs, expected at most 16"):
        make_datacenter([make_node(gpus=17)])


def test_no_field_is_hidden_by_an_attribute_of_numpys_records() -> None:
    """With the compiler off a field `size` would be read as 1: there `record.size` is the number of elements."""
    fields = {
        name
        for record in (NODE, TASK, TARGET, PART, COLUMN_STATE, FAILURES, CLASS, COLUMN)
        for name in record.names or ()
    }
    assert {name for name in fields if hasattr(np.record, name)} == set()


def test_what_the_system_keeps_counts_for_sockets_and_keeps_none_of_them_awake() -> None:
    """a: 64 vCPU are two sockets, of which tasks may have 31; b: 31.85 vCPU of an unknown machine are one socket."""
    of = (["a", "b"], [31_000, 31_850], [1, 1], [0, 0], ["", ""])
    nodes = Datacenter.of(*of, capacity_milli=[64_000, None]).records()
    assert nodes.sockets.tolist() == [2, 1]
    assert [cpu_power_mw(node, int(node.cpu_left)) / 1000 for node in nodes] == [30, 15]
    assert [cpu_power_mw(node, 0) / 1000 for node in nodes] == [120 + 15, 120]  # 31 vCPU are 16 cores


def test_nodes_that_differ_in_capacity_only_are_of_different_types_in_every_order() -> None:
    of = (["a", "b", "c"], [31_000] * 3, [1] * 3, [0] * 3, [""] * 3)
    datacenter = Datacenter.of(*of, capacity_milli=[64_000, 32_000, 64_000])
    assert datacenter.types.tolist() == [1, 0, 1]
    turned = datacenter.ordered(np.array([1, 0])).repeated(2)
    assert turned.records().sockets.tolist() == [1, 2, 1, 2]


def test_a_capacity_below_what_tasks_may_have_is_refused() -> None:
    with pytest.raises(UserError, match="capacity_milli: expected at least the node's cpu_milli, or None"):
        Datacenter.of(["a"], [32_000], [1], [0], [""], capacity_milli=[31_000])
