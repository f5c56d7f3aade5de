"""Kernels are compiled before the first pod, on a cluster of which nothing is left."""

from __future__ import annotations

import pytest

from wattpack.kube.compile_ahead import compile_kernels
from wattpack.kube.config import Config


@pytest.mark.parametrize("target", ["default", "learnt"])
def test_pods_are_led_through_the_cluster_and_none_is_left(target: str) -> None:
    cluster = Config(policy="fgd", target=target).cluster()
    compile_kernels(cluster)
    assert (len(cluster.nodes), len(cluster.reservations), cluster.arrived) == (2, 0, set())
    assert cluster.conflicts == {}
