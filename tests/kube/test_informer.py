"""One kind of object in the informer: lists, events, which of them is newer, what ends a watch."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kube.api_in_memory import InMemory, in_a_loop
from wattpack.kube.client import ApiError
from wattpack.kube.decode import Skipped
from wattpack.kube.informer import CONTACT_S, TOMBSTONES, EventLostError, Kind, number
from wattpack.kube.objects import POD, Pod


class Table:
    """What a kind hands on."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.skipped: list[tuple[str, Skipped]] = []
        self.client = InMemory()
        self.kind: Kind[Pod] = Kind(self.client, "/api/v1/pods", POD, self.change, self.skip)

    def change(self, event: str, pod: Pod) -> None:
        if pod.spec.node_name == "odd":
            raise ZeroDivisionError("odd")
        self.events.append((event, pod.metadata.name))

    def skip(self, event: str, one: Skipped) -> None:
        self.skipped.append((event, one))

    def take(self, event: str, version: int | str, name: str = "p", uid: str = "", **more: Any) -> None:
        thing = {"metadata": {"name": name, "uid": uid, "resourceVersion": str(version)}, **more}
        self.kind.take(json.dumps({"type": event, "object": thing}).encode())

    def take_list(self, version: int, **versions: int) -> None:
        """Objects with the versions that they have in a list of `version`."""
        things: list[Pod | Skipped] = [
            POD.decode(json.dumps({"metadata": {"name": name, "resourceVersion": str(own)}}))
            for name, own in versions.items()
        ]
        self.kind.take_list(things, str(version), 0.0)

    def names(self) -> list[str]:
        return sorted(name for _, name in self.kind.known)


def test_events_are_handed_on_and_the_watch_goes_on_from_the_last() -> None:
    table = Table()
    table.take("ADDED", 101)
    table.take("DELETED", 102)
    assert table.events == [("ADDED", "p"), ("DELETED", "p")]
    assert table.kind.version == "102"


def test_an_event_that_is_not_newer_than_what_is_known_of_its_object_is_left_out() -> None:
    table = Table()
    for version in (105, 103, 105, 106):
        table.take("MODIFIED", version)
    assert len(table.events) == 2
    assert table.kind.version == "106"


def test_an_older_list_undoes_neither_a_change_nor_a_creation_nor_a_deletion() -> None:
    table = Table()
    table.take_list(10, changed=5, deleted=6, gone=7)
    table.take("MODIFIED", 14, "changed")
    table.take("ADDED", 15, "created")
    table.take("DELETED", 16, "deleted")
    table.events.clear()
    table.take_list(13, changed=5, deleted=6)
    assert table.events == [("DELETED", "gone")]
    assert table.names() == ["changed", "created"]
    assert table.kind.version == "16", "the watch goes on where it was"


def test_an_event_older_than_the_list_brings_nothing_back() -> None:
    """The watch may be behind the list: its events up to there are in the list already."""
    table = Table()
    table.take_list(10, p=5)
    table.take_list(20)
    table.take("MODIFIED", 12)
    assert table.names() == []
    table.take("ADDED", 21)
    assert table.names() == ["p"]


def test_an_answer_older_than_the_deletion_of_its_object_brings_nothing_back() -> None:
    table = Table()
    table.take_list(10, p=5)
    old = table.kind.things()[0]
    table.take("DELETED", 12)
    table.kind.show(old)
    assert table.names() == []


def test_deletions_beyond_those_that_are_remembered_are_final_too() -> None:
    table = Table()
    table.take_list(10)
    for i in range(TOMBSTONES + 10):
        table.take("DELETED", 11 + i, f"p{i}")
    assert len(table.kind.tombstones) == TOMBSTONES
    table.take("MODIFIED", 11, "p0")
    assert table.names() == []


