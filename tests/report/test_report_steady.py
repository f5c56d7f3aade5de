"""Steady states in the terminal, the page and a figure: the numbers of `steady.csv`, in a unit that fits."""

import io
import re

import pytest
from rich.console import Console

from report.builders import make_results
from report.test_report_html import EVIL, MADE, Page
from wattpack.engine.moments.steady import Steady
from wattpack.experiments.options import Moving
from wattpack.experiments.steady_table import SteadyRow
from wattpack.report.figure_parts import save
from wattpack.report.html import report
from wattpack.report.pictures import write_steady_figures
from wattpack.report.steady_chart import round_ticks, series_of
from wattpack.report.steady_figure import steady_figure
from wattpack.report.steady_terminal import print_steady
from wattpack.report.units import power_unit


def make_row(policy="fgd", power_w=1e6, load=0.5, trace="default", seeds=3, moving=None, batch_seconds=float("inf")):
    """Seed s uses s per mille more power; GRAR 0.99."""
    runs = [
        Steady(power_w * (1 + s / 1000), power_w / 4, power_w * 3 / 4, 100.0, 0.99, 2.0, 1000, 7 if moving else 0)
        for s in range(seeds)
    ]
    return SteadyRow(trace, policy, load, tuple(range(seeds)), tuple(runs), moving, batch_seconds)


def make_rows(scale=1.0, traces=("default",)):
    return [
        make_row(policy, power_w * scale * (0.5 + load), load, trace)
        for trace in traces
        for load in (0.5, 0.8)
        for policy, power_w in (("fgd", 1e6), ("pwr", 9e5), ("ocs batch 16", 8e5))
    ]


def printed(rows):
    file = io.StringIO()
    print_steady(rows, Console(file=file))
    return file.getvalue()


@pytest.mark.parametrize(("power_w", "unit"), [(49, "W"), (50, "kW"), (49_999, "kW"), (50_000, "MW")])
def test_the_unit_fits_the_largest_value(power_w, unit):
    assert power_unit([1.0, power_w, float("nan")])[0] == unit


@pytest.mark.parametrize(("scale", "unit"), [(1.0, "MW"), (0.01, "kW"), (0.00001, "W")])
def test_a_table_has_one_unit_in_terminal_and_page(scale, unit):
    rows = make_rows(scale)
    heads = re.findall(r"(?<![\w/])([kM]?W) ┃", printed(rows))
    assert heads == [unit, unit]  # one table for each load
    assert re.findall(r"EOPC, ([kM]?W)<", report(make_results(), MADE, steady=rows)) == [unit]


def test_the_terminal_shows_power_saving_and_grar():
    text = printed(make_rows())
    assert "default: steady state at offered load 0.8" in text
    # 0.9 MW x 1.3 x 1.001 = 1.171 MW, a tenth less than FGD
    assert re.search(r"pwr +│ 1\.171 │ +10\.0 │ 0\.9900±0\.0000", text)
    assert re.search(r"fgd +│ 1\.301 │ +- │", text)


def test_the_page_has_a_section_with_a_chart_and_a_table_for_each_trace():
    page = Page(report(make_results(), MADE, steady=make_rows(traces=("default", "multigpu20"))))
    assert ("section", "id", "steady") in page.attributes
    assert page.attributes.count(("svg", "class", "steady")) == 2
    assert "ocs batch 160.501.0" not in page.text
    assert "pwr0.500.90110.00.9900 ±0.00009009.0 ±9.02.0" in page.text
    assert "Multi-GPU 20 % (multigpu20)" in page.text
    assert page.tags.count("circle") == 2 * 2 * 2  # FGD is the zero line


def test_a_page_without_steady_states_has_no_such_section():
    text = report(make_results(), MADE)
    assert 'id="steady"' not in text
    assert "{{" not in text.split("<script")[0]


def test_moves_are_dashed_and_explained():
    rows = [*make_rows(), make_row("pwr", 7e5, moving=Moving(100, 5, 30.0))]
    page = Page(report(make_results(), MADE, steady=rows))
    assert "Moving: at most 5 moves every 100 arrivals, each paused for 30 s." in page.text
    assert "pwr, moving" in page.text
    assert ("polyline", "stroke-dasharray", "5 4") in page.attributes
    assert "GPUs paused" in page.text


def test_several_ways_of_moving_are_told_apart():
    rows = [make_row(), make_row(moving=Moving(100, 5)), make_row(moving=Moving(100, 9, 30.0))]
    assert [one.title for one in series_of(rows)[1]] == [
        "fgd, moving 5 every 100",
        "fgd, moving 9 every 100, paused 30 s",
    ]


def test_no_name_can_put_markup_into_the_section():
    rows = [make_row(trace=EVIL), make_row(EVIL, 9e5, trace=EVIL)]
    plain = [make_row(trace="t"), make_row("p", 9e5, trace="t")]
    page, expected = (Page(report(make_results(("t",)), MADE, steady=found)) for found in (rows, plain))
    assert page.tags == expected.tags
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]


def test_without_fgd_the_chart_shows_power():
    rows = [make_row("pwr", 9e3), make_row("bestfit", 8e3)]
    measure, series = series_of(rows)
    assert measure == "EOPC (kW)"
    assert [one.title for one in series] == ["pwr", "bestfit"]
    assert "nan" not in Page(report(make_results(), MADE, steady=rows)).text.lower()


def test_fgd_alone_is_a_chart_too():
    assert series_of([make_row()])[0] == "EOPC (MW)"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 23.0, [0, 5, 10, 15, 20, 25]),
        (-3.0, 8.0, [-5, 0, 5, 10]),
        (0.0, 0.04, [0, 0.01, 0.02, 0.03, 0.04]),
        (0.0, 0.0, None),
    ],
)
def test_ticks_are_round_and_hold_all_values(low, high, expected):
    ticks = round_ticks(low, high)
    assert expected is None or ticks == pytest.approx(expected)
    assert ticks[0] <= low
    assert ticks[-1] >= high
    assert len(ticks) >= 2


def test_every_trace_gets_a_figure_by_its_name(tmp_path):
    rows = make_rows(traces=("default", "a/tasks.csv"))
    assert [path.name for path in write_steady_figures(tmp_path, rows)] == ["steady-default.png", "steady-tasks.png"]
    assert write_steady_figures(tmp_path / "none", []) == []
    assert not (tmp_path / "none").exists()


def test_the_figure_shows_savings_and_grar_of_all_policies(tmp_path):
    figure = steady_figure([*make_rows(), make_row("pwr", 7e5, moving=Moving(100, 5))])
    first, second = figure.axes
    assert first.get_ylabel() == "saving vs. FGD (% of W per GPU served)"
    assert second.get_legend_handles_labels()[1] == ["FGD", "PWR", "OCS, batch 16", "PWR, moving"]
    assert save(figure, tmp_path, "x", kinds=("png",))[0].stat().st_size > 0
