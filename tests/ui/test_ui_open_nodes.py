"""Ask about a pod on an imported cluster with taints: the nodes open to it are those of `wattpack fit`."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kube.cluster import rows
from kube.made import Json, pod_json
from kube.tainted import GPU, TOLERATES, nodes, to, write_list, write_tainted
from wattpack.cli import main
from wattpack.ui.answers import AskAnswer
from wattpack.ui.ask import ask
from wattpack.ui.sources import Sources
from wattpack.ui.wire import AskRequest

pytestmark = pytest.mark.compiled
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def cluster(tmp_path: Path, capsys: Captured) -> Path:
    """A folder with cluster.json, `mine/` (import) and `trace.csv` (import-trace)."""
    file = write_tainted(tmp_path)
    main(["import", "--file", str(file), "--out", str(tmp_path / "mine")])
    main(["import-trace", "kubernetes", str(file), "--out", str(tmp_path / "trace.csv")])
    capsys.readouterr()
    return tmp_path


def asked(cluster: Path, pod: Json, load: float = 0.0, **more: Any) -> AskAnswer:
    files = str(cluster / "mine/nodes.csv"), str(cluster / "trace.csv")
    sources = Sources(cluster / "page", [files[0]], [files[1]])
    scene = {"datacenter": files[0], "trace": files[1], "policy": "fgd", "seed": None, "load": load, **more}
    return ask(AskRequest(**scene, pod=json.dumps(pod)), sources)


def placed(cluster: Path) -> list[dict[str, str]]:
    out = cluster / "decisions.csv"
    files = ["--nodes", str(cluster / "mine/nodes.csv"), "--tasks", str(cluster / "trace.csv")]
    main(["replay", *files, "--policy", "fgd", "--decisions", str(out)])
    return rows(out)


def on_node(name: str) -> Json:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {**TOLERATES, "affinity": {"nodeAffinity": required}}


def said_by_fit(cluster: Path, pod: Json, capsys: Captured) -> str:
    """The line of `wattpack fit` about nodes that are not open to the pod."""
    (cluster / "pod.json").write_text(json.dumps(pod))
    empty = write_list(cluster / "empty.json", nodes())
    with suppress(SystemExit):  # it fits nowhere
        main(["fit", "--pod", str(cluster / "pod.json"), "--file", str(empty)])
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "not open to the pod" in line]
    return line.strip()


@pytest.mark.parametrize(
    ("spec", "gpus", "kind"),
    [(to("train"), 8, "h100-"), (to("web"), 0, "cpu-"), (TOLERATES, 0, ""), (on_node("h100-07"), 1, "h100-07")],
)
def test_a_pod_goes_where_it_tolerates_the_taints_and_its_selectors_hold_as_in_fit(
    cluster: Path, spec: Json, gpus: int, kind: str, capsys: Captured
) -> None:
    pod = pod_json("asked", cpu="2", spec=spec, **({GPU: str(gpus)} if gpus else {}))
    found = asked(cluster, pod)
    (row,) = found.now.rows
    assert row.node.startswith(kind or row.node)
    assert row.node
    assert found.now.closed == said_by_fit(cluster, pod, capsys)
    shut = {name for one in found.now.not_open for name in one.nodes}
    assert row.node not in shut
    assert len(shut) == sum(one.count for one in found.now.not_open)


def test_a_pod_without_toleration_is_told_which_taint_keeps_it_out(cluster: Path, capsys: Captured) -> None:
    """It asks for eight GPUs, more than the L40S and MIG nodes offer: that is their first reason."""
    pod = pod_json("asked", cpu="2", **{GPU: "8"})
    found = asked(cluster, pod).now
    assert found.closed == said_by_fit(cluster, pod, capsys)
    assert found.placed == 0
    by_reason = {one.why: one for one in found.not_open}
    taint = by_reason[f"taint {GPU}"]
    assert taint.count == 24
    assert "h100-00" in taint.nodes
    assert f"taint {GPU}: 24" in found.closed
    assert found.reasons["node not open to the task"] > 0


def test_nodes_that_come_are_open_as_the_nodes_that_they_join(cluster: Path) -> None:
    pod = pod_json("asked", cpu="2", spec=to("train"), **{GPU: "8"})
    found = asked(cluster, pod, 1.3, come=["2xH100-8"])
    assert found.then is not None
    assert found.then.placed == 1
    closed = asked(cluster, pod_json("asked", cpu="2", **{GPU: "8"}), come=["2xH100-8"]).then
    assert closed is not None
    assert closed.placed == 0
    assert {one.why: one.count for one in closed.not_open}[f"taint {GPU}"] == 26


def test_running_tasks_may_still_move_within_their_pool_and_nowhere_else(cluster: Path) -> None:
    """A pod for one node divides the pool of H100 nodes, of which some hold a task."""
    first = next(row["node"] for row in placed(cluster) if row["node"].startswith("h100-"))
    pod = pod_json("asked", cpu="2", spec=on_node(first), **{GPU: "8"})
    found = asked(cluster, pod, 0.2).now
    assert found.placed == 0
    assert [near.node for near in found.nearest] == [first]
    assert found.moves
    assert all(f"would move from {first} to h100-" in move.text for move in found.moves)


def test_without_labels_of_these_nodes_the_answer_says_that_pools_are_not_known(cluster: Path) -> None:
    pod = pod_json("asked", cpu="2", spec=to("train"), **{GPU: "8"})
    labels = cluster / "mine/nodes.json"
    kept = json.loads(labels.read_text())
    labels.write_text(json.dumps({**kept, "items": kept["items"][1:]}))
    found = asked(cluster, pod).now
    assert found.placed == 0
    assert found.closed == (
        "taints, node selectors and node affinity are not known: nodes.json beside nodes.csv is of other nodes "
        "(control-0 or others differ)"
    )
    labels.unlink()
    assert asked(cluster, pod).now.closed == (
        "taints, node selectors and node affinity are not known: no nodes.json of `wattpack import` beside nodes.csv"
    )
