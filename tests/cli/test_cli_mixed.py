"""Every command on a mixed cluster: nothing is ever proposed on GPUs that are taken, nor on a cordoned node."""

from __future__ import annotations

import csv
import json
import os
import re
import threading
from pathlib import Path

import pytest

from kube.made import node_json, pod_json
from kube.mixed import GPU, TAKEN, TOLERANT, share, write_mixed
from wattpack.cli import main


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mixed")
    main(["import", "--file", write_mixed(folder), "--out", str(folder)])
    return folder


def files(folder: Path) -> list[str]:
    return ["--nodes", str(folder / "nodes.csv"), "--tasks", str(folder / "tasks.csv")]


def held_gpus(folder: Path) -> set[tuple[str, str]]:
    """(node, GPU) of every task that is placed now."""
    return {(row["node"], gpu) for row in rows(folder / "placements.csv") for gpu in row["gpu_index"].split("-") if gpu}


def test_the_table_says_what_was_understood_assumed_closed_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["import", "--file", write_mixed(tmp_path), "--out", str(tmp_path / "in")])
    said = capsys.readouterr()
    for line in (
        "understood  10 nodes  30 GPUs (A100-SXM4-80GB, T4)",
        "understood  10 tasks  10 with GPUs, 2 pending; 7.442 GPUs allocated",
        "understood   2 tasks  with GPUs in dialect alibaba",
        "understood   1 task   with GPUs in dialect dra",
        "assumed      6 tasks  which GPUs they hold is not known: the first that fit (team/hami, team/kai, team/",
        "assumed      1 task   GPU memory as a share of the smallest GPU that holds it (team/hami)",
        "closed       1 node   cordoned: no new task (cordoned)",
        "closed       1 node   MIG devices: no new task with GPUs (mig)",
        "closed       1 node   resource claims: no new task with GPUs (claims)",
        "closed       3 nodes  pods not understood: no new task with GPUs (gaudi, intel, tpus)",
        "closed       1 node   tainted: only tasks that tolerate their taints (tainted)",
        "left out     1 pod    asks for habana.ai/gaudi, which no dialect reads (team/habana)",
        "left out     1 pod    asks for gpu.intel.com/i915, which no dialect reads (team/oneapi)",
        "left out     1 node   counted without habana.ai/gaudi, which no dialect in use reads (gaudi)",
        "left out     1 node   counted without gpu.intel.com/i915, which no dialect in use reads (intel)",
    ):
        assert line in said.out
    assert "left out     1 pod    asks for example.com/tpu, which no dialect reads (team/tpus)" in said.out
    assert "3 pods hold accelerators that could not be counted" in said.err


def test_tasks_on_closed_nodes_and_what_claims_and_mig_hold_stay_counted(imported: Path) -> None:
    placed = {row["task"]: (row["node"], row["gpu_index"]) for row in rows(imported / "placements.csv")}
    assert placed["team/old"] == ("cordoned", "0-1")
    assert placed["team/claimed"] == ("claims", "1-2")
    assert placed["team/slice"][0] == "mig"
    specs = {row["name"]: row["pool_spec"] for row in rows(imported / "tasks.csv")}
    assert specs["team/claimed"] == specs["team/slice"] == "held"


