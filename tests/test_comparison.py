"""`wattpack.compare` in Python: what it takes, what it refuses, and what its result shows."""

import csv
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import wattpack as wp
from builders import make_datacenter, make_workload
from experiments.small import NODES, TASKS, write_plugin, write_spec
from wattpack.cli import main
from wattpack.experiments.folder import ResultsFolder
from wattpack.policies import REGISTRY


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    """Policies that a test registers are forgotten after it."""
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def small() -> tuple[wp.Datacenter, wp.Workload]:
    return replace(make_datacenter(NODES), name="hall"), replace(make_workload(TASKS * 5), name="week")


def small_comparison(**words: Any) -> wp.Comparison:
    datacenter, trace = small()
    return wp.compare(datacenter, trace, **{"policies": "pwr", "seeds": 2, **words})


def test_it_takes_objects_and_calls_them_by_their_names() -> None:
    found = small_comparison()
    assert set(found.results) == {("week", "fgd"), ("week", "pwr")}
    assert {scenario.datacenter for scenario in found.scenarios} == {"hall"}
    assert (found.traces, found.policies, found.seeds) == (["week"], ["fgd", "pwr"], [42, 43])


def test_objects_names_and_paths_give_the_same_numbers(tmp_path: Path) -> None:
    write_spec(tmp_path, "")
    paths = tmp_path / "nodes.csv", tmp_path / "tasks.csv"
    by_path = wp.compare(paths[0], [paths[1]], ["pwr"], seeds=1)
    by_text = wp.compare([str(paths[0])], str(paths[1]), ("pwr",), seeds=[42])
    by_object = wp.compare(wp.load_datacenter(paths[0]), wp.load_trace(paths[1]), "pwr", seeds=1)
    assert by_path.traces == by_text.traces == [str(paths[1])]
    for other in (by_text, by_object):
        for (_, policy), curves in other.results.items():
            ours = by_path.results[by_path.traces[0], policy]
            np.testing.assert_array_equal(curves.values["eopc_w"], ours.values["eopc_w"])


def test_two_objects_of_one_name_are_numbered_and_the_same_one_is_taken_once() -> None:
    datacenter = make_datacenter(NODES)
    first, second = make_workload(TASKS * 5), make_workload(TASKS[:2] * 5)
    found = wp.compare(datacenter, [first, second, first], "pwr", seeds=1)
    assert found.traces == ["workload", "workload-2"]


def test_profiles_go_by_name_and_change_the_watts() -> None:
    found = small_comparison(profile=["paper", "measured"])
    assert found.traces == ["week (paper)", "week (measured)"]
    paper, measured = (found.results[trace, "fgd"].mean("eopc_w")[100] for trace in found.traces)
    assert paper != measured
    only = small_comparison(profile="measured")
    assert only.results["week", "fgd"].mean("eopc_w")[100] == measured


def test_runs_of_a_profile_of_ones_own_are_not_taken_for_those_of_another_with_its_name(tmp_path: Path) -> None:
    paper = wp.PROFILES["paper"]
    hungry = replace(paper, gpus={model: replace(gpu, idle_w=gpu.idle_w + 100) for model, gpu in paper.gpus.items()})
    before = small_comparison(out=tmp_path).results["week", "fgd"].mean("gpu_w")[0]
    after = small_comparison(out=tmp_path, profile=hungry).results["week", "fgd"].mean("gpu_w")[0]
    assert after == before + 14 * 100  # the small datacenter's GPUs: 2 + 4 + 8


