"""Every example of the guide to experiments does what the guide says."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from cli.files import write_nodes, write_tasks
from wattpack.cli import main
from wattpack.experiments.options import Offered
from wattpack.experiments.spec import load_experiment
from wattpack.experiments.spec.axes import resolve

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "experiments.md").read_text(encoding="utf-8")
SMALL = """
datacenter = "nodes.csv"
trace = "tasks.csv"
policy = ["fgd", "pwr"]
batch = [1, 4]
seeds = 2
steady = 0.5
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, flags=re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_nodes(tmp_path)
    write_tasks(tmp_path)
    monkeypatch.setattr(Offered.__new__, "__defaults__", (2000,))  # arrivals: 60,000 would take a minute
    (tmp_path / "experiment.toml").write_text(SMALL)
    return tmp_path


def test_each_query_gives_each_policy_and_window_once(folder: Path) -> None:
    main(["run", "experiment.toml", "--out", "out"])
    over_load, savings, latest = (duckdb.sql(query).fetchall() for query in blocks("sql"))
    assert max(row[-1] for row in over_load) == 2  # seeds: no run is counted twice
    assert {(row[4], row[5]) for row in over_load} == {(p, b) for p in ("fgd", "pwr") for b in (1, 4)}
    runs = Counter(row[:4] for row in savings)
    assert {(policy, batch) for _, policy, batch, _ in runs} == {("fgd", 4), ("pwr", 1), ("pwr", 4)}
    assert set(runs.values()) == {1}
    assert len(latest) == 4


def test_the_example_in_python_runs_as_it_stands(folder: Path) -> None:
    (example,) = blocks("python")
    found: dict[str, object] = {}
    exec(compile(example, "experiments.md", "exec"), found)
    assert set(found["curves"]) == {("tasks.csv", policy) for policy in ("fgd", "fgd batch 4", "pwr", "pwr batch 4")}
    assert (folder / "out" / "summary.csv").is_file()
    assert (folder / "out" / "steady.csv").is_file()
    assert len(found["steady"]) == 2 * 2 * 2  # policies, with and without windows, seeds


def test_the_files_of_the_guide_are_as_many_runs_as_it_says(folder: Path) -> None:
    first, second = blocks("toml")
    (folder / "first.toml").write_text(first)
    (folder / "second.toml").write_text(second)
    experiment = load_experiment("first.toml")
    assert Counter(scenario.kind for scenario in resolve(experiment)[1]) == {"fill-up": 180, "steady": 720}
    # 3 seeds x (3 policies on one trace and 2 on the other)
    assert len(resolve(load_experiment("second.toml"))[1]) == 15
