"""The table and the plot that `compare` prints."""

import io
import re

import pytest
from rich.console import Console

from report.builders import PAPER_POLICIES, make_bound, make_curves, make_results
from wattpack.report.terminal import print_comparison


def printed(results, width=80, encoding="utf-8", terminal=False, gpus=None):
    """What a console of this kind shows, as text."""
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="")
    colours = "truecolor" if terminal else None
    console = Console(file=file, width=width, force_terminal=terminal, color_system=colours, _environ={})
    print_comparison(results, console, gpus)
    file.flush()
    return raw.getvalue().decode(encoding)


def row(text, policy):
    (line,) = [line for line in text.splitlines() if line.startswith(policy + " ")]
    return line.split()


def test_the_table_holds_saving_spread_grar_and_watts():
    text = printed(make_results(pwr=0.15), gpus=1000)
    # Saving 0.15 at all seeds while all is served, at 0.9 it serves 0.8 of 0.9: 1 - 0.85 / (0.8 / 0.9) = 0.044;
    # GRAR(1) = 0.95 - 0.15; at load 0.8: 0.85 x 1.16 MW x 1.001 / 800.
    assert row(text, "pwr") == ["pwr", *["15.0±0.0"] * 4, "4.4±0.0", "0.800", "1234"]
    assert row(text, "fgd") == ["fgd", "(baseline)", *["-"] * 5, "0.950", "1451"]


def test_the_saving_shown_is_one_minus_the_ratio():
    results = make_results(pwr=0.1)
    # A third seed that uses twice the power of fgd's: ratio of the means (0.9 + 0.9009 + 2.004) / 3.003 = 1.2669.
    results["default", "pwr"].values["eopc_w"][2] = results["default", "fgd"].values["eopc_w"][2] * 2
    assert row(printed(results), "pwr")[1].startswith("-26.7±")


def test_policies_stand_by_falling_saving_below_the_baseline_and_above_the_bound():
    results = make_results(random=-0.1, bestfit=0.04, pwr=0.15) | {("default", "bound"): make_bound()}
    lines = printed(results).splitlines()[4:9]
    assert [line.split()[0] for line in lines] == ["fgd", "pwr", "bestfit", "random", "bound"]


def test_without_the_number_of_gpus_there_is_no_column_of_watts():
    assert "W/GPU" not in printed(make_results())
    assert "W/GPU" in printed(make_results(), gpus=10)


def test_one_seed_shows_no_spread():
    text = printed(make_results(seeds=1, pwr=0.15))
    assert "±" not in text
    assert "1 seed" in text


def test_several_traces_have_a_table_each_and_many_have_no_plots():
    text = printed(make_results(("one", "two")))
    assert text.count("\npolicy ") == 2
    assert text.index("one: saving") < text.index("two: saving")
    many = printed(make_results(tuple("abcde")))
    assert many.count(": saving against fgd in %") == 5
    assert "over load" not in many


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_nothing_is_wider_than_the_console_and_a_plot_never_wider_than_80_columns(width, encoding):
    results = make_results(**PAPER_POLICIES, random=-0.12) | {("default", "bound"): make_bound()}
    table, plot = printed(results, width, encoding, gpus=6212).split("saving in % over load")
    assert max(len(line.rstrip()) for line in table.splitlines()) <= width
    assert max(len(line) for line in plot.splitlines()) <= min(width, 80)


def test_a_long_name_of_a_policy_is_cut_and_never_a_number():
    name = "+".join(f"policy{place}:0.125" for place in range(8))
    text = printed(make_results() | {("default", name): make_curves("default", name, 0.1)}, gpus=6212)
    (line,) = [line for line in text.splitlines() if line.startswith("policy0")]
    assert line.split()[0].endswith("…")
    assert line.split()[1:6] == ["10.0±0.0"] * 5


def test_no_colour_and_no_control_codes_where_there_is_no_terminal():
    assert "\x1b" not in printed(make_results())
    assert "\x1b[" in printed(make_results(), terminal=True)


def test_an_ascii_console_gets_ascii():
    text = printed(make_results(**PAPER_POLICIES), encoding="ascii")
    assert "+-" in text


def test_the_plot_names_every_curve_by_a_letter_that_stands_on_it():
    text = printed(make_results(pwr=0.15, bestfit=0.04))
    plot = text[text.index("saving in % over load") :]
    assert re.search(r"a pwr +b bestfit", plot)
    body = [line for line in plot.splitlines() if "┤" in line or "│" in line]
    assert len(body) == 14
    # Letters of the flat curve at 15 % stand on the topmost row, those of 4 % below it.
    assert "a" in body[0]
    assert "b" not in body[0]
    assert any("b" in line for line in body[1:])
    # 0 to 15 on 14 rows: a number every 2 would fill more than half of them.
    assert [line.split("┤")[0].strip() for line in body if "┤" in line] == ["15", "10", "5", "0"]


def test_below_one_percent_the_axis_has_numbers_too():
    text = printed(make_results(pwr=0.006))
    body = [line for line in text[text.index("saving in % over load") :].splitlines() if "┤" in line]
    assert [line.split("┤")[0].strip() for line in body] == ["0.6", "0.5", "0.4", "0.3", "0.2", "0.1", "0.0"]


def test_policies_that_the_plot_has_no_room_for_are_named_below_it():
    assert "not plotted" not in printed(make_results(**PAPER_POLICIES))
    many = {f"policy{place}": 0.2 - place / 100 for place in range(12)}
    text = printed(make_results(**many) | {("default", "bound"): make_bound()})
    # Nine curves, one of them the bound.
    assert "not plotted, they save less: policy8, policy9, policy10, policy11\n" in text


def test_marks_in_names_are_shown_as_they_are():
    text = printed(make_results(("[red]x[/red]",), **{"[bold]": 0.1}))
    assert "[red]x[/red]: saving" in text
    assert row(text, "[bold]")


@pytest.mark.parametrize(("encoding", "shown"), [("utf-8", "训?"), ("ascii", "??")])
def test_a_name_that_the_console_cannot_write_does_not_stop_it(encoding, shown):
    assert f"{shown}: saving" in printed(make_results(("训\udcff",)), encoding=encoding)


def test_a_workload_that_ends_early_has_dashes_beyond():
    text = printed(make_results(pwr=0.1, reaches=0.7))
    assert row(text, "pwr") == ["pwr", *["10.0±0.0"] * 3, "-", "-", "-"]
