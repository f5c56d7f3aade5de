"""The extender's own JSON reader and writer agree with Python's, or leave the message to it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattpack.kube.extender_json import FALL_BACK, NameTable, new_name_table, read_names, write_scores

NAMES = ("n0", "n1", "n10", "node.with-dots", "n")
SCORES = 3


def table(names: tuple[str, ...] = NAMES) -> NameTable:
    pieces = [json.dumps({"Host": name, "Score": score}).encode() for name in names for score in range(SCORES)]
    return new_name_table(names, pieces)


def read(names: NameTable, text: str, room: int = len(NAMES)) -> list[int] | None:
    """Numbers of the nodes in the text; None: it is left to Python."""
    numbers = np.zeros(room, dtype=np.int64)
    count = read_names(names, np.frombuffer(text.encode(), dtype=np.uint8), numbers)
    return None if count == FALL_BACK else numbers[:count].tolist()


@given(st.lists(st.lists(st.sampled_from(NAMES), max_size=5), min_size=1, max_size=4), st.sampled_from([None, 1]))
def test_lists_of_known_names_are_read_one_after_another_in_any_order(
    lists: list[list[str]], indent: int | None
) -> None:
    names = table()  # it remembers the order of the last list
    for asked in lists:
        assert read(names, json.dumps(asked, indent=indent)) == [NAMES.index(name) for name in asked]


@pytest.mark.parametrize(
    "text",
    [
        '["unknown"]',
        '["n1","n01"]',
        '[""]',
        '["n\\u0030"]',  # n0 with an escape
        '["n0","n1","n10","n","n0","n1"]',  # more than there is room for
        "null",
        "[1]",
        '[["n0"]]',
        '{"n0":1}',
    ],
)
def test_what_is_no_list_of_known_names_is_left_to_python(text: str) -> None:
    assert read(table(), text) is None


def test_a_name_is_not_found_by_its_beginning_or_in_a_longer_one() -> None:
    names = table()
    assert read(names, '["n","n1","n10"]') == [4, 1, 2]
    assert read(names, '["n","n1","n100"]') is None


def test_without_nodes_only_an_empty_list_is_read() -> None:
    assert read(table(()), "[]", room=0) == []
    assert read(table(()), '["n0"]', room=0) is None


@pytest.mark.parametrize("numbers", [[], [3], [4, 0, 2]])
def test_scores_are_written_as_json_in_the_order_of_the_numbers(numbers: list[int]) -> None:
    score = np.array([0, 1, 2, 1, 0], dtype=np.int64)
    out = np.zeros(1000, dtype=np.uint8)
    length = write_scores(table(), np.array(numbers, dtype=np.int64), score, SCORES, out)
    assert json.loads(out[:length].tobytes()) == [{"Host": NAMES[n], "Score": int(score[n])} for n in numbers]


def test_every_name_of_a_large_cluster_is_found() -> None:
    names = tuple(f"node-{number}" for number in range(2000))
    backwards = list(reversed(names))
    assert read(table(names), json.dumps(backwards), room=2000) == list(range(1999, -1, -1))
