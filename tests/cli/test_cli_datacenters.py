"""`wattpack datacenters` and `wattpack traces` through their front doors, and edits in the commands that have them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import wattpack as wp
from cli.files import write_nodes, write_tasks
from wattpack.cli import main
from wattpack.datasets.alibaba2023_times import timed_trace
from wattpack.datasets.arrival_shapes import read_shape
from wattpack.datasets.csv_files import read_datacenter, read_workload
from wattpack.datasets.generators import generate
from wattpack.datasets.inflation import node_order, seeded
from wattpack.datasets.node_types import file_rows
from wattpack.datasets.sources import DATACENTERS, load_datacenter, load_trace
from wattpack.datasets.timed_files import read_timed_tasks
from wattpack.experiments.digests import trace_digest

TASKS_IN_ORDER = """name,cpu_milli,memory_mib,num_gpu,gpu_milli
a,1000,1024,1,1000
b,1000,1024,1,500
c,1000,1024,1,1000
d,1000,1024,0,0
"""
Captured = pytest.CaptureFixture[str]


def test_all_built_in_datacenters_are_listed(capsys: Captured) -> None:
    main(["datacenters"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines[1:]] == [
        ["alibaba2023", "1,213", "6,212", "107,018"],
        ["alibaba2026", "4,278", "10,412", "632,636"],
    ]


def test_a_description_has_types_watts_sources_and_assumptions(capsys: Captured) -> None:
    """A node of 8 H800 and 192 vCPU has 6 sockets: idle 8 x 70 + 6 x 15, full 8 x 700 + 6 x 120 W, measured 8 x 490."""
    main(["datacenters", "alibaba2026"])
    said = capsys.readouterr().out
    row = next(line for line in said.splitlines() if "H800" in line and "│" in line)
    assert [cell.strip() for cell in row.split("│")] == [
        *("219", "8", "H800", "192", "1,536"),
        *("650", "6,320", "650", "4,640"),
    ]
    assert "paper, linear, concave" in said
    assert "source: node list of cluster-trace-v2026-spot-gpu" in said
    assert "GPU-series-1 is taken for L20" in said
    assert "GPU-series-2 is taken for H20" in said


@pytest.mark.parametrize("name", DATACENTERS)
@pytest.mark.parametrize("seed", [42, 7])
def test_an_exported_datacenter_is_the_same_one_in_the_node_order_of_a_seed(
    name: str, seed: int, tmp_path: Path, capsys: Captured
) -> None:
    main(["datacenters", name, "--out", str(tmp_path / "nodes.csv"), *([] if seed == 42 else ["--seed", str(seed)])])
    found, whole = read_datacenter(tmp_path / "nodes.csv"), load_datacenter(name)
    expected = whole.ordered(node_order(whole, seeded(seed).node_order))
    assert list(file_rows(found)) == list(file_rows(expected))
    assert sorted(found.names) == sorted(whole.names)
    assert f"seed {seed}" in capsys.readouterr().out


def test_nodes_of_ones_own_file_are_written_in_their_order(tmp_path: Path, capsys: Captured) -> None:
    nodes = write_nodes(
        tmp_path, "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"n{i},8000,1024,1,T4\n" for i in range(9))
    )
    main(["datacenters", nodes, "--add", "T4-1", "--out", str(tmp_path / "more.csv")])
    assert read_datacenter(tmp_path / "more.csv").names == (*(f"n{i}" for i in range(9)), "t4-1-added-0001")
    assert "seed" not in capsys.readouterr().out


def test_exported_files_decide_as_the_documented_seed_does(tmp_path: Path, capsys: Captured) -> None:
    """By class and model, as the tables list them, FGD serves 64 % of the GPUs instead of 97."""
    nodes, tasks, decisions = (str(tmp_path / name) for name in ("nodes.csv", "tasks.csv", "decisions.csv"))
    main(["datacenters", "alibaba2023", "--out", nodes])
    main(["traces", "default", "--out", tasks])
    main(["replay", "--nodes", nodes, "--tasks", tasks, "--policy", "fgd", "--decisions", decisions])
    capsys.readouterr()
    with Path(decisions).open() as file:
        found = [row["node"] for row in csv.DictReader(file)]
    run = wp.simulate("alibaba2023", "default", "fgd", seed=42)
    assert found == [run.node_name(i) for i in range(len(found))]


def test_an_edited_file_of_ones_own_is_written_with_its_cpu_models(tmp_path: Path, capsys: Captured) -> None:
    text = "sn,cpu_milli,memory_mib,gpu,model,cpu_model\na,8000,1024,1,T4,EPYC 7742\nb,8000,1024,1,A10,\n"
    nodes = write_nodes(tmp_path, text)
    main(["datacenters", nodes, "--remove", "A10", "--add", "2xT4-1", "--add", "A10-2", "--out=-"])
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "sn,cpu_milli,memory_mib,gpu,model,cpu_model",
        "a,8000,1024,1,T4,EPYC 7742",
        "t4-1-added-0001,8000,1024,1,T4,EPYC 7742",
        "t4-1-added-0002,8000,1024,1,T4,EPYC 7742",
        "a10-2-added-0001,32000,262144,2,A10,",
    ]
    assert "source:" not in said.err
    assert "4 nodes written" in said.err


def test_a_user_file_named_as_a_built_in_one_has_no_source_of_it(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "alibaba2026.csv"
    path.write_text("sn,cpu_milli,memory_mib,gpu,model\na,8000,1024,1,T4\n")
    main(["datacenters", str(path), "--profile", "measured"])
    assert "assumed" not in capsys.readouterr().out


@pytest.mark.parametrize("seed", [42, 7])
def test_an_exported_trace_is_in_the_order_of_arrival_of_a_seed(seed: int, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "tasks.csv"
    main(["traces", "gpuspec33", "--out", str(out), *([] if seed == 42 else ["--seed", str(seed)])])
    found, trace = read_workload(out), load_trace("gpuspec33")
    expected = seeded(seed).workload.permutation(trace.sequence)
    assert [found.classes[k] for k in found.sequence] == [trace.classes[k] for k in expected]
    assert f"seed {seed}" in capsys.readouterr().out


def test_tasks_of_ones_own_file_are_written_in_their_order(tmp_path: Path, capsys: Captured) -> None:
    tasks, out = write_tasks(tmp_path, TASKS_IN_ORDER), str(tmp_path / "again.csv")
    main(["traces", tasks, "--out", out])
    assert read_workload(out).sequence.tolist() == [0, 1, 0, 2]
    assert trace_digest(read_workload(out)) == trace_digest(read_workload(tasks))
    assert "seed" not in capsys.readouterr().out


def test_a_variant_of_a_built_in_trace_is_in_an_order_of_arrival(tmp_path: Path, capsys: Captured) -> None:
    """By class, the tasks of several GPUs that were added would all come last."""
    main(["derive", "default", "--multi", "20", "--out", str(tmp_path / "tasks.csv")])
    found = read_workload(tmp_path / "tasks.csv")
    several = np.flatnonzero(found.gpu_request_milli() > 1000) / len(found)
    assert 0.4 < several.mean() < 0.6
    capsys.readouterr()


def test_all_built_in_traces_are_listed(capsys: Captured) -> None:
    main(["traces"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 14
    assert lines[1].split()[:8] == ["default", "8,152", "151", "6,086.8", "28.5", "64.3", "7.3", "0.0"]
    assert lines[1].split()[8:] == ["3.08", "10.0", "57.0"]  # GPU-hours and median minutes of a task, % of services


def test_a_trace_without_gpus_has_no_demand_of_any_kind(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "cpu.csv"
    path.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1000,1024,0,0\n")
    main(["traces", str(path)])
    assert capsys.readouterr().out.splitlines()[1].split() == ["cpu", "1", "1", *["0.0"] * 5]


def test_tasks_are_drawn_at_a_load_and_written_with_their_times(tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "drawn.csv"
    main(
        [
            "traces",
            "default",
            "--load",
            "0.01",
            "--days",
            "1",
            "--arrivals",
            "poisson",
            "--seed",
            "3",
            "--out",
            str(out),
        ]
    )
    tasks = read_timed_tasks(out)
    expected = generate(timed_trace("default"), 6_212_000, 0.01, 1, seeded(3).workload, read_shape("poisson"))
    assert tasks.arrival_s.tolist() == expected.arrival_s.tolist()
    assert tasks.duration_s.tolist() == expected.duration_s.tolist()
    assert tasks.workload.gpu_request_milli().tolist() == expected.workload.gpu_request_milli().tolist()
    assert capsys.readouterr().out.startswith(f"{len(tasks):,} tasks of default over 1 days, 65 of them at time 0; ")


@pytest.mark.parametrize(
    "words",
    [
        ["traces", "--load", "0.5"],
        ["traces", "default", "--days", "2"],
        ["traces", "default", "--load", "nan"],
        ["traces", "default", "--load", "0.5", "--arrivals", "odd"],
        ["traces", "default", "--load", "0.5", "--seed", "-1"],
        ["datacenters", "nosuch"],
        ["datacenters", "--add", "T4-1"],
        ["datacenters", "--out", "x.csv"],
        ["datacenters", "alibaba2023", "--add", "2xNOSUCH-8"],
        ["datacenters", "alibaba2023", "--remove", "H100"],
        ["datacenters", "alibaba2023", "--profile", "nosuch"],
        ["traces", "--out", "x.csv"],
        ["traces", "nosuch"],
        ["compare", "--datacenter", "alibaba2026", "--remove", "T4"],
        ["tune", "--datacenter", "alibaba2026", "--remove", "T4"],
        ["bound", "--add", "x"],
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_output_may_not_be_the_edited_file(tmp_path: Path, capsys: Captured) -> None:
    nodes = write_nodes(tmp_path)
    with pytest.raises(SystemExit):
        main(["datacenters", nodes, "--add", "T4-1", "--out", nodes])
    assert "which would be lost" in capsys.readouterr().err


@pytest.mark.compiled
def test_compare_says_the_edits_in_its_results_and_has_the_ids_of_the_same_nodes_in_a_file(
    tmp_path: Path, capsys: Captured
) -> None:
    nodes, tasks = write_nodes(tmp_path), write_tasks(tmp_path)
    edits = ["--remove", "1xG2-8", "--add", "2xT4-4"]
    common = ["--trace", tasks, "--policy", "pwr", "--seeds", "1", "--no-bound"]
    main(["compare", "--datacenter", nodes, *edits, *common, "--out", str(tmp_path / "edited")])
    main(["datacenters", nodes, *edits, "--out", str(tmp_path / "same.csv")])
    main(["compare", "--datacenter", str(tmp_path / "same.csv"), *common, "--out", str(tmp_path / "same")])
    capsys.readouterr()
    rows = [json.loads((tmp_path / name / "experiment.json").read_text())["scenarios"] for name in ("edited", "same")]
    assert [row["id"] for row in rows[0]] == [row["id"] for row in rows[1]]
    assert rows[0][0]["datacenter"] == f"{nodes} --remove 1xG2-8 --add 2xT4-4"
    with (tmp_path / "edited" / "summary.csv").open() as file:
        assert next(csv.DictReader(file))["datacenter"].endswith("--remove 1xG2-8 --add 2xT4-4")
    assert "--remove 1xG2-8" in (tmp_path / "edited" / "report.html").read_text()


@pytest.mark.compiled
def test_replay_explain_and_bound_take_edits_and_built_in_names(tmp_path: Path, capsys: Captured) -> None:
    nodes, tasks = write_nodes(tmp_path), write_tasks(tmp_path)
    decisions = tmp_path / "decisions.csv"
    words = ["--tasks", tasks, "--policy", "pwr", "--remove", "G2", "--add", "H100-8"]
    main(["replay", "--nodes", nodes, *words, "--decisions", str(decisions)])
    assert "eight,h100-80gb-hbm3-8-added-0001,0-1-2-3-4-5-6-7" in decisions.read_text()
    main(["replay", "--nodes", "alibaba2026", "--tasks", tasks, "--policy", "pwr", "--decisions", str(decisions)])
    assert "eight,l20-8-0001" in decisions.read_text()
    capsys.readouterr()
    main(["explain", "alibaba2026", tasks, "--policy", "pwr", "--task", "eight", "--remove", "L20", "--top", "1"])
    assert "decision: node h20-8-0001" in capsys.readouterr().out
    main(["bound", "--datacenter", nodes, "--trace", tasks, "--add", "T4-4", "--loads", "0.5"])
    capsys.readouterr()


@pytest.mark.compiled
def test_an_experiment_file_may_edit_its_datacenters(tmp_path: Path, capsys: Captured) -> None:
    write_nodes(tmp_path), write_tasks(tmp_path)
    (tmp_path / "e.toml").write_text(
        'policy = "fgd"\ntrace = "tasks.csv"\nseeds = 1\n'
        'datacenter = ["nodes.csv", "nodes.csv --remove T4 --add T4-8"]\n'
    )
    main(["run", str(tmp_path / "e.toml"), "--out", str(tmp_path / "out")])
    capsys.readouterr()
    rows = json.loads((tmp_path / "out" / "experiment.json").read_text())["scenarios"]
    assert {row["datacenter"] for row in rows} == {"nodes.csv", "nodes.csv --remove T4 --add T4-8"}
    assert len({row["datacenter_digest"] for row in rows}) == 2
