"""The types of records have the fields of the records, and a misspelt field is found before a kernel is compiled."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mypy import api as mypy

from builders import make_datacenter, make_node, make_target, make_task
from wattpack.model import records
from wattpack.model.nodes import NODE
from wattpack.model.policy import new_world
from wattpack.model.power import PAPER
from wattpack.model.target import TARGET
from wattpack.model.tasks import TASK

KERNELS = """
from records import NodeRecord, Records, TaskRecord, WorldRecord

def right(nodes: Records[NodeRecord], task: TaskRecord, world: WorldRecord) -> int:
    return nodes[0].cpu_left - task.cpu_milli + world.target[0].num_gpu + world.cpu_most

def wrong(nodes: Records[NodeRecord], task: TaskRecord, world: WorldRecord) -> int:
    nodes[0].cpu_lefts
    task.cpu_mili
    world.target[0].num_gpus
    world.most_cpu
    return 0
"""
NUMPY = "class float64: ...\nclass int64: ...\nclass int32: ...\nclass int16: ...\n"


@pytest.mark.parametrize(
    ("protocol", "dtype"), [(records.NodeRecord, NODE), (records.TaskRecord, TASK), (records.TargetRecord, TARGET)]
)
def test_the_fields_of_a_type_are_those_of_the_record_in_order(protocol: Any, dtype: np.dtype[np.void]) -> None:
    assert tuple(protocol.__annotations__) == dtype.names


@pytest.mark.parametrize(
    ("protocol", "dtype"), [(records.NodeRecord, NODE), (records.TaskRecord, TASK), (records.TargetRecord, TARGET)]
)
def test_whole_numbers_reals_and_arrays_are_typed_as_such(protocol: Any, dtype: np.dtype[np.void]) -> None:
    for name, text in protocol.__annotations__.items():
        field = dtype[name]
        is_plain = field.shape == ()
        assert (text == "int") == (is_plain and field.kind == "i"), name
        assert (text == "float") == (is_plain and field.kind == "f"), name


def test_the_fields_of_a_world_are_those_of_its_type() -> None:
    world = new_world(make_datacenter([make_node()]), make_target([make_task(gpu=1)]), PAPER)
    found = [name for name in vars(records.WorldRecord) if isinstance(vars(records.WorldRecord)[name], property)]
    assert tuple(found) == world._fields


def test_a_misspelt_field_of_a_record_is_an_error_of_types(tmp_path: Path) -> None:
    shutil.copy(records.__file__, tmp_path / "records.py")
    (tmp_path / "kernels.py").write_text(KERNELS)
    # In place of numpy's own types, which take ten times as long as all the rest.
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.pyi").write_text(NUMPY)
    (tmp_path / "numpy" / "typing.pyi").write_text("NDArray = list\n")
    out, fault, _ = mypy.run(["--config-file=", "--cache-dir", str(tmp_path / "cache"), str(tmp_path / "kernels.py")])
    errors = [line.partition(" error: ")[2].partition(";")[0] for line in out.splitlines()[:-1]]
    assert (fault, [error.partition("  [")[0] for error in errors]) == (
        "",
        [
            '"NodeRecord" has no attribute "cpu_lefts"',
            '"TaskRecord" has no attribute "cpu_mili"',
            '"TargetRecord" has no attribute "num_gpus"',
            '"WorldRecord" has no attribute "most_cpu"',
        ],
    )
