"""What Python can ask as the command line does: the same numbers, and a text that is what the command prints."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import wattpack as wp
from cli.files import write_nodes, write_tasks
from datasets.trace_files import FILES
from experiments.small import write_spec
from wattpack.cli import main

Captured = pytest.CaptureFixture[str]

TIMES = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,duration
a,1000,1000,1,1000,0,600
b,1000,1000,2,1000,10,600
c,1000,1000,1,500,20,300
d,1000,1000,2,1000,30,600
"""


def write_timed(folder: Path) -> Path:
    file = folder / "timed.csv"
    file.write_text(TIMES)
    return file


def printed(capsys: Captured, *words: object) -> str:
    """What a command prints, without spaces at the ends of lines."""
    capsys.readouterr()
    main([str(word) for word in words])
    return "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines())


def cells(path: Path, column: str) -> list[str]:
    with path.open(newline="") as file:
        return [row[column] for row in csv.DictReader(file)]


def test_policies_lists_what_the_command_lists_also_when_the_package_of_that_name_was_imported_before(
    capsys: Captured,
) -> None:
    assert str(wp.policies()) == printed(capsys, "policies")
    assert {"fgd", "pwr", "ocs", "auto"} <= set(wp.policies().names)
    assert list(wp.policies().to_pandas()["name"]) == wp.policies().names
    import wattpack.policies as package

    assert wp.policies is package


def test_plan_finds_the_number_of_nodes_that_the_command_prints(tmp_path: Path, capsys: Captured) -> None:
    nodes, tasks = write_nodes(tmp_path), write_timed(tmp_path)
    found = wp.plan("T4-2", "1m", datacenter=nodes, trace=tasks, policy="fgd", queue="fifo")
    words = ["--datacenter", nodes, "--trace", tasks, "--policy", "fgd", "--queue", "fifo", "--out", tmp_path / "out"]
    shown = printed(capsys, "plan", "T4-2", "--wait-p99", "1m", *words)
    assert str(found) in shown
    frame = found.to_pandas()
    assert list(frame["nodes"]) == [int(number) for number in cells(tmp_path / "out" / "plan.csv", "nodes")]
    assert found.least in list(frame["nodes"][frame["keeps"]])


def test_tune_recommends_what_the_command_recommends(tmp_path: Path, capsys: Captured) -> None:
    nodes, tasks = write_nodes(tmp_path), write_tasks(tmp_path)
    found = wp.tune(nodes, tasks, ["pwr", "ocs"], 3, loads=[0.5, 0.9])
    words = ["--datacenter", nodes, "--trace", tasks, "--out", tmp_path / "out", "--seeds", 3, "--loads", "0.5,0.9"]
    shown = printed(capsys, "tune", *words, "--policy", "pwr", "--policy", "ocs")
    assert str(found) in shown
    rows = dict(zip(cells(tmp_path / "out" / "pareto.csv", "policy"), range(9), strict=False))
    frame = found.to_pandas()
    assert list(frame["policy"]) == list(rows)
    assert found.recommended == frame["policy"][frame["recommended"] == 1].item()
    saved = [float(cell) for cell in cells(tmp_path / "out" / "pareto.csv", "saving")]
    np.testing.assert_array_equal(frame["saving"], saved)


def test_tune_sleep_finds_what_the_command_finds(tmp_path: Path, capsys: Captured) -> None:
    nodes, tasks = write_nodes(tmp_path), write_timed(tmp_path)
    found = wp.tune_sleep("30m", nodes, tasks, "fgd", sleep="idle=1m,reserve=0")
    words = ["--datacenter", nodes, "--trace", tasks, "--policy", "fgd", "--sleep", "idle=1m,reserve=0"]
    shown = printed(capsys, "tune", *words, "--wait-p99", "30m", "--out", tmp_path / "out")
    assert str(found) in shown
    assert list(found.to_pandas()["sleep"]) == cells(tmp_path / "out" / "sleep.csv", "sleep")


def test_bound_takes_objects_and_gives_the_table_and_the_rows_of_the_command(tmp_path: Path, capsys: Captured) -> None:
    nodes, tasks, out = write_nodes(tmp_path), write_tasks(tmp_path), tmp_path / "bound.csv"
    found = wp.bound(wp.load_datacenter(nodes), tasks, loads=[0.5, 1.0], sleep_w=10)
    words = ["--datacenter", nodes, "--trace", tasks, "--loads", "0.5,1.0", "--sleep-w", 10]
    assert str(found) == printed(capsys, "bound", *words)
    printed(capsys, "bound", *words, "--out", out)
    least = [float(cell) for cell in cells(out, "power_least_w")]
    np.testing.assert_allclose(found.to_pandas()["power_least_w"], least, atol=1e-6)
    with pytest.raises(wp.UserError, match="loads"):
        wp.bound(nodes, tasks, loads=[2.0])


