"""The registry: what is in it, and how a policy of one's own gets there."""

from collections.abc import Iterator

import pytest

from wattpack.errors import UserError
from wattpack.model.policy import Policy
from wattpack.policies import BUILT_IN, REGISTRY, register
from wattpack.policies.expression import parse
from wattpack.policies.pwr import score


@pytest.fixture(autouse=True)
def registry_as_it_was() -> Iterator[None]:
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def test_the_seven_policies_of_the_paper_are_built_in() -> None:
    assert {"fgd", "pwr", "bestfit", "dotprod", "gpupacking", "gpuclustering", "random"} <= BUILT_IN


def test_every_policy_stands_under_its_name_and_says_what_it_does_in_a_line() -> None:
    for name, policy in REGISTRY.items():
        assert policy.name == name
        assert len(policy.summary.splitlines()) == 1


def test_a_registered_policy_is_used_by_its_name() -> None:
    own = register(Policy("mine_2", "my own", score))
    assert parse("mine_2:0.5+fgd:0.5").components[0].policy is own


def test_it_can_be_registered_again_with_changes() -> None:
    register(Policy("mine", "first", score))
    register(Policy("mine", "second", score))
    assert REGISTRY["mine"].summary == "second"


def test_a_built_in_policy_cannot_be_replaced() -> None:
    with pytest.raises(UserError, match="'fgd': taken by a built-in policy"):
        register(Policy("fgd", "", score))


@pytest.mark.parametrize("name", ["", "Mine", "my own", "a+b", "a:1", "2nd"])
def test_a_name_that_no_expression_could_hold_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="expected lower-case letters"):
        register(Policy(name, "", score))
