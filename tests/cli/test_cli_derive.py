"""`wattpack derive` through its front door."""

from __future__ import annotations

from pathlib import Path

import pytest

from wattpack.cli import main
from wattpack.datasets.csv_files import read_workload
from wattpack.datasets.derive import profile


@pytest.mark.e2e  # 10 s: six commands
def test_a_variant_is_a_task_file_with_the_wanted_share_that_every_command_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "multi35.csv"
    main(["derive", "default", "--multi", "35", "--out", str(out), "--against", "multigpu30"])
    shares = profile(read_workload(out))["gpu_demand_share"]
    assert shares["2"] + shares["4"] + shares["8"] == pytest.approx(0.35, abs=0.002)
    said = capsys.readouterr().out
    assert "multigpu30" in said
    assert str(out) in said
    main(["compare", "--trace", str(out), "--policy", "pwr", "--seeds", "1", "--out", str(tmp_path / "results")])


def test_options_combine_and_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        words = ["--sharing", "60", "--constrained", "20", "--seed", "3", "--out", str(tmp_path / name)]
        main(["derive", "default", *words])
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    found = profile(read_workload(tmp_path / "a.csv"))
    assert found["gpu_demand_share"]["(0,1)"] == pytest.approx(0.6, abs=0.005)
    assert found["constrained_share"] == pytest.approx(0.2, abs=0.001)


@pytest.mark.parametrize(
    "words", [["nosuch"], ["default", "--multi", "101"], ["default", "--sharing", "-1"], ["default", "--seed", "-1"]]
)
def test_bad_input_is_one_line_and_exit_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["derive", *words])
    assert ended.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
