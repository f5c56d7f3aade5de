"""The array layout of `ocs`: parts lie one behind another, and names that do not exist are refused."""

from itertools import pairwise
from typing import NamedTuple

import pytest

from wattpack.model.nodes import NOTES
from wattpack.policies.ocs import layout
from wattpack.policies.ocs.policy import OCS, OCSPLAN


class Three(NamedTuple):
    first: int
    second: int
    third: int
    end: int


class NoEnd(NamedTuple):
    first: int


def test_parts_lie_one_behind_another_in_the_order_of_their_names() -> None:
    """One number, then four, then one: they start at 0, 1 and 5, and the array is 6 long."""
    assert layout.lay_out(Three, {"second": 4}) == (0, 1, 5, 6)
    assert layout.names_of(Three, {"second": 2}) == ("first", "second_1", "second_2", "third")


@pytest.mark.parametrize(("parts", "lengths"), [(Three, {"seconds": 4}), (Three, {"end": 4}), (NoEnd, {})])
def test_a_misspelt_length_and_a_layout_without_end_are_refused(
    parts: type[Three] | type[NoEnd], lengths: dict[str, int]
) -> None:
    with pytest.raises(ValueError, match="expected `end` as last field"):
        layout.lay_out(parts, lengths)


@pytest.mark.parametrize("places", [layout.TERM, layout.MEMORY, layout.NOTE, layout.PARAM])
def test_no_two_parts_share_a_place(places: tuple[int, ...]) -> None:
    assert places[0] == 0
    assert all(one < next_ for one, next_ in pairwise(places))


def test_every_term_has_a_name_and_the_notes_have_room_in_a_node() -> None:
    assert len(OCS.term_names) == OCS.terms == layout.TERM.plan == 43
    assert len(OCSPLAN.term_names) == OCSPLAN.terms == layout.TERM.end == 59
    assert OCS.term_names[layout.TERM.scarce] == "scarce_1"
    assert layout.NOTE.end <= NOTES