def test_several_datacenters_are_told_apart_in_the_rows(tmp_path: Path) -> None:
    hall, trace = small()
    annex = replace(make_datacenter(NODES[:2]), name="annex")
    found = wp.compare([hall, annex], trace, "pwr", seeds=1, profile=["paper", "linear"], out=tmp_path)
    with (tmp_path / "summary.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    told = {(row["trace"], row["datacenter"], row["profile"]) for row in rows}
    assert told == {
        (f"week ({datacenter}, {profile})", datacenter, profile)
        for datacenter in ("hall", "annex")
        for profile in ("paper", "linear")
    }
    assert len(rows) == len({(row["trace"], row["policy"], row["load"]) for row in rows}) == 4 * 2 * 131
    assert found.save_report(tmp_path / "report.html").stat().st_size > 10_000


def test_the_summary_of_an_experiment_with_two_datacenters_names_them_in_a_column(tmp_path: Path) -> None:
    spec = 'datacenter = ["nodes.csv", "more.csv"]\ntrace = "tasks.csv"\npolicy = ["fgd", "pwr"]\nseeds = 1\n'
    file = write_spec(tmp_path, spec)
    (tmp_path / "more.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\na,96000,393216,8,T4\n")
    main(["run", str(file), "--out", str(tmp_path / "out")])
    with (tmp_path / "out" / "summary.csv").open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert {(row["datacenter"], row["profile"]) for row in rows} == {("nodes.csv", "paper"), ("more.csv", "paper")}
    assert all(row["trace"] == f"tasks.csv ({row['datacenter']})" for row in rows)


def test_the_bounds_rows_name_datacenter_and_profile_too(tmp_path: Path) -> None:
    write_spec(tmp_path, "")
    nodes, tasks, out = str(tmp_path / "nodes.csv"), str(tmp_path / "tasks.csv"), tmp_path / "out"
    main(
        [
            "compare",
            "--datacenter",
            nodes,
            "--trace",
            tasks,
            "--policy",
            "pwr",
            "--seeds",
            "1",
            "--against",
            "fgd",
            "--out",
            str(out),
        ]
    )
    with (out / "summary.csv").open(newline="") as opened:
        told = {(row["policy"], row["datacenter"], row["profile"]) for row in csv.DictReader(opened)}
    assert told == {(policy, nodes, "paper") for policy in ("fgd", "pwr", "bound")}


def test_plugins_are_loaded_before_expressions_that_name_their_policies(tmp_path: Path) -> None:
    found = small_comparison(policies=["own", "own:0.5+fgd:0.5"], plugins=[write_plugin(tmp_path)])
    assert set(found.policies) == {"fgd", "own", "own:0.5+fgd:0.5"}
    assert found.outcome.failed == []


def test_without_a_folder_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    small_comparison()
    assert list(tmp_path.iterdir()) == []


def test_with_a_folder_finished_runs_are_kept_and_skipped(tmp_path: Path) -> None:
    assert small_comparison(out=tmp_path).outcome.done == 4
    again = small_comparison(out=str(tmp_path))
    assert (again.outcome.done, again.outcome.skipped) == (0, 4)
    assert ResultsFolder(tmp_path).experiment()["name"] == "compare"


def test_its_text_is_short_and_says_savings_and_grar() -> None:
    found = small_comparison(policies=["pwr", "bestfit"])
    lines = repr(found).splitlines()
    assert lines[0] == (
        "Comparison of 3 policies on 1 trace, 2 seeds, datacenter hall, power profile paper; "
        "saving against fgd in % by load"
    )
    assert lines[1].split() == ["week", "0.2", "0.4", "0.6", "0.8", "0.9", "GRAR", "1.0"]
    base = found.results["week", "fgd"]
    row = next(line.split() for line in lines if line.startswith("  pwr"))
    assert row[1] == f"{100 * found.results['week', 'pwr'].saving(base)[40] + 0.0:.1f}"  # load 0.2 in steps of 0.005
    assert row[-1] == f"{found.results['week', 'pwr'].mean('grar')[200]:.3f}"
    assert len(lines) == 5
    assert max(map(len, lines)) <= 120


def test_its_text_names_failed_runs_empty_traces_and_tasks_that_fit_nowhere(tmp_path: Path) -> None:
    datacenter, trace = small()
    giant = wp.Workload.of([*trace.classes, wp.TaskClass(1000, 0, 12, 1000)], name="giant")
    plugin = write_plugin(tmp_path, fault="no watts")
    empty = wp.Workload.of([], name="empty")
    text = repr(wp.compare(datacenter, [giant, empty], "own", seeds=1, plugins=plugin))
    assert "1 of 2 runs failed, the first: ValueError: no watts" in text
    assert "empty: no tasks, nothing to compare" in text
    assert "giant: can never fit any node: 1 x 1000 milli-vCPU, 0 MiB, 12 x 1000 milli-GPU" in text


def test_in_a_notebook_it_is_a_table_in_which_names_are_escaped() -> None:
    datacenter, trace = small()
    text = wp.compare(datacenter, replace(trace, name="<b>week"), "pwr", seeds=1)._repr_html_()
    assert text.count("<table>") == 1
    assert "<b>" not in text
    assert "&lt;b&gt;week" in text


def test_its_frame_is_the_summary(tmp_path: Path) -> None:
    found = small_comparison(out=tmp_path)
    frame = found.to_pandas()
    pandas.testing.assert_frame_equal(frame, pandas.read_csv(tmp_path / "summary.csv"))
    fixed = "trace,policy,load,eopc_w,cpu_w,gpu_w,saving,grar,fragmentation_milli,seeds"
    assert ",".join(frame.columns).startswith(fixed)
    assert {"datacenter", "profile", "saving_std", "eopc_w_std", "grar_std"} < set(frame.columns)
    assert found.save_summary(tmp_path / "new" / "s.csv").read_bytes() == (tmp_path / "summary.csv").read_bytes()


def test_without_pandas_one_line_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = small_comparison()
    monkeypatch.setitem(sys.modules, "pandas", None)
    for ask in (found.to_pandas, wp.simulate(*small(), "fgd").to_pandas):
        with pytest.raises(wp.UserError, match=re.escape("`pip install pandas`")):
            ask()


def test_it_draws_a_figure_and_asks_which_trace_where_there_are_several(tmp_path: Path) -> None:
    datacenter, trace = small()
    found = wp.compare(datacenter, [trace, replace(trace, name="month")], "pwr", seeds=1)
    found.plot("month").savefig(tmp_path / "month.png")
    assert (tmp_path / "month.png").stat().st_size > 10_000
    for wrong in (None, "year"):
        with pytest.raises(wp.UserError, match="expected one of 'week', 'month'"):
            found.plot(wrong)
    small_comparison().plot()


def test_it_writes_a_report_that_names_the_policies(tmp_path: Path) -> None:
    page = small_comparison().save_report(tmp_path / "deep" / "report.html")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "wattpack.compare" in text


def test_a_comparison_without_results_says_so_instead_of_an_empty_report(tmp_path: Path) -> None:
    datacenter, _ = small()
    found = wp.compare(datacenter, wp.Workload.of([], name="empty"), "pwr", seeds=1)
    assert len(found.to_pandas()) == 0
    assert "nothing to compare" in repr(found)
    with pytest.raises(wp.UserError, match="no trace has tasks"):
        found.save_report(tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            {"datacenter": None},
            "datacenter: None, expected a Datacenter (load_datacenter makes one of columns), a built-in",
        ),
        ({"datacenter": {"sn": ["a"]}}, "datacenter: of type dict, expected a Datacenter (load_datacenter makes one"),
        ({"traces": pandas.DataFrame({"name": ["a"]})}, "trace: of type DataFrame, expected a Workload (load_trace"),
        ({"on": 5}, "on: 5, expected a text such as 'local'"),
        ({"datacenter": 5}, "datacenter: of type int, expected a Datacenter"),
        ({"datacenter": []}, "datacenter: an empty list, expected at least one"),
        ({"datacenter": "nowhere"}, "'nowhere': no datacenter of this name and no such file; known: alibaba2023"),
        ({"traces": []}, "traces: an empty list"),
        ({"traces": None}, "trace: None, expected a Workload"),
        ({"traces": ["default", 3]}, "trace: of type int, expected a Workload"),
        ({"policies": []}, "policies: an empty list"),
        ({"policies": [5]}, "policy: 5, expected an expression such as 'fgd'"),
        ({"policies": None}, "policy: None, expected an expression"),
        ({"policies": "best"}, "unknown policy 'best'"),
        ({"profile": "nuclear"}, "profile: 'nuclear', expected a PowerProfile or one of paper, linear, concave"),
        ({"profile": 5}, "profile: 5, expected a PowerProfile"),
        ({"profile": []}, "profile: an empty list"),
        ({"seeds": 0}, "seeds: 0, expected 1 to"),
        ({"seeds": "3"}, "seeds: '3', expected a count or a list of seeds"),
        ({"seeds": 2.5}, "seeds: 2.5, expected a whole number"),
        ({"seeds": [1, -1]}, "seed: -1, expected a whole number from 0"),
        ({"seeds": []}, "seeds: an empty list"),
        ({"batch": "4"}, "batch: '4', expected a whole number"),
        ({"batch_milp_seconds": "4"}, "batch_milp_seconds: '4', expected a number"),
        ({"workers": 1.5}, "workers: 1.5, expected a whole number"),
        ({"out": 5}, "out: 5, expected the path of a folder"),
        ({"out": ""}, "out: '', expected the path of a folder"),
        ({"plugins": "nothing.py"}, "nothing.py: cannot be read, expected a Python file that calls wattpack.register"),
        ({"plugins": None}, "plugins: None, expected Python files"),
        ({"plugins": [4]}, "plugins: 4, expected Python files"),
    ],
)
def test_a_wrong_argument_is_one_sentence_and_nothing_is_written(
    words: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    datacenter, trace = small()
    with pytest.raises(wp.UserError, match=re.escape(said)) as fault:
        wp.compare(**{"datacenter": datacenter, "traces": trace, "policies": "pwr", "seeds": 1, **words})
    assert "\n" not in str(fault.value)
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_watts_is_refused_before_anything_runs(tmp_path: Path) -> None:
    datacenter = wp.Datacenter.of(["n"], [1000], [10], [1], ["Abacus"])
    with pytest.raises(wp.UserError, match="unknown GPU model 'Abacus'"):
        wp.compare(datacenter, small()[1], "pwr", seeds=1, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
