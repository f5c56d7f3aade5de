"""`wattpack import` through its front door, and the other commands on what it wrote."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest

from kube.cluster import rows, write_cluster
from kube.made import node_json, pod_json
from wattpack.cli import main
from wattpack.cli.commands.import_ import import_command
from wattpack.kube.dialects import DIALECTS


def import_cluster(folder: Path, *more: str) -> Path:
    main(["import", "--file", write_cluster(folder), "--out", str(folder / "in"), *more])
    return folder / "in"


def test_the_help_names_every_dialect() -> None:
    said = inspect.getdoc(import_command) or ""
    assert f"How pods ask for GPUs: {', '.join(DIALECTS)}; may be given" in " ".join(said.split())


def test_nodes_tasks_and_placements_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = import_cluster(tmp_path)
    assert (out / "nodes.csv").read_text().splitlines() == [
        "sn,cpu_milli,memory_mib,gpu,model,cpu_model,pool,only,why,capacity_milli",
        "cpu-1,30500,129024,0,,,,,,32000",  # serve-4 is left out, its CPU and memory are not free
        "gpu-a,63500,261120,4,A100-SXM4-80GB,,,,,64000",
        "gpu-b,63500,261120,4,A100-SXM4-80GB,,,,,64000",
        "gpu-t4,15500,64512,2,T4,,,,,16000",
        "master,95500,392192,0,,,,named,tainted,96000",
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
    """As it is: 4 A100 in use and 4 idle, 1 T4 in use and 1 idle; 4 of 9 sockets with a task on them.

    With --allow-slower the policy puts train-2 on one T4 and all shares on the other: two A100 less in use, one T4
    more. It needs two nodes rather than four: two sockets less.
    """
    out = import_cluster(tmp_path)
    capsys.readouterr()
    files = ["--nodes", str(out / "nodes.csv"), "--tasks", str(out / "tasks.csv")]
    where = ["--placements", str(out / "placements.csv"), "--allow-slower"]
    main(["replay", *files, "--policy", "pwr:0.1+fgd:0.9", *where])
    said = capsys.readouterr().out
    lines = {line[:21].strip(): line[21:].split() for line in said.splitlines()}
    assert lines["power, W"][0] == f"{4 * 400 + 4 * 48 + 70 + 10 + 4 * 120 + 5 * 15:,}"
    assert lines["GPUs served"] == ["3.9", "3.9"]
    saved = 2 * (400 - 48) - (70 - 10) + 2 * (120 - 15)
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
