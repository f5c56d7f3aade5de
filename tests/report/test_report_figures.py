"""The figures: what is drawn is what was measured, and the same data give the same bytes."""

import subprocess
import sys

import numpy as np
import pytest

from report.builders import PAPER_POLICIES, PAPER_TRACES, make_bound, make_curves, make_results
from wattpack.errors import UserError
from wattpack.experiments.curves import LOADS, Results
from wattpack.report.figure_parts import Line, draw_lines, new_figure, print_style
from wattpack.report.figures import compare_figure, paper_figures, save, saving_figure
from wattpack.report.power_curves import power_figure
from wattpack.report.style import label, look


def drawn(axes, name):
    """(x, y) of the curve with this name."""
    (line,) = [line for line in axes.get_lines() if line.get_label() == name]
    return line.get_xdata(), line.get_ydata()


def value_at(axes, name, load):
    x, y = drawn(axes, name)
    return float(np.interp(load, x, y))


@pytest.fixture(scope="module")
def paper():
    results = make_results(PAPER_TRACES, **PAPER_POLICIES)
    results["default", "pwr:0.5+fgd:0.5"] = make_curves("default", "pwr:0.5+fgd:0.5", 0.145)
    return paper_figures(results)


def test_the_saving_drawn_is_one_minus_the_ratio_in_percent():
    figure = compare_figure(make_results(pwr=0.15), "default")
    savings = figure.axes[0]
    for load in (0.1, 0.5, 0.9):
        # fgd 0.2 + 1.2 x MW, pwr 0.85 of it; at 0.9 pwr serves 0.8.
        served = min(load, 0.8) / load
        assert value_at(savings, "PWR", load) == pytest.approx(100 * (1 - 0.85 / served))
        assert value_at(savings, "FGD", load) == 0


def test_the_comparison_shows_grar_and_power_too():
    _, grar, eopc = compare_figure(make_results(pwr=0.15), "default").axes
    assert value_at(grar, "FGD", 1.0) == pytest.approx(0.95)
    assert value_at(eopc, "FGD", 0.5) == pytest.approx((0.2 + 1.2 * 0.5) * 1.001)  # mean of 1, 1.001, 1.002
    assert [axes.get_ylabel() for axes in (grar, eopc)] == ["GRAR", "EOPC (MW)"]


def test_a_policy_keeps_its_colour_whatever_else_is_drawn():
    few = compare_figure(make_results(bestfit=0.04), "default")
    many = compare_figure(make_results(**PAPER_POLICIES), "default")
    for figure in (few, many):
        (line,) = [line for line in figure.axes[0].get_lines() if line.get_label() == "BestFit"]
        assert line.get_color() == look("bestfit").colour


def test_the_band_is_one_deviation_wide_and_absent_for_one_seed():
    flat, wide = np.full(len(LOADS), 5.0), np.full(len(LOADS), 0.5)
    with print_style():
        axes = new_figure(3, 2).add_subplot()
        draw_lines(axes, [Line("a", flat, wide, look("pwr")), Line("b", flat, wide * 0, look("fgd"))], (0, 1))
    (band,) = axes.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (4.5, 5.5)


def test_paper_figures_are_fig1_to_fig10_with_the_panels_of_the_captions(paper):
    assert list(paper) == [f"fig{number}" for number in range(1, 11)]
    panels = {name: len(figure.axes) for name, figure in paper.items()}
    # Figure 1 has its right axis; 2, 5, 6, 8, 9, 10 have two panels.
    assert panels == dict.fromkeys(paper, 2) | {"fig3": 1, "fig4": 1, "fig7": 1}
    assert all(
        axes.get_title(loc="left") and axes.get_ylabel() for name in list(paper)[1:] for axes in paper[name].axes
    )


def test_figure_1_stacks_cpu_and_gpu_and_dashes_the_share_of_the_gpu(paper):
    left, right = paper["fig1"].axes
    assert value_at(right, "GPU share (right axis)", 0.5) == pytest.approx(75)  # three quarters in the builder
    assert right.get_lines()[0].is_dashed()
    gpu, cpu = left.collections[:2]
    assert (gpu.get_label(), cpu.get_label()) == ("GPU", "CPU")
    top = gpu.get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx(1.4 * 1.001)  # MW at load 1


def test_figure_2_holds_every_mix_by_share_and_plain_pwr(paper):
    top, bottom = paper["fig2"].axes
    shares = ["α = 0.05", "α = 0.1", "α = 0.2", "α = 0.5", "PWR (α = 1)"]
    assert [line.get_label() for line in top.get_lines()] == shares
    assert [line.get_label() for line in bottom.get_lines()] == ["FGD (α = 0)", *shares]
    assert bottom.get_xlim() == (0.85, 1.0)


