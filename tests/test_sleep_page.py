"""The page of results with nodes asleep: its tables are those of the stored results, and its findings hold in them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

from benchmarks.learning import AFTER_H
from benchmarks.sleep import tables
from benchmarks.sleep_runs import BATCH, FGD, MIX, ONE_MODEL, OTHERS, OWN_FORMS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "research" / "sleep.md").read_text(encoding="utf-8")
ROWS = json.loads((ROOT / "benchmarks" / "results" / "sleep.json").read_text(encoding="utf-8"))["rows"]
LEARNING = json.loads((ROOT / "benchmarks" / "results" / "learning.json").read_text(encoding="utf-8"))["rows"]
MARK = re.compile(r"<!-- (.+?) -->\n\n(.*?)\n\n<!-- end -->", flags=re.DOTALL)
AS_BEFORE, KNOWN, ESTIMATES, LEARNT = (form.name for form in OWN_FORMS)
WAKE_S = 300.0

RUNS: dict[tuple[str, str, float, int], dict[str, dict]] = defaultdict(dict)
for _row in ROWS:
    RUNS[_row["fleet"], _row["tasks"], _row["load"], _row["seed"]][_row["policy"]] = _row


def way(runs: dict[str, dict], policy: str) -> float:
    """Share of the way from FGD to the least energy."""
    fgd_mwh, least_mwh = runs[FGD]["mwh"], runs[FGD]["least_mwh"]
    return (fgd_mwh - runs[policy]["mwh"]) / (fgd_mwh - least_mwh)


ONE_MODEL_RUNS = [runs for (fleet, _, _, _), runs in RUNS.items() if fleet == ONE_MODEL]
MIXED_RUNS = [runs for (fleet, tasks, _, _), runs in RUNS.items() if fleet != ONE_MODEL and tasks != BATCH]
BATCH_RUNS = [runs for (_, tasks, _, _), runs in RUNS.items() if tasks == BATCH]


def test_every_table_of_the_page_is_that_of_the_results():
    assert dict(MARK.findall(PAGE)) == tables(ROWS)


def test_all_settings_were_run_on_three_seeds_that_no_choice_was_made_on():
    assert {seed for *_, seed in RUNS} == {203, 204, 205}
    assert (len(ONE_MODEL_RUNS), len(MIXED_RUNS), len(BATCH_RUNS)) == (6 * 3, 9 * 3, 9 * 3)
    assert all(len(runs) == len(OTHERS) + len(OWN_FORMS) for runs in RUNS.values())


def test_on_one_model_known_lengths_go_two_thirds_of_the_way_estimates_a_third_and_learnt_ones_beat_fgd():
    assert min(way(runs, KNOWN) for runs in ONE_MODEL_RUNS) > 2 / 3
    assert min(way(runs, ESTIMATES) for runs in ONE_MODEL_RUNS) > 1 / 3
    assert min(way(runs, LEARNT) for runs in ONE_MODEL_RUNS) > 0


def test_on_mixed_fleets_lengths_keep_ocs_ahead_of_fgd_the_mix_and_pwr():
    for runs in MIXED_RUNS:
        best_mwh = min(runs[other.name]["mwh"] for other in OTHERS)
        assert max(runs[form]["mwh"] for form in (KNOWN, ESTIMATES, LEARNT)) < best_mwh


def test_per_unit_of_work_lengths_keep_ocs_below_fgd_and_the_mix():
    for runs in BATCH_RUNS:
        best_kwh = min(runs[FGD]["kwh_per_work"], runs[MIX]["kwh_per_work"])
        assert max(runs[form]["kwh_per_work"] for form in (KNOWN, ESTIMATES, LEARNT)) < best_kwh


def test_the_wait_p99_is_within_one_wake_of_fgds():
    for runs in RUNS.values():
        longest_s = max(runs[form]["wait_p99_s"] for form in (KNOWN, ESTIMATES, LEARNT))
        assert longest_s - runs[FGD]["wait_p99_s"] <= WAKE_S


def test_most_of_what_is_to_be_learnt_is_learnt_within_a_day():
    for fleet, tasks in {(row["fleet"], row["tasks"]) for row in LEARNING}:
        error = {row["hours"]: row["error"] for row in LEARNING if (row["fleet"], row["tasks"]) == (fleet, tasks)}
        assert tuple(error) == AFTER_H
        assert error[24.0] < error[1.0] / 3
        assert error[24.0] < 0.04
