"""`wattpack power`, and --power and --profile of every command, through the front door."""

from __future__ import annotations

import csv
import inspect
import os
import re
import threading
from importlib import import_module
from pathlib import Path

import pytest
from rich.console import Console

from cli.files import TASKS, write_tasks
from wattpack.cli import COMMANDS, main
from wattpack.model.catalog import CPUS, GPUS
from wattpack.model.power import PAPER
from wattpack.model.power_file import parse_power

NODES = "sn,cpu_milli,memory_mib,gpu,model,base_w\na,96000,393216,8,Own-GPU,\nb,96000,393216,4,T4,50\n"
OWN = """profile = "measured"
[node]
base_w = 100
[gpu.Own-GPU]
idle_w = 20
max_w = 200
[gpu.T4]
idle_w = 12
source = "a meter in the rack"
confidence = "curve"
"""
WITH_BOTH = (
    *("bound", "compare", "datacenters", "defrag", "explain", "fit"),
    *("import", "plan", "power", "replay", "simulate", "tune"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "own.toml").write_text(OWN)
    write_tasks(tmp_path)
    return tmp_path


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(words)
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert len(said.err.splitlines()) == 1
    return said.err


def replay(folder: Path, *more: str) -> list[str]:
    words = ["--nodes", str(folder / "nodes.csv"), "--tasks", str(folder / "tasks.csv")]
    return ["replay", *words, "--policy", "fgd", *more]


@pytest.mark.parametrize("command", WITH_BOTH)
def test_every_command_that_counts_watts_takes_a_profile_and_a_power_file(command: str) -> None:
    module, function = COMMANDS[command][0].split(":")
    options = inspect.signature(getattr(import_module(module), function)).parameters
    assert {"profile", "power"} <= set(options)


def test_the_guide_names_every_command_that_takes_a_profile_and_a_power_file() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guide" / "power.md"
    row = next(line for line in guide.read_text().splitlines() if "`--profile NAME`, `--power FILE.toml`" in line)
    assert set(re.findall(r"`(\w+)`", row)) == set(WITH_BOTH)
    takes = set()
    for name, (place, *_) in COMMANDS.items():
        module, function = place.split(":")
        if {"profile", "power"} <= set(inspect.signature(getattr(import_module(module), function)).parameters):
            takes.add(name)
    assert takes == set(WITH_BOTH)


def test_it_lists_every_model_with_watts_confidence_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    main(["power"])
    said = capsys.readouterr().out
    for name in (*GPUS, *CPUS, *PAPER.gpus):
        assert f" {name} " in said
    row = next(line for line in said.splitlines() if line.startswith(" A100 "))
    assert [cell.strip() for cell in row.split("│")][:8] == [
        *("A100", "50/400/400", "50/225/400", "50/265/400", "46/182/280", "400", "readings", "a")
    ]
    assert "a: CCGrid 2025 paper, table II (measured: readings in public logs; limit from the maker)" in said
    assert "A100: W by share in use" in said
    assert "A paper   B linear   C concave   D measured" in said


def test_it_says_what_a_file_adds_overrides_and_inherits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["power", "--power", str(folder / "own.toml")])
    said = capsys.readouterr().out
    assert "own.toml over the profile measured, called measured+own in results" in " ".join(said.split())
    assert "  gpu Own-GPU: added: idle_w 20, max_w 200\n" in said
    assert "    inherited: context_w 20 (measured: as idle), exponent 1 (measured)\n" in said
    assert "  gpu T4: overridden: idle_w 12, source a meter in the rack, confidence curve\n" in said
    assert "    inherited: max_w 49 (measured, T4), context_w 28 (measured, T4), exponent 1 (measured)\n" in said
    assert "  node: set: base_w 100\n" in said
    assert "curve (overridden)" in said
    assert "a meter in the rack" in said
    assert "base power of a node: 100 W" in said
    assert "profile measured+own" in said
    assert "A Own-GPU   B T4" in said


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_the_curves_are_drawn_into_a_picture(folder: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / f"curves.{kind}"
    main(["power", "--gpu", "H200", "--gpu", "L4", "--profile", "measured", "--figure", str(file)])
    assert file.stat().st_size > 1000
    assert f"figure   {file}" in capsys.readouterr().out


def test_it_says_so_where_more_models_are_asked_for_than_are_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [name for name, gpu in GPUS.items() if gpu.idle_w is not None]
    main(["power", *(word for name in asked[:9] for word in ("--gpu", name))])
    assert "drawn are the first 8 of 9 models; --gpu draws others\n" in capsys.readouterr().out
    main(["power", *(word for name in [*asked[:8], asked[0]] for word in ("--gpu", name))])
    assert "drawn are" not in capsys.readouterr().out


def test_a_template_for_the_models_of_a_file_is_a_power_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["power", "--template", str(folder / "nodes.csv"), "--out", str(folder / "t.toml")])
    assert "wrote" in capsys.readouterr().err
    main(["power", "--template", str(folder / "nodes.csv")])
    text = (folder / "t.toml").read_text()
    assert capsys.readouterr().out == text
    assert list(parse_power(text.encode(), "t").gpu) == ["Own-GPU", "T4"]
    main(["power", "--template", "alibaba2023"])
    assert '[gpu."V100M32"]' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("edits", "models"),
    [
        ("", ["Own-GPU", "T4"]),
        (" --add 20xH100-8", ["Own-GPU", "T4", "H100-80GB-HBM3"]),
        (" --remove T4 --add 2xL4-1", ["Own-GPU", "L4"]),
        (" --remove Own-GPU --add 2xNEW-X1-8", ["T4", "NEW-X1"]),  # a model that nobody knows: what templates are for
        (" --replace Own-GPU=Newer", ["Newer", "T4"]),
    ],
)
def test_a_template_takes_edits_behind_the_name(
    folder: Path, edits: str, models: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["power", "--template", f"{folder / 'nodes.csv'}{edits}"])
    assert sorted(parse_power(capsys.readouterr().out.encode(), "t").gpu) == sorted(models)


