"""A saving is one number: the same runs give the same in every command, file, page and in Python."""

from __future__ import annotations

import csv
import html
import json
import re
from pathlib import Path

import numpy as np
import pytest

import wattpack as wp
from cli.files import write_nodes
from report.test_report_html import decoded
from wattpack.cli import main
from wattpack.experiments.curves import at
from wattpack.policies.expression import canonical
from wattpack.report.metrics import saving

TASKS = """name,cpu_milli,memory_mib,num_gpu,gpu_milli
whole,8000,16384,1,1000
two,16000,32768,2,1000
eight,64000,131072,8,1000
share,4000,8192,1,500
small,2000,4096,1,300
cpu,8000,16384,0,0
"""
LOAD = 0.9
SEEDS = 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("one-saving")
    (made / "tasks.csv").write_text(TASKS)
    (made / "experiment.toml").write_text('trace = "tasks.csv"\npolicy = ["fgd", "random"]\nseeds = 2\n')
    return made


def summary(out: Path, load: float = LOAD) -> dict[str, dict[str, str]]:
    with (out / "summary.csv").open(newline="") as file:
        return {row["policy"]: row for row in csv.DictReader(file) if row["load"] == f"{load:.2f}"}


def per_gpu(row: dict[str, str]) -> float:
    return float(row["eopc_w"]) / float(row["allocated"])


def printed(text: str) -> float:
    """Of `random` at load 0.9: the fifth number of its row."""
    (row,) = (line for line in text.splitlines() if re.match(r" *random ", line))
    return float(row.split()[5].partition("±")[0].partition("+-")[0])


