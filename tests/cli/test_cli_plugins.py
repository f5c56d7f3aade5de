"""`--plugin` through the front door: policies are checked before anything is run; `--no-check` skips that."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.files import write_nodes, write_tasks
from wattpack.cli import main
from wattpack.policies import REGISTRY

PLUGIN = """import wattpack as wp


@wp.kernel
def score(node, task, world, params, memory, terms):
    terms[0] = {score}
    return wp.ANY_GPU


wp.register(wp.Policy("checked", "x", score, pick=wp.Pick.TIGHTEST, amounts_only=True))
"""
FALSE_AMOUNTS_ONLY = "task.memory_mib // 1000"  # passed the check once, and changed decisions


def replay(folder: Path, text: str, *more: str) -> int:
    plugin = folder / "checked.py"
    plugin.write_text(text)
    words = ["--nodes", write_nodes(folder), "--tasks", write_tasks(folder), "--policy", "checked"]
    try:
        main(["replay", *words, "--plugin", str(plugin), "--decisions", str(folder / "d.csv"), *more])
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        REGISTRY.pop("checked", None)
    return 0


def test_a_good_policy_is_run(tmp_path: Path) -> None:
    assert replay(tmp_path, PLUGIN.format(score="-node.gpu_total")) == 0
    assert (tmp_path / "d.csv").is_file()


def test_a_fault_is_one_line_exit_2_and_nothing_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(tmp_path, PLUGIN.format(score=FALSE_AMOUNTS_ONLY)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "checked.py: policy checked: amounts_only=True, but score reads task.memory_mib" in said.err
    assert "--no-check" in said.err
    assert not (tmp_path / "d.csv").exists()


def test_no_check_runs_it_all_the_same(tmp_path: Path) -> None:
    assert replay(tmp_path, PLUGIN.format(score=FALSE_AMOUNTS_ONLY), "--no-check") == 0


def test_a_plugin_that_calls_sys_exit_is_a_fault_not_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(tmp_path, "import sys\nsys.exit(0)\n") == 2
    assert "calls sys.exit(0)" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["compare", "run", "replay", "explain", "tune"])
def test_every_command_that_runs_plugins_can_skip_the_check(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([command, "--help"])
    said = capsys.readouterr().out
    assert "--plugin" in said
    assert "--no-check" in said


def test_compare_imports_a_plugin_once(tmp_path: Path) -> None:
    plugin, mark = tmp_path / "checked.py", tmp_path / "imports"
    counted = (
        f"from pathlib import Path\nfile = Path({str(mark)!r})\nfile.write_text('again' if file.exists() else 'once')\n"
    )
    plugin.write_text(counted + PLUGIN.format(score="-node.cpu_left // 1000"))
    words = ["--datacenter", write_nodes(tmp_path), "--trace", write_tasks(tmp_path), "--policy", "checked"]
    try:
        main(["compare", *words, "--plugin", str(plugin), "--seeds", "1", "--no-bound", "--out", str(tmp_path / "out")])
    finally:
        REGISTRY.pop("checked", None)
    assert mark.read_text() == "once"
    assert "checked" in (tmp_path / "out" / "summary.csv").read_text()
