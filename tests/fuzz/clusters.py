"""Nodes and pods of Kubernetes as files: what `wattpack import` and `wattpack fit` read."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fuzz.case import Entry
from fuzz.documents import Json, document_file, kubeconfig
from fuzz.odd import Strategy
from kube.made import container, node_json, pod_json

GPU = "nvidia.com/gpu"
# Most pods have room on most nodes.
NODE_CPU, NODE_MEMORY = ("64", "96", "32000m", "0", "1e3"), ("64Gi", "256G", "1e12", "0", "1.5")
POD_CPU, POD_MEMORY = ("1", "500m", "0.1", "0", "1n", "1e3"), ("1Gi", "100M", "1e6", "0", "1")
# Requests in the words of the dialects; some belong together, and some contradict each other.
ANNOTATIONS = (
    {"alibabacloud.com/gpu-milli": "300", "alibabacloud.com/gpu-count": "1"},
    {"alibabacloud.com/gpu-milli": "300", "alibabacloud.com/gpu-index": "0"},
    {"alibabacloud.com/gpu-milli": "500", "alibabacloud.com/gpu-count": "2"},
    {"gpu-fraction": "0.5", "gpu-memory": "1000"},
    {"hami.io/gpu-mem": "x"},
    {"scheduling.koordinator.sh/device-allocated": "{}"},
)
DEVICES = (
    {GPU: "1"},
    {GPU: "2"},
    {"aliyun.com/gpu-mem": "4"},
    {"nvidia.com/gpumem": "1000", GPU: "1"},
    {"nvidia.com/mig-1g.5gb": "1"},
)
NODES = tuple("abcd")


@st.composite
def one_node(draw: Any, name: str) -> Json:
    cpu, memory = draw(st.sampled_from(NODE_CPU)), draw(st.sampled_from(NODE_MEMORY))
    model = draw(st.sampled_from(("Tesla-T4", "NVIDIA-A100-SXM4-80GB", "Tesla-T4", "odd", "Own")))
    taint = draw(st.sampled_from(("", "", "", "node-role.kubernetes.io/control-plane", "x")))
    return node_json(name, draw(st.sampled_from((4, 0, 1, 8, 40))), model, cpu, memory, taint=taint)


@st.composite
def one_pod(draw: Any, name: str = "pod") -> Json:
    cpu, memory = draw(st.sampled_from(POD_CPU)), draw(st.sampled_from(POD_MEMORY))
    node = draw(st.sampled_from(("", *NODES, "nosuch")))
    devices = draw(st.sampled_from(({}, {}, {}, {}, *DEVICES)))
    annotations = draw(st.sampled_from(({}, {}, {}, {}, *ANNOTATIONS))) if not devices else {}
    containers = [container(cpu, memory, limits=devices)]
    owner, phase = draw(st.sampled_from(("", "", "DaemonSet"))), draw(st.sampled_from(("Running", "Succeeded")))
    spec = draw(
        st.sampled_from(({}, {"nodeSelector": {"x": "y"}}, {"initContainers": containers}, {"overhead": {"cpu": "1"}}))
    )
    return pod_json(name, node, "team", annotations, containers, phase, owner=owner, spec=spec)


@st.composite
def cluster(draw: Any) -> Json:
    """A list of both, as kubectl prints it."""
    names = draw(st.lists(st.sampled_from(NODES), min_size=1, max_size=3))
    nodes = [draw(one_node(name)) for name in names]
    pods = [draw(one_pod(f"p{number}")) for number in range(draw(st.integers(0, 5)))]
    return {"kind": "List", "apiVersion": "v1", "items": [*nodes, *pods]}


@st.composite
def templated(draw: Any) -> Json:
    """A pod, or something that makes pods."""
    pod = draw(one_pod())
    template = {"metadata": {"labels": {}}, "spec": pod["spec"]}
    return draw(
        st.sampled_from(
            (
                pod,
                {"kind": "Deployment", "metadata": {"name": "d"}, "spec": {"template": template}},
                {
                    "kind": "CronJob",
                    "metadata": {"name": "d"},
                    "spec": {"jobTemplate": {"spec": {"template": template}}},
                },
            )
        )
    )


# YAML that is none, or more than JSON: anchors that contain themselves, dates, sets, binary, keys that are no text.
YAML = (
    *(
        b"kind: Pod\nspec: !!bool x",
        b"kind: Pod\nspec: !!timestamp x",
        b"!!int 0b",
        b"!!int -",
        b"!!float ''",
        b"clusters: !!int ''",
    ),
    *(
        b"a: &a [*a]",
        b"&a {kind: Pod, spec: *a}",
        b"kind: Pod\nspec: 2020-01-01",
        b"kind: Pod\nmetadata: {name: 2020-01-01 01:01:01}",
    ),
    *(
        b"kind: Pod\n? [a, b]\n: c",
        b"kind: Pod\n1: 2\nnull: 3",
        b"!!set {a, b}",
        b"kind: Pod\nspec: !!binary eA==",
        b"a: b: c",
    ),
    *(
        b"!!python/object/apply:os.getcwd []",
        b"kind: Pod\n\tspec: x",
        b"---\n---\nkind: Pod",
        b"kind: Pod\nspec: {containers: 3}",
    ),
    *(
        b"kind: Pod\nspec: {containers: [{resources: {limits: {nvidia.com/gpu: .nan}}}]}",
        b"%YAML 3.0\n---\nkind: Pod",
        b"@",
    ),
    *(
        b"kind: Pod\nmetadata: {name: !!float x}",
        b"kind: Pod\nspec: !!int ''",
        b"[1, 2",
        b"kind: Pod\nspec: {<<: 3}",
        b"kind: Pod\nspec: 99999-99-99",
    ),
)


@st.composite
def pod_file(draw: Any, faults: bool) -> Entry | None:
    if faults and draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(YAML))
    return draw(document_file(templated(), faults))


def cluster_file(faults: bool) -> Strategy[Entry | None]:
    return document_file(cluster(), faults)


@st.composite
def kubeconfig_file(draw: Any) -> Entry | None:
    """Never without a chance of a fault: a good one is a cluster that is not there."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(YAML))
    return draw(document_file(kubeconfig(), True))
