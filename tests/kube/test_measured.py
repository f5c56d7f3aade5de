"""Modelled watts against measured ones, by GPU model."""

from __future__ import annotations

import pytest

from kube.cluster_cases import WHOLE, make_cluster, make_node, make_pod
from wattpack.kube.measured import Sample, errors_by_model, read_sample


def test_the_error_is_told_for_each_model() -> None:
    cluster = make_cluster(nodes=2)  # n0 two V100, n1 two T4
    cluster.update_pod(make_pod("a", WHOLE, "n0", (0,)))
    samples = [
        Sample("n0", "GPU-1", 240.0),
        Sample("n0", "GPU-2", 40.0),
        Sample("n1.example.internal", "GPU-3", 11.0),
        Sample("n1.example.internal", "GPU-4", 9.0),
        Sample("elsewhere", "GPU-5", 100.0),
    ]
    rows = {row["model"]: row for row in errors_by_model(samples, cluster)}
    # V100: 300 + 30 modelled, 280 measured; T4: 20 and 20
    assert (rows["V100M16"]["modelled_w"], rows["V100M16"]["measured_w"]) == (330.0, 280.0)
    assert rows["V100M16"]["error_w_per_gpu"] == 25.0
    assert rows["V100M16"]["error"] == pytest.approx(50 / 280)
    assert rows["T4"]["error"] == 0.0


def test_a_gpu_told_twice_counts_once() -> None:
    cluster = make_cluster(nodes=1)
    rows = errors_by_model([Sample("n0", uuid, 30.0) for uuid in ("1", "1", "2")], cluster)
    assert rows[0]["measured_w"] == 60.0


def test_a_node_of_which_only_some_gpus_are_measured_is_left_out() -> None:
    assert errors_by_model([Sample("n0", "1", 30.0)], make_cluster(nodes=1)) == []


def test_a_node_told_as_a_whole_counts_as_a_whole() -> None:
    cluster = make_cluster(nodes=1)
    cluster.update_node(make_node("n0", gpus=4))
    assert errors_by_model([Sample("n0", "", 130.0)], cluster)[0]["modelled_w"] == 120.0


@pytest.mark.parametrize(
    ("metric", "value", "sample"),
    [
        ({"Hostname": "n0", "UUID": "u"}, "31.5", Sample("n0", "u", 31.5)),
        ({"node": "n0", "UUID": "u"}, "31.5", Sample("n0", "u", 31.5)),
        ({"instance": "n0:9400"}, "8", Sample("n0", "", 8.0)),
        ({"UUID": "u"}, "8", None),
        ({"Hostname": "n0"}, "1e19", None),
        ({"Hostname": "n0"}, "NaN", None),
    ],
)
def test_samples_are_read_as_exporters_label_them(metric: dict[str, str], value: str, sample: Sample | None) -> None:
    assert read_sample({"metric": metric, "value": [0, value]}) == sample
