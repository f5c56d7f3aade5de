"""Names are found in a message as Python would find them, and answers are the JSON that Python would write."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.cluster_cases import HALF, make_cluster, make_pod
from wattpack.kube.objects import Pod
from wattpack.kube.ranking import Ranking
from wattpack.kube.wire import ExtenderArgs

NAMES = ("n0", "n1", "n10", "node.with-dots", "ünïcode", "n")


def args(text: str | bytes) -> ExtenderArgs:
    return ExtenderArgs(Pod(), msgspec.Raw(text.encode() if isinstance(text, str) else text))


@given(st.lists(st.sampled_from([*NAMES, "unknown", "", "n0\n", 'quo"te']), max_size=12), st.sampled_from([None, 1]))
def test_numbers_are_those_of_the_names_in_any_order_and_any_spacing(names: list[str], indent: int | None) -> None:
    numbers, unknown = Ranking(NAMES).asked(args(json.dumps(names, indent=indent, ensure_ascii=indent is None)))
    distinct = list(dict.fromkeys(names))
    found = list(dict.fromkeys(numbers.tolist()))
    assert found == [NAMES.index(name) for name in distinct if name in NAMES]
    assert unknown == [name for name in distinct if name not in NAMES]


def test_nothing_named_is_nothing_asked() -> None:
    for text in ("[]", "null", "[ ]"):
        numbers, unknown = Ranking(NAMES).asked(args(text))
        assert (len(numbers), unknown) == (0, [])


@pytest.mark.parametrize("text", ["[1]", '[["n0"]]', '[{"n0":"n1"}]', "[null]", '"n0"', "[true]", '{"n0":1}'])
def test_what_is_no_list_of_names_is_refused(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        Ranking(NAMES).asked(args(text))


def test_an_answer_is_what_json_would_write() -> None:
    cluster = make_cluster()
    assert cluster.would_decide(make_pod("a", HALF)) is not None
    choice = cluster.choice
    ranking = Ranking(tuple(cluster.index))
    numbers, unknown = ranking.asked(args('["n2","x\\"y","n0"]'))
    read = json.loads(ranking.answer(choice, numbers, unknown))
    assert [row["Host"] for row in read] == ["n2", "n0", 'x"y']
    assert [row["Score"] for row in read] == [*choice.score[numbers].tolist(), 0]
    assert json.loads(ranking.answer(choice, np.zeros(0, dtype=np.int64), [])) == []
    assert json.loads(ranking.answer(choice, np.zeros(0, dtype=np.int64), ["z"])) == [{"Host": "z", "Score": 0}]
