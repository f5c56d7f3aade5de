"""Quantities as Kubernetes reads them, exact; requests up, capacity down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattpack.kube.objects import Unreadable
from wattpack.kube.quantity import cpu_milli_down, cpu_milli_up, memory_mib_down, memory_mib_up, nano, whole


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("0", 0),
        ("2", 2 * 10**9),
        (2, 2 * 10**9),
        (0.5, 5 * 10**8),
        ("500m", 5 * 10**8),
        ("1.5", 15 * 10**8),
        (".5", 5 * 10**8),
        ("5.", 5 * 10**9),
        ("+1", 10**9),
        ("100n", 100),
        ("1u", 1000),
        ("1k", 10**12),
        ("1Ki", 1024 * 10**9),
        ("1.5Gi", 3 * 2**29 * 10**9),
        ("1E", 10**27),  # exa, not an exponent
        ("1Ei", 2**60 * 10**9),
        ("2e3", 2 * 10**12),
        ("2E3", 2 * 10**12),
        ("12E-1", 12 * 10**8),
        (1e-05, 10**4),  # as JSON numbers may come
        ("0.1n", 1),  # below a billionth: up
    ],
)
def test_a_quantity_is_read_exactly(text: str | float, nanos: int) -> None:
    assert nano(text) == nanos


@pytest.mark.parametrize(
    "text", ["", "m", ".", "-1", "1 Gi", "1gi", "1KI", "1e", "1e400", "٣", "0x10", "1_000", "NaN", "9" * 99]
)
def test_anything_else_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable, match="quantity"):
        nano(text)


def test_requests_are_rounded_up_and_capacity_down() -> None:
    assert (cpu_milli_up(nano("1.0001")), cpu_milli_down(nano("1.9999"))) == (1001, 1999)
    assert (memory_mib_up(nano("1048577")), memory_mib_down(nano("2097151"))) == (2, 1)


def test_devices_come_whole() -> None:
    assert whole(nano("3"), "nvidia.com/gpu") == 3
    with pytest.raises(Unreadable, match=r"nvidia.com/gpu is 0\.5, expected a whole number"):
        whole(nano("500m"), "nvidia.com/gpu")


@given(st.integers(0, 10**15), st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi"]))
def test_units_are_what_they_say(number: int, unit: str) -> None:
    size = {"": 1000, "m": 1, "k": 10**6, "M": 10**9, "Ki": 1024_000, "Mi": 2**20 * 1000, "Gi": 2**30 * 1000}[unit]
    assert nano(f"{number}{unit}") == number * size * 10**6
