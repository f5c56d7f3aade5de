"""`wattpack import` through its front door, and the other commands on what it wrote."""

from __future__ import annotations

import csv
import inspect
import json
import re
from pathlib import Path

import pytest

from kube.cluster import write_cluster
from kube.made import node_json, pod_json
from wattpack.cli import main
from wattpack.cli.commands.import_ import import_command
from wattpack.kube.dialects import DIALECTS


def import_cluster(folder: Path, *more: str) -> Path:
    main(["import", "--file", write_cluster(folder), "--out", str(folder / "in"), *more])
    return folder / "in"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_help_names_every_dialect() -> None:
    said = inspect.getdoc(import_command) or ""
    assert f"How pods ask for GPUs: {', '.join(DIALECTS)}; may be given" in " ".join(said.split())


def test_nodes_tasks_and_placements_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = import_cluster(tmp_path)
    assert (out / "nodes.csv").read_text().splitlines() == [
        "sn,cpu_milli,memory_mib,gpu,model,cpu_model,pool,only,why",
        "cpu-1,30500,129024,0,,,,,",  # serve-4 is left out, its CPU and memory are not free
        "gpu-a,63500,261120,4,A100-SXM4-80GB,,,,",
        "gpu-b,63500,261120,4,A100-SXM4-80GB,,,,",
        "gpu-t4,15500,64512,2,T4,,,,",
        "master,95500,392192,0,,,,named,tainted",
    ]
    assert (out / "tasks.csv").read_text().splitlines()[:3] == [
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time,pool_spec",
        "team/train-1,16000,1024,2,1000,,0,,",
        "team/train-2,8000,1024,1,1000,,60,,",
    ]
    assert [tuple(row.values()) for row in rows(out / "placements.csv")] == [
        ("team/train-1", "gpu-a", "0-1"),
        ("team/train-2", "gpu-b", "0"),
        ("team/serve-1", "gpu-b", "2"),
        ("team/serve-2", "gpu-t4", "1"),
        ("team/serve-3", "gpu-t4", "1"),
        ("team/web-1", "cpu-1", ""),
        ("team/waits", "", ""),
    ]
    said = capsys.readouterr().out
    assert "understood  5 nodes  10 GPUs (A100-SXM4-80GB, T4)" in said
    assert "understood  7 tasks  6 with GPUs, 1 pending; 3.9 GPUs allocated" in said
    assert "understood  3 tasks  with GPUs in dialect alibaba" in said
    assert "assumed     5 nodes  CPU Xeon E5-2682 v4 is assumed: no label names the CPU (cpu-1, gpu-a, " in said
    assert "closed      1 node   tainted: only tasks that tolerate their taints (master)" in said
    assert "'NVIDIA-GeForce-GTX-1080', a model without a power entry" in said


def test_anonymised_files_hold_no_name_of_the_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = import_cluster(tmp_path, "--anonymise")
    text = "".join(path.read_text() for path in out.iterdir()) + capsys.readouterr().out.replace(str(tmp_path), "")
    text = re.sub(r"\b[a-z]+-[0-9a-f]{8}\b", "", text)  # names made of digests: one may hold "bad" by chance
    for name in ("gpu-a", "gpu-t4", "cpu-1", "master", "odd", "team", "train", "serve", "bad", "web"):
        assert name not in text
    nodes, tasks = {row["sn"] for row in rows(out / "nodes.csv")}, {row["name"] for row in rows(out / "tasks.csv")}
    placed = rows(out / "placements.csv")
    assert {row["task"] for row in placed} == tasks
    assert {row["node"] for row in placed} <= nodes | {""}


