"""The report of runs whose nodes sleep: the picture of nodes by state, columns and words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.small import NODES, timed_experiment
from report.test_report_browser import ARGS, CHROMIUM
from report.test_report_time import OneSeries, decoded, numbers, row
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.runner import run_experiment
from wattpack.experiments.scenario import Inputs
from wattpack.experiments.sleep_and_caps import sleep_text
from wattpack.experiments.timed_options import Timed
from wattpack.experiments.timed_result import NODES_BY_STATE, Series
from wattpack.experiments.timed_table import Group, Table, TimedRow, timed_table
from wattpack.report.time_page import time_page, write_time_page
from wattpack.report.time_payload import STATES, time_payload
from wattpack.report.time_rows import columns
from wattpack.report.time_words import limits, sentences

SLEEP = Timed(sleep=sleep_text("idle=1m,reserve=0"))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Table, ResultsFolder, Inputs]:
    """One set of options with sleep, one without."""
    experiment = timed_experiment(SLEEP, Timed(), policies=("fgd", "pwr"))
    folder, scenarios, outcome = run_experiment(experiment, tmp_path_factory.mktemp("sleep"))
    assert outcome.failed == []
    return timed_table(folder.read_timed(scenarios)), folder, experiment.inputs


def test_each_policy_has_a_stack_of_nodes_by_state_that_adds_up_to_all_nodes_where_they_sleep(
    ran: tuple[Table, ResultsFolder, Inputs],
) -> None:
    asleep, awake = time_payload(*ran)["groups"]
    stacks = [panel for panel in asleep["panels"] if "areas" in panel]
    assert [panel["name"] for panel in stacks] == ["Nodes by state: fgd", "Nodes by state: pwr"]
    assert [panel["curve"] for panel in stacks] == [0, 1]
    assert not any("areas" in panel for panel in awake["panels"])
    series = ran[1].read_series(next(iter(ran[0].values()))[0].scenarios[0])
    shown = [decoded(area["lo"], stacks[0]["step"]) for area in stacks[0]["areas"]]
    assert np.array(shown).sum(axis=0) == pytest.approx(len(NODES), abs=0.05)
    for values, state in zip(shown, NODES_BY_STATE, strict=True):
        assert values == pytest.approx(getattr(series, state)[:-1], abs=0.01)  # a point is a sample here
    assert max(shown[STATES.index("asleep")]) >= 1


def test_the_page_has_the_colours_of_states_only_where_a_run_sleeps(ran: tuple[Table, ResultsFolder, Inputs]) -> None:
    table, folder, inputs = ran
    assert 'id="states"' in time_page(table, folder, inputs, {})
    awake = {group: rows for group, rows in table.items() if not group.options.sleep}
    assert 'id="states"' not in time_page(awake, folder, inputs, {})


def test_a_month_of_minutes_with_sleep_stays_below_two_megabytes(ran: tuple[Table, ResultsFolder, Inputs]) -> None:
    marks = 30 * 24 * 60 + 1
    noise = np.random.default_rng(0)
    names = ("power_w", "kwh", "allocated_gpus", "gpu_hours", "queued", "running", *NODES_BY_STATE)
    series = Series(np.arange(marks) * 60.0, **{name: noise.uniform(1, 2, marks) * 1e5 for name in names})
    group, rows = next(iter(ran[0].items()))
    many = {group._replace(trace=f"t{i}"): rows * 3 for i in range(13)}
    inputs = ran[2]
    inputs.timed.update({f"t{i}": inputs.timed["tasks"] for i in range(13)})
    assert len(time_page(many, OneSeries(series), inputs, {})) < 2_000_000  # type: ignore[arg-type]


def asleep(policy: str, hours: float, **more: float) -> TimedRow:
    return row(policy, asleep_node_hours=hours, mean_asleep_nodes=hours / 24, nodes=40, **more)


def test_one_more_sentence_says_what_sleep_did() -> None:
    group = Group("week", "paper", SLEEP)
    rows = [asleep("fgd", 240.0, wakes=7, transition_kwh=12.0), asleep("ocs", 480.0, wakes=1200, transition_kwh=20.0)]
    assert sentences(group, rows)[2] == (
        "ocs let most nodes sleep: 20 of 40 on average, with 1,200 wakes; waking and shutting down took 2 % of the "
        "energy."
    )
    alone = sentences(group, rows[:1])[2]
    assert alone.startswith("fgd let 10 of 40 nodes sleep on average, with 7 wakes;")
    assert sentences(group, [asleep("fgd", 0.0)])[2].startswith("No node sleeps")
    assert len(sentences(Group("week", "paper", Timed()), rows)) == 2


def test_columns_of_sleep_are_shown_where_nodes_sleep() -> None:
    keys = [column.key for column in columns(Group("week", "paper", SLEEP), [asleep("fgd", 240.0)])]
    assert [key for key in keys if key in ("mean_asleep_nodes", "wakes", "transition_kwh")] == [
        *("mean_asleep_nodes", "wakes", "transition_kwh")
    ]
    assert "wakes" not in [column.key for column in columns(Group("week", "paper", Timed()), [row("fgd")])]


def test_what_sleep_and_caps_assume_is_said() -> None:
    said = " ".join(limits(Group("week", "paper", SLEEP._replace(cap="T4=0.7")), with_drawn=False))
    assert (
        "A node that is empty for 60 s shuts down (60 s) and sleeps at 10 W, while 0 GPUs stay free and awake" in said
    )
    assert "waits for its wake (5 min)" in said
    assert "GPUs are capped (cap T4=0.7)" in said
    plain = " ".join(limits(Group("week", "paper", Timed(sleep=sleep_text(True))), with_drawn=False))
    assert "empty for as long as one wake costs" in plain
    assert "while 2% of the GPUs stay free and awake" in plain
    assert numbers().nodes == 0


@pytest.mark.e2e
@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser: {CHROMIUM} is missing")
def test_in_a_browser_the_stack_is_drawn_read_hidden_and_zoomed(
    ran: tuple[Table, ResultsFolder, Inputs], tmp_path: Path
) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    url, faults = write_time_page(tmp_path, *ran, {}).as_uri(), []
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=str(CHROMIUM), args=ARGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(url)
        assert page.locator("#plot path.area").count() == 2 * len(STATES)
        assert page.locator("#states").is_visible()
        page.locator("#plot").focus()
        page.keyboard.press("ArrowRight")
        assert "busy / empty / in transition / asleep" in page.locator("#readout").inner_text()
        page.locator("#legend button", has_text="pwr").click()
        assert page.locator("#plot path.area").count() == len(STATES)
        page.locator("#ranges button", has_text="an hour").click()
        assert page.locator("#plot path.area").count() == len(STATES)
        page.locator("#trace").select_option("1")
        assert page.locator("#plot path.area").count() == 0
        assert page.locator("#states").is_hidden()
        browser.close()
    assert faults == []
