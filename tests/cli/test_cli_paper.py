"""`wattpack paper` through the front door, on a small part of the paper's runs."""

import csv
from pathlib import Path

import pytest

import wattpack.cli.commands.paper as paper
from wattpack.cli import main
from wattpack.datasets import alibaba2023
from wattpack.experiments.lineup import COMPETITORS, MIXES
from wattpack.experiments.scenario import Inputs
from wattpack.experiments.spec import Block, Experiment
from wattpack.model.power import PAPER
from wattpack.paper import setting
from wattpack.paper.experiment import load_paper
from wattpack.paper.published import AGREES, MEASURES

pytestmark = pytest.mark.compiled
POLICIES = ("fgd", "pwr", *MIXES, *COMPETITORS)


@pytest.fixture(autouse=True)
def only_the_default_trace(monkeypatch):
    inputs = Inputs(
        {alibaba2023.NAME: alibaba2023.datacenter()}, {"default": alibaba2023.trace("default")}, {PAPER.name: PAPER}
    )
    monkeypatch.setattr(paper, "load_paper", lambda: Experiment("paper", (Block(POLICIES),), inputs))


def run(*arguments: object) -> int:
    try:
        main(["paper", *map(str, arguments)])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def write_published(folder: Path) -> Path:
    """Results of others that say: all is allocated, nothing is fragmented."""
    folder.mkdir()
    for measure in MEASURES:
        rows = [["trace", "policy", "seed", *range(131)]]
        rows += [
            ["default", "fgd", seed, *((i if "allocation" in measure else 0) for i in range(131))] for seed in (1, 2)
        ]
        with (folder / f"{measure}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
    return folder


def test_all_results_are_written_and_the_verdicts_printed(tmp_path, capsys):
    out = tmp_path / "out"
    assert run("--seeds", 1, "--out", out) == 0
    printed = capsys.readouterr()
    with (out / "claims.csv").open(newline="", encoding="utf-8") as file:
        claims = list(csv.DictReader(file))
    assert [claim["id"] for claim in claims][:3] == ["T1", "T2", "E1"]
    assert "D1" in printed.out
    assert f"{len(claims)} statements: " in printed.out
    assert "9 runs done" in printed.err
    for name in ("summary.csv", "report.html", "experiment.json", "tables/table1.csv", "tables/table2.md"):
        assert (out / name).stat().st_size > 0
    # figures of traces that were not run are left out
    assert {path.name for path in (out / "figures").iterdir()} >= {"fig1.pdf", "fig1.png", "fig3.pdf", "fig7.png"}
    assert claims[0]["measured"] in (out / "report.html").read_text(encoding="utf-8")
    assert not (out / "published.csv").exists()


@pytest.mark.e2e  # 7 to 9 s
def test_the_same_command_goes_on_from_finished_runs(tmp_path, capsys):
    out = tmp_path / "out"
    assert run("--seeds", 1, "--out", out) == 0
    first = (out / "claims.csv").read_bytes()
    lost = next((out / "runs").iterdir())
    lost.unlink()
    capsys.readouterr()
    assert run("--seeds", 1, "--out", out) == 0
    assert "1 runs done" in capsys.readouterr().err
    assert (out / "claims.csv").read_bytes() == first


@pytest.mark.e2e  # 7 to 9 s
def test_a_policy_of_ours_and_the_bound_are_drawn_too_and_change_no_verdict(tmp_path, capsys, monkeypatch):
    assert run("--seeds", 1, "--out", tmp_path / "plain") == 0
    drawn = []
    monkeypatch.setattr(paper, "write_pictures", lambda out, results, claims, made, extra: drawn.extend(extra))
    out = tmp_path / "out"
    assert run("--seeds", 1, "--out", out, "--policy", "ocs", "--bound") == 0
    assert drawn == ["ocs", "bound"]
    assert (out / "claims.csv").read_bytes() == (tmp_path / "plain" / "claims.csv").read_bytes()
    with (out / "summary.csv").open(newline="", encoding="utf-8") as file:
        assert {"ocs", "bound"} < {row["policy"] for row in csv.DictReader(file)}


def test_it_says_what_auto_chose_in_its_output_and_its_report(tmp_path, capsys):
    out = tmp_path / "out"
    assert run("--seeds", 1, "--out", out, "--policy", "auto") == 0
    assert "default: auto -> " in capsys.readouterr().out
    assert "auto -&gt; " in (out / "report.html").read_text(encoding="utf-8")


def test_published_results_are_compared(tmp_path, capsys):
    out, published = tmp_path / "out", write_published(tmp_path / "theirs")
    assert run("--seeds", 1, "--out", out, "--published", published) == 0
    assert f"(1 pairs of trace and policy) are {AGREES}" in capsys.readouterr().out
    with (out / "published.csv").open(newline="", encoding="utf-8") as file:
        assert {(row["trace"], row["policy"]) for row in csv.DictReader(file)} == {("default", "fgd")}


@pytest.mark.parametrize("arguments", [("--seeds", 0), ("--published", "nowhere"), ("--on", "moon"), ("--workers", 0)])
def test_wrong_input_is_one_line_and_code_2(tmp_path, capsys, arguments):
    assert run("--out", tmp_path / "out", *arguments) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert told[-1].startswith("wattpack: ")
    assert "Traceback" not in "".join(told)


def test_a_table_that_is_not_the_papers_ends_with_code_1(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(setting, "NODES", 1214)
    assert run("--seeds", 1, "--out", tmp_path / "out") == 1
    assert "must hold, but differs: T2, 1,213 nodes, 1,214 in the paper" in capsys.readouterr().err


def test_the_papers_experiment_has_the_curves_of_every_statement():
    from wattpack.paper.claims import RULES

    blocks = load_paper().blocks
    keys = {(trace, policy) for block in blocks for trace in block.traces for policy in block.policies}
    assert all(key in keys for rule in RULES for key in rule.needs)
    # A4 and A5 speak of shares above 0.2 and below 0.05, on Default
    assert {("default", "pwr:0.3+fgd:0.7"), ("default", "pwr:0.02+fgd:0.98")} <= keys
