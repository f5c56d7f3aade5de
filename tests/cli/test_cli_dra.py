"""A cluster with GPUs by resource claims through `import`, `replay`, `defrag` and `fit`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from kube.dra.made import DRIVER, claim_json, device, exactly, shared, slice_json
from kube.made import node_json, pod_json
from wattpack.cli import main

CLASS = {
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
}

POLICY = ["--policy", "fgd"]
WHOLE = "!device.allowMultipleAllocations"


def claiming(name: str, node: str = "", claim: str = "") -> dict[str, Any]:
    return pod_json(name, node=node, spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": claim or name}]})


def allocated(name: str, node: str, gpu: str, **more: Any) -> dict[str, Any]:
    result = {"request": "r", "driver": DRIVER, "pool": node, "device": gpu, **more}
    request = exactly(milli=more["consumedCapacity"]["milli"]) if more else exactly("r", WHOLE)
    return claim_json(request, name=name, allocation={"devices": {"results": [result]}})


def cluster(folder: Path) -> str:
    """Shares of 500 on GPUs of two nodes that one GPU could hold, a whole GPU, and a pod that waits."""
    half = {"shareID": "s", "consumedCapacity": {"milli": "500"}}
    items = [
        *(node_json(name) for name in ("s1", "s2", "w1")),
        CLASS,
        *(slice_json(shared("gpu-0"), shared("gpu-1"), node=node) for node in ("s1", "s2")),
        slice_json(*(device(f"gpu-{i}") for i in range(4)), node="w1"),
        allocated("a", "s1", "gpu-0", **half),
        allocated("b", "s2", "gpu-1", **half),
        allocated("c", "w1", "gpu-2"),
        claim_json(exactly("r", WHOLE, count=2), name="d"),
        claiming("a", "s1"),
        claiming("b", "s2"),
        claiming("c", "w1"),
        claiming("d"),
    ]
    file = folder / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "items": items}))
    return str(file)


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def test_a_cluster_with_claims_is_imported_replayed_and_defragmented(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "in"
    main(["import", "--file", cluster(tmp_path), "--out", str(out), "--strict"])
    tasks = {row["name"]: (row["num_gpu"], row["gpu_milli"]) for row in rows(out / "tasks.csv")}
    assert tasks == {"team/a": ("1", "500"), "team/b": ("1", "500"), "team/c": ("1", "1000"), "team/d": ("2", "1000")}
    placed = {row["task"]: (row["node"], row["gpu_index"]) for row in rows(out / "placements.csv")}
    assert placed == {"team/a": ("s1", "0"), "team/b": ("s2", "1"), "team/c": ("w1", "2"), "team/d": ("", "")}
    files = ["--nodes", str(out / "nodes.csv"), "--tasks", str(out / "tasks.csv")]
    where = ["--placements", str(out / "placements.csv")]
    main(["replay", *files, *where, "--policy", "fgd"])
    main(["defrag", *files, *where, "--out", str(tmp_path / "moves.csv")])
    moves = {row["task"]: (row["to_node"], row["to_gpu_index"]) for row in rows(tmp_path / "moves.csv")}
    # Both halves on one GPU; the whole GPU stays on w1, as no other node has devices of its kind.
    assert moves in ({"team/a": ("s2", "1")}, {"team/b": ("s1", "0")})


def test_fit_says_where_a_pod_with_a_claim_would_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pod = tmp_path / "pod.json"
    pod.write_text(json.dumps(claiming("d")))
    main(["fit", "--pod", str(pod), "--file", cluster(tmp_path), "--policy", "fgd"])
    said = capsys.readouterr().out
    assert "devices: w1/gpu-0, w1/gpu-1" in said


def test_a_share_asked_for_by_annotation_goes_to_no_gpu_that_claims_give_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KAI's scheduler cannot give out devices of slices: only t4 serves its pods, in files as in `fit`."""
    kai = pod_json("kai", annotations={"gpu-fraction": "0.5"})
    file = tmp_path / "more.json"
    file.write_text(json.dumps({"kind": "List", "items": [node_json("t4", gpus=1), kai]}))
    (tmp_path / "pod.json").write_text(json.dumps(kai))
    both = ["--file", cluster(tmp_path), "--file", str(file)]
    main(["fit", "--pod", str(tmp_path / "pod.json"), *both, "--policy", "fgd"])
    assert "decision: fgd: t4 GPU 0 chosen among 1 node that fits of 1" in capsys.readouterr().out
    main(["import", *both, "--out", str(tmp_path), "--strict"])
    decisions = tmp_path / "decisions.csv"
    files = ["--nodes", str(tmp_path / "nodes.csv"), "--tasks", str(tmp_path / "tasks.csv"), "--pending"]
    main(["replay", *files, "--placements", str(tmp_path / "placements.csv"), *POLICY, "--decisions", str(decisions)])
    assert {row["task"]: row["node"] for row in rows(decisions)}["team/kai"] == "t4"
    nodes = {row["sn"]: row["pool"] for row in rows(tmp_path / "nodes.csv")}
    spec = {row["name"]: row["pool_spec"] for row in rows(tmp_path / "tasks.csv")}["team/kai"]
    assert [name for name, pool in nodes.items() if pool in spec.split("|")] == ["t4"]
