"""The built-in fleet of 2026: its counts, its order, and the published file where it is at hand."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from wattpack.datasets import alibaba2026
from wattpack.datasets.node_types import types_of
from wattpack.datasets.sources import DATACENTERS, load_datacenter
from wattpack.model.power import PROFILES

PUBLISHED = Path(__file__).parents[3] / "shared" / "traces" / "alibaba-2026" / "node_info_df.csv"


def test_the_datacenter_has_4278_nodes_of_10_types_with_632636_vcpu_and_10412_gpus() -> None:
    datacenter = alibaba2026.datacenter()
    assert (len(datacenter), len(types_of(datacenter))) == (4278, 10)
    assert datacenter.cpu_milli.sum() == 632_636_000
    assert datacenter.gpu_milli == 10_412_000


def test_the_datacenter_has_six_gpu_models() -> None:
    """A10: 2 + 2,492. L20: 1 + 901 + 4 x 10 + 8 x 77. The others come eight a node: 432, 22, 122, 219 nodes."""
    datacenter = alibaba2026.datacenter()
    gpus = np.bincount(datacenter.model, weights=datacenter.gpus)
    found = dict(zip(datacenter.models, gpus.tolist(), strict=True))
    assert found == {"A10": 2494, "A100-SXM4-80GB": 3456, "A800-SXM4-80GB": 176, "H20": 976, "H800": 1752, "L20": 1558}


def test_a_vcpu_has_8_gib_as_in_the_node_type_that_alibaba2023_has_too() -> None:
    datacenter = alibaba2026.datacenter()
    assert (datacenter.memory_mib * 1000 == datacenter.cpu_milli * alibaba2026.MEMORY_MIB_PER_VCPU).all()
    same = [t for t in types_of(load_datacenter("alibaba2023")) if t.model == "A10"]
    assert [(t.gpus, t.cpu_milli, t.memory_mib) for t in same] == [(1, 128_000, 128 * 8 * 1024)]


def test_nodes_come_by_model_gpus_and_vcpu_and_no_name_comes_twice() -> None:
    datacenter = alibaba2026.datacenter()
    kinds = [(t.model, t.gpus, t.cpu_milli) for t in types_of(datacenter)]
    assert kinds == sorted(kinds)
    assert len(set(datacenter.names)) == 4278
    assert (datacenter.names[0], datacenter.names[-1]) == ("a10-1-0001", "l20-8-0077")


def test_every_profile_has_watts_for_every_model() -> None:
    for profile in PROFILES.values():
        assert all(profile.gpu(model).max_w > 0 for model in alibaba2026.datacenter().models)


def test_it_is_found_by_name_beside_the_first() -> None:
    assert DATACENTERS == ("alibaba2023", "alibaba2026")
    assert load_datacenter("alibaba2026") is alibaba2026.datacenter()


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published node list is not in ../shared/traces")
def test_the_counts_are_those_of_the_published_list() -> None:
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    named = {"GPU-series-1": "L20", "GPU-series-2": "H20"}
    published = Counter(
        (named.get(row["gpu_model"], row["gpu_model"]), int(row["gpu_capacity_num"]), 1000 * int(row["cpu_num"]))
        for row in rows
    )
    assert {(t.model, t.gpus, t.cpu_milli): t.nodes for t in types_of(alibaba2026.datacenter())} == published