def test_a_template_of_a_built_in_datacenter_takes_edits_and_says_what_is_wrong_with_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["power", "--template", "alibaba2023 --remove T4 --add 20xH100-8"])
    found = parse_power(capsys.readouterr().out.encode(), "t").gpu
    assert "H100-80GB-HBM3" in found
    assert "T4" not in found
    assert "--remove 'H200': alibaba2023 has no such node" in refused(
        ["power", "--template", "alibaba2023 --remove H200"], capsys
    )
    assert "--add '-5xH100-8', expected COUNTx" in refused(
        ["power", "--template", "alibaba2023 --add -5xH100-8"], capsys
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--profile", "cubic"], "--profile 'cubic', expected one of paper"),
        (["--gpu", "H1"], "unknown GPU model 'H1'"),
        (["--figure", "picture.txt"], "not a picture, expected a file that ends in .png, .pdf, .svg"),
        (["--figure", ""], "--figure '': empty"),
        (["--power", "none.toml"], "none.toml: cannot be read"),
        (["--power", "linear"], "--power linear: no such file; expected a power file, or the profile as --profile lin"),
        (["--out", "t.toml"], "--out without --template"),
        (["--template", "nodes.csv", "--power", "own.toml"], "expected --template alone"),
        (["--template", "none.csv"], "none.csv: cannot be read"),
        (["--template", "nodes.csv", "--out", "nodes.csv"], "is the input nodes.csv too"),
        (["--power", "own.toml", "--figure", "own.toml"], "not a picture"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    folder: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert said in refused(["power", *words], capsys)


def test_an_exponent_without_effect_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "step.toml").write_text("[gpu.Own-GPU]\nidle_w = 20\nmax_w = 200\nexponent = 0.8\n")
    step = ["--power", str(folder / "step.toml")]
    main(["power", *step])
    said = capsys.readouterr().out
    assert "  gpu Own-GPU: added: idle_w 20, max_w 200, exponent 0.8\n" in said
    assert "    the exponent has no effect: an idle context draws the maximum; a context_w would give it one\n" in said
    main(replay(folder, *step))
    assert "no effect of exponent: Own-GPU (an idle context draws the maximum)" in capsys.readouterr().err
    main(["power", *step, "--profile", "linear"])
    assert "no effect" not in capsys.readouterr().out
    main(replay(folder, *step, "--profile", "linear"))
    assert "no effect" not in capsys.readouterr().err


def test_an_unknown_gpu_is_one_line_that_shows_what_to_add(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(replay(folder), capsys)
    assert f"{folder / 'nodes.csv'}, line 2, column model: unknown GPU model 'Own-GPU'" in said
    assert '[gpu."Own-GPU"] idle_w = .. context_w = .. max_w = .., a line each' in said
    assert "pass --power FILE.toml" in said


def test_a_bad_power_file_is_one_line_and_nothing_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "own.toml").write_text("[gpu.Own-GPU]\nidle_w = 300\nmax_w = 200\n")
    out = folder / "d.csv"
    said = refused(replay(folder, "--power", str(folder / "own.toml"), "--decisions", str(out)), capsys)
    assert 'own.toml: gpu."Own-GPU".idle_w: 300, expected at most context_w, 200' in said
    assert not out.exists()


def test_replay_writes_base_power_after_the_fixed_columns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(replay(folder, "--power", str(folder / "own.toml"), "--series", str(folder / "s.csv")))
    with (folder / "s.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[-2:] == ["fragmentation_milli", "base_power_w"]
    for row in rows:
        assert float(row["base_power_w"]) == 150
        parts = [float(row[f"{part}_power_w"]) for part in ("cpu", "gpu", "base")]
        assert float(row["power_w"]) == pytest.approx(sum(parts))
    said = capsys.readouterr()
    assert ", base 0.1)" in said.out or ", base 0.2)" in said.out
    assert (
        "over the profile measured: GPU added: Own-GPU; GPU overridden: T4; base_w 100; 5 values inherited" in said.err
    )


def test_the_power_file_is_an_input_that_no_output_replaces(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = str(folder / "own.toml")
    with pytest.raises(SystemExit):
        main(replay(folder, "--power", own, "--series", own))
    assert "is the input" in capsys.readouterr().err
    assert (folder / "own.toml").read_text() == OWN


@pytest.mark.e2e  # 6 s, 16 with kernels to compile
def test_explain_defrag_bound_tune_and_compare_run_on_gpus_of_the_users_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes, tasks, own = (str(folder / name) for name in ("nodes.csv", "tasks.csv", "own.toml"))
    power = ["--power", own]
    main(["explain", nodes, tasks, "--policy", "pwr", "--task", "share-1", *power])
    placements = folder / "now.csv"
    main(replay(folder, "--decisions", str(placements), *power))
    main(["defrag", "--nodes", nodes, "--tasks", tasks, "--placements", str(placements), *power])
    main(["bound", "--datacenter", nodes, "--trace", tasks, "--loads", "0.5", *power])
    out = ["--out", str(folder / "out")]
    given = ["--datacenter", nodes, "--trace", tasks, *power, "--workers", "1"]
    main(["compare", *given, "--policy", "pwr", "--seeds", "1", *out])
    main(["bound", "--datacenter", nodes, "--trace", tasks, "--loads", "0.5", "--against", str(folder / "out"), *power])
    main(["tune", *given, "--policy", "pwr", "--seeds", "2", "--loads", "0.5", "--out", str(folder / "tune")])
    said = capsys.readouterr()
    assert said.err.count("over the profile measured") == 7
    assert "measured+own" in (folder / "out" / "summary.csv").read_text()
    assert "saving at most" in said.out


def test_a_live_question_takes_neither(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "the service has its own" in refused(["explain", "--live", "a/b", "--profile", "linear"], capsys)


def test_the_tasks_of_these_tests_have_a_share() -> None:
    assert "share-1" in TASKS


@pytest.mark.parametrize("columns", [60, 80, 100, 130])
def test_no_watts_and_no_source_are_cut_on_a_narrow_terminal(
    columns: int, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The columns then stand below each other, in several tables that all begin with the model."""
    monkeypatch.setattr("wattpack.cli.power_table.wide_console", lambda *_: Console(width=columns))
    (folder / "calibrated-hall-3-second-attempt.toml").write_text(OWN)
    main(["power", "--power", str(folder / "calibrated-hall-3-second-attempt.toml")])
    said = capsys.readouterr().out
    tables = said.split("\n\n")[0].splitlines()
    assert max(map(len, tables)) <= columns
    assert "…" not in said
    cells = [cell.strip() for line in tables if line.startswith(" T4 ") for cell in line.split("│")]
    assert [cell for cell in cells if cell != "T4"] == [
        *("10/70/70", "10/40/70", "10/47/70", "10/38/49", "12/38/49", "70", "curve (overridden)", "a")
    ]


def test_what_a_file_says_of_a_limit_a_cpu_and_base_power_is_shown_where_it_is_used(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "own.toml").write_text(
        "[node]\nbase_w = 80\nbase_share_of_limits = 0.15\n"
        '[gpu.X]\nidle_w = 20\nmax_w = 200\nlimit_w = 300\n[cpu."EPYC 7763"]\nidle_w = 60\nsource = "a meter"\n'
        '[cpu."EPYC 9654"]\nidle_w = 90\n'
    )
    main(["power", "--power", str(folder / "own.toml")])
    said = capsys.readouterr().out
    row = next(line for line in said.splitlines() if line.startswith(" X "))
    assert [cell.strip() for cell in row.split("│")][5:] == ["20/200/200", "300", "file (added)", "k"]
    assert "gpu X: added: idle_w 20, max_w 200, limit_w 300\n" in said
    assert "│ a meter (overridden)" in said
    assert "│ the power file (added)" in said
    assert "base power of a node: 80 W and 0.15 of its GPUs' limits\n" in said


def test_a_power_file_from_a_pipe_is_used_and_told_as_a_file_is(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--power <(...)`: the second reader of a pipe finds it empty."""
    main(replay(folder, "--power", str(folder / "own.toml")))
    before = capsys.readouterr()
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(OWN,))
    writer.start()
    main(replay(folder, "--power", str(pipe)))
    writer.join()
    said = capsys.readouterr()
    assert said.out == before.out
    assert said.err == before.err.replace("own.toml", "pipe")


def test_a_file_that_says_what_the_profile_has_changes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\na,96000,393216,8,T4\n")
    (folder / "own.toml").write_text("[gpu.T4]\nidle_w = 10\nmax_w = 70\n[gpu.A10]\n")
    main(replay(folder))
    before = capsys.readouterr().out
    main(replay(folder, "--power", str(folder / "own.toml")))
    said = capsys.readouterr()
    assert said.out == before
    assert "own.toml over the profile paper: changes nothing\n" in said.err


def test_the_short_name_of_a_model_means_what_it_means_for_nodes_that_are_added(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["power", "--gpu", "H100"])
    short = capsys.readouterr().out
    main(["power", "--gpu", "H100-80GB-HBM3"])
    assert capsys.readouterr().out == short
    with pytest.raises(SystemExit):
        main(["power", "--gpu", "H1000"])
    assert "unknown GPU model 'H1000'" in capsys.readouterr().err