def test_what_a_policy_would_have_saved_takes_two_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As it is: 4 A100 in use and 4 idle, 1 T4 in use and 1 idle; 5 of 9 sockets with a task on them or awake.

    With --allow-slower the policy puts train-2 on one T4 and all shares on the other: two A100 less in use, one T4
    more. The sockets stay: 63.5 vCPU are 32 cores of which 31 are free, so a socket of the node that is empty now
    counts as awake.
    """
    out = import_cluster(tmp_path)
    capsys.readouterr()
    files = ["--nodes", str(out / "nodes.csv"), "--tasks", str(out / "tasks.csv")]
    where = ["--placements", str(out / "placements.csv"), "--allow-slower"]
    main(["replay", *files, "--policy", "pwr:0.1+fgd:0.9", *where])
    said = capsys.readouterr().out
    lines = {line[:21].strip(): line[21:].split() for line in said.splitlines()}
    assert lines["power, W"][0] == f"{4 * 400 + 4 * 48 + 70 + 10 + 5 * 120 + 4 * 15:,}"
    assert lines["GPUs served"] == ["3.9", "3.9"]
    saved = 2 * (400 - 48) - (70 - 10)
    assert f"pwr:0.1+fgd:0.9 saves {saved} W" in said


def test_placements_as_the_policys_own_save_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = import_cluster(tmp_path)
    files = ["--nodes", str(out / "nodes.csv"), "--tasks", str(out / "tasks.csv"), "--profile", "measured"]
    own = str(tmp_path / "d.csv")
    main(["replay", *files, "--policy", "fgd", "--decisions", own])
    main(["replay", *files, "--policy", "fgd", "--placements", own])
    assert "fgd saves 0 W, 0.0 % of the power as it is" in capsys.readouterr().out


def test_the_guides_example_prints_what_the_guide_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_cluster(tmp_path)
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "import.md").read_text(encoding="utf-8")
    commands = re.findall(r"^wattpack ([^\n]+)", guide, flags=re.MULTILINE)
    shown = re.findall(r"```text\n(.*?)```", guide, flags=re.DOTALL)
    for command, text in zip(commands, shown, strict=True):
        main(command.split())
        assert capsys.readouterr().out == text


def test_a_replayed_datacenter_comes_back_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Decisions of a policy as a cluster, imported: the same nodes, tasks, placements and watts."""
    nodes, tasks = tmp_path / "nodes.csv", tmp_path / "tasks.csv"
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n{i},32000,131072,4,T4\n" for i in range(5)))
    names = [f"d/t{i:03d}" for i in range(40)]
    tasks.write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
        + "".join(f"{name},1000,1024,1,{(300, 500, 1000)[i % 3]}\n" for i, name in enumerate(names))
    )
    files = ["--nodes", str(nodes), "--tasks", str(tasks)]
    main(["replay", *files, "--policy", "bestfit", "--decisions", str(tmp_path / "d.csv")])
    made = [node_json(row["sn"], gpus=4, cpu="32", memory="128Gi") for row in rows(nodes)]
    for i, (task, decision) in enumerate(zip(rows(tasks), rows(tmp_path / "d.csv"), strict=True)):
        said = {"alibabacloud.com/gpu-milli": task["gpu_milli"], "alibabacloud.com/gpu-index": decision["gpu_index"]}
        created = f"2026-01-05T10:00:{i:02d}Z"
        made.append(pod_json(task["name"][2:], decision["node"], "d", annotations=said, created=created))
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": made}))
    main(["import", "--file", str(tmp_path / "c.json"), "--out", str(tmp_path / "in")])
    assert rows(tmp_path / "in" / "placements.csv") == rows(tmp_path / "d.csv")
    imported = [{key: row[key] for key in rows(tasks)[0]} for row in rows(tmp_path / "in" / "tasks.csv")]
    assert imported == rows(tasks)


