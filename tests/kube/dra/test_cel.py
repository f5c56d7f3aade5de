"""Selectors on one device: verdicts of Kubernetes' rules, by hand. tests/e2e/test_dra_cel.py asks kube-scheduler."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kube.dra.made import DRIVER, attributes, device, make_slice
from wattpack.kube.dra.cel import MAX_LENGTH, SelectorError, matches
from wattpack.kube.dra.pools import Offered, Pools

SAID = attributes(index=3, healthy=True, firmware=("1.2.3",), other__root="pci1")
A, C = f'device.attributes["{DRIVER}"]', f'device.capacity["{DRIVER}"]'


def offered() -> Offered:
    slices = [make_slice(device("gpu-0", said=SAID, capacity={"memory": "80Gi"}))]
    return next(iter(Pools(slices).devices.values()))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f'device.driver == "{DRIVER}"', True),
        (f"{A}.index > 2 && {A}.healthy", True),
        (f"{A}.healthy", True),  # an attribute may be the verdict
        ('device.attributes["other"].root == "pci1"', True),
        (f'{A}.productName.matches("^NVIDIA A100")', True),
        (f'{A}.index == "3"', False),  # values of two types are not equal
        (f"{A}.index == 3.0", True),
        (f"{A}.healthy == 1", False),
        (f'{C}.memory.compareTo(quantity("40Gi")) >= 0', True),
        (f'{C}.memory == quantity("85899345920")', True),
        (f'{A}.firmware.isGreaterThan(semver("1.2.0"))', True),
        ('"unknown" in device.attributes', False),
        ('has(device.attributes["unknown"].x)', False),  # an unknown domain is an empty map
        (f"{A}.nothing == 1 || true", True),  # the other side decides
        (f"cel.bind(own, {A}, own.index == 3)", True),
        (f'{A}.?nothing.orValue("x") == "x"', True),
        (f'{A}.exists(name, name == "index")', True),
        ("device.allowMultipleAllocations", False),
    ],
)
def test_a_selector_has_a_verdict(expression: str, expected: bool) -> None:
    assert matches(expression, offered()) is expected


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (f"{A}.nothing == 1", "on device gpu.example.com/n1/gpu-0: Key not found"),
        ('device.attributes["unknown"].x == 1', "Key not found"),
        (f"{A}.index / 0 == 1", "divide by zero"),
        (f'{A}.index > "3"', "No matching overloads"),
        (f"{A}.index", "gives int, expected bool"),
        (f'{A}.firmware.compareTo(quantity("1")) == 0', "expected a semantic version"),
        ('device.drivr == "x"', "does not compile: 1:7: undeclared reference"),
        (f"{C}.memory > 3", "does not compile"),
        ("1 + 1", "does not compile: it gives int, expected bool"),
        ("1 +", "does not compile: 1:4: Syntax error"),
        (f'{A}.productName.matches("(")', "does not compile: invalid regular expression"),
        (f"true || {'x' * MAX_LENGTH}", "expected at most 10240"),
    ],
)
def test_a_selector_that_cannot_be_evaluated_is_an_error_in_one_line(expression: str, why: str) -> None:
    with pytest.raises(SelectorError) as fault:
        matches(expression, offered())
    assert why in str(fault.value)
    assert "\n" not in str(fault.value)


def test_devices_that_differ_in_attributes_that_are_not_named_have_one_verdict_and_others_their_own() -> None:
    devices = [device(f"gpu-{i}", said=attributes(uuid=f"GPU-{i}", index=i)) for i in range(3)]
    found = list(Pools([make_slice(*devices)]).devices.values())
    assert [matches(f'{A}.productName.startsWith("NVIDIA")', one) for one in found] == [True] * 3
    assert [matches(f'{A}.uuid == "GPU-1"', one) for one in found] == [False, True, False]
    assert [matches(f'{A}.exists(k, {A}[k] == "GPU-2")', one) for one in found] == [False, False, True]


def test_the_library_is_imported_only_when_a_selector_is_evaluated() -> None:
    code = "import sys, wattpack.kube.view; print('cel_expr_python' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