def test_another_object_of_the_same_name_is_a_deletion_and_an_addition() -> None:
    table = Table()
    table.take("ADDED", 101, uid="one")
    table.take("ADDED", 105, uid="two")
    assert table.events == [("ADDED", "p"), ("DELETED", "p"), ("ADDED", "p")]


def test_a_bookmark_moves_the_watch_on_and_hands_nothing_on() -> None:
    table = Table()
    table.take("BOOKMARK", 120, spec={"containers": None})
    assert table.events == []
    assert table.kind.version == "120"


def test_an_error_event_ends_the_watch_with_its_code() -> None:
    with pytest.raises(ApiError) as fault:
        Table().kind.take(b'{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}')
    assert fault.value.status == 410


def test_versions_that_are_no_numbers_are_never_old() -> None:
    table = Table()
    table.take("ADDED", "b")
    table.take("MODIFIED", "a")
    assert len(table.events) == 2
    assert (number("17"), number("x"), number("")) == (17, 0, 0)


def test_an_object_that_cannot_be_decoded_is_skipped_by_name_and_the_next_one_is_taken() -> None:
    table = Table()
    table.take("ADDED", 5)
    table.take("MODIFIED", 6, spec={"nodeName": "a", "containers": 7})
    table.take("MODIFIED", 7, spec={"nodeName": "a", "containers": 7})
    table.take("ADDED", 8, "q")
    assert table.events == [("ADDED", "p"), ("ADDED", "q")]
    assert [(event, one.metadata.name, one.nodes) for event, one in table.skipped] == [("MODIFIED", "p", ("a",))]
    table.take("MODIFIED", 9)
    assert [event for event, _ in table.skipped] == ["MODIFIED", "READABLE"]
    assert table.events[-1] == ("MODIFIED", "p")
    assert table.kind.skipped() == []


def test_an_object_on_which_our_own_code_fails_is_skipped_as_well() -> None:
    table = Table()
    table.take("ADDED", 5, spec={"nodeName": "odd"})
    table.take("ADDED", 6, "q")
    assert table.events == [("ADDED", "q")]
    assert [one.nodes for one in table.kind.skipped()] == [("odd",)]


def test_an_event_without_a_name_asks_for_a_list() -> None:
    with pytest.raises(EventLostError):
        Table().take("MODIFIED", 6, "")


def test_nothing_is_gone_from_a_list_with_an_object_whose_name_cannot_be_read() -> None:
    table = Table()
    table.take_list(10, p=5, q=6)
    nameless = table.kind.read(b'{"metadata":7,"spec":{"nodeName":"a"}}')
    table.kind.take_list([nameless], "20", 0.0)
    assert table.names() == ["#0", "p", "q"]
    assert [one.nodes for one in table.kind.skipped()] == [("a",)]
    table.take_list(30, p=5)
    assert table.names() == ["p"]


@in_a_loop
async def test_a_list_that_is_older_than_what_was_shown_before_it_was_asked_for_is_refused() -> None:
    table = Table()
    table.client.add_pod("p")
    await table.kind.relist()
    table.client.add_pod("q")
    table.take("ADDED", 2, "q")
    table.client.fault("pods").list_at = 1
    with pytest.raises(ApiError, match="a list of version 1, older than 2"):
        await table.kind.relist()
    assert table.names() == ["p", "q"]


@in_a_loop
async def test_two_lists_at_once_are_taken_one_after_the_other() -> None:
    import asyncio

    table = Table()
    table.client.add_pod("p")
    await asyncio.gather(*(table.kind.relist() for _ in range(3)))
    assert table.client.lists == [("pods", 1)] * 3
    assert table.events == [("ADDED", "p")]


def test_in_sync_is_a_matter_of_when_the_server_was_last_heard_of() -> None:
    table = Table()
    assert not table.kind.in_sync(0.0)
    table.take_list(10)
    assert table.kind.in_sync(CONTACT_S - 0.1)
    assert not table.kind.in_sync(CONTACT_S + 0.1)