def test_explain_and_compare_work_on_imported_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = import_cluster(tmp_path)
    nodes, tasks = str(out / "nodes.csv"), str(out / "tasks.csv")
    main(["explain", nodes, tasks, "--policy", "fgd", "--task", "team/train-2"])
    assert "decision: node gpu-" in capsys.readouterr().out
    main(
        [
            "compare",
            "--datacenter",
            nodes,
            "--trace",
            tasks,
            "--policy",
            "pwr",
            "--seeds",
            "1",
            "--out",
            str(tmp_path / "r"),
        ]
    )
    assert (tmp_path / "r" / "summary.csv").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "task,node,gpu_index\nteam/nosuch,gpu-a,0\n",
            "line 2, column task: 'team/nosuch', expected a task of the tasks",
        ),
        (
            "task,node,gpu_index\nteam/web-1,x,\n",
            "line 2, column node: 'x', expected empty or a node of the nodes file",
        ),
        (
            "task,node,gpu_index\nteam/train-1,gpu-a,0-99\n",
            "line 2, column gpu_index: '0-99', expected empty or different",
        ),
        ("task,node,gpu_index\nteam/train-1,gpu-a,0\n", "task team/train-1 does not fit on node gpu-a (GPUs 0)"),
        ("task,node,gpu_index\nteam/train-1,gpu-t4,2-3\n", "task team/train-1 does not fit on node gpu-t4 (GPUs 2-3)"),
        ("task,node\n", "line 1: no column 'gpu_index'"),
    ],
)
def test_placements_that_do_not_hold_are_one_line_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    out = import_cluster(tmp_path)
    (tmp_path / "p.csv").write_text(text)
    files = ["--nodes", str(out / "nodes.csv"), "--tasks", str(out / "tasks.csv")]
    with pytest.raises(SystemExit) as ended:
        main(["replay", *files, "--policy", "fgd", "--placements", str(tmp_path / "p.csv")])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--dialect", "slurm"), "unknown dialect 'slurm', expected one of alibaba, nvidia"),
        (("--kubeconfig", "k"), "--file and --kubeconfig, expected one of them"),
        (("--config", "no.toml"), "no.toml"),
        (("--file", "no.json"), "no.json: cannot be read"),
    ],
)
def test_bad_input_is_one_line_and_exit_2_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        import_cluster(tmp_path, *more)
    assert ended.value.code == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert said in lines[0]
    assert not (tmp_path / "in").exists()


def test_own_names_of_models_come_from_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text('[models]\n"NVIDIA-GeForce-GTX-1080" = "T4"\n')
    out = import_cluster(tmp_path, "--config", str(tmp_path / "w.toml"))
    assert "odd,96000,393216,8,T4,,,," in (out / "nodes.csv").read_text()
    assert ("team/on-odd", "odd", "0") in [tuple(row.values()) for row in rows(out / "placements.csv")]


def test_a_cluster_of_which_no_node_can_be_read_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.json").write_text('{"kind": "Node", "status": {"allocatable": {"cpu": "x"}}}')
    with pytest.raises(SystemExit) as ended:
        main(["import", "--file", str(tmp_path / "c.json"), "--out", str(tmp_path / "in")])
    assert ended.value.code == 2
    assert "none of 1 nodes can be read" in capsys.readouterr().err


def narrowed(folder: Path) -> list[str]:
    """A cluster read in one dialect: four of five pods ask in another one, on four GPUs of a node."""
    foreign = [pod_json(f"f{i}", node="n", **{"aliyun.com/gpu-mem": "4"}) for i in range(4)]
    offered = {"aliyun.com/gpu-count": "4", "aliyun.com/gpu-mem": "60"}
    items = [
        node_json("n", gpus=4, **offered),
        node_json("m", gpus=4),
        pod_json("own", node="m", **{"nvidia.com/gpu": "1"}),
    ]
    (folder / "mixed.json").write_text(json.dumps({"kind": "List", "items": [*items, *foreign]}))
    return ["--file", str(folder / "mixed.json"), "--dialect", "nvidia"]


def test_nodes_with_pods_that_were_not_understood_take_no_tasks_with_gpus_and_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "in"
    main(["import", *narrowed(tmp_path), "--out", str(out)])
    said = capsys.readouterr()
    assert "4 pods hold accelerators that could not be counted: team/f0 on n (aliyun.com/gpu-mem)" in said.err
    assert f"wrote       {out / 'not-understood.csv'}" in said.out
    assert rows(out / "not-understood.csv")[3] == {"pod": "team/f3", "node": "n", "resource": "aliyun.com/gpu-mem"}
    (tmp_path / "elsewhere.csv").write_text((out / "placements.csv").read_text())
    plain = "\n".join(",".join(line.split(",")[:6]) for line in (out / "nodes.csv").read_text().splitlines())
    (out / "old.csv").write_text(plain)  # nodes of an import that did not say it
    for nodes in ("nodes.csv", "old.csv"):
        files = ["--nodes", str(out / nodes), "--tasks", str(out / "tasks.csv")]
        for placements in (out / "placements.csv", tmp_path / "elsewhere.csv"):
            for command in (["defrag"], ["replay", "--policy", "fgd"]):
                decisions = str(tmp_path / "d.csv")
                where = ["--out" if command == ["defrag"] else "--decisions", decisions]
                main([*command, *files, "--placements", str(placements), *where])
                said = capsys.readouterr()
                assert "1 node takes no new task with GPUs: n (team/f0 asks for aliyun.com/gpu-mem; " in said.err
                assert "n" not in {row.get("to_node", row.get("node")) for row in rows(Path(decisions))}


