"""The report of runs in time: the page as a text, its series, tables and words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.small import timed_experiment, timed_inputs
from wattpack.energy.signal import BUDGET, CARBON, PRICE, Signal
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.runner import run_experiment
from wattpack.experiments.scenario import Inputs
from wattpack.experiments.timed_options import Timed
from wattpack.experiments.timed_result import Series, TimedNumbers
from wattpack.experiments.timed_table import Group, Table, TimedRow, timed_table
from wattpack.report.payload import BASE64
from wattpack.report.time_figure import about_of, panels_of, time_figure
from wattpack.report.time_page import time_page, write_time_page
from wattpack.report.time_payload import Buckets, time_payload
from wattpack.report.time_rows import columns
from wattpack.report.time_words import limits, sentences

HOURS = np.array([0.0, 1800.0, 3600.0])
SIGNALS = {
    (CARBON, "c"): Signal(HOURS, np.array([300.0, 100.0, 200.0]), CARBON, from_start=True),
    (PRICE, "p"): Signal(HOURS, np.array([0.3, 0.1, 0.2]), PRICE, from_start=True, currency="EUR"),
    (BUDGET, "b"): Signal.constant(4.0, BUDGET),
}
OPTIONS = Timed(carbon="c", price="p", budget="b", pue=1.2, speed="typical")
EVIL = "</script><script>alert(1)</script>&{{data}}"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Table, ResultsFolder, Inputs]:
    inputs = timed_inputs(SIGNALS)
    experiment = timed_experiment(OPTIONS, policies=("fgd", "pwr"), inputs=inputs)
    folder, scenarios, outcome = run_experiment(experiment, tmp_path_factory.mktemp("time"))
    assert outcome.failed == []
    return timed_table(folder.read_timed(scenarios)), folder, inputs


def decoded(text: str, unit: float) -> list[float]:
    """Values of a packed curve without gaps, written apart from the code that packs."""
    found, total, number, shift = [], 0, 0, 0
    for letter in text:
        digit = BASE64.index(letter)
        number |= (digit & 31) << shift
        shift += 5
        if not digit & 32:
            total += -(number >> 1) if number & 1 else number >> 1
            found.append(total * unit)
            number = shift = 0
    return found


def test_each_panel_has_a_line_for_each_policy_and_signals_have_their_own(
    ran: tuple[Table, ResultsFolder, Inputs],
) -> None:
    table, folder, inputs = ran
    (group,) = time_payload(table, folder, inputs)["groups"]
    names = [panel["name"].partition(",")[0] for panel in group["panels"]]
    assert names == [
        *("IT power", "IT power below that of FGD", "GPUs in use", "Tasks that wait", "Carbon intensity", "Price")
    ]
    power = group["panels"][0]
    assert [line.get("name", line.get("curve")) for line in power["lines"]] == [0, 1, "budget"]
    (rows,) = table.values()
    series = folder.read_series(rows[0].scenarios[0])
    shown = decoded(power["lines"][0]["lo"], power["step"])
    assert shown == pytest.approx((series.power_w / 1000)[:-1].tolist(), abs=power["step"])
    carbon = group["panels"][4]
    assert decoded(carbon["lines"][0]["lo"], carbon["step"])[::30][:3] == pytest.approx([300, 100, 200])


def test_a_bucket_keeps_its_least_and_largest_value_and_what_held_at_its_start() -> None:
    time_s, value = np.array([0.0, 10.0, 20.0, 70.0, 90.0]), np.array([5.0, 9.0, 1.0, 4.0, 99.0])
    low, high = Buckets(30.0, 3).range_of(time_s, value)
    assert low.tolist() == [1, 1, 1]  # 1 holds from 20 to 70 s
    assert high.tolist() == [9, 1, 4]  # the run ends at 90 s
    # 0 to 30 s: 3 of 30, then 6 of 30, then the run ends at 70 s with 2 more of 10
    mean = Buckets(30.0, 3).mean_of(np.array([0.0, 30.0, 60.0, 70.0]), np.array([0.0, 3.0, 9.0, 11.0]))
    assert mean.tolist() == pytest.approx([0.1, 0.2, 0.2])


class OneSeries:
    """A folder whose runs all have the same series."""

    def __init__(self, series: Series) -> None:
        self.series = series

    def read_series(self, scenario: object) -> Series:
        return self.series


def test_the_figure_has_a_panel_for_each_quantity_and_its_power_adds_up_to_the_energy(
    ran: tuple[Table, ResultsFolder, Inputs],
) -> None:
    table, folder, _ = ran
    (group, rows), *_ = table.items()
    series = [folder.read_series(row.scenarios[0]) for row in rows]
    horizon_s = float(series[0].time_s[-1])
    panels = panels_of(rows, series, Buckets(horizon_s / 50, 50))
    title, curves = panels[0]
    size_w = {"W": 1.0, "kW": 1e3, "MW": 1e6}[title.rpartition(" ")[2]]
    for one, curve in zip(series, curves, strict=True):
        assert curve is not None
        assert curve.mean() * size_w * horizon_s == pytest.approx(one.kwh[-1] * 3.6e6)
    figure = time_figure(rows, series, about_of(rows, group.text))
    assert [axes.get_title(loc="left") for axes in figure.axes] == [title for title, _ in panels]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [row.policy for row in rows]


def test_a_month_of_minutes_stays_below_two_megabytes(ran: tuple[Table, ResultsFolder, Inputs]) -> None:
    table, _, inputs = ran
    marks = 30 * 24 * 60 + 1
    noise = np.random.default_rng(0)
    columns = {name: noise.uniform(1, 2, marks) * 1e6 for name in ("power_w", "allocated_gpus", "queued", "running")}
    time_s = np.arange(marks) * 60.0
    growing = {name: np.cumsum(noise.uniform(1, 2, marks)) for name in ("kwh", "gpu_hours")}
    ((group, rows),) = table.items()
    plain = group._replace(options=Timed())
    many = {plain._replace(trace=f"t{i}"): rows * 3 for i in range(13)}  # 78 curves
    text = time_page(many, OneSeries(Series(time_s, **columns, **growing)), inputs, {})  # type: ignore[arg-type]
    assert len(text) < 2_000_000


def test_the_page_opens_offline_and_no_name_gets_out_of_its_place(
    ran: tuple[Table, ResultsFolder, Inputs], tmp_path: Path
) -> None:
    table, folder, inputs = ran
    ((group, rows),) = table.items()
    evil = {group._replace(trace=EVIL): [rows[0], TimedRow(EVIL, EVIL, *_rest(rows[1]))]}
    inputs.timed[EVIL] = inputs.timed["tasks"]
    file = write_time_page(tmp_path, evil, folder, inputs, {"command": EVIL})
    text = file.read_text(encoding="utf-8")
    assert "alert(1)</script>" not in text
    assert text.count("<script") == 2
    assert re.findall(r"(?:src|href)=\"(?!#|data:,)[^\"]+\"", text) == []
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    assert data["groups"][0]["title"].startswith(EVIL)


def _rest(row: TimedRow) -> tuple[Any, Any, Any]:
    return row.seeds, row.runs, row.scenarios


def numbers(**more: float) -> TimedNumbers:
    """A run of a day with 1,000 kWh, 4,000 GPU-hours and 100 tasks, none of which waits."""
    plain = dict.fromkeys(TimedNumbers._fields, 0.0) | {"kwh": 1000.0, "gpu_hours": 4000.0, "wh_per_gpu_hour": 250.0}
    plain |= {"arrived": 100, "horizon_s": 86400.0, "kwh_per_work": float("nan"), "peak_kw": 50.0}
    return TimedNumbers(**{**plain, "currency": "", **more})  # type: ignore[arg-type]


def row(policy: str, datacenter: str = "hall", seeds: int = 1, **more: float) -> TimedRow:
    return TimedRow(datacenter, policy, tuple(range(seeds)), tuple(numbers(**more) for _ in range(seeds)), ())


DEFAULT = Group("week", "paper", Timed())


def test_the_first_sentence_says_who_uses_least_and_the_second_who_waits() -> None:
    rows = [row("fgd"), row("ocs", kwh=900.0, wh_per_gpu_hour=225.0)]
    first, second = sentences(DEFAULT, rows)
    assert first == (
        "On week, ocs uses 10.0 % less energy per GPU-hour than fgd: 225.0 against 250.0 Wh per GPU-hour, "
        "100 kWh less in 1 day."
    )
    assert second == "Every task starts when it arrives, under every policy."
    waits = {"wait_mean_s": 60.0, "wait_p99_s": 7200.0, "gave_up": 3}
    rows = [row("fgd", **waits), row("ocs", kwh=900.0, wh_per_gpu_hour=225.0, failed=2)]
    assert sentences(DEFAULT, rows)[1] == (
        "Under ocs, 2 of 100 tasks found no room and left; under fgd, 99 % of the tasks wait at most 2.0 h, "
        "3 of 100 tasks gave up."
    )


def test_where_no_policy_is_better_than_fgd_the_words_say_so() -> None:
    first, _ = sentences(DEFAULT, [row("fgd"), row("pwr", kwh=1010.0, wh_per_gpu_hour=252.0)])
    assert first == "On week, no policy uses less energy than fgd: 250.0 Wh per GPU-hour."


def test_one_policy_alone_and_a_run_without_gpu_hours_have_sentences_too() -> None:
    first, second = sentences(DEFAULT, [row("pwr")])
    assert (first, second) == ("On week, pwr uses 1,000 kWh in 1 day, 250.0 Wh per GPU-hour.", "No task waits.")
    assert sentences(DEFAULT, [row("fgd")])[0] == "On week, fgd uses 1,000 kWh in 1 day, 250.0 Wh per GPU-hour."
    idle = row("pwr", gpu_hours=0.0, wh_per_gpu_hour=float("nan"))
    assert sentences(DEFAULT, [idle])[0] == "On week, no GPU-hours are delivered: 1,000 kWh are idle draw."


def test_only_columns_that_apply_are_shown_in_the_order_of_reading() -> None:
    def keys(options: Timed, *rows: TimedRow) -> list[str]:
        return [column.key for column in columns(Group("week", "paper", options), rows)]

    plain = ["kwh", "mean_kw", "p99_kw", "peak_kw", "gpu_hours", "wh_per_gpu_hour"]
    assert keys(Timed(), row("pwr")) == plain
    assert keys(Timed(), row("fgd"), row("pwr")) == [*plain, "saving_fgd"]
    full = Timed(pue=1.3, carbon="DEU", price="0.2", speed="typical")
    given = row("pwr", wait_mean_s=5.0, failed=1, gave_up=1, waiting=1, refused=1, kwh_per_work=2.0)
    assert keys(full, given) == [
        *("kwh", "facility_kwh", "mean_kw", "p99_kw", "peak_kw", "co2_operational_kg", "co2_embodied_kg", "money"),
        *("gpu_hours", "wh_per_gpu_hour", "work", "kwh_per_work", "wait_p50_s", "wait_p95_s", "wait_p99_s"),
        *("slowdown_mean", "failed", "refused", "gave_up", "waiting"),
    ]


def test_the_assumptions_are_said_as_they_apply() -> None:
    said = " ".join(limits(DEFAULT, with_drawn=False))
    assert "power profile 'paper'" in said
    assert "no table of speeds was given" in said
    assert "as their file says" in said
    drawn = Group("week", "paper", Timed(load=0.7, days=7.0, arrivals="rhythm", load_gpu_milli=6_212_000, carbon="DEU"))
    said = " ".join(limits(drawn, with_drawn=True))
    assert "mean load of 0.7 of 6,212 GPUs" in said
    assert "Carbon of electricity: DEU" in said