@pytest.mark.parametrize(
    ("name", "zoom"), [("fig7", (0.9, 1)), ("fig8", (0.8, 1)), ("fig9", (0.9, 1)), ("fig10", (0, 1))]
)
def test_grar_figures_zoom_as_the_paper_says_and_show_fgd(paper, name, zoom):
    for axes in paper[name].axes:
        assert axes.get_xlim() == zoom
        assert {"FGD", *(label(policy) for policy in PAPER_POLICIES if policy != "pwr")} == {
            line.get_label() for line in axes.get_lines()
        }


def test_a_figure_whose_trace_is_missing_is_left_out():
    names = list(paper_figures(make_results(("default", "gpuspec10"), **PAPER_POLICIES)))
    assert names == ["fig1", "fig2", "fig3", "fig7"]


def test_figures_are_a_column_wide_and_legends_lie_outside_of_the_panels(paper):
    for figure in paper.values():
        assert figure.get_figwidth() == 3.5
        figure.draw_without_rendering()
        (legend,) = figure.legends
        bottom = legend.get_window_extent().y0
        assert all(axes.get_window_extent().y1 <= bottom for axes in figure.axes)


@pytest.mark.parametrize("longest", [9, 30, 200])
def test_no_name_in_a_legend_is_cut_by_the_edge_of_the_figure(longest):
    names = [f"{number}-{'n' * (longest - 2)}" for number in range(5)]
    figure = power_figure({name: np.linspace(50, 300, 11) for name in names}, "profile own")
    (legend,) = figure.legends
    assert legend.get_window_extent().width <= figure.get_figwidth() * figure.dpi
    for name, text in zip(names, legend.get_texts(), strict=True):
        assert text.get_text() in (name, f"{name[:47]}…")


def test_the_curve_of_a_power_file_is_not_hidden_by_the_profile_that_it_is_laid_over():
    watts = np.linspace(50, 300, 11)
    lines = power_figure({"paper+own": watts, "paper": watts}, "A10").axes[0].get_lines()
    assert max(lines, key=lambda line: line.get_zorder()).get_label() == "paper+own"


def test_extra_curves_such_as_a_bound_are_drawn_like_policies():
    results = make_results(**PAPER_POLICIES) | {("default", "bound"): make_bound()}
    assert value_at(compare_figure(results, "default").axes[0], "Bound", 0.5) == pytest.approx(100 * (1 - 0.8 / 1.001))
    assert drawn(saving_figure(results, ["default"], extra=["bound"]).axes[0], "Bound")
    for name in ("fig3", "fig7"):
        assert drawn(paper_figures(results, extra=["bound"])[name].axes[0], "Bound")


def test_without_a_baseline_a_comparison_says_what_is_missing():
    with pytest.raises(UserError, match="trace 't': no results of 'fgd'"):
        compare_figure(Results({("t", "pwr"): make_curves("t", "pwr")}), "t")


def test_a_trace_may_have_any_name(tmp_path):
    trace = r"cost$\frac$x_2 <b>& 训练"  # half a formula, and letters that the font lacks
    figure = compare_figure(make_results((trace,), pwr=0.1), trace)
    assert len(save(figure, tmp_path, "any")) == 2


def test_the_same_results_give_the_same_bytes(tmp_path):
    for folder in ("one", "two"):
        save(compare_figure(make_results(), "default"), tmp_path / folder, "compare")
    for name in ("compare.pdf", "compare.png"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert b"CreationDate" not in (tmp_path / "one" / "compare.pdf").read_bytes()
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["compare.pdf", "compare.png"]


def test_a_figure_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    figure = compare_figure(make_results(), "default")
    (tmp_path / "f.pdf").write_bytes(b"old")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(UserError, match="cannot be written"):
        save(figure, tmp_path, "f")
    assert [path.name for path in tmp_path.iterdir()] == ["f.pdf"]
    assert (tmp_path / "f.pdf").read_bytes() == b"old"


def test_importing_the_room_does_not_import_matplotlib_and_drawing_needs_no_pyplot():
    script = """
import sys
import wattpack.report.figures, wattpack.report.html, wattpack.report.terminal
assert "matplotlib" not in sys.modules
from wattpack.experiments.curves import COLUMNS, LOADS, Curves, Results
import numpy as np
curves = Curves("t", "fgd", (0,), {column: np.ones((1, len(LOADS))) for column in COLUMNS})
wattpack.report.figures.compare_figure(Results({("t", "fgd"): curves}), "t")
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_power_of_a_small_datacenter_is_drawn_in_kilowatts():
    results = make_results(pwr=0.15)
    for curves in results.values():
        curves.values["eopc_w"] /= 100  # 2 to 14 kW
    *_, eopc = compare_figure(results, "default").axes
    assert eopc.get_ylabel() == "EOPC (kW)"
    assert max(line.get_ydata().max() for line in eopc.lines) == pytest.approx(14.0 * 1.001)