def test_a_later_import_that_understands_everything_closes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "in"
    main(["import", *narrowed(tmp_path), "--out", str(out)])
    main(["import", *narrowed(tmp_path)[:2], "--out", str(out)])
    assert not (out / "not-understood.csv").exists()
    files = ["--nodes", str(out / "nodes.csv"), "--tasks", str(out / "tasks.csv")]
    capsys.readouterr()
    main(["replay", *files, "--policy", "fgd", "--placements", str(out / "placements.csv")])
    assert capsys.readouterr().err == ""


def test_an_anonymised_import_hides_the_pods_that_were_not_understood_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["import", *narrowed(tmp_path), "--out", str(tmp_path / "in"), "--anonymise"])
    (first, *_) = rows(tmp_path / "in" / "not-understood.csv")
    assert first["pod"].startswith("task-")
    assert first["node"] in {row["sn"] for row in rows(tmp_path / "in" / "nodes.csv")}
    assert "team/" not in capsys.readouterr().err


def test_strict_counts_one_pod_in_the_singular(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [node_json("n", gpus=4), pod_json("p", node="n", **{"example.com/tpu": "1"})]
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": items}))
    with pytest.raises(SystemExit):
        main(["import", "--file", str(tmp_path / "c.json"), "--out", str(tmp_path / "in"), "--strict"])
    assert "--strict: 1 pod: asks for example.com/tpu" in capsys.readouterr().err


def test_strict_makes_anything_left_out_an_error_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["import", *narrowed(tmp_path), "--out", str(tmp_path / "in"), "--strict"])
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("wattpack: --strict: 4 pods: asks in aliyun.com/gpu-mem, which is dialect aliyun")
    assert line.endswith("(team/f0, team/f1, team/f2 and 1 more); expected to understand everything")
    assert not (tmp_path / "in").exists()
    main(["import", *narrowed(tmp_path)[:2], "--out", str(tmp_path / "in"), "--strict"])
    assert (tmp_path / "in" / "nodes.csv").exists()


def test_fit_refuses_a_pod_that_asks_for_a_device_no_dialect_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pod.yaml").write_text(json.dumps(pod_json("wish", **{"gpu.intel.com/i915": "1"})))
    with pytest.raises(SystemExit) as ended:
        main(["fit", "-f", str(tmp_path / "pod.yaml"), "--file", write_cluster(tmp_path)])
    assert ended.value.code == 2
    assert "asks for gpu.intel.com/i915, which no dialect reads" in capsys.readouterr().err


