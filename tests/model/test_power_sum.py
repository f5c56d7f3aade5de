"""CPU and GPU power are added in one file, so that a base power or a sleeping node is a change in one room."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import wattpack
from wattpack.model import power
from wattpack.model.nodes import NODE

SOURCE = Path(wattpack.__file__).parent
FILES = sorted(file for file in SOURCE.rglob("*.py") if file != Path(power.__file__))
SUMMED = {name for name in vars(power) if "power" in name}  # what these are given, they add


def is_power_of(part: str, name: str) -> bool:
    """Whether an identifier such as cpu_power_mw, CPU_POWER or idle_cpu_w is the power of `part`."""
    name = name.lower()
    return part in name and "worth" not in name and re.search(r"power|_m?w(_|$)", name) is not None


def operands(sum_: ast.expr) -> Iterator[ast.expr]:
    """The operands of a chain of + and -."""
    if isinstance(sum_, ast.BinOp) and isinstance(sum_.op, ast.Add | ast.Sub):
        yield from operands(sum_.left)
        yield from operands(sum_.right)
    else:
        yield sum_


def identifiers(expression: ast.AST) -> Iterator[str]:
    """The names in an expression, without the arguments of functions that add the two themselves."""
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name) and expression.func.id in SUMMED:
        yield expression.func.id
        return
    if isinstance(expression, ast.Name):
        yield expression.id
    if isinstance(expression, ast.Attribute):
        yield expression.attr
    for child in ast.iter_child_nodes(expression):
        yield from identifiers(child)


def sums_by_hand(text: str) -> list[int]:
    """Lines on which one operand of a sum is CPU power and another one GPU power."""
    found = set()
    for expression in ast.walk(ast.parse(text)):
        if not isinstance(expression, ast.BinOp):
            continue
        names = [list(identifiers(operand)) for operand in operands(expression)]
        cpu = {i for i, found_names in enumerate(names) if any(is_power_of("cpu", name) for name in found_names)}
        gpu = {i for i, found_names in enumerate(names) if any(is_power_of("gpu", name) for name in found_names)}
        if cpu and gpu and len(cpu | gpu) > 1:
            found.add(expression.lineno)
    return sorted(found)


@pytest.mark.parametrize(
    "text",
    [
        "node.cpu_power_mw + node.gpu_power_mw",
        "cpu_w + gpu_w",
        "-cpu_mw - added_gpu_power_mw(node, task, g, world.gpu_draw_mw)",
        "int(nodes.cpu_power_mw.sum() + nodes.gpu_power_mw.sum()) / 1000",
        "totals[CPU_POWER] + totals[GPU_POWER]",
        "(cpu_power_mw(node, left) + worth + gpu_power_mw(node, draw)) / 1000",
    ],
)
def test_a_sum_by_hand_is_found(text: str) -> None:
    assert sums_by_hand(text) == [1]


@pytest.mark.parametrize(
    "text",
    ["total_power(cpu_w, gpu_w) + base_w", "cpu_left + gpu_left", "added_power_mw(node, task, gpu, gpu_draw_mw)"],
)
def test_what_asks_the_power_room_is_no_sum_by_hand(text: str) -> None:
    assert sums_by_hand(text) == []


def test_no_file_but_the_power_room_adds_cpu_and_gpu_power() -> None:
    by_hand = {file.relative_to(SOURCE).as_posix(): sums_by_hand(file.read_text()) for file in FILES}
    assert {name: lines for name, lines in by_hand.items() if lines} == {}


def test_the_whole_array_and_one_record_say_the_same_power() -> None:
    nodes = np.zeros(2, dtype=NODE).view(np.recarray)
    nodes.cpu_power_mw, nodes.gpu_power_mw = [15_000, 135_000], [0, 400_000]
    assert power.nodes_power_mw(nodes).tolist() == [15_000, 535_000]
    assert [power.node_power_mw(node) for node in nodes] == [15_000, 535_000]
