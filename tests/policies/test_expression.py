"""The grammar of policy expressions: what is read, how it is spelt back, and what every fault says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattpack.errors import UserError
from wattpack.model.policy import Mix, Policy
from wattpack.policies import REGISTRY
from wattpack.policies.expression import parse
from wattpack.policies.fgd import FGD
from wattpack.policies.fgd import score as fgd_score

NAMES = ("fgd", "pwr", "bestfit", "dotprod", "gpupacking", "gpuclustering", "random")


def parts(mix: Mix) -> list[tuple[str, int]]:
    return [(component.policy.name, component.weight) for component in mix.components]


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_of_the_paper_is_known_and_alone_weighs_1000(name: str) -> None:
    mix = parse(name)
    assert parts(mix) == [(name, 1000)]
    assert (mix.expression, mix.picker) == (name, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pwr:0.1+fgd:0.9", [("pwr", 100), ("fgd", 900)]),
        ("fgd+pwr", [("fgd", 1000), ("pwr", 1000)]),
        ("pwr:2+fgd", [("pwr", 2000), ("fgd", 1000)]),
        ("pwr:.5+fgd:1.", [("pwr", 500), ("fgd", 1000)]),
        ("pwr:0.001+fgd:1000", [("pwr", 1), ("fgd", 1_000_000)]),
        ("pwr:0.1000+fgd:00.9", [("pwr", 100), ("fgd", 900)]),
        ("fgd:0.2+pwr:0.3+bestfit:0.5", [("fgd", 200), ("pwr", 300), ("bestfit", 500)]),
        ("+".join(NAMES), [(name, 1000) for name in NAMES]),
    ],
)
def test_weights_are_integers_in_thousandths(text: str, expected: list[tuple[str, int]]) -> None:
    assert parts(parse(text)) == expected


def test_a_lone_policy_weighs_1000_whatever_it_says() -> None:
    assert parts(parse("pwr:0.1")) == [("pwr", 1000)]
    assert parse("pwr:0.1").expression == "pwr"


@pytest.mark.parametrize("text", ["PWR:0.1+FGD:0.9", " Pwr : 0.1 + fGd : 0.9 ", "pwr:.1+fgd:.90", "pwr:0.100+fgd:0.9"])
def test_case_spaces_and_zeros_make_no_difference(text: str) -> None:
    assert parse(text) == parse("pwr:0.1+fgd:0.9")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("FGD", "fgd"),
        ("PWR:.1 + FGD:.90", "pwr:0.1+fgd:0.9"),
        ("fgd+pwr", "fgd:1+pwr:1"),
        ("fgd:1000+pwr:0.001", "fgd:1000+pwr:0.001"),
    ],
)
def test_equal_mixes_have_one_spelling(text: str, canonical: str) -> None:
    assert parse(text).expression == canonical


@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.integers(1, 1_000_000)),
        min_size=2,
        unique_by=lambda component: component[0],
    )
)
def test_the_spelling_is_read_back_as_the_same_mix(components: list[tuple[str, int]]) -> None:
    mix = parse("+".join(f"{name}:{weight // 1000}.{weight % 1000:03d}" for name, weight in components))
    assert parts(mix) == components
    assert parse(mix.expression) == mix


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("foo", "unknown policy 'foo'"),
        ("fgd:0.5+pwrr:0.5", "unknown policy 'pwrr'"),
        ("", "empty part ''"),
        ("fgd+", "empty part ''"),
        ("+fgd", "empty part ''"),
        ("fgd++pwr", "empty part ''"),
        ("fgd+ +pwr", "empty part ' '"),
        (":0.5", "no name in ':0.5'"),
        ("fgd+fgd", "'fgd' appears twice"),
        ("fgd:0.1+FGD:0.9", "'fgd' appears twice"),
        ("fgd:0+pwr:1", "weight '0' in 'fgd:0'"),
        ("fgd:0.0+pwr:1", "weight '0.0' in 'fgd:0.0'"),
        ("fgd:-1+pwr:1", "weight '-1' in 'fgd:-1'"),
        ("fgd:+pwr:1", "weight '' in 'fgd:'"),
        ("fgd:half+pwr:1", "weight 'half' in 'fgd:half'"),
        ("fgd:1e-1+pwr:1", "weight '1e-1' in 'fgd:1e-1'"),
        ("fgd:nan+pwr:1", "weight 'nan' in 'fgd:nan'"),
        ("fgd:0,5+pwr:1", "weight '0,5' in 'fgd:0,5'"),
        ("fgd:1:2", "weight '1:2' in 'fgd:1:2'"),
        ("fgd:0.0005+pwr:1", "weight '0.0005' in 'fgd:0.0005', expected 0.001 to 1000 in steps of 0.001"),
        ("fgd:1000.001+pwr:1", "weight '1000.001' in 'fgd:1000.001', expected 0.001 to 1000"),
        ("fgd:0", "weight '0' in 'fgd:0'"),  # alone too, though its weight is not used
        ("fgd\npwr", r"unknown policy 'fgd\npwr'"),
    ],
)
def test_a_fault_is_one_line_with_the_expression_the_part_and_the_known_names(text: str, what: str) -> None:
    with pytest.raises(UserError) as fault:
        parse(text)
    message = str(fault.value)
    assert message.startswith(f"policy expression {text!r}: {what}")
    assert message.endswith(f"; known policies: {', '.join([*REGISTRY, 'auto'])}")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "picker"),
    [
        ("pwr:0.1+fgd:0.9", "fgd"),
        ("pwr:0.9+fgd:0.1", "pwr"),
        ("pwr:0.5+fgd:0.5", "fgd"),  # a tie between the two: FGD's
        ("fgd:0.5+pwr:0.5", "fgd"),
        ("bestfit:0.6+fgd:0.4", "bestfit"),
        ("random+pwr", "pwr"),
        ("gpuclustering:0.3+dotprod:0.3+pwr:0.2", "dotprod"),
    ],
)
def test_the_gpu_picker_is_the_largest_weights_of_equals_the_first_of_the_registry(text: str, picker: str) -> None:
    mix = parse(text)
    assert mix.components[mix.picker].policy.name == picker


def test_a_policy_of_ones_own_is_used_by_its_name() -> None:
    own = Policy("mine", "my own", fgd_score)
    mix = parse("Mine:0.3+fgd:0.7", {"fgd": FGD, "mine": own})
    assert parts(mix) == [("mine", 300), ("fgd", 700)]
    assert mix.components[0].policy is own
    with pytest.raises(UserError, match="known policies: fgd, mine"):
        parse("yours", {"fgd": FGD, "mine": own})


@pytest.mark.parametrize("text", ["ocs@0.5", "OCS@.50", " ocs@0.500 ", "ocs @ 0.5", "ocs@0.5:3"])
def test_a_knob_stands_in_the_name_and_has_one_spelling(text: str) -> None:
    assert parse(text) == parse("ocs@0.5")
    assert parse(text).expression == "ocs@0.5"


def test_a_knob_at_its_default_is_the_policy_itself() -> None:
    assert parse("ocs@0.4") == parse("ocs")


def test_policies_with_knobs_are_mixed_like_others() -> None:
    mix = parse("ocs@0.5+FGD:2")
    assert mix.expression == "ocs@0.5:1+fgd:2"
    assert parse("ocs@0.5+ocs@0.6").expression == "ocs@0.5:1+ocs@0.6:1"
    assert parse("ocs@0.5+fgd").picker == 1  # of equal weights the one that comes first in the registry


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fgd@0.5", "'fgd' has no knob for 'fgd@0.5'"),
        ("ocs@", "knob '' in 'ocs@', expected a decimal number"),
        ("ocs@x", "knob 'x' in 'ocs@x', expected a decimal number"),
        ("ocs@101", "service 101.0, expected 0 (save power) to 1 (serve tasks), or more up to 100"),
        ("@0.5", "unknown policy ''"),
        ("ocs@0.5+OCS@.5", "'ocs@0.5' appears twice"),
    ],
)
def test_a_faulty_knob_is_told_in_one_line_that_quotes_the_expression(text: str, said: str) -> None:
    with pytest.raises(UserError) as fault:
        parse(text)
    assert str(fault.value).startswith(f"policy expression {text!r}: {said}")