def test_a_list_of_pods_that_may_not_be_all_is_assumed_to_be_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`kubectl get nodes,pods` without -A lists the pods of one namespace, and GPUs of the others look free."""
    file = tmp_path / "c.json"
    words = ["import", "--file", str(file), "--out", str(tmp_path / "in")]
    node, mine, other = node_json("n", gpus=2), pod_json("p", node="n"), pod_json("q", node="n", namespace="other")
    for pods, expected in (
        ([], "assumed     0 pods   in the files or lists: every GPU counts as free"),
        (
            [mine],
            "assumed     1 pod    in the files, all of one namespace, taken for those of the whole cluster (is",
        ),
        ([mine, other], ""),
    ):
        file.write_text(json.dumps({"kind": "List", "items": [node, *pods]}))
        main(words)
        said = capsys.readouterr().out
        assert expected in said
        assert expected or "namespace" not in said


@pytest.mark.parametrize("cordoned", [False, True])
def test_a_node_with_a_pod_that_is_no_task_is_never_said_to_become_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cordoned: bool
) -> None:
    """The task moves from `full` to `a`; `large`, for which `full` has too little CPU, is left out but runs there."""
    full = node_json("full", gpus=2, cpu="10")
    full["spec"]["unschedulable"] = cordoned
    pods = [pod_json("x", node="a", **{"nvidia.com/gpu": "3"}), pod_json("y", node="full", **{"nvidia.com/gpu": "1"})]
    for large, named in ([], True), ([pod_json("large", node="full", cpu="20")], False):
        items = [node_json("a", gpus=4), full, *pods, *large]
        (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": items}))
        out = tmp_path / "in"
        main(["import", "--file", str(tmp_path / "c.json"), "--out", str(out)])
        files = [f"--{name}={out / name}.csv" for name in ("nodes", "tasks", "placements")]
        capsys.readouterr()
        main(["defrag", *files])
        moved = capsys.readouterr().out
        main(["replay", *files, "--policy", "fgd"])
        assert "team/y │ full / " in moved
        assert ("1 node becomes empty: full" in moved) is named
        # a policy leaves a task on a cordoned node
        assert ("1 node becomes empty: full" in capsys.readouterr().out) is (named and not cordoned)
        assert (out / "not-understood.csv").exists() is not named


def test_every_pod_is_in_one_line_of_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gpu = {"nvidia.com/gpu": "1"}
    pods = [
        pod_json("runs", node="n", **gpu),
        pod_json("leaves", node="n", **gpu),
        pod_json("left-early", **gpu),
        pod_json("done", node="n", phase="Failed", **gpu),
        pod_json("daemon", node="n", owner="DaemonSet"),
        pod_json("waiting-daemon", owner="DaemonSet"),
        pod_json("odd", node="n", **{"nvidia.com/gpu": "many"}),
        pod_json("other", node="gone"),
    ]
    for pod in pods[1:3]:
        pod["metadata"]["deletionTimestamp"] = "2026-01-05T11:00:00Z"
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": [node_json("n", gpus=4), *pods]}))
    main(["import", "--file", str(tmp_path / "c.json"), "--out", str(tmp_path / "in")])
    said = capsys.readouterr().out
    counted = {line[12:] for line in said.splitlines() if " pod " in line or " tasks  " in line}
    for line in (
        "2 tasks  2 with GPUs, 0 pending; 2 GPUs allocated",
        "1 pod    of DaemonSets and static: subtracted from their nodes",
        "1 pod    finished: not tasks",
        "1 pod    being deleted, not on a node: not tasks",
        "1 pod    of DaemonSets, not on a node: not tasks",
        "1 pod    quantity 'many', expected one like 500m, 2 or 1.5Gi (team/odd)",
        "1 pod    its node is left out or not in the files (team/other)",
    ):
        assert line in counted
    assert "1 task   being deleted: counted until they end, never moved" in said
    specs = {row["name"]: row["pool_spec"] for row in rows(tmp_path / "in" / "tasks.csv")}
    assert specs == {"team/runs": "", "team/leaves": "held"}


def test_reasons_beyond_the_tenth_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = [pod_json(f"p{i}", node="n", **{"nvidia.com/gpu": f"{i}x"}) for i in range(1, 12)]
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": [node_json("n", gpus=4), *odd]}))
    main(["import", "--file", str(tmp_path / "c.json"), "--out", str(tmp_path / "in")])
    said = capsys.readouterr().out
    assert "left out    1 more for 1 other reason\n" in said
    assert "pod    quantity '11x'" not in said


def test_a_file_lists_every_node_and_pod_that_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table names three of a kind and ten reasons: 30 pods with 15 reasons and 5 nodes are more."""
    nodes = [
        node_json("n", gpus=4),
        *(node_json(f"odd-{i}", gpus=4, model="NVIDIA-GeForce-GTX-1080") for i in range(5)),
    ]
    pods = [pod_json(f"p{i:02d}", namespace=f"t{i % 2}", **{"nvidia.com/gpu": f"{i % 15}x"}) for i in range(30)]
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": [*nodes, *pods]}))
    out = tmp_path / "in"
    words = ["import", "--file", str(tmp_path / "c.json"), "--out", str(out)]
    main(words)
    assert f"wrote       {out / 'left-out.csv'}\n" in capsys.readouterr().out
    listed = rows(out / "left-out.csv")
    assert list(listed[0]) == ["kind", "namespace", "name", "reason"]
    assert [row["name"] for row in listed if row["kind"] == "node"] == [f"odd-{i}" for i in range(5)]
    found = {(row["namespace"], row["name"]): row["reason"] for row in listed if row["kind"] == "pod"}
    assert found == {
        (f"t{i % 2}", f"p{i:02d}"): f"quantity '{i % 15}x', expected one like 500m, 2 or 1.5Gi" for i in range(30)
    }
    main([*words, "--anonymise"])
    hidden = rows(out / "left-out.csv")
    assert len(hidden) == len(listed)
    assert all(row["name"].startswith("node-" if row["kind"] == "node" else "task-") for row in hidden)
    assert not any(row["namespace"] for row in hidden)
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": nodes[:1]}))
    main(words)
    assert not (out / "left-out.csv").exists()  # nothing was left out any more