def test_compare_run_tune_python_summary_report_and_notebook_give_the_same_saving(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = str(folder / "tasks.csv")
    found = {}
    main(
        ["compare", "--trace", tasks, "--policy", "random", "--seeds", "2", "--out", str(folder / "compare"), "--bound"]
    )
    found["compare prints"] = printed(capsys.readouterr().out)
    main(["run", str(folder / "experiment.toml"), "--out", str(folder / "run")])
    found["run prints"] = printed(capsys.readouterr().out)
    for name in ("compare", "run"):
        found[f"summary of {name}"] = 100 * float(summary(folder / name)["random"]["saving"])
        page = (folder / name / "report.html").read_text()
        data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
        places = [one["name"] for one in data["policies"]]
        (curve,) = (one for one in data["traces"][0]["curves"] if places[one["policy"]] == "random")
        found[f"page of {name}"] = float(decoded(curve["mean"]["saving"], data["units"]["saving"])[round(LOAD * 100)])
        row = next(row for row in page.split("<tr>") if ">random<" in row)
        cells = [html.unescape(re.sub("<.*?>", "", cell)) for cell in row.split("<td")[1:]]
        found[f"table of {name}"] = float(cells[4].rpartition(">")[2].split()[0].replace("−", "-"))
    compared = wp.compare(traces=tasks, policies="random", seeds=SEEDS)
    found["Python prints"] = printed(str(compared))
    found["Python's frame"] = 100 * float(
        compared.to_pandas().query("policy == 'random' and load == 0.9")["saving"].iloc[0]
    )
    found["Python draws"] = float(np.interp(LOAD, *np.array(_drawn(compared.plot(), "Random"))))
    words = ["--policy", "random", "--loads", str(LOAD), "--seeds", "2", "--out", str(folder / "tune")]
    main(["tune", "--trace", tasks, *words])
    with (folder / "tune" / "pareto.csv").open(newline="") as file:
        found["tune"] = 100 * next(float(row["saving"]) for row in csv.DictReader(file) if row["policy"] == "random")
    rows = summary(folder / "run")
    meant = 100 * (1 - per_gpu(rows["random"]) / per_gpu(rows["fgd"]))
    assert float(rows["random"]["grar"]) < float(rows["fgd"]["grar"]) - 0.01  # the definitions differ only there
    assert {what: round(value, 1) for what, value in found.items()} == dict.fromkeys(found, round(meant, 1))
    assert saving(compared.results, tasks, "random")[at(LOAD)] * 100 == pytest.approx(meant, abs=0.01)


def _drawn(figure: object, name: str) -> tuple[list[float], list[float]]:
    axes = figure.axes[0]  # type: ignore[attr-defined]
    line = next(line for line in axes.get_lines() if line.get_label() == name)
    return line.get_xdata(), line.get_ydata()


def test_the_policy_that_savings_are_against_is_run_too_and_named_in_every_output(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, out = str(folder / "tasks.csv"), folder / "bestfit"
    words = ["--policy", "pwr", "--against", "BestFit", "--seeds", "1", "--no-bound"]
    main(["compare", "--trace", tasks, *words, "--out", str(out)])
    said = capsys.readouterr().out
    assert "tasks.csv: saving against bestfit in %" in said
    assert "bestfit (baseline)" in said
    rows = summary(out, 0.5)
    assert set(rows) == {"bestfit", "pwr"}  # fgd was neither asked for nor needed
    assert {row["against"] for row in rows.values()} == {"bestfit"}
    meant = 1 - per_gpu(rows["pwr"]) / per_gpu(rows["bestfit"])
    assert float(rows["pwr"]["saving"]) == pytest.approx(meant, abs=1e-5)
    page = (out / "report.html").read_text()
    assert "watts per GPU served that a policy needs less than BestFit" in page
    assert "of BestFit" in re.sub("<.*?>", "", page)
    compared = wp.compare(traces=tasks, policies="pwr", seeds=1, against="bestfit")
    assert "saving against bestfit in % by load" in str(compared)
    assert compared.to_pandas().query("policy == 'pwr' and load == 0.5")["saving"].iloc[0] == pytest.approx(
        meant, abs=1e-5
    )
    spec = folder / "against.toml"
    spec.write_text('trace = "tasks.csv"\nagainst = "bestfit"\npolicy = "pwr"\nseeds = 1\n')
    main(["run", str(spec), "--out", str(folder / "run-bestfit")])
    assert "saving against bestfit in %" in capsys.readouterr().out
    assert summary(folder / "run-bestfit", 0.5)["pwr"]["saving"] == rows["pwr"]["saving"]
    words = ["--against", "bestfit", "--policy", "pwr", "--loads", "0.5", "--seeds", "2"]
    main(["tune", "--trace", tasks, *words, "--out", str(folder / "tune-bestfit")])
    assert "saving vs bestfit %" in capsys.readouterr().out
    with (folder / "tune-bestfit" / "pareto.csv").open(newline="") as file:
        assert {(row["policy"], row["against"]) for row in csv.DictReader(file)} == {
            ("pwr", "bestfit"),
            ("bestfit", "bestfit"),
        }


def test_savings_against_several_have_a_table_each_the_first_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--policy", "pwr", "--against", "bestfit", "--against", "fgd", "--seeds", "1", "--no-bound"]
    main(["compare", "--trace", str(folder / "tasks.csv"), *words, "--out", str(folder / "both")])
    said = capsys.readouterr().out
    assert said.index("saving against bestfit") < said.index("saving against fgd")
    page = (folder / "both" / "report.html").read_text()
    assert "savings against FGD" in page
    assert re.search(r"of BestFit.s watts per GPU served at load 0.5 \(-?[0-9.]+ % against FGD\)", html.unescape(page))


def test_in_time_a_saving_is_of_kwh_per_gpu_hour_delivered_in_table_file_and_page(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder / "time"
    words = ["--load", "0.9", "--days", "0.05", "--seeds", "1", "--queue", "drop", "--policy", "random"]
    main(["simulate", *words, "--against", "bestfit", "--out", str(out)])
    said = capsys.readouterr().out
    with (out / "time.csv").open(newline="") as file:
        rows = {row["policy"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"random", "bestfit"}
    own, base = (float(rows[name]["kwh"]) / float(rows[name]["gpu_hours"]) for name in ("random", "bestfit"))
    assert float(rows["random"]["saving"]) == pytest.approx(1 - own / base)
    assert (rows["bestfit"]["saving"], rows["random"]["against"]) == ("0", "bestfit")
    assert f"{100 * (1 - own / base):.2f}" in next(line for line in said.splitlines() if line.startswith("random "))
    assert "saving against bestfit in %" in said
    assert "% vs bestfit" in (out / "report.html").read_text()


def test_on_a_cluster_of_ones_own_the_saving_against_kube_comes_first_and_files_keep_fgd(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes, out = write_nodes(folder), folder / "own"
    words = ["--datacenter", nodes, "--trace", str(folder / "tasks.csv"), "--policy", "pwr", "--seeds", "2"]
    main(["compare", *words, "--no-bound", "--out", str(out)])
    said = capsys.readouterr().out
    assert 0 <= said.index("saving against kube in %") < said.index("saving against fgd in %")
    rows = summary(out, 0.5)
    assert set(rows) == {"kube", "fgd", "pwr"}
    assert {row["against"] for row in rows.values()} == {"fgd"}
    assert float(rows["pwr"]["saving"]) == pytest.approx(1 - per_gpu(rows["pwr"]) / per_gpu(rows["fgd"]), abs=1e-5)
    main(["tune", *words, "--loads", "0.5", "--out", str(folder / "own-tuned")])
    said = capsys.readouterr().out
    assert 0 <= said.index("saving vs kube %") < said.index("saving vs fgd %")


@pytest.mark.parametrize("command", ["compare", "simulate", "tune"])
def test_a_wrong_expression_to_compare_with_is_one_line_and_nothing_is_written(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--against", "fgdd", "--out", str(tmp_path / "out")])
    assert ended.value.code == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("compiling")]
    assert len(lines) == 1
    assert "'fgdd'" in lines[0]
    assert not (tmp_path / "out").exists()


def test_a_long_name_in_a_pipe_is_not_cut_at_80_columns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = "pwr:0.123+fgd:0.456+bestfit:0.234+dotprod:0.187"
    words = ["--trace", str(folder / "tasks.csv"), "--policy", long, "--seeds", "2", "--no-bound"]
    main(["compare", *words, "--out", str(folder / "long")])
    said = capsys.readouterr().out
    (row,) = (line for line in said.splitlines() if line.startswith(f"{canonical(long)} "))
    assert row.count("±") == 5
    assert "W/GPU: watts of the datacenter per GPU served" in said
    assert "GRAR: GPU served / GPU requested" in said
    assert "±: standard deviation over the seeds" in said


def test_derived_traces_nodes_and_scores_in_a_pipe_are_neither_cut_nor_folded(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    name = f"{'long-' * 30}end"
    (folder / f"{name}.csv").write_text(TASKS)
    main(["derive", str(folder / f"{name}.csv"), "--multi", "90"])
    assert f"{name}.csv" in capsys.readouterr().out
    nodes = folder / "long-nodes.csv"
    nodes.write_text(f"sn,cpu_milli,memory_mib,gpu,model\n{name},96000,393216,8,A10\n")
    words = ["--nodes", str(nodes), "--tasks", str(folder / "tasks.csv"), "--policy", "ocs", "--task", "whole"]
    main(["explain", *words])
    assert any(re.match(rf" *{name} <- ", line) for line in capsys.readouterr().out.splitlines())
