"""The watch: lists, events, what is old, what ends it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wattpack.kube.client import ApiError
from wattpack.kube.objects import POD, Pod
from wattpack.kube.watch import Watch, number


class Table:
    """What a watch hands over."""

    def __init__(self) -> None:
        self.lists: list[list[Pod]] = []
        self.events: list[tuple[str, str]] = []
        self.watch: Watch[Pod] = Watch(
            "pods", "/api/v1/pods", self.fetch, POD, self.lists.append, lambda kind, pod: self.change(kind, pod)
        )

    async def fetch(self) -> tuple[list[Pod], str]:
        return [], "100"

    def change(self, kind: str, pod: Pod) -> None:
        self.events.append((kind, pod.metadata.name))

    def take(self, kind: str, version: str, **more: Any) -> None:
        thing = {"metadata": {"name": f"p{version}", "resourceVersion": version}, **more}
        self.watch.take(json.dumps({"type": kind, "object": thing}).encode())


def test_events_are_handed_over_and_the_watch_goes_on_from_the_last() -> None:
    table = Table()
    table.take("ADDED", "101")
    table.take("DELETED", "102")
    assert table.events == [("ADDED", "p101"), ("DELETED", "p102")]
    assert table.watch.version == "102"


def test_an_event_older_than_what_is_known_is_left_out() -> None:
    table = Table()
    for version in ("105", "103", "105", "106"):
        table.take("MODIFIED", version)
    assert table.events == [("MODIFIED", "p105"), ("MODIFIED", "p106")]


def test_a_bookmark_moves_the_watch_on_and_hands_nothing_over() -> None:
    table = Table()
    table.take("BOOKMARK", "120", spec={"containers": None})
    assert table.events == []
    assert table.watch.version == "120"


def test_an_error_event_ends_the_watch_with_its_code() -> None:
    with pytest.raises(ApiError) as fault:
        Table().watch.take(b'{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}')
    assert fault.value.status == 410


def test_versions_that_are_no_numbers_are_never_old() -> None:
    table = Table()
    table.take("ADDED", "b")
    table.take("ADDED", "a")
    assert len(table.events) == 2
    assert (number("17"), number("x"), number("")) == (17, 0, 0)
