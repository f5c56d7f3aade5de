"""Sleep and caps on the built-in datacenter, by every way that leads to them: the same numbers, and what they save."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import wattpack as wp
from wattpack.cli import main
from wattpack.experiments.spec.axes import first_seeds

pytestmark = pytest.mark.e2e
DRAWN = ["--load", "0.4", "--days", "0.5", "--seeds", "1", "--policy", "fgd", "--no-bound"]
SPEC = """policy = "fgd"
seeds = 1

[timed]
load = 0.4
days = 0.5
sleep = [false, true]
cap = ["off", "0.7"]
"""


def rows(out: Path) -> list[dict[str, str]]:
    with (out / "time.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_command_file_and_python_give_the_same_and_sleep_and_caps_save_a_tenth_each(tmp_path: Path) -> None:
    out = tmp_path / "out"
    kwh = {}
    for words in ([], ["--sleep"], ["--cap", "0.7"], ["--sleep", "--cap", "0.7"]):
        main(["simulate", *DRAWN, *words, "--out", str(out)])
        (row,) = rows(out)
        kwh["--sleep" in words, "--cap" in words] = float(row["kwh"])
        options = {"sleep": "--sleep" in words, "cap": "0.7" if "--cap" in words else False}
        (seed,) = first_seeds(1)
        run = wp.simulate(
            wp.load_datacenter("alibaba2023"),
            "default",
            "fgd",
            queue="backfill",
            load=0.4,
            days=0.5,
            seed=seed,
            **options,
        )
        assert float(row["kwh"]) == pytest.approx(run.numbers.kwh, rel=1e-13)
        assert row["wakes"] == (str(run.record.wakes) if "--sleep" in words else "")
    assert kwh[True, False] < 0.9 * kwh[False, False]
    assert kwh[False, True] < 0.9 * kwh[False, False]
    assert kwh[True, True] < min(kwh[True, False], kwh[False, True])
    files = set((out / "time").iterdir())
    spec = tmp_path / "experiment.toml"
    spec.write_text(SPEC)
    main(["run", str(spec), "--out", str(out)])
    assert set((out / "time").iterdir()) == files  # every run was there
    assert [float(row["kwh"]) for row in rows(out)] == [
        kwh[sleep, cap] for sleep in (False, True) for cap in (False, True)
    ]
