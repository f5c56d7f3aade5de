"""What a request consumes of a capacity, by the device's policies."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from wattpack.kube.dra.capacity import amount_text, consumed, fits
from wattpack.kube.dra.slice_objects import Capacity
from wattpack.kube.quantity import NANO, nano

STEPS = {"default": "100", "validRange": {"min": "10", "max": "1000", "step": "20"}}
SIZES = {"default": "10Gi", "validValues": ["10Gi", "20Gi", "40Gi"]}


def capacity(value: str, **policy: Any) -> Capacity:
    return msgspec.convert({"value": value} | ({"requestPolicy": policy} if policy else {}), Capacity)


@pytest.mark.parametrize(
    ("asked", "offered", "expected"),
    [
        (None, capacity("80Gi"), "80Gi"),  # not asked for, no policy: all there is
        ("30Gi", capacity("80Gi"), "30Gi"),
        (None, capacity("1000", **STEPS), "100"),  # the default
        ("5", capacity("1000", **STEPS), "10"),  # up to the minimum
        ("10", capacity("1000", **STEPS), "10"),
        ("11", capacity("1000", **STEPS), "30"),  # 10 + 1 step
        ("50", capacity("1000", **STEPS), "50"),  # 10 + 2 steps
        ("990", capacity("1000", **STEPS), "990"),  # 10 + 49 steps
        ("991", capacity("1000", **STEPS), None),  # 1010 is above the maximum
        ("15Gi", capacity("80Gi", **SIZES), "20Gi"),
        ("41Gi", capacity("80Gi", **SIZES), None),  # no valid value is as large
        ("7", capacity("9", validRange={"min": "2"}), "7"),
        ("1", capacity("9", validRange={"min": "2"}), "2"),
    ],
)
def test_an_amount_is_rounded_up_to_what_the_policy_allows(
    asked: str | None, offered: Capacity, expected: str | None
) -> None:
    found = consumed({} if asked is None else {"x": nano(asked)}, {"x": offered})
    assert found == (None if expected is None else {"x": nano(expected)})


def test_a_capacity_that_the_device_does_not_have_cannot_be_asked_for() -> None:
    assert consumed({"memory": 1}, {"milli": capacity("1000")}) is None


def test_shares_fit_up_to_the_capacity() -> None:
    offered = {"milli": capacity("1000")}
    assert fits({"milli": 400 * NANO}, {"milli": 600 * NANO}, offered)
    assert not fits({"milli": 401 * NANO}, {"milli": 600 * NANO}, offered)


@pytest.mark.parametrize("text", ["0", "460", "1500m", "7u", "3n", "10737418240"])
def test_amounts_are_written_as_they_are_read(text: str) -> None:
    assert amount_text(nano(text)) == text
