"""What claims ask for."""

from __future__ import annotations

from typing import Any

import pytest

from kube.dra.made import GPU_CLASS, exactly, make_class, make_spec, wanted
from wattpack.kube.dra.slice_objects import DeviceTaint
from wattpack.kube.dra.wanted import MAX_ALTERNATIVES, alternatives_of
from wattpack.kube.objects import Unreadable

CLASSES = {"gpu": GPU_CLASS}


def option(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "deviceClassName": "gpu", **more}


def test_a_request_has_the_selectors_of_its_class_and_its_own() -> None:
    ask = wanted(exactly("r", "true", count=2)).asks[0]
    assert (ask.selectors, ask.number) == (('device.driver == "gpu.example.com"', "true"), 2)


def test_alternatives_come_in_order_and_in_all_combinations() -> None:
    first = {"name": "a", "firstAvailable": [option("big", count=4), option("small")]}
    second = {"name": "b", "firstAvailable": [option("x"), option("y")]}
    found = alternatives_of({"c": make_spec(first, second)}, CLASSES)
    assert [[ask.name for ask in one.asks] for one in found] == [
        ["a/big", "b/x"],
        ["a/big", "b/y"],
        ["a/small", "b/x"],
        ["a/small", "b/y"],
    ]


def test_the_number_of_combinations_is_bounded() -> None:
    many = [{"name": f"r{i}", "firstAvailable": [option(f"o{k}") for k in range(8)]} for i in range(8)]
    assert len(alternatives_of({"c": make_spec(*many)}, CLASSES)) == MAX_ALTERNATIVES


def test_claims_of_other_names_are_of_one_kind() -> None:
    one, other = (alternatives_of({name: make_spec(exactly())}, CLASSES)[0] for name in ("a", "b"))
    assert one != other
    assert one.kind == other.kind


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (exactly("r", deviceClassName="none"), "claim c, request r: device class 'none' is not known"),
        (exactly("r", allocationMode="Some"), "claim c, request r: allocation mode 'Some'"),
        (exactly("r", count=0), "claim c, request r: count 0"),
        ({"name": "r"}, "claim c, request r: neither exactly nor firstAvailable"),
        (exactly("r", selectors=[{}]), "claim c, request r: a selector without CEL"),
        (exactly("r", milli="much"), "claim c, request r: quantity 'much'"),
        (exactly("r", count=33), "claim c: asks for 33 devices, expected at most 32"),
    ],
)
def test_what_is_not_understood_is_refused_with_claim_and_request(request_: dict[str, Any], why: str) -> None:
    with pytest.raises(Unreadable) as fault:
        wanted(request_)
    assert str(fault.value).startswith(why)


def test_a_constraint_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(Unreadable, match="claim c: a constraint that is neither"):
        wanted(exactly(), constraints=[{"requests": ["r"]}])


def test_a_selector_of_an_unknown_kind_in_a_class_names_the_class() -> None:
    odd = make_class("gpu", selectors=[{}])
    with pytest.raises(Unreadable, match="class gpu: a selector without CEL"):
        wanted(exactly(), classes=(odd,))


@pytest.mark.parametrize(
    ("toleration", "effect", "expected"),
    [
        ({}, "NoSchedule", False),
        ({"key": "k", "operator": "Exists"}, "NoSchedule", True),
        ({"key": "k", "operator": "Equal", "value": "v"}, "NoExecute", True),
        ({"key": "k", "value": "w"}, "NoSchedule", False),
        ({"operator": "Exists"}, "NoSchedule", True),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, "NoSchedule", False),
        ({"key": "other", "operator": "Exists"}, "None", True),  # an effect that keeps nobody away
    ],
)
def test_a_toleration_is_read_as_in_kubernetes(toleration: dict[str, str], effect: str, expected: bool) -> None:
    ask = wanted(exactly(tolerations=[toleration] if toleration else [])).asks[0]
    assert ask.tolerates(DeviceTaint("k", "v", effect)) is expected
