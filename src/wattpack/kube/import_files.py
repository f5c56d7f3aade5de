"""Nodes, pods and claims from files of `kubectl get nodes,pods -A -o json`: lists of all, lists of each, or objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from wattpack.datasets.input_files import read_bytes_up_to
from wattpack.errors import UserError
from wattpack.kube.dialects import DIALECTS
from wattpack.kube.dra.claims import Claims
from wattpack.kube.dra.objects import CLAIM, CLASS, TEMPLATE, DeviceClass, ResourceClaim, ResourceClaimTemplate
from wattpack.kube.dra.slice_objects import SLICE, ResourceSlice
from wattpack.kube.objects import FAULTS, KIND, NODE, POD, POD_GROUP, WHOLE, Kind, Node, Pod

NODES_JSON = "nodes.json"  # labels and taints of imported nodes: where a pod that is asked about may go
MAX_BYTES = 2_000_000_000  # 100,000 pods are about 1 GB
KINDS = ("Node", "Pod", "ResourceClaim", "ResourceSlice", "DeviceClass", "ResourceClaimTemplate", "PodGroup")
Found = TypeVar("Found", bound=Kind)
EXPECTED = "expected what `kubectl get nodes,pods -A -o json` prints"


class ClusterObjects(NamedTuple):
    nodes: list[Node]
    pods: list[Pod]
    claims: Claims  # everything of dynamic resource allocation
    forbidden: Sequence[str] = ()  # lists of the cluster that we have no right to read
    pod_groups: Sequence[tuple[str, str]] = ()  # namespace and name


def read_cluster_files(paths: Iterable[Path], skip_bad_pods: bool = False) -> ClusterObjects:
    """All objects of the files; of an object that occurs twice, the last one counts."""
    nodes: dict[str, Node] = {}
    pods: dict[tuple[str, str], Pod] = {}
    claims: dict[tuple[str, str], ResourceClaim] = {}
    slices: dict[str, ResourceSlice] = {}
    classes: dict[str, DeviceClass] = {}
    templates: dict[tuple[str, str], ResourceClaimTemplate] = {}
    pod_groups: dict[tuple[str, str], None] = {}
    for path in paths:
        for place, kind, text in objects_in(path):
            try:
                if kind == "Node":
                    node = NODE.decode(text)
                    nodes[node.metadata.name] = node
                elif kind == "Pod":
                    pod = POD.decode(text)
                    pods[pod.metadata.namespace, pod.metadata.name] = pod
                elif kind == "ResourceClaim":
                    claim = CLAIM.decode(text)
                    claims[claim.metadata.namespace, claim.metadata.name] = claim
                elif kind == "ResourceSlice":
                    offered = SLICE.decode(text)
                    slices[offered.metadata.name] = offered
                elif kind == "DeviceClass":
                    device_class = CLASS.decode(text)
                    classes[device_class.metadata.name] = device_class
                elif kind == "ResourceClaimTemplate":
                    template = TEMPLATE.decode(text)
                    templates[template.metadata.namespace, template.metadata.name] = template
                elif kind == "PodGroup":
                    group = POD_GROUP.decode(text).metadata
                    pod_groups[group.namespace, group.name] = None
            except FAULTS as fault:
                if kind == "Pod" and skip_bad_pods:
                    continue
                raise UserError(f"{place}: {fault}, expected a {kind}") from None
    if not nodes:
        raise UserError(f"{', '.join(map(str, paths))}: no nodes, {EXPECTED}")
    claims_read = Claims(slices.values(), claims.values(), classes.values(), templates.values())
    return ClusterObjects(list(nodes.values()), list(pods.values()), claims_read, pod_groups=list(pod_groups))


def nodes_as_json(nodes: Iterable[Node]) -> bytes:
    """The nodes as a list that `read_cluster_files` reads again, with what a placement depends on and no more."""
    return msgspec.json.encode({"kind": "List", "items": [{"kind": "Node", **_plain(node)} for node in nodes]})


def _plain(node: Node) -> dict[str, object]:
    metadata, status = node.metadata, node.status
    said = {word for dialect in DIALECTS.values() for word in dialect.node_annotations}
    kept = {key: value for key, value in metadata.annotations.items() if key in said}
    taints = [{"key": one.key, "value": one.value, "effect": one.effect} for one in node.spec.taints]
    ready = [{"type": one.type, "status": one.status} for one in status.conditions if one.type == "Ready"]
    return {
        "metadata": {"name": metadata.name, "labels": metadata.labels, "annotations": kept},
        "spec": {"taints": taints, "unschedulable": node.spec.unschedulable},
        "status": {"allocatable": status.allocatable, "capacity": status.capacity, "conditions": ready},
    }


def objects_in(path: Path) -> Iterator[tuple[str, str, bytes | msgspec.Raw]]:
    """Place, kind and text of each object. Items of a NodeList may have no kind of their own."""
    text = read_bytes_up_to(path, MAX_BYTES, "a JSON file")
    whole = _decoded(WHOLE, text, str(path))
    if whole.items is not None and whole.metadata is not None and whole.metadata.continue_:
        raise UserError(f"{path}: a part of a list (metadata.continue is set): pods would be missing, {EXPECTED}")
    if whole.items is None:
        if whole.kind not in KINDS:
            raise UserError(f"{path}: kind {whole.kind!r}, {EXPECTED}")
        yield str(path), whole.kind, text
        return
    of_list = whole.kind.removesuffix("List")
    for number, item in enumerate(whole.items, start=1):
        place = f"{path}, item {number}"
        yield place, _decoded(KIND, item, place).kind or of_list, item


def _decoded(decoder: msgspec.json.Decoder[Found], text: bytes | msgspec.Raw, place: str) -> Found:
    try:
        return decoder.decode(text)
    except FAULTS as fault:
        raise UserError(f"{place}: {fault}, {EXPECTED}") from None
