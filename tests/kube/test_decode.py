"""What is read of objects that are odd: all of it, or their names and nodes."""

from __future__ import annotations

import pytest

from wattpack.kube.decode import DEEPEST, Skipped, elements, members, read_event, read_object, read_page, shallow
from wattpack.kube.objects import FAULTS, POD, Pod

DEEP = b'{"f:a":' * 1100 + b"{}" + b"}" * 1100


def pod_of(text: bytes) -> Pod | Skipped:
    return read_object(POD, text)


def test_nulls_are_absent_and_deep_fields_that_nobody_reads_are_left_out() -> None:
    text = b'{"metadata":{"name":"p","annotations":null,"managedFields":[%b]},"spec":{"nodeName":"a"}}' % DEEP
    pod = pod_of(text)
    assert isinstance(pod, Pod)
    assert (pod.metadata.annotations, pod.spec.node_name) == ({}, "a")


@pytest.mark.parametrize(
    "text",
    [
        b'{"metadata":{"name":"p","namespace":"n","uid":"u"},"spec":{"nodeName":"a","containers":7}}',
        b'{"metadata":{"name":"p","namespace":"n","uid":"u","labels":%b},"spec":{"nodeName":"a"}}' % DEEP,
        b'{"metadata":{"name":"p","namespace":"n","uid":"u"},"spec":{"nodeName":"a",nope}}',
        b'{"metadata":{"name":"p","namespace":"n","uid":"u","labels":{"\xff":"x"}},"spec":{"nodeName":"a"}}',
        b'{"spec":{"nodeName":"a"},"metadata":{"name":"p","namespace":"n","uid":"u","labels":[}]},}',
    ],
)
def test_of_what_cannot_be_decoded_the_name_and_the_node_are_read(text: bytes) -> None:
    found = pod_of(text)
    assert isinstance(found, Skipped)
    assert (found.key, found.id, found.nodes) == (("n", "p"), "u", ("a",))
    assert found.why.startswith("cannot be decoded: ")


@pytest.mark.parametrize("text", [b"", b"[]", b"7", b"\xff", b'{"metadata":7}', b"{" * 2000])
def test_of_what_is_no_object_nothing_is_read(text: bytes) -> None:
    found = pod_of(text)
    assert isinstance(found, Skipped)
    assert found.key == ("", "")


def test_brackets_and_quotes_in_strings_are_no_structure() -> None:
    text = rb'{"a": "}]{[\"", "b": [1, "x,y", {"c": "d,"}], "e": "\\"}'
    assert members(text) == {"a": rb'"}]{[\""', "b": b'[1, "x,y", {"c": "d,"}]', "e": rb'"\\"'}
    assert elements(b'[1, "x,y", {"c": [2, 3]}]') == [b"1", b' "x,y"', b' {"c": [2, 3]}']
    assert shallow(text) is text


def test_a_text_is_cut_at_the_level_at_which_it_is_too_deep() -> None:
    nested = b"[" * (DEEPEST - 1) + b"1" + b"]" * (DEEPEST - 1)
    assert shallow(nested) is nested
    deeper = b"[" * DEEPEST + b"1" + b"]" * DEEPEST
    assert shallow(deeper) == b"[" * (DEEPEST - 1) + b"false" + b"]" * (DEEPEST - 1)


def test_one_item_that_is_no_json_or_too_deep_leaves_the_others_of_its_list() -> None:
    items = (
        b'{"metadata":{"name":"a"}},{"metadata":{"name":"b",nope}},{"metadata":{"name":"c","managedFields":%b}}' % DEEP
    )
    page = read_page(b'{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"x"},"items":[%b]}' % items)
    assert (page.metadata.resource_version, page.metadata.continue_) == ("7", "x")
    found = [pod_of(item) for item in page.items or ()]
    assert [one.metadata.name for one in found] == ["a", "b", "c"]
    assert [isinstance(one, Skipped) for one in found] == [False, True, False]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[]",
        b"<html>",
        b'{"items":"x"}',
        b'{"items":{"a":nope}}',
        b'{"items":[{"metadata":{"name":"a"}}],"metadata":{',
        b'{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"metadata":{"na',
    ],
)
def test_what_is_no_whole_list_is_an_error_and_not_an_empty_list(text: bytes) -> None:
    with pytest.raises(FAULTS):
        read_page(text)


def test_an_event_keeps_its_type_whatever_its_object_is() -> None:
    event = read_event(b'{"type":"DELETED","object":{"metadata":{"name":"p"},"spec":{nope}}}')
    assert (event.type, pod_of(event.object).metadata.name) == ("DELETED", "p")


@pytest.mark.parametrize("text", [b"", b"<html>", b"[]", b'{"type":', b'{"object":{}}', b'{"type":7,"object":{}}'])
def test_what_is_no_event_is_an_error(text: bytes) -> None:
    with pytest.raises(FAULTS):
        read_event(text)