@pytest.mark.parametrize("policy", ["fgd", "pwr:0.1+fgd:0.9", "ocs"])
@pytest.mark.parametrize("with_placements", [True, False])
def test_replay_places_no_task_on_a_node_that_is_closed_to_it(
    imported: Path, tmp_path: Path, policy: str, with_placements: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--placements", str(imported / "placements.csv")] if with_placements else []
    main(["replay", *files(imported), "--policy", policy, "--decisions", str(tmp_path / "d.csv"), *more])
    said = capsys.readouterr()
    now = {row["task"]: (row["node"], row["gpu_index"]) for row in rows(imported / "placements.csv")}
    for row in rows(tmp_path / "d.csv"):
        if row["node"] in TAKEN:
            assert with_placements
            assert (row["node"], row["gpu_index"]) == now[row["task"]]
        assert row["node"] != "tainted" or row["task"] == "team/lone"
    assert "1 node takes no new task: cordoned (cordoned)" in said.err
    assert "5 nodes take no new task with GPUs: claims (resource claims), gaudi (team/habana asks for" in said.err
    assert "intel (team/oneapi asks for gpu.intel.com/i915)" in said.err
    if with_placements:
        assert "3 tasks stay (held, or on nodes that take no new ones)" in said.err  # old, slice, claimed


def test_defrag_moves_no_task_to_a_node_that_is_closed_to_it(imported: Path, tmp_path: Path) -> None:
    placements = ["--placements", str(imported / "placements.csv")]
    after = tmp_path / "after.csv"
    out = ["--out", str(tmp_path / "moves.csv"), "--placements-out", str(after)]
    main(["defrag", *files(imported), *placements, *out])
    moves = rows(tmp_path / "moves.csv")
    assert moves
    assert not {move["to_node"] for move in moves} & TAKEN
    assert not {move["task"] for move in moves} & {"team/claimed", "team/slice"}
    assert all(move["to_node"] != "tainted" or move["task"] == "team/lone" for move in moves)
    stayed = {row["task"]: row for row in rows(after)}
    assert stayed["team/claimed"]["gpu_index"] == "1-2"


@pytest.mark.parametrize("command", [["defrag"], ["replay", "--policy", "fgd"]])
def test_a_wrong_placements_file_is_one_line_though_nodes_are_closed(
    imported: Path, tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "placements.csv"
    wrong.write_text("task,node,gpu_index\nteam/whole,elsewhere,0\n")
    with pytest.raises(SystemExit) as ended:
        main([*command, *files(imported), "--placements", str(wrong)])
    (line,) = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert line.endswith("placements.csv, line 2, column node: 'elsewhere', expected empty or a node of the nodes file")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["defrag"], "can never fit any node: 1 x "),
        (["replay", "--policy", "fgd"], "can never fit any node: 1 x "),
    ],
)
def test_a_task_that_names_no_pool_of_the_nodes_is_said_to_fit_nowhere(
    imported: Path, tmp_path: Path, command: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, placements = tmp_path / "tasks.csv", ["--placements", str(imported / "placements.csv")]
    lines = (imported / "tasks.csv").read_text().splitlines()
    for spec, named in ("p98|p99", True), ("p99|p1", False), ("held", False):
        changed = [f"{line.rpartition(',')[0]},{spec}" if line.startswith("team/whole,") else line for line in lines]
        tasks.write_text("\n".join(changed))
        main([*command, "--nodes", str(imported / "nodes.csv"), "--tasks", str(tasks), *placements])
        found = [line for line in capsys.readouterr().err.splitlines() if "no node is in it" in line]
        assert len(found) == named
        assert all(line.startswith(said) and "pool_spec p98|p99" in line for line in found)


@pytest.mark.parametrize("command", [["defrag"], ["replay", "--policy", "fgd"]])
def test_placements_that_do_not_fit_are_one_line_though_nodes_are_closed_and_watts_come_from_a_file(
    imported: Path, tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    wrong, power = tmp_path / "placements.csv", tmp_path / "power.toml"
    wrong.write_text("task,node,gpu_index\nteam/old,plain,0\n")  # it asks for two GPUs
    power.write_text("[node]\nbase_w = 80\n")
    with pytest.raises(SystemExit) as ended:
        main([*command, *files(imported), "--placements", str(wrong), "--power", str(power)])
    (line,) = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert line.endswith("task team/old does not fit on node plain (GPUs 0), expected room for it")


@pytest.mark.parametrize(
    ("asks", "expected"),
    [
        ({GPU: "1"}, {"plain", "alibaba", "hami"}),
        ({GPU: "2"}, {"plain", "alibaba"}),  # on hami one of two GPUs is shared
        ({"annotations": share(500)}, {"plain", "alibaba"}),  # a node of HAMi serves no share of another dialect
        ({GPU: "1", "spec": TOLERANT}, {"plain", "alibaba", "hami", "tainted"}),
        ({GPU: "1", "spec": {"nodeSelector": {"kubernetes.io/hostname": "cordoned"}}}, set()),
        ({GPU: "1", "spec": {"nodeSelector": {"kubernetes.io/hostname": "gaudi"}}}, set()),
        ({"nvidia.com/mig-1g.10gb": "1"}, {"mig"}),
        ({"nvidia.com/mig-3g.40gb": "1"}, set()),
        ({"annotations": {"gpu-fraction": "0.5"}}, {"plain"}),
        ({GPU: "1", "nvidia.com/gpumem": "20000"}, {"hami"}),  # MiB: a T4 cannot hold it
        ({"aliyun.com/gpu-mem": "4"}, set()),  # no node offers it
        ({"spec": {"nodeSelector": {"kubernetes.io/hostname": "gaudi"}}}, {"gaudi"}),  # without GPUs: it may
    ],
)
def test_fit_names_only_nodes_that_are_open_to_the_pod(
    tmp_path: Path, asks: dict[str, str], expected: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pod.yaml").write_text(json.dumps(pod_json("wish", **asks)))
    words = ["fit", "-f", str(tmp_path / "pod.yaml"), "--file", write_mixed(tmp_path), "--policy", "fgd"]
    if not expected:
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 1
        return
    main(words)
    said = capsys.readouterr().out
    ((chosen, fitting),) = re.findall(r"decision: fgd: (\S+) .*chosen among (\d+) nodes? that fits? of", said)
    assert chosen in expected
    assert int(fitting) == len(expected)
    assert "3 nodes are blocked by 3 pods that were not understood" in said  # it counts what claims hold


def test_closed_nodes_stay_closed_in_an_edited_datacenter_and_without_a_file(
    imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, decisions = str(imported / "tasks.csv"), tmp_path / "d.csv"
    edited = ["--add", "2xA100-SXM4-80GB-4", "--remove", "1xT4-2"]
    main(["replay", *files(imported), *edited, "--policy", "fgd", "--decisions", str(decisions)])
    assert not {row["node"] for row in rows(decisions)} & TAKEN
    capsys.readouterr()
    main(["replay", "--nodes", "alibaba2023", "--tasks", tasks, "--policy", "fgd", "--decisions", str(decisions)])
    assert "take no new task" not in capsys.readouterr().err
    assert sum(row["node"] != "" for row in rows(decisions)) == 9  # pools are of other nodes; no A100-SXM4-80GB there


def test_nodes_may_come_through_a_pipe(imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe can be read once: the reasons are missing then, the nodes are closed all the same."""
    pipe, decisions = tmp_path / "pipe", tmp_path / "d.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=((imported / "nodes.csv").read_text(),))
    writer.start()
    tasks = ["--tasks", str(imported / "tasks.csv")]
    main(["replay", "--nodes", str(pipe), *tasks, "--policy", "fgd", "--decisions", str(decisions)])
    writer.join()
    assert not {row["node"] for row in rows(decisions)} & TAKEN
    assert "1 node takes no new task: cordoned" in capsys.readouterr().err


def test_strict_takes_nodes_that_pools_cannot_tell_apart_for_a_loss(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """100 kinds of two nodes each, all named by tasks: 62 pools are the most."""
    labels = [{"shelf": str(i // 2)} for i in range(200)]
    nodes = [node_json(f"n{i:03d}", gpus=1, labels=one) for i, one in enumerate(labels)]
    pods = [pod_json(f"p{i}", spec={"nodeSelector": {"shelf": str(i)}}, **{GPU: "1"}) for i in range(100)]
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": [*nodes, *pods]}))
    words = ["import", "--file", str(tmp_path / "c.json"), "--out", str(tmp_path / "in")]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--strict"])
    assert ended.value.code == 2
    assert "78 nodes: more than 62 kinds of nodes: no new task" in capsys.readouterr().err
    main(words)
    assert "closed       78 nodes  more than 62 kinds of nodes: no new task (" in capsys.readouterr().out
    assert sum(row["only"] == "none" for row in rows(tmp_path / "in" / "nodes.csv")) == 78
    main(["replay", *files(tmp_path / "in"), "--policy", "fgd", "--decisions", str(tmp_path / "d.csv")])
    assert sum(row["node"] != "" for row in rows(tmp_path / "d.csv")) == 61
