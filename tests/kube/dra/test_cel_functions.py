"""Kubernetes' own functions."""

from __future__ import annotations

import pytest

from wattpack.kube.dra.cel_functions import as_integer, compare, quantity, semver

# In this order by semver.org, section 11.
ORDER = (
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
)


def test_versions_are_in_the_order_of_the_standard() -> None:
    values = [semver(text) for text in ORDER]
    for one, _ in enumerate(values):
        for other, _ in enumerate(values):
            assert compare(values[one], values[other]) == (one > other) - (one < other)
    assert compare(semver("1.0.0+a"), semver("1.0.0+b")) == 0


@pytest.mark.parametrize("text", ["1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3-a..b", ""])
def test_other_text_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="not a semantic version"):
        semver(text)


@pytest.mark.parametrize(
    ("text", "same"), [("v1.0.0", "1.0.0"), ("1.0", "1.0.0"), ("01.01.01", "1.1.1"), ("v1", "1.0.0")]
)
def test_versions_are_normalised_on_request(text: str, same: str) -> None:
    assert semver(text, True) == semver(same)


def test_quantities_are_exact_and_may_be_negative() -> None:
    assert quantity("200M") == quantity("0.2G")
    assert compare(quantity("50M"), quantity("50Mi")) == -1
    assert compare(quantity("-1"), quantity("0")) == -1
    assert as_integer(quantity("50k")) == 50000


@pytest.mark.parametrize("text", ["1500m", "9223372036854775808"])
def test_an_integer_must_be_whole_and_of_64_bits(text: str) -> None:
    with pytest.raises(ValueError, match="cannot convert"):
        as_integer(quantity(text))


def test_a_version_is_no_quantity() -> None:
    with pytest.raises(ValueError, match="no such overload"):
        compare(quantity("1"), semver("1.0.0"))