def test_left_out_is_no_name_for_an_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("left-out.csv", "not-understood.csv"):
        cluster = tmp_path / name
        cluster.write_text(json.dumps(node_json("n", gpus=4)))
        with pytest.raises(SystemExit) as ended:
            main(["import", "--file", str(cluster), "--out", str(tmp_path)])
        assert ended.value.code == 2
        assert "is the input" in capsys.readouterr().err


def acme_cluster(folder: Path) -> str:
    """Everything of a cluster that a user may name, named after an organisation."""
    own = {"acme.example/gpu-model": "acme-h100-pool", "nvidia.com/gpu.product": "NVIDIA-GeForce-GTX-1080"}
    claims = {
        "kind": "ResourceClaim",
        "metadata": {"name": "acme-claim", "namespace": "acme-team"},
        "spec": {"devices": {"requests": [{"name": "acme", "exactly": {"deviceClassName": "acme-class"}}]}},
    }

    def claiming(name: str, called: str, claim: str) -> dict[str, object]:
        spec = {"resourceClaims": [{"name": called, "resourceClaimName": claim}]}
        return pod_json(name, namespace="acme-team", spec=spec, node="acme-n1")

    items = [
        node_json("acme-n1", gpus=4, **{"acme.example/gpu-share": "4"}),
        node_json("acme-n2", gpus=4, labels=own),
        node_json("acme-n3", labels={"acme-model": "T4"}, **{"nvidia.com/gpu": "2"}),
        claims,
        claiming("acme-a", "acme-gpu", "acme-claim"),
        claiming("acme-b", "acme", "acme-not-there"),
        pod_json("acme-c", namespace="acme-team", node="acme-n1", **{"acme.example/gpu-share": "1"}),
        pod_json("acme-d", namespace="acme-team", annotations={"gpu-fraction": "acme-half"}),
        pod_json("acme-e", namespace="acme-team", node="acme-n1", **{"tenstorrent.com/n150": "1"}),
        pod_json(
            "acme-f", spec={"nodeSelector": {"nvidia.com/gpu.product": "acme-special"}}, **{"nvidia.com/gpu": "1"}
        ),
    ]
    (folder / "c.json").write_text(json.dumps({"kind": "List", "items": items}))
    return str(folder / "c.json")


@pytest.mark.parametrize("config", ["", 'gpu_model_label = "acme.example/gpu-model"\n'])
def test_an_anonymised_import_says_nowhere_whose_cluster_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], config: str
) -> None:
    (tmp_path / "w.toml").write_text(config)
    words = ["import", "--file", acme_cluster(tmp_path), "--out", str(tmp_path / "in"), "--config"]
    words.append(str(tmp_path / "w.toml"))
    main(words)
    plain = capsys.readouterr().out + (tmp_path / "in" / "not-understood.csv").read_text()
    for said in ("acme.example/gpu-share", "acme-gpu", "acme-half", "acme-model", "acme-h100" if config else "label"):
        assert said in plain
    main([*words, "--anonymise"])
    said = capsys.readouterr()
    text = "".join(path.read_text() for path in (tmp_path / "in").iterdir()) + said.out + said.err
    assert "acme" not in text.replace(str(tmp_path), "")
    for kept in ("tenstorrent.com/n150, which no dialect reads", "annotation gpu-fraction: quantity 'text-"):
        assert kept in text
    assert config or "label nvidia.com/gpu.product is 'NVIDIA-GeForce-GTX-1080', a model without" in text
    with pytest.raises(SystemExit):
        main([*words, "--anonymise", "--strict"])
    assert "acme" not in capsys.readouterr().err.replace(str(tmp_path), "")


def test_one_of_a_kind_is_counted_in_the_singular(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [node_json("n", gpus=1), pod_json("p", node="n", **{"nvidia.com/gpu": "1"})]
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": items}))
    main(["import", "--file", str(tmp_path / "c.json"), "--out", str(tmp_path / "in")])
    said = capsys.readouterr().out
    assert "understood  1 node   1 GPU (T4)\n" in said
    assert "understood  1 task   1 with GPUs, 0 pending; 1 GPU allocated\n" in said
