"""Tuning: who gets more seeds, what is recommended, and that the machinery goes on from finished runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from experiments.small import NODES_CSV, TASKS_CSV, write_plugin
from wattpack.errors import UserError
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.plugins import import_plugin, read_plugins
from wattpack.experiments.runner import Report
from wattpack.experiments.tune.candidates import all_candidates
from wattpack.experiments.tune.measured import (
    Measured,
    admissible,
    advise,
    behind,
    choose,
    front,
    half_interval,
    survivors,
)
from wattpack.experiments.tune.search import Wanted, rungs, tune
from wattpack.policies.expression import parse

FEW = ("fgd", "pwr", "pwr:0.1+fgd:0.9", "ocs", "ocs@0.6", "bestfit", "random")


def measured(policy: str, savings: list[float], grars: list[float]) -> Measured:
    return Measured(policy, tuple(range(len(savings))), np.array(savings), np.array(grars))


BASE = measured("fgd", [0.0, 0.0], [0.99, 0.99])


@contextmanager
def quiet(title: str) -> Iterator[Report]:
    yield lambda done, everything, what: None


def small(folder: Path, **more: object) -> Wanted:
    (folder / "nodes.csv").write_text(NODES_CSV)
    (folder / "tasks.csv").write_text(TASKS_CSV)
    more = {"against": ("fgd",), **more}
    return Wanted(str(folder / "nodes.csv"), str(folder / "tasks.csv"), **more)  # type: ignore[arg-type]


# ---- candidates ------------------------------------------------------------------------------------------------------


def test_every_policy_its_knob_and_mixes_of_two_are_tried_each_once_in_one_spelling() -> None:
    found = all_candidates()
    assert found[0] == "fgd"
    assert len(set(found)) == len(found)
    assert all(parse(text).expression == text for text in found)
    assert {"ocs", "ocs@0.6", "pwr:0.05+fgd:0.95", "random"} < set(found)
    assert any(text.startswith("bestfit:") for text in found)


def test_scores_in_watts_and_draws_are_not_mixed() -> None:
    assert not any("+" in text and ("ocs" in text or "random" in text) for text in all_candidates())


def test_a_policy_of_the_users_own_takes_part_alone_and_mixed(tmp_path: Path) -> None:
    import_plugin(read_plugins([write_plugin(tmp_path)])[0])
    found = all_candidates()
    assert "own" in found
    assert "fgd:0.5+own:0.5" in found


# ---- measured --------------------------------------------------------------------------------------------------------


def test_the_front_holds_what_no_other_one_beats_in_both() -> None:
    saves, serves, both, worse = (
        measured("saves", [0.2], [0.9]),
        measured("serves", [0.0], [1.0]),
        measured("both", [0.1], [0.95]),
        measured("worse", [0.1], [0.94]),
    )
    assert front([serves, worse, both, saves]) == [saves, both, serves]
    assert behind(worse, [saves, both, serves]) == pytest.approx(0.0)  # the same saving would do: equal to `both`
    assert behind(measured("x", [0.04], [0.95]), [saves, both, serves]) == pytest.approx(0.06)


def test_the_interval_is_students() -> None:
    """Of 1, 2, 3 the standard deviation is 1, of the mean 1 / sqrt(3); t of 97.5 % with 2 degrees is 4.303."""
    assert half_interval(np.array([1.0, 2.0, 3.0])) == pytest.approx(4.303 / 3**0.5, abs=1e-3)
    assert np.isnan(half_interval(np.array([1.0])))


def test_who_is_far_from_the_front_gets_no_more_seeds_and_the_baseline_always_does() -> None:
    good = [measured(f"good{i}", [0.1 + i / 1e5, 0.1 + i / 1e5], [0.99, 0.99]) for i in range(30)]
    bad = [measured(f"bad{i}", [-0.1, -0.1], [0.9, 0.9]) for i in range(30)]
    kept = survivors([BASE, *good, *bad], 0.0)
    assert kept[0] == "fgd"
    assert "good29" in kept
    assert not any(policy.startswith("bad") for policy in kept)
    assert len(kept) <= 31  # half of all, rounded up


def test_a_candidate_within_its_noise_stays() -> None:
    steady = measured("steady", [0.100, 0.100], [0.99, 0.99])
    noisy, surely_worse = (
        measured("noisy", [0.05, 0.11], [0.99, 0.99]),
        measured("worse", [0.08, 0.08], [0.99, 0.99]),
    )
    kept = survivors([BASE, steady, noisy, surely_worse], 0.0)
    assert "noisy" in kept
    assert "worse" not in kept


def test_recommended_is_what_saves_most_among_those_that_serve_as_much_as_fgd() -> None:
    refuses = measured("refuses", [0.3, 0.3], [0.9, 0.9])
    best, second = measured("best", [0.10, 0.12], [0.99, 0.992]), measured("second", [0.09, 0.13], [0.99, 0.99])
    found = [BASE, refuses, best, second]
    assert choose(found, 0.0005) == ["best", "second", "fgd"]
    assert choose(found, 0.1)[0] == "refuses"
    assert refuses not in admissible({one.policy: one for one in found}, 0.0005)
    advice = advise("best", "second", {one.policy: one for one in found})
    assert (advice.wins, advice.lead) == (1, pytest.approx(0.0))
    assert not advice.is_clear


def test_of_those_that_are_not_told_apart_the_plainest_is_recommended() -> None:
    turned, plain = (
        measured("ocs@0", [0.101, 0.100, 0.102], [1.0] * 3),
        measured("ocs", [0.100, 0.101, 0.101], [1.0] * 3),
    )
    mixed = measured("pwr:0.1+fgd:0.9", [0.1009, 0.1008, 0.1012], [1.0] * 3)
    base = measured("fgd", [0.0] * 3, [1.0] * 3)
    assert choose([base, turned, plain, mixed], 0.0)[0] == "ocs"
    surely = measured("ocs", [0.0990, 0.0980, 0.1000], [1.0] * 3)  # 0.2 points less, seed by seed
    assert choose([base, turned, surely], 0.0)[0] == "ocs@0"


# ---- the search ------------------------------------------------------------------------------------------------------


def test_seeds_are_doubled_from_two_to_all() -> None:
    assert [rungs(seeds) for seeds in (2, 3, 4, 10, 16)] == [[2], [3], [2, 4], [2, 4, 10], [2, 4, 8, 16]]


def test_it_recommends_on_fresh_seeds_and_the_same_again_runs_nothing(tmp_path: Path) -> None:
    wanted, out = small(tmp_path, seeds=4), tmp_path / "out"
    tuned = tune(wanted, out, quiet, FEW)
    assert {one.policy for one in tuned.found} == set(FEW)
    assert tuned.advice.best.policy in {one.policy for one in tuned.found}
    chosen_on = {seed for one in tuned.found for seed in one.seeds}
    assert set(tuned.advice.best.seeds).isdisjoint(chosen_on)
    assert len(tuned.advice.best.seeds) == 4
    assert tuned.checked["fgd"].saving == 0.0
    times = {file.name: file.stat().st_mtime_ns for file in (out / "runs").iterdir()}
    again = tune(wanted, out, quiet, FEW)
    assert again.outcome.done == 0
    assert [one.policy for one in again.found] == [one.policy for one in tuned.found]
    assert again.advice.best.saving == tuned.advice.best.saving
    assert {file.name: file.stat().st_mtime_ns for file in (out / "runs").iterdir()} == times


def test_the_folder_can_be_read_like_any_other(tmp_path: Path) -> None:
    tune(small(tmp_path, seeds=2), tmp_path / "out", quiet, FEW)
    results = ResultsFolder(tmp_path / "out").read_stored()
    assert {policy for _, policy in results} == set(FEW)


def test_it_tunes_for_a_steady_state_too(tmp_path: Path) -> None:
    wanted = small(tmp_path, seeds=2, loads=(), steady=(0.5,), arrivals=500)
    tuned = tune(wanted, tmp_path / "out", quiet, FEW[:4])
    assert {one.policy for one in tuned.found} == set(FEW[:4])
    assert not (tmp_path / "out" / "runs").exists()
    both = tune(small(tmp_path, seeds=2, loads=(0.5,), steady=(0.5,), arrivals=500), tmp_path / "out", quiet, FEW[:4])
    fill_up = tune(small(tmp_path, seeds=2, loads=(0.5,)), tmp_path / "out", quiet, FEW[:4])
    means = {one.policy: one.saving for one in both.found}
    for one in tuned.found:
        other = next(found for found in fill_up.found if found.policy == one.policy)
        assert means[one.policy] == pytest.approx((one.saving + other.saving) / 2)


def test_one_seed_has_no_spread_and_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no spread"):
        tune(small(tmp_path, seeds=1), tmp_path / "out", quiet)


def test_tasks_without_gpu_are_nothing_to_tune_for(tmp_path: Path) -> None:
    wanted = small(tmp_path)
    (tmp_path / "tasks.csv").write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\nt,1000,1024,0,0\n")
    with pytest.raises(UserError, match="no task asks for a GPU"):
        tune(wanted, tmp_path / "out", quiet)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("gpus", [8, 14])
def test_a_load_that_no_run_reaches_is_refused_before_anything_runs(tmp_path: Path, gpus: int) -> None:
    """Ten GPUs; runs end at 1.3 times as many: after one task of eight (a load of 0.8), before the first task of 14."""
    wanted = small(tmp_path, seeds=2)
    (tmp_path / "tasks.csv").write_text(f"name,cpu_milli,memory_mib,num_gpu,gpu_milli\nt,1000,1024,{gpus},1000\n")
    with pytest.raises(UserError, match=r"no run reaches load 0\.[59]"):
        tune(wanted, tmp_path / "out", quiet, FEW)
    assert not (tmp_path / "out").exists()
