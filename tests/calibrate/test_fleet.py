"""Samples of a fleet: which watts belong to which share."""

from __future__ import annotations

import pytest

from calibrate.server import Answer, Asked, matrix, serving
from wattpack.calibrate.fleet import Samples, ask_fleet
from wattpack.calibrate.prometheus import Prometheus, Range
from wattpack.errors import UserError

TIMES = Range(1000, 1120, 60)
T4, H100 = "Tesla T4", "NVIDIA H100 80GB HBM3"
Rows = list[tuple[dict[str, str], list[float]]]


def fleet(share: str = "utilisation", **tables: Rows) -> dict[str, Samples]:
    """What is asked of a server that has these series: `power`, `util`, `memory`, `requests`, `own`."""
    names = {
        "DCGM_FI_DEV_POWER_USAGE": "power",
        "DCGM_FI_DEV_GPU_UTIL": "util",
        "DCGM_FI_DEV_FB_USED": "memory",
        "kube_pod_container_resource_requests": "requests",
        "own": "own",
    }

    def told(asked: Asked) -> Answer:
        table = next(table for name, table in names.items() if name in asked["query"])
        rows = tables.get(table, [])
        at = [TIMES.start_s + TIMES.step_s * step for step in range(TIMES.steps)]
        return matrix([(labels, list(zip(at, map(str, values), strict=False))) for labels, values in rows])

    with serving(told) as (address, _):
        return ask_fleet(Prometheus(address), TIMES, share, lambda text: None)


def gpu(uuid: str, model: str = T4, node: str = "n0", **more: str) -> dict[str, str]:
    return {"UUID": uuid, "modelName": model, "Hostname": node, **more}


def pairs(samples: Samples) -> list[tuple[float, float]]:
    return list(zip(samples.share.tolist(), samples.watts.tolist(), strict=True))


def test_watts_and_shares_of_a_gpu_meet_by_uuid_and_time() -> None:
    found = fleet(
        power=[(gpu("a"), [10, 40, 70]), (gpu("b"), [11, 12, 13]), (gpu("c", H100), [100, 200, 300])],
        util=[({"UUID": "c"}, [0.1, 0.2, 0.3]), ({"UUID": "a"}, [0.0, 0.5, 1.0])],
    )
    assert pairs(found["T4"]) == [(0.0, 10.0), (0.5, 40.0), (1.0, 70.0)]  # nothing is known of the share of b
    assert pairs(found["H100-80GB-HBM3"]) == [(0.1, 100.0), (0.2, 200.0), (0.3, 300.0)]
    assert found["T4"].gpus == 1


def test_a_gpu_told_by_two_exporters_counts_once() -> None:
    found = fleet(
        power=[(gpu("a"), [10, 40, 70]), (gpu("a", instance="other:9400"), [10, 40, 70])],
        util=[({"UUID": "a"}, [0.0, 0.5, 1.0])],
    )
    assert len(found["T4"].share) == 3


def test_samples_that_are_not_there_or_absurd_are_left_out() -> None:
    nan = float("nan")
    found = fleet(power=[(gpu("a"), [10, 1e19, 70])], util=[({"UUID": "a"}, [nan, 0.5, 1.0])])
    assert pairs(found["T4"]) == [(1.0, 70.0)]


def test_a_gpu_is_held_where_more_memory_is_used_than_the_least_that_was_seen() -> None:
    found = fleet(
        power=[(gpu("a"), [10, 28, 70]), (gpu("b"), [10, 10, 10])],
        util=[({"UUID": "a"}, [0, 0, 1]), ({"UUID": "b"}, [0, 0, 0])],
        memory=[({"UUID": "a"}, [3, 450, 9000]), ({"UUID": "b"}, [3, 3, 3])],
    )
    assert found["T4"].held.tolist() == [0, 1, 1, 0, 0, 0]


def test_where_no_gpu_was_ever_empty_all_are_held() -> None:
    found = fleet(
        power=[(gpu("a"), [28, 28, 70])],
        util=[({"UUID": "a"}, [0, 0, 1])],
        memory=[({"UUID": "a"}, [9000, 9000, 9100])],
    )
    assert found["T4"].held.tolist() == [1, 1, 1]


def test_without_memory_it_is_not_known_whether_a_gpu_is_held() -> None:
    found = fleet(power=[(gpu("a"), [10, 28, 70])], util=[({"UUID": "a"}, [0, 0, 1])])
    assert found["T4"].held.tolist() == [-1, -1, -1]


def test_requests_of_pods_are_shares_of_a_node() -> None:
    """Two GPUs in n0: one of them requested is half of the node, and the watts are the mean of both."""
    found = fleet(
        "requests",
        power=[(gpu("a", node="n0.example.internal"), [10, 40, 70]), (gpu("b"), [10, 10, 70])],
        requests=[({"node": "n0"}, [0, 1, 2])],
    )
    assert pairs(found["T4"]) == [(0.0, 10.0), (0.5, 25.0), (1.0, 70.0)]
    assert (found["T4"].by_node, found["T4"].gpus) == (True, 2)


def test_a_node_with_two_models_tells_nothing_by_requests() -> None:
    found = fleet(
        "requests",
        power=[(gpu("a"), [10, 40, 70]), (gpu("b", H100), [10, 10, 70]), (gpu("c", node="n1"), [10, 40, 70])],
        requests=[({"node": "n0"}, [0, 1, 2]), ({"node": "n1"}, [0, 1, 1])],
    )
    assert set(found) == {"T4"}
    assert len(found["T4"].share) == 3


def test_an_expression_of_the_users_gives_shares_by_gpu_or_by_node() -> None:
    power: Rows = [(gpu("a"), [10, 40, 70])]
    by_gpu = fleet("own", power=power, own=[({"UUID": "a"}, [0, 0.5, 1])])["T4"]
    assert (pairs(by_gpu), by_gpu.by_node, by_gpu.held.tolist()) == ([(0, 10), (0.5, 40), (1, 70)], False, [0, 1, 1])
    by_node = fleet("own", power=power, own=[({"node": "n0"}, [0, 0.5, 1])])["T4"]
    assert (pairs(by_node), by_node.by_node) == ([(0, 10), (0.5, 40), (1, 70)], True)


@pytest.mark.parametrize(
    ("share", "tables", "line"),
    [
        ("utilisation", {}, "no DCGM_FI_DEV_POWER_USAGE with the labels UUID and modelName in this time"),
        ("utilisation", {"power": [({"Hostname": "n0"}, [1])]}, "no DCGM_FI_DEV_POWER_USAGE with the labels UUID"),
        ("utilisation", {"power": [(gpu("a"), [1])]}, "no DCGM_FI_DEV_GPU_UTIL in this time, expected it or --share"),
        ("requests", {"power": [(gpu("a"), [1])]}, "no kube_pod_container_resource_requests of nvidia_com_gpu"),
        ("own", {"power": [(gpu("a"), [1])], "own": [({"pod": "p"}, [1])]}, "--share own: 1 series, expected some"),
    ],
)
def test_what_is_missing_on_the_server_is_said(share: str, tables: dict[str, Rows], line: str) -> None:
    with pytest.raises(UserError, match=line):
        fleet(share, **tables)


def test_watts_are_means_over_the_step() -> None:
    with serving(lambda asked: matrix([(gpu("a"), [(1000, "10")])])) as (address, asked):
        ask_fleet(Prometheus(address), TIMES, "utilisation", lambda text: None)
    assert "avg_over_time(DCGM_FI_DEV_POWER_USAGE[60s])" in asked[0]["query"]
