"""Idle and full watts of nodes are those of the engine."""

from __future__ import annotations

import pytest

from wattpack.datasets.sources import load_datacenter
from wattpack.engine.core.engine import Engine
from wattpack.model.node_watts import idle_and_full_w
from wattpack.model.power import PROFILES, PowerProfile, nodes_power_mw
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload
from wattpack.policies.expression import parse

COLUMNS = {
    "sn": ["a", "b", "c"],
    "cpu_milli": [64_000, 63_500, 8_000],  # b: 31.75 cores count as 32
    "memory_mib": [1024] * 3,
    "gpu": [4, 2, 0],
    "model": ["T4", "H800", ""],
    "cpu_model": ["", "EPYC 7742", ""],
}


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_the_idle_watts_of_a_node_are_those_of_the_empty_engine(profile: PowerProfile) -> None:
    datacenter = load_datacenter(COLUMNS)
    target = Target.of(Workload.of([TaskClass(1000, 1, 1, 1000)]))
    engine = Engine(datacenter, (), parse("fgd"), target, profile)
    assert idle_and_full_w(datacenter, profile)[0].tolist() == (nodes_power_mw(engine.state.nodes) / 1000).tolist()


def test_the_full_watts_are_every_gpu_and_every_socket_at_its_maximum() -> None:
    """a: 4 x 70 and two sockets of 120; b: 2 x 700 and one of 225; c: one socket."""
    assert idle_and_full_w(load_datacenter(COLUMNS))[1].tolist() == [520, 1625, 120]
