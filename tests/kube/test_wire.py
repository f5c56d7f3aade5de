"""What goes over the wire is read as Go writes it, and as Go reads it: capitals or not."""

from __future__ import annotations

import msgspec
import pytest

from wattpack.kube.wire import ENCODER, FilterAnswer, answer_for, offered_names, read_args, read_binding


def test_arguments_with_capitals_are_read() -> None:
    args = read_args(b'{"Pod":{"metadata":{"name":"p"}},"Nodes":null,"NodeNames":["a","b"]}')
    assert (args.pod.metadata.name, offered_names(args)) == ("p", ["a", "b"])


def test_arguments_in_lower_case_are_read() -> None:
    args = read_args(b'{"pod":{"metadata":{"name":"p"}},"nodes":null,"nodenames":["a"]}')
    assert (args.pod.metadata.name, offered_names(args)) == ("p", ["a"])


def test_whole_nodes_are_answered_with_whole_nodes() -> None:
    args = read_args(b'{"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"},"x":1},{"metadata":{"name":"b"}}]}}')
    assert offered_names(args) == ["a", "b"]
    answer = msgspec.json.decode(ENCODER.encode(answer_for(args, ["a"])))
    assert answer["Nodes"] == {"items": [{"metadata": {"name": "a"}, "x": 1}]}
    assert answer["NodeNames"] is None


def test_a_filter_answer_has_the_keys_that_the_scheduler_reads() -> None:
    assert msgspec.json.decode(ENCODER.encode(FilterAnswer(node_names=["a"]))) == {
        "Nodes": None,
        "NodeNames": ["a"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }


def test_a_binding_is_read_with_and_without_capitals() -> None:
    upper = read_binding(b'{"PodName":"p","PodNamespace":"s","PodUID":"u","Node":"n"}')
    lower = read_binding(b'{"podName":"p","podNamespace":"s","podUID":"u","node":"n"}')
    assert upper == lower
    assert (upper.pod_name, upper.pod_namespace, upper.pod_uid, upper.node) == ("p", "s", "u", "n")


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"7", b"{}", b'{"Pod":3}', b'{"Pod":{},"NodeNames":"a"}', b'{"Pod":{},"NodeNames":[1]}'],
)
def test_what_is_no_request_is_refused_with_its_place(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        offered_names(read_args(body))


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{}", b'{"PodName":1,"PodNamespace":"s","Node":"n"}'])
def test_what_is_no_binding_is_refused(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_binding(body)
