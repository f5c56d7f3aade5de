"""A cluster whose GPU nodes are tainted, from its JSON through every command: tasks go where their pods could."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from kube.cluster import rows
from kube.tainted import nodes, pods, write_list, write_tainted
from wattpack.cli import main
from wattpack.datasets.sources import load_datacenter
from wattpack.model.node_watts import idle_and_full_w

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def cluster(tmp_path: Path, capsys: Captured) -> Path:
    """A folder with `mine/` (import) and `trace.csv` (import-trace), both of cluster.json."""
    file = write_tainted(tmp_path)
    main(["import", "--file", str(file), "--out", str(tmp_path / "mine")])
    main(["import-trace", "kubernetes", str(file), "--out", str(tmp_path / "trace.csv")])
    capsys.readouterr()
    return tmp_path


def files(cluster: Path) -> list[str]:
    return ["--datacenter", str(cluster / "mine/nodes.csv"), "--trace", str(cluster / "trace.csv")]


def outcomes(path: Path) -> dict[str, str]:
    """Outcome and node of each task of `--tasks-out`."""
    return {row["task"].removeprefix("team/"): f"{row['outcome']} {row['node']}".strip() for row in rows(path)}


def test_tasks_of_a_trace_run_on_the_tainted_nodes_that_their_pods_tolerate(cluster: Path) -> None:
    """8 MIG slices, whose nodes take none, and 6 that name a pool of no node fit nowhere; the others all run."""
    out = cluster / "tasks.csv"
    main(["simulate", *files(cluster), "--policy", "fgd", "--tasks-out", str(out), "--out", str(cluster / "s")])
    found = outcomes(out)
    refused = {task for task, outcome in found.items() if outcome == "refused"}
    assert refused == {f"slice-{i}" for i in range(8)} | {f"done-{i}" for i in range(0, 30, 5)}
    kinds = {"kai": "h100", "serve": "l40s", "share": "hami", "web": "cpu"}
    for task, outcome in found.items():
        kind = kinds.get(task.rpartition("-")[0])
        assert kind is None or outcome.split()[-1].startswith(kind), task


def test_what_fits_nowhere_is_said_with_its_reason_and_count_by_every_command(cluster: Path, capsys: Captured) -> None:
    with (cluster / "trace.csv").open("a") as file:
        file.write(
            "huge,900000,1024,0,0,,,,1767600000,60,batch,,,\nother,1000,1024,1,1000,B200,,p3,1767600000,60,batch,,,\n"
        )
    out = ["--out", str(cluster / "out")]
    plan = ["plan", "H100-8", "--wait-p99", "10m"]
    for command in (["simulate"], ["compare", "--no-bound", "--seeds", "1"], plan):
        policy = ["--policy", "fgd"]
        main([*command, *files(cluster), *policy, *out])
        (line,) = [line for line in capsys.readouterr().err.splitlines() if "can never fit any node" in line]
        held = 0 if command[0] == "compare" else 6
        for said in (f"of 106 tasks {8 + held} by pool (", "1 by model (", "1 by size ("):
            assert said in line, command
    main(["replay", "--nodes", str(cluster / "mine/nodes.csv"), "--tasks", str(cluster / "trace.csv"), *policy])
    said = capsys.readouterr()
    assert "of 106 tasks 14 by pool (" in said.err
    assert "failed for want of pool: 14" in said.out


def test_run_tune_bound_and_defrag_say_it_too(cluster: Path, capsys: Captured) -> None:
    """With one task larger than every node; of an import, tasks that are held where they are can never be moved."""
    with (cluster / "trace.csv").open("a") as file:
        file.write("huge,900000,1024,0,0,,,,1767600000,60,batch,,,\n")
    columns = (cluster / "mine/tasks.csv").read_text().partition("\n")[0].count(",")
    with (cluster / "mine/tasks.csv").open("a") as file:
        file.write(f"huge,900000,1024,0,0{',' * (columns - 4)}\n")
    with (cluster / "mine/placements.csv").open("a") as file:
        file.write("huge,,\n")
    nodes_csv, trace_csv = files(cluster)[1::2]
    axes = f'datacenter = ["{nodes_csv}"]\ntrace = ["{trace_csv}"]\npolicy = ["fgd", "pwr"]\nseeds = 1\n'
    (cluster / "one.toml").write_text(axes)
    imported = [f"--{name}={cluster / 'mine' / name}.csv" for name in ("nodes", "tasks", "placements")]
    trial = ["--policy", "pwr", "--seeds", "2"]
    sleeping = ["tune", *files(cluster), "--policy", "fgd", "--sleep", "idle=10m", "--wait-p99", "1h"]
    for command, reasons in (
        (["run", str(cluster / "one.toml"), "--out", str(cluster / "run")], "14 by pool ("),
        (["tune", *files(cluster), *trial, "--out", str(cluster / "tune")], "14 by pool ("),
        ([*sleeping, "--out", str(cluster / "sleep")], "14 by pool ("),
        (["bound", *files(cluster), "--loads", "0.5"], "14 by pool ("),
        (["defrag", *imported], "1 by size ("),
    ):
        main(command)
        (line,) = [line for line in capsys.readouterr().err.splitlines() if "can never fit any node" in line]
        assert reasons in line, command
        assert "1 by size (larger than every node)" in line, command


def test_the_plan_counts_tainted_nodes_as_room(cluster: Path, capsys: Captured) -> None:
    """At most 12 pods of running gangs and one of finished ones are there at once: 13 nodes of 16 are enough."""
    main(["plan", "H100-8", "--wait-p99", "0s", *files(cluster), "--out", str(cluster / "plan")])
    said = capsys.readouterr().out
    assert " fewer than there are" in said
    tried = {int(row["nodes"]): row for row in rows(cluster / "plan/plan.csv")}
    assert max(tried) == 16
    assert {row["refused"] for row in tried.values()} == {"14"}


def test_added_nodes_take_the_tasks_that_nodes_like_them_take(cluster: Path) -> None:
    """With all H100 nodes removed and two added, gangs of tainted nodes run on those two."""
    out = cluster / "tasks.csv"
    words = ["--policy", "fgd", "--tasks-out", str(out), "--out", str(cluster / "s"), "--remove", "15xH100-8"]
    main(["simulate", *files(cluster), *words, "--add", "12xH100-8"])
    found = outcomes(out)
    gangs = [found[f"{name}-{i}"] for name in ("kai", "volcano", "cosched") for i in range(4)]
    assert Counter(outcome.split("-")[0] for outcome in gangs) == {"running h100": 12}
    assert sum("added" in outcome for outcome in gangs) >= 11


def test_nodes_of_a_new_model_ask_which_pool_they_join_and_join_it(cluster: Path, capsys: Captured) -> None:
    for command in (["simulate"], ["compare", "--seeds", "1", "--no-bound"]):
        with pytest.raises(SystemExit) as ended:
            main([*command, *files(cluster), "--add", "2xB200-8", "--out", str(cluster / "none")])
        (line,) = capsys.readouterr().err.splitlines()
        assert ended.value.code == 2
        assert line == (
            "wattpack: --add '2xB200-8': nodes like it are in several pools, expected p3 (16 x H100-80GB-HBM3-8), "
            "p4 (8 x T4-4), p5 (16 x L40S-4), or open (to tasks that name no pool), as in 2xB200-8@p3"
        )
        assert not (cluster / "none").exists()
    nodes_csv = str(cluster / "mine/nodes.csv")
    found = load_datacenter(nodes_csv, add=["2xB200-8@p3", "1xL40S-4", "1xcpu:32c:128g@open"])
    pools = [(found.pools[p].name, found.pools[p].only) for p in found.pool[-4:].tolist()]
    assert pools == [("p3", "named")] * 2 + [("p5", "named"), ("", "")]


def test_a_trace_without_its_nodes_takes_them_from_another_file_and_gets_the_same_pools(cluster: Path) -> None:
    pods_only = write_list(cluster / "pods.json", pods())
    beside = [write_list(cluster / "nodes-only.json", nodes()), cluster / "mine/nodes.json"]
    for file in beside:
        main(["import-trace", "kubernetes", str(pods_only), "--nodes", str(file), "--out", str(cluster / "again.csv")])
        assert (cluster / "again.csv").read_text() == (cluster / "trace.csv").read_text()


def test_a_trace_of_other_pods_than_the_import_is_refused_rather_than_sent_to_other_pools(
    cluster: Path, capsys: Captured
) -> None:
    """Without the pods of HAMi nobody tells their nodes apart: p4 would mean other nodes than in nodes.csv."""
    fewer = [pod for pod in pods() if pod["spec"].get("nodeSelector") != {"pool": "shares"}]
    file, out = write_list(cluster / "pods.json", fewer), cluster / "again.csv"
    with pytest.raises(SystemExit) as ended:
        main(["import-trace", "kubernetes", str(file), "--nodes", str(cluster / "mine/nodes.json"), "--out", str(out)])
    (line,) = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert "nodes.csv: its pools are not those of these pods (node hami-0 " in line
    assert not out.exists()


def test_pods_alone_say_that_where_they_may_go_is_not_known(tmp_path: Path, capsys: Captured) -> None:
    file = write_list(tmp_path / "pods.json", pods())
    main(["import-trace", "kubernetes", str(file), "--out", str(tmp_path / "trace.csv")])
    said = capsys.readouterr().out
    assert "assumed   tasks may go to every node that is open to all: the file has no nodes" in said


def test_gated_pods_are_no_tasks_and_pods_that_wait_are(cluster: Path) -> None:
    names = {row["name"].removeprefix("team/").rpartition("-")[0] for row in rows(cluster / "mine/tasks.csv")}
    assert "waits" in names
    assert "gated" not in names


def test_a_policy_is_compared_over_running_pods_alone(cluster: Path, capsys: Captured) -> None:
    mine = cluster / "mine"
    parts = [f"--{name}={mine / name}.csv" for name in ("nodes", "tasks", "placements")]
    decisions = mine / "decisions.csv"
    main(["replay", *parts, "--policy", "fgd", "--decisions", str(decisions)])
    said = capsys.readouterr()
    assert "74 tasks, 74 placed, 0 failed" in said.out
    assert "5 tasks wait for a node and are left out (--pending: the policy places them too)" in said.err
    placed = {row["task"]: row["node"] for row in rows(decisions)}
    assert list(placed) == [row["name"] for row in rows(mine / "tasks.csv")]
    assert [task for task, node in placed.items() if node == ""] == [f"team/waits-{i}" for i in range(5)]
    main(["replay", *parts, "--policy", "fgd", "--pending"])
    assert "79 tasks, 78 placed, 1 failed" in capsys.readouterr().out  # 16 H100 nodes: 12 of gangs, four are free


def test_import_counts_what_files_cannot_say_of_pods(tmp_path: Path, capsys: Captured) -> None:
    main(["import", "--file", str(write_tainted(tmp_path)), "--out", str(tmp_path / "mine")])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("not kept")]
    said = [" ".join(line.partition(" (team/")[0].split()) for line in lines]
    assert said == [
        "not kept 3 pods gated (schedulingGates): not tasks, nobody may place them yet",
        "not kept 12 tasks of 3 gangs (Volcano 1, coscheduling 1, KAI 1): placed one by one",
        "not kept 1 gang without a pod that is a task (PodGroup)",
        "not kept 18 pods with required affinity or anti-affinity to other pods: it limits no placement",
        "not kept 20 pods with hard topology spread (DoNotSchedule): it limits no placement",
        "not kept 12 pods with a priority (training 12): all tasks count alike, none is evicted",
        "not kept 8 pods of another scheduler (volcano 4, kai-scheduler 4): its rules are not known here",
    ]


def test_every_empty_node_of_an_imported_cluster_is_idle(cluster: Path) -> None:
    """A socket has 16 cores, 32 vCPU, and 15 W; tasks may have 3,420 to 127,110 milli-vCPU of 4 to 128 vCPU."""
    datacenter = load_datacenter(cluster / "mine/nodes.csv")
    with (cluster / "mine/nodes.csv").open() as file:
        vcpu = [int(row["capacity_milli"]) // 1000 for row in csv.DictReader(file)]
    sockets = [-(-cpu // 32) for cpu in vcpu]
    idle = {"": 0, "H100-80GB-HBM3": 8, "L40S": 4, "A100-SXM4-80GB": 8, "T4": 4}
    gpus = [idle[datacenter.models[model]] for model in datacenter.model.tolist()]
    assert datacenter.gpus.tolist() == gpus
    without_gpus = [0 if n else w for n, w in zip(gpus, idle_and_full_w(datacenter)[0].tolist(), strict=True)]
    assert [w for w in without_gpus if w] == [15 * s for s, n in zip(sockets, gpus, strict=True) if not n]
    assert datacenter.records().sockets.tolist() == sockets


def test_the_nodes_that_import_writes_can_be_imported_again(cluster: Path, capsys: Captured) -> None:
    main(
        [
            "import",
            "--file",
            str(cluster / "mine/nodes.json"),
            "--file",
            str(cluster / "cluster.json"),
            "--out",
            str(cluster / "b"),
        ]
    )
    assert (cluster / "b/nodes.csv").read_text() == (cluster / "mine/nodes.csv").read_text()
    (first, *_) = json.loads((cluster / "mine/nodes.json").read_text())["items"]
    assert set(first) == {"kind", "metadata", "spec", "status"}


def test_an_anonymised_import_writes_no_labels_of_nodes(cluster: Path) -> None:
    main(["import", "--file", str(cluster / "cluster.json"), "--out", str(cluster / "mine"), "--anonymise"])
    assert not (cluster / "mine/nodes.json").exists()
