"""`wattpack tune` through its front door."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cli.files import write_nodes, write_tasks
from wattpack.answers.tune import advice_lines
from wattpack.cli import main
from wattpack.experiments.runner import Outcome
from wattpack.experiments.scenario import Inputs
from wattpack.experiments.tune.measured import Measured, advise
from wattpack.experiments.tune.search import Tuned, Wanted

FEW = ("--policy", "pwr", "--policy", "PWR:.1+fgd:0.9", "--policy", "OCS@0.60")


def test_it_prints_the_front_and_the_advice_and_writes_table_and_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["--datacenter", write_nodes(tmp_path), "--trace", write_tasks(tmp_path), "--out", str(out)]
    main(["tune", *words, "--seeds", "3", "--loads", "0.5,0.9", "--against", "fgd", *FEW])
    said = capsys.readouterr().out
    assert "No policy saves measurably here (3 seeds). Keep the one you have." in said  # 3 seeds of 7 tasks are few
    assert "fill-up at 0.5, 0.9" in said
    with (out / "pareto.csv").open(newline="") as file:
        rows = {row["policy"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"fgd", "pwr", "pwr:0.1+fgd:0.9", "ocs@0.6"}
    (best,) = [row for row in rows.values() if row["recommended"] == "1"]
    assert best["policy"] in said
    assert best["fresh_seeds"] == "3"
    assert float(rows["fgd"]["saving"]) == 0.0
    for kind in ("png", "pdf"):
        assert (out / "figures" / f"pareto-tasks.{kind}").stat().st_size > 5_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--seeds", "1"), "--seeds 1, expected 2 to"),
        (("--loads", "0.5,x"), "expected loads above 0 and up to 1.3"),
        (("--loads", "2"), "expected loads above 0 and up to 1.3"),
        (("--steady", "0"), "expected loads above 0"),
        (("--policy", "ocs@200"), "service 200"),
        (("--policy", "fgd@1"), "'fgd' has no knob"),
        (("--profile", "nosuch"), "expected one of paper"),
        (("--grar-loss", "-1"), "expected 0 to 1"),
        (("--trace", "nosuch"), "no trace of this name"),
        (("--on", "nosuch", "--seeds", "2"), "nosuch"),
    ],
)
def test_bad_input_gets_one_line_exit_2_and_no_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["tune", "--out", str(tmp_path / "out"), *words])
    assert ended.value.code == 2
    lines = [line for line in capsys.readouterr().err.strip().splitlines() if not line.startswith("compiling")]
    assert len(lines) == 1
    assert said in lines[0]
    assert not (tmp_path / "out").exists()


@pytest.mark.compiled
def test_ctrl_c_ends_with_130_and_the_same_command_goes_on_from_the_finished_runs(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["tune", "--out", str(out), "--seeds", "8", "--loads", "0.5", *FEW]
    command = [sys.executable, "-m", "wattpack", *words]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ})
    runs = out / "runs"
    while not (runs.is_dir() and len(list(runs.glob("*.parquet"))) >= 3):
        assert child.poll() is None, child.communicate()[1]
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "the same command goes on" in said
    kept = {file.name: file.stat().st_mtime_ns for file in runs.glob("*.parquet")}
    main(words)
    after = {file.name: file.stat().st_mtime_ns for file in runs.glob("*.parquet")}
    assert len(after) > len(kept)
    assert {name: after[name] for name in kept} == kept
    assert (out / "pareto.csv").is_file()


@pytest.mark.parametrize(
    ("savings", "said"),
    [
        ((0.0134, 0.1498), "No policy saves measurably here (2 seeds). Keep the one you have."),
        ((0.1416, 0.1417), "recommended: pwr"),
    ],
)
def test_a_saving_within_its_noise_is_said_to_be(savings: tuple[float, ...], said: str) -> None:
    base = Measured("fgd", (44, 45), np.zeros(2), np.ones(2))
    best = Measured("pwr", (44, 45), np.array(savings), np.ones(2))
    tuned = Tuned(
        (best, base),
        {},
        (best,),
        {"pwr": best, "fgd": base},
        advise("pwr", None, {"pwr": best, "fgd": base}),
        Outcome(),
        Inputs({}, {}, {}),
    )
    lines = advice_lines(tuned, Wanted("nodes.csv", "tasks.csv", seeds=2, against="fgd"))
    assert lines[0] == said
    assert any("--seeds 8" in line for line in lines) == ("Keep" in said)


def test_a_lead_that_rounds_to_zero_has_no_sign() -> None:
    best, base = (
        SimpleNamespace(policy=p, saving=0.1, saving_error=0.01, grar=1.0, seeds=(1, 2), against=()) for p in ("a", "c")
    )
    advice = SimpleNamespace(
        best=best, base=base, next=SimpleNamespace(policy="b"), lead=-1e-6, lead_error=0.0, is_clear=False, wins=0
    )
    tuned: Any = SimpleNamespace(advice=advice, checked={})
    wanted = Wanted("nodes.csv", "tasks.csv", seeds=2, grar_loss=0.0)
    assert "  not told apart from the next, b: better in 0 of 2 seeds, by 0.00 ± 0.00 points" in advice_lines(
        tuned, wanted
    )
