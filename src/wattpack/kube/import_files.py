"""Nodes and pods from files of `kubectl get nodes,pods -A -o json`: one list of both, lists of each, or objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from wattpack.datasets.input_files import read_bytes_up_to
from wattpack.errors import UserError
from wattpack.kube.objects import KIND, NODE, POD, Kind, Node, Pod

MAX_BYTES = 2_000_000_000  # 100,000 pods are about 1 GB
EXPECTED = "expected what `kubectl get nodes,pods -A -o json` prints"

# msgspec raises other errors for text that is not UTF-8 and for values nested 1,000 deep.
FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def read_cluster_files(paths: Iterable[Path]) -> tuple[list[Node], list[Pod]]:
    """All nodes and pods of the files; of an object that occurs twice, the last one counts."""
    nodes: dict[str, Node] = {}
    pods: dict[tuple[str, str], Pod] = {}
    for path in paths:
        for place, kind, text in _objects(path):
            try:
                if kind == "Node":
                    node = NODE.decode(text)
                    nodes[node.metadata.name] = node
                elif kind == "Pod":
                    pod = POD.decode(text)
                    pods[pod.metadata.namespace, pod.metadata.name] = pod
            except FAULTS as fault:
                raise UserError(f"{place}: {fault}, expected a {kind}") from None
    if not nodes:
        raise UserError(f"{', '.join(map(str, paths))}: no nodes, {EXPECTED}")
    return list(nodes.values()), list(pods.values())


def _objects(path: Path) -> Iterator[tuple[str, str, bytes | msgspec.Raw]]:
    """Place, kind and text of each object. Items of a NodeList may have no kind of their own."""
    text = read_bytes_up_to(path, MAX_BYTES, "a JSON file")
    whole = _kind(text, str(path))
    if whole.items is None:
        if whole.kind not in ("Node", "Pod"):
            raise UserError(f"{path}: kind {whole.kind!r}, {EXPECTED}")
        yield str(path), whole.kind, text
        return
    of_list = whole.kind.removesuffix("List")
    for number, item in enumerate(whole.items, start=1):
        place = f"{path}, item {number}"
        yield place, _kind(item, place).kind or of_list, item


def _kind(text: bytes | msgspec.Raw, place: str) -> Kind:
    try:
        return KIND.decode(text)
    except FAULTS as fault:
        raise UserError(f"{place}: {fault}, {EXPECTED}") from None
