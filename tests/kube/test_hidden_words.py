"""Reasons without the names of a cluster, and with everything else as it was."""

from __future__ import annotations

import pytest

from kube.made import make_node, make_pod
from wattpack.kube.dra.claims import Claims
from wattpack.kube.hidden_words import hidden_words
from wattpack.kube.import_files import ClusterObjects

CLUSTER = ClusterObjects(
    [make_node("acme-1", labels={"model": "T4", "acme": "x", "shelf-7": "y"}, **{"acme/gpu-slots": "2"})],
    [
        make_pod("gpu", namespace="pods", spec={"resourceClaims": [{"name": "memory", "resourceClaimName": "claim"}]}),
        make_pod("gpus-of-7", spec={"nodeSelector": {"nvidia.com/gpu.product": "acme-h100"}}),
    ],
    Claims(),
)


@pytest.mark.parametrize(
    "reason",
    [
        "CPU or memory that its node does not have left",
        "its node is left out or not in the files",
        "GPU memory as a share of the smallest GPU that holds it",
        "2 GPU x 500 milli: shares of 2 GPUs at once, expected a share of one GPU or whole GPUs",
        "GPU index '0-99', expected different numbers below 16 like 0-3-4",
        "asks for gpu.intel.com/i915, which no dialect reads",
        "asks in aliyun.com/gpu-mem, which is dialect aliyun; the configured one is nvidia",
        "resource claims hold parts of 2 GPUs at once, expected one GPU or whole GPUs",
        "label nvidia.com/gpu.product is 'GTX-9', a model without a power entry: map it in the configuration, [models] "
        '"GTX-9" = "...", or put [gpu."GTX-9"] idle_w = .. context_w = .. max_w = .. into a power file (--power)',
        "time-sliced GPUs (nvidia.com/gpu.replicas 4): nvidia.com/gpu is no longer a whole GPU",
    ],
)
def test_a_reason_that_names_nothing_of_the_cluster_stays_as_it_is(reason: str) -> None:
    """Though pods, claims and labels are called as our own words are: gpu, pods, memory, claim, model."""
    assert hidden_words(CLUSTER, lambda kind, name: "HIDDEN")(reason) == reason


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("resource claim memory is not in the files", "resource claim [memory] is not in the files"),
        ("resource claim claim is not allocated", "resource claim [claim] is not allocated"),
        ("label acme is 'x', a CPU without a power entry", "label [acme] is '[x]', a CPU without a power entry"),
        ("counted without acme/gpu-slots, which no", "counted without [acme/gpu-slots], which no"),
        ("asks for other.example/gpu, which no", "asks for [other.example/gpu], which no"),
        ("asks for T4|acme-h100 and is on a node with A10", "asks for T4|[acme-h100] and is on a node with A10"),
        ("quantity 'lots', expected one like 500m", "quantity '[lots]', expected one like 500m"),
        (
            "claim memory, request r: CEL 'device.driver == \"acme\"' does not compile: acme",
            "claim [memory], request r: CEL that is not shown",
        ),
    ],
)
def test_names_of_the_cluster_are_hidden_where_names_stand(reason: str, expected: str) -> None:
    assert hidden_words(CLUSTER, lambda kind, name: f"[{name}]")(reason) == expected