def test_explain_shows_the_decision_that_the_command_shows(tmp_path: Path, capsys: Captured) -> None:
    nodes, tasks = write_nodes(tmp_path), write_tasks(tmp_path)
    found = wp.explain(nodes, wp.load_trace(tasks), "pwr:0.1+fgd:0.9", "share-2")
    words = [nodes, tasks, "--policy", "pwr:0.1+fgd:0.9", "--task", "share-2"]
    assert str(found) == printed(capsys, "explain", *words)
    frame = found.to_pandas()
    assert list(frame["node"][frame["chosen"]]) == [found.node] != [""]
    fitting = frame[frame["reason"] == ""]
    np.testing.assert_allclose(fitting["pwr"] + fitting["fgd"], fitting["total"])
    with pytest.raises(wp.UserError, match="task 'nobody'"):
        wp.explain(nodes, tasks, "fgd", "nobody")


def test_explain_at_a_moment_says_what_the_command_says(tmp_path: Path, capsys: Captured) -> None:
    nodes, tasks = write_nodes(tmp_path), write_timed(tmp_path)
    found = wp.explain(nodes, wp.load_trace(tasks), "fgd", "b", at="2m")
    assert str(found) == printed(capsys, "explain", nodes, tasks, "--policy", "fgd", "--task", "b", "--at", "2m")
    with pytest.raises(wp.UserError, match="has no times"):
        wp.explain(nodes, write_tasks(tmp_path), "fgd", "share-2", at="2m")


def test_import_trace_gives_tasks_that_simulate_runs_in_time(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / FILES["philly"][0]
    file.write_text(FILES["philly"][1])
    found = wp.import_trace("philly", file)
    assert str(found) == printed(capsys, "import-trace", "philly", file)
    again = wp.load_trace(found.save(tmp_path / "tasks.csv"))
    assert again.to_pandas().equals(found.to_pandas())
    run = wp.simulate(write_nodes(tmp_path), found.trace, "fgd", queue="backfill")
    assert len(run) == len(found.tasks)
    with pytest.raises(wp.UserError, match="unknown format 'nosuch'"):
        wp.import_trace("nosuch", file)


def test_run_experiment_shows_and_keeps_what_the_command_does(tmp_path: Path, capsys: Captured) -> None:
    spec = write_spec(tmp_path, 'policy = ["pwr", "fgd"]\ndatacenter = "nodes.csv"\ntrace = "tasks.csv"\nseeds = 2\n')
    found = wp.run_experiment(spec, out=tmp_path / "ours")
    shown = printed(capsys, "run", spec, "--out", tmp_path / "out")
    table = str(found).rpartition("\n")[0]
    assert table
    assert table in shown
    assert (tmp_path / "ours" / "summary.csv").read_bytes() == (tmp_path / "out" / "summary.csv").read_bytes()
    saved = [float(cell or "nan") for cell in cells(tmp_path / "out" / "summary.csv", "saving")]
    np.testing.assert_array_equal(found.to_pandas()["saving"], saved)


def test_run_experiment_has_runs_in_time_as_a_frame(tmp_path: Path) -> None:
    nodes, tasks = write_nodes(tmp_path), write_timed(tmp_path)
    spec = tmp_path / "timed.toml"
    spec.write_text(
        f"policy = ['fgd', 'pwr']\ndatacenter = [{str(nodes)!r}]\ntrace = [{str(tasks)!r}]\n[timed]\nqueue = 'fifo'\n"
    )
    found = wp.run_experiment(spec, out=tmp_path / "out")
    frame = found.timed_to_pandas()
    assert list(frame["policy"]) == cells(tmp_path / "out" / "time.csv", "policy") == ["fgd", "pwr"]
    np.testing.assert_array_equal(frame["kwh"], [float(c) for c in cells(tmp_path / "out" / "time.csv", "kwh")])
    assert "saving against fgd" in str(found)


def test_a_datacenter_as_an_object_is_refused_in_one_line_where_runs_are_found_again_by_its_name() -> None:
    with pytest.raises(wp.UserError, match=r"^datacenter: of type Datacenter, expected a built-in name or the path"):
        wp.plan("T4-2", "1m", datacenter=wp.load_datacenter("alibaba2023"))  # type: ignore[arg-type]
