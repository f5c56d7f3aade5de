"""Durations as people write them."""

import pytest

from wattpack.errors import UserError
from wattpack.model.durations import seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("6m", 360),
        ("2h", 7200),
        ("1d", 86400),
        ("1w", 604800),
        ("45", 45),
        ("1.5h", 5400),
        (" 2 H ", 7200),
    ],
)
def test_a_duration_is_a_number_and_a_unit_or_plain_seconds(text: str, seconds: float) -> None:
    assert seconds_of(text, "patience") == seconds


@pytest.mark.parametrize("text", ["", "h", "-1h", "1h30m", "2 hours", "nan", "inf", "1e3", "9" * 400, "٣h", "1_0s"])
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UserError) as fault:
        seconds_of(text, "patience")
    assert str(fault.value) == f"patience {text!r}, expected a duration like 90s, 6m, 2h or 1d, or seconds"
