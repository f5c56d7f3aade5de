"""Steady states that are kept: found again, and run again where the file is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.small import small_experiment
from wattpack.experiments.axes import resolve
from wattpack.experiments.steady_table import SteadyRow, run_steady_table


def quiet(done: int, everything: int, what: str) -> None:
    pass


def run(out: Path) -> tuple[list[SteadyRow], int]:
    """The rows, and how many of the runs were there."""
    inputs, scenarios = resolve(small_experiment(("fgd",), seeds=2))
    there: list[int] = []
    rows = run_steady_table(scenarios, inputs, (0.5,), out, lambda done, *_: there.append(done), arrivals=20)
    return rows, there[0]


def test_finished_steady_states_are_not_run_again(tmp_path: Path) -> None:
    first, there = run(tmp_path)
    assert there == 0
    assert run(tmp_path) == (first, 2)


@pytest.mark.parametrize("damage", ["empty", "cut", "changed", "no checksum", "not an object", "another field"])
def test_a_damaged_steady_state_is_said_and_run_again(
    tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expected, _ = run(tmp_path)
    file = sorted((tmp_path / "steady").iterdir())[0]
    text = file.read_text()
    line = next(line for line in text.splitlines() if '"eopc_w"' in line)
    check = next(line for line in text.splitlines() if '"crc32"' in line)
    file.write_text(
        {
            "empty": "",
            "cut": text[: len(text) // 2],
            "changed": text.replace(line, ' "eopc_w": 1.0,'),
            "no checksum": text.replace(check, "").replace("0,\n\n}", "0\n}").replace("0.0,\n\n}", "0.0\n}"),
            "not an object": "[1, 2]",
            "another field": text.replace('"eopc_w"', '"eopc"'),
        }[damage]
    )
    assert run(tmp_path) == (expected, 1)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert str(file) in said[0]
    assert said[0].endswith("made again")
    assert run(tmp_path) == (expected, 2)
    assert capsys.readouterr().err == ""
