"""Numbers with what they count."""

from __future__ import annotations

import pytest

from wattpack.model.counted import counted


@pytest.mark.parametrize(
    ("number", "form", "expected"),
    [
        (1, "", "1 GPU"),
        (0, "", "0 GPUs"),
        (2, "", "2 GPUs"),
        (1.0, "g", "1 GPU"),
        (0.5, "g", "0.5 GPUs"),
        (1213, ",", "1,213 GPUs"),
    ],
)
def test_only_what_is_exactly_one_is_singular(number: float, form: str, expected: str) -> None:
    assert counted(number, "GPU", form) == expected
